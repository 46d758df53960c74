//! Rows whose sensitive values are missing, unseen or rare, from the table to the score: every policy, learner, mode and path.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use oblivio::classes::{Classes, Threshold};
use oblivio::moments::{Batch, SensitiveRows};
use oblivio::partition::{CellCount, Missing, Policies};
use oblivio::reference::Reference;
use oblivio::refresh::Renewal;
use oblivio::survey::Survey;
use oblivio::{
    Column, Error, Fit, Mode, Model, Points, Prediction, Roles, Sensitive, Settings, Training,
    Warning,
};
use oblivio_base::{Scaling, UnseenCategory};
use oblivio_kernels::Components;
use oblivio_kernels::learn::{Intercept, Learner};
use oblivio_testing::{apart, cell_means, range, watch};

const ROWS: usize = 240;
const LEARNERS: [Learner; 3] = [Learner::Ridge, Learner::Svm, Learner::Logistic];

/// Rows whose features and target move with a group and an age; every seventh row misses one of them or both.
struct Rows {
    x: Vec<f64>,
    group: Vec<Option<&'static str>>,
    age: Vec<f64>,
    y: Vec<f64>,
    classes: Vec<f64>,
}

impl Rows {
    fn new() -> Self {
        let noise = |i: usize, k: usize| ((i * 7919 + k * 104_729) % 1009) as f64 / 504.5 - 1.0;
        let group = |i: usize| i * i % 5 % 3;
        let age = |i: usize| 20.0 + 30.0 * (1.0 + noise(i, 3));
        let x = |i: usize, k: usize| noise(i, k) + 0.4 * group(i) as f64 + 0.01 * age(i);
        let y = |i: usize| x(i, 0) - x(i, 1).sin() + 0.3 * noise(i, 4);
        Self {
            x: (0..ROWS).flat_map(|i| [x(i, 0), x(i, 1)]).collect(),
            group: (0..ROWS)
                .map(|i| (i % 14 != 0).then_some(["a", "b", "c"][group(i)]))
                .collect(),
            age: (0..ROWS)
                .map(|i| if i % 14 == 7 { f64::NAN } else { age(i) })
                .collect(),
            y: (0..ROWS).map(y).collect(),
            classes: (0..ROWS).map(|i| f64::from(y(i) > 0.4)).collect(),
        }
    }

    fn points(&self) -> Points<'static> {
        Points::new(self.x.clone(), 2).unwrap()
    }

    fn sensitive(&self) -> Sensitive {
        let columns = vec![
            Column::texts("group", self.group.iter().copied()),
            Column::numbers("age", self.age.clone()),
        ];
        Sensitive::new(columns, self.y.len()).unwrap()
    }

    fn targets(&self, learner: Learner) -> &[f64] {
        if learner == Learner::Ridge {
            &self.y
        } else {
            &self.classes
        }
    }

    fn complete(&self) -> Vec<usize> {
        let all = 0..self.y.len();
        all.filter(|&i| self.group[i].is_some() && !self.age[i].is_nan())
            .collect()
    }

    fn select(&self, rows: &[usize]) -> Self {
        let pick = |values: &[f64]| rows.iter().map(|&i| values[i]).collect();
        Self {
            x: rows
                .iter()
                .flat_map(|&i| [self.x[2 * i], self.x[2 * i + 1]])
                .collect(),
            group: rows.iter().map(|&i| self.group[i]).collect(),
            age: pick(&self.age),
            y: pick(&self.y),
            classes: pick(&self.classes),
        }
    }

    fn fit(&self, settings: &Settings) -> Result<Fit, Error> {
        let training = Training {
            points: &self.points(),
            sensitive: &self.sensitive(),
            targets: self.targets(settings.learner),
            weights: None,
        };
        settings.fit(training, &watch())
    }

    fn predict(&self, fit: &Fit) -> Prediction {
        let sensitive = self.sensitive();
        let predictor = &fit.predictor;
        predictor
            .predict(&self.points(), Some(&sensitive), &watch())
            .unwrap()
    }

    /// The cells of rows that miss nothing.
    fn cells(&self, fit: &Fit) -> Vec<u32> {
        let partition = &fit.predictor.offsets().unwrap().partition;
        partition
            .assign(&self.sensitive())
            .unwrap()
            .codes()
            .to_vec()
    }
}

