//! Files of every version are still read, and still say what they said when they were written.
//!
//! A folder of `tests/files` is named by the version that wrote it, and a letter where the files of a version grew. When they grow
//! again, `NEWEST` becomes the next letter and `cargo test -p oblivio --test files -- --ignored` writes the new folder; those that are
//! there stay as they are.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oblivio::align::{AlignMethod, AlignRule};
use oblivio::features::FeatureSettings;
use oblivio::intervals::IntervalSource;
use oblivio::model::{Checkpoint, KernelModel, KernelSettings, Reduce, Step, kind_of};
use oblivio::moments::{Batch, Moments, SensitiveRows};
use oblivio::oblivious::Features;
use oblivio::partition::{Estimator, Missing};
use oblivio::reference::Reference;
use oblivio::refresh::Renewal;
use oblivio::{
    Column, Encoder, Model, Points, Roles, Sensitive, Settings, Training, Transformer, Watch,
};
use oblivio_base::{Error, Scaling};
use oblivio_kernels::learn::Learner;
use oblivio_kernels::{Components, Selection};
use oblivio_release::{Release, ReleaseSettings};

const ROWS: usize = 24;
/// The folder of what is written now.
const NEWEST: &str = "0.1.0-d";

/// Numbers and words from whole numbers alone, so that they are the same everywhere.
fn table(start: usize) -> Vec<Column> {
    let number = |name: &str, value: &dyn Fn(usize) -> f64| {
        Column::numbers(name, (start..start + ROWS).map(value).collect())
    };
    let text = |name: &str, value: &dyn Fn(usize) -> &'static str| {
        Column::texts(name, (start..start + ROWS).map(|i| Some(value(i))))
    };
    let step = |i: usize, by: usize| (i * by % 17) as f64 / 8.0;
    vec![
        number("mark", &|i| step(i, 5) + (i % 2) as f64),
        text("school", &|i| ["home", "public", "charter"][i * 7 % 3]),
        text("sex", &|i| ["F", "M"][i % 2]),
        number("age", &|i| 18.0 + 3.0 * step(i, 11)),
        number("income", &|i| step(i, 3) - 0.5 * (i % 2) as f64),
        text("degree", &|i| ["none", "first", "second"][i * 5 % 17 % 3]),
    ]
}

fn watch() -> Watch {
    Watch::default()
}

fn encoder() -> Encoder {
    scores(4, &[2], &Settings::default()).encoder
}

fn scores(target: usize, sensitive: &[usize], settings: &Settings) -> Model {
    let table = table(0);
    let sensitive: Vec<Column> = sensitive.iter().map(|&c| table[c].clone()).collect();
    let roles = Roles {
        features: &table[..2],
        sensitive: &sensitive,
        target: &table[target],
        labels: None,
        weights: None,
    };
    let fit = Model::fit(roles, Scaling::Standard, settings, &watch());
    fit.unwrap().0
}

/// A regression on S, aligned, with a second model for rows without sex.
fn smooth() -> Settings {
    let mut settings = Settings {
        align: Some(AlignRule {
            method: AlignMethod::Quantile,
            strength: 0.75,
        }),
        ..Settings::default()
    };
    settings.partition.estimator = Estimator::Smooth;
    settings.partition.policies.missing = Missing::SensitiveFree;
    settings
}

fn on_landmarks() -> Settings {
    Settings {
        components: Some(Components::new(4)),
        ..Settings::default()
    }
}

/// Residuals of rows and of the fallback, for intervals.
fn with_intervals() -> Settings {
    let mut settings = Settings {
        intervals: Some(IntervalSource::Folds),
        ..Settings::default()
    };
    settings.partition.policies.missing = Missing::SensitiveFree;
    settings
}

fn waves() -> Settings {
    let components = Components {
        selection: Selection::Fourier,
        ..Components::new(8)
    };
    Settings {
        components: Some(components),
        ..Settings::default()
    }
}

/// A model that was reduced and then refreshed, which its history tells.
fn changed() -> Model {
    let to = Reduce {
        landmarks: 6,
        seed: 0,
    };
    let model = scores(4, &[2, 3], &Settings::default());
    let (model, _) = model.reduce(to, Some("a day".into()), &watch()).unwrap();
    let (points, sensitive, _) = rows(&model.encoder, &table(500));
    let mut refresh = model.refresh().unwrap();
    refresh.update(&points, &sensitive, None, &watch()).unwrap();
    let renewed = refresh.finish(Renewal::keeping(1), None);
    renewed.unwrap().model
}

