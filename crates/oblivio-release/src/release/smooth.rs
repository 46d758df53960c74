//! The distribution of a column as a smooth function of S: distribution functions regressed on features of S.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use oblivio::sibling::{Distribution, Regression};
use oblivio_base::error::require;
use oblivio_base::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bytes::DAMAGED;
use super::steps::{Steps, StepsRef};

/// The share of all rows' distribution in that of a row: values that a regression says nobody has stay apart when they come.
const MARGINAL: f64 = 0.01;
/// Values of S whose distributions are computed at a time; fixed, so that the result does not depend on the threads.
const CHUNK: usize = 64;

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

/// Rows that teach, and the features of S of all rows, which have mean zero over them.
#[derive(Clone, Copy)]
pub(super) struct SmoothRows<'a> {
    pub(super) features: &'a Mat<f64>,
    pub(super) rows: &'a [usize],
    pub(super) weights: &'a [f64],
    /// κ
    pub(super) ridge: f64,
}

impl<'a> SmoothRows<'a> {
    /// The features less their mean over the rows that teach, and that mean. Copied only if some rows do not teach.
    pub(super) fn centred(&self) -> (Cow<'a, Mat<f64>>, Vec<f64>) {
        let mut centre = vec![0.0; self.features.nrows()];
        if self.rows.len() == self.features.ncols() {
            return (Cow::Borrowed(self.features), centre);
        }
        let total: f64 = self.rows.iter().map(|&i| self.weights[i]).sum();
        for &i in self.rows {
            for (c, d) in centre.iter_mut().zip(self.features.col_as_slice(i)) {
                *c += self.weights[i] / total * d;
            }
        }
        let centred = Mat::from_fn(self.features.nrows(), self.features.ncols(), |a, i| {
            self.features[(a, i)] - centre[a]
        });
        (Cow::Owned(centred), centre)
    }
}

/// Rows with the same features of S, by the bits of these.
struct Same<'a>(&'a [f64]);

impl PartialEq for Same<'_> {
    fn eq(&self, other: &Self) -> bool {
        let mut pairs = self.0.iter().zip(other.0);
        pairs.all(|(a, b)| a.to_bits() == b.to_bits())
    }
}

impl Eq for Same<'_> {}

impl Hash for Same<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|value| value.to_bits().hash(state));
    }
}

/// The rows that share each of the features' values, in the order of their first rows.
fn groups(features: &Mat<f64>) -> Vec<Vec<usize>> {
    let mut places: HashMap<Same, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for row in 0..features.ncols() {
        let place = places.entry(Same(features.col_as_slice(row)));
        let place = *place.or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(row);
    }
    groups
}

impl SmoothSteps {
    /// Regresses $1[x < z]$ and $1[x \le z]$ on the features, for every knot z of the distribution of all.
    pub(super) fn fit(values: &[f64], table: SmoothRows, most: usize) -> Result<Self> {
        let SmoothRows { rows, weights, .. } = table;
        let mut sorted: Vec<(f64, f64)> = rows.iter().map(|&i| (values[i], weights[i])).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = Steps::of(&sorted, most);
        let (centred, centre) = table.centred();
        let regression = Regression::new(centred.as_ref().as_ref(), rows, weights, table.ridge)?;
        let on = coefficients(&regression, values, &all);
        let mut start = all.edges.clone();
        for (column, c) in on.chunks(start.len()).zip(&centre) {
            start
                .iter_mut()
                .zip(column)
                .for_each(|(s, on)| *s -= c * on);
        }
        let steps = Self { all, start, on };
        steps.check_read().map_err(|_| Error::Overflow {
            what: "a regression of the release",
        })?;
        Ok(steps)
    }

    /// The number of features.
    pub(super) fn width(&self) -> usize {
        self.on.len() / self.start.len().max(1)
    }

    /// Something of the distribution of every row; rows with the same S have one.
    ///
    /// The regressed edges are cut to \[0, 1\], made to ascend (half-way between the least ascending function above and the largest below),
    /// and mixed with a hundredth of the distribution of all rows. All of that is continuous in s.
    pub(super) fn each<T: Send>(
        &self,
        features: &Mat<f64>,
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
        let chunk = |groups: &[Vec<usize>]| -> Vec<(usize, T)> {
            let mut edges = Mat::from_fn(count, groups.len(), |k, _| self.start[k]);
            let own = Mat::from_fn(features.nrows(), groups.len(), |a, g| {
                features[(a, groups[g][0])]
            });
            matmul(edges.as_mut(), Accum::Add, on, &own, 1.0, Par::Seq);
            let mut made = Vec::new();
            for (g, rows) in groups.iter().enumerate() {
                let edges = edges.col_as_slice_mut(g);
                self.settle(edges);
                let values = &self.all.values;
                let given = StepsRef { values, edges };
                made.extend(rows.iter().map(|&row| (row, of(row, given))));
            }
            made
        };
        let groups = groups(features);
        let made: Vec<Vec<(usize, T)>> = groups.par_chunks(CHUNK).map(chunk).collect();
        let mut made: Vec<(usize, T)> = made.into_iter().flatten().collect();
        made.sort_unstable_by_key(|(row, _)| *row);
        Ok(made.into_iter().map(|(_, of)| of).collect())
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

    /// Refuses distributions that no fit gives.
    pub(super) fn check_read(&self) -> Result<()> {
        self.all.check_read()?;
        let sound = self.start.len() == self.all.edges.len()
            && self.on.len().is_multiple_of(self.start.len())
            && self.start.iter().chain(&self.on).all(|v| v.is_finite());
        require(sound, DAMAGED)
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
