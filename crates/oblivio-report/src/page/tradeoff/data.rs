//! What the chart reads: numbers under names of our own.

use oblivio_audit::{Frontier, Tried};
use serde::Serialize;

use crate::number::rounded;
use crate::page::data::escaped;
use crate::text;
use crate::words::{error_words, words};

#[derive(Serialize)]
struct Data {
    tradeoff: Tradeoff,
}

#[derive(Serialize)]
struct Tradeoff {
    errors: Vec<Error>,
    axes: Vec<Axis>,
    modes: Vec<String>,
    aligns: Vec<String>,
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Error {
    label: String,
    constant: Option<f64>,
}

/// A measure of dependence on some columns.
#[derive(Serialize)]
struct Axis {
    label: String,
    measure: String,
    against: String,
    /// Whether dependence makes it larger.
    grows: bool,
    /// Of the start, or of the first candidate.
    expected: Option<f64>,
    critical: Option<f64>,
}

#[derive(Serialize)]
struct Point {
    label: String,
    mode: usize,
    align: usize,
    strength: f64,
    start: bool,
    errors: Vec<Numbers>,
    /// One for each axis.
    dependence: Vec<Option<Dependence>>,
}

#[derive(Serialize)]
struct Numbers {
    value: Option<f64>,
    lower: Option<f64>,
    upper: Option<f64>,
}

#[derive(Serialize)]
struct Dependence {
    #[serde(flatten)]
    numbers: Numbers,
    /// Whether it is on the frontier, for each error.
    frontier: Vec<bool>,
}

/// The chart's data as JSON that may stand in a script element.
pub(super) fn json(frontier: &Frontier) -> String {
    escaped(&serde_json::to_string(&data(frontier)).unwrap_or_default())
}

fn data(frontier: &Frontier) -> Data {
    let words_of = |of: &dyn Fn(&Tried) -> String| {
        let mut found: Vec<String> = Vec::new();
        for name in frontier.candidates.iter().map(of) {
            if !found.contains(&name) {
                found.push(name);
            }
        }
        found
    };
    let modes = words_of(&|tried| tried.mode.clone());
    let aligns = words_of(&align);
    let points = frontier
        .candidates
        .iter()
        .map(|tried| point(frontier, tried, (&modes, &aligns)))
        .collect();
    let tradeoff = Tradeoff {
        errors: frontier
            .errors
            .iter()
            .map(|error| Error {
                label: error_words(error.measure).0.into(),
                constant: finite(error.constant),
            })
            .collect(),
        axes: axes(frontier),
        modes,
        aligns,
        points,
    };
    Data { tradeoff }
}

fn axes(frontier: &Frontier) -> Vec<Axis> {
    let start = frontier.candidates.iter().find(|tried| tried.start);
    let level = start.or(frontier.candidates.first());
    let axes = frontier.axes().into_iter();
    axes.map(|(against, measure)| {
        let found = level.and_then(|tried| tried.of(&against.name, measure));
        let (measure_name, against) = (words(measure).0, text::inline(&against.name));
        Axis {
            label: format!("{measure_name}, {against}"),
            measure: measure_name.into(),
            against,
            grows: measure.grows(),
            expected: found.and_then(|found| finite(found.measured.expected)),
            critical: found.and_then(|found| finite(found.measured.critical)),
        }
    })
    .collect()
}

fn align(tried: &Tried) -> String {
    tried.align.clone().unwrap_or_else(|| "not aligned".into())
}

fn point(frontier: &Frontier, tried: &Tried, (modes, aligns): (&[String], &[String])) -> Point {
    let place = |names: &[String], name: &str| names.iter().position(|n| n == name).unwrap_or(0);
    let dependence = frontier.axes().into_iter().map(|(against, measure)| {
        let found = tried.of(&against.name, measure)?;
        let measured = &found.measured;
        let on = |error: &oblivio_audit::FrontierError| found.on_frontier.contains(&error.measure);
        Some(Dependence {
            numbers: numbers(measured.value, measured.lower, measured.upper),
            frontier: frontier.errors.iter().map(on).collect(),
        })
    });
    Point {
        label: text::inline(&tried.name),
        mode: place(modes, &tried.mode),
        align: place(aligns, &align(tried)),
        strength: tried.strength,
        start: tried.start,
        errors: tried
            .errors
            .iter()
            .map(|error| numbers(error.value, error.lower, error.upper))
            .collect(),
        dependence: dependence.collect(),
    }
}

fn numbers(value: f64, lower: f64, upper: f64) -> Numbers {
    Numbers {
        value: finite(value),
        lower: finite(lower),
        upper: finite(upper),
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then(|| rounded(value))
}
