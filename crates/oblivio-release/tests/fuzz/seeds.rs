//! Small files of every kind, written by the engine.

use std::sync::Arc;

use oblivio::align::{AlignMethod, AlignRule};
use oblivio::features::FeatureSettings;
use oblivio::fit::StreamFit;
use oblivio::intervals::IntervalSource;
use oblivio::model::{Checkpoint, KernelModel, KernelSettings, Reduce};
use oblivio::moments::{Batch, Moments, SensitiveRows};
use oblivio::partition::{Binning, CellCount, Estimator, Missing};
use oblivio::reference::Reference;
use oblivio::refresh::Renewal;
use oblivio::share::Share;
use oblivio::survey::Survey;
use oblivio::{
    Column, Encoder, Mode, Model, Points, Roles, Sensitive, Settings, Training, Transformer, Watch,
};
use oblivio_base::Scaling;
use oblivio_kernels::learn::{Intercept, Learner};
use oblivio_kernels::{Components, Selection};
use oblivio_release::{ReleaseMethod, ReleaseSettings};

pub const ROWS: usize = 12;

pub fn watch() -> Watch {
    Watch::default()
}

/// A number and a text, sex and age, a target and three classes.
pub fn table() -> Vec<Column> {
    let step = |i: usize, period: usize| (i % period) as f64;
    let number = |name: &str, value: &dyn Fn(usize) -> f64| {
        Column::numbers(name, (0..ROWS).map(value).collect())
    };
    let text = |name: &str, words: &[&str], of: &dyn Fn(usize) -> usize| {
        Column::texts(name, (0..ROWS).map(|i| Some(words[of(i)])))
    };
    vec![
        number("x", &|i| 0.3 * step(i, 5) + step(i, 2) + 0.1),
        text("school", &["home", "public"], &|i| i % 3 / 2),
        text("sex", &["F", "M"], &|i| i % 2),
        number("age", &|i| 17.5 + 2.0 * step(i, 7)),
        number("y", &|i| 1.0 / 3.0 + step(i, 5) - 0.7 * step(i, 2)),
        text("class", &["low", "mid", "top"], &|i| i % 5 % 3),
    ]
}

/// Settings with few cells and a conditional mean of this kind.
fn settings(estimator: Estimator) -> Settings {
    let mut settings = Settings {
        kernel: "rbf(gamma=0.5)".parse().unwrap(),
        penalty: 0.5,
        ..Settings::default()
    };
    settings.partition.estimator = estimator;
    settings.partition.cells = CellCount::Given(2);
    settings
}

pub fn on_landmarks(estimator: Estimator) -> Settings {
    Settings {
        components: Some(Components::new(4)),
        ..settings(estimator)
    }
}

fn fitted(sensitive: &[Column], target: &Column, settings: &Settings) -> Vec<u8> {
    let table = table();
    let roles = Roles {
        features: &table[..2],
        sensitive,
        target,
        labels: None,
        weights: None,
    };
    let fit = Model::fit(roles, Scaling::Standard, settings, &watch());
    fit.unwrap().0.to_bytes().unwrap()
}

