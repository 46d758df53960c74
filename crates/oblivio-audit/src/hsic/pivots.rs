//! Landmarks by pivoted Cholesky, and the factor they give.

use faer::Mat;
use oblivio_base::random::{Stream, generator};
use oblivio_base::{Result, Watch};
use rand::RngExt;

use super::reading::{Reading, cell_shares};

/// Rows that stand for all, and the factor $F$ of the kernel matrix that they explain.
pub(super) struct Pivots {
    /// The landmarks' rows.
    pub(super) rows: Vec<u32>,
    /// Row i is $L^{-1}(k(l_1, x_i), \dots, k(l_p, x_i))^\top$ with $LL^\top$ the landmarks' kernel matrix.
    pub(super) factor: Mat<f64>,
    /// The mean of what the factor leaves of $k(x_i, x_i) = 1$.
    pub(super) left: f64,
}

/// When to take no more landmarks.
#[derive(Clone, Copy)]
pub(super) struct Stop {
    pub(super) landmarks: usize,
    /// Leaving this share of the kernel is enough.
    pub(super) left: f64,
}

impl Pivots {
    /// Landmarks drawn by seed, each row in proportion to what those before leave of it (Chen et al., 2024).
    ///
    /// The largest remainder instead of a random one would spend the landmarks on outliers.
    pub(super) fn draw(reading: &Reading, stop: Stop, seed: u64, watch: &Watch) -> Result<Self> {
        let rows = reading.rows;
        let mut random = generator(seed, Stream::Landmarks);
        let mut left = vec![1.0f64; rows];
        let (mut chosen, mut columns) = (Vec::new(), Vec::<Vec<f64>>::new());
        while chosen.len() < stop.landmarks && mean(&left) > stop.left {
            watch.check()?;
            let mut at = random.random::<f64>() * left.iter().sum::<f64>();
            let drawn = left.iter().position(|part| {
                at -= part;
                at < 0.0 && *part > 0.0
            });
            let Some(pivot) = drawn else { break };
            let mut column = reading.column(pivot);
            for before in &columns {
                let height = before[pivot];
                for (value, b) in column.iter_mut().zip(before) {
                    *value -= height * b;
                }
            }
            let root = left[pivot].sqrt();
            for (value, part) in column.iter_mut().zip(&mut left) {
                *value /= root;
                *part = (*part - *value * *value).max(0.0);
            }
            left[pivot] = 0.0;
            chosen.push(pivot as u32);
            columns.push(column);
        }
        Ok(Self {
            factor: Mat::from_fn(rows, chosen.len(), |i, j| columns[j][i]),
            rows: chosen,
            left: mean(&left),
        })
    }

    /// One row of each of the heaviest cells, for a kernel of cells alone.
    pub(super) fn of_cells(reading: &Reading, most: usize, weights: &[f64]) -> Vec<u32> {
        let shares = cell_shares(&reading.cells, weights);
        let mut first = vec![u32::MAX; shares.len()];
        for (row, &cell) in reading.cells.iter().enumerate().rev() {
            first[cell as usize] = row as u32;
        }
        let mut order: Vec<usize> = (0..shares.len()).filter(|&c| shares[c] > 0.0).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
        order.truncate(most);
        order.into_iter().map(|cell| first[cell]).collect()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
