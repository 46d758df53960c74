//! What becomes of a model after its fit: its card, a smaller one, new offsets, and the history of both.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use oblivio::align::{AlignMethod, AlignRule};
use oblivio::dependence::Dependence;
use oblivio::intervals::IntervalSource;
use oblivio::model::{Held, Reduce, Step, version_of};
use oblivio::partition::{Estimator, Missing};
use oblivio::reference::Reference;
use oblivio::refresh::{Drift, Renewal, SmallCells};
use oblivio::{
    Column, Error, Mode, Model, Points, Predictor, Roles, Sensitive, Settings, Values, Watch,
};
use oblivio_audit::correlation_ratio;
use oblivio_base::{Scaling, UnseenCategory};
use oblivio_kernels::learn::Learner;
use oblivio_kernels::{Components, Selection};

const ROWS: usize = 90;

fn watch() -> Watch {
    Watch::default()
}

/// Rows from whole numbers: `sex` moves the features, and these the targets.
fn table(start: usize, rows: usize) -> Vec<Column> {
    let number = |name: &str, value: &dyn Fn(usize) -> f64| {
        Column::numbers(name, (start..start + rows).map(value).collect())
    };
    let text = |name: &str, value: &dyn Fn(usize) -> &'static str| {
        Column::texts(name, (start..start + rows).map(|i| Some(value(i))))
    };
    let step = |i: usize, by: usize| (i * by % 101) as f64 / 50.0;
    vec![
        number("mark", &|i| step(i, 37) + (i % 2) as f64),
        number("pace", &|i| step(i, 53) - 0.3 * (i % 2) as f64),
        text("sex", &|i| ["F", "M"][i % 2]),
        number("age", &|i| 18.0 + 30.0 * step(i, 29)),
        number("income", &|i| step(i, 37) * step(i, 53) + (i % 2) as f64),
        text("degree", &|i| {
            ["none", "first", "second"][i * 37 % 101 / 34]
        }),
    ]
}

fn fitted(sensitive: &[usize], target: usize, settings: &Settings) -> Model {
    fitted_on(&table(0, ROWS), sensitive, target, settings)
}

fn fitted_on(table: &[Column], sensitive: &[usize], target: usize, settings: &Settings) -> Model {
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

fn classifier() -> Settings {
    Settings {
        learner: Learner::Logistic,
        ..Settings::default()
    }
}

fn to(landmarks: usize) -> Reduce {
    Reduce { landmarks, seed: 3 }
}

/// New points that the encoder gives.
fn new_points(model: &Model) -> Points<'static> {
    model.encoder.encode(&table(5000, 200)).unwrap().0
}

