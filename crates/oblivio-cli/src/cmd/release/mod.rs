//! `oblivio release`

mod args;
mod columns;
mod later;
mod places;
mod print;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Error, Result, anyhow};
use oblivio::Warning;
use oblivio::partition::Uses;
use oblivio_base::Named;
use oblivio_release::{
    Release, ReleaseMethod, ReleaseReport, ReleaseRows, ReleaseSettings, Released,
};
use oblivio_report::{NOT_ANONYMISED, ReleasePage, release_csv};
use rayon::ThreadPool;
use serde_json::{Value, json};

pub(crate) use self::args::Args;
use self::columns::Columns;
use self::columns::replaced;
pub(super) use self::later::Later;
use crate::cmd::stream::opened;
use crate::cmd::written::{self, Kind};
use crate::progress::watched;
use crate::report;
use crate::table::{self, Form, Sink};

pub(crate) fn run(args: &Args, pool: &ThreadPool) -> Result<()> {
    let settings = args.settings()?;
    let study = args.study(&settings);
    study.check()?;
    let data = table::expand(&args.data)?;
    let reports = places::reports(args);
    places::check(args, &data, &reports)?;
    let source = opened(&data, &args.read.options())?;
    let columns = Columns::choose(&source, args)?;
    let form = Form::of(&source, &columns.written)?;
    let table = source.verbatim(&args.keep).table_of(&columns.read)?;
    let rows = columns.rows(&table, args)?;
    let (made, mut found) = watched(pool, |watch| {
        let weights = rows.weights.as_deref();
        let (release, warnings) = settings.fit(&rows.features, &rows.sensitive, weights, watch)?;
        let released = release.transform(&rows.features, &rows.sensitive, watch)?;
        let made = Made {
            release,
            released,
            warnings,
        };
        Ok((made, settings.study(&rows, &study, watch)?))
    })
    .map_err(|error| hinted(error, &settings, &rows))?;
    let written = replaced(&table, &columns.written, made.released.columns.clone())?;
    let mut sink = Sink::create(&args.output)?.of_form(form);
    sink.write(&written)?;
    let notes = notes(&made, sink.lost_types());
    found.notes.extend(new_among(notes, &found.notes));
    let report = Report {
        title: args.title.clone().unwrap_or_else(|| written::names(&data)),
        facts: facts(args, &settings, &data, &columns),
        args,
        columns: &columns,
        found: &found,
        made: &made,
    };
    written::write(&reports, |kind| report.text(kind))?;
    if let Some(path) = &args.model {
        table::write_bytes(path, &made.release.to_bytes()?)?;
    }
    // The table comes last: it is never there without what was found.
    sink.finish()?;
    report.print(&reports)
}

/// The error, and the option that lets missing values of features be.
fn hinted(error: Error, settings: &ReleaseSettings, rows: &ReleaseRows) -> Error {
    let feature = |name: &String| rows.features.iter().any(|column| column.name == *name);
    match error.downcast_ref::<oblivio::Error>() {
        Some(oblivio::Error::MissingValues { column, .. })
            if settings.method != ReleaseMethod::Projection && feature(column) =>
        {
            anyhow!(
                "{}, or leave them missing with --missing-values keep",
                report::sentence(&error)
            )
        }
        _ => error,
    }
}

/// What is made of the whole table.
struct Made {
    release: Release,
    released: Released,
    warnings: Vec<Warning>,
}

/// What was done, in pairs of a name and a value.
fn facts(
    args: &Args,
    settings: &ReleaseSettings,
    data: &[PathBuf],
    columns: &Columns,
) -> Vec<(String, String)> {
    let mut facts = vec![
        ("data", written::names(data)),
        ("sensitive columns", args.sensitive.join(", ")),
        ("released columns", columns.features.join(", ")),
        ("left as they were", columns.copied().join(", ")),
        ("left out of the table", left_out(args).join(", ")),
        ("strength", settings.strength.to_string()),
    ];
    if args.method == ReleaseMethod::Projection {
        facts.push(("kernel", settings.projection.kernel.to_string()));
    }
    if let Some(weights) = &args.weights {
        facts.push(("weights", weights.clone()));
    }
    let said = |(name, value): (&str, String)| {
        let value = if value.is_empty() {
            "none".into()
        } else {
            value
        };
        (name.to_owned(), value)
    };
    facts.into_iter().map(said).collect()
}

