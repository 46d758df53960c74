//! Two sides in whatever form they have.

use std::borrow::Cow;

use faer::Mat;
use oblivio_base::{Result, Watch};

use super::factors::{self, Cross};
use super::matrix::{self, Matrix};
use super::side::{Form, HsicSide};
use super::totals::Totals;
use crate::Resampling;

/// Two sides that vary.
pub(super) struct Pair<'a> {
    x: &'a HsicSide,
    s: &'a HsicSide,
    together: Together<'a>,
}

enum Together<'a> {
    Factors(Cross),
    Matrices(Cow<'a, Matrix>, Cow<'a, Matrix>),
}

/// A factor of at most this rank meets a matrix through its features.
const NARROW: usize = 4;

impl<'a> Pair<'a> {
    pub(super) fn of(x: &'a HsicSide, s: &'a HsicSide, watch: &Watch) -> Result<Self> {
        let together = match (&x.form, &s.form) {
            (Form::Factor(f), Form::Factor(g)) => {
                Together::Factors(Cross::of(f, g, &x.weights, watch)?)
            }
            (a, b) => Together::Matrices(as_matrix(a)?, as_matrix(b)?),
        };
        Ok(Self { x, s, together })
    }

    pub(super) fn totals(&self) -> Totals {
        match &self.together {
            Together::Factors(cross) => cross.totals,
            Together::Matrices(a, b) => matrix::totals(a, b, &self.x.weights),
        }
    }

    /// HSIC after every permutation of the second side.
    pub(super) fn permuted(&self, draws: &Draws<'_>, watch: &Watch) -> Result<Vec<f64>> {
        match (&self.x.form, &self.s.form, &self.together) {
            (Form::Factor(f), Form::Factor(g), _) => factors::permuted(f, g, draws, watch),
            (Form::Matrix(a), Form::Factor(g), _) if g.rank() <= NARROW => {
                let place = |i: usize, order: &[u32]| (i, order[i] as usize);
                matrix::permuted_narrow(a, g, draws, place, watch)
            }
            (Form::Factor(f), Form::Matrix(b), _) if f.rank() <= NARROW => {
                let place = |i: usize, order: &[u32]| (order[i] as usize, i);
                matrix::permuted_narrow(b, f, draws, place, watch)
            }
            (_, _, Together::Matrices(a, b)) => matrix::permuted(a, b, draws, watch),
            (_, _, Together::Factors(_)) => Ok(Vec::new()),
        }
    }

    /// The normalised HSIC of every resample.
    pub(super) fn resampled(&self, draws: &Draws<'_>, watch: &Watch) -> Result<Vec<f64>> {
        match (&self.x.form, &self.s.form, &self.together) {
            (Form::Factor(f), Form::Factor(g), _) => factors::resampled(f, g, draws, watch),
            (_, _, Together::Matrices(a, b)) => matrix::resampled(a, b, draws, watch),
            (_, _, Together::Factors(_)) => Ok(Vec::new()),
        }
    }

    /// For every row i, $\sum_jp_jA_{ij}B_{ij}$ and the same of each side with itself.
    pub(super) fn row_means(&self, watch: &Watch) -> Result<Vec<[f64; 3]>> {
        match (&self.x.form, &self.s.form, &self.together) {
            (Form::Factor(f), Form::Factor(g), Together::Factors(cross)) => {
                cross.row_means(f, g, watch)
            }
            (_, _, Together::Matrices(a, b)) => Ok(matrix::row_means(a, b, &self.x.weights)),
            (_, _, Together::Factors(_)) => Ok(Vec::new()),
        }
    }
}

fn as_matrix(form: &Form) -> Result<Cow<'_, Matrix>> {
    Ok(match form {
        Form::Matrix(matrix) => Cow::Borrowed(matrix),
        Form::Factor(factor) => Cow::Owned(Matrix::of_factor(factor)?),
    })
}

/// The draws of permutations and resamples, as shares of the weight.
pub(super) struct Draws<'a> {
    pub(super) resampling: &'a Resampling,
    pub(super) shares: Vec<f64>,
}

impl<'a> Draws<'a> {
    pub(super) fn new(resampling: &'a Resampling, weights: &[f64]) -> Self {
        Self {
            resampling,
            shares: shares(weights.to_vec()),
        }
    }

    pub(super) fn permutation(&self, number: usize) -> Vec<u32> {
        self.resampling.permutation(number, self.shares.len())
    }

    pub(super) fn permutations(&self) -> Vec<Vec<u32>> {
        let numbers = 0..self.resampling.permutations;
        numbers.map(|number| self.permutation(number)).collect()
    }

    /// The rows' shares in a resample.
    pub(super) fn resample(&self, number: usize) -> Vec<f64> {
        let mut counts = self.resampling.counts(number, self.shares.len());
        counts
            .iter_mut()
            .zip(&self.shares)
            .for_each(|(c, p)| *c *= p);
        // Where almost all weights are zero, a resample may have none at all.
        if counts.iter().all(|&c| c == 0.0) {
            return self.shares.clone();
        }
        shares(counts)
    }

    /// One column for each resample.
    pub(super) fn resamples(&self) -> Mat<f64> {
        let numbers = 0..self.resampling.resamples;
        let columns: Vec<Vec<f64>> = numbers.map(|number| self.resample(number)).collect();
        Mat::from_fn(self.shares.len(), columns.len(), |i, j| columns[j][i])
    }
}

fn shares(mut weights: Vec<f64>) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    for weight in &mut weights {
        *weight /= total;
    }
    weights
}
