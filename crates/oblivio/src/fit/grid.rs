//! Every strength and penalty, from moments alone.

use faer::Mat;
use oblivio_base::choice::check_strength;
use oblivio_base::{Error, Named, Result, Watch};
use oblivio_kernels::gram::dot;

use super::explicit::turn;
use super::{Mode, Settings};
use crate::moments::{Moments, normal_equations};
use crate::sensitive_free::Restraint;

/// What one strength and penalty give on the rows of the moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GridPoint {
    /// The kernel's γ, if it has one and the rows were at hand.
    pub gamma: Option<f64>,
    /// t
    pub strength: f64,
    /// λ
    pub penalty: f64,
    /// Root mean squared error.
    pub error: f64,
    /// The same when each row is predicted without itself, where the rows were at hand.
    pub left_out: Option<f64>,
    /// Generalised cross-validation, with the conditional means held fixed; of an m-oblivious fit, that of h before its offsets.
    pub gcv: f64,
    /// The share of the variance of the score (of the leave-one-out score, where there is one) that the cells explain.
    pub correlation_ratio: f64,
    /// The same if the score were independent of the cells: (L − 1)/(n − 1).
    pub expected: f64,
    /// The largest difference between the mean scores of two cells.
    pub gap: f64,
}

impl Settings {
    /// Error and dependence of ridge regression for every strength and penalty, all rows estimating.
    ///
    /// Error alone is no guide to a strength: leaking S lowers it. Not m-oblivious, whose error needs single rows.
    pub fn grid(
        &self,
        moments: &Moments,
        strengths: &[f64],
        penalties: &[f64],
        watch: &Watch,
    ) -> Result<Vec<GridPoint>> {
        self.check()?;
        let mode = self.effective_mode(moments.plan().has_sensitive());
        if mode == Mode::MOblivious || matches!(self.restraint, Restraint::Soft(_)) {
            return Err(Error::InvalidParameter {
                name: "the mode of a grid from moments",
                expected: "plain, oblivious or sensitive-free, the last without eta",
                value: self.mode.name().into(),
            });
        }
        let sums = moments.clone().whitened(watch)?;
        let cells = sums.cells(moments.plan())?;
        let (shift, _) = cells.shifts(&sums)?;
        let means = cells.absolute(&sums.origin);
        let mass = cells.partition.mass();
        let weight: f64 = mass.iter().sum();
        let mut points = Vec::new();
        for &strength in strengths {
            check_strength(strength)?;
            watch.check()?;
            let oblivious = mode == Mode::Oblivious && strength > 0.0;
            let mut design = normal_equations(&sums, oblivious.then_some((&shift, strength)))?;
            let features = design.len();
            let overall = design.means().0;
            let turn = match mode {
                Mode::SensitiveFree => {
                    // A penalty would matter only with eta.
                    let knobs = (strength, self.penalty);
                    Some(turn(&cells, &sums.origin, self.restraint, knobs)?)
                }
                _ => None,
            };
            if let Some(turn) = &turn {
                design = design.turned(turn.as_ref());
            }
            for (point, weights) in self.ridge()?.path(&design, penalties)? {
                let variance = design.variance(&weights);
                let unturned = |turn: &Mat<f64>| -> Vec<f64> {
                    let entry = |k: usize| dot(turn.col_as_slice(k), &weights);
                    (0..features).map(entry).collect()
                };
                let weights = turn.as_ref().map_or_else(|| weights.clone(), unturned);
                // The mean score of a cell less that of all: what is left of the shift.
                let centre = dot(&weights, &overall);
                let taken = if oblivious { strength } else { 0.0 };
                let smooth = cells.smooth.as_ref();
                let smooth = smooth.map(|smooth| smooth.offsets(smooth.values_of(&weights)));
                let left: Vec<f64> = means
                    .chunks(features)
                    .enumerate()
                    .map(|(c, mean)| {
                        let shift = dot(&weights, mean) - centre;
                        let own = smooth.as_ref().map_or(shift, |smooth| smooth.by_cell[c]);
                        shift - taken * own
                    })
                    .collect();
                let between: f64 = left.iter().zip(mass).map(|(d, m)| m * d * d).sum();
                let most = left.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let least = left.iter().copied().fold(f64::INFINITY, f64::min);
                points.push(GridPoint {
                    gamma: None,
                    left_out: None,
                    strength,
                    penalty: point.penalty,
                    error: point.error,
                    gcv: point.gcv,
                    correlation_ratio: if variance > 0.0 {
                        between / variance
                    } else {
                        0.0
                    },
                    expected: (mass.len() as f64 - 1.0) / (weight - 1.0).max(1.0),
                    gap: most - least,
                });
            }
        }
        Ok(points)
    }
}
