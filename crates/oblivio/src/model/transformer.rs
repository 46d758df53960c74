//! Feature maps with the encoding of their columns.

use oblivio_base::encoder::find;
use oblivio_base::{Column, Encoder, Result, Watch};
use oblivio_kernels::Kernel;

use crate::features::ObliviousFeatures;
use crate::partition::{Partition, Uses};
use crate::sensitive::Sensitive;

/// Oblivious features with the encoding of their columns.
///
/// It holds the landmarks, which are rows it was fitted on, and the means of the cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Transformer {
    /// From columns to points.
    pub encoder: Encoder,
    /// From points to features.
    pub features: ObliviousFeatures,
}

impl Transformer {
    /// The kernel of the features.
    pub fn kernel(&self) -> &Kernel {
        self.features.map.kernel()
    }

    /// t; zero for features that nothing is taken off.
    pub fn strength(&self) -> f64 {
        let cells = self.features.cells.as_ref();
        cells.map_or(0.0, |cells| cells.strength)
    }

    /// The names of the sensitive columns, all needed to transform.
    pub fn sensitive_columns(&self) -> Vec<&str> {
        self.features
            .partition()
            .map_or(Vec::new(), Partition::needs)
    }

    /// The features of the rows of a table, row after row, its columns found by name; and how often a policy was needed.
    pub fn transform(&self, table: &[Column], watch: &Watch) -> Result<(Vec<f64>, Uses)> {
        let (points, from_features) = self.encoder.encode(table)?;
        let columns = self
            .sensitive_columns()
            .into_iter()
            .map(|name| find(table, name).cloned())
            .collect::<Result<Vec<Column>>>()?;
        let sensitive = Sensitive::new(columns, points.len())?;
        let (features, assignment) = self.features.transform(&points, Some(&sensitive), watch)?;
        let uses = assignment.map_or(Uses::default(), |assignment| assignment.uses);
        Ok((features, uses.with_features(from_features)))
    }
}
