//! A fit in parts: surveys and shares of parts of a table, which join in its order.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use oblivio::features::FeatureFit;
use oblivio::fit::StreamFit as Regression;
use oblivio::model::Checkpoint;
use oblivio::moments::{Batch, SensitiveRows};
use oblivio::share::Share as Engine;
use oblivio::survey::Survey as Look;
use oblivio::{Encoder, Model, Settings, Transformer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::scores::ScoreModel;
use super::transformer::FeatureModel;
use super::{Remark, remarks_of, uses_dict};
use crate::errors::{InvalidInputError, TableChangedError, raise};
use crate::input::{NamedColumn, Table, column, sensitive};
use crate::{run, settings};

/// A first look at a part of a table.
#[pyclass(module = "oblivio._oblivio")]
pub(crate) struct Survey(Look);

#[pymethods]
impl Survey {
    /// Of no rows yet, for a part that begins at row `start` of a table of `total`.
    #[new]
    #[pyo3(signature = (seed, start=0, total=None))]
    fn new(seed: u64, start: usize, total: Option<usize>) -> Self {
        Self(Look::part(seed, start, total))
    }

    /// Looks at more rows; columns of X named in `categorical` are read as categories.
    fn update(
        &mut self,
        py: Python<'_>,
        table: Table<'_>,
        sensitive_columns: Vec<NamedColumn<'_>>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        categorical: Vec<String>,
    ) -> PyResult<()> {
        let features = table.columns(&categorical);
        let sensitive: Vec<_> = sensitive_columns.iter().map(column).collect();
        let weights = weights.map(|w| w.as_array().to_vec());
        py.detach(|| self.0.update(&features, &sensitive, weights.as_deref()))
            .map_err(raise)
    }

    /// Takes in the survey of the rows that follow.
    fn absorb(&mut self, later: &[u8]) -> PyResult<()> {
        let later = Look::from_bytes(later).map_err(raise)?;
        self.0.join(&later).map_err(raise)
    }

    /// The bytes of the survey.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(raise)?))
    }

    /// Reads what `to_bytes` wrote.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        Ok(Self(Look::from_bytes(data).map_err(raise)?))
    }

    /// Rows seen, those of weight zero left out.
    #[getter]
    fn rows(&self) -> usize {
        self.0.rows()
    }

    /// Begins a regression on landmarks.
    #[pyo3(signature = (settings, progress=None))]
    fn begin_scores<'py>(
        &self,
        py: Python<'py>,
        settings: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<StreamFit> {
        let (common, settings) = settings::scores(settings)?;
        let Some(components) = settings.components else {
            return Err(InvalidInputError::new_err(
                "a fit in parts adds up features of landmarks; set n_components",
            ));
        };
        let encoding = common.encoding().map_err(raise)?;
        let (survey, solver) = (self.0.clone(), settings.clone());
        let (encoder, fit) = run::owned(py, progress, move |watch| {
            survey.begin(encoding, &solver, components, watch)
        })?;
        let rows = self.0.rows();
        let sums = Sums::Scores(Box::new((settings, fit)));
        Ok(StreamFit {
            encoder,
            sums,
            rows,
        })
    }

    /// Begins oblivious features.
    #[pyo3(signature = (settings, progress=None))]
    fn begin_features<'py>(
        &self,
        py: Python<'py>,
        settings: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<StreamFit> {
        let (common, settings) = settings::features(settings)?;
        let encoding = common.encoding().map_err(raise)?;
        let survey = self.0.clone();
        let (encoder, fit) = run::owned(py, progress, move |watch| {
            survey.begin_features(encoding, &settings, watch)
        })?;
        let rows = self.0.rows();
        let sums = Sums::Features(Box::new(fit));
        Ok(StreamFit {
            encoder,
            sums,
            rows,
        })
    }
}

/// A fit that was begun and takes in the sums of all rows.
#[pyclass(module = "oblivio._oblivio")]
pub(crate) struct StreamFit {
    encoder: Encoder,
    sums: Sums,
    /// Rows of the survey.
    rows: usize,
}

enum Sums {
    Scores(Box<(Settings, Regression)>),
    Features(Box<FeatureFit>),
}

