//! A fitted release, and what it makes of a table.

use serde::{Deserialize, Serialize};

use super::settings::{ReleaseMethod, ReleaseSettings};
use crate::column::Column;
use crate::error::{Error, Result, Warning};
use crate::partition::{Partition, Uses};
use crate::sensitive::Sensitive;
use crate::watch::Watch;

/// A fitted release. It holds values of the reference rows: keep it as safe as the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Release {
    method: ReleaseMethod,
    partition: Partition,
    columns: Vec<String>,
}

/// A released table.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    /// The columns of the fit, in their order.
    pub columns: Vec<Column>,
    /// How often a policy was used.
    pub uses: Uses,
    /// Values outside the range of their column, moved to its end.
    pub clipped: usize,
    /// Values of categories that no reference row has, left as they are.
    pub unseen: usize,
}

impl ReleaseSettings {
    /// Fits a release to reference rows; `weights` say how often each row counts.
    pub fn fit(
        &self,
        features: &[Column],
        sensitive: &Sensitive,
        weights: Option<&[f64]>,
        watch: &Watch,
    ) -> Result<(Release, Vec<Warning>)> {
        self.check(features)?;
        let _ = (sensitive, weights);
        watch.check()?;
        Err(Error::Interrupted)
    }
}

impl Release {
    /// The released values of the rows of a table, whose columns are found by name.
    pub fn transform(
        &self,
        features: &[Column],
        sensitive: &Sensitive,
        watch: &Watch,
    ) -> Result<Released> {
        let _ = (features, sensitive);
        watch.check()?;
        Err(Error::Interrupted)
    }

    /// How values are made.
    pub fn method(&self) -> ReleaseMethod {
        self.method
    }

    /// The names of the columns, in order.
    pub fn columns(&self) -> Vec<&str> {
        self.columns.iter().map(String::as_str).collect()
    }

    /// The names of the sensitive columns, all needed to transform.
    pub fn sensitive_columns(&self) -> Vec<&str> {
        self.partition.needs()
    }

    /// What is known of S.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }

    /// The bytes of the file. The same release gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Err(Error::Interrupted)
    }

    /// Reads a file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let _ = bytes;
        Err(Error::Interrupted)
    }
}
