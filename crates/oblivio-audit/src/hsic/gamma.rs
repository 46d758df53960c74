//! The gamma distribution that stands in for a statistic under independence.

/// A gamma distribution by its shape and scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct GammaFit {
    shape: f64,
    scale: f64,
}

impl GammaFit {
    /// The distribution with this mean and variance; none if there is nothing to fit.
    pub(super) fn new(mean: f64, variance: f64) -> Option<Self> {
        let fit = Self {
            shape: mean * mean / variance,
            scale: variance / mean,
        };
        let usable = |v: f64| v.is_finite() && v > 0.0;
        (usable(fit.shape) && usable(fit.scale)).then_some(fit)
    }

    /// The probability of a value at least this large.
    pub(super) fn tail(&self, value: f64) -> f64 {
        upper(self.shape, value / self.scale).clamp(0.0, 1.0)
    }

    /// The value that is exceeded with this probability.
    pub(super) fn exceeded_with(&self, probability: f64) -> f64 {
        let mut high = self.shape + 1.0;
        while upper(self.shape, high) > probability {
            high *= 2.0;
        }
        let mut low = 0.0;
        // Each step halves the bracket: after 100 nothing is left of it.
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if upper(self.shape, middle) > probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high) * self.scale
    }
}

/// $Q(a, x) = \int_x^\infty t^{a-1}e^{-t}\,dt/\Gamma(a)$: by its series left of the mode, by Lentz's continued fraction right of it.
fn upper(a: f64, x: f64) -> f64 {
    const STEPS: usize = 10_000;
    const CLOSE: f64 = 1e-15;
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for step in 1..STEPS {
            term *= x / (a + step as f64);
            sum += term;
            if term < sum * CLOSE {
                break;
            }
        }
        return 1.0 - front * sum;
    }
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (f64::MAX, 1.0 / b);
    let mut fraction = d;
    for step in 1..STEPS {
        let step = step as f64;
        let numerator = -step * (step - a);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < CLOSE {
            break;
        }
    }
    front * fraction
}

/// ln Γ(a) for a > 0, by Stirling's series after moving a beyond 15.
fn ln_gamma(a: f64) -> f64 {
    let (mut a, mut product) = (a, 1.0f64);
    while a < 15.0 {
        product *= a;
        a += 1.0;
    }
    let square = 1.0 / (a * a);
    let series = (1.0 / 12.0
        - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0))))
        / a;
    (a - 0.5) * a.ln() - a + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - product.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_known_distributions() {
        for x in [0.1, 0.7, 1.0, 3.0, 20.0] {
            // Shape 1 is the exponential distribution, shape 2 a sum of two.
            let one = GammaFit::new(1.0, 1.0).unwrap();
            assert!((one.tail(x) / (-x).exp() - 1.0).abs() < 1e-12);
            let two = GammaFit::new(2.0, 2.0).unwrap();
            assert!((two.tail(x) / ((1.0 + x) * (-x).exp()) - 1.0).abs() < 1e-12);
        }
        // Half a chi-squared of one degree of freedom: 3.841 is exceeded in one case of twenty.
        let chi = GammaFit::new(1.0, 2.0).unwrap();
        assert!((chi.exceeded_with(0.05) - 3.841_458_820_694_124).abs() < 1e-9);
        assert!((chi.tail(3.841_458_820_694_124) - 0.05).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_fitted_is_not() {
        assert!(GammaFit::new(0.0, 1.0).is_none());
        assert!(GammaFit::new(1.0, 0.0).is_none());
        assert!(GammaFit::new(1.0, -1.0).is_none());
    }
}
