//! Alignment that is continuous in S: conditional moments and quantiles by ridge regression on features of S.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use oblivio_base::stats::Spread;
use oblivio_base::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::table::{Ends, Table, interpolate, sorted, tie};

/// The most thresholds at which distribution functions are regressed.
const THRESHOLDS: usize = 128;
/// The least conditional variance, as a share of the mean one: a regression can fall below zero, a variance cannot.
pub(crate) const LEAST_VARIANCE: f64 = 0.01;
/// The share of all rows' distribution in that of a row. Where a regression says that there are no scores, those that come all the
/// same stay apart.
pub(crate) const MARGINAL: f64 = 0.01;
/// A variance below this share of that of all scores is rounding.
const NO_VARIANCE: f64 = 1e-18;

/// Regressions of anything on features of S: $E(g \mid s) = \bar g + \psi(s)^\top(\Psi\Omega\Psi^\top + \kappa I)^{-1}\Psi\Omega(g - \bar g)$.
///
/// The features are centred, so the weighted mean of the regression is that of g.
pub struct Regression<'a> {
    pub(crate) features: MatRef<'a, f64>,
    /// The rows that count.
    pub rows: &'a [usize],
    /// How often each row counts.
    pub weights: &'a [f64],
    pub(crate) total: f64,
    factor: Factor,
}

impl<'a> Regression<'a> {
    /// The regression on features of S of these rows.
    pub fn new(
        features: MatRef<'a, f64>,
        rows: &'a [usize],
        weights: &'a [f64],
        ridge: f64,
    ) -> Result<Self> {
        const BLOCK: usize = 4096;
        if !(ridge >= 0.0 && ridge.is_finite()) {
            return Err(Error::InvalidParameter {
                name: "the ridge of the alignment",
                expected: "zero or a positive finite number",
                value: ridge.to_string(),
            });
        }
        check_features(features)?;
        let width = features.nrows();
        let mut gram = Mat::<f64>::zeros(width, width);
        for block in rows.chunks(BLOCK) {
            let scaled = Mat::from_fn(width, block.len(), |j, k| {
                features[(j, block[k])] * weights[block[k]].sqrt()
            });
            let add = Accum::Add;
            // Not in parallel, so that the bits do not depend on the number of threads.
            matmul(
                gram.as_mut(),
                add,
                &scaled,
                scaled.transpose(),
                1.0,
                Par::Seq,
            );
        }
        for j in 0..width {
            gram[(j, j)] += ridge;
        }
        Ok(Self {
            features,
            rows,
            weights,
            total: rows.iter().map(|&i| weights[i]).sum(),
            factor: Factor::new(&gram),
        })
    }

    /// The number of features.
    pub fn width(&self) -> usize {
        self.features.nrows()
    }

    /// From sums $\Psi\Omega(g - \bar g)$ to coefficients, in place.
    pub fn solve(&self, sums: &mut [f64]) {
        self.factor.solve(sums);
    }

    /// Adds an amount of the features of a row.
    pub fn add(&self, sums: &mut [f64], amount: f64, row: usize) {
        add(sums, amount, self.features, row);
    }

    /// The mean of a value of the rows and its coefficients.
    fn of(&self, value: &dyn Fn(usize) -> f64) -> (f64, Vec<f64>) {
        let mut spread = Spread::default();
        for &i in self.rows {
            spread.add(value(i), self.weights[i]);
        }
        let mut on = vec![0.0; self.width()];
        for &i in self.rows {
            let amount = self.weights[i] * (value(i) - spread.mean);
            add(&mut on, amount, self.features, i);
        }
        self.factor.solve(&mut on);
        (spread.mean, on)
    }

    /// The weighted mean over the rows of what is computed for each of them.
    fn mean(&self, value: impl Fn(usize) -> f64 + Sync) -> f64 {
        let values: Vec<f64> = self.rows.par_iter().map(|&i| value(i)).collect();
        let weighted = values.iter().zip(self.rows);
        weighted
            .map(|(v, &i)| self.weights[i] / self.total * v)
            .sum()
    }
}

/// The Cholesky factor of a matrix with no eigenvalue below zero. Directions of no size are left out, as by a pseudo-inverse of the rest.
struct Factor {
    lower: Mat<f64>,
}

