//! Every learner in every mode: what is promised of the cells, and that all paths agree.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use oblivio::classes::{ClassWeights, Threshold};
use oblivio::model::Labels;
use oblivio::reference::Reference;
use oblivio::sensitive_free::{Parity, Restraint};
use oblivio::{
    Column, Encoder, Error, Fit, Mode, Model, Points, Predictor, Roles, Sensitive, Settings,
    Training, Watch,
};
use oblivio_base::{Scaling, UnseenCategory};
use oblivio_kernels::Components;
use oblivio_kernels::learn::{Intercept, Learner};
use oblivio_simulate::Simulation;

struct Data {
    points: Points<'static>,
    sensitive: Sensitive,
    classes: Vec<f64>,
    success: Vec<f64>,
}

/// Applicants, by sex and region.
fn data(rows: usize, seed: u64) -> Data {
    let table = Simulation::Admissions.table(rows, seed).unwrap();
    let column = |columns: &[Column], name: &str| {
        let found = columns.iter().find(|column| column.name == name);
        found.unwrap().clone()
    };
    let ones = vec![1.0; rows];
    let encoder = Encoder::fit(
        &table.features,
        Scaling::Standard,
        &ones,
        UnseenCategory::Error,
    )
    .unwrap();
    let (points, _) = encoder.encode(&table.features).unwrap();
    let sensitive = ["sex", "region"].map(|name| column(&table.sensitive, name));
    let admitted = column(&table.targets, "admitted");
    let classes = Labels::of(&admitted).encode(&admitted).unwrap();
    Data {
        points,
        sensitive: Sensitive::new(sensitive.to_vec(), rows).unwrap(),
        classes,
        success: column(&table.targets, "success").to_numbers().unwrap(),
    }
}

impl Data {
    fn training<'a>(&'a self, targets: &'a [f64]) -> Training<'a> {
        Training {
            points: &self.points,
            sensitive: &self.sensitive,
            targets,
            weights: None,
        }
    }

    fn fit(&self, settings: &Settings) -> Fit {
        let targets = if settings.learner.classifies() {
            &self.classes
        } else {
            &self.success
        };
        settings
            .fit(self.training(targets), &Watch::default())
            .unwrap()
    }

    fn scores(&self, predictor: &Predictor) -> Vec<f64> {
        let given = predictor.needs_sensitive().then_some(&self.sensitive);
        let prediction = predictor.predict(&self.points, given, &Watch::default());
        prediction.unwrap().scores
    }

    /// The largest difference between the mean scores of two cells, over the rows that `counts` allows, and the scores' spread.
    fn gap(&self, predictor: &Predictor, counts: impl Fn(usize) -> bool) -> (f64, f64) {
        let scores = self.scores(predictor);
        let partition = &predictor.offsets().unwrap().partition;
        let cells = partition.assign(&self.sensitive).unwrap().codes().to_vec();
        let rows: Vec<usize> = (0..scores.len()).filter(|&i| counts(i)).collect();
        let mean = |cell: usize| {
            let inside = rows.iter().filter(|&&i| cells[i] as usize == cell);
            let values: Vec<f64> = inside.map(|&i| scores[i]).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let means: Vec<f64> = (0..partition.len()).filter_map(mean).collect();
        let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = means.iter().copied().fold(f64::INFINITY, f64::min);
        let centre = scores.iter().sum::<f64>() / scores.len() as f64;
        let spread = scores.iter().map(|s| (s - centre).powi(2)).sum::<f64>();
        (most - least, (spread / scores.len() as f64).sqrt())
    }
}

fn settings(learner: Learner, mode: Mode) -> Settings {
    Settings {
        kernel: "rbf(gamma=0.1)".parse().unwrap(),
        learner,
        mode,
        intercept: Intercept::Fitted,
        gap: learner.classifies().then_some(1e-10),
        ..Settings::default()
    }
}

const LEARNERS: [Learner; 3] = [Learner::Ridge, Learner::Svm, Learner::Logistic];

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    let scale = expected.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    for (row, (a, b)) in found.iter().zip(expected).enumerate() {
        let off = (a - b).abs() / scale;
        assert!(
            off <= tolerance,
            "{what}, row {row}: {a} and {b}, {off:e} apart"
        );
    }
}

