//! Statistics of the rows as they are, shuffled, and drawn again.

use oblivio_base::{Result, Watch};
use rayon::prelude::*;

use super::measure::{Measure, Measured};
use super::resampling::Resampling;

/// A way to compute statistics under every draw.
pub(super) trait Statistic: Sync {
    /// The statistics of one draw.
    type Values: Send + Sync;

    /// The number of rows.
    fn rows(&self) -> usize;
    /// The statistics of the rows as they are.
    fn here(&self) -> Self::Values;
    /// The statistics after a shuffle: row i has S and weight of row `order[i]`, within the groups that the statistic keeps.
    fn permuted(&self, order: &[u32]) -> Self::Values;
    /// The statistics of a sample in which row i is `counts[i]` times.
    fn resampled(&self, counts: &[f64]) -> Self::Values;
}

/// The statistics of all draws.
pub(super) struct Draws<'a, V> {
    pub(super) here: V,
    permuted: Vec<V>,
    pub(super) resampled: Vec<V>,
    pub(super) resampling: &'a Resampling,
    rows: usize,
}

impl<'a, V: Send + Sync> Draws<'a, V> {
    /// Draws the same shuffles and samples for every statistic.
    pub(super) fn new(
        statistic: &impl Statistic<Values = V>,
        resampling: &'a Resampling,
        watch: &Watch,
        what: &'static str,
    ) -> Result<Self> {
        let rows = statistic.rows();
        watch.begin(what, resampling.permutations + resampling.resamples)?;
        let permuted = (0..resampling.permutations).into_par_iter().map(|number| {
            watch.advance();
            watch.check()?;
            Ok(statistic.permuted(&resampling.permutation(number, rows)))
        });
        let permuted = permuted.collect::<Result<_>>()?;
        let resampled = (0..resampling.resamples).into_par_iter().map(|number| {
            watch.advance();
            watch.check()?;
            Ok(statistic.resampled(&resampling.counts(number, rows)))
        });
        Ok(Self {
            here: statistic.here(),
            permuted,
            resampled: resampled.collect::<Result<_>>()?,
            resampling,
            rows,
        })
    }

    /// One of the statistics as a measure. A statistic that is not defined, as with a single cell, has nothing that could
    /// differ.
    pub(super) fn measured(&self, measure: Measure, value: impl Fn(&V) -> f64) -> Measured {
        let nothing = if measure.grows() { 0.0 } else { 1.0 };
        let value = |draw: &V| {
            let value = value(draw);
            if value.is_nan() { nothing } else { value }
        };
        self.resampling.measured(
            measure,
            value(&self.here),
            self.permuted.iter().map(value).collect(),
            self.resampled.iter().map(value).collect(),
            self.rows,
        )
    }

    /// The basic bootstrap interval of any number, over the samples where it is defined.
    pub(super) fn interval(&self, value: impl Fn(&V) -> f64) -> (f64, f64) {
        let drawn = self.resampled.iter().map(&value);
        let drawn: Vec<f64> = drawn.filter(|value| value.is_finite()).collect();
        self.resampling.basic(value(&self.here), drawn)
    }
}
