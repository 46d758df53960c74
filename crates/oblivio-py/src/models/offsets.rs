//! Offsets for any scorer.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use oblivio::adjust::Offsets;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Remark, remarks_of, sensitive_columns, uses_dict};
use crate::errors::raise;
use crate::input::{NamedColumn, sensitive};
use crate::settings::Common;

/// What is taken off the scores of each cell.
#[pyclass(frozen, module = "oblivio._oblivio")]
pub(crate) struct OffsetModel(Offsets);

#[pymethods]
impl OffsetModel {
    /// The offsets of scores at reference rows, and remarks.
    #[staticmethod]
    fn fit<'py>(
        scores: PyReadonlyArray1<'py, f64>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        weights: PyReadonlyArray1<'py, f64>,
        settings: &Bound<'py, PyDict>,
    ) -> PyResult<(Self, Vec<Remark>)> {
        let common = Common::read(settings)?;
        let scores = scores.as_array().to_vec();
        let reference = sensitive(&sensitive_columns, scores.len()).map_err(raise)?;
        let (offsets, warnings) = Offsets::of_scores(
            &scores,
            &reference,
            &weights.as_array().to_vec(),
            &common.settings.partition,
            common.settings.strength,
        )
        .map_err(raise)?;
        Ok((Self(offsets), remarks_of(&warnings)))
    }

    /// The scores less the offsets, and how often policies were used.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'py, f64>,
        sensitive_columns: Vec<NamedColumn<'py>>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>)> {
        let scores = scores.as_array().to_vec();
        let given = sensitive(&sensitive_columns, scores.len()).map_err(raise)?;
        let (less, uses) = self.0.apply(&scores, &given).map_err(raise)?;
        Ok((less.into_pyarray(py), uses_dict(py, uses)?))
    }

    /// As JSON, which `from_json` reads.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0)
            .map_err(|error| crate::errors::InvalidInputError::new_err(error.to_string()))
    }

    /// Reads what `to_json` wrote.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self(Offsets::from_json(text).map_err(raise)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let read = py.get_type::<Self>().getattr("from_json")?;
        Ok((read, (self.to_json()?,)))
    }

    /// The offset of each cell.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.0.by_cell)
    }

    /// The sensitive columns and how each is read.
    #[getter]
    fn sensitive_columns(&self) -> Vec<(String, &'static str)> {
        sensitive_columns(Some(&self.0.partition))
    }
}
