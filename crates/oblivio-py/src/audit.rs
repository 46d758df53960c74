//! Audits.

use numpy::PyReadonlyArray1;
use oblivio::partition::{PartitionRule, Policies};
use oblivio::{Column, Result, Watch};
use oblivio_audit::{AuditRows, AuditSettings, Measure, Resampling, Role};
use oblivio_base::Named;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use oblivio_report::{FrontierPoint, HAS_CHARTS, Page, answer, csv};

use crate::errors::{InvalidInputError, raise};
use crate::input::{NamedColumn, column, sensitive};
use crate::run;

/// The settings of an audit, spelled as on the command line.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Given {
    cells: String,
    binning: String,
    bounds: Vec<(String, f64, f64)>,
    categorical: Vec<String>,
    continuous: Vec<String>,
    handle_missing: String,
    threshold: Option<f64>,
    positive: Option<String>,
    bins: usize,
    min_rows: usize,
    measures: Vec<String>,
    one_by_one: bool,
    permutations: usize,
    resamples: usize,
    confidence: f64,
    seed: u64,
}

impl Given {
    fn settings(self) -> Result<AuditSettings> {
        let measures = self.measures.iter().map(|name| Measure::named(name));
        Ok(AuditSettings {
            rule: PartitionRule {
                cells: self.cells.parse()?,
                binning: Named::named(&self.binning)?,
                bounds: self.bounds,
                categorical: self.categorical,
                continuous: self.continuous,
                policies: Policies {
                    missing: Named::named(&self.handle_missing)?,
                    ..Policies::default()
                },
                ..PartitionRule::default()
            },
            threshold: self.threshold,
            positive: self.positive,
            bins: self.bins,
            least_rows: self.min_rows,
            measures: measures.collect::<Result<_>>()?,
            one_by_one: self.one_by_one,
            resampling: Resampling {
                permutations: self.permutations,
                resamples: self.resamples,
                confidence: self.confidence,
                seed: self.seed,
            },
        })
    }
}

/// The role of a column; else a score or a label by what it holds.
fn role(name: &str, column: &Column) -> Role {
    match name {
        "before" => Role::Before,
        "after" => Role::After,
        "score" => Role::of_scores(column),
        _ => Role::of(column),
    }
}

/// What an audit found.
#[pyclass(frozen, module = "oblivio._oblivio")]
pub(crate) struct AuditModel(oblivio_audit::Audit);

#[pymethods]
impl AuditModel {
    /// Whether pages have charts: the extension was built with their bundle.
    #[classattr]
    const HAS_CHARTS: bool = HAS_CHARTS;

    /// Measures everything that is defined. Subjects come with their role: before, after, score or target; features with
    /// whether all of them together are audited too.
    #[staticmethod]
    #[pyo3(signature = (
        subjects, features, sensitive_columns, truth, control_columns, weights, settings, progress=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "one for each role of a column")]
    fn run<'py>(
        py: Python<'py>,
        subjects: Vec<(String, NamedColumn<'py>)>,
        features: (Vec<NamedColumn<'py>>, bool),
        sensitive_columns: Vec<NamedColumn<'py>>,
        truth: Option<NamedColumn<'py>>,
        control_columns: Vec<NamedColumn<'py>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        settings: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let settings = settings.extract::<Given>()?.settings().map_err(raise)?;
        let subjects = subjects
            .iter()
            .map(|(name, given)| {
                let column = column(given);
                (role(name, &column), column)
            })
            .collect();
        let rows = sensitive_columns
            .first()
            .map_or(0, |first| column(first).len());
        let rows = AuditRows {
            subjects,
            features: features.0.iter().map(column).collect(),
            whole_table: features.1,
            sensitive: sensitive(&sensitive_columns, rows).map_err(raise)?,
            truth: truth.as_ref().map(column),
            control: control_columns.iter().map(column).collect(),
            weights: weights.map(|weights| weights.as_array().to_vec()),
        };
        let audit = run::owned(py, progress, move |watch: &Watch| {
            settings.run(&rows, watch)
        })?;
        Ok(Self(audit))
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
            .map_err(|error| InvalidInputError::new_err(format!("this is no audit: {error}")))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let read = py.get_type::<Self>().getattr("from_json")?;
        Ok((read, (self.to_json()?,)))
    }

    /// One line for every finding.
    fn to_csv(&self) -> String {
        csv(&self.0)
    }

    /// The answer in words: a headline and some sentences.
    fn answer(&self) -> (String, Vec<String>) {
        let answer = answer(&self.0);
        (answer.headline, answer.sentences)
    }

    /// The page. Points of the frontier are (name, error, dependence, chosen).
    fn to_html(
        &self,
        title: &str,
        facts: Vec<(String, String)>,
        frontier: Vec<(String, f64, f64, bool)>,
    ) -> String {
        let frontier: Vec<FrontierPoint> = frontier
            .into_iter()
            .map(|(name, error, dependence, chosen)| FrontierPoint {
                name,
                error,
                dependence,
                chosen,
            })
            .collect();
        self.page(title, &facts, &frontier).html()
    }

    /// The short form for notebooks.
    fn to_compact_html(&self, title: &str) -> String {
        self.page(title, &[], &[]).compact()
    }
}

impl AuditModel {
    fn page<'a>(
        &'a self,
        title: &'a str,
        facts: &'a [(String, String)],
        frontier: &'a [FrontierPoint],
    ) -> Page<'a> {
        Page {
            audit: &self.0,
            title,
            facts,
            frontier,
            bounds: None,
        }
    }
}
