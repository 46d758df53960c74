//! Settings from Python: a dictionary whose values are spelled as on the command line.

use pyo3::prelude::*;

use oblivio::learn::Intercept;
use oblivio::{
    Components, FeatureSettings, KernelSettings, Mode, Named, PartitionRule, Policies, Reference,
    Result, Scaling, Settings,
};

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
pub(crate) struct Regression {
    alpha: f64,
    mode: String,
    fit_intercept: bool,
    solver: String,
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

    pub(crate) fn ridge(&self, regression: &Regression) -> Result<Settings> {
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
            components: None,
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

    pub(crate) fn features(&self, components: usize) -> Result<FeatureSettings> {
        Ok(FeatureSettings {
            kernel: self.kernel.parse()?,
            components: Components::new(components),
            strength: self.strength,
            partition: self.partition()?,
            reference: self.reference()?,
            seed: self.seed,
        })
    }
}
