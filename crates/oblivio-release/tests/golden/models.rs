//! Models beyond the grid: three classes, policies at prediction, intervals, refreshing, reducing, single rows, kernels.

use super::cases::{Cases, add_interval, add_prediction, add_summary, counts, model, watch};
use super::engine::{
    AlignMethod, AlignRule, Binning, CellCount, ClassWeights, Column, ColumnValues, Components,
    Coverage, EmptyCell, Estimator, IntervalSource, Learner, Missing, Mode, Model, Named,
    OutOfRange, Parity, Partition, Policies, Reduce, Reference, Renewal, Restraint, Result,
    RowModel, Scaling, Selection, Sensitive, Settings, Threshold, UnseenCategory, Value,
};
use super::grid::{base, on_landmarks, roles};
use super::record::Values;
use super::table::{Table, later_rows, new_rows, training_rows};

const ESTIMATORS: [Estimator; 4] = [
    Estimator::Auto,
    Estimator::Cells,
    Estimator::Smooth,
    Estimator::Linear,
];
const QUANTILE: Option<AlignRule> = Some(AlignRule {
    method: AlignMethod::Quantile,
    strength: 0.75,
});

pub fn add(cases: &mut Cases) {
    three_classes(cases);
    kernels(cases);
    cell_rules(cases);
    policies(cases);
    for estimator in ESTIMATORS {
        for source in [IntervalSource::Loo, IntervalSource::Folds] {
            for mode in [Mode::Plain, Mode::Oblivious, Mode::MOblivious] {
                for missing in [Missing::Error, Missing::SensitiveFree] {
                    let mut settings = Settings {
                        mode,
                        intervals: Some(source),
                        ..with(base(), estimator)
                    };
                    settings.partition.policies.missing = missing;
                    let missing = missing.name();
                    let name = format!("intervals {estimator:?} {source:?} {mode:?} {missing}");
                    cases.run(name, |v| intervals(v, &settings));
                }
            }
        }
        for (path, settings) in [("exact", base()), ("landmarks", on_landmarks())] {
            for align in [None, QUANTILE] {
                let settings = Settings {
                    align,
                    ..with(settings.clone(), estimator)
                };
                let aligned = align.is_some();
                let name = format!("{path} {estimator:?} aligned={aligned}");
                cases.run(format!("refresh {name}"), |v| refresh(v, &settings));
                cases.run(format!("reduce {name}"), |v| reduce(v, &settings));
                cases.run(format!("rows {name}"), |v| row_by_row(v, &settings));
            }
        }
    }
}

fn with(mut settings: Settings, estimator: Estimator) -> Settings {
    settings.partition.estimator = estimator;
    settings
}

fn two_columns(missing: bool) -> Table {
    let mut table = training_rows(missing);
    table.sensitive.pop();
    table
}

fn fit(table: &Table, target: &Column, settings: &Settings) -> Result<Model> {
    let roles = roles(table, target, false);
    Ok(Model::fit(roles, Scaling::Standard, settings, &watch())?.0)
}

/// Fits and scores new rows.
fn plain(values: &mut Values, table: &Table, target: &Column, settings: &Settings) -> Result<()> {
    let roles = roles(table, target, false);
    let (fitted, summaries) = Model::fit(roles, Scaling::Standard, settings, &watch())?;
    for (k, summary) in summaries.iter().enumerate() {
        add_summary(values, &k.to_string(), summary);
    }
    model(values, &fitted)
}

fn three_classes(cases: &mut Cases) {
    let table = two_columns(false);
    for (path, settings) in [("exact", base()), ("landmarks", on_landmarks())] {
        for learner in [Learner::Svm, Learner::Logistic] {
            for mode in [
                Mode::Plain,
                Mode::Oblivious,
                Mode::MOblivious,
                Mode::SensitiveFree,
            ] {
                for align in [None, QUANTILE] {
                    let settings = Settings {
                        learner,
                        mode,
                        align,
                        class_weights: ClassWeights::Balanced,
                        threshold: Threshold::BaseRate,
                        ..with(settings.clone(), Estimator::Cells)
                    };
                    let aligned = align.is_some();
                    let name = format!("classes {path} {learner:?} {mode:?} aligned={aligned}");
                    cases.run(name, |v| plain(v, &table, &table.grade, &settings));
                }
            }
            let name = format!("threshold {path} {learner:?}");
            let settings = Settings {
                learner,
                class_weights: ClassWeights::Given(vec![1.0, 3.0]),
                threshold: Threshold::Rate(0.4),
                ..settings.clone()
            };
            cases.run(name, |v| plain(v, &table, &table.decision, &settings));
        }
        for epsilon in [0.1, 0.5] {
            let settings = Settings {
                learner: Learner::Svm,
                mode: Mode::SensitiveFree,
                parity: Parity::Opportunity,
                restraint: Restraint::Slack(epsilon),
                ..settings.clone()
            };
            let name = format!("slack {path} {epsilon}");
            cases.run(name, |v| plain(v, &table, &table.decision, &settings));
        }
    }
}

