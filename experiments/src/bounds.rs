//! The bounds of section 4 on the data of experiment 1: ψ never fails on the rows it is of, the certificate covers what is true, and
//! the paper's form says nothing where the sharp one does.
//!
//! What is true of a decision is taken from many new rows. W and Z are those of a fitted model, so ψ holds on its own rows whatever the
//! data: that is an inequality, not a question of luck.

use anyhow::{Context, Result};
use oblivio::partition::{Binning, CellCount, PartitionRule};
use oblivio::{Column, Model, Roles, Settings, Watch};
use oblivio_base::Scaling;
use oblivio_release::{BoundSettings, Bounds};
use oblivio_simulate::{RidgeParameters, Simulation};

use super::figure::{Axis, Bar, Colour, Figure, Legend, Mark, Panel, Series, Shape};
use super::statistics::{Sample, seed};
use super::{Findings, Run, Verdict, numbers};

/// Rows that train; the reference and the held-out rows; those that are projected; those that tell the truth.
const TRAINING: usize = 300;
const NEW: usize = 1600;
const PROJECTED: usize = 400;
const TRUTH: usize = 20_000;
const CELLS: usize = 4;
const CONFIDENCE: f64 = 0.95;
/// γ = 0, 0.1, …, 1
const TENTHS: std::ops::RangeInclusive<usize> = 0..=10;

/// One repetition.
struct Trial {
    distance: f64,
    actual: f64,
    sharp: f64,
    without_left: f64,
    statement: f64,
    proof: f64,
    population: f64,
    certificate: f64,
    truth: f64,
    /// Whether every ψ and every bound on the change hold on their own rows.
    holds: bool,
    vacuous: (bool, bool),
}

struct Line {
    mix: f64,
    trials: Vec<Trial>,
}

impl Line {
    fn mean(&self, of: impl Fn(&Trial) -> f64) -> f64 {
        Sample::of(self.trials.iter().map(of)).mean
    }
}

pub(super) fn reproduce(run: &Run) -> Result<Findings> {
    let jobs: Vec<(usize, usize)> = TENTHS
        .flat_map(|tenths| (0..run.repetitions).map(move |repetition| (tenths, repetition)))
        .collect();
    let found = run.each("bounds", &jobs, |&(tenths, repetition)| {
        let parts = [run.seed, 40, tenths as u64, repetition as u64];
        trial(tenths as f64 / 10.0, seed(&parts))
    })?;
    let mut found = found.into_iter();
    let lines: Vec<Line> = TENTHS
        .map(|tenths| Line {
            mix: tenths as f64 / 10.0,
            trials: found.by_ref().take(run.repetitions).collect(),
        })
        .collect();
    Ok(Findings {
        numbers: table(&lines),
        verdict: judge(&lines),
        figure: figure(run, &lines),
    })
}

fn trial(mix: f64, seed: u64) -> Result<Trial> {
    let watch = Watch::default();
    let simulation = Simulation::Ridge1(RidgeParameters {
        mix,
        ..RidgeParameters::default()
    });
    let table = simulation.table(TRAINING + NEW + TRUTH, seed)?;
    let part = |columns: &[Column], rows: std::ops::Range<usize>| -> Vec<Column> {
        let rows: Vec<usize> = rows.collect();
        columns.iter().map(|column| column.select(&rows)).collect()
    };
    let training = |columns: &[Column]| part(columns, 0..TRAINING);
    let targets = training(&table.targets);
    let roles = Roles {
        features: &training(&table.features),
        sensitive: &training(&table.sensitive),
        target: &targets[0],
        labels: None,
        weights: None,
    };
    let settings = Settings {
        kernel: "rbf(gamma=1)".parse()?,
        partition: PartitionRule {
            cells: CellCount::Given(CELLS),
            binning: Binning::Dyadic,
            bounds: vec![(String::new(), -5.0, 5.0)],
            ..PartitionRule::default()
        },
        ..Settings::default()
    };
    let (model, _) = Model::fit(roles, Scaling::Raw, &settings, &watch)?;
    let all = [&table.features[..], &table.sensitive].concat();
    let bounds = BoundSettings {
        most_rows: PROJECTED,
        confidence: CONFIDENCE,
        seed,
        ..BoundSettings::default()
    }
    .run(&model, &part(&all, TRAINING..TRAINING + NEW), &watch)?;
    let rest = part(&all, TRAINING + NEW..TRAINING + NEW + TRUTH);
    of(&bounds, &model, &rest)
}

fn of(bounds: &Bounds, model: &Model, rest: &[Column]) -> Result<Trial> {
    let (Some(bound), Some(certificate)) = (bounds.dependence.first(), bounds.certificates.first())
    else {
        anyhow::bail!("the score is a constant: there is nothing to bound");
    };
    let threshold = certificate.threshold.context("the decision has no line")?;
    let slack = 1e-9;
    let psi = bounds.dependence.iter().all(|bound| {
        let cells = bound.by_cell.iter();
        let mut cells = cells.map(|cell| cell.actual <= cell.value + slack);
        bound.actual <= bound.value + slack && cells.all(|holds| holds)
    });
    let changes = bounds.changes.iter().flat_map(|change| &change.by_cell);
    let mut changes = changes.map(|cell| cell.realised <= cell.value * (1.0 + slack) + slack);
    Ok(Trial {
        distance: bound.distance,
        actual: bound.actual,
        sharp: bound.value,
        without_left: bound.without_left,
        statement: bound.paper_statement,
        proof: bound.paper_proof,
        population: bound.population.map_or(f64::NAN, |of| of.value),
        certificate: certificate.value,
        truth: truth(model, rest, threshold)?,
        holds: psi && changes.all(|holds| holds),
        vacuous: (bound.vacuous, bound.paper_statement >= 0.25),
    })
}

