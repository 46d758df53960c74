//! Matrices, features, offsets of foreign scores, penalty paths and exported graphs.

use super::cases::{Cases, watch};
use super::engine::{
    AlignMethod, AlignRule, Bandwidths, Encoder, Estimator, FeatureSettings, Features,
    IntervalSource, KernelModel, KernelSettings, Learner, Mode, Model, Named, Offsets, OnnxForm,
    OnnxSettings, PathGrid, Points, Precision, Result, Scaling, Sensitive, Settings, Training,
    Transformer, UnseenCategory, export, export_transformer,
};
use super::grid::{base, on_landmarks, roles};
use super::record::Values;
use super::table::{Table, new_rows, training_rows};

const ESTIMATORS: [Estimator; 3] = [Estimator::Cells, Estimator::Smooth, Estimator::Linear];
const MODES: [Mode; 4] = [
    Mode::Plain,
    Mode::Oblivious,
    Mode::MOblivious,
    Mode::SensitiveFree,
];

pub fn add(cases: &mut Cases) {
    for estimator in ESTIMATORS {
        for strength in [1.0, 0.5] {
            let mut settings = Settings {
                strength,
                ..on_landmarks()
            };
            settings.partition.estimator = estimator;
            let name = format!("{estimator:?} {strength}");
            cases.run(format!("map kernel {name}"), |v| kernel(v, &settings));
            cases.run(format!("map features {name}"), |v| features(v, &settings));
            cases.run(format!("map offsets {name}"), |v| offsets(v, &settings));
        }
        for mode in MODES {
            let mut settings = Settings { mode, ..base() };
            settings.partition.estimator = estimator;
            let name = format!("path {estimator:?} {mode:?}");
            cases.run(name, |v| path(v, &settings));
        }
        for (name, settings) in to_export() {
            let mut settings = settings;
            settings.partition.estimator = estimator;
            cases.run(format!("onnx {estimator:?} {name}"), |v| onnx(v, &settings));
        }
    }
}

struct Encoded {
    encoder: Encoder,
    table: Table,
    points: Points<'static>,
    sensitive: Sensitive,
    targets: Vec<f64>,
}

fn encoded() -> Result<Encoded> {
    let mut table = training_rows(false);
    table.sensitive.pop();
    let ones = vec![1.0; table.weights.len()];
    let encoder = Encoder::fit(
        &table.features,
        Scaling::Standard,
        &ones,
        UnseenCategory::Population,
    )?;
    let (points, _) = encoder.encode(&table.features)?;
    let sensitive = Sensitive::new(table.sensitive.clone(), ones.len())?;
    let targets = table.target.to_numbers()?;
    Ok(Encoded {
        encoder,
        table,
        points,
        sensitive,
        targets,
    })
}

/// The sensitive columns of the new rows.
fn new_sensitive() -> Result<Sensitive> {
    Sensitive::new(new_rows(false)[3..5].to_vec(), 20)
}

/// The paper's matrix: among the rows of the fit, and between new rows and these.
fn kernel(values: &mut Values, settings: &Settings) -> Result<()> {
    let data = encoded()?;
    let own = KernelSettings {
        kernel: settings.kernel.clone(),
        strength: settings.strength,
        partition: settings.partition.clone(),
        seed: settings.seed,
    };
    let weights = Some(&data.table.weights[..]);
    let (encoder, points, sensitive) = (data.encoder, &data.points, &data.sensitive);
    let (fitted, _) = KernelModel::fit(encoder, points, sensitive, weights, &own, &watch())?;
    let bytes = fitted.to_bytes()?;
    values.file("kernel", &bytes);
    let fitted = KernelModel::from_bytes(&bytes, &watch())?;
    let assignment = fitted.partition.assign(sensitive)?;
    values.numbers("gram", &fitted.map.gram(points, &assignment, &watch())?);
    let (new, _) = fitted.encoder.encode(&new_rows(false))?;
    let new_assignment = fitted.partition.assign(&new_sensitive()?)?;
    let rows = Features::Oblivious(points, &assignment);
    let others = Features::Oblivious(&new, &new_assignment);
    values.numbers("inner", &fitted.map.inner(others, rows, &watch())?);
    let others = Features::Plain(&new);
    values.numbers("mixed", &fitted.map.inner(others, rows, &watch())?);
    Ok(())
}

/// The feature settings that match the settings of a fit on landmarks.
pub fn feature_settings(settings: &Settings) -> FeatureSettings {
    FeatureSettings {
        kernel: settings.kernel.clone(),
        components: settings.components.unwrap(),
        strength: settings.strength,
        partition: settings.partition.clone(),
        reference: settings.reference.clone(),
        seed: settings.seed,
    }
}

