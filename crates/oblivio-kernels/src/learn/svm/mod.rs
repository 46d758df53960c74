//! Support vector machines for two classes.
//!
//! The objective is $\tfrac12\|h\|^2 + \sum_i C_i \max(0, 1 - y_i(\langle h, z_i\rangle + c))$, without a 1/n. There are two
//! solvers: SMO, for matrices of full rank, and an interior-point method, for features, matrices of low rank, and whatever SMO
//! cannot finish (large C). Both end with a [`Certificate`] computed anew from what they return.

mod certificate;
mod curvature;
mod held;
mod interior;
mod linear;
mod passes;
mod rows;
mod smo;

use faer::MatRef;
use oblivio_base::{Error, Named, Result, Watch};

pub use self::linear::LinearClassified;
pub(super) use self::linear::add_product;

use self::curvature::{Passes, Whole};
use self::held::Held;
use self::interior::{Answer, Curvature, Program};
use self::rows::Rows;
use super::lowrank;
use super::ridge::Intercept;
use crate::gram::Gram;
use crate::kernel::Lower;

/// A problem with two classes.
#[derive(Clone, Copy, Debug)]
pub struct Margins<'a> {
    /// ±1
    pub labels: &'a [f64],
    /// $C_i > 0$: the price of a row's loss.
    pub caps: &'a [f64],
    /// Whether a constant is learned beside h, without a penalty.
    pub intercept: Intercept,
}

/// A support vector machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Svm {
    /// The duality gap, relative to the objective, that is good enough.
    pub tolerance: f64,
    /// How to solve.
    pub solver: SvmSolver,
    /// The most steps; each solver has its own measure if there is none.
    pub most_steps: Option<usize>,
    /// Bytes for rows of the Gram matrix. All rows are held if they fit, else the latest used.
    pub cache: usize,
}

impl Default for Svm {
    fn default() -> Self {
        Self {
            // At this gap the objective is at least as good as LIBSVM's at its default of 1e-3 for the largest violation: its gap
            // was 1.6e-5 at C = 1 and 1.3e-4 at C = 100 on 10 000 rows.
            tolerance: 1e-5,
            solver: SvmSolver::Auto,
            most_steps: None,
            cache: 1 << 30,
        }
    }
}

/// How to solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SvmSolver {
    /// `Interior` for features and matrices of low rank, else `Smo`, and `Interior` again if that takes too long.
    #[default]
    Auto,
    /// Two coefficients at a time.
    Smo,
    /// All coefficients at once, by an interior-point method.
    Interior,
}

impl Named for SvmSolver {
    const WHAT: &'static str = "solver";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("smo", Self::Smo),
        ("interior", Self::Interior),
    ];
}

/// What was found from a Gram matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Classified {
    /// $a_i = \alpha_i y_i$, so that $h = \sum_i a_i z_i$.
    pub coefficients: Vec<f64>,
    /// c; zero unless it was asked for.
    pub intercept: f64,
    /// $\langle h, z_i\rangle + c$ at the training rows.
    pub scores: Vec<f64>,
    /// How good it is.
    pub certificate: Certificate,
}

/// How good a solution is: no point has an objective below `dual`, and this one has `primal`.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// The name of what solved it in the end.
    pub solver: &'static str,
    /// Its steps.
    pub iterations: usize,
    /// The objective.
    pub primal: f64,
    /// A lower bound of all objectives.
    pub dual: f64,
    /// (primal − dual)/primal
    pub gap: f64,
    /// Whether the gap is within the tolerance.
    pub converged: bool,
}

/// A problem of so few rows is solved as far as numbers go, whatever the tolerance: that takes a blink, and problems that are the
/// same (rows repeated or weighted, features or inner products) then have the same solution.
const SMALL: usize = 500;

/// Steps of the interior-point method; it takes 10 to 40.
const INTERIOR_STEPS: usize = 120;
/// Steps of SMO where nothing else is tried after it: some minutes.
const LONG: usize = 1_000_000;