/// The largest dependence of the decision on a union of cells, on many rows.
fn truth(model: &Model, rest: &[Column], threshold: f64) -> Result<f64> {
    let predictions = model.predict(rest, &Watch::default())?;
    let prediction = predictions.first().context("the model has no score")?;
    let assignment = prediction
        .assignment
        .as_ref()
        .context("there are no cells")?;
    let (mut inside, mut all) = ([0.0; CELLS], [0.0; CELLS]);
    for (score, cell) in prediction.scores.iter().zip(assignment.codes()) {
        let cell = (*cell as usize).min(CELLS - 1);
        all[cell] += 1.0 / TRUTH as f64;
        inside[cell] += f64::from(u8::from(*score >= threshold)) / TRUTH as f64;
    }
    let share: f64 = inside.iter().sum();
    let apart = inside.iter().zip(all).map(|(a, b)| (a - share * b).abs());
    Ok(0.5 * apart.sum::<f64>())
}

fn judge(lines: &[Line]) -> Verdict {
    let trials = || lines.iter().flat_map(|line| &line.trials);
    let count = trials().count();
    let of = |holds: &dyn Fn(&Trial) -> bool| trials().filter(|trial| holds(trial)).count();
    let held = of(&|trial| trial.holds);
    let covered = of(&|trial| trial.certificate >= trial.truth);
    let sharper = of(&|trial| trial.without_left <= trial.proof + 1e-9);
    let (ours, papers) = (of(&|t| t.vacuous.0), of(&|t| t.vacuous.1));
    let vacuous = of(&|trial| trial.population >= 0.25);
    // Three standard errors of the share that must be covered.
    let least = CONFIDENCE - 3.0 * (CONFIDENCE * (1.0 - CONFIDENCE) / count as f64).sqrt();
    Verdict {
        holds: held == count && sharper == count && covered as f64 >= least * count as f64,
        sentence: format!(
            "all bounds hold on their rows in {held} of {count} runs, the sharp form is below the proved one in {sharper}, and the certificate covers the truth in {covered}; vacuous: the sharp form in {ours}, the paper's in {papers}, the rigorous form for the population in {vacuous}",
        ),
    }
}

fn table(lines: &[Line]) -> Vec<Column> {
    let column = |name: &str, of: fn(&Trial) -> f64| numbers(name, lines, |line| line.mean(of));
    vec![
        numbers("gamma", lines, |line| line.mix),
        numbers("repetitions", lines, |line| line.trials.len() as f64),
        column("distance", |t| t.distance),
        column("dependence", |t| t.actual),
        column("sharp", |t| t.sharp),
        column("sharp_without_left", |t| t.without_left),
        column("paper_statement", |t| t.statement),
        column("paper_proof", |t| t.proof),
        column("population", |t| t.population),
        column("certificate", |t| t.certificate),
        column("decision_truth", |t| t.truth),
        column("sharp_vacuous", |t| f64::from(u8::from(t.vacuous.0))),
        column("paper_vacuous", |t| f64::from(u8::from(t.vacuous.1))),
    ]
}

fn figure(run: &Run, lines: &[Line]) -> Figure {
    let series = |name: &str, colour, shape, of: fn(&Trial) -> f64| {
        let bar = |line: &Line| {
            let sample = Sample::of(line.trials.iter().map(of));
            let error = if sample.count > 1 {
                sample.standard_error()
            } else {
                0.0
            };
            Bar::around(line.mix, sample.mean, error.min(0.9 * sample.mean))
        };
        Series::new(
            name,
            colour,
            Mark::Bars(shape, lines.iter().map(bar).collect()),
        )
    };
    let panel = |title: &str, legend, mut series: Vec<Series>| {
        let quarter = lines.iter().map(|line| (line.mix, 0.25)).collect();
        let dashed = Mark::Dashed(quarter);
        series.push(Series::new("holds of any event", Colour::Grey, dashed));
        Panel {
            title: title.to_owned(),
            x: Axis::linear("γ, the share of U in X").between(-0.05, 1.05),
            y: Axis::log("dependence on the cells").between(3e-3, 2.0),
            series,
            legend,
        }
    };
    Figure {
        title: "Bounds on dependence, and what is true".into(),
        caption: format!(
            "experiment 1, {CELLS} cells, {PROJECTED} projected rows of {}; mean ± standard error of {} repetitions",
            NEW / 2,
            run.repetitions
        ),
        panels: vec![
            panel(
                "an event of W, by the distance to the manifold",
                Legend::LowerLeft,
                vec![
                    series("paper, proved", Colour::Orange, Shape::Square, |t| t.proof),
                    series("paper, stated", Colour::Vermilion, Shape::Square, |t| {
                        t.statement
                    }),
                    series("sharp", Colour::Blue, Shape::Triangle, |t| t.sharp),
                    series("on these rows", Colour::Green, Shape::Circle, |t| t.actual),
                ],
            ),
            panel(
                "a decision, from held-out rows",
                Legend::UpperRight,
                vec![
                    series("certificate", Colour::Blue, Shape::Triangle, |t| {
                        t.certificate
                    }),
                    series("true", Colour::Green, Shape::Circle, |t| t.truth),
                ],
            ),
        ],
    }
}