fn training(data: &Encoded) -> Training<'_> {
    Training {
        points: &data.points,
        sensitive: &data.sensitive,
        targets: &data.targets,
        weights: Some(&data.table.weights),
    }
}

fn features(values: &mut Values, settings: &Settings) -> Result<()> {
    let data = encoded()?;
    let (features, _) = feature_settings(settings).fit(training(&data), &watch())?;
    let transformer = Transformer {
        encoder: data.encoder,
        features,
    };
    let bytes = transformer.to_bytes()?;
    values.file("features", &bytes);
    let transformer = Transformer::from_bytes(&bytes)?;
    let (new, _) = transformer.transform(&new_rows(false), &watch())?;
    values.numbers("features", &new);
    for precision in [Precision::Double, Precision::Single] {
        let settings = OnnxSettings {
            form: OnnxForm::Columns,
            precision,
        };
        let bytes = export_transformer(&transformer, settings);
        exported(values, precision.name(), bytes);
    }
    Ok(())
}

/// What scores of another program take from S.
fn offsets(values: &mut Values, settings: &Settings) -> Result<()> {
    let data = encoded()?;
    let (offsets, _) = Offsets::of_scores(
        &data.targets,
        &data.sensitive,
        &data.table.weights,
        &settings.partition,
        settings.strength,
    )?;
    let scores: Vec<f64> = (0..20).map(|row| 0.3 * f64::from(row)).collect();
    let (after, _) = offsets.apply(&scores, &new_sensitive()?)?;
    values.numbers("scores", &after);
    let text = serde_json::to_string(&offsets).unwrap();
    values.file("offsets", text.as_bytes());
    let (again, _) = Offsets::from_json(&text)?.apply(&scores, &new_sensitive()?)?;
    assert_eq!(after, again, "after a round trip");
    Ok(())
}

fn path(values: &mut Values, settings: &Settings) -> Result<()> {
    let data = encoded()?;
    for (name, bandwidths) in [
        ("given", Bandwidths::Given),
        ("multiples", Bandwidths::Multiples(vec![0.5, 2.0])),
    ] {
        let grid = PathGrid {
            bandwidths,
            strengths: vec![0.0, 0.5, 1.0],
            penalties: vec![0.01, 0.3, 10.0],
        };
        let path = settings.path(training(&data), &grid, &watch())?;
        let numbers = path.points.iter().flat_map(|p| {
            let loo = p.left_out.unwrap_or(f64::NAN);
            let gamma = p.gamma.unwrap_or(f64::NAN);
            [
                gamma,
                p.error,
                loo,
                p.gcv,
                p.correlation_ratio,
                p.expected,
                p.gap,
            ]
        });
        values.numbers(name, &numbers.collect::<Vec<_>>());
        values.numbers(&format!("best {name}"), &[path.best as f64]);
    }
    Ok(())
}

fn to_export() -> Vec<(String, Settings)> {
    let mut all = Vec::new();
    for (path, settings) in [("exact", base()), ("landmarks", on_landmarks())] {
        for learner in [Learner::Ridge, Learner::Svm, Learner::Logistic] {
            for align in [
                None,
                Some(AlignMethod::LocationScale),
                Some(AlignMethod::Quantile),
            ] {
                let method = align.map_or("unaligned", Named::name);
                let name = format!("{path} {} {method}", learner.name());
                let settings = Settings {
                    learner,
                    align: align.map(|method| AlignRule {
                        method,
                        strength: 1.0,
                    }),
                    ..settings.clone()
                };
                all.push((name, settings));
            }
        }
    }
    all.push((
        "intervals".into(),
        Settings {
            intervals: Some(IntervalSource::Auto),
            ..base()
        },
    ));
    all
}

/// A graph, or the sentence that refuses it.
fn exported(values: &mut Values, name: &str, bytes: Result<Vec<u8>>) {
    let bytes = bytes.unwrap_or_else(|error| error.to_string().into_bytes());
    values.file(name, &bytes);
}

fn onnx(values: &mut Values, settings: &Settings) -> Result<()> {
    let mut table = training_rows(false);
    table.sensitive.pop();
    let target = if settings.learner == Learner::Ridge {
        &table.target
    } else {
        &table.grade
    };
    let roles = roles(&table, target, false);
    let (fitted, _) = Model::fit(roles, Scaling::Standard, settings, &watch())?;
    for form in [OnnxForm::Columns, OnnxForm::Matrix] {
        for precision in [Precision::Double, Precision::Single] {
            let name = format!("{} {}", form.name(), precision.name());
            let bytes = export(&fitted, OnnxSettings { form, precision });
            exported(values, &name, bytes);
        }
    }
    Ok(())
}
