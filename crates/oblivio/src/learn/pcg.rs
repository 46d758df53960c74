//! Conjugate gradients on a matrix that is not stored, with landmarks as the preconditioner.

use super::gradients::{Found, GOAL, Operator, Patience, conjugate_gradients, norm_estimate};
use super::preconditioner::Landmarks;
use crate::error::Result;
use crate::gram::Gram;
use crate::watch::Watch;

/// $A = G + \lambda\Omega^{-1}$ for a Gram matrix that is not stored.
pub(super) struct Implicit<'a> {
    pub(super) gram: &'a dyn Gram,
    /// Ω
    pub(super) weights: &'a [f64],
    /// λ
    pub(super) penalty: f64,
}

/// Whether there is another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Budget {
    /// A quarter of the operations of Cholesky, and none once the pace will not do.
    Quarter,
    /// There is no other way.
    Any,
}

/// Steps after which there is no hope.
const MOST_STEPS: usize = 3000;
/// What is aimed at; the last digits take several steps here.
const AIM: f64 = 0.25 * GOAL;
/// The true residual takes the place of that of the recurrence once per solution, and when rounding shows.
const TRUST: f64 = 1e-13;
/// Products that the choice of landmarks may take as long as.
const PRODUCTS: f64 = 4.0;

impl Implicit<'_> {
    /// Solves for several right sides; `None` if the budget is too small for the goal.
    pub(super) fn solve(
        &self,
        right_sides: &[Vec<f64>],
        budget: Budget,
        watch: &Watch,
    ) -> Result<Option<Found>> {
        let rows = self.gram.len() as f64;
        let product = self.gram.work() * rows * rows;
        // The factor and its square: 2np² operations.
        let count = (0.5 * PRODUCTS * product / rows).sqrt() as usize;
        let spent = 2.0 * rows * (count * count) as f64;
        let steps = match budget {
            Budget::Any => MOST_STEPS,
            Budget::Quarter => {
                let affordable = (rows.powi(3) / 12.0 - spent) / product;
                // Fewer steps than these have never been enough.
                if affordable < 8.0 {
                    return Ok(None);
                }
                (affordable as usize).min(MOST_STEPS)
            }
        };
        let landmarks = Landmarks::new(self, count, watch)?;
        watch.begin("conjugate gradients", 0)?;
        let operator = Preconditioned {
            system: self,
            landmarks,
            watch,
        };
        let patience = Patience {
            steps,
            foresight: budget == Budget::Quarter,
            aim: AIM,
            trust: TRUST,
        };
        let found = conjugate_gradients(&operator, right_sides, patience, watch)?;
        Ok((found.is_exact() || budget == Budget::Any).then_some(found))
    }
}

struct Preconditioned<'a> {
    system: &'a Implicit<'a>,
    landmarks: Landmarks,
    watch: &'a Watch,
}

impl Operator for Preconditioned<'_> {
    fn multiply(&self, vectors: &[&[f64]]) -> Result<Vec<Vec<f64>>> {
        let mut images = self.system.gram.multiply_each(vectors, self.watch)?;
        for (image, vector) in images.iter_mut().zip(vectors) {
            for ((a, v), weight) in image.iter_mut().zip(*vector).zip(self.system.weights) {
                *a += self.system.penalty / weight * v;
            }
        }
        Ok(images)
    }

    fn precondition(&self, vector: &[f64]) -> Vec<f64> {
        self.landmarks.solve(vector)
    }

    /// That of $\Omega^{-1/2}BB^\top\Omega^{-1/2}$, which is less than A.
    fn largest(&self) -> f64 {
        norm_estimate(self.system.gram.len(), |v| self.landmarks.multiply(v))
    }
}
