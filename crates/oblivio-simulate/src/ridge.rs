//! The data of the ridge experiments.

use oblivio_base::Result;

use super::{Sampler, SimulatedTable, check, numbers};

/// $S, U \sim U[-5, 5]$ and $X = \gamma U + (1-\gamma)S$; then $Y = X^2 + \varepsilon$ in experiment 1 and
/// $Y = X^2 + S^2 + \varepsilon$ in experiment 2, with normal ε.
///
/// Columns `s`, `x`, `y`. With the same seed, neither the parameters nor the experiment move S, U or ε.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RidgeParameters {
    /// The paper's γ, between 0 (X is S) and 1 (X is independent of S). The paper runs 0, 0.1, …, 1; our default is ½.
    pub mix: f64,
    /// The variance of ε.
    pub noise_variance: f64,
}

impl Default for RidgeParameters {
    fn default() -> Self {
        Self {
            mix: 0.5,
            noise_variance: 0.1,
        }
    }
}

impl RidgeParameters {
    /// As in the authors' code, where 0.1 is the noise's standard deviation.
    pub fn authors_code() -> Self {
        Self {
            noise_variance: 0.01,
            ..Self::default()
        }
    }
}

struct Row {
    s: f64,
    x: f64,
    y: f64,
}

/// `direct` is what S adds to Y beside its part in X.
pub(super) fn table(
    parameters: RidgeParameters,
    direct: fn(f64) -> f64,
    sampler: &mut Sampler,
) -> Result<SimulatedTable> {
    let RidgeParameters {
        mix,
        noise_variance,
    } = parameters;
    check((0.0..=1.0).contains(&mix), "mix", "between 0 and 1", &mix)?;
    let possible = noise_variance >= 0.0 && noise_variance.is_finite();
    check(
        possible,
        "noise_variance",
        "finite and not negative",
        &noise_variance,
    )?;

    let deviation = noise_variance.sqrt();
    let rows = sampler.draw(|random| {
        let s = random.uniform(-5.0, 5.0);
        let u = random.uniform(-5.0, 5.0);
        let x = mix * u + (1.0 - mix) * s;
        let y = x * x + direct(s) + deviation * random.normal();
        Row { s, x, y }
    })?;
    Ok(SimulatedTable {
        sensitive: vec![numbers("s", &rows, |row| row.s)],
        features: vec![numbers("x", &rows, |row| row.x)],
        targets: vec![numbers("y", &rows, |row| row.y)],
        hidden: vec![],
    })
}

#[cfg(test)]
mod tests {
    use super::super::Simulation::{Ridge1, Ridge2};
    use super::super::tests::{assert_mean, products, values};
    use super::*;
    use oblivio_base::Error;

    const ROWS: usize = 40_000;

    #[test]
    fn moments_are_those_of_the_model() {
        // Var U = 25/3 on [-5, 5], so Var X = (γ² + (1-γ)²) 25/3 and Cov(X, S) = (1-γ) 25/3.
        for mix in [0.0, 0.3, 1.0] {
            let parameters = RidgeParameters {
                mix,
                ..RidgeParameters::default()
            };
            let table = Ridge1(parameters).table(ROWS, 1).unwrap();
            let (s, x) = (values(&table, "s"), values(&table, "x"));
            assert!(s.iter().chain(x).all(|v| v.abs() <= 5.0));
            assert_mean(s, 0.0);
            assert_mean(&products(s, s), 25.0 / 3.0);
            assert_mean(
                &products(x, x),
                (mix * mix + (1.0 - mix).powi(2)) * 25.0 / 3.0,
            );
            assert_mean(&products(x, s), (1.0 - mix) * 25.0 / 3.0);
        }
    }

    #[test]
    fn the_noise_has_the_variance_of_the_paper_or_of_the_code() {
        for (parameters, variance) in [
            (RidgeParameters::default(), 0.1),
            (RidgeParameters::authors_code(), 0.01),
        ] {
            let table = Ridge1(parameters).table(ROWS, 2).unwrap();
            let (s, x, y) = (
                values(&table, "s"),
                values(&table, "x"),
                values(&table, "y"),
            );
            let noise: Vec<f64> = y.iter().zip(x).map(|(y, x)| y - x * x).collect();
            assert_mean(&noise, 0.0);
            assert_mean(&products(&noise, &noise), variance);
            // E[ε | X, S] = 0, along the two directions that matter.
            assert_mean(&products(&noise, &products(x, x)), 0.0);
            assert_mean(&products(&noise, &products(s, s)), 0.0);
        }
    }

    #[test]
    fn the_second_experiment_adds_the_square_of_s() {
        let parameters = RidgeParameters {
            noise_variance: 0.0,
            ..RidgeParameters::default()
        };
        let one = Ridge1(parameters).table(100, 3).unwrap();
        let two = Ridge2(parameters).table(100, 3).unwrap();
        assert_eq!(
            (&one.sensitive, &one.features),
            (&two.sensitive, &two.features)
        );
        for i in 0..100 {
            let (s, x) = (values(&one, "s")[i], values(&one, "x")[i]);
            assert_eq!(values(&one, "y")[i], x * x);
            assert_eq!(values(&two, "y")[i], x * x + s * s);
        }
    }

    #[test]
    fn impossible_parameters_are_refused() {
        for (mix, noise_variance, culprit) in [
            (-0.1, 0.1, "mix"),
            (1.1, 0.1, "mix"),
            (f64::NAN, 0.1, "mix"),
            (0.5, -0.1, "noise_variance"),
            (0.5, f64::INFINITY, "noise_variance"),
            (0.5, f64::NAN, "noise_variance"),
        ] {
            let refused = Ridge2(RidgeParameters {
                mix,
                noise_variance,
            })
            .table(10, 0);
            assert!(
                matches!(refused, Err(Error::InvalidParameter { name, .. }) if name == culprit)
            );
        }
    }
}
