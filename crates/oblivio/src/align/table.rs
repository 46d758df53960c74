//! A distribution of numbers as a monotone broken line.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Values no farther apart than this share of the range of all scores are one value: rounding must not tear ties apart.
pub(super) const TIE: f64 = 1e-10;

/// A distribution function and its inverse: the broken line through the values and their mid-ranks.
///
/// The mid-rank of a value is the weight below it and half of its own, as a share of all: $F(v) = (W_{<v} + \tfrac12W_{=v})/W$.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// Ascending.
    pub(crate) values: Vec<f64>,
    /// Ascending, between 0 and 1.
    pub(crate) ranks: Vec<f64>,
}

/// The share of the weight at each end from which values are left out at most, the outermost one apart.
const END: f64 = 1.0 / 128.0;

/// Which outermost values a distribution leaves out. A score beyond the values that are left keeps its distance from them, so that a
/// single outlying row of the fit cannot drag the tail of everyone.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ends {
    /// Values that are farther from the next value than that one is from the median. All other values stay, so that distributions
    /// of the rows of the fit can be made equal exactly.
    WithoutIsolated,
    /// The outermost value, and more as long as they hold at most a 128th of the weight: a regression on S says nothing about the
    /// ranks of so few rows.
    Trimmed,
}

impl Ends {
    /// The number of different values from which on any are left out: scores of few values, such as deciles, have no tail.
    fn least(self) -> usize {
        match self {
            Self::WithoutIsolated => 8,
            Self::Trimmed => 32,
        }
    }

    /// The values that stay, of values with weights, ascending.
    fn kept(self, groups: &[(f64, f64)]) -> Range<usize> {
        let count = groups.len();
        if count < self.least() {
            return 0..count;
        }
        let total: f64 = groups.iter().map(|(_, weight)| weight).sum();
        let mut below = 0.0;
        let median = groups.iter().find(|(_, weight)| {
            below += weight;
            below >= total / 2.0
        });
        let median = median.map_or(0.0, |(value, _)| *value);
        let low = self.left_out(groups.iter(), END * total, median);
        let high = self.left_out(groups.iter().rev(), END * total, median);
        low..count - high
    }

    /// The number of values left out at the end from which `inwards` comes.
    fn left_out<'g>(
        self,
        inwards: impl Iterator<Item = &'g (f64, f64)> + Clone,
        most: f64,
        median: f64,
    ) -> usize {
        let mut beyond = 0.0;
        let mut left_out = 0;
        let pairs = inwards.clone().zip(inwards.skip(1));
        for (k, ((value, weight), (next, _))) in pairs.enumerate() {
            beyond += weight;
            if k > 0 && beyond > most {
                break;
            }
            let isolated = (value - next).abs() > (next - median).abs();
            if isolated || matches!(self, Self::Trimmed) {
                left_out = k + 1;
            }
        }
        left_out
    }
}

impl Table {
    /// The distribution of values with positive weights, ascending; those within `tie` are one. Of more than `most` values, that
    /// many are kept: the least and the largest that the `ends` leave, and between them those nearest to evenly spaced ranks from
    /// below.
    pub(super) fn new(sorted: &[(f64, f64)], tie: f64, ends: Ends, most: usize) -> Self {
        let mut groups: Vec<(f64, f64)> = Vec::new();
        for (value, weight) in sorted {
            match groups.last_mut() {
                Some((first, sum)) if value - *first <= tie => *sum += weight,
                _ => groups.push((*value, *weight)),
            }
        }
        let total: f64 = groups.iter().map(|(_, weight)| weight).sum();
        let kept = ends.kept(&groups);
        let mut below = 0.0;
        let mut table = Self {
            values: Vec::with_capacity(kept.len()),
            ranks: Vec::with_capacity(kept.len()),
        };
        for (k, (value, weight)) in groups.into_iter().enumerate() {
            if kept.contains(&k) {
                table.values.push(value);
                table.ranks.push((below + weight / 2.0) / total);
            }
            below += weight;
        }
        if table.values.len() > most {
            table.thin(most);
        }
        table
    }

    fn thin(&mut self, most: usize) {
        let last = self.ranks.len() - 1;
        let (low, high) = (self.ranks[0], self.ranks[last]);
        let mut places: Vec<usize> = (0..most - 1)
            .map(|k| {
                let rank = low + (high - low) * k as f64 / (most - 1) as f64;
                self.ranks.partition_point(|r| *r <= rank).max(1) - 1
            })
            .collect();
        places.push(last);
        places.dedup();
        self.values = places.iter().map(|&k| self.values[k]).collect();
        self.ranks = places.iter().map(|&k| self.ranks[k]).collect();
    }

    /// F; constant beyond the ends.
    pub(super) fn rank(&self, value: f64) -> f64 {
        interpolate(&self.values, &self.ranks, value)
    }

    /// The inverse of F; constant beyond the ends.
    pub(super) fn value(&self, rank: f64) -> f64 {
        interpolate(&self.ranks, &self.values, rank)
    }
}

