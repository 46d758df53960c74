//! Feature maps that can leave the program: the encoding of their columns beside them, and bytes to keep them in.

use oblivio_base::choice::check_strength;
use oblivio_base::encoder::find;
use oblivio_base::{Column, Encoder, Points, Result, Watch};
use oblivio_kernels::{Basis, FeatureMap, Kernel, Shape};
use serde::{Deserialize, Serialize};

use super::container::{numbers, read, require, tensor, write};
use crate::features::{CellShifts, ObliviousFeatures};
use crate::partition::{Partition, Smooth, Uses};
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
            basis: map.basis().shape(),
            encoder: self.encoder.clone(),
            cells: cells.clone(),
        };
        let (count, points) = (map.len(), map.basis().points());
        let means = cells.as_ref().map_or(&[][..], |cells| &cells.means);
        let directions = cells.as_ref().map_or(&[][..], |cells| &cells.directions);
        let tensors = [
            tensor("directions", &[directions.len()], directions),
            tensor("landmarks", &[points.len(), points.dim()], points.values()),
            tensor("means", &[means.len() / count, count], means),
            tensor("root", &[count, count], map.root_entries()),
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
        let basis = Basis::new(kernel, Points::new(values, shape[1])?, header.basis);
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
        let map = FeatureMap::from_parts(basis, root);
        Ok(Self {
            encoder: header.encoder,
            features: ObliviousFeatures { map, cells },
        })
    }
}
