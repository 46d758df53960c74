//! Intervals: residuals of rows that the score has not seen, half-widths per cell, and how often they hold the target.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use oblivio::align::{AlignMethod, AlignRule};
use oblivio::intervals::{Coverage, IntervalSource, Intervals};
use oblivio::oblivious::Features;
use oblivio::partition::{Missing, Policies};
use oblivio::reference::Reference;
use oblivio::refresh::Renewal;
use oblivio::sensitive_free::Restraint;
use oblivio::survey::Survey;
use oblivio::{
    Column, Error, Fit, Mode, Model, Points, Roles, Sensitive, Settings, Training, Warning,
};
use oblivio_base::{Scaling, UnseenCategory};
use oblivio_kernels::Components;
use oblivio_kernels::learn::{Intercept, Learner, Solver};

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use oblivio_testing::{Cut, Table, apart, generator, matrix, settings, size, watch};
use rand::RngExt;
use rand_distr::StandardNormal;

const CLOSED: Option<IntervalSource> = Some(IntervalSource::Loo);
const FOLDS: Option<IntervalSource> = Some(IntervalSource::Folds);

/// The residuals of each cell in ascending order: the k-th of n is the half-width at coverage k/(n + 1).
fn residuals(intervals: &Intervals) -> Vec<Vec<f64>> {
    let count = |cell: usize| intervals.rows()[cell];
    let at = |cell: usize, k: usize| {
        let coverage = k as f64 / (count(cell) + 1) as f64;
        intervals.half_widths(coverage).unwrap()[cell]
    };
    (0..intervals.rows().len())
        .map(|cell| (1..=count(cell)).map(|k| at(cell, k)).collect())
        .collect()
}

/// The same from scores, by the definition.
fn sorted(table: &Table, rows: &[usize], scores: &[f64], cut: Cut) -> Vec<Vec<f64>> {
    let all = table.cells(cut, table);
    let mut known = all.clone();
    known.sort_unstable();
    known.dedup();
    let mut cells = vec![Vec::new(); known.len()];
    for (&row, score) in rows.iter().zip(scores) {
        let cell = known.binary_search(&all[row]).unwrap();
        cells[cell].push((table.targets[row] - score).abs());
    }
    for cell in &mut cells {
        cell.sort_by(f64::total_cmp);
    }
    cells
}

fn assert_equal(found: &[Vec<f64>], expected: &[Vec<f64>], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.len(), expected.len(), "{what}");
        let gap = apart(found, expected);
        assert!(gap <= 1e-8 * size(expected), "{what}: {gap:e}");
    }
}

fn without(row: usize, rows: usize) -> Vec<usize> {
    (0..rows).filter(|&i| i != row).collect()
}

#[test]
fn plain_residuals_are_those_of_refits_without_each_row() {
    let table = Table::new(45, 2, 5);
    for intercept in [Intercept::None, Intercept::Fitted] {
        let settings = Settings {
            mode: Mode::Plain,
            intercept,
            intervals: CLOSED,
            ..settings("rbf(gamma=0.7)")
        };
        let fit = table.fit(&settings, Cut::Group);
        let score = |row: usize| {
            let rest = table.select(&without(row, table.len()));
            let settings = Settings {
                intervals: None,
                ..settings.clone()
            };
            let refit = rest.fit(&settings, Cut::Group);
            table.select(&[row]).scores(&refit, Cut::Group)[0]
        };
        let rows: Vec<usize> = (0..table.len()).collect();
        let scores: Vec<f64> = rows.iter().map(|&row| score(row)).collect();
        assert_equal(
            &residuals(fit.predictor.intervals().unwrap()),
            &sorted(&table, &rows, &scores, Cut::Group),
            &format!("{intercept:?}"),
        );
    }
}

