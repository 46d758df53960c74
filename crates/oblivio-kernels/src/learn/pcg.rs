//! Conjugate gradients on a matrix that is not stored, with landmarks as the preconditioner.

use oblivio_base::{Result, Watch};

use super::gradients::{Found, GOAL, Operator, Patience, conjugate_gradients, norm_estimate};
use super::preconditioner::Landmarks;
use crate::gram::Gram;
use crate::kernel::Lower;

/// $A = G + \lambda\Omega^{-1}$ for a Gram matrix that need not be stored.
pub(super) struct Implicit<'a> {
    pub(super) gram: &'a dyn Gram,
    /// The same matrix where it is stored: reading it takes less time than computing it again.
    pub(super) stored: Option<&'a Lower>,
    /// Ω
    pub(super) weights: &'a [f64],
    /// λ
    pub(super) penalty: f64,
}

/// Steps after which there is no hope.
const MOST_STEPS: usize = 3000;
/// Fewer have never been enough.
const FEWEST_STEPS: f64 = 8.0;
/// What is aimed at; the last digits take several steps here.
const AIM: f64 = 0.5 * GOAL;
/// The true residual takes the place of that of the recurrence once per solution, and when rounding shows.
const TRUST: f64 = 1e-13;
/// Operations of a factorisation that take as long as a product does per entry: eight bytes of memory for every two.
const WORK: f64 = 20.0;
/// Products that the choice of landmarks may take as long as.
const PRODUCTS: f64 = 4.0;

impl Implicit<'_> {
    /// Solves for several right sides; the error of what was found tells whether there were steps enough.
    pub(super) fn solve(&self, right_sides: &[Vec<f64>], watch: &Watch) -> Result<Found> {
        let patience = Patience {
            steps: MOST_STEPS,
            foresight: false,
            aim: AIM,
            trust: TRUST,
        };
        self.gradients(right_sides, patience, watch)
    }

    /// Solves if that takes at most a quarter of the operations of Cholesky, and gives up once the pace will not do.
    pub(super) fn try_solve(
        &self,
        right_sides: &[Vec<f64>],
        watch: &Watch,
    ) -> Result<Option<Found>> {
        let rows = self.gram.len() as f64;
        let landmarks = 2.0 * rows * (self.count() as f64).powi(2);
        let affordable = (rows.powi(3) / 12.0 - landmarks) / self.product();
        if affordable < FEWEST_STEPS {
            return Ok(None);
        }
        let patience = Patience {
            steps: (affordable as usize).min(MOST_STEPS),
            foresight: true,
            aim: AIM,
            trust: TRUST,
        };
        let found = self.gradients(right_sides, patience, watch)?;
        Ok(found.is_exact().then_some(found))
    }

    fn gradients(
        &self,
        right_sides: &[Vec<f64>],
        patience: Patience,
        watch: &Watch,
    ) -> Result<Found> {
        let landmarks = Landmarks::new(self, self.count(), watch)?;
        watch.begin("conjugate gradients", 0)?;
        let operator = Preconditioned {
            system: self,
            landmarks,
            watch,
        };
        conjugate_gradients(&operator, right_sides, patience, watch)
    }

    /// The operations of a factorisation that take as long as a product.
    fn product(&self) -> f64 {
        WORK * (self.gram.len() as f64).powi(2)
    }

    /// Landmarks: the factor B and $B^\top B$ take 2np² operations.
    fn count(&self) -> usize {
        let rows = self.gram.len() as f64;
        (0.5 * PRODUCTS * self.product() / rows).sqrt() as usize
    }
}

struct Preconditioned<'a> {
    system: &'a Implicit<'a>,
    landmarks: Landmarks,
    watch: &'a Watch,
}

impl Operator for Preconditioned<'_> {
    fn multiply(&self, vectors: &[&[f64]]) -> Result<Vec<Vec<f64>>> {
        let mut images = match self.system.stored {
            Some(matrix) => matrix.times_each(vectors),
            None => self.system.gram.multiply_each(vectors, self.watch)?,
        };
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
