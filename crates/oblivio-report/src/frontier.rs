//! A frontier in words and as CSV.

use oblivio_audit::{DependenceFound, ErrorFound, Frontier, Tried};
use oblivio_base::Named;

use crate::answer::Answer;
use crate::csv::{line, number};
use crate::number::{count, short};
use crate::text;
use crate::words::{error_words, value_in_words, words};

const HEADER: [&str; 27] = [
    "name",
    "mode",
    "strength",
    "align",
    "align_strength",
    "penalty",
    "start",
    "error_measure",
    "error",
    "error_lower",
    "error_upper",
    "cost",
    "cost_lower",
    "cost_upper",
    "against",
    "measure",
    "dependence",
    "expected",
    "critical",
    "p_value",
    "lower",
    "upper",
    "rows",
    "detectable",
    "large",
    "on_frontier",
    "learner",
];

/// A frontier as CSV: one line for each candidate, error and measure of dependence, after a header.
///
/// What comes first in the file is what is asked first: the dependence on all columns together. Numbers have all their digits.
pub fn frontier_csv(frontier: &Frontier) -> String {
    let mut text = line(HEADER.map(str::to_owned));
    for (against, measure) in frontier.axes() {
        for error in &frontier.errors {
            for tried in &frontier.candidates {
                let found = tried
                    .error(error.measure)
                    .zip(tried.of(&against.name, measure));
                if let Some((error, dependence)) = found {
                    text.push_str(&line(fields(frontier, tried, error, dependence)));
                }
            }
        }
    }
    text
}

fn fields(
    frontier: &Frontier,
    tried: &Tried,
    error: &ErrorFound,
    dependence: &DependenceFound,
) -> [String; 27] {
    let maybe = |value: Option<f64>| value.map(number).unwrap_or_default();
    let measured = &dependence.measured;
    [
        tried.name.clone(),
        tried.mode.clone(),
        number(tried.strength),
        tried.align.clone().unwrap_or_else(|| "none".into()),
        maybe(tried.align_strength),
        number(tried.penalty),
        tried.start.to_string(),
        error.measure.name().into(),
        number(error.value),
        number(error.lower),
        number(error.upper),
        maybe(error.cost),
        maybe(error.cost_lower),
        maybe(error.cost_upper),
        dependence.against.clone(),
        dependence.measure.name().into(),
        number(measured.value),
        number(measured.expected),
        number(measured.critical),
        number(measured.p_value),
        number(measured.lower),
        number(measured.upper),
        measured.rows.to_string(),
        dependence.detectable.to_string(),
        dependence.large.to_string(),
        dependence.on_frontier.contains(&error.measure).to_string(),
        frontier.learner.clone(),
    ]
}

/// What a frontier says first: where it starts, where dependence is least, and what that costs.
pub fn frontier_answer(frontier: &Frontier) -> Answer {
    let mut sentences = Vec::new();
    let mut headline = format!(
        "Error against dependence of {} candidates",
        count(frontier.candidates.len())
    );
    let first = frontier
        .axes()
        .into_iter()
        .next()
        .zip(frontier.errors.first());
    if let Some(((against, measure), error)) = first {
        let found = |tried: &Tried| -> Option<f64> {
            let value = tried.of(&against.name, measure)?.measured.value;
            Some(if measure.grows() { value } else { -value })
        };
        let (columns, label) = (text::inline(&against.name), words(measure).0);
        let told = |tried: &Tried| -> Option<String> {
            let own = tried.of(&against.name, measure)?.measured;
            Some(format!(
                "{} {} and {label} {} with {columns} ({} expected if independent)",
                error_words(error.measure).0,
                short(tried.error(error.measure)?.value),
                value_in_words(measure, own.value),
                value_in_words(measure, own.expected),
            ))
        };
        let known = frontier
            .candidates
            .iter()
            .filter(|tried| found(tried).is_some());
        let least = known.min_by(|a, b| {
            let value = |tried: &Tried| found(tried).unwrap_or(f64::INFINITY);
            value(a).total_cmp(&value(b))
        });
        let start = frontier.candidates.iter().find(|tried| tried.start);
        if let Some(text) = start.and_then(told) {
            sentences.push(format!("With nothing taken out: {text}."));
        }
        if let Some((tried, text)) = least.and_then(|tried| Some((tried, told(tried)?))) {
            sentences.push(format!(
                "With the least dependence, {}: {text}.",
                text::inline(&tried.name)
            ));
            if let Some(said) = cost(tried, error.measure).filter(|_| !tried.start) {
                headline = format!("The least dependence on {columns} costs {said}");
            }
        }
        sentences.push(format!(
            "A constant has {} {}.",
            error_words(error.measure).0,
            short(error.constant)
        ));
    }
    Answer {
        headline,
        sentences,
        numbers: Vec::new(),
    }
}

/// `0.31 of error (0.12 to 0.5)`
fn cost(tried: &Tried, measure: oblivio_audit::ErrorMeasure) -> Option<String> {
    let error = tried.error(measure)?;
    Some(format!(
        "{} more error ({} to {})",
        short(error.cost?),
        short(error.cost_lower?),
        short(error.cost_upper?)
    ))
}
