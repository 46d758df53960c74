//! What HSIC, its level under independence and its unbiased form are computed from.

use super::gamma::GammaFit;

/// Weighted means over the rows (sums, until [`averaged`](Totals::averaged)), of kernels centred in the weighted mean.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) weight: f64,
    /// $\sum_{ij}p_ip_jA_{ij}B_{ij}$, and the same of each side with itself.
    pub(super) cross: f64,
    pub(super) own: [f64; 2],
    /// The means of $A_{ii}$ and $B_{ii}$.
    diagonal: [f64; 2],
    /// Those of their squares.
    squares: [f64; 2],
    /// That of their product.
    product: f64,
}

impl Totals {
    pub(super) fn add_diagonal(&mut self, weight: f64, a: f64, b: f64) {
        self.weight += weight;
        for (k, value) in [a, b].into_iter().enumerate() {
            self.diagonal[k] += weight * value;
            self.squares[k] += weight * value * value;
        }
        self.product += weight * a * b;
    }

    pub(super) fn add_kernel(&mut self, weight: f64, [cross, x, s]: [f64; 3]) {
        self.cross += weight * cross;
        self.own[0] += weight * x;
        self.own[1] += weight * s;
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.weight += other.weight;
        self.cross += other.cross;
        self.product += other.product;
        for k in 0..2 {
            self.own[k] += other.own[k];
            self.diagonal[k] += other.diagonal[k];
            self.squares[k] += other.squares[k];
        }
    }

    pub(super) fn averaged(self) -> Self {
        let mean = |sum: f64| sum / self.weight;
        Self {
            weight: self.weight,
            cross: mean(self.cross),
            own: self.own.map(mean),
            diagonal: self.diagonal.map(mean),
            squares: self.squares.map(mean),
            product: mean(self.product),
        }
    }

    /// The unbiased HSIC of Song et al. (2012) for n repetitions of rows:
    /// $$\frac1{n(n-3)}\Bigl[\operatorname{tr}\tilde A\tilde B + \frac{1^\top\tilde A1\,1^\top\tilde B1}{(n-1)(n-2)} -
    /// \frac{2}{n-2}1^\top\tilde A\tilde B1\Bigr]$$
    /// with the diagonals of $\tilde A$ and $\tilde B$ zero. It is the same for centred kernels, whose rows add up to 0, so
    /// the diagonals say all but the first trace.
    pub(super) fn unbiased(&self, n: f64) -> f64 {
        unbiased(n, self.cross, self.product, self.diagonal)
    }

    /// The same of a side with itself.
    pub(super) fn unbiased_own(&self, n: f64) -> [f64; 2] {
        [0, 1].map(|k| unbiased(n, self.own[k], self.squares[k], [self.diagonal[k]; 2]))
    }

    /// The mean and the variance of HSIC over all permutations of n rows (Kazi-Aoual et al., 1995).
    ///
    /// With weights, n is the number of equally weighted rows that say as much, and both are approximations.
    pub(super) fn permutation_moments(&self, n: f64) -> (f64, f64) {
        let trace = self.diagonal.map(|mean| n * mean);
        let square = self.own.map(|own| n * n * own);
        let diagonal = self.squares.map(|mean| n * mean);
        let first = |k: usize| (n - 1.0) * square[k] - trace[k] * trace[k];
        let second = |k: usize| {
            n * (n + 1.0) * diagonal[k] - (n - 1.0) * (trace[k] * trace[k] + 2.0 * square[k])
        };
        let mean = trace[0] * trace[1] / (n - 1.0);
        let variance = 2.0 * first(0) * first(1) / ((n - 1.0).powi(2) * (n + 1.0) * (n - 2.0))
            + second(0) * second(1) / ((n + 1.0) * n * (n - 1.0) * (n - 2.0) * (n - 3.0));
        (mean / (n * n), variance / n.powi(4))
    }

    /// The gamma distribution with the moments over permutations; none if all permutations give one value.
    pub(super) fn level(&self, n: f64) -> Option<GammaFit> {
        let (mean, variance) = self.permutation_moments(n);
        let varies = variance > 1e-10 * mean * mean;
        varies.then(|| GammaFit::new(mean, variance)).flatten()
    }
}

fn unbiased(n: f64, kernel: f64, product: f64, [a, b]: [f64; 2]) -> f64 {
    let trace = n * n * kernel - n * product;
    let sums = n * n * a * b / ((n - 1.0) * (n - 2.0));
    (trace + sums - 2.0 * n * product / (n - 2.0)) / (n * (n - 3.0))
}

/// HSIC over the geometric mean of the sides' own, 0 if either is constant.
pub(super) fn normalized(cross: f64, x: f64, s: f64) -> f64 {
    if x > 0.0 && s > 0.0 {
        cross / (x * s).sqrt()
    } else {
        0.0
    }
}
