//! What is to be released, and how.

use oblivio::partition::{Missing, PartitionRule};
use oblivio_base::choice::check_strength;
use oblivio_base::encoder::find;
use oblivio_base::{Column, Error, Named, Result, Values};
use oblivio_kernels::{Components, Gamma, Kernel};
use serde::{Deserialize, Serialize};

/// How the values of a release are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseMethod {
    /// Each column by itself: a value goes to the place in a common distribution that it has in the one given S.
    #[default]
    Quantile,
    /// Each column by itself as with `Quantile`, and then all columns together: alignments along axes of the table, and back to each
    /// column's own values.
    Joint,
    /// All columns together: the row whose features are nearest to oblivious ones.
    Projection,
    /// Each column of numbers less its conditional mean, plus the mean.
    Residual,
}

impl Named for ReleaseMethod {
    const WHAT: &'static str = "the method of a release";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("quantile", Self::Quantile),
        ("joint", Self::Joint),
        ("projection", Self::Projection),
        ("residual", Self::Residual),
    ];
}

/// What becomes of missing values of features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingValues {
    /// Refuse.
    #[default]
    Error,
    /// They stay missing; the rest of the row is released. That they are missing may depend on S, and is left as it is.
    Keep,
}

impl Named for MissingValues {
    const WHAT: &'static str = "the policy for missing values of features";
    const NAMES: &'static [(&'static str, Self)] = &[("error", Self::Error), ("keep", Self::Keep)];
}

/// What a projection does with columns of categories and of whole numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discrete {
    /// Tries their values.
    #[default]
    Enumerate,
    /// Leaves them as they are.
    Keep,
}

impl Named for Discrete {
    const WHAT: &'static str = "what a projection does with discrete columns";
    const NAMES: &'static [(&'static str, Self)] =
        &[("enumerate", Self::Enumerate), ("keep", Self::Keep)];
}

/// How a projection is made.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionRule {
    /// The kernel, its γ perhaps by rule.
    pub kernel: Kernel<Gamma>,
    /// The factors of γ that are tried.
    pub bandwidths: Vec<f64>,
    /// Landmarks; if absent, every reference row is one.
    pub components: Option<Components>,
    /// What becomes of columns of categories and of whole numbers.
    pub discrete: Discrete,
}

impl Default for ProjectionRule {
    fn default() -> Self {
        Self {
            kernel: Kernel::Gaussian {
                gamma: Gamma::Scale,
            },
            bandwidths: vec![10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.001],
            components: None,
            discrete: Discrete::default(),
        }
    }
}

/// A range that the values of a column are kept in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ColumnRange {
    /// The column.
    pub column: String,
    /// The least value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

/// The settings of a release.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleaseSettings {
    /// How values are made.
    pub method: ReleaseMethod,
    /// t: 0 changes nothing, 1 takes out all that the method can.
    pub strength: f64,
    /// What is known of S: its cells, or features of S to regress on.
    pub partition: PartitionRule,
    /// What becomes of missing values.
    pub missing: MissingValues,
    /// Ranges of columns; of the others, that of their reference rows.
    pub ranges: Vec<ColumnRange>,
    /// For the method `projection`.
    pub projection: ProjectionRule,
    /// For everything drawn.
    pub seed: u64,
}

impl Default for ReleaseSettings {
    fn default() -> Self {
        Self {
            method: ReleaseMethod::default(),
            strength: 1.0,
            partition: PartitionRule::default(),
            missing: MissingValues::default(),
            ranges: Vec::new(),
            projection: ProjectionRule::default(),
            seed: 0,
        }
    }
}

impl ReleaseSettings {
    /// Refuses settings that no release of these columns can have.
    pub(super) fn check(&self, features: &[Column]) -> Result<()> {
        check_strength(self.strength)?;
        let refuse = |name, expected, value: String| {
            Err(Error::InvalidParameter {
                name,
                expected,
                value,
            })
        };
        if self.partition.policies.missing == Missing::SensitiveFree {
            return refuse(
                "the policy for missing values of a release",
                "error or category: a row whose sensitive value is not known cannot be freed of it",
                Missing::SensitiveFree.name().into(),
            );
        }
        let by_ranks = matches!(self.method, ReleaseMethod::Quantile | ReleaseMethod::Joint);
        if by_ranks && !self.partition.control.is_empty() {
            return refuse(
                "the method of a release with control features",
                "residual, which can leave what they explain",
                self.method.name().into(),
            );
        }
        if self.method == ReleaseMethod::Projection {
            if self.missing == MissingValues::Keep {
                return refuse(
                    "the policy for missing values of a projection",
                    "error: it moves whole rows; the method quantile can keep missing values",
                    MissingValues::Keep.name().into(),
                );
            }
            let factors = &self.projection.bandwidths;
            let wrong = factors.iter().find(|f| !(**f > 0.0 && f.is_finite()));
            if factors.is_empty() || wrong.is_some() {
                return refuse(
                    "the bandwidths of a projection",
                    "one or more factors of gamma, positive and finite",
                    wrong.map_or("none".into(), f64::to_string),
                );
            }
        }
        for ColumnRange { column, low, high } in &self.ranges {
            if matches!(find(features, column)?.values, Values::Categories { .. }) {
                return refuse(
                    "a column with a range",
                    "one of numbers",
                    format!("the categories `{column}`"),
                );
            }
            if !(low < high && low.is_finite() && high.is_finite()) {
                return refuse(
                    "the range of a column",
                    "two finite numbers, the smaller first",
                    format!("{low}:{high} for `{column}`"),
                );
            }
        }
        Ok(())
    }
}
