//! Levels under independence by permutation, and intervals by the bootstrap, from a seed.

use oblivio_base::random::{Stream, numbered};
use oblivio_base::{Error, Result};
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::measure::{Measure, Measured, Null};

/// How often rows are shuffled and drawn again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Resampling {
    /// Shuffles of the sensitive values, for the level under independence.
    pub permutations: usize,
    /// Samples drawn with replacement, for the interval.
    pub resamples: usize,
    /// The confidence of intervals and certificates.
    pub confidence: f64,
    /// All of them follow from it.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self {
            permutations: 199,
            resamples: 199,
            confidence: 0.95,
            seed: 0,
        }
    }
}

impl Resampling {
    /// Refuses what would leave a level or an interval undefined.
    pub fn check(&self) -> Result<()> {
        for (name, count) in [
            ("permutations", self.permutations),
            ("resamples", self.resamples),
        ] {
            if count < 19 {
                return Err(Error::InvalidParameter {
                    name,
                    expected: "at least 19",
                    value: count.to_string(),
                });
            }
        }
        if self.confidence > 0.0 && self.confidence < 1.0 {
            Ok(())
        } else {
            Err(Error::InvalidParameter {
                name: "confidence",
                expected: "between 0 and 1",
                value: self.confidence.to_string(),
            })
        }
    }

    /// The shuffled order of the rows with this number: the same for every measure, so that they see the same draws.
    pub(crate) fn permutation(&self, number: usize, rows: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..rows as u32).collect();
        let mut random = numbered(self.seed, Stream::Permutations, number);
        order.shuffle(&mut random);
        order
    }

    /// How often each row is in the sample with this number.
    pub(crate) fn counts(&self, number: usize, rows: usize) -> Vec<f64> {
        let mut counts = vec![0.0; rows];
        let mut random = numbered(self.seed, Stream::Bootstrap, number);
        for _ in 0..rows {
            counts[random.random_range(0..rows)] += 1.0;
        }
        counts
    }

    /// A value beside its permuted and its resampled values.
    ///
    /// The p-value is (1 + draws at least as extreme)/(1 + draws). The interval is the basic one,
    /// $[2\hat\theta - q_{1-\alpha/2}, 2\hat\theta - q_{\alpha/2}]$ with quantiles of the resampled values, cut to the
    /// measure's range: what a measure is too large by on a sample it is again too large by on a sample of the sample,
    /// and this takes it off. Of a measure that is a distance it takes off too little; what is left of the level under
    /// independence is taken off the end that is nearer to it, so that the interval is rather too wide than too narrow.
    pub(crate) fn measured(
        &self,
        measure: Measure,
        value: f64,
        mut permuted: Vec<f64>,
        resampled: Vec<f64>,
        rows: usize,
    ) -> Measured {
        let draws = permuted.len() as f64;
        permuted.sort_unstable_by(f64::total_cmp);
        let tolerance = 1e-12 * value.abs();
        let extreme = permuted.iter().filter(|&&draw| {
            if measure.grows() {
                draw >= value - tolerance
            } else {
                draw <= value + tolerance
            }
        });
        let tail = if measure.grows() { 0.95 } else { 0.05 };
        let expected = permuted.iter().sum::<f64>() / draws;
        let left = left_over(measure, value, expected, &resampled);
        let (mut lower, mut upper) = self.interval(measure, value, resampled);
        let (least, most) = measure.range();
        if measure.grows() {
            lower = (lower - left).max(least);
        } else {
            upper = (upper + left).min(most);
        }
        Measured {
            value,
            expected,
            critical: quantile(&permuted, tail),
            p_value: (1.0 + extreme.count() as f64) / (1.0 + draws),
            lower,
            upper,
            rows,
            null: Null::Permutation,
        }
    }

    /// The basic bootstrap interval; see [`measured`](Self::measured).
    pub(crate) fn interval(&self, measure: Measure, value: f64, resampled: Vec<f64>) -> (f64, f64) {
        let (lower, upper) = self.basic(value, resampled);
        let (least, most) = measure.range();
        (lower.clamp(least, most), upper.clamp(least, most))
    }

    /// The basic interval of any number; the number itself if there are no draws.
    pub(crate) fn basic(&self, value: f64, mut resampled: Vec<f64>) -> (f64, f64) {
        if resampled.is_empty() {
            return (value, value);
        }
        resampled.sort_unstable_by(f64::total_cmp);
        let tail = (1.0 - self.confidence) / 2.0;
        let end = |share| 2.0 * value - quantile(&resampled, share);
        (end(1.0 - tail), end(tail))
    }
}

/// What the bootstrap does not notice of a distance's level under independence.
fn left_over(measure: Measure, value: f64, expected: f64, resampled: &[f64]) -> f64 {
    if !measure.is_distance() || resampled.is_empty() {
        return 0.0;
    }
    let nothing = if measure.grows() { 0.0 } else { 1.0 };
    let mean = resampled.iter().sum::<f64>() / resampled.len() as f64;
    ((expected - nothing).abs() - (mean - value).abs()).max(0.0)
}

/// The quantile of sorted values, between its neighbours where it falls between two.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (below, part) = (at.floor() as usize, at.fract());
    let next = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + part * (next - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_seeded_and_of_all_rows() {
        let resampling = Resampling::default();
        let order = resampling.permutation(3, 100);
        assert_eq!(order, resampling.permutation(3, 100));
        assert_ne!(order, resampling.permutation(4, 100));
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<u32>>());
        assert_eq!(resampling.counts(0, 100).iter().sum::<f64>(), 100.0);
    }

    #[test]
    fn levels_and_intervals_of_known_draws() {
        let resampling = Resampling::default();
        let permuted: Vec<f64> = (0..99).map(|i| f64::from(i) / 100.0).collect();
        let resampled: Vec<f64> = (0..201).map(|i| 0.5 + f64::from(i) / 1000.0).collect();
        let measured = resampling.measured(Measure::Beta, 0.5, permuted.clone(), resampled, 9);
        assert_eq!(measured.p_value, 0.5);
        assert!((measured.expected - 0.49).abs() < 1e-12);
        assert!((measured.critical - 0.931).abs() < 1e-12);
        // 0.305, less what the mean of the draws (0.1 too large) leaves of the level 0.49.
        assert_eq!(measured.lower, 0.0);
        assert!((measured.upper - 0.495).abs() < 1e-12);
        // A ratio is extreme when it is small.
        let ratio = resampling.measured(Measure::ParityRatio, 0.1, permuted, vec![0.1; 20], 9);
        assert_eq!(ratio.p_value, 0.12);
        assert!((ratio.critical - 0.049).abs() < 1e-12);
    }
}
