//! Oblivious data: what the theory says of projections, and releases by projection.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use oblivio::sensitive::Kind;
use oblivio::{Column, Error, Sensitive, Values, Watch};
use oblivio_audit::{HsicSettings, HsicSide, Resampling, hsic};
use oblivio_kernels::{Components, Selection};
use oblivio_release::{
    Discrete, MissingValues, ProjectionRule, Release, ReleaseMethod, ReleaseReport, ReleaseRows,
    ReleaseSettings, StudySettings,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn normal(random: &mut ChaCha8Rng) -> f64 {
    random.sample(rand_distr::StandardNormal)
}

/// Two columns that follow S by their mean and spread, S a number and its sign.
fn dependent(rows: usize, seed: u64, by: f64) -> (Vec<Column>, Sensitive) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let s: Vec<f64> = (0..rows)
        .map(|_| f64::from(random.random::<bool>()))
        .collect();
    let a = s.iter().map(|s| by * s + normal(&mut random)).collect();
    let b = s
        .iter()
        .map(|s| 0.5 * by * s + (1.0 + 0.3 * by * s) * normal(&mut random))
        .collect();
    let features = vec![Column::numbers("a", a), Column::numbers("b", b)];
    let s = Column::texts(
        "s",
        s.iter().map(|s| Some(if *s > 0.0 { "u" } else { "v" })),
    );
    (features, Sensitive::new(vec![s], rows).unwrap())
}

fn settings(kernel: &str, bandwidths: Vec<f64>) -> ReleaseSettings {
    ReleaseSettings {
        method: ReleaseMethod::Projection,
        projection: ProjectionRule {
            kernel: kernel.parse().unwrap(),
            bandwidths,
            ..ProjectionRule::default()
        },
        ..ReleaseSettings::default()
    }
}

fn released(settings: &ReleaseSettings, x: &[Column], s: &Sensitive) -> Vec<Column> {
    let watch = Watch::default();
    let (release, _) = settings.fit(x, s, None, &watch).unwrap();
    release.transform(x, s, &watch).unwrap().columns
}

/// The root mean square change of a number.
fn moved(x: &[Column], w: &[Column]) -> f64 {
    let mut square = 0.0;
    let mut count = 0.0;
    for (x, w) in x.iter().zip(w) {
        for (x, w) in x.to_numbers().unwrap().iter().zip(w.to_numbers().unwrap()) {
            square += (x - w).powi(2);
            count += 1.0;
        }
    }
    (square / count).sqrt()
}

/// Normalised HSIC with S, and its level under independence.
fn dependence(x: &[Column], s: &Sensitive) -> (f64, f64) {
    let (settings, watch) = (HsicSettings::default(), Watch::default());
    let x = HsicSide::table(x, None, &settings, &watch).unwrap();
    let kinds: Vec<Kind> = s.columns().iter().map(Kind::of).collect();
    let s = HsicSide::new(s.columns(), &kinds, None, &settings, &watch).unwrap();
    let found = hsic(&x, &s, &Resampling::default(), &watch).unwrap();
    (found.measured.value, found.measured.critical)
}

/// The shift is then the difference of two estimates of the same mean, which shrinks with the rows.
#[test]
fn rows_stay_where_they_are_if_nothing_depends_on_s() {
    let kernel = settings("rbf(gamma=0.5)", vec![1.0]);
    // On average over six tables.
    let change = |rows: usize, by: f64| {
        let one = |seed: u64| {
            let (x, s) = dependent(rows, seed, by);
            moved(&x, &released(&kernel, &x, &s))
        };
        (0..6).map(one).sum::<f64>() / 6.0
    };
    let (few, many) = (change(60, 0.0), change(960, 0.0));
    assert!(many < 0.06, "{many}");
    // Sixteen times the rows: a quarter of the error, by the law of large numbers; half is far from it.
    assert!(many < 0.5 * few, "{few} {many}");
    assert!(change(60, 1.5) > 5.0 * many);
}

#[test]
fn a_linear_kernel_releases_residuals() {
    let (x, s) = dependent(300, 5, 1.5);
    let mut linear = settings("linear", vec![1.0]);
    let range = |column: &str| oblivio_release::ColumnRange {
        column: column.into(),
        low: -100.0,
        high: 100.0,
    };
    linear.ranges = vec![range("a"), range("b")];
    let residual = ReleaseSettings {
        method: ReleaseMethod::Residual,
        ..linear.clone()
    };
    let (a, b) = (released(&linear, &x, &s), released(&residual, &x, &s));
    assert!(moved(&x, &b) > 0.3);
    assert!(moved(&a, &b) < 1e-5);
}

