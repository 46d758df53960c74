//! Settings from Python: a dictionary whose values are spelled as on the command line.

use oblivio::align::AlignRule;
use oblivio::classes::ClassWeights;
use oblivio::features::FeatureSettings;
use oblivio::fit::{Bandwidths, PathGrid};
use oblivio::model::KernelSettings;
use oblivio::partition::{PartitionRule, Policies};
use oblivio::reference::Reference;
use oblivio::sensitive_free::Restraint;
use oblivio::{Mode, Result, Settings};
use oblivio_base::{Named, Scaling};
use oblivio_kernels::Components;
use oblivio_kernels::learn::Intercept;
use oblivio_release::{ColumnRange, ProjectionRule, ReleaseSettings};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raise;

/// What every estimator has.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Common {
    kernel: String,
    pub(crate) strength: f64,
    conditional_mean: String,
    shrink: bool,
    control: Vec<String>,
    cells: String,
    min_rows: Option<usize>,
    binning: String,
    bounds: Vec<(String, f64, f64)>,
    categorical: Vec<String>,
    continuous: Vec<String>,
    handle_unknown: String,
    handle_missing: String,
    reference: String,
    reference_rows: Option<Vec<usize>>,
    standardize: bool,
    pub(crate) categorical_features: Vec<String>,
    seed: u64,
}

/// What a learner has besides.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Learning {
    learner: String,
    penalty: f64,
    mode: String,
    align: Option<String>,
    align_strength: f64,
    intervals: Option<String>,
    parity: String,
    eta: Option<f64>,
    epsilon: f64,
    fit_intercept: bool,
    solver: String,
}

/// What a classifier has besides.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Classifying {
    gap: Option<f64>,
    steps: Option<usize>,
    memory: Option<usize>,
    balanced: bool,
    class_weights: Option<Vec<f64>>,
    threshold: String,
}

/// What a path tries: γ is `given`, or one of some `gammas`, or a multiple of that of the kernel.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Grid {
    bandwidths: String,
    gammas: Vec<f64>,
    strengths: Vec<f64>,
    penalties: Vec<f64>,
}

/// How many landmarks there are to be, and how they are found.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Landmarks {
    components: Option<usize>,
    #[pyo3(item("landmarks"))]
    selection: String,
    tolerance: f64,
}

/// What a release has besides; how a projection is made is given whatever the method is.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Releasing {
    method: String,
    missing_values: String,
    ranges: Vec<(String, f64, f64)>,
    components: Option<usize>,
    bandwidths: Option<Vec<f64>>,
    discrete: String,
}

impl Releasing {
    fn settings(self, common: &Common) -> Result<ReleaseSettings> {
        let range = |(column, low, high)| ColumnRange { column, low, high };
        let usual = ProjectionRule::default();
        Ok(ReleaseSettings {
            method: Named::named(&self.method)?,
            strength: common.strength,
            partition: common.partition()?,
            missing: Named::named(&self.missing_values)?,
            ranges: self.ranges.into_iter().map(range).collect(),
            projection: ProjectionRule {
                kernel: common.kernel.parse()?,
                bandwidths: self.bandwidths.unwrap_or(usual.bandwidths),
                components: self.components.map(Components::new),
                discrete: Named::named(&self.discrete)?,
            },
            seed: common.seed,
        })
    }
}

impl Landmarks {
    /// `None` is the exact path.
    fn components(&self) -> Result<Option<Components>> {
        let selection = Named::named(&self.selection)?;
        Ok(self.components.map(|count| Components {
            count,
            selection,
            tolerance: self.tolerance,
        }))
    }
}

impl Common {
    pub(crate) fn scaling(&self) -> Scaling {
        if self.standardize {
            Scaling::Standard
        } else {
            Scaling::Raw
        }
    }

    pub(crate) fn partition(&self) -> Result<PartitionRule> {
        Ok(PartitionRule {
            estimator: Named::named(&self.conditional_mean)?,
            shrink: self.shrink,
            control: self.control.clone(),
            cells: self.cells.parse()?,
            binning: Named::named(&self.binning)?,
            bounds: self.bounds.clone(),
            categorical: self.categorical.clone(),
            continuous: self.continuous.clone(),
            min_rows: self.min_rows,
            policies: Policies {
                missing: Named::named(&self.handle_missing)?,
                ..Policies::for_unknown(Named::named(&self.handle_unknown)?)
            },
        })
    }

