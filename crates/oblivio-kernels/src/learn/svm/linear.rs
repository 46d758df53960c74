//! Support vector machines on features.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Side};
use oblivio_base::{Error, Result, Watch};

use super::curvature::Passes;
use super::interior::{Answer, Program};
use super::{Certificate, Margins, Svm, SvmSolver, certificate};
use crate::gram::FeatureRows;
use crate::learn::dot;
use crate::learn::system::threads;

/// What was found from features.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearClassified {
    /// w
    pub weights: Vec<f64>,
    /// c; zero unless it was asked for.
    pub intercept: f64,
    /// $\langle w, z_i\rangle + c$ at the training rows.
    pub scores: Vec<f64>,
    /// $a_i = \alpha_i y_i$
    pub coefficients: Vec<f64>,
    /// $\lambda_c$, so that $w = \sum_i a_i z_i - \sum_c \lambda_c u_c$ at a gap of zero.
    pub multipliers: Vec<f64>,
    /// How good it is.
    pub certificate: Certificate,
}

impl Svm {
    /// The minimum over weights w and c, from rows of features that are visited again and again.
    ///
    /// `bounded` holds directions $u_c$ in its columns, and ε: then $|\langle w, u_c\rangle| \le ε$ for each. The interior-point method
    /// solves it whatever [`solver`](Svm::solver) says: with few features no other comes near.
    pub fn solve_features(
        &self,
        rows: &dyn FeatureRows,
        problem: &Margins,
        bounded: Option<(MatRef<'_, f64>, f64)>,
        watch: &Watch,
    ) -> Result<LinearClassified> {
        problem.check(rows.len())?;
        let (directions, slack) = match bounded {
            Some((directions, slack)) => (directions.to_owned(), slack),
            None => (Mat::zeros(rows.width(), 0), 0.0),
        };
        if directions.nrows() != rows.width() {
            return Err(Error::Width {
                found: directions.nrows(),
                needed: rows.width(),
            });
        }
        if !(slack >= 0.0 && slack.is_finite()) {
            return Err(Error::InvalidParameter {
                name: "slack",
                expected: "a finite number that is not negative",
                value: slack.to_string(),
            });
        }
        let span = Span::of(directions.as_ref())?;
        let mut found = if problem.is_trivial() {
            Searched {
                weights: vec![0.0; rows.width()],
                coefficients: vec![0.0; rows.len()],
                multipliers: vec![0.0; directions.ncols()],
                steps: 0,
            }
        } else if slack == 0.0 && span.basis.ncols() > 0 {
            // Then neither bound has an inside: solve in the space that is left.
            let flat = Flat { rows, span: &span };
            let none = Mat::zeros(rows.width(), 0);
            self.search(&flat, problem, (none.as_ref(), 0.0), watch)?
        } else {
            self.search(rows, problem, (directions.as_ref(), slack), watch)?
        };
        certificate::make_feasible(problem, &mut found.coefficients);
        let bounds = (directions.as_ref(), slack, &span);
        self.certified(rows, problem, bounds, found, watch)
    }

    fn search(
        &self,
        rows: &dyn FeatureRows,
        problem: &Margins,
        (directions, slack): (MatRef<'_, f64>, f64),
        watch: &Watch,
    ) -> Result<Searched> {
        let count = directions.ncols();
        // ⟨w, u⟩ ≤ ε and ⟨w, −u⟩ ≤ ε.
        let further = Mat::from_fn(directions.nrows(), 2 * count, |k, c| {
            directions[(k, c / 2)] * if c % 2 == 0 { -1.0 } else { 1.0 }
        });
        let norms = directions.col_iter().map(|u| u.norm_l2());
        let program = Program {
            margins: problem,
            slack,
            further: 2 * count,
            size: norms.fold(0.0, f64::max),
            answer: Answer::Weights,
        };
        let mut passes = Passes::new(rows, further.as_ref(), problem.intercept, watch)?;
        let found = program.solve(&mut passes, self.interior_goal(problem.labels.len()), watch)?;
        let (own, others) = found.beta.split_at(rows.len());
        let signed = own.iter().zip(problem.labels).map(|(b, y)| b * y);
        let pairs = others.chunks_exact(2);
        Ok(Searched {
            weights: found.weights,
            coefficients: signed.collect(),
            multipliers: pairs.map(|pair| pair[0] - pair[1]).collect(),
            steps: found.steps,
        })
    }

    /// The values of weights and feasible coefficients, in one pass:
    /// $D = \sum_i y_i a_i - ε\|\lambda\|_1 - \tfrac12\|\sum_i a_i z_i - \sum_c \lambda_c u_c\|^2$ bounds the objective from below for
    /// any λ.
    fn certified(
        &self,
        rows: &dyn FeatureRows,
        problem: &Margins,
        (directions, slack, span): (MatRef<'_, f64>, f64, &Span),
        found: Searched,
        watch: &Watch,
    ) -> Result<LinearClassified> {
        let Searched {
            mut weights,
            coefficients,
            mut multipliers,
            steps,
        } = found;
        span.clip(&mut weights, directions, slack);
        let mut expansion = vec![0.0; rows.width()];
        let mut values = vec![0.0; rows.len()];
        rows.each(
            &mut |start, block| {
                let range = start..start + block.ncols();
                add_product(&mut expansion, block, &coefficients[range.clone()]);
                add_product(&mut values[range], block.transpose(), &weights);
                Ok(())
            },
            watch,
        )?;
        if slack == 0.0 {
            multipliers = span.coordinates(&expansion, directions);
        }
        let taken: Vec<f64> = multipliers.iter().map(|m| -m).collect();
        add_product(&mut expansion, directions, &taken);
        let lengths: f64 = multipliers.iter().map(|m| m.abs()).sum();
        let dual = dot(&coefficients, problem.labels)
            - slack * lengths
            - 0.5 * dot(&expansion, &expansion);
        let intercept = certificate::best_intercept(problem, &values);
        let primal =
            0.5 * dot(&weights, &weights) + certificate::hinge(problem, &values, intercept);
        let gap = certificate::relative(problem, primal, dual);
        Ok(LinearClassified {
            weights,
            intercept,
            scores: values.iter().map(|f| f + intercept).collect(),
            coefficients,
            multipliers,
            certificate: Certificate::new(
                SvmSolver::Interior,
                steps,
                (primal, dual),
                (gap, self.tolerance),
            ),
        })
    }
}

/// What the interior-point method found, in terms of labels and directions.
struct Searched {
    weights: Vec<f64>,
    coefficients: Vec<f64>,
    multipliers: Vec<f64>,
    steps: usize,
}

/// Adds a matrix times a vector.
pub(in crate::learn) fn add_product(to: &mut [f64], matrix: MatRef<'_, f64>, vector: &[f64]) {
    let rows = to.len();
    matmul(
        MatMut::from_column_major_slice_mut(to, rows, 1),
        Accum::Add,
        matrix,
        MatRef::from_column_major_slice(vector, vector.len(), 1),
        1.0,
        threads(),
    );
}

/// The space that directions span.
struct Span {
    /// Orthonormal columns.
    basis: Mat<f64>,
    /// $(U^\top U)^+$
    inverse: Mat<f64>,
}

impl Span {
    fn of(directions: MatRef<'_, f64>) -> Result<Self> {
        let count = directions.ncols();
        if count == 0 {
            return Ok(Self {
                basis: Mat::zeros(directions.nrows(), 0),
                inverse: Mat::zeros(0, 0),
            });
        }
        let gram = directions.transpose() * directions;
        let eigen = gram
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| Error::Overflow {
                what: "the decomposition of the directions",
            })?;
        let values = eigen.S().column_vector();
        let largest = values.iter().copied().fold(0.0, f64::max);
        let kept: Vec<usize> = (0..count)
            .filter(|&k| values[k] > 1e-14 * largest)
            .collect();
        let vectors = Mat::from_fn(count, kept.len(), |i, k| {
            eigen.U()[(i, kept[k])] / values[kept[k]].sqrt()
        });
        // Once more, for the small ones are far from orthogonal.
        let basis = (directions * &vectors).qr().compute_thin_Q();
        Ok(Self {
            basis,
            inverse: &vectors * vectors.transpose(),
        })
    }

    /// The combination of directions that is nearest to a vector.
    fn coordinates(&self, vector: &[f64], directions: MatRef<'_, f64>) -> Vec<f64> {
        let mut inner = vec![0.0; directions.ncols()];
        add_product(&mut inner, directions.transpose(), vector);
        let mut coordinates = vec![0.0; inner.len()];
        add_product(&mut coordinates, self.inverse.as_ref(), &inner);
        coordinates
    }

    /// Takes off a vector the little that puts it outside of the bounds.
    fn clip(&self, vector: &mut [f64], directions: MatRef<'_, f64>, slack: f64) {
        for _ in 0..2 {
            let mut over = vec![0.0; directions.ncols()];
            add_product(&mut over, directions.transpose(), vector);
            for along in &mut over {
                *along -= along.clamp(-slack, slack);
            }
            let mut taken = vec![0.0; over.len()];
            add_product(&mut taken, self.inverse.as_ref(), &over);
            let taken: Vec<f64> = taken.iter().map(|t| -t).collect();
            add_product(vector, directions, &taken);
        }
    }
}

/// Features without their part in a space.
struct Flat<'a> {
    rows: &'a dyn FeatureRows,
    span: &'a Span,
}

impl FeatureRows for Flat<'_> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn width(&self) -> usize {
        self.rows.width()
    }

    fn each(
        &self,
        work: &mut dyn FnMut(usize, MatRef<'_, f64>) -> Result<()>,
        watch: &Watch,
    ) -> Result<()> {
        self.rows.each(
            &mut |start, block| {
                let inner = self.span.basis.transpose() * block;
                let flat = block - &self.span.basis * inner;
                work(start, flat.as_ref())
            },
            watch,
        )
    }
}
