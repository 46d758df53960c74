//! How wrong scores are on held-out rows, with intervals.

use oblivio_base::{Named, Result, Watch};
use serde::{Deserialize, Serialize};

use crate::{Ranking, Resampling};

/// How an error is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorMeasure {
    /// $\sqrt{\sum w(y - f)^2/\sum w}$
    Rmse,
    /// One less the area under the curve: the share of pairs of two classes whose scores are in the wrong order.
    OneMinusAuc,
    /// The mean of both classes' shares of rows on the wrong side of zero.
    BalancedError,
}

impl Named for ErrorMeasure {
    const WHAT: &'static str = "error measure";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("rmse", Self::Rmse),
        ("one-minus-auc", Self::OneMinusAuc),
        ("balanced-error", Self::BalancedError),
    ];
}

impl ErrorMeasure {
    /// The errors of a regression, or of a classifier.
    pub(super) fn of(classifies: bool) -> &'static [Self] {
        if classifies {
            &[Self::OneMinusAuc, Self::BalancedError]
        } else {
            &[Self::Rmse]
        }
    }

    fn most(self) -> f64 {
        match self {
            Self::Rmse => f64::INFINITY,
            Self::OneMinusAuc | Self::BalancedError => 1.0,
        }
    }
}

/// An error with its interval, and what it is beyond that of the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ErrorFound {
    /// How it is counted.
    pub measure: ErrorMeasure,
    /// The error on the held-out rows.
    pub value: f64,
    /// The lower end of its interval.
    pub lower: f64,
    /// The upper end of its interval.
    pub upper: f64,
    /// The error less that of the start, if there is one: what taking S out costs.
    pub cost: Option<f64>,
    /// The lower end of the interval of the cost, from the same draws for both.
    pub cost_lower: Option<f64>,
    /// The upper end of the interval of the cost.
    pub cost_upper: Option<f64>,
}

/// The held-out rows that errors are counted on.
pub(super) struct Judge<'a> {
    /// Y, or 0 and 1 for two classes.
    pub(super) truth: &'a [f64],
    pub(super) weights: &'a [f64],
    pub(super) resampling: &'a Resampling,
}

/// The value on all rows, and on every sample of them.
struct Drawn {
    value: f64,
    resampled: Vec<f64>,
}

impl Judge<'_> {
    /// The error of a constant.
    pub(super) fn of_constant(&self, measure: ErrorMeasure, constant: f64) -> f64 {
        let scores = vec![constant; self.truth.len()];
        match measure {
            ErrorMeasure::Rmse => Scored::new(measure, &scores).error(self.truth, self.weights),
            // One side is all right, the other all wrong.
            ErrorMeasure::OneMinusAuc | ErrorMeasure::BalancedError => 0.5,
        }
    }

    /// The errors of every candidate's scores, one for each measure; costs are counted from the scores at `start`.
    ///
    /// Every candidate sees the same samples, so that the interval of a difference is that of the difference.
    pub(super) fn errors(
        &self,
        measures: &[ErrorMeasure],
        scores: &[Vec<f64>],
        start: Option<usize>,
        watch: &Watch,
    ) -> Result<Vec<Vec<ErrorFound>>> {
        let scored: Vec<Vec<Scored>> = scores
            .iter()
            .map(|scores| measures.iter().map(|m| Scored::new(*m, scores)).collect())
            .collect();
        let mut drawn: Vec<Vec<Drawn>> = scored
            .iter()
            .map(|scored| scored.iter().map(|s| self.first(s)).collect())
            .collect();
        watch.begin("errors", self.resampling.resamples)?;
        for number in 0..self.resampling.resamples {
            watch.check()?;
            let mut counts = self.resampling.counts(number, self.truth.len());
            let weighted = counts.iter_mut().zip(self.weights);
            weighted.for_each(|(count, weight)| *count *= weight);
            for (drawn, scored) in drawn.iter_mut().flatten().zip(scored.iter().flatten()) {
                drawn.resampled.push(scored.error(self.truth, &counts));
            }
            watch.advance();
        }
        let found = |of: &Vec<Drawn>| {
            let all = of.iter().zip(measures).enumerate();
            all.map(|(k, (own, measure))| {
                self.found(*measure, own, start.map(|start| &drawn[start][k]))
            })
            .collect()
        };
        Ok(drawn.iter().map(found).collect())
    }

    fn first(&self, scored: &Scored) -> Drawn {
        Drawn {
            value: scored.error(self.truth, self.weights),
            resampled: Vec::with_capacity(self.resampling.resamples),
        }
    }

    fn found(&self, measure: ErrorMeasure, own: &Drawn, start: Option<&Drawn>) -> ErrorFound {
        let (lower, upper) = self.resampling.basic(own.value, own.resampled.clone());
        let cost = start.map(|start| {
            let pairs = own.resampled.iter().zip(&start.resampled);
            let value = own.value - start.value;
            let ends = self
                .resampling
                .basic(value, pairs.map(|(own, start)| own - start).collect());
            (value, ends)
        });
        ErrorFound {
            measure,
            value: own.value,
            lower: lower.clamp(0.0, measure.most()),
            upper: upper.clamp(0.0, measure.most()),
            cost: cost.map(|(value, _)| value),
            cost_lower: cost.map(|(_, (lower, _))| lower),
            cost_upper: cost.map(|(_, (_, upper))| upper),
        }
    }
}

