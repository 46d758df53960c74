//! Kernel logistic regression for two classes.
//!
//! The objective is $\tfrac12\|h\|^2 + \sum_i C_i \log(1 + \exp(-y_i(\langle h, z_i\rangle + c)))$. With
//! $g_i = C_i y_i/(1 + \exp(y_i f_i))$, the slope of row i's loss at its score $f_i$, the solution has $h = \sum_i g_i z_i$, and
//! $\sum_i g_i = 0$ if there is an intercept. Newton's method solves it; each step is halved until the objective falls.

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatRef};
use oblivio_base::{Result, Watch};

use super::dot;
use super::lowrank;
use super::ridge::Intercept;
use super::scaled::Scaled;
use super::svm::{Certificate, Classified, LinearClassified, Margins, add_product};
use super::system::{cholesky, substitute, threads};
use crate::gram::{FeatureRows, Gram};

/// Logistic regression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logistic {
    /// The duality gap, relative to the objective, that is good enough. It is half the squared norm of the gradient, so that this
    /// is the square of what a gradient is held to; Newton's method doubles the digits with each step.
    pub tolerance: f64,
    /// The most steps of Newton's method.
    pub most_steps: usize,
}

impl Default for Logistic {
    fn default() -> Self {
        Self {
            tolerance: 1e-12,
            most_steps: 100,
        }
    }
}

/// The name in certificates.
const NEWTON: &str = "newton";
/// Halvings of a step before it is given up: the objective is then flat to rounding.
const HALVINGS: usize = 40;

/// Rows with their scores $f_i$ and what follows from them.
struct Rows<'a> {
    problem: &'a Margins<'a>,
    /// Without the intercept.
    values: Vec<f64>,
    intercept: f64,
}

impl Rows<'_> {
    fn margin(&self, i: usize) -> f64 {
        self.problem.labels[i] * (self.values[i] + self.intercept)
    }

    /// $\sum_i C_i \log(1 + \exp(-y_i f_i))$
    fn loss(&self) -> f64 {
        let rows = 0..self.values.len();
        rows.map(|i| self.problem.caps[i] * softplus(-self.margin(i)))
            .sum()
    }

    /// $g_i = C_i y_i\sigma(-y_i f_i)$
    fn slopes(&self) -> Vec<f64> {
        let slope =
            |i: usize| self.problem.caps[i] * self.problem.labels[i] * logistic(-self.margin(i));
        (0..self.values.len()).map(slope).collect()
    }

    /// $C_i\sigma(y_i f_i)\sigma(-y_i f_i)$
    fn curvatures(&self) -> Vec<f64> {
        let curvature = |i: usize| {
            let margin = self.margin(i);
            self.problem.caps[i] * logistic(margin) * logistic(-margin)
        };
        (0..self.values.len()).map(curvature).collect()
    }

    /// Moves the intercept to where $\sum_i g_i = 0$, the best for these values: Newton, held between bounds that halve.
    fn settle_intercept(&mut self) {
        if self.problem.intercept == Intercept::None {
            return;
        }
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut width = 1.0;
        for _ in 0..200 {
            let slope: f64 = self.slopes().iter().sum();
            let curvature: f64 = self.curvatures().iter().sum();
            if slope > 0.0 {
                low = self.intercept;
            } else {
                high = self.intercept;
            }
            let newton = self.intercept + slope / curvature;
            let next = if newton > low && newton < high && (newton - self.intercept).abs() < 4.0 {
                newton
            } else if low.is_finite() && high.is_finite() {
                f64::midpoint(low, high)
            } else {
                width *= 2.0;
                self.intercept + width * slope.signum()
            };
            let moved = (next - self.intercept).abs();
            if slope == 0.0 || moved <= 1e-16 * next.abs() || !next.is_finite() {
                break;
            }
            self.intercept = next;
        }
    }
}