/// One model for every part a file can have.
pub fn models() -> Vec<Vec<u8>> {
    let table = table();
    let (both, y, class) = (&table[2..4], &table[4], &table[5]);
    let aligned = |method, estimator| Settings {
        align: Some(AlignRule {
            method,
            strength: 0.75,
        }),
        ..settings(estimator)
    };
    let plain = Settings {
        mode: Mode::Plain,
        kernel: "0.1 * (rbf(gamma=0.5) + linear) * matern32(gamma=1) + poly(degree=2, gamma=1)"
            .parse()
            .unwrap(),
        intercept: Intercept::Fitted,
        ..settings(Estimator::Cells)
    };
    let mut joined = settings(Estimator::Cells);
    joined.partition.min_rows = Some(4);
    joined.partition.cells = CellCount::Given(4);
    let mut bounded = settings(Estimator::Cells);
    bounded.partition.binning = Binning::Dyadic;
    bounded.partition.bounds = vec![("age".into(), 0.1, 99.9)];
    let mut fallback = Settings {
        mode: Mode::MOblivious,
        reference: Reference::Half,
        ..settings(Estimator::Cells)
    };
    fallback.partition.policies.missing = Missing::SensitiveFree;
    let sex = (0..ROWS).map(|i| (i != 5).then_some(["F", "M"][i % 2]));
    let with_intervals = |intervals, settings: &Settings| Settings {
        intervals: Some(intervals),
        ..settings.clone()
    };
    let sex = Column::texts("sex", sex);
    let mut waves = on_landmarks(Estimator::Cells);
    waves.components = waves.components.map(|components| Components {
        selection: Selection::Fourier,
        ..components
    });
    let classifier = |learner, mode| Settings {
        learner,
        mode,
        ..settings(Estimator::Cells)
    };
    vec![
        fitted(both, y, &settings(Estimator::Cells)),
        fitted(both, y, &settings(Estimator::Smooth)),
        fitted(both, y, &settings(Estimator::Linear)),
        fitted(both, y, &joined),
        fitted(&table[3..4], y, &bounded),
        fitted(&[], y, &plain),
        fitted(std::slice::from_ref(&sex), y, &fallback),
        fitted(both, y, &on_landmarks(Estimator::Cells)),
        fitted(
            both,
            y,
            &aligned(AlignMethod::LocationScale, Estimator::Cells),
        ),
        fitted(both, y, &aligned(AlignMethod::Quantile, Estimator::Cells)),
        fitted(both, y, &aligned(AlignMethod::Quantile, Estimator::Smooth)),
        fitted(
            &table[2..3],
            class,
            &classifier(Learner::Svm, Mode::Oblivious),
        ),
        fitted(
            &table[2..3],
            class,
            &classifier(Learner::Logistic, Mode::Oblivious),
        ),
        fitted(
            both,
            y,
            &with_intervals(IntervalSource::Loo, &settings(Estimator::Cells)),
        ),
        fitted(&[sex], y, &with_intervals(IntervalSource::Folds, &fallback)),
        fitted(both, y, &waves),
        changed(&fitted(both, y, &settings(Estimator::Cells))),
    ]
}

/// The model, reduced and then refreshed.
fn changed(bytes: &[u8]) -> Vec<u8> {
    let model = Model::from_bytes(bytes).unwrap();
    let to = Reduce {
        landmarks: 5,
        seed: 0,
    };
    let (model, _) = model.reduce(to, Some("a day".into()), &watch()).unwrap();
    let table = table();
    let (points, _) = model.encoder.encode(&table).unwrap();
    let sensitive = Sensitive::new(table[2..4].to_vec(), ROWS).unwrap();
    let mut refresh = model.refresh().unwrap();
    refresh.update(&points, &sensitive, None, &watch()).unwrap();
    let renewed = refresh.finish(Renewal::keeping(1), None).unwrap();
    renewed.model.to_bytes().unwrap()
}

/// How the columns of the table become points, those, and the sensitive columns.
pub fn encoded() -> (Encoder, Points<'static>, Sensitive) {
    let table = table();
    let encoder = Model::from_bytes(&models()[0]).unwrap().encoder;
    let (points, _) = encoder.encode(&table).unwrap();
    let sensitive = Sensitive::new(table[2..4].to_vec(), ROWS).unwrap();
    (encoder, points, sensitive)
}

const ESTIMATORS: [Estimator; 3] = [Estimator::Cells, Estimator::Smooth, Estimator::Linear];

pub fn feature_settings(estimator: Estimator) -> FeatureSettings {
    let settings = settings(estimator);
    FeatureSettings {
        kernel: settings.kernel,
        components: Components::new(4),
        strength: 1.0,
        partition: settings.partition,
        reference: Reference::All,
        seed: 0,
    }
}

pub fn transformers() -> Vec<Vec<u8>> {
    let (encoder, points, sensitive) = encoded();
    let fit = |estimator| {
        let training = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &[0.0; ROWS],
            weights: None,
        };
        let fit = feature_settings(estimator).fit(training, &watch());
        Transformer {
            encoder: encoder.clone(),
            features: fit.unwrap().0,
        }
        .to_bytes()
        .unwrap()
    };
    ESTIMATORS.map(fit).to_vec()
}

pub fn kernels() -> Vec<Vec<u8>> {
    let (encoder, points, sensitive) = encoded();
    let fit = |estimator| {
        let settings = settings(estimator);
        let settings = KernelSettings {
            kernel: settings.kernel,
            strength: 1.0,
            partition: settings.partition,
            seed: 0,
        };
        let encoder = encoder.clone();
        let fit = KernelModel::fit(encoder, &points, &sensitive, None, &settings, &watch());
        fit.unwrap().0.to_bytes().unwrap()
    };
    ESTIMATORS.map(fit).to_vec()
}

