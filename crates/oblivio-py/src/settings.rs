//! Settings from Python: a dictionary whose values are spelled as on the command line.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use oblivio::learn::Intercept;
use oblivio::{
    Components, FeatureSettings, KernelSettings, Mode, Named, PartitionRule, Policies, Reference,
    Result, Scaling, Settings,
};

use crate::errors::raise;

/// What every estimator has.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Common {
    kernel: String,
    pub(crate) strength: f64,
    cells: String,
    binning: String,
    bounds: Vec<(String, f64, f64)>,
    categorical: Vec<String>,
    continuous: Vec<String>,
    handle_unknown: String,
    reference: String,
    reference_rows: Option<Vec<usize>>,
    standardize: bool,
    pub(crate) categorical_features: Vec<String>,
    seed: u64,
}

/// What ridge regression has besides.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Regression {
    alpha: f64,
    mode: String,
    fit_intercept: bool,
    solver: String,
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
            cells: self.cells.parse()?,
            binning: Named::named(&self.binning)?,
            bounds: self.bounds.clone(),
            categorical: self.categorical.clone(),
            continuous: self.continuous.clone(),
            policies: Policies::for_unknown(Named::named(&self.handle_unknown)?),
        })
    }

    fn reference(&self) -> Result<Reference> {
        match &self.reference_rows {
            Some(rows) => Ok(Reference::Rows(rows.clone())),
            None => Reference::named(&self.reference),
        }
    }

    fn ridge(&self, regression: &Regression, landmarks: &Landmarks) -> Result<Settings> {
        Ok(Settings {
            kernel: self.kernel.parse()?,
            penalty: regression.alpha,
            strength: self.strength,
            mode: Mode::named(&regression.mode)?,
            partition: self.partition()?,
            reference: self.reference()?,
            intercept: if regression.fit_intercept {
                Intercept::Fitted
            } else {
                Intercept::None
            },
            solver: Named::named(&regression.solver)?,
            components: landmarks.components()?,
            seed: self.seed,
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

/// The settings of a regression.
pub(crate) fn ridge(settings: &Bound<'_, PyDict>) -> PyResult<(Common, Settings)> {
    let common: Common = settings.extract()?;
    let ridge = common
        .ridge(&settings.extract()?, &settings.extract()?)
        .map_err(raise)?;
    Ok((common, ridge))
}

/// The settings of features.
pub(crate) fn features(settings: &Bound<'_, PyDict>) -> PyResult<(Common, FeatureSettings)> {
    let common: Common = settings.extract()?;
    let features = common.features(&settings.extract()?).map_err(raise)?;
    Ok((common, features))
}
