//! The measures that need true labels: their size, their power, and values that are known.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use oblivio::{Column, Error, Sensitive, Watch};
use oblivio_audit::{Audit, AuditRows, AuditSettings, Finding, Measure, Resampling, Role};
use oblivio_testing::rounding;

/// Numbers from a seed, without a library: tests must not move when a library does.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Mean 0 and variance 1, near a normal distribution.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn normals(&mut self, rows: usize) -> Vec<f64> {
        (0..rows).map(|_| self.normal()).collect()
    }
}

fn texts(name: &str, codes: &[usize]) -> Column {
    let names: Vec<String> = codes.iter().map(|code| format!("c{code}")).collect();
    Column::texts(name, names.iter().map(|name| Some(name.as_str())))
}

fn rows(subject: Column, s: Column, truth: Column) -> AuditRows {
    let count = s.len();
    AuditRows {
        subjects: vec![(Role::of_scores(&subject), subject)],
        features: Vec::new(),
        whole_table: false,
        sensitive: Sensitive::new(vec![s], count).unwrap(),
        truth: Some(truth),
        control: Vec::new(),
        weights: None,
    }
}

fn settings(measures: &[Measure], seed: u64) -> AuditSettings {
    AuditSettings {
        measures: measures.to_vec(),
        resampling: Resampling {
            permutations: 39,
            resamples: 39,
            seed,
            ..Resampling::default()
        },
        ..AuditSettings::default()
    }
}

fn run(settings: &AuditSettings, rows: &AuditRows) -> Audit {
    settings.run(rows, &Watch::default()).unwrap()
}

fn find(audit: &Audit, measure: Measure) -> &Finding {
    let mut findings = audit.findings.iter();
    findings.find(|finding| finding.measure == measure).unwrap()
}

fn column(name: &str, rows: usize, value: impl FnMut(usize) -> f64) -> Column {
    Column::numbers(name, (0..rows).map(value).collect())
}

/// A table whose score depends on S through the labels alone: any kinds of S and Y, and a curve in between.
fn separated(kind: usize, seed: u64) -> AuditRows {
    let mut random = Random(seed * 7919 + 1);
    let n = 160;
    let y = random.normals(n);
    let noise = random.normals(n);
    let other = random.normals(n);
    let s = |i: usize| y[i] + 0.5 * other[i];
    let curve = |y: f64| y + y * y / 2.0;
    let score = |y: f64, i: usize| curve(y) + noise[i] * (0.3 + y.abs());
    let level = |y: f64| usize::from(y > -0.5) + usize::from(y > 0.7);
    let levels: Vec<usize> = y.iter().map(|y| level(*y)).collect();
    match kind {
        0 => rows(
            column("f", n, |i| score(y[i], i)),
            column("s", n, s),
            Column::numbers("y", y.clone()),
        ),
        1 => rows(
            column("f", n, |i| score(levels[i] as f64, i)),
            column("s", n, s),
            texts("y", &levels),
        ),
        _ => rows(
            column("f", n, |i| score(y[i], i)),
            texts("s", &(0..n).map(|i| level(s(i))).collect::<Vec<_>>()),
            Column::numbers("y", y.clone()),
        ),
    }
}

/// Of 100 tests at 5 %, a valid one detects 5 ± 4 · 2.2 at most.
#[test]
fn separation_of_scores_that_follow_the_labels_keeps_its_size() {
    for kind in 0..3 {
        let detected = (0..100).filter(|&seed| {
            let audit = run(
                &settings(&[Measure::Separation], seed),
                &separated(kind, seed),
            );
            find(&audit, Measure::Separation).detectable
        });
        let detected = detected.count();
        assert!(detected <= 13, "kind {kind}: {detected} of 100");
    }
}

/// Without the labels the same scores depend on S, and the correlation ratio says so: separation is about the rest.
#[test]
fn separation_is_not_independence() {
    let measures = [Measure::CorrelationRatio, Measure::Separation];
    let audit = run(&settings(&measures, 1), &separated(0, 1));
    assert!(find(&audit, Measure::CorrelationRatio).measured.value > 0.2);
    assert!(find(&audit, Measure::Separation).measured.value < 0.05);
}

