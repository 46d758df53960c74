//! A distribution of numbers as a monotone broken line.

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

impl Table {
    /// The distribution of values with positive weights, ascending; those within `tie` are one. Of more than `most` values, that
    /// many are kept: the least, the largest, and between them those nearest to evenly spaced ranks from below.
    pub(super) fn of(sorted: &[(f64, f64)], tie: f64, most: usize) -> Self {
        let mut groups: Vec<(f64, f64)> = Vec::new();
        for (value, weight) in sorted {
            match groups.last_mut() {
                Some((first, sum)) if value - *first <= tie => *sum += weight,
                _ => groups.push((*value, *weight)),
            }
        }
        let total: f64 = groups.iter().map(|(_, weight)| weight).sum();
        let mut below = 0.0;
        let mut table = Self {
            values: Vec::with_capacity(groups.len()),
            ranks: Vec::with_capacity(groups.len()),
        };
        for (value, weight) in groups {
            table.values.push(value);
            table.ranks.push((below + weight / 2.0) / total);
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

/// How far apart values are that count as different.
pub(super) fn tie(scores: impl Iterator<Item = f64> + Clone) -> f64 {
    let high = scores.clone().fold(f64::NEG_INFINITY, f64::max);
    let low = scores.fold(f64::INFINITY, f64::min);
    let range = high - low;
    if range.is_finite() { TIE * range } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mid_ranks_share_ties_and_weights() {
        let table = Table::of(&[(1.0, 1.0), (2.0, 1.0), (2.0, 2.0), (5.0, 4.0)], 0.0, 512);
        assert_eq!(table.values, [1.0, 2.0, 5.0]);
        assert_eq!(table.ranks, [0.0625, 0.3125, 0.75]);
        assert_eq!(table.rank(3.5), 0.53125);
        assert_eq!(table.value(0.53125), 3.5);
        assert_eq!((table.rank(0.0), table.rank(9.0)), (0.0625, 0.75));
        assert_eq!((table.value(0.0), table.value(1.0)), (1.0, 5.0));
    }

    #[test]
    fn values_within_rounding_are_one_and_do_not_chain() {
        let table = Table::of(&[(0.0, 1.0), (0.4, 1.0), (0.8, 1.0), (1.2, 1.0)], 0.5, 512);
        assert_eq!(table.values, [0.0, 0.8]);
        assert_eq!(table.ranks, [0.25, 0.75]);
    }

    #[test]
    fn a_thinned_table_keeps_its_ends_and_is_as_near_as_its_steps() {
        let values: Vec<(f64, f64)> = (0..5000).map(|i| (f64::from(i).powi(2), 1.0)).collect();
        let (all, few) = (Table::of(&values, 0.0, 9999), Table::of(&values, 0.0, 512));
        assert_eq!(few.values.len(), 512);
        assert_eq!(few.values[0], 0.0);
        assert_eq!(few.values[511], 4999.0f64.powi(2));
        for (value, _) in values {
            assert!((all.rank(value) - few.rank(value)).abs() < 1.1 / 511.0);
        }
    }
}
