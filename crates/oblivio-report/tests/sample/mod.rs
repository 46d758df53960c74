//! Audits as they come: made up, but of the shape and size of real ones.
#![allow(dead_code)]

use std::collections::BTreeMap;

use oblivio::sensitive::Kind;
use oblivio_audit::{
    Against, Audit, CellProfile, CellRows, FeatureFinding, Finding, Measure, Measured, Null,
    Profile, ReliabilityBin, Resampling, Role, Subject,
};
use oblivio_base::Named;

const ROWS: usize = 3000;

/// A score before and after, a label and features, against sex, age and both.
pub fn full() -> Audit {
    let subjects = [
        ("score before", Role::Before),
        ("score", Role::After),
        ("admitted", Role::Label),
        ("features", Role::Features),
    ];
    audit(&subjects, &["sex", "age"])
}

/// One score with nothing to compare it with.
pub fn score() -> Audit {
    audit(&[("score", Role::Score)], &["sex"])
}

/// Labels only.
pub fn label() -> Audit {
    audit(&[("admitted", Role::Label)], &["sex", "age"])
}

/// Features only: there are no distributions.
pub fn features() -> Audit {
    audit(&[("features", Role::Features)], &["sex"])
}

/// What is seldom met: bins without limits and of unequal width, cells of which nothing is known, values that are no
/// numbers, weights.
pub fn odd() -> Audit {
    let mut audit = full();
    audit.weighted = true;
    audit.effective_rows = 1234.5;
    for profile in &mut audit.profiles {
        if let [first, second, .., last] = &mut profile.edges[..] {
            (*first, *second, *last) = (f64::NEG_INFINITY, 0.01, f64::INFINITY);
        }
        profile.cells[0] = CellProfile::default();
        profile.cells[1].shares.clear();
        (profile.cells[1].lower, profile.cells[1].upper) = (None, None);
    }
    for finding in &mut audit.findings {
        let measured = &mut finding.measured;
        match finding.measure {
            Measure::Beta => (measured.lower, measured.upper) = (f64::NAN, f64::INFINITY),
            Measure::Hsic => measured.value = f64::NAN,
            Measure::MeanGap => (measured.expected, measured.critical) = (f64::NAN, f64::NAN),
            _ => {}
        }
    }
    for feature in audit.features.iter_mut().step_by(3) {
        feature.hsic.upper = f64::NAN;
        feature.hsic.critical = f64::NAN;
    }
    audit
}

/// A score against a column of many cells.
pub fn many_cells(cells: usize) -> Audit {
    let mut audit = audit(
        &[("score before", Role::Before), ("score", Role::After)],
        &["sex"],
    );
    let against = &mut audit.against[0];
    against.name = "occupation".into();
    against.columns = vec!["occupation".into()];
    against.cells = (0..cells)
        .map(|at| cell(format!("occupation={at}"), 1 + (at * 7919) % 97))
        .collect();
    for finding in &mut audit.findings {
        finding.against = "occupation".into();
    }
    audit.profiles = profiles(&audit);
    audit.features.clear();
    audit
}

/// The full audit with a name put before every name, or with no names.
pub fn named(name: &str) -> Audit {
    let mut audit = full();
    let rename = |old: &mut String| {
        *old = if name.is_empty() {
            String::new()
        } else {
            format!("{name}{old}")
        };
    };
    let mut all: Vec<&mut String> = Vec::new();
    for against in &mut audit.against {
        all.extend(&mut against.columns);
        all.extend(against.cells.iter_mut().map(|cell| &mut cell.label));
    }
    all.extend(
        audit
            .features
            .iter_mut()
            .map(|feature| &mut feature.feature),
    );
    all.extend(
        audit
            .findings
            .iter_mut()
            .filter_map(|finding| finding.detail.as_mut()),
    );
    all.extend(&mut audit.notes);
    all.extend(
        audit
            .profiles
            .iter_mut()
            .flat_map(|profile| &mut profile.levels),
    );
    all.into_iter().for_each(rename);
    let prefix = |old: &mut String| *old = format!("{name}{old}");
    audit
        .subjects
        .iter_mut()
        .for_each(|subject| prefix(&mut subject.name));
    audit
        .against
        .iter_mut()
        .for_each(|against| prefix(&mut against.name));
    for finding in &mut audit.findings {
        prefix(&mut finding.subject);
        prefix(&mut finding.against);
    }
    for profile in &mut audit.profiles {
        prefix(&mut profile.subject);
        prefix(&mut profile.against);
    }
    audit
        .features
        .iter_mut()
        .for_each(|feature| prefix(&mut feature.against));
    audit
}