/// Where other rows estimate the means, these do not move when a training row is left out: refits are the definition.
#[test]
fn residuals_are_those_of_refits_whose_means_are_held_fixed() {
    let table = Table::new(60, 2, 8);
    // Rows of all three groups.
    let reference: Vec<usize> = (0..table.len()).filter(|i| i % 7 < 3).collect();
    let training: Vec<usize> = (0..table.len()).filter(|i| i % 7 >= 3).collect();
    let soft = Restraint::Soft(0.4);
    for (mode, restraint) in [
        (Mode::Oblivious, Restraint::Hard),
        (Mode::MOblivious, Restraint::Hard),
        (Mode::SensitiveFree, Restraint::Hard),
        (Mode::SensitiveFree, soft),
    ] {
        let what = format!("{mode:?}, {restraint:?}");
        let settings = Settings {
            mode,
            restraint,
            reference: Reference::Rows(reference.clone()),
            intervals: CLOSED,
            ..settings("rbf(gamma=0.7)")
        };
        let fit = table.fit(&settings, Cut::Group);
        let sensitive = table.sensitive(Cut::Group);
        let whole = fit
            .predictor
            .predict(&table.points, Some(&sensitive), &watch())
            .unwrap();
        let score = |row: usize| {
            let rest = without(row, table.len());
            let given = reference
                .iter()
                .map(|r| rest.binary_search(r).unwrap())
                .collect();
            let settings = Settings {
                reference: Reference::Rows(given),
                intervals: None,
                ..settings.clone()
            };
            let refit = table.select(&rest).fit(&settings, Cut::Group);
            let one = table.select(&[row]);
            let own = one.sensitive(Cut::Group);
            let found = refit.predictor.predict(&one.points, Some(&own), &watch());
            if mode == Mode::MOblivious {
                // The offsets are those of the fit.
                found.unwrap().before[0] + whole.scores[row] - whole.before[row]
            } else {
                found.unwrap().scores[0]
            }
        };
        let scores: Vec<f64> = training.iter().map(|&row| score(row)).collect();
        let found = residuals(fit.predictor.intervals().unwrap());
        assert_equal(
            &found,
            &sorted(&table, &training, &scores, Cut::Group),
            &what,
        );
    }
}

/// Where the same rows train and estimate: ridge regressions on the oblivious matrix without row and column i.
#[test]
fn oblivious_residuals_are_those_of_the_matrix_without_each_row() {
    let table = Table::new(48, 2, 3);
    let cut = Cut::Group;
    let settings = Settings {
        strength: 0.8,
        intervals: CLOSED,
        ..settings("rbf(gamma=0.7)")
    };
    let fit = table.fit(&settings, cut);
    let (partition, map) = table.map(&oblivio_testing::kernel("rbf(gamma=0.7)"), cut, 0.8);
    let assignment = partition.assign(&table.sensitive(cut)).unwrap();
    let features = Features::Oblivious(&table.points, &assignment);
    let gram = map.inner(features, features, &watch()).unwrap();
    let gram = matrix(&gram, table.len());
    let score = |row: usize| {
        let rest = without(row, table.len());
        let system = Mat::from_fn(rest.len(), rest.len(), |i, j| {
            gram[(rest[i], rest[j])] + if i == j { settings.penalty } else { 0.0 }
        });
        let y = Mat::from_fn(rest.len(), 1, |i, _| table.targets[rest[i]]);
        let alpha = system.llt(Side::Lower).unwrap().solve(&y);
        let terms = rest.iter().enumerate();
        terms.map(|(k, &j)| alpha[(k, 0)] * gram[(row, j)]).sum()
    };
    let rows: Vec<usize> = (0..table.len()).collect();
    let scores: Vec<f64> = rows.iter().map(|&row| score(row)).collect();
    assert_equal(
        &residuals(fit.predictor.intervals().unwrap()),
        &sorted(&table, &rows, &scores, cut),
        "oblivious",
    );
}

