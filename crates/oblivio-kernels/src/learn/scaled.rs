//! Systems $(I + SKS)x = b$ with one matrix K and one diagonal S after another.

use oblivio_base::{Result, Watch};

use super::system::{cholesky, substitute};
use crate::gram::Gram;
use crate::kernel::Lower;

/// Up to this many rows the matrix is held beside its factor; past it, it is computed anew, which costs less than the factor.
const HELD: usize = 4096;

/// A matrix K, and the factor of the latest system.
///
/// All eigenvalues of $I + SKS$ are at least one, whatever is in S: the form that Gaussian processes use for classification.
pub(super) struct Scaled<'a> {
    gram: &'a dyn Gram,
    held: Option<Lower>,
    factor: Option<Lower>,
}

impl<'a> Scaled<'a> {
    pub(super) fn new(gram: &'a dyn Gram, watch: &Watch) -> Result<Self> {
        let held = if gram.len() <= HELD {
            Some(gram.lower(watch)?)
        } else {
            None
        };
        Ok(Self {
            gram,
            held,
            factor: None,
        })
    }

    /// K times a vector.
    pub(super) fn times(&self, vector: &[f64], watch: &Watch) -> Result<Vec<f64>> {
        match &self.held {
            Some(matrix) => Ok(matrix.times(vector)),
            None => self.gram.multiply(vector, watch),
        }
    }

    /// Factorises $I + SKS$; `false` if rounding leaves it indefinite.
    pub(super) fn factorize(&mut self, scales: &[f64], watch: &Watch) -> Result<bool> {
        watch.check()?;
        // One matrix of this size at a time.
        let old = self.factor.take();
        let mut matrix = match (&self.held, old) {
            (Some(held), Some(mut old)) => {
                old.as_mat_mut().copy_from(held.as_mat());
                old
            }
            (Some(held), None) => held.clone(),
            (None, old) => {
                drop(old);
                self.gram.lower(watch)?
            }
        };
        for (j, column) in matrix.as_mat_mut().col_iter_mut().enumerate() {
            let below = column.subrows_mut(j, scales.len() - j);
            for (entry, scale) in below.iter_mut().zip(&scales[j..]) {
                *entry *= scale * scales[j];
            }
        }
        matrix.add_diagonal(|_| 1.0);
        let sound = cholesky(matrix.as_mat_mut()).is_ok();
        self.factor = Some(matrix);
        Ok(sound)
    }

    /// $(I + SKS)^{-1}b$ in place, after [`factorize`](Self::factorize).
    pub(super) fn solve(&self, vector: &mut [f64]) {
        if let Some(factor) = &self.factor {
            substitute(factor.as_mat(), vector);
        }
    }
}
