//! Every strength and penalty, from moments alone.

use super::Settings;
use crate::error::Result;
use crate::learn::dot;
use crate::moments::{Design, Moments};
use crate::oblivious::check_strength;
use crate::watch::Watch;

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
    /// Generalised cross-validation, with the conditional means held fixed.
    pub gcv: f64,
    /// The share of the variance of the score (of the leave-one-out score, where there is one) that the cells explain.
    pub correlation_ratio: f64,
    /// The same if the score were independent of the cells: (L − 1)/(n − 1).
    pub expected: f64,
    /// The largest difference between the mean scores of two cells.
    pub gap: f64,
}

impl Settings {
    /// Error and dependence of oblivious ridge regression for every strength and penalty, all rows estimating.
    ///
    /// Error alone is no guide to a strength: leaking S lowers it.
    pub fn grid(
        &self,
        moments: &Moments,
        strengths: &[f64],
        penalties: &[f64],
        watch: &Watch,
    ) -> Result<Vec<GridPoint>> {
        let sums = moments.clone().whitened(watch)?;
        let cells = sums.cells()?;
        let (shift, _) = cells.shifts(&sums)?;
        let means = cells.absolute(&sums.origin);
        let mass = cells.partition.mass();
        let weight: f64 = mass.iter().sum();
        let mut points = Vec::new();
        for &strength in strengths {
            check_strength(strength)?;
            watch.check()?;
            let taken = (strength > 0.0).then_some((&shift, strength));
            let design = Design::new(&sums, taken)?;
            let features = design.len();
            let overall = design.means().0;
            for (point, weights) in self.ridge()?.path(&design, penalties)? {
                // The mean score of a cell less that of all: what is left of the shift.
                let centre = dot(&weights, &overall);
                let left: Vec<f64> = means
                    .chunks(features)
                    .map(|mean| (1.0 - strength) * (dot(&weights, mean) - centre))
                    .collect();
                let between: f64 = left.iter().zip(mass).map(|(d, m)| m * d * d).sum();
                let variance = design.variance(&weights);
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