#[test]
fn weights_are_repetitions() {
    let mut table = Table::new(40, 2, 9);
    table.weights = (0..40).map(|i| f64::from(i % 3) + 1.0).collect();
    let repeat = |row: usize| vec![row; table.weights[row] as usize];
    let rows: Vec<usize> = (0..40).flat_map(repeat).collect();
    let mut repeated = table.select(&rows);
    repeated.weights = vec![1.0; rows.len()];
    for mode in [Mode::Plain, Mode::Oblivious, Mode::MOblivious] {
        let settings = Settings {
            mode,
            intervals: CLOSED,
            ..settings("rbf(gamma=0.7)")
        };
        let widths = |table: &Table| {
            let fit = table.fit(&settings, Cut::Group);
            let intervals = fit.predictor.intervals().unwrap().clone();
            (1..20).flat_map(move |k| intervals.half_widths(f64::from(k) / 20.0).unwrap())
        };
        for (a, b) in widths(&table).zip(widths(&repeated)) {
            assert!(a == b || (a - b).abs() <= 1e-8 * b, "{mode:?}: {a} {b}");
        }
    }
}

/// y = sin(2x) + noise, of standard deviation 0.3 in group a and 1.2 in group b.
fn noisy(rows: usize, seed: u64) -> (Points<'static>, Sensitive, Vec<f64>) {
    let mut random = generator(seed);
    let mut normal = || random.sample::<f64, _>(StandardNormal);
    let (mut x, mut y, mut group) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..rows {
        let (name, noise, mean) = [("a", 0.3, -0.5), ("b", 1.2, 0.5)][row % 2];
        x.push(mean + normal());
        y.push((2.0 * x[row]).sin() + noise * normal());
        group.push(Some(name));
    }
    let sensitive = Sensitive::new(vec![Column::texts("group", group)], rows).unwrap();
    (Points::new(x, 1).unwrap(), sensitive, y)
}

/// The share of the rows of each group that its intervals hold.
fn covered(fit: &Fit, coverage: f64, seed: u64) -> Vec<f64> {
    let (points, sensitive, targets) = noisy(HELD_OUT, seed);
    let given = fit.predictor.offsets().map(|_| &sensitive);
    let prediction = fit.predictor.predict(&points, given, &watch()).unwrap();
    let interval = fit.predictor.interval(&prediction, coverage).unwrap();
    let holds =
        |row: usize| interval.lower[row] <= targets[row] && targets[row] <= interval.upper[row];
    let share = |first: usize| {
        let rows = (first..HELD_OUT).step_by(2);
        rows.clone().filter(|&row| holds(row)).count() as f64 / rows.count() as f64
    };
    vec![share(0), share(1)]
}

const TRAINING: usize = 400;
const HELD_OUT: usize = 4000;
const SEEDS: [u64; 4] = [1, 2, 3, 4];

/// How far the coverage found may be from the one asked for. With n residuals in a cell the coverage given the fit has a variance of about
/// c(1 − c)/(n + 2), and the share among m held-out rows adds c(1 − c)/m. Leaving out rows costs the stability of the fit; two in a
/// hundred are allowed for that.
fn margin(coverage: f64, fits: usize) -> f64 {
    let (n, m) = ((TRAINING / 2) as f64, (HELD_OUT / 2) as f64);
    let variance = coverage * (1.0 - coverage) * (1.0 / (n + 2.0) + 1.0 / m);
    3.5 * (variance / fits as f64).sqrt() + 0.02
}

fn noisy_fit(settings: &Settings, seed: u64, sensitive: Option<()>) -> Fit {
    let (points, groups, targets) = noisy(TRAINING, 100 + seed);
    let none = Sensitive::new(Vec::new(), TRAINING).unwrap();
    let training = Training {
        points: &points,
        sensitive: sensitive.map_or(&none, |()| &groups),
        targets: &targets,
        weights: None,
    };
    settings.fit(training, &watch()).unwrap()
}

