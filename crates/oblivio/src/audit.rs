//! How much scores depend on the cells.

use crate::partition::{Assignment, Partition};

/// The share of the scores' variance that the cells explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrelationRatio {
    /// $\eta^2 = \sum_c N_c(\bar y_c - \bar y)^2/\sum_i(y_i - \bar y)^2$; 0 for constant scores.
    pub value: f64,
    /// (L − 1)/(n − 1): its mean when the scores do not depend on the cells at all.
    pub expected: f64,
}

/// The rows of a table that share a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellMean {
    /// The cell in words.
    pub label: String,
    /// Its rows.
    pub rows: usize,
    /// The mean of their scores.
    pub mean: f64,
}

/// The correlation ratio of scores and cells.
///
/// It sees differences between the cells' means and nothing else: equal means can hide a different spread.
pub fn correlation_ratio(scores: &[f64], cells: &[u32]) -> CorrelationRatio {
    let rows = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / rows;
    let total: f64 = scores.iter().map(|y| (y - mean) * (y - mean)).sum();
    let groups = grouped(scores, cells);
    let between: f64 = groups
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, sum)| {
            let count = *count as f64;
            count * (sum / count - mean) * (sum / count - mean)
        })
        .sum();
    let used = groups.iter().filter(|(count, _)| *count > 0).count();
    CorrelationRatio {
        value: if total > 0.0 { between / total } else { 0.0 },
        expected: if rows > 1.0 {
            (used as f64 - 1.0) / (rows - 1.0)
        } else {
            0.0
        },
    }
}

/// The mean score of each cell that has rows here; rows that share a stand-in for a cell come last.
pub fn cell_means(scores: &[f64], assignment: &Assignment, partition: &Partition) -> Vec<CellMean> {
    grouped(scores, &assignment.cells)
        .into_iter()
        .enumerate()
        .filter(|(_, (rows, _))| *rows > 0)
        .map(|(cell, (rows, sum))| CellMean {
            label: if cell < partition.len() {
                partition.label(cell)
            } else {
                format!("without a cell of its own ({})", cell - partition.len() + 1)
            },
            rows,
            mean: sum / rows as f64,
        })
        .collect()
}

/// Count and sum of the scores of each cell.
fn grouped(scores: &[f64], cells: &[u32]) -> Vec<(usize, f64)> {
    let count = cells.iter().max().map_or(0, |&c| c as usize + 1);
    let mut groups = vec![(0, 0.0); count];
    for (score, cell) in scores.iter().zip(cells) {
        let (count, sum) = &mut groups[*cell as usize];
        *count += 1;
        *sum += score;
    }
    groups
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::random::{Stream, generator};

    #[test]
    fn one_when_the_cell_tells_all_and_zero_when_it_tells_nothing() {
        let ratio = correlation_ratio(&[1.0, 1.0, 3.0, 3.0], &[0, 0, 1, 1]);
        assert_eq!((ratio.value, ratio.expected), (1.0, 1.0 / 3.0));
        assert_eq!(
            correlation_ratio(&[1.0, 3.0, 1.0, 3.0], &[0, 0, 1, 1]).value,
            0.0
        );
        assert_eq!(correlation_ratio(&[2.0, 2.0], &[0, 1]).value, 0.0);
    }

    /// Its mean over independent scores is exactly (L − 1)/(n − 1); 2000 draws of a Beta(2, 47/2) give this margin.
    #[test]
    fn the_expected_value_is_the_mean_under_independence() {
        let mut random = generator(1, Stream::Simulation);
        let cells: Vec<u32> = (0..50).map(|i| i % 5).collect();
        let draws = 2000;
        let mut sum = 0.0;
        for _ in 0..draws {
            let scores: Vec<f64> = (0..50).map(|_| random.random::<f64>()).collect();
            sum += correlation_ratio(&scores, &cells).value;
        }
        let expected = correlation_ratio(&vec![0.0; 50], &cells).expected;
        let deviation = 0.053;
        assert!(
            (sum / f64::from(draws) - expected).abs() < 4.0 * deviation / f64::from(draws).sqrt()
        );
    }
}
