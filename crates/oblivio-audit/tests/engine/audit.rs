//! The measures of an audit against their definitions, on rows where the truth is known.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use oblivio::partition::Missing;
use oblivio::{Column, Error, Sensitive, Watch};
use oblivio_audit::{
    Audit, AuditRows, AuditSettings, Finding, Measure, Resampling, Role, certificate,
};
use oblivio_testing::{rounding, size};
use proptest::prelude::*;
use serde::Deserialize;

/// Uniform numbers from a seed, without a library: tests must not move when a library does.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() * bound as f64) as usize
    }
}

fn labels(cells: &[usize]) -> Column {
    let names: Vec<String> = cells.iter().map(|cell| format!("c{cell}")).collect();
    Column::texts("s", names.iter().map(|name| Some(name.as_str())))
}

fn rows(subject: Column, s: Column) -> AuditRows {
    let count = s.len();
    AuditRows {
        subjects: vec![(Role::of(&subject), subject)],
        features: Vec::new(),
        whole_table: false,
        sensitive: Sensitive::new(vec![s], count).unwrap(),
        truth: None,
        control: Vec::new(),
        weights: None,
    }
}

/// All cells count, however small, and only what compares cells is measured.
fn settings() -> AuditSettings {
    AuditSettings {
        least_rows: 1,
        measures: CELLS.to_vec(),
        resampling: Resampling {
            permutations: 99,
            resamples: 99,
            ..Resampling::default()
        },
        ..AuditSettings::default()
    }
}

const CELLS: [Measure; 9] = [
    Measure::CorrelationRatio,
    Measure::MeanGap,
    Measure::Beta,
    Measure::BetaBound,
    Measure::ParityDifference,
    Measure::ParityRatio,
    Measure::EqualizedOdds,
    Measure::Wasserstein,
    Measure::KolmogorovSmirnov,
];

fn run(settings: &AuditSettings, rows: &AuditRows) -> Audit {
    settings.run(rows, &Watch::default()).unwrap()
}

fn found(audit: &Audit, measure: Measure) -> &Finding {
    let mut findings = audit.findings.iter();
    findings.find(|finding| finding.measure == measure).unwrap()
}

fn value(audit: &Audit, measure: Measure) -> f64 {
    found(audit, measure).measured.value
}

#[derive(Deserialize)]
struct BetaCase {
    yhat: Vec<f64>,
    s: Vec<f64>,
    beta_paper_half_float: f64,
    beta_code_no_half_float: f64,
}

#[test]
fn beta_of_the_fixtures() {
    let text = include_str!("../fixtures/beta.json");
    let cases: Vec<BetaCase> = serde_json::from_str(text).unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let audit = run(
            &settings(),
            &rows(
                Column::numbers("yhat", case.yhat),
                Column::numbers("s", case.s),
            ),
        );
        let beta = found(&audit, Measure::Beta);
        assert!((beta.measured.value - case.beta_paper_half_float).abs() < 1e-15);
        assert!((beta.further["without-half"] - case.beta_code_no_half_float).abs() < 1e-15);
    }
}

/// Everything that compares cells, by the definitions, for rows with whole weights.
struct Slow {
    scores: Vec<f64>,
    cells: Vec<usize>,
    count: usize,
}

impl Slow {
    fn of_cell(&self, cell: usize) -> Vec<f64> {
        let rows = self.scores.iter().zip(&self.cells);
        rows.filter(|(_, c)| **c == cell).map(|(y, _)| *y).collect()
    }

    fn pairs(&self, distance: impl Fn(&[f64], &[f64]) -> f64) -> f64 {
        let mut most = 0.0f64;
        for a in 0..self.count {
            for b in 0..a {
                let (a, b) = (self.of_cell(a), self.of_cell(b));
                if !a.is_empty() && !b.is_empty() {
                    most = most.max(distance(&a, &b));
                }
            }
        }
        most
    }

    fn deviation(&self) -> f64 {
        let mean = average(&self.scores);
        let squares: f64 = self.scores.iter().map(|y| (y - mean).powi(2)).sum();
        (squares / self.scores.len() as f64).sqrt()
    }

