//! The support vector machine of one feature, solved exactly.
//!
//! $\min_{w, b} \frac12w^2 + C\sum_i \omega_i(1 - y_i(wf_i + b))_+$ is convex in w once b is the best one for it, and that b is found
//! by a walk over the kinks. No tolerance of a general solver is between the data and the result, whatever C.

/// One row: a feature, a label −1 or 1, and how much it counts.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) feature: f64,
    pub(super) label: f64,
    pub(super) weight: f64,
}

/// The score is $wf + b$.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Machine {
    pub(super) slope: f64,
    pub(super) intercept: f64,
}

impl Machine {
    /// The machine with cost C.
    pub(super) fn fit(rows: &[Row], cost: f64) -> Self {
        const STEPS: usize = 120;
        let golden = 0.5 * (5f64.sqrt() - 1.0);
        let value = |slope: f64| {
            let (intercept, loss) = best_intercept(rows, slope);
            (0.5 * slope * slope / cost + loss, intercept)
        };
        // Grades that overlap are units wide: a slope beyond these would mean a margin of a sixty-fourth.
        let (mut low, mut high) = (-64.0, 64.0);
        let inner =
            |low: f64, high: f64| [high - golden * (high - low), low + golden * (high - low)];
        let [mut left, mut right] = inner(low, high);
        let (mut at_left, mut at_right) = (value(left).0, value(right).0);
        for _ in 0..STEPS {
            if at_left <= at_right {
                (high, right, at_right) = (right, left, at_left);
                left = inner(low, high)[0];
                at_left = value(left).0;
            } else {
                (low, left, at_left) = (left, right, at_right);
                right = inner(low, high)[1];
                at_right = value(right).0;
            }
        }
        let slope = 0.5 * (low + high);
        // No slope at all is a kink of the problem that a search only comes near to.
        let slope = if value(0.0).0 <= value(slope).0 {
            0.0
        } else {
            slope
        };
        Self {
            slope,
            intercept: value(slope).1,
        }
    }
}

/// The best b for a slope, the middle one if there are many, and the loss.
fn best_intercept(rows: &[Row], slope: f64) -> (f64, f64) {
    // The loss of a row has one kink, where y(wf + b) = 1; its derivative by b is −ω below it for label 1 and ω above it for −1.
    let mut kinks: Vec<(f64, f64)> = rows
        .iter()
        .map(|row| (row.label - slope * row.feature, row.weight))
        .collect();
    kinks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let positive = rows.iter().filter(|row| row.label > 0.0);
    let mut derivative = -positive.map(|row| row.weight).sum::<f64>();
    // Sums of weights are exact to rounding only.
    let level = 1e-9 * derivative.abs();
    let (mut low, mut high) = (f64::NAN, f64::NAN);
    for (place, weight) in kinks {
        if derivative < -level {
            low = place;
        }
        high = place;
        derivative += weight;
        if derivative > level {
            break;
        }
    }
    let intercept = 0.5 * (low + high);
    let loss =
        |row: &Row| row.weight * (1.0 - row.label * (slope * row.feature + intercept)).max(0.0);
    (intercept, rows.iter().map(loss).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(of: &[(f64, f64, f64)]) -> Vec<Row> {
        let row = |&(feature, label, weight): &(f64, f64, f64)| Row {
            feature,
            label,
            weight,
        };
        of.iter().map(row).collect()
    }

    #[test]
    fn the_widest_margin_between_two_rows() {
        let machine = Machine::fit(&rows(&[(1.0, -1.0, 1.0), (3.0, 1.0, 1.0)]), 1e6);
        assert!((machine.slope - 1.0).abs() < 1e-6, "{machine:?}");
        assert!((machine.intercept + 2.0).abs() < 1e-6, "{machine:?}");
    }

    #[test]
    fn nothing_to_learn_is_the_majority() {
        let data = [
            (0.0, 1.0, 1.0),
            (0.0, -1.0, 1.0),
            (1.0, 1.0, 1.0),
            (1.0, -1.0, 2.0),
            (-1.0, -1.0, 2.0),
            (-1.0, 1.0, 1.0),
        ];
        let machine = Machine::fit(&rows(&data), 1e4);
        assert_eq!((machine.slope, machine.intercept), (0.0, -1.0));
    }

    #[test]
    fn no_other_machine_does_better() {
        let data: Vec<(f64, f64, f64)> = (0..40)
            .map(|i| {
                let feature = f64::from(i % 13) - 6.0;
                let label = if (i * 7) % 13 + i % 3 > 6 { 1.0 } else { -1.0 };
                (
                    feature + 0.3 * f64::from(i % 5),
                    label,
                    1.0 + f64::from(i % 2),
                )
            })
            .collect();
        let (data, cost) = (rows(&data), 10.0);
        let objective = |machine: Machine| {
            let loss = |row: &Row| {
                row.weight
                    * (1.0 - row.label * (machine.slope * row.feature + machine.intercept)).max(0.0)
            };
            0.5 * machine.slope * machine.slope + cost * data.iter().map(loss).sum::<f64>()
        };
        let best = Machine::fit(&data, cost);
        for slope in -40..=40 {
            for intercept in -40..=40 {
                let other = Machine {
                    slope: f64::from(slope) / 20.0,
                    intercept: f64::from(intercept) / 10.0,
                };
                assert!(objective(best) <= objective(other) + 1e-9);
            }
        }
    }
}
