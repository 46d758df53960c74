//! One learner or another, on whatever features: only the loss differs.

use faer::MatRef;
use oblivio_base::{Error, Named, Result, Watch};

use super::logistic::Logistic;
use super::ridge::{Intercept, Ridge};
use super::svm::{Certificate, Margins, Svm, SvmSolver};
use super::system::{Convergence, Solver};
use crate::gram::{FeatureRows, Gram};

/// What is minimised: $\sum_i\omega_i\,\ell(y_i, \langle h, z_i\rangle + c) + \frac\lambda2\|h\|^2$.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Learner {
    /// $\ell = \frac12(y - f)^2$: least squares.
    #[default]
    Ridge,
    /// $\ell = \max(0, 1 - yf)$ for y = ±1: a support vector machine with C = 1/λ.
    Svm,
    /// $\ell = \log(1 + e^{-yf})$ for y = ±1: logistic regression with C = 1/λ.
    Logistic,
}

impl Named for Learner {
    const WHAT: &'static str = "learner";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("ridge", Self::Ridge),
        ("svm", Self::Svm),
        ("logistic", Self::Logistic),
    ];
}

impl Learner {
    /// Whether targets are classes.
    pub fn classifies(self) -> bool {
        self != Self::Ridge
    }
}

/// A learner with its settings.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The loss.
    pub learner: Learner,
    /// λ
    pub penalty: f64,
    /// Whether there is a constant.
    pub intercept: Intercept,
    /// The solver.
    pub solver: Solver,
    /// The relative duality gap to reach; what is usual for the learner if absent.
    pub gap: Option<f64>,
    /// The most steps to take; the solver's own limit if absent.
    pub steps: Option<usize>,
    /// Bytes for rows of a machine's matrix.
    pub memory: Option<usize>,
}

/// What is to be learned from rows.
#[derive(Clone, Copy, Debug)]
pub struct Outcomes<'a> {
    /// y, or 0 and 1 for classes.
    pub targets: &'a [f64],
    /// ω: how often each row counts.
    pub weights: &'a [f64],
    /// How much its class counts.
    pub emphasis: &'a [f64],
}

/// What was learned on a Gram matrix.
#[derive(Clone, Debug)]
pub struct Answer {
    /// α with $h = \sum_i\alpha_iz_i$.
    pub coefficients: Vec<f64>,
    /// The constant; zero unless it was asked for.
    pub intercept: f64,
    /// The values at the rows, the intercept among them.
    pub fitted: Vec<f64>,
    /// How the learner came to it.
    pub effort: Effort,
}

/// What was learned on features.
#[derive(Clone, Debug)]
pub struct LinearAnswer {
    /// w with $h = \langle w, \cdot\rangle$.
    pub weights: Vec<f64>,
    /// The constant; zero unless it was asked for.
    pub intercept: f64,
    /// The values at the rows, the intercept among them.
    pub fitted: Vec<f64>,
    /// How the learner came to it.
    pub effort: Effort,
}

/// How a learner came to its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Effort {
    /// What solved it in the end.
    pub solver: &'static str,
    /// Its steps, where it goes in steps.
    pub iterations: usize,
    /// How far it may be from the best: the relative duality gap of a classifier, the backward error of a system; `None`
    /// where Cholesky vouches for it.
    pub gap: Option<f64>,
    /// Whether it came as near as was asked.
    pub converged: bool,
}

impl From<Convergence> for Effort {
    fn from(convergence: Convergence) -> Self {
        Self {
            solver: convergence.solver.name(),
            iterations: convergence.iterations,
            gap: convergence.residual,
            converged: convergence.reached,
        }
    }
}

impl From<&Certificate> for Effort {
    fn from(certificate: &Certificate) -> Self {
        Self {
            solver: certificate.solver,
            iterations: certificate.iterations,
            gap: Some(certificate.gap),
            converged: certificate.converged,
        }
    }
}

