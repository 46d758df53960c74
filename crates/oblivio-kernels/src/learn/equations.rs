//! The second moments of features, as a linear learner needs them: its normal equations.

use faer::{Mat, MatRef};

use crate::kernel::Lower;

/// Second moments of features z and a target. How z came to be is none of a learner's business.
#[derive(Clone, Debug)]
pub struct NormalEquations {
    /// $\sum w uu^\top$ for $u = (z - o, y - o_y, 1)$, symmetric.
    second: Mat<f64>,
    origin: Vec<f64>,
    rows: usize,
}

impl NormalEquations {
    /// The equations of $\sum w uu^\top$, symmetric, for $u = (z - o, y - o_y, 1)$, with the origin $(o, o_y)$ and the number of rows.
    pub fn new(second: Mat<f64>, origin: Vec<f64>, rows: usize) -> Self {
        Self {
            second,
            origin,
            rows,
        }
    }

    /// The equations of $Rz$ for a symmetric R.
    #[must_use]
    pub fn turned(mut self, turn: MatRef<'_, f64>) -> Self {
        let count = self.len();
        let turned = |matrix: MatRef<'_, f64>| turn * matrix;
        let above = turned(self.second.as_ref().subrows(0, count));
        self.second.as_mut().subrows_mut(0, count).copy_from(&above);
        let left = turned(self.second.as_ref().subcols(0, count).transpose());
        self.second
            .as_mut()
            .subcols_mut(0, count)
            .copy_from(left.transpose());
        let origin = faer::Col::from_fn(count, |k| self.origin[k]);
        for (to, from) in self.origin.iter_mut().zip((turn * &origin).iter()) {
            *to = *from;
        }
        self
    }

    /// The number of features.
    pub fn len(&self) -> usize {
        self.origin.len() - 1
    }

    /// Whether there is no feature.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// $\sum_i w_i$
    pub fn weight(&self) -> f64 {
        let last = self.second.nrows() - 1;
        self.second[(last, last)]
    }

    /// The means of the features, and that of the target.
    pub fn means(&self) -> (Vec<f64>, f64) {
        let last = self.second.nrows() - 1;
        let mean = |k: usize| self.origin[k] + self.second[(last, k)] / self.weight();
        ((0..self.len()).map(mean).collect(), mean(self.len()))
    }

    /// $\sum w\langle z - \bar z, v\rangle^2$
    pub fn variance(&self, v: &[f64]) -> f64 {
        self.centred().0.quadratic(v)
    }

    /// $\sum w(z - \bar z)(z - \bar z)^\top$, $\sum w(z - \bar z)(y - \bar y)$ and $\sum w(y - \bar y)^2$.
    pub fn centred(&self) -> (Lower, Vec<f64>, f64) {
        let last = self.second.nrows() - 1;
        let weight = self.weight();
        let mean: Vec<f64> = (0..last).map(|k| self.second[(last, k)] / weight).collect();
        self.parts(|i, j| self.second[(i, j)] - weight * mean[i] * mean[j])
    }

    /// The same about zero: $\sum w zz^\top$, $\sum w zy$ and $\sum w y^2$.
    pub(crate) fn about_zero(&self) -> (Lower, Vec<f64>, f64) {
        let mut moved = self.second.clone();
        translate(&mut moved, &self.origin);
        self.parts(|i, j| moved[(i, j)])
    }

    fn parts(&self, entry: impl Fn(usize, usize) -> f64) -> (Lower, Vec<f64>, f64) {
        let count = self.len();
        let gram = Lower::from_fn(count, &entry);
        let cross = (0..count).map(|k| entry(count, k)).collect();
        (gram, cross, entry(count, count))
    }
}

/// Moves u by a vector (and zeros): $u' = u + v\,e$ where e is its last entry, which is 1.
pub fn translate(second: &mut Mat<f64>, shift: &[f64]) {
    let last = second.nrows() - 1;
    let weight = second[(last, last)];
    let total: Vec<f64> = (0..last).map(|k| second[(k, last)]).collect();
    let moved: Vec<(usize, f64)> = shift.iter().copied().enumerate().collect();
    for (j, vj) in &moved {
        for i in 0..last {
            second[(i, *j)] += vj * total[i];
            second[(*j, i)] += vj * total[i];
        }
    }
    for (j, vj) in &moved {
        for (i, vi) in &moved {
            second[(*i, *j)] += weight * vi * vj;
        }
        second[(*j, last)] += weight * vj;
        second[(last, *j)] += weight * vj;
    }
}