fn kernels(cases: &mut Cases) {
    let table = two_columns(false);
    for kernel in [
        "linear",
        "poly(degree=2)",
        "laplacian(gamma=0.3)",
        "matern12(gamma=0.5)",
        "matern32(gamma=0.5)",
        "matern52(gamma=0.5)",
        "rbf(gamma=median)",
        "0.1 * (rbf(gamma=median) + linear) * matern32 + poly(degree=2)",
    ] {
        for (path, settings) in [("exact", base()), ("landmarks", on_landmarks())] {
            let settings = Settings {
                kernel: kernel.parse().unwrap(),
                ..settings
            };
            let name = format!("kernel {path} {kernel}");
            cases.run(name, |v| plain(v, &table, &table.target, &settings));
        }
    }
    for selection in [
        Selection::Cholesky,
        Selection::KMeans,
        Selection::Uniform,
        Selection::Fourier,
    ] {
        let settings = Settings {
            components: Some(Components {
                selection,
                ..Components::new(10)
            }),
            ..base()
        };
        let name = format!("selection {selection:?}");
        cases.run(name, |v| plain(v, &table, &table.target, &settings));
    }
}

fn cell_rules(cases: &mut Cases) {
    let table = two_columns(false);
    let all = training_rows(false);
    for count in [CellCount::Auto, CellCount::Paper, CellCount::Loo] {
        for mode in [Mode::Oblivious, Mode::SensitiveFree] {
            let mut settings = Settings { mode, ..base() };
            settings.partition.cells = count;
            let name = format!("cells {count:?} {mode:?}");
            cases.run(name, |v| plain(v, &table, &table.target, &settings));
            settings.partition.shrink = true;
            let name = format!("cells {count:?} {mode:?} shrunk");
            cases.run(name, |v| plain(v, &table, &table.target, &settings));
            settings.partition.control = vec!["degree".into()];
            let name = format!("cells {count:?} {mode:?} shrunk beyond");
            cases.run(name, |v| plain(v, &all, &all.target, &settings));
        }
    }
    let settings = Settings {
        reference: Reference::Rows((0..25).collect()),
        ..base()
    };
    cases.run("reference rows", |v| {
        plain(v, &table, &table.target, &settings)
    });
}

/// The cases of S at prediction: ordinary, an unknown category, a missing value, an empty cell, out of range.
fn odd_rows() -> Vec<(&'static str, Vec<Column>)> {
    let sex = |words: [Option<&str>; 20]| Column::texts("sex", words);
    let with = |place: usize, column: Column| {
        let mut table = new_rows(false);
        table[place] = column;
        table
    };
    let mut unknown = [Some("F"); 20];
    unknown[3] = Some("X");
    unknown[11] = Some("M");
    let mut missing = [Some("M"); 20];
    missing[0] = None;
    missing[19] = None;
    let ages = |odd: f64| {
        let mut ages: Vec<f64> = (0..20).map(|row| 25.0 + 2.0 * f64::from(row)).collect();
        ages[7] = odd;
        Column::numbers("age", ages)
    };
    let mut none = new_rows(false);
    none.truncate(3);
    vec![
        ("ordinary", new_rows(false)),
        ("unknown", with(3, sex(unknown))),
        ("missing", with(3, sex(missing))),
        ("missing age", with(4, ages(f64::NAN))),
        ("age out of range", with(4, ages(130.0))),
        ("empty cell", with(4, ages(64.5))),
        ("no sensitive columns", none),
    ]
}

fn policies(cases: &mut Cases) {
    for estimator in ESTIMATORS {
        for missing in [Missing::Error, Missing::Category, Missing::SensitiveFree] {
            for unknown in [
                UnseenCategory::Error,
                UnseenCategory::Population,
                UnseenCategory::Zero,
            ] {
                for mode in [Mode::Plain, Mode::Oblivious] {
                    for align in [None, QUANTILE] {
                        let mut settings = Settings {
                            mode,
                            align,
                            ..with(base(), estimator)
                        };
                        settings.partition.policies = Policies {
                            missing,
                            ..Policies::for_unknown(unknown)
                        };
                        let name = format!(
                            "policies {estimator:?} {} {} {mode:?} aligned={}",
                            missing.name(),
                            unknown.name(),
                            align.is_some()
                        );
                        cases.run(name, |v| odd_predictions(v, &settings));
                    }
                }
            }
        }
    }
    for empty in [
        EmptyCell::Enclosing,
        EmptyCell::Population,
        EmptyCell::Zero,
        EmptyCell::Error,
    ] {
        for range in [OutOfRange::Error, OutOfRange::Clamp] {
            let mut settings = with(base(), Estimator::Cells);
            let rule = &mut settings.partition;
            rule.binning = Binning::Dyadic;
            rule.cells = CellCount::Given(16);
            rule.bounds = vec![("age".into(), 20.0, 100.0)];
            rule.policies.empty = empty;
            rule.policies.range = range;
            let name = format!("policies {} {}", empty.name(), range.name());
            cases.run(name, |v| odd_predictions(v, &settings));
        }
    }
}

