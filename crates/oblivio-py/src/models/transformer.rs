//! A fitted feature map.

use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1};
use oblivio::model::Checkpoint;
use oblivio::moments::{Batch, SensitiveRows};
use oblivio::partition::Uses;
use oblivio::{Training, Transformer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::scores::feature_columns;
use super::{
    Reduced, Remark, control_columns, onnx_settings, remarks_of, rows_of, sensitive_columns,
    uses_dict,
};
use crate::errors::raise;
use crate::input::{NamedColumn, Table, sensitive};
use crate::{run, settings};

/// Oblivious features on landmarks, fitted.
#[pyclass(frozen, module = "oblivio._oblivio")]
pub(crate) struct FeatureModel(pub(super) Transformer);

/// Features of the rows so far, the state to go on from, remarks, and how often policies were used.
type Batched<'py> = (
    FeatureModel,
    Bound<'py, PyBytes>,
    Vec<Remark>,
    Bound<'py, PyDict>,
);

#[pymethods]
impl FeatureModel {
    /// Fits; returns the features and remarks.
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
        let (common, features) = settings::features(settings)?;
        let weights = weights.map(|w| w.as_array().to_vec());
        let (encoder, filled) = table.encoder(&common, weights.as_deref()).map_err(raise)?;
        let (points, _) = table.points(&encoder).map_err(raise)?;
        let sensitive = sensitive(&sensitive_columns, points.len()).map_err(raise)?;
        let training = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &[],
            weights: weights.as_deref(),
        };
        let (features, mut warnings) =
            run::borrowed(py, progress, |watch| features.fit(training, watch))?;
        warnings.extend(filled);
        let transformer = Transformer {
            encoder: encoder.clone(),
            features,
        };
        Ok((Self(transformer), remarks_of(&warnings)))
    }

    /// Fits to rows that come in batches: to the first, or to one more than the `state` has seen.
    #[staticmethod]
    #[pyo3(signature = (state, table, sensitive_columns, weights, settings, progress=None))]
    fn partial_fit<'py>(
        py: Python<'py>,
        state: Option<&[u8]>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        settings: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Batched<'py>> {
        let (common, features) = settings::features(settings)?;
        let weights = weights.map(|w| w.as_array().to_vec());
        let (encoder, begun, filled) = if let Some(state) = state {
            let checkpoint = Checkpoint::from_bytes(state).map_err(raise)?;
            let (encoder, fit) = checkpoint.into_features(&features).map_err(raise)?;
            (encoder, Some(fit), None)
        } else {
            let (encoder, filled) = table.encoder(&common, weights.as_deref()).map_err(raise)?;
            (encoder, None, filled)
        };
        let (points, from_features) = table.points(&encoder).map_err(raise)?;
        let points = points.into_owned();
        let sensitive = sensitive(&sensitive_columns, points.len()).map_err(raise)?;
        let (fit, features, mut warnings) = run::owned(py, progress, move |watch| {
            let weights = weights.as_deref();
            let fit = if let Some(mut fit) = begun {
                let batch = Batch {
                    points: &points,
                    sensitive: SensitiveRows::Columns(&sensitive),
                    targets: None,
                    weights,
                };
                fit.update(batch, watch)?;
                fit
            } else {
                let training = Training {
                    points: &points,
                    sensitive: &sensitive,
                    targets: &[],
                    weights,
                };
                features.begin_with(training, watch)?
            };
            let (features, warnings) = fit.clone().finish(watch)?;
            Ok((fit, features, warnings))
        })?;
        let state = Checkpoint::of_features(&encoder, &fit, String::new())
            .to_bytes()
            .map_err(raise)?;
        let uses = Uses::default().with_features(from_features);
        let model = Self(Transformer { encoder, features });
        warnings.extend(filled);
        let remarks = remarks_of(&warnings);
        Ok((
            model,
            PyBytes::new(py, &state),
            remarks,
            uses_dict(py, uses)?,
        ))
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
        let (points, from_features) = table.points(&self.0.encoder).map_err(raise)?;
        let given = sensitive_columns
            .map(|columns| sensitive(&columns, points.len()))
            .transpose()
            .map_err(raise)?;
        let (features, assignment) = run::borrowed(py, progress, |watch| {
            self.0.features.transform(&points, given.as_ref(), watch)
        })?;
        let shape = [points.len(), self.0.features.map().len()];
        let uses = assignment.map_or(Uses::default(), |a| a.uses);
        let uses = uses.with_features(from_features);
        Ok((
            features.into_pyarray(py).reshape(shape)?,
            uses_dict(py, uses)?,
        ))
    }

    /// The bytes of the file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(raise)?))
    }

    /// The bytes of an ONNX file.
    fn to_onnx<'py>(
        &self,
        py: Python<'py>,
        form: &str,
        precision: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let settings = onnx_settings(form, precision)?;
        let bytes = py
            .detach(|| oblivio_onnx::export_transformer(&self.0, settings))
            .map_err(raise)?;
        Ok(PyBytes::new(py, &bytes))
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

    /// The landmarks, one in each row.
    #[getter]
    fn landmarks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        rows_of(py, self.0.features.map().basis().points())
    }

    /// t; zero for features that nothing is taken off.
    #[getter]
    fn strength(&self) -> f64 {
        self.0.strength()
    }

    /// The kernel, its numbers resolved.
    #[getter]
    fn kernel(&self) -> String {
        self.0.features.map().kernel().to_string()
    }

    /// The sensitive columns and how each is read.
    #[getter]
    fn sensitive_columns(&self) -> Vec<(String, &'static str)> {
        sensitive_columns(self.0.features.partition())
    }

    /// The legitimate factors.
    #[getter]
    fn control_columns(&self) -> Vec<String> {
        control_columns(self.0.features.partition())
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
