//! The file of an oblivious kernel.

use faer::MatRef;
use oblivio_base::{Encoder, Points, Result, Watch};
use oblivio_kernels::Kernel;
use serde::{Deserialize, Serialize};

use super::container::{Codec, Tensor, invalid, read, require, write};
use crate::conditional_mean::{ConditionalMean, KeptMean};
use crate::model::KernelModel;
use crate::oblivious::ObliviousMap;
use crate::partition::{Partition, SensitiveDesign, Smooth};

const KIND: &str = "kernel";
/// The most reference rows of a file that leaves the means to its reader.
const MOST_REFERENCE: usize = 1 << 16;
/// Inner products of means that a file may leave to its reader: whatever its size, and for every byte of it.
const COMPUTED: (usize, usize) = (1 << 17, 1);

/// An oblivious kernel.
struct KernelFile<'m> {
    header: Header,
    reference: Tensor<'m>,
    means: Means<'m>,
    /// The bytes of the file.
    size: usize,
}

/// The conditional means.
enum Means<'m> {
    /// As they were written: their inner products, and whatever else [`KeptMean`] has.
    Kept { gram: Tensor<'m>, parts: Tensor<'m> },
    /// Left to the reader by an older version: the weights of the reference rows, and their features of S (the oldest have none).
    Left {
        weights: Tensor<'m>,
        smooth: Tensor<'m>,
    },
}

#[derive(Serialize, Deserialize)]
struct Header {
    kernel: String,
    encoder: Encoder,
    partition: Partition,
    strength: f64,
    /// The cell of each reference row; empty where the means are a regression.
    cells: Vec<u32>,
}

impl KernelModel {
    /// The bytes of the file. The same map gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let kernel = self.map.mean().kernel();
        kernel.check_formula("an oblivious kernel in a file")?;
        KernelFile::new(self).write()
    }

    /// Reads a file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8], watch: &Watch) -> Result<Self> {
        KernelFile::decode(bytes, watch)
    }
}

impl<'m> KernelFile<'m> {
    fn new(model: &'m KernelModel) -> Self {
        let mean = model.map.mean();
        let KeptMean { cells, parts, gram } = mean.kept();
        let count = gram.ncols();
        let gram: Vec<f64> = (0..count)
            .flat_map(|c| gram.col_as_slice(c).to_vec())
            .collect();
        Self {
            header: Header {
                kernel: mean.kernel().to_string(),
                encoder: model.encoder.clone(),
                partition: model.partition.clone(),
                strength: model.map.strength(),
                cells,
            },
            reference: Tensor::points("reference", mean.reference()),
            means: Means::Kept {
                gram: Tensor::matrix("gram", [count, count], gram),
                parts: Tensor::vector("parts", parts),
            },
            size: 0,
        }
    }
}

impl Codec for KernelFile<'_> {
    type Value = KernelModel;
    type Context<'c> = &'c Watch;

    fn write(&self) -> Result<Vec<u8>> {
        let means = match &self.means {
            Means::Kept { gram, parts } => [gram, parts],
            Means::Left { weights, smooth } => [smooth, weights],
        };
        write(
            KIND,
            &self.header,
            means.into_iter().chain([&self.reference]),
        )
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let (header, tensors) = read(bytes, KIND)?;
        let means = if tensors.tensor("gram").is_ok() {
            Means::Kept {
                gram: Tensor::read_matrix(&tensors, "gram")?,
                parts: Tensor::read_vector(&tensors, "parts")?,
            }
        } else {
            Means::Left {
                weights: Tensor::read_vector(&tensors, "weights")?,
                smooth: Tensor::read_vector(&tensors, "smooth").unwrap_or_default(),
            }
        };
        Ok(Self {
            header,
            reference: Tensor::read_matrix(&tensors, "reference")?,
            means,
            size: bytes.len(),
        })
    }

    fn check(self, watch: &Watch) -> Result<KernelModel> {
        let Header {
            kernel,
            encoder,
            partition,
            strength,
            cells,
        } = self.header;
        let kernel: Kernel = kernel.parse()?;
        encoder.check_read()?;
        require(
            self.reference.shape[1] == encoder.width(),
            "the encoding of its columns",
        )?;
        partition.check_read()?;
        let own = Own {
            kernel,
            points: self.reference.into_points()?,
            cells,
            partition: &partition,
        };
        let mean = match self.means {
            Means::Kept { gram, parts } => own.kept(&gram, parts)?,
            Means::Left { weights, smooth } => {
                own.estimated(&weights, &smooth, self.size, watch)?
            }
        };
        let map = ObliviousMap::new(mean, strength)?;
        Ok(KernelModel {
            encoder,
            partition,
            map,
        })
    }
}

