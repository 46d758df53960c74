//! `oblivio bounds`

mod print;

use std::path::{Path, PathBuf};

use anyhow::Result;
use oblivio::Model;
use oblivio_release::{BoundSettings, Bounds};
use oblivio_report::{BoundsPage, bounds_csv};
use rayon::ThreadPool;
use serde_json::Value;

use crate::args::delimiter;
use crate::cmd::stream::opened;
use crate::cmd::written::{self, Kind};
use crate::progress::watched;
use crate::report;
use crate::stored::read_model;
use crate::table::{self, ReadOptions};

/// Bound dependence on S, the distance to the manifold and the change of predictions
///
/// On rows that the model was best not fitted on: one half estimates the conditional mean anew, the other is what the bounds are
/// of. What held-out rows say directly, the distance of oblivious features to the features of real rows and its intervals, the bound
/// on dependence that follows from it (ψ), and the bound on the change of predictions. A bound that says no more than holds of
/// anything is vacuous: those are counted in one line, and are in the CSV and JSON.
///
/// Writes a page with -o bounds.html, and tables with -o bounds.csv and -o bounds.json.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file
    model: PathBuf,
    /// CSV or Parquet files with the same columns, patterns such as 'part-*.csv', or - for standard input
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// Where to write the bounds: .html, .csv or .json, by the name's ending; may be given several times
    #[arg(short, long, value_name = "FILE")]
    output: Vec<PathBuf>,
    /// No more rows than this are projected, drawn by seed
    #[arg(long, value_name = "N", default_value_t = 1000)]
    rows: usize,
    /// Confidence of intervals and certificates
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.95,
        allow_negative_numbers = true
    )]
    confidence: f64,
    /// Seed of the split and the draws
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Certify nearest rows until the gap is at most this share of the squared distance: smaller gives higher lower ends, slower
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.01,
        allow_negative_numbers = true
    )]
    gap: f64,
    /// Look at no more boxes than this to certify a row; a larger gap holds all the same
    #[arg(long, value_name = "N", default_value_t = 200)]
    boxes: usize,
    /// Translate features by this multiple of their mean before distances are measured, from -1 to 1 (h* of the paper)
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    translation: f64,
    /// Character between the fields of a CSV file, \t for a tab
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Title of the page (default: the names of the files)
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Print the bounds as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, pool: &ThreadPool) -> Result<()> {
    let data = table::expand(&args.data)?;
    let mut inputs: Vec<&Path> = data.iter().map(PathBuf::as_path).collect();
    inputs.push(&args.model);
    written::check(&args.output, &inputs)?;
    let model = read_model(&args.model)?;
    let options = ReadOptions {
        delimiter: args.delimiter,
        ..ReadOptions::default()
    };
    let source = opened(&data, &options)?.knowing(&model.schema());
    let needs = columns(&model);
    for name in &needs {
        source.is_number(name)?;
    }
    let table = source.table_of(&needs)?;
    let settings = BoundSettings {
        most_rows: args.rows,
        confidence: args.confidence,
        seed: args.seed,
        gap: args.gap,
        most_boxes: args.boxes,
        translation: args.translation,
    };
    let bounds = watched(pool, |watch| settings.run(&model, table.columns(), watch))?;
    let report = Report {
        title: args.title.clone().unwrap_or_else(|| written::names(&data)),
        facts: facts(args, &data, &model),
        bounds: &bounds,
    };
    written::write(&args.output, |kind| report.text(kind))?;
    if args.json {
        report::json(&report.json())
    } else {
        report::to_stdout(|out| print::print(&bounds, &args.output, out))
    }
}

/// The columns that a model's features and cells are made of.
fn columns(model: &Model) -> Vec<String> {
    let sensitive = model.sensitive_columns().into_iter();
    let mut names: Vec<String> = Vec::new();
    for name in model.encoder.columns().chain(sensitive) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn facts(args: &Args, data: &[PathBuf], model: &Model) -> Vec<(String, String)> {
    let facts = [
        ("data", written::names(data)),
        ("model", written::names(std::slice::from_ref(&args.model))),
        ("learner", report::what(model)),
        ("sensitive columns", model.sensitive_columns().join(", ")),
    ];
    let owned = |(name, value): (&str, String)| (name.to_owned(), value);
    facts.into_iter().map(owned).collect()
}

/// Bounds with all that is written about them.
struct Report<'a> {
    bounds: &'a Bounds,
    title: String,
    facts: Vec<(String, String)>,
}

impl Report<'_> {
    fn text(&self, kind: Kind) -> String {
        match kind {
            Kind::Csv => bounds_csv(self.bounds),
            Kind::Json => format!("{:#}\n", self.json()),
            Kind::Page => BoundsPage {
                bounds: self.bounds,
                title: &self.title,
                facts: &self.facts,
            }
            .html(),
        }
    }

    /// The bounds as they are, and what was done.
    fn json(&self) -> Value {
        written::json(self.bounds, &self.title, &self.facts)
    }
}
