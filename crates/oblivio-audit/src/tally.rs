//! How much scores depend on the cells.

use oblivio::Partition;
use oblivio::partition::SensitiveDesign;

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

/// What scores have to do with their cells, gathered batch by batch.
///
/// ```
/// let mut tally = oblivio_audit::Tally::new(2);
/// tally.update(&[1.0, 3.0], &[0, 1]);
/// tally.update(&[1.0, 3.0], &[0, 1]);
/// assert_eq!(tally.correlation_ratio().value, 1.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// The cells, then all rows without a cell of their own.
    groups: Vec<Group>,
}

/// Rows, the mean $m$ of their scores, and $\sum_i(y_i - m)^2$.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Group {
    rows: usize,
    mean: f64,
    squares: f64,
}

impl Tally {
    /// Nothing yet, for this number of cells.
    pub fn new(cells: usize) -> Self {
        Self {
            groups: vec![Group::default(); cells + 1],
        }
    }

    /// Adds rows. A cell beyond the last is a row without a cell of its own, whichever it is.
    pub fn update(&mut self, scores: &[f64], cells: &[u32]) {
        let most = self.groups.len() - 1;
        let place = |cell: &u32| (*cell as usize).min(most);
        let mut batch = vec![Group::default(); self.groups.len()];
        for (score, cell) in scores.iter().zip(cells) {
            let group = &mut batch[place(cell)];
            group.rows += 1;
            group.mean += score;
        }
        for group in batch.iter_mut().filter(|group| group.rows > 0) {
            group.mean /= group.rows as f64;
        }
        for (score, cell) in scores.iter().zip(cells) {
            let group = &mut batch[place(cell)];
            group.squares += (score - group.mean) * (score - group.mean);
        }
        for (group, more) in self.groups.iter_mut().zip(batch) {
            *group = group.plus(more);
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.groups.iter().map(|group| group.rows).sum()
    }

    /// The correlation ratio. Rows without a cell of their own count as one cell.
    pub fn correlation_ratio(&self) -> CorrelationRatio {
        let used = || self.groups.iter().filter(|group| group.rows > 0);
        let all = used().fold(Group::default(), |all, group| all.plus(*group));
        let rows = all.rows as f64;
        let between: f64 = used()
            .map(|group| group.rows as f64 * (group.mean - all.mean) * (group.mean - all.mean))
            .sum();
        let total = between + used().map(|group| group.squares).sum::<f64>();
        CorrelationRatio {
            value: if total > 0.0 { between / total } else { 0.0 },
            expected: if rows > 1.0 {
                (used().count() as f64 - 1.0) / (rows - 1.0)
            } else {
                0.0
            },
        }
    }

    /// The mean score of each cell that has rows; rows without a cell of their own come last.
    pub fn cell_means(&self, partition: &Partition) -> Vec<CellMean> {
        let numbered = self.groups.iter().enumerate();
        numbered
            .filter(|(_, group)| group.rows > 0)
            .map(|(cell, group)| CellMean {
                label: if cell < partition.len() {
                    partition.label(cell)
                } else {
                    "without a cell of its own".into()
                },
                rows: group.rows,
                mean: group.mean,
            })
            .collect()
    }
}

impl Group {
    /// The rows of both: $\sum(y - m)^2$ grows by $\frac{N N'}{N + N'}(m - m')^2$.
    fn plus(self, other: Self) -> Self {
        if self.rows == 0 || other.rows == 0 {
            return if self.rows == 0 { other } else { self };
        }
        let rows = self.rows + other.rows;
        let share = other.rows as f64 / rows as f64;
        let apart = other.mean - self.mean;
        Self {
            rows,
            mean: self.mean + share * apart,
            squares: self.squares + other.squares + self.rows as f64 * share * apart * apart,
        }
    }
}

/// The correlation ratio of scores and cells.
///
/// It sees differences between the cells' means and nothing else: equal means can hide a different spread.
pub fn correlation_ratio(scores: &[f64], cells: &[u32]) -> CorrelationRatio {
    let mut tally = Tally::new(cells.iter().max().map_or(0, |&cell| cell as usize + 1));
    tally.update(scores, cells);
    tally.correlation_ratio()
}

/// The mean score of each cell that has rows here; rows without a cell of their own come last.
pub fn cell_means(
    scores: &[f64],
    assignment: &SensitiveDesign,
    partition: &Partition,
) -> Vec<CellMean> {
    let mut tally = Tally::new(partition.len());
    tally.update(scores, assignment.codes());
    tally.cell_means(partition)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use oblivio_base::random::{Stream, generator};

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

    /// Far from zero, where sums of squares would lose everything.
    #[test]
    fn batches_add_up_to_the_whole() {
        let mut random = generator(2, Stream::Simulation);
        let cells: Vec<u32> = (0..1000).map(|i| i * i % 7).collect();
        let scores: Vec<f64> = cells
            .iter()
            .map(|cell| 1e6 + f64::from(*cell) + random.random::<f64>())
            .collect();
        let whole = correlation_ratio(&scores, &cells);
        for size in [1, 10, 333] {
            let mut tally = Tally::new(7);
            for (scores, cells) in scores.chunks(size).zip(cells.chunks(size)) {
                tally.update(scores, cells);
            }
            let found = tally.correlation_ratio();
            assert_eq!((tally.rows(), found.expected), (1000, whole.expected));
            assert!((found.value - whole.value).abs() < 1e-9 * whole.value);
        }
    }

    #[test]
    fn rows_without_a_cell_are_pooled() {
        let mut pooled = Tally::new(1);
        pooled.update(&[1.0, 2.0, 4.0], &[0, 1, 7]);
        let mut named = Tally::new(2);
        named.update(&[1.0, 2.0, 4.0], &[0, 1, 1]);
        assert_eq!(pooled.correlation_ratio(), named.correlation_ratio());
    }
}
