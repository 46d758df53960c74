//! The frontier against what it is made of: fits, audits and errors done by hand on the same split.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use oblivio::fit::PathGrid;
use oblivio::partition::Policies;
use oblivio::{Column, Mode, Model, Roles, Sensitive, Settings, Watch};
use oblivio_audit::{
    AuditRows, AuditSettings, Candidate, ErrorMeasure, Frontier, FrontierGrid, FrontierSettings,
    Measure, PenaltyChoice, Resampling, Role,
};
use oblivio_base::{Scaling, UnseenCategory};
use oblivio_kernels::Components;
use oblivio_kernels::learn::Learner;
use oblivio_simulate::{SimulatedTable, Simulation};

/// With sex and age as sensitive columns: the regions are too many for tables as small as these.
fn admissions(rows: usize) -> SimulatedTable {
    let mut table = Simulation::Admissions.table(rows, 3).unwrap();
    table.sensitive.retain(|column| column.name != "region");
    table
}

/// As the command line has it: rows of cells without reference rows take the enclosing cell.
fn base() -> Settings {
    let mut settings = Settings::default();
    settings.partition.policies = Policies::for_unknown(UnseenCategory::Error);
    settings
}

fn column<'t>(columns: &'t [Column], name: &str) -> &'t Column {
    columns.iter().find(|column| column.name == name).unwrap()
}

fn roles<'t>(table: &'t SimulatedTable, target: &str) -> Roles<'t> {
    Roles {
        features: &table.features,
        sensitive: &table.sensitive,
        target: column(&table.targets, target),
        labels: None,
        weights: None,
    }
}

fn quick() -> FrontierSettings {
    let defaults = FrontierSettings::default();
    FrontierSettings {
        audit: AuditSettings {
            resampling: Resampling {
                permutations: 39,
                resamples: 39,
                seed: 5,
                ..Resampling::default()
            },
            ..defaults.audit
        },
        ..defaults
    }
}

fn grid(modes: &[Mode], strengths: &[f64]) -> FrontierGrid {
    FrontierGrid {
        modes: modes.to_vec(),
        strengths: strengths.to_vec(),
        aligns: vec!["none".into()],
        ..FrontierGrid::default()
    }
}

fn run(settings: &FrontierSettings, roles: Roles, candidates: &[Candidate]) -> Frontier {
    settings
        .run(roles, Scaling::Standard, candidates, &Watch::default())
        .unwrap()
}

/// The same table with other targets in these rows.
fn moved(table: &SimulatedTable, rows: &[usize]) -> SimulatedTable {
    let mut table = table.clone();
    for column in &mut table.targets {
        if let oblivio::Values::Numbers(numbers) = &mut column.values {
            for &row in rows {
                numbers[row] += 1e6;
            }
        }
    }
    table
}

/// Which rows are held out: those whose target can become anything without a change of what depends on scores alone.
fn held_out(table: &SimulatedTable, target: &str) -> Vec<usize> {
    let settings = quick();
    let candidates = [Candidate::new(
        Settings {
            mode: Mode::Plain,
            components: Some(Components::new(5)),
            ..base()
        },
        ("none", 1.0),
    )
    .unwrap()];
    let settings = FrontierSettings {
        audit: AuditSettings {
            measures: vec![Measure::CorrelationRatio],
            one_by_one: false,
            resampling: Resampling {
                permutations: 19,
                resamples: 19,
                ..settings.audit.resampling
            },
            ..settings.audit
        },
        ..settings
    };
    let before = run(&settings, roles(table, target), &candidates);
    let dependence = |frontier: &Frontier| frontier.candidates[0].dependence.clone();
    let rows = table.rows();
    (0..rows)
        .filter(|&row| {
            let after = run(&settings, roles(&moved(table, &[row]), target), &candidates);
            dependence(&after) == dependence(&before)
        })
        .collect()
}

fn by_hand(
    settings: &Settings,
    table: &SimulatedTable,
    target: &str,
    out: &[usize],
) -> (Vec<f64>, Vec<f64>) {
    let all = roles(table, target);
    let training: Vec<usize> = (0..table.rows()).filter(|row| !out.contains(row)).collect();
    let pick = |columns: &[Column], rows: &[usize]| -> Vec<Column> {
        columns.iter().map(|c| c.select(rows)).collect()
    };
    let (features, sensitive) = (
        pick(all.features, &training),
        pick(all.sensitive, &training),
    );
    let (model, _) = Model::fit(
        Roles {
            features: &features,
            sensitive: &sensitive,
            target: &all.target.select(&training),
            labels: None,
            weights: None,
        },
        Scaling::Standard,
        settings,
        &Watch::default(),
    )
    .unwrap();
    let new = [pick(all.features, out), pick(all.sensitive, out)].concat();
    let scores = model.predict(&new, &Watch::default()).unwrap();
    let truth = all.target.select(out).to_numbers().unwrap();
    (scores[0].scores.clone(), truth)
}

