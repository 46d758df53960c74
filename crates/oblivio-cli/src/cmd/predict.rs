//! `oblivio predict`

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use oblivio::{Column, CorrelationRatio, Model, Prediction, Tally, Uses, Watch};
use rayon::ThreadPool;
use serde_json::json;

use crate::args::delimiter;
use crate::cmd::inspect::read_model;
use crate::cmd::stream::{Needs, Stream};
use crate::report::{self, CellLine};
use crate::table::BATCH;

/// Score the rows of a table with a model
///
/// Writes one score per row, and says what the scores have to do with the sensitive columns on these rows. The table may be
/// larger than memory.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file
    model: PathBuf,
    /// CSV or Parquet files with the same columns, patterns such as 'part-*.csv', or - for standard input
    #[arg(required = true)]
    data: Vec<PathBuf>,
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
    let model = read_model(&args.model)?;
    let stream = Stream {
        stage: "scoring",
        model: &args.model,
        data: &args.data,
        delimiter: args.delimiter,
        keep: &args.keep,
        output: &args.output,
        batch: BATCH,
    };
    let before = args.before.then(|| "score_before".to_owned());
    let made: Vec<String> = before.into_iter().chain(["score".to_owned()]).collect();
    let mut gathered = Gathered::new(&model);
    let rows = stream.run(pool, &needs(&model), &made, |table| {
        let prediction = model.predict(table, &Watch::default())?;
        gathered.add(&prediction);
        let Prediction { before, scores, .. } = prediction;
        let values = args.before.then_some(before).into_iter().chain([scores]);
        let named = made.iter().zip(values);
        Ok(named.map(|(name, v)| Column::numbers(name, v)).collect())
    })?;
    let Some(rows) = rows else {
        return Ok(());
    };
    let report = gathered.report(&model, rows);
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

fn needs(model: &Model) -> Needs<'_> {
    let mut needs = Needs {
        required: model.encoder.columns().collect(),
        optional: model.sensitive_columns(),
    };
    if model.predictor.needs_sensitive() {
        needs.required.append(&mut needs.optional);
    }
    needs
}

/// What is known of the scores so far.
struct Gathered {
    uses: Uses,
    /// Before and after the offset, if the cells are known.
    tallies: Option<(Tally, Tally)>,
}

impl Gathered {
    fn new(model: &Model) -> Self {
        let offsets = model.predictor.offsets();
        Self {
            uses: Uses::default(),
            tallies: offsets.map(|offsets| {
                let empty = Tally::new(offsets.partition.len());
                (empty.clone(), empty)
            }),
        }
    }

    fn add(&mut self, prediction: &Prediction) {
        self.uses = self.uses.plus(prediction.uses);
        // Every batch has the sensitive columns, or none has.
        match (&mut self.tallies, &prediction.assignment) {
            (Some((before, after)), Some(assignment)) => {
                before.update(&prediction.before, &assignment.cells);
                after.update(&prediction.scores, &assignment.cells);
            }
            _ => self.tallies = None,
        }
    }

    fn report(self, model: &Model, rows: usize) -> Report {
        let measured = self.tallies.zip(model.predictor.offsets());
        let (cells, ratio) = match measured {
            None => (Vec::new(), None),
            Some(((before, after), offsets)) => {
                let means = |tally: &Tally| tally.cell_means(&offsets.partition);
                let ratios = (before.correlation_ratio(), after.correlation_ratio());
                (CellLine::pair(means(&before), means(&after)), Some(ratios))
            }
        };
        Report {
            rows,
            uses: self.uses,
            cells,
            ratio,
        }
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
