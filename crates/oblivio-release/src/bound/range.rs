//! How long features can be, for intervals that need a range before anything is seen.

use oblivio_kernels::Kernel;

/// What $\|\phi(x)\|^2 = k(x, x)$ is at most where $\|x\|^2$ is at most this.
///
/// Attained for single kernels; for sums and products the sum and product of the parts' values.
pub fn largest_square(kernel: &Kernel, square: f64) -> f64 {
    match kernel {
        Kernel::Linear => square,
        Kernel::Polynomial {
            degree,
            gamma,
            coef0,
        } => (gamma * square + coef0).powi(degree.cast_signed()),
        Kernel::Gaussian { .. } | Kernel::Laplacian { .. } | Kernel::Matern { .. } => 1.0,
        Kernel::Sum(parts) => parts.iter().map(|k| largest_square(k, square)).sum(),
        Kernel::Product(parts) => parts.iter().map(|k| largest_square(k, square)).product(),
        Kernel::Scaled(factor, kernel) => factor * largest_square(kernel, square),
        // Bounds refuse tables.
        Kernel::Table(_) => f64::INFINITY,
    }
}

/// Whether the kernel has no negative value. A shift then has at most length √2 ρ, else 2ρ.
pub fn is_nonnegative(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Linear | Kernel::Table(_) => false,
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
    fn no_point_within_has_a_longer_feature() {
        for text in [
            "linear",
            "poly(degree=3, gamma=0.5, coef0=1)",
            "rbf(gamma=2)",
            "2 * (laplacian(gamma=1) + linear) * matern32(gamma=1)",
        ] {
            let kernel: Kernel = text.parse().unwrap();
            let most = largest_square(&kernel, 25.0);
            for x in [[3.0, 4.0], [0.0, -5.0], [1.0, 1.0]] {
                assert!(kernel.at(&x, &x) <= most + 1e-12, "{text}");
            }
            assert!((kernel.at(&[3.0, 4.0], &[3.0, 4.0]) - most).abs() < 1e-12);
        }
    }

    /// Two means of features without negative inner products are at most √2 ρ apart, others 2ρ: both are attained.
    #[test]
    fn shifts_are_no_longer_than_said() {
        let linear = largest_distance(&Kernel::Linear, 1.0, 3.0);
        assert_eq!(linear, 6.0); // of the means −3 and 3
        let far = largest_distance(&Kernel::Gaussian { gamma: 1.0 }, 0.5, 1.0);
        let (x, y) = ([0.0], [100.0]);
        let kernel = Kernel::Gaussian { gamma: 1.0 };
        let apart = (kernel.at(&x, &x) + kernel.at(&y, &y) - 2.0 * kernel.at(&x, &y)).sqrt();
        assert!((far - 0.5 * apart).abs() < 1e-12);
    }
}