#[pymethods]
impl StreamFit {
    /// What the shares of rows need to know.
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(
            py,
            &self.checkpoint().to_bytes().map_err(raise)?,
        ))
    }

    /// Takes in the share of all rows.
    fn absorb(&mut self, py: Python<'_>, share: &[u8]) -> PyResult<()> {
        let empty = Engine::new(self.checkpoint(), 0).map_err(raise)?;
        let share = empty.read(share).map_err(raise)?;
        if share.rows() != self.rows {
            return Err(TableChangedError::new_err(format!(
                "the table had {} rows at first and {} when they were summed; keep a copy of it that does not \
                 change between two passes",
                self.rows,
                share.rows(),
            )));
        }
        let sums = &mut self.sums;
        run::borrowed(py, None, |watch| match sums {
            Sums::Scores(fit) => fit.1.absorb(&share, watch),
            Sums::Features(fit) => fit.absorb(&share, watch),
        })
    }

    /// The regression, remarks, and how often policies were used.
    #[pyo3(signature = (target, progress=None))]
    fn scores<'py>(
        &self,
        py: Python<'py>,
        target: &str,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(ScoreModel, Vec<Remark>, Bound<'py, PyDict>)> {
        let Sums::Scores(fit) = &self.sums else {
            return Err(another_kind());
        };
        let (settings, regression) = (&fit.0, fit.1.clone());
        let fit = run::owned(py, progress, move |watch| regression.finish(watch))?;
        let (model, summary) = Model::new(self.encoder.clone(), fit, target, settings);
        let uses = uses_dict(py, summary.uses)?;
        Ok((ScoreModel(model), remarks_of(&summary.warnings), uses))
    }

    /// The features and remarks.
    #[pyo3(signature = (progress=None))]
    fn features(
        &self,
        py: Python<'_>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(FeatureModel, Vec<Remark>)> {
        let Sums::Features(fit) = &self.sums else {
            return Err(another_kind());
        };
        let fit = fit.as_ref().clone();
        let (features, warnings) = run::owned(py, progress, move |watch| fit.finish(watch))?;
        let encoder = self.encoder.clone();
        let model = FeatureModel(Transformer { encoder, features });
        Ok((model, remarks_of(&warnings)))
    }
}

impl StreamFit {
    fn checkpoint(&self) -> Checkpoint {
        match &self.sums {
            Sums::Scores(fit) => Checkpoint::of_fit(&self.encoder, &fit.1, String::new()),
            Sums::Features(fit) => Checkpoint::of_features(&self.encoder, fit, String::new()),
        }
    }
}

fn another_kind() -> PyErr {
    InvalidInputError::new_err("this fit was begun for something else")
}

/// The sums of a part of a table.
#[pyclass(module = "oblivio._oblivio")]
pub(crate) struct Share(Engine);

#[pymethods]
impl Share {
    /// Of no rows yet, for a part that begins at row `start`.
    #[new]
    #[pyo3(signature = (plan, start=0))]
    fn new(plan: &[u8], start: usize) -> PyResult<Self> {
        let plan = Checkpoint::from_bytes(plan).map_err(raise)?;
        Ok(Self(Engine::new(plan, start).map_err(raise)?))
    }

    /// Adds rows.
    fn update(
        &mut self,
        py: Python<'_>,
        table: Table<'_>,
        sensitive_columns: Vec<NamedColumn<'_>>,
        target: Option<PyReadonlyArray1<'_, f64>>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<()> {
        let (points, _) = table.points(self.0.encoder()).map_err(raise)?;
        let sensitive = sensitive(&sensitive_columns, points.len()).map_err(raise)?;
        let target = target.map(|y| y.as_array().to_vec());
        let weights = weights.map(|w| w.as_array().to_vec());
        let share = &mut self.0;
        run::borrowed(py, None, |watch| {
            let batch = Batch {
                points: &points,
                sensitive: SensitiveRows::Columns(&sensitive),
                targets: target.as_deref(),
                weights: weights.as_deref(),
            };
            share.update(batch, watch)
        })
    }

    /// Takes in the share of the rows that follow.
    fn absorb(&mut self, py: Python<'_>, later: &[u8]) -> PyResult<()> {
        let share = &mut self.0;
        run::borrowed(py, None, |watch| {
            let later = share.read(later)?;
            share.join(&later, watch)
        })
    }

    /// The bytes of the share: sums alone.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let share = self.0.clone();
        let bytes = run::borrowed(py, None, |watch| share.to_bytes(watch))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Rows added, those of weight zero left out.
    #[getter]
    fn rows(&self) -> usize {
        self.0.rows()
    }
}

/// Positions and random numbers.
type Drawn<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>);

/// Of `rows` rows that begin at row `start` of a table of `total`: those that may be among a seeded sample of `size` of the
/// table, and a random number each. The sample is the rows with the `size` smallest numbers of the whole table.
#[pyfunction]
pub(crate) fn drawn(
    py: Python<'_>,
    size: usize,
    seed: u64,
    start: usize,
    rows: usize,
    total: usize,
) -> Drawn<'_> {
    let (positions, numbers) =
        py.detach(|| oblivio_base::random::drawn(size, seed, start, rows, total));
    let positions: Vec<u64> = positions.into_iter().map(|row| row as u64).collect();
    (positions.into_pyarray(py), numbers.into_pyarray(py))
}
