//! A distribution of numbers in which values can have a weight of their own.

use oblivio::sibling::Distribution;
use oblivio_base::Result;
use oblivio_base::error::require;
use serde::{Deserialize, Serialize};

use super::bytes::DAMAGED;

/// A distribution function at some of its values, the *knots*: $F(z_k^-)$ and $F(z_k)$ at each, and between knots a straight line from
/// $F(z_k)$ to $F(z_{k+1}^-)$.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Steps {
    /// The knots, ascending.
    pub(super) values: Vec<f64>,
    /// $F(z_1^-), F(z_1), F(z_2^-), \dots$, ascending from 0 to 1.
    pub(super) edges: Vec<f64>,
}

/// The same, borrowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepsRef<'a> {
    pub(super) values: &'a [f64],
    pub(super) edges: &'a [f64],
}

impl Steps {
    /// The distribution of values with positive weights, ascending. Of more than `most` values that many are knots, among them the least,
    /// the largest and all that have a larger share than $1/(\text{most} - 1)$.
    pub(super) fn of(sorted: &[(f64, f64)], most: usize) -> Self {
        let total: f64 = sorted.iter().map(|(_, weight)| weight).sum();
        let mut steps = Self::default();
        let mut below = 0.0;
        for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
            let weight: f64 = equal.iter().map(|(_, weight)| weight).sum();
            steps.values.push(equal[0].0);
            steps.edges.push(below / total);
            below += weight;
            steps.edges.push((below / total).min(1.0));
        }
        if let Some(last) = steps.edges.last_mut() {
            *last = 1.0;
        }
        if steps.values.len() > most {
            steps.thin(most);
        }
        steps
    }

    fn thin(&mut self, most: usize) {
        let last = self.values.len() - 1;
        let mut places: Vec<usize> = (0..most - 1)
            .map(|j| self.view().knot(j as f64 / (most - 1) as f64))
            .collect();
        places.push(last);
        places.dedup();
        self.values = places.iter().map(|&k| self.values[k]).collect();
        self.edges = places
            .iter()
            .flat_map(|&k| [self.edges[2 * k], self.edges[2 * k + 1]])
            .collect();
    }

    pub(super) fn view(&self) -> StepsRef<'_> {
        StepsRef {
            values: &self.values,
            edges: &self.edges,
        }
    }
}

impl Distribution for Steps {
    fn shift(&mut self, by: f64) {
        self.values.iter_mut().for_each(|value| *value += by);
    }

    fn check_read(&self) -> Result<()> {
        let sound = !self.values.is_empty()
            && self.edges.len() == 2 * self.values.len()
            && self.values.iter().all(|value| value.is_finite())
            && self.values.is_sorted_by(|a, b| a < b)
            && self.edges.is_sorted()
            && self.edges.iter().all(|edge| (0.0..=1.0).contains(edge));
        require(sound, DAMAGED)
    }
}