fn settings(learner: Learner, mode: Mode, path: Option<usize>, missing: Missing) -> Settings {
    let mut settings = Settings {
        kernel: "rbf(gamma=0.8)".parse().unwrap(),
        learner,
        mode,
        penalty: 0.5,
        components: path.map(Components::new),
        intercept: if learner == Learner::Ridge {
            Intercept::None
        } else {
            Intercept::Fitted
        },
        ..Settings::default()
    };
    settings.partition.cells = CellCount::Given(3);
    settings.partition.policies.missing = missing;
    settings
}

fn paths() -> [Option<usize>; 2] {
    [None, Some(30)]
}

#[test]
fn rows_that_miss_a_sensitive_value_are_scored_by_a_model_that_needs_none() {
    let rows = Rows::new();
    let complete = rows.complete();
    let known = rows.select(&complete);
    let missing = ROWS - complete.len();
    for learner in LEARNERS {
        for (mode, path) in [Mode::Oblivious, Mode::MOblivious]
            .into_iter()
            .flat_map(|mode| paths().map(|path| (mode, path)))
        {
            let case = format!("{learner:?} {mode:?} {path:?}");
            let policy = |missing| settings(learner, mode, path, missing);
            let alone = known.fit(&policy(Missing::Error)).unwrap();
            let fit = rows.fit(&policy(Missing::SensitiveFree)).unwrap();
            let summary = &fit.summary;
            assert_eq!(summary.uses.sensitive_free, missing, "{case}");
            assert_eq!(summary.training_rows, complete.len(), "{case}");
            let left_out = Warning::LeftOutRows { count: missing };
            assert!(summary.warnings.contains(&left_out), "{case}");
            assert!(alone.predictor.needs_sensitive() && !fit.predictor.needs_sensitive());

            // Where nothing is missing, nothing has changed.
            let (before, after) = (known.predict(&alone), known.predict(&fit));
            assert_eq!(after.scores, before.scores, "{case}");
            assert_eq!(after.uses.sensitive_free, 0);

            let prediction = rows.predict(&fit);
            assert_eq!(prediction.uses.sensitive_free, missing, "{case}");
            let of_known: Vec<f64> = complete.iter().map(|&i| prediction.scores[i]).collect();
            assert!(apart(&of_known, &before.scores) < 1e-12, "{case}");
            let fallback = fit.predictor.fallback().unwrap();
            let free = fallback.predict(&rows.points(), None, &watch()).unwrap();
            let is_missing = |i: &usize| !complete.contains(i);
            for i in (0..ROWS).filter(is_missing) {
                assert!(
                    (prediction.scores[i] - free.scores[i]).abs() < 1e-12,
                    "{case}"
                );
            }
            let assignment = prediction.assignment.unwrap();
            let mixture = assignment.codes()[0] as usize;
            let cells = fit.predictor.offsets().unwrap().partition.len();
            assert!(mixture >= cells);
            let whole: f64 = assignment.groups().unwrap().mixtures[mixture - cells]
                .iter()
                .sum();
            assert!((whole - 1.0).abs() < 1e-12);

            // Without any sensitive value all rows are, and their scores have the same mean in every true cell.
            let points = known.points();
            let blind = fit.predictor.predict(&points, None, &watch()).unwrap();
            assert_eq!(blind.uses.sensitive_free, complete.len());
            let cells = known.cells(&fit);
            let gap = |scores: &[f64]| range(&cell_means(scores, &cells, &vec![1.0; cells.len()]));
            assert!(gap(&blind.scores) < 1e-9, "{case}: {}", gap(&blind.scores));
            assert!(gap(&before.before) > 0.1, "{case}");
            assert!(range(&blind.scores) > 0.1, "{case}");
        }
    }
}

