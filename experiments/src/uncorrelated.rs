//! The figure on uncorrelated features: h(X) and ⟨h, Z⟩ = h(X) − b(S) against S, for X = S + U.

use std::f64::consts::{PI, TAU};

use anyhow::Result;
use oblivio_simulate::Simulation;

use super::dependence::{Corrected, Scored, bins, correct};
use super::figure::{Axis, Colour, Figure, Legend, Mark, Panel, Series};
use super::statistics::{Sample, seed};
use super::{Findings, Run, Verdict, numbers, values, words};

/// Rows that give the offsets, and as many to measure on.
const ROWS: usize = 10_000;
const CELLS: usize = 32;
/// Rows that the figure shows.
const SHOWN: usize = 600;

/// One of the two examples.
struct Example {
    name: &'static str,
    title: &'static str,
    simulation: Simulation,
    /// S is uniform from zero to this.
    most: f64,
    /// E\[h(X)|S\]
    regression: fn(f64) -> f64,
    /// E h(X)
    mean: f64,
    /// Var E\[h(X)|S\]/Var h(X)
    explained: f64,
}

fn examples() -> [Example; 2] {
    [
        // E[h|S] = S² + 1/12; its variance is 4/45, and E Var(h|S) = E[S²]/3 + 1/180.
        Example {
            name: "square",
            title: "h(x) = x², S on [0, 1], U on [−½, ½]",
            simulation: Simulation::UncorrelatedSquare,
            most: 1.0,
            regression: |s| s * s + 1.0 / 12.0,
            mean: 1.0 / 3.0 + 1.0 / 12.0,
            explained: (4.0 / 45.0) / (4.0 / 45.0 + 1.0 / 9.0 + 1.0 / 180.0),
        },
        // E[h|S] = (2/π)(sin S + cos S) has variance 4/π², and X is uniform on the circle: Var h = ½.
        Example {
            name: "sine",
            title: "h(x) = sin x, S on [0, 2π], U on [0, π/2]",
            simulation: Simulation::UncorrelatedSine,
            most: TAU,
            regression: |s| 2.0 / PI * (s.sin() + s.cos()),
            mean: 0.0,
            explained: 8.0 / (PI * PI),
        },
    ]
}

/// An example's repetitions, and the rows of the first one.
struct Course {
    example: Example,
    before: Sample,
    after: Sample,
    expected: f64,
    /// S, h(X) and ⟨h, Z⟩ of new rows.
    rows: Vec<[f64; 3]>,
}

pub(super) fn reproduce(run: &Run) -> Result<Findings> {
    let mut courses = Vec::new();
    for (number, example) in examples().into_iter().enumerate() {
        let jobs: Vec<u64> = (0..run.repetitions as u64).collect();
        let mut trials = run.each("uncorrelated", &jobs, |&repetition| {
            trial(&example, seed(&[run.seed, 20 + number as u64, repetition]))
        })?;
        let of = |value: fn(&Corrected) -> f64| Sample::of(trials.iter().map(|t| value(&t.0)));
        courses.push(Course {
            before: of(|t| t.before.mean),
            after: of(|t| t.after.mean),
            expected: of(|t| t.after.expected).mean,
            example,
            rows: trials.swap_remove(0).1,
        });
    }
    Ok(Findings {
        numbers: table(&courses),
        verdict: judge(&courses),
        figure: figure(&courses),
    })
}

/// Offsets from one half of the rows, measured on the other; and the rows of that.
fn trial(example: &Example, seed: u64) -> Result<(Corrected, Vec<[f64; 3]>)> {
    let table = example.simulation.table(2 * ROWS, seed)?;
    let (s, h) = (values(&table.sensitive[0])?, values(&table.targets[0])?);
    let part = |rows: std::ops::Range<usize>| Scored {
        scores: h[rows.clone()].to_vec(),
        s: &s[rows],
    };
    let rule = bins(CELLS, 0.0, example.most);
    let corrected = correct(&part(0..ROWS), &part(ROWS..2 * ROWS), &rule)?;
    let rows = (0..ROWS)
        .map(|i| [s[ROWS + i], h[ROWS + i], corrected.scores[i]])
        .collect();
    Ok((corrected, rows))
}

