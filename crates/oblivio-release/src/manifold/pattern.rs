//! What rows with the same S have in common: the part of their features that does not depend on the row itself.

use std::borrow::Cow;

use faer::Mat;
use oblivio::partition::SensitiveDesign;
use rayon::prelude::*;

use super::Manifold;

/// What the rows of a cell, or one row, have in common: the part of Z + h* on the base points.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// The coefficients of the base points.
    pub(super) weights: Vec<f64>,
    /// That part as a function, at the base points.
    pub(super) at_base: Vec<f64>,
    /// Its squared norm.
    pub(super) square: f64,
}

impl Pattern {
    fn new(manifold: &Manifold, by_direction: &[f64]) -> Self {
        let combine = |columns: &Mat<f64>| {
            let mut sum = vec![0.0; columns.nrows()];
            for (a, coefficient) in by_direction.iter().enumerate() {
                if *coefficient != 0.0 {
                    let column = columns.col_as_slice(a).iter();
                    sum.iter_mut()
                        .zip(column)
                        .for_each(|(s, v)| *s += coefficient * v);
                }
            }
            sum
        };
        let gram = &manifold.gram;
        let mut square = 0.0;
        for (a, ca) in by_direction.iter().enumerate() {
            for (b, cb) in by_direction.iter().enumerate() {
                square += ca * cb * gram[(a, b)];
            }
        }
        Self {
            weights: combine(&manifold.directions),
            at_base: combine(&manifold.at_base),
            square,
        }
    }
}

/// The patterns of rows: one for each cell and mixture, or one for each row.
pub(super) struct Patterns<'a> {
    manifold: &'a Manifold,
    assignment: &'a SensitiveDesign,
    strength: f64,
    shared: Vec<Pattern>,
}

impl<'a> Patterns<'a> {
    pub(super) fn new(
        manifold: &'a Manifold,
        assignment: &'a SensitiveDesign,
        strength: f64,
    ) -> Self {
        let mut patterns = Self {
            manifold,
            assignment,
            strength,
            shared: Vec::new(),
        };
        if let Some(groups) = assignment.groups() {
            let cells = manifold.shares.len();
            let unit = |c: usize| (0..cells).map(|k| f64::from(u8::from(k == c))).collect();
            let all: Vec<Vec<f64>> = (0..cells)
                .map(unit)
                .chain(groups.mixtures.iter().cloned())
                .collect();
            patterns.shared = all
                .par_iter()
                .map(|weights| patterns.pattern(weights))
                .collect();
        }
        patterns
    }

    /// −t times the shift with these weights, and h*.
    fn pattern(&self, weights: &[f64]) -> Pattern {
        let shares = &self.manifold.shares;
        let pairs = weights.iter().zip(shares);
        let mut by_direction: Vec<f64> = pairs.map(|(w, p)| -self.strength * (w - p)).collect();
        by_direction.resize(shares.len(), 0.0);
        by_direction.resize(self.manifold.directions.ncols(), 1.0);
        Pattern::new(self.manifold, &by_direction)
    }

    pub(super) fn of(&self, row: usize) -> Cow<'_, Pattern> {
        if let Some(features) = self.assignment.matrix() {
            return Cow::Owned(self.pattern(features.col_as_slice(row)));
        }
        match self.shared.get(self.assignment.codes()[row] as usize) {
            Some(pattern) => Cow::Borrowed(pattern),
            // Without cells there is nothing to take off.
            None => Cow::Owned(self.pattern(&[])),
        }
    }
}
