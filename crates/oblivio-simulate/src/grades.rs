//! The data of the classification experiment.

use oblivio_base::Result;

use super::{Generator, Sampler, SimulatedTable, check, indicator, numbers};

/// The range of original grades.
const LOWEST: f64 = 1.0;
const HIGHEST: f64 = 4.0;

/// How often a grade is moved.
const MOVED: f64 = 0.9;

/// Grades of two groups, one marked down and one marked up, and who passes.
///
/// An original grade $X_0$, normal but cut to \[1, 4\]; $B \sim$ Bernoulli(0.9); then
/// $$X = X_0 - B \text{ if } S = 0, \quad X = X_0 + B \text{ if } S = 1,$$
/// $$Y_0 \sim \text{Bernoulli}(X_0/4), \quad Y = Y_0\,\chi\{X + S \ge \theta\}.$$
///
/// Columns `s`, `x`, `y`; hidden are `x0` and two kinds of true label: `y_true` $= \chi\{X_0 \ge \theta\}$, the paper's,
/// and `y_true_noisy` $= Y_0\,\chi\{X_0 \ge \theta\}$, the one in the authors' code.
///
/// S is a fair coin, but of rows 1 and 2, 3 and 4, … one is in each group: the groups of an even number of rows are
/// equal, as in the authors' code, and rows need no shuffling before they are split. The paper's own
/// $Y_0 = \chi\{U \ge X_0\}$ with $U \le 1 \le X_0$ would be zero almost surely; the authors' code has what is here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradesParameters {
    /// θ: 2 in the paper's text.
    pub threshold: f64,
    /// The mean of $X_0$ before the cut, in \[1, 4\]. The paper gives none; 2.5 is from the authors' code.
    pub mean: f64,
    /// The standard deviation of $X_0$ before the cut, at most 3. The paper gives none; 0.5 is from the authors' code.
    pub standard_deviation: f64,
}

impl Default for GradesParameters {
    fn default() -> Self {
        Self {
            threshold: 2.0,
            mean: 2.5,
            standard_deviation: 0.5,
        }
    }
}

impl GradesParameters {
    /// As in the authors' code, where θ is the mean.
    pub fn authors_code() -> Self {
        Self {
            threshold: 2.5,
            ..Self::default()
        }
    }

    /// $X_0$. The bounds of the parameters keep at least a third of the normal draws.
    fn original(self, random: &mut Generator) -> f64 {
        loop {
            let grade = self.mean + self.standard_deviation * random.normal();
            if (LOWEST..=HIGHEST).contains(&grade) {
                return grade;
            }
        }
    }
}

struct Row {
    s: f64,
    x: f64,
    y: f64,
    x0: f64,
    y_true: f64,
    y_true_noisy: f64,
}