    fn correlation_ratio(&self) -> f64 {
        let mean = average(&self.scores);
        let mut between = 0.0;
        for cell in 0..self.count {
            let of_cell = self.of_cell(cell);
            if !of_cell.is_empty() {
                between += of_cell.len() as f64 * (average(&of_cell) - mean).powi(2);
            }
        }
        between / (self.scores.len() as f64 * self.deviation().powi(2))
    }
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn share_at_most(values: &[f64], limit: f64) -> f64 {
    values.iter().filter(|v| **v <= limit).count() as f64 / values.len() as f64
}

fn wasserstein(a: &[f64], b: &[f64]) -> f64 {
    let mut all = [a, b].concat();
    all.sort_by(f64::total_cmp);
    let steps = all.windows(2);
    steps
        .map(|w| (w[1] - w[0]) * (share_at_most(a, w[0]) - share_at_most(b, w[0])).abs())
        .sum()
}

fn kolmogorov(a: &[f64], b: &[f64]) -> f64 {
    let all = [a, b].concat();
    let apart = all
        .iter()
        .map(|v| (share_at_most(a, *v) - share_at_most(b, *v)).abs());
    apart.fold(0.0, f64::max)
}

/// A bound on the rounding of measures: scores are rounded at their distance from zero, `origin` more than here, and measured in
/// standard deviations.
fn rounding_of_measures(slow: &Slow, origin: f64) -> f64 {
    let distance = origin + size(&slow.scores);
    rounding(slow.scores.len(), 1.0 + distance / slow.deviation())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn measures_are_what_their_definitions_say(
        seed in any::<u64>(), count in 2usize..5, n in 12usize..60, ties in any::<bool>(),
    ) {
        let mut random = Uniform(seed);
        let cells: Vec<usize> = (0..n).map(|i| if i < count { i } else { random.below(count) }).collect();
        let score = |cell: usize, random: &mut Uniform| {
            let y = 3.0 * random.next() + cell as f64 / 3.0 + 0.25;
            if ties { (4.0 * y).round() / 4.0 + 0.125 } else { y }
        };
        let scores: Vec<f64> = cells.iter().map(|&cell| score(cell, &mut random)).collect();
        let slow = Slow { scores: scores.clone(), cells: cells.clone(), count };
        let audit = run(&settings(), &rows(Column::numbers("y", scores.clone()), labels(&cells)));
        let unit = slow.deviation();
        let gap = slow.pairs(|a, b| (average(a) - average(b)).abs());
        let line = 1.5;
        let decided = AuditSettings { threshold: Some(line), ..settings() };
        let decided = run(&decided, &rows(Column::numbers("y", scores), labels(&cells)));
        let rate = |values: &[f64]| values.iter().filter(|v| **v >= line).count() as f64 / values.len() as f64;
        let tolerance = rounding_of_measures(&slow, 0.0);
        for (measure, expected) in [
            (Measure::CorrelationRatio, slow.correlation_ratio()),
            (Measure::MeanGap, gap / unit),
            (Measure::Wasserstein, slow.pairs(wasserstein) / unit),
            (Measure::KolmogorovSmirnov, slow.pairs(kolmogorov)),
        ] {
            let value = value(&audit, measure);
            prop_assert!((value - expected).abs() <= tolerance, "{measure:?}: {value} and {expected}");
        }
        let difference = slow.pairs(|a, b| (rate(a) - rate(b)).abs());
        prop_assert!((value(&decided, Measure::ParityDifference) - difference).abs() <= rounding(n, 1.0));
        let rates: Vec<f64> = (0..count).map(|c| rate(&slow.of_cell(c))).collect();
        let (least, most) = (rates.iter().copied().fold(1.0, f64::min), rates.iter().copied().fold(0.0, f64::max));
        let ratio = if most > 0.0 { least / most } else { 1.0 };
        prop_assert!((value(&decided, Measure::ParityRatio) - ratio).abs() <= rounding(n, 1.0));
    }

    /// A row of weight 3 is three rows.
    #[test]
    fn weights_are_repetitions(seed in any::<u64>(), n in 12usize..40) {
        let mut random = Uniform(seed);
        let cells: Vec<usize> = (0..n).map(|i| i % 3).collect();
        let scores: Vec<f64> = (0..n).map(|i| random.next() + (i % 3) as f64 / 4.0).collect();
        let weights: Vec<usize> = (0..n).map(|_| 1 + random.below(3)).collect();
        let repeated = |values: &[f64]| -> Vec<f64> {
            values.iter().zip(&weights).flat_map(|(v, w)| std::iter::repeat_n(*v, *w)).collect()
        };
        let twice: Vec<usize> = cells.iter().zip(&weights).flat_map(|(c, w)| std::iter::repeat_n(*c, *w)).collect();
        let mut weighted = rows(Column::numbers("y", scores.clone()), labels(&cells));
        weighted.weights = Some(weights.iter().map(|w| *w as f64).collect());
        let settings = AuditSettings { threshold: Some(0.6), ..settings() };
        let one = run(&settings, &weighted);
        let other = run(&settings, &rows(Column::numbers("y", repeated(&scores)), labels(&twice)));
        let tolerance = rounding_of_measures(&Slow { scores: repeated(&scores), cells: twice, count: 3 }, 0.0);
        for measure in CELLS {
            if matches!(measure, Measure::BetaBound | Measure::EqualizedOdds) {
                continue;
            }
            let (a, b) = (value(&one, measure), value(&other, measure));
            prop_assert!((a - b).abs() <= tolerance, "{measure:?}: {a} and {b}");
        }
    }

    /// Names, order of the rows, and the scores' unit and origin do not matter.
    #[test]
    fn invariances(seed in any::<u64>(), scale in 0.01f64..100.0, shift in -50.0f64..50.0) {
        let mut random = Uniform(seed);
        let n = 40;
        let cells: Vec<usize> = (0..n).map(|_| random.below(4)).collect();
        let scores: Vec<f64> = (0..n).map(|i| random.next() + cells[i] as f64 / 5.0).collect();
        let one = run(&settings(), &rows(Column::numbers("y", scores.clone()), labels(&cells)));
        let moved = scores.iter().rev().map(|y| scale * y + shift).collect();
        let renamed: Vec<usize> = cells.iter().rev().map(|c| 9 - c).collect();
        let other = run(&settings(), &rows(Column::numbers("y", moved), labels(&renamed)));
        let tolerance = rounding_of_measures(&Slow { scores, cells, count: 4 }, (shift / scale).abs());
        for measure in [
            Measure::CorrelationRatio, Measure::MeanGap, Measure::Beta,
            Measure::Wasserstein, Measure::KolmogorovSmirnov,
        ] {
            let (a, b) = (value(&one, measure), value(&other, measure));
            prop_assert!((a - b).abs() <= tolerance, "{measure:?}: {a} and {b}");
        }
    }
}

/// Of 400 tests at 5 % under independence, a valid one detects 20 ± 4.4 · 3.5.
#[test]
fn tests_of_independent_scores_keep_their_size() {
    let runs = 400;
    let mut detected = [0usize; CELLS.len()];
    for seed in 0..runs {
        let mut random = Uniform(seed * 7919 + 1);
        let cells: Vec<usize> = (0..60).map(|_| random.below(3)).collect();
        let scores: Vec<f64> = (0..60).map(|_| random.next()).collect();
        let truth: Vec<f64> = (0..60).map(|_| (random.next() > 0.5).into()).collect();
        let settings = AuditSettings {
            resampling: Resampling {
                permutations: 99,
                resamples: 19,
                seed,
                ..Resampling::default()
            },
            ..settings()
        };
        let mut rows = rows(Column::numbers("y", scores), labels(&cells));
        rows.truth = Some(Column::numbers("truth", truth));
        let audit = run(&settings, &rows);
        for (count, measure) in detected.iter_mut().zip(CELLS) {
            *count += usize::from(found(&audit, measure).detectable);
        }
    }
    for (count, measure) in detected.iter().zip(CELLS) {
        assert!((4..=36).contains(count), "{measure:?}: {count} of {runs}");
    }
}

/// Three cells of shifted scores; the true share of variance is known, and 95 % intervals should hold it in 95 % of runs.
/// Below 88 % of 200 (four and a half standard deviations) something is wrong.
#[test]
fn intervals_cover() {
    let shift = 0.5;
    // A uniform on (0, 1) plus the cell's shift: variance 1/12 within, shift²·2/3 between.
    let truth = (shift * shift * 2.0 / 3.0) / (shift * shift * 2.0 / 3.0 + 1.0 / 12.0);
    let runs = 200;
    let mut covered = 0;
    for seed in 0..runs {
        let mut random = Uniform(seed * 104_729 + 3);
        let cells: Vec<usize> = (0..200).map(|_| random.below(3)).collect();
        let scores = cells
            .iter()
            .map(|c| random.next() + shift * *c as f64)
            .collect();
        let settings = AuditSettings {
            measures: vec![Measure::CorrelationRatio],
            resampling: Resampling {
                permutations: 19,
                resamples: 199,
                seed,
                ..Resampling::default()
            },
            ..settings()
        };
        let audit = run(
            &settings,
            &rows(Column::numbers("y", scores), labels(&cells)),
        );
        let measured = found(&audit, Measure::CorrelationRatio).measured;
        covered += u64::from(measured.lower <= truth && truth <= measured.upper);
    }
    assert!(covered >= 176, "{covered} of {runs}");
}

/// P(Y = 1 | cell) is 0.3, 0.5 and 0.7, so β = ½ Σ|p_ij − p_i p_j| is 2/15; the certificate may fail in 5 % of samples.
#[test]
fn the_certificate_holds_at_its_level() {
    let truth = 2.0 / 15.0;
    let (runs, mut failed) = (1000, 0);
    let mut tightest = f64::INFINITY;
    for seed in 0..runs {
        let mut random = Uniform(seed * 31 + 5);
        let n = 60;
        let mut table = [[0.0; 2]; 3];
        for _ in 0..n {
            let cell = random.below(3);
            let chance = 0.3 + 0.2 * cell as f64;
            table[cell][usize::from(random.next() < chance)] += 1.0 / f64::from(n);
        }
        let of_label = [0, 1].map(|j| table.iter().map(|row| row[j]).sum::<f64>());
        let mut beta = 0.0;
        for row in table {
            for (j, p) in row.iter().enumerate() {
                beta += 0.5 * (p - row.iter().sum::<f64>() * of_label[j]).abs();
            }
        }
        let bound = certificate(beta, f64::from(n), 0.95);
        tightest = tightest.min(bound);
        failed += u64::from(bound < truth);
    }
    // Four standard deviations above 5 %; the inequality is far from tight.
    assert!(failed <= 77, "{failed} of {runs}");
    assert!(tightest < 1.0);
    // It says more with more rows, and never less than the value.
    assert!(certificate(0.1, 1e6, 0.95) < 0.11 && certificate(0.1, 1e6, 0.95) > 0.1);
    assert_eq!(certificate(0.1, 1.0, 0.95), 1.0);
}

#[test]
fn the_debiased_ratio_is_zero_on_average_under_independence() {
    let mut sum = 0.0;
    let runs = 300;
    for seed in 0..runs {
        let mut random = Uniform(seed * 17 + 11);
        let cells: Vec<usize> = (0..50).map(|i| i % 5).collect();
        let scores = (0..50).map(|_| random.next()).collect();
        let settings = AuditSettings {
            measures: vec![Measure::CorrelationRatio],
            resampling: Resampling {
                permutations: 19,
                resamples: 19,
                ..Resampling::default()
            },
            ..settings()
        };
        let audit = run(
            &settings,
            &rows(Column::numbers("y", scores), labels(&cells)),
        );
        sum += found(&audit, Measure::CorrelationRatio).further["debiased"];
    }
    // One value has a standard deviation of about 0.059; four standard errors.
    assert!((sum / runs as f64).abs() < 4.0 * 0.059 / (runs as f64).sqrt());
}

#[test]
fn everything_at_once_and_the_same_again() {
    let mut random = Uniform(5);
    let n = 400;
    let sex: Vec<usize> = (0..n).map(|_| random.below(2)).collect();
    let age: Vec<f64> = (0..n).map(|_| 20.0 + 50.0 * random.next()).collect();
    let before: Vec<f64> = (0..n)
        .map(|i| random.next() + sex[i] as f64 + age[i] / 40.0)
        .collect();
    let after: Vec<f64> = (0..n).map(|_| random.next()).collect();
    let truth: Vec<f64> = (0..n)
        .map(|_| f64::from(u8::from(random.next() > 0.4)))
        .collect();
    let carrier: Vec<f64> = age.iter().map(|age| age + random.next()).collect();
    let noise: Vec<f64> = (0..n).map(|_| random.next()).collect();
    let mut sexes = labels(&sex);
    sexes.name = "sex".into();
    let rows = AuditRows {
        subjects: vec![
            (Role::Before, Column::numbers("score", before)),
            (Role::After, Column::numbers("score", after)),
        ],
        features: vec![
            Column::numbers("noise", noise),
            Column::numbers("carrier", carrier),
        ],
        whole_table: true,
        sensitive: Sensitive::new(vec![sexes, Column::numbers("age", age)], n).unwrap(),
        truth: Some(Column::numbers("truth", truth)),
        control: Vec::new(),
        weights: None,
    };
    let settings = AuditSettings {
        resampling: Resampling {
            permutations: 39,
            resamples: 39,
            ..Resampling::default()
        },
        ..AuditSettings::default()
    };
    let audit = run(&settings, &rows);
    assert_eq!(audit, run(&settings, &rows));
    let names: Vec<&str> = audit.against.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["sex", "age", "sex × age"]);
    let subjects: Vec<&str> = audit.subjects.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(subjects, ["score", "score (2)", "features"]);
    let table = audit
        .finding("features", "age", Measure::Adversary)
        .unwrap();
    assert!(table.large && table.measured.value > 0.9);
    for measure in
        CELLS
            .into_iter()
            .chain([Measure::Hsic, Measure::Adversary, Measure::AdversaryLinear])
    {
        let before = audit.finding("score", "sex × age", measure).unwrap();
        let after = audit.finding("score (2)", "sex × age", measure).unwrap();
        assert!(
            before.detectable || measure == Measure::EqualizedOdds,
            "{measure:?}"
        );
        assert!(
            before.large || measure == Measure::EqualizedOdds,
            "{measure:?}"
        );
        assert!(!after.large, "{measure:?}");
        assert_eq!(after.measured.rows, n);
    }
    // Distance correlation is for two columns of numbers.
    assert!(
        audit
            .finding("score", "age", Measure::DistanceCorrelation)
            .is_some()
    );
    assert!(
        audit
            .finding("score", "sex", Measure::DistanceCorrelation)
            .is_none()
    );
    let of_age: Vec<&str> = audit
        .features
        .iter()
        .filter(|f| f.against == "age")
        .map(|f| f.feature.as_str())
        .collect();
    assert_eq!(of_age, ["carrier", "noise"]);
    // Before and after are drawn on the same axis, and each cell's shares add up.
    let profile = |subject: &str| {
        audit
            .profiles
            .iter()
            .find(|p| p.subject == subject)
            .unwrap()
    };
    assert_eq!(profile("score").edges, profile("score (2)").edges);
    for profile in &audit.profiles {
        for cell in profile.cells.iter().filter(|cell| !cell.shares.is_empty()) {
            assert!((cell.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(cell.lower <= cell.mean && cell.mean <= cell.upper);
        }
    }
    let json = serde_json::to_string(&audit).unwrap();
    assert_eq!(serde_json::from_str::<Audit>(&json).unwrap(), audit);
}

/// Base rates of 50 % and 5 %, and decisions that are a coin's: equal odds, though labels depend on the cell. Of 200 tests at
/// 5 %, 10 ± 3.1 · 4 are detectable.
#[test]
fn equal_odds_may_come_with_unequal_labels() {
    let mut detected = 0;
    for seed in 0..200u64 {
        let mut random = Uniform(seed * 8191 + 77);
        let n = 300;
        let cells: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let truth = cells
            .iter()
            .map(|c| f64::from(u8::from(random.next() < [0.5, 0.05][*c])));
        let truth: Vec<f64> = truth.collect();
        let decisions = (0..n)
            .map(|_| f64::from(u8::from(random.next() < 0.5)))
            .collect();
        let settings = AuditSettings {
            measures: vec![Measure::EqualizedOdds],
            resampling: Resampling {
                permutations: 99,
                resamples: 19,
                seed,
                ..Resampling::default()
            },
            ..settings()
        };
        let mut rows = rows(Column::numbers("d", decisions), labels(&cells));
        rows.truth = Some(Column::numbers("truth", truth));
        detected += u64::from(found(&run(&settings, &rows), Measure::EqualizedOdds).detectable);
    }
    assert!(detected <= 22, "{detected} of 200");
}

/// Eight cells of independent scores: an interval of a distance that left out zero would be one for something else.
#[test]
fn intervals_of_distances_hold_zero_under_independence() {
    let (runs, mut outside) = (60, [0; 5]);
    let distances = [
        Measure::MeanGap,
        Measure::Beta,
        Measure::ParityDifference,
        Measure::Wasserstein,
        Measure::KolmogorovSmirnov,
    ];
    for seed in 0..runs {
        let mut random = Uniform(seed * 2953 + 9);
        let cells: Vec<usize> = (0..500).map(|_| random.below(8)).collect();
        let scores = (0..500).map(|_| random.next()).collect();
        let audit = run(
            &settings(),
            &rows(Column::numbers("y", scores), labels(&cells)),
        );
        for (count, measure) in outside.iter_mut().zip(distances) {
            *count += usize::from(found(&audit, measure).measured.lower > 0.0);
        }
    }
    // 5 % of 60 and four standard deviations.
    assert!(outside.iter().all(|count| *count <= 9), "{outside:?}");
}

/// Weights that follow the cell are no dependence of the scores.
#[test]
fn weights_may_depend_on_the_cell() {
    let mut detected = 0;
    for seed in 0..100u64 {
        let mut random = Uniform(seed * 6151 + 21);
        let cells: Vec<usize> = (0..200).map(|i| i % 2).collect();
        let scores = (0..200).map(|_| random.next()).collect();
        let mut rows = rows(Column::numbers("y", scores), labels(&cells));
        let weight = |c: &usize| {
            if *c == 0 || random.next() < 0.2 {
                1.0
            } else {
                0.001
            }
        };
        rows.weights = Some(cells.iter().map(weight).collect());
        let settings = AuditSettings {
            measures: vec![Measure::KolmogorovSmirnov],
            ..settings()
        };
        detected += u64::from(found(&run(&settings, &rows), Measure::KolmogorovSmirnov).detectable);
    }
    // 5 % of 100 and four standard deviations.
    assert!(detected <= 14, "{detected} of 100");
}

#[test]
fn differences_far_from_zero_are_not_lost() {
    let far = 2f64.powi(60);
    let cells: Vec<usize> = (0..100).map(|i| i % 2).collect();
    let scores: Vec<f64> = (0..100).map(|i| far + 4096.0 * f64::from(i % 10)).collect();
    let audit = run(
        &settings(),
        &rows(Column::numbers("y", scores), labels(&cells)),
    );
    assert!(
        (found(&audit, Measure::MeanGap).further["in-units-of-the-score"] - 4096.0).abs() < 1.0
    );
}

#[test]
fn small_cells_are_flagged_and_a_single_row_is_not_shown() {
    let cells: Vec<usize> = (0..101).map(|i| if i == 100 { 2 } else { i % 2 }).collect();
    let scores: Vec<f64> = (0..101)
        .map(|i| {
            if i == 100 {
                1e6
            } else {
                f64::from(i % 7) + 0.5
            }
        })
        .collect();
    let settings = AuditSettings {
        least_rows: 20,
        ..settings()
    };
    let audit = run(
        &settings,
        &rows(Column::numbers("y", scores), labels(&cells)),
    );
    let small: Vec<bool> = audit.against[0]
        .cells
        .iter()
        .map(|cell| cell.small)
        .collect();
    assert_eq!(small, [false, false, true]);
    let profile = &audit.profiles[0];
    assert_eq!(profile.cells[2].mean, None);
    assert!(profile.cells[2].shares.is_empty());
    // The far score of the small cell is not the largest difference, and no edge of a bin gives it away.
    assert!(found(&audit, Measure::MeanGap).further["in-units-of-the-score"] < 7.0);
    assert!(profile.edges.iter().all(|edge| *edge < 1e6));
}

#[test]
fn degenerate_rows_have_no_dependence_and_no_nan() {
    let scores = || Column::numbers("y", (0..30).map(|i| f64::from(i) + 0.5).collect());
    let one_cell = Column::texts("s", (0..30).map(|_| Some("a")));
    let constant = Column::numbers("y", vec![2.5; 30]);
    let halves: Vec<usize> = (0..30).map(|i| i % 2).collect();
    let everything = AuditSettings {
        measures: Vec::new(),
        ..settings()
    };
    for (subject, s) in [(scores(), one_cell), (constant, labels(&halves))] {
        let audit = run(&everything, &rows(subject, s));
        for finding in &audit.findings {
            let measured = finding.measured;
            for number in [
                measured.value,
                measured.expected,
                measured.critical,
                measured.p_value,
                measured.lower,
                measured.upper,
            ] {
                assert!(number.is_finite(), "{finding:?}");
            }
            assert!(!finding.detectable && !finding.large, "{finding:?}");
        }
    }
}

#[test]
fn what_cannot_be_audited_is_refused() {
    let good = || rows(Column::numbers("y", vec![0.5; 30]), labels(&[0; 30]));
    let refused = |settings: &AuditSettings, rows: &AuditRows| {
        settings.run(rows, &Watch::default()).unwrap_err()
    };
    let mut missing = good();
    missing.subjects[0].1 = Column::numbers("y", vec![f64::NAN; 30]);
    assert!(matches!(
        refused(&settings(), &missing),
        Error::MissingValues { count: 30, .. }
    ));
    let mut short = good();
    short.subjects[0].1 = Column::numbers("y", vec![0.5; 29]);
    assert!(matches!(
        refused(&settings(), &short),
        Error::Length { found: 29, .. }
    ));
    let nothing = AuditRows {
        subjects: Vec::new(),
        ..good()
    };
    assert!(matches!(
        refused(&settings(), &nothing),
        Error::InvalidParameter {
            name: "what is audited",
            ..
        }
    ));
    let few = AuditSettings {
        resampling: Resampling {
            permutations: 5,
            ..Resampling::default()
        },
        ..settings()
    };
    assert!(refused(&few, &good()).to_string().contains("at least 19"));
    let mut large = good();
    large.subjects[0].1 = Column::numbers("y", (0..30).map(|i| 1e160 * f64::from(i)).collect());
    assert!(matches!(
        refused(&settings(), &large),
        Error::OutOfSize { .. }
    ));
    let names: Vec<String> = (0..120).map(|i| format!("person {i}")).collect();
    let texts = Column::texts("name", names.iter().map(|name| Some(name.as_str())));
    assert!(matches!(
        refused(&settings(), &rows(texts, labels(&[0; 120]))),
        Error::TooManyClasses { found: 120, .. }
    ));
    let text = Column::texts(
        "d",
        (0..30).map(|i| Some(if i % 2 == 0 { "no" } else { "yes" })),
    );
    let only_means = AuditSettings {
        measures: vec![Measure::CorrelationRatio],
        ..settings()
    };
    assert!(matches!(
        refused(&only_means, &rows(text, labels(&[0; 30]))),
        Error::NotDefined { .. }
    ));
    let gone = AuditRows {
        sensitive: Sensitive::new(vec![Column::texts("s", (0..30).map(|_| None))], 30).unwrap(),
        ..good()
    };
    assert!(matches!(
        refused(&settings(), &gone),
        Error::MissingSensitive { .. }
    ));
    let mut as_category = settings();
    as_category.rule.policies.missing = Missing::Category;
    assert_eq!(run(&as_category, &gone).against[0].cells.len(), 1);
}