impl StepsRef<'_> {
    /// The ranks that a value may have: $[F(x^-), F(x)]$ at a knot.
    ///
    /// Between the knots $z_k < x < z_{k+1}$, at the share $a = (x - z_k)/(z_{k+1} - z_k)$ of the way, with F the straight line and w the
    /// smaller of the two knots' own shares: $[F(x) - (1-a)w, F(x) + aw]$. So the rank of a value that no reference row has is as uncertain
    /// as that of its neighbours. Beyond the ends: the ranks of the end.
    pub(super) fn ranks(self, value: f64) -> (f64, f64) {
        let at = |k: usize| (self.edges[2 * k], self.edges[2 * k + 1]);
        let next = self.values.partition_point(|z| *z <= value);
        if next == 0 {
            return at(0);
        }
        let (below, upto) = at(next - 1);
        if next == self.values.len() || self.values[next - 1] == value {
            return (below, upto);
        }
        let (next_below, next_upto) = at(next);
        let (low, high) = (self.values[next - 1], self.values[next]);
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        let line = upto + share * (next_below - upto);
        let width = (upto - below).min(next_upto - next_below);
        (line - (1.0 - share) * width, line + share * width)
    }

    /// The share of one value.
    pub(super) fn share(self, value: f64) -> f64 {
        let next = self.values.partition_point(|z| *z <= value);
        match next.checked_sub(1) {
            Some(k) if self.values[k] == value => self.edges[2 * k + 1] - self.edges[2 * k],
            _ => 0.0,
        }
    }

    /// The value of a rank: the knot with $F(z_k^-) \le u < F(z_k)$, or a place on the line between two.
    pub(super) fn value(self, rank: f64) -> f64 {
        let k = self.knot(rank);
        let below = self.edges[2 * k];
        if k == 0 || rank >= below {
            return self.values[k];
        }
        let (start, from) = (self.edges[2 * k - 1], self.values[k - 1]);
        let share = ((rank - start) / (below - start)).clamp(0.0, 1.0);
        from + share * (self.values[k] - from)
    }

    /// The first knot with $u < F(z_k)$.
    fn knot(self, rank: f64) -> usize {
        let count = self.values.len();
        // The edges ascend, so that those up to the rank come first, and every second one is an F(z_k).
        let passed = self.edges.partition_point(|edge| *edge <= rank);
        (passed / 2).min(count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(values: &[f64]) -> Vec<(f64, f64)> {
        values.iter().map(|v| (*v, 1.0)).collect()
    }

    #[test]
    fn equal_values_share_an_interval_of_ranks() {
        let steps = Steps::of(&unit(&[0.0, 0.0, 0.0, 2.0]), 512);
        let steps = steps.view();
        assert_eq!(steps.ranks(0.0), (0.0, 0.75));
        assert_eq!(steps.ranks(2.0), (0.75, 1.0));
        assert_eq!(steps.share(0.0), 0.75);
        assert_eq!(steps.share(1.0), 0.0);
        // As uncertain as the rarer neighbour, and on both sides of the step.
        assert_eq!(steps.ranks(1.0), (0.625, 0.875));
        assert_eq!(
            (steps.ranks(-9.0), steps.ranks(9.0)),
            ((0.0, 0.75), (0.75, 1.0))
        );
        assert_eq!(steps.value(0.0), 0.0);
        assert_eq!(steps.value(0.75f64.next_down()), 0.0);
        assert_eq!(steps.value(0.75), 2.0);
        assert_eq!(steps.value(1.0), 2.0);
    }

    #[test]
    fn a_rank_within_the_ranks_of_a_value_gives_the_value() {
        let values: Vec<f64> = (0..40).map(|i| f64::from(i * i / 7)).collect();
        let steps = Steps::of(&unit(&values), 512);
        let steps = steps.view();
        for value in values {
            let (low, high) = steps.ranks(value);
            for share in [0.0, 0.3, 0.999] {
                assert_eq!(steps.value(low + share * (high - low)), value);
            }
        }
    }

    #[test]
    fn thinned_steps_keep_their_ends_and_heavy_values_and_are_as_near_as_their_knots() {
        let mut values: Vec<f64> = (0..5000).map(|i| f64::from(i).powi(2)).collect();
        values.extend([7.5; 200]);
        values.sort_by(f64::total_cmp);
        let (all, few) = (
            Steps::of(&unit(&values), 9999),
            Steps::of(&unit(&values), 128),
        );
        assert!(few.values.len() <= 128 && few.check_read().is_ok());
        assert!(few.values.contains(&7.5));
        assert_eq!(few.values[0], 0.0);
        assert_eq!(few.values[few.values.len() - 1], 4999.0f64.powi(2));
        for value in values {
            let (a, b) = (all.view().ranks(value), few.view().ranks(value));
            assert!((a.0 - b.0).abs() < 1.0 / 127.0 && (a.1 - b.1).abs() < 1.0 / 127.0);
        }
    }
}
