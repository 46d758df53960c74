//! What the charts read: numbers under names of our own, so that no name from data is ever taken for a path.

use oblivio_audit::{Audit, Measured, Profile};
use serde::Serialize;

use super::FrontierPoint;
use super::features::{FEATURES_IN_CHART, of};
use super::view::{CELLS_IN_CHARTS, View, cell, largest};
use crate::number::rounded;
use crate::pair::headline;
use crate::text;

#[derive(Serialize)]
struct Data {
    /// The subject and the columns that are chosen at first.
    subject: usize,
    columns: usize,
    subjects: Vec<String>,
    against: Vec<Columns>,
    views: Vec<Distributions>,
    features: Vec<Vec<Feature>>,
    frontier: Vec<Point>,
}

#[derive(Serialize)]
struct Columns {
    name: String,
    /// Cells that charts leave out.
    left_out: usize,
    cells: Vec<Cell>,
}

#[derive(Serialize)]
struct Cell {
    label: String,
    full: String,
    rows: usize,
    small: bool,
}

#[derive(Serialize)]
struct Distributions {
    subject: usize,
    against: usize,
    edges: Vec<Option<f64>>,
    levels: Vec<String>,
    before: Option<Time>,
    now: Time,
}

#[derive(Serialize)]
struct Time {
    cells: Vec<Numbers>,
    all: Numbers,
}

#[derive(Serialize)]
struct Numbers {
    mean: Option<f64>,
    lower: Option<f64>,
    upper: Option<f64>,
    rate: Option<f64>,
    shares: Vec<f64>,
    error: Option<f64>,
    error_lower: Option<f64>,
    error_upper: Option<f64>,
    /// Mean score, mean outcome, and the ends of its interval.
    reliability: Vec<[f64; 4]>,
}

#[derive(Serialize)]
struct Feature {
    label: String,
    value: f64,
    expected: f64,
    critical: f64,
    lower: f64,
    upper: f64,
}

#[derive(Serialize)]
struct Point {
    label: String,
    error: f64,
    dependence: f64,
    chosen: bool,
}

/// The charts' data as JSON that may stand in a script element.
pub(super) fn json(audit: &Audit, views: &[View], frontier: &[FrontierPoint]) -> String {
    let data = data(audit, views, frontier);
    escaped(&serde_json::to_string(&data).unwrap_or_default())
}

/// Nothing in it can end the element, start a comment, or break a line of a script.
pub(super) fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

fn data(audit: &Audit, views: &[View], frontier: &[FrontierPoint]) -> Data {
    let first = headline(audit).map(|pair| &pair.subject.name);
    let chosen = views
        .iter()
        .find(|view| Some(&view.pair.subject.name) == first);
    let mut subjects: Vec<String> = Vec::new();
    for view in views {
        if view.subject == subjects.len() {
            subjects.push(text::inline(&view.pair.subject.name));
        }
    }
    Data {
        subject: chosen.map_or(0, |view| view.subject),
        columns: audit.against.len().saturating_sub(1),
        subjects,
        against: audit.against.iter().map(columns).collect(),
        views: views.iter().map(distributions).collect(),
        features: audit
            .against
            .iter()
            .map(|against| features(audit, &against.name))
            .collect(),
        frontier: frontier.iter().map(point).collect(),
    }
}

fn columns(against: &oblivio_audit::Against) -> Columns {
    let shown = largest(against, CELLS_IN_CHARTS);
    Columns {
        name: text::inline(&against.name),
        left_out: against.cells.len() - shown.len(),
        cells: shown
            .iter()
            .map(|&at| Cell {
                label: text::inline(&against.cells[at].brief),
                full: text::inline(&against.cells[at].label),
                rows: against.cells[at].rows,
                small: against.cells[at].small,
            })
            .collect(),
    }
}

fn distributions(view: &View) -> Distributions {
    let shown = largest(view.against, CELLS_IN_CHARTS);
    let time = |profile: &Profile| Time {
        cells: shown
            .iter()
            .map(|&at| numbers(&cell(profile, at)))
            .collect(),
        all: numbers(&profile.all),
    };
    let finite = |edge: &f64| edge.is_finite().then(|| rounded(*edge));
    Distributions {
        subject: view.subject,
        against: view.columns,
        edges: view.now.edges.iter().map(finite).collect(),
        levels: view
            .now
            .levels
            .iter()
            .map(|level| text::inline(level))
            .collect(),
        before: view.before.map(time),
        now: time(view.now),
    }
}

fn numbers(cell: &oblivio_audit::CellProfile) -> Numbers {
    let finite = |number: Option<f64>| number.filter(|number| number.is_finite()).map(rounded);
    Numbers {
        mean: finite(cell.mean),
        lower: finite(cell.lower),
        upper: finite(cell.upper),
        rate: finite(cell.rate),
        shares: cell.shares.iter().map(|&share| rounded(share)).collect(),
        error: finite(cell.error),
        error_lower: finite(cell.error_lower),
        error_upper: finite(cell.error_upper),
        reliability: cell
            .reliability
            .iter()
            .map(|bin| [bin.score, bin.outcome, bin.lower, bin.upper].map(rounded))
            .collect(),
    }
}

fn features(audit: &Audit, against: &str) -> Vec<Feature> {
    let shown = of(audit, against).into_iter().take(FEATURES_IN_CHART);
    shown
        .map(|feature| {
            let Measured {
                value,
                expected,
                critical,
                lower,
                upper,
                ..
            } = feature.hsic;
            Feature {
                label: text::inline(&feature.feature),
                value: rounded(value),
                expected: rounded(expected),
                critical: rounded(critical),
                lower: rounded(lower),
                upper: rounded(upper),
            }
        })
        .collect()
}

fn point(point: &FrontierPoint) -> Point {
    Point {
        label: text::inline(&point.name),
        error: rounded(point.error),
        dependence: rounded(point.dependence),
        chosen: point.chosen,
    }
}