impl Factor {
    fn new(matrix: &Mat<f64>) -> Self {
        const NOTHING: f64 = 1e-12;
        let n = matrix.nrows();
        let mut lower = Mat::<f64>::zeros(n, n);
        for j in 0..n {
            let done: f64 = (0..j).map(|k| lower[(j, k)] * lower[(j, k)]).sum();
            let pivot = matrix[(j, j)] - done;
            if pivot <= NOTHING * matrix[(j, j)] {
                continue;
            }
            lower[(j, j)] = pivot.sqrt();
            for i in j + 1..n {
                let done: f64 = (0..j).map(|k| lower[(i, k)] * lower[(j, k)]).sum();
                lower[(i, j)] = (matrix[(i, j)] - done) / lower[(j, j)];
            }
        }
        Self { lower }
    }

    /// Solves in place.
    fn solve(&self, vector: &mut [f64]) {
        let lower = &self.lower;
        let n = vector.len();
        for i in 0..n {
            let done: f64 = (0..i).map(|k| lower[(i, k)] * vector[k]).sum();
            vector[i] = divided(vector[i] - done, lower[(i, i)]);
        }
        for i in (0..n).rev() {
            let done: f64 = (i + 1..n).map(|k| lower[(k, i)] * vector[k]).sum();
            vector[i] = divided(vector[i] - done, lower[(i, i)]);
        }
    }
}

fn divided(value: f64, by: f64) -> f64 {
    if by > 0.0 { value / by } else { 0.0 }
}

/// Conditional means and variances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SmoothNormal {
    pub(crate) mean: f64,
    pub(crate) mean_on: Vec<f64>,
    pub(crate) variance: f64,
    pub(crate) variance_on: Vec<f64>,
    /// The mean of m(s) and of σ(s) over the reference rows.
    pub(crate) centre: f64,
    pub(crate) scale: f64,
}

impl SmoothNormal {
    pub(super) fn fit(regression: &Regression, scores: &[f64]) -> Result<Self> {
        let features = regression.features;
        let (mean, mean_on) = regression.of(&|i| scores[i]);
        let at = |i: usize| mean + dot(&mean_on, features, i);
        let residuals: Vec<f64> = (0..scores.len())
            .into_par_iter()
            .map(|i| scores[i] - at(i))
            .collect();
        let (variance, variance_on) = regression.of(&|i| residuals[i] * residuals[i]);
        let whole = regression.mean(|i| (scores[i] - mean).powi(2));
        let mut normal = Self {
            centre: regression.mean(at),
            scale: 0.0,
            mean,
            mean_on,
            variance: if variance > NO_VARIANCE * whole {
                variance
            } else {
                0.0
            },
            variance_on,
        };
        normal.scale = regression.mean(|i| normal.deviation(features, i));
        normal.check_read().map_err(|_| OVERFLOW)?;
        Ok(normal)
    }

    /// $\sqrt{v(s)}$ with v(s) the regression of $(x - m(s))^2$, no less than a hundredth of its mean.
    fn deviation(&self, features: MatRef<'_, f64>, row: usize) -> f64 {
        let regressed = self.variance + dot(&self.variance_on, features, row);
        regressed.max(LEAST_VARIANCE * self.variance).sqrt()
    }

    /// $\bar m + \bar\sigma\,(x - m(s))/\sigma(s)$, with $\bar m$ and $\bar\sigma$ the means of m(s) and σ(s) over the reference rows;
    /// $\bar m$ where a score has no spread given S.
    pub(super) fn full(&self, scores: &[f64], features: MatRef<'_, f64>) -> Result<Vec<f64>> {
        check_width(features, self.mean_on.len())?;
        let full = |row: usize| self.full_at(scores[row], features, row);
        Ok((0..scores.len()).into_par_iter().map(full).collect())
    }

    /// The map of [`full`](Self::full) for one row.
    pub(super) fn full_at(&self, score: f64, features: MatRef<'_, f64>, row: usize) -> f64 {
        let mean = self.mean + dot(&self.mean_on, features, row);
        if self.variance == 0.0 {
            return self.centre;
        }
        self.centre + self.scale * ((score - mean) / self.deviation(features, row))
    }

    pub(super) fn shift(&mut self, by: f64) {
        self.mean += by;
        self.centre += by;
    }

