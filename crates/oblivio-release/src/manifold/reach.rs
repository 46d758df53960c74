//! How far a kernel's feature map can go within a box: what lower bounds on distances are made of.

use oblivio_kernels::{Kernel, Smoothness};

/// Bounds of the feature map and its derivatives along unit vectors v, over all points no farther from the origin than a radius.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// $\sup\|\phi(x)\|$
    size: f64,
    /// $\sup\|\partial_v\phi(x)\|$; none where the map has a tip.
    first: Option<f64>,
    /// $\sup\|\partial_v^2\phi(x)\|$
    second: Option<f64>,
    /// $\sup -\partial_v^2k(x, x)$, no less than zero: how much the diagonal bends down.
    bend: Option<f64>,
    /// Whether k(x, x) is constant.
    level: bool,
    /// L′ with $|k(x, y) - k(x, z)| \le L'\|y - z\|$.
    lipschitz: f64,
}

impl Reach {
    /// The bounds for points of `dim` features within this radius.
    ///
    /// As $\|\partial_v\phi(x)\|^2 = \partial_v\partial'_vk$ and $\|\partial_v^2\phi(x)\|^2 = \partial_v^2\partial'^2_vk$ at $x' = x$, they are
    /// $\sqrt{2\gamma}$ and $\sqrt{12}\,\gamma$ (Gaussian), $\sqrt{5/3}\,\gamma$ and $5\gamma^2$ (ν = 5/2), $\sqrt3\,\gamma$ and none (ν = 3/2). With
    /// $q = \gamma R^2 + c_0$ a polynomial has $p\gamma q^{p-1} + p(p-1)\gamma^2R^2q^{p-2}$ and
    /// $p(p-1)\gamma^2(2q^{p-2} + 4(p-2)\gamma R^2q^{p-3} + (p-2)(p-3)\gamma^2R^4q^{p-4})$, squared. Sums of kernels are sums of squares,
    /// products follow the product rule.
    pub(super) fn of(kernel: &Kernel, radius: f64, dim: usize) -> Self {
        let radial = |first, second, lipschitz| Self {
            size: 1.0,
            first,
            second,
            bend: Some(0.0),
            level: true,
            lipschitz,
        };
        match kernel {
            Kernel::Linear => Self {
                size: radius,
                first: Some(1.0),
                second: Some(0.0),
                bend: Some(0.0),
                level: false,
                lipschitz: radius,
            },
            Kernel::Polynomial {
                degree,
                gamma,
                coef0,
            } => polynomial(f64::from(*degree), *gamma, *coef0, radius),
            Kernel::Gaussian { gamma } => radial(
                Some((2.0 * gamma).sqrt()),
                Some(12f64.sqrt() * gamma),
                (2.0 * gamma).sqrt() * (-0.5f64).exp(),
            ),
            Kernel::Laplacian { gamma } => radial(None, None, gamma * (dim as f64).sqrt()),
            Kernel::Matern { smoothness, gamma } => match smoothness {
                Smoothness::Half => radial(None, None, *gamma),
                Smoothness::ThreeHalves => {
                    let factor = 3f64.sqrt() * gamma;
                    radial(Some(factor), None, factor * (-1f64).exp())
                }
                Smoothness::FiveHalves => {
                    // (u + u²)e⁻ᵘ/3 is largest at the golden section.
                    let u = f64::midpoint(1.0, 5f64.sqrt());
                    let steepest = (u + u * u) * (-u).exp() / 3.0;
                    radial(
                        Some((5.0f64 / 3.0).sqrt() * gamma),
                        Some(5.0 * gamma * gamma),
                        steepest * 5f64.sqrt() * gamma,
                    )
                }
            },
            Kernel::Sum(kernels) => {
                let parts = kernels.iter().map(|k| Self::of(k, radius, dim));
                parts.reduce(Self::plus).unwrap_or(radial(None, None, 0.0))
            }
            Kernel::Product(kernels) => {
                let parts = kernels.iter().map(|k| Self::of(k, radius, dim));
                parts.reduce(Self::times).unwrap_or(radial(None, None, 0.0))
            }
            Kernel::Scaled(factor, kernel) => {
                let part = Self::of(kernel, radius, dim);
                let root = factor.sqrt();
                Self {
                    size: root * part.size,
                    first: part.first.map(|v| root * v),
                    second: part.second.map(|v| root * v),
                    bend: part.bend.map(|v| factor * v),
                    level: part.level,
                    lipschitz: factor * part.lipschitz,
                }
            }
            Kernel::Table(_) => radial(None, None, f64::INFINITY),
        }
    }