/// f = y + s and f = y + s·(2y − 1) with s of variance 1 and y a coin: S explains 1/1.25 and 4/5 of the variance. On 3000
/// rows a share of 0.8 has a standard deviation of about 2·0.8·0.2/√3000 = 0.006; smoothing costs less than 0.01.
#[test]
fn separation_finds_the_share_that_is_there() {
    for interaction in [false, true] {
        let mut random = Random(5);
        let n = 3000;
        let s = random.normals(n);
        let y: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i % 2 == 0))).collect();
        let sign = |i: usize| if interaction { 2.0 * y[i] - 1.0 } else { 1.0 };
        let f = column("f", n, |i| y[i] + s[i] * sign(i));
        let rows = rows(
            f,
            Column::numbers("s", s.clone()),
            Column::numbers("y", y.clone()),
        );
        let audit = run(&settings(&[Measure::Separation], 1), &rows);
        let found = find(&audit, Measure::Separation);
        assert!((found.measured.value - 0.8).abs() < 0.034, "{found:?}");
        assert!(found.measured.lower < 0.8 + 0.01 && found.measured.upper > 0.8 - 0.02);
        assert!(found.detectable && found.large);
    }
}

/// An effect of a third of the noise on 300 rows. Given Y, S explains 5 % of the rest of the variance: a t-test finds it in 98 of
/// 100 tables, and where only the sign of S is known, in 75. Four standard deviations below that are 17 and 7 of 20; held-out
/// regressions may lose a little.
#[test]
fn separation_has_power() {
    for labels in [false, true] {
        let detected = (0..20).filter(|&seed| {
            let mut random = Random(seed * 31 + 7);
            let n = 300;
            let (s, noise) = (random.normals(n), random.normals(n));
            let y: Vec<f64> = s.iter().map(|s| s + random.normal()).collect();
            let f = column("f", n, |i| y[i] + s[i] / 3.0 + noise[i]);
            let sign = |i: usize| usize::from(s[i] > 0.0);
            let s = if labels {
                texts("s", &(0..n).map(sign).collect::<Vec<_>>())
            } else {
                Column::numbers("s", s)
            };
            let rows = rows(f, s, Column::numbers("y", y));
            let audit = run(&settings(&[Measure::Separation], seed), &rows);
            find(&audit, Measure::Separation).detectable
        });
        let detected = detected.count();
        assert!(
            detected >= if labels { 9 } else { 15 },
            "{labels}: {detected} of 20"
        );
    }
}

/// A row's weight counts repetitions in the folds it is in: rows of weight 0 change nothing, equal weights are no weights.
#[test]
fn separation_with_weights_and_in_other_units() {
    let table = separated(0, 3);
    let settings = settings(&[Measure::Separation], 3);
    let value = |rows: &AuditRows| find(&run(&settings, rows), Measure::Separation).measured;
    let plain = value(&table);
    let weighted = AuditRows {
        weights: Some(vec![4.0; table.sensitive.len()]),
        ..table.clone()
    };
    assert!((value(&weighted).value - plain.value).abs() < 1e-9);
    let oblivio::Values::Numbers(scores) = &table.subjects[0].1.values else {
        panic!("scores are numbers");
    };
    let moved = scores.iter().map(|f| 1e6 * f + 1e7).collect();
    let moved = AuditRows {
        subjects: vec![(Role::Score, Column::numbers("f", moved))],
        ..table.clone()
    };
    // The regressions lose the digits between the scores and their mean.
    assert!((value(&moved).value - plain.value).abs() < 1e-7);
    assert_eq!(value(&moved).p_value, plain.p_value);
}

