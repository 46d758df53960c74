//! `oblivio refresh`

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table as Grid, presets};
use oblivio::model::{Change, Renewed, Step};
use oblivio::refresh::{Drift, Renewal, SmallCells};
use oblivio::{Column, Model, Sensitive, Watch};
use rayon::ThreadPool;
use serde_json::json;

use crate::args::delimiter;
use crate::cmd::stream::{in_table, opened};
use crate::progress::RowBar;
use crate::report::{self, number};
use crate::stored::read_model;
use crate::table::{self, ReadOptions};

/// Renew a model's offsets by new rows
///
/// The rows need no target. Says how far the mean score of every cell has drifted, in standard errors: since the last refresh, if there was
/// one, and since the fit.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file
    model: PathBuf,
    /// CSV or Parquet files with the same columns, patterns such as 'part-*.csv', or - for standard input
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// Where to write the renewed model
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// New rows that every cell needs
    #[arg(long, value_name = "ROWS", default_value_t = 30)]
    min_rows: usize,
    /// Keep cells with fewer new rows as they were; without this they are an error
    #[arg(long)]
    keep_small: bool,
    /// What the model's history will say of the time, such as 2026-01-31
    #[arg(long, value_name = "TEXT")]
    date: Option<String>,
    /// Character between the fields of a CSV file, \t for a tab
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, pool: &ThreadPool) -> Result<()> {
    let model = read_model(&args.model)?;
    let data = table::expand(&args.data)?;
    let inputs: Vec<&Path> = data.iter().map(PathBuf::as_path).collect();
    table::keep_apart(&args.output, &inputs)?;
    table::check_place(&args.output)?;
    let mut refresh = model
        .refresh()
        .with_context(|| args.model.display().to_string())?;
    let options = ReadOptions {
        delimiter: args.delimiter,
        ..ReadOptions::default()
    };
    let source = opened(&data, &options)?.knowing(&model.schema());
    let sensitive = model.sensitive_columns();
    let needed = model.encoder.columns().chain(sensitive.iter().copied());
    let names: Vec<String> = needed.map(str::to_owned).collect();
    let bar = RowBar::new("scoring", source.rows());
    let mut rows = 0;
    for batch in source.batches(&names, 0)? {
        let batch = batch?;
        let columns = sensitive.iter().map(|name| batch.column(name).cloned());
        let columns = columns.collect::<Result<Vec<Column>>>()?;
        pool.install(|| {
            let (points, _) = model.encoder.encode(batch.columns())?;
            let sensitive = Sensitive::new(columns, batch.rows())?;
            refresh.update(&points, &sensitive, None, &Watch::default())
        })
        .map_err(|error| in_table(error, &source, rows))?;
        rows += batch.rows();
        bar.advance(batch.rows());
    }
    bar.finish();
    let renewal = Renewal {
        least: args.min_rows,
        small: if args.keep_small {
            SmallCells::Keep
        } else {
            SmallCells::Refuse
        },
    };
    let Renewed {
        model,
        drifts,
        uses,
    } = refresh.finish(renewal, args.date.clone())?;
    table::write_bytes(&args.output, &model.to_bytes()?)?;
    for use_ in report::uses(uses) {
        report::remark(format_args!("note: {use_}"));
    }
    // Where the model goes to standard output, the report must not mix with it.
    let to_stdout = args.output.as_os_str() != "-";
    match (to_stdout, args.json) {
        (true, true) => report::json(&as_json(&model, rows, &drifts)),
        (true, false) => report::to_stdout(|out| print(args, &model, rows, &drifts, out)),
        (false, true) => Ok(writeln!(
            std::io::stderr(),
            "{:#}",
            as_json(&model, rows, &drifts)
        )?),
        (false, false) => Ok(print(args, &model, rows, &drifts, &mut std::io::stderr())?),
    }
}

fn as_json(model: &Model, rows: usize, drifts: &[Vec<Drift>]) -> serde_json::Value {
    let cell = |drift: &Drift| {
        json!({
            "cell": drift.label,
            "rows": drift.rows,
            "mean-before": drift.before,
            "mean-now": drift.after,
            "z": drift.z,
            "mean-at-fit": drift.since_fit.map(|fit| fit.mean),
            "z-since-fit": drift.since_fit.and_then(|fit| fit.z),
            "offset-before": drift.offsets.0,
            "offset-now": drift.offsets.1,
            "kept": drift.kept,
        })
    };
    let cells = |drift: &Vec<Drift>| drift.iter().map(cell).collect::<Vec<_>>();
    let mut json = json!({ "rows": rows, "cells": cells(&drifts[0]) });
    if let (Some(classes), Some(json)) = (&model.classes, json.as_object_mut())
        && drifts.len() > 1
    {
        let decisions = classes.labels.iter().zip(drifts);
        let all = decisions.map(|(class, drift)| json!({ "class": class, "cells": cells(drift) }));
        json.insert("decisions".into(), all.collect());
    }
    json
}

fn print(
    args: &Args,
    model: &Model,
    rows: usize,
    drifts: &[Vec<Drift>],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    writeln!(
        out,
        "offsets renewed by {rows} rows, model written to {}",
        args.output.display()
    )?;
    let is_refresh = |change: &&Change| matches!(change.step, Step::Refresh(_));
    let refreshes = model.card.history.iter().filter(is_refresh).count();
    for (k, drift) in drifts.iter().enumerate() {
        if drifts.len() > 1 {
            writeln!(out, "\n{}", report::decision(model, k))?;
        }
        print_drift(args, refreshes > 1, drift, out)?;
    }
    Ok(())
}

/// The drift of every cell; since the fit as well, if that is another.
fn print_drift(
    args: &Args,
    again: bool,
    drift: &[Drift],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut grid = Grid::new();
    grid.load_style(presets::NOTHING);
    let since_fit = again.then_some(["at fit", "z since fit"]);
    let header = ["cell", "rows", "before", "now", "z"].into_iter();
    grid.set_header(header.chain(since_fit.into_iter().flatten()));
    let errors = |z: Option<f64>| z.map_or("-".into(), |z| format!("{z:.1}"));
    for cell in drift {
        let z = errors(cell.z);
        let mut row = vec![
            cell.label.clone(),
            cell.rows.to_string(),
            number(cell.before),
            number(cell.after),
            if cell.kept { format!("{z} (kept)") } else { z },
        ];
        if again {
            let fit = cell.since_fit;
            row.push(fit.map_or("-".into(), |fit| number(fit.mean)));
            row.push(errors(fit.and_then(|fit| fit.z)));
        }
        grid.add_row(row);
    }
    for column in grid.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "\nmean score before the offset")?;
    for line in grid.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    let kept = drift.iter().filter(|cell| cell.kept).count();
    if kept > 0 {
        writeln!(
            out,
            "  {kept} cells have fewer than {} new rows and stay as they were",
            args.min_rows
        )?;
    }
    writeln!(
        out,
        "  z counts standard errors: beyond 4 or so, a cell has moved"
    )
}