    pub(super) fn features(&self) -> usize {
        self.mean_on.len()
    }
}

/// Conditional distribution functions at thresholds, and the quantiles of their barycentre.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SmoothTable {
    /// The thresholds, and their ranks among all scores.
    pub(crate) all: Table,
    /// The coefficients of each feature at every threshold, feature after feature.
    pub(crate) on: Vec<f64>,
    /// $\bar Q$ at the ranks of the thresholds.
    pub(crate) common: Vec<f64>,
}

impl SmoothTable {
    pub(super) fn fit(regression: &Regression, scores: &[f64]) -> Result<Self> {
        let Regression { rows, weights, .. } = regression;
        let sorted = sorted(rows.iter().map(|&i| (scores[i], weights[i])));
        let tie = tie(&sorted);
        let mut table = Self {
            all: Table::new(&sorted, tie, Ends::Trimmed, THRESHOLDS),
            on: Vec::new(),
            common: Vec::new(),
        };
        table.on = table.regressed(regression, scores, tie);
        table.common = table.barycentre(regression);
        table.check_read().map_err(|_| OVERFLOW)?;
        Ok(table)
    }

    /// The coefficients of $1[x < z_k] + \tfrac12 1[x = z_k]$ for every threshold: sums between thresholds, added up.
    fn regressed(&self, regression: &Regression, scores: &[f64], tie: f64) -> Vec<f64> {
        let Regression {
            features,
            rows,
            weights,
            ..
        } = *regression;
        let (count, width) = (self.all.values.len(), regression.width());
        // Sums over the scores at each threshold, and over those between it and the one before.
        let mut at = vec![vec![0.0; width]; count];
        let mut between = vec![vec![0.0; width]; count];
        let mut whole = vec![0.0; width];
        for &i in rows {
            add(&mut whole, weights[i], features, i);
            let k = self.all.values.partition_point(|z| *z < scores[i] - tie);
            if k == count {
                continue;
            }
            let within = (self.all.values[k] - scores[i]).abs() <= tie;
            let sums = if within { &mut at } else { &mut between };
            add(&mut sums[k], weights[i], features, i);
        }
        let mut on = vec![0.0; count * width];
        let mut below = vec![0.0; width];
        for k in 0..count {
            let mut column: Vec<f64> = (0..width)
                .map(|j| {
                    below[j] += between[k][j];
                    // Nothing but rounding where the features are centred.
                    let centre = self.all.ranks[k] * whole[j];
                    let sum = below[j] + at[k][j] / 2.0 - centre;
                    below[j] += at[k][j];
                    sum
                })
                .collect();
            regression.factor.solve(&mut column);
            for (j, value) in column.into_iter().enumerate() {
                on[j * count + k] = value;
            }
        }
        on
    }

    /// $\bar Q(u) = \frac1W\sum_i\omega_iQ(u \mid s_i)$ at the ranks of the thresholds.
    fn barycentre(&self, regression: &Regression) -> Vec<f64> {
        const BLOCK: usize = 1024;
        let ranks = &self.all.ranks;
        let partial: Vec<Vec<f64>> = regression
            .rows
            .par_chunks(BLOCK)
            .map(|rows| {
                let mut sums = vec![0.0; ranks.len()];
                let (mut given, mut below) = self.memory();
                for &i in rows {
                    self.distribution(regression.features, i, &mut given, &mut below);
                    let weight = regression.weights[i] / regression.total;
                    for (sum, rank) in sums.iter_mut().zip(ranks) {
                        *sum += weight * inverse(&given, &self.all.values, *rank);
                    }
                }
                sums
            })
            .collect();
        let mut common = vec![0.0; ranks.len()];
        for sums in partial {
            common.iter_mut().zip(sums).for_each(|(c, sum)| *c += sum);
        }
        common
    }

