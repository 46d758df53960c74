//! `oblivio audit`

mod args;
mod gate;
mod page;
mod print;
mod rows;

use std::path::{Path, PathBuf};

use anyhow::Result;
use oblivio_audit::Audit;
use rayon::ThreadPool;
use serde_json::{Value, json};

pub(crate) use self::args::Args;
#[cfg(test)]
pub(crate) use self::gate::Limit;
use self::gate::{Side, Verdict, verdicts};
use self::page::Report;
pub(super) use self::print::measures;
use self::rows::{Columns, Models};
use crate::cmd::stream::opened;
use crate::cmd::written::{self, Kind};
use crate::progress::watched;
use crate::report;
use crate::table;

/// Whether every measure kept its limit.
pub(crate) fn run(args: &Args, pool: &ThreadPool) -> Result<bool> {
    let data = table::expand(&args.data)?;
    check_outputs(args, &data)?;
    let models = Models::read(args)?;
    let sensitive = models.sensitive(args)?;
    let mut settings = args.settings(&sensitive)?;
    settings.threshold = settings.threshold.or(models.threshold());
    let frontier = page::frontier(args)?;
    let source = opened(&data, &args.read_options())?.knowing(&models.schema());
    let columns = Columns::choose(&source, args, &models, sensitive)?;
    let table = source.table_of(columns.names())?;
    let rows = columns.rows(&table, args, &models, pool)?;
    let bounds = match (args.bound_settings(), &models.model) {
        (Some(settings), Some(model)) => Some(watched(pool, |watch| {
            settings.run(model, table.columns(), watch)
        })?),
        _ => None,
    };
    drop(table);
    let audit = watched(pool, |watch| settings.run(&rows, watch))?;
    let limits = args.at_most.iter().map(|limit| (Side::AtMost, *limit));
    let limits = limits.chain(args.at_least.iter().map(|limit| (Side::AtLeast, *limit)));
    let verdicts = verdicts(&audit, &limits.collect::<Vec<_>>())?;
    let report = Report {
        title: page::title(args, &data),
        facts: page::facts(args, &data, &models, &audit),
        frontier,
        bounds,
        audit: &audit,
    };
    written::write(&args.output, |kind| text(kind, &report, &verdicts))?;
    written::say_if_without_charts(&args.output);
    if args.json {
        report::json(&as_json(&audit, &report, &verdicts))?;
    } else {
        report::to_stdout(|out| print::print(&audit, &args.output, out))?;
    }
    for remark in verdicts.iter().filter_map(Verdict::hopeless) {
        report::remark(format_args!("note: {remark}"));
    }
    for verdict in verdicts.iter().filter(|verdict| !verdict.kept) {
        report::remark(format_args!("limit: {}", verdict.sentence()));
    }
    Ok(verdicts.iter().all(|verdict| verdict.kept))
}

/// Refuses what cannot be written before anything is computed.
fn check_outputs(args: &Args, data: &[PathBuf]) -> Result<()> {
    let models = args.model.iter().chain(&args.baseline);
    let inputs: Vec<&Path> = data
        .iter()
        .chain(models)
        .chain(&args.frontier)
        .map(PathBuf::as_path)
        .collect();
    written::check(&args.output, &inputs)
}

fn text(kind: Kind, report: &Report, verdicts: &[Verdict]) -> String {
    match kind {
        Kind::Csv => oblivio_report::csv(report.audit),
        Kind::Json => format!("{:#}\n", as_json(report.audit, report, verdicts)),
        Kind::Page => report.html(),
    }
}

/// The audit as it is, what was done, and the verdicts of the limits.
fn as_json(audit: &Audit, report: &Report, verdicts: &[Verdict]) -> Value {
    let mut json = written::json(audit, &report.title, &report.facts);
    if let Some(map) = json.as_object_mut() {
        let limits: Vec<Value> = verdicts.iter().map(Verdict::json).collect();
        map.insert("limits".into(), json!(limits));
        if let Some(bounds) = &report.bounds {
            map.insert("bounds".into(), json!(bounds));
        }
    }
    json
}