/// X and S jointly normal: with a linear kernel W and S are independent, whatever their covariance.
#[test]
fn the_gaussian_example() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let s: Vec<f64> = (0..600).map(|_| normal(&mut random)).collect();
    let x: Vec<f64> = s.iter().map(|s| s + 0.7 * normal(&mut random)).collect();
    let x = [Column::numbers("x", x)];
    let s = Sensitive::new(vec![Column::numbers("s", s)], 600).unwrap();
    let mut linear = settings("linear", vec![1.0]);
    linear.partition.estimator = oblivio::partition::Estimator::Linear;
    let (before, level) = dependence(&x, &s);
    assert!(before > 5.0 * level);
    let (after, level) = dependence(&released(&linear, &x, &s), &s);
    assert!(after <= level, "{after} {level}");
}

/// Narrow kernels leave rows where they are; wide ones approach the residuals.
#[test]
fn the_bandwidth_is_the_whole_story() {
    let (x, s) = dependent(400, 8, 2.0);
    let residual = ReleaseSettings {
        method: ReleaseMethod::Residual,
        ..settings("linear", vec![1.0])
    };
    let residual = released(&residual, &x, &s);
    let at = |factor: f64| {
        let w = released(&settings("rbf(gamma=0.5)", vec![factor]), &x, &s);
        (moved(&x, &w), moved(&w, &residual), dependence(&w, &s).0)
    };
    let (narrow, middle, wide) = (at(100.0), at(1.0), at(0.001));
    assert!(narrow.0 < 0.05 && narrow.0 < middle.0 && middle.0 < wide.0);
    assert!(wide.1 < 0.05 && wide.1 < middle.1);
    assert!(narrow.2 > middle.2 && middle.2 > wide.2);
}

#[test]
fn the_path_is_shown_and_the_least_change_is_chosen_that_removes_enough() {
    let (x, s) = dependent(500, 21, 2.0);
    let rows = ReleaseRows {
        features: x,
        sensitive: s,
        target: None,
        weights: None,
    };
    let study = StudySettings::default();
    let report: ReleaseReport = settings("rbf", vec![10.0, 1.0, 0.1, 0.01])
        .study(&rows, &study, &Watch::default())
        .unwrap();
    assert_eq!(report.path.len(), 4);
    assert_eq!(report.path.iter().filter(|point| point.chosen).count(), 1);
    let chosen = report.path.iter().find(|point| point.chosen).unwrap();
    let narrowest = &report.path[0];
    assert!(chosen.hsic < narrowest.hsic && chosen.distance > narrowest.distance);
    // Two columns of numbers: certified on all rows looked at.
    let certified = report.certified.unwrap();
    assert_eq!(certified.certified, certified.rows);
    assert!(certified.largest_gap <= 1.001e-3);
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("not anonymised"))
    );
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(
        serde_json::from_str::<ReleaseReport>(&json).unwrap(),
        report
    );
}

/// A number, a whole number and a category, all of which follow S.
fn mixed(rows: usize) -> (Vec<Column>, Sensitive) {
    let mut random = ChaCha8Rng::seed_from_u64(77);
    let s: Vec<f64> = (0..rows).map(|_| random.random_range(0.0..1.0)).collect();
    let number: Vec<f64> = s.iter().map(|s| s + 0.3 * normal(&mut random)).collect();
    let whole = s
        .iter()
        .map(|s| (4.0 * s + normal(&mut random)).round().clamp(0.0, 5.0))
        .collect();
    let level = s.iter().map(|s| {
        let high = random.random::<f64>() < 0.2 + 0.6 * s;
        Some(if high { "high" } else { "low" })
    });
    let features = vec![
        Column::numbers("number", number),
        Column::numbers("whole", whole),
        Column::texts("level", level.collect::<Vec<_>>()),
    ];
    let sensitive = Sensitive::new(vec![Column::numbers("s", s)], rows).unwrap();
    (features, sensitive)
}

#[test]
fn kinds_and_ranges_are_kept() {
    let (x, s) = mixed(300);
    let wide = settings("rbf", vec![0.03]);
    let w = released(&wide, &x, &s);
    let (before, _) = dependence(&x, &s);
    assert!(dependence(&w, &s).0 < 0.5 * before);
    let numbers = w[1].to_numbers().unwrap();
    assert!(
        numbers
            .iter()
            .all(|v| v.fract() == 0.0 && (0.0..=5.0).contains(v))
    );
    assert_ne!(numbers, x[1].to_numbers().unwrap());
    let Values::Categories { levels, codes } = &w[2].values else {
        panic!("a category becomes {:?}", w[2].values);
    };
    assert_eq!(levels, &["high", "low"]);
    assert!(codes.iter().all(|code| *code < 2));
    let names: Vec<&str> = w.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["number", "whole", "level"]);
}

