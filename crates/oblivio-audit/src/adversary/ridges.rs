//! Ridge regression on all folds but one, for many targets, from moments.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use oblivio_base::{Error, Result};
use rayon::prelude::*;

use super::folds::Folds;

/// Ridge regressions that differ in the fold they have not seen, decomposed once for all targets.
pub(crate) struct Ridges<'a> {
    folds: &'a Folds,
    /// Features in the order of the folds, row after row, about their mean.
    features: Vec<f64>,
    width: usize,
    /// In the same order.
    weights: Vec<f64>,
    training: Vec<Training>,
}

/// What the rows outside a fold say of the features.
struct Training {
    weight: f64,
    means: Vec<f64>,
    /// Eigenvalues and eigenvectors of $\sum w(f - \bar f)(f - \bar f)^\top$.
    values: Vec<f64>,
    vectors: Mat<f64>,
}

/// What the rows of a fold, or outside it, say of targets.
struct Cross {
    /// $\sum wfy$, one column for each target.
    products: Mat<f64>,
    /// $\sum wy$ and $\sum wy^2$
    sums: Vec<(f64, f64)>,
}

/// A regression of several targets on the rows outside a fold.
struct Learned {
    coefficients: Mat<f64>,
    /// The mean of each target on these rows.
    means: Vec<f64>,
}

/// What was predicted of rows by those of other folds.
pub(crate) struct Held {
    /// Target after target, rows in the order of the folds: the prediction less the mean of the rows that taught it.
    pub(crate) scores: Vec<f64>,
    /// Those means: fold after fold for each target.
    pub(crate) means: Vec<Vec<f64>>,
}

/// Penalties to choose from, for each unit of weight; the largest all but silences a feature of variance one.
pub(crate) const PENALTIES: [f64; 10] =
    [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0];

