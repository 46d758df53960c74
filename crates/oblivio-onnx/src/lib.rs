//! Fitted models and feature maps as graphs of standard operators (ONNX), for runtimes that know nothing of oblivio.
//!
//! [`export`] writes a model, [`export_transformer`] a feature map. It imports `oblivio`, `oblivio-kernels` and `oblivio-base`, and reads
//! the schema ([`oblivio::model::file`]) and tables ([`oblivio::model::tables`]) of a fitted model: no formula of the method is here.
//!
//! ```
//! use oblivio::model::Roles;
//! use oblivio::{Column, Model, Settings, Watch};
//! use oblivio_base::Scaling;
//! use oblivio_onnx::{OnnxSettings, export};
//!
//! let roles = Roles {
//!     features: &[Column::numbers("x", vec![0.0, 1.0, 2.0, 10.0, 11.0, 12.0])],
//!     sensitive: &[Column::texts("group", ["a", "a", "a", "b", "b", "b"].map(Some))],
//!     target: &Column::numbers("y", vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
//!     labels: None,
//!     weights: None,
//! };
//! let settings = Settings { kernel: "linear".parse()?, ..Settings::default() };
//! let (model, _) = Model::fit(roles, Scaling::Standard, &settings, &Watch::default())?;
//! let bytes = export(&model, OnnxSettings::default())?;
//! assert!(!bytes.is_empty());
//! # Ok::<(), oblivio::Error>(())
//! ```
//!
//! Inputs are the columns, features and sensitive ones alike. Outputs of a model (`scores`) are `score` and, for a classifier, `label`
//! and `probabilities`; the output of a feature map (`features`) is `features`. One file for each stage: columns become points
//! (`encode`), points an expansion (`kernel`), sensitive values a place among the cells (`cells`) or features (`smooth`), scores
//! are aligned (`align`) and become classes (`classes`).
//!
//! A graph cannot refuse a row. Where oblivio would, the row's numbers are NaN and its label is empty (NaN where labels are numbers);
//! other rows are as they would be without it.

mod align;
mod cells;
mod classes;
mod columns;
mod encode;
mod features;
mod graph;
mod kernel;
mod lines;
mod proto;
mod scores;
mod single;
mod smooth;
#[cfg(test)]
mod tests;
mod writer;

pub use self::features::export_transformer;
pub use self::graph::Precision;
pub use self::scores::export;
use oblivio_base::Named;

/// How a model is written as ONNX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnnxSettings {
    /// What the inputs are.
    pub form: OnnxForm,
    /// In what the kernel is computed. Inputs, outputs and all that has to do with S are doubles either way.
    pub precision: Precision,
}

/// What the inputs of a graph are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnnxForm {
    /// One input for each column, by its name: doubles, or text where a column has categories that are no numbers.
    #[default]
    Columns,
    /// One matrix of doubles; which column is which is in the metadata.
    Matrix,
}

impl Named for OnnxForm {
    const WHAT: &'static str = "the form of the inputs";
    const NAMES: &'static [(&'static str, Self)] =
        &[("columns", Self::Columns), ("matrix", Self::Matrix)];
}

impl Named for Precision {
    const WHAT: &'static str = "the precision";
    const NAMES: &'static [(&'static str, Self)] =
        &[("float64", Self::Double), ("float32", Self::Single)];
}