#[test]
fn discrete_columns_can_stay() {
    let (x, s) = mixed(200);
    let mut keep = settings("rbf", vec![0.03]);
    keep.projection.discrete = Discrete::Keep;
    let w = released(&keep, &x, &s);
    assert_eq!(w[1], x[1]);
    assert_eq!(w[2].to_categories().1.len(), 200);
    let texts = |column: &Column| {
        let (levels, codes) = column.to_categories();
        codes
            .iter()
            .map(|c| levels[*c as usize].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(&w[2]), texts(&x[2]));
    assert_ne!(w[0], x[0]);
}

#[test]
fn unseen_rows_are_released_by_the_saved_map() {
    let (x, s) = mixed(200);
    let watch = Watch::default();
    let (release, _) = settings("rbf", vec![1.0, 0.03])
        .fit(&x, &s, None, &watch)
        .unwrap();
    let saved = Release::from_bytes(&release.to_bytes().unwrap()).unwrap();
    assert_eq!(saved, release);
    let row = vec![
        Column::texts("level", [Some("low"), Some("high")]),
        Column::numbers("whole", vec![99.0, 2.0]),
        Column::numbers("number", vec![0.5, -50.0]),
    ];
    let s = Sensitive::new(vec![Column::numbers("s", vec![0.9, 0.1])], 2).unwrap();
    let made = saved.transform(&row, &s, &watch).unwrap();
    assert_eq!(made, release.transform(&row, &s, &watch).unwrap());
    assert_eq!(made.clipped, 2);
    assert_eq!(made.columns[0].name, "number");
    let whole = made.columns[1].to_numbers().unwrap();
    assert!(
        whole
            .iter()
            .all(|v| v.fract() == 0.0 && (0.0..=5.0).contains(v))
    );
    let hostile = {
        let mut bytes = release.to_bytes().unwrap();
        let middle = bytes.len() / 2;
        bytes.truncate(middle);
        bytes
    };
    assert!(Release::from_bytes(&hostile).is_err());
}

#[test]
fn landmarks_of_every_row_release_as_the_exact_path() {
    let (x, s) = dependent(150, 4, 1.5);
    let exact = settings("rbf(gamma=0.4)", vec![1.0]);
    let mut landmarks = exact.clone();
    landmarks.projection.components = Some(Components {
        selection: Selection::Uniform,
        ..Components::new(150)
    });
    let (a, b) = (released(&exact, &x, &s), released(&landmarks, &x, &s));
    assert!(moved(&x, &a) > 0.1);
    assert!(moved(&a, &b) < 1e-3, "{}", moved(&a, &b));
    landmarks.projection.components = Some(Components::new(30));
    assert!(moved(&a, &released(&landmarks, &x, &s)) < 0.1);
}

#[test]
fn wrong_settings_are_refused() {
    let (x, s) = dependent(30, 4, 1.5);
    let watch = Watch::default();
    let refused = |settings: &ReleaseSettings, x: &[Column]| {
        settings.fit(x, &s, None, &watch).map(|_| ()).unwrap_err()
    };
    for bandwidths in [vec![], vec![0.0], vec![f64::NAN]] {
        let error = refused(&settings("rbf", bandwidths), &x);
        assert!(matches!(error, Error::InvalidParameter { .. }));
    }
    let keep = ReleaseSettings {
        missing: MissingValues::Keep,
        ..settings("rbf", vec![1.0])
    };
    assert!(refused(&keep, &x).to_string().contains("quantile"));
    let mut hole = x.clone();
    if let Values::Numbers(values) = &mut hole[0].values {
        values[3] = f64::NAN;
    }
    let error = refused(&settings("rbf", vec![1.0]), &hole);
    assert!(matches!(error, Error::MissingValues { column, row: 3, .. } if column == "a"));
}

/// A column of many categories beside a number, in either order and alone.
#[test]
fn the_path_sees_every_sensitive_column() {
    let (x, s) = dependent(400, 9, 2.0);
    let group = s.columns()[0].clone();
    let names: Vec<String> = (0..400).map(|i| format!("{}", i % 150)).collect();
    let many = Column::texts("zip", names.iter().map(|name| Some(name.as_str())));
    let watch = Watch::default();
    let study = |columns: Vec<Column>| {
        let rows = ReleaseRows {
            features: x.clone(),
            sensitive: Sensitive::new(columns, 400).unwrap(),
            target: None,
            weights: None,
        };
        let mut settings = settings("rbf", vec![1.0, 0.01]);
        settings.partition.policies.category = oblivio_base::UnseenCategory::Population;
        settings.study(&rows, &StudySettings::default(), &watch)
    };
    let a = study(vec![group.clone(), many.clone()]).unwrap();
    let b = study(vec![many.clone(), group]).unwrap();
    for (a, b) in a.path.iter().zip(&b.path) {
        assert!((a.hsic - b.hsic).abs() < 1e-9 && a.hsic > 0.0);
    }
    assert!(study(vec![many]).is_ok());
}

/// A kernel with a tip has no second-order bound: its certificate stops in time, and says how far it got.
#[test]
fn certificates_of_rough_kernels_stop_in_time() {
    let (x, s) = dependent(120, 2, 1.5);
    let rows = ReleaseRows {
        features: x,
        sensitive: s,
        target: None,
        weights: None,
    };
    let report = settings("laplacian(gamma=0.3)", vec![1.0])
        .study(&rows, &StudySettings::default(), &Watch::default())
        .unwrap();
    let certified = report.certified.unwrap();
    assert!(certified.certified <= certified.rows && certified.largest_gap > 0.0);
}
