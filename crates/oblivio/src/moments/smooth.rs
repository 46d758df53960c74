//! Sums over features of S, and the regression of the features of points on them.

use faer::Mat;
use oblivio_base::{Error, Result};

use super::Sums;
use crate::adjust::SmoothOffsets;
use crate::partition::{Partition, SensitiveDesign, Smooth};
use crate::sensitive::Sensitive;

/// Features of S and indicators of cells.
pub(super) fn dense_width(partition: &Partition) -> usize {
    partition.len() + partition.smooth.as_ref().map_or(0, Smooth::len)
}

/// The features of S of every row and the indicators of its cell, row after row. Of the rows that are not left out, the cells.
///
/// Rows that are left out, and those that have no place among the features, are zero: the indicators of a row add up to one if it has a
/// part in the regression, and else to none.
pub(super) fn dense_rows(
    partition: &Partition,
    sensitive: &Sensitive,
    left_out: &[bool],
) -> Result<(Vec<f64>, SensitiveDesign)> {
    let kept: Vec<usize> = (0..left_out.len()).filter(|&i| !left_out[i]).collect();
    let assignment = if kept.len() == left_out.len() {
        partition.assign(sensitive)?
    } else {
        partition.assign(&sensitive.select(&kept))?
    };
    let (width, cells) = (dense_width(partition), partition.len());
    let smooth = width - cells;
    let mut rows = vec![0.0; width * sensitive.len()];
    for (i, place) in kept.into_iter().enumerate() {
        let row = &mut rows[place * width..(place + 1) * width];
        if let Some(features) = assignment.matrix() {
            row[..smooth].copy_from_slice(features.col_as_slice(i));
        }
        if !assignment.is_unknown(i) {
            assignment.indicate(i, &mut row[smooth..]);
        }
    }
    Ok((rows, assignment))
}

/// The regression of the features of points on those of S.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SmoothFeatures {
    /// Centred over these rows.
    pub(crate) smooth: Smooth,
    /// β, one for each feature of S, one after the other.
    pub(crate) directions: Vec<f64>,
    /// The same of the target.
    pub(super) target: Vec<f64>,
    /// The mean of D over each cell, one after the other.
    pub(crate) inside: Vec<f64>,
    /// $\sum wDD^\top$
    pub(crate) gram: Mat<f64>,
    pub(crate) weight: f64,
    /// The mean over these rows of D as the plan has it; over those that have a place.
    pub(super) mean: Vec<f64>,
}

impl SmoothFeatures {
    pub(super) fn new(
        rows: &Sums,
        partition: &Partition,
        gram: &[f64],
        sums: &[f64],
    ) -> Result<Self> {
        let width = rows.width;
        let all = sums.len() / width;
        let count = all - partition.len();
        let placed = rows.added(&sums[count * width..]);
        if placed[width - 1] <= 0.0 {
            return Err(Error::TooFewRows {
                what: "the reference (those with a sensitive value that the plan knows)",
                found: 0,
                needed: 1,
            });
        }
        let (mean, second, with) = rows.centred(count, gram, sums, &placed);
        let smooth = partition.smooth.as_ref().map(|smooth| smooth.moved(&mean));
        let Some(smooth) = smooth else {
            return Err(Error::UnlikeMoments {
                problem: "their sensitive features are not cells",
            });
        };
        let solved = smooth.solve(second.as_ref(), with.as_ref())?;
        let features = width - 2;
        let cells = count..all;
        let inside = cells.flat_map(|c| {
            let mass = sums[c * width + width - 1];
            let mean = &mean;
            (0..count).map(move |a| {
                if mass > 0.0 {
                    gram[c * all + a] / mass - mean[a]
                } else {
                    0.0
                }
            })
        });
        Ok(Self {
            directions: (0..count)
                .flat_map(|a| (0..features).map(|k| solved[(a, k)]).collect::<Vec<_>>())
                .collect(),
            target: (0..count).map(|a| solved[(a, features)]).collect(),
            inside: inside.collect(),
            smooth,
            gram: second,
            weight: placed[width - 1],
            mean,
        })
    }

    /// $\langle w, \beta_a\rangle$ for every feature of S.
    pub(crate) fn values_of(&self, weights: &[f64]) -> Vec<f64> {
        let rows = self.directions.chunks(weights.len());
        rows.map(|row| row.iter().zip(weights).map(|(b, w)| b * w).sum())
            .collect()
    }

    /// The offsets with these values.
    pub(crate) fn offsets(&self, values: Vec<f64>) -> SmoothOffsets {
        let cells = self.inside.chunks(values.len());
        SmoothOffsets {
            by_cell: cells
                .map(|mean| mean.iter().zip(&values).map(|(d, v)| d * v).sum())
                .collect(),
            values,
        }
    }
}
