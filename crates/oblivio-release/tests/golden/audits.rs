//! Audits, frontiers, releases and bounds.

use super::cases::{Cases, watch};
use super::engine::{
    AdversaryKind, AdversarySettings, AuditRows, AuditSettings, BoundSettings, CellCount, Column,
    Estimator, FrontierGrid, FrontierSettings, HsicSettings, HsicSide, Kind, Learner, Mode, Model,
    Named, PenaltyChoice, Policies, Release, ReleaseMethod, ReleaseRows, ReleaseSettings,
    Resampling, Result, Role, Scaling, Sensitive, Settings, StudySettings, UnseenCategory,
    adversary, certificate, distance_correlation, hsic,
};
use super::grid::{base, on_landmarks, roles};
use super::record::Values;
use super::table::{Table, later_rows, new_rows, training_rows};

const FEW: Resampling = Resampling {
    permutations: 19,
    resamples: 19,
    confidence: 0.9,
    seed: 5,
};
const ESTIMATORS: [Estimator; 3] = [Estimator::Cells, Estimator::Smooth, Estimator::Linear];

pub fn add(cases: &mut Cases) {
    for weighted in [false, true] {
        for one_by_one in [false, true] {
            let name = format!("audit weighted={weighted} one_by_one={one_by_one}");
            cases.run(name, |v| audit(v, weighted, one_by_one));
        }
    }
    cases.run("audit measures", measures);
    for (name, settings) in [("exact", base()), ("landmarks", on_landmarks())] {
        for learner in [Learner::Ridge, Learner::Svm] {
            let settings = Settings {
                learner,
                ..settings.clone()
            };
            let name = format!("frontier {name} {}", learner.name());
            cases.run(name, |v| frontier(v, &settings));
        }
    }
    for method in [
        ReleaseMethod::Quantile,
        ReleaseMethod::Projection,
        ReleaseMethod::Residual,
    ] {
        for estimator in ESTIMATORS {
            for strength in [1.0, 0.5] {
                let name = format!("release {} {estimator:?} {strength}", method.name());
                let settings = release_settings(method, estimator, strength);
                cases.run(name, |v| release(v, &settings));
            }
        }
        let settings = release_settings(method, Estimator::Cells, 1.0);
        let name = format!("release study {}", method.name());
        cases.run(name, |v| study(v, &settings));
    }
    for estimator in ESTIMATORS {
        for (path, settings) in [("exact", base()), ("landmarks", on_landmarks())] {
            for learner in [Learner::Ridge, Learner::Logistic] {
                let mut settings = Settings {
                    learner,
                    ..settings.clone()
                };
                settings.partition.estimator = estimator;
                let name = format!("bounds {path} {estimator:?} {}", learner.name());
                cases.run(name, |v| bounds(v, &settings));
            }
        }
    }
}

fn two_columns(mut table: Table) -> Table {
    table.sensitive.pop();
    table
}

fn sensitive(table: &Table) -> Result<Sensitive> {
    Sensitive::new(table.sensitive.clone(), table.weights.len())
}

/// A score and the label that it leads to.
fn subjects(table: &Table) -> Result<Vec<(Role, Column)>> {
    let before = table.target.to_numbers()?;
    let after: Vec<f64> = before.iter().map(|y| 0.2 * y * y).collect();
    Ok(vec![
        (Role::Before, Column::numbers("before", before)),
        (Role::After, Column::numbers("after", after)),
        (Role::Label, table.decision.clone()),
    ])
}

fn audit(values: &mut Values, weighted: bool, one_by_one: bool) -> Result<()> {
    let table = two_columns(training_rows(false));
    let mut settings = AuditSettings {
        least_rows: 3,
        one_by_one,
        resampling: FEW,
        ..AuditSettings::default()
    };
    settings.rule.cells = CellCount::Given(2);
    let weights = table.weights.iter().map(|w| w + 0.5).collect();
    let rows = AuditRows {
        subjects: subjects(&table)?,
        features: table.features.clone(),
        whole_table: true,
        sensitive: sensitive(&table)?,
        truth: Some(table.decision.clone()),
        control: Vec::new(),
        weights: weighted.then_some(weights),
    };
    values.report("audit", &settings.run(&rows, &watch())?);
    Ok(())
}