/// The kernel, the reference rows, their cells, and the partition that has these.
struct Own<'p> {
    kernel: Kernel,
    points: Points<'static>,
    cells: Vec<u32>,
    partition: &'p Partition,
}

impl Own<'_> {
    /// The means as they were written.
    fn kept(self, gram: &Tensor, parts: Tensor) -> Result<ConditionalMean> {
        let features = self.partition.smooth().map(Smooth::len);
        if features.is_none() {
            all_have_rows(&self.cells, self.partition.len())?;
        }
        let means = features.unwrap_or(self.partition.len());
        require(gram.shape == [means, means], "the number of its means")?;
        let kept = KeptMean {
            cells: self.cells,
            parts: parts.values.into_owned(),
            gram: MatRef::from_column_major_slice(&gram.values, means, means).to_owned(),
        };
        ConditionalMean::of_kept(self.kernel, self.points, kept, self.partition)
            .ok_or_else(|| invalid("the number of its means makes no sense"))
    }

    /// The means of a file of an older version, estimated again: their inner products are a square that the file does not account for,
    /// so their number is bounded by the size of the file.
    fn estimated(
        self,
        weights: &Tensor,
        smooth: &Tensor,
        size: usize,
        watch: &Watch,
    ) -> Result<ConditionalMean> {
        let (weights, smooth) = (&weights.values[..], &smooth.values[..]);
        let (rows, features) = (self.points.len(), self.partition.smooth().map(Smooth::len));
        all_have_rows(&self.cells, self.partition.len())?;
        // They are the sums of a square of as many rows.
        require(rows <= MOST_REFERENCE, "the number of its rows")?;
        require(
            self.cells.len() == rows
                && features.unwrap_or(0).checked_mul(rows) == Some(smooth.len())
                && weights.len() == rows
                && weights.iter().all(|weight| *weight > 0.0),
            "its partition",
        )?;
        let means = features.unwrap_or(self.partition.len());
        let allowed = COMPUTED.0.saturating_add(size.saturating_mul(COMPUTED.1));
        if means.checked_mul(means).is_none_or(|all| all > allowed) {
            return Err(invalid(format!(
                "it has {means} means, whose inner products an older version has left out; fit it again"
            )));
        }
        let features =
            features.map(|count| MatRef::from_column_major_slice(smooth, count, rows).to_owned());
        let mut assignment =
            SensitiveDesign::from_codes(self.partition.len(), self.cells, Vec::new());
        if let Some(features) = features {
            assignment = assignment.with_features(features, &[], false);
        }
        let Self { kernel, points, .. } = self;
        ConditionalMean::frugal(kernel, points, &assignment, weights, self.partition, watch)
    }
}

