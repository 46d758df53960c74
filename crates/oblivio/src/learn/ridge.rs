//! Kernel ridge regression.

use super::system::{Convergence, Solver, System};
use crate::error::{Error, Result};
use crate::kernel::Lower;
use crate::watch::Watch;

/// Least squares with penalty $\lambda\|h\|^2$: no 1/n, no intercept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ridge {
    penalty: f64,
    solver: Solver,
}

/// What ridge regression found.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// α
    pub coefficients: Vec<f64>,
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
            Ok(Self { penalty, solver })
        } else {
            Err(Error::InvalidParameter {
                name: "penalty",
                expected: "a positive finite number",
                value: penalty.to_string(),
            })
        }
    }

    /// The coefficients $\alpha = (\mathcal O + \lambda\Omega^{-1})^{-1} y$ of $\hat h = \sum_i \alpha_i Z_i$, where Ω holds
    /// the weights: the minimum of $\sum_i \omega_i(y_i - \langle h, Z_i\rangle)^2 + \lambda\|h\|^2$.
    ///
    /// The fitted values are $y - \lambda\Omega^{-1}\alpha$.
    pub fn solve(
        &self,
        gram: Lower,
        targets: &[f64],
        weights: &[f64],
        watch: &Watch,
    ) -> Result<Solution> {
        let system = self.system(gram, weights);
        let (coefficients, convergence) = system.solve(self.solver, targets, watch)?;
        self.solution(coefficients, convergence, targets, weights, None)
    }

    /// As [`solve`](Self::solve), with the leave-one-out scores in closed form.
    ///
    /// Taking the share $u = \min(1, \omega_i)$ of row i away (the whole row, or one of several equal ones) leaves the residual
    /// $$r_i^{-} = \frac{r_i}{1 - \frac{u}{\omega_i}\bigl(1 - \frac{\lambda}{\omega_i}A_{ii}\bigr)},
    /// \quad A = (\mathcal O + \lambda\Omega^{-1})^{-1},\ r = \lambda\Omega^{-1}\alpha,$$
    /// which for ω = 1 is $\alpha_i/A_{ii}$. Exact for a Gram matrix that does not depend on row i.
    pub fn solve_leaving_out(
        &self,
        gram: Lower,
        targets: &[f64],
        weights: &[f64],
        watch: &Watch,
    ) -> Result<Solution> {
        let factor = self.system(gram, weights).factorize(watch)?;
        let (coefficients, convergence) = factor.solve(targets);
        let inverse = factor.inverse_diagonal(watch)?;
        let left_out = (0..targets.len())
            .map(|i| {
                let (weight, share) = (weights[i], weights[i].min(1.0));
                let noise = self.penalty / weight;
                let leverage = share / weight * (1.0 - noise * inverse[i]);
                targets[i] - noise * coefficients[i] / (1.0 - leverage)
            })
            .collect();
        self.solution(coefficients, convergence, targets, weights, Some(left_out))
    }

    fn system(&self, mut gram: Lower, weights: &[f64]) -> System {
        gram.add_diagonal(|i| self.penalty / weights[i]);
        System::new(gram, self.penalty)
    }

    fn solution(
        &self,
        coefficients: Vec<f64>,
        convergence: Convergence,
        targets: &[f64],
        weights: &[f64],
        left_out: Option<Vec<f64>>,
    ) -> Result<Solution> {
        if coefficients.iter().any(|c| !c.is_finite()) {
            return Err(Error::Overflow {
                what: "a coefficient",
            });
        }
        let fitted = (0..targets.len())
            .map(|i| targets[i] - self.penalty / weights[i] * coefficients[i])
            .collect();
        Ok(Solution {
            coefficients,
            fitted,
            left_out,
            convergence,
        })
    }
}
