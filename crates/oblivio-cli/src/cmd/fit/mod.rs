//! `oblivio fit`

mod args;
mod columns;
mod exact;
mod saved;
mod stream;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use oblivio::{Model, Named, Scaling, Summary, Transformer, Warning};
use rayon::ThreadPool;
use serde_json::json;

pub(crate) use self::args::Args;
use self::columns::Columns;
use self::saved::Saved;
use self::stream::Pass;
use crate::cmd::stream::opened;
use crate::report::{self, CellLine, number};
use crate::table;

pub(crate) fn run(args: &Args, pool: &ThreadPool) -> Result<()> {
    let settings = args.settings()?;
    let data = table::expand(&args.data)?;
    let inputs: Vec<&Path> = data.iter().map(PathBuf::as_path).collect();
    table::keep_apart(&args.output, &inputs)?;
    table::check_place(&args.output)?;
    let saved = Saved::find(args)?;
    let source = match saved.source(&data) {
        Some(source) => source,
        None => opened(&data, &args.read_options())?,
    };
    let columns = Columns::choose(&source, args)?;
    let scaling = if args.no_standardize {
        Scaling::Raw
    } else {
        Scaling::Standard
    };
    let pass = |components, saved| Pass {
        args,
        data: &data,
        scaling,
        components,
        source: &source,
        columns: &columns,
        pool,
        saved,
    };
    let (model, summary) = match (settings.components, &args.target) {
        (Some(components), None) => {
            let features = Args::features(&settings, components);
            let (transformer, warnings, rows) = pass(components, saved).features(&features)?;
            table::write_bytes(&args.output, &transformer.to_bytes()?)?;
            saved::forget(args.checkpoint.as_deref());
            return say_features(args, &transformer, &warnings, rows);
        }
        (Some(components), Some(_)) => pass(components, saved).fit(&settings)?,
        (None, _) => {
            ensure!(
                args.checkpoint.is_none(),
                "--checkpoint is for fits that read rows in batches; give --components too, or leave it out"
            );
            exact::fit(args, &settings, scaling, &source, &columns, pool)?
        }
    };
    table::write_bytes(&args.output, &model.to_bytes()?)?;
    saved::forget(args.checkpoint.as_deref());
    say_warnings(&summary.warnings);
    for use_ in report::uses(summary.uses) {
        report::remark(format_args!("note: {use_}"));
    }
    say(args, &as_json(&model, &summary), |out| {
        print(&model, &summary, args, out)
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
        report::remark(format_args!("warning: {warning}"));
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

fn as_json(model: &Model, summary: &Summary) -> serde_json::Value {
    let cells: Vec<_> = lines(summary).iter().map(CellLine::json).collect();
    json!({
        "target": model.card.target,
        "features": model.encoder.columns().collect::<Vec<_>>(),
        "sensitive": model.sensitive_columns(),
        "mode": model.card.mode,
        "kernel": model.predictor.kernel().to_string(),
        "penalty": model.card.penalty,
        "strength": model.predictor.strength(),
        "reference": model.card.reference,
        "seed": model.card.seed,
        "training-rows": summary.training_rows,
        "reference-rows": summary.reference_rows,
        "training-error": summary.error,
        "target-spread": summary.spread,
        "solver": summary.convergence.solver.name(),
        "iterations": summary.convergence.iterations,
        "points": model.predictor.basis().len(),
        "cells": cells,
        "policies-used": summary.uses,
        "warnings": summary.warnings.iter().map(Warning::to_string).collect::<Vec<_>>(),
    })
}

fn lines(summary: &Summary) -> Vec<CellLine> {
    let line = |cell: &oblivio::CellSummary| CellLine {
        label: cell.label.clone(),
        rows: cell.rows,
        before: cell.before,
        after: cell.after,
    };
    summary.cells.iter().map(line).collect()
}

fn print(
    model: &Model,
    summary: &Summary,
    args: &Args,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    writeln!(
        out,
        "{} ridge regression of `{}` on {} features, written to {}",
        model.card.mode,
        model.card.target,
        model.encoder.width(),
        args.output.display()
    )?;
    let mut solver = summary.convergence.solver.name().to_owned();
    if summary.convergence.iterations > 0 {
        solver = format!("{solver}, {} steps", summary.convergence.iterations);
    }
    report::pairs(
        out,
        &[
            (
                "rows",
                format!(
                    "{} training, {} reference",
                    summary.training_rows, summary.reference_rows
                ),
            ),
            ("kernel", model.predictor.kernel().to_string()),
            (
                "expansion",
                report::expansion(&model.predictor, model.card.components),
            ),
            ("penalty", model.card.penalty.to_string()),
            ("strength", model.predictor.strength().to_string()),
            (
                "training error",
                format!(
                    "{} root mean squared ({} for a constant)",
                    number(summary.error),
                    number(summary.spread)
                ),
            ),
            ("solver", solver),
        ],
    )?;
    if !summary.cells.is_empty() {
        report::cells(out, "mean score on the reference rows", &lines(summary))?;
    }
    Ok(())
}
