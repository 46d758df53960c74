//! Releases: fitted, and what is found of them.

use numpy::PyReadonlyArray1;
use oblivio::partition::{PartitionRule, Policies};
use oblivio::{Result, Watch};
use oblivio_audit::{AuditSettings, Resampling};
use oblivio_release::{Release, ReleaseReport, ReleaseRows, ReleaseSettings, StudySettings};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use oblivio_report::{ReleasePage, release_answer, release_csv};

use crate::errors::{InvalidInputError, raise};
use crate::input::{NamedColumn, Table, column, sensitive, to_python};
use crate::models::{Reduced, Remark, control_columns, remarks_of, sensitive_columns, uses_dict};
use crate::{run, settings};

/// A fitted release.
#[pyclass(frozen, module = "oblivio._oblivio")]
pub(crate) struct ReleaseModel(Release);

/// Released columns, how often policies were used, and how many values lay outside their column's range.
type Transformed<'py> = (Vec<(String, Bound<'py, PyAny>)>, Bound<'py, PyDict>, usize);

#[pymethods]
impl ReleaseModel {
    /// Fits; returns the release and remarks.
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
        let (common, settings) = settings::release(settings)?;
        let features = table.columns(&common.categorical_features);
        let sensitive = sensitive(&sensitive_columns, table.rows()).map_err(raise)?;
        let weights = weights.map(|weights| weights.as_array().to_vec());
        let (release, warnings) = run::owned(py, progress, move |watch: &Watch| {
            settings.fit(&features, &sensitive, weights.as_deref(), watch)
        })?;
        Ok((Self(release), remarks_of(&warnings)))
    }

    /// The released columns of these rows.
    #[pyo3(signature = (table, sensitive_columns, progress=None))]
    fn transform<'py>(
        &self,
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Transformed<'py>> {
        let features = table.columns(&[]);
        let sensitive = sensitive(&sensitive_columns, table.rows()).map_err(raise)?;
        let released = run::borrowed(py, progress, |watch| {
            self.0.transform(&features, &sensitive, watch)
        })?;
        let columns = released.columns.iter().map(|own| to_python(py, own));
        Ok((
            columns.collect::<PyResult<_>>()?,
            uses_dict(py, released.uses)?,
            released.clipped,
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
        Ok(Self(Release::from_bytes(data).map_err(raise)?))
    }

    /// How values are made.
    #[getter]
    fn method(&self) -> &'static str {
        oblivio_base::Named::name(self.0.method())
    }

    /// How much is taken out.
    #[getter]
    fn strength(&self) -> f64 {
        self.0.strength()
    }

    /// The sensitive columns and how each is read.
    #[getter]
    fn sensitive_columns(&self) -> Vec<(String, &'static str)> {
        sensitive_columns(Some(self.0.partition()))
    }

    /// The legitimate factors: none.
    #[getter]
    fn control_columns(&self) -> Vec<String> {
        control_columns(Some(self.0.partition()))
    }

    /// The released columns; their levels are not told.
    #[getter]
    fn feature_columns(&self) -> Vec<(String, Option<Vec<String>>)> {
        let names = self.0.columns().into_iter();
        names.map(|name| (name.to_owned(), None)).collect()
    }
}

/// How a release is judged.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Judged {
    held_out: f64,
    measure_cells: String,
    permutations: usize,
    resamples: usize,
    confidence: f64,
    seed: u64,
}

impl Judged {
    fn study(&self, settings: &ReleaseSettings) -> Result<StudySettings> {
        let partition = &settings.partition;
        Ok(StudySettings {
            held_out: self.held_out,
            audit: AuditSettings {
                rule: PartitionRule {
                    cells: self.measure_cells.parse()?,
                    policies: Policies {
                        missing: partition.policies.missing,
                        ..Policies::default()
                    },
                    ..partition.clone()
                },
                resampling: Resampling {
                    permutations: self.permutations,
                    resamples: self.resamples,
                    confidence: self.confidence,
                    seed: self.seed,
                },
                ..AuditSettings::default()
            },
            ..StudySettings::default()
        })
    }
}

/// What a release was found to do on held-out rows.
#[pyclass(frozen, module = "oblivio._oblivio")]
pub(crate) struct ReleaseReportModel(ReleaseReport);

#[pymethods]
impl ReleaseReportModel {
    /// Fits on some rows, releases the others and measures these.
    #[staticmethod]
    #[pyo3(signature = (table, sensitive_columns, target, weights, settings, judged, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "one for each role of a column")]
    fn run<'py>(
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        target: Option<NamedColumn<'py>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        settings: &Bound<'py, PyDict>,
        judged: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let (common, settings) = settings::release(settings)?;
        let study = judged.extract::<Judged>()?.study(&settings);
        let study = study.map_err(raise)?;
        let rows = ReleaseRows {
            features: table.columns(&common.categorical_features),
            sensitive: sensitive(&sensitive_columns, table.rows()).map_err(raise)?,
            target: target.as_ref().map(column),
            weights: weights.map(|weights| weights.as_array().to_vec()),
        };
        let found = run::owned(py, progress, move |watch: &Watch| {
            settings.study(&rows, &study, watch)
        })?;
        Ok(Self(found))
    }

    /// As JSON, which `from_json` reads.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0)
            .map_err(|error| InvalidInputError::new_err(error.to_string()))
    }

    /// Reads what `to_json` wrote.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        serde_json::from_str(text)
            .map(Self)
            .map_err(|error| InvalidInputError::new_err(format!("this is no release: {error}")))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let read = py.get_type::<Self>().getattr("from_json")?;
        Ok((read, (self.to_json()?,)))
    }

    /// One line for every measure, before and after.
    fn to_csv(&self) -> String {
        release_csv(&self.0)
    }

    /// The answer in words: a headline and some sentences.
    fn answer(&self) -> (String, Vec<String>) {
        let answer = release_answer(&self.0);
        (answer.headline, answer.sentences)
    }

    /// The page.
    fn to_html(&self, title: &str, facts: Vec<(String, String)>) -> String {
        self.page(title, &facts).html()
    }

    /// The short form for notebooks.
    fn to_compact_html(&self, title: &str) -> String {
        self.page(title, &[]).compact()
    }
}

impl ReleaseReportModel {
    fn page<'a>(&'a self, title: &'a str, facts: &'a [(String, String)]) -> ReleasePage<'a> {
        ReleasePage {
            report: &self.0,
            title,
            facts,
        }
    }
}