fn odd_predictions(values: &mut Values, settings: &Settings) -> Result<()> {
    let missing = settings.partition.policies.missing != Missing::Error;
    let table = two_columns(missing);
    let fitted = fit(&table, &table.target, settings)?;
    values.file("model", &fitted.to_bytes()?);
    for (name, rows) in odd_rows() {
        match fitted.predict(&rows, &watch()) {
            Ok(predictions) => add_prediction(values, name, &predictions[0]),
            Err(_) => values.numbers(&format!("refused {name}"), &[]),
        }
    }
    Ok(())
}

fn intervals(values: &mut Values, settings: &Settings) -> Result<()> {
    let missing = settings.partition.policies.missing != Missing::Error;
    let table = two_columns(missing);
    let fitted = fit(&table, &table.target, settings)?;
    model(values, &fitted)?;
    let later = later_rows(missing);
    let prediction = fitted.predict(&later.columns(), &watch())?.remove(0);
    let scorer = fitted.predictor();
    let interval = scorer.interval(&prediction, 0.5)?;
    add_interval(values, &interval);
    if let Some(own) = scorer.intervals() {
        values.numbers("half-widths", &own.half_widths(0.5)?);
    }
    let cells = scorer.partition().map_or(0, Partition::len);
    let mut coverage = Coverage::new(cells);
    let targets = later.target.to_numbers()?;
    coverage.update(&interval, &targets, prediction.assignment.as_ref())?;
    let lines = coverage.cells(scorer.partition());
    let numbers = lines.iter().map(|l| [l.rows as f64, l.covered, l.width]);
    values.numbers("coverage", &numbers.flatten().collect::<Vec<_>>());
    Ok(())
}

/// Offsets and alignment from later rows, in two batches.
fn refresh(values: &mut Values, settings: &Settings) -> Result<()> {
    let table = two_columns(false);
    let fitted = fit(&table, &table.target, settings)?;
    let mut refresh = fitted.refresh()?;
    let mut later = later_rows(false);
    later.sensitive.pop();
    for part in later.parts(35) {
        let (points, _) = fitted.encoder.encode(&part.features)?;
        let sensitive = Sensitive::new(part.sensitive.clone(), points.len())?;
        refresh.update(&points, &sensitive, Some(&part.weights), &watch())?;
    }
    let renewed = refresh.finish(Renewal::keeping(2), Some("a day".into()))?;
    for (k, drifts) in renewed.drifts.iter().enumerate() {
        let numbers = drifts.iter().map(|d| {
            let z = d.z.unwrap_or(f64::NAN);
            [
                d.rows as f64,
                d.before,
                d.after,
                z,
                d.offsets.0,
                d.offsets.1,
            ]
        });
        values.numbers(
            &format!("drift {k}"),
            &numbers.flatten().collect::<Vec<_>>(),
        );
    }
    model(values, &renewed.model)
}

fn reduce(values: &mut Values, settings: &Settings) -> Result<()> {
    let table = two_columns(false);
    let fitted = fit(&table, &table.target, settings)?;
    let to = Reduce {
        landmarks: 7,
        seed: 1,
    };
    let (reduced, reduction) = fitted.reduce(to, None, &watch())?;
    for loss in &reduction.scores {
        let numbers = [loss.norm, loss.lost, loss.bound, loss.largest, loss.spread];
        values.numbers("losses", &numbers);
    }
    model(values, &reduced)
}

/// A model that scores single rows, and gives what a table of one row gives.
fn row_by_row(values: &mut Values, settings: &Settings) -> Result<()> {
    let table = two_columns(false);
    let classifier = Settings {
        learner: Learner::Logistic,
        ..settings.clone()
    };
    for (name, target, settings) in [
        ("ridge", &table.target, settings),
        ("logistic", &table.grade, &classifier),
    ] {
        let mut rows = RowModel::new(fit(&table, target, settings)?);
        let names: Vec<String> = rows.schema().iter().map(|c| c.name.clone()).collect();
        let new = new_rows(false);
        let columns: Vec<&Column> = names
            .iter()
            .map(|name| new.iter().find(|c| c.name == *name).unwrap())
            .collect();
        let mut numbers = Vec::new();
        for row in 0..20 {
            let row: Vec<Value> = columns.iter().map(|column| value(column, row)).collect();
            let prediction = rows.predict(&row)?;
            numbers.extend(prediction.before);
            numbers.extend(prediction.scores);
            numbers.extend(prediction.probabilities.into_iter().flatten());
            numbers.extend(prediction.label.map(|label| label as f64));
            numbers.extend(counts(prediction.uses));
        }
        values.numbers(name, &numbers);
    }
    Ok(())
}

fn value(column: &Column, row: usize) -> Value<'_> {
    match &column.values {
        ColumnValues::Numbers(numbers) => Value::Number(numbers[row]),
        ColumnValues::Categories { levels, codes } => {
            let level = levels.get(codes[row] as usize);
            level.map_or(Value::Missing, |level| Value::Text(level))
        }
    }
}