#[test]
fn a_mode_that_needs_no_sensitive_value_needs_no_second_model() {
    let rows = Rows::new();
    let missing = ROWS - rows.complete().len();
    for path in paths() {
        for mode in [Mode::Plain, Mode::SensitiveFree] {
            let settings = settings(Learner::Ridge, mode, path, Missing::SensitiveFree);
            let fit = rows.fit(&settings).unwrap();
            assert!(fit.predictor.fallback().is_none() && settings.fallback().is_none());
            let prediction = rows.predict(&fit);
            assert_eq!(prediction.uses.sensitive_free, missing);
            let blind = fit
                .predictor
                .predict(&rows.points(), None, &watch())
                .unwrap();
            assert!(apart(&prediction.scores, &blind.scores) < 1e-12);
        }
        // A model that has no second one refuses.
        let refuses = settings(Learner::Ridge, Mode::Oblivious, path, Missing::Error);
        let known = rows.select(&rows.complete());
        let fit = known.fit(&refuses).unwrap();
        let points = rows.points();
        let refused = |sensitive| {
            fit.predictor
                .predict(&points, sensitive, &watch())
                .unwrap_err()
        };
        let sensitive = rows.sensitive();
        assert!(matches!(
            refused(Some(&sensitive)),
            Error::MissingSensitive { .. }
        ));
        assert!(matches!(refused(None), Error::SensitiveNeeded { .. }));
    }
}

#[test]
fn a_table_in_which_every_row_misses_a_value_is_refused() {
    let mut rows = Rows::new();
    rows.group = vec![None; ROWS];
    for path in paths() {
        for learner in LEARNERS {
            let settings = settings(learner, Mode::Oblivious, path, Missing::SensitiveFree);
            let refused = rows.fit(&settings).unwrap_err();
            assert!(
                matches!(refused, Error::TooFewRows { found: 0, .. }),
                "{refused}"
            );
        }
    }
}

/// The columns of a table with a target of these names.
fn columns(rows: &Rows, target: Column) -> Vec<Column> {
    let x = |k: usize| (0..rows.y.len()).map(|i| rows.x[2 * i + k]).collect();
    vec![
        Column::numbers("x0", x(0)),
        Column::numbers("x1", x(1)),
        Column::texts("group", rows.group.iter().copied()),
        Column::numbers("age", rows.age.clone()),
        target,
    ]
}

fn roles(columns: &[Column]) -> Roles<'_> {
    Roles {
        features: &columns[..2],
        sensitive: &columns[2..4],
        target: &columns[4],
        labels: None,
        weights: None,
    }
}

#[test]
fn every_class_has_a_second_model_and_a_file_keeps_them() {
    let rows = Rows::new();
    let name =
        |y: &f64| Some(["low", "middle", "high"][usize::from(*y > 0.2) + usize::from(*y > 0.8)]);
    let table = columns(&rows, Column::texts("y", rows.y.iter().map(name)));
    let missing = ROWS - rows.complete().len();
    for (learner, mode, path, reference) in [
        (Learner::Svm, Mode::Oblivious, None, Reference::All),
        (Learner::Logistic, Mode::MOblivious, None, Reference::Half),
        (Learner::Logistic, Mode::Oblivious, Some(30), Reference::All),
    ] {
        let settings = Settings {
            reference,
            ..settings(learner, mode, path, Missing::SensitiveFree)
        };
        let (model, summaries) =
            Model::fit(roles(&table), Scaling::Standard, &settings, &watch()).unwrap();
        assert_eq!(model.scorers.len(), 3);
        assert!(model.scorers.iter().all(|s| s.fallback().is_some()));
        assert!(summaries.iter().all(|s| s.uses.sensitive_free == missing));
        assert!(!model.needs_sensitive());
        assert_eq!(
            model.card.mode,
            if mode == Mode::Oblivious {
                "oblivious"
            } else {
                "m-oblivious"
            }
        );
        let bytes = model.to_bytes().unwrap();
        let read = Model::from_bytes(&bytes).unwrap();
        assert_eq!(read, model);
        assert_eq!(read.to_bytes().unwrap(), bytes);
        let predictions = read.predict(&table, &watch()).unwrap();
        assert_eq!(predictions, model.predict(&table, &watch()).unwrap());
        assert_eq!(predictions[0].uses.sensitive_free, missing);
        // A table without the columns is scored as well.
        let blind = read.predict(&table[..2], &watch()).unwrap();
        assert_eq!(blind[2].uses.sensitive_free, ROWS);
        assert!((blind[2].scores[0] - predictions[2].scores[0]).abs() < 1e-12);
    }
}