impl<'a> Ridges<'a> {
    /// Takes features row after row and their weights, both in the order of the folds.
    pub(crate) fn new(
        folds: &'a Folds,
        mut features: Vec<f64>,
        width: usize,
        weights: Vec<f64>,
    ) -> Result<Self> {
        centre(&mut features, width, &weights);
        let mut ridges = Self {
            folds,
            features,
            width,
            weights,
            training: Vec::new(),
        };
        let moments: Vec<_> = (0..folds.spans.len())
            .into_par_iter()
            .map(|fold| ridges.moments(fold))
            .collect();
        let training = (0..folds.spans.len()).into_par_iter().map(|fold| {
            let others = moments
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != fold);
            Training::new(others.map(|(_, moments)| moments), width)
        });
        ridges.training = training.collect::<Result<_>>()?;
        Ok(ridges)
    }

    /// Σ w, Σ wf and Σ wffᵀ of a fold.
    fn moments(&self, fold: usize) -> (f64, Vec<f64>, Mat<f64>) {
        let span = self.folds.spans[fold].clone();
        let weights = &self.weights[span.clone()];
        let features = self.rows(fold);
        let mut scaled = self.features[span.start * self.width..span.end * self.width].to_vec();
        let mut sums = vec![0.0; self.width];
        for (row, weight) in scaled.chunks_mut(self.width).zip(weights) {
            for (value, sum) in row.iter_mut().zip(&mut sums) {
                *value *= weight;
                *sum += *value;
            }
        }
        let scaled = MatRef::from_row_major_slice(&scaled, span.len(), self.width);
        let mut squares = Mat::zeros(self.width, self.width);
        let to = squares.as_mut();
        matmul(
            to,
            Accum::Replace,
            features.transpose(),
            scaled,
            1.0,
            Par::Seq,
        );
        (weights.iter().sum(), sums, squares)
    }

    fn rows(&self, fold: usize) -> MatRef<'_, f64> {
        let span = &self.folds.spans[fold];
        let values = &self.features[span.start * self.width..span.end * self.width];
        MatRef::from_row_major_slice(values, span.len(), self.width)
    }

    /// Predicts every row of every target (one after the other, rows in the order of the folds) from the other folds' rows,
    /// with the penalty that generalised cross-validation prefers on those.
    pub(crate) fn hold_out(&self, targets: &[f64]) -> Held {
        let mut held = Held {
            scores: vec![0.0; targets.len()],
            means: vec![Vec::new(); targets.len() / self.weights.len()],
        };
        for (fold, learned) in self.learn(targets).iter().enumerate() {
            for (means, mean) in held.means.iter_mut().zip(&learned.means) {
                means.push(*mean);
            }
            let training = &self.training[fold];
            self.predict(fold, training, &learned.coefficients, &mut held.scores);
        }
        held
    }

    /// The mean over all regressions of their predictions of every row, in the layout of the targets: a function of the
    /// features alone.
    pub(crate) fn mean_predictions(&self, targets: &[f64]) -> Vec<f64> {
        let rows = self.weights.len();
        let learned = self.learn(targets);
        let (mut sum, mut one) = (vec![0.0; targets.len()], vec![0.0; targets.len()]);
        for (training, learned) in self.training.iter().zip(&learned) {
            for fold in 0..self.training.len() {
                self.predict(fold, training, &learned.coefficients, &mut one);
            }
            let targets = sum.chunks_mut(rows).zip(one.chunks(rows));
            for ((sum, one), mean) in targets.zip(&learned.means) {
                sum.iter_mut()
                    .zip(one)
                    .for_each(|(sum, one)| *sum += one + mean);
            }
        }
        let count = self.training.len() as f64;
        for value in &mut sum {
            *value /= count;
        }
        sum
    }

    /// The regression of every target on the rows outside each fold.
    fn learn(&self, targets: &[f64]) -> Vec<Learned> {
        let rows = self.weights.len();
        let count = targets.len() / rows;
        let weighted: Vec<f64> = targets
            .chunks(rows)
            .flat_map(|target| target.iter().zip(&self.weights).map(|(y, w)| y * w))
            .collect();
        let crosses: Vec<Cross> = (0..self.training.len())
            .map(|fold| self.cross(fold, targets, &weighted))
            .collect();
        let folds = self.training.iter().enumerate();
        let learned = folds.map(|(fold, training)| {
            let mut cross = Cross::zero(self.width, count);
            for (other, part) in crosses.iter().enumerate() {
                if other != fold {
                    cross.add(part);
                }
            }
            let mean = |(sum, _): &(f64, f64)| sum / training.weight;
            Learned {
                coefficients: training.coefficients(&cross),
                means: cross.sums.iter().map(mean).collect(),
            }
        });
        learned.collect()
    }

    fn cross(&self, fold: usize, targets: &[f64], weighted: &[f64]) -> Cross {
        let rows = self.weights.len();
        let count = targets.len() / rows;
        let span = self.folds.spans[fold].clone();
        let inside =
            MatRef::from_column_major_slice(weighted, rows, count).subrows(span.start, span.len());
        let mut products = Mat::zeros(self.width, count);
        let features = self.rows(fold).transpose();
        matmul(
            products.as_mut(),
            Accum::Replace,
            features,
            inside,
            1.0,
            Par::Seq,
        );
        let sums = targets
            .chunks(rows)
            .zip(weighted.chunks(rows))
            .map(|(y, wy)| {
                let (y, wy) = (&y[span.clone()], &wy[span.clone()]);
                let squares = y.iter().zip(wy).map(|(y, wy)| y * wy).sum();
                (wy.iter().sum(), squares)
            });
        Cross {
            products,
            sums: sums.collect(),
        }
    }

    /// $\langle f - \bar f, \beta\rangle$ for the rows of a fold.
    fn predict(&self, fold: usize, training: &Training, coefficients: &Mat<f64>, to: &mut [f64]) {
        let rows = self.weights.len();
        let span = &self.folds.spans[fold];
        let count = coefficients.ncols();
        let mut to = MatMut::from_column_major_slice_mut(to, rows, count);
        let mut to = to.as_mut().subrows_mut(span.start, span.len());
        let features = self.rows(fold);
        matmul(
            to.as_mut(),
            Accum::Replace,
            features,
            coefficients,
            1.0,
            Par::Seq,
        );
        for target in 0..count {
            let betas = coefficients.col(target).iter();
            let at_mean: f64 = betas.zip(&training.means).map(|(b, m)| b * m).sum();
            to.as_mut()
                .col_mut(target)
                .iter_mut()
                .for_each(|score| *score -= at_mean);
        }
    }
}

