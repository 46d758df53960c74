//! A table, and models of every make on it.

use oblivio::align::{AlignMethod, AlignRule};
use oblivio::partition::{Binning, CellCount, EmptyCell, Estimator, Missing, Policies};
use oblivio::reference::Reference;
use oblivio::{Column, Mode, Model, Roles, Settings, Values, Watch};
use oblivio_base::{Scaling, UnseenCategory, Value};
use oblivio_kernels::learn::Learner;
use oblivio_kernels::{Components, Selection};

pub const ROWS: usize = 60;

/// A table with dependence: `age` and `sex` move the features; `sex` is missing in places if asked for.
pub fn table(missing: Missing) -> Vec<Column> {
    let wave = |i: usize, pace: f64| (i as f64 * pace).sin();
    let number = |name: &str, value: &dyn Fn(usize) -> f64| {
        Column::numbers(name, (0..ROWS).map(value).collect())
    };
    let text = |name: &str, levels: &'static [&'static str], pace: f64| {
        let place = |i: usize| ((wave(i, pace) + 1.0) * 0.5 * levels.len() as f64) as usize;
        let texts = (0..ROWS).map(|i| levels[place(i).min(levels.len() - 1)]);
        Column::texts(name, texts.map(Some))
    };
    let sex = |i: usize| ["F", "M"][i % 2];
    let there = |i: usize| missing == Missing::Error || i % 11 != 7;
    vec![
        number("x", &|i| wave(i, 1.7) + 0.6 * (i % 2) as f64),
        number("hours", &|i| 40.0 + 9.0 * wave(i, 2.3)),
        text("school", &["home", "public", "7"], 0.9),
        Column::texts("sex", (0..ROWS).map(|i| there(i).then(|| sex(i)))),
        number("age", &|i| 45.0 + 25.0 * wave(i, 0.6)),
        text("region", &["north", "south"], 1.3),
        number("y", &|i| wave(i, 1.1) + 0.8 * (i % 2) as f64),
        text("grade", &["a", "b", "c"], 1.9),
    ]
}

/// A model and what it was made of, for the message of a test that fails.
pub struct Made {
    pub name: String,
    pub model: Model,
    pub table: Vec<Column>,
}

fn made(name: &str, sensitive: &[&str], target: &str, settings: &Settings) -> Made {
    let table = table(settings.partition.policies.missing);
    let column = |name: &&str| table.iter().find(|c| c.name == *name).unwrap().clone();
    let columns: Vec<Column> = sensitive.iter().map(column).collect();
    let roles = Roles {
        features: &table[..3],
        sensitive: &columns,
        target: &column(&target),
        labels: None,
        weights: None,
    };
    let fit = Model::fit(roles, Scaling::Standard, settings, &Watch::default());
    let (model, _) = fit.unwrap_or_else(|error| panic!("{name}: {error}"));
    Made {
        name: name.into(),
        model,
        table,
    }
}

/// One model for every way that a row can go.
#[allow(clippy::too_many_lines, reason = "a list of cases")]
pub fn models() -> Vec<Made> {
    let base = Settings {
        penalty: 0.3,
        ..Settings::default()
    };
    let both = &["sex", "age"][..];
    let mut all = Vec::new();
    for kernel in [
        "linear",
        "poly(degree=2)",
        "rbf(gamma=0.4)",
        "laplacian(gamma=0.3)",
        "matern12(gamma=0.5)",
        "matern32(gamma=0.5)",
        "matern52(gamma=0.5)",
        "0.1 * (rbf(gamma=median) + linear) * matern32 + poly(degree=2)",
    ] {
        let settings = Settings {
            kernel: kernel.parse().unwrap(),
            ..base.clone()
        };
        all.push(made(kernel, both, "y", &settings));
    }
    for mode in [
        Mode::Plain,
        Mode::Oblivious,
        Mode::MOblivious,
        Mode::SensitiveFree,
    ] {
        for (learner, target) in [
            (Learner::Ridge, "y"),
            (Learner::Svm, "region"),
            (Learner::Logistic, "grade"),
        ] {
            let settings = Settings {
                mode,
                learner,
                ..base.clone()
            };
            let name = format!("{mode:?} {learner:?}");
            all.push(made(&name, both, target, &settings));
        }
    }
    for estimator in [Estimator::Cells, Estimator::Smooth, Estimator::Linear] {
        for align in [AlignMethod::LocationScale, AlignMethod::Quantile] {
            let mut settings = Settings {
                align: Some(AlignRule {
                    method: align,
                    strength: 0.75,
                }),
                ..base.clone()
            };
            settings.partition.estimator = estimator;
            let name = format!("{estimator:?} {align:?}");
            all.push(made(&name, both, "y", &settings));
            settings.partition.policies = Policies::for_unknown(UnseenCategory::Population);
            all.push(made(&format!("{name} population"), both, "y", &settings));
            if estimator == Estimator::Cells {
                settings.partition.shrink = true;
                all.push(made(&format!("{name} shrunk"), both, "y", &settings));
                settings.align = None;
                settings.partition.control = vec!["region".into()];
                let three = &["sex", "age", "region"][..];
                all.push(made(&format!("{name} beyond"), three, "y", &settings));
            }
        }
    }
    for selection in [Selection::Cholesky, Selection::Fourier] {
        let settings = Settings {
            components: Some(Components {
                selection,
                ..Components::new(20)
            }),
            ..base.clone()
        };
        all.push(made(&format!("{selection:?}"), both, "y", &settings));
    }
    for missing in [Missing::Category, Missing::SensitiveFree] {
        for mode in [Mode::Oblivious, Mode::MOblivious, Mode::Plain] {
            let mut settings = Settings {
                mode,
                reference: Reference::All,
                ..base.clone()
            };
            settings.partition.policies.missing = missing;
            all.push(made(&format!("{missing:?} {mode:?}"), both, "y", &settings));
        }
    }
    for (binning, empty) in [
        (Binning::Dyadic, EmptyCell::Enclosing),
        (Binning::Uniform, EmptyCell::Enclosing),
        (Binning::Uniform, EmptyCell::Zero),
        (Binning::Quantile, EmptyCell::Error),
    ] {
        let mut settings = base.clone();
        settings.partition.estimator = Estimator::Cells;
        settings.partition.binning = binning;
        settings.partition.cells = CellCount::Given(16);
        settings.partition.bounds = vec![("age".into(), 10.0, 99.0)];
        settings.partition.policies.empty = empty;
        let name = format!("{binning:?} {empty:?}");
        all.push(made(&name, both, "y", &settings));
        all.push(made(&format!("{name} alone"), &["age"], "y", &settings));
    }
    // A sensitive column that is a feature too.
    all.push(made("shared", &["school", "sex"], "y", &base));
    all
}

/// The value of a column in a row.
pub fn value(column: &Column, row: usize) -> Value<'_> {
    match &column.values {
        Values::Numbers(values) => Value::Number(values[row]),
        Values::Categories { levels, codes } => levels
            .get(codes[row] as usize)
            .map_or(Value::Missing, |level| Value::Text(level)),
    }
}