    /// F(z | s) at the thresholds: the regression, no less than the mid-rank of the least threshold and no more than the mid-rank of
    /// the largest, and half-way between the least monotone function above it and the largest below. All of that is continuous in s.
    fn distribution(
        &self,
        features: MatRef<'_, f64>,
        row: usize,
        given: &mut [f64],
        below: &mut [f64],
    ) {
        let count = self.all.ranks.len();
        given.copy_from_slice(&self.all.ranks);
        let (low, high) = (given[0], given[count - 1]);
        for (j, on) in self.on.chunks(count).enumerate() {
            let feature = features[(j, row)];
            given
                .iter_mut()
                .zip(on)
                .for_each(|(f, c)| *f += feature * c);
        }
        for f in &mut *given {
            *f = f.clamp(low, high);
        }
        below.copy_from_slice(given);
        for k in (1..count).rev() {
            below[k - 1] = below[k - 1].min(below[k]);
        }
        let mut most = 0.0;
        for (f, below) in given.iter_mut().zip(below) {
            most = f64::max(most, *f);
            *f = f64::midpoint(most, *below);
        }
    }

    /// The number of thresholds.
    pub(super) fn thresholds(&self) -> usize {
        self.all.values.len()
    }

    /// What [`distribution`](Self::distribution) is written to, and what it works in.
    fn memory(&self) -> (Vec<f64>, Vec<f64>) {
        (vec![0.0; self.thresholds()], vec![0.0; self.thresholds()])
    }

    /// $\bar Q(F(x \mid s))$, with F a broken line between thresholds and a hundredth of it the distribution of all rows.
    ///
    /// Beyond the least and the largest threshold the map goes on with slope 1.
    pub(super) fn full(&self, scores: &[f64], features: MatRef<'_, f64>) -> Result<Vec<f64>> {
        check_width(features, self.on.len() / self.thresholds())?;
        let full = |(given, below): &mut (Vec<f64>, Vec<f64>), row: usize| {
            self.full_at(scores[row], features, row, (given, below))
        };
        let rows = (0..scores.len()).into_par_iter();
        Ok(rows.map_init(|| self.memory(), full).collect())
    }

    /// The map of [`full`](Self::full) for one row.
    pub(super) fn full_at(
        &self,
        score: f64,
        features: MatRef<'_, f64>,
        row: usize,
        (given, below): (&mut [f64], &mut [f64]),
    ) -> f64 {
        let thresholds = &self.all.values;
        let inside = score.clamp(thresholds[0], thresholds[thresholds.len() - 1]);
        self.distribution(features, row, given, below);
        let given = interpolate(thresholds, given, inside);
        let rank = (1.0 - MARGINAL) * given + MARGINAL * self.all.rank(inside);
        interpolate(&self.all.ranks, &self.common, rank) + (score - inside)
    }

    pub(super) fn shift(&mut self, by: f64) {
        let values = self.all.values.iter_mut().chain(&mut self.common);
        values.for_each(|value| *value += by);
    }

    pub(super) fn features(&self) -> usize {
        self.on.len() / self.all.values.len().max(1)
    }
}

/// The largest value whose rank is at most this, of a broken line that may be level; its ends beyond them.
fn inverse(ranks: &[f64], values: &[f64], rank: f64) -> f64 {
    let last = ranks[ranks.len() - 1];
    if rank >= last {
        return values[ranks.partition_point(|r| *r < last)];
    }
    interpolate(ranks, values, rank)
}

const OVERFLOW: Error = Error::Overflow {
    what: "a regression of the alignment",
};

/// Adds an amount of the features of a row.
fn add(sum: &mut [f64], amount: f64, features: MatRef<'_, f64>, row: usize) {
    for (sum, feature) in sum.iter_mut().zip(features.col(row).iter()) {
        *sum += amount * feature;
    }
}

fn dot(on: &[f64], features: MatRef<'_, f64>, row: usize) -> f64 {
    let column = features.col(row);
    on.iter().zip(column.iter()).map(|(c, f)| c * f).sum()
}

fn check_width(features: MatRef<'_, f64>, needed: usize) -> Result<()> {
    if features.nrows() != needed {
        return Err(Error::InvalidParameter {
            name: "the number of features of S",
            expected: "that of the fit of the alignment",
            value: format!("{} in place of {needed}", features.nrows()),
        });
    }
    check_features(features)
}

fn check_features(features: MatRef<'_, f64>) -> Result<()> {
    for row in 0..features.ncols() {
        if let Some(value) = features.col(row).iter().find(|value| !value.is_finite()) {
            return Err(Error::NotFinite {
                name: "a feature of S".into(),
                row,
                value: *value,
            });
        }
    }
    Ok(())
}
