//! Kernel ridge regression for many corrections and penalties at once.

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::Solve;
use faer::{Accum, Mat, MatRef};
use oblivio_base::{Error, Result, Watch};
use rayon::prelude::*;

use super::resolvent::{Resolvent, Resolvents};
use super::ridge::{Intercept, Ridge, combine, without_constant};
use super::system::{Solver, threads};
use crate::kernel::Lower;

/// Ridge regression on all matrices $K + VCV^\top$, for a fixed V (n × k) and any symmetric C (k × k).
///
/// Features $z_i = \phi_i - t\sum_a P_{ia}\delta_a$ are of this form for every t: with B the negative inner products of rows and
/// $\delta_a$ and Q those of the $\delta_a$, $V = [P\ B]$ and $C = \begin{pmatrix}t^2Q & tI\\ tI & 0\end{pmatrix}$.
///
/// What costs n³ does not depend on C: the correction is a matter of k equations,
/// $$(A + VCV^\top)^{-1} = A^{-1} - RWR^\top,\quad A = K + \lambda\Omega^{-1},\ R = A^{-1}V,\ W = (I + CV^\top R)^{-1}C,$$
/// which needs no inverse of C.
pub struct RidgePath<'a> {
    resolvents: Resolvents<'a>,
    basis: MatRef<'a, f64>,
    targets: &'a [f64],
    weights: &'a [f64],
    intercept: Intercept,
}

/// One correction and one penalty of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathFit {
    /// λ
    pub penalty: f64,
    /// α, as [`Ridge::solve`] finds it.
    pub coefficients: Vec<f64>,
    /// The constant; zero unless it was asked for.
    pub intercept: f64,
    /// The fitted values at the training rows.
    pub fitted: Vec<f64>,
    /// The value at each training row of the solution without that row, as [`Ridge::solve_leaving_out`] finds it.
    pub left_out: Vec<f64>,
    /// Generalised cross-validation: $W\,\mathrm{RSS}/(W - \mathrm{df})^2$ with W the sum of the weights and
    /// $\mathrm{df} = n - \lambda\sum_i A^{-1}_{ii}/\omega_i$ the trace of the hat matrix, that of the constant included.
    pub gcv: f64,
    /// Root mean squared error on the training rows.
    pub error: f64,
}

impl<'a> RidgePath<'a> {
    /// All regressions of these targets on K, of which the lower triangle is used, and corrections in the span of V.
    pub fn new(
        kernel: &'a Lower,
        basis: MatRef<'a, f64>,
        targets: &'a [f64],
        weights: &'a [f64],
    ) -> Self {
        Self {
            resolvents: Resolvents::new(kernel, weights),
            basis,
            targets,
            weights,
            intercept: Intercept::None,
        }
    }

    /// The same regressions with or without an intercept.
    #[must_use]
    pub fn with_intercept(self, intercept: Intercept) -> Self {
        Self { intercept, ..self }
    }

    /// The fits for every correction C (first index) and every penalty (second).
    pub fn points(
        &self,
        corrections: &[Mat<f64>],
        penalties: &[f64],
        watch: &Watch,
    ) -> Result<Vec<Vec<PathFit>>> {
        let mut fits: Vec<Vec<PathFit>> = vec![Vec::new(); corrections.len()];
        self.each(
            corrections,
            penalties,
            &mut |(correction, _), fit| {
                fits[correction].push(fit);
                Ok(())
            },
            watch,
        )?;
        Ok(fits)
    }

