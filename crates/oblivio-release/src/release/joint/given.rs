//! The features of S, one row for each row of a table.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par, Side};
use oblivio::Partition;
use oblivio::model::file::Smooth;
use oblivio::partition::{CellWeights, SensitiveDesign};
use oblivio_base::{Error, Result};

use super::axis::{Orthonormal, Taught};

/// A direction among the features that has less than this share of the largest's mean square is rounding.
const LEAST: f64 = 1e-6;
/// Rows that a direction must be worth: what fewer rows have in common is theirs alone.
const LEAST_ROWS: f64 = 3.0;

/// The number of features of S.
pub(super) fn width(partition: &Partition) -> usize {
    partition.smooth().map_or(partition.len(), Smooth::len)
}

/// The features of S of rows, one row in each column: the ones of the regression, or else the share of each cell. A row whose S
/// is not known has zeros.
pub(super) fn features(partition: &Partition, assignment: &SensitiveDesign) -> Result<Mat<f64>> {
    let width = width(partition);
    if let Some(smooth) = assignment.matrix() {
        if smooth.nrows() == width {
            return Ok(smooth.clone());
        }
        return Err(Error::InvalidParameter {
            name: "the number of features of S",
            expected: "the number at the fit of the release",
            value: format!("{} in place of {width}", smooth.nrows()),
        });
    }
    let mut features = Mat::zeros(width, assignment.len());
    for row in 0..assignment.len() {
        match assignment.cell_weights(row) {
            CellWeights::Own(cell) => features[(cell, row)] = 1.0,
            CellWeights::Mixture(shares) => {
                for (own, share) in features.col_as_slice_mut(row).iter_mut().zip(shares) {
                    *own = *share;
                }
            }
        }
    }
    Ok(features)
}

impl Orthonormal {
    /// Features that are orthonormal over the rows that teach, of features as the partition gives them.
    pub(super) fn new(features: &Mat<f64>, taught: Taught) -> Result<Self> {
        const BLOCK: usize = 4096;
        let width = features.nrows();
        let total: f64 = taught.rows.iter().map(|&i| taught.weights[i]).sum();
        let mut gram = Mat::<f64>::zeros(width, width);
        for block in taught.rows.chunks(BLOCK) {
            let scaled = Mat::from_fn(width, block.len(), |j, k| {
                features[(j, block[k])] * (taught.weights[block[k]] / total).sqrt()
            });
            let right = scaled.transpose();
            // Not in parallel, so that the bits do not depend on the number of threads.
            matmul(gram.as_mut(), Accum::Add, &scaled, right, 1.0, Par::Seq);
        }
        let overflow = || Error::Overflow {
            what: "the features of S of a joint release",
        };
        let eigen = gram
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| overflow())?;
        let values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
        let largest = values.iter().copied().fold(0.0, f64::max);
        let least = (LEAST * largest).max(LEAST_ROWS / taught.rows.len() as f64);
        let kept: Vec<usize> = (0..width).rev().filter(|&j| values[j] > least).collect();
        let from = Mat::from_fn(width, kept.len(), |a, j| {
            eigen.U()[(a, kept[j])] / values[kept[j]].sqrt()
        });
        let mut rows = Mat::zeros(kept.len(), features.ncols());
        let left = from.transpose();
        matmul(rows.as_mut(), Accum::Replace, left, features, 1.0, Par::Seq);
        Ok(Self { from, rows })
    }
}
