//! The file of a feature map.

use oblivio_base::choice::check_strength;
use oblivio_base::{Encoder, Result};
use oblivio_kernels::{Basis, FeatureMap, Kernel, Shape};
use serde::{Deserialize, Serialize};

use super::container::{Codec, Tensor, read, require, write};
use crate::features::{CellShifts, ObliviousFeatures};
use crate::model::Transformer;
use crate::partition::Smooth;

const KIND: &str = "features";

/// A feature map.
struct FeaturesFile<'m> {
    header: Header,
    landmarks: Tensor<'m>,
    /// R, with the features $Rk_L(x)$.
    root: Tensor<'m>,
    /// The mean features of each cell.
    means: Tensor<'m>,
    /// The directions of a regression on S.
    directions: Tensor<'m>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    kernel: String,
    #[serde(default)]
    basis: Shape,
    encoder: Encoder,
    cells: Option<CellShifts>,
}

impl Transformer {
    /// The bytes of the file. The same transformer gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        FeaturesFile::new(self).write()
    }

    /// Reads a file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        FeaturesFile::decode(bytes, ())
    }
}

impl<'m> FeaturesFile<'m> {
    fn new(transformer: &'m Transformer) -> Self {
        let ObliviousFeatures { map, cells } = &transformer.features;
        let count = map.len();
        let means = cells.as_ref().map_or(&[][..], |cells| &cells.means);
        let directions = cells.as_ref().map_or(&[][..], |cells| &cells.directions);
        Self {
            header: Header {
                kernel: map.kernel().to_string(),
                basis: map.basis().shape(),
                encoder: transformer.encoder.clone(),
                cells: cells.clone(),
            },
            landmarks: Tensor::points("landmarks", map.basis().points()),
            root: Tensor::matrix("root", [count, count], map.root_entries()),
            means: Tensor::matrix("means", [means.len() / count, count], means),
            directions: Tensor::vector("directions", directions),
        }
    }

    /// The shifts of the cells, for `count` features.
    fn shifts(mut cells: CellShifts, means: Tensor, directions: Tensor) -> Result<CellShifts> {
        check_strength(cells.strength)?;
        let partition = &cells.partition;
        let [number, count] = [means.shape[0], means.shape[1]];
        partition.check_read()?;
        require(partition.len() == number, "its partition")?;
        let features = partition.smooth().map_or(0, Smooth::len);
        require(
            features.checked_mul(count) == Some(directions.values.len()),
            "its regression on sensitive values",
        )?;
        cells.means = means.values.into_owned();
        cells.directions = directions.values.into_owned();
        Ok(cells)
    }
}

impl Codec for FeaturesFile<'_> {
    type Value = Transformer;
    type Context<'c> = ();

    fn write(&self) -> Result<Vec<u8>> {
        let tensors = [&self.directions, &self.landmarks, &self.means, &self.root];
        write(KIND, &self.header, tensors)
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let (header, tensors) = read(bytes, KIND)?;
        Ok(Self {
            header,
            landmarks: Tensor::read_matrix(&tensors, "landmarks")?,
            root: Tensor::read_matrix(&tensors, "root")?,
            means: Tensor::read_matrix(&tensors, "means")?,
            // Files of older versions have cells only.
            directions: Tensor::read_vector(&tensors, "directions").unwrap_or_default(),
        })
    }

    fn check(self, (): ()) -> Result<Transformer> {
        let Header {
            kernel,
            basis,
            encoder,
            cells,
        } = self.header;
        let kernel: Kernel = kernel.parse()?;
        encoder.check_read()?;
        let points = self.landmarks.into_points()?;
        let dim = points.dim();
        let basis = Basis::new(kernel, points, basis);
        let count = basis.len();
        require(
            count > 0
                && dim == encoder.width()
                && self.root.shape == [count, count]
                && self.means.shape[1] == count,
            "the shape of its features",
        )?;
        let (means, directions) = (self.means, self.directions);
        let shifts = |cells| Self::shifts(cells, means, directions);
        let cells = cells.map(shifts).transpose()?;
        let map = FeatureMap::from_parts(basis, self.root.values.into_owned());
        Ok(Transformer {
            encoder,
            features: ObliviousFeatures { map, cells },
        })
    }
}
