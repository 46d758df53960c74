//! `oblivio inspect`

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use oblivio::{
    Basis, Kind, Mode, Model, Named, Offsets, Partition, Predictor, Release, Transformer, kind_of,
};
use serde_json::json;

use crate::report::{self, CellLine};

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
    match (read(&args.model)?, args.json) {
        (Stored::Model(model), true) => report::json(&as_json(&model)),
        (Stored::Model(model), false) => report::to_stdout(|out| print(&model, out)),
        (Stored::Features(features), true) => report::json(&features_json(&features)),
        (Stored::Features(features), false) => {
            report::to_stdout(|out| print_features(&features, out))
        }
        (Stored::Release(release), true) => report::json(&release_json(&release)),
        (Stored::Release(release), false) => report::to_stdout(|out| print_release(&release, out)),
    }
}

/// What a file can hold that the command line has a use for.
enum Stored {
    Model(Box<Model>),
    Features(Box<Transformer>),
    Release(Box<Release>),
}

/// What makes columns of columns.
pub(crate) enum Map {
    Features(Box<Transformer>),
    Release(Box<Release>),
}

/// Reads and checks a file that holds a regression or a classifier.
pub(crate) fn read_model(path: &Path) -> Result<Model> {
    match read(path)? {
        Stored::Model(model) => Ok(*model),
        Stored::Features(_) => bail!(
            "{}: this file holds features, which give no scores; use `oblivio transform`",
            path.display()
        ),
        Stored::Release(_) => bail!(
            "{}: this file holds a release, which gives rows and no scores; use `oblivio transform`",
            path.display()
        ),
    }
}

/// Reads and checks a file that holds features or a release.
pub(crate) fn read_map(path: &Path) -> Result<Map> {
    match read(path)? {
        Stored::Features(features) => Ok(Map::Features(features)),
        Stored::Release(release) => Ok(Map::Release(release)),
        Stored::Model(_) => bail!(
            "{}: this file holds a model, which gives scores and no features; use `oblivio predict`",
            path.display()
        ),
    }
}

fn read(path: &Path) -> Result<Stored> {
    let name = || path.display().to_string();
    let bytes =
        std::fs::read(path).with_context(|| format!("{}: cannot read the model", name()))?;
    let stored = match kind_of(&bytes).with_context(name)?.as_str() {
        "features" => {
            Transformer::from_bytes(&bytes).map(|features| Stored::Features(Box::new(features)))
        }
        "release" => Release::from_bytes(&bytes).map(|release| Stored::Release(Box::new(release))),
        "kernel" => bail!(
            "{}: this file holds a kernel, which the command line has no use for; open it in Python with `oblivio.load`",
            name()
        ),
        _ => Model::from_bytes(&bytes).map(|model| Stored::Model(Box::new(model))),
    };
    stored.with_context(name)
}

fn lines(predictor: &Predictor, offsets: &Offsets) -> Vec<CellLine> {
    let mean = predictor.intercept() + offsets.mean;
    (0..offsets.partition.len())
        .map(|c| CellLine {
            label: offsets.partition.label(c),
            rows: offsets.partition.counts()[c],
            before: mean + offsets.by_cell[c],
            after: mean + offsets.by_cell[c] - offsets.strength * offsets.taken(c),
        })
        .collect()
}

fn as_json(model: &Model) -> serde_json::Value {
    let predictor = model.predictor();
    json!({
        "card": model.card,
        "classes": model.classes,
        "encoder": model.encoder,
        "kernel": predictor.kernel().to_string(),
        "points": predictor.basis().len(),
        "features": predictor.basis().dim(),
        "needs-sensitive": model.needs_sensitive(),
        "holds-training-rows": predictor.basis().holds_rows(),
        "strength": predictor.strength(),
        "conditional-mean": report::stages_json(predictor),
        "intervals": report::intervals_json(predictor),
        "cells": predictor.offsets().map(|offsets| {
            lines(predictor, offsets).iter().map(CellLine::json).collect::<Vec<_>>()
        }),
    })
}

fn print(model: &Model, out: &mut dyn Write) -> std::io::Result<()> {
    let (card, predictor) = (&model.card, model.predictor());
    writeln!(out, "{} of `{}`", report::what(model), card.target)?;
    let sensitive = predictor.offsets().map(|offsets| &offsets.partition);
    let mut pairs = vec![
        (
            "columns",
            model.encoder.columns().collect::<Vec<_>>().join(", "),
        ),
        ("sensitive", described(sensitive)),
        ("kernel", predictor.kernel().to_string()),
        report::penalty(model),
        ("strength", strength(model)),
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
            report::error(model, card.training_error, card.target_spread),
        ),
        ("solver", card.solver.clone()),
        ("expansion", report::expansion(predictor, card.components)),
        (
            "privacy",
            privacy(predictor.basis(), card.components.is_some()).into(),
        ),
        (
            "to predict",
            if model.needs_sensitive() {
                NEEDS_SENSITIVE.into()
            } else {
                NEEDS_NONE.into()
            },
        ),
    ];
    pairs.splice(5..5, report::stages(predictor));
    report::pairs(out, &pairs)?;
    for warning in &card.warnings {
        writeln!(out, "  remark: {warning}")?;
    }
    for (k, scorer) in model.scorers.iter().enumerate() {
        if model.classes.is_some() {
            writeln!(out, "\n{}", report::decision(model, k))?;
        }
        if let Some(offsets) = scorer.offsets() {
            let lines = lines(scorer, offsets);
            report::cells(out, report::means_title(scorer), &lines)?;
        }
    }
    Ok(())
}

