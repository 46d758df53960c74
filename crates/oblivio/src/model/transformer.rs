//! Feature maps and kernels that can leave the program: the encoding of their columns beside them, and bytes to keep them in.

use faer::MatRef;
use serde::{Deserialize, Serialize};

use super::container::{numbers, read, require, tensor, write};
use crate::basis::{Basis, Shape};
use crate::column::Column;
use crate::conditional_mean::ConditionalMean;
use crate::conditioning::{Observed, Of};
use crate::encoder::{Encoder, find};
use crate::error::{Error, Result, Warning};
use crate::features::{CellShifts, ObliviousFeatures};
use crate::kernel::{Gamma, Kernel};
use crate::landmarks::FeatureMap;
use crate::oblivious::{ObliviousMap, check_strength};
use crate::partition::{Assignment, Partition, PartitionRule, Smooth, Uses};
use crate::points::Points;
use crate::sensitive::Sensitive;
use crate::watch::Watch;

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

#[derive(Serialize, Deserialize)]
struct FeaturesHeader {
    kernel: String,
    #[serde(default)]
    basis: Shape,
    encoder: Encoder,
    cells: Option<CellShifts>,
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
        let (points, unseen_level) = self.encoder.encode(table)?;
        let columns = self
            .sensitive_columns()
            .into_iter()
            .map(|name| find(table, name).cloned())
            .collect::<Result<Vec<Column>>>()?;
        let sensitive = Sensitive::new(columns, points.len())?;
        let (features, assignment) = self.features.transform(&points, Some(&sensitive), watch)?;
        let uses = assignment.map_or(Uses::default(), |assignment| assignment.uses);
        Ok((
            features,
            Uses {
                unseen_level,
                ..uses
            },
        ))
    }

    /// The bytes of the file. The same transformer gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let ObliviousFeatures { map, cells } = &self.features;
        let header = FeaturesHeader {
            kernel: map.kernel().to_string(),
            basis: map.basis.shape,
            encoder: self.encoder.clone(),
            cells: cells.clone(),
        };
        let (count, points) = (map.len(), &map.basis.points);
        let means = cells.as_ref().map_or(&[][..], |cells| &cells.means);
        let directions = cells.as_ref().map_or(&[][..], |cells| &cells.directions);
        let tensors = [
            tensor("directions", &[directions.len()], directions),
            tensor("landmarks", &[points.len(), points.dim()], points.values()),
            tensor("means", &[means.len() / count, count], means),
            tensor("root", &[count, count], &map.root),
        ];
        write("features", &header, &tensors)
    }

    /// Reads a file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (header, tensors): (FeaturesHeader, _) = read(bytes, "features")?;
        let (values, shape) = numbers(&tensors, "landmarks", 2)?;
        let (root, root_shape) = numbers(&tensors, "root", 2)?;
        let (means, means_shape) = numbers(&tensors, "means", 2)?;
        // Files of older versions have cells only.
        let (directions, _) = numbers(&tensors, "directions", 1).unwrap_or_default();
        let kernel: Kernel = header.kernel.parse()?;
        require(header.encoder.is_sound(), "the encoding of its columns")?;
        let basis = Basis {
            kernel,
            points: Points::new(values, shape[1])?,
            shape: header.basis,
        };
        let count = basis.len();
        require(
            count > 0
                && shape[1] == header.encoder.width()
                && root_shape == [count, count]
                && means_shape[1] == count,
            "the shape of its features",
        )?;
        let cells = match header.cells {
            None => None,
            Some(cells) => {
                check_strength(cells.strength)?;
                require(
                    cells.partition.is_sound() && cells.partition.len() == means_shape[0],
                    "its partition",
                )?;
                let features = cells.partition.smooth.as_ref().map_or(0, Smooth::len);
                require(
                    features.checked_mul(count) == Some(directions.len()),
                    "its regression on sensitive values",
                )?;
                Some(CellShifts {
                    means,
                    directions,
                    ..cells
                })
            }
        };
        let map = FeatureMap { basis, root };
        Ok(Self {
            encoder: header.encoder,
            features: ObliviousFeatures { map, cells },
        })
    }
}

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
    /// The cells of the reference rows, and how often each counts.
    assignment: Assignment,
    weights: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct KernelHeader {
    kernel: String,
    encoder: Encoder,
    partition: Partition,
    strength: f64,
    cells: Vec<u32>,
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
        let map = ObliviousMap::new(mean, settings.strength)?;
        let model = Self {
            encoder,
            partition,
            map,
            assignment,
            weights,
        };
        Ok((model, warnings))
    }

    /// The bytes of the file. The same map gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mean = self.map.mean();
        let header = KernelHeader {
            kernel: mean.kernel().to_string(),
            encoder: self.encoder.clone(),
            partition: self.partition.clone(),
            strength: self.map.strength(),
            cells: self.assignment.cells.clone(),
        };
        let reference = mean.reference();
        let weights = &self.weights;
        let rows = weights.len();
        let smooth: Vec<f64> = match &self.assignment.smooth {
            None => Vec::new(),
            Some(features) => (0..rows)
                .flat_map(|i| features.col_as_slice(i).to_vec())
                .collect(),
        };
        let tensors = [
            tensor(
                "reference",
                &[reference.len(), reference.dim()],
                reference.values(),
            ),
            tensor("smooth", &[smooth.len()], &smooth),
            tensor("weights", &[weights.len()], weights),
        ];
        write("kernel", &header, &tensors)
    }

    /// Reads a file, trusting nothing in it; the inner products of the means are computed anew.
    pub fn from_bytes(bytes: &[u8], watch: &Watch) -> Result<Self> {
        let (header, tensors): (KernelHeader, _) = read(bytes, "kernel")?;
        let (values, shape) = numbers(&tensors, "reference", 2)?;
        let (weights, _) = numbers(&tensors, "weights", 1)?;
        // Files of older versions have cells only.
        let (smooth, _) = numbers(&tensors, "smooth", 1).unwrap_or_default();
        let features = header.partition.smooth.as_ref().map_or(0, Smooth::len);
        let kernel: Kernel = header.kernel.parse()?;
        let count = header.partition.len();
        let mut rows = vec![0usize; count];
        for cell in &header.cells {
            if let Some(rows) = rows.get_mut(*cell as usize) {
                *rows += 1;
            }
        }
        // The inner products of the cells' means are a square: cells that no row is in would take memory the file does not account for.
        require(
            rows.iter().all(|rows| *rows > 0) && count <= MOST_CELLS,
            "the rows of its cells",
        )?;
        require(
            header.encoder.is_sound() && shape[1] == header.encoder.width(),
            "the encoding of its columns",
        )?;
        require(
            header.partition.is_sound()
                && header.cells.len() == shape[0]
                && features.checked_mul(shape[0]) == Some(smooth.len())
                && weights.len() == shape[0]
                && weights.iter().all(|weight| *weight > 0.0)
                && header.cells.iter().all(|cell| (*cell as usize) < count),
            "its partition",
        )?;
        let assignment = Assignment {
            cells: header.cells,
            smooth: (features > 0)
                .then(|| MatRef::from_column_major_slice(&smooth, features, shape[0]).to_owned()),
            ..Assignment::default()
        };
        let mean = ConditionalMean::of(
            kernel,
            Points::new(values, shape[1])?,
            &assignment,
            &weights,
            &header.partition,
            watch,
        )?;
        Ok(Self {
            encoder: header.encoder,
            partition: header.partition,
            map: ObliviousMap::new(mean, header.strength)?,
            assignment,
            weights,
        })
    }
}
