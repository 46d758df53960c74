//! Places where the paper or its authors' code go wrong, shown by what happens there (docs/paper.md).
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use oblivio::partition::{PartitionRule, Policies};
use oblivio::reference::Reference;
use oblivio::sensitive_free::Parity;
use oblivio::{Column, Mode, Points, Sensitive, Settings, Training, Watch};
use oblivio_base::UnseenCategory;
use oblivio_kernels::learn::{Intercept, Learner};
use oblivio_simulate::{GradesParameters, SimulatedTable, Simulation};

fn numbers(columns: &[Column], name: &str) -> Vec<f64> {
    let column = columns.iter().find(|column| column.name == name).unwrap();
    column.to_numbers().unwrap()
}

/// Scores of all rows by a fit to them.
fn scores(settings: &Settings, points: &Points, s: &Sensitive, targets: &[f64]) -> Vec<f64> {
    let training = Training {
        points,
        sensitive: s,
        targets,
        weights: None,
    };
    let watch = Watch::default();
    let predictor = settings.fit(training, &watch).unwrap().predictor;
    let given = predictor.needs_sensitive().then_some(s);
    predictor.predict(points, given, &watch).unwrap().scores
}

/// Place 4: the mean 0 of a cell without rows counts the overall mean twice.
#[test]
fn a_constant_of_ten_is_predicted_as_twenty_in_an_unseen_cell() {
    let points = Points::new(vec![0.0, 0.5, 1.0, 1.5], 1).unwrap();
    let group = |names: [&str; 4]| {
        let column = Column::texts("group", names.map(Some));
        Sensitive::new(vec![column], 4).unwrap()
    };
    let (seen, unseen) = (group(["a", "a", "b", "b"]), group(["c"; 4]));
    for (policy, expected) in [
        (UnseenCategory::Zero, 20.0),
        (UnseenCategory::Population, 10.0),
    ] {
        // Without features to tell rows apart, all of φ is its mean.
        let settings = Settings {
            kernel: "poly(degree=1, gamma=1e-9, coef0=1)".parse().unwrap(),
            penalty: 1e-9,
            partition: PartitionRule {
                policies: Policies::for_unknown(policy),
                ..PartitionRule::default()
            },
            ..Settings::default()
        };
        let training = Training {
            points: &points,
            sensitive: &seen,
            targets: &[10.0; 4],
            weights: None,
        };
        let watch = Watch::default();
        let predictor = settings.fit(training, &watch).unwrap().predictor;
        let found = predictor.predict(&points, Some(&unseen), &watch).unwrap();
        for score in found.scores {
            assert!((score - expected).abs() < 1e-4, "{policy:?}: {score}");
        }
    }
}

fn grades() -> (SimulatedTable, Vec<f64>, Sensitive) {
    let table = Simulation::Grades(GradesParameters::authors_code())
        .table(400, 3)
        .unwrap();
    let s = numbers(&table.sensitive, "s");
    let sensitive = Sensitive::new(vec![Column::numbers("s", s.clone())], 400).unwrap();
    (table, s, sensitive)
}

/// Place 16: S among the features of the kernel adds a constant to the linear one, and is wrong for others.
#[test]
fn s_in_the_kernel_is_harmless_for_the_linear_one_only() {
    let (table, s, sensitive) = grades();
    let x = numbers(&table.features, "x");
    let y = numbers(&table.targets, "y");
    let both: Vec<f64> = x.iter().zip(&s).flat_map(|(x, s)| [*x, *s]).collect();
    let apart = |kernel: &str| {
        let settings = Settings {
            kernel: kernel.parse().unwrap(),
            intercept: Intercept::Fitted,
            ..Settings::default()
        };
        let without = scores(
            &settings,
            &Points::new(x.clone(), 1).unwrap(),
            &sensitive,
            &y,
        );
        let with = scores(
            &settings,
            &Points::new(both.clone(), 2).unwrap(),
            &sensitive,
            &y,
        );
        let pairs = without.iter().zip(&with);
        pairs.fold(0.0f64, |most, (a, b)| most.max((a - b).abs()))
    };
    assert!(apart("linear") < 1e-10);
    assert!(apart("rbf(gamma=1)") > 0.05);
}

/// Place 17: of one feature, linear FERM leaves nothing.
#[test]
fn ferm_on_one_feature_is_a_constant() {
    let (table, s, sensitive) = grades();
    let x = numbers(&table.features, "x");
    let y = numbers(&table.targets, "y");
    let settings = Settings {
        kernel: "linear".parse().unwrap(),
        learner: Learner::Svm,
        mode: Mode::SensitiveFree,
        parity: Parity::Opportunity,
        intercept: Intercept::Fitted,
        ..Settings::default()
    };
    let spread = |scores: &[f64]| {
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        most - scores.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let one = scores(
        &settings,
        &Points::new(x.clone(), 1).unwrap(),
        &sensitive,
        &y,
    );
    assert!(spread(&one) < 1e-9);
    let both: Vec<f64> = x.iter().zip(&s).flat_map(|(x, s)| [*x, *s]).collect();
    let two = scores(&settings, &Points::new(both, 2).unwrap(), &sensitive, &y);
    assert!(spread(&two) > 0.5);
}

/// The classification figure: at the C of the authors' script the exact oblivious machine lets nobody pass, and says how near to
/// the best it is.
#[test]
fn the_oblivious_machine_of_the_authors_code_is_a_constant() {
    let mut constant = 0;
    for seed in 0..5 {
        let table = Simulation::Grades(GradesParameters::authors_code())
            .table(2000, seed)
            .unwrap();
        let s = numbers(&table.sensitive, "s");
        let points = Points::new(numbers(&table.features, "x"), 1).unwrap();
        let sensitive = Sensitive::new(vec![Column::numbers("s", s)], 2000).unwrap();
        let settings = Settings {
            kernel: "linear".parse().unwrap(),
            learner: Learner::Svm,
            penalty: 2f64.powi(-16),
            intercept: Intercept::Fitted,
            reference: Reference::Rows((0..1000).collect()),
            ..Settings::default()
        };
        let training = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &numbers(&table.targets, "y"),
            weights: None,
        };
        let watch = Watch::default();
        let fit = settings.fit(training, &watch).unwrap();
        assert!(fit.summary.effort.converged);
        let found = fit.predictor.predict(&points, Some(&sensitive), &watch);
        constant += usize::from(found.unwrap().scores.iter().all(|score| *score < 0.0));
    }
    assert!(constant >= 4, "{constant} of 5");
}
