//! Conditional means that are regressions on S: smooth, linear, shrunk, or given a legitimate factor.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use oblivio::adjust::Offsets;
use oblivio::features::FeatureSettings;
use oblivio::model::{KernelModel, KernelSettings};
use oblivio::moments::{Batch, Moments, SensitiveRows};
use oblivio::partition::{CellCount, Estimator, Missing, PartitionRule, Policies};
use oblivio::reference::Reference;
use oblivio::refresh::Renewal;
use oblivio::{
    Column, Encoder, Error, Fit, Kernel, Mode, Model, Points, Prediction, Predictor, Sensitive,
    Settings, Training,
};
use oblivio_audit::correlation_ratio;
use oblivio_base::UnseenCategory;
use oblivio_kernels::Components;
use oblivio_testing::{apart, generator, size, watch};
use rand::RngExt;
use rand_distr::StandardNormal;
use std::sync::Arc;

/// Rows with a known answer: $x = m(s) + u$ with u independent of s, and y = x².
struct Simulated {
    points: Points<'static>,
    age: Vec<f64>,
    group: Vec<usize>,
    targets: Vec<f64>,
    weights: Vec<f64>,
}

const GROUPS: [&str; 3] = ["a", "b", "c"];

impl Simulated {
    fn new(rows: usize, seed: u64) -> Self {
        let mut random = generator(seed);
        let (mut points, mut age, mut group, mut targets) = (vec![], vec![], vec![], vec![]);
        for _ in 0..rows {
            let a: f64 = random.random_range(-1.0..1.0);
            let g = random.random_range(0..3usize);
            let u: f64 = random.sample(StandardNormal);
            let v: f64 = random.sample(StandardNormal);
            let x = (2.0 * a).sin() + 0.7 * g as f64 * a + 0.6 * u;
            points.extend([x, 0.5 * v + a * a]);
            age.push(a);
            group.push(g);
            targets.push(x + 0.5 * v + 0.1 * random.sample::<f64, _>(StandardNormal));
        }
        Self {
            points: Points::new(points, 2).unwrap(),
            weights: vec![1.0; rows],
            age,
            group,
            targets,
        }
    }

    fn sensitive(&self) -> Sensitive {
        let group = self.group.iter().map(|g| Some(GROUPS[*g]));
        let columns = vec![
            Column::numbers("age", self.age.clone()),
            Column::texts("group", group),
        ];
        Sensitive::new(columns, self.age.len()).unwrap()
    }

    fn fit(&self, settings: &Settings) -> Fit {
        self.try_fit(settings, &self.sensitive()).unwrap()
    }

    fn try_fit(&self, settings: &Settings, sensitive: &Sensitive) -> oblivio::Result<Fit> {
        let training = Training {
            points: &self.points,
            sensitive,
            targets: &self.targets,
            weights: Some(&self.weights),
        };
        settings.fit(training, &watch())
    }

    fn predict(&self, fit: &Fit) -> Prediction {
        let sensitive = self.sensitive();
        fit.predictor
            .predict(&self.points, Some(&sensitive), &watch())
            .unwrap()
    }

    fn rows(&self, rows: &[usize]) -> Self {
        let pick = |values: &[f64]| rows.iter().map(|&i| values[i]).collect();
        Self {
            points: self.points.select(rows),
            age: pick(&self.age),
            group: rows.iter().map(|&i| self.group[i]).collect(),
            targets: pick(&self.targets),
            weights: pick(&self.weights),
        }
    }
}

fn smooth() -> Settings {
    by(Estimator::Smooth)
}

fn by(estimator: Estimator) -> Settings {
    Settings {
        kernel: "rbf(gamma=0.5)".parse().unwrap(),
        partition: PartitionRule {
            estimator,
            ..PartitionRule::default()
        },
        ..Settings::default()
    }
}