impl Training {
    fn new<'m>(
        moments: impl Iterator<Item = &'m (f64, Vec<f64>, Mat<f64>)>,
        width: usize,
    ) -> Result<Self> {
        let (mut weight, mut means, mut squares) =
            (0.0, vec![0.0; width], Mat::<f64>::zeros(width, width));
        for (more, sums, products) in moments {
            weight += more;
            means
                .iter_mut()
                .zip(sums)
                .for_each(|(mean, sum)| *mean += sum);
            squares += products;
        }
        for mean in &mut means {
            *mean /= weight;
        }
        let centred = Mat::from_fn(width, width, |i, j| {
            squares[(i, j)] - weight * means[i] * means[j]
        });
        let eigen = centred.self_adjoint_eigen(Side::Lower);
        let eigen = eigen.map_err(|_| Error::Overflow {
            what: "the decomposition of the adversary's moments",
        })?;
        let values = eigen.S().column_vector();
        Ok(Self {
            weight,
            means,
            values: values.iter().map(|value| value.max(0.0)).collect(),
            vectors: eigen.U().to_owned(),
        })
    }

    /// $\beta = U(D + \lambda I)^{-1}z$ for every target, with $z = U^\top\sum w(f - \bar f)(y - \bar y)$.
    fn coefficients(&self, cross: &Cross) -> Mat<f64> {
        let centred = Mat::from_fn(self.means.len(), cross.sums.len(), |k, target| {
            cross.products[(k, target)] - self.means[k] * cross.sums[target].0
        });
        let mut turned = self.vectors.transpose() * centred;
        for (target, (sum, squares)) in cross.sums.iter().enumerate() {
            let column = turned.col_as_slice_mut(target);
            let total = squares - sum * sum / self.weight;
            let penalty = self.penalty(column, total);
            for (entry, value) in column.iter_mut().zip(&self.values) {
                *entry /= value + penalty;
            }
        }
        &self.vectors * turned
    }

    /// The λ with the smallest $W\,\mathrm{RSS}/(W - \mathrm{df})^2$, where $\mathrm{RSS} = \sum w(y - \bar y)^2 - \sum_k z_k^2(d_k + 2\lambda)/(d_k + \lambda)^2$ and
    /// $\mathrm{df} = 1 + \sum_k d_k/(d_k + \lambda)$: the larger one of equals.
    fn penalty(&self, turned: &[f64], total: f64) -> f64 {
        let mut best = (f64::INFINITY, 0.0);
        for each in PENALTIES.iter().rev() {
            let penalty = each * self.weight;
            let (mut residual, mut freedom) = (total, 1.0);
            for (z, value) in turned.iter().zip(&self.values) {
                let shrunk = z / (value + penalty);
                residual -= shrunk * shrunk * (value + 2.0 * penalty);
                freedom += value / (value + penalty);
            }
            let left = self.weight - freedom;
            let score = residual.max(0.0) / (left * left);
            // With as many features as rows the criterion says nothing.
            if (left > 0.0 && score < best.0) || best.1 == 0.0 {
                best = (score, penalty);
            }
        }
        best.1
    }
}

impl Cross {
    fn zero(width: usize, count: usize) -> Self {
        Self {
            products: Mat::zeros(width, count),
            sums: vec![(0.0, 0.0); count],
        }
    }

    fn add(&mut self, other: &Self) {
        self.products += &other.products;
        for (sum, more) in self.sums.iter_mut().zip(&other.sums) {
            sum.0 += more.0;
            sum.1 += more.1;
        }
    }
}

/// Takes the weighted means off, so that moments about means do not cancel.
fn centre(features: &mut [f64], width: usize, weights: &[f64]) {
    let total: f64 = weights.iter().sum();
    let mut means = vec![0.0; width];
    for (row, weight) in features.chunks(width).zip(weights) {
        for (mean, value) in means.iter_mut().zip(row) {
            *mean += weight / total * value;
        }
    }
    for row in features.chunks_mut(width) {
        for (value, mean) in row.iter_mut().zip(&means) {
            *value -= mean;
        }
    }
}
