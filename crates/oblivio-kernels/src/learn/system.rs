//! Positive-definite systems: Cholesky in double precision, or in single precision with conjugate gradients to mend it.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltError, LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::linalg::cholesky::llt::solve::solve_in_place;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::traits::RealField;
use faer::{Mat, MatMut, MatRef, Par, Spec};
use oblivio_base::{Error, Named, Result, Watch};
use rayon::prelude::*;

use super::gradients::{Found, GOAL, Operator, Patience, conjugate_gradients, norm, norm_estimate};
use crate::kernel::Lower;

/// How to solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// `Cholesky` for small systems. For large ones `Pcg` while it promises to take less than a quarter of the work of
    /// Cholesky, then `Mixed`, then `Cholesky` where single precision does not carry. `Pcg` to the end if the matrix does
    /// not fit into memory.
    #[default]
    Auto,
    /// Cholesky in double precision.
    Cholesky,
    /// Cholesky in single precision as the preconditioner of conjugate gradients in double, to full accuracy.
    Mixed,
    /// Conjugate gradients with landmarks as the preconditioner, to full accuracy if enough steps get there; the matrix
    /// is not stored.
    Pcg,
    /// Of a support vector machine: two coefficients at a time.
    Smo,
    /// Of a support vector machine: an interior-point method.
    Interior,
}

impl Named for Solver {
    const WHAT: &'static str = "solver";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("cholesky", Self::Cholesky),
        ("mixed", Self::Mixed),
        ("pcg", Self::Pcg),
        ("smo", Self::Smo),
        ("interior", Self::Interior),
    ];
}

/// How a system was solved.
#[derive(Clone, Debug, PartialEq)]
pub struct Convergence {
    /// What solved it in the end.
    pub solver: Solver,
    /// Steps of conjugate gradients.
    pub iterations: usize,
    /// $\|y - A\alpha\|/(\|A\|\|\alpha\| + \|y\|)$, the relative change of the system that makes α exact; `None` where
    /// Cholesky vouches for it.
    pub residual: Option<f64>,
    /// Whether the solution is as good as one of Cholesky. Only conjugate gradients without a matrix to fall back on can
    /// miss that, and then `residual` says by how much.
    pub reached: bool,
}

/// Below this many rows the whole of Cholesky takes less than a blink.
pub(super) const SMALL: usize = 1024;
/// Past this many steps double-precision Cholesky is the faster way.
const MOST_STEPS: usize = 16;
/// What is aimed at: often it can be had for one more step.
const AIM: f64 = 0.02 * GOAL;
/// Single precision makes the preconditioner a little different every time.
const TRUST: f64 = 1e-6;

/// A symmetric positive-definite matrix.
pub(super) struct System {
    matrix: Lower,
    /// For the error message.
    penalty: f64,
}

impl System {
    pub(super) fn new(matrix: Lower, penalty: f64) -> Self {
        Self { matrix, penalty }
    }

    pub(super) fn solve(
        self,
        solver: Solver,
        right_sides: &[Vec<f64>],
        watch: &Watch,
    ) -> Result<(Vec<Vec<f64>>, Convergence)> {
        let mixed = match solver {
            Solver::Auto => self.matrix.len() >= SMALL,
            // The matrix is in memory, and landmarks are of no use; the last two are not for systems.
            Solver::Cholesky | Solver::Pcg | Solver::Smo | Solver::Interior => false,
            Solver::Mixed => true,
        };
        if mixed && let Some(solved) = self.solve_mixed(right_sides, watch)? {
            return Ok(solved);
        }
        Ok(self.factorize(watch)?.solve(right_sides))
    }

    /// The factor $LL^\top$ in double precision, in the memory of the matrix.
    pub(super) fn factorize(mut self, watch: &Watch) -> Result<Factor> {
        watch.begin("Cholesky factorisation", 0)?;
        cholesky(self.matrix.as_mat_mut()).map_err(|LltError::NonPositivePivot { index }| {
            Error::NotPositiveDefinite {
                pivot: index,
                penalty: self.penalty,
            }
        })?;
        watch.check()?;
        Ok(Factor(self.matrix))
    }

    /// `None` where single precision does not carry.
    fn solve_mixed(
        &self,
        right_sides: &[Vec<f64>],
        watch: &Watch,
    ) -> Result<Option<(Vec<Vec<f64>>, Convergence)>> {
        watch.begin("Cholesky factorisation", 0)?;
        let Some(preconditioner) = Preconditioner::new(&self.matrix) else {
            return Ok(None);
        };
        watch.begin("conjugate gradients", 0)?;
        let operator = Corrected {
            matrix: &self.matrix,
            preconditioner,
        };
        let patience = Patience {
            steps: MOST_STEPS,
            foresight: false,
            aim: AIM,
            trust: TRUST,
        };
        let found = conjugate_gradients(&operator, right_sides, patience, watch)?;
        let solved = found.is_exact().then(|| found.convergence(Solver::Mixed));
        Ok(solved)
    }
}

impl Found {
    /// The solutions, and how this solver came to them.
    pub(super) fn convergence(self, solver: Solver) -> (Vec<Vec<f64>>, Convergence) {
        let convergence = Convergence {
            solver,
            iterations: self.iterations,
            residual: Some(self.error),
            reached: self.is_exact(),
        };
        (self.solutions, convergence)
    }
}