fn strength(model: &Model) -> String {
    if model.card.mode == Mode::SensitiveFree.name() {
        "nothing to take off".into()
    } else {
        model.predictor().strength().to_string()
    }
}

/// What the file gives away of the rows of the fit.
fn privacy(basis: &Basis, explicit: bool) -> &'static str {
    match (basis.holds_rows(), explicit) {
        (false, _) => "holds no row it was fitted on, only sums over them",
        (true, true) => "holds rows it was fitted on, the landmarks: keep it as safe as the data",
        (true, false) => "holds the rows it was fitted on: keep it as safe as the data",
    }
}

const NEEDS_SENSITIVE: &str = "needs the sensitive columns, to take their influence out";
const NEEDS_NONE: &str = "needs no sensitive column";

/// The sensitive columns and how they are cut.
fn described(partition: Option<&Partition>) -> String {
    partition.map_or("none".to_owned(), |partition| {
        let words = partition.columns().map(|(name, kind)| match kind {
            Kind::Categorical => format!("{name} (categorical)"),
            Kind::Continuous => {
                let cells = partition.edges(name).map_or(1, |edges| edges.len() + 1);
                format!("{name} (continuous, {cells} bins)")
            }
        });
        words.collect::<Vec<_>>().join(", ")
    })
}

fn features_json(transformer: &Transformer) -> serde_json::Value {
    let partition = transformer.features.partition();
    json!({
        "encoder": transformer.encoder,
        "kernel": transformer.kernel().to_string(),
        "components": transformer.features.map().len(),
        "features": transformer.encoder.width(),
        "needs-sensitive": partition.is_some(),
        "holds-training-rows": transformer.features.map().basis().holds_rows(),
        "strength": transformer.strength(),
        "cells": partition.map(|partition| {
            let cells = partition.counts().iter().enumerate();
            cells
                .map(|(c, rows)| json!({ "cell": partition.label(c), "rows": rows }))
                .collect::<Vec<_>>()
        }),
    })
}

fn print_features(transformer: &Transformer, out: &mut dyn Write) -> std::io::Result<()> {
    let partition = transformer.features.partition();
    writeln!(
        out,
        "{} features for a linear learner",
        partition.map_or("plain", |_| "oblivious")
    )?;
    let columns: Vec<&str> = transformer.encoder.columns().collect();
    let mut pairs = vec![
        ("columns", columns.join(", ")),
        ("sensitive", described(partition)),
        ("kernel", transformer.kernel().to_string()),
        ("strength", transformer.strength().to_string()),
        ("components", transformer.features.map().len().to_string()),
    ];
    if let Some(partition) = partition {
        let rows: usize = partition.counts().iter().sum();
        pairs.push((
            "cells",
            format!("{} of {rows} reference rows", partition.len()),
        ));
    }
    pairs.push((
        "privacy",
        privacy(transformer.features.map().basis(), true).into(),
    ));
    let needed = partition.map_or(NEEDS_NONE, |_| NEEDS_SENSITIVE);
    pairs.push(("to transform", needed.into()));
    report::pairs(out, &pairs)
}

fn release_json(release: &Release) -> serde_json::Value {
    let partition = release.partition();
    let cells = partition.counts().iter().enumerate();
    let cells = cells.map(|(c, rows)| json!({ "cell": partition.label(c), "rows": rows }));
    json!({
        "method": release.method().name(),
        "strength": release.strength(),
        "columns": release.columns(),
        "sensitive": release.sensitive_columns(),
        "conditional-mean": partition.estimator().name(),
        "needs-sensitive": true,
        "holds-training-rows": true,
        "cells": cells.collect::<Vec<_>>(),
    })
}

fn print_release(release: &Release, out: &mut dyn Write) -> std::io::Result<()> {
    let partition = release.partition();
    let rows: usize = partition.counts().iter().sum();
    writeln!(out, "a release by the method {}", release.method().name())?;
    report::pairs(
        out,
        &[
            ("columns", release.columns().join(", ")),
            ("sensitive", described(Some(partition))),
            ("strength", release.strength().to_string()),
            ("conditional mean", report::conditional_mean(partition)),
            (
                "cells",
                format!("{} of {rows} reference rows", partition.len()),
            ),
            (
                "privacy",
                "holds values of the table it was fitted on: keep it as safe as the data".into(),
            ),
            ("to transform", NEEDS_SENSITIVE.into()),
        ],
    )?;
    writeln!(out, "{}", oblivio_report::NOT_ANONYMISED)
}