#[test]
fn separation_of_classes_is_told_class_by_class() {
    let mut random = Random(11);
    let n = 600;
    let s: Vec<usize> = (0..n).map(|i| i % 2).collect();
    let y: Vec<usize> = (0..n).map(|_| (3.0 * random.uniform()) as usize).collect();
    // Class 2 is taken for class 1 in one group only.
    let decided: Vec<usize> = (0..n)
        .map(|i| if y[i] == 2 && s[i] == 1 { 1 } else { y[i] })
        .collect();
    let rows = rows(texts("f", &decided), texts("s", &s), texts("y", &y));
    let measures = [
        Measure::Separation,
        Measure::EqualizedOdds,
        Measure::TruePositiveGap,
        Measure::FalsePositiveGap,
    ];
    let audit = run(&settings(&measures, 1), &rows);
    let of_class = |measure, class: &str| find(&audit, measure).further[class];
    assert!(of_class(Measure::Separation, "class-c2") > 0.1);
    assert!(of_class(Measure::Separation, "class-c0").abs() < 0.02);
    assert_eq!(of_class(Measure::TruePositiveGap, "class-c2"), 1.0);
    assert_eq!(of_class(Measure::TruePositiveGap, "class-c0"), 0.0);
    assert_eq!(of_class(Measure::FalsePositiveGap, "class-c2"), 0.0);
    let taken = (0..n).filter(|&i| s[i] == 1 && y[i] != 1);
    let wrong = (0..n).filter(|&i| s[i] == 1 && y[i] == 2).count() as f64 / taken.count() as f64;
    assert!((of_class(Measure::FalsePositiveGap, "class-c1") - wrong).abs() < rounding(n, 1.0));
    let odds = find(&audit, Measure::EqualizedOdds);
    assert_eq!(odds.measured.value, 1.0);
    assert_eq!(odds.detail.as_deref(), Some("largest for class c2"));
    assert!(odds.detectable);
}

/// Both gaps by their definitions; equalised odds are the larger one.
#[test]
fn gaps_are_differences_of_rates() {
    let mut random = Random(13);
    let n = 200;
    let s: Vec<usize> = (0..n).map(|_| (3.0 * random.uniform()) as usize).collect();
    let y: Vec<usize> = (0..n)
        .map(|_| usize::from(random.uniform() < 0.5))
        .collect();
    let f = column("f", n, |i| {
        random.uniform() + 0.2 * s[i] as f64 * y[i] as f64
    });
    let oblivio::Values::Numbers(scores) = &f.values else {
        panic!("scores are numbers");
    };
    let rate = |cell: usize, label: usize| {
        let of = (0..n).filter(|&i| s[i] == cell && y[i] == label);
        let chosen = of.clone().filter(|&i| scores[i] >= 0.6).count();
        chosen as f64 / of.count() as f64
    };
    let gap = |label: usize| {
        let rates = [0, 1, 2].map(|cell| rate(cell, label));
        rates.iter().fold(0.0f64, |a, b| a.max(*b)) - rates.iter().fold(1.0f64, |a, b| a.min(*b))
    };
    let measures = [
        Measure::EqualizedOdds,
        Measure::TruePositiveGap,
        Measure::FalsePositiveGap,
    ];
    let settings = AuditSettings {
        threshold: Some(0.6),
        least_rows: 1,
        ..settings(&measures, 1)
    };
    let audit = run(&settings, &rows(f.clone(), texts("s", &s), texts("y", &y)));
    let expected = [gap(0).max(gap(1)), gap(1), gap(0)];
    for (measure, expected) in measures.into_iter().zip(expected) {
        let value = find(&audit, measure).measured.value;
        assert!((value - expected).abs() < rounding(n, 1.0), "{measure:?}");
    }
}

/// Base rates of 60 % and 20 %, and rates of positive decisions that follow the label alone: independence fails, the gaps
/// are chance. Of 100 tests at 5 %, at most 5 + 4 · 2.2 are detectable.
#[test]
fn gaps_keep_their_size_for_several_classes() {
    let measures = [
        Measure::EqualizedOdds,
        Measure::TruePositiveGap,
        Measure::FalsePositiveGap,
    ];
    let mut detected = [0; 3];
    for seed in 0..100 {
        let mut random = Random(seed * 104_729 + 3);
        let n = 240;
        let s: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let pick = |random: &mut Random, first: f64| {
            let u = random.uniform();
            usize::from(u > first) + usize::from(u > first + (1.0 - first) / 2.0)
        };
        let y: Vec<usize> = s
            .iter()
            .map(|s| pick(&mut random, [0.6, 0.2][*s]))
            .collect();
        let f: Vec<usize> = y
            .iter()
            .map(|y| pick(&mut random, [0.7, 0.2, 0.3][*y]))
            .collect();
        let rows = rows(texts("f", &f), texts("s", &s), texts("y", &y));
        let audit = run(&settings(&measures, seed), &rows);
        for (count, measure) in detected.iter_mut().zip(measures) {
            *count += usize::from(find(&audit, measure).detectable);
        }
    }
    assert!(detected.iter().all(|count| *count <= 13), "{detected:?}");
}

