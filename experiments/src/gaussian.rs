//! The Gaussian example: with a linear kernel Z and S are independent, with a polynomial one only uncorrelated.
//!
//! X and S standard normal with covariance c, so $X = cS + rV$ with $r^2 = 1 - c^2$. For h(x) = x, ⟨h, Z⟩ = rV. For h(x) = x²,
//! which the polynomial kernel of second order has and the linear one has not, $\langle h, Z\rangle - 1 = D = 2crSV + r^2(V^2 - 1)$: its mean is 0 given S,
//! its spread $4c^2r^2S^2 + 2r^4$ is not constant. With $E D^2 = 4c^2r^2 + 2r^4$ and $E D^4 = 144c^4r^4 + 240c^2r^6 + 60r^8$, S explains the share
//! $\mathrm{Var}\,E[D^2|S]/\mathrm{Var}\,D^2 = 32c^4r^4/(E D^4 - (E D^2)^2)$ of the variance of D².

use anyhow::Result;
use oblivio_simulate::{GaussianParameters, Simulation};

use super::dependence::{Corrected, Scored, bins, correct};
use super::figure::{Axis, Bar, Colour, Figure, Legend, Mark, Panel, Series, Shape};
use super::statistics::{Sample, seed};
use super::{Findings, Run, Verdict, numbers, values, words};

