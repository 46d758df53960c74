//! How long features can be, for intervals that need a range before anything is seen.

use crate::kernel::Kernel;

/// What $\|\phi(x)\|^2 = k(x, x)$ is at most in the box between `low` and `high`.
///
/// Attained for single kernels; for sums and products the sum and product of the parts' values.
pub fn largest_square(kernel: &Kernel, low: &[f64], high: &[f64]) -> f64 {
    match kernel {
        Kernel::Linear => largest_dot(low, high),
        Kernel::Polynomial {
            degree,
            gamma,
            coef0,
        } => (gamma * largest_dot(low, high) + coef0).powi(degree.cast_signed()),
        Kernel::Gaussian { .. } | Kernel::Laplacian { .. } | Kernel::Matern { .. } => 1.0,
        Kernel::Sum(parts) => parts.iter().map(|k| largest_square(k, low, high)).sum(),
        Kernel::Product(parts) => parts.iter().map(|k| largest_square(k, low, high)).product(),
        Kernel::Scaled(factor, kernel) => factor * largest_square(kernel, low, high),
    }
}

/// The largest $\|x\|^2$ in the box.
fn largest_dot(low: &[f64], high: &[f64]) -> f64 {
    let sides = low.iter().zip(high);
    sides.map(|(l, h)| (l * l).max(h * h)).sum()
}

/// Whether the kernel has no negative value. A shift then has at most length √2 ρ, else 2ρ.
pub fn is_nonnegative(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Linear => false,
        Kernel::Polynomial { degree, .. } => degree.is_multiple_of(2),
        Kernel::Gaussian { .. } | Kernel::Laplacian { .. } | Kernel::Matern { .. } => true,
        Kernel::Sum(parts) | Kernel::Product(parts) => parts.iter().all(is_nonnegative),
        Kernel::Scaled(_, kernel) => is_nonnegative(kernel),
    }
}

/// What a distance to the manifold is at most, whatever the rows: that of Z to φ(X), $t\|\delta\|$, and so t·√2 ρ for kernels without negative
/// values, t·2ρ for others. The paper's 5ρ holds for every $\|h^*\| \le \rho$, and is more than is needed for h* = 0.
pub fn largest_distance(kernel: &Kernel, strength: f64, norm: f64) -> f64 {
    let factor = if is_nonnegative(kernel) {
        std::f64::consts::SQRT_2
    } else {
        2.0
    };
    strength * factor * norm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_corner_of_the_box_has_a_longer_feature() {
        let (low, high) = ([-1.0, 0.5], [2.0, 3.0]);
        for text in [
            "linear",
            "poly(degree=3, gamma=0.5, coef0=1)",
            "rbf(gamma=2)",
            "2 * (laplacian(gamma=1) + linear) * matern32(gamma=1)",
        ] {
            let kernel: Kernel = text.parse().unwrap();
            let most = largest_square(&kernel, &low, &high);
            let corners = [[-1.0, 0.5], [-1.0, 3.0], [2.0, 0.5], [2.0, 3.0]];
            let found = corners.map(|x| kernel.at(&x, &x)).into_iter().fold(0.0, f64::max);
            assert!((most - found).abs() < 1e-12, "{text}: {most} {found}");
        }
    }
}
