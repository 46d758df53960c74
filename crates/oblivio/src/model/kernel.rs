//! An oblivious kernel that can leave the program.

use oblivio_base::{Encoder, Error, Points, Result, Warning, Watch};
use oblivio_kernels::{Gamma, Kernel};

use crate::conditional_mean::ConditionalMean;
use crate::conditioning::{Observed, Of};
use crate::oblivious::ObliviousMap;
use crate::partition::{Partition, PartitionRule};
use crate::sensitive::Sensitive;

/// The most cells of an oblivious kernel: their means have inner products with each other.
const MOST_CELLS: usize = 1 << 13;

/// The settings of an oblivious kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSettings {
    /// The kernel, its γ perhaps by rule.
    pub kernel: Kernel<Gamma>,
    /// t
    pub strength: f64,
    /// How sensitive values become cells.
    pub partition: PartitionRule,
    /// For everything random.
    pub seed: u64,
}

/// The paper's matrix for any rows: an oblivious map with its partition and the encoding of its columns.
///
/// It holds the reference rows.
#[derive(Clone, Debug)]
pub struct KernelModel {
    /// From columns to points.
    pub encoder: Encoder,
    /// From sensitive values to cells.
    pub partition: Partition,
    /// From points and cells to inner products.
    pub map: ObliviousMap,
}

impl KernelModel {
    /// Estimates the means on these rows; `encoder` says how they came to be points.
    pub fn fit(
        encoder: Encoder,
        points: &Points,
        sensitive: &Sensitive,
        weights: Option<&[f64]>,
        settings: &KernelSettings,
        watch: &Watch,
    ) -> Result<(Self, Vec<Warning>)> {
        let ones = vec![1.0; points.len()];
        let weights = weights.unwrap_or(&ones);
        let rows: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        let (points, sensitive) = (points.select(&rows), sensitive.select(&rows));
        let weights: Vec<f64> = rows.iter().map(|&i| weights[i]).collect();
        let kernel = settings.kernel.resolve(&points, &weights, settings.seed)?;
        let of = Of::Features(&kernel, &points);
        let table = Observed::new(&sensitive, &weights, of, settings.seed);
        let (partition, warnings) = Partition::conditioned(&settings.partition, table, watch)?;
        if partition.len() > MOST_CELLS {
            return Err(Error::InvalidParameter {
                name: "the number of cells of a kernel",
                expected: "at most 8192; use fewer cells or columns",
                value: partition.len().to_string(),
            });
        }
        let assignment = partition.assign(&sensitive)?;
        let mean = ConditionalMean::of(kernel, points, &assignment, &weights, &partition, watch)?;
        let model = Self {
            encoder,
            partition,
            map: ObliviousMap::new(mean, settings.strength)?,
        };
        Ok((model, warnings))
    }
}