    /// Does `work` on every fit, with the numbers of its correction and its penalty, penalty after penalty: at most one fit
    /// per correction is in memory.
    pub fn each(
        &self,
        corrections: &[Mat<f64>],
        penalties: &[f64],
        work: &mut dyn FnMut((usize, usize), PathFit) -> Result<()>,
        watch: &Watch,
    ) -> Result<()> {
        let width = self.basis.ncols();
        for correction in corrections {
            if (correction.nrows(), correction.ncols()) != (width, width) {
                return Err(Error::Width {
                    found: correction.ncols(),
                    needed: width,
                });
            }
        }
        let ridges: Vec<Ridge> = penalties
            .iter()
            .map(|&penalty| Ok(Ridge::new(penalty, Solver::Auto)?.with_intercept(self.intercept)))
            .collect::<Result<_>>()?;
        let right = self.right_sides();
        let mut resolvents = self
            .resolvents
            .begin(right.as_ref(), penalties.len(), watch)?;
        watch.begin("path", penalties.len())?;
        for (number, ridge) in ridges.iter().enumerate() {
            watch.check()?;
            let point = Point::new(self, ridge, resolvents.at(ridge.penalty(), watch)?);
            let fits: Vec<Result<PathFit>> = corrections
                .par_iter()
                .with_max_len(1)
                .map(|correction| point.fit(correction.as_ref()))
                .collect();
            for (correction, fit) in fits.into_iter().enumerate() {
                work((correction, number), fit?)?;
            }
            watch.advance();
        }
        Ok(())
    }

    /// [V y], and ones where there is an intercept.
    fn right_sides(&self) -> Mat<f64> {
        let width = self.basis.ncols();
        let more = match self.intercept {
            Intercept::None => 1,
            Intercept::Fitted => 2,
        };
        Mat::from_fn(self.targets.len(), width + more, |i, j| {
            match j.checked_sub(width) {
                None => self.basis[(i, j)],
                Some(0) => self.targets[i],
                Some(_) => 1.0,
            }
        })
    }
}

/// One penalty of a path, whatever the correction.
struct Point<'p> {
    path: &'p RidgePath<'p>,
    ridge: &'p Ridge,
    resolvent: Resolvent,
    /// $V^\top[R\ A^{-1}y\ A^{-1}\mathbf 1]$
    inner: Mat<f64>,
}

impl<'p> Point<'p> {
    fn new(path: &'p RidgePath<'p>, ridge: &'p Ridge, resolvent: Resolvent) -> Self {
        let mut inner = Mat::zeros(path.basis.ncols(), resolvent.columns.ncols());
        matmul(
            inner.as_mut(),
            Accum::Replace,
            path.basis.transpose(),
            resolvent.columns.as_ref(),
            1.0,
            threads(),
        );
        Self {
            path,
            ridge,
            resolvent,
            inner,
        }
    }

    fn fit(&self, correction: MatRef<'_, f64>) -> Result<PathFit> {
        let RidgePath {
            targets, weights, ..
        } = self.path;
        let (n, k) = (targets.len(), self.path.basis.ncols());
        let (spread, plain) = self.resolvent.columns.as_ref().split_at_col(k);
        let (gram, right) = self.inner.as_ref().split_at_col(k);
        let mut solved = plain.to_owned();
        let mut inverse = self.resolvent.diagonal.clone();
        if k > 0 {
            let small = Mat::<f64>::identity(k, k) + correction * gram;
            let middle = small.partial_piv_lu().solve(correction);
            let moved = spread * &middle;
            solved -= &moved * right;
            for j in 0..k {
                for (i, entry) in inverse.iter_mut().enumerate() {
                    *entry -= moved[(i, j)] * spread[(i, j)];
                }
            }
        }
        let mut solved: Vec<Vec<f64>> = (0..solved.ncols())
            .map(|j| solved.col_as_slice(j).to_vec())
            .collect();
        if let [_, ones] = &solved[..] {
            without_constant(&mut inverse, ones);
        }
        let (coefficients, intercept) = combine(&mut solved);
        let penalty = self.ridge.penalty();
        let noise = |i: usize| penalty / weights[i];
        let weight: f64 = weights.iter().sum();
        let residual: f64 = (0..n)
            .map(|i| weights[i] * (noise(i) * coefficients[i]).powi(2))
            .sum();
        let free = weight - n as f64 + (0..n).map(|i| noise(i) * inverse[i]).sum::<f64>();
        Ok(PathFit {
            penalty,
            fitted: self.ridge.fitted(&coefficients, targets, weights)?,
            left_out: self
                .ridge
                .left_out(&coefficients, &inverse, targets, weights)?,
            gcv: weight * residual / (free * free),
            error: (residual / weight).sqrt(),
            coefficients,
            intercept,
        })
    }
}
