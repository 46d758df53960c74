//! The paper's small examples: two sums of uniform variables, and a Gaussian pair.

use std::f64::consts::{FRAC_PI_2, TAU};

use oblivio_base::Result;

use super::{Sampler, SimulatedTable, check, numbers};

/// $S, V \sim N(0, 1)$ independent and $X = cS + \sqrt{1 - c^2}\,V$, so that X is standard normal, too.
///
/// Columns `s`, `x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianParameters {
    /// $c = E\[XS\]$, between −1 and 1. The paper leaves it open; our default is 0.8.
    pub covariance: f64,
}

impl Default for GaussianParameters {
    fn default() -> Self {
        Self { covariance: 0.8 }
    }
}

pub(super) fn gaussian(
    parameters: GaussianParameters,
    sampler: &mut Sampler,
) -> Result<SimulatedTable> {
    let c = parameters.covariance;
    check(
        (-1.0..=1.0).contains(&c),
        "covariance",
        "between -1 and 1",
        &c,
    )?;
    let rest = (1.0 - c * c).sqrt();
    let rows = sampler.draw(|random| {
        let s = random.normal();
        (s, c * s + rest * random.normal())
    })?;
    Ok(SimulatedTable {
        sensitive: vec![numbers("s", &rows, |row| row.0)],
        features: vec![numbers("x", &rows, |row| row.1)],
        targets: vec![],
        hidden: vec![],
    })
}

pub(super) fn uncorrelated_square(sampler: &mut Sampler) -> Result<SimulatedTable> {
    sum(sampler, (0.0, 1.0), (-0.5, 0.5), |x| x * x)
}

pub(super) fn uncorrelated_sine(sampler: &mut Sampler) -> Result<SimulatedTable> {
    sum(sampler, (0.0, TAU), (0.0, FRAC_PI_2), f64::sin)
}

/// $X = S + U$ for independent uniform S and U, and $h(X)$.
fn sum(
    sampler: &mut Sampler,
    of_s: (f64, f64),
    of_u: (f64, f64),
    h: impl Fn(f64) -> f64,
) -> Result<SimulatedTable> {
    let rows = sampler.draw(|random| {
        let s = random.uniform(of_s.0, of_s.1);
        (s, s + random.uniform(of_u.0, of_u.1))
    })?;
    Ok(SimulatedTable {
        sensitive: vec![numbers("s", &rows, |row| row.0)],
        features: vec![numbers("x", &rows, |row| row.1)],
        targets: vec![numbers("h", &rows, |row| h(row.1))],
        hidden: vec![],
    })
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{FRAC_PI_4, PI};

    use super::super::Simulation::{Gaussian, UncorrelatedSine, UncorrelatedSquare};
    use super::super::tests::{assert_mean, products, values};
    use super::*;
    use oblivio_base::Error;

    const ROWS: usize = 40_000;

    #[test]
    fn both_gaussians_are_standard_with_the_given_covariance() {
        for covariance in [-1.0, -0.3, 0.0, 0.8, 1.0] {
            let table = Gaussian(GaussianParameters { covariance })
                .table(ROWS, 1)
                .unwrap();
            let (s, x) = (values(&table, "s"), values(&table, "x"));
            for v in [s, x] {
                let square = products(v, v);
                assert_mean(v, 0.0);
                assert_mean(&square, 1.0);
                assert_mean(&products(&square, &square), 3.0);
            }
            assert_mean(&products(s, x), covariance);
        }
        for covariance in [1.1, f64::NAN] {
            let refused = Gaussian(GaussianParameters { covariance }).table(10, 0);
            assert!(matches!(
                refused,
                Err(Error::InvalidParameter {
                    name: "covariance",
                    ..
                })
            ));
        }
    }

    /// The rest $h(X) - E[h(X) \mid S]$ is uncorrelated with $g(S)$, while $h(X)$ is not.
    fn assert_regression(
        s: &[f64],
        h: &[f64],
        regression: impl Fn(f64) -> f64,
        (g, covariance): (impl Fn(f64) -> f64, f64),
    ) {
        let rest: Vec<f64> = s.iter().zip(h).map(|(&s, h)| h - regression(s)).collect();
        let g: Vec<f64> = s.iter().map(|&s| g(s)).collect();
        assert_mean(&g, 0.0);
        assert_mean(&products(h, &g), covariance);
        assert_mean(&rest, 0.0);
        assert_mean(&products(&rest, &g), 0.0);
    }

    /// $E[(S + U)^2 \mid S] = S^2 + 1/12$, and Var S² = 1/5 - 1/9.
    #[test]
    fn the_square_is_as_in_the_figure() {
        let table = UncorrelatedSquare.table(ROWS, 2).unwrap();
        let (s, x, h) = (
            values(&table, "s"),
            values(&table, "x"),
            values(&table, "h"),
        );
        assert!(s.iter().all(|s| (0.0..=1.0).contains(s)));
        assert!(x.iter().zip(s).all(|(x, s)| (x - s).abs() <= 0.5 + 1e-12));
        assert_eq!(h, products(x, x));
        assert_mean(s, 0.5);
        assert_regression(
            s,
            h,
            |s| s * s + 1.0 / 12.0,
            (|s| s * s - 1.0 / 3.0, 4.0 / 45.0),
        );
    }

    /// $E[\sin(S + U) \mid S] = \frac2\pi(\sin S + \cos S)$, and Var sin S = 1/2.
    #[test]
    fn the_sine_is_as_in_the_figure() {
        let table = UncorrelatedSine.table(ROWS, 3).unwrap();
        let (s, x, h) = (
            values(&table, "s"),
            values(&table, "x"),
            values(&table, "h"),
        );
        assert!(s.iter().all(|s| (0.0..=TAU).contains(s)));
        assert!(
            x.iter()
                .zip(s)
                .all(|(x, s)| (x - s - FRAC_PI_4).abs() <= FRAC_PI_4 + 1e-12)
        );
        assert!(h.iter().zip(x).all(|(h, x)| *h == x.sin()));
        assert_mean(s, PI);
        assert_regression(
            s,
            h,
            |s| (s.sin() + s.cos()) / FRAC_PI_2,
            (f64::sin, PI.recip()),
        );
    }
}
