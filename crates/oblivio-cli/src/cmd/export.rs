//! `oblivio export`

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use oblivio::{Model, OnnxForm, OnnxSettings, Precision};
use rayon::ThreadPool;

use crate::cmd::inspect::read_model;
use crate::report;
use crate::table;

/// Write a model as an ONNX file
///
/// The file scores rows in any runtime that knows the standard operators. Its inputs are the columns of the model by name, the
/// sensitive ones too where scores depend on them; its outputs are `score` and, for classes, `label` and `probabilities`. Rows that
/// the model refuses have the score NaN.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file
    model: PathBuf,
    /// Where to write the ONNX file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Compute the kernel in single precision, where that changes scores by no more than 1e-5 of their spread
    #[arg(long)]
    float32: bool,
    /// Read one matrix of numbers instead of one input for each column
    #[arg(long)]
    matrix: bool,
}

pub(crate) fn run(args: &Args, pool: &ThreadPool) -> Result<()> {
    let model = read_model(&args.model)?;
    table::keep_apart(&args.output, &[&args.model])?;
    table::check_place(&args.output)?;
    let settings = OnnxSettings {
        form: if args.matrix {
            OnnxForm::Matrix
        } else {
            OnnxForm::Columns
        },
        precision: if args.float32 {
            Precision::Single
        } else {
            Precision::Double
        },
    };
    let bytes = pool
        .install(|| model.to_onnx(settings))
        .with_context(|| args.model.display().to_string())?;
    table::write_bytes(&args.output, &bytes)?;
    report::to_stdout(|out| print(&model, args, out))
}

fn print(model: &Model, args: &Args, out: &mut dyn Write) -> std::io::Result<()> {
    let outputs = match &model.classes {
        None => "score",
        Some(classes) if classes.probabilities => "score, label, probabilities",
        Some(_) => "score, label",
    };
    writeln!(out, "{outputs} written to {}", args.output.display())
}
