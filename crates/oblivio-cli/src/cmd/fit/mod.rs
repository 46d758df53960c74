//! `oblivio fit`

mod args;
mod columns;

use std::io::Write;

use anyhow::Result;
use oblivio::{Model, Named, Scaling, Summary, Warning};
use rayon::ThreadPool;
use serde_json::json;

pub(crate) use self::args::Args;
use self::columns::Columns;
use crate::progress::watched;
use crate::report::{self, CellLine, number};
use crate::table::{self, Table};

pub(crate) fn run(args: &Args, pool: &ThreadPool) -> Result<()> {
    let settings = args.settings()?;
    table::keep_apart(&args.output, &[&args.data])?;
    let table = Table::read(&args.data, &args.read_options())?;
    let columns = Columns::select(&table, args)?;
    columns.check_memory()?;
    let scaling = if args.no_standardize {
        Scaling::Raw
    } else {
        Scaling::Standard
    };
    let (model, summary) = watched(pool, |watch| {
        Model::fit(columns.roles(), scaling, &settings, watch)
    })?;
    table::write_bytes(&args.output, &model.to_bytes()?)?;
    for warning in &summary.warnings {
        report::remark(format_args!("warning: {warning}"));
    }
    for use_ in report::uses(summary.uses) {
        report::remark(format_args!("note: {use_}"));
    }
    // Where the model goes to standard output, the report must not mix with it.
    let to_stdout = args.output.as_os_str() != "-";
    match (to_stdout, args.json) {
        (true, true) => report::json(&as_json(&model, &summary)),
        (true, false) => report::to_stdout(|out| print(&model, &summary, args, out)),
        (false, true) => Ok(writeln!(
            std::io::stderr(),
            "{:#}",
            as_json(&model, &summary)
        )?),
        (false, false) => Ok(print(&model, &summary, args, &mut std::io::stderr())?),
    }
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