#[test]
fn held_out_rows_never_train_and_errors_and_measures_are_those_by_hand() {
    let table = admissions(60);
    let out = held_out(&table, "success");
    assert_eq!(out.len(), 18);
    let candidates = grid(
        &[Mode::Oblivious, Mode::MOblivious, Mode::SensitiveFree],
        &[0.5, 1.0],
    )
    .candidates(&base())
    .unwrap();
    let frontier = run(&quick(), roles(&table, "success"), &candidates);
    assert_eq!(frontier.candidates.len(), 7);
    for (candidate, tried) in candidates.iter().zip(&frontier.candidates) {
        let (scores, truth) = by_hand(&candidate.settings, &table, "success", &out);
        let pairs = scores.iter().zip(&truth);
        let squares: f64 = pairs.map(|(score, y)| (y - score).powi(2)).sum();
        assert_eq!(tried.errors[0].value, (squares / 18.0).sqrt());
        let error = tried.errors[0];
        assert!(error.lower < error.value && error.value < error.upper);
        // The audit of these scores finds the same, bit for bit.
        let sensitive = table.sensitive.iter().map(|c| c.select(&out)).collect();
        let rows = AuditRows {
            subjects: vec![(Role::Score, Column::numbers("score", scores))],
            features: Vec::new(),
            whole_table: false,
            sensitive: Sensitive::new(sensitive, 18).unwrap(),
            truth: None,
            control: Vec::new(),
            weights: None,
        };
        let settings = AuditSettings {
            threshold: Some(frontier.threshold),
            ..quick().audit
        };
        let audit = settings.run(&rows, &Watch::default()).unwrap();
        assert_eq!(audit.findings.len(), tried.dependence.len());
        for (finding, found) in audit.findings.iter().zip(&tried.dependence) {
            assert_eq!(finding.measured, found.measured);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_for_any_number_of_threads() {
    let table = admissions(90);
    let candidates = grid(&[Mode::Oblivious, Mode::SensitiveFree], &[0.5, 1.0])
        .candidates(&base())
        .unwrap();
    let with = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let mut settings = quick();
        settings.audit.resampling.seed = seed;
        let pool = pool.build().unwrap();
        pool.install(|| run(&settings, roles(&table, "success"), &candidates))
    };
    let one = with(1, 4);
    for threads in [2, 3] {
        assert_eq!(one, with(threads, 4));
    }
    assert_ne!(one, with(1, 9));
}

#[test]
fn dependence_was_well_above_its_level_and_falls_to_it() {
    let table = Simulation::from_name("ridge-1").unwrap();
    let table = table.table(900, 3).unwrap();
    let candidates = grid(&[Mode::Oblivious], &[1.0])
        .candidates(&base())
        .unwrap();
    let frontier = run(&quick(), roles(&table, &table.targets[0].name), &candidates);
    let all = frontier.against.last().unwrap().name.clone();
    let of = |k: usize| {
        let found = frontier.candidates[k].of(&all, Measure::CorrelationRatio);
        found.unwrap().measured
    };
    let (before, after) = (of(0), of(1));
    assert!(before.value > 3.0 * before.critical, "{before:?}");
    assert!(after.value < 1.5 * after.critical, "{after:?}");
    assert!(after.value < 0.25 * before.value, "{after:?}");
    // Both are on the frontier: what is less dependent is more wrong.
    for tried in &frontier.candidates {
        let found = tried.of(&all, Measure::CorrelationRatio).unwrap();
        assert_eq!(found.on_frontier, [ErrorMeasure::Rmse]);
    }
    let cost = frontier.candidates[1].errors[0];
    assert_eq!(
        cost.cost,
        Some(cost.value - frontier.candidates[0].errors[0].value)
    );
    assert_eq!(frontier.candidates[0].errors[0].cost, Some(0.0));
}

#[test]
fn classifiers_have_two_errors_and_classes_keep_their_shares() {
    let table = admissions(300);
    let logistic = Settings {
        learner: Learner::Logistic,
        ..base()
    };
    let candidates = grid(&[Mode::Oblivious], &[1.0])
        .candidates(&logistic)
        .unwrap();
    let frontier = run(&quick(), roles(&table, "admitted"), &candidates);
    assert_eq!(frontier.threshold, 0.0);
    for tried in &frontier.candidates {
        let [auc, balanced] = tried.errors[..] else {
            panic!("two errors")
        };
        assert_eq!(auc.measure, ErrorMeasure::OneMinusAuc);
        assert_eq!(balanced.measure, ErrorMeasure::BalancedError);
        assert!(auc.value < 0.5 && balanced.value < 0.5);
    }
    assert!(frontier.errors.iter().all(|error| error.constant == 0.5));
}

#[test]
fn penalties_are_chosen_on_the_training_rows_for_every_mode_and_strength() {
    let table = admissions(80);
    let out = held_out(&table, "success");
    let training: Vec<usize> = (0..80).filter(|row| !out.contains(row)).collect();
    let pick = |columns: &[Column]| -> Vec<Column> {
        columns.iter().map(|c| c.select(&training)).collect()
    };
    let (features, sensitive) = (pick(&table.features), pick(&table.sensitive));
    let target = column(&table.targets, "success").select(&training);
    let chosen = FrontierSettings {
        penalty: PenaltyChoice::Auto,
        ..quick()
    };
    let modes = [Mode::Oblivious, Mode::MOblivious, Mode::SensitiveFree];
    let candidates = grid(&modes, &[0.5, 1.0]).candidates(&base()).unwrap();
    let frontier = run(&chosen, roles(&table, "success"), &candidates);
    for (candidate, tried) in candidates.iter().zip(&frontier.candidates) {
        let path = Model::path(
            Roles {
                features: &features,
                sensitive: &sensitive,
                target: &target,
                labels: None,
                weights: None,
            },
            Scaling::Standard,
            &candidate.settings,
            &PathGrid::usual(candidate.settings.strength),
            &Watch::default(),
        );
        assert_eq!(tried.penalty, path.unwrap().settings.penalty);
    }
    // On landmarks, too, and m-oblivious fits have the penalty of the plain one.
    let landmarks = Settings {
        components: Some(Components::new(20)),
        ..base()
    };
    let candidates = grid(&modes, &[1.0]).candidates(&landmarks).unwrap();
    let frontier = run(&chosen, roles(&table, "success"), &candidates);
    let penalty = |k: usize| frontier.candidates[k].penalty;
    assert_eq!(penalty(0), penalty(2));
}

#[test]
fn rows_of_weight_zero_are_no_rows() {
    let table = admissions(100);
    let weights: Vec<f64> = (0..100).map(|i| f64::from(u8::from(i < 80))).collect();
    let candidates = grid(&[Mode::Oblivious], &[1.0])
        .candidates(&base())
        .unwrap();
    let weighted = Roles {
        weights: Some(&weights),
        ..roles(&table, "success")
    };
    let few = admissions(80);
    let (weighted, plain) = (
        run(&quick(), weighted, &candidates),
        run(&quick(), roles(&few, "success"), &candidates),
    );
    for (a, b) in weighted.candidates.iter().zip(&plain.candidates) {
        assert!((a.errors[0].value - b.errors[0].value).abs() < 1e-9);
    }
    assert_eq!(weighted.held_out_rows, 24);
}

#[test]
fn what_makes_no_frontier_is_refused_in_a_sentence() {
    let table = admissions(60);
    let candidates = FrontierGrid::default().candidates(&base()).unwrap();
    let refused = |settings: &FrontierSettings, roles: Roles, candidates: &[Candidate]| {
        let made = settings.run(roles, Scaling::Standard, candidates, &Watch::default());
        made.unwrap_err().to_string()
    };
    let all = roles(&table, "success");
    let none = Roles {
        sensitive: &[],
        ..all
    };
    assert!(refused(&quick(), none, &candidates).contains("sensitive columns"));
    assert!(refused(&quick(), all, &[]).contains("candidates"));
    let half = FrontierSettings {
        held_out: 1.5,
        ..quick()
    };
    assert!(refused(&half, all, &candidates).contains("held out must be between 0 and 1"));
    let svm = Settings {
        learner: Learner::Svm,
        ..base()
    };
    let machines = FrontierGrid::default().candidates(&svm).unwrap();
    let names: Vec<&str> = (0..60).map(|i| ["a", "b", "c"][i % 3]).collect();
    let three = Column::texts("three", names.into_iter().map(Some));
    let classes = Roles {
        target: &three,
        ..all
    };
    assert!(refused(&quick(), classes, &machines).contains("classes of a frontier must be two"));
    let auto = FrontierSettings {
        penalty: PenaltyChoice::Auto,
        ..quick()
    };
    let admitted = roles(&table, "admitted");
    assert!(refused(&auto, admitted, &machines).contains("penalty of a classifier"));
}

/// What S explains beyond the target is an axis for numbers and for classes, with the value of an audit by hand.
#[test]
fn separation_is_an_axis() {
    let table = admissions(120);
    for (target, learner) in [("success", Learner::Ridge), ("admitted", Learner::Logistic)] {
        let settings = Settings { learner, ..base() };
        let candidates = grid(&[Mode::Oblivious], &[1.0])
            .candidates(&settings)
            .unwrap();
        let mut settings = quick();
        settings.audit.measures = vec![Measure::Separation];
        let frontier = run(&settings, roles(&table, target), &candidates);
        assert_eq!(frontier.measures, [Measure::Separation]);
        assert_eq!(frontier.axes()[0].0.name, "sex × age");
        for candidate in &frontier.candidates {
            let found = candidate.of("sex × age", Measure::Separation).unwrap();
            assert!(found.measured.value.is_finite() && found.measured.rows == 36);
        }
    }
}
