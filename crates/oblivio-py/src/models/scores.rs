//! A fitted regression or classifier.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use oblivio::fit::GridPoint;
use oblivio::intervals::{CellCoverage, Coverage};
use oblivio::model::{Labels, Reduce, Renewed};
use oblivio::refresh::{Drift, Renewal, SmallCells};
use oblivio::{Encoder, Model, Points, Predictor, Sensitive, Summary, Training, Warning};
use oblivio_base::Named;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::{
    Reduced, Remark, control_columns, onnx_settings, remarks_of, rows_of, sensitive_columns,
    uses_dict,
};
use crate::errors::raise;
use crate::input::{NamedColumn, Table, sensitive};
use crate::settings::Common;
use crate::{run, settings};

/// A vector for Python.
type Numbers<'py> = Bound<'py, PyArray1<f64>>;

/// How a score was found: the solver, its steps, how far it may be from the best, and whether that is near enough.
type EffortRow = (&'static str, usize, Option<f64>, bool);

/// The name of a target, its values, and the names of its classes with whether these are numbers.
type Target<'py> = (
    String,
    PyReadonlyArray1<'py, f64>,
    Option<(Vec<String>, bool)>,
);

/// A model, remarks, how often policies were used, and how each score was found.
type Fitted<'py> = (ScoreModel, Vec<Remark>, Bound<'py, PyDict>, Vec<EffortRow>);

/// A column of a table of grid points.
type Quantity = (&'static str, fn(&GridPoint) -> f64);

/// One score or several on plain or oblivious features, fitted.
#[pyclass(frozen, module = "oblivio._oblivio")]
pub(crate) struct ScoreModel(pub(crate) Model);

/// Cell, rows, the share covered, the mean width, and how many intervals have no end.
type CoverageRow = (String, usize, f64, f64, usize);

/// The ends of intervals, how often policies were used, how many have no end, and the coverage found.
type Bounded<'py> = (
    Numbers<'py>,
    Numbers<'py>,
    Bound<'py, PyDict>,
    usize,
    Vec<CoverageRow>,
);

/// Cell, rows, means before and after, z, offsets before and after, whether the cell was kept as it was; mean and z since the fit.
type DriftRow = (
    String,
    usize,
    f64,
    f64,
    Option<f64>,
    f64,
    f64,
    bool,
    Option<f64>,
    Option<f64>,
);

fn coverage_row(line: CellCoverage) -> CoverageRow {
    (
        line.label,
        line.rows,
        line.covered,
        line.width,
        line.endless,
    )
}

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
        drift.since_fit.map(|fit| fit.mean),
        drift.since_fit.and_then(|fit| fit.z),
    )
}

#[pymethods]
impl ScoreModel {
    /// Fits; returns the model, remarks, how often policies were used, and how each score was found. The target is its name,
    /// its values, and for a classifier the classes whose numbers these are: their names, and whether these are numbers.
    #[staticmethod]
    #[pyo3(signature = (table, sensitive_columns, target, weights, settings, progress=None))]
    fn fit<'py>(
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        target: Target<'py>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        settings: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Fitted<'py>> {
        let (common, settings) = settings::scores(settings)?;
        let (name, target, classes) = target;
        let target = target.as_array().to_vec();
        let weights = weights.map(|w| w.as_array().to_vec());
        let weights = weights.as_deref();
        let ((encoder, filled), points, sensitive) =
            rows(&table, &sensitive_columns, weights, &common)?;
        let training = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &target,
            weights,
        };
        let (model, summaries) = if let Some((names, numeric)) = classes {
            let labels = Labels::new(names, numeric);
            let problem = py.detach(|| settings.prepare_classes(training, labels.len()));
            let problem = problem.map_err(|error| raise(labels.named(error)))?;
            drop((points, sensitive));
            let mut fits = run::owned(py, progress, move |watch| problem.fit(watch))?;
            for fit in &mut fits {
                fit.summary.warnings.extend(filled.clone());
            }
            Model::classifier(encoder, fits, &name, &labels, &settings)
        } else {
            let problem = py.detach(|| settings.prepare(training)).map_err(raise)?;
            drop((points, sensitive));
            let mut fit = run::owned(py, progress, move |watch| problem.fit(watch))?;
            fit.summary.warnings.extend(filled);
            let (model, summary) = Model::new(encoder, fit, &name, &settings);
            (model, vec![summary])
        };
        let uses = uses_dict(py, summaries[0].uses)?;
        let mut remarks = Vec::new();
        for remark in summaries
            .iter()
            .flat_map(|summary| remarks_of(&summary.warnings))
        {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        let efforts = summaries.iter().map(effort_row).collect();
        Ok((Self(model), remarks, uses, efforts))
    }

