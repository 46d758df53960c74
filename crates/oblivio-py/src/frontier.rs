//! Frontiers.

use numpy::PyReadonlyArray1;
use oblivio::model::Labels;
use oblivio::partition::{PartitionRule, Policies};
use oblivio::{Column, Result, Roles, Settings, Values, Watch};
use oblivio_audit::{
    ALIGNS, AuditSettings, FrontierGrid, FrontierSettings, Measure, PenaltyChoice, Resampling,
};
use oblivio_base::Named;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use oblivio_report::{FrontierPage, HAS_CHARTS, frontier_answer, frontier_csv};

use crate::errors::{InvalidInputError, raise};
use crate::input::{NamedColumn, Table, column};
use crate::{run, settings};

/// What is tried and how it is judged, spelled as on the command line.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Given {
    modes: Vec<String>,
    strengths: Vec<f64>,
    aligns: Vec<String>,
    align_strengths: Vec<f64>,
    held_out: f64,
    auto: bool,
    measures: Vec<String>,
    measure_cells: String,
    decide_at: Option<f64>,
    min_rows: usize,
    permutations: usize,
    resamples: usize,
    confidence: f64,
    seed: u64,
}

impl Given {
    fn grid(&self) -> Result<FrontierGrid> {
        let modes = self.modes.iter().map(|name| Named::named(name));
        Ok(FrontierGrid {
            modes: modes.collect::<Result<_>>()?,
            strengths: self.strengths.clone(),
            aligns: self.aligns.clone(),
            align_strengths: self.align_strengths.clone(),
        })
    }

    fn settings(&self, base: &Settings) -> Result<FrontierSettings> {
        let measures = self.measures.iter().map(|name| Measure::named(name));
        Ok(FrontierSettings {
            held_out: self.held_out,
            penalty: if self.auto {
                PenaltyChoice::Auto
            } else {
                PenaltyChoice::Given
            },
            audit: AuditSettings {
                rule: PartitionRule {
                    cells: self.measure_cells.parse()?,
                    policies: Policies {
                        missing: base.partition.policies.missing,
                        ..Policies::default()
                    },
                    ..base.partition.clone()
                },
                threshold: self.decide_at,
                least_rows: self.min_rows,
                measures: measures.collect::<Result<_>>()?,
                resampling: Resampling {
                    permutations: self.permutations,
                    resamples: self.resamples,
                    confidence: self.confidence,
                    seed: self.seed,
                },
                ..AuditSettings::default()
            },
        })
    }
}

/// The name of a target, its values, and the names of its classes with whether these are numbers.
type Target<'py> = (
    String,
    PyReadonlyArray1<'py, f64>,
    Option<(Vec<String>, bool)>,
);

/// The column of a target, and its classes.
fn target_of((name, values, classes): Target<'_>) -> (Column, Option<Labels>) {
    let values = values.as_array().to_vec();
    let Some((names, numeric)) = classes else {
        return (Column::numbers(name, values), None);
    };
    let values = Values::Categories {
        levels: names.clone(),
        codes: values.iter().map(|code| *code as u32).collect(),
    };
    (Column { name, values }, Some(Labels::new(names, numeric)))
}

/// Error against dependence of everything that was tried.
#[pyclass(frozen, module = "oblivio._oblivio")]
pub(crate) struct FrontierModel(oblivio_audit::Frontier);

#[pymethods]
impl FrontierModel {
    /// Whether pages have charts: the extension was built with their bundle.
    #[classattr]
    const HAS_CHARTS: bool = HAS_CHARTS;

    /// The alignments that are tried by default.
    #[classattr]
    #[allow(non_snake_case, reason = "a constant of the class")]
    fn ALIGNS() -> Vec<&'static str> {
        ALIGNS.to_vec()
    }

    /// Fits every candidate on some rows and judges it on the others. The settings are those of an estimator, the grid says what
    /// is tried.
    #[staticmethod]
    #[pyo3(signature = (table, sensitive_columns, target, weights, settings, grid, progress=None))]
    #[allow(clippy::too_many_arguments, reason = "one for each role of a column")]
    fn run<'py>(
        py: Python<'py>,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        target: Target<'py>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        settings: &Bound<'py, PyDict>,
        grid: &Bound<'py, PyDict>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let (common, base) = settings::scores(settings)?;
        let given: Given = grid.extract()?;
        let frontier = given.settings(&base).map_err(raise)?;
        let candidates = given
            .grid()
            .and_then(|grid| grid.candidates(&base))
            .map_err(raise)?;
        let (target, labels) = target_of(target);
        let features = table.columns(&common.categorical_features);
        let sensitive: Vec<Column> = sensitive_columns.iter().map(column).collect();
        let weights = weights.map(|weights| weights.as_array().to_vec());
        let encoding = common.encoding().map_err(raise)?;
        let found = run::owned(py, progress, move |watch: &Watch| {
            let roles = Roles {
                features: &features,
                sensitive: &sensitive,
                target: &target,
                labels: labels.as_ref(),
                weights: weights.as_deref(),
            };
            frontier.run(roles, encoding, &candidates, watch)
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
            .map_err(|error| InvalidInputError::new_err(format!("this is no frontier: {error}")))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let read = py.get_type::<Self>().getattr("from_json")?;
        Ok((read, (self.to_json()?,)))
    }

    /// One line for every candidate, error and measure.
    fn to_csv(&self) -> String {
        frontier_csv(&self.0)
    }

    /// The answer in words: a headline and some sentences.
    fn answer(&self) -> (String, Vec<String>) {
        let answer = frontier_answer(&self.0);
        (answer.headline, answer.sentences)
    }

    /// The page.
    fn to_html(&self, title: &str, facts: Vec<(String, String)>) -> String {
        FrontierPage {
            frontier: &self.0,
            title,
            facts: &facts,
        }
        .html()
    }

    /// The short form for notebooks.
    fn to_compact_html(&self, title: &str) -> String {
        FrontierPage {
            frontier: &self.0,
            title,
            facts: &[],
        }
        .compact()
    }
}
