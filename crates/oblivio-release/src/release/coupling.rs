//! Categories: the same shares whatever S is, with the fewest changes.

use oblivio::Partition;
use oblivio::partition::SensitiveDesign;
use oblivio_base::Result;
use oblivio_base::error::require;
use serde::{Deserialize, Serialize};

use super::bytes::DAMAGED;
use super::conditional::{Conditional, Parts, Reference};
use super::draw::{Draws, Purpose};

/// From a category and S to a category whose shares do not depend on S. Categories are numbered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct CouplingMap {
    given: Conditional,
    /// $\bar p$: the share of each category among all reference rows.
    shares: Vec<f64>,
}

impl CouplingMap {
    /// Learns the shares of so many categories.
    pub(super) fn fit(codes: &[f64], reference: Reference, count: usize) -> Result<Self> {
        let given = Conditional::fit(codes, reference, count)?;
        let total: f64 = reference.rows.iter().map(|&i| reference.weights[i]).sum();
        let mut shares = vec![0.0; count];
        for &i in reference.rows {
            shares[codes[i] as usize] += reference.weights[i] / total;
        }
        Ok(Self { given, shares })
    }

    /// The released categories, for a share t of the rows; missing and unseen ones stay.
    pub(super) fn apply(
        &self,
        codes: &[f64],
        assignment: &SensitiveDesign,
        (column, draws): (&str, &Draws),
        strength: f64,
    ) -> Result<Vec<f64>> {
        let place = draws.of(column, Purpose::Place);
        let share = draws.of(column, Purpose::Share);
        self.given.each(assignment, |row, parts| {
            let known = codes[row] < self.shares.len() as f64;
            if known && share.at(row) < strength {
                self.coupled(codes[row] as usize, parts, place.at(row)) as f64
            } else {
                codes[row]
            }
        })
    }

    /// A rank of the released category of every row among all rows, the categories in this order: drawn within the category's share. Of a
    /// category that is missing or not known, a draw.
    pub(super) fn ranks(
        &self,
        codes: &[f64],
        assignment: &SensitiveDesign,
        (column, draws): (&str, &Draws),
        order: &[usize],
    ) -> Result<Vec<f64>> {
        let place = draws.of(column, Purpose::Place);
        let within = draws.of(column, Purpose::Within);
        let edges = self.edges(order);
        let mut start = vec![0.0; self.shares.len()];
        for (k, &level) in order.iter().enumerate().skip(1) {
            start[level] = edges[k - 1];
        }
        self.given.each(assignment, |row, parts| {
            let draw = within.at(row);
            let known = codes[row] < self.shares.len() as f64;
            if !known {
                return draw;
            }
            let level = self.coupled(codes[row] as usize, parts, place.at(row));
            start[level] + draw * self.shares[level]
        })
    }

    /// The ranks at which the category changes, the categories in this order.
    pub(super) fn edges(&self, order: &[usize]) -> Vec<f64> {
        let mut upto = 0.0;
        let edges = order.iter().map(|&level| {
            upto += self.shares[level];
            upto
        });
        edges.collect()
    }

    /// The number of categories.
    pub(super) fn len(&self) -> usize {
        self.shares.len()
    }

    /// The maximal coupling of $p(\cdot \mid s)$ and $\bar p$: a stays with probability $\min(1, \bar p(a)/p(a \mid s))$, else the category is
    /// drawn from what $\bar p$ has more than $p(\cdot \mid s)$. No other way to the shares $\bar p$ changes fewer rows.
    fn coupled(&self, own: usize, parts: &Parts, draw: f64) -> usize {
        let given = |level: usize| -> f64 {
            let shares = parts.iter().map(|(steps, w)| w * steps.share(level as f64));
            shares.sum()
        };
        let here = given(own);
        let stay = if here > self.shares[own] {
            self.shares[own] / here
        } else {
            1.0
        };
        if draw < stay {
            return own;
        }
        let excess: Vec<f64> = (0..self.shares.len())
            .map(|level| (self.shares[level] - given(level)).max(0.0))
            .collect();
        let mut left = (draw - stay) / (1.0 - stay) * excess.iter().sum::<f64>();
        for (level, more) in excess.iter().enumerate() {
            if left < *more {
                return level;
            }
            left -= more;
        }
        // Nothing but rounding is left of a draw near 1.
        excess.iter().rposition(|more| *more > 0.0).unwrap_or(own)
    }

    /// Refuses a map that no fit of a column with `count` categories gives.
    pub(super) fn check_read(&self, partition: &Partition, count: usize) -> Result<()> {
        self.given.check_read(partition)?;
        let sound = self.shares.len() == count
            && self.shares.iter().all(|share| (0.0..=1.1).contains(share));
        require(sound, DAMAGED)
    }

    /// All numbers of which there may be many.
    pub(super) fn numbers(&mut self) -> Vec<&mut Vec<f64>> {
        let mut numbers = self.given.numbers();
        numbers.push(&mut self.shares);
        numbers
    }
}