impl Svm {
    /// The minimum over $h = \sum_i a_i z_i$ and c, from inner products.
    ///
    /// The matrix is held if it fits in [`cache`](Self::cache); otherwise SMO asks for its rows.
    pub fn solve(&self, gram: &dyn Gram, problem: &Margins, watch: &Watch) -> Result<Classified> {
        let n = gram.len();
        problem.check(n)?;
        let fits = n.saturating_mul(n) <= self.cache / 8;
        if problem.is_trivial() {
            return Ok(self.trivial(problem));
        }
        if self.solver != SvmSolver::Interior && fits {
            let held = Held::new(gram.lower(watch)?, watch)?;
            let (found, left) = self.solve_held(held, problem, watch)?;
            if left.is_none() {
                return Ok(found);
            }
            drop(left);
            return self.finish(gram, problem, found, watch);
        }
        if self.solver != SvmSolver::Smo {
            if let Some(features) = lowrank::features_of(gram, watch)? {
                return self.interior_low(gram, features.as_ref(), problem, watch);
            }
            if self.solver == SvmSolver::Interior {
                return self.interior_whole(gram, problem, watch);
            }
        }
        let rows = Rows::cached(gram, self.cache);
        let (found, _) = self.smo(rows, &gram.diagonal(), problem, LONG.max(200 * n), watch)?;
        Ok(found)
    }

    /// As [`solve`](Self::solve), in the memory of a matrix that is not needed any more.
    pub fn solve_matrix(
        &self,
        gram: Lower,
        problem: &Margins,
        watch: &Watch,
    ) -> Result<Classified> {
        problem.check(gram.len())?;
        if problem.is_trivial() || self.solver == SvmSolver::Interior {
            return self.solve(&gram, problem, watch);
        }
        match self.solve_held(Held::new(gram, watch)?, problem, watch)? {
            (found, None) => Ok(found),
            (found, Some(held)) => self.finish(&held, problem, found, watch),
        }
    }

    /// SMO, or the first attempt of `Auto`: the matrix comes back if there should be another.
    fn solve_held(
        &self,
        held: Held,
        problem: &Margins,
        watch: &Watch,
    ) -> Result<(Classified, Option<Held>)> {
        let (n, diagonal) = (held.len, held.diagonal());
        let mut steps = LONG.max(200 * n);
        if self.solver == SvmSolver::Auto {
            if let Some(features) = lowrank::features_of(&held, watch)? {
                let found = self.interior_low(&held, features.as_ref(), problem, watch)?;
                return Ok((found, None));
            }
            // About the time of the interior-point method: n³ operations in each of its steps, n in each of these.
            steps = 10_000 + n * n / 8;
        }
        let rows = Rows::whole(held.values, n);
        let (found, rows) = self.smo(rows, &diagonal, problem, steps, watch)?;
        let done = found.certificate.converged || self.solver == SvmSolver::Smo;
        let held = (!done).then(|| Held {
            values: rows.into_values(),
            len: n,
        });
        Ok((found, held))
    }

    /// The interior-point method, where SMO took too many steps; the better of both.
    fn finish(
        &self,
        gram: &dyn Gram,
        problem: &Margins,
        found: Classified,
        watch: &Watch,
    ) -> Result<Classified> {
        let again = self.interior_whole(gram, problem, watch)?;
        let better = again.certificate.gap < found.certificate.gap;
        Ok(if better { again } else { found })
    }

    /// h = 0.
    fn trivial(&self, problem: &Margins) -> Classified {
        let zeros = vec![0.0; problem.labels.len()];
        self.classified(problem, zeros.clone(), &zeros, (SvmSolver::Smo, 0))
    }

