//! What a classifier needs beside a score: classes, how much each counts, and where the line is.

use std::str::FromStr;

use oblivio_base::error::require;
use oblivio_base::{Error, Result};
use serde::{Deserialize, Serialize};

/// How much the rows of each class count in the loss. The conditional means do not depend on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ClassWeights {
    /// Every row as it is.
    #[default]
    Equal,
    /// Inversely to the weight of the class, so that both sides of a decision count the same.
    Balanced,
    /// A factor for each class.
    Given(Vec<f64>),
}

/// Where the line between two classes is drawn. The line is the same for every row, whatever its cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Threshold {
    /// At score zero.
    #[default]
    Zero,
    /// Where the share of training rows above it is the share of the positive class among them.
    BaseRate,
    /// Where the share of training rows above it is this.
    Rate(f64),
}

/// The classes of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Classes {
    /// Their names, in order; of two the second is the positive one.
    pub labels: Vec<String>,
    /// Whether the names are numbers.
    pub numeric: bool,
    /// Whether the scores, the thresholds added, are logits of probabilities.
    pub probabilities: bool,
    /// What was taken off the score of each decision so that the line is at zero.
    pub thresholds: Vec<f64>,
}

impl ClassWeights {
    /// The factor of every row, `codes` being its class and `positive` the side of a decision it is on.
    pub(crate) fn of_rows(&self, codes: &[usize], positive: &[bool], weights: &[f64]) -> Vec<f64> {
        match self {
            Self::Equal => vec![1.0; codes.len()],
            Self::Given(factors) => codes.iter().map(|&code| factors[code]).collect(),
            Self::Balanced => {
                let mut sides = [0.0; 2];
                for (weight, side) in weights.iter().zip(positive) {
                    sides[usize::from(*side)] += weight;
                }
                let half = 0.5 * (sides[0] + sides[1]);
                let factor = |side: &bool| half / sides[usize::from(*side)];
                positive.iter().map(factor).collect()
            }
        }
    }

    pub(crate) fn check(&self, classes: usize) -> Result<()> {
        let Self::Given(factors) = self else {
            return Ok(());
        };
        if factors.len() != classes {
            return Err(Error::Length {
                what: "the class weights",
                found: factors.len(),
                needed: classes,
            });
        }
        match factors.iter().find(|f| !(**f > 0.0 && f.is_finite())) {
            None => Ok(()),
            Some(factor) => Err(Error::InvalidParameter {
                name: "a class weight",
                expected: "a positive finite number",
                value: factor.to_string(),
            }),
        }
    }
}

/// Scores no farther apart than this share of their range are one: machines of support vectors have many at the margin.
const TIE: f64 = 1e-9;
/// So are those no farther apart than this share of their size.
const ROUNDING: f64 = 1e-13;

impl Threshold {
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Self::Rate(rate) if !(rate > 0.0 && rate < 1.0) => Err(Error::InvalidParameter {
                name: "threshold",
                expected: "`zero`, `base-rate` or a rate between 0 and 1",
                value: rate.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// The score above which a row is positive: midway between the two scores that the rate falls between. These are apart by more than
    /// rounding, so that a row has one label wherever it is scored.
    pub(crate) fn of(self, scores: &[f64], weights: &[f64], positive: &[bool]) -> f64 {
        let total: f64 = weights.iter().sum();
        let rate = match self {
            Self::Zero => return 0.0,
            Self::Rate(rate) => rate,
            Self::BaseRate => {
                let sides = weights.iter().zip(positive);
                sides.map(|(w, p)| if *p { *w } else { 0.0 }).sum::<f64>() / total
            }
        };
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        let at = |place: Option<&usize>| place.map_or(0.0, |&i| scores[i]);
        let (most, least) = (at(order.first()), at(order.last()));
        let tie = (TIE * (most - least)).max(ROUNDING * most.abs().max(least.abs()));
        // Of all places between two different scores, the one whose share above is nearest the rate.
        let (mut above, mut best) = (0.0, (f64::INFINITY, 0.0));
        for pair in order.windows(2) {
            above += weights[pair[0]];
            let (high, low) = (scores[pair[0]], scores[pair[1]]);
            let miss = (above / total - rate).abs();
            if high - low > tie && miss < best.0 {
                best = (miss, low + 0.5 * (high - low));
            }
        }
        if best.0.is_finite() {
            best.1
        } else {
            // All scores are equal: the larger side takes all.
            if rate > 0.5 { least - 1.0 } else { most + 1.0 }
        }
    }
}

impl FromStr for Threshold {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let threshold = match text {
            "zero" => Self::Zero,
            "base-rate" => Self::BaseRate,
            _ => Self::Rate(text.parse().unwrap_or(f64::NAN)),
        };
        threshold.check().map_err(|_| Error::InvalidParameter {
            name: "threshold",
            expected: "`zero`, `base-rate` or a rate between 0 and 1",
            value: format!("`{text}`"),
        })?;
        Ok(threshold)
    }
}

impl Classes {
    /// The number of decisions: one for two classes, else one for each class against the rest.
    pub fn decisions(&self) -> usize {
        decisions(self.labels.len())
    }