/// A model of features that miss values.
fn gaps() -> Model {
    let table = table(0);
    let marks = table[0].to_numbers().unwrap().into_iter().enumerate();
    let marks = marks.map(|(i, mark)| if i % 4 == 1 { f64::NAN } else { mark });
    let (levels, codes) = table[1].to_categories();
    let school = |(i, code): (usize, &u32)| (i % 5 > 0).then(|| levels[*code as usize].as_str());
    let features = [
        Column::numbers("mark", marks.collect()),
        Column::texts("school", codes.iter().enumerate().map(school)),
    ];
    let roles = Roles {
        features: &features,
        sensitive: &table[2..3],
        target: &table[4],
        labels: None,
        weights: None,
    };
    let fit = Model::fit(roles, Scaling::Standard, &Settings::default(), &watch());
    fit.unwrap().0
}

/// Points, sensitive part and target of a table.
fn rows(encoder: &Encoder, table: &[Column]) -> (Points<'static>, Sensitive, Vec<f64>) {
    let (points, _) = encoder.encode(table).unwrap();
    let sensitive = Sensitive::new(table[2..4].to_vec(), ROWS).unwrap();
    (points, sensitive, table[4].to_numbers().unwrap())
}

/// One file of every kind.
fn written() -> Vec<(&'static str, Vec<u8>)> {
    let logistic = Settings {
        learner: Learner::Logistic,
        ..Settings::default()
    };
    let encoder = encoder();
    let (points, sensitive, targets) = rows(&encoder, &table(0));
    let training = Training {
        points: &points,
        sensitive: &sensitive,
        targets: &targets,
        weights: None,
    };
    let batch = Batch {
        points: &points,
        sensitive: SensitiveRows::Columns(&sensitive),
        targets: Some(&targets),
        weights: None,
    };
    let (plan, _) = on_landmarks().plan(training, ROWS, &watch()).unwrap();
    let mut moments = Moments::new(Arc::new(plan));
    moments.update(batch, &watch()).unwrap();
    let partition = Settings::default().partition;
    let features = FeatureSettings {
        kernel: "rbf".parse().unwrap(),
        components: Components::new(4),
        strength: 1.0,
        partition: partition.clone(),
        reference: Reference::All,
        seed: 0,
    };
    let (features, _) = features.fit(training, &watch()).unwrap();
    let kernel = KernelSettings {
        kernel: "rbf".parse().unwrap(),
        strength: 1.0,
        partition,
        seed: 0,
    };
    let kernel = KernelModel::fit(
        encoder.clone(),
        &points,
        &sensitive,
        None,
        &kernel,
        &watch(),
    );
    let release = ReleaseSettings::default().fit(&table(0)[..2], &sensitive, None, &watch());
    let checkpoint = Checkpoint::of_moments(&encoder, &moments, "a note".into());
    let features = Transformer { encoder, features };
    vec![
        (
            "ridge",
            scores(4, &[2, 3], &Settings::default()).to_bytes().unwrap(),
        ),
        (
            "landmarks",
            scores(4, &[2, 3], &on_landmarks()).to_bytes().unwrap(),
        ),
        ("classifier", scores(5, &[2], &logistic).to_bytes().unwrap()),
        ("smooth", scores(4, &[2, 3], &smooth()).to_bytes().unwrap()),
        (
            "intervals",
            scores(4, &[2, 3], &with_intervals()).to_bytes().unwrap(),
        ),
        ("waves", scores(4, &[2, 3], &waves()).to_bytes().unwrap()),
        ("changed", changed().to_bytes().unwrap()),
        ("gaps", gaps().to_bytes().unwrap()),
        ("features", features.to_bytes().unwrap()),
        ("moments", moments.to_bytes().unwrap()),
        ("checkpoint", checkpoint.to_bytes().unwrap()),
        ("kernel", kernel.unwrap().0.to_bytes().unwrap()),
        ("release", release.unwrap().0.to_bytes().unwrap()),
    ]
}