/// What the answer calls detectable and large is set by hand.
pub fn judged(mut audit: Audit, judge: impl Fn(&Finding) -> (bool, bool)) -> Audit {
    for at in 0..audit.findings.len() {
        let (detectable, large) = judge(&audit.findings[at]);
        audit.findings[at].detectable = detectable;
        audit.findings[at].large = large;
    }
    audit
}

fn audit(subjects: &[(&str, Role)], columns: &[&str]) -> Audit {
    let mut audit = Audit {
        rows: ROWS,
        effective_rows: ROWS as f64,
        weighted: false,
        threshold: Some(0.5),
        resampling: Resampling::default(),
        control: Vec::new(),
        subjects: subjects
            .iter()
            .map(|&(name, role)| Subject {
                name: name.into(),
                role,
            })
            .collect(),
        against: against(columns),
        findings: Vec::new(),
        profiles: Vec::new(),
        features: Vec::new(),
        notes: vec!["12 rows without an age are in cells of their own.".into()],
    };
    audit.findings = findings(&audit);
    audit.profiles = profiles(&audit);
    if subjects.iter().any(|(_, role)| *role == Role::Features) {
        audit.features = feature_findings(&audit);
    }
    audit
}

fn against(columns: &[&str]) -> Vec<Against> {
    let sex = ["sex=female", "sex=male"];
    let age = [
        "age < 24",
        "24 <= age < 31",
        "31 <= age < 39",
        "39 <= age < 47",
        "47 <= age < 58",
        "age >= 58",
    ];
    let labels = |column: &str| -> Vec<String> {
        let labels: &[&str] = if column == "sex" { &sex } else { &age };
        labels.iter().map(|&label| label.into()).collect()
    };
    let single = |column: &str| Against {
        name: column.into(),
        columns: vec![column.into()],
        kinds: vec![if column == "sex" {
            Kind::Categorical
        } else {
            Kind::Continuous
        }],
        cells: cells(labels(column)),
    };
    let mut all: Vec<Against> = columns.iter().map(|column| single(column)).collect();
    if columns.len() == 2 {
        let joint = sex
            .iter()
            .flat_map(|sex| age.map(|age| format!("{sex}, {age}")));
        all.push(Against {
            name: columns.join(" × "),
            columns: columns.iter().map(|&column| column.into()).collect(),
            kinds: vec![Kind::Categorical, Kind::Continuous],
            cells: cells(joint.collect()),
        });
    }
    all
}

fn cells(labels: Vec<String>) -> Vec<CellRows> {
    let even = ROWS / labels.len();
    let last = labels.len() - 1;
    labels
        .into_iter()
        .enumerate()
        .map(|(at, label)| {
            let less = if at == last && last > 5 {
                even - 14
            } else {
                11 * at
            };
            cell(label, even - less)
        })
        .collect()
}

fn cell(label: String, rows: usize) -> CellRows {
    CellRows {
        brief: label.clone(),
        label,
        rows,
        share: rows as f64 / ROWS as f64,
        small: rows < 20,
    }
}