/// $\log(1 + e^x)$
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// $1/(1 + e^{-x})$
fn logistic(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// How far the method is: the objective, and $\tfrac12\|h - \sum_i g_i z_i\|^2$.
///
/// This is the duality gap, found without a difference of large numbers: the slopes g are feasible in the dual where they sum to
/// zero, and the loss of a row and its conjugate at the slope differ by $g_i f_i$.
#[derive(Clone, Copy)]
struct Progress {
    primal: f64,
    gap: f64,
    /// The gap one step before.
    last: f64,
    steps: usize,
}

impl Progress {
    const START: Self = Self {
        primal: f64::INFINITY,
        gap: f64::INFINITY,
        last: f64::INFINITY,
        steps: 0,
    };

    fn see(&mut self, primal: f64, gap: f64) {
        *self = Self {
            primal,
            gap,
            last: self.gap,
            steps: self.steps,
        };
    }
}

impl Logistic {
    fn is_done(&self, progress: Progress) -> bool {
        let gap = progress.gap / progress.primal.max(f64::MIN_POSITIVE);
        // Far below rounding of the objective a gap that does not fall is as small as it gets.
        let stalled = gap < 1e-12 && progress.gap > 0.25 * progress.last;
        gap <= self.tolerance || stalled || progress.steps >= self.most_steps
    }

    fn certificate(&self, progress: Progress) -> Certificate {
        let gap = progress.gap / progress.primal.max(f64::MIN_POSITIVE);
        Certificate {
            solver: NEWTON,
            iterations: progress.steps,
            primal: progress.primal,
            dual: progress.primal - progress.gap,
            gap,
            converged: gap <= self.tolerance,
        }
    }

    /// The minimum over $h = \sum_i a_i z_i$ and c, from inner products.
    ///
    /// A matrix of low rank is solved by its features. Otherwise a step is $a = (I + WK)^{-1}(W(f - c) + g)$ with the curvatures W,
    /// found from $I + W^{1/2}KW^{1/2}$, which stays sound as W goes to zero; c makes the coefficients sum to zero.
    pub fn solve(&self, gram: &dyn Gram, problem: &Margins, watch: &Watch) -> Result<Classified> {
        problem.check(gram.len())?;
        watch.begin("logistic regression", self.most_steps)?;
        if let Some(features) = lowrank::features_of(gram, watch)? {
            let found = self.solve_features(&features.as_ref(), problem, watch)?;
            return self.certified(gram, problem, found, watch);
        }
        let system = Scaled::new(gram, watch)?;
        let n = gram.len();
        let mut rows = Rows {
            problem,
            values: vec![0.0; n],
            intercept: 0.0,
        };
        let mut coefficients = vec![0.0; n];
        self.newton_dense(system, &mut rows, &mut coefficients, watch)
    }

    /// Coefficients as they are, their values and the gap, found from the matrix itself.
    fn certified(
        &self,
        gram: &dyn Gram,
        problem: &Margins,
        found: LinearClassified,
        watch: &Watch,
    ) -> Result<Classified> {
        let coefficients = found.coefficients;
        let mut rows = Rows {
            problem,
            values: gram.multiply(&coefficients, watch)?,
            intercept: found.intercept,
        };
        rows.settle_intercept();
        let slopes = rows.slopes();
        let apart: Vec<f64> = coefficients
            .iter()
            .zip(&slopes)
            .map(|(a, g)| a - g)
            .collect();
        let progress = Progress {
            primal: 0.5 * dot(&coefficients, &rows.values) + rows.loss(),
            gap: 0.5 * dot(&apart, &gram.multiply(&apart, watch)?).max(0.0),
            last: 0.0,
            steps: found.certificate.iterations,
        };
        Ok(Classified {
            coefficients,
            intercept: rows.intercept,
            scores: rows.values.iter().map(|f| f + rows.intercept).collect(),
            certificate: self.certificate(progress),
        })
    }

    fn newton_dense(
        &self,
        mut system: Scaled,
        rows: &mut Rows,
        coefficients: &mut Vec<f64>,
        watch: &Watch,
    ) -> Result<Classified> {
        let mut progress = Progress::START;
        loop {
            rows.settle_intercept();
            let slopes = rows.slopes();
            let apart: Vec<f64> = coefficients
                .iter()
                .zip(&slopes)
                .map(|(a, g)| a - g)
                .collect();
            let gap = 0.5 * dot(&apart, &system.times(&apart, watch)?).max(0.0);
            progress.see(0.5 * dot(coefficients, &rows.values) + rows.loss(), gap);
            if self.is_done(progress)
                || !Self::step_dense(&mut system, rows, coefficients, progress.primal, watch)?
            {
                return Ok(Classified {
                    coefficients: std::mem::take(coefficients),
                    intercept: rows.intercept,
                    scores: rows.values.iter().map(|f| f + rows.intercept).collect(),
                    certificate: self.certificate(progress),
                });
            }
            progress.steps += 1;
            watch.advance();
        }
    }

    /// One step; `false` if none makes the objective smaller.
    fn step_dense(
        system: &mut Scaled,
        rows: &mut Rows,
        coefficients: &mut Vec<f64>,
        primal: f64,
        watch: &Watch,
    ) -> Result<bool> {
        let (slopes, curvatures) = (rows.slopes(), rows.curvatures());
        let roots: Vec<f64> = curvatures.iter().map(|w| w.sqrt()).collect();
        if !system.factorize(&roots, watch)? {
            return Ok(false);
        }
        // (I + WK)⁻¹x = x − W½(I + W½KW½)⁻¹W½Kx
        let apply = |vector: &[f64]| -> Result<Vec<f64>> {
            let mut inner = system.times(vector, watch)?;
            inner.iter_mut().zip(&roots).for_each(|(v, r)| *v *= r);
            system.solve(&mut inner);
            let parts = vector.iter().zip(&inner).zip(&roots);
            Ok(parts.map(|((x, inner), root)| x - root * inner).collect())
        };
        let right: Vec<f64> = (0..slopes.len())
            .map(|i| curvatures[i] * (rows.values[i] + rows.intercept) + slopes[i])
            .collect();
        let mut next = apply(&right)?;
        let mut constant = 0.0;
        if rows.problem.intercept == Intercept::Fitted {
            let ones = apply(&curvatures)?;
            constant = next.iter().sum::<f64>() / ones.iter().sum::<f64>();
            next.iter_mut()
                .zip(&ones)
                .for_each(|(a, one)| *a -= constant * one);
        }
        let direction: Vec<f64> = next
            .iter()
            .zip(&*coefficients)
            .map(|(n, a)| n - a)
            .collect();
        let image = system.times(&direction, watch)?;
        let along = dot(coefficients, &image);
        let own = dot(&direction, &image);
        let half = 0.5 * dot(coefficients, &rows.values);
        let moved = (image.as_slice(), constant - rows.intercept);
        let part = shorten(rows, moved, primal, |t| {
            half + t * along + 0.5 * t * t * own
        });
        if let Some(part) = part {
            let step = coefficients.iter_mut().zip(&direction);
            step.for_each(|(a, d)| *a += part * d);
        }
        Ok(part.is_some())
    }

    /// The minimum over weights w and c, from rows of features: two passes for each step.
    pub fn solve_features(
        &self,
        features: &dyn FeatureRows,
        problem: &Margins,
        watch: &Watch,
    ) -> Result<LinearClassified> {
        problem.check(features.len())?;
        watch.begin("logistic regression", self.most_steps)?;
        let mut rows = Rows {
            problem,
            values: vec![0.0; features.len()],
            intercept: 0.0,
        };
        let mut weights = vec![0.0; features.width()];
        let mut coefficients = vec![0.0; features.len()];
        let mut progress = Progress::START;
        loop {
            rows.settle_intercept();
            let (slopes, curvatures) = (rows.slopes(), rows.curvatures());
            let sums = Sums::gather(features, &slopes, &curvatures, watch)?;
            let apart = weights.iter().zip(&sums.slopes);
            let gap = 0.5 * apart.map(|(w, g)| (w - g).powi(2)).sum::<f64>();
            progress.see(0.5 * dot(&weights, &weights) + rows.loss(), gap);
            let found = (&mut weights, &mut coefficients);
            let sums = (sums, progress.primal);
            if self.is_done(progress)
                || !step(
                    features,
                    &mut rows,
                    found,
                    sums,
                    (&slopes, &curvatures),
                    watch,
                )?
            {
                return Ok(LinearClassified {
                    weights,
                    intercept: rows.intercept,
                    scores: rows.values.iter().map(|f| f + rows.intercept).collect(),
                    coefficients,
                    multipliers: Vec::new(),
                    certificate: self.certificate(progress),
                });
            }
            progress.steps += 1;
            watch.advance();
        }
    }
}

/// Sums over all rows: $\sum_i W_i \tilde z_i\tilde z_i^\top$ with $\tilde z = (1, z)$, and $\sum_i g_i z_i$.
struct Sums {
    second: Mat<f64>,
    slopes: Vec<f64>,
}

impl Sums {
    fn gather(
        features: &dyn FeatureRows,
        slopes: &[f64],
        curvatures: &[f64],
        watch: &Watch,
    ) -> Result<Self> {
        let width = features.width();
        let mut sums = Self {
            second: Mat::zeros(width + 1, width + 1),
            slopes: vec![0.0; width],
        };
        features.each(
            &mut |start, block| {
                let range = start..start + block.ncols();
                add_product(&mut sums.slopes, block, &slopes[range.clone()]);
                let curvatures = &curvatures[range];
                let scaled = Mat::from_fn(width + 1, block.ncols(), |k, i| {
                    let root = curvatures[i].sqrt();
                    if k == 0 {
                        root
                    } else {
                        root * block[(k - 1, i)]
                    }
                });
                triangular::matmul(
                    sums.second.as_mut(),
                    BlockStructure::TriangularLower,
                    Accum::Add,
                    scaled.as_ref(),
                    BlockStructure::Rectangular,
                    scaled.transpose(),
                    BlockStructure::Rectangular,
                    1.0,
                    threads(),
                );
                Ok(())
            },
            watch,
        )?;
        Ok(sums)
    }
}

/// One step; `false` if none makes the objective smaller.
///
/// The coefficients a stay those with $w = \sum_i a_i z_i$: by the equations of the step, those of w + dw are
/// $g_i - W_i(\langle dw, z_i\rangle + dc)$.
fn step(
    features: &dyn FeatureRows,
    rows: &mut Rows,
    (weights, coefficients): (&mut Vec<f64>, &mut Vec<f64>),
    (sums, primal): (Sums, f64),
    (slopes, curvatures): (&[f64], &[f64]),
    watch: &Watch,
) -> Result<bool> {
    let width = weights.len();
    let first = usize::from(rows.problem.intercept == Intercept::None);
    let mut matrix = sums
        .second
        .submatrix(first, first, width + 1 - first, width + 1 - first)
        .to_owned();
    // The intercept has its best value, so the slopes sum to zero.
    let mut direction = vec![0.0; width + 1];
    for k in 0..width {
        matrix[(k + 1 - first, k + 1 - first)] += 1.0;
        direction[k + 1] = sums.slopes[k] - weights[k];
    }
    if cholesky(matrix.as_mut()).is_err() {
        return Ok(false);
    }
    substitute(matrix.as_ref(), &mut direction[first..]);
    let (constant, direction) = (direction[0], &direction[1..]);
    let mut image = vec![0.0; rows.values.len()];
    features.each(
        &mut |start, block: MatRef<'_, f64>| {
            let to = &mut image[start..start + block.ncols()];
            add_product(to, block.transpose(), direction);
            Ok(())
        },
        watch,
    )?;
    let (half, along, own) = (
        0.5 * dot(weights, weights),
        dot(weights, direction),
        dot(direction, direction),
    );
    let part = shorten(rows, (&image, constant), primal, |t| {
        half + t * along + 0.5 * t * t * own
    });
    if let Some(part) = part {
        for (w, d) in weights.iter_mut().zip(direction) {
            *w += part * d;
        }
        for (i, a) in coefficients.iter_mut().enumerate() {
            let next = slopes[i] - curvatures[i] * (image[i] + constant);
            *a += part * (next - *a);
        }
    }
    Ok(part.is_some())
}

/// Goes along a direction by the first of 1, ½, ¼ … that makes the objective smaller; `None` if none does.
fn shorten(
    rows: &mut Rows,
    (image, constant): (&[f64], f64),
    primal: f64,
    penalty: impl Fn(f64) -> f64,
) -> Option<f64> {
    let (values, intercept) = (rows.values.clone(), rows.intercept);
    let mut part = 1.0;
    for _ in 0..HALVINGS {
        rows.intercept = intercept + part * constant;
        let moved = rows.values.iter_mut().zip(&values).zip(image);
        moved.for_each(|((to, from), d)| *to = from + part * d);
        // At the end a full step changes the objective by less than it is rounded to.
        let rounding = if part == 1.0 { 1e-13 * primal } else { 0.0 };
        if penalty(part) + rows.loss() < primal + rounding {
            return Some(part);
        }
        part *= 0.5;
    }
    rows.values = values;
    rows.intercept = intercept;
    None
}
