//! Bounds as lines, all in one form, and as CSV.

mod words;

pub use words::{bound_words, bounds_answer, vacuous_bounds};

use oblivio_release::{Bounds, CertificateMeasure, Estimate, Interval};

use crate::csv::{line, number};

const HEADER: [&str; 8] = [
    "bound", "of", "cell", "found", "lower", "value", "vacuous", "rows",
];

/// One bound of many, all in one form.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundLine {
    /// Which bound, as in `dependence` or `dependence-paper-proof`.
    pub bound: &'static str,
    /// What is bounded: an event, a score, or a mean with the inequality.
    pub of: String,
    /// The cell, where it is of one.
    pub cell: Option<String>,
    /// What the rows have.
    pub found: f64,
    /// What it is at least, where that is known.
    pub lower: Option<f64>,
    /// What it is at most; NaN where that is not known.
    pub value: f64,
    /// Whether the bound says nothing.
    pub vacuous: bool,
    /// The rows it is of.
    pub rows: usize,
}

/// Every bound, in one list.
pub fn bound_lines(bounds: &Bounds) -> Vec<BoundLine> {
    let mut lines = distances(bounds);
    lines.extend(dependence(bounds));
    lines.extend(feature_events(bounds));
    let moved = &bounds.moved;
    lines.push(BoundLine {
        bound: "moved",
        of: "rows that are projected, in the mean".into(),
        cell: None,
        found: moved.mean,
        lower: None,
        value: moved.value,
        vacuous: moved.vacuous,
        rows: bounds.projected_rows,
    });
    for change in &bounds.changes {
        for (cell, of) in change.by_cell.iter().zip(&bounds.cells) {
            lines.push(BoundLine {
                bound: "change",
                of: change.score.clone(),
                cell: Some(of.label.clone()),
                found: cell.realised,
                lower: None,
                value: cell.value,
                vacuous: cell.vacuous,
                rows: of.rows,
            });
        }
    }
    for certificate in &bounds.certificates {
        lines.push(BoundLine {
            bound: match certificate.measure {
                CertificateMeasure::Alpha => "certificate",
                CertificateMeasure::Beta => "certificate-beta",
            },
            of: certificate.event.clone(),
            cell: None,
            found: certificate.found,
            lower: None,
            value: certificate.value,
            vacuous: certificate.vacuous,
            rows: certificate.rows,
        });
    }
    lines
}

/// An inequality by name, and the interval it gives, if there is one.
pub(crate) fn inequalities(estimate: &Estimate) -> Vec<(&'static str, Option<Interval>)> {
    let mut all = vec![
        ("Bernstein", estimate.bernstein),
        ("Hoeffding", estimate.hoeffding),
    ];
    all.extend(estimate.paper.map(|interval| ("paper", Some(interval))));
    all
}

/// The narrowest interval that says something, and the inequality it is by; none where all are vacuous.
pub fn best_interval(estimate: &Estimate) -> Option<(&'static str, Interval)> {
    let known = inequalities(estimate).into_iter();
    let known = known.filter_map(|(name, interval)| Some((name, interval?)));
    let said = known.filter(|(_, interval)| !interval.vacuous);
    said.min_by(|(_, a), (_, b)| a.upper.total_cmp(&b.upper))
}

fn distances(bounds: &Bounds) -> Vec<BoundLine> {
    let distance = &bounds.distance;
    let both = [
        ("mean", &distance.mean),
        ("root mean square", &distance.root_mean_square),
    ];
    let each = both.iter().flat_map(|(name, estimate)| {
        let lines = inequalities(estimate).into_iter();
        lines.map(move |(inequality, interval)| BoundLine {
            bound: "distance",
            of: format!("{name}, {inequality}"),
            cell: None,
            found: estimate.value,
            lower: interval.and_then(|interval| interval.lower),
            value: interval.map_or(f64::NAN, |interval| interval.upper),
            vacuous: interval.is_none_or(|interval| interval.vacuous),
            rows: bounds.projected_rows,
        })
    });
    each.collect()
}

fn dependence(bounds: &Bounds) -> Vec<BoundLine> {
    let mut lines = Vec::new();
    for bound in &bounds.dependence {
        let most = bound.share * (1.0 - bound.share);
        let mut add = |name, cell: Option<&String>, found, value, vacuous| {
            lines.push(BoundLine {
                bound: name,
                of: bound.event.clone(),
                cell: cell.cloned(),
                found,
                lower: None,
                value,
                vacuous,
                rows: bounds.projected_rows,
            });
        };
        add("dependence", None, bound.actual, bound.value, bound.vacuous);
        for (name, value) in [
            ("dependence-without-left", bound.without_left),
            ("dependence-paper-statement", bound.paper_statement),
            ("dependence-paper-proof", bound.paper_proof),
        ] {
            add(name, None, bound.actual, value, value >= most);
        }
        if let Some(population) = bound.population {
            let (value, vacuous) = (population.value, population.vacuous);
            add("dependence-population", None, bound.actual, value, vacuous);
        }
        for (cell, of) in bound.by_cell.iter().zip(&bounds.cells) {
            let label = Some(&of.label);
            add("dependence", label, cell.actual, cell.value, cell.vacuous);
        }
    }
    lines
}

/// ψ for events of Z, and the paper's form of it.
fn feature_events(bounds: &Bounds) -> Vec<BoundLine> {
    let each = bounds.feature_events.iter().flat_map(|bound| {
        let most = bound.share * (1.0 - bound.share);
        let forms = [
            ("dependence-of-features", bound.value),
            (
                "dependence-of-features-paper-statement",
                bound.paper_statement,
            ),
            ("dependence-of-features-paper-proof", bound.paper_proof),
        ];
        forms.map(|(name, value)| BoundLine {
            bound: name,
            of: bound.event.clone(),
            cell: None,
            found: bound.actual,
            lower: None,
            value,
            vacuous: value >= most,
            rows: bounds.projected_rows,
        })
    });
    each.collect()
}

/// Bounds as CSV: one line for each, after a header. Numbers have all their digits.
pub fn bounds_csv(bounds: &Bounds) -> String {
    let mut text = line(HEADER.map(str::to_owned));
    for bound in bound_lines(bounds) {
        text.push_str(&line([
            bound.bound.to_owned(),
            bound.of,
            bound.cell.unwrap_or_default(),
            number(bound.found),
            bound.lower.map(number).unwrap_or_default(),
            Some(bound.value)
                .filter(|value| !value.is_nan())
                .map(number)
                .unwrap_or_default(),
            bound.vacuous.to_string(),
            bound.rows.to_string(),
        ]));
    }
    text
}