/// Value before, value after, level under independence, critical level.
fn level(measure: Measure) -> [f64; 4] {
    match measure {
        Measure::CorrelationRatio => [0.1337, 0.0056, 0.0037, 0.0061],
        Measure::MeanGap => [1.21, 0.34, 0.19, 0.31],
        Measure::Beta => [0.161, 0.0412, 0.031, 0.038],
        Measure::BetaBound => [0.31, 0.186, 0.17, 0.18],
        Measure::ParityDifference => [0.43, 0.091, 0.06, 0.1],
        Measure::ParityRatio => [0.41, 0.86, 0.92, 0.84],
        Measure::EqualizedOdds => [0.22, 0.14, 0.07, 0.11],
        Measure::TruePositiveGap => [0.22, 0.12, 0.06, 0.11],
        Measure::FalsePositiveGap => [0.19, 0.14, 0.05, 0.1],
        Measure::Separation => [0.17, 0.021, -0.0011, 0.002],
        Measure::ConditionalParity => [0.15, 0.019, -0.0012, 0.002],
        Measure::Calibration => [0.04, 0.13, 0.03, 0.05],
        Measure::ErrorGap => [0.09, 0.08, 0.02, 0.04],
        Measure::Hsic => [0.118, 0.009, 0.0011, 0.002],
        Measure::Adversary => [0.61, 0.63, 0.5, 0.518],
        Measure::AdversaryLinear => [0.602, 0.507, 0.5, 0.516],
        Measure::Wasserstein => [1.24, 0.41, 0.24, 0.36],
        Measure::KolmogorovSmirnov => [0.48, 0.17, 0.11, 0.16],
        Measure::DistanceCorrelation => [0.29, 0.052, 0.028, 0.041],
    }
}

fn findings(audit: &Audit) -> Vec<Finding> {
    let mut findings = Vec::new();
    for subject in &audit.subjects {
        for against in &audit.against {
            for &(_, measure) in Measure::NAMES {
                if defined(subject.role, against, measure) {
                    findings.push(finding(audit, subject, against, measure));
                }
            }
        }
    }
    findings
}

/// There are no true labels but for equalised odds, and no control columns.
const WITHOUT: [Measure; 6] = [
    Measure::TruePositiveGap,
    Measure::FalsePositiveGap,
    Measure::Separation,
    Measure::ConditionalParity,
    Measure::Calibration,
    Measure::ErrorGap,
];

fn defined(role: Role, against: &Against, measure: Measure) -> bool {
    if WITHOUT.contains(&measure) {
        return false;
    }
    let numbers = against.kinds == [Kind::Continuous];
    match role {
        Role::Features => matches!(
            measure,
            Measure::Hsic | Measure::Adversary | Measure::AdversaryLinear
        ),
        Role::Label => matches!(
            measure,
            Measure::ParityDifference | Measure::ParityRatio | Measure::Beta | Measure::Hsic
        ),
        _ => numbers || measure != Measure::DistanceCorrelation,
    }
}

fn finding(audit: &Audit, subject: &Subject, against: &Against, measure: Measure) -> Finding {
    let [before, after, expected, critical] = level(measure);
    let full = if subject.role == Role::After {
        after
    } else {
        before
    };
    // A single column has fewer cells, and less to be found.
    let part = if against.columns.len() == 1 && audit.against.len() > 1 {
        0.6
    } else {
        1.0
    };
    let scaled = |number: f64| {
        let origin = match measure {
            Measure::Adversary | Measure::AdversaryLinear => 0.5,
            Measure::ParityRatio => 1.0,
            _ => 0.0,
        };
        origin + part * (number - origin)
    };
    let (value, critical) = (scaled(full), scaled(critical));
    let width = 0.15 * (value - scaled(expected)).abs() + 0.1 * (critical - scaled(expected)).abs();
    let beyond = if measure.grows() {
        value > critical
    } else {
        value < critical
    };
    let measured = Measured {
        value,
        expected: scaled(expected),
        critical,
        p_value: if beyond { 0.005 } else { 0.21 },
        lower: (value - width).max(0.0),
        upper: value + width,
        rows: audit.rows,
        null: if measure == Measure::BetaBound {
            Null::Formula
        } else {
            Null::Permutation
        },
    };
    Finding {
        subject: subject.name.clone(),
        against: against.name.clone(),
        measure,
        measured,
        detectable: measured.is_detectable(),
        large: measured.is_large(measure),
        further: BTreeMap::new(),
        detail: detail(against, measure),
    }
}

fn detail(against: &Against, measure: Measure) -> Option<String> {
    let (first, last) = (against.cells.first()?, against.cells.last()?);
    match measure {
        Measure::MeanGap
        | Measure::KolmogorovSmirnov
        | Measure::Wasserstein
        | Measure::ParityDifference => Some(format!("{} and {}", first.label, last.label)),
        Measure::Adversary | Measure::AdversaryLinear => Some("AUC, 5 folds".into()),
        _ => None,
    }
}