/// The system with its single-precision factor.
struct Corrected<'a> {
    matrix: &'a Lower,
    preconditioner: Preconditioner,
}

impl Operator for Corrected<'_> {
    fn multiply(&self, vectors: &[&[f64]]) -> Result<Vec<Vec<f64>>> {
        Ok(self.matrix.times_each(vectors))
    }

    fn precondition(&self, vector: &[f64]) -> Vec<f64> {
        self.preconditioner.apply(vector)
    }

    fn largest(&self) -> f64 {
        norm_estimate(self.matrix.len(), |v| self.matrix.times(v))
    }
}

/// The lower factor L of A = LLᵀ.
pub(super) struct Factor(Lower);

impl Factor {
    /// L, of which only the lower triangle counts.
    pub(super) fn lower(&self) -> MatRef<'_, f64> {
        self.0.as_mat()
    }

    pub(super) fn solve(&self, right_sides: &[Vec<f64>]) -> (Vec<Vec<f64>>, Convergence) {
        let mut solutions = right_sides.to_vec();
        for solution in &mut solutions {
            substitute(self.0.as_mat(), solution);
        }
        let convergence = Convergence {
            solver: Solver::Cholesky,
            iterations: 0,
            residual: None,
            reached: true,
        };
        (solutions, convergence)
    }

    /// $A^{-1}$ times these columns.
    pub(super) fn solve_columns(&self, right: MatRef<'_, f64>) -> Mat<f64> {
        let mut columns = right.to_owned();
        solve_in_place(
            self.0.as_mat(),
            columns.as_mut(),
            threads(),
            MemStack::new(&mut []),
        );
        columns
    }

    /// The diagonal of $A^{-1}$: the squared norms of the columns of $L^{-1}$, found block by block without storing it.
    pub(super) fn inverse_diagonal(&self, watch: &Watch) -> Result<Vec<f64>> {
        const BLOCK: usize = 256;
        let n = self.0.len();
        watch.begin("leave-one-out scores", n.div_ceil(BLOCK))?;
        let mut diagonal = Vec::with_capacity(n);
        for start in (0..n).step_by(BLOCK) {
            watch.check()?;
            let width = BLOCK.min(n - start);
            // Column j of the inverse is zero above row j.
            let mut columns = Mat::from_fn(n - start, width, |i, j| if i == j { 1.0 } else { 0.0 });
            solve_lower_triangular_in_place(
                self.0
                    .as_mat()
                    .submatrix(start, start, n - start, n - start),
                columns.as_mut(),
                threads(),
            );
            diagonal.extend((0..width).map(|j| columns.col(j).squared_norm_l2()));
            watch.advance();
        }
        Ok(diagonal)
    }
}

/// The system scaled to a unit diagonal and factorised in single precision.
struct Preconditioner {
    factor: Vec<f32>,
    /// One over the roots of the diagonal.
    scales: Vec<f64>,
}

impl Preconditioner {
    fn new(matrix: &Lower) -> Option<Self> {
        let n = matrix.len();
        let scales: Vec<f64> = (0..n).map(|i| 1.0 / matrix.column(i)[0].sqrt()).collect();
        if scales.iter().any(|s| !s.is_finite()) {
            return None;
        }
        let mut factor = vec![0f32; n * n];
        factor.par_chunks_mut(n).enumerate().for_each(|(j, to)| {
            for ((to, from), scale) in to[j..].iter_mut().zip(matrix.column(j)).zip(&scales[j..]) {
                *to = (from * scale * scales[j]) as f32;
            }
        });
        cholesky(MatMut::from_column_major_slice_mut(&mut factor, n, n)).ok()?;
        Some(Self { factor, scales })
    }

    fn apply(&self, vector: &[f64]) -> Vec<f64> {
        let n = self.scales.len();
        // Single precision has less range: work at unit norm.
        let size = norm(vector).max(f64::MIN_POSITIVE);
        let mut single: Vec<f32> = vector
            .iter()
            .zip(&self.scales)
            .map(|(v, s)| (v / size * s) as f32)
            .collect();
        substitute(
            MatRef::from_column_major_slice(&self.factor, n, n),
            &mut single,
        );
        single
            .iter()
            .zip(&self.scales)
            .map(|(v, s)| f64::from(*v) * size * s)
            .collect()
    }
}

pub(super) fn threads() -> Par {
    Par::rayon(rayon::current_num_threads())
}

pub(super) fn cholesky<T: RealField>(matrix: MatMut<'_, T>) -> std::result::Result<(), LltError> {
    let scratch = cholesky_in_place_scratch::<T>(matrix.nrows(), threads(), Spec::default());
    let mut memory = MemBuffer::new(scratch);
    cholesky_in_place(
        matrix,
        LltRegularization::default(),
        threads(),
        MemStack::new(&mut memory),
        Spec::default(),
    )
    .map(|_| ())
}

/// Solves $LL^\top x = b$ in place.
pub(super) fn substitute<T: RealField>(factor: MatRef<'_, T>, vector: &mut [T]) {
    let n = vector.len();
    solve_in_place(
        factor,
        MatMut::from_column_major_slice_mut(vector, n, 1),
        threads(),
        MemStack::new(&mut []),
    );
}