#[test]
fn every_cell_is_covered_as_often_as_asked() {
    let align = AlignRule {
        method: AlignMethod::LocationScale,
        strength: 1.0,
    };
    let base = settings("rbf(gamma=0.5)");
    let cases = [
        ("oblivious", CLOSED, Settings { ..base.clone() }),
        (
            "m-oblivious",
            CLOSED,
            Settings {
                mode: Mode::MOblivious,
                ..base.clone()
            },
        ),
        (
            "plain",
            CLOSED,
            Settings {
                mode: Mode::Plain,
                ..base.clone()
            },
        ),
        (
            "sensitive-free",
            CLOSED,
            Settings {
                mode: Mode::SensitiveFree,
                ..base.clone()
            },
        ),
        ("folds", FOLDS, base.clone()),
        (
            "aligned",
            FOLDS,
            Settings {
                align: Some(align),
                ..base.clone()
            },
        ),
        (
            "landmarks",
            FOLDS,
            Settings {
                components: Some(Components::new(40)),
                ..base.clone()
            },
        ),
        (
            "half",
            FOLDS,
            Settings {
                reference: Reference::Half,
                ..base
            },
        ),
    ];
    for (what, intervals, case) in cases {
        let settings = Settings { intervals, ..case };
        for coverage in [0.5, 0.9] {
            let mut mean = [0.0; 2];
            for seed in SEEDS {
                let fit = noisy_fit(&settings, seed, Some(()));
                let found = covered(&fit, coverage, 200 + seed);
                for (cell, share) in found.iter().enumerate() {
                    let gap = (share - coverage).abs();
                    assert!(
                        gap < margin(coverage, 1),
                        "{what}, {coverage}, cell {cell}: {share}"
                    );
                    mean[cell] += share / SEEDS.len() as f64;
                }
            }
            for share in mean {
                let gap = (share - coverage).abs();
                assert!(
                    gap < margin(coverage, SEEDS.len()),
                    "{what}, {coverage}: {mean:?}"
                );
            }
        }
    }
}

#[test]
fn one_interval_for_all_would_leave_the_noisy_cell_uncovered() {
    let settings = Settings {
        mode: Mode::Plain,
        intervals: CLOSED,
        ..settings("rbf(gamma=0.5)")
    };
    for seed in SEEDS {
        let pooled = covered(&noisy_fit(&settings, seed, None), 0.7, 200 + seed);
        assert!(pooled[1] < 0.7 - margin(0.7, 1), "{pooled:?}");
        assert!(pooled[0] > 0.7 + margin(0.7, 1), "{pooled:?}");
        let own = covered(&noisy_fit(&settings, seed, Some(())), 0.7, 200 + seed);
        assert!(own[1] > 0.7 - margin(0.7, 1), "{own:?}");
    }
}

/// A table with a large group, a small one, and rows that miss their group.
fn uneven() -> (Points<'static>, Vec<Option<&'static str>>, Vec<f64>) {
    let (points, _, targets) = noisy(120, 7);
    let group = |i: usize| match i {
        0..5 => Some("rare"),
        110.. => None,
        _ => Some(["a", "b"][i % 2]),
    };
    (points, (0..120).map(group).collect(), targets)
}

fn uneven_settings(intervals: Option<IntervalSource>) -> Settings {
    let mut settings = Settings {
        intervals,
        ..settings("rbf(gamma=0.5)")
    };
    settings.partition.policies = Policies {
        missing: Missing::SensitiveFree,
        category: UnseenCategory::Population,
        ..Policies::default()
    };
    settings
}