/// A score named after one of several classes is held against the rows of that class.
#[test]
fn a_score_for_a_class_goes_by_its_name() {
    let mut random = Random(17);
    let n = 120;
    let y: Vec<usize> = (0..n).map(|i| i % 3).collect();
    let s: Vec<usize> = (0..n).map(|i| i / 3 % 2).collect();
    let scores = random.normals(n);
    let settings = AuditSettings {
        threshold: Some(0.0),
        ..settings(&[Measure::EqualizedOdds], 1)
    };
    let odds = |name: &str, truth: Column| {
        let rows = rows(Column::numbers(name, scores.clone()), texts("s", &s), truth);
        settings.run(&rows, &Watch::default())
    };
    let indicator: Vec<usize> = y.iter().map(|y| usize::from(*y == 1)).collect();
    let one = odds("score_c1", texts("y", &y)).unwrap();
    let same = odds("f", texts("y", &indicator)).unwrap();
    let value = |audit: &Audit| find(audit, Measure::EqualizedOdds).measured.value;
    assert_eq!(value(&one), value(&same));
    // A score for no class has no decision for any.
    assert!(matches!(
        odds("score", texts("y", &y)),
        Err(Error::NotDefined { .. })
    ));
}

#[test]
fn labels_that_cannot_be_used_are_refused() {
    let table = separated(0, 1);
    let n = table.sensitive.len();
    let refused = |truth: Column| {
        let rows = AuditRows {
            truth: Some(truth),
            ..table.clone()
        };
        let settings = settings(&[Measure::Separation], 1);
        settings.run(&rows, &Watch::default()).unwrap_err()
    };
    let missing = column("y", n, |i| if i == 4 { f64::NAN } else { i as f64 });
    assert!(matches!(
        refused(missing),
        Error::MissingValues { count: 1, .. }
    ));
    let huge = column("y", n, |i| 1e160 * i as f64);
    assert!(matches!(refused(huge), Error::OutOfSize { .. }));
    let names = texts("y", &(0..n).collect::<Vec<_>>());
    assert!(matches!(refused(names), Error::TooManyClasses { .. }));
    assert!(matches!(
        refused(column("y", 3, |i| i as f64)),
        Error::Length { .. }
    ));
}

/// Nothing varies: nothing is explained, and no number is undefined.
#[test]
fn constants_have_no_separation() {
    let n = 40;
    let some = || column("v", n, |i| (i * i % 17) as f64 + 0.5);
    let constant = || column("c", n, |_| 2.5);
    for (f, s, y) in [
        (constant(), some(), some()),
        (some(), texts("s", &vec![0; n]), some()),
        (some(), some(), constant()),
    ] {
        let audit = run(&settings(&[Measure::Separation], 1), &rows(f, s, y));
        let measured = find(&audit, Measure::Separation).measured;
        for number in [
            measured.value,
            measured.expected,
            measured.lower,
            measured.upper,
        ] {
            assert!(number.is_finite(), "{measured:?}");
        }
    }
}

/// Decisions by a factor that S goes with: unequal shares, equal within the levels of the factor.
fn explained_by(factor: Column, s: &[usize], level: &[usize]) -> AuditRows {
    let mut random = Random(19);
    let decided = level
        .iter()
        .map(|level| f64::from(u8::from(random.uniform() < [0.2, 0.8][*level])));
    let decided = decided.collect();
    AuditRows {
        control: vec![factor],
        truth: None,
        ..rows(
            Column::numbers("d", decided),
            texts("s", s),
            Column::numbers("y", vec![0.0; s.len()]),
        )
    }
}

