//! `oblivio export`

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use oblivio::Model;
use oblivio_onnx::{OnnxForm, OnnxSettings, Precision, export, export_transformer};
use rayon::ThreadPool;

use crate::report;
use crate::stored::{self, Stored};
use crate::table;

/// Write a model or features as an ONNX file
///
/// The file scores rows in any runtime that knows the standard operators. Its inputs are the columns of the model by name, the
/// sensitive ones too where scores depend on them; its outputs are `score` and, for classes, `label` and `probabilities`, or
/// `features`. Rows that the model refuses have NaN.
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
    let (stored, _) = stored::read(&args.model)?;
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
    let name = args.model.display();
    let (outputs, bytes) = pool.install(|| match &stored {
        Stored::Model(model) => Ok((outputs(model), export(model, settings))),
        Stored::Features(features) => Ok(("features", export_transformer(features, settings))),
        Stored::Release(_) => bail!(
            "{name}: this file holds a release, whose draws no standard operator makes; use `oblivio transform`"
        ),
    })?;
    table::write_bytes(&args.output, &bytes.with_context(|| name.to_string())?)?;
    let written = args.output.display();
    report::to_stdout(|out| writeln!(out, "{outputs} written to {written}"))
}

fn outputs(model: &Model) -> &'static str {
    match &model.classes {
        None => "score",
        Some(classes) if classes.probabilities => "score, label, probabilities",
        Some(_) => "score, label",
    }
}