fn judge(courses: &[Course]) -> Verdict {
    let mut holds = true;
    let mut said = Vec::new();
    for course in courses {
        let Course {
            example,
            before,
            after,
            expected,
            ..
        } = course;
        let near = |sample: &Sample, value: f64, allowed: f64| {
            (sample.mean - value).abs() <= 3.0 * sample.standard_error() + allowed
        };
        // The cells see a little less of S than S itself: below one part in a hundred of the closed form.
        holds &= near(before, example.explained, 0.01) && near(after, *expected, 0.1 * expected);
        said.push(format!(
            "{}: S explains {:.1} % of the variance of h(X) ({:.1} % in closed form) and {:.2} % of that of <h,Z> ({:.2} % expected if the means are equal)",
            example.name,
            100.0 * before.mean,
            100.0 * example.explained,
            100.0 * after.mean,
            100.0 * expected
        ));
    }
    Verdict {
        holds,
        sentence: said.join("; "),
    }
}

fn table(courses: &[Course]) -> Vec<oblivio::Column> {
    vec![
        words("h", courses, |course| course.example.name),
        numbers("repetitions", courses, |course| course.after.count as f64),
        numbers("explained_before", courses, |course| course.before.mean),
        numbers("explained_before_closed_form", courses, |course| {
            course.example.explained
        }),
        numbers("explained_after", courses, |course| course.after.mean),
        numbers("explained_after_standard_error", courses, |course| {
            course.after.standard_error()
        }),
        numbers("explained_after_expected", courses, |course| {
            course.expected
        }),
    ]
}

fn figure(courses: &[Course]) -> Figure {
    let panel = |course: &Course| {
        let Course { example, rows, .. } = course;
        let cloud = |which: usize| {
            let shown = rows.iter().take(SHOWN);
            Mark::Cloud(shown.map(|row| (row[0], row[which])).collect())
        };
        let curve = |which: usize| Mark::Line(regression(rows, which, example.most));
        let exact = |value: &dyn Fn(f64) -> f64| {
            let place = |k: u32| example.most * f64::from(k) / 60.0;
            Mark::Dashed((0..=60).map(|k| (place(k), value(place(k)))).collect())
        };
        Panel {
            title: example.title.to_owned(),
            x: Axis::linear("S"),
            y: Axis::linear("h(X) and ⟨h, Z⟩"),
            series: vec![
                Series::new("h(X)", Colour::Orange, cloud(1)),
                Series::new("⟨h, Z⟩", Colour::Sky, cloud(2)),
                Series::new("regression of h(X) on S", Colour::Vermilion, curve(1)),
                Series::new("regression of ⟨h, Z⟩ on S", Colour::Blue, curve(2)),
                Series::new(
                    "exact regressions",
                    Colour::Black,
                    exact(&example.regression),
                ),
                Series::new("", Colour::Black, exact(&|_| example.mean)),
            ],
            legend: if example.name == "square" {
                Legend::UpperLeft
            } else {
                Legend::None
            },
        }
    };
    Figure {
        title: "Uncorrelated features: X = S + U".into(),
        caption: format!(
            "{SHOWN} of {ROWS} new rows, offsets from {ROWS} others, {CELLS} cells; ⟨h, Z⟩ = h(X) − b(S)"
        ),
        panels: courses.iter().map(panel).collect(),
    }
}

/// Means over 25 bins of S.
fn regression(rows: &[[f64; 3]], which: usize, most: f64) -> Vec<(f64, f64)> {
    const BINS: usize = 25;
    let mut sums = [(0.0, 0.0); BINS];
    for row in rows {
        let bin = ((row[0] / most * BINS as f64) as usize).min(BINS - 1);
        sums[bin].0 += 1.0;
        sums[bin].1 += row[which];
    }
    let middle = |bin: usize| most * (bin as f64 + 0.5) / BINS as f64;
    let means = sums
        .iter()
        .enumerate()
        .filter(|(_, (count, _))| *count > 0.0);
    means
        .map(|(bin, (count, sum))| (middle(bin), sum / count))
        .collect()
}
