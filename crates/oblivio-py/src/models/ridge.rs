//! A fitted regression.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use oblivio::{Drift, Encoder, Model, Training, Uses};

use super::{Reduced, rows_of, sensitive_columns, texts, uses_dict};
use crate::errors::raise;
use crate::input::{NamedColumn, Table, sensitive};
use crate::{run, settings};

/// A vector for Python.
type Numbers<'py> = Bound<'py, PyArray1<f64>>;

/// Ridge regression on plain or oblivious features, fitted.
#[pyclass(frozen, module = "oblivio._oblivio")]
pub(crate) struct RidgeModel(pub(super) Model);

/// Cell, rows, means before and after, z, offsets before and after, and whether the cell was kept as it was.
type DriftRow = (String, usize, f64, f64, Option<f64>, f64, f64, bool);

fn drift_row(drift: Drift) -> DriftRow {
    let (offset_before, offset_after) = drift.offsets;
    (
        drift.label,
        drift.rows,
        drift.before,
        drift.after,
        drift.z,
        offset_before,
        offset_after,
        drift.kept,
    )
}

#[pymethods]
impl RidgeModel {
    /// Fits; returns the model, remarks, and how often policies were used.
    #[staticmethod]
    #[pyo3(signature = (table, sensitive_columns, target, weights, settings, progress=None))]
    fn fit<'py>(
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        target: (String, PyReadonlyArray1<'py, f64>),
        weights: Option<PyReadonlyArray1<'py, f64>>,
        settings: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Self, Vec<String>, Bound<'py, PyDict>)> {
        let (common, ridge) = settings::ridge(settings)?;
        let (name, target) = target;
        let target = target.as_array().to_vec();
        let weights = weights.map(|w| w.as_array().to_vec());
        let (encoder, problem) = {
            let weights = weights.as_deref();
            let encoder = table
                .encoder(&common, weights, ridge.partition.policies.category)
                .map_err(raise)?;
            let (points, _) = table.points(&encoder).map_err(raise)?;
            let sensitive = sensitive(&sensitive_columns, points.len()).map_err(raise)?;
            let problem = py
                .detach(|| {
                    ridge.prepare(Training {
                        points: &points,
                        sensitive: &sensitive,
                        targets: &target,
                        weights,
                    })
                })
                .map_err(raise)?;
            (encoder, problem)
        };
        let fit = run::owned(py, progress, move |watch| problem.fit(watch))?;
        let (model, summary) = Model::new(encoder, fit, &name, &ridge);
        let uses = uses_dict(py, summary.uses)?;
        Ok((Self(model), texts(&summary.warnings), uses))
    }

    /// The scores, the scores before the offset, and how often policies were used.
    #[pyo3(signature = (table, sensitive_columns=None, progress=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Option<Vec<NamedColumn<'py>>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Numbers<'py>, Numbers<'py>, Bound<'py, PyDict>)> {
        let (points, unseen_level) = table.points(&self.0.encoder).map_err(raise)?;
        let given = sensitive_columns
            .map(|columns| sensitive(&columns, points.len()))
            .transpose()
            .map_err(raise)?;
        let prediction = run::borrowed(py, progress, |watch| {
            self.0.predictor.predict(&points, given.as_ref(), watch)
        })?;
        let uses = Uses {
            unseen_level,
            ..prediction.uses
        };
        Ok((
            prediction.scores.into_pyarray(py),
            prediction.before.into_pyarray(py),
            uses_dict(py, uses)?,
        ))
    }

    /// The model with offsets from new rows, how far every cell has drifted, and how often policies were used.
    #[pyo3(signature = (table, sensitive_columns, weights, least, progress=None))]
    fn refresh<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        least: usize,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Self, Vec<DriftRow>, Bound<'py, PyDict>)> {
        let (points, unseen_level) = table.points(&self.0.encoder).map_err(raise)?;
        let given = sensitive(&sensitive_columns, points.len()).map_err(raise)?;
        let weights = weights.map(|w| w.as_array().to_vec());
        let (predictor, drift, uses) = run::borrowed(py, progress, |watch| {
            let mut refresh = self.0.predictor.refresh()?;
            refresh.update(&points, &given, weights.as_deref(), watch)?;
            refresh.finish(least)
        })?;
        let model = Model {
            predictor,
            ..self.0.clone()
        };
        let uses = Uses {
            unseen_level,
            ..uses
        };
        let drift = drift.into_iter().map(drift_row).collect();
        Ok((Self(model), drift, uses_dict(py, uses)?))
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(raise)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let read = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((read, (self.to_bytes(py)?,)))
    }

    /// Reads a model file's bytes.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        Ok(Self(Model::from_bytes(data).map_err(raise)?))
    }

    /// The card as JSON.
    fn card(&self) -> PyResult<String> {
        serde_json::to_string(&self.0.card)
            .map_err(|error| crate::errors::InvalidInputError::new_err(error.to_string()))
    }

    /// The kernel, its numbers resolved.
    #[getter]
    fn kernel(&self) -> String {
        self.0.predictor.kernel().to_string()
    }

    /// How much is taken out.
    #[getter]
    fn strength(&self) -> f64 {
        self.0.predictor.strength()
    }

    /// The constant beside the expansion.
    #[getter]
    fn intercept(&self) -> f64 {
        self.0.predictor.intercept()
    }

    /// Whether prediction needs the sensitive columns.
    #[getter]
    fn needs_sensitive(&self) -> bool {
        self.0.predictor.needs_sensitive()
    }

    /// The coefficients of the expansion.
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.0.predictor.coefficients())
    }

    /// The points of the expansion, one in each row.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        rows_of(py, self.0.predictor.points())
    }

    /// The number of landmarks; `None` on the exact path.
    #[getter]
    fn components(&self) -> Option<usize> {
        self.0.card.components
    }

    /// The offset of each cell.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let offsets = self.0.predictor.offsets();
        PyArray1::from_slice(py, offsets.map_or(&[][..], |offsets| &offsets.by_cell))
    }

    /// The cells in words, each with its number of reference rows.
    #[getter]
    fn cells(&self) -> Vec<(String, usize)> {
        self.0.predictor.offsets().map_or(Vec::new(), |offsets| {
            let partition = &offsets.partition;
            let cells = 0..partition.len();
            cells
                .map(|c| (partition.label(c), partition.counts()[c]))
                .collect()
        })
    }

    /// The sensitive columns and how each is read.
    #[getter]
    fn sensitive_columns(&self) -> Vec<(String, &'static str)> {
        sensitive_columns(self.0.predictor.offsets().map(|offsets| &offsets.partition))
    }

    /// The feature columns: name, and the levels of a categorical one.
    #[getter]
    fn feature_columns(&self) -> Vec<(String, Option<Vec<String>>)> {
        feature_columns(&self.0.encoder)
    }
}

pub(super) fn feature_columns(encoder: &Encoder) -> Vec<(String, Option<Vec<String>>)> {
    let levels = |name: &str| encoder.levels(name).map(<[String]>::to_vec);
    let columns = encoder.columns();
    columns
        .map(|name| (name.to_owned(), levels(name)))
        .collect()
}
