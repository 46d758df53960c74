//! `oblivio predict`

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use oblivio::classes::Classes;
use oblivio::intervals::{CellCoverage, Coverage};
use oblivio::partition::Uses;
use oblivio::{Column, Model, Prediction, Watch};
use oblivio_audit::{CorrelationRatio, Tally};
use rayon::ThreadPool;
use serde_json::json;

use crate::args::delimiter;
use crate::cmd::stream::{Needs, Stream};
use crate::report::{self, CellLine};
use crate::stored::read_model;
use crate::table::BATCH;

/// Score the rows of a table with a model
///
/// Writes one score per row, and says what the scores have to do with the sensitive columns on these rows. For classes it
/// writes the label too, a score for each class if there are more than two, and probabilities if the model has them. The table
/// may be larger than memory.
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
    /// Write intervals too, as `lower` and `upper`: they are to hold this share of the targets in every cell. The model must have
    /// been fitted with --intervals. Where the table has the target, the share found is reported by cell
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    coverage: Option<f64>,
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
    /// One for each score, if the cells are known.
    scores: Vec<ScoreReport>,
    intervals: Option<IntervalReport>,
}

/// What the intervals have to do with the targets.
struct IntervalReport {
    coverage: f64,
    endless: usize,
    /// By cell, where the table has the target.
    found: Vec<CellCoverage>,
}

struct ScoreReport {
    /// What the score decides, where there are several.
    decision: Option<String>,
    cells: Vec<CellLine>,
    before: CorrelationRatio,
    after: CorrelationRatio,
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
    if let Some(coverage) = args.coverage {
        check_intervals(&model, coverage, &args.model)?;
    }
    let made = Made::of(&model, args.before, args.coverage);
    let mut gathered = Gathered::new(&model);
    let mut judged = args.coverage.map(|coverage| Judged::new(&model, coverage));
    let rows = stream.run(
        pool,
        &needs(&model, args.coverage),
        &made.names(),
        |table| {
            let predictions = model.predict(table, &Watch::default())?;
            gathered.add(&predictions);
            let mut columns = made.columns(&predictions);
            if let Some(judged) = &mut judged {
                columns.extend(judged.add(&model, &predictions[0], table)?);
            }
            Ok(columns)
        },
    )?;
    let Some(rows) = rows else {
        return Ok(());
    };
    let mut report = gathered.report(&model, rows);
    report.intervals = judged.map(|judged| judged.report(&model));
    for use_ in report::uses(report.uses) {
        report::remark(format_args!("note: {use_}"));
    }
    if let Some(intervals) = &report.intervals {
        if intervals.endless > 0 {
            report::remark(format_args!(
                "warning: {} rows have intervals without end, because a cell holds too few rows for coverage {}; use fewer or larger cells, or less coverage",
                intervals.endless, intervals.coverage
            ));
        }
        if !args.json && !intervals.found.is_empty() {
            report::coverage(&mut std::io::stderr(), intervals.coverage, &intervals.found)?;
        }
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

/// Before a row is read: whether there are intervals of this coverage.
fn check_intervals(model: &Model, coverage: f64, path: &Path) -> Result<()> {
    let Some(intervals) = model.predictor().intervals() else {
        ensure!(
            model.classes.is_none(),
            "{}: this model is a classifier, and intervals are for regressions; leave --coverage out",
            path.display()
        );
        bail!(
            "{}: this model has no intervals; fit it with `oblivio fit --intervals`, or leave --coverage out",
            path.display()
        );
    };
    intervals.half_widths(coverage)?;
    Ok(())
}

fn needs(model: &Model, coverage: Option<f64>) -> Needs<'_> {
    let mut needs = Needs {
        required: model.encoder.columns().collect(),
        optional: model.sensitive_columns(),
        schema: model.schema(),
    };
    if model.needs_sensitive() {
        needs.required.append(&mut needs.optional);
    }
    // To count what the intervals hold.
    needs
        .optional
        .extend(coverage.map(|_| model.card.target.as_str()));
    needs
}

/// The columns that are written.
struct Made<'m> {
    classes: Option<&'m Classes>,
    scores: Vec<String>,
    probabilities: Vec<String>,
    before: bool,
    intervals: bool,
}