    fn plus(self, other: Self) -> Self {
        let squares = |a: f64, b: f64| a.hypot(b);
        Self {
            size: squares(self.size, other.size),
            first: both(self.first, other.first, squares),
            second: both(self.second, other.second, squares),
            bend: both(self.bend, other.bend, |a, b| a + b),
            level: self.level && other.level,
            lipschitz: self.lipschitz + other.lipschitz,
        }
    }

    fn times(self, other: Self) -> Self {
        let first = both(self.first, other.first, |a, b| {
            a * other.size + self.size * b
        });
        let slopes = both(self.first, other.first, |a, b| 2.0 * a * b);
        let ends = both(self.second, other.second, |a, b| {
            a * other.size + self.size * b
        });
        let second = both(slopes, ends, |a, b| a + b);
        let size = self.size * other.size;
        // Where one diagonal is constant, it scales the other.
        let bend = if self.level || other.level {
            both(self.bend, other.bend, |a, b| {
                a * other.size.powi(2) + b * self.size.powi(2)
            })
        } else {
            both(first, second, |a, b| 2.0 * (size * b + a * a))
        };
        Self {
            size,
            first,
            second,
            bend,
            level: self.level && other.level,
            lipschitz: self.lipschitz * other.size.powi(2) + other.lipschitz * self.size.powi(2),
        }
    }

    /// $\sup\|\phi(x)\|$
    pub(super) fn size(&self) -> f64 {
        self.size
    }

    /// L′ of the paper.
    pub(super) fn lipschitz(&self) -> f64 {
        self.lipschitz
    }

    /// By how much $k(x, x) - 2\langle z, \phi(x)\rangle$ can bend down along a line, for an element of this norm.
    pub(super) fn curvature(&self, norm: f64) -> Option<f64> {
        both(self.second, self.bend, |second, bend| {
            2.0 * norm * second + bend
        })
    }
}

fn both(a: Option<f64>, b: Option<f64>, f: impl Fn(f64, f64) -> f64) -> Option<f64> {
    a.zip(b).map(|(a, b)| f(a, b))
}

fn polynomial(p: f64, gamma: f64, coef0: f64, radius: f64) -> Reach {
    let square = radius * radius;
    let q = gamma * square + coef0;
    // A factor of zero takes a power of zero with it.
    let term = |factor: f64, less: f64| {
        if factor == 0.0 {
            0.0
        } else {
            factor * q.powf(p - less)
        }
    };
    let first = term(p * gamma, 1.0) + term(p * (p - 1.0) * gamma.powi(2) * square, 2.0);
    let second = p
        * (p - 1.0)
        * gamma.powi(2)
        * (term(2.0 * f64::from(u8::from(p > 1.0)), 2.0)
            + term(4.0 * (p - 2.0).max(0.0) * gamma * square, 3.0)
            + term(
                ((p - 2.0) * (p - 3.0)).max(0.0) * (gamma * square).powi(2),
                4.0,
            ));
    Reach {
        size: q.powf(p / 2.0),
        first: Some(first.sqrt()),
        second: Some(second.sqrt()),
        // (γ‖x‖² + c₀)ᵖ is convex.
        bend: Some(0.0),
        level: false,
        lipschitz: p * gamma * radius * term(1.0, 1.0),
    }
}

