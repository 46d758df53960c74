//! The numbers and the figure of the classification experiment.

use super::super::figure::{Axis, Bar, Colour, Figure, Legend, Mark, Panel, Series, Shape};
use super::super::statistics::Sample;
use super::super::{Run, Variant, numbers, words};
use super::{Each, Line, MEASURES, METHODS, ROWS, most_beta, parameters};

pub(super) fn table(lines: &[Line]) -> Vec<oblivio::Column> {
    let mut columns = vec![
        words("method", lines, |line| METHODS[line.method].1),
        numbers("repetitions", lines, |line| line.samples[0].count as f64),
    ];
    for (m, name) in MEASURES.into_iter().enumerate() {
        columns.push(numbers(name, lines, |line| line.samples[m].mean));
        columns.push(numbers(
            &format!("{name}_standard_deviation"),
            lines,
            |line| line.samples[m].deviation,
        ));
        columns.push(numbers(&format!("{name}_known"), lines, |line| {
            line.known[m]
        }));
    }
    columns
}

pub(super) fn figure(run: &Run, lines: &[Line], trials: &[[Each; 4]]) -> Figure {
    const LOOK: [(Colour, Shape); 4] = [
        (Colour::Black, Shape::Circle),
        (Colour::Orange, Shape::Diamond),
        (Colour::Blue, Shape::Triangle),
        (Colour::Vermilion, Shape::Square),
    ];
    let most = most_beta(run.variant);
    let label = match run.variant {
        Variant::Paper => "β̃, dependence of prediction and S",
        Variant::Authors => "β without ½, dependence of prediction and S",
    };
    let panel = |m: usize, title: &str, legend| {
        let mut series = Vec::new();
        for (method, (colour, _)) in LOOK.into_iter().enumerate() {
            let points = trials
                .iter()
                .map(|trial| (trial[method][3], trial[method][m]));
            series.push(Series::new("", colour, Mark::Cloud(points.collect())));
        }
        for (line, (colour, shape)) in lines.iter().zip(LOOK) {
            let Sample {
                mean, deviation, ..
            } = line.samples[m];
            let bar = Bar::around(line.samples[3].mean, mean, deviation);
            series.push(Series::new(
                METHODS[line.method].1,
                colour,
                Mark::Bars(shape, vec![bar]),
            ));
        }
        Panel {
            title: title.to_owned(),
            x: Axis::linear(label).between(-0.04 * most, most),
            y: Axis::linear("share of wrong predictions").between(0.08, 0.72),
            series,
            legend,
        }
    };
    Figure {
        title: format!(
            "Classification of grades, θ = {}",
            parameters(run.variant).threshold
        ),
        caption: format!(
            "{ROWS} reference, {ROWS} training and {ROWS} test rows; dots are repetitions, bars mean ± standard deviation of {}",
            run.repetitions
        ),
        panels: vec![
            panel(0, "observed labels", Legend::UpperRight),
            panel(2, "true labels, χ{X₀ ≥ θ}", Legend::None),
            panel(
                1,
                "true labels of the authors' code, Y₀χ{X₀ ≥ θ}",
                Legend::None,
            ),
        ],
    }
}