#[test]
fn mean_scores_are_equal_in_all_cells_and_were_not_before() {
    let data = data(240, 1);
    for learner in LEARNERS {
        for components in [None, Some(Components::new(40))] {
            let fit = |mode| {
                data.fit(&Settings {
                    components,
                    ..settings(learner, mode)
                })
            };
            let (before, spread) = data.gap(&fit(Mode::Plain).predictor, |_| true);
            assert!(before > 0.2 * spread, "{learner:?}: {before} of {spread}");
            for mode in [Mode::Oblivious, Mode::SensitiveFree] {
                let fit = fit(mode);
                let (after, spread) = data.gap(&fit.predictor, |_| true);
                assert!(
                    after < 1e-10 * spread.max(1.0),
                    "{learner:?} {mode:?}: {after:e}"
                );
                assert_eq!(fit.predictor.needs_sensitive(), mode == Mode::Oblivious);
                assert!(fit.summary.effort.converged);
            }
            // Offsets from unseen scores are not those of the scores seen.
            let (after, _) = data.gap(&fit(Mode::MOblivious).predictor, |_| true);
            assert!(after < 0.6 * before, "{learner:?}: {before} to {after}");
        }
    }
}

#[test]
fn more_of_the_removal_leaves_less_of_the_gap() {
    let data = data(200, 2);
    for mode in [Mode::MOblivious, Mode::SensitiveFree] {
        let fit = |strength| {
            data.fit(&Settings {
                strength,
                ..settings(Learner::Logistic, mode)
            })
        };
        let [none, half, all] = [0.0, 0.5, 1.0].map(|t| data.gap(&fit(t).predictor, |_| true).0);
        assert!(none > half && half > all, "{mode:?}: {none}, {half}, {all}");
    }
}

#[test]
fn all_rows_as_landmarks_are_the_exact_path() {
    let data = data(120, 3);
    for learner in LEARNERS {
        for mode in [
            Mode::Plain,
            Mode::Oblivious,
            Mode::MOblivious,
            Mode::SensitiveFree,
        ] {
            for (reference, weights) in [
                (Reference::All, ClassWeights::Equal),
                (Reference::Half, ClassWeights::Balanced),
            ] {
                let exact = Settings {
                    reference,
                    class_weights: if learner.classifies() {
                        weights
                    } else {
                        ClassWeights::Equal
                    },
                    gap: learner.classifies().then_some(1e-12),
                    partition: oblivio::partition::PartitionRule {
                        policies: oblivio::partition::Policies::for_unknown(
                            UnseenCategory::Population,
                        ),
                        ..Default::default()
                    },
                    ..settings(learner, mode)
                };
                let explicit = Settings {
                    components: Some(Components::new(120)),
                    ..exact.clone()
                };
                let a = data.scores(&data.fit(&exact).predictor);
                let b = data.scores(&data.fit(&explicit).predictor);
                assert_near(&b, &a, 2e-5, &format!("{learner:?} {mode:?}"));
            }
        }
    }
}

#[test]
fn equal_opportunity_is_among_the_positive() {
    let data = data(240, 4);
    for components in [None, Some(Components::new(40))] {
        let fit = data.fit(&Settings {
            parity: Parity::Opportunity,
            components,
            ..settings(Learner::Svm, Mode::SensitiveFree)
        });
        let (among, _) = data.gap(&fit.predictor, |i| data.classes[i] > 0.0);
        let (all, _) = data.gap(&fit.predictor, |_| true);
        assert!(among < 1e-10, "{among:e}");
        assert!(all > 0.05, "{all}");
    }
}

#[test]
fn slack_is_used_up_and_no_more() {
    let data = data(160, 5);
    for components in [None, Some(Components::new(30))] {
        let fit = |restraint| {
            data.fit(&Settings {
                restraint,
                components,
                penalty: 0.1,
                ..settings(Learner::Svm, Mode::SensitiveFree)
            })
        };
        for epsilon in [0.02, 0.1] {
            let fit = fit(Restraint::Slack(epsilon));
            let offsets = fit.predictor.offsets().unwrap();
            let most = offsets.by_cell.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            assert!((most - epsilon).abs() < 1e-6, "{epsilon}: {most}");
        }
        // A machine that stops early keeps within its bounds all the same.
        let early = data.fit(&Settings {
            restraint: Restraint::Slack(0.02),
            steps: Some(4),
            components,
            penalty: 0.1,
            ..settings(Learner::Svm, Mode::SensitiveFree)
        });
        assert!(!early.summary.effort.converged);
        let offsets = early.predictor.offsets().unwrap();
        assert!(offsets.by_cell.iter().all(|b| b.abs() < 0.02 + 1e-6));
        // What is never reached changes nothing.
        let free = data.scores(&fit(Restraint::Slack(100.0)).predictor);
        let plain = data.scores(
            &data
                .fit(&Settings {
                    components,
                    penalty: 0.1,
                    ..settings(Learner::Svm, Mode::Plain)
                })
                .predictor,
        );
        assert_near(&free, &plain, 1e-4, "no bound");
    }
}