/// The probability is of the fallback's own logit, wherever the line is drawn.
#[test]
fn a_threshold_does_not_move_the_probabilities_of_the_second_model() {
    let rows = Rows::new();
    let class = |y: &f64| Some(if *y > 0.0 { "yes" } else { "no" });
    let table = columns(&rows, Column::texts("y", rows.classes.iter().map(class)));
    let fit = |threshold| {
        let settings = Settings {
            threshold,
            ..settings(
                Learner::Logistic,
                Mode::Oblivious,
                None,
                Missing::SensitiveFree,
            )
        };
        Model::fit(roles(&table), Scaling::Standard, &settings, &watch())
            .unwrap()
            .0
    };
    let probability = |model: &Model| {
        let score = model.predict(&table[..2], &watch()).unwrap()[0].scores[3];
        let classes: &Classes = model.classes.as_ref().unwrap();
        classes.probabilities(&[score]).unwrap()[1]
    };
    let (zero, rate) = (fit(Threshold::Zero), fit(Threshold::Rate(0.2)));
    assert!(rate.classes.as_ref().unwrap().thresholds[0].abs() > 0.1);
    assert!((probability(&zero) - probability(&rate)).abs() < 1e-9);
}

#[test]
fn a_stream_gives_the_model_of_the_table_in_memory() {
    let rows = Rows::new();
    let table = columns(&rows, Column::numbers("y", rows.y.clone()));
    for (mode, reference) in [
        (Mode::Oblivious, Reference::All),
        (Mode::Oblivious, Reference::Half),
        (Mode::MOblivious, Reference::All),
    ] {
        let mut settings = Settings {
            reference,
            ..settings(Learner::Ridge, mode, Some(30), Missing::SensitiveFree)
        };
        settings.partition.cells = CellCount::Auto;
        let (whole, _) = Model::fit(roles(&table), Scaling::Raw, &settings, &watch()).unwrap();
        let batches: Vec<Vec<usize>> = (0..ROWS)
            .collect::<Vec<_>>()
            .chunks(37)
            .map(<[usize]>::to_vec)
            .collect();
        let part = |batch: &[usize]| -> Vec<Column> {
            table.iter().map(|column| column.select(batch)).collect()
        };
        let mut survey = Survey::new(settings.seed);
        for batch in &batches {
            let part = part(batch);
            survey.update(&part[..2], &part[2..4], None).unwrap();
        }
        let components = settings.components.unwrap();
        let (encoder, mut stream) = survey
            .begin(Scaling::Raw, &settings, components, &watch())
            .unwrap();
        let each = |take: &mut dyn FnMut(Batch)| {
            for batch in &batches {
                let part = part(batch);
                let sensitive = Sensitive::new(part[2..4].to_vec(), batch.len()).unwrap();
                let targets = part[4].to_numbers().unwrap();
                take(Batch {
                    points: &encoder.encode(&part[..2]).unwrap().0,
                    sensitive: SensitiveRows::Columns(&sensitive),
                    targets: Some(&targets),
                    weights: None,
                });
            }
        };
        each(&mut |batch| stream.update(batch, &watch()).unwrap());
        let mut solved = stream.solve(&watch()).unwrap();
        if solved.needs_rows() {
            each(&mut |batch| solved.update(batch, &watch()).unwrap());
        }
        let fit = solved.finish().unwrap();
        assert_eq!(
            fit.summary.uses.sensitive_free,
            ROWS - rows.complete().len()
        );
        let (model, _) = Model::new(encoder.clone(), fit, "y", &settings);
        for columns in [&table[..], &table[..2]] {
            let a = &whole.predict(columns, &watch()).unwrap()[0];
            let b = &model.predict(columns, &watch()).unwrap()[0];
            assert!(apart(&a.scores, &b.scores) < 1e-9, "{mode:?}");
            assert_eq!(a.uses, b.uses);
        }
        // New offsets leave the second model as it is, and rows that miss a value aside.
        let mut refresh = model.predictor().refresh().unwrap();
        let points = rows.points();
        refresh
            .update(&points, &rows.sensitive(), None, &watch())
            .unwrap();
        let (renewed, _, uses) = refresh.finish(Renewal::keeping(1)).unwrap();
        assert_eq!(uses.sensitive_free, ROWS - rows.complete().len());
        assert_eq!(renewed.fallback(), model.predictor().fallback());
    }
}