#[test]
fn the_card_says_how_much_the_scores_of_its_rows_depend() {
    let smooth = {
        let mut settings = Settings::default();
        settings.partition.estimator = Estimator::Smooth;
        settings
    };
    let aligned = Settings {
        align: Some(AlignRule {
            method: AlignMethod::Quantile,
            strength: 1.0,
        }),
        ..Settings::default()
    };
    // A regression on S from sums alone would need another pass over the rows.
    let mut landmarks = Settings {
        components: Some(Components::new(20)),
        ..Settings::default()
    };
    landmarks.partition.estimator = Estimator::Cells;
    let in_mode = |mode, settings: &Settings| Settings {
        mode,
        ..settings.clone()
    };
    let mut cases = vec![
        (4, Settings::default()),
        (4, smooth),
        (4, aligned.clone()),
        (4, in_mode(Mode::MOblivious, &Settings::default())),
        (4, in_mode(Mode::Plain, &Settings::default())),
        (4, in_mode(Mode::SensitiveFree, &Settings::default())),
        (4, landmarks.clone()),
        (4, in_mode(Mode::MOblivious, &landmarks)),
        (4, in_mode(Mode::SensitiveFree, &landmarks)),
        (5, classifier()),
    ];
    cases.push((
        4,
        Settings {
            align: aligned.align,
            ..landmarks.clone()
        },
    ));
    cases.push((
        5,
        Settings {
            learner: classifier().learner,
            ..landmarks
        },
    ));
    for (target, settings) in cases {
        let model = fitted(&[2, 3], target, &settings);
        let predictions = model.predict(&table(0, ROWS), &watch()).unwrap();
        assert_eq!(model.card.dependence.len(), predictions.len());
        for (found, prediction) in model.card.dependence.iter().zip(predictions) {
            let cells = prediction.assignment.unwrap();
            let before = correlation_ratio(&prediction.before, cells.codes());
            let after = correlation_ratio(&prediction.scores, cells.codes());
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b} {settings:?}");
            near(found.before, before.value);
            near(found.after, after.value);
            near(found.expected, before.expected);
        }
        // What is taken off was there before: that of sex alone is seen in so few rows.
        let by_sex = fitted(&[2], target, &settings).card.dependence;
        let strong = |found: &Dependence| found.before > 5.0 * found.expected;
        let removed = settings.mode == Mode::SensitiveFree;
        assert!(
            removed || by_sex.iter().any(strong),
            "{by_sex:?} {settings:?}"
        );
    }
    assert!(
        fitted(&[], 4, &Settings::default())
            .card
            .dependence
            .is_empty()
    );
    let half = Settings {
        reference: Reference::Half,
        ..Settings::default()
    };
    let found = fitted(&[2], 4, &half).card.dependence;
    // On its reference rows the means are equal to rounding.
    assert!(
        found[0].before > 2.0 * found[0].expected && found[0].after < 1e-12,
        "{found:?}"
    );
}

#[test]
fn on_all_distinct_points_a_reduction_loses_nothing() {
    let once = table(0, 30);
    let twice: Vec<usize> = (0..60).map(|i| i % 30).collect();
    let table: Vec<Column> = once.iter().map(|column| column.select(&twice)).collect();
    for kernel in ["rbf(gamma=2)", "matern32", "laplacian"] {
        let settings = Settings {
            kernel: kernel.parse().unwrap(),
            ..Settings::default()
        };
        let model = fitted_on(&table, &[2], 4, &settings);
        let (small, reduction) = model.reduce(to(30), None, &watch()).unwrap();
        assert_eq!((reduction.points, reduction.landmarks), (60, 30));
        let points = new_points(&model);
        let scores = |model: &Model| model.predictor().expansion_at(&points, &watch()).unwrap();
        for (a, b) in scores(&model).iter().zip(scores(&small)) {
            assert!((a - b).abs() < 1e-9, "{kernel}: {a} {b}");
        }
        assert!(reduction.scores[0].largest < 1e-9);
    }
}