fn profiles(audit: &Audit) -> Vec<Profile> {
    let mut profiles = Vec::new();
    for subject in audit
        .subjects
        .iter()
        .filter(|subject| subject.role != Role::Features)
    {
        for against in &audit.against {
            profiles.push(profile(subject, against));
        }
    }
    profiles
}

fn profile(subject: &Subject, against: &Against) -> Profile {
    let spread = if subject.role == Role::After {
        0.03
    } else {
        0.3
    };
    let last = (against.cells.len() - 1).max(1) as f64;
    let label = subject.role == Role::Label;
    let bins = if label { 2 } else { 24 };
    let edges: Vec<f64> = (0..=bins)
        .map(|at| f64::from(at) / f64::from(bins))
        .collect();
    let cell = |at: usize, rows: usize| {
        let place = at as f64 / last - 0.5;
        let wobble = 0.02 * ((at * 37 % 11) as f64 / 11.0 - 0.5);
        one_cell(0.5 + spread * place + wobble, rows, &edges, label)
    };
    Profile {
        subject: subject.name.clone(),
        against: against.name.clone(),
        levels: if label {
            vec!["no".into(), "yes".into()]
        } else {
            Vec::new()
        },
        cells: against
            .cells
            .iter()
            .enumerate()
            .map(|(at, c)| cell(at, c.rows))
            .collect(),
        all: one_cell(0.5, ROWS, &edges, label),
        edges: if label { Vec::new() } else { edges },
    }
}

fn one_cell(mean: f64, rows: usize, edges: &[f64], label: bool) -> CellProfile {
    if rows < 2 {
        return CellProfile::default();
    }
    let deviation = 0.15;
    let width = 2.0 * deviation / (rows as f64).sqrt();
    let weights: Vec<f64> = edges
        .windows(2)
        .map(|ends| {
            let z = (0.5 * (ends[0] + ends[1]) - mean) / deviation;
            (-0.5 * z * z).exp() * (1.0 + 0.05 * (9.0 * z + rows as f64).sin())
        })
        .collect();
    let total: f64 = weights.iter().sum();
    CellProfile {
        mean: (!label).then_some(mean),
        lower: (!label).then_some(mean - width),
        upper: (!label).then_some(mean + width),
        deviation: (!label).then_some(deviation),
        rate: Some((0.5 + 1.8 * (mean - 0.5)).clamp(0.0, 1.0)),
        shares: if rows < 8 {
            Vec::new()
        } else {
            weights.iter().map(|w| w / total).collect()
        },
        error: Some(0.2 + width),
        error_lower: Some(0.2),
        error_upper: Some(0.2 + 2.0 * width),
        reliability: if label { Vec::new() } else { curve(mean, rows) },
    }
}

fn curve(mean: f64, rows: usize) -> Vec<ReliabilityBin> {
    let bin = |at: usize| {
        let score = (at as f64 + 0.5) / 10.0;
        let outcome = (score + 0.3 * (mean - 0.5)).clamp(0.0, 1.0);
        ReliabilityBin {
            score,
            outcome,
            lower: (outcome - 0.05).max(0.0),
            upper: (outcome + 0.05).min(1.0),
            rows: rows / 10,
        }
    };
    (0..10).map(bin).filter(|bin| bin.rows >= 5).collect()
}

fn feature_findings(audit: &Audit) -> Vec<FeatureFinding> {
    let names = [
        "income",
        "years in the job",
        "postcode",
        "grade",
        "school",
        "debt",
        "visits",
        "hours",
    ];
    let mut features = Vec::new();
    for against in &audit.against {
        for at in 0..28 {
            let value = 0.21 * 0.8_f64.powi(at);
            let name = names
                .get(at as usize)
                .map_or_else(|| format!("x{at}"), |&name| name.into());
            features.push(FeatureFinding {
                feature: name,
                against: against.name.clone(),
                hsic: Measured {
                    value,
                    expected: 0.0011,
                    critical: 0.0021,
                    p_value: if value > 0.0021 { 0.005 } else { 0.4 },
                    lower: 0.8 * value,
                    upper: 1.25 * value,
                    rows: audit.rows,
                    null: Null::Permutation,
                },
                correlation_ratio: (at != 2).then_some(value * 0.9),
            });
        }
    }
    features
}

