//! `oblivio inspect`

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use oblivio::{Kind, Model, Offsets, Predictor};
use serde_json::json;

use crate::report::{self, CellLine, number};

/// Say what a model file holds
///
/// In words or as JSON. Nothing in the file is run.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file
    model: PathBuf,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let model = read_model(&args.model)?;
    if args.json {
        report::json(&as_json(&model))
    } else {
        report::to_stdout(|out| print(&model, out))
    }
}

/// Reads and checks a model file.
pub(crate) fn read_model(path: &Path) -> Result<Model> {
    let bytes = std::fs::read(path)
        .with_context(|| format!("{}: cannot read the model", path.display()))?;
    Model::from_bytes(&bytes).with_context(|| path.display().to_string())
}

fn lines(predictor: &Predictor, offsets: &Offsets) -> Vec<CellLine> {
    let mean = predictor.intercept() + offsets.mean;
    (0..offsets.partition.len())
        .map(|c| CellLine {
            label: offsets.partition.label(c),
            rows: offsets.partition.counts()[c],
            before: mean + offsets.by_cell[c],
            after: mean + (1.0 - offsets.strength) * offsets.by_cell[c],
        })
        .collect()
}

fn as_json(model: &Model) -> serde_json::Value {
    let predictor = &model.predictor;
    json!({
        "card": model.card,
        "encoder": model.encoder,
        "kernel": predictor.kernel().to_string(),
        "points": predictor.points().len(),
        "features": predictor.points().dim(),
        "needs-sensitive": predictor.needs_sensitive(),
        "holds-training-rows": true,
        "strength": predictor.strength(),
        "cells": predictor.offsets().map(|offsets| {
            lines(predictor, offsets).iter().map(CellLine::json).collect::<Vec<_>>()
        }),
    })
}

fn print(model: &Model, out: &mut dyn Write) -> std::io::Result<()> {
    let (card, predictor) = (&model.card, &model.predictor);
    writeln!(out, "{} ridge regression of `{}`", card.mode, card.target)?;
    let sensitive = predictor.offsets().map_or("none".to_owned(), |offsets| {
        let words = offsets.partition.columns().map(|(name, kind)| match kind {
            Kind::Categorical => format!("{name} (categorical)"),
            Kind::Continuous => {
                let cells = offsets
                    .partition
                    .edges(name)
                    .map_or(1, |edges| edges.len() + 1);
                format!("{name} (continuous, {cells} bins)")
            }
        });
        words.collect::<Vec<_>>().join(", ")
    });
    report::pairs(
        out,
        &[
            (
                "columns",
                model.encoder.columns().collect::<Vec<_>>().join(", "),
            ),
            ("sensitive", sensitive),
            ("kernel", predictor.kernel().to_string()),
            ("penalty", card.penalty.to_string()),
            ("strength", predictor.strength().to_string()),
            ("reference", card.reference.clone()),
            ("seed", card.seed.to_string()),
            (
                "rows",
                format!(
                    "{} training, {} reference",
                    card.training_rows, card.reference_rows
                ),
            ),
            (
                "training error",
                format!(
                    "{} root mean squared ({} for a constant)",
                    number(card.training_error),
                    number(card.target_spread)
                ),
            ),
            ("solver", card.solver.clone()),
            (
                "size",
                format!(
                    "{} points of {} features",
                    predictor.points().len(),
                    predictor.points().dim()
                ),
            ),
            (
                "privacy",
                "holds the rows it was fitted on: keep it as safe as the data".into(),
            ),
            (
                "to predict",
                if predictor.needs_sensitive() {
                    "needs the sensitive columns, to take their influence out".into()
                } else {
                    "needs no sensitive column".into()
                },
            ),
        ],
    )?;
    for warning in &card.warnings {
        writeln!(out, "  remark: {warning}")?;
    }
    if let Some(offsets) = predictor.offsets() {
        report::cells(
            out,
            "mean score on the reference rows",
            &lines(predictor, offsets),
        )?;
    }
    Ok(())
}
