//! How much a score says of the cells, before and after what is taken off it.

use oblivio_base::Result;
use oblivio_base::stats::Spread;
use serde::{Deserialize, Serialize};

use crate::adjust::Offsets;
use crate::partition::SensitiveDesign;
use crate::predictor::Predictor;

/// The share of a score's variance that the cells explain, $\eta^2 = \sum_c W_c(\bar h_c - \bar h)^2/\sum_i w_i(h_i - \bar h)^2$, over
/// rows of the fit.
///
/// Such rows flatter a model: an audit of other rows is what counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Dependence {
    /// Of h(x); 0 for a constant.
    pub before: f64,
    /// Of the prediction: less the offsets, and aligned.
    pub after: f64,
    /// (L − 1)/(n − 1): its mean for scores that do not depend on the cells.
    pub expected: f64,
}

impl Dependence {
    /// Of a predictor whose h has these values at rows.
    pub(crate) fn of_rows(
        predictor: &Predictor,
        before: &[f64],
        assignment: &SensitiveDesign,
        weights: &[f64],
    ) -> Result<Option<Self>> {
        let Some(offsets) = predictor.offsets() else {
            return Ok(None);
        };
        let after = predictor.aligned(&predictor.less_offsets(before, assignment), assignment)?;
        let groups = offsets.partition.len() + 1;
        let ratio = |scores: &[f64]| {
            let mut inside = vec![Spread::default(); groups];
            for ((score, weight), cell) in scores.iter().zip(weights).zip(assignment.cells()) {
                // Rows without a cell of their own count as one.
                inside[cell.unwrap_or(groups - 1)].add(*score, *weight);
            }
            let mut all = Spread::default();
            for group in &inside {
                all.merge(*group);
            }
            let within: f64 = inside.iter().map(|group| group.squares).sum();
            let used = inside.iter().filter(|group| group.weight > 0.0).count();
            (explained(all.squares - within, within), used)
        };
        let rows = weights.iter().filter(|weight| **weight > 0.0).count();
        let ((before, used), (after, _)) = (ratio(before), ratio(&after));
        Ok(Self {
            before,
            after,
            expected: expected(used, rows),
        }
        .if_finite())
    }

    /// Of an h with these means over the cells, those of all taken off, and this variance within them. Offsets of cells change nothing
    /// within a cell; those of a regression on S do, and need the rows.
    pub(crate) fn of_means(offsets: &Offsets, means: &[f64], within: f64) -> Option<Self> {
        if offsets.smooth.is_some() && offsets.strength > 0.0 {
            return None;
        }
        let shares = offsets.partition.shares();
        let between = |strength: f64| -> f64 {
            let cells = shares.iter().zip(means).zip(&offsets.by_cell);
            cells
                .map(|((share, mean), b)| share * (mean - strength * b).powi(2))
                .sum()
        };
        let rows = offsets.partition.counts().iter().sum();
        let within = within.max(0.0);
        Self {
            before: explained(between(0.0), within),
            after: explained(between(offsets.strength), within),
            expected: expected(shares.len(), rows),
        }
        .if_finite()
    }

    /// Numbers that a file can hold.
    fn if_finite(self) -> Option<Self> {
        let finite = self.before.is_finite() && self.after.is_finite();
        finite.then_some(self)
    }
}

fn explained(between: f64, within: f64) -> f64 {
    let between = between.max(0.0);
    if between > 0.0 {
        between / (between + within)
    } else {
        0.0
    }
}

fn expected(cells: usize, rows: usize) -> f64 {
    if rows > 1 {
        (cells as f64 - 1.0) / (rows as f64 - 1.0)
    } else {
        0.0
    }
}
