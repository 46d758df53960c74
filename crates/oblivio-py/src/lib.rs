//! NumPy in, NumPy out. No formula and no loop over observations lives here.

#![allow(
    clippy::needless_pass_by_value,
    reason = "what is extracted from Python objects is owned"
)]

mod audit;
mod bounds;
mod errors;
mod frontier;
mod input;
mod models;
mod release;
mod run;
mod settings;

use std::ffi::OsString;

use oblivio::Column;
use oblivio_simulate::{GaussianParameters, GradesParameters, RidgeParameters, Simulation};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The private extension of the `oblivio` package.
#[pymodule]
mod _oblivio {
    #[pymodule_export]
    use super::audit::AuditModel;
    #[pymodule_export]
    use super::bounds::BoundsModel;
    #[pymodule_export]
    use super::cli_main;
    #[pymodule_export]
    use super::errors::{
        EmptyCellError, InvalidInputError, NumericalError, TableChangedError, UnknownCategoryError,
    };
    #[pymodule_export]
    use super::frontier::FrontierModel;
    #[pymodule_export]
    use super::kind_of;
    #[pymodule_export]
    use super::models::kernel::KernelModel;
    #[pymodule_export]
    use super::models::moments::Moments;
    #[pymodule_export]
    use super::models::offsets::OffsetModel;
    #[pymodule_export]
    use super::models::parts::{Share, StreamFit, Survey, drawn};
    #[pymodule_export]
    use super::models::scores::ScoreModel;
    #[pymodule_export]
    use super::models::transformer::FeatureModel;
    #[pymodule_export]
    use super::release::{ReleaseModel, ReleaseReportModel};
    #[pymodule_export]
    use super::settings::table;
    #[pymodule_export]
    use super::simulate;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// The `oblivio` command: its exit code.
#[pyfunction]
fn cli_main(py: Python<'_>, arguments: Vec<OsString>) -> i32 {
    py.detach(|| oblivio_cli::run(arguments))
}

/// What the bytes of a file hold: `ridge`, `classifier`, `features`, `release`, `kernel`, or what is no model yet: `moments`, `checkpoint`.
#[pyfunction]
fn kind_of(data: &[u8]) -> PyResult<String> {
    oblivio::model::kind_of(data).map_err(errors::raise)
}

/// A simulated table: for each of the roles sensitive, features, targets and hidden, a list of (name, values).
#[pyfunction]
#[pyo3(signature = (name, rows, seed, **parameters))]
fn simulate<'py>(
    py: Python<'py>,
    name: &str,
    rows: usize,
    seed: u64,
    parameters: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut simulation = Simulation::from_name(name).map_err(errors::raise)?;
    if let Some(parameters) = parameters {
        for (key, value) in parameters {
            set(&mut simulation, &key.extract::<String>()?, value.extract()?)?;
        }
    }
    let table = py
        .detach(|| simulation.table(rows, seed))
        .map_err(errors::raise)?;
    let roles = PyDict::new(py);
    let list = |columns: &[Column]| -> PyResult<Vec<_>> {
        columns.iter().map(|c| input::to_python(py, c)).collect()
    };
    roles.set_item("sensitive", list(&table.sensitive)?)?;
    roles.set_item("features", list(&table.features)?)?;
    roles.set_item("targets", list(&table.targets)?)?;
    roles.set_item("hidden", list(&table.hidden)?)?;
    Ok(roles)
}

fn set(simulation: &mut Simulation, key: &str, value: f64) -> PyResult<()> {
    let place = match (simulation, key) {
        (
            Simulation::Ridge1(RidgeParameters { mix, .. })
            | Simulation::Ridge2(RidgeParameters { mix, .. }),
            "mix",
        ) => mix,
        (Simulation::Ridge1(p) | Simulation::Ridge2(p), "noise_variance") => &mut p.noise_variance,
        (Simulation::Grades(GradesParameters { threshold, .. }), "threshold") => threshold,
        (Simulation::Grades(p), "mean") => &mut p.mean,
        (Simulation::Grades(p), "standard_deviation") => &mut p.standard_deviation,
        (Simulation::Gaussian(GaussianParameters { covariance }), "covariance") => covariance,
        _ => {
            return Err(errors::InvalidInputError::new_err(format!(
                "this simulation has no parameter `{key}`"
            )));
        }
    };
    *place = value;
    Ok(())
}