/// With ridge regression the soft restraint has a closed form: $\lambda\|h\|^2 + \eta\sum_c p_c\langle h, \delta_c\rangle^2$ is a penalty
/// on features.
#[test]
fn a_soft_restraint_is_its_own_penalty() {
    let data = data(150, 6);
    for components in [None, Some(Components::new(25))] {
        let fit = |restraint| {
            let fit = data.fit(&Settings {
                restraint,
                components,
                ..settings(Learner::Ridge, Mode::SensitiveFree)
            });
            (
                data.gap(&fit.predictor, |_| true).0,
                data.scores(&fit.predictor),
            )
        };
        let gaps = [0.1, 10.0, 1000.0].map(|eta| fit(Restraint::Soft(eta)).0);
        assert!(gaps[0] > gaps[1] && gaps[1] > gaps[2], "{gaps:?}");
        let (_, firm) = fit(Restraint::Soft(1e12));
        assert_near(&firm, &fit(Restraint::Hard).1, 1e-5, "a large penalty");
        let (_, none) = fit(Restraint::Soft(1e-12));
        let plain = data.fit(&Settings {
            components,
            ..settings(Learner::Ridge, Mode::Plain)
        });
        assert_near(
            &none,
            &data.scores(&plain.predictor),
            1e-8,
            "a small penalty",
        );
    }
}

#[test]
fn weights_count_as_repetitions() {
    let data = data(90, 7);
    let weights: Vec<f64> = (0..90).map(|i| f64::from(i % 3)).collect();
    let repeated: Vec<usize> = (0..90).flat_map(|i| vec![i; i % 3]).collect();
    let several = Data {
        points: data.points.select(&repeated),
        sensitive: data.sensitive.select(&repeated),
        classes: repeated.iter().map(|&i| data.classes[i]).collect(),
        success: repeated.iter().map(|&i| data.success[i]).collect(),
    };
    for learner in LEARNERS {
        for mode in [Mode::Plain, Mode::Oblivious, Mode::SensitiveFree] {
            let settings = Settings {
                threshold: if learner.classifies() {
                    Threshold::BaseRate
                } else {
                    Threshold::Zero
                },
                class_weights: if learner.classifies() {
                    ClassWeights::Balanced
                } else {
                    ClassWeights::Equal
                },
                gap: learner.classifies().then_some(1e-13),
                ..settings(learner, mode)
            };
            let targets = if learner.classifies() {
                &data.classes
            } else {
                &data.success
            };
            let training = Training {
                weights: Some(&weights),
                ..data.training(targets)
            };
            let weighted = settings.fit(training, &Watch::default()).unwrap();
            let copied = several.fit(&settings);
            assert_near(
                &data.scores(&weighted.predictor),
                &data.scores(&copied.predictor),
                1e-5,
                &format!("{learner:?} {mode:?}"),
            );
        }
    }
}

