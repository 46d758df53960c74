//! The grid: path × mode × learner × conditional mean × alignment × reference × missing values × strength.

use super::cases::{Cases, add_summary, model, watch};
use super::engine::{
    AlignMethod, AlignRule, CellCount, Column, Components, Estimator, Learner, Missing, Mode,
    Model, Named, Parity, Policies, Reference, Restraint, Result, Roles, Scaling, Settings,
    UnseenCategory,
};
use super::record::Values;
use super::streams::fit_in_batches;
use super::table::{Table, training_rows};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Path {
    /// All rows in memory, one coefficient for each.
    Exact,
    /// Ridge regression from streamed moments.
    Sums,
    /// Classifiers on landmarks.
    Landmarks,
}

const PATHS: [(Path, Learner); 6] = [
    (Path::Exact, Learner::Ridge),
    (Path::Exact, Learner::Svm),
    (Path::Exact, Learner::Logistic),
    (Path::Sums, Learner::Ridge),
    (Path::Landmarks, Learner::Svm),
    (Path::Landmarks, Learner::Logistic),
];

const FREE: Mode = Mode::SensitiveFree;
const MODES: [(&str, Mode, Parity, Restraint); 7] = [
    ("plain", Mode::Plain, Parity::Demographic, Restraint::Hard),
    (
        "oblivious",
        Mode::Oblivious,
        Parity::Demographic,
        Restraint::Hard,
    ),
    (
        "m-oblivious",
        Mode::MOblivious,
        Parity::Demographic,
        Restraint::Hard,
    ),
    (
        "free-demographic",
        FREE,
        Parity::Demographic,
        Restraint::Hard,
    ),
    (
        "free-demographic-eta",
        FREE,
        Parity::Demographic,
        Restraint::Soft(3.0),
    ),
    (
        "free-opportunity",
        FREE,
        Parity::Opportunity,
        Restraint::Hard,
    ),
    (
        "free-opportunity-eta",
        FREE,
        Parity::Opportunity,
        Restraint::Soft(3.0),
    ),
];

const MEANS: [(&str, Estimator, bool); 4] = [
    ("cells", Estimator::Cells, false),
    ("smooth", Estimator::Smooth, false),
    ("linear", Estimator::Linear, false),
    ("beyond-degree", Estimator::Smooth, true),
];

const ALIGNS: [Option<AlignMethod>; 3] = [
    None,
    Some(AlignMethod::LocationScale),
    Some(AlignMethod::Quantile),
];
const MISSING: [Missing; 3] = [Missing::Error, Missing::SensitiveFree, Missing::Category];

/// The settings that all cases share.
pub fn base() -> Settings {
    let mut settings = Settings {
        penalty: 0.3,
        seed: 3,
        ..Settings::default()
    };
    settings.partition.cells = CellCount::Given(3);
    settings
}

pub fn on_landmarks() -> Settings {
    Settings {
        components: Some(Components::new(12)),
        ..base()
    }
}

/// All combinations, by name.
fn combinations() -> Vec<(String, Path, Settings)> {
    let mut all = Vec::new();
    for (path, learner) in PATHS {
        for (mode_name, mode, parity, restraint) in MODES {
            for (mean_name, estimator, beyond) in MEANS {
                for align in ALIGNS {
                    for reference in [Reference::All, Reference::Half] {
                        for missing in MISSING {
                            for strength in [1.0, 0.5] {
                                let name = format!(
                                    "grid {path:?} {mode_name} {} {mean_name} {} {} {} {strength}",
                                    learner.name(),
                                    align.map_or("unaligned", Named::name),
                                    reference.name(),
                                    missing.name(),
                                );
                                let mut settings = Settings {
                                    learner,
                                    mode,
                                    parity,
                                    restraint,
                                    reference: reference.clone(),
                                    strength,
                                    align: align.map(|method| AlignRule { method, strength }),
                                    ..if path == Path::Exact {
                                        base()
                                    } else {
                                        on_landmarks()
                                    }
                                };
                                let rule = &mut settings.partition;
                                rule.estimator = estimator;
                                rule.policies = with_missing(missing);
                                if beyond {
                                    rule.control = vec!["degree".into()];
                                }
                                all.push((name, path, settings));
                            }
                        }
                    }
                }
            }
        }
    }
    all
}

/// Cells of missing values may be empty among the reference rows.
fn with_missing(missing: Missing) -> Policies {
    let unknown = if missing == Missing::Category {
        UnseenCategory::Population
    } else {
        UnseenCategory::Error
    };
    Policies {
        missing,
        ..Policies::for_unknown(unknown)
    }
}

pub fn add(cases: &mut Cases) {
    for (name, path, settings) in combinations() {
        if cases.passes(&name, &settings) {
            cases.run(name, |values| case(values, path, &settings));
        }
    }
}

fn case(values: &mut Values, path: Path, settings: &Settings) -> Result<()> {
    let rule = &settings.partition;
    let mut table = training_rows(rule.policies.missing != Missing::Error);
    if rule.control.is_empty() {
        table.sensitive.pop();
    }
    // Both with weights and without.
    let weighted = settings.strength < 1.0;
    let (fitted, summary) = if path == Path::Sums {
        fit_in_batches(&table, settings, weighted, 17)?
    } else {
        let (fitted, mut summaries) = Model::fit(
            roles(&table, target(&table, settings), weighted),
            Scaling::Standard,
            settings,
            &watch(),
        )?;
        (fitted, summaries.remove(0))
    };
    add_summary(values, "0", &summary);
    model(values, &fitted)
}

/// The target of the learner.
pub fn target<'t>(table: &'t Table, settings: &Settings) -> &'t Column {
    if settings.learner == Learner::Ridge {
        &table.target
    } else {
        &table.decision
    }
}

pub fn roles<'t>(table: &'t Table, target: &'t Column, weighted: bool) -> Roles<'t> {
    Roles {
        features: &table.features,
        sensitive: &table.sensitive,
        target,
        labels: None,
        weights: weighted.then_some(&table.weights),
    }
}
