//! A model or a feature map as a graph of standard operators, for runtimes that know nothing of oblivio.
//!
//! Inputs are the columns, features and sensitive ones alike. Outputs of a model (`scores`) are `score` and, for a classifier, `label`
//! and `probabilities`; that of a feature map (`features`) is `features`. One file for each stage: columns become points
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

pub use self::graph::Precision;
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
