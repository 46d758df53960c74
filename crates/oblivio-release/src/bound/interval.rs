//! Intervals for the mean of independent values in [0, R], valid at every number of rows.

use serde::{Deserialize, Serialize};

/// Where a mean lies with a given confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Interval {
    /// `None` where only an upper end is valid.
    pub lower: Option<f64>,
    /// Never more than R.
    pub upper: f64,
    /// Whether the interval says no more than that values lie in \[0, R\].
    pub vacuous: bool,
}

impl Interval {
    fn around(mean: f64, margin: f64, range: f64) -> Self {
        Self::between(mean - margin, mean + margin, range)
    }

    fn between(lower: f64, upper: f64, range: f64) -> Self {
        let (lower, upper) = (lower.max(0.0), upper.min(range));
        Self {
            lower: Some(lower),
            upper,
            vacuous: range > 0.0 && lower <= 0.0 && upper >= range,
        }
    }

    /// Of the root of the mean, if this is one of a mean of squares.
    #[must_use]
    pub fn root(self) -> Self {
        Self {
            lower: self.lower.map(f64::sqrt),
            upper: self.upper.sqrt(),
            ..self
        }
    }

    /// The upper end alone, where the values are known to be no less than those asked for, and nothing more.
    #[must_use]
    pub fn from_above(self, range: f64) -> Self {
        Self {
            lower: None,
            vacuous: range > 0.0 && self.upper >= range,
            ..self
        }
    }

    /// The lower end of another interval, where the values asked for lie between two known ones.
    #[must_use]
    pub fn down_to(self, lower: Self, range: f64) -> Self {
        let low = lower.lower.unwrap_or(0.0);
        Self {
            lower: Some(low),
            vacuous: range > 0.0 && low <= 0.0 && self.upper >= range,
            ..self
        }
    }
}

/// Hoeffding's interval of the mean of n independent values in [0, R]: $\bar v \pm R\sqrt{\log(2/\delta)/2n}$.
///
/// With R = 5ρ and distances for values it is that of the paper (Proposition 3).
///
/// ```
/// let values = vec![0.5; 200];
/// let interval = oblivio_release::hoeffding(&values, 1.0, 0.95);
/// assert!((interval.upper - 0.5 - (40f64.ln() / 400.0).sqrt()).abs() < 1e-12);
/// ```
pub fn hoeffding(values: &[f64], range: f64, confidence: f64) -> Interval {
    let rows = values.len() as f64;
    let margin = range * ((2.0 / (1.0 - confidence)).ln() / (2.0 * rows)).sqrt();
    Interval::around(mean(values), margin, range)
}

/// The empirical Bernstein interval of the mean of n independent values in [0, R] (Maurer and Pontil, 2009, Theorem 4, once for
/// each end): with the sample variance V, $\bar v \pm \bigl(\sqrt{2V\log(4/\delta)/n} + 7R\log(4/\delta)/3(n-1)\bigr)$.
///
/// Far narrower than Hoeffding's where values spread little beside R.
pub fn bernstein(values: &[f64], range: f64, confidence: f64) -> Interval {
    let margin = bernstein_margin(values, range, (1.0 - confidence) / 2.0);
    Interval::around(mean(values), margin, range)
}

/// What the mean is at most with probability 1 − `miss`: one end of [`bernstein`].
pub(crate) fn bernstein_upper(values: &[f64], range: f64, miss: f64) -> f64 {
    (mean(values) + bernstein_margin(values, range, miss)).min(range)
}

fn bernstein_margin(values: &[f64], range: f64, miss: f64) -> f64 {
    let rows = values.len() as f64;
    if rows < 2.0 {
        return range;
    }
    let centre = mean(values);
    let variance = values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / (rows - 1.0);
    let log = (2.0 / miss).ln();
    (2.0 * variance * log / rows).sqrt() + 7.0 * range * log / (3.0 * (rows - 1.0))
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use oblivio_base::random::{Stream, numbered};

    /// Values in [0, 2]: what draws one, and the true mean.
    type Case = (fn(f64) -> f64, f64);
    const CASES: [Case; 4] = [
        (|u| 2.0 * u, 1.0),
        (|u| if u < 0.1 { 2.0 } else { 0.0 }, 0.2),
        (|u| u * u, 1.0 / 3.0),
        (|u| 0.5 + 0.01 * u, 0.505),
    ];

    /// At a low confidence, where a wrong constant would show: three standard errors of 4000 repetitions are allowed.
    #[test]
    fn intervals_cover_at_their_level() {
        let (confidence, repetitions) = (0.6, 4000);
        let allowed = 3.0 * (confidence * (1.0 - confidence) / f64::from(repetitions)).sqrt();
        for (case, (draw, truth)) in CASES.iter().enumerate() {
            for rows in [5, 60] {
                let mut covered = [0; 4];
                for repetition in 0..repetitions {
                    let number = (case * 1000 + rows) * 10_000 + repetition as usize;
                    let mut random = numbered(3, Stream::Simulation, number);
                    let values: Vec<f64> = (0..rows).map(|_| draw(random.random())).collect();
                    let squares: Vec<f64> = values.iter().map(|v| v * v).collect();
                    let found = [
                        hoeffding(&values, 2.0, confidence),
                        bernstein(&values, 2.0, confidence),
                        hoeffding(&squares, 4.0, confidence).root(),
                        bernstein(&squares, 4.0, confidence).root(),
                    ];
                    let square = [4.0 / 3.0, 0.4, 0.2, 0.255_033_333_333_333_33][case];
                    for (k, interval) in found.iter().enumerate() {
                        let truth = if k < 2 { *truth } else { f64::sqrt(square) };
                        let inside = interval.lower.is_some_and(|low| low <= truth)
                            && truth <= interval.upper;
                        covered[k] += u32::from(inside);
                    }
                }
                for (k, times) in covered.iter().enumerate() {
                    let share = f64::from(*times) / f64::from(repetitions);
                    assert!(share >= confidence - allowed, "case {case}, {k}: {share}");
                }
            }
        }
    }

    #[test]
    fn few_rows_say_nothing_and_many_equal_ones_much() {
        assert!(hoeffding(&[1.0; 2], 2.0, 0.95).vacuous);
        assert!(bernstein(&[1.0], 2.0, 0.95).vacuous);
        let narrow = bernstein(&[0.5; 1000], 1.0, 0.95);
        assert!(!narrow.vacuous && narrow.upper < 0.52);
        assert!(narrow.upper < hoeffding(&[0.5; 1000], 1.0, 0.95).upper);
    }

    #[test]
    fn one_end_can_be_without_the_other() {
        let both = hoeffding(&[0.5; 1000], 1.0, 0.95);
        let above = both.from_above(1.0);
        assert_eq!((above.lower, above.upper), (None, both.upper));
        assert!(!above.vacuous && hoeffding(&[0.9; 2], 1.0, 0.95).from_above(1.0).vacuous);
        let lower = hoeffding(&[0.4; 1000], 1.0, 0.95);
        assert_eq!(both.down_to(lower, 1.0).lower, lower.lower);
    }
}
