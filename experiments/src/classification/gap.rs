//! The constraint of FERM as the paper has it: the means of h in two groups differ by at most ε.
//!
//! oblivio's ε bounds $|\langle h, \delta_c\rangle|$, the distance of each group's mean from the mean of all. With two groups of shares p and
//! 1 − p these distances are (1 − p) and p times the gap between the groups. So both are at most ε max(p, 1 − p) just where the gap is at
//! most ε, and the one constraint is the other.

use std::ops::Range;

use oblivio::sensitive_free::Restraint;

use super::Data;

/// The restraint under which the means of h over the positive rows of the groups differ by at most `epsilon`.
pub(super) fn restraint(epsilon: f64, data: &Data, rows: Range<usize>) -> Restraint {
    let positive = || rows.clone().filter(|&i| data.y[i] > 0.5);
    let share = positive().filter(|&i| data.s[i] > 0.5).count() as f64 / positive().count() as f64;
    Restraint::Slack(epsilon * share.max(1.0 - share))
}

#[cfg(test)]
mod tests {
    use oblivio::Watch;
    use oblivio_simulate::Simulation;

    use super::super::{Method, Problem, ROWS, cost, fitted, parameters, points};
    use super::*;
    use crate::Variant;

    /// The gap between the groups' means of h over the positive training rows.
    fn gap(data: &Data, epsilon: Option<f64>, variant: Variant) -> f64 {
        let (watch, rows) = (Watch::default(), ROWS..2 * ROWS);
        let problem = Problem {
            cost: cost(variant),
            epsilon,
        };
        let predictor = fitted(Method::Ferm, data, problem, &watch).unwrap();
        let points = points(Method::Ferm, data, rows.clone()).unwrap();
        let h = predictor.expansion_at(&points, &watch).unwrap();
        let mean = |group: bool| {
            let of = rows
                .clone()
                .filter(|&i| data.y[i] > 0.5 && (data.s[i] > 0.5) == group);
            let some: Vec<f64> = of.map(|i| h[i - ROWS]).collect();
            some.iter().sum::<f64>() / some.len() as f64
        };
        (mean(true) - mean(false)).abs()
    }

    /// The gap is the paper's ε where the constraint binds, 0 without any, and never more than it is by itself.
    #[test]
    fn the_gap_between_the_groups_is_the_papers_epsilon() {
        for variant in [Variant::Paper, Variant::Authors] {
            let table = Simulation::Grades(parameters(variant))
                .table(3 * ROWS, 5)
                .unwrap();
            let data = Data::of(&table).unwrap();
            assert!(gap(&data, None, variant) < 1e-6);
            let free = gap(&data, Some(1e6), variant);
            assert!(free > 0.3, "{free}");
            // The duality gap of the machine allows for a thousandth or so.
            for epsilon in [0.05, 0.2] {
                let found = gap(&data, Some(epsilon), variant);
                assert!(
                    (found - epsilon).abs() < 0.01 * epsilon,
                    "{found} {epsilon}"
                );
            }
        }
    }
}
