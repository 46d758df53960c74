//! A column of numbers less what S says of its mean.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use oblivio::Partition;
use oblivio::model::file::Smooth;
use oblivio::partition::SensitiveDesign;
use oblivio::sibling::{ByCell, Distribution};
use oblivio_base::error::require;
use oblivio_base::stats::Spread;
use oblivio_base::{Error, Result};
use serde::{Deserialize, Serialize};

use super::bytes::DAMAGED;
use super::conditional::Reference;

/// $x - t\,(E_n(x \mid s) - E_nx)$
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ResidualMap {
    /// The mean of every cell.
    Cells(ByCell<Mean>),
    /// The coefficients of the features of S.
    Smooth(Shift),
}

/// The mean of the values in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Mean(f64);

/// A shift that is a regression on features of S.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Shift {
    /// Where the features are zero.
    start: f64,
    on: Vec<f64>,
}

impl Distribution for Mean {
    fn shift(&mut self, by: f64) {
        self.0 += by;
    }

    fn check_read(&self) -> Result<()> {
        require(self.0.is_finite(), DAMAGED)
    }
}

impl ResidualMap {
    pub(super) fn fit(values: &[f64], reference: Reference) -> Result<Self> {
        let Reference {
            partition,
            assignment,
            weights,
            rows,
        } = reference;
        let (Some(table), Some(smooth)) = (reference.smooth(), partition.smooth()) else {
            let mean = |rows: &[(f64, f64)]| {
                let mut spread = Spread::default();
                for (value, weight) in rows {
                    spread.add(*value, *weight);
                }
                Mean(spread.mean)
            };
            return ByCell::estimate(values, assignment, weights, mean).map(Self::Cells);
        };
        let (centred, centre) = table.centred();
        let (gram, cross) = sums(&centred, values, rows, weights);
        let solved = smooth.solve(gram.as_ref(), cross.as_ref())?;
        let on: Vec<f64> = (0..centred.nrows()).map(|a| solved[(a, 0)]).collect();
        let start = -on.iter().zip(&centre).map(|(on, c)| on * c).sum::<f64>();
        let shift = Shift { start, on };
        let finite = shift.on.iter().chain([&shift.start]).all(|v| v.is_finite());
        finite
            .then_some(Self::Smooth(shift))
            .ok_or(Error::Overflow {
                what: "a regression of the release",
            })
    }

    /// The released numbers; missing ones stay missing.
    pub(super) fn apply(
        &self,
        values: &[f64],
        assignment: &SensitiveDesign,
        strength: f64,
    ) -> Result<Vec<f64>> {
        let shifts = match (self, assignment.matrix()) {
            (Self::Cells(cells), _) => {
                let population = cells.shares();
                let mean = |parts: &[(&Mean, f64)]| -> f64 {
                    parts.iter().map(|(mean, share)| share * mean.0).sum()
                };
                let overall = mean(&population);
                let shift = |row| mean(&cells.parts(&population, assignment, row)) - overall;
                (0..values.len()).map(shift).collect()
            }
            (Self::Smooth(shift), Some(features)) if features.nrows() == shift.on.len() => {
                shift.of(features.as_ref())
            }
            (Self::Smooth(_), _) => {
                return Err(Error::InvalidParameter {
                    name: "what a release is given",
                    expected: "the features of S of the fit",
                    value: "others".into(),
                });
            }
        };
        let pairs = values.iter().zip(shifts);
        Ok(pairs
            .map(|(value, shift)| value - strength * shift)
            .collect())
    }

    /// Refuses a map that no fit with this partition gives.
    pub(super) fn check_read(&self, partition: &Partition) -> Result<()> {
        let fits = match (self, partition.smooth()) {
            (Self::Cells(cells), None) => {
                cells.check_read()?;
                cells.len() <= partition.len()
            }
            (Self::Smooth(shift), Some(smooth)) => {
                shift.on.len() == Smooth::len(smooth)
                    && shift.start.is_finite()
                    && shift.on.iter().all(|v| v.is_finite())
            }
            _ => false,
        };
        require(fits, DAMAGED)
    }

    /// All numbers of which there may be many.
    pub(super) fn numbers(&mut self) -> Vec<&mut Vec<f64>> {
        match self {
            Self::Cells(_) => Vec::new(),
            Self::Smooth(shift) => vec![&mut shift.on],
        }
    }
}

/// $\sum\omega DD^\top$ and $\sum\omega D(x - \bar x)$ over the rows that teach.
fn sums(
    features: &Mat<f64>,
    values: &[f64],
    rows: &[usize],
    weights: &[f64],
) -> (Mat<f64>, Mat<f64>) {
    const BLOCK: usize = 4096;
    let mut spread = Spread::default();
    for &i in rows {
        spread.add(values[i], weights[i]);
    }
    let width = features.nrows();
    let (mut gram, mut cross) = (Mat::zeros(width, width), Mat::zeros(width, 1));
    for block in rows.chunks(BLOCK) {
        let own = Mat::from_fn(width, block.len(), |a, k| features[(a, block[k])]);
        let weighted = Mat::from_fn(width, block.len(), |a, k| own[(a, k)] * weights[block[k]]);
        let x = Mat::from_fn(block.len(), 1, |k, _| values[block[k]] - spread.mean);
        // Not in parallel, so that the bits do not depend on the number of threads.
        let (add, one) = (Accum::Add, Par::Seq);
        matmul(gram.as_mut(), add, &weighted, own.transpose(), 1.0, one);
        matmul(cross.as_mut(), add, &weighted, &x, 1.0, one);
    }
    (gram, cross)
}

impl Shift {
    fn of(&self, features: MatRef<'_, f64>) -> Vec<f64> {
        let shift = |row: usize| {
            let column = features.col(row);
            let along = self.on.iter().zip(column.iter()).map(|(on, d)| on * d);
            self.start + along.sum::<f64>()
        };
        (0..features.ncols()).map(shift).collect()
    }
}