    /// The class of a row with these scores, one for each decision.
    pub fn decide(&self, scores: &[f64]) -> usize {
        if let [score] = scores {
            return usize::from(*score > 0.0);
        }
        // The first of equal ones.
        let best = (0..scores.len()).rev();
        best.max_by(|&a, &b| scores[a].total_cmp(&scores[b]))
            .unwrap_or(0)
    }

    /// The probability of each class, from the scores of each decision; `None` where scores are no logits.
    ///
    /// $1/(1 + e^{-(f + \tau)})$ with the threshold τ put back. Of several decisions the probabilities are divided by their sum.
    /// The cells' means are equal on the logit, not on the probability.
    pub fn probabilities(&self, scores: &[f64]) -> Option<Vec<f64>> {
        if !self.probabilities {
            return None;
        }
        let mut chances = vec![0.0; self.labels.len()];
        self.write_probabilities(scores, &mut chances);
        Some(chances)
    }

    /// The same into a place for each class, where scores are logits.
    pub(crate) fn write_probabilities(&self, scores: &[f64], chances: &mut [f64]) {
        let logits = scores.iter().zip(&self.thresholds).map(|(f, t)| f + t);
        for (chance, logit) in chances.iter_mut().zip(logits) {
            *chance = (1.0 + (-logit).exp()).recip();
        }
        if scores.len() == 1 {
            (chances[0], chances[1]) = (1.0 - chances[0], chances[0]);
            return;
        }
        let total: f64 = chances.iter().sum();
        let even = 1.0 / chances.len() as f64;
        for chance in chances {
            *chance = if total > 0.0 { *chance / total } else { even };
        }
    }

    /// Refuses classes that no fit gives (of a damaged or hostile file).
    pub(crate) fn check_read(&self) -> Result<()> {
        let sound = (2..=MOST_CLASSES).contains(&self.labels.len())
            && self.thresholds.len() == self.decisions()
            && self.thresholds.iter().all(|t| t.is_finite());
        require(sound, "the number of its classes")
    }
}

/// The most classes. Each has offsets of its own, so their number bounds what is made of the cells in a file.
pub(crate) const MOST_CLASSES: usize = 100;

pub(crate) fn decisions(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_gives_the_share_it_was_asked_for() {
        let scores = [0.1, 0.9, 0.4, 0.7, -0.2, 0.3, 0.8, 0.2];
        let weights = [1.0; 8];
        let positive = scores.map(|s| s > 0.75);
        let above = |t: f64| scores.iter().filter(|s| **s > t).count();
        assert_eq!(above(Threshold::Zero.of(&scores, &weights, &positive)), 7);
        let base = Threshold::BaseRate.of(&scores, &weights, &positive);
        assert_eq!(above(base), 2);
        assert!((base - 0.75).abs() < 1e-12);
        let half = "0.5".parse::<Threshold>().unwrap();
        assert_eq!(above(half.of(&scores, &weights, &positive)), 4);
        // A row that counts thrice is three rows.
        let heavy = [1.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(
            above(Threshold::Rate(0.3).of(&scores, &heavy, &positive)),
            1
        );
        let equal = [2.0, 2.0 + 1e-15, 2.0 - 1e-15];
        assert!(Threshold::Rate(0.2).of(&equal, &[1.0; 3], &[true; 3]) > 2.5);
        assert!(Threshold::Rate(0.9).of(&equal, &[1.0; 3], &[true; 3]) < 1.5);
        // Scores at the margin differ by rounding: no line runs between them.
        let margin = [3.0, -1.0, -1.0 + 1e-13, -1.0 - 1e-13, -1.0 + 2e-13, -2.0];
        for rate in [0.3, 0.5, 0.6] {
            let line = Threshold::Rate(rate).of(&margin, &[1.0; 6], &[true; 6]);
            assert!((line + 1.0).abs() > 0.4, "{rate}: {line}");
        }
    }

    #[test]
    fn a_threshold_that_is_none_is_refused() {
        for text in ["", "one", "0", "1", "-0.1", "nan"] {
            let error = text.parse::<Threshold>().unwrap_err().to_string();
            assert!(error.contains("base-rate"), "{error}");
        }
    }

    #[test]
    fn probabilities_add_up_and_put_the_threshold_back() {
        let two = Classes {
            labels: vec!["a".into(), "b".into()],
            numeric: false,
            probabilities: true,
            thresholds: vec![0.5],
        };
        assert_eq!(two.probabilities(&[-0.5]).unwrap(), [0.5, 0.5]);
        assert_eq!(two.decide(&[-0.5]), 0);
        let three = Classes {
            labels: vec!["a".into(), "b".into(), "c".into()],
            thresholds: vec![0.0; 3],
            ..two
        };
        let chances = three.probabilities(&[0.0, 1.0, 1.0]).unwrap();
        assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert_eq!(three.decide(&[0.0, 1.0, 1.0]), 1);
        let far = three.probabilities(&[-1e9, -1e9, -1e9]).unwrap();
        assert!(far.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-15));
    }
}