/// Conditional demographic disparity: the difference within each level of the factor, by the rows of the levels.
#[test]
fn measures_of_cells_are_averaged_within_levels_of_a_factor() {
    let mut random = Random(23);
    let n = 600;
    let level: Vec<usize> = (0..n)
        .map(|_| usize::from(random.uniform() < 0.5))
        .collect();
    let goes =
        |level: &usize, random: &mut Random| usize::from(random.uniform() < [0.2, 0.8][*level]);
    let s: Vec<usize> = level.iter().map(|l| goes(l, &mut random)).collect();
    let table = explained_by(texts("a", &level), &s, &level);
    let oblivio::Values::Numbers(decided) = &table.subjects[0].1.values else {
        panic!("decisions are numbers");
    };
    let difference = |rows: &[usize]| {
        let rate = |cell: usize| {
            let of = rows.iter().filter(|&&i| s[i] == cell);
            of.clone().map(|&i| decided[i]).sum::<f64>() / of.count() as f64
        };
        (rate(0) - rate(1)).abs()
    };
    let of_level = |l: usize| -> Vec<usize> { (0..n).filter(|&i| level[i] == l).collect() };
    let weighted = |l: usize| of_level(l).len() as f64 / n as f64 * difference(&of_level(l));
    let measures = [Measure::ParityDifference, Measure::ConditionalParity];
    let audit = run(&settings(&measures, 1), &table);
    assert_eq!(audit.control, ["a"]);
    let found = find(&audit, Measure::ParityDifference);
    let expected = weighted(0) + weighted(1);
    assert!((found.measured.value - expected).abs() < rounding(n, 1.0));
    assert!(!found.large && found.detail.is_none());
    assert!(!find(&audit, Measure::ConditionalParity).large);
    // Without the factor the same decisions are far from parity.
    let free = AuditRows {
        control: Vec::new(),
        ..table.clone()
    };
    let audit = run(&settings(&[Measure::ParityDifference], 1), &free);
    let found = find(&audit, Measure::ParityDifference);
    assert!(found.large && found.detectable && found.measured.value > 0.2);
}

/// A factor of one level changes nothing, to the bit.
#[test]
fn a_constant_factor_is_none() {
    let table = separated(2, 3);
    let everything = AuditSettings {
        threshold: Some(0.3),
        ..settings(&[], 1)
    };
    let one = AuditRows {
        control: vec![texts("a", &vec![0; table.sensitive.len()])],
        ..table.clone()
    };
    let (plain, one) = (run(&everything, &table), run(&everything, &one));
    for finding in &one.findings {
        let of_labels = [Measure::Separation, Measure::ConditionalParity];
        if !of_labels.contains(&finding.measure) {
            assert_eq!(finding.measured, find(&plain, finding.measure).measured);
        }
    }
    let taken = |audit: &Audit, measure| audit.findings.iter().any(|f| f.measure == measure);
    assert!(taken(&plain, Measure::Hsic) && !taken(&one, Measure::Hsic));
    assert!(
        one.notes
            .iter()
            .any(|note| note.contains("would ignore these groups"))
    );
}

/// A score that follows a continuous factor with which S goes. Of 60 tests at 5 %, a valid one detects 3 ± 4 · 1.7 at most.
#[test]
fn conditional_parity_of_a_continuous_factor_keeps_its_size() {
    let detected = (0..60).filter(|&seed| {
        let table = separated(0, seed);
        let control = table.truth.clone().into_iter().collect();
        let table = AuditRows {
            control,
            truth: None,
            ..table
        };
        let audit = run(&settings(&[Measure::ConditionalParity], seed), &table);
        find(&audit, Measure::ConditionalParity).detectable
    });
    let detected = detected.count();
    assert!(detected <= 10, "{detected} of 60");
}

#[test]
fn a_factor_has_one_role_and_a_known_name() {
    let table = separated(0, 1);
    let with = |control: Column, rule: &[&str]| {
        let rows = AuditRows {
            control: vec![control],
            ..table.clone()
        };
        let mut settings = settings(&[Measure::ConditionalParity], 1);
        settings.rule.categorical = rule.iter().map(|&name| name.to_owned()).collect();
        settings
            .run(&rows, &Watch::default())
            .map(|audit| audit.findings.len())
    };
    let n = table.sensitive.len();
    let numbers = |name: &str| column(name, n, |i| (i % 5) as f64);
    assert!(matches!(
        with(numbers("s"), &[]),
        Err(Error::DuplicateColumn { .. })
    ));
    assert!(matches!(
        with(numbers("a"), &["b"]),
        Err(Error::UnknownColumn { .. })
    ));
    assert_eq!(with(numbers("a"), &["a"]).unwrap(), 1);
    let missing = column("a", n, |i| if i == 3 { f64::NAN } else { i as f64 });
    assert!(with(missing, &[]).is_err());
}