#[test]
fn several_classes_are_each_against_the_rest() {
    let data = data(150, 8);
    let codes: Vec<f64> = data
        .success
        .iter()
        .map(|y| f64::from(u8::from(*y > 55.0)) + f64::from(u8::from(*y > 65.0)))
        .collect();
    let settings = Settings {
        class_weights: ClassWeights::Given(vec![1.0, 2.0, 0.5]),
        ..settings(Learner::Logistic, Mode::Oblivious)
    };
    let watch = Watch::default();
    let fits = settings
        .fit_classes(data.training(&codes), 3, &watch)
        .unwrap();
    assert_eq!(fits.len(), 3);
    for (class, fit) in fits.iter().enumerate() {
        let (gap, _) = data.gap(&fit.predictor, |_| true);
        assert!(gap < 1e-9);
        // The rows of the class score higher than the rest.
        let scores = data.scores(&fit.predictor);
        let mean = |inside: bool| {
            let rows = (0..150).filter(|&i| (codes[i] as usize == class) == inside);
            let values: Vec<f64> = rows.map(|i| scores[i]).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        assert!(mean(true) > mean(false));
    }
}

#[test]
fn a_classifier_is_written_and_read_back() {
    let table = Simulation::Admissions.table(120, 9).unwrap();
    let school = table.features.iter().find(|c| c.name == "school").unwrap();
    let features: Vec<Column> = table
        .features
        .iter()
        .filter(|c| c.name != "school")
        .cloned()
        .collect();
    let roles = Roles {
        features: &features,
        sensitive: &table.sensitive[..1],
        target: school,
        labels: None,
        weights: None,
    };
    let watch = Watch::default();
    for learner in [Learner::Svm, Learner::Logistic] {
        for mode in [Mode::Plain, Mode::Oblivious] {
            let settings = settings(learner, mode);
            let (model, summaries) =
                Model::fit(roles, Scaling::Standard, &settings, &watch).unwrap();
            let classes = model.classes.clone().unwrap();
            assert_eq!(summaries.len(), classes.decisions());
            assert!(classes.labels.is_sorted());
            let bytes = model.to_bytes().unwrap();
            let read = Model::from_bytes(&bytes).unwrap();
            assert_eq!(read, model);
            let mut rows = features.clone();
            rows.extend(table.sensitive[..1].to_vec());
            assert_eq!(
                read.predict(&rows, &watch).unwrap(),
                model.predict(&rows, &watch).unwrap()
            );
            for cut in (0..bytes.len()).step_by(997) {
                assert!(Model::from_bytes(&bytes[..cut]).is_err());
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let data = data(40, 10);
    let watch = Watch::default();
    let usual = settings(Learner::Svm, Mode::Oblivious);
    let refused = |settings: &Settings, targets: &[f64]| {
        settings.fit(data.training(targets), &watch).unwrap_err()
    };
    let ones = vec![1.0; 40];
    assert!(matches!(refused(&usual, &ones), Error::OneClass { .. }));
    let mut halves = data.classes.clone();
    halves[3] = 0.5;
    assert!(matches!(
        refused(&usual, &halves),
        Error::NotAClass { row: 3, .. }
    ));
    let mut lonely = vec![0.0; 40];
    lonely[0] = 1.0;
    let folds = settings(Learner::Svm, Mode::MOblivious);
    assert!(matches!(refused(&folds, &lonely), Error::TooFewRows { .. }));
    let wrong = [
        Settings {
            parity: Parity::Opportunity,
            ..usual.clone()
        },
        Settings {
            restraint: Restraint::Soft(1.0),
            ..usual.clone()
        },
        Settings {
            restraint: Restraint::Slack(0.1),
            ..settings(Learner::Logistic, Mode::SensitiveFree)
        },
        Settings {
            restraint: Restraint::Soft(-1.0),
            ..settings(Learner::Svm, Mode::SensitiveFree)
        },
        Settings {
            threshold: Threshold::Rate(2.0),
            ..usual.clone()
        },
        Settings {
            threshold: Threshold::BaseRate,
            ..settings(Learner::Ridge, Mode::Oblivious)
        },
        Settings {
            solver: oblivio_kernels::learn::Solver::Cholesky,
            ..usual.clone()
        },
        Settings {
            class_weights: ClassWeights::Given(vec![1.0, 0.0]),
            ..usual.clone()
        },
        Settings {
            gap: Some(0.0),
            ..usual.clone()
        },
    ];
    for settings in wrong {
        let error = refused(&settings, &data.classes);
        assert!(matches!(error, Error::InvalidParameter { .. }), "{error}");
    }
}

#[test]
fn a_solver_that_stops_early_says_so() {
    let data = data(200, 11);
    let fit = data.fit(&Settings {
        steps: Some(2),
        penalty: 1e-3,
        ..settings(Learner::Svm, Mode::Oblivious)
    });
    assert!(!fit.summary.effort.converged);
    assert!(fit.summary.effort.gap.unwrap() > 1e-10);
    let said = fit.summary.warnings.iter().map(ToString::to_string);
    assert_eq!(
        said.filter(|text| text.contains("stopped after")).count(),
        1
    );
}

/// The path with a reference of its own, and rows whose cell no reference row has.
#[test]
fn a_path_point_is_what_its_fit_says() {
    let data = data(160, 12);
    let watch = Watch::default();
    for mode in [
        Mode::Plain,
        Mode::Oblivious,
        Mode::MOblivious,
        Mode::SensitiveFree,
    ] {
        for reference in [Reference::All, Reference::Half] {
            let usual = Settings {
                reference,
                partition: oblivio::partition::PartitionRule {
                    policies: oblivio::partition::Policies::for_unknown(UnseenCategory::Population),
                    ..Default::default()
                },
                ..settings(Learner::Ridge, mode)
            };
            let grid = oblivio::fit::PathGrid {
                strengths: vec![0.5, 1.0],
                penalties: vec![0.1, 1.0],
                ..oblivio::fit::PathGrid::usual(1.0)
            };
            let path = usual
                .path(data.training(&data.success), &grid, &watch)
                .unwrap();
            assert_eq!(path.points.len(), 4);
            assert_eq!(path.points[path.best].strength, 1.0);
            for point in &path.points {
                let fit = data.fit(&Settings {
                    strength: point.strength,
                    penalty: point.penalty,
                    ..usual.clone()
                });
                if mode != Mode::MOblivious {
                    let off = (point.error - fit.summary.error).abs();
                    assert!(
                        off < 1e-8,
                        "{mode:?}: {} {}",
                        point.error,
                        fit.summary.error
                    );
                }
                assert!(point.left_out.unwrap() > point.error);
                assert!((0.0..=1.0).contains(&point.correlation_ratio));
            }
        }
    }
}
