//! The tail of the chi-square distribution with one degree of freedom.

use std::f64::consts::PI;

/// $P(\chi^2_1 \ge t) = \operatorname{erfc}\sqrt{t/2}$
pub(super) fn chi_square_tail(t: f64) -> f64 {
    if t > 0.0 { erfc((0.5 * t).sqrt()) } else { 1.0 }
}

/// $\frac2{\sqrt\pi}\int_z^\infty e^{-u^2}du$ for z ≥ 0: by its series where that converges fast, else by its continued fraction
/// $\frac{e^{-z^2}}{\sqrt\pi}\,\frac1{z+}\frac{1/2}{z+}\frac{1}{z+}\frac{3/2}{z+}\cdots$
fn erfc(z: f64) -> f64 {
    const SERIES: usize = 60;
    const FRACTION: usize = 100;
    let decay = (-z * z).exp() / PI.sqrt();
    if z < 2.0 {
        let mut term = 2.0 * z;
        let mut sum = term;
        for n in 1..SERIES {
            term *= 2.0 * z * z / (2 * n + 1) as f64;
            sum += term;
        }
        1.0 - decay * sum
    } else {
        let below = |rest: f64, n: usize| z + 0.5 * n as f64 / rest;
        decay / (1..FRACTION).rev().fold(z, below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_known_quantiles() {
        let known = [
            (1.0, 0.317_310_507_862_914_15),
            (3.841_458_820_694_124, 0.05),
            (6.634_896_601_021_213, 0.01),
            (10.827_566_170_662_733, 0.001),
            (100.0, 1.523_970_604_832_101_3e-23),
        ];
        for (t, tail) in known {
            assert!((chi_square_tail(t) / tail - 1.0).abs() < 1e-12, "{t}");
        }
        assert_eq!(chi_square_tail(-1.0), 1.0);
        // Both forms at the place where one takes over.
        let gap = chi_square_tail(8.0 - 1e-9) - chi_square_tail(8.0 + 1e-9);
        assert!((0.0..1e-10).contains(&gap));
    }
}
