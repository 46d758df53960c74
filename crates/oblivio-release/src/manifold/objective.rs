//! What the projection of one row minimises.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the caller's instruction set"
)]

use std::ops::Range;

use oblivio_base::Points;
use oblivio_kernels::Kernel;
use oblivio_kernels::kernel::exp::{Vectorized, exp, multiply_add, vectorize};

/// Points that the elements to be projected are made of, as the sums over them need them.
#[derive(Clone, Debug)]
pub(super) struct Space {
    pub(super) kernel: Kernel,
    pub(super) base: Points<'static>,
    /// Feature after feature, padded with zeros to whole blocks.
    columns: Vec<f64>,
    padded: usize,
}

/// Numbers added up side by side.
const LANES: usize = 8;
/// Points worked on at a time, a multiple of the lanes.
const BLOCK: usize = 256;

impl Space {
    pub(super) fn new(kernel: Kernel, base: Points<'static>) -> Self {
        let padded = base.len().next_multiple_of(LANES);
        let mut columns = vec![0.0; padded * base.dim()];
        for i in 0..base.len() {
            for (k, value) in base.row(i).iter().enumerate() {
                columns[k * padded + i] = *value;
            }
        }
        Self {
            kernel,
            base,
            columns,
            padded,
        }
    }

    pub(super) fn dim(&self) -> usize {
        self.base.dim()
    }

    /// k(x, b) for every base point b.
    pub(super) fn at_base(&self, x: &[f64], scratch: &mut Scratch) -> Vec<f64> {
        let Some(gamma) = self.gaussian() else {
            let values = (0..self.base.len()).map(|j| self.kernel.at(x, self.base.row(j)));
            return values.collect();
        };
        scratch.values.resize(self.padded, 0.0);
        vectorize(GaussianValues {
            columns: &self.columns,
            gamma,
            x,
            values: &mut scratch.values,
        });
        scratch.values[..self.base.len()].to_vec()
    }

    /// The γ of a Gaussian kernel, which has sums and a search of its own.
    pub(super) fn gaussian(&self) -> Option<f64> {
        match self.kernel {
            Kernel::Gaussian { gamma } => Some(gamma),
            _ => None,
        }
    }
}

/// $f(x) = k(x, x) - 2\langle z, \phi(x)\rangle$ for $z = \phi(x_0) + \sum_jw_j\phi(b_j)$: the squared distance of φ(x) to z, less $\|z\|^2$.
pub(super) struct Objective<'a> {
    pub(super) space: &'a Space,
    /// $x_0$
    pub(super) own: &'a [f64],
    /// w
    pub(super) weights: &'a [f64],
}

/// Memory that evaluations use again and again.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    values: Vec<f64>,
    slope: Vec<f64>,
}

impl Objective<'_> {
    /// $\sum_jw_jk(b_j, x)$
    pub(super) fn shifted(&self, x: &[f64], scratch: &mut Scratch) -> f64 {
        if let Some(gamma) = self.space.gaussian() {
            let mut means = vec![0.0; x.len()];
            return self.sums(gamma, x, &mut means, scratch);
        }
        let pairs = self.weights.iter().enumerate();
        pairs
            .filter(|(_, weight)| **weight != 0.0)
            .map(|(j, weight)| weight * self.space.kernel.at(x, self.space.base.row(j)))
            .sum()
    }

    /// f(x)
    pub(super) fn value(&self, x: &[f64], scratch: &mut Scratch) -> f64 {
        let kernel = &self.space.kernel;
        let inner = kernel.at(x, self.own) + self.shifted(x, scratch);
        kernel.at(x, x) - 2.0 * inner
    }

    /// f(x), and its derivative in `slope`.
    pub(super) fn slope(&self, x: &[f64], slope: &mut [f64], scratch: &mut Scratch) -> f64 {
        if let Some(gamma) = self.space.gaussian() {
            let inner = self.mean(gamma, x, slope, scratch);
            for (s, x) in slope.iter_mut().zip(x) {
                *s = 4.0 * gamma * (inner * x - *s);
            }
            return 1.0 - 2.0 * inner;
        }
        let kernel = &self.space.kernel;
        scratch.slope.resize(x.len(), 0.0);
        let part = &mut scratch.slope;
        // A kernel is symmetric: the diagonal's derivative is twice that in the first argument.
        let diagonal = kernel.slope(x, x, slope);
        for s in slope.iter_mut() {
            *s *= 2.0;
        }
        let mut inner = kernel.slope(x, self.own, part);
        slope
            .iter_mut()
            .zip(&*part)
            .for_each(|(s, p)| *s -= 2.0 * p);
        for (j, weight) in self.weights.iter().enumerate() {
            if *weight != 0.0 {
                inner += weight * kernel.slope(x, self.space.base.row(j), part);
                for (s, p) in slope.iter_mut().zip(&*part) {
                    *s -= 2.0 * weight * p;
                }
            }
        }
        diagonal - 2.0 * inner
    }

    /// For the Gaussian kernel, $\langle z, \phi(x)\rangle = \sum_ja_jk(b_j, x)$ over all of z, and $\sum_ja_jk(b_j, x)\,b_j$ in `means`.
    pub(super) fn mean(
        &self,
        gamma: f64,
        x: &[f64],
        means: &mut [f64],
        scratch: &mut Scratch,
    ) -> f64 {
        let sum = self.sums(gamma, x, means, scratch);
        let own = self.space.kernel.at(x, self.own);
        for (mean, own_feature) in means.iter_mut().zip(self.own) {
            *mean += own * own_feature;
        }
        sum + own
    }

    fn sums(&self, gamma: f64, x: &[f64], means: &mut [f64], scratch: &mut Scratch) -> f64 {
        scratch.values.resize(self.space.padded, 0.0);
        vectorize(GaussianSums {
            columns: &self.space.columns,
            weights: self.weights,
            gamma,
            x,
            means,
            values: &mut scratch.values,
        })
    }
}

