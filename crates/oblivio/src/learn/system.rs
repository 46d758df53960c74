//! Positive-definite systems: Cholesky in double precision, or in single precision with conjugate gradients to mend it.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltError, LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::linalg::cholesky::llt::solve::solve_in_place;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::traits::RealField;
use faer::{Mat, MatMut, MatRef, Par, Spec};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernel::Lower;
use crate::named::Named;
use crate::watch::Watch;

/// How to solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// `Mixed` for large systems, falling back to `Cholesky` where single precision does not carry; `Cholesky` for small.
    #[default]
    Auto,
    /// Cholesky in double precision.
    Cholesky,
    /// Cholesky in single precision as the preconditioner of conjugate gradients in double, to full accuracy.
    Mixed,
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
    /// Whether the goal was reached.
    pub converged: bool,
}

/// Below this many rows the whole of Cholesky takes less than a blink.
const SMALL: usize = 1024;
/// Past this many steps double-precision Cholesky is the faster way.
const MOST_STEPS: usize = 16;
/// The backward error of conjugate gradients; that of Cholesky is of the same size.
const GOAL: f64 = 4.0 * f64::EPSILON;
/// What is aimed at: often it can be had for one more step.
const AIM: f64 = 0.02 * GOAL;

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
            Solver::Cholesky => false,
            Solver::Mixed => true,
            Solver::Smo | Solver::Interior => false,
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
        let largest = norm_estimate(&self.matrix);
        let mut solutions = Vec::new();
        let mut worst = Convergence {
            solver: Solver::Mixed,
            iterations: 0,
            residual: Some(0.0),
            converged: true,
        };
        for targets in right_sides {
            match self.conjugate_gradients(&preconditioner, targets, largest, watch)? {
                Some((solution, iterations, error)) => {
                    solutions.push(solution);
                    worst.iterations = worst.iterations.max(iterations);
                    worst.residual = worst.residual.map(|residual| residual.max(error));
                }
                None => return Ok(None),
            }
        }
        Ok(Some((solutions, worst)))
    }

    /// The solution, the steps it took and its backward error; `None` if the goal is out of reach.
    fn conjugate_gradients(
        &self,
        preconditioner: &Preconditioner,
        targets: &[f64],
        largest: f64,
        watch: &Watch,
    ) -> Result<Option<(Vec<f64>, usize, f64)>> {
        let size = norm(targets);
        let mut solution = vec![0.0; targets.len()];
        let mut residual = targets.to_vec();
        let (mut iterations, mut previous) = (0, f64::INFINITY);
        // The residual of the recurrence drifts from the true one, so the outer loop takes the true one and starts again.
        loop {
            let mut step = preconditioner.apply(&residual);
            let mut direction = step.clone();
            let mut energy = dot(&residual, &step);
            let start = norm(&residual);
            loop {
                watch.check()?;
                let image = self.matrix.times(&direction);
                let curvature = dot(&direction, &image);
                if !(curvature > 0.0 && energy > 0.0) || iterations >= MOST_STEPS {
                    break;
                }
                iterations += 1;
                let length = energy / curvature;
                add(&mut solution, length, &direction);
                add(&mut residual, -length, &image);
                let error = norm(&residual);
                if error <= AIM * (largest * norm(&solution) + size) || error < 1e-6 * start {
                    break;
                }
                step = preconditioner.apply(&residual);
                let next = dot(&residual, &step);
                for (d, s) in direction.iter_mut().zip(&step) {
                    *d = s + next / energy * *d;
                }
                energy = next;
            }
            residual = self.matrix.times(&solution);
            for (r, y) in residual.iter_mut().zip(targets) {
                *r = y - *r;
            }
            let scale = largest * norm(&solution) + size;
            let error = norm(&residual) / scale.max(f64::MIN_POSITIVE);
            let stalled = error > 0.5 * previous || iterations >= MOST_STEPS;
            if error <= AIM || (error <= GOAL && stalled) {
                return Ok(Some((solution, iterations, error)));
            }
            if stalled || !error.is_finite() {
                return Ok(None);
            }
            previous = error;
        }
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
            converged: true,
        };
        (solutions, convergence)
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

/// A Rayleigh quotient after two power steps from the constant vector, which is near the first eigenvector of most kernel
/// matrices. It never exceeds the norm, so an error relative to it is never understated.
fn norm_estimate(matrix: &Lower) -> f64 {
    let mut vector = vec![1.0; matrix.len()];
    let mut largest = 0.0f64;
    for _ in 0..3 {
        let image = matrix.times(&vector);
        let size = norm(&image);
        largest = largest.max(dot(&vector, &image) / dot(&vector, &vector));
        if !(size > 0.0 && size.is_finite()) {
            break;
        }
        vector = image.iter().map(|v| v / size).collect();
    }
    largest
}

fn add(to: &mut [f64], factor: f64, vector: &[f64]) {
    to.iter_mut()
        .zip(vector)
        .for_each(|(t, v)| *t += factor * v);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}
