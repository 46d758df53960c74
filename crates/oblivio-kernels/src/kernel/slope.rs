//! Derivatives of kernels.

use super::{Kernel, Smoothness, euclidean, squared_euclidean};

impl Kernel {
    /// k(x, x'), and its derivative $\partial_x k(x, x')$ in `slope`.
    ///
    /// With $f = \sqrt{2\nu}\,\gamma$ and $u = f\|x - x'\|$ the derivatives are $x'$ (linear), $p\gamma(\gamma\langle x, x'\rangle +
    /// c_0)^{p-1}x'$ (polynomial), $-2\gamma k\,(x - x')$ (Gaussian), $-\gamma k\,\mathrm{sign}(x - x')$ (Laplacian), and for Matérn kernels
    /// $-fk\,(x - x')/\|x - x'\|$, $-f^2e^{-u}(x - x')$ and $-\tfrac13f^2(1 + u)e^{-u}(x - x')$. Where there is none (equal coordinates
    /// of a Laplacian kernel, equal points for ν = 1/2) it is taken as zero.
    pub fn slope(&self, x: &[f64], y: &[f64], slope: &mut [f64]) -> f64 {
        match self {
            Self::Linear => {
                slope.copy_from_slice(y);
                self.at(x, y)
            }
            Self::Polynomial {
                degree,
                gamma,
                coef0,
            } => {
                let base = gamma * Kernel::Linear.at(x, y) + coef0;
                let power = base.powi(degree.cast_signed() - 1);
                let factor = f64::from(*degree) * gamma * power;
                scaled(slope, y.iter().map(|b| factor * b));
                power * base
            }
            Self::Gaussian { gamma } => {
                let value = (-gamma * squared_euclidean(x, y)).exp();
                differences(slope, x, y, -2.0 * gamma * value);
                value
            }
            Self::Laplacian { gamma } => {
                let value = self.at(x, y);
                let sign = |d: f64| if d == 0.0 { 0.0 } else { d.signum() };
                let pairs = x.iter().zip(y);
                scaled(slope, pairs.map(|(a, b)| -gamma * value * sign(a - b)));
                value
            }
            Self::Matern { smoothness, gamma } => {
                let factor = smoothness.factor() * gamma;
                let distance = euclidean(x, y);
                let u = factor * distance;
                let decay = (-u).exp();
                let (value, by) = match smoothness {
                    Smoothness::Half if distance > 0.0 => (decay, -factor * decay / distance),
                    Smoothness::Half => (decay, 0.0),
                    Smoothness::ThreeHalves => ((1.0 + u) * decay, -factor * factor * decay),
                    Smoothness::FiveHalves => (
                        (1.0 + u + u * u / 3.0) * decay,
                        -factor * factor * (1.0 + u) * decay / 3.0,
                    ),
                };
                differences(slope, x, y, by);
                value
            }
            Self::Sum(kernels) => {
                slope.fill(0.0);
                let mut part = vec![0.0; x.len()];
                let mut sum = 0.0;
                for kernel in kernels {
                    sum += kernel.slope(x, y, &mut part);
                    slope.iter_mut().zip(&part).for_each(|(s, p)| *s += p);
                }
                sum
            }
            Self::Product(kernels) => {
                slope.fill(0.0);
                let mut part = vec![0.0; x.len()];
                let mut product = 1.0;
                for kernel in kernels {
                    let value = kernel.slope(x, y, &mut part);
                    for (s, p) in slope.iter_mut().zip(&part) {
                        *s = *s * value + product * p;
                    }
                    product *= value;
                }
                product
            }
            Self::Scaled(factor, kernel) => {
                let value = kernel.slope(x, y, slope);
                for s in slope.iter_mut() {
                    *s *= factor;
                }
                factor * value
            }
            // Numbers of objects have no slope.
            Self::Table(_) => {
                slope.fill(0.0);
                self.at(x, y)
            }
        }
    }
}

fn scaled(slope: &mut [f64], values: impl Iterator<Item = f64>) {
    slope.iter_mut().zip(values).for_each(|(s, v)| *s = v);
}

fn differences(slope: &mut [f64], x: &[f64], y: &[f64], by: f64) {
    scaled(slope, x.iter().zip(y).map(|(a, b)| by * (a - b)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_differences_of_values() {
        let kernels = [
            "linear",
            "poly(degree=1, gamma=0.5, coef0=0.3)",
            "poly(degree=3, gamma=0.5, coef0=1)",
            "rbf(gamma=0.7)",
            "laplacian(gamma=0.4)",
            "matern12(gamma=0.8)",
            "matern32(gamma=0.8)",
            "matern52(gamma=0.8)",
            "0.5 * rbf(gamma=0.3) + linear",
            "rbf(gamma=0.3) * poly(degree=2, gamma=1, coef0=1) * matern52(gamma=0.2)",
        ];
        let (x, y) = ([0.3, -1.2, 0.8], [-0.5, 0.4, 1.1]);
        for text in kernels {
            let kernel: Kernel = text.parse().unwrap();
            let mut slope = [0.0; 3];
            let value = kernel.slope(&x, &y, &mut slope);
            assert!((value - kernel.at(&x, &y)).abs() < 1e-14, "{text}");
            for k in 0..3 {
                let step = 1e-5;
                let moved = |by: f64| {
                    let mut x = x;
                    x[k] += by;
                    kernel.at(&x, &y)
                };
                let difference = (moved(step) - moved(-step)) / (2.0 * step);
                assert!((slope[k] - difference).abs() < 1e-8, "{text}: {k}");
            }
        }
    }

    #[test]
    fn there_is_no_slope_where_a_kernel_has_a_tip() {
        let mut slope = [1.0; 2];
        for text in ["laplacian(gamma=1)", "matern12(gamma=1)"] {
            let kernel: Kernel = text.parse().unwrap();
            assert_eq!(kernel.slope(&[1.0, 2.0], &[1.0, 2.0], &mut slope), 1.0);
            assert_eq!(slope, [0.0; 2]);
        }
    }
}