#[test]
fn missing_as_a_category_is_a_cell_like_others_in_every_mode() {
    let rows = Rows::new();
    let missing = ROWS - rows.complete().len();
    for learner in LEARNERS {
        for path in paths() {
            for mode in [
                Mode::Plain,
                Mode::Oblivious,
                Mode::MOblivious,
                Mode::SensitiveFree,
            ] {
                let case = format!("{learner:?} {mode:?} {path:?}");
                let settings = settings(learner, mode, path, Missing::Category);
                let fit = rows.fit(&settings).unwrap();
                assert_eq!(fit.summary.uses.missing, missing, "{case}");
                assert_eq!(fit.summary.training_rows, ROWS);
                let labels: Vec<&str> =
                    fit.summary.cells.iter().map(|c| c.label.as_str()).collect();
                assert!(
                    labels.iter().any(|l| l.contains("group missing")),
                    "{labels:?}"
                );
                assert!(
                    labels.iter().any(|l| l.contains("age missing")),
                    "{labels:?}"
                );
                let prediction = rows.predict(&fit);
                assert_eq!(prediction.uses.missing, missing, "{case}");
                assert_eq!(prediction.uses.sensitive_free, 0);
                let cells = rows.cells(&fit);
                let gap = range(&cell_means(&prediction.scores, &cells, &[1.0; ROWS]));
                match mode {
                    Mode::Plain => assert!(gap > 0.1, "{case}: {gap}"),
                    Mode::Oblivious | Mode::SensitiveFree => assert!(gap < 1e-9, "{case}: {gap}"),
                    // Its offsets are those of scores that have not seen the row.
                    Mode::MOblivious => {}
                }
            }
        }
    }
}

#[test]
fn unseen_categories_follow_their_policy_in_every_mode() {
    let rows = Rows::new();
    let known = rows.select(&rows.complete());
    let mut new = known.select(&[0, 1, 2]);
    new.group[1] = Some("z");
    for path in paths() {
        for mode in [Mode::Oblivious, Mode::MOblivious] {
            let fit = |answer| {
                let mut settings = settings(Learner::Ridge, mode, path, Missing::Error);
                settings.partition.policies = Policies::for_unknown(answer);
                known.fit(&settings).unwrap()
            };
            let refusing = fit(UnseenCategory::Error);
            let (points, sensitive) = (new.points(), new.sensitive());
            let refused = refusing
                .predictor
                .predict(&points, Some(&sensitive), &watch());
            assert!(matches!(refused, Err(Error::UnknownCategory { value, .. }) if value == "z"));
            for (answer, mean) in [
                (UnseenCategory::Population, 0.0),
                (UnseenCategory::Zero, 1.0),
            ] {
                let fit = fit(answer);
                let prediction = new.predict(&fit);
                assert_eq!(prediction.uses.unseen_category, 1);
                // Nothing is taken off, or a mean of zero in place of the population's.
                let expected = prediction.before[1] + mean * fit.predictor.offsets().unwrap().mean;
                assert!(
                    (prediction.scores[1] - expected).abs() < 1e-12,
                    "{mode:?} {answer:?}"
                );
            }
        }
        for mode in [Mode::Plain, Mode::SensitiveFree] {
            let settings = settings(Learner::Ridge, mode, path, Missing::Error);
            let prediction = new.predict(&known.fit(&settings).unwrap());
            assert_eq!(prediction.scores, prediction.before);
            assert_eq!(prediction.uses.unseen_category, 1);
        }
    }
}