/// The share of the scores' variance that ten cells of the age in each group explain.
fn dependence(rows: &Simulated, scores: &[f64]) -> f64 {
    let cells: Vec<u32> = (0..rows.age.len())
        .map(|i| ((rows.age[i] + 1.0) * 5.0) as u32 * 3 + rows.group[i] as u32)
        .collect();
    correlation_ratio(scores, &cells).value
}

#[test]
fn a_smooth_mean_removes_the_dependence_of_new_rows() {
    let (train, test) = (Simulated::new(1200, 1), Simulated::new(3000, 2));
    let plain = Settings {
        mode: Mode::Plain,
        ..smooth()
    };
    let before = dependence(&test, &test.predict(&train.fit(&plain)).scores);
    let floor = 29.0 / 2999.0;
    assert!(before > 0.4, "{before}");
    for mode in [Mode::Oblivious, Mode::MOblivious] {
        for components in [None, Some(Components::new(150))] {
            let settings = Settings {
                mode,
                components,
                ..smooth()
            };
            let after = dependence(&test, &test.predict(&train.fit(&settings)).scores);
            // The floor has a standard deviation of sqrt(2 · 29)/3000; the estimate adds its own error.
            assert!(after < 2.5 * floor, "{mode:?} {components:?}: {after}");
        }
    }
    let free = Settings {
        mode: Mode::SensitiveFree,
        ..smooth()
    };
    let after = dependence(&test, &test.predict(&train.fit(&free)).scores);
    assert!(after < 0.25 * before, "{after}");
}

#[test]
fn smooth_is_nearer_to_the_truth_than_cells() {
    // The oracle: with the linear kernel the conditional mean of the first feature is known.
    let train = Simulated::new(600, 3);
    let test = Simulated::new(500, 4);
    let error = |estimator| {
        let rule = by(estimator);
        let settings = FeatureSettings {
            kernel: "linear".parse().unwrap(),
            components: Components::new(2),
            strength: 1.0,
            partition: rule.partition,
            reference: Reference::All,
            seed: 0,
        };
        let sensitive = train.sensitive();
        let training = Training {
            points: &train.points,
            sensitive: &sensitive,
            targets: &train.targets,
            weights: None,
        };
        let (features, _) = settings.fit(training, &watch()).unwrap();
        let (z, _) = features
            .transform(&test.points, Some(&test.sensitive()), &watch())
            .unwrap();
        let rows = test.age.len();
        let overall = train.points.values().chunks(2).map(|x| x[0]).sum::<f64>() / 600.0;
        (0..rows)
            .map(|i| {
                let a = test.age[i];
                let truth = (2.0 * a).sin() + 0.7 * test.group[i] as f64 * a;
                let taken = test.points.row(i)[0] - z[2 * i];
                (taken - (truth - overall)).powi(2)
            })
            .sum::<f64>()
            / rows as f64
    };
    let (smooth, cells) = (error(Estimator::Smooth), error(Estimator::Cells));
    assert!(smooth < 0.5 * cells, "{smooth} {cells}");
    // Two features of S in each of three groups cost about (noise 0.36)·df/600.
    assert!(smooth < 0.02, "{smooth}");
}

