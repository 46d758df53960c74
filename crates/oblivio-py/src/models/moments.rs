//! Sums over rows, from which regressions follow.

use std::sync::Arc;

use numpy::PyReadonlyArray1;
use oblivio::model::Checkpoint;
use oblivio::moments::{Batch, Moments as Engine, SensitiveRows};
use oblivio::partition::Uses;
use oblivio::{Encoder, Model, Training};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::scores::{ScoreModel, feature_columns, grid_columns};
use super::{Reduced, Remark, remarks_of, uses_dict};
use crate::errors::{InvalidInputError, raise};
use crate::input::{NamedColumn, Table, sensitive};
use crate::{run, settings};

/// Moments with the encoding of their columns. They are never changed: what adds rows gives new ones, so that an
/// error or an interrupt loses nothing.
#[pyclass(frozen, module = "oblivio._oblivio")]
pub(crate) struct Moments {
    encoder: Encoder,
    moments: Engine,
}

#[pymethods]
impl Moments {
    /// Settles a plan on these rows and adds them; returns the moments and remarks.
    #[staticmethod]
    #[pyo3(signature = (table, sensitive_columns, target, weights, settings, progress=None))]
    fn begin<'py>(
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        target: Option<PyReadonlyArray1<'py, f64>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        settings: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Self, Vec<Remark>)> {
        let (common, ridge) = settings::scores(settings)?;
        let weights = weights.map(|w| w.as_array().to_vec());
        let (encoder, filled) = table.encoder(&common, weights.as_deref()).map_err(raise)?;
        let points = table.points(&encoder).map_err(raise)?.0.into_owned();
        let sensitive = sensitive(&sensitive_columns, points.len()).map_err(raise)?;
        let target = target.map_or_else(|| vec![0.0; points.len()], |y| y.as_array().to_vec());
        let (moments, mut warnings) = run::owned(py, progress, move |watch| {
            let training = Training {
                points: &points,
                sensitive: &sensitive,
                targets: &target,
                weights: weights.as_deref(),
            };
            let (plan, warnings) = ridge.plan(training, points.len(), watch)?;
            let mut moments = Engine::new(Arc::new(plan));
            let batch = Batch {
                points: &points,
                sensitive: SensitiveRows::Columns(&sensitive),
                targets: Some(&target),
                weights: weights.as_deref(),
            };
            moments.update(batch, watch)?;
            Ok((moments, warnings))
        })?;
        warnings.extend(filled);
        Ok((Self { encoder, moments }, remarks_of(&warnings)))
    }

    /// These moments with more rows, and how many values were of unseen categories.
    #[pyo3(signature = (table, sensitive_columns, target, weights, progress=None))]
    fn add<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        target: Option<PyReadonlyArray1<'py, f64>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Self, Bound<'py, PyDict>)> {
        let (points, features) = table.points(&self.encoder).map_err(raise)?;
        let sensitive = sensitive(&sensitive_columns, points.len()).map_err(raise)?;
        let target = target.map(|y| y.as_array().to_vec());
        let weights = weights.map(|w| w.as_array().to_vec());
        let moments = run::borrowed(py, progress, |watch| {
            let mut moments = self.moments.clone();
            let batch = Batch {
                points: &points,
                sensitive: SensitiveRows::Columns(&sensitive),
                targets: target.as_deref(),
                weights: weights.as_deref(),
            };
            moments.update(batch, watch)?;
            Ok(moments)
        })?;
        let uses = Uses::default().with_features(features);
        Ok((self.with(moments), uses_dict(py, uses)?))
    }

    /// The moments of no rows, by the same plan.
    fn empty(&self) -> Self {
        self.with(Engine::new(Arc::new(self.moments.plan().clone())))
    }

    /// These moments and those of other rows.
    fn merged(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.check_columns(other)?;
        let moments = run::borrowed(py, None, |watch| {
            let mut moments = self.moments.clone();
            moments.merge(&other.moments, watch)?;
            Ok(moments)
        })?;
        Ok(self.with(moments))
    }

    /// These moments without rows that are among theirs.
    fn without(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.check_columns(other)?;
        let moments = run::borrowed(py, None, |watch| {
            let mut moments = self.moments.clone();
            moments.subtract(&other.moments, watch)?;
            Ok(moments)
        })?;
        Ok(self.with(moments))
    }

    /// The regression that the moments amount to, remarks, and how often policies were used.
    #[pyo3(signature = (target, settings, progress=None))]
    fn ridge<'py>(
        &self,
        py: Python<'py>,
        target: &str,
        settings: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(ScoreModel, Vec<Remark>, Bound<'py, PyDict>)> {
        let (_, ridge) = settings::scores(settings)?;
        let (moments, solver) = (self.moments.clone(), ridge.clone());
        let fit = run::owned(py, progress, move |watch| {
            solver.fit_moments(&moments, watch)
        })?;
        let (model, summary) = Model::new(self.encoder.clone(), fit, target, &ridge);
        let uses = uses_dict(py, summary.uses)?;
        Ok((ScoreModel(model), remarks_of(&summary.warnings), uses))
    }

    /// What every strength and penalty give, a column of numbers for each quantity.
    fn grid<'py>(
        &self,
        py: Python<'py>,
        strengths: Vec<f64>,
        penalties: Vec<f64>,
        settings: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (_, ridge) = settings::scores(settings)?;
        let moments = self.moments.clone();
        let points = run::owned(py, None, move |watch| {
            ridge.grid(&moments, &strengths, &penalties, watch)
        })?;
        let columns = grid_columns(py, &points)?;
        // What only rows could tell.
        columns.del_item("gamma")?;
        columns.del_item("left_out_error")?;
        Ok(columns)
    }

    /// The bytes of the moments and of a note.
    fn to_bytes<'py>(&self, py: Python<'py>, note: String) -> PyResult<Bound<'py, PyBytes>> {
        let checkpoint = Checkpoint::of_moments(&self.encoder, &self.moments, note);
        Ok(PyBytes::new(py, &checkpoint.to_bytes().map_err(raise)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let read = py.get_type::<Self>().getattr("from_bytes")?;
        Ok((read, (self.to_bytes(py, String::new())?,)))
    }

    /// Reads what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        let checkpoint = Checkpoint::from_bytes(data).map_err(raise)?;
        let (encoder, moments) = checkpoint.into_moments().map_err(raise)?;
        Ok(Self { encoder, moments })
    }

    /// The note among the bytes.
    #[staticmethod]
    fn note_of(data: &[u8]) -> PyResult<String> {
        let checkpoint = Checkpoint::from_bytes(data).map_err(raise)?;
        Ok(checkpoint.note().to_owned())
    }

    /// Whether the conditional mean is a regression on features of S.
    #[getter]
    fn is_smooth(&self) -> bool {
        self.moments.plan().is_smooth()
    }

    /// Rows added, those of weight zero left out.
    #[getter]
    fn rows(&self) -> usize {
        self.moments.rows()
    }

    /// The sum of their weights.
    #[getter]
    fn weight(&self) -> f64 {
        self.moments.weight()
    }

    /// The number of landmarks.
    #[getter]
    fn components(&self) -> usize {
        self.moments.plan().components()
    }

    /// The kernel, its numbers resolved.
    #[getter]
    fn kernel(&self) -> String {
        self.moments.plan().map().kernel().to_string()
    }

    /// The feature columns: name, and the levels of a categorical one.
    #[getter]
    fn feature_columns(&self) -> Vec<(String, Option<Vec<String>>)> {
        feature_columns(&self.encoder)
    }
}

impl Moments {
    fn with(&self, moments: Engine) -> Self {
        Self {
            encoder: self.encoder.clone(),
            moments,
        }
    }

    fn check_columns(&self, other: &Self) -> PyResult<()> {
        if self.encoder == other.encoder {
            return Ok(());
        }
        let names = |encoder: &Encoder| encoder.columns().collect::<Vec<_>>().join(", ");
        Err(InvalidInputError::new_err(format!(
            "these moments do not go together: their columns are {} and {}; give the same columns in the same order",
            names(&self.encoder),
            names(&other.encoder),
        )))
    }
}