/// Scores ready to be judged with any weights.
enum Scored<'a> {
    Numbers(&'a [f64]),
    Order(Ranking),
    Sides(&'a [f64]),
}

impl<'a> Scored<'a> {
    fn new(measure: ErrorMeasure, scores: &'a [f64]) -> Self {
        match measure {
            ErrorMeasure::Rmse => Self::Numbers(scores),
            ErrorMeasure::OneMinusAuc => Self::Order(Ranking::new(scores)),
            ErrorMeasure::BalancedError => Self::Sides(scores),
        }
    }

    fn error(&self, truth: &[f64], weights: &[f64]) -> f64 {
        match self {
            Self::Numbers(scores) => {
                let (mut squares, mut total) = (0.0, 0.0);
                for ((score, truth), weight) in scores.iter().zip(truth).zip(weights) {
                    squares += weight * (truth - score).powi(2);
                    total += weight;
                }
                (squares / total).sqrt()
            }
            Self::Order(ranking) => 1.0 - ranking.auc(weights, |row| truth[row] > 0.0).1,
            Self::Sides(scores) => {
                // Rows and wrong rows of both classes.
                let mut mass = [(0.0, 0.0); 2];
                for ((score, truth), weight) in scores.iter().zip(truth).zip(weights) {
                    let (positive, decided) = (*truth > 0.0, *score > 0.0);
                    let (all, wrong) = &mut mass[usize::from(positive)];
                    *all += weight;
                    *wrong += weight * f64::from(u8::from(positive != decided));
                }
                let share = |(all, wrong): (f64, f64)| if all > 0.0 { wrong / all } else { 0.5 };
                f64::midpoint(share(mass[0]), share(mass[1]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(
        measures: &[ErrorMeasure],
        truth: &[f64],
        scores: &[Vec<f64>],
    ) -> Vec<Vec<ErrorFound>> {
        let judge = Judge {
            truth,
            weights: &vec![1.0; truth.len()],
            resampling: &Resampling::default(),
        };
        let found = judge.errors(measures, scores, Some(0), &Watch::default());
        found.unwrap_or_default()
    }

    #[test]
    fn errors_of_four_rows_by_hand() {
        let truth = [0.0, 0.0, 1.0, 1.0];
        let scores = [vec![-2.0, 1.0, -1.0, 3.0], vec![0.0, 0.0, 1.0, 1.0]];
        let measures = [ErrorMeasure::OneMinusAuc, ErrorMeasure::BalancedError];
        let found = judged(&measures, &truth, &scores);
        // One of four pairs is in the wrong order, and one row of each class on the wrong side.
        assert_eq!(found[0][0].value, 0.25);
        assert_eq!(found[0][1].value, 0.5);
        assert_eq!((found[1][0].value, found[1][1].value), (0.0, 0.0));
        assert_eq!(found[1][1].cost, Some(-0.5));
        let found = judged(&[ErrorMeasure::Rmse], &truth, &[vec![0.0; 4]]);
        assert_eq!(found[0][0].value, 0.5f64.sqrt());
    }

    #[test]
    fn the_cost_of_a_constant_shift_has_no_interval_to_speak_of() {
        let truth: Vec<f64> = (0..50).map(|i| f64::from(i % 7)).collect();
        let near: Vec<f64> = truth.iter().map(|y| y + 1.0).collect();
        let far: Vec<f64> = truth.iter().map(|y| y + 3.0).collect();
        let found = judged(&[ErrorMeasure::Rmse], &truth, &[near, far]);
        let ErrorFound {
            value,
            lower,
            upper,
            cost,
            cost_lower,
            cost_upper,
            ..
        } = found[1][0];
        for (found, expected) in [(Some(value), 3.0), (Some(lower), 3.0), (Some(upper), 3.0)]
            .into_iter()
            .chain([(cost, 2.0), (cost_lower, 2.0), (cost_upper, 2.0)])
        {
            assert!(found.is_some_and(|found| (found - expected).abs() < 1e-12));
        }
    }

    #[test]
    fn a_weight_is_a_repetition() {
        let (truth, scores, weights) = ([0.0, 1.0, 1.0], [0.4, -0.2, 2.0], [2.0, 1.0, 3.0]);
        for measure in [
            ErrorMeasure::Rmse,
            ErrorMeasure::OneMinusAuc,
            ErrorMeasure::BalancedError,
        ] {
            let rows = [0, 0, 1, 2, 2, 2];
            let pick = |values: &[f64]| rows.map(|row: usize| values[row]);
            let weighted = Scored::new(measure, &scores).error(&truth, &weights);
            let repeated = Scored::new(measure, &pick(&scores)).error(&pick(&truth), &[1.0; 6]);
            assert!((weighted - repeated).abs() < 1e-15);
        }
    }
}
