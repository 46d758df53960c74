//! Everything an audit found, before anyone decides how to show it: aggregates only, no row of the table.

use std::collections::BTreeMap;

use oblivio::sensitive::Kind;
use oblivio_base::{Column, Values};
use serde::{Deserialize, Serialize};

use super::measure::{Measure, Measured};
use super::resampling::Resampling;

/// What an audit found.
///
/// Its JSON form is the schema that `docs/audit.md` describes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Audit {
    /// The rows audited.
    pub rows: usize,
    /// $(\sum w)^2/\sum w^2$: the equally weighted rows that say as much.
    pub effective_rows: f64,
    /// Whether rows had weights.
    pub weighted: bool,
    /// Scores from here on count as a positive decision, where decisions were looked at.
    pub threshold: Option<f64>,
    /// How levels and intervals were drawn.
    pub resampling: Resampling,
    /// The legitimate factors: cells were compared within their levels.
    #[serde(default)]
    pub control: Vec<String>,
    /// What was audited, in order; before comes right ahead of its after.
    pub subjects: Vec<Subject>,
    /// The sensitive columns, one by one and, if there are several, all together (last).
    pub against: Vec<Against>,
    /// Every measure of every subject against every entry of `against` it is defined for.
    pub findings: Vec<Finding>,
    /// The subjects' distributions in every cell.
    pub profiles: Vec<Profile>,
    /// How much each single feature depends on S, if there were features; the most dependent first.
    pub features: Vec<FeatureFinding>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// One thing that was audited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Subject {
    /// Its name, unique in the audit: the column's, or `features` for the whole table.
    pub name: String,
    /// What it is.
    pub role: Role,
}

/// What a subject is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A score before the correction; the subject that follows is the same one after it.
    Before,
    /// A score after the correction; the subject before it is the same one before.
    After,
    /// A score with nothing to compare it with.
    Score,
    /// Labels, decisions or classes.
    Label,
    /// All features together.
    Features,
}

/// Sensitive columns that subjects were held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Against {
    /// The names of the columns, joined by ` × `; unique in the audit.
    pub name: String,
    /// The columns.
    pub columns: Vec<String>,
    /// Whether each is categorical or continuous.
    pub kinds: Vec<Kind>,
    /// The cells that have rows, in order.
    pub cells: Vec<CellRows>,
}

/// A cell and its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CellRows {
    /// The cell in words.
    pub label: String,
    /// The same without the names of the columns.
    pub brief: String,
    /// Its rows.
    pub rows: usize,
    /// Its share of the weight of all rows.
    pub share: f64,
    /// Whether it has too few rows for its numbers to say much.
    pub small: bool,
}

/// One measure of one subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Finding {
    /// The name of the subject.
    pub subject: String,
    /// The name of the entry of `against`.
    pub against: String,
    /// What was measured.
    pub measure: Measure,
    /// The value with its level and interval.
    #[serde(flatten)]
    pub measured: Measured,
    /// Whether chance alone would hardly give such a value.
    pub detectable: bool,
    /// Whether the value is far from its level under independence.
    pub large: bool,
    /// Other forms of the same measure, by name.
    #[serde(default)]
    pub further: BTreeMap<String, f64>,
    /// What else is to say: the two cells that differ most, or the category that is found most easily.
    pub detail: Option<String>,
}

/// A subject's distribution in every cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Profile {
    /// The name of the subject.
    pub subject: String,
    /// The name of the entry of `against`.
    pub against: String,
    /// The edges of the bins of a score: one more than there are bins; before and after have the same.
    pub edges: Vec<f64>,
    /// The classes of a label, in place of edges.
    pub levels: Vec<String>,
    /// One for each cell of `against`, in its order.
    pub cells: Vec<CellProfile>,
    /// All rows together.
    pub all: CellProfile,
}

/// A subject's distribution in one cell. Nothing is given of a cell of fewer than five rows: it could tell theirs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CellProfile {
    /// The mean score.
    pub mean: Option<f64>,
    /// The lower end of the mean's interval.
    pub lower: Option<f64>,
    /// The upper end of the mean's interval.
    pub upper: Option<f64>,
    /// The standard deviation of the scores.
    pub deviation: Option<f64>,
    /// The share of positive decisions.
    pub rate: Option<f64>,
    /// The share of the cell's rows in every bin or class; empty for a cell too small to show.
    pub shares: Vec<f64>,
    /// The error: a rate of wrong decisions, or the root mean square in units of the target. None without true labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// The lower end of the error's interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_lower: Option<f64>,
    /// The upper end of the error's interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_upper: Option<f64>,
    /// The outcomes of like scores, bin by bin. Empty without true labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reliability: Vec<ReliabilityBin>,
}

/// Rows with scores in one bin: bins are the same for all cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReliabilityBin {
    /// The mean score; of a label, the number of the class.
    pub score: f64,
    /// The mean outcome: a share of the positive label, or a mean of the target.
    pub outcome: f64,
    /// The lower end of the outcome's interval.
    pub lower: f64,
    /// The upper end of the outcome's interval.
    pub upper: f64,
    /// The rows.
    pub rows: usize,
}

/// How much a single feature depends on S.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FeatureFinding {
    /// The feature.
    pub feature: String,
    /// The name of the entry of `against`.
    pub against: String,
    /// Its normalised HSIC with S.
    pub hsic: Measured,
    /// The share of its variance that the cells explain; none for a categorical feature.
    pub correlation_ratio: Option<f64>,
}

impl Role {
    /// What a column of scores or decisions is: numbers of more than two kinds are a score.
    pub fn of_scores(column: &Column) -> Self {
        match &column.values {
            Values::Numbers(values) if more_than_two(values) => Self::Score,
            _ => Self::Label,
        }
    }

    /// What a target is: numbers of more than a few kinds are a score, all else is a label.
    pub fn of(column: &Column) -> Self {
        match (&column.values, Kind::of_target(column)) {
            (Values::Numbers(_), Kind::Continuous) => Self::Score,
            _ => Self::Label,
        }
    }
}

impl Audit {
    /// The finding of a subject by the names of its parts.
    pub fn finding(&self, subject: &str, against: &str, measure: Measure) -> Option<&Finding> {
        self.findings.iter().find(|finding| {
            finding.subject == subject && finding.against == against && finding.measure == measure
        })
    }
}

/// Whether there are more than two distinct values, without looking at all of many.
pub(super) fn more_than_two(values: &[f64]) -> bool {
    let first = values.first();
    let second = values.iter().find(|value| Some(*value) != first);
    values
        .iter()
        .any(|value| Some(value) != first && Some(value) != second)
}