/// Every cell came from a row, and every row has one.
fn all_have_rows(cells: &[u32], count: usize) -> Result<()> {
    let mut rows = vec![0usize; count];
    for cell in cells {
        let of_cell = rows.get_mut(*cell as usize);
        *of_cell.ok_or_else(|| invalid("a cell of its rows makes no sense"))? += 1;
    }
    require(rows.iter().all(|rows| *rows > 0), "the rows of its cells")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::KernelSettings;
    use crate::oblivious::Features;
    use crate::partition::{Estimator, PartitionRule};
    use crate::sensitive::Sensitive;
    use oblivio_base::{Column, Scaling, UnseenCategory};

    /// A kernel with this conditional mean of so many categories, each of two rows, and its reference rows.
    fn fitted(
        categories: usize,
        estimator: Estimator,
    ) -> (KernelModel, Points<'static>, Sensitive) {
        let rows = 2 * categories;
        let x = (0..rows).map(|i| (i * 7 % 31) as f64).collect();
        let table = [Column::numbers("x", x)];
        let policy = UnseenCategory::Error;
        let encoder = Encoder::fit(&table, Scaling::Standard, &vec![1.0; rows], policy).unwrap();
        let (points, _) = encoder.encode(&table).unwrap();
        let names: Vec<String> = (0..rows).map(|i| (i / 2).to_string()).collect();
        let zip = Column::texts("zip", names.iter().map(|name| Some(name.as_str())));
        let sensitive = Sensitive::new(vec![zip], rows).unwrap();
        let partition = PartitionRule {
            estimator,
            ..PartitionRule::default()
        };
        let settings = KernelSettings {
            kernel: "rbf".parse().unwrap(),
            strength: 1.0,
            partition,
            seed: 0,
        };
        let watch = Watch::default();
        let model = KernelModel::fit(encoder, &points, &sensitive, None, &settings, &watch);
        (model.unwrap().0, points, sensitive)
    }

    /// The file as versions wrote it that left the means to the reader; every row counts once.
    fn before(model: &KernelModel, points: &Points, sensitive: &Sensitive) -> Vec<u8> {
        let assignment = model.partition.assign(sensitive).unwrap();
        let of_row = |features: &faer::Mat<f64>, i: usize| features.col_as_slice(i).to_vec();
        let smooth: Vec<f64> = assignment.matrix().map_or(Vec::new(), |features| {
            (0..points.len())
                .flat_map(|i| of_row(features, i))
                .collect()
        });
        let file = KernelFile {
            header: Header {
                kernel: model.map.mean().kernel().to_string(),
                encoder: model.encoder.clone(),
                partition: model.partition.clone(),
                strength: 1.0,
                cells: assignment.codes().to_vec(),
            },
            reference: Tensor::points("reference", points),
            means: Means::Left {
                weights: Tensor::vector("weights", vec![1.0; points.len()]),
                smooth: Tensor::vector("smooth", smooth),
            },
            size: 0,
        };
        file.write().unwrap()
    }

    fn gram(model: &KernelModel, points: &Points, sensitive: &Sensitive) -> Vec<f64> {
        let assignment = model.partition.assign(sensitive).unwrap();
        let rows = Features::Oblivious(points, &assignment);
        model.map.inner(rows, rows, &Watch::default()).unwrap()
    }

    #[test]
    fn means_that_were_kept_are_those_of_the_fit_to_the_bit() {
        for estimator in [Estimator::Cells, Estimator::Linear, Estimator::Smooth] {
            let (model, points, sensitive) = fitted(150, estimator);
            let read = KernelModel::from_bytes(&model.to_bytes().unwrap(), &Watch::default());
            let read = read.unwrap();
            let expected = gram(&model, &points, &sensitive);
            assert_eq!(gram(&read, &points, &sensitive), expected);
            assert_eq!(read.to_bytes().unwrap(), model.to_bytes().unwrap());
        }
    }

    #[test]
    fn means_that_were_left_to_the_reader_are_computed_as_far_as_the_file_accounts_for_them() {
        let watch = Watch::default();
        for estimator in [Estimator::Cells, Estimator::Linear, Estimator::Smooth] {
            let (model, points, sensitive) = fitted(150, estimator);
            let old = KernelModel::from_bytes(&before(&model, &points, &sensitive), &watch);
            let found = gram(&old.unwrap(), &points, &sensitive);
            for (found, expected) in found.iter().zip(gram(&model, &points, &sensitive)) {
                assert!((found - expected).abs() < 1e-12);
            }
        }
        let (model, points, sensitive) = fitted(500, Estimator::Cells);
        let old = KernelModel::from_bytes(&before(&model, &points, &sensitive), &watch);
        assert!(old.unwrap_err().to_string().contains("500 means"));
    }
}
