//! What the page says beside the audit: its title, what was done, the frontier and the bounds.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use oblivio::sensitive::Kind;
use oblivio::{Column, Model};
use oblivio_audit::Audit;
use oblivio_release::Bounds;
use oblivio_report::{FrontierPoint, Page};

use super::Args;
use super::rows::Models;
use crate::cmd::stream::opened;
use crate::cmd::written::names;
use crate::report;

/// An audit with all that is written about it.
pub(super) struct Report<'a> {
    pub(super) audit: &'a Audit,
    pub(super) title: String,
    pub(super) facts: Vec<(String, String)>,
    pub(super) frontier: Vec<FrontierPoint>,
    pub(super) bounds: Option<Bounds>,
}

impl Report<'_> {
    pub(super) fn html(&self) -> String {
        Page {
            audit: self.audit,
            title: &self.title,
            facts: &self.facts,
            frontier: &self.frontier,
            bounds: self.bounds.as_ref(),
        }
        .html()
    }
}

/// The given title, or the names of the files without their folders.
pub(super) fn title(args: &Args, data: &[PathBuf]) -> String {
    args.title.clone().unwrap_or_else(|| names(data))
}

/// What was done, in pairs of a name and a value.
pub(super) fn facts(
    args: &Args,
    data: &[PathBuf],
    models: &Models,
    audit: &Audit,
) -> Vec<(String, String)> {
    let mut facts = vec![
        ("data".to_owned(), names(data)),
        ("sensitive columns".to_owned(), sensitive(audit)),
    ];
    let mut add = |name: &str, value: String| facts.push((name.to_owned(), value));
    for (what, model, path) in [
        ("model", &models.model, &args.model),
        ("baseline", &models.baseline, &args.baseline),
    ] {
        if let (Some(model), Some(path)) = (model, path) {
            add(
                what,
                format!("{}: {}", names(std::slice::from_ref(path)), about(model)),
            );
        }
    }
    if let Some(target) = &args.target {
        add("labels", target.clone());
    }
    if !args.control.is_empty() {
        add("control columns", args.control.join(", "));
    }
    if let Some(weights) = &args.weights {
        add("weights", weights.clone());
    }
    facts
}

fn sensitive(audit: &Audit) -> String {
    let Some(all) = audit.against.last() else {
        return String::new();
    };
    let word = |kind: &Kind| match kind {
        Kind::Categorical => "categorical",
        Kind::Continuous => "continuous",
    };
    let columns = all.columns.iter().zip(&all.kinds);
    let columns: Vec<String> = columns
        .map(|(name, kind)| format!("{name} ({})", word(kind)))
        .collect();
    columns.join(", ")
}

fn about(model: &Model) -> String {
    let (name, penalty) = report::penalty(model);
    format!(
        "{} of `{}`, kernel {}, {name} {penalty}, strength {}, {} training rows, seed {}",
        report::what(model),
        model.card.target,
        model.predictor().kernel(),
        model.predictor().strength(),
        model.card.training_rows,
        model.card.seed
    )
}

/// What differs between the lines about one candidate in a file of `oblivio frontier`.
const FIRST_OF: [&str; 3] = ["error_measure", "against", "measure"];

/// The table of error against dependence, if one was given.
pub(super) fn frontier(args: &Args) -> Result<Vec<FrontierPoint>> {
    let Some(path) = &args.frontier else {
        return Ok(Vec::new());
    };
    let source = opened(std::slice::from_ref(path), &args.read_options())?;
    let names: Vec<String> = source.names().map(str::to_owned).collect();
    let table = source.table_of(&names)?;
    let place = || path.display().to_string();
    let numbers = |name: &str| -> Result<Vec<f64>> {
        let column = table.column(name).with_context(place)?;
        let numbers = column.to_numbers().with_context(place)?;
        let finite = numbers.iter().all(|number| number.is_finite());
        ensure!(
            finite,
            "{}: column `{name}` of the frontier has missing values; fill them in",
            place()
        );
        Ok(numbers)
    };
    let words = |name: &str| -> Option<Vec<String>> {
        let column: &Column = table.column(name).ok()?;
        let (levels, codes) = column.to_categories();
        let word = |&code: &u32| levels.get(code as usize).cloned().unwrap_or_default();
        Some(codes.iter().map(word).collect())
    };
    let (errors, dependences) = (numbers("error")?, numbers("dependence")?);
    // A file of `oblivio frontier` has many measures; the first of them comes first.
    let kinds = FIRST_OF.map(&words);
    let is_first = |row: &usize| {
        let mut kinds = kinds.iter().flatten();
        kinds.all(|words| words[*row] == words[0])
    };
    let names = words("name").or_else(|| words("strength"));
    let chosen = words("chosen");
    let is_chosen = |k: usize| {
        let word = chosen.as_ref().map(|words| words[k].to_lowercase());
        matches!(word.as_deref(), Some("1" | "true" | "yes"))
    };
    Ok((0..errors.len())
        .filter(is_first)
        .map(|k| FrontierPoint {
            name: names
                .as_ref()
                .map_or(String::new(), |names| names[k].clone()),
            error: errors[k],
            dependence: dependences[k],
            chosen: is_chosen(k),
        })
        .collect())
}