#[test]
fn with_every_row_a_landmark_it_is_the_exact_path() {
    let table = Simulated::new(90, 5);
    let weighted = Simulated {
        weights: (0..90).map(|i| 0.5 + f64::from(i % 4)).collect(),
        ..Simulated::new(90, 5)
    };
    for table in [table, weighted] {
        for estimator in [Estimator::Smooth, Estimator::Linear] {
            for mode in [Mode::Oblivious, Mode::MOblivious, Mode::SensitiveFree] {
                for control in [vec![], vec!["group".to_owned()]] {
                    for reference in [Reference::All, Reference::Half] {
                        let mut exact = by(estimator);
                        exact.partition.control = control.clone();
                        exact.mode = mode;
                        exact.strength = 0.8;
                        exact.reference = reference;
                        let explicit = Settings {
                            components: Some(Components::new(90)),
                            ..exact.clone()
                        };
                        let a = table.predict(&table.fit(&exact)).scores;
                        let b = table.predict(&table.fit(&explicit)).scores;
                        let apart = apart(&a, &b) / size(&a);
                        assert!(
                            apart < 1e-7,
                            "{estimator:?} {mode:?} {control:?} {:?}: {apart}",
                            exact.reference
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn linear_features_are_least_squares() {
    let table = Simulated::new(80, 6);
    let mut random = generator(7);
    let other: Vec<f64> = (0..80)
        .map(|i| table.age[i] + random.random::<f64>())
        .collect();
    for names in [&["age"][..], &["age", "other"]] {
        let columns: Vec<Column> = names
            .iter()
            .map(|name| match *name {
                "age" => Column::numbers("age", table.age.clone()),
                _ => Column::numbers("other", other.clone()),
            })
            .collect();
        let sensitive = Sensitive::new(columns, 80).unwrap();
        let settings = FeatureSettings {
            kernel: "linear".parse().unwrap(),
            components: Components::new(2),
            strength: 0.7,
            partition: by(Estimator::Linear).partition,
            reference: Reference::All,
            seed: 0,
        };
        let training = Training {
            points: &table.points,
            sensitive: &sensitive,
            targets: &table.targets,
            weights: None,
        };
        let (features, _) = settings.fit(training, &watch()).unwrap();
        let (z, _) = features
            .transform(&table.points, Some(&sensitive), &watch())
            .unwrap();
        // By the normal equations of one or two columns.
        let columns: Vec<Vec<f64>> = sensitive
            .columns()
            .iter()
            .map(|c| {
                let values = c.to_numbers().unwrap();
                let mean = values.iter().sum::<f64>() / 80.0;
                values.iter().map(|v| v - mean).collect()
            })
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        for k in 0..2 {
            let x: Vec<f64> = (0..80).map(|i| table.points.row(i)[k]).collect();
            let fitted: Vec<f64> = if columns.len() == 1 {
                let b = dot(&columns[0], &x) / dot(&columns[0], &columns[0]);
                columns[0].iter().map(|s| b * s).collect()
            } else {
                let (a, b) = (&columns[0], &columns[1]);
                let (aa, ab, bb) = (dot(a, a), dot(a, b), dot(b, b));
                let (ax, bx) = (dot(a, &x), dot(b, &x));
                let det = aa * bb - ab * ab;
                let (p, q) = ((bb * ax - ab * bx) / det, (aa * bx - ab * ax) / det);
                (0..80).map(|i| p * a[i] + q * b[i]).collect()
            };
            for i in 0..80 {
                let expected = x[i] - 0.7 * fitted[i];
                assert!((z[2 * i + k] - expected).abs() < 1e-10);
            }
        }
    }
}

#[test]
fn weights_are_repetitions() {
    let table = Simulated::new(70, 8);
    let rows: Vec<usize> = (0..70).flat_map(|i| vec![i; 1 + i % 3]).collect();
    let twice = table.rows(&rows);
    let once = Simulated {
        weights: (0..70).map(|i| f64::from(1 + i % 3)).collect(),
        ..table.rows(&(0..70).collect::<Vec<_>>())
    };
    for estimator in [Estimator::Auto, Estimator::Smooth, Estimator::Linear] {
        let settings = by(estimator);
        let a = once.fit(&settings);
        let b = twice.fit(&settings);
        let apart = apart(&once.predict(&a).scores, &once.predict(&b).scores);
        assert!(apart < 1e-8, "{estimator:?}: {apart}");
    }
}

#[test]
fn the_choice_is_by_leave_one_out_and_told() {
    let table = Simulated::new(400, 9);
    let fit = table.fit(&by(Estimator::Auto));
    let partition = &fit.predictor.offsets().unwrap().partition;
    assert_eq!(partition.estimator(), Estimator::Smooth);
    let choice = partition.choice().unwrap();
    let score = |name: &str| choice.scores.iter().find(|(n, _)| n == name).unwrap().1;
    assert!(score("smooth") < score("cells") && score("cells") < score("none"));
    assert!(choice.gamma.is_some() && choice.ridge.is_some());
    // A number of cells was asked for.
    let mut asked = by(Estimator::Auto);
    asked.partition.cells = CellCount::Given(4);
    let fit = table.fit(&asked);
    assert_eq!(
        fit.predictor.offsets().unwrap().partition.estimator(),
        Estimator::Cells
    );
    // Groups are cells.
    let group = table.group.iter().map(|g| Some(GROUPS[*g]));
    let only = Sensitive::new(vec![Column::texts("group", group)], 400).unwrap();
    let fit = table.try_fit(&by(Estimator::Auto), &only).unwrap();
    assert_eq!(
        fit.predictor.offsets().unwrap().partition.estimator(),
        Estimator::Cells
    );
}

#[test]
fn the_number_of_cells_by_leave_one_out_is_neither_one_nor_the_most() {
    let table = Simulated::new(800, 10);
    let mut settings = by(Estimator::Cells);
    settings.partition.cells = CellCount::Loo;
    for components in [None, Some(Components::new(100))] {
        settings.components = components;
        let fit = table.fit(&settings);
        let partition = &fit.predictor.offsets().unwrap().partition;
        let bins = partition.edges("age").unwrap().len() + 1;
        assert!((3..=16).contains(&bins), "{bins}");
    }
}

#[test]
fn shrunk_cells_take_off_less_and_say_so() {
    // The cells have nothing to do with the features: all there is to take off is noise.
    let table = Simulated {
        points: Simulated::new(120, 20).points,
        ..Simulated::new(120, 11)
    };
    let mut settings = by(Estimator::Cells);
    settings.partition.cells = CellCount::Given(12);
    let whole = table.fit(&settings);
    settings.partition.shrink = true;
    let shrunk = table.fit(&settings);
    let told = shrunk.summary.warnings.iter().map(ToString::to_string);
    assert!(
        told.into_iter()
            .any(|w| w.contains("drawn towards the mean of all"))
    );
    let taken = |fit: &Fit| {
        let prediction = table.predict(fit);
        let pairs = prediction.before.iter().zip(&prediction.scores);
        pairs.map(|(b, s)| (b - s).powi(2)).sum::<f64>()
    };
    assert!(taken(&shrunk) < 0.3 * taken(&whole));
}

#[test]
fn only_what_lies_beyond_a_legitimate_factor_is_removed() {
    // A depends on S; X on A and, given A, on S.
    let simulate = |rows: usize, seed: u64| {
        let mut random = generator(seed);
        let mut columns = (vec![], vec![], vec![], vec![]);
        for _ in 0..rows {
            let s: f64 = random.random_range(-1.0..1.0);
            let a: f64 = s + random.sample::<f64, _>(StandardNormal);
            let x: f64 = a + 1.5 * s + 0.5 * random.sample::<f64, _>(StandardNormal);
            columns.0.push(s);
            columns.1.push(a);
            columns.2.push(x);
            columns.3.push(x);
        }
        columns
    };
    let fitted = |control: bool, mode: Mode, components: Option<Components>| {
        let (s, a, x, y) = simulate(2000, 12);
        let columns = vec![Column::numbers("s", s), Column::numbers("a", a)];
        let sensitive = Sensitive::new(columns, x.len()).unwrap();
        let mut settings = by(Estimator::Smooth);
        settings.kernel = "linear".parse().unwrap();
        settings.components = components;
        settings.penalty = 1e-3;
        settings.mode = mode;
        if control {
            settings.partition.control = vec!["a".into()];
        }
        let points = Points::new(x, 1).unwrap();
        let training = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &y,
            weights: None,
        };
        let fit = settings.fit(training, &watch()).unwrap();
        let (s, a, x, _) = simulate(3000, 13);
        let columns = vec![
            Column::numbers("s", s.clone()),
            Column::numbers("a", a.clone()),
        ];
        let sensitive = Sensitive::new(columns, x.len()).unwrap();
        let points = Points::new(x, 1).unwrap();
        let scores = fit
            .predictor
            .predict(&points, Some(&sensitive), &watch())
            .unwrap()
            .scores;
        // Correlations of the score with S given A, and with A.
        let centre = |v: &[f64]| {
            let mean = v.iter().sum::<f64>() / v.len() as f64;
            v.iter().map(|x| x - mean).collect::<Vec<f64>>()
        };
        let dot = |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(x, y)| x * y).sum::<f64>();
        let (s, a, z) = (centre(&s), centre(&a), centre(&scores));
        let less = |v: &[f64]| {
            let b = dot(v, &a) / dot(&a, &a);
            v.iter()
                .zip(&a)
                .map(|(v, a)| v - b * a)
                .collect::<Vec<f64>>()
        };
        let correlation = |p: &[f64], q: &[f64]| dot(p, q) / (dot(p, p) * dot(q, q)).sqrt();
        (
            correlation(&less(&s), &less(&z)).abs(),
            correlation(&a, &z).abs(),
        )
    };
    for components in [None, Some(Components::new(1))] {
        let (before, _) = fitted(true, Mode::Plain, components);
        assert!(before > 0.7, "{before}");
        let (given_a, through_a) = fitted(true, Mode::Oblivious, components);
        // A correlation of 3000 rows has a standard deviation of 0.018; the two estimated means add their own error.
        assert!(given_a < 0.09, "{given_a}");
        assert!(through_a > 0.6, "{through_a}");
        let (_, nothing) = fitted(false, Mode::Oblivious, components);
        assert!(nothing < 0.09, "{nothing}");
    }
}

#[test]
fn unseen_and_missing_values_go_by_policy() {
    let table = Simulated::new(150, 14);
    let fit = table.fit(&smooth());
    let one = |group: Option<&'static str>, age: f64| {
        let columns = vec![
            Column::numbers("age", vec![age]),
            Column::texts("group", [group]),
        ];
        Sensitive::new(columns, 1).unwrap()
    };
    let point = table.points.select(&[0]);
    let predict = |fit: &Fit, s: &Sensitive| fit.predictor.predict(&point, Some(s), &watch());
    let error = predict(&fit, &one(Some("d"), 0.0)).unwrap_err();
    assert!(matches!(error, Error::UnknownCategory { .. }), "{error}");
    let error = predict(&fit, &one(None, 0.0)).unwrap_err();
    assert!(matches!(error, Error::MissingSensitive { .. }), "{error}");
    let far = predict(&fit, &one(Some("a"), 9.0)).unwrap();
    assert_eq!(far.uses.out_of_range, 1);
    let mut settings = smooth();
    settings.partition.policies = Policies::for_unknown(UnseenCategory::Population);
    let fit = table.fit(&settings);
    let unseen = predict(&fit, &one(Some("d"), 0.0)).unwrap();
    assert_eq!(unseen.scores, unseen.before);
    assert_eq!(unseen.uses.unseen_category, 1);
    settings.partition.policies = Policies::for_unknown(UnseenCategory::Zero);
    let error = table.try_fit(&settings, &table.sensitive()).unwrap_err();
    assert!(error.to_string().contains("zero"), "{error}");
    // Missing as a level of its own, of a text and of a number.
    let group = (0..150).map(|i| (i % 7 != 0).then_some(GROUPS[table.group[i]]));
    let age = (0..150).map(|i| if i % 11 == 0 { f64::NAN } else { table.age[i] });
    let columns = vec![
        Column::numbers("age", age.collect()),
        Column::texts("group", group),
    ];
    let missing = Sensitive::new(columns, 150).unwrap();
    for components in [None, Some(Components::new(60))] {
        let mut settings = smooth();
        settings.components = components;
        assert!(table.try_fit(&settings, &missing).is_err());
        settings.partition.policies.missing = Missing::Category;
        let fit = table.try_fit(&settings, &missing).unwrap();
        let scored = fit
            .predictor
            .predict(&table.points, Some(&missing), &watch())
            .unwrap();
        assert_eq!(scored.uses.missing, 22 + 14);
        assert!(scored.scores.iter().all(|s| s.is_finite()));
    }
}

#[test]
fn moments_of_parts_merge_refresh_and_travel() {
    let table = Simulated::new(200, 15);
    let settings = Settings {
        components: Some(Components::new(40)),
        ..smooth()
    };
    let sensitive = table.sensitive();
    let training = Training {
        points: &table.points,
        sensitive: &sensitive,
        targets: &table.targets,
        weights: None,
    };
    let plan = Arc::new(settings.plan(training, 200, &watch()).unwrap().0);
    let gather = |rows: std::ops::Range<usize>| {
        let part = table.rows(&rows.collect::<Vec<_>>());
        let sensitive = part.sensitive();
        let mut moments = Moments::new(Arc::clone(&plan));
        let batch = Batch {
            points: &part.points,
            sensitive: SensitiveRows::Columns(&sensitive),
            targets: Some(&part.targets),
            weights: None,
        };
        moments.update(batch, &watch()).unwrap();
        moments
    };
    let whole = settings.fit_moments(&gather(0..200), &watch()).unwrap();
    let mut merged = gather(120..200);
    merged.merge(&gather(0..120), &watch()).unwrap();
    let travelled = Moments::from_bytes(&merged.to_bytes().unwrap()).unwrap();
    assert_eq!(travelled, merged);
    let again = settings.fit_moments(&travelled, &watch()).unwrap();
    let direct = table.fit(&settings);
    let scores = table.predict(&whole).scores;
    assert!(apart(&scores, &table.predict(&again).scores) < 1e-9);
    assert!(apart(&scores, &table.predict(&direct).scores) < 1e-9);
    // The offsets of the rows themselves are what a refresh finds again.
    let mut refresh = whole.predictor.refresh().unwrap();
    refresh
        .update(&table.points, &sensitive, None, &watch())
        .unwrap();
    let (renewed, _, _) = refresh.finish(Renewal::keeping(1)).unwrap();
    let (from, _) = whole
        .predictor
        .refresh_from(&gather(0..200), Renewal::keeping(1), &watch())
        .unwrap();
    for predictor in [renewed, from] {
        let after = predictor
            .predict(&table.points, Some(&sensitive), &watch())
            .unwrap();
        assert!(apart(&scores, &after.scores) < 1e-8);
    }
}

/// Rows of a category that the plan has not seen train, and have no part in the regression: the scores of all others are as
/// uncorrelated with S as least squares makes them. Moments of new rows renew the offsets in the same way.
#[test]
fn rows_of_unseen_categories_do_not_bring_dependence_back() {
    let table = Simulated::new(600, 31);
    let of = |groups: &[usize]| -> Vec<usize> {
        (0..600)
            .filter(|&i| groups.contains(&table.group[i]))
            .collect()
    };
    let (known, all) = (of(&[0, 1]), of(&[0, 1, 2]));
    // The first rows, from which the plan is made, are younger than the rest.
    let young = known.iter().filter(|&&i| table.age[i] < 0.0);
    let first = table.rows(&young.copied().collect::<Vec<_>>());
    let mut settings = Settings {
        components: Some(Components::new(30)),
        penalty: 0.01,
        ..by(Estimator::Linear)
    };
    settings.partition.policies.category = UnseenCategory::Population;
    let sensitive = first.sensitive();
    let training = Training {
        points: &first.points,
        sensitive: &sensitive,
        targets: &first.targets,
        weights: None,
    };
    let plan = Arc::new(settings.plan(training, 600, &watch()).unwrap().0);
    let gather = |rows: &[usize]| {
        let part = table.rows(rows);
        let mut moments = Moments::new(Arc::clone(&plan));
        let batch = Batch {
            points: &part.points,
            sensitive: SensitiveRows::Columns(&part.sensitive()),
            targets: Some(&part.targets),
            weights: None,
        };
        moments.update(batch, &watch()).unwrap();
        moments
    };
    let seen = table.rows(&known);
    let correlation = |scores: &[f64], of: &dyn Fn(usize) -> f64| {
        let rows = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / rows;
        let centre = (0..scores.len()).map(of).sum::<f64>() / rows;
        let product = |i: usize| (scores[i] - mean) * (of(i) - centre);
        (0..scores.len()).map(product).sum::<f64>() / rows
    };
    let largest = |scores: &[f64]| {
        let age = correlation(scores, &|i| seen.age[i]).abs();
        age.max(correlation(scores, &|i| seen.group[i] as f64).abs())
    };
    for mode in [Mode::Oblivious, Mode::SensitiveFree] {
        let settings = Settings {
            mode,
            ..settings.clone()
        };
        let fit = settings.fit_moments(&gather(&all), &watch()).unwrap();
        assert_eq!(fit.summary.uses.unseen_category, all.len() - known.len());
        let counts = fit.predictor.partition().unwrap().counts();
        assert_eq!(counts.iter().sum::<usize>(), known.len());
        let prediction = seen.predict(&fit);
        assert!(largest(&prediction.scores) < 1e-9);
        if mode == Mode::Oblivious {
            assert!(largest(&prediction.before) > 0.1);
        }
    }
    // A model of other rows, renewed by the moments of these.
    let fit = settings.fit_moments(&gather(&known[..100]), &watch());
    let before = fit.unwrap().predictor;
    let scores = |predictor: &Predictor| {
        let prediction = predictor.predict(&seen.points, Some(&seen.sensitive()), &watch());
        prediction.unwrap().scores
    };
    assert!(largest(&scores(&before)) > 1e-3);
    let renewal = Renewal::keeping(1);
    let (after, _) = before
        .refresh_from(&gather(&all), renewal, &watch())
        .unwrap();
    assert!(largest(&scores(&after)) < 1e-9);
}

#[test]
fn files_hold_the_regression() {
    let table = Simulated::new(120, 16);
    let sensitive = table.sensitive();
    for components in [None, Some(Components::new(30))] {
        let settings = Settings {
            components,
            ..smooth()
        };
        let fit = table.fit(&settings);
        let scores = table.predict(&fit).scores;
        let names = ["x".to_owned(), "z".to_owned()];
        let (model, _) = Model::new(Encoder::raw(&names), fit, "y", &settings);
        let bytes = model.to_bytes().unwrap();
        let read = Model::from_bytes(&bytes).unwrap();
        let after = read.scorers[0]
            .predict(&table.points, Some(&sensitive), &watch())
            .unwrap();
        assert_eq!(scores, after.scores);
        assert_eq!(read.to_bytes().unwrap(), bytes);
        for cut in (0..bytes.len()).step_by(97) {
            let mut damaged = bytes.clone();
            damaged[cut] ^= 0x5a;
            if let Ok(model) = Model::from_bytes(&damaged) {
                // What can be read can be used.
                let _ = model.scorers[0].predict(&table.points, Some(&sensitive), &watch());
            }
        }
    }
    let kernel = KernelSettings {
        kernel: "rbf(gamma=0.5)".parse().unwrap(),
        strength: 1.0,
        partition: smooth().partition,
        seed: 0,
    };
    let names = ["x".to_owned(), "z".to_owned()];
    let encoder = Encoder::raw(&names);
    let (model, _) =
        KernelModel::fit(encoder, &table.points, &sensitive, None, &kernel, &watch()).unwrap();
    let read = KernelModel::from_bytes(&model.to_bytes().unwrap(), &watch()).unwrap();
    let assignment = model.partition.assign(&sensitive).unwrap();
    let gram = |model: &KernelModel| {
        model
            .map
            .gram(&table.points, &assignment, &watch())
            .unwrap()
    };
    assert_eq!(gram(&model), gram(&read));
    // ⟨Z, Z'⟩ by its definition: K less what the rows' weights take off.
    let k: Kernel = "rbf(gamma=0.5)".parse().unwrap();
    let rows = 120;
    let features = assignment.matrix().unwrap();
    let influence = |i: usize| -> Vec<f64> {
        // Feature by feature through the map: ⟨φ(x), Z_i⟩ = k(x, x_i) − ⟨φ(x), δ_i⟩.
        let mean = model.map.mean().at(&table.points, &watch()).unwrap();
        (0..rows)
            .map(|u| {
                (0..features.nrows())
                    .map(|a| features[(a, i)] * mean[(u, a)])
                    .sum()
            })
            .collect()
    };
    let o = gram(&model);
    for i in [0, 17, 119] {
        let own = influence(i);
        for j in [3, 60] {
            let other = influence(j);
            let plain = k.at(table.points.row(i), table.points.row(j));
            let both = o[j * rows + i] - plain + own[j] + other[i];
            // What is left is ⟨δ_i, δ_j⟩, which is symmetric.
            let back = o[i * rows + j] - plain + own[j] + other[i];
            assert!((both - back).abs() < 1e-9);
        }
    }
}

#[test]
fn the_path_has_the_fits_of_its_points() {
    let table = Simulated::new(80, 17);
    let sensitive = table.sensitive();
    let training = Training {
        points: &table.points,
        sensitive: &sensitive,
        targets: &table.targets,
        weights: None,
    };
    for mode in [Mode::Oblivious, Mode::MOblivious, Mode::SensitiveFree] {
        let settings = Settings { mode, ..smooth() };
        let grid = oblivio::fit::PathGrid {
            bandwidths: oblivio::fit::Bandwidths::Given,
            strengths: vec![0.5, 1.0],
            penalties: vec![0.1, 2.0],
        };
        let path = settings.path(training, &grid, &watch()).unwrap();
        for point in &path.points {
            let direct = Settings {
                strength: point.strength,
                penalty: point.penalty,
                ..settings.clone()
            };
            let scores = table.predict(&table.fit(&direct)).scores;
            let squares = scores.iter().zip(&table.targets);
            let error = squares.map(|(s, y)| (s - y).powi(2)).sum::<f64>() / 80.0;
            assert!(
                (error.sqrt() - point.error).abs() < 1e-8,
                "{mode:?} {point:?} {}",
                error.sqrt()
            );
        }
    }
}

#[test]
fn offsets_of_any_scorer_can_be_smooth() {
    let (train, test) = (Simulated::new(1000, 18), Simulated::new(2000, 19));
    let score = |rows: &Simulated| -> Vec<f64> {
        (0..rows.age.len()).map(|i| rows.points.row(i)[0]).collect()
    };
    let rule = by(Estimator::Smooth).partition;
    let scores = score(&train);
    let (offsets, _) =
        Offsets::of_scores(&scores, &train.sensitive(), &train.weights, &rule, 1.0).unwrap();
    let before = score(&test);
    let (after, _) = offsets.apply(&before, &test.sensitive()).unwrap();
    assert!(dependence(&test, &before) > 0.4);
    assert!(dependence(&test, &after) < 2.0 * 29.0 / 1999.0);
    let text = serde_json::to_string(&offsets).unwrap();
    assert_eq!(Offsets::from_json(&text).unwrap(), offsets);
}
