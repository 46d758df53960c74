//! `oblivio frontier`

mod args;
mod print;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use oblivio::model::Labels;
use oblivio::{Mode, Settings};
use oblivio_audit::{Candidate, Frontier};
use oblivio_report::{FrontierPage, frontier_csv};
use rayon::ThreadPool;
use serde_json::Value;

pub(crate) use self::args::Args;
use crate::cmd::fit::{Columns, check_memory, say_dropped, stream};
use crate::cmd::stream::opened;
use crate::cmd::written::{self, Kind};
use crate::progress::watched;
use crate::report;
use crate::table;

pub(crate) fn run(args: &Args, pool: &ThreadPool) -> Result<()> {
    ensure!(
        !args.columns.sensitive.is_empty(),
        "there is no sensitive column to compare error with; name some with --sensitive"
    );
    let base = args.base()?;
    let mut candidates = args.grid().candidates(&base)?;
    let settings = args.frontier(&base);
    let data = table::expand(&args.data)?;
    let inputs: Vec<&Path> = data.iter().map(PathBuf::as_path).collect();
    written::check(&args.output, &inputs)?;
    let source = opened(&data, &args.columns.read.options())?;
    let encoding = args.settings.values.encoding()?;
    let columns = Columns::choose(
        &source,
        &args.columns,
        Some(&args.target),
        base.learner.classifies(),
    )?
    .with_missing_features(encoding.missing);
    let rows = columns.rows(&source.table_of(&columns.names())?)?;
    columns.check_positive(rows.has_positive, &source)?;
    say_dropped(rows.dropped, source.rows())?;
    check(&mut candidates, rows.len(), args)?;
    let Some(target) = &rows.target else {
        bail!("there is no target to predict; give --target");
    };
    let labels = base
        .learner
        .classifies()
        .then(|| columns.labels(Labels::of(target)));
    let roles = rows.roles(target, labels.as_ref());
    let frontier = watched(pool, |watch| {
        settings.run(roles, encoding, &candidates, watch)
    })?;
    let report = Report {
        title: args.title.clone().unwrap_or_else(|| written::names(&data)),
        facts: facts(args, &data, &base),
        frontier: &frontier,
    };
    written::write(&args.output, |kind| report.text(kind))?;
    written::say_if_without_charts(&args.output);
    if args.json {
        report::json(&report.json())
    } else {
        report::to_stdout(|out| print::print(&frontier, &args.output, out))
    }
}

/// Compares what the largest fit needs with what is free, before anything is allocated.
fn check(candidates: &mut [Candidate], rows: usize, args: &Args) -> Result<()> {
    let is_exacting = |c: &&mut Candidate| c.settings.mode == Mode::MOblivious;
    let finds_penalty = args.settings.values.finds_penalty();
    let training = ((1.0 - args.held_out).clamp(0.0, 1.0) * rows as f64) as usize;
    if let Some(components) = candidates.first().and_then(|c| c.settings.components) {
        return stream::check_memory(components);
    }
    if let Some(largest) = candidates.iter_mut().find(is_exacting) {
        check_memory(training, &mut largest.settings, finds_penalty)?;
    }
    for candidate in candidates {
        check_memory(training, &mut candidate.settings, finds_penalty)?;
    }
    Ok(())
}

/// What was done, in pairs of a name and a value.
fn facts(args: &Args, data: &[PathBuf], base: &Settings) -> Vec<(String, String)> {
    let mut facts = vec![
        ("data", written::names(data)),
        ("sensitive columns", args.columns.sensitive.join(", ")),
        ("kernel", base.kernel.to_string()),
    ];
    if let Some(weights) = &args.columns.weights {
        facts.push(("weights", weights.clone()));
    }
    if let Some(components) = base.components {
        facts.push(("landmarks", components.count.to_string()));
    }
    let owned = |(name, value): (&str, String)| (name.to_owned(), value);
    facts.into_iter().map(owned).collect()
}

/// A frontier with all that is written about it.
struct Report<'a> {
    frontier: &'a Frontier,
    title: String,
    facts: Vec<(String, String)>,
}

impl Report<'_> {
    fn text(&self, kind: Kind) -> String {
        match kind {
            Kind::Csv => frontier_csv(self.frontier),
            Kind::Json => format!("{:#}\n", self.json()),
            Kind::Page => FrontierPage {
                frontier: self.frontier,
                title: &self.title,
                facts: &self.facts,
            }
            .html(),
        }
    }

    /// The frontier as it is, and what was done.
    fn json(&self) -> Value {
        written::json(self.frontier, &self.title, &self.facts)
    }
}
