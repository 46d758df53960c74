//! Kernel ridge regression.

use oblivio_base::{Error, Result, Watch};

use super::pcg::Implicit;
use super::system::{Convergence, SMALL, Solver, System};
use crate::gram::Gram;
use crate::kernel::Lower;

/// Least squares with penalty $\lambda\|h\|^2$: no 1/n, and no intercept unless one is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ridge {
    penalty: f64,
    solver: Solver,
    intercept: Intercept,
}

/// Whether a constant is learned beside h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Intercept {
    /// No: the target is used as it is.
    #[default]
    None,
    /// Yes, without a penalty.
    Fitted,
}

/// What ridge regression found.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// α
    pub coefficients: Vec<f64>,
    /// The constant; zero unless it was asked for.
    pub intercept: f64,
    /// The fitted values at the training rows.
    pub fitted: Vec<f64>,
    /// The value at each training row of the solution without that row, if it was asked for.
    pub left_out: Option<Vec<f64>>,
    /// How the system was solved.
    pub convergence: Convergence,
}

impl Ridge {
    /// Ridge regression with penalty λ > 0.
    pub fn new(penalty: f64, solver: Solver) -> Result<Self> {
        if penalty > 0.0 && penalty.is_finite() {
            Ok(Self {
                penalty,
                solver,
                intercept: Intercept::None,
            })
        } else {
            Err(Error::InvalidParameter {
                name: "penalty",
                expected: "a positive finite number",
                value: penalty.to_string(),
            })
        }
    }

    /// λ
    pub fn penalty(&self) -> f64 {
        self.penalty
    }

    pub(super) fn solver(&self) -> Solver {
        self.solver
    }

    pub(super) fn intercept(&self) -> Intercept {
        self.intercept
    }

    /// The same regression with or without an intercept.
    #[must_use]
    pub fn with_intercept(self, intercept: Intercept) -> Self {
        Self { intercept, ..self }
    }

    /// The coefficients $\alpha = (\mathcal O + \lambda\Omega^{-1})^{-1} y$ of $\hat h = \sum_i \alpha_i Z_i$, where Ω holds
    /// the weights: the minimum of $\sum_i \omega_i(y_i - \langle h, Z_i\rangle)^2 + \lambda\|h\|^2$.
    ///
    /// With an intercept c they are $A^{-1}(y - c\mathbf 1)$ with $A = \mathcal O + \lambda\Omega^{-1}$ and
    /// $c = \mathbf 1^\top A^{-1}y/\mathbf 1^\top A^{-1}\mathbf 1$, which makes the coefficients sum to zero.
    /// The fitted values are $y - \lambda\Omega^{-1}\alpha$.
    pub fn solve(
        &self,
        gram: Lower,
        targets: &[f64],
        weights: &[f64],
        watch: &Watch,
    ) -> Result<Solution> {
        if self.solver == Solver::Pcg {
            return self.solve_gram(&gram, targets, weights, watch);
        }
        let system = self.system(gram, weights);
        let (mut solved, convergence) =
            system.solve(self.solver, &self.right_sides(targets), watch)?;
        let (coefficients, intercept) = combine(&mut solved);
        self.solution(coefficients, intercept, convergence, targets, weights)
    }

    /// As [`solve`](Self::solve), for a matrix that is formed only if the solver asks for it.
    ///
    /// [`Convergence::reached`] is false if the matrix does not fit into memory and the steps were not enough.
    pub fn solve_gram(
        &self,
        gram: &dyn Gram,
        targets: &[f64],
        weights: &[f64],
        watch: &Watch,
    ) -> Result<Solution> {
        let right_sides = self.right_sides(targets);
        let system = |stored| Implicit {
            gram,
            stored,
            weights,
            penalty: self.penalty,
        };
        let lower = match self.solver {
            Solver::Pcg => None,
            _ => match gram.lower(watch) {
                Ok(lower) => Some(lower),
                Err(Error::TooLarge { .. }) if self.solver == Solver::Auto => None,
                Err(error) => return Err(error),
            },
        };
        let found = match lower {
            None => system(None).solve(&right_sides, watch)?,
            Some(lower) => {
                let promising = self.solver == Solver::Auto && gram.len() >= SMALL;
                let found = if promising {
                    system(Some(&lower)).try_solve(&right_sides, watch)?
                } else {
                    None
                };
                match found {
                    Some(found) => found,
                    None => return self.solve(lower, targets, weights, watch),
                }
            }
        };
        let (mut solved, convergence) = found.convergence(Solver::Pcg);
        let (coefficients, intercept) = combine(&mut solved);
        self.solution(coefficients, intercept, convergence, targets, weights)
    }