impl<'m> Made<'m> {
    fn of(model: &'m Model, before: bool, coverage: Option<f64>) -> Self {
        let classes = model.classes.as_ref();
        let named = |what: &str| -> Vec<String> {
            match classes {
                Some(classes) if classes.labels.len() > 2 => {
                    let names = classes.labels.iter();
                    names.map(|label| format!("{what}_{label}")).collect()
                }
                _ => vec![what.to_owned()],
            }
        };
        let probabilities = classes.is_some_and(|classes| classes.probabilities);
        Self {
            classes,
            scores: named("score"),
            probabilities: if probabilities {
                named("probability")
            } else {
                Vec::new()
            },
            before,
            intervals: coverage.is_some(),
        }
    }

    fn names(&self) -> Vec<String> {
        let before = self.scores.iter().map(|name| format!("{name}_before"));
        let before = before.filter(|_| self.before);
        let label = self.classes.map(|_| "label".to_owned());
        let scores = before.chain(self.scores.iter().cloned());
        let all = scores.chain(self.probabilities.iter().cloned());
        let ends = ["lower".to_owned(), "upper".to_owned()].into_iter();
        let ends = ends.filter(|_| self.intervals);
        all.chain(label).chain(ends).collect()
    }

    fn columns(&self, predictions: &[Prediction]) -> Vec<Column> {
        let before = predictions.iter().map(|p| p.before.clone());
        let mut values: Vec<Vec<f64>> = before.filter(|_| self.before).collect();
        values.extend(predictions.iter().map(|p| p.scores.clone()));
        let rows = predictions[0].scores.len();
        let of_row =
            |row: usize| -> Vec<f64> { predictions.iter().map(|p| p.scores[row]).collect() };
        let mut chances = vec![Vec::with_capacity(rows); self.probabilities.len()];
        let mut labels = Vec::with_capacity(rows);
        if let Some(classes) = self.classes {
            for row in 0..rows {
                let scores = of_row(row);
                labels.push(Some(classes.labels[classes.decide(&scores)].as_str()));
                let all = classes.probabilities(&scores).unwrap_or_default();
                // Of two, the positive class.
                let shown = all.len() - chances.len();
                for (chance, p) in chances.iter_mut().zip(&all[shown..]) {
                    chance.push(*p);
                }
            }
        }
        values.extend(chances);
        let names = self.names();
        let numbers = names.iter().zip(values);
        let mut columns: Vec<Column> = numbers.map(|(n, v)| Column::numbers(n, v)).collect();
        if self.classes.is_some() {
            columns.push(Column::texts("label", labels));
        }
        columns
    }
}

/// Intervals, and what is known of them so far.
struct Judged {
    coverage: f64,
    endless: usize,
    /// While every batch has the target.
    found: Option<Coverage>,
}

impl Judged {
    fn new(model: &Model, coverage: f64) -> Self {
        let offsets = model.predictor().offsets();
        let cells = offsets.map_or(0, |offsets| offsets.partition.len());
        Self {
            coverage,
            endless: 0,
            found: Some(Coverage::new(cells)),
        }
    }

    /// The ends of the intervals of a batch.
    fn add(
        &mut self,
        model: &Model,
        prediction: &Prediction,
        table: &[Column],
    ) -> oblivio::Result<Vec<Column>> {
        let interval = model.predictor().interval(prediction, self.coverage)?;
        self.endless += interval.endless;
        let target = table.iter().find(|column| column.name == model.card.target);
        // A target of texts was made a number by the fit, and nobody knows how.
        let targets = target.and_then(|target| target.to_numbers().ok());
        match (&mut self.found, targets) {
            (Some(found), Some(targets)) => {
                found.update(&interval, &targets, prediction.assignment.as_ref())?;
            }
            _ => self.found = None,
        }
        Ok(vec![
            Column::numbers("lower", interval.lower),
            Column::numbers("upper", interval.upper),
        ])
    }