#[test]
fn fewer_landmarks_cost_more_and_the_bound_holds() {
    // A narrow kernel, which few landmarks do not exhaust.
    let narrow = |settings| Settings {
        kernel: "rbf(gamma=3)".parse().unwrap(),
        ..settings
    };
    for (target, settings) in [(4, Settings::default()), (5, classifier())] {
        let model = fitted(&[2, 3], target, &narrow(settings));
        let points = new_points(&model);
        let size = model.to_bytes().unwrap().len();
        let own = model.predictor().points();
        let rows: Vec<&[f64]> = (0..own.len()).map(|i| own.row(i)).collect();
        let mut before = vec![f64::INFINITY; model.scorers.len()];
        for landmarks in [2, 5, 12, 30, 60] {
            let (small, reduction) = model.reduce(to(landmarks), None, &watch()).unwrap();
            let kept = small.predictor().points();
            assert!((0..kept.len()).all(|i| rows.contains(&kept.row(i))));
            assert!(small.to_bytes().unwrap().len() < size);
            for (k, loss) in reduction.scores.iter().enumerate() {
                assert!(loss.root_mean_square < before[k], "{landmarks} {loss:?}");
                before[k] = loss.root_mean_square;
                let (whole, part) = (&model.scorers[k], &small.scorers[k]);
                let apart = |points: &Points| -> Vec<f64> {
                    let scores = |scorer: &Predictor| scorer.expansion_at(points, &watch());
                    let (whole, part) = (scores(whole).unwrap(), scores(part).unwrap());
                    whole.iter().zip(part).map(|(a, b)| a - b).collect()
                };
                let largest = |apart: &[f64]| apart.iter().map(|d| d.abs()).fold(0.0, f64::max);
                let at_points = apart(own);
                let mean = at_points.iter().sum::<f64>() / own.len() as f64;
                let squares: f64 = at_points.iter().map(|d| d * d).sum();
                let rms = (squares / own.len() as f64).sqrt();
                assert!(mean.abs() < 1e-9 * loss.norm, "{mean}");
                assert!((rms - loss.root_mean_square).abs() < 1e-9 * loss.norm);
                assert!((largest(&at_points) - loss.largest).abs() < 1e-9 * loss.norm);
                // A Gaussian kernel: k(x, x) = 1 at every x.
                assert_eq!(loss.bound, loss.lost + loss.constant.abs());
                assert!(largest(&apart(&points)) <= loss.bound && loss.largest <= loss.bound);
                // ‖h − h'‖² = gᵀKg − 2gᵀK'g' + g'ᵀK''g', each from the expansions themselves.
                let inner = |a: &Predictor, b: &Predictor| -> f64 {
                    let values = a.expansion_at(b.points(), &watch()).unwrap();
                    let values = values.iter().map(|v| v - a.intercept());
                    values.zip(b.coefficients()).map(|(v, g)| v * g).sum()
                };
                let norm = inner(whole, whole);
                let lost = norm - 2.0 * inner(whole, part) + inner(part, part);
                assert!((loss.lost * loss.lost - lost).abs() < 1e-9 * norm);
                assert!((loss.norm - norm.sqrt()).abs() < 1e-9 * loss.norm);
                // The sum that is least has no slope along any landmark: Σ(h − h' − c)(x) k(l, x) = τ(h' − h)(l).
                let at_landmarks = apart(part.points());
                for (l, apart) in at_landmarks.iter().enumerate() {
                    let kernel = |x: usize| part.kernel().at(part.points().row(l), own.row(x));
                    let pull: f64 = (0..own.len()).map(|x| at_points[x] * kernel(x)).sum();
                    let slope = pull + 0.1 * (apart + loss.constant);
                    assert!(slope.abs() < 1e-7 * loss.norm, "{slope} {loss:?}");
                }
                assert!((part.intercept() - whole.intercept() - loss.constant).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn a_constant_takes_over_the_mean_of_the_target() {
    let settings = Settings {
        mode: Mode::Plain,
        kernel: "rbf(gamma=1)".parse().unwrap(),
        ..Settings::default()
    };
    let mut table = table(0, ROWS);
    let incomes = table[4].to_numbers().unwrap();
    table[4] = Column::numbers("income", incomes.iter().map(|v| v + 1000.0).collect());
    let model = fitted_on(&table, &[2], 4, &settings);
    let (small, reduction) = model.reduce(to(10), None, &watch()).unwrap();
    let loss = reduction.scores[0];
    assert_eq!(model.predictor().intercept(), 0.0);
    assert_eq!(small.predictor().intercept(), loss.constant);
    assert!(loss.constant > 10.0 * loss.root_mean_square, "{loss:?}");
    let scores = |model: &Model| model.predict(&table, &watch()).unwrap()[0].scores.clone();
    let mean = |scores: Vec<f64>| scores.iter().sum::<f64>() / ROWS as f64;
    assert!((mean(scores(&model)) - mean(scores(&small))).abs() < 1e-9);
    // What reports add up: the mean over all reference rows.
    let reported = |model: &Model| {
        let predictor = model.predictor();
        predictor.intercept() + predictor.offsets().unwrap().mean
    };
    assert!((reported(&model) - reported(&small)).abs() < 1e-9);
}

#[test]
fn a_reduced_model_says_so_and_travels() {
    let mut settings = Settings {
        reference: Reference::Half,
        mode: Mode::MOblivious,
        ..Settings::default()
    };
    settings.partition.policies.missing = Missing::SensitiveFree;
    let model = fitted(&[2], 4, &settings);
    assert_eq!(model.holdings().held, Held::Rows);
    let fallback = |model: &Model| model.predictor().fallback().unwrap().points().len();
    // Half of the rows train; the second model has points of its own.
    assert_eq!(
        model.holdings().rows,
        model.predictor().points().len() + fallback(&model)
    );
    let (small, reduction) = model
        .reduce(to(10), Some("today".into()), &watch())
        .unwrap();
    assert_eq!(reduction.fallback.len(), 1);
    assert_eq!(fallback(&small), 10);
    assert_eq!(small.holdings().held, Held::Landmarks);
    assert_eq!((small.holdings().rows, small.holdings().features), (20, 2));
    assert_eq!(small.card.history[0].date.as_deref(), Some("today"));
    assert_eq!(small.card.history[0].step, Step::Reduce(reduction));
    let bytes = small.to_bytes().unwrap();
    assert_eq!(Model::from_bytes(&bytes).unwrap(), small);
    assert_eq!(version_of(&bytes).unwrap(), env!("CARGO_PKG_VERSION"));
    // Again, and on: a history is as long as what happened.
    let (smaller, _) = small.reduce(to(5), None, &watch()).unwrap();
    assert_eq!(smaller.card.history.len(), 2);
}

#[test]
fn a_linear_model_needs_no_rows() {
    let settings = Settings {
        kernel: "linear".parse().unwrap(),
        ..Settings::default()
    };
    let model = fitted(&[2], 4, &settings);
    let (small, reduction) = model.reduce(to(2), None, &watch()).unwrap();
    assert_eq!(small.holdings().held, Held::Nothing);
    assert_eq!(small.holdings().rows, 0);
    assert!(reduction.scores[0].largest < 1e-9);
    assert!(small.reduce(to(1), None, &watch()).is_err());
}

#[test]
fn what_cannot_be_reduced_is_refused() {
    let model = fitted(&[2], 4, &Settings::default());
    for landmarks in [0, ROWS, ROWS + 1, usize::MAX] {
        let refused = model.reduce(to(landmarks), None, &watch());
        assert!(matches!(refused, Err(Error::InvalidParameter { .. })));
    }
    let waves = Settings {
        components: Some(Components {
            selection: Selection::Fourier,
            ..Components::new(20)
        }),
        ..Settings::default()
    };
    let model = fitted(&[2], 4, &waves);
    assert_eq!(model.holdings().held, Held::Nothing);
    let refused = model.reduce(to(4), None, &watch()).unwrap_err();
    assert!(refused.to_string().contains("holds no row"));
}

/// New rows, of the second cell only so many.
fn later(model: &Model, few: usize) -> (Points<'static>, Sensitive) {
    let table = table(7000, 200);
    let rows: Vec<usize> = (0..200).filter(|i| i % 2 == 0 || i / 2 < few).collect();
    let table: Vec<Column> = table.iter().map(|column| column.select(&rows)).collect();
    let (points, _) = model.encoder.encode(&table).unwrap();
    let sensitive = Sensitive::new(vec![table[2].clone()], rows.len()).unwrap();
    (points, sensitive)
}

#[test]
fn a_refresh_refuses_small_cells_and_keeps_a_history() {
    let aligned = Settings {
        align: Some(AlignRule {
            method: AlignMethod::LocationScale,
            strength: 1.0,
        }),
        ..Settings::default()
    };
    let mut smooth = Settings::default();
    smooth.partition.estimator = Estimator::Smooth;
    for (target, settings) in [
        (4, Settings::default()),
        (5, classifier()),
        (4, aligned),
        (4, smooth),
    ] {
        let model = fitted(&[2], target, &settings);
        let (points, sensitive) = later(&model, 7);
        let weights = vec![2.0; points.len()];
        let finish = |renewal, weights: Option<&[f64]>| {
            let mut refresh = model.refresh().unwrap();
            refresh
                .update(&points, &sensitive, weights, &watch())
                .unwrap();
            refresh.finish(renewal, Some("2026-01-31".into()))
        };
        let refused = finish(Renewal::default(), None).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "1 of 2 cells have fewer than 30 new rows: sex=M (7); give more rows, ask for fewer, or keep such cells as they were"
        );
        let enough = Renewal {
            least: 7,
            small: SmallCells::Refuse,
        };
        let renewed = finish(enough, None).unwrap();
        assert_eq!(renewed.drifts.len(), model.scorers.len());
        let [change] = &renewed.model.card.history[..] else {
            panic!("one change");
        };
        let Step::Refresh(refreshed) = &change.step else {
            panic!("a refresh");
        };
        assert_eq!((refreshed.rows, &refreshed.cells[..]), (107, &[100, 7][..]));
        assert!(refreshed.kept.is_empty());
        let z = renewed.drifts.iter().flatten().filter_map(|drift| drift.z);
        assert_eq!(refreshed.largest_z, z.map(f64::abs).reduce(f64::max));
        let bytes = renewed.model.to_bytes().unwrap();
        assert_eq!(Model::from_bytes(&bytes).unwrap(), renewed.model);
        // Rows that all count twice count alike; not beside the ridge of a regression on S, which weighs as much as so many rows.
        if settings.partition.estimator == Estimator::Smooth {
            continue;
        }
        let weighted = finish(enough, Some(&weights)).unwrap();
        for (a, b) in renewed
            .drifts
            .iter()
            .flatten()
            .zip(weighted.drifts.iter().flatten())
        {
            assert!((a.after - b.after).abs() < 1e-9 && (a.offsets.1 - b.offsets.1).abs() < 1e-9);
        }
        let kept = finish(Renewal::keeping(30), None).unwrap();
        let Step::Refresh(refreshed) = &kept.model.card.history[0].step else {
            panic!("a refresh");
        };
        assert_eq!(refreshed.kept, [1]);
    }
}

/// Nothing is known of the S of such rows, so they are no reason to change a regression on S.
#[test]
fn rows_of_an_unseen_category_change_nothing_in_a_refresh() {
    let align = [None, Some(AlignMethod::LocationScale)];
    let missing = [Missing::Error, Missing::SensitiveFree];
    for estimator in [Estimator::Cells, Estimator::Smooth, Estimator::Linear] {
        for (align, missing) in
            [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(a, m)| (align[a], missing[m]))
        {
            let strength = 1.0;
            let mut settings = Settings {
                align: align.map(|method| AlignRule { method, strength }),
                ..Settings::default()
            };
            settings.partition.estimator = estimator;
            settings.partition.policies.category = UnseenCategory::Population;
            settings.partition.policies.missing = missing;
            let model = fitted(&[2, 3], 4, &settings);
            let refreshed = |strangers: usize| {
                let mut rows = table(7000, 200 + strangers);
                // Some rows miss their sex, where there is another model for them.
                let misses = |i: usize| missing == Missing::SensitiveFree && i % 7 == 3;
                let sex = |i: usize| match i {
                    0..200 if misses(i) => None,
                    0..200 => Some(["F", "M"][i % 2]),
                    _ => Some("X"),
                };
                rows[2] = Column::texts("sex", (0..200 + strangers).map(sex));
                let (points, _) = model.encoder.encode(&rows).unwrap();
                let sensitive = Sensitive::new(rows[2..4].to_vec(), rows[2].len()).unwrap();
                let mut refresh = model.predictor().refresh().unwrap();
                refresh.update(&points, &sensitive, None, &watch()).unwrap();
                refresh.finish(Renewal::keeping(1)).unwrap()
            };
            let ((alone, drift, _), (beside, same_drift, uses)) = (refreshed(0), refreshed(150));
            assert_eq!(uses.unseen_category, 150);
            assert_eq!(alone.offsets(), beside.offsets(), "{estimator:?}");
            assert_eq!(alone.alignment(), beside.alignment(), "{estimator:?}");
            assert_eq!(drift, same_drift);
            assert_ne!(alone.offsets(), model.predictor().offsets());
        }
    }
}

/// The features of S of new rows are added up once for all classes.
#[test]
fn each_class_is_refreshed_as_it_would_be_alone() {
    let mut settings = classifier();
    settings.partition.estimator = Estimator::Smooth;
    let model = fitted(&[2, 3], 5, &settings);
    assert_eq!(model.scorers.len(), 3);
    let rows = table(7000, 200);
    let (points, _) = model.encoder.encode(&rows).unwrap();
    let sensitive = Sensitive::new(rows[2..4].to_vec(), 200).unwrap();
    let mut together = model.refresh().unwrap();
    together
        .update(&points, &sensitive, None, &watch())
        .unwrap();
    let renewed = together.finish(Renewal::keeping(1), None).unwrap();
    for (k, scorer) in model.scorers.iter().enumerate() {
        let mut alone = scorer.refresh().unwrap();
        alone.update(&points, &sensitive, None, &watch()).unwrap();
        let (predictor, ..) = alone.finish(Renewal::keeping(1)).unwrap();
        assert_eq!(renewed.model.scorers[k], predictor);
        assert_ne!(predictor.offsets(), scorer.offsets());
    }
}

#[test]
fn a_refresh_refuses_rows_and_weights_that_do_not_match() {
    let model = fitted(&[2], 4, &Settings::default());
    let (points, sensitive) = later(&model, 100);
    let count = points.len();
    let rows: Vec<usize> = (0..=count).map(|i| i % count).collect();
    let mut refresh = model.refresh().unwrap();
    let mut update = |sensitive: &Sensitive, weights: &[f64]| {
        refresh.update(&points, sensitive, Some(weights), &watch())
    };
    let longer = sensitive.select(&rows);
    let length = |found| matches!(found, Err(Error::Length { .. }));
    assert!(length(update(&longer, &vec![1.0; count])));
    assert!(length(update(&sensitive, &vec![1.0; count - 1])));
    for weight in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = update(&sensitive, &vec![weight; count]);
        assert!(matches!(refused, Err(Error::InvalidParameter { .. })));
    }
    assert!(update(&sensitive, &vec![0.0; count]).is_ok());
}

#[test]
fn the_card_keeps_the_rows_of_each_cell_at_the_fit() {
    let mut model = fitted(&[2], 4, &Settings::default());
    assert!(model.card.cell_rows.is_empty());
    for few in [40, 60] {
        let (points, sensitive) = later(&model, few);
        let mut refresh = model.refresh().unwrap();
        refresh.update(&points, &sensitive, None, &watch()).unwrap();
        model = refresh.finish(Renewal::keeping(1), None).unwrap().model;
        assert_eq!(model.card.cell_rows, [45, 45]);
        let counts = model.predictor().offsets().unwrap().partition.counts();
        assert_eq!(counts, [100, few]);
    }
}

/// Steps that no refresh notices add up since the fit; a model that was never refreshed sees them at once.
#[test]
fn slow_drift_adds_up_since_the_fit() {
    for (target, settings) in [(4, Settings::default()), (5, classifier())] {
        let fit = fitted(&[2], target, &settings);
        let refreshed = |model: &Model, moved: f64| {
            let mut rows = table(7000, 400);
            let Values::Numbers(marks) = &mut rows[0].values else {
                panic!("a mark is a number");
            };
            for mark in marks.iter_mut() {
                *mark += moved;
            }
            let (points, _) = model.encoder.encode(&rows).unwrap();
            let sensitive = Sensitive::new(vec![rows[2].clone()], 400).unwrap();
            let mut refresh = model.refresh().unwrap();
            refresh.update(&points, &sensitive, None, &watch()).unwrap();
            refresh.finish(Renewal::default(), None).unwrap()
        };
        let first = refreshed(&fit, 0.0);
        for (drift, scorer) in first.drifts.iter().zip(&fit.scorers) {
            for (c, cell) in drift.iter().enumerate() {
                let since = cell.since_fit.unwrap();
                assert_eq!((since.mean, since.z), (cell.before, cell.z));
                let offsets = scorer.offsets().unwrap();
                let mean = scorer.intercept() + offsets.mean + offsets.by_cell[c];
                assert_eq!(since.mean, mean);
            }
        }
        let mut model = first.model;
        for step in 1..=8usize {
            let bytes = model.to_bytes().unwrap();
            assert_eq!(Model::from_bytes(&bytes).unwrap(), model);
            let renewed = refreshed(&model, 0.1 * step as f64);
            let direct = refreshed(&fit, 0.1 * step as f64);
            for (drift, direct) in renewed.drifts.iter().zip(&direct.drifts) {
                for (cell, direct) in drift.iter().zip(direct) {
                    let since = cell.since_fit.unwrap();
                    assert_eq!((since.mean, since.z), (direct.before, direct.z));
                }
            }
            let Step::Refresh(refreshed) = &renewed.model.card.history[step].step else {
                panic!("a refresh");
            };
            let most = |z: &dyn Fn(&Drift) -> Option<f64>| {
                let all = renewed.drifts.iter().flatten().filter_map(z);
                all.map(f64::abs).reduce(f64::max)
            };
            assert_eq!(refreshed.largest_z, most(&|cell| cell.z));
            let since_fit = most(&|cell| cell.since_fit?.z);
            assert_eq!(refreshed.largest_z_since_fit, since_fit);
            assert!(refreshed.largest_z.unwrap() < 2.0);
            assert!(step < 8 || since_fit.unwrap() > 4.0);
            model = renewed.model;
        }
        // As older versions have refreshed: the means of the fit are lost.
        model.card.cell_means.clear();
        let later = refreshed(&model, 1.0);
        assert!(later.drifts[0].iter().all(|cell| cell.since_fit.is_none()));
        model.card.cell_means = vec![vec![0.0; 2]; model.scorers.len() + 1];
        let refused = Model::from_bytes(&model.to_bytes().unwrap()).unwrap_err();
        assert!(refused.to_string().contains("its history"));
    }
}

#[test]
fn nonsense_in_a_history_is_refused() {
    let model = fitted(&[2], 4, &Settings::default());
    let (points, sensitive) = later(&model, 100);
    let mut refresh = model.refresh().unwrap();
    refresh.update(&points, &sensitive, None, &watch()).unwrap();
    let mut renewed = refresh.finish(Renewal::default(), None).unwrap().model;
    let Step::Refresh(refreshed) = &mut renewed.card.history[0].step else {
        panic!("a refresh");
    };
    refreshed.kept = vec![2];
    let bytes = renewed.to_bytes().unwrap();
    assert!(matches!(
        Model::from_bytes(&bytes),
        Err(Error::InvalidModel { .. })
    ));
}

#[test]
fn a_reduced_model_has_no_intervals() {
    let settings = Settings {
        intervals: Some(IntervalSource::Auto),
        ..Settings::default()
    };
    let model = fitted(&[2], 4, &settings);
    assert!(model.predictor().intervals().is_some());
    let (small, _) = model.reduce(to(10), None, &watch()).unwrap();
    assert!(small.predictor().intervals().is_none());
}