/// Chances and outcomes drawn with them: calibrated in every group, although groups have different chances. Of 100 tests at
/// 5 %, a valid one detects 5 ± 4 · 2.2 at most.
#[test]
fn calibration_keeps_its_size_where_groups_have_other_scores() {
    let mut detected = 0;
    for seed in 0..100 {
        let (table, _) = chances(400, 0.0, seed);
        let audit = run(&settings(&[Measure::Calibration], seed), &table);
        detected += usize::from(find(&audit, Measure::Calibration).detectable);
    }
    assert!(detected <= 13, "{detected} of 100");
}

/// Scores and outcomes; outcomes of group 1 are `off` more likely than their scores say.
fn chances(n: usize, off: f64, seed: u64) -> (AuditRows, Vec<usize>) {
    let mut random = Random(seed * 6151 + 9);
    let s: Vec<usize> = (0..n)
        .map(|_| usize::from(random.uniform() < 0.4))
        .collect();
    let score = |s: usize, random: &mut Random| 0.1 + 0.4 * random.uniform() + 0.2 * s as f64;
    let scores: Vec<f64> = s.iter().map(|s| score(*s, &mut random)).collect();
    let outcome = |i: usize| f64::from(u8::from(random.uniform() < scores[i] + off * s[i] as f64));
    let outcomes = column("y", n, outcome);
    (
        rows(Column::numbers("f", scores), texts("s", &s), outcomes),
        s,
    )
}

/// Group 1 is off by 0.2. Among like scores with a share p of group 1, the mean distance is 2p(1 − p)·0.2: where both groups
/// have scores (0.3 to 0.5), p is 0.4, elsewhere one group is alone.
#[test]
fn calibration_finds_the_distance_that_is_there() {
    let n = 6000;
    let (table, s) = chances(n, 0.2, 3);
    let audit = run(&settings(&[Measure::Calibration], 1), &table);
    let found = find(&audit, Measure::Calibration);
    // Half of the rows have scores that both groups have.
    let expected = 0.5 * 2.0 * 0.4 * 0.6 * 0.2;
    let raw = found.further["in-units-of-the-target"];
    // Ten bins of 600 rows; a mean distance of pure noise is about 0.01 here, and two bins lie across an edge.
    assert!((raw - expected).abs() < 0.02, "{raw} and {expected}");
    assert!(found.detectable);
    let detail = found.detail.as_deref().unwrap();
    assert!(
        detail.starts_with("c1: outcomes") && detail.contains("above"),
        "{detail}"
    );
    // The curve of each cell is the mean outcome of its rows, bin by bin, and rows add up.
    let profile = &audit.profiles[0];
    let of_cell = |cell: usize| s.iter().filter(|code| **code == cell).count();
    for (cell, own) in profile.cells.iter().enumerate() {
        let told: usize = own.reliability.iter().map(|bin| bin.rows).sum();
        assert!(told <= of_cell(cell) && told + 4 * 10 >= of_cell(cell));
        for bin in &own.reliability {
            assert!(bin.lower <= bin.outcome && bin.outcome <= bin.upper && bin.rows >= 5);
            assert!((0.0..=1.0).contains(&bin.lower) && (0.0..=1.0).contains(&bin.upper));
        }
    }
    assert_eq!(
        profile
            .all
            .reliability
            .iter()
            .map(|bin| bin.rows)
            .sum::<usize>(),
        n
    );
}

