//! Files that are large in each of their dimensions: what grows with the square of one shows only there.

use oblivio::features::FeatureSettings;
use oblivio::model::{Checkpoint, KernelModel, KernelSettings, kind_of};
use oblivio::moments::{Batch, Moments, SensitiveRows};
use oblivio::partition::{CellCount, Estimator};
use oblivio::reference::Reference;
use oblivio::survey::Survey;
use oblivio::{Column, Encoder, Model, Roles, Sensitive, Settings, Training, Transformer};
use oblivio_base::{Scaling, UnseenCategory};
use oblivio_kernels::Components;
use oblivio_kernels::learn::Learner;
use oblivio_release::{Release, ReleaseSettings};

use crate::seeds::watch;

/// Categories of S, so that as many doubles squared are more than a file of them accounts for.
const CATEGORIES: usize = 1200;
const ROWS: usize = 2 * CATEGORIES;

/// A number, a category with a long name for every two rows, a target and as many classes as there can be.
fn table() -> Vec<Column> {
    let zip: Vec<String> = (0..ROWS).map(|i| format!("zip code {}", i / 2)).collect();
    let class: Vec<String> = (0..ROWS).map(|i| format!("{}", i % 100)).collect();
    let texts = |name: &str, texts: &[String]| {
        Column::texts(name, texts.iter().map(|text| Some(text.as_str())))
    };
    let numbers = |name: &str, period: usize| {
        Column::numbers(name, (0..ROWS).map(|i| (i * 7 % period) as f64).collect())
    };
    vec![
        numbers("x", 31),
        texts("zip", &zip),
        numbers("y", 13),
        texts("class", &class),
    ]
}

fn settings(estimator: Estimator) -> Settings {
    let mut settings = Settings {
        kernel: "rbf(gamma=0.5)".parse().unwrap(),
        components: Some(Components::new(8)),
        ..Settings::default()
    };
    settings.partition.estimator = estimator;
    settings.partition.cells = CellCount::Given(2);
    settings
}

/// Sound files.
pub fn files() -> Vec<Vec<u8>> {
    let table = table();
    let zip = &table[1..2];
    let fitted = |target: usize, settings: &Settings| {
        let roles = Roles {
            features: &table[..1],
            sensitive: zip,
            target: &table[target],
            labels: None,
            weights: None,
        };
        let fit = Model::fit(roles, Scaling::Standard, settings, &watch());
        fit.unwrap().0.to_bytes().unwrap()
    };
    let classes = Settings {
        learner: Learner::Logistic,
        components: Some(Components::new(2)),
        ..settings(Estimator::Cells)
    };
    let mut files = vec![
        fitted(2, &settings(Estimator::Cells)),
        fitted(2, &settings(Estimator::Linear)),
        fitted(2, &settings(Estimator::Smooth)),
        fitted(3, &classes),
    ];
    let policy = UnseenCategory::Error;
    let encoder = Encoder::fit(&table[..1], Scaling::Standard, &vec![1.0; ROWS], policy).unwrap();
    let (points, _) = encoder.encode(&table[..1]).unwrap();
    let sensitive = Sensitive::new(zip.to_vec(), ROWS).unwrap();
    let targets = table[2].to_numbers().unwrap();
    let data = Training {
        points: &points,
        sensitive: &sensitive,
        targets: &targets,
        weights: None,
    };
    for estimator in [Estimator::Cells, Estimator::Linear] {
        let rule = settings(estimator).partition;
        let kernel = KernelSettings {
            kernel: "rbf(gamma=0.5)".parse().unwrap(),
            strength: 1.0,
            partition: rule.clone(),
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
        files.push(kernel.unwrap().0.to_bytes().unwrap());
        let features = FeatureSettings {
            kernel: "rbf(gamma=0.5)".parse().unwrap(),
            components: Components::new(8),
            strength: 1.0,
            partition: rule,
            reference: Reference::All,
            seed: 0,
        };
        let (features, _) = features.fit(data, &watch()).unwrap();
        let encoder = encoder.clone();
        files.push(Transformer { encoder, features }.to_bytes().unwrap());
    }
    let (plan, _) = settings(Estimator::Cells)
        .plan(data, ROWS, &watch())
        .unwrap();
    let mut moments = Moments::new(std::sync::Arc::new(plan));
    let batch = Batch {
        points: &points,
        sensitive: SensitiveRows::Columns(&sensitive),
        targets: Some(&targets),
        weights: None,
    };
    moments.update(batch, &watch()).unwrap();
    files.push(moments.to_bytes().unwrap());
    let checkpoint = Checkpoint::of_moments(&encoder, &moments, String::new());
    files.push(checkpoint.to_bytes().unwrap());
    let columns = [table[0].clone(), table[3].clone()];
    let release = ReleaseSettings::default().fit(&columns, &sensitive, None, &watch());
    files.push(release.unwrap().0.to_bytes().unwrap());
    files
}

/// Reads a file of any kind, and does nothing with it.
pub fn read(bytes: &[u8]) -> bool {
    match kind_of(bytes).as_deref() {
        Ok("features") => Transformer::from_bytes(bytes).is_ok(),
        Ok("kernel") => KernelModel::from_bytes(bytes, &watch()).is_ok(),
        Ok("release") => Release::from_bytes(bytes).is_ok(),
        Ok("moments") => Moments::from_bytes(bytes).is_ok(),
        Ok("checkpoint") => Checkpoint::from_bytes(bytes).is_ok(),
        Ok("survey") => Survey::from_bytes(bytes).is_ok(),
        Ok(_) => Model::from_bytes(bytes).is_ok(),
        Err(_) => false,
    }
}