#[test]
fn small_cells_have_no_end_and_rows_without_a_cell_the_largest_half_width() {
    let (points, group, targets) = uneven();
    let sensitive = Sensitive::new(vec![Column::texts("group", group)], 120).unwrap();
    for source in [CLOSED, FOLDS] {
        let fit = uneven_settings(source)
            .fit(
                Training {
                    points: &points,
                    sensitive: &sensitive,
                    targets: &targets,
                    weights: None,
                },
                &watch(),
            )
            .unwrap();
        let endless = Warning::EndlessIntervals {
            count: 1,
            needed: 9,
            coverage: 0.9,
        };
        assert!(fit.summary.warnings.contains(&endless), "{source:?}");
        let own = fit.predictor.intervals().unwrap();
        assert_eq!(own.rows(), [52, 53, 5]);
        let names = ["a", "b", "rare", "new"].map(Some);
        let asked = [&names[..], &[None]].concat();
        let few = points.select(&[0, 1, 2, 3, 4]);
        let some = Sensitive::new(vec![Column::texts("group", asked)], 5).unwrap();
        let prediction = fit.predictor.predict(&few, Some(&some), &watch()).unwrap();
        assert_eq!(prediction.apart, [4]);
        let half = |coverage: f64| -> Vec<f64> {
            let interval = fit.predictor.interval(&prediction, coverage).unwrap();
            let ends = interval.lower.iter().zip(&interval.upper);
            ends.map(|(lower, upper)| (upper - lower) / 2.0).collect()
        };
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b;
        let at = |coverage: f64| own.half_widths(coverage).unwrap();
        let (found, known) = (half(0.5), at(0.5));
        assert!(
            (0..3).all(|k| close(found[k], known[k])),
            "{found:?} {known:?}"
        );
        let largest = |widths: &[f64]| widths.iter().copied().fold(0.0, f64::max);
        assert!(close(found[3], largest(&known)));
        let fallback = fit.predictor.fallback().unwrap().intervals().unwrap();
        assert!(close(
            found[4],
            largest(&fallback.half_widths(0.5).unwrap())
        ));
        assert_ne!(fallback, own);
        let found = half(0.9);
        let endless: Vec<bool> = found.iter().map(|width| width.is_infinite()).collect();
        assert_eq!(endless, [false, false, true, true, true]);
        let interval = fit.predictor.interval(&prediction, 0.9).unwrap();
        assert_eq!(interval.endless, 3);
        // All rows by the fallback.
        let blind = fit.predictor.predict(&few, None, &watch()).unwrap();
        let interval = fit.predictor.interval(&blind, 0.5).unwrap();
        let width = interval.upper[0] - interval.lower[0];
        assert!(close(
            width / 2.0,
            largest(&fallback.half_widths(0.5).unwrap())
        ));
    }
}

/// No fit to the other rows knows what to do with a value that one row alone misses.
#[test]
fn a_row_that_alone_misses_a_value_has_no_residual() {
    let (points, mut group, targets) = uneven();
    for (missing, rows) in [(1, vec![52, 53, 14, 0]), (3, vec![52, 53, 12, 3])] {
        group[110..120 - missing].fill(Some("rare"));
        group[120 - missing..].fill(None);
        let sensitive = Sensitive::new(vec![Column::texts("group", group.clone())], 120).unwrap();
        let mut settings = uneven_settings(FOLDS);
        settings.partition.policies.missing = Missing::Category;
        let data = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &targets,
            weights: None,
        };
        let fit = settings.fit(data, &watch()).unwrap();
        let intervals = fit.predictor.intervals().unwrap();
        assert_eq!(intervals.rows(), rows);
        assert_eq!(
            intervals.half_widths(0.5).unwrap()[3].is_infinite(),
            missing == 1
        );
    }
}