/// Two classes of decisions are two bins: the distance by its definition.
#[test]
fn calibration_of_decisions_by_hand() {
    let mut random = Random(29);
    let n = 300;
    let draw = |random: &mut Random, chance: f64| f64::from(u8::from(random.uniform() < chance));
    let s: Vec<usize> = (0..n).map(|i| i % 3).collect();
    let d: Vec<f64> = (0..n).map(|_| draw(&mut random, 0.4)).collect();
    let y: Vec<f64> = (0..n)
        .map(|i| draw(&mut random, 0.2 + 0.4 * d[i] + 0.1 * s[i] as f64))
        .collect();
    let mut expected = 0.0;
    for bin in [0.0, 1.0] {
        let mean = |of: &dyn Fn(usize) -> bool| {
            let of: Vec<usize> = (0..n).filter(|&i| d[i] == bin && of(i)).collect();
            (
                of.len() as f64,
                of.iter().map(|&i| y[i]).sum::<f64>() / of.len() as f64,
            )
        };
        let (_, all) = mean(&|_| true);
        for cell in 0..3 {
            let (rows, own) = mean(&|i| s[i] == cell);
            expected += rows / n as f64 * (own - all).abs();
        }
    }
    let table = rows(
        Column::numbers("d", d),
        texts("s", &s),
        Column::numbers("y", y),
    );
    let audit = run(&settings(&[Measure::Calibration], 1), &table);
    let raw = find(&audit, Measure::Calibration).further["in-units-of-the-target"];
    assert!((raw - expected).abs() < rounding(n, 1.0));
}

#[test]
fn errors_by_cell_are_rates_and_root_mean_squares() {
    let mut random = Random(31);
    let n = 400;
    let s: Vec<usize> = (0..n).map(|i| i % 2).collect();
    let y = random.normals(n);
    let noise = random.normals(n);
    let f: Vec<f64> = (0..n).map(|i| y[i] + noise[i] * [0.3, 0.9][s[i]]).collect();
    let rmse = |cell: usize| {
        let squares = (0..n)
            .filter(|i| s[*i] == cell)
            .map(|i| (y[i] - f[i]).powi(2));
        (squares.sum::<f64>() / (n / 2) as f64).sqrt()
    };
    let mean = y.iter().sum::<f64>() / n as f64;
    let unit = (y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
    let table = rows(
        Column::numbers("f", f.clone()),
        texts("s", &s),
        Column::numbers("y", y.clone()),
    );
    let audit = run(&settings(&[Measure::ErrorGap], 1), &table);
    let found = find(&audit, Measure::ErrorGap);
    let tolerance = 10.0 * rounding(n, 1.0);
    assert!((found.measured.value - (rmse(1) - rmse(0)) / unit).abs() < tolerance);
    assert!(found.detectable && found.large);
    assert_eq!(found.detail.as_deref(), Some("between c0 and c1"));
    let cells = &audit.profiles[0].cells;
    for (cell, own) in cells.iter().enumerate() {
        assert!((own.error.unwrap() - rmse(cell)).abs() < tolerance);
        assert!(own.error_lower.unwrap() < rmse(cell) && rmse(cell) < own.error_upper.unwrap());
    }
    // Decisions and labels of two kinds: shares of wrong decisions.
    let side =
        |values: &[f64]| -> Vec<usize> { values.iter().map(|v| usize::from(*v > 0.0)).collect() };
    let (decided, truth) = (side(&f), side(&y));
    let rate = |cell: usize| {
        let wrong = (0..n).filter(|&i| s[i] == cell && decided[i] != truth[i]);
        wrong.count() as f64 / (n / 2) as f64
    };
    let table = rows(texts("f", &decided), texts("s", &s), texts("y", &truth));
    let audit = run(&settings(&[Measure::ErrorGap], 1), &table);
    let value = find(&audit, Measure::ErrorGap).measured.value;
    assert!((value - (rate(1) - rate(0)).abs()).abs() < rounding(n, 1.0));
}

/// Of 100 tests at 5 % of errors that do not depend on S, a valid one detects 5 ± 4 · 2.2 at most.
#[test]
fn equal_errors_keep_their_size() {
    let detected = (0..100).filter(|&seed| {
        let mut random = Random(seed * 2953 + 5);
        let n = 120;
        let (y, noise) = (random.normals(n), random.normals(n));
        let s: Vec<usize> = y.iter().map(|y| usize::from(*y > 0.3)).collect();
        let f = column("f", n, |i| y[i] + noise[i]);
        let table = rows(f, texts("s", &s), Column::numbers("y", y));
        let audit = run(&settings(&[Measure::ErrorGap], seed), &table);
        find(&audit, Measure::ErrorGap).detectable
    });
    let detected = detected.count();
    assert!(detected <= 13, "{detected} of 100");
}