/// A bound of $\|\phi(x) - \phi(c)\|$ over the points x that differ from c by at most `half` in each feature.
pub(super) fn moved(kernel: &Kernel, centre: &[f64], half: &[f64], radius: f64) -> f64 {
    match kernel {
        Kernel::Gaussian { .. } | Kernel::Laplacian { .. } | Kernel::Matern { .. } => {
            let corner: Vec<f64> = centre.iter().zip(half).map(|(c, h)| c + h).collect();
            // Rounded up: for equal points the difference is nothing but rounding.
            (2.0 - 2.0 * kernel.at(centre, &corner) + 8.0 * f64::EPSILON).sqrt()
        }
        Kernel::Linear | Kernel::Polynomial { .. } => {
            let length = half.iter().map(|h| h * h).sum::<f64>().sqrt();
            let first = Reach::of(kernel, radius, centre.len()).first;
            first.unwrap_or(f64::INFINITY) * length
        }
        Kernel::Sum(kernels) => {
            let parts = kernels.iter().map(|k| moved(k, centre, half, radius));
            parts.fold(0.0, f64::hypot)
        }
        Kernel::Product(kernels) => {
            let mut size = 1.0;
            let mut total = 0.0;
            for kernel in kernels {
                let other = Reach::of(kernel, radius, centre.len()).size;
                total = total * other + size * moved(kernel, centre, half, radius);
                size *= other;
            }
            total
        }
        Kernel::Scaled(factor, kernel) => factor.sqrt() * moved(kernel, centre, half, radius),
        Kernel::Table(_) => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An element of the space: a few kernels with signs; its norm and its value.
    fn element(kernel: &Kernel) -> (Vec<([f64; 2], f64)>, f64) {
        let parts: Vec<([f64; 2], f64)> = (0..6)
            .map(|i| {
                let t = f64::from(i);
                ([(1.7 * t).sin(), (2.3 * t).cos()], (0.9 * t + 0.4).sin())
            })
            .collect();
        let mut square = 0.0;
        for (x, a) in &parts {
            for (y, b) in &parts {
                square += a * b * kernel.at(x, y);
            }
        }
        (parts, square.sqrt())
    }

    const KERNELS: [&str; 8] = [
        "linear",
        "poly(degree=1, gamma=0.5, coef0=0)",
        "poly(degree=2, gamma=0.5, coef0=1)",
        "poly(degree=4, gamma=0.3, coef0=0.5)",
        "rbf(gamma=0.7)",
        "matern52(gamma=0.8)",
        "0.5 * rbf(gamma=0.3) + linear",
        "rbf(gamma=0.3) * poly(degree=2, gamma=1, coef0=1)",
    ];

    #[test]
    fn second_derivatives_stay_below_their_bound_and_come_near_it() {
        for text in KERNELS {
            let kernel: Kernel = text.parse().unwrap();
            let (parts, norm) = element(&kernel);
            let reach = Reach::of(&kernel, 2f64.sqrt(), 2);
            let bound = reach.curvature(norm).unwrap();
            let f = |x: [f64; 2]| {
                let g: f64 = parts.iter().map(|(y, b)| b * kernel.at(&x, y)).sum();
                kernel.at(&x, &x) - 2.0 * g
            };
            let step = 1e-3;
            for i in 0..40 {
                for j in 0..40 {
                    let x = [f64::from(i) / 20.0 - 1.0, f64::from(j) / 20.0 - 1.0];
                    let angle = 0.37 * f64::from(i * j);
                    let v = [step * angle.cos(), step * angle.sin()];
                    let ahead = f([x[0] + v[0], x[1] + v[1]]);
                    let back = f([x[0] - v[0], x[1] - v[1]]);
                    let second = (ahead - 2.0 * f(x) + back) / (step * step);
                    assert!(second >= -bound - 1e-5, "{text}: {second} {bound}");
                }
            }
        }
    }

    #[test]
    fn the_bound_of_the_gaussian_kernel_is_attained() {
        // ∂²ₓk(x, x′) at x′ = x is an inner product of ∂²φ(x) with φ(x); with itself it is the fourth derivative, 12γ².
        let gamma = 0.7;
        let kernel = Kernel::Gaussian { gamma };
        let step: f64 = 1e-2;
        let second = |y: f64| {
            let at = |x: f64| kernel.at(&[x], &[y]);
            (at(step) - 2.0 * at(0.0) + at(-step)) / (step * step)
        };
        let fourth = (second(step) - 2.0 * second(0.0) + second(-step)) / (step * step);
        let reach = Reach::of(&kernel, 1.0, 1);
        assert!((fourth.sqrt() / reach.second.unwrap() - 1.0).abs() < 1e-3);
    }

    #[test]
    fn nothing_moves_farther_than_said() {
        let more = [
            "laplacian(gamma=0.4)",
            "matern12(gamma=1)",
            "matern32(gamma=1) * linear",
        ];
        for text in KERNELS.iter().chain(&more) {
            let kernel: Kernel = text.parse().unwrap();
            let (centre, half) = ([0.2, -0.1], [0.3, 0.5]);
            let bound = moved(&kernel, &centre, &half, 2f64.sqrt());
            for i in 0..=10 {
                for j in 0..=10 {
                    let at = |k: usize, n: i32| centre[k] + half[k] * (f64::from(n) / 5.0 - 1.0);
                    let x = [at(0, i), at(1, j)];
                    let square = kernel.at(&x, &x) - 2.0 * kernel.at(&x, &centre)
                        + kernel.at(&centre, &centre);
                    assert!(square.max(0.0).sqrt() <= bound + 1e-12, "{text}");
                }
            }
        }
    }

    #[test]
    fn kernels_are_no_steeper_than_their_constant() {
        let more = [
            "laplacian(gamma=0.4)",
            "matern12(gamma=1)",
            "matern32(gamma=1)",
        ];
        for text in KERNELS.iter().chain(&more) {
            let kernel: Kernel = text.parse().unwrap();
            let bound = Reach::of(&kernel, 2f64.sqrt(), 2).lipschitz();
            let mut slope = [0.0; 2];
            for i in 0..=20 {
                for j in 0..=20 {
                    let x = [f64::from(i) / 10.0 - 1.0, f64::from(j) / 10.0 - 1.0];
                    kernel.slope(&x, &[0.6, -0.8], &mut slope);
                    assert!(slope[0].hypot(slope[1]) <= bound + 1e-12, "{text}");
                }
            }
        }
    }
}