/// A small frontier, of real fits on a simulated table.
pub fn frontier() -> oblivio_audit::Frontier {
    use oblivio::{Roles, Settings, Watch};
    use oblivio_audit::{FrontierGrid, FrontierSettings};
    use oblivio_base::Scaling;
    let table = oblivio_simulate::Simulation::from_name("ridge-1")
        .and_then(|simulation| simulation.table(120, 1))
        .unwrap_or_else(|error| panic!("{error}"));
    let roles = Roles {
        features: &table.features,
        sensitive: &table.sensitive,
        target: &table.targets[0],
        labels: None,
        weights: None,
    };
    FrontierGrid::default()
        .candidates(&Settings::default())
        .and_then(|candidates| {
            let settings = FrontierSettings::default();
            settings.run(roles, Scaling::Standard, &candidates, &Watch::default())
        })
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Small bounds, of a real fit on a simulated table.
pub fn bounds() -> oblivio_release::Bounds {
    use oblivio::{Model, Roles, Settings, Watch};
    use oblivio_base::Scaling;
    use oblivio_release::BoundSettings;
    let watch = Watch::default();
    let table = oblivio_simulate::Simulation::from_name("ridge-1")
        .and_then(|simulation| simulation.table(120, 1))
        .unwrap_or_else(|error| panic!("{error}"));
    let roles = Roles {
        features: &table.features,
        sensitive: &table.sensitive,
        target: &table.targets[0],
        labels: None,
        weights: None,
    };
    let columns = [&table.features[..], &table.sensitive].concat();
    Model::fit(roles, Scaling::Standard, &Settings::default(), &watch)
        .and_then(|(model, _)| BoundSettings::default().run(&model, &columns, &watch))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A release by projection: dependence that is less after than before, and a bandwidth chosen.
pub fn release() -> oblivio_release::ReleaseReport {
    let before = audit(&[("features", Role::Features)], &["sex", "age"]);
    let mut after = judged(before.clone(), |finding| (finding.against == "age", false));
    for finding in &mut after.findings {
        let measured = &mut finding.measured;
        measured.value = measured.expected + 0.1 * (measured.value - measured.expected);
    }
    let alone = before
        .features
        .iter()
        .filter(|found| found.against == "sex")
        .take(8);
    let columns = alone.map(|found| oblivio_release::ColumnReport {
        name: found.feature.clone(),
        kind: "whole numbers".into(),
        treatment: "quantiles given the cell".into(),
        low: Some(17.0),
        high: Some(62.0),
        changed: 0.7312,
        distance: Some(0.3125),
        correlation: Some(0.9531),
    });
    let columns = columns.collect();
    let measured = before.findings[0].measured;
    let utility =
        [("admitted", true), ("grade", false)].map(|(target, given)| oblivio_release::Utility {
            target: target.into(),
            given,
            score: if given {
                oblivio_audit::AdversaryScore::Auc
            } else {
                oblivio_audit::AdversaryScore::RSquared
            },
            original: measured,
            released: measured,
        });
    let path = [10.0, 1.0, 0.1].map(|factor| oblivio_release::ReleasePathPoint {
        factor,
        kernel: format!("rbf(gamma={factor})"),
        hsic: 0.01 * factor,
        expected: 0.002,
        distance: 0.5 / factor,
        chosen: factor == 1.0,
    });
    oblivio_release::ReleaseReport {
        method: "projection".into(),
        rows: 10_000,
        training_rows: 7000,
        held_out_rows: ROWS,
        sensitive: vec!["sex".into(), "age".into()],
        before,
        after,
        columns,
        utility: utility.to_vec(),
        path: path.to_vec(),
        certified: Some(oblivio_release::ReleaseCertificate {
            rows: 3000,
            certified: 2990,
            largest_gap: 0.0123,
        }),
        notes: vec!["`postcode` has 812 categories; those of few rows are drawn together".into()],
    }
}