impl Task {
    /// Refuses settings that do not belong to the learner.
    pub fn check(&self) -> Result<()> {
        self.ridge()?;
        if let Some(gap) = self.gap.filter(|gap| !(*gap > 0.0 && *gap < 1.0)) {
            return Err(Error::InvalidParameter {
                name: "the duality gap to reach",
                expected: "between 0 and 1",
                value: gap.to_string(),
            });
        }
        let known = match self.learner {
            Learner::Ridge => !matches!(self.solver, Solver::Smo | Solver::Interior),
            Learner::Svm => matches!(self.solver, Solver::Auto | Solver::Smo | Solver::Interior),
            Learner::Logistic => self.solver == Solver::Auto,
        };
        if known {
            return Ok(());
        }
        Err(Error::InvalidParameter {
            name: "solver",
            expected: match self.learner {
                Learner::Ridge => "`auto`, `cholesky`, `mixed` or `pcg` for ridge regression",
                Learner::Svm => "`auto`, `smo` or `interior` for a support vector machine",
                Learner::Logistic => "`auto` for logistic regression, which has one way",
            },
            value: format!("`{}`", self.solver.name()),
        })
    }

    /// Ridge regression with these settings.
    pub fn ridge(&self) -> Result<Ridge> {
        Ok(Ridge::new(self.penalty, self.solver)?.with_intercept(self.intercept))
    }

    fn svm(&self) -> Svm {
        let usual = Svm::default();
        Svm {
            tolerance: self.gap.unwrap_or(usual.tolerance),
            solver: match self.solver {
                Solver::Smo => SvmSolver::Smo,
                Solver::Interior => SvmSolver::Interior,
                _ => SvmSolver::Auto,
            },
            most_steps: self.steps,
            cache: self.memory.unwrap_or(usual.cache),
        }
    }

    fn logistic(&self) -> Logistic {
        let usual = Logistic::default();
        Logistic {
            tolerance: self.gap.unwrap_or(usual.tolerance),
            most_steps: self.steps.unwrap_or(usual.most_steps),
        }
    }

    /// Learns from inner products.
    pub fn solve(&self, gram: &dyn Gram, outcomes: Outcomes, watch: &Watch) -> Result<Answer> {
        if self.learner == Learner::Ridge {
            let (targets, weights) = (outcomes.targets, outcomes.weights);
            let solution = self.ridge()?.solve_gram(gram, targets, weights, watch)?;
            return Ok(Answer {
                coefficients: solution.coefficients,
                intercept: solution.intercept,
                fitted: solution.fitted,
                effort: solution.convergence.into(),
            });
        }
        let (labels, caps) = self.margins(outcomes);
        let margins = Margins {
            labels: &labels,
            caps: &caps,
            intercept: self.intercept,
        };
        let found = match self.learner {
            Learner::Logistic => self.logistic().solve(gram, &margins, watch)?,
            _ => self.svm().solve(gram, &margins, watch)?,
        };
        Ok(Answer {
            effort: (&found.certificate).into(),
            coefficients: found.coefficients,
            intercept: found.intercept,
            fitted: found.scores,
        })
    }

    /// Learns classes from features; for a support vector machine perhaps with bounds on $\langle w, u\rangle$ for some directions u.
    pub fn solve_features(
        &self,
        rows: &dyn FeatureRows,
        outcomes: Outcomes,
        bounded: Option<(MatRef<'_, f64>, f64)>,
        watch: &Watch,
    ) -> Result<LinearAnswer> {
        let (labels, caps) = self.margins(outcomes);
        let margins = Margins {
            labels: &labels,
            caps: &caps,
            intercept: self.intercept,
        };
        let found = match self.learner {
            Learner::Logistic => self.logistic().solve_features(rows, &margins, watch)?,
            _ => self.svm().solve_features(rows, &margins, bounded, watch)?,
        };
        Ok(LinearAnswer {
            effort: (&found.certificate).into(),
            weights: found.weights,
            intercept: found.intercept,
            fitted: found.scores,
        })
    }

    /// Labels ±1 and how much each row may cost: $C\omega_i$ times the factor of its class.
    fn margins(&self, outcomes: Outcomes) -> (Vec<f64>, Vec<f64>) {
        let labels = outcomes.targets.iter().map(|y| 2.0 * y - 1.0).collect();
        let pairs = outcomes.weights.iter().zip(outcomes.emphasis);
        let caps = pairs.map(|(w, e)| w * e / self.penalty).collect();
        (labels, caps)
    }
}