    /// Error and dependence of ridge regressions by leaving out each row, for every bandwidth, strength and penalty: the columns
    /// of a table, the row that was chosen, and its kernel. The settings have the grid, too.
    #[staticmethod]
    #[pyo3(signature = (table, sensitive_columns, target, weights, settings, progress=None))]
    fn path<'py>(
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        target: PyReadonlyArray1<'py, f64>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        settings: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyDict>, usize, String)> {
        let grid = settings::grid(settings)?;
        let (common, settings) = settings::scores(settings)?;
        let target = target.as_array().to_vec();
        let weights = weights.map(|w| w.as_array().to_vec());
        let weights = weights.as_deref();
        let (_, points, sensitive) = rows(&table, &sensitive_columns, weights, &common)?;
        let path = run::borrowed(py, progress, |watch| {
            let training = Training {
                points: &points,
                sensitive: &sensitive,
                targets: &target,
                weights,
            };
            settings.path(training, &grid, watch)
        })?;
        let columns = grid_columns(py, &path.points)?;
        Ok((columns, path.best, path.settings.kernel.to_string()))
    }

    /// For each score its values and those before the offset; and how often policies were used.
    #[pyo3(signature = (table, sensitive_columns=None, progress=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Option<Vec<NamedColumn<'py>>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Vec<Numbers<'py>>, Vec<Numbers<'py>>, Bound<'py, PyDict>)> {
        let (points, features) = table.points(&self.0.encoder).map_err(raise)?;
        let given = sensitive_columns
            .map(|columns| sensitive(&columns, points.len()))
            .transpose()
            .map_err(raise)?;
        let predictions = run::borrowed(py, progress, |watch| {
            let score = |scorer: &Predictor| scorer.predict(&points, given.as_ref(), watch);
            let scorers = self.0.scorers.iter();
            scorers.map(score).collect::<oblivio::Result<Vec<_>>>()
        })?;
        let uses = predictions[0].uses.with_features(features);
        let (mut scores, mut before) = (Vec::new(), Vec::new());
        for prediction in predictions {
            scores.push(prediction.scores.into_pyarray(py));
            before.push(prediction.before.into_pyarray(py));
        }
        Ok((scores, before, uses_dict(py, uses)?))
    }

    /// The ends of the intervals of a regression, how often policies were used, how many intervals have no end, and, where targets
    /// are given, how often they hold them in every cell.
    #[pyo3(signature = (table, sensitive_columns, coverage, target=None, progress=None))]
    fn predict_interval<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Option<Vec<NamedColumn<'py>>>,
        coverage: f64,
        target: Option<PyReadonlyArray1<'py, f64>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bounded<'py>> {
        let (points, features) = table.points(&self.0.encoder).map_err(raise)?;
        let given = sensitive_columns
            .map(|columns| sensitive(&columns, points.len()))
            .transpose()
            .map_err(raise)?;
        let target = target.map(|y| y.as_array().to_vec());
        let predictor = self.0.predictor();
        let partition = predictor.partition();
        let (interval, uses, found) = run::borrowed(py, progress, |watch| {
            let prediction = predictor.predict(&points, given.as_ref(), watch)?;
            let interval = predictor.interval(&prediction, coverage)?;
            let mut found = Vec::new();
            if let Some(target) = &target {
                let mut coverage = Coverage::new(partition.map_or(0, oblivio::Partition::len));
                coverage.update(&interval, target, prediction.assignment.as_ref())?;
                found = coverage.cells(partition);
            }
            Ok((interval, prediction.uses, found))
        })?;
        let uses = uses.with_features(features);
        Ok((
            interval.lower.into_pyarray(py),
            interval.upper.into_pyarray(py),
            uses_dict(py, uses)?,
            interval.endless,
            found.into_iter().map(coverage_row).collect(),
        ))
    }

    /// The model with offsets from new rows, for each score how far every cell has drifted, and how often policies were used. The
    /// rule is the least rows of a cell, what becomes of cells with fewer, and what the history says of the time.
    #[pyo3(signature = (table, sensitive_columns, weights, rule, progress=None))]
    fn refresh<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        rule: (usize, String, Option<String>),
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Self, Vec<Vec<DriftRow>>, Bound<'py, PyDict>)> {
        let (least, small, date) = rule;
        let small = SmallCells::named(&small).map_err(raise)?;
        let (points, features) = table.points(&self.0.encoder).map_err(raise)?;
        let given = sensitive(&sensitive_columns, points.len()).map_err(raise)?;
        let weights = weights.map(|w| w.as_array().to_vec());
        let renewed = run::borrowed(py, progress, |watch| {
            let mut refresh = self.0.refresh()?;
            refresh.update(&points, &given, weights.as_deref(), watch)?;
            refresh.finish(Renewal { least, small }, date)
        })?;
        let Renewed {
            model,
            drifts,
            uses,
        } = renewed;
        let drifts = drifts
            .into_iter()
            .map(|drift| drift.into_iter().map(drift_row).collect())
            .collect();
        let uses = uses.with_features(features);
        Ok((Self(model), drifts, uses_dict(py, uses)?))
    }

    /// The model on so many landmarks among its points; its history says what that cost.
    #[pyo3(signature = (landmarks, seed, date=None, progress=None))]
    fn reduce(
        &self,
        py: Python<'_>,
        landmarks: usize,
        seed: u64,
        date: Option<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let to = Reduce { landmarks, seed };
        let (model, _) = run::borrowed(py, progress, |watch| self.0.reduce(to, date, watch))?;
        Ok(Self(model))
    }

    /// Which rows of the fit the model holds, how many, of how many features, and how many combinations of sensitive values.
    #[getter]
    fn holdings(&self) -> (&'static str, usize, usize, usize) {
        let holdings = self.0.holdings();
        (
            holdings.held.name(),
            holdings.rows,
            holdings.features,
            holdings.sensitive,
        )
    }

    /// The same for new objects, by the values of their kernel.
    fn with_new_objects(&self, values: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let (values, rows) = super::values_of(&values);
        Ok(Self(self.0.with_new_objects(values, rows).map_err(raise)?))
    }

    /// The bytes of the model file.
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
            .detach(|| oblivio_onnx::export(&self.0, settings))
            .map_err(raise)?;
        Ok(PyBytes::new(py, &bytes))
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
        self.0.predictor().kernel().to_string()
    }

    /// The γ of a single kernel that has one.
    #[getter]
    fn gamma(&self) -> Option<f64> {
        self.0.predictor().kernel().gamma()
    }

    /// How much is taken out.
    #[getter]
    fn strength(&self) -> f64 {
        self.0.predictor().strength()
    }

    /// The constant beside the expansion of each score, thresholds taken off.
    #[getter]
    fn intercepts<'py>(&self, py: Python<'py>) -> Numbers<'py> {
        let scorers = self.0.scorers.iter();
        PyArray1::from_vec(py, scorers.map(Predictor::intercept).collect())
    }

    /// The classes: their names, whether these are numbers, whether scores are logits, and the threshold of each decision.
    #[getter]
    fn classes(&self) -> Option<(Vec<String>, bool, bool, Vec<f64>)> {
        let classes = self.0.classes.as_ref()?;
        Some((
            classes.labels.clone(),
            classes.numeric,
            classes.probabilities,
            classes.thresholds.clone(),
        ))
    }

    /// Whether prediction needs the sensitive columns.
    #[getter]
    fn needs_sensitive(&self) -> bool {
        self.0.needs_sensitive()
    }

    /// The coefficients of the expansion of each score.
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> Vec<Numbers<'py>> {
        let scorers = self.0.scorers.iter();
        scorers
            .map(|scorer| PyArray1::from_slice(py, scorer.coefficients()))
            .collect()
    }

    /// The points of the expansion, one in each row.
    #[getter]
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        rows_of(py, self.0.predictor().points())
    }

    /// The number of landmarks; `None` on the exact path.
    #[getter]
    fn components(&self) -> Option<usize> {
        self.0.card.components
    }

    /// The offset of each cell, for each score.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> Vec<Numbers<'py>> {
        let of = |scorer: &Predictor| {
            let offsets = scorer.offsets();
            let taken = offsets.map_or(Vec::new(), |offsets| {
                (0..offsets.partition.len())
                    .map(|c| offsets.taken(c))
                    .collect()
            });
            PyArray1::from_vec(py, taken)
        };
        self.0.scorers.iter().map(of).collect()
    }

    /// How the conditional mean is estimated, and the leave-one-out errors it was chosen by.
    #[getter]
    fn conditional_mean(&self) -> (Option<&'static str>, Vec<(String, f64)>) {
        let partition = self.0.predictor().partition();
        let choice = partition.and_then(|partition| partition.choice());
        (
            partition.map(|partition| partition.estimator().name()),
            choice.map_or(Vec::new(), |choice| choice.scores.clone()),
        )
    }

    /// The legitimate factors.
    #[getter]
    fn control_columns(&self) -> Vec<String> {
        control_columns(self.0.predictor().partition())
    }

    /// The cells in words, each with its number of reference rows.
    #[getter]
    fn cells(&self) -> Vec<(String, usize)> {
        self.0.predictor().offsets().map_or(Vec::new(), |offsets| {
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
        sensitive_columns(self.0.predictor().partition())
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

/// How the columns of a table are encoded, and a remark if values are missing.
type Encoded = (Encoder, Option<Warning>);

/// How the columns of a table are encoded, its points, and its sensitive part.
fn rows<'a>(
    table: &'a Table<'_>,
    sensitive_columns: &[NamedColumn<'_>],
    weights: Option<&[f64]>,
    common: &Common,
) -> PyResult<(Encoded, Points<'a>, Sensitive)> {
    let encoded = table.encoder(common, weights).map_err(raise)?;
    let (points, _) = table.points(&encoded.0).map_err(raise)?;
    let sensitive = sensitive(sensitive_columns, points.len()).map_err(raise)?;
    Ok((encoded, points, sensitive))
}

/// The columns of a table of grid points.
pub(super) fn grid_columns<'py>(
    py: Python<'py>,
    points: &[GridPoint],
) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let all: [Quantity; 9] = [
        ("gamma", |point| point.gamma.unwrap_or(f64::NAN)),
        ("strength", |point| point.strength),
        ("alpha", |point| point.penalty),
        ("error", |point| point.error),
        ("left_out_error", |point| point.left_out.unwrap_or(f64::NAN)),
        ("gcv", |point| point.gcv),
        ("correlation_ratio", |point| point.correlation_ratio),
        ("expected", |point| point.expected),
        ("gap", |point| point.gap),
    ];
    for (name, value) in all {
        let values: Vec<f64> = points.iter().map(value).collect();
        columns.set_item(name, values.into_pyarray(py))?;
    }
    Ok(columns)
}

fn effort_row(summary: &Summary) -> EffortRow {
    let effort = &summary.effort;
    (
        effort.solver,
        effort.iterations,
        effort.gap,
        effort.converged,
    )
}

pub(super) fn feature_columns(encoder: &Encoder) -> Vec<(String, Option<Vec<String>>)> {
    let levels = |name: &str| encoder.levels(name).map(<[String]>::to_vec);
    let columns = encoder.columns();
    columns
        .map(|name| (name.to_owned(), levels(name)))
        .collect()
}
