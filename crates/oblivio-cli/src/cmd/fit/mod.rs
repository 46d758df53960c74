//! `oblivio fit`

mod args;
mod classes;
mod columns;
mod memory;
mod saved;
pub(super) mod stream;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use oblivio::fit::GridPoint;
use oblivio::{Mode, Model, Summary, Transformer, Warning};
use oblivio_base::Named;
use rayon::ThreadPool;
use serde_json::json;

pub(crate) use self::args::Args;
pub(super) use self::args::settings;
pub(super) use self::columns::Columns;
pub(super) use self::memory::{check_memory, say_dropped};
use self::saved::Saved;
use self::stream::Pass;
use crate::cmd::stream::opened;
use crate::report::{self, CellLine};
use crate::table;

/// What a fit gives.
struct Fitted {
    model: Model,
    /// One for each score.
    summaries: Vec<Summary>,
    /// The penalties that were tried, if it was to be found.
    path: Vec<GridPoint>,
}

pub(crate) fn run(args: &Args, pool: &ThreadPool) -> Result<()> {
    let settings = args.settings()?;
    if args.checkpoint.is_some() {
        ensure!(
            settings.components.is_some(),
            "--checkpoint is for fits that read rows in batches; give --components too, or leave it out"
        );
        ensure!(
            settings.intervals.is_none(),
            "--checkpoint is for fits that read rows in batches, and --intervals holds them in memory; leave one of them out"
        );
    }
    let data = table::expand(&args.data)?;
    let inputs: Vec<&Path> = data.iter().map(PathBuf::as_path).collect();
    table::keep_apart(&args.output, &inputs)?;
    table::check_place(&args.output)?;
    let saved = Saved::find(args)?;
    let source = match saved.source(&data) {
        Some(source) => source,
        None => opened(&data, &args.columns.read.options())?,
    };
    let encoding = args.settings.values.encoding()?;
    let columns = Columns::choose(
        &source,
        &args.columns,
        args.target.as_deref(),
        settings.learner.classifies(),
    )?
    .with_missing_features(encoding.missing);
    let pass = |components, saved| Pass {
        args,
        data: &data,
        encoding,
        components,
        source: &source,
        columns: &columns,
        pool,
        saved,
    };
    let fitted = match (settings.components, &args.target) {
        (Some(components), None) => {
            let features = settings.features(components);
            let (transformer, warnings, rows) = pass(components, saved).features(&features)?;
            table::write_bytes(&args.output, &transformer.to_bytes()?)?;
            saved::forget(args.checkpoint.as_deref());
            return say_features(args, &transformer, &warnings, rows);
        }
        (Some(components), Some(_)) if settings.learner.classifies() => {
            pass(components, saved).classify(&settings)?
        }
        (Some(components), Some(_)) if settings.intervals.is_none() => {
            pass(components, saved).fit(&settings)?
        }
        (Some(components), Some(_)) => {
            let mut settings = settings.clone();
            let mut path = Vec::new();
            if args.settings.values.finds_penalty() {
                // On landmarks the penalty follows from the sums.
                let asked = settings.intervals.take();
                let found = pass(components, saved).fit(&settings)?;
                (settings.penalty, settings.intervals) = (found.model.card.penalty, asked);
                path = found.path;
            }
            let fitted = memory::fit(args, &settings, encoding, &source, &columns, pool)?;
            Fitted { path, ..fitted }
        }
        (None, _) => memory::fit(args, &settings, encoding, &source, &columns, pool)?,
    };
    let Fitted {
        model,
        summaries,
        path,
    } = fitted;
    table::write_bytes(&args.output, &model.to_bytes()?)?;
    saved::forget(args.checkpoint.as_deref());
    // Decisions between classes share their rows, and so most of what there is to say.
    let mut warnings: Vec<Warning> = Vec::new();
    for warning in summaries.iter().flat_map(|summary| &summary.warnings) {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    say_warnings(&warnings);
    for use_ in report::uses(summaries[0].uses) {
        report::remark(format_args!("note: {use_}"));
    }
    let mut json = as_json(&model, &summaries, &warnings);
    if let (Some(intervals), Some(json)) = (
        report::intervals_json(model.predictor()),
        json.as_object_mut(),
    ) {
        json.insert("intervals".into(), intervals);
    }
    if let (false, Some(json)) = (path.is_empty(), json.as_object_mut()) {
        json.insert("path".into(), path.iter().map(point_json).collect());
    }
    say(args, &json, |out| {
        print(&model, &summaries, args, out)?;
        report::half_widths(out, model.predictor())?;
        print_path(&path, model.card.penalty, out)
    })
}

/// Prints to standard output, or beside it where the model goes there.
fn say(
    args: &Args,
    json: &serde_json::Value,
    print: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    match (args.output.as_os_str() != "-", args.json) {
        (true, true) => report::json(json),
        (true, false) => report::to_stdout(print),
        (false, true) => Ok(writeln!(std::io::stderr(), "{json:#}")?),
        (false, false) => Ok(print(&mut std::io::stderr())?),
    }
}

fn say_warnings(warnings: &[Warning]) {
    for warning in warnings {
        let kind = if warning.is_note() { "note" } else { "warning" };
        report::remark(format_args!("{kind}: {warning}"));
    }
}

fn say_features(
    args: &Args,
    transformer: &Transformer,
    warnings: &[Warning],
    rows: usize,
) -> Result<()> {
    say_warnings(warnings);
    let components = transformer.features.map().len();
    let cells = transformer
        .features
        .partition()
        .map(oblivio::Partition::len);
    let json = json!({
        "features": transformer.encoder.columns().collect::<Vec<_>>(),
        "sensitive": transformer.sensitive_columns(),
        "kernel": transformer.kernel().to_string(),
        "components": components,
        "strength": transformer.strength(),
        "rows": rows,
        "cells": cells,
        "warnings": warnings.iter().map(Warning::to_string).collect::<Vec<_>>(),
    });
    say(args, &json, |out| {
        writeln!(
            out,
            "{components} {} features, written to {}",
            if cells.is_some() {
                "oblivious"
            } else {
                "plain"
            },
            args.output.display()
        )?;
        let cells = cells.map_or("none".to_owned(), |cells| cells.to_string());
        report::pairs(
            out,
            &[
                ("rows", rows.to_string()),
                ("kernel", transformer.kernel().to_string()),
                ("strength", transformer.strength().to_string()),
                ("cells", cells),
            ],
        )
    })
}

/// Memory that is free, where the system tells.
fn free_memory() -> Option<f64> {
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_memory();
    let free = system.available_memory() as f64;
    (free > 0.0).then_some(free)
}

fn as_json(model: &Model, summaries: &[Summary], warnings: &[Warning]) -> serde_json::Value {
    let summary = &summaries[0];
    let decision = |summary: &Summary| {
        json!({
            "training-error": summary.error,
            "target-spread": summary.spread,
            "solver": summary.effort.solver,
            "iterations": summary.effort.iterations,
            "gap": summary.effort.gap,
            "converged": summary.effort.converged,
            "cells": lines(summary).iter().map(CellLine::json).collect::<Vec<_>>(),
        })
    };
    let mut json = json!({
        "target": model.card.target,
        "features": model.encoder.columns().collect::<Vec<_>>(),
        "sensitive": model.sensitive_columns(),
        "learner": model.card.learner,
        "mode": model.card.mode,
        "kernel": model.predictor().kernel().to_string(),
        "penalty": model.card.penalty,
        "strength": model.predictor().strength(),
        "conditional-mean": report::stages_json(model.predictor()),
        "reference": model.card.reference,
        "seed": model.card.seed,
        "training-rows": summary.training_rows,
        "reference-rows": summary.reference_rows,
        "points": model.predictor().basis().len(),
        "policies-used": summary.uses,
        "warnings": warnings.iter().map(Warning::to_string).collect::<Vec<_>>(),
    });
    if let (Some(json), serde_json::Value::Object(first)) =
        (json.as_object_mut(), decision(summary))
    {
        json.extend(first);
        if let Some(classes) = &model.classes {
            json.insert("classes".into(), json!(classes));
        }
        if summaries.len() > 1 {
            let all: Vec<_> = summaries.iter().map(decision).collect();
            json.insert("decisions".into(), json!(all));
        }
    }
    json
}

fn lines(summary: &Summary) -> Vec<CellLine> {
    let line = |cell: &oblivio::fit::CellSummary| CellLine {
        label: cell.label.clone(),
        rows: cell.rows,
        before: cell.before,
        after: cell.after,
    };
    summary.cells.iter().map(line).collect()
}

fn print(
    model: &Model,
    summaries: &[Summary],
    args: &Args,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let summary = &summaries[0];
    writeln!(
        out,
        "{} of `{}` on {} features, written to {}",
        report::what(model),
        model.card.target,
        model.encoder.width(),
        args.output.display()
    )?;
    let predictor = model.predictor();
    let mut pairs = vec![
        (
            "rows",
            format!(
                "{} training, {} reference",
                summary.training_rows, summary.reference_rows
            ),
        ),
        ("kernel", predictor.kernel().to_string()),
        (
            "expansion",
            report::expansion(predictor, model.card.components),
        ),
        report::penalty(model),
        ("strength", strength(model, args).to_string()),
    ];
    pairs.extend(report::stages(predictor));
    let of = |k: usize| report::decision(model, k);
    if summaries.len() == 1 {
        pairs.push(("training error", errors(model, summary)));
        pairs.push(("solver", effort(summary)));
    }
    report::pairs(out, &pairs)?;
    for (k, summary) in summaries.iter().enumerate() {
        if summaries.len() > 1 {
            writeln!(out, "\n{}", of(k))?;
            let pairs = [
                ("training error", errors(model, summary)),
                ("solver", effort(summary)),
            ];
            report::pairs(out, &pairs)?;
        }
        if !summary.cells.is_empty() {
            report::cells(out, report::means_title(predictor), &lines(summary))?;
        }
    }
    Ok(())
}

fn point_json(point: &GridPoint) -> serde_json::Value {
    json!({
        "strength": point.strength,
        "penalty": point.penalty,
        "training-error": point.error,
        "leave-one-out-error": point.left_out,
        "gcv": point.gcv,
        "correlation-ratio": point.correlation_ratio,
        "expected-if-independent": point.expected,
        "gap": point.gap,
    })
}

/// The penalties that were tried: error and dependence side by side.
fn print_path(path: &[GridPoint], chosen: f64, out: &mut dyn Write) -> std::io::Result<()> {
    let Some(first) = path.first() else {
        return Ok(());
    };
    let score = if first.left_out.is_some() {
        "leave-one-out"
    } else {
        "root of GCV"
    };
    let mut grid = comfy_table::Table::new();
    grid.load_style(comfy_table::presets::NOTHING);
    grid.set_header(["penalty", score, "variance explained by the cells"]);
    let error = |point: &GridPoint| point.left_out.unwrap_or(point.gcv.sqrt());
    for point in path {
        let chosen = if point.penalty == chosen {
            " (chosen)"
        } else {
            ""
        };
        grid.add_row([
            report::number(point.penalty),
            format!("{}{chosen}", report::number(error(point))),
            report::number(point.correlation_ratio),
        ]);
    }
    writeln!(out, "\nerror and dependence by penalty")?;
    for line in grid.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    writeln!(
        out,
        "  variance expected if independent: {}",
        report::number(first.expected)
    )
}

/// What was asked for, where nothing is taken off the score to show it by.
fn strength(model: &Model, args: &Args) -> f64 {
    if model.card.mode == Mode::SensitiveFree.name() {
        let asked = args.settings.values.number("strength");
        asked.ok().flatten().unwrap_or(1.0)
    } else {
        model.predictor().strength()
    }
}

fn errors(model: &Model, summary: &Summary) -> String {
    report::error(model, summary.error, summary.spread)
}

fn effort(summary: &Summary) -> String {
    let effort = &summary.effort;
    let steps = match effort.iterations {
        0 => String::new(),
        steps => format!(", {steps} steps"),
    };
    let gap = match (effort.gap, effort.converged) {
        (Some(gap), false) => format!(", stopped early at a relative gap of {gap:.1e}"),
        _ => String::new(),
    };
    format!("{}{steps}{gap}", effort.solver)
}
