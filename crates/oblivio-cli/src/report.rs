//! What a person reads: aligned tables and lines, to standard output.

use std::io::{self, Write};

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use oblivio::intervals::{CellCoverage, USUAL_COVERAGE};
use oblivio::partition::Uses;
use oblivio::{Model, Partition, Predictor};
use oblivio_audit::{CellMean, CorrelationRatio};
use oblivio_base::Named;
use oblivio_base::error::Interface;
use oblivio_kernels::Shape;

/// More cells than this are left to `--json`.
const MOST_CELLS: usize = 24;

/// The mean score of a cell before and after the offset.
pub(crate) struct CellLine {
    pub(crate) label: String,
    pub(crate) rows: usize,
    pub(crate) before: f64,
    pub(crate) after: f64,
}

impl CellLine {
    pub(crate) fn pair(before: Vec<CellMean>, after: Vec<CellMean>) -> Vec<Self> {
        before
            .into_iter()
            .zip(after)
            .map(|(before, after)| Self {
                label: before.label,
                rows: before.rows,
                before: before.mean,
                after: after.mean,
            })
            .collect()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "cell": self.label, "rows": self.rows, "mean-before": self.before, "mean-after": self.after,
        })
    }
}

/// Writes to standard output; a reader that has gone away is no error.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    let text = harmless(&String::from_utf8_lossy(&text));
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// One JSON document to standard output.
pub(crate) fn json(value: &serde_json::Value) -> Result<()> {
    to_stdout(|out| writeln!(out, "{value:#}"))
}

/// A remark to standard error.
pub(crate) fn remark(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", harmless(&text.to_string()));
}

/// A text whose characters do nothing to a terminal but fill it: names and categories come from files.
pub(crate) fn harmless(text: &str) -> String {
    let shown = |c: char| {
        let does_harm = c.is_control() && !matches!(c, '\n' | '\t');
        if does_harm {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    text.chars().map(shown).collect()
}

/// The same on one line: a name cannot pass for a line of the report.
pub(crate) fn one_line(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], "\u{fffd}")
}

/// Names and values, one pair a line.
pub(crate) fn pairs(out: &mut dyn Write, pairs: &[(&str, String)]) -> io::Result<()> {
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in pairs {
        writeln!(out, "  {name:width$}  {}", one_line(value))?;
    }
    Ok(())
}