fn left_out(args: &Args) -> Vec<String> {
    let sensitive = args.sensitive.iter().filter(|_| args.drop_sensitive);
    args.drop.iter().chain(sensitive).cloned().collect()
}

/// What is to be known of the table beside what the study found.
fn notes(made: &Made, lost: &[String]) -> Vec<String> {
    let mut notes: Vec<String> = made.warnings.iter().map(Warning::to_string).collect();
    notes.extend(used(&made.released));
    if !lost.is_empty() {
        notes.push(format!(
            "the types of these columns cannot hold the values they have now, so they are stored as numbers or text: {}",
            lost.join(", ")
        ));
    }
    notes
}

/// Policies used for rows and values of a table, one sentence each.
fn used(released: &Released) -> Vec<String> {
    // A category that is not known is left as it is.
    let uses = Uses {
        unseen_level: 0,
        ..released.uses
    };
    let counted = [
        (
            released.clipped,
            "lay outside the range of their column and were moved to its end",
        ),
        (
            released.unseen,
            "are of categories that were not there at the fit, and were left as they are",
        ),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let counted = counted.map(|(count, what)| format!("{count} values {what}"));
    report::uses(uses).into_iter().chain(counted).collect()
}

/// What the study has not said already, be it with other numbers.
fn new_among(notes: Vec<String>, known: &[String]) -> Vec<String> {
    let words = |note: &String| note.replace(|c: char| c.is_ascii_digit(), "");
    let known: Vec<String> = known.iter().map(words).collect();
    let is_new = |note: &String| !known.contains(&words(note));
    notes.into_iter().filter(is_new).collect()
}

/// A release with all that is said about it.
struct Report<'a> {
    args: &'a Args,
    columns: &'a Columns,
    found: &'a ReleaseReport,
    made: &'a Made,
    title: String,
    facts: Vec<(String, String)>,
}

impl Report<'_> {
    fn text(&self, kind: Kind) -> String {
        match kind {
            Kind::Csv => release_csv(self.found),
            Kind::Json => format!("{:#}\n", self.json()),
            Kind::Page => ReleasePage {
                report: self.found,
                title: &self.title,
                facts: &self.facts,
            }
            .html(),
        }
    }

    /// What was found as it is, what was done, and what is in the table.
    fn json(&self) -> Value {
        let mut json = written::json(self.found, &self.title, &self.facts);
        if let Some(map) = json.as_object_mut() {
            map.insert("table".into(), self.table());
        }
        json
    }

    fn table(&self) -> Value {
        let released = &self.made.released;
        json!({
            "anonymised": false,
            "rows": released.columns.first().map_or(0, oblivio::Column::len),
            "columns": self.columns.written,
            "released": self.columns.features,
            "left-as-they-were": self.columns.copied(),
            "left-out": left_out(self.args),
            "sensitive-in-table": !self.args.drop_sensitive,
            "estimator": self.made.release.partition().estimator().name(),
            "clipped": released.clipped,
            "unseen": released.unseen,
            "policies-used": released.uses,
        })
    }

    /// Where the table goes to standard output, nothing else does.
    fn print(&self, reports: &[PathBuf]) -> Result<()> {
        let write = |out: &mut dyn Write| {
            if self.args.json {
                return writeln!(out, "{:#}", self.json());
            }
            print::print(self, reports, out)?;
            writeln!(out, "{NOT_ANONYMISED}")
        };
        if self.args.output.as_os_str() == "-" {
            return Ok(write(&mut std::io::stderr())?);
        }
        report::to_stdout(write)
    }
}
