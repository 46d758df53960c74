//! Bounds.

use oblivio::{Column, Watch};
use oblivio_release::{BoundSettings, Bounds};
use pyo3::prelude::*;

use oblivio_report::{BoundsPage, bound_lines, bounds_answer, bounds_csv};

use crate::errors::InvalidInputError;
use crate::input::{NamedColumn, Table, column};
use crate::models::scores::ScoreModel;
use crate::run;

/// Which bound, what it is of, the cell, what was found, at least, at most, whether it is vacuous, and the rows.
type Line = (
    &'static str,
    String,
    Option<String>,
    f64,
    Option<f64>,
    f64,
    bool,
    usize,
);

/// How bounds are computed.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct BoundOptions {
    rows: usize,
    confidence: f64,
    seed: u64,
    gap: f64,
    boxes: usize,
    translation: f64,
}

/// How much a model's features and predictions can depend on S, and how far they were moved.
#[pyclass(frozen, module = "oblivio._oblivio")]
pub(crate) struct BoundsModel(Bounds);

#[pymethods]
impl BoundsModel {
    /// The bounds of a model on new rows.
    #[staticmethod]
    #[pyo3(signature = (model, table, sensitive_columns, settings, progress=None))]
    fn run<'py>(
        py: Python<'py>,
        model: &ScoreModel,
        table: Table<'py>,
        sensitive_columns: Vec<NamedColumn<'py>>,
        settings: BoundOptions,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let settings = BoundSettings {
            most_rows: settings.rows,
            confidence: settings.confidence,
            seed: settings.seed,
            gap: settings.gap,
            most_boxes: settings.boxes,
            translation: settings.translation,
        };
        let mut columns = table.columns(&[]);
        columns.extend(
            sensitive_columns
                .iter()
                .map(column)
                .collect::<Vec<Column>>(),
        );
        let model = model.0.clone();
        let found = run::owned(py, progress, move |watch: &Watch| {
            settings.run(&model, &columns, watch)
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
            .map_err(|error| InvalidInputError::new_err(format!("these are no bounds: {error}")))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let read = py.get_type::<Self>().getattr("from_json")?;
        Ok((read, (self.to_json()?,)))
    }

    /// Every bound, all in one form.
    fn lines(&self) -> Vec<Line> {
        let lines = bound_lines(&self.0).into_iter();
        lines
            .map(|line| {
                (
                    line.bound,
                    line.of,
                    line.cell,
                    line.found,
                    line.lower,
                    line.value,
                    line.vacuous,
                    line.rows,
                )
            })
            .collect()
    }

    /// One line for every bound.
    fn to_csv(&self) -> String {
        bounds_csv(&self.0)
    }

    /// The answer in words: a headline and some sentences.
    fn answer(&self) -> (String, Vec<String>) {
        let answer = bounds_answer(&self.0);
        (answer.headline, answer.sentences)
    }

    /// The page.
    fn to_html(&self, title: &str, facts: Vec<(String, String)>) -> String {
        BoundsPage {
            bounds: &self.0,
            title,
            facts: &facts,
        }
        .html()
    }

    /// The short form for notebooks.
    fn to_compact_html(&self, title: &str) -> String {
        BoundsPage {
            bounds: &self.0,
            title,
            facts: &[],
        }
        .compact()
    }
}
