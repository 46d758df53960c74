//! The distribution of a column as a smooth function of S: distribution functions regressed on features of S.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::steps::{Steps, StepsRef};
use crate::align::{Distribution, Regression};
use crate::error::{Error, Result};

/// The share of all rows' distribution in that of a row: values that a regression says nobody has stay apart when they come.
const MARGINAL: f64 = 0.01;
/// Rows whose distributions are computed at a time; fixed, so that the result does not depend on the threads.
const CHUNK: usize = 256;

/// Distribution functions at common knots, each a regression on features D of S.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct SmoothSteps {
    /// The distribution of all reference rows.
    pub(super) all: Steps,
    /// The edges where D is zero.
    pub(super) start: Vec<f64>,
    /// The coefficients of each feature at every edge, feature after feature.
    pub(super) on: Vec<f64>,
}

/// Rows that teach, and the features of S of all rows.
#[derive(Clone, Copy)]
pub(super) struct SmoothRows<'a> {
    pub(super) features: MatRef<'a, f64>,
    pub(super) rows: &'a [usize],
    pub(super) weights: &'a [f64],
    /// κ
    pub(super) ridge: f64,
}

impl SmoothRows<'_> {
    /// The features less their mean over the rows that teach, and that mean.
    pub(super) fn centred(&self) -> (Mat<f64>, Vec<f64>) {
        let total: f64 = self.rows.iter().map(|&i| self.weights[i]).sum();
        let mut centre = vec![0.0; self.features.nrows()];
        for &i in self.rows {
            for (c, d) in centre.iter_mut().zip(self.features.col(i).iter()) {
                *c += self.weights[i] / total * d;
            }
        }
        let centred = Mat::from_fn(self.features.nrows(), self.features.ncols(), |a, i| {
            self.features[(a, i)] - centre[a]
        });
        (centred, centre)
    }
}

impl SmoothSteps {
    /// Regresses $1[x < z]$ and $1[x \le z]$ on the features, for every knot z of the distribution of all.
    pub(super) fn fit(values: &[f64], table: SmoothRows, most: usize) -> Result<Self> {
        let SmoothRows { rows, weights, .. } = table;
        let mut sorted: Vec<(f64, f64)> = rows.iter().map(|&i| (values[i], weights[i])).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = Steps::of(&sorted, most);
        let (centred, centre) = table.centred();
        let regression = Regression::new(centred.as_ref(), rows, weights, table.ridge)?;
        let on = coefficients(&regression, values, &all);
        let mut start = all.edges.clone();
        for (column, c) in on.chunks(start.len()).zip(&centre) {
            start
                .iter_mut()
                .zip(column)
                .for_each(|(s, on)| *s -= c * on);
        }
        let steps = Self { all, start, on };
        steps.is_sound().then_some(steps).ok_or(Error::Overflow {
            what: "a regression of the release",
        })
    }

    /// The number of features.
    pub(super) fn width(&self) -> usize {
        self.on.len() / self.start.len().max(1)
    }

    /// Something of the distribution of every row.
    ///
    /// The regressed edges are cut to \[0, 1\], made to ascend (half-way between the least ascending function above and the largest below),
    /// and mixed with a hundredth of the distribution of all rows. All of that is continuous in s.
    pub(super) fn each<T: Send>(
        &self,
        features: MatRef<'_, f64>,
        of: impl Fn(usize, StepsRef) -> T + Sync,
    ) -> Result<Vec<T>> {
        if features.nrows() != self.width() {
            return Err(Error::InvalidParameter {
                name: "the number of features of S",
                expected: "that of the fit of the release",
                value: format!("{} in place of {}", features.nrows(), self.width()),
            });
        }
        let count = self.start.len();
        let on = MatRef::from_column_major_slice(&self.on, count, self.width());
        let starts: Vec<usize> = (0..features.ncols()).step_by(CHUNK).collect();
        let chunk = |first: &usize| -> Vec<T> {
            let rows = CHUNK.min(features.ncols() - first);
            let mut edges = Mat::from_fn(count, rows, |k, _| self.start[k]);
            let features = features.subcols(*first, rows);
            matmul(edges.as_mut(), Accum::Add, on, features, 1.0, Par::Seq);
            let one = |row: usize| {
                let edges = edges.col_as_slice_mut(row);
                self.settle(edges);
                let values = &self.all.values;
                of(first + row, StepsRef { values, edges })
            };
            (0..rows).map(one).collect()
        };
        let made: Vec<Vec<T>> = starts.par_iter().map(chunk).collect();
        Ok(made.into_iter().flatten().collect())
    }

    /// Makes regressed edges those of a distribution.
    fn settle(&self, edges: &mut [f64]) {
        let last = edges.len() - 1;
        (edges[0], edges[last]) = (0.0, 1.0);
        let mut least = vec![1.0; edges.len()];
        let mut below = 1.0f64;
        for (edge, least) in edges.iter_mut().zip(&mut least).rev() {
            *edge = edge.clamp(0.0, 1.0);
            below = below.min(*edge);
            *least = below;
        }
        let mut most = 0.0f64;
        for ((edge, least), all) in edges.iter_mut().zip(least).zip(&self.all.edges) {
            most = most.max(*edge);
            *edge = (1.0 - MARGINAL) * f64::midpoint(most, least) + MARGINAL * all;
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        self.all.is_sound()
            && self.start.len() == self.all.edges.len()
            && self.on.len().is_multiple_of(self.start.len())
            && self.start.iter().chain(&self.on).all(|v| v.is_finite())
    }
}

/// The coefficients at every edge: sums between the knots, added up.
fn coefficients(regression: &Regression, values: &[f64], all: &Steps) -> Vec<f64> {
    let (count, width) = (all.edges.len(), regression.width());
    // Sums over the values between a knot and the one before, and over those at it.
    let mut sums = vec![vec![0.0; width]; count];
    for &i in regression.rows {
        let k = all.values.partition_point(|z| *z < values[i]);
        let at = all.values.get(k) == Some(&values[i]);
        if let Some(sums) = sums.get_mut(2 * k + usize::from(at)) {
            regression.add(sums, regression.weights[i], i);
        }
    }
    let mut on = vec![0.0; count * width];
    let mut below = vec![0.0; width];
    for (k, sums) in sums.iter().enumerate() {
        below.iter_mut().zip(sums).for_each(|(b, sum)| *b += sum);
        let mut column = below.clone();
        regression.solve(&mut column);
        for (j, value) in column.into_iter().enumerate() {
            on[j * count + k] = value;
        }
    }
    on
}
