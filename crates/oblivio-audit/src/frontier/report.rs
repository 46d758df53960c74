//! Everything that was tried and found, before anyone decides how to show it: aggregates only, no row of the table.

use serde::{Deserialize, Serialize};

use super::errors::{ErrorFound, ErrorMeasure};
use crate::{Against, Measure, Measured, Resampling};

/// Error against dependence on held-out rows.
///
/// Its JSON form is the schema that `docs/frontier.md` describes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Frontier {
    /// What is predicted.
    pub target: String,
    /// The learner's name.
    pub learner: String,
    /// The rows that trained.
    pub training_rows: usize,
    /// The rows that all numbers are of.
    pub held_out_rows: usize,
    /// Whether rows had weights.
    pub weighted: bool,
    /// Scores from here on count as a positive decision.
    pub threshold: f64,
    /// How levels and intervals were drawn.
    pub resampling: Resampling,
    /// How errors are counted: one way for numbers, two for classes.
    pub errors: Vec<FrontierError>,
    /// The sensitive columns, one by one and, if there are several, all together (last).
    pub against: Vec<Against>,
    /// The measures of dependence that were taken, in their order.
    pub measures: Vec<Measure>,
    /// What was tried.
    pub candidates: Vec<Tried>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// A way to count errors, and what knowing nothing gives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FrontierError {
    /// How errors are counted.
    pub measure: ErrorMeasure,
    /// The error of a constant: of the training rows' mean, or of a coin.
    pub constant: f64,
}

/// One candidate on the held-out rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Tried {
    /// What it is called.
    pub name: String,
    /// The mode's name.
    pub mode: String,
    /// t
    pub strength: f64,
    /// The alignment's name, if scores are aligned.
    pub align: Option<String>,
    /// How much of it is done.
    pub align_strength: Option<f64>,
    /// λ
    pub penalty: f64,
    /// Whether nothing is taken out: what costs are counted from.
    pub start: bool,
    /// Its errors, in the order of the frontier's.
    pub errors: Vec<ErrorFound>,
    /// How much its scores depend on S, by every measure and entry of `against` it is defined for.
    pub dependence: Vec<DependenceFound>,
}

/// A measure of dependence of one candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DependenceFound {
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
    /// The errors by which no candidate is at least as good in both and better in one.
    pub on_frontier: Vec<ErrorMeasure>,
}

impl Frontier {
    /// The pairs of sensitive columns and measure that were taken, those of all columns together first.
    pub fn axes(&self) -> Vec<(&Against, Measure)> {
        let taken = |against: &Against, measure: Measure| {
            let all = self.candidates.iter().flat_map(|c| &c.dependence);
            let mut all = all.filter(|d| d.against == against.name);
            all.any(|d| d.measure == measure)
        };
        let entries = self.against.iter().rev();
        entries
            .flat_map(|against| self.measures.iter().map(move |measure| (against, *measure)))
            .filter(|(against, measure)| taken(against, *measure))
            .collect()
    }
}

impl Tried {
    /// The dependence by a measure against the columns with this name.
    pub fn of(&self, against: &str, measure: Measure) -> Option<&DependenceFound> {
        let mut all = self.dependence.iter();
        all.find(|found| found.against == against && found.measure == measure)
    }

    /// The error counted in this way.
    pub fn error(&self, measure: ErrorMeasure) -> Option<&ErrorFound> {
        self.errors.iter().find(|found| found.measure == measure)
    }
}
