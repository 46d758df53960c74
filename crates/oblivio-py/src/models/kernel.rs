//! A fitted oblivious kernel.

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use oblivio::Watch;
use oblivio::model::KernelModel as Engine;
use oblivio::oblivious::Features;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::scores::feature_columns;
use super::{Reduced, Remark, control_columns, remarks_of, sensitive_columns, uses_dict};
use crate::errors::raise;
use crate::input::{NamedColumn, Table, sensitive};
use crate::run;
use crate::settings::Common;

/// The paper's matrix for any rows.
#[pyclass(frozen, module = "oblivio._oblivio")]
pub(crate) struct KernelModel(Engine);

/// Rows to take inner products of.
type Rows<'py> = (Table<'py>, Option<Vec<NamedColumn<'py>>>);

#[pymethods]
impl KernelModel {
    /// Estimates the means on reference rows; returns the kernel and remarks.
    #[staticmethod]
    #[pyo3(signature = (table, sensitive_columns, weights, settings, progress=None))]
    fn fit<'py>(
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        settings: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Self, Vec<Remark>)> {
        let common = Common::read(settings)?;
        let settings = common.kernel();
        let weights = weights.map(|w| w.as_array().to_vec());
        let (encoder, filled) = table.encoder(&common, weights.as_deref()).map_err(raise)?;
        let (points, _) = table.points(&encoder).map_err(raise)?;
        let sensitive = sensitive(&sensitive_columns, points.len()).map_err(raise)?;
        let (model, mut warnings) = run::borrowed(py, progress, |watch| {
            Engine::fit(
                encoder.clone(),
                &points,
                &sensitive,
                weights.as_deref(),
                &settings,
                watch,
            )
        })?;
        warnings.extend(filled);
        Ok((Self(model), remarks_of(&warnings)))
    }

    /// Inner products of rows with themselves or with others, and how often policies were used.
    ///
    /// Rows with sensitive values are oblivious, rows without are plain.
    #[pyo3(signature = (rows, others=None, progress=None))]
    fn matrix<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        others: Option<Rows<'py>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyDict>)> {
        let prepare = |(table, columns): &Rows<'py>| -> oblivio::Result<_> {
            let (points, from_features) = table.points(&self.0.encoder)?;
            let points = points.into_owned();
            let assignment = match columns {
                None => None,
                Some(columns) => {
                    let sensitive = sensitive(columns, points.len())?;
                    let mut assignment = self.0.partition.assign(&sensitive)?;
                    assignment.uses = assignment.uses.with_features(from_features);
                    Some(assignment)
                }
            };
            Ok((points, assignment))
        };
        let a = prepare(&rows).map_err(raise)?;
        let b = others.as_ref().map(prepare).transpose().map_err(raise)?;
        let features = |(points, assignment)| match assignment {
            None => Features::Plain(points),
            Some(assignment) => Features::Oblivious(points, assignment),
        };
        // Entries come column after column: with the sides exchanged, that is row after row.
        let values = run::borrowed(py, progress, |watch| match (&b, &a) {
            (None, (points, Some(cells))) => self.0.map.gram(points, cells, watch),
            (None, (points, None)) => {
                self.0
                    .map
                    .inner(Features::Plain(points), Features::Plain(points), watch)
            }
            (Some((points, cells)), a) => self.0.map.inner(
                features((points, cells.as_ref())),
                features((&a.0, a.1.as_ref())),
                watch,
            ),
        })?;
        let columns = b.as_ref().map_or(a.0.len(), |b| b.0.len());
        let mut uses = a.1.map_or(oblivio::partition::Uses::default(), |a| a.uses);
        if let Some((_, Some(b))) = &b {
            uses = uses.plus(b.uses);
        }
        Ok((
            values.into_pyarray(py).reshape([a.0.len(), columns])?,
            uses_dict(py, uses)?,
        ))
    }

    /// The same for new objects, by the values of their kernel.
    fn with_new_objects(&self, values: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let (values, rows) = super::values_of(&values);
        Ok(Self(self.0.with_new_objects(values, rows).map_err(raise)?))
    }

    /// The bytes of the file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(raise)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let read = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((read, (self.to_bytes(py)?,)))
    }

    /// Reads a file's bytes.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let model = py.detach(|| Engine::from_bytes(data, &Watch::default()));
        Ok(Self(model.map_err(raise)?))
    }

    /// The kernel, its numbers resolved.
    #[getter]
    fn kernel(&self) -> String {
        self.0.map.mean().kernel().to_string()
    }

    /// The sensitive columns and how each is read.
    #[getter]
    fn sensitive_columns(&self) -> Vec<(String, &'static str)> {
        sensitive_columns(Some(&self.0.partition))
    }

    /// The legitimate factors.
    #[getter]
    fn control_columns(&self) -> Vec<String> {
        control_columns(Some(&self.0.partition))
    }

    /// Whether columns of numbers are scaled.
    #[getter]
    fn standardize(&self) -> bool {
        self.0.encoder.is_scaled()
    }

    /// The feature columns: name, and the levels of a categorical one.
    #[getter]
    fn feature_columns(&self) -> Vec<(String, Option<Vec<String>>)> {
        feature_columns(&self.0.encoder)
    }
}
