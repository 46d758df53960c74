//! Counts of rows that needed a policy.

use oblivio_base::encoder::FeatureUses;
use serde::{Deserialize, Serialize};

/// How many rows needed a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Uses {
    /// The row's cell holds no reference row.
    pub empty_cell: usize,
    /// A category no reference row has.
    pub unseen_category: usize,
    /// A continuous value outside the reference's range, or outside given bounds.
    pub out_of_range: usize,
    /// A missing value, taken as a category.
    pub missing: usize,
    /// A row that misses a sensitive value: left out of the fit, and scored by the model that needs none.
    #[serde(default)]
    pub sensitive_free: usize,
    /// A feature's category that was not there at the fit, taken as none.
    #[serde(default)]
    pub unseen_level: usize,
    /// A feature's missing value, taken as the fit says.
    #[serde(default)]
    pub missing_feature: usize,
}

impl Uses {
    /// The same counts of rows, with these of their features' values.
    #[must_use]
    pub fn with_features(self, features: FeatureUses) -> Self {
        Self {
            unseen_level: features.unseen,
            missing_feature: features.missing,
            ..self
        }
    }

    /// The counts of two sets of rows together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            empty_cell: self.empty_cell + other.empty_cell,
            unseen_category: self.unseen_category + other.unseen_category,
            out_of_range: self.out_of_range + other.out_of_range,
            missing: self.missing + other.missing,
            sensitive_free: self.sensitive_free + other.sensitive_free,
            unseen_level: self.unseen_level + other.unseen_level,
            missing_feature: self.missing_feature + other.missing_feature,
        }
    }
}
