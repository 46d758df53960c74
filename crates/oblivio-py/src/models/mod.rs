//! Fitted values as Python sees them.

pub(crate) mod kernel;
pub(crate) mod moments;
pub(crate) mod offsets;
pub(crate) mod parts;
pub(crate) mod scores;
pub(crate) mod transformer;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use oblivio::partition::Uses;
use oblivio::sensitive::Kind;
use oblivio::{Partition, Points, Warning};
use oblivio_base::Named;
use oblivio_onnx::{OnnxForm, OnnxSettings, Precision};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::raise;

/// How a value is pickled: through the bytes of its file.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));

/// The sensitive columns and how each is read.
pub(crate) fn sensitive_columns(partition: Option<&Partition>) -> Vec<(String, &'static str)> {
    partition.map_or(Vec::new(), |partition| {
        let kind = |kind| match kind {
            Kind::Categorical => "categorical",
            Kind::Continuous => "continuous",
        };
        let columns = partition.columns();
        columns
            .map(|(name, k)| (name.to_owned(), kind(k)))
            .collect()
    })
}

/// Columns that are needed besides the sensitive ones.
pub(crate) fn control_columns(partition: Option<&Partition>) -> Vec<String> {
    partition.map_or(Vec::new(), |partition| {
        let own = |name: &&str| !partition.columns().any(|(column, _)| column == *name);
        let needed = partition.needs().into_iter().filter(own);
        needed.map(str::to_owned).collect()
    })
}

/// How often policies were used, by name.
pub(crate) fn uses_dict(py: Python<'_>, uses: Uses) -> PyResult<Bound<'_, PyDict>> {
    let counts = PyDict::new(py);
    counts.set_item("empty_cell", uses.empty_cell)?;
    counts.set_item("unseen_category", uses.unseen_category)?;
    counts.set_item("out_of_range", uses.out_of_range)?;
    counts.set_item("missing", uses.missing)?;
    counts.set_item("sensitive_free", uses.sensitive_free)?;
    counts.set_item("unseen_level", uses.unseen_level)?;
    counts.set_item("missing_feature", uses.missing_feature)?;
    Ok(counts)
}

/// The values of a matrix, row after row, and the number of its rows.
pub(crate) fn values_of(matrix: &PyReadonlyArray2<'_, f64>) -> (Vec<f64>, usize) {
    let view = matrix.as_array();
    (view.iter().copied().collect(), view.nrows())
}

/// A sentence, and whether it needs no action.
pub(crate) type Remark = (String, bool);

pub(crate) fn remarks_of(warnings: &[Warning]) -> Vec<Remark> {
    let remark = |warning: &Warning| (warning.to_string(), warning.is_note());
    warnings.iter().map(remark).collect()
}

/// Points, one in each row.
fn rows_of<'py>(py: Python<'py>, points: &Points<'_>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_slice(py, points.values()).reshape([points.len(), points.dim()])
}

/// How a graph is written.
fn onnx_settings(form: &str, precision: &str) -> PyResult<OnnxSettings> {
    Ok(OnnxSettings {
        form: OnnxForm::named(form).map_err(raise)?,
        precision: Precision::named(precision).map_err(raise)?,
    })
}