    fn report(self, model: &Model) -> IntervalReport {
        let partition = model.predictor().partition();
        IntervalReport {
            coverage: self.coverage,
            endless: self.endless,
            found: self
                .found
                .map_or(Vec::new(), |found| found.cells(partition)),
        }
    }
}

/// What is known of the scores so far.
struct Gathered {
    uses: Uses,
    /// Before and after the offset for each score, if the cells are known.
    tallies: Option<Vec<(Tally, Tally)>>,
}

impl Gathered {
    fn new(model: &Model) -> Self {
        let offsets = model.predictor().offsets();
        Self {
            uses: Uses::default(),
            tallies: offsets.map(|offsets| {
                let empty = Tally::new(offsets.partition.len());
                vec![(empty.clone(), empty); model.scorers.len()]
            }),
        }
    }

    fn add(&mut self, predictions: &[Prediction]) {
        self.uses = self.uses.plus(predictions[0].uses);
        // Every batch has the sensitive columns, or none has.
        match (&mut self.tallies, &predictions[0].assignment) {
            (Some(tallies), Some(assignment)) => {
                for ((before, after), prediction) in tallies.iter_mut().zip(predictions) {
                    before.update(&prediction.before, assignment.codes());
                    after.update(&prediction.scores, assignment.codes());
                }
            }
            _ => self.tallies = None,
        }
    }

    fn report(self, model: &Model, rows: usize) -> Report {
        let several = model.scorers.len() > 1;
        let measured = self.tallies.zip(model.predictor().offsets());
        let scores = measured.map_or(Vec::new(), |(tallies, offsets)| {
            let means = |tally: &Tally| tally.cell_means(&offsets.partition);
            let score = |(k, (before, after)): (usize, &(Tally, Tally))| ScoreReport {
                decision: several.then(|| report::decision(model, k)),
                cells: CellLine::pair(means(before), means(after)),
                before: before.correlation_ratio(),
                after: after.correlation_ratio(),
            };
            tallies.iter().enumerate().map(score).collect()
        });
        Report {
            rows,
            uses: self.uses,
            scores,
            intervals: None,
        }
    }
}

fn as_json(report: &Report) -> serde_json::Value {
    let score = |score: &ScoreReport| {
        let cells: Vec<_> = score.cells.iter().map(CellLine::json).collect();
        let ratio = json!({
            "before": score.before.value,
            "after": score.after.value,
            "expected-if-independent": score.after.expected,
        });
        (cells, ratio)
    };
    let first = report.scores.first().map(score);
    let (cells, ratio) = first.map_or((Vec::new(), None), |(c, r)| (c, Some(r)));
    let mut json = json!({
        "rows": report.rows,
        "cells": cells,
        "correlation-ratio": ratio,
        "policies-used": report.uses,
    });
    if let (Some(intervals), Some(json)) = (&report.intervals, json.as_object_mut()) {
        let found: Vec<_> = intervals.found.iter().map(report::coverage_json).collect();
        let intervals = json!({
            "coverage": intervals.coverage,
            "without-end": intervals.endless,
            "cells": found,
        });
        json.insert("intervals".into(), intervals);
    }
    if let (true, Some(json)) = (report.scores.len() > 1, json.as_object_mut()) {
        let one = |of: &ScoreReport| {
            let (cells, ratio) = score(of);
            json!({ "decision": of.decision, "cells": cells, "correlation-ratio": ratio })
        };
        let all: Vec<_> = report.scores.iter().map(one).collect();
        json.insert("decisions".into(), json!(all));
    }
    json
}

fn print(report: &Report, args: &Args, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(
        out,
        "{} scores written to {}",
        report.rows,
        args.output.display()
    )?;
    for score in &report.scores {
        if let Some(decision) = &score.decision {
            writeln!(out, "\n{decision}")?;
        }
        report::cells(out, "mean score on these rows", &score.cells)?;
        writeln!(out, "  {}", report::ratio(score.before, score.after))?;
    }
    Ok(())
}
