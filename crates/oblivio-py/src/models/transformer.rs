//! A fitted feature map.

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use oblivio::{Training, Transformer, Uses};

use super::ridge::feature_columns;
use super::{Reduced, sensitive_columns, texts, uses_dict};
use crate::errors::raise;
use crate::input::{NamedColumn, Table, sensitive};
use crate::run;
use crate::settings::Common;

/// Oblivious features on landmarks, fitted.
#[pyclass(frozen, module = "oblivio._oblivio")]
pub(crate) struct FeatureModel(Transformer);

#[pymethods]
impl FeatureModel {
    /// Fits; returns the features and remarks.
    #[staticmethod]
    #[pyo3(signature = (table, sensitive_columns, weights, settings, components, progress=None))]
    fn fit<'py>(
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        settings: &Bound<'py, PyDict>,
        components: usize,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Self, Vec<String>)> {
        let common: Common = settings.extract()?;
        let features = common.features(components).map_err(raise)?;
        let weights = weights.map(|w| w.as_array().to_vec());
        let unseen = features.partition.policies.category;
        let encoder = table
            .encoder(&common, weights.as_deref(), unseen)
            .map_err(raise)?;
        let (points, _) = table.points(&encoder).map_err(raise)?;
        let sensitive = sensitive(&sensitive_columns, points.len()).map_err(raise)?;
        let training = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &[],
            weights: weights.as_deref(),
        };
        let (features, warnings) =
            run::borrowed(py, progress, |watch| features.fit(training, watch))?;
        let transformer = Transformer {
            encoder: encoder.clone(),
            features,
        };
        Ok((Self(transformer), texts(&warnings)))
    }

    /// The features, and how often policies were used.
    #[pyo3(signature = (table, sensitive_columns=None, progress=None))]
    fn transform<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Option<Vec<NamedColumn<'py>>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyDict>)> {
        let (points, unseen_level) = table.points(&self.0.encoder).map_err(raise)?;
        let given = sensitive_columns
            .map(|columns| sensitive(&columns, points.len()))
            .transpose()
            .map_err(raise)?;
        let (features, assignment) = run::borrowed(py, progress, |watch| {
            self.0.features.transform(&points, given.as_ref(), watch)
        })?;
        let shape = [points.len(), self.0.features.map().len()];
        let uses = Uses {
            unseen_level,
            ..assignment.map_or(Uses::default(), |a| a.uses)
        };
        Ok((
            features.into_pyarray(py).reshape(shape)?,
            uses_dict(py, uses)?,
        ))
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
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        Ok(Self(Transformer::from_bytes(data).map_err(raise)?))
    }

    /// The number of features.
    #[getter]
    fn components(&self) -> usize {
        self.0.features.map().len()
    }

    /// The sensitive columns and how each is read.
    #[getter]
    fn sensitive_columns(&self) -> Vec<(String, &'static str)> {
        sensitive_columns(self.0.features.partition())
    }

    /// The feature columns: name, and the levels of a categorical one.
    #[getter]
    fn feature_columns(&self) -> Vec<(String, Option<Vec<String>>)> {
        feature_columns(&self.0.encoder)
    }
}