/// The broken line through (x, y) at a place, constant beyond its ends. It rises with the place if the y rise, to the last bit, and
/// is y at x.
pub(super) fn interpolate(xs: &[f64], ys: &[f64], at: f64) -> f64 {
    let next = xs.partition_point(|x| *x <= at);
    if next == 0 {
        return ys[0];
    }
    if next == xs.len() {
        return ys[next - 1];
    }
    let (x, y) = (xs[next - 1], ys[next - 1]);
    let share = (at - x) / (xs[next] - x);
    (y + share * (ys[next] - y)).min(ys[next])
}

/// How far apart values are that count as different, of values with weights, ascending. An isolated value does not count: it would
/// make all others one.
pub(super) fn tie(sorted: &[(f64, f64)]) -> f64 {
    let kept = &sorted[Ends::WithoutIsolated.kept(sorted)];
    let range = match (kept.first(), kept.last()) {
        (Some((low, _)), Some((high, _))) => high - low,
        _ => 0.0,
    };
    if range.is_finite() { TIE * range } else { 0.0 }
}

/// Scores that count with their weights, ascending.
pub(super) fn sorted(scores: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut sorted: Vec<(f64, f64)> = scores.filter(|(_, weight)| *weight > 0.0).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: Ends = Ends::WithoutIsolated;

    #[test]
    fn mid_ranks_share_ties_and_weights() {
        let values = [(1.0, 1.0), (2.0, 1.0), (2.0, 2.0), (5.0, 4.0)];
        let table = Table::new(&values, 0.0, ENDS, 512);
        assert_eq!(table.values, [1.0, 2.0, 5.0]);
        assert_eq!(table.ranks, [0.0625, 0.3125, 0.75]);
        assert_eq!(table.rank(3.5), 0.53125);
        assert_eq!(table.value(0.53125), 3.5);
        assert_eq!((table.rank(0.0), table.rank(9.0)), (0.0625, 0.75));
        assert_eq!((table.value(0.0), table.value(1.0)), (1.0, 5.0));
    }

    #[test]
    fn values_within_rounding_are_one_and_do_not_chain() {
        let values = [(0.0, 1.0), (0.4, 1.0), (0.8, 1.0), (1.2, 1.0)];
        let table = Table::new(&values, 0.5, ENDS, 512);
        assert_eq!(table.values, [0.0, 0.8]);
        assert_eq!(table.ranks, [0.25, 0.75]);
    }

    #[test]
    fn a_thinned_table_keeps_its_ends_and_is_as_near_as_its_steps() {
        let values: Vec<(f64, f64)> = (0..5000).map(|i| (f64::from(i).powi(2), 1.0)).collect();
        let (all, few) = (
            Table::new(&values, 0.0, ENDS, 9999),
            Table::new(&values, 0.0, ENDS, 512),
        );
        assert_eq!(few.values.len(), 512);
        assert_eq!(few.values[0], 0.0);
        assert_eq!(few.values[511], 4999.0f64.powi(2));
        for (value, _) in values {
            assert!((all.rank(value) - few.rank(value)).abs() < 1.1 / 511.0);
        }
    }

    /// The values 0 to 99 and others, each of weight one.
    fn with(others: &[f64]) -> Vec<(f64, f64)> {
        let mut values: Vec<f64> = (0..100).map(f64::from).collect();
        values.extend(others);
        values.sort_by(f64::total_cmp);
        values.into_iter().map(|value| (value, 1.0)).collect()
    }

    #[test]
    fn values_that_stand_apart_are_left_out_and_ranks_count_them() {
        let plain = Table::new(&with(&[]), 0.0, Ends::WithoutIsolated, 512);
        assert_eq!(plain.values.len(), 100);
        let robust = Table::new(&with(&[-1e9, 151.0]), 0.0, Ends::WithoutIsolated, 512);
        assert_eq!((robust.values[0], robust.values[99]), (0.0, 99.0));
        assert_eq!(
            (robust.ranks[0], robust.ranks[99]),
            (1.5 / 102.0, 100.5 / 102.0)
        );
        // As far from the next value as that one is from the median.
        let near = Table::new(&with(&[148.0]), 0.0, Ends::WithoutIsolated, 512);
        assert_eq!(near.values.last(), Some(&148.0));
    }

    #[test]
    fn the_outermost_values_are_trimmed_up_to_a_128th() {
        let few: Vec<(f64, f64)> = (0..31).map(|i| (f64::from(i), 1.0)).collect();
        assert_eq!(Table::new(&few, 0.0, Ends::Trimmed, 512).values.len(), 31);
        let values = Table::new(&with(&[]), 0.0, Ends::Trimmed, 512).values;
        assert_eq!((values[0], values[values.len() - 1]), (1.0, 98.0));
        let many: Vec<(f64, f64)> = (0..1024).map(|i| (f64::from(i), 1.0)).collect();
        let values = Table::new(&many, 0.0, Ends::Trimmed, 2000).values;
        assert_eq!((values[0], values[values.len() - 1]), (8.0, 1015.0));
    }
}