    /// As [`solve`](Self::solve), with the leave-one-out scores in closed form.
    ///
    /// Taking the share $u = \min(1, \omega_i)$ of row i away (the whole row, or one of several equal ones) leaves the residual
    /// $$r_i^{-} = \frac{r_i}{1 - \frac{u}{\omega_i}\bigl(1 - \frac{\lambda}{\omega_i}A_{ii}\bigr)},
    /// \quad A = (\mathcal O + \lambda\Omega^{-1})^{-1},\ r = \lambda\Omega^{-1}\alpha,$$
    /// which for ω = 1 is $\alpha_i/A_{ii}$. With an intercept, $A_{ii}$ gives way to
    /// $A_{ii} - (A\mathbf 1)_i^2/\mathbf 1^\top A\mathbf 1$. Exact for a Gram matrix that does not depend on row i.
    pub fn solve_leaving_out(
        &self,
        gram: Lower,
        targets: &[f64],
        weights: &[f64],
        watch: &Watch,
    ) -> Result<Solution> {
        let factor = self.system(gram, weights).factorize(watch)?;
        let (mut solved, convergence) = factor.solve(&self.right_sides(targets));
        let mut inverse = factor.inverse_diagonal(watch)?;
        if let [_, ones] = &solved[..] {
            without_constant(&mut inverse, ones);
        }
        let (coefficients, intercept) = combine(&mut solved);
        let left_out = self.left_out(&coefficients, &inverse, targets, weights)?;
        Ok(Solution {
            left_out: Some(left_out),
            ..self.solution(coefficients, intercept, convergence, targets, weights)?
        })
    }

    /// The leave-one-out scores from α and the diagonal of $A^{-1}$ (less that of the constant where there is an intercept).
    pub(super) fn left_out(
        &self,
        coefficients: &[f64],
        inverse: &[f64],
        targets: &[f64],
        weights: &[f64],
    ) -> Result<Vec<f64>> {
        let left_out: Vec<f64> = (0..targets.len())
            .map(|i| {
                let (weight, share) = (weights[i], weights[i].min(1.0));
                let noise = self.penalty / weight;
                // One minus the leverage, without the cancellation.
                let rest = (weight - share) / weight + share / weight * noise * inverse[i];
                targets[i] - noise * coefficients[i] / rest
            })
            .collect();
        finite(&left_out, "a leave-one-out score")?;
        Ok(left_out)
    }

    pub(super) fn fitted(
        &self,
        coefficients: &[f64],
        targets: &[f64],
        weights: &[f64],
    ) -> Result<Vec<f64>> {
        finite(coefficients, "a coefficient")?;
        let rows = coefficients.iter().zip(targets).zip(weights);
        Ok(rows.map(|((a, y), w)| y - self.penalty / w * a).collect())
    }

    pub(super) fn right_sides(&self, targets: &[f64]) -> Vec<Vec<f64>> {
        match self.intercept {
            Intercept::None => vec![targets.to_vec()],
            Intercept::Fitted => vec![targets.to_vec(), vec![1.0; targets.len()]],
        }
    }

    fn system(&self, mut gram: Lower, weights: &[f64]) -> System {
        gram.add_diagonal(|i| self.penalty / weights[i]);
        System::new(gram, self.penalty)
    }

    fn solution(
        &self,
        coefficients: Vec<f64>,
        intercept: f64,
        convergence: Convergence,
        targets: &[f64],
        weights: &[f64],
    ) -> Result<Solution> {
        Ok(Solution {
            fitted: self.fitted(&coefficients, targets, weights)?,
            coefficients,
            intercept,
            left_out: None,
            convergence,
        })
    }
}

fn finite(values: &[f64], what: &'static str) -> Result<()> {
    if values.iter().all(|v| v.is_finite()) {
        Ok(())
    } else {
        Err(Error::Overflow { what })
    }
}

/// What an intercept leaves of the diagonal of $A^{-1}$: $A^{-1}_{ii} - (A^{-1}\mathbf 1)_i^2/\mathbf 1^\top A^{-1}\mathbf 1$.
pub(super) fn without_constant(inverse: &mut [f64], ones: &[f64]) {
    let total: f64 = ones.iter().sum();
    for (entry, one) in inverse.iter_mut().zip(ones) {
        *entry -= one * one / total;
    }
}

/// The coefficients and the intercept, from the solutions for the targets and (with an intercept) for ones.
pub(super) fn combine(solved: &mut Vec<Vec<f64>>) -> (Vec<f64>, f64) {
    let ones = if solved.len() > 1 { solved.pop() } else { None };
    let mut coefficients = solved.pop().unwrap_or_default();
    let Some(ones) = ones else {
        return (coefficients, 0.0);
    };
    let intercept = coefficients.iter().sum::<f64>() / ones.iter().sum::<f64>();
    for (coefficient, one) in coefficients.iter_mut().zip(&ones) {
        *coefficient -= intercept * one;
    }
    (coefficients, intercept)
}