/// The cells' means before and after, the largest cells if there are many.
pub(crate) fn cells(out: &mut dyn Write, title: &str, lines: &[CellLine]) -> io::Result<()> {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    if lines.len() > MOST_CELLS {
        order.sort_by_key(|&i| std::cmp::Reverse(lines[i].rows));
        order.truncate(MOST_CELLS);
        order.sort_unstable();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["cell", "rows", "before", "after"]);
    for &i in &order {
        let line = &lines[i];
        table.add_row([
            line.label.clone(),
            line.rows.to_string(),
            number(line.before),
            number(line.after),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "\n{title}")?;
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    if lines.len() > order.len() {
        let rest = lines.len() - order.len();
        writeln!(out, "  … and {rest} smaller cells (--json lists all)")?;
    }
    let gap = |value: fn(&CellLine) -> f64| {
        let values = lines.iter().map(value);
        let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
        most - values.fold(f64::INFINITY, f64::min)
    };
    writeln!(
        out,
        "  largest gap between cells: {} before, {} after",
        number(gap(|line| line.before)),
        number(gap(|line| line.after))
    )
}

/// The correlation ratio in a sentence.
pub(crate) fn ratio(before: CorrelationRatio, after: CorrelationRatio) -> String {
    explained(before.value, after.value, after.expected)
}

/// The share of a score's variance that the cells explain, before and after, and what it would be if they had nothing to do with it.
pub(crate) fn explained(before: f64, after: f64, expected: f64) -> String {
    format!(
        "share of the score's variance that the cells explain: {} before, {} after ({} expected if independent)",
        number(before),
        number(after),
        number(expected)
    )
}

/// What a model is, in words.
pub(crate) fn what(model: &Model) -> String {
    let learner = match model.card.learner.as_str() {
        "svm" => "support vector machine",
        "logistic" => "logistic regression",
        _ => "ridge regression",
    };
    format!("{} {learner}", model.card.mode)
}

/// What the score with this number decides.
pub(crate) fn decision(model: &Model, k: usize) -> String {
    let labels = model.classes.as_ref().map(|classes| &classes.labels[..]);
    match labels {
        None => "score".into(),
        Some([negative, positive]) => format!("`{positive}` rather than `{negative}`"),
        Some(labels) => format!("`{}` rather than the rest", labels[k]),
    }
}

/// The penalty, as users of the learner call it.
pub(crate) fn penalty(model: &Model) -> (&'static str, String) {
    if model.classes.is_some() {
        ("cost", (1.0 / model.card.penalty).to_string())
    } else {
        ("penalty", model.card.penalty.to_string())
    }
}

/// The error on the training rows.
pub(crate) fn error(model: &Model, error: f64, constant: f64) -> String {
    let (error, constant) = (number(error), number(constant));
    if model.classes.is_some() {
        format!("{error} of the rows on the wrong side ({constant} for a constant)")
    } else {
        format!("{error} root mean squared ({constant} for a constant)")
    }
}

/// What an expansion is over.
pub(crate) fn expansion(predictor: &Predictor, components: Option<usize>) -> String {
    let basis = predictor.basis();
    match (basis.shape(), components) {
        (Shape::Frequencies, _) => counted(basis.len(), "wave"),
        (Shape::Points, Some(_)) if !basis.holds_rows() => "the features as they are".into(),
        (Shape::Points, Some(_)) => counted(basis.len(), "landmark"),
        (Shape::Points, None) => format!("{}, exact", counted(basis.len(), "point")),
    }
}

/// So many of a thing.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// How what is taken off follows from the sensitive columns, and what is done to the score besides.
pub(crate) fn stages(predictor: &Predictor) -> Vec<(&'static str, String)> {
    let mut pairs = Vec::new();
    if let Some(offsets) = predictor.offsets() {
        pairs.push(("conditional mean", conditional_mean(&offsets.partition)));
        let own = |name: &&str| !offsets.partition.columns().any(|(own, _)| own == *name);
        let control: Vec<&str> = offsets.partition.needs().into_iter().filter(own).collect();
        if !control.is_empty() {
            pairs.push(("beyond", control.join(", ")));
        }
    }
    if let Some(alignment) = predictor.alignment() {
        let rule = alignment.rule();
        pairs.push((
            "alignment",
            format!("{}, strength {}", rule.method.name(), rule.strength),
        ));
    }
    if let Some(intervals) = predictor.intervals() {
        let rows = intervals.rows();
        pairs.push((
            "intervals",
            format!(
                "{}, from residuals of {} rows in {}",
                intervals.source().name(),
                rows.iter().sum::<usize>(),
                counted(rows.len(), "cell")
            ),
        ));
    }
    if predictor.fallback().is_some() {
        pairs.push((
            "fallback",
            "a sensitive-free model scores rows that miss a sensitive value".into(),
        ));
    }
    pairs
}

/// A cell of the intervals in words, its rows and its half-width at the usual coverage.
fn half_widths_of(predictor: &Predictor) -> Vec<(String, usize, f64)> {
    let Some(intervals) = predictor.intervals() else {
        return Vec::new();
    };
    let widths = intervals.half_widths(USUAL_COVERAGE).unwrap_or_default();
    let label = |cell: usize| match predictor.offsets() {
        Some(offsets) => offsets.partition.label(cell),
        None => "all rows".into(),
    };
    let cells = intervals.rows().into_iter().zip(widths).enumerate();
    cells
        .map(|(cell, (rows, width))| (label(cell), rows, width))
        .collect()
}

/// The half-widths of the cells, of the largest cells if there are many.
pub(crate) fn half_widths(out: &mut dyn Write, predictor: &Predictor) -> io::Result<()> {
    let cells = half_widths_of(predictor);
    if cells.is_empty() {
        return Ok(());
    }
    let sizes: Vec<usize> = cells.iter().map(|(_, rows, _)| *rows).collect();
    let rows: Vec<Vec<String>> = cells
        .into_iter()
        .map(|(label, rows, width)| vec![label, rows.to_string(), width_of(width)])
        .collect();
    let title = format!("half-width of intervals at coverage {USUAL_COVERAGE}");
    by_cell(
        out,
        &title,
        &["cell", "rows", "half-width"],
        (&rows, &sizes),
    )
}

/// The same for machines; a half-width without end is null.
pub(crate) fn intervals_json(predictor: &Predictor) -> Option<serde_json::Value> {
    let intervals = predictor.intervals()?;
    let cell = |(label, rows, width): (String, usize, f64)| serde_json::json!({ "cell": label, "rows": rows, "half-width": finite(width) });
    let cells: Vec<_> = half_widths_of(predictor).into_iter().map(cell).collect();
    Some(serde_json::json!({
        "source": intervals.source().name(),
        "coverage": USUAL_COVERAGE,
        "cells": cells,
    }))
}

/// The coverage found in every cell.
pub(crate) fn coverage(out: &mut dyn Write, asked: f64, lines: &[CellCoverage]) -> io::Result<()> {
    let sizes: Vec<usize> = lines.iter().map(|line| line.rows).collect();
    let row = |line: &CellCoverage| {
        let (covered, width) = (number(line.covered), width_of(line.width));
        vec![line.label.clone(), line.rows.to_string(), covered, width]
    };
    let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
    let title = format!("coverage on these rows ({asked} asked)");
    by_cell(
        out,
        &title,
        &["cell", "rows", "covered", "mean width"],
        (&rows, &sizes),
    )
}

/// The same for machines.
pub(crate) fn coverage_json(line: &CellCoverage) -> serde_json::Value {
    serde_json::json!({
        "cell": line.label,
        "rows": line.rows,
        "covered": line.covered,
        "mean-width": finite(line.width),
        "without-end": line.endless,
    })
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn width_of(width: f64) -> String {
    finite(width).map_or("no end".into(), number)
}

/// Lines with a number of rows each, the largest if there are many.
fn by_cell(
    out: &mut dyn Write,
    title: &str,
    header: &[&str],
    (rows, sizes): (&[Vec<String>], &[usize]),
) -> io::Result<()> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    if rows.len() > MOST_CELLS {
        order.sort_by_key(|&i| std::cmp::Reverse(sizes[i]));
        order.truncate(MOST_CELLS);
        order.sort_unstable();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    for &i in &order {
        table.add_row(&rows[i]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "\n{title}")?;
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    if rows.len() > order.len() {
        let rest = rows.len() - order.len();
        writeln!(out, "  … and {rest} smaller cells (--json lists all)")?;
    }
    Ok(())
}

/// What the table of the cells' means is called.
pub(crate) fn means_title(predictor: &Predictor) -> &'static str {
    if predictor.alignment().is_some() {
        "mean score on the reference rows, before the alignment"
    } else {
        "mean score on the reference rows"
    }
}

/// The same for machines.
pub(crate) fn stages_json(predictor: &Predictor) -> serde_json::Value {
    let partition = predictor.partition();
    let align = predictor.alignment().map(|alignment| {
        let rule = alignment.rule();
        serde_json::json!({ "method": rule.method.name(), "strength": rule.strength })
    });
    serde_json::json!({
        "estimator": partition.map(|partition| partition.estimator().name()),
        "choice": partition.and_then(Partition::choice),
        "needs": partition.map(Partition::needs),
        "align": align,
        "fallback": predictor.fallback().is_some(),
    })
}

/// What the conditional mean is, and the leave-one-out errors by which it was chosen.
pub(crate) fn conditional_mean(partition: &Partition) -> String {
    let name = partition.estimator().name();
    let Some(choice) = partition.choice() else {
        return name.to_owned();
    };
    let scores: Vec<String> = choice
        .scores
        .iter()
        .map(|(name, score)| format!("{name} {}", number(*score)))
        .collect();
    let mut words = vec![format!("leave-one-out error: {}", scores.join(", "))];
    words.extend(choice.gamma.map(|gamma| format!("gamma {}", number(gamma))));
    words.extend(choice.ridge.map(|ridge| format!("ridge {}", number(ridge))));
    format!("{name} ({})", words.join("; "))
}

/// Policies used, one sentence each.
pub(crate) fn uses(uses: Uses) -> Vec<String> {
    let rows = [
        (uses.empty_cell, "have a cell without reference rows"),
        (
            uses.unseen_category,
            "have a sensitive category without reference rows",
        ),
        (
            uses.out_of_range,
            "have a sensitive value outside the range of the reference",
        ),
        (
            uses.missing,
            "have a missing sensitive value, taken as a category",
        ),
        (
            uses.sensitive_free,
            "miss a sensitive value and are left to the sensitive-free model",
        ),
    ];
    let values = [
        (
            uses.unseen_level,
            "are of a feature's category that was not there at the fit, taken as none",
        ),
        (
            uses.missing_feature,
            "of features are missing, taken as the mean of their column or as a category of its own",
        ),
    ];
    let of = |what: &'static str| move |(count, said)| (count, what, said);
    let all = rows.into_iter().map(of("rows"));
    let all = all.chain(values.into_iter().map(of("values")));
    all.filter(|(count, ..)| *count > 0)
        .map(|(count, what, said)| format!("{count} {what} {said}"))
        .collect()
}

/// An error with its causes. Errors of the engine are in the words of the program. Rows are counted from 1.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let of =
        |cause: &(dyn std::error::Error + 'static)| match cause.downcast_ref::<oblivio::Error>() {
            Some(error) => error.told(Interface::Program, &|row| format!("row {}", row + 1)),
            None => cause.to_string(),
        };
    let causes: Vec<String> = error.chain().map(of).collect();
    causes.join(": ")
}

/// Four digits are enough to read.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size < 5e-13 {
        "0".into()
    } else if (1e-3..1e6).contains(&size) {
        let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
        format!("{value:.digits$}")
    } else {
        format!("{value:.2e}")
    }
}