/// The measures that are functions of their own.
fn measures(values: &mut Values) -> Result<()> {
    let table = two_columns(training_rows(false));
    let (sex, age) = (&table.sensitive[0], &table.sensitive[1]);
    let x = &table.features[..1];
    for (name, s, kind) in [
        ("sex", sex, Kind::Categorical),
        ("age", age, Kind::Continuous),
    ] {
        for kind_of in [AdversaryKind::Linear, AdversaryKind::Kernel] {
            let settings = AdversarySettings {
                kind: kind_of,
                components: 10,
                ..AdversarySettings::default()
            };
            let found = adversary(x, s, kind, None, &settings, &FEW, &watch())?;
            values.report(&format!("adversary {kind_of:?} {name}"), &found);
        }
    }
    let settings = HsicSettings::default();
    let side = |columns: &[Column], kinds: &[Kind]| {
        HsicSide::new(columns, kinds, None, &settings, &watch())
    };
    let s = side(&table.sensitive, &[Kind::Categorical, Kind::Continuous])?;
    let mut compared = |name: &str, x: &HsicSide| -> Result<()> {
        let found = hsic(x, &s, &FEW, &watch())?;
        let normalized = [found.normalized, found.normalized_unbiased];
        values.numbers(name, &[found.biased, found.unbiased, found.gamma_p_value]);
        values.numbers(&format!("{name}, normalized"), &normalized);
        values.report(&format!("{name}, measured"), &found.measured);
        Ok(())
    };
    let own = side(x, &[Kind::Continuous])?;
    compared("hsic", &own)?;
    let all = HsicSide::table(&table.features, None, &settings, &watch())?;
    compared("hsic of a table", &all)?;
    let (x, age) = (x[0].to_numbers()?, age.to_numbers()?);
    let found = distance_correlation(&x, &age, None, &FEW, &watch())?;
    values.report("distance correlation", &found);
    values.numbers("certificate", &[certificate(0.1, 50.0, 0.95)]);
    Ok(())
}

fn frontier(values: &mut Values, settings: &Settings) -> Result<()> {
    let table = two_columns(training_rows(false));
    let target = if settings.learner == Learner::Ridge {
        &table.target
    } else {
        &table.decision
    };
    let grid = FrontierGrid {
        modes: vec![Mode::Oblivious, Mode::SensitiveFree],
        strengths: vec![0.0, 1.0],
        aligns: vec!["none".into(), "quantile".into()],
        ..FrontierGrid::default()
    };
    let mut base = settings.clone();
    base.partition.policies = Policies::for_unknown(UnseenCategory::Population);
    let candidates = grid.candidates(&base)?;
    let defaults = FrontierSettings::default();
    let settings = FrontierSettings {
        penalty: PenaltyChoice::Given,
        audit: AuditSettings {
            least_rows: 2,
            resampling: FEW,
            ..defaults.audit
        },
        ..defaults
    };
    let roles = roles(&table, target, false);
    let frontier = settings.run(roles, Scaling::Standard, &candidates, &watch())?;
    values.report("frontier", &frontier);
    Ok(())
}

fn release_settings(method: ReleaseMethod, estimator: Estimator, strength: f64) -> ReleaseSettings {
    let mut settings = ReleaseSettings {
        method,
        strength,
        seed: 4,
        partition: base().partition,
        ..ReleaseSettings::default()
    };
    settings.partition.estimator = estimator;
    settings.projection.bandwidths = vec![1.0, 2.0];
    settings
}

fn release(values: &mut Values, settings: &ReleaseSettings) -> Result<()> {
    let table = two_columns(training_rows(false));
    let (release, _) = settings.fit(&table.features, &sensitive(&table)?, None, &watch())?;
    let bytes = release.to_bytes()?;
    values.file("release", &bytes);
    let new = new_rows(false);
    let own = Sensitive::new(new[3..5].to_vec(), 20)?;
    let released = Release::from_bytes(&bytes)?.transform(&new[..3], &own, &watch())?;
    for column in &released.columns {
        let numbers = match column.to_numbers() {
            Ok(numbers) => numbers,
            // Levels keep their order from the release.
            Err(_) => column
                .to_categories()
                .1
                .into_iter()
                .map(f64::from)
                .collect(),
        };
        values.numbers(&column.name, &numbers);
    }
    Ok(())
}

fn study(values: &mut Values, settings: &ReleaseSettings) -> Result<()> {
    let table = two_columns(training_rows(false));
    let mut settings = settings.clone();
    settings.partition.policies = Policies::for_unknown(UnseenCategory::Population);
    let rows = ReleaseRows {
        features: table.features.clone(),
        sensitive: sensitive(&table)?,
        target: Some(table.target.clone()),
        weights: None,
    };
    let study = StudySettings {
        audit: AuditSettings {
            least_rows: 2,
            resampling: FEW,
            ..AuditSettings::default()
        },
        ..StudySettings::default()
    };
    values.report("study", &settings.study(&rows, &study, &watch())?);
    Ok(())
}

/// The bounds of a model on rows that it was not fitted on.
fn bounds(values: &mut Values, settings: &Settings) -> Result<()> {
    let table = two_columns(training_rows(false));
    let target = if settings.learner == Learner::Ridge {
        &table.target
    } else {
        &table.decision
    };
    let mut settings = settings.clone();
    settings.partition.cells = CellCount::Given(1);
    let roles = roles(&table, target, false);
    let (fitted, _) = Model::fit(roles, Scaling::Standard, &settings, &watch())?;
    let later = two_columns(later_rows(false));
    let few = BoundSettings {
        most_rows: 10,
        ..BoundSettings::default()
    };
    values.report("bounds", &few.run(&fitted, &later.columns(), &watch())?);
    Ok(())
}
