//! A round of alignments, each learned on the places that the one before has left.

use std::f64::consts::TAU;

use faer::Mat;
use oblivio_base::random::{Stream, numbered};
use oblivio_base::{Result, Watch};
use rand::RngExt;
use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::axis::{Axis, Orthonormal, Taught};
use super::step::{Along, Step};

/// Bases of axes in a round, each drawn by seed.
const BASES: usize = 5;
/// A column of more values than this divides no rows.
const MOST_STRATA: usize = 64;
/// Fewer rows with a value teach nothing of their own.
const LEAST_ROWS: usize = 200;
/// Pairs of columns that are looked at in a round; of more, a sample by seed.
const MOST_PAIRS: usize = 400;

/// The places of the rows of a fit, row by row, and all alignments so far.
pub(super) struct Places<'a> {
    pub(super) columns: usize,
    pub(super) values: Vec<f64>,
    pub(super) steps: Vec<Step>,
    /// The features of S of the rows, as the partition gives them and orthonormal.
    pub(super) features: &'a Mat<f64>,
    pub(super) given: &'a Orthonormal,
    pub(super) taught: Taught<'a>,
    /// Where the value of each column changes; none for a column of many values.
    pub(super) edges: &'a [Option<Vec<f64>>],
}

impl Places<'_> {
    /// Aligns each column among rows with one value of another column, for every such pair, and then along all axes of several bases.
    pub(super) fn round(&mut self, seed: u64, number: usize, watch: &Watch) -> Result<()> {
        let mut random = numbered(seed, Stream::Order, number);
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for within in 0..self.columns {
            if self.edges[within].is_some() {
                let others = (0..self.columns).filter(|moved| *moved != within);
                pairs.extend(others.map(|moved| (moved, within)));
            }
        }
        pairs.shuffle(&mut random);
        pairs.truncate(MOST_PAIRS);
        for (moved, within) in pairs {
            self.pair(moved, within);
            watch.check()?;
        }
        for _ in 0..BASES {
            for direction in basis(self.columns, &mut || random.random()) {
                let along = Along::Direction(direction);
                let (rows, weights) = (self.taught.rows, self.taught.weights);
                self.align(along, Taught { rows, weights });
            }
            watch.check()?;
        }
        Ok(())
    }

    /// Aligns a column among the rows of each value of another.
    fn pair(&mut self, moved: usize, within: usize) {
        let Some(edges) = &self.edges[within] else {
            return;
        };
        if edges.len() > MOST_STRATA {
            return;
        }
        let mut strata: Vec<Vec<usize>> = vec![Vec::new(); edges.len() + 1];
        for &row in self.taught.rows {
            let place = self.values[row * self.columns + within];
            strata[edges.partition_point(|edge| *edge <= place)].push(row);
        }
        for (k, rows) in strata.iter().enumerate() {
            if rows.len() < LEAST_ROWS {
                continue;
            }
            let along = Along::Column {
                moved,
                within,
                // JSON has no infinity.
                low: k.checked_sub(1).map_or(f64::MIN, |k| edges[k]),
                high: edges.get(k).copied().unwrap_or(f64::MAX),
            };
            let weights = self.taught.weights;
            self.align(along, Taught { rows, weights });
        }
    }

    /// Learns an alignment from some rows and applies it to all that it concerns.
    fn align(&mut self, along: Along, taught: Taught) {
        let columns = self.columns;
        let number = |row: &[f64]| along.number(row).unwrap_or(0.0);
        let numbers: Vec<f64> = self.values.par_chunks(columns).map(number).collect();
        if let Some(axis) = Axis::fit(&numbers, self.given, taught) {
            let step = Step { along, axis };
            let rows = self.values.par_chunks_mut(columns).enumerate();
            rows.for_each(|(i, row)| step.apply(row, self.features.col_as_slice(i)));
            self.steps.push(step);
        }
    }
}

/// An orthonormal basis, drawn evenly among all.
fn basis(size: usize, uniform: &mut impl FnMut() -> f64) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    while basis.len() < size {
        let mut vector: Vec<f64> = (0..size)
            .map(|_| (-2.0 * (1.0 - uniform()).ln()).sqrt() * (TAU * uniform()).cos())
            .collect();
        for own in &basis {
            let along: f64 = own.iter().zip(&vector).map(|(a, b)| a * b).sum();
            vector
                .iter_mut()
                .zip(own)
                .for_each(|(v, a)| *v -= along * a);
        }
        let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
        // A vector that is nearly one of the others' sums is drawn again.
        if length > 1e-3 {
            basis.push(vector.into_iter().map(|v| v / length).collect());
        }
    }
    basis
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_basis_is_orthonormal() {
        let mut random = numbered(3, Stream::Order, 0);
        let basis = basis(7, &mut || random.random());
        for (i, a) in basis.iter().enumerate() {
            for (j, b) in basis.iter().enumerate() {
                let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-9);
            }
        }
    }
}