pub fn releases() -> Vec<Vec<u8>> {
    let few: Vec<usize> = (0..ROWS).collect();
    // Of few rows a joint release learns no alignment.
    let many: Vec<usize> = (0..30 * ROWS).map(|i| i % ROWS).collect();
    let methods = [
        (ReleaseMethod::Quantile, Estimator::Cells),
        (ReleaseMethod::Quantile, Estimator::Smooth),
        (ReleaseMethod::Residual, Estimator::Cells),
        (ReleaseMethod::Residual, Estimator::Linear),
        (ReleaseMethod::Projection, Estimator::Cells),
        (ReleaseMethod::Joint, Estimator::Cells),
        (ReleaseMethod::Joint, Estimator::Smooth),
    ];
    let fit = |(method, estimator)| {
        let mut settings = ReleaseSettings {
            method,
            partition: settings(estimator).partition,
            ..ReleaseSettings::default()
        };
        settings.projection.bandwidths = vec![1.0];
        let rows = if method == ReleaseMethod::Joint {
            &many
        } else {
            &few
        };
        let table: Vec<Column> = table().iter().map(|column| column.select(rows)).collect();
        let sensitive = Sensitive::new(table[2..4].to_vec(), rows.len()).unwrap();
        let fit = settings.fit(&table[..2], &sensitive, None, &watch());
        fit.unwrap().0.to_bytes().unwrap()
    };
    methods.map(fit).to_vec()
}

/// The rows of the table as a batch of the points and sensitive columns.
pub fn batch<'a>(points: &'a Points<'static>, sensitive: &'a Sensitive) -> Batch<'a> {
    const TARGETS: [f64; ROWS] = [0.3, 1.0, 0.2, 2.5, 1.1, 0.9, 0.4, 1.3, 2.2, 0.1, 0.8, 1.7];
    Batch {
        points,
        sensitive: SensitiveRows::Columns(sensitive),
        targets: Some(&TARGETS),
        weights: None,
    }
}

pub fn moments() -> Vec<Vec<u8>> {
    let (_, points, sensitive) = encoded();
    let sums = |estimator, brought: bool| {
        let data = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &[0.0; ROWS],
            weights: None,
        };
        let (mut plan, _) = on_landmarks(estimator).plan(data, ROWS, &watch()).unwrap();
        let mut batch = batch(&points, &sensitive);
        let features: Vec<f64> = (0..2 * ROWS).map(|i| (i % 5) as f64).collect();
        if brought {
            plan = plan.with_sensitive_features(2, 0.1).unwrap();
            batch.sensitive = SensitiveRows::Features(&features);
        }
        let mut moments = Moments::new(Arc::new(plan));
        moments.update(batch, &watch()).unwrap();
        moments.to_bytes().unwrap()
    };
    vec![
        sums(Estimator::Cells, false),
        sums(Estimator::Smooth, false),
        sums(Estimator::Cells, true),
    ]
}

pub fn survey(start: usize) -> Survey {
    let table = table();
    let mut survey = Survey::part(5, start, Some(2 * ROWS));
    survey.update(&table[..2], &table[2..4], None).unwrap();
    survey
}

pub fn surveys() -> Vec<Vec<u8>> {
    [0, ROWS]
        .map(|start| survey(start).to_bytes().unwrap())
        .to_vec()
}

fn begun(settings: &Settings) -> (Encoder, StreamFit) {
    let components = settings.components.unwrap();
    let begun = survey(0).begin(Scaling::Standard, settings, components, &watch());
    begun.unwrap()
}

/// States of fits, without rows and with some.
pub fn checkpoints() -> Vec<Vec<u8>> {
    let (_, points, sensitive) = encoded();
    let mut files = Vec::new();
    for estimator in ESTIMATORS {
        for reference in [Reference::All, Reference::Half] {
            let settings = Settings {
                reference,
                ..on_landmarks(estimator)
            };
            let (encoder, mut fit) = begun(&settings);
            let state = |fit: &StreamFit| Checkpoint::of_fit(&encoder, fit, "note".into());
            files.push(state(&fit).to_bytes().unwrap());
            fit.update(batch(&points, &sensitive), &watch()).unwrap();
            files.push(state(&fit).to_bytes().unwrap());
        }
    }
    files
}

/// Shares of one fit, and its plan.
pub fn shares() -> (Share, Vec<Vec<u8>>) {
    let (_, points, sensitive) = encoded();
    let (encoder, fit) = begun(&on_landmarks(Estimator::Cells));
    let plan = Checkpoint::of_fit(&encoder, &fit, String::new());
    let share = |start| Share::new(plan.clone(), start).unwrap();
    let summed = |start| {
        let mut share = share(start);
        share.update(batch(&points, &sensitive), &watch()).unwrap();
        share.to_bytes(&watch()).unwrap()
    };
    (share(0), vec![summed(0), summed(ROWS)])
}
