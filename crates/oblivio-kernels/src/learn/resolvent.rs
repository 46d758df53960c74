//! $(K + \lambda\Omega^{-1})^{-1}$ for many penalties λ.

use std::sync::OnceLock;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Side};
use oblivio_base::{Error, Result, Watch};
use rayon::prelude::*;

use super::system::{System, threads};
use crate::kernel::Lower;

/// For so many penalties a factorisation each takes less time than one eigendecomposition.
const FEW: usize = 12;
/// Rows whose squares are added at a time.
const CHUNK: usize = 128;

/// The inverses of $A = K + \lambda\Omega^{-1}$, for every λ.
pub(super) struct Resolvents<'a> {
    kernel: &'a Lower,
    weights: &'a [f64],
    eigen: OnceLock<Eigen>,
}

/// What a path needs of $A^{-1}$ for one penalty.
pub(super) struct Resolvent {
    /// $A^{-1}$ times the right sides.
    pub(super) columns: Mat<f64>,
    /// The diagonal of $A^{-1}$.
    pub(super) diagonal: Vec<f64>,
}

/// $\Omega^{1/2}K\Omega^{1/2} = U\Lambda U^\top$
struct Eigen {
    vectors: Mat<f64>,
    values: Vec<f64>,
}

impl<'a> Resolvents<'a> {
    pub(super) fn new(kernel: &'a Lower, weights: &'a [f64]) -> Self {
        Self {
            kernel,
            weights,
            eigen: OnceLock::new(),
        }
    }

    /// Prepares for these right sides and so many penalties.
    pub(super) fn begin<'r>(
        &'r self,
        right: MatRef<'r, f64>,
        penalties: usize,
        watch: &Watch,
    ) -> Result<Applied<'r>> {
        let turned = if self.eigen.get().is_none() && penalties <= FEW {
            None
        } else {
            Some(self.turn(right, watch)?)
        };
        Ok(Applied {
            of: self,
            right,
            turned,
        })
    }

    /// $U^\top\Omega^{1/2}$ times the right sides.
    fn turn(&self, right: MatRef<'_, f64>, watch: &Watch) -> Result<Mat<f64>> {
        let eigen = self.eigen(watch)?;
        let scaled = Mat::from_fn(right.nrows(), right.ncols(), |i, j| {
            self.weights[i].sqrt() * right[(i, j)]
        });
        let mut turned = Mat::zeros(right.nrows(), right.ncols());
        matmul(
            turned.as_mut(),
            Accum::Replace,
            eigen.vectors.transpose(),
            scaled.as_ref(),
            1.0,
            threads(),
        );
        Ok(turned)
    }

    fn eigen(&self, watch: &Watch) -> Result<&Eigen> {
        if let Some(eigen) = self.eigen.get() {
            return Ok(eigen);
        }
        watch.begin("eigendecomposition", 0)?;
        let roots: Vec<f64> = self.weights.iter().map(|w| w.sqrt()).collect();
        let whole = self.kernel.as_mat();
        let scaled = Mat::from_fn(roots.len(), roots.len(), |i, j| {
            if i < j {
                0.0
            } else {
                roots[i] * roots[j] * whole[(i, j)]
            }
        });
        let eigen = scaled
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| Error::Overflow {
                what: "the decomposition of the kernel matrix",
            })?;
        watch.check()?;
        let values = eigen.S().column_vector().iter();
        let eigen = Eigen {
            // Below zero is rounding.
            values: values.map(|v| v.max(0.0)).collect(),
            vectors: eigen.U().to_owned(),
        };
        Ok(self.eigen.get_or_init(|| eigen))
    }
}

/// The inverses applied to fixed right sides.
pub(super) struct Applied<'r> {
    of: &'r Resolvents<'r>,
    right: MatRef<'r, f64>,
    turned: Option<Mat<f64>>,
}

impl Applied<'_> {
    pub(super) fn at(&mut self, penalty: f64, watch: &Watch) -> Result<Resolvent> {
        if self.turned.is_none() {
            match self.factorized(penalty, watch) {
                // An eigendecomposition does not mind.
                Err(Error::NotPositiveDefinite { .. }) => (),
                other => return other,
            }
        }
        let turned = match self.turned.take() {
            Some(turned) => turned,
            None => self.of.turn(self.right, watch)?,
        };
        let resolvent = self.decomposed(turned.as_ref(), penalty, watch);
        self.turned = Some(turned);
        resolvent
    }

    /// $A^{-1} = \Omega^{1/2}U(\Lambda + \lambda I)^{-1}U^\top\Omega^{1/2}$
    fn decomposed(
        &self,
        turned: MatRef<'_, f64>,
        penalty: f64,
        watch: &Watch,
    ) -> Result<Resolvent> {
        let Eigen { vectors, values } = self.of.eigen(watch)?;
        let shrink: Vec<f64> = values.iter().map(|v| 1.0 / (v + penalty)).collect();
        let shrunken = Mat::from_fn(turned.nrows(), turned.ncols(), |i, j| {
            shrink[i] * turned[(i, j)]
        });
        let mut columns = Mat::zeros(turned.nrows(), turned.ncols());
        matmul(
            columns.as_mut(),
            Accum::Replace,
            vectors.as_ref(),
            shrunken.as_ref(),
            1.0,
            threads(),
        );
        for j in 0..columns.ncols() {
            let column = columns.col_as_slice_mut(j).iter_mut();
            column
                .zip(self.of.weights)
                .for_each(|(c, w)| *c *= w.sqrt());
        }
        let mut diagonal = vec![0.0; turned.nrows()];
        diagonal
            .par_chunks_mut(CHUNK)
            .enumerate()
            .for_each(|(chunk, diagonal)| {
                let first = chunk * CHUNK;
                for (k, shrink) in shrink.iter().enumerate() {
                    let part = &vectors.col_as_slice(k)[first..first + diagonal.len()];
                    for (sum, u) in diagonal.iter_mut().zip(part) {
                        *sum += u * u * shrink;
                    }
                }
                let weights = &self.of.weights[first..];
                diagonal.iter_mut().zip(weights).for_each(|(d, w)| *d *= w);
            });
        Ok(Resolvent { columns, diagonal })
    }

    /// By Cholesky.
    fn factorized(&self, penalty: f64, watch: &Watch) -> Result<Resolvent> {
        let mut matrix = self.of.kernel.clone();
        matrix.add_diagonal(|i| penalty / self.of.weights[i]);
        let factor = System::new(matrix, penalty).factorize(watch)?;
        Ok(Resolvent {
            columns: factor.solve_columns(self.right),
            diagonal: factor.inverse_diagonal(watch)?,
        })
    }
}