pub(super) fn table(parameters: GradesParameters, sampler: &mut Sampler) -> Result<SimulatedTable> {
    let GradesParameters {
        threshold,
        mean,
        standard_deviation,
    } = parameters;
    check(threshold.is_finite(), "threshold", "finite", &threshold)?;
    check(
        (LOWEST..=HIGHEST).contains(&mean),
        "mean",
        "between 1 and 4",
        &mean,
    )?;
    let possible = standard_deviation > 0.0 && standard_deviation <= HIGHEST - LOWEST;
    check(
        possible,
        "standard_deviation",
        "above 0 and at most 3",
        &standard_deviation,
    )?;

    let rows = sampler.draw(|random| {
        let raised = random.paired();
        let x0 = parameters.original(random);
        let moved = indicator(random.chance(MOVED));
        let y0 = indicator(random.chance(x0 / HIGHEST));
        let s = indicator(raised);
        let x = if raised { x0 + moved } else { x0 - moved };
        let y_true = indicator(x0 >= threshold);
        Row {
            s,
            x,
            y: y0 * indicator(x + s >= threshold),
            x0,
            y_true,
            y_true_noisy: y0 * y_true,
        }
    })?;
    Ok(SimulatedTable {
        sensitive: vec![numbers("s", &rows, |row| row.s)],
        features: vec![numbers("x", &rows, |row| row.x)],
        targets: vec![numbers("y", &rows, |row| row.y)],
        hidden: vec![
            numbers("x0", &rows, |row| row.x0),
            numbers("y_true", &rows, |row| row.y_true),
            numbers("y_true_noisy", &rows, |row| row.y_true_noisy),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::super::Simulation::Grades;
    use super::super::tests::{assert_mean, products, values};
    use super::*;
    use oblivio_base::Error;

    const ROWS: usize = 40_000;
    const OFTEN: f64 = 0.9;

    /// $E[g(X_0)\,\chi\{X_0 \ge a\}]$ for the default parameters, by Simpson's rule.
    fn expectation(g: impl Fn(f64) -> f64, a: f64) -> f64 {
        let density = |x: f64| (-0.5 * ((x - 2.5) / 0.5).powi(2)).exp();
        simpson(|x| g(x) * density(x), a.clamp(LOWEST, HIGHEST)) / simpson(density, LOWEST)
    }

    fn simpson(f: impl Fn(f64) -> f64, low: f64) -> f64 {
        let pieces = 1000;
        let width = (HIGHEST - low) / f64::from(pieces);
        let weight = |i: i32| [2.0, 4.0][(i % 2) as usize];
        let inner: f64 = (1..pieces)
            .map(|i| weight(i) * f(low + width * f64::from(i)))
            .sum();
        (f(low) + inner + f(HIGHEST)) * width / 3.0
    }

    #[test]
    fn original_grades_are_a_truncated_normal() {
        let table = Grades(GradesParameters::default()).table(ROWS, 1).unwrap();
        let x0 = values(&table, "x0");
        assert!(x0.iter().all(|x| (LOWEST..=HIGHEST).contains(x)));
        assert_mean(x0, 2.5);
        assert_mean(&products(x0, x0), expectation(|x| x * x, LOWEST));
    }

    #[test]
    fn nine_grades_of_ten_are_moved_by_one_down_or_up() {
        let table = Grades(GradesParameters::default()).table(ROWS, 2).unwrap();
        let (s, x, x0) = (
            values(&table, "s"),
            values(&table, "x"),
            values(&table, "x0"),
        );
        let moves: Vec<f64> = (0..ROWS)
            .map(|i| (x[i] - x0[i]) * (2.0 * s[i] - 1.0))
            .collect();
        assert!(
            moves
                .iter()
                .all(|m| m.abs() < 1e-12 || (m - 1.0).abs() < 1e-12)
        );
        assert_mean(&moves, OFTEN);
    }

    /// With every threshold passed, Y is Y₀, and P(Y₀ = 1) = E X₀ / 4 = 5/8.
    #[test]
    fn the_noisy_decision_follows_the_original_grade() {
        let parameters = GradesParameters {
            threshold: -1.0,
            ..GradesParameters::default()
        };
        let table = Grades(parameters).table(ROWS, 3).unwrap();
        let y = values(&table, "y");
        assert_mean(y, 0.625);
        assert_mean(
            &products(y, values(&table, "x0")),
            expectation(|x| x * x / 4.0, LOWEST),
        );
        assert_eq!(y, values(&table, "y_true_noisy"));
        assert!(values(&table, "y_true").iter().all(|&t| t == 1.0));
    }

    #[test]
    fn class_rates_are_those_of_the_model() {
        for parameters in [
            GradesParameters::default(),
            GradesParameters::authors_code(),
        ] {
            let theta = parameters.threshold;
            let table = Grades(parameters).table(ROWS, 4).unwrap();
            let passing = |a: f64| expectation(|x| x / 4.0, a);
            // X + S ≥ θ is X₀ ≥ θ + B in the first group and X₀ ≥ θ - 1 - B in the second.
            let rates = [
                OFTEN * passing(theta + 1.0) + (1.0 - OFTEN) * passing(theta),
                OFTEN * passing(theta - 2.0) + (1.0 - OFTEN) * passing(theta - 1.0),
            ];
            for (group, rate) in [0.0, 1.0].into_iter().zip(rates) {
                let s = values(&table, "s").iter();
                let y: Vec<f64> = s
                    .zip(values(&table, "y"))
                    .filter(|(s, _)| **s == group)
                    .map(|(_, y)| *y)
                    .collect();
                assert_mean(&y, rate);
            }
            assert_mean(values(&table, "y_true"), expectation(|_| 1.0, theta));
            assert_mean(values(&table, "y_true_noisy"), passing(theta));
        }
    }

    #[test]
    fn groups_are_equal_wherever_an_even_table_is_cut() {
        let table = Grades(GradesParameters::default()).table(1000, 5).unwrap();
        let s = values(&table, "s");
        assert!(s.chunks(2).all(|pair| pair[0] + pair[1] == 1.0));
        let first: Vec<f64> = s.iter().step_by(2).copied().collect();
        assert_mean(&first, 0.5);
    }

    #[test]
    fn impossible_parameters_are_refused() {
        let usual = GradesParameters::default();
        for (parameters, culprit) in [
            (
                GradesParameters {
                    threshold: f64::NAN,
                    ..usual
                },
                "threshold",
            ),
            (GradesParameters { mean: 0.9, ..usual }, "mean"),
            (
                GradesParameters {
                    standard_deviation: 0.0,
                    ..usual
                },
                "standard_deviation",
            ),
            (
                GradesParameters {
                    standard_deviation: 3.1,
                    ..usual
                },
                "standard_deviation",
            ),
        ] {
            let refused = Grades(parameters).table(10, 0);
            assert!(
                matches!(refused, Err(Error::InvalidParameter { name, .. }) if name == culprit)
            );
        }
    }
}