/// Rows that give the offsets, and as many to measure on.
const ROWS: usize = 20_000;
const CELLS: usize = 32;
/// c = 0, 0.1, …, 0.9; at 1 nothing is left of Z.
const TENTHS: std::ops::Range<usize> = 0..10;
/// A name and the function.
type Named = (&'static str, fn(f64) -> f64);
const FUNCTIONS: [Named; 2] = [("x", |x| x), ("x^2", |x| x * x)];

/// One function at one covariance, over all repetitions.
struct Line {
    function: usize,
    covariance: f64,
    before: Sample,
    mean: Sample,
    expected: f64,
    spread: Sample,
    /// What the cells explain of a spread that does not depend on them.
    chance: f64,
}

pub(super) fn reproduce(run: &Run) -> Result<Findings> {
    let mut jobs = Vec::new();
    for function in 0..FUNCTIONS.len() {
        for tenths in TENTHS {
            jobs.extend((0..run.repetitions).map(|repetition| (function, tenths, repetition)));
        }
    }
    let found = run.each("gaussian", &jobs, |&(function, tenths, repetition)| {
        let parts = [
            run.seed,
            10 + function as u64,
            tenths as u64,
            repetition as u64,
        ];
        trial(function, tenths as f64 / 10.0, seed(&parts))
    })?;
    let lines: Vec<Line> = found
        .chunks(run.repetitions)
        .zip(jobs.chunks(run.repetitions))
        .map(|(trials, jobs)| Line {
            function: jobs[0].0,
            covariance: jobs[0].1 as f64 / 10.0,
            before: Sample::of(trials.iter().map(|t| t.before.mean)),
            mean: Sample::of(trials.iter().map(|t| t.after.mean)),
            expected: Sample::of(trials.iter().map(|t| t.after.expected)).mean,
            spread: Sample::of(trials.iter().map(|t| t.after.spread)),
            chance: Sample::of(trials.iter().map(|t| t.after.spread_expected)).mean,
        })
        .collect();
    Ok(Findings {
        numbers: table(&lines),
        verdict: judge(&lines),
        figure: figure(run, &lines),
    })
}

fn trial(function: usize, covariance: f64, seed: u64) -> Result<Corrected> {
    let table = Simulation::Gaussian(GaussianParameters { covariance }).table(2 * ROWS, seed)?;
    let s = values(&table.sensitive[0])?;
    let h = FUNCTIONS[function].1;
    let scores: Vec<f64> = values(&table.features[0])?.iter().map(|x| h(*x)).collect();
    let part = |rows: std::ops::Range<usize>| Scored {
        scores: scores[rows.clone()].to_vec(),
        s: &s[rows],
    };
    correct(
        &part(0..ROWS),
        &part(ROWS..2 * ROWS),
        &bins(CELLS, -3.2, 3.2),
    )
}

/// The share of the variance of D² that S explains.
fn spread_explained(c: f64) -> f64 {
    let (c2, r2) = (c * c, 1.0 - c * c);
    let second = 4.0 * c2 * r2 + 2.0 * r2 * r2;
    let fourth = 144.0 * c2 * c2 * r2 * r2 + 240.0 * c2 * r2.powi(3) + 60.0 * r2.powi(4);
    32.0 * c2 * c2 * r2 * r2 / (fourth - second * second)
}

impl Line {
    fn expected_spread(&self) -> f64 {
        let explained = spread_explained(self.covariance);
        self.chance + if self.function == 0 { 0.0 } else { explained }
    }
}

/// Cells are wide and the outer ones have no end, so that S varies within them: this much is allowed for it.
const WIDTH: f64 = 0.0005;

fn judge(lines: &[Line]) -> Verdict {
    let near = |sample: &Sample, expected: f64, relative: f64| {
        let allowed = 3.0 * sample.standard_error() + WIDTH + relative * expected;
        (sample.mean - expected).abs() <= allowed
    };
    let of = |function: usize| lines.iter().filter(move |line| line.function == function);
    let uncorrelated = lines
        .iter()
        .filter(|line| near(&line.mean, line.expected, 0.0));
    let uncorrelated = uncorrelated.count();
    let flat = of(0)
        .filter(|line| near(&line.spread, line.expected_spread(), 0.0))
        .count();
    let curved = of(1)
        .filter(|line| near(&line.spread, line.expected_spread(), 0.05))
        .count();
    let largest = |function| {
        of(function)
            .map(|line| line.spread.mean)
            .fold(0.0, f64::max)
    };
    let each = TENTHS.len();
    // Dependence must show, too: at c near 0.7 the spread of x² is clearly S's doing.
    let shown = largest(1) > 0.05 && largest(0) < 0.01;
    Verdict {
        holds: uncorrelated == lines.len() && flat == each && curved == each && shown,
        sentence: format!(
            "means given S are equal as expected at {uncorrelated} of {} covariances; the spread of <h,Z> does not depend on S for h(x) = x (at {flat} of {each}, at most {:.1} % explained) and does for h(x) = x^2 (up to {:.1} %, as the closed form says at {curved} of {each})",
            lines.len(),
            100.0 * largest(0),
            100.0 * largest(1),
        ),
    }
}

fn table(lines: &[Line]) -> Vec<oblivio::Column> {
    vec![
        words("h", lines, |line| FUNCTIONS[line.function].0),
        numbers("covariance", lines, |line| line.covariance),
        numbers("repetitions", lines, |line| line.mean.count as f64),
        numbers("means_explained_before", lines, |line| line.before.mean),
        numbers("means_explained", lines, |line| line.mean.mean),
        numbers("means_standard_error", lines, |line| {
            line.mean.standard_error()
        }),
        numbers("means_expected", lines, |line| line.expected),
        numbers("spread_explained", lines, |line| line.spread.mean),
        numbers("spread_standard_error", lines, |line| {
            line.spread.standard_error()
        }),
        numbers("spread_expected", lines, Line::expected_spread),
    ]
}

fn figure(run: &Run, lines: &[Line]) -> Figure {
    let panel = |function: usize, title: &str| {
        let of = || lines.iter().filter(move |line| line.function == function);
        let bars = |shape, sample: fn(&Line) -> &Sample| {
            let bar = |line: &Line| {
                let sample = sample(line);
                let error = if sample.count > 1 {
                    sample.standard_error()
                } else {
                    0.0
                };
                Bar::around(line.covariance, sample.mean, error.min(0.9 * sample.mean))
            };
            Mark::Bars(shape, of().map(bar).collect())
        };
        let curve =
            |value: fn(&Line) -> f64| of().map(|line| (line.covariance, value(line))).collect();
        Panel {
            title: title.to_owned(),
            x: Axis::linear("covariance of X and S").between(-0.04, 0.94),
            y: Axis::log("share of variance explained by the cells").between(5e-4, 2.0),
            series: vec![
                Series::new(
                    "mean of h(X)",
                    Colour::Orange,
                    bars(Shape::Circle, |line| &line.before),
                ),
                Series::new(
                    "mean of ⟨h, Z⟩",
                    Colour::Blue,
                    bars(Shape::Triangle, |line| &line.mean),
                ),
                Series::new(
                    "expected if equal",
                    Colour::Blue,
                    Mark::Dashed(curve(|line| line.expected)),
                ),
                Series::new(
                    "spread of ⟨h, Z⟩",
                    Colour::Vermilion,
                    bars(Shape::Square, |line| &line.spread),
                ),
                Series::new(
                    "expected, closed form",
                    Colour::Vermilion,
                    Mark::Line(curve(Line::expected_spread)),
                ),
            ],
            legend: if function == 0 {
                Legend::MiddleRight
            } else {
                Legend::UpperLeft
            },
        }
    };
    Figure {
        title: "The Gaussian example: the kernel decides what is left".into(),
        caption: format!(
            "{ROWS} new rows, offsets from {ROWS} others, {CELLS} cells; mean ± standard error of {} repetitions",
            run.repetitions
        ),
        panels: vec![
            panel(0, "linear kernel, h(x) = x: independent"),
            panel(1, "polynomial kernel, h(x) = x²: not independent"),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_explained_is_that_of_the_moments() {
        // c² = ½: Var E[D²|S] = 2, E D⁴ = 27.75, E D² = 3/2.
        let found = spread_explained(0.5f64.sqrt());
        assert!((found - 2.0 / 25.5).abs() < 1e-12, "{found}");
        assert_eq!(spread_explained(0.0), 0.0);
    }
}