    fn smo<'a>(
        &self,
        rows: Rows<'a>,
        diagonal: &[f64],
        problem: &'a Margins<'a>,
        steps: usize,
        watch: &Watch,
    ) -> Result<(Classified, Rows<'a>)> {
        let goal = (self.tolerance, self.most_steps.unwrap_or(steps));
        let found = smo::solve(rows, diagonal, problem, goal, watch)?;
        let solver = (SvmSolver::Smo, found.steps);
        let classified = self.classified(problem, found.coefficients, &found.values, solver);
        Ok((classified, found.rows))
    }

    fn interior_low(
        &self,
        gram: &dyn Gram,
        features: MatRef<'_, f64>,
        problem: &Margins,
        watch: &Watch,
    ) -> Result<Classified> {
        let none = MatRef::from_column_major_slice(&[], features.nrows(), 0);
        let mut passes = Passes::new(&features, none, problem.intercept, watch)?;
        self.interior(gram, &mut passes, problem, watch)
    }

    fn interior_whole(
        &self,
        gram: &dyn Gram,
        problem: &Margins,
        watch: &Watch,
    ) -> Result<Classified> {
        let mut whole = Whole::new(gram, problem.intercept, watch)?;
        self.interior(gram, &mut whole, problem, watch)
    }

    fn interior(
        &self,
        gram: &dyn Gram,
        curvature: &mut dyn Curvature,
        problem: &Margins,
        watch: &Watch,
    ) -> Result<Classified> {
        let program = Program {
            margins: problem,
            slack: 0.0,
            further: 0,
            size: 0.0,
            answer: Answer::Coefficients,
        };
        let found = program.solve(curvature, self.interior_goal(problem.labels.len()), watch)?;
        let signed = found.beta.iter().zip(problem.labels);
        let mut coefficients: Vec<f64> = signed.map(|(b, y)| b * y).collect();
        certificate::make_feasible(problem, &mut coefficients);
        let values = gram.multiply(&coefficients, watch)?;
        let solver = (SvmSolver::Interior, found.steps);
        Ok(self.classified(problem, coefficients, &values, solver))
    }

    fn interior_goal(&self, rows: usize) -> (f64, usize) {
        let tolerance = if rows <= SMALL {
            self.tolerance.min(1e-14)
        } else {
            self.tolerance
        };
        (tolerance, self.most_steps.unwrap_or(INTERIOR_STEPS))
    }

    /// What feasible coefficients and their values amount to.
    fn classified(
        &self,
        problem: &Margins,
        coefficients: Vec<f64>,
        values: &[f64],
        (solver, iterations): (SvmSolver, usize),
    ) -> Classified {
        let (primal, dual, intercept) = certificate::values(problem, &coefficients, values);
        let gap = certificate::relative(problem, primal, dual);
        Classified {
            coefficients,
            intercept,
            scores: values.iter().map(|f| f + intercept).collect(),
            certificate: Certificate::new(
                solver,
                iterations,
                (primal, dual),
                (gap, self.tolerance),
            ),
        }
    }
}

impl Margins<'_> {
    pub(super) fn check(&self, rows: usize) -> Result<()> {
        for (what, found) in [("labels", self.labels.len()), ("caps", self.caps.len())] {
            if found != rows {
                return Err(Error::Length {
                    what,
                    found,
                    needed: rows,
                });
            }
        }
        let invalid = |name, expected, value: f64| Error::InvalidParameter {
            name,
            expected,
            value: value.to_string(),
        };
        if let Some(label) = self.labels.iter().find(|y| y.abs() != 1.0) {
            return Err(invalid("label", "1 or -1", *label));
        }
        let is_price = |cap: &f64| *cap > 0.0 && cap.is_finite();
        if let Some(cap) = self.caps.iter().find(|cap| !is_price(cap)) {
            return Err(invalid("C", "a positive finite number", *cap));
        }
        Ok(())
    }

    /// Whether h = 0 and a constant are the solution: with an intercept and one class.
    pub(super) fn is_trivial(&self) -> bool {
        let same = self.labels.windows(2).all(|pair| pair[0] == pair[1]);
        self.labels.is_empty() || self.intercept == Intercept::Fitted && same
    }
}
