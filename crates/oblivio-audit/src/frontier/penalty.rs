//! The penalty of each candidate.

use std::sync::Arc;

use oblivio::fit::{PathGrid, StreamFit};
use oblivio::moments::{Batch, Moments, SensitiveRows};
use oblivio::{Mode, Model, Roles, Settings, Training};
use oblivio_base::{Encoding, Error, Result, Watch};
use oblivio_kernels::learn::Learner;
use serde::{Deserialize, Serialize};

use super::align::unaligned;
use super::candidate::Candidate;

/// Where penalties come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PenaltyChoice {
    /// Those of the candidates' settings.
    #[default]
    Given,
    /// For every mode and strength the one with the least leave-one-out error on the training rows; on landmarks, with the
    /// least generalised cross-validation. Ridge regression only.
    Auto,
}

/// The penalties of all candidates, from training rows alone. A strength is never chosen.
pub(super) fn penalties(
    candidates: &[Candidate],
    (training, encoding): (Roles, Encoding),
    watch: &Watch,
) -> Result<Vec<f64>> {
    let mut chosen: Vec<(Settings, f64, f64)> = Vec::new();
    let mut found = Vec::new();
    for candidate in candidates {
        let family = family(candidate)?;
        let strength = strength(&candidate.settings);
        let known = |chosen: &[(Settings, f64, f64)]| {
            let mut all = chosen.iter();
            let own = all.find(|(other, t, _)| *other == family && *t == strength);
            own.map(|(.., penalty)| *penalty)
        };
        if known(&chosen).is_none() {
            let penalty = best(&family, strength, (training, encoding), watch)?;
            chosen.push((family.clone(), strength, penalty));
        }
        found.push(known(&chosen).unwrap_or(candidate.settings.penalty));
    }
    Ok(found)
}

/// What candidates have in common that differ in strength and alignment only.
fn family(candidate: &Candidate) -> Result<Settings> {
    let settings = &candidate.settings;
    if settings.learner != Learner::Ridge {
        return Err(Error::InvalidParameter {
            name: "the penalty of a classifier",
            expected: "a number, for leave-one-out errors are those of ridge regression",
            value: "auto".into(),
        });
    }
    Ok(Settings {
        strength: 1.0,
        ..unaligned(settings)
    })
}

fn strength(settings: &Settings) -> f64 {
    if settings.mode == Mode::Plain {
        0.0
    } else {
        settings.strength
    }
}

/// The penalty of the least error at a strength, on the training rows.
fn best(
    family: &Settings,
    strength: f64,
    (training, encoding): (Roles, Encoding),
    watch: &Watch,
) -> Result<f64> {
    let grid = PathGrid::usual(strength);
    if family.components.is_none() {
        let path = Model::path(training, encoding, family, &grid, watch)?;
        return Ok(path.settings.penalty);
    }
    if family.reference.name() != "all" {
        return Err(Error::InvalidParameter {
            name: "the reference of a fit that chooses its penalty",
            expected: "all rows",
            value: family.reference.name().into(),
        });
    }
    // The penalty of an m-oblivious fit is that of its h, which is plain.
    let settings = Settings {
        mode: match family.mode {
            Mode::MOblivious => Mode::Plain,
            mode => mode,
        },
        strength,
        ..family.clone()
    };
    let (_, points, sensitive) = training.encoded(encoding)?;
    let targets = training.target.to_numbers()?;
    let rows = Training {
        points: &points,
        sensitive: &sensitive,
        targets: &targets,
        weights: training.weights,
    };
    let (plan, _) = settings.plan(rows, points.len(), watch)?;
    let mut moments = Moments::new(Arc::new(plan));
    let batch = Batch {
        points: &points,
        sensitive: SensitiveRows::Columns(&sensitive),
        targets: Some(&targets),
        weights: training.weights,
    };
    moments.update(batch, watch)?;
    let mut fit = StreamFit::from_moments(&settings, moments)?;
    Ok(fit.choose(&settings, &grid.penalties, watch)?.0)
}