/// $k(b_j, x)$; what stands for padding has no meaning.
struct GaussianValues<'a> {
    columns: &'a [f64],
    gamma: f64,
    x: &'a [f64],
    values: &'a mut [f64],
}

impl Vectorized for GaussianValues<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            columns,
            gamma,
            x,
            values,
        } = self;
        let padded = values.len();
        squared_distances::<FUSED>(columns, padded, 0..padded, x, values);
        for v in values {
            *v = exp::<FUSED>(-gamma * *v);
        }
    }
}

/// $\sum_jw_jk(b_j, x)$ and $\sum_jw_jk(b_j, x)\,b_j$.
struct GaussianSums<'a> {
    columns: &'a [f64],
    weights: &'a [f64],
    gamma: f64,
    x: &'a [f64],
    means: &'a mut [f64],
    values: &'a mut [f64],
}

impl Vectorized for GaussianSums<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> f64 {
        let Self {
            columns,
            weights,
            gamma,
            x,
            means,
            values,
        } = self;
        let padded = values.len();
        means.fill(0.0);
        let mut total = [0.0; LANES];
        // Block by block: what the sums need is still in the first-level cache.
        for start in (0..padded).step_by(BLOCK) {
            let span = start..(start + BLOCK).min(padded);
            let values = &mut values[span.clone()];
            squared_distances::<FUSED>(columns, padded, span.clone(), x, values);
            let own = &weights[start.min(weights.len())..span.end.min(weights.len())];
            for (v, weight) in values.iter_mut().zip(own) {
                *v = weight * exp::<FUSED>(-gamma * *v);
            }
            values[own.len()..].fill(0.0);
            for (mean, column) in means.iter_mut().zip(columns.chunks_exact(padded)) {
                let mut lanes = [0.0; LANES];
                let column = column[span.clone()].chunks_exact(LANES);
                for (v, b) in values.chunks_exact(LANES).zip(column) {
                    for k in 0..LANES {
                        lanes[k] = multiply_add::<FUSED>(v[k], b[k], lanes[k]);
                    }
                }
                *mean += lanes.iter().sum::<f64>();
            }
            for v in values.chunks_exact(LANES) {
                for k in 0..LANES {
                    total[k] += v[k];
                }
            }
        }
        total.iter().sum()
    }
}

/// $\|b_j - x\|^2$ for the base points of a span.
#[inline(always)]
fn squared_distances<const FUSED: bool>(
    columns: &[f64],
    padded: usize,
    span: Range<usize>,
    x: &[f64],
    values: &mut [f64],
) {
    values.fill(0.0);
    for (x, column) in x.iter().zip(columns.chunks_exact(padded)) {
        for (v, b) in values.iter_mut().zip(&column[span.clone()]) {
            let difference = x - b;
            *v = multiply_add::<FUSED>(difference, difference, *v);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Points that look random.
    pub(in super::super) fn scattered(rows: usize, dim: usize, seed: f64) -> Points<'static> {
        let value = |i: usize| ((i as f64 + 1.0) * 12.9898 + seed).sin() * 43_758.547;
        let values: Vec<f64> = (0..rows * dim)
            .map(|i| value(i).rem_euclid(2.0) - 1.0)
            .collect();
        Points::new(values, dim).unwrap()
    }

    #[test]
    fn slopes_are_differences_of_values_for_every_kernel() {
        let kernels = [
            "linear",
            "poly(degree=3, gamma=0.5, coef0=1)",
            "rbf(gamma=0.7)",
            "laplacian(gamma=0.4)",
            "matern12(gamma=0.8)",
            "matern32(gamma=0.8)",
            "matern52(gamma=0.8)",
            "0.5 * rbf(gamma=0.3) + linear",
            "rbf(gamma=0.3) * poly(degree=2, gamma=1, coef0=1)",
        ];
        for text in kernels {
            let space = Space::new(text.parse().unwrap(), scattered(21, 3, 0.5));
            let own = [0.4, -0.3, 0.9];
            let weights: Vec<f64> = (0..21).map(|j| (f64::from(j) * 1.3).sin() / 10.0).collect();
            let objective = Objective {
                space: &space,
                own: &own,
                weights: &weights,
            };
            let mut scratch = Scratch::default();
            let literal = |x: &[f64]| {
                let inner = |(j, w): (usize, &f64)| w * space.kernel.at(space.base.row(j), x);
                let shifted: f64 = weights.iter().enumerate().map(inner).sum();
                space.kernel.at(x, x) - 2.0 * (space.kernel.at(&own, x) + shifted)
            };
            let x = [0.11, 0.52, -0.27];
            let mut slope = [0.0; 3];
            let value = objective.slope(&x, &mut slope, &mut scratch);
            assert!((value - literal(&x)).abs() < 1e-13, "{text}");
            assert!((objective.value(&x, &mut scratch) - value).abs() < 1e-13);
            for k in 0..3 {
                let moved = |by: f64| {
                    let mut x = x;
                    x[k] += by;
                    literal(&x)
                };
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((slope[k] - difference).abs() < 1e-7, "{text}: {k}");
            }
        }
    }
}
