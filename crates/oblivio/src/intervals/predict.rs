//! The intervals of predictions.

use oblivio_base::{Error, Result};

use super::Intervals;
use crate::predictor::{Prediction, Predictor};

/// The intervals of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PredictionInterval {
    /// The score less the half-width; −∞ where that has no end.
    pub lower: Vec<f64>,
    /// The score and the half-width.
    pub upper: Vec<f64>,
    /// How many have no end, because a cell holds too few rows for the coverage.
    pub endless: usize,
}

impl Predictor {
    /// The residuals that intervals are made of, if they were asked for in the fit.
    pub fn intervals(&self) -> Option<&Intervals> {
        self.intervals.as_ref()
    }

    /// The intervals of rows that this predictor has scored: $\text{score} \pm q_c$, $q_c$ being the half-width of the row's cell.
    ///
    /// Rows that may be in several cells have the largest of theirs: mixtures, and rows without sensitive values. Those that
    /// the [`fallback`](Self::fallback) scored have its half-widths.
    pub fn interval(&self, prediction: &Prediction, coverage: f64) -> Result<PredictionInterval> {
        let rows = prediction.scores.len();
        let assignment = prediction.assignment.as_ref();
        let mut widths = self.residuals()?.of_rows(assignment, rows, coverage)?;
        if let (Some(fallback), false) = (&self.fallback, prediction.apart.is_empty()) {
            let apart = fallback.residuals()?.of_rows(None, 1, coverage)?[0];
            prediction.apart.iter().for_each(|&row| widths[row] = apart);
        }
        let ends = |side: f64| {
            let pairs = prediction.scores.iter().zip(&widths);
            pairs.map(|(score, width)| score + side * width).collect()
        };
        Ok(PredictionInterval {
            lower: ends(-1.0),
            upper: ends(1.0),
            endless: widths.iter().filter(|width| width.is_infinite()).count(),
        })
    }

    fn residuals(&self) -> Result<&Intervals> {
        self.intervals.as_ref().ok_or(Error::InvalidParameter {
            name: "a model that predicts intervals",
            expected: "one fitted with intervals (auto, loo or folds)",
            value: "one without: fit it again".into(),
        })
    }
}
