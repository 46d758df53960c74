//! The numbers and the figure of the ridge experiments.

use super::super::figure::{Axis, Bar, Colour, Figure, Legend, Mark, Panel, Series, Shape};
use super::super::statistics::Sample;
use super::super::{Run, numbers, words};
use super::{Line, METHODS, Paired, TENTHS, Which};

pub(super) fn table(lines: &[Line]) -> Vec<oblivio::Column> {
    vec![
        numbers("gamma", lines, Line::mix),
        words("method", lines, |line| METHODS[line.method]),
        numbers("repetitions", lines, |line| line.errors.count as f64),
        numbers("mean", lines, |line| line.errors.mean),
        numbers("standard_deviation", lines, |line| line.errors.deviation),
        numbers("median", lines, |line| line.errors.median),
        numbers("median_standard_error", lines, |line| {
            line.errors.median_error()
        }),
        numbers("population", lines, |line| line.exact),
        numbers("population_16_cells", lines, |line| line.in_cells),
        numbers("expected", lines, |line| line.expected),
        numbers("distance_in_standard_errors", lines, Line::distance),
    ]
}

pub(super) fn figure(which: Which, run: &Run, lines: &[Line], paired: &[Paired]) -> Figure {
    const LOOK: [(Colour, Shape); 3] = [
        (Colour::Black, Shape::Circle),
        (Colour::Vermilion, Shape::Square),
        (Colour::Blue, Shape::Triangle),
    ];
    let (number, model) = match which {
        Which::One => (1, "Y = X² + ε"),
        Which::Two => (2, "Y = X² + S² + ε"),
    };
    let mut series = Vec::new();
    for (method, (colour, shape)) in LOOK.into_iter().enumerate() {
        let of = || lines.iter().filter(move |line| line.method == method);
        // Side by side, so that no bar hides another.
        let aside = 0.02 * (method as f64 - 1.0);
        let bar = |line: &Line| {
            let Sample {
                mean, deviation, ..
            } = line.errors;
            Bar {
                low: (mean - deviation).max(0.05 * mean),
                ..Bar::around(line.mix() + aside, mean, deviation)
            }
        };
        series.push(Series::new(
            METHODS[method],
            colour,
            Mark::Bars(shape, of().map(bar).collect()),
        ));
        let expected = of().map(|line| (line.mix(), line.expected)).collect();
        series.push(Series::new("", colour, Mark::Line(expected)));
    }
    series.push(Series::new(
        "expected",
        Colour::Grey,
        Mark::Line(Vec::new()),
    ));
    let error = "test mean squared error";
    let difference = |paired: &Paired| {
        let sample = Sample::of(paired.differences.iter().copied());
        Bar::around(
            paired.tenths as f64 / 10.0,
            sample.median,
            sample.median_error(),
        )
    };
    let population = TENTHS.map(|tenths| {
        let expected = |method| {
            let found = lines
                .iter()
                .find(|l| (l.tenths, l.method) == (tenths, method));
            found.map_or(f64::NAN, |line| line.expected)
        };
        (tenths as f64 / 10.0, expected(2) - expected(1))
    });
    Figure {
        title: format!("Ridge regression, experiment {number}: {model}"),
        caption: format!(
            "X = γU + (1−γ)S; {} repetitions; lines: population with 16 cells, noise, and the cost of estimating the cells' means",
            run.repetitions
        ),
        panels: vec![
            Panel {
                title: "mean ± standard deviation".into(),
                x: Axis::linear("γ, the share of U in X").between(-0.04, 1.04),
                y: match which {
                    Which::One => Axis::log(error),
                    Which::Two => Axis::linear(error),
                },
                series,
                legend: match which {
                    Which::One => Legend::LowerLeft,
                    Which::Two => Legend::UpperRight,
                },
            },
            Panel {
                title: "the same data: M-ORR less ORR".into(),
                x: Axis::linear("γ, the share of U in X").between(-0.04, 1.04),
                y: Axis::linear("difference of test errors"),
                series: vec![
                    Series::new(
                        "no difference",
                        Colour::Grey,
                        Mark::Dashed(vec![(-0.04, 0.0), (1.04, 0.0)]),
                    ),
                    Series::new("expected", Colour::Green, Mark::Line(population.collect())),
                    Series::new(
                        "median ± standard error",
                        Colour::Black,
                        Mark::Bars(Shape::Diamond, paired.iter().map(difference).collect()),
                    ),
                ],
                legend: Legend::UpperRight,
            },
        ],
    }
}
