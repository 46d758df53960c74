//! `oblivio predict`

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use oblivio::{Column, CorrelationRatio, Model, Prediction, Uses, cell_means, correlation_ratio};
use rayon::ThreadPool;
use serde_json::json;

use crate::args::delimiter;
use crate::cmd::inspect::read_model;
use crate::progress::watched;
use crate::report::{self, CellLine};
use crate::table::{self, ReadOptions, Table};

/// Score the rows of a table with a model
///
/// Writes one score per row, and says what the scores have to do with the sensitive columns on these rows.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file
    model: PathBuf,
    /// CSV or Parquet table, or - for standard input
    data: PathBuf,
    /// Where to write the scores: .parquet, or else CSV; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Columns of the table to write beside the score
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    keep: Vec<String>,
    /// Write the score before the offset too, as `score_before`
    #[arg(long)]
    before: bool,
    /// Character between the fields of a CSV file, \t for a tab
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// What the scores have to do with the cells.
struct Report {
    rows: usize,
    uses: Uses,
    cells: Vec<CellLine>,
    ratio: Option<(CorrelationRatio, CorrelationRatio)>,
}

pub(crate) fn run(args: &Args, pool: &ThreadPool) -> Result<()> {
    table::keep_apart(&args.output, &[&args.data, &args.model])?;
    let model = read_model(&args.model)?;
    let table = Table::read(
        &args.data,
        &ReadOptions {
            delimiter: args.delimiter,
            ..ReadOptions::default()
        },
    )?;
    let kept = args.keep.iter().map(|name| table.column(name).cloned());
    let mut columns = kept.collect::<Result<Vec<Column>>>()?;
    let prediction = watched(pool, |watch| model.predict(table.columns(), watch))?;
    let report = report(&model, &prediction);
    if args.before {
        columns.push(Column::numbers("score_before", prediction.before));
    }
    columns.push(Column::numbers("score", prediction.scores));
    table::write(&args.output, Table::new(columns)?.columns())?;
    for use_ in report::uses(report.uses) {
        report::remark(format_args!("note: {use_}"));
    }
    // Where the scores go to standard output, the report must not mix with them.
    let to_stdout = args.output.as_os_str() != "-";
    match (to_stdout, args.json) {
        (true, true) => report::json(&as_json(&report)),
        (true, false) => report::to_stdout(|out| print(&report, args, out)),
        (false, true) => Ok(writeln!(std::io::stderr(), "{:#}", as_json(&report))?),
        (false, false) => Ok(()),
    }
}

fn report(model: &Model, prediction: &Prediction) -> Report {
    let measured = model
        .predictor
        .offsets()
        .zip(prediction.assignment.as_ref());
    let (cells, ratio) = match measured {
        None => (Vec::new(), None),
        Some((offsets, assignment)) => {
            let means = |scores| cell_means(scores, assignment, &offsets.partition);
            let ratio = |scores| correlation_ratio(scores, &assignment.cells);
            (
                CellLine::pair(means(&prediction.before), means(&prediction.scores)),
                Some((ratio(&prediction.before), ratio(&prediction.scores))),
            )
        }
    };
    Report {
        rows: prediction.scores.len(),
        uses: prediction.uses,
        cells,
        ratio,
    }
}

fn as_json(report: &Report) -> serde_json::Value {
    json!({
        "rows": report.rows,
        "cells": report.cells.iter().map(CellLine::json).collect::<Vec<_>>(),
        "correlation-ratio": report.ratio.map(|(before, after)| json!({
            "before": before.value, "after": after.value, "expected-if-independent": after.expected,
        })),
        "policies-used": report.uses,
    })
}

fn print(report: &Report, args: &Args, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "{} scores written to {}",
        report.rows,
        args.output.display()
    )?;
    if let Some((before, after)) = report.ratio {
        report::cells(out, "mean score on these rows", &report.cells)?;
        writeln!(out, "  {}", report::ratio(before, after))?;
    }
    Ok(())
}