#[test]
fn the_coverage_found_is_counted_by_cell() {
    let (points, group, targets) = uneven();
    let sensitive = Sensitive::new(vec![Column::texts("group", group)], 120).unwrap();
    let training = Training {
        points: &points,
        sensitive: &sensitive,
        targets: &targets,
        weights: None,
    };
    let fit = uneven_settings(CLOSED).fit(training, &watch()).unwrap();
    let partition = &fit.predictor.offsets().unwrap().partition;
    let mut whole = Coverage::new(partition.len());
    let mut parts = whole.clone();
    let add = |to: &mut Coverage, rows: &[usize]| {
        let (points, sensitive) = (points.select(rows), sensitive.select(rows));
        let prediction = fit
            .predictor
            .predict(&points, Some(&sensitive), &watch())
            .unwrap();
        let interval = fit.predictor.interval(&prediction, 0.9).unwrap();
        let targets: Vec<f64> = rows.iter().map(|&row| targets[row]).collect();
        to.update(&interval, &targets, prediction.assignment.as_ref())
            .unwrap();
        assert!(to.update(&interval, &[], None).is_err());
    };
    let all: Vec<usize> = (0..120).collect();
    add(&mut whole, &all);
    add(&mut parts, &all[..70]);
    add(&mut parts, &all[70..]);
    let lines = whole.cells(Some(partition));
    let labels: Vec<(&str, usize)> = lines
        .iter()
        .map(|line| (&line.label[..], line.rows))
        .collect();
    assert_eq!(
        labels,
        [
            ("group=a", 52),
            ("group=b", 53),
            ("group=rare", 5),
            ("no cell of their own", 10),
            ("all rows", 120)
        ]
    );
    assert_eq!(lines[2].endless, 5);
    assert_eq!((lines[2].covered, lines[2].width), (1.0, f64::INFINITY));
    // Rows of the fit are covered at least as often as those it has not seen.
    assert!(
        lines[0].covered >= 0.9 && lines[1].covered >= 0.9,
        "{lines:?}"
    );
    let counts = |of: &Coverage| of.cells(None)[0].covered;
    assert_eq!(counts(&whole), counts(&parts));
}

#[test]
fn the_file_holds_the_intervals() {
    let (points, group, targets) = uneven();
    let x = Column::numbers("x", points.values().to_vec());
    let group = Column::texts("group", group);
    let target = Column::numbers("y", targets);
    let fit = |sensitive: &[Column], settings: &Settings| {
        let roles = Roles {
            features: std::slice::from_ref(&x),
            sensitive,
            target: &target,
            labels: None,
            weights: None,
        };
        Model::fit(roles, Scaling::Standard, settings, &watch())
            .unwrap()
            .0
    };
    let sensitive = [group];
    for source in [CLOSED, FOLDS] {
        let settings = uneven_settings(source);
        for sensitive in [&sensitive[..], &[]] {
            let model = fit(sensitive, &settings);
            let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
            assert_eq!(again, model);
            assert!(again.predictor().intervals().is_some());
            let cells = again.predictor().intervals().unwrap().rows().len();
            assert_eq!(cells, if sensitive.is_empty() { 1 } else { 3 });
        }
    }
    // A model without intervals says what to do, and its file is as it was.
    let plain = fit(&sensitive, &uneven_settings(None));
    let bytes = plain.to_bytes().unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("intervals"));
    let model = Model::from_bytes(&bytes).unwrap();
    let prediction = &model
        .predict(&[x.clone(), sensitive[0].clone()], &watch())
        .unwrap()[0];
    let error = model.predictor().interval(prediction, 0.9).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a model that predicts intervals must be one fitted with intervals (auto, loo or folds), got one without: fit it again"
    );
}