    fn reference(&self) -> Result<Reference> {
        match &self.reference_rows {
            Some(rows) => Ok(Reference::Rows(rows.clone())),
            None => Reference::named(&self.reference),
        }
    }

    fn scores(&self, learning: &Learning, landmarks: &Landmarks) -> Result<Settings> {
        Ok(Settings {
            kernel: self.kernel.parse()?,
            learner: Named::named(&learning.learner)?,
            penalty: learning.penalty,
            strength: self.strength,
            mode: Mode::named(&learning.mode)?,
            align: match &learning.align {
                None => None,
                Some(method) => Some(AlignRule {
                    method: Named::named(method)?,
                    strength: learning.align_strength,
                }),
            },
            intervals: learning
                .intervals
                .as_deref()
                .map(Named::named)
                .transpose()?,
            parity: Named::named(&learning.parity)?,
            restraint: match learning.eta {
                Some(eta) => Restraint::Soft(eta),
                None if learning.epsilon != 0.0 => Restraint::Slack(learning.epsilon),
                None => Restraint::Hard,
            },
            partition: self.partition()?,
            reference: self.reference()?,
            intercept: if learning.fit_intercept {
                Intercept::Fitted
            } else {
                Intercept::None
            },
            solver: Named::named(&learning.solver)?,
            components: landmarks.components()?,
            seed: self.seed,
            ..Settings::default()
        })
    }

    pub(crate) fn kernel(&self) -> Result<KernelSettings> {
        Ok(KernelSettings {
            kernel: self.kernel.parse()?,
            strength: self.strength,
            partition: self.partition()?,
            seed: self.seed,
        })
    }

    fn features(&self, landmarks: &Landmarks) -> Result<FeatureSettings> {
        // The engine refuses zero, and a map without landmarks is none.
        let none = Components::new(0);
        Ok(FeatureSettings {
            kernel: self.kernel.parse()?,
            components: landmarks.components()?.unwrap_or(none),
            strength: self.strength,
            partition: self.partition()?,
            reference: self.reference()?,
            seed: self.seed,
        })
    }
}

/// The settings of a regression or a classifier.
pub(crate) fn scores(settings: &Bound<'_, PyDict>) -> PyResult<(Common, Settings)> {
    let common: Common = settings.extract()?;
    let mut scores = common
        .scores(&settings.extract()?, &settings.extract()?)
        .map_err(raise)?;
    if scores.learner.classifies() {
        let classifying: Classifying = settings.extract()?;
        scores.gap = classifying.gap;
        scores.steps = classifying.steps;
        scores.memory = classifying.memory;
        scores.class_weights = match (classifying.balanced, classifying.class_weights) {
            (true, _) => ClassWeights::Balanced,
            (false, Some(factors)) => ClassWeights::Given(factors),
            (false, None) => ClassWeights::Equal,
        };
        scores.threshold = classifying.threshold.parse().map_err(raise)?;
    }
    Ok((common, scores))
}

/// The grid of a path.
pub(crate) fn grid(settings: &Bound<'_, PyDict>) -> PyResult<PathGrid> {
    let grid: Grid = settings.extract()?;
    Ok(PathGrid {
        bandwidths: match grid.bandwidths.as_str() {
            "gammas" => Bandwidths::Gammas(grid.gammas),
            "multiples" => Bandwidths::Multiples(grid.gammas),
            _ => Bandwidths::Given,
        },
        strengths: grid.strengths,
        penalties: grid.penalties,
    })
}

/// The settings of features.
pub(crate) fn features(settings: &Bound<'_, PyDict>) -> PyResult<(Common, FeatureSettings)> {
    let common: Common = settings.extract()?;
    let features = common.features(&settings.extract()?).map_err(raise)?;
    Ok((common, features))
}

/// The settings of a release.
pub(crate) fn release(settings: &Bound<'_, PyDict>) -> PyResult<(Common, ReleaseSettings)> {
    let common: Common = settings.extract()?;
    let releasing: Releasing = settings.extract()?;
    let release = releasing.settings(&common).map_err(raise)?;
    Ok((common, release))
}
