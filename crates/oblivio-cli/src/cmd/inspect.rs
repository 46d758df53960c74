//! `oblivio inspect`

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use oblivio::adjust::Offsets;
use oblivio::align::AlignMethod;
use oblivio::model::{Change, Held, Holdings, Step};
use oblivio::sensitive::Kind;
use oblivio::{Encoder, Mode, Model, Partition, Predictor, Transformer};
use oblivio_base::Named;
use oblivio_release::Release;
use rayon::ThreadPool;
use serde_json::json;

use super::reduce;
use crate::report::{self, CellLine, counted, number, one_line};
use crate::stored::{self, Stored};

/// Say what a model file holds
///
/// In words or as JSON. Nothing in the file is run. With --reduce, writes the model on fewer points and says what that costs.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Model file
    pub(super) model: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) reduce: reduce::Args,
}

pub(crate) fn run(args: &Args, pool: &ThreadPool) -> Result<()> {
    let (stored, version) = stored::read(&args.model)?;
    if args.reduce.is_asked() {
        let model = stored::model_of(stored, &args.model)?;
        return reduce::run(args, &model, pool);
    }
    let version = &version;
    match (stored, args.json) {
        (Stored::Model(model), true) => report::json(&as_json(&model, version)),
        (Stored::Model(model), false) => report::to_stdout(|out| print(&model, version, out)),
        (Stored::Features(features), true) => report::json(&features_json(&features, version)),
        (Stored::Features(features), false) => {
            report::to_stdout(|out| print_features(&features, version, out))
        }
        (Stored::Release(release), true) => report::json(&release_json(&release, version)),
        (Stored::Release(release), false) => {
            report::to_stdout(|out| print_release(&release, version, out))
        }
    }
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

fn as_json(model: &Model, version: &str) -> serde_json::Value {
    let predictor = model.predictor();
    json!({
        "version": version,
        "card": model.card,
        "classes": model.classes,
        "encoder": model.encoder,
        "kernel": predictor.kernel().to_string(),
        "points": predictor.basis().len(),
        "features": predictor.basis().dim(),
        "needs-sensitive": model.needs_sensitive(),
        "holds-training-rows": predictor.basis().holds_rows(),
        "holds": holdings_json(model.holdings()),
        "strength": predictor.strength(),
        "conditional-mean": report::stages_json(predictor),
        "intervals": report::intervals_json(predictor),
        "cells": predictor.offsets().map(|offsets| {
            lines(predictor, offsets).iter().map(CellLine::json).collect::<Vec<_>>()
        }),
    })
}

fn print(model: &Model, version: &str, out: &mut dyn Write) -> std::io::Result<()> {
    let (card, predictor) = (&model.card, model.predictor());
    let target = one_line(&card.target);
    writeln!(out, "{} of `{target}`", report::what(model))?;
    let sensitive = predictor.partition();
    let mut pairs = vec![
        ("columns", columns(&model.encoder)),
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
        ("privacy", privacy(model.holdings(), kept_of_scores(model))),
        ("written by", format!("oblivio {version}")),
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
        writeln!(out, "  remark: {}", one_line(warning))?;
    }
    if !card.history.is_empty() {
        writeln!(out, "\nsince the fit")?;
        for change in &card.history {
            writeln!(out, "  {}", one_line(&changed(change, sensitive)))?;
        }
    }
    for (k, scorer) in model.scorers.iter().enumerate() {
        if model.classes.is_some() {
            writeln!(out, "\n{}", report::decision(model, k))?;
        }
        if let Some(offsets) = scorer.offsets() {
            let lines = lines(scorer, offsets);
            report::cells(out, report::means_title(scorer), &lines)?;
        }
        if let Some(ratio) = card.dependence.get(k) {
            let words = report::explained(ratio.before, ratio.after, ratio.expected);
            writeln!(out, "  {words}, at the fit")?;
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

/// What the file gives away of the scores and targets of single rows.
fn kept_of_scores(model: &Model) -> &'static str {
    let alignment = model.predictor().alignment();
    let scores =
        alignment.is_some_and(|alignment| alignment.rule().method == AlignMethod::Quantile);
    match (model.predictor().intervals().is_some(), scores) {
        (true, true) => {
            "; scores of rows and how far they were off, for the alignment and the intervals"
        }
        (true, false) => "; how far scores of rows were off, for the intervals",
        (false, true) => "; scores of rows, for the alignment",
        (false, false) => "",
    }
}

/// What the file gives away of the rows of the fit.
fn privacy(holdings: Holdings, besides: &str) -> String {
    let features = counted(holdings.features, "feature");
    let mut words = match holdings.held {
        Held::Nothing => "holds no row it was fitted on, but sums over them".into(),
        Held::Landmarks => format!(
            "holds {} of {features}, which are rows it was fitted on",
            counted(holdings.rows, "landmark")
        ),
        Held::Rows => format!(
            "holds {} of {features} that it was fitted on",
            counted(holdings.rows, "row")
        ),
    };
    if holdings.sensitive > 0 {
        let values = counted(holdings.sensitive, "combination");
        words = format!("{words}, and {values} of sensitive values");
    }
    words += besides;
    if holdings.held != Held::Nothing || holdings.sensitive > 0 || !besides.is_empty() {
        words += ": keep it as safe as the data";
    }
    words
}

fn holdings_json(holdings: Holdings) -> serde_json::Value {
    json!({
        "what": holdings.held.name(),
        "rows": holdings.rows,
        "features": holdings.features,
        "sensitive-values": holdings.sensitive,
    })
}

/// The columns of X with their types.
fn columns(encoder: &Encoder) -> String {
    let typed = |name: &str| match encoder.levels(name) {
        None => name.to_owned(),
        Some(levels) => format!("{name} ({})", counted_categories(levels.len())),
    };
    encoder.columns().map(typed).collect::<Vec<_>>().join(", ")
}

fn counted_categories(count: usize) -> String {
    if count == 1 {
        "1 category".into()
    } else {
        format!("{count} categories")
    }
}

/// A change of the model in a sentence.
fn changed(change: &Change, partition: Option<&Partition>) -> String {
    let what = match &change.step {
        Step::Refresh(refreshed) => {
            let largest = |z: Option<f64>, since: &str| {
                z.map_or(String::new(), |z| format!(", largest |z|{since} {z:.1}"))
            };
            // Of a first refresh they are the same.
            let fit = refreshed.largest_z_since_fit;
            let z = largest(refreshed.largest_z, "")
                + &largest(fit.filter(|_| fit != refreshed.largest_z), " since the fit");
            let label = |cell: &usize| partition.map_or(String::new(), |of| of.label(*cell));
            let kept: Vec<String> = refreshed.kept.iter().map(label).collect();
            let kept = if kept.is_empty() {
                String::new()
            } else {
                format!(", kept as they were: {}", kept.join("; "))
            };
            let fewest = refreshed.cells.iter().min().copied().unwrap_or(0);
            format!(
                "offsets renewed by {}, at least {fewest} in each of {}{z}{kept}",
                counted(refreshed.rows, "row"),
                counted(refreshed.cells.len(), "cell")
            )
        }
        Step::Reduce(reduction) => {
            let largest = reduction.scores.iter().map(|loss| loss.largest);
            format!(
                "reduced from {} to {}, largest change of a score {}",
                counted(reduction.points, "point"),
                counted(reduction.landmarks, "landmark"),
                number(largest.fold(0.0, f64::max))
            )
        }
    };
    let date = change
        .date
        .as_ref()
        .map_or(String::new(), |date| format!("{date}, "));
    format!("{what} ({date}oblivio {})", change.version)
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

fn features_json(transformer: &Transformer, version: &str) -> serde_json::Value {
    let partition = transformer.features.partition();
    json!({
        "version": version,
        "encoder": transformer.encoder,
        "kernel": transformer.kernel().to_string(),
        "components": transformer.features.map().len(),
        "features": transformer.encoder.width(),
        "needs-sensitive": partition.is_some(),
        "holds-training-rows": transformer.features.map().basis().holds_rows(),
        "holds": holdings_json(transformer.holdings()),
        "strength": transformer.strength(),
        "cells": partition.map(|partition| {
            let cells = partition.counts().iter().enumerate();
            cells
                .map(|(c, rows)| json!({ "cell": partition.label(c), "rows": rows }))
                .collect::<Vec<_>>()
        }),
    })
}

fn print_features(
    transformer: &Transformer,
    version: &str,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let partition = transformer.features.partition();
    writeln!(
        out,
        "{} features for a linear learner",
        partition.map_or("plain", |_| "oblivious")
    )?;
    let mut pairs = vec![
        ("columns", columns(&transformer.encoder)),
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
    pairs.push(("privacy", privacy(transformer.holdings(), "")));
    pairs.push(("written by", format!("oblivio {version}")));
    let needed = partition.map_or(NEEDS_NONE, |_| NEEDS_SENSITIVE);
    pairs.push(("to transform", needed.into()));
    report::pairs(out, &pairs)
}

fn release_json(release: &Release, version: &str) -> serde_json::Value {
    let partition = release.partition();
    let cells = partition.counts().iter().enumerate();
    let cells = cells.map(|(c, rows)| json!({ "cell": partition.label(c), "rows": rows }));
    json!({
        "version": version,
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

fn print_release(release: &Release, version: &str, out: &mut dyn Write) -> std::io::Result<()> {
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
            ("written by", format!("oblivio {version}")),
            ("to transform", NEEDS_SENSITIVE.into()),
        ],
    )?;
    writeln!(out, "{}", oblivio_report::NOT_ANONYMISED)
}