/// What a file makes of rows that it was not fitted on.
fn said(bytes: &[u8]) -> Vec<f64> {
    let table = table(1000);
    match kind_of(bytes).unwrap().as_str() {
        "features" => {
            let features = Transformer::from_bytes(bytes).unwrap();
            features.transform(&table, &watch()).unwrap().0
        }
        "kernel" => {
            let kernel = KernelModel::from_bytes(bytes, &watch()).unwrap();
            let (points, sensitive, _) = rows(&kernel.encoder, &table);
            let assignment = kernel.partition.assign(&sensitive).unwrap();
            let own = Features::Oblivious(&points, &assignment);
            kernel.map.inner(own, own, &watch()).unwrap()
        }
        "release" => {
            let release = Release::from_bytes(bytes).unwrap();
            let sensitive = Sensitive::new(table[2..4].to_vec(), ROWS).unwrap();
            let released = release.transform(&table, &sensitive, &watch()).unwrap();
            let schools = released.columns[1].to_categories();
            let letters = |code: &u32| schools.0[*code as usize].len() as f64;
            let marks = released.columns[0].to_numbers().unwrap();
            marks
                .into_iter()
                .chain(schools.1.iter().map(letters))
                .collect()
        }
        "moments" => from_moments(&encoder(), &Moments::from_bytes(bytes).unwrap(), &table),
        "checkpoint" => {
            let checkpoint = Checkpoint::from_bytes(bytes).unwrap();
            assert_eq!(checkpoint.note(), "a note");
            let (encoder, moments) = checkpoint.into_moments().unwrap();
            from_moments(&encoder, &moments, &table)
        }
        _ => {
            let model = Model::from_bytes(bytes).unwrap();
            let mut table = table;
            if !model.needs_sensitive() {
                let sex = (0..ROWS).map(|i| (i % 5 > 0).then_some(["F", "M"][i % 2]));
                table[2] = Column::texts("sex", sex);
            }
            let predictions = model.predict(&table, &watch()).unwrap();
            let mut said = Vec::new();
            for (scorer, prediction) in model.scorers.iter().zip(predictions) {
                if let Ok(interval) = scorer.interval(&prediction, 0.5) {
                    said.extend(interval.upper.into_iter().filter(|end| end.is_finite()));
                }
                said.extend(prediction.scores);
            }
            said.extend(model.card.history.iter().map(|change| match &change.step {
                Step::Refresh(refreshed) => refreshed.rows as f64,
                Step::Reduce(_) => 0.0,
            }));
            said
        }
    }
}

/// The scores of the ridge regression that moments amount to.
fn from_moments(encoder: &Encoder, moments: &Moments, table: &[Column]) -> Vec<f64> {
    let fit = on_landmarks().fit_moments(moments, &watch()).unwrap();
    let (points, sensitive, _) = rows(encoder, table);
    let prediction = fit.predictor.predict(&points, Some(&sensitive), &watch());
    prediction.unwrap().scores
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files")
}

#[test]
fn files_of_every_version_say_what_they_said() {
    let mut found_newest = false;
    for version in fs::read_dir(folder()).unwrap() {
        let version = version.unwrap().path();
        let expected = fs::read(version.join("said.json")).unwrap();
        let expected: BTreeMap<String, Vec<f64>> = serde_json::from_slice(&expected).unwrap();
        let newest = version.ends_with(NEWEST);
        let least = if newest { written().len() } else { 9 };
        assert!(expected.len() >= least, "{}", version.display());
        found_newest |= newest;
        for (name, expected) in expected {
            let place = version.join(format!("{name}.oblivio"));
            let found = said(&fs::read(&place).unwrap());
            assert_eq!(found.len(), expected.len(), "{}", place.display());
            let size = expected.iter().fold(0.0f64, |a, v| a.max(v.abs()));
            for (found, expected) in found.iter().zip(&expected) {
                assert!(
                    (found - expected).abs() <= 1e-10 * size,
                    "{}: {found} is not {expected}",
                    place.display()
                );
            }
        }
    }
    assert!(found_newest, "the files of this version are not written");
}

/// A file from before there was a rule for missing features refuses them; a file with the rule fills them in.
#[test]
fn missing_features_are_refused_by_files_without_the_rule() {
    let predict = |version: &str, name: &str| {
        let place = folder().join(version).join(format!("{name}.oblivio"));
        let model = Model::from_bytes(&fs::read(place).unwrap()).unwrap();
        let mut table = table(1000);
        table[0] = Column::numbers("mark", vec![f64::NAN; ROWS]);
        model.predict(&table, &watch())
    };
    for version in ["0.1.0-a", "0.1.0-b", "0.1.0-c"] {
        let refused = predict(version, "ridge").unwrap_err();
        assert!(
            matches!(&refused, Error::MissingValues { column, .. } if column == "mark"),
            "{refused}"
        );
    }
    for name in ["ridge", "gaps"] {
        let uses = predict(NEWEST, name).unwrap()[0].uses;
        assert_eq!(uses.missing_feature, ROWS);
    }
}

#[test]
#[ignore = "writes the files of this version, once"]
fn write_the_files_of_this_version() {
    let folder = folder().join(NEWEST);
    if folder.exists() {
        return;
    }
    fs::create_dir(&folder).unwrap();
    let mut all = BTreeMap::new();
    for (name, bytes) in written() {
        fs::write(folder.join(format!("{name}.oblivio")), &bytes).unwrap();
        all.insert(name, said(&bytes));
    }
    let text = serde_json::to_string_pretty(&all).unwrap();
    fs::write(folder.join("said.json"), text + "\n").unwrap();
}
