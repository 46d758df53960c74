//! `oblivio transform`

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use oblivio::partition::Uses;
use oblivio::{Column, Transformer, Watch};
use rayon::ThreadPool;
use serde_json::json;

use crate::args::delimiter;
use crate::cmd::release::Later;
use crate::cmd::stream::{Needs, Stream};
use crate::report;
use crate::stored::{Map, read_map};
use crate::table::BATCH;

/// Numbers that a batch may have; several copies of it are in memory at a time.
const MOST_NUMBERS: usize = 1 << 21;

/// Write the oblivious features of a table's rows, or its released rows
///
/// A file of features gives one column per component, z0, z1 and so on, for a linear learner. A nonlinear one can find the
/// sensitive columns in them again. The table may be larger than memory.
///
/// A file of `oblivio release --model` gives the same table with its released columns replaced.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file that holds features or a release
    model: PathBuf,
    /// CSV or Parquet files with the same columns, patterns such as 'part-*.csv', or - for standard input
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// Where to write the table: .parquet, or else CSV; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Columns of the table to write beside the features
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    keep: Vec<String>,
    /// Character between the fields of a CSV file, \t for a tab
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, pool: &ThreadPool) -> Result<()> {
    match read_map(&args.model)? {
        Map::Features(transformer) => features(args, &transformer, pool),
        Map::Release(release) => {
            ensure!(
                args.keep.is_empty(),
                "--keep is for features; a released table has all its columns"
            );
            let later = Later {
                release: &release,
                model: &args.model,
                data: &args.data,
                delimiter: args.delimiter,
                output: &args.output,
            };
            said(args, &later.write(pool)?)
        }
    }
}

fn features(args: &Args, transformer: &Transformer, pool: &ThreadPool) -> Result<()> {
    let components = transformer.features.map().len();
    let stream = Stream {
        stage: "transforming",
        model: &args.model,
        data: &args.data,
        delimiter: args.delimiter,
        keep: &args.keep,
        output: &args.output,
        batch: (MOST_NUMBERS / components).clamp(1, BATCH),
    };
    let sensitive = transformer.sensitive_columns();
    let needs = Needs {
        required: transformer.encoder.columns().chain(sensitive).collect(),
        optional: Vec::new(),
        schema: transformer.schema(),
    };
    let made: Vec<String> = (0..components).map(|i| format!("z{i}")).collect();
    let mut uses = Uses::default();
    let rows = stream.run(pool, &needs, &made, |table| {
        let (features, more) = transformer.transform(table, &Watch::default())?;
        uses = uses.plus(more);
        let column = |(i, name): (usize, &String)| {
            let values = features.iter().skip(i).step_by(components);
            Column::numbers(name, values.copied().collect())
        };
        Ok(made.iter().enumerate().map(column).collect())
    })?;
    let Some(rows) = rows else {
        return Ok(());
    };
    for use_ in report::uses(uses) {
        report::remark(format_args!("note: {use_}"));
    }
    said(
        args,
        &Said {
            sentence: format!(
                "{components} features of {rows} rows written to {}",
                args.output.display()
            ),
            json: json!({ "rows": rows, "components": components, "policies-used": uses }),
        },
    )
}

/// What is said of a table that was written.
pub(super) struct Said {
    pub(super) sentence: String,
    pub(super) json: serde_json::Value,
}

fn said(args: &Args, said: &Said) -> Result<()> {
    // Where the table goes to standard output, the report must not mix with them.
    let to_stdout = args.output.as_os_str() != "-";
    match (to_stdout, args.json) {
        (true, true) => report::json(&said.json),
        (true, false) => report::to_stdout(|out| writeln!(out, "{}", said.sentence)),
        (false, true) => Ok(writeln!(std::io::stderr(), "{:#}", said.json)?),
        (false, false) => Ok(()),
    }
}