#[test]
fn joined_cells_are_the_same_from_a_stream_and_in_memory_and_have_equal_means() {
    let rows = Rows::new();
    let known = rows.select(&rows.complete());
    let fit = |path, min_rows| {
        let mut settings = settings(Learner::Ridge, Mode::Oblivious, path, Missing::Error);
        settings.partition.cells = CellCount::Given(9);
        settings.partition.min_rows = Some(min_rows);
        known.fit(&settings).unwrap()
    };
    let count = known.y.len();
    let (exact, explicit) = (fit(None, 12), fit(Some(count), 12));
    let partition = |fit: &Fit| fit.predictor.offsets().unwrap().partition.clone();
    assert_eq!(partition(&exact), partition(&explicit));
    assert!(partition(&exact).len() < partition(&fit(None, 1)).len());
    assert!(partition(&exact).counts().iter().all(|rows| *rows >= 12));
    let is_merged = |w: &Warning| matches!(w, Warning::MergedCells { least: 12, .. });
    for fit in [&exact, &explicit] {
        assert!(fit.summary.warnings.iter().any(is_merged));
        let scores = known.predict(fit).scores;
        let gap = range(&cell_means(&scores, &known.cells(fit), &vec![1.0; count]));
        assert!(gap < 1e-9, "{gap}");
    }
    let (a, b) = (
        known.predict(&exact).scores,
        known.predict(&explicit).scores,
    );
    assert!(apart(&a, &b) < 1e-6, "{}", apart(&a, &b));
}

/// New offsets from moments are those from rows, where a cell is made up of several slots.
#[test]
fn joined_cells_are_refreshed_from_moments_as_from_rows() {
    let rows = Rows::new();
    let known = rows.select(&rows.complete());
    let mut settings = settings(Learner::Ridge, Mode::Oblivious, Some(20), Missing::Error);
    settings.partition.cells = CellCount::Given(9);
    settings.partition.min_rows = Some(12);
    let (points, sensitive) = (known.points(), known.sensitive());
    let training = Training {
        points: &points,
        sensitive: &sensitive,
        targets: &known.y,
        weights: None,
    };
    let (plan, _) = settings.plan(training, known.y.len(), &watch()).unwrap();
    let plan = std::sync::Arc::new(plan);
    let gathered = |part: &Rows| {
        let mut moments = oblivio::moments::Moments::new(std::sync::Arc::clone(&plan));
        let batch = Batch {
            points: &part.points(),
            sensitive: SensitiveRows::Columns(&part.sensitive()),
            targets: Some(&part.y),
            weights: None,
        };
        moments.update(batch, &watch()).unwrap();
        moments
    };
    let fit = settings.fit_moments(&gathered(&known), &watch()).unwrap();
    let newer = known.select(&(0..150).collect::<Vec<_>>());
    let mut refresh = fit.predictor.refresh().unwrap();
    refresh
        .update(&newer.points(), &newer.sensitive(), None, &watch())
        .unwrap();
    let (by_rows, drift, _) = refresh.finish(Renewal::keeping(1)).unwrap();
    let (by_moments, pooled) = fit
        .predictor
        .refresh_from(&gathered(&newer), Renewal::keeping(1), &watch())
        .unwrap();
    let offsets = |p: &oblivio::Predictor| p.offsets().unwrap().by_cell.clone();
    assert!(apart(&offsets(&by_rows), &offsets(&by_moments)) < 1e-9);
    let counts: Vec<(usize, usize)> = drift
        .iter()
        .zip(&pooled)
        .map(|(a, b)| (a.rows, b.rows))
        .collect();
    assert!(counts.iter().all(|(a, b)| a == b), "{counts:?}");
}
