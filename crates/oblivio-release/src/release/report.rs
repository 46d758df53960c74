//! What a release keeps and what it takes out, on rows it was not fitted to: aggregates only, no row of the table.

use oblivio_audit::{AdversaryScore, Audit, Measured};
use serde::{Deserialize, Serialize};

/// What a release was found to do, on held-out rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReleaseReport {
    /// The method's name.
    pub method: String,
    /// All rows of the study.
    pub rows: usize,
    /// The rows that the release was fitted on.
    pub training_rows: usize,
    /// The rows that all numbers are of.
    pub held_out_rows: usize,
    /// The sensitive columns.
    pub sensitive: Vec<String>,
    /// How much the features depend on S before the release.
    pub before: Audit,
    /// How much they do after, with the same draws.
    pub after: Audit,
    /// What became of each column, in order.
    pub columns: Vec<ColumnReport>,
    /// How much of what the features tell is left.
    pub utility: Vec<Utility>,
    /// The bandwidths that a projection tried.
    pub path: Vec<ReleasePathPoint>,
    /// How near a projection is to its best.
    pub certified: Option<ReleaseCertificate>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// What became of one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ColumnReport {
    /// Its name.
    pub name: String,
    /// `numbers`, `whole numbers` or `categories`.
    pub kind: String,
    /// What was done, in words.
    pub treatment: String,
    /// The least value that is released, for numbers.
    pub low: Option<f64>,
    /// The largest value that is released, for numbers.
    pub high: Option<f64>,
    /// The share of values that changed.
    pub changed: f64,
    /// The root of the mean squared change, in standard deviations of the column, for numbers.
    pub distance: Option<f64>,
    /// The correlation with the original, for numbers.
    pub correlation: Option<f64>,
}

/// How well a column is told from the others before and after: the cross-validated score of a kernel learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Utility {
    /// The column that is told.
    pub target: String,
    /// Whether it was named as a target; if not, it is a feature, told from the other features.
    pub given: bool,
    /// What the score is.
    pub score: AdversaryScore,
    /// From the original features.
    pub original: Measured,
    /// From the released features.
    pub released: Measured,
}

/// A bandwidth that a projection tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReleasePathPoint {
    /// The factor of γ.
    pub factor: f64,
    /// The kernel with that γ.
    pub kernel: String,
    /// The dependence of the released features on S.
    pub hsic: f64,
    /// Its mean if nothing depended on S.
    pub expected: f64,
    /// The distance from the original features.
    pub distance: f64,
    /// Whether it was chosen.
    pub chosen: bool,
}

/// How near a projection is to its best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReleaseCertificate {
    /// The rows looked at.
    pub rows: usize,
    /// Those whose squared distance to the feature that is wanted is certified to be near the least there is: within a thousandth of the
    /// square of what the feature map covers.
    pub certified: usize,
    /// By how much the squared distance of any of the rows can be above the least there is.
    pub largest_gap: f64,
}