#[test]
fn files_whose_intervals_make_no_sense_are_refused() {
    let (points, _, targets) = noisy(12, 1);
    let roles = Roles {
        features: &[Column::numbers("x", points.values().to_vec())],
        sensitive: &[],
        target: &Column::numbers("y", targets),
        labels: None,
        weights: None,
    };
    let settings = Settings {
        intervals: CLOSED,
        ..settings("linear")
    };
    let (model, _) = Model::fit(roles, Scaling::Raw, &settings, &watch()).unwrap();
    let bytes = model.to_bytes().unwrap();
    let changed = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let (from, to) = (from.as_bytes(), to.as_bytes());
        let place = bytes.windows(from.len()).position(|w| w == from).unwrap();
        let mut bytes = bytes.clone();
        bytes[place..place + to.len()].copy_from_slice(to);
        Model::from_bytes(&bytes)
    };
    assert!(Model::from_bytes(&bytes).is_ok());
    let steps = r#"\"steps\":[12]"#;
    assert!(changed(steps, r#"\"steps\":[11]"#).is_err());
    assert!(changed(r#"\"rows\":[12]"#, r#"\"rows\":[11]"#).is_err());
    assert!(changed(r#"\"source\":\"loo\""#, r#"\"source\":\"lop\""#).is_err());
}

#[test]
fn what_has_no_intervals_says_so() {
    let table = Table::new(60, 2, 8);
    let refused = |settings: &Settings, cut: Cut| {
        let settings = Settings {
            partition: cut.rule(),
            ..settings.clone()
        };
        let training = Training {
            points: &table.points,
            sensitive: &table.sensitive(cut),
            targets: &table.targets,
            weights: None,
        };
        settings.fit(training, &watch()).unwrap_err().to_string()
    };
    let base = Settings {
        intervals: CLOSED,
        ..settings("rbf(gamma=0.7)")
    };
    let classifier = Settings {
        learner: Learner::Svm,
        ..base.clone()
    };
    assert_eq!(
        refused(&classifier, Cut::Group),
        "intervals must be left out for a classifier, since they are for regressions, got svm"
    );
    let align = Some(AlignRule {
        method: AlignMethod::Quantile,
        strength: 1.0,
    });
    let closed = [
        Settings {
            components: Some(Components::new(10)),
            ..base.clone()
        },
        Settings {
            align,
            ..base.clone()
        },
        Settings {
            solver: Solver::Pcg,
            ..base.clone()
        },
    ];
    for settings in &closed {
        let message = refused(settings, Cut::Group);
        assert!(
            message.starts_with("intervals must be auto or folds where"),
            "{message}"
        );
        let auto = Settings {
            intervals: Some(IntervalSource::Auto),
            ..settings.clone()
        };
        let fit = table.fit(&auto, Cut::Group);
        let source = fit.predictor.intervals().unwrap().source();
        assert_eq!(source, IntervalSource::Folds);
    }
    let auto = Settings {
        intervals: Some(IntervalSource::Auto),
        ..base.clone()
    };
    let fit = table.fit(&auto, Cut::Group);
    let intervals = fit.predictor.intervals().unwrap();
    assert_eq!(intervals.source(), IntervalSource::Loo);
    for coverage in [0.0, 1.0, -0.1, f64::NAN] {
        let error = intervals.half_widths(coverage).unwrap_err();
        assert!(matches!(
            error,
            Error::InvalidParameter {
                name: "coverage",
                ..
            }
        ));
    }
    // Rows in batches leave nothing but sums.
    let mut survey = Survey::new(0);
    let x = [Column::numbers("x", table.targets.clone())];
    survey.update(&x, &[], None).unwrap();
    let streamed = survey.begin(Scaling::Raw, &auto, Components::new(5), &watch());
    let message = streamed.unwrap_err().to_string();
    assert!(
        message.starts_with("intervals must be left out where rows come in batches"),
        "{message}"
    );
}

#[test]
fn a_refresh_keeps_the_intervals_of_the_fit() {
    let fit = noisy_fit(
        &Settings {
            intervals: CLOSED,
            ..settings("rbf(gamma=0.5)")
        },
        1,
        Some(()),
    );
    let (points, sensitive, _) = noisy(200, 50);
    let mut refresh = fit.predictor.refresh().unwrap();
    refresh.update(&points, &sensitive, None, &watch()).unwrap();
    let (renewed, ..) = refresh.finish(Renewal::keeping(30)).unwrap();
    assert_ne!(renewed.offsets(), fit.predictor.offsets());
    assert_eq!(renewed.intervals(), fit.predictor.intervals());
}
