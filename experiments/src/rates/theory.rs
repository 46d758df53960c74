//! The error of estimated conditional means in closed form, where the features given S are known.
//!
//! $X = \frac12U + \frac12\sum_j S_j/\sqrt d$ with U and the $S_j$ uniform on \[−5, 5\] and $k(x, y) = e^{-(x - y)^2}$: given S = s, X is
//! uniform on an interval \[a, a + w\] with w = 5 and $a = \frac12\sum_j s_j/\sqrt d - \frac w2$.

use std::f64::consts::PI;

/// The width of the interval of X given S.
pub(super) const WIDTH: f64 = 5.0;
/// S is within ± this.
pub(super) const BOUND: f64 = 5.0;

/// The middle of the interval of X given S = s.
pub(super) fn middle(s: &[f64]) -> f64 {
    0.5 * s.iter().sum::<f64>() / (s.len() as f64).sqrt()
}

/// $\langle\phi(x), \mu_s\rangle = \frac1w\int_a^{a+w} e^{-(x - y)^2}dy = \frac{\sqrt\pi}{2w}(\mathrm{erf}(a + w - x) - \mathrm{erf}(a - x))$.
pub(super) fn mean_at(x: f64, middle: f64) -> f64 {
    let (low, high) = (middle - 0.5 * WIDTH - x, middle + 0.5 * WIDTH - x);
    PI.sqrt() / (2.0 * WIDTH) * (libm::erf(high) - libm::erf(low))
}

/// $\langle\mu_s, \mu_{s'}\rangle$ for intervals whose middles are δ apart: with $H'' = e^{-t^2}$ it is
/// $(H(w + \delta) + H(w - \delta) - 2H(\delta))/w^2$. At δ = 0: $(\sqrt\pi\,w\,\mathrm{erf}\,w + e^{-w^2} - 1)/w^2$.
pub(super) fn means_inner(apart: f64) -> f64 {
    let h = |t: f64| 0.5 * (PI.sqrt() * t * libm::erf(t) + (-t * t).exp());
    (h(WIDTH + apart) + h(WIDTH - apart) - 2.0 * h(apart)) / (WIDTH * WIDTH)
}

/// Cells of S: all that is needed to know the error of their means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cells {
    /// S has this many values, each a cell of its own.
    Values(usize),
    /// S has d columns, each cut into ℓ equal bins.
    Bins { d: usize, bins: usize },
}

impl Cells {
    pub(super) fn count(self) -> usize {
        match self {
            Self::Values(count) => count,
            Self::Bins { d, bins } => bins.pow(d as u32),
        }
    }

    /// $E\|\mu_S - \mu_{c(S)}\|^2 = \|\mu_s\|^2 - \|\mu_c\|^2$: all cells are alike but for their place.
    pub(super) fn squared_bias(self) -> f64 {
        match self {
            Self::Values(_) => 0.0,
            Self::Bins { d, bins } => {
                let half = BOUND / bins as f64;
                let one = nodes(half);
                let sums: Vec<(f64, f64)> = match d {
                    1 => one.map(|(s, weight)| (middle(&[s]), weight)).to_vec(),
                    _ => one
                        .iter()
                        .flat_map(|(s, v)| one.map(|(t, w)| (middle(&[*s, t]), v * w)))
                        .collect(),
                };
                let inner: f64 = sums
                    .iter()
                    .flat_map(|(s, v)| sums.iter().map(move |(t, w)| v * w * means_inner(s - t)))
                    .sum();
                means_inner(0.0) - inner
            }
        }
    }

    /// $E\|\hat\mu_{c(S)} - \mu_S\|^2$ over samples of n rows, a cell without rows having mean zero as in the paper.
    pub(super) fn squared_error(self, rows: usize) -> f64 {
        let bias = self.squared_bias();
        let own = means_inner(0.0) - bias;
        let (empty, inverse) = inverse_count(rows, 1.0 / self.count() as f64);
        (1.0 - empty) * bias + (1.0 - own) * inverse + empty * means_inner(0.0)
    }
}

/// P(N = 0) and E\[1/N; N > 0\] of a binomial N.
fn inverse_count(trials: usize, chance: f64) -> (f64, f64) {
    let n = trials as f64;
    let odds = (chance / (1.0 - chance)).ln();
    let mut log = n * (1.0 - chance).ln();
    let empty = log.exp();
    let mut sum = 0.0;
    for k in 1..=trials {
        let k = k as f64;
        log += ((n - k + 1.0) / k).ln() + odds;
        sum += log.exp() / k;
    }
    (empty, sum)
}

/// Places and weights of the six-point Gauss rule for a mean over \[−`half`, `half`\].
pub(super) fn nodes(half: f64) -> [(f64, f64); 6] {
    const RULE: [(f64, f64); 3] = [
        (0.238_619_186_083_196_9, 0.467_913_934_572_691),
        (0.661_209_386_466_264_5, 0.360_761_573_048_138_6),
        (0.932_469_514_203_152, 0.171_324_492_379_170_36),
    ];
    let [a, b, c] = RULE.map(|(place, weight)| (half * place, 0.5 * weight));
    let mirrored = |(place, weight): (f64, f64)| (-place, weight);
    [mirrored(c), mirrored(b), mirrored(a), a, b, c]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of f over [−half, half] by the midpoint rule.
    fn mean(half: f64, f: impl Fn(f64) -> f64) -> f64 {
        const STEPS: usize = 2000;
        let place = |i: usize| half * (2.0 * (i as f64 + 0.5) / STEPS as f64 - 1.0);
        (0..STEPS).map(|i| f(place(i))).sum::<f64>() / STEPS as f64
    }

    #[test]
    fn closed_forms_are_the_integrals() {
        for apart in [0.0, 0.7, -3.0] {
            let at = mean(0.5 * WIDTH, |y| (-(y - apart) * (y - apart)).exp());
            assert!((mean_at(apart, 0.0) - at).abs() < 1e-6);
            let inner = mean(0.5 * WIDTH, |x| mean_at(x + apart, 0.0));
            assert!((means_inner(apart) - inner).abs() < 1e-6);
        }
        let w = WIDTH;
        let squared = (PI.sqrt() * w * libm::erf(w) + (-w * w).exp() - 1.0) / (w * w);
        assert!((means_inner(0.0) - squared).abs() < 1e-14);
    }

    #[test]
    fn the_bias_is_that_of_a_mean_over_the_cell() {
        for bins in [2, 5, 16] {
            let half = BOUND / bins as f64;
            let own = mean(half, |s| mean(half, |t| means_inner(0.5 * (s - t))));
            let found = Cells::Bins { d: 1, bins }.squared_bias();
            assert!((found - (means_inner(0.0) - own)).abs() < 1e-6);
        }
        assert_eq!(Cells::Values(4).squared_bias(), 0.0);
        assert_eq!(Cells::Bins { d: 2, bins: 3 }.count(), 9);
    }

    #[test]
    fn a_binomial_count_by_hand() {
        // N of two tosses: 0, 1, 1, 2.
        let (empty, inverse) = inverse_count(2, 0.5);
        assert!((empty - 0.25).abs() < 1e-12);
        assert!((inverse - 0.625).abs() < 1e-12);
    }
}
