//! An oblivious kernel that can leave the program.

use faer::MatRef;
use oblivio_base::{Encoder, Error, Points, Result, Warning, Watch};
use oblivio_kernels::{Gamma, Kernel};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};

use super::container::{invalid, numbers, read, require, tensor, write};
use crate::conditional_mean::{ConditionalMean, KeptMean};
use crate::conditioning::{Observed, Of};
use crate::oblivious::ObliviousMap;
use crate::partition::{Assignment, Partition, PartitionRule, Smooth};
use crate::sensitive::Sensitive;

/// The most cells of an oblivious kernel: their means have inner products with each other.
const MOST_CELLS: usize = 1 << 13;
/// The most reference rows of a file that leaves the means to its reader.
const MOST_REFERENCE: usize = 1 << 16;
/// Inner products of means that a file may leave to its reader: whatever its size, and for every byte of it.
const COMPUTED: (usize, usize) = (1 << 17, 1);

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

#[derive(Serialize, Deserialize)]
struct KernelHeader {
    kernel: String,
    encoder: Encoder,
    partition: Partition,
    strength: f64,
    /// Of the reference rows; none where the means are a regression.
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
        let model = Self {
            encoder,
            partition,
            map: ObliviousMap::new(mean, settings.strength)?,
        };
        Ok((model, warnings))
    }

    /// The bytes of the file. The same map gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mean = self.map.mean();
        let KeptMean { cells, parts, gram } = mean.kept();
        let header = KernelHeader {
            kernel: mean.kernel().to_string(),
            encoder: self.encoder.clone(),
            partition: self.partition.clone(),
            strength: self.map.strength(),
            cells,
        };
        let reference = mean.reference();
        let count = gram.ncols();
        let gram: Vec<f64> = (0..count)
            .flat_map(|c| gram.col_as_slice(c).to_vec())
            .collect();
        let tensors = [
            tensor("gram", &[count, count], &gram),
            tensor("parts", &[parts.len()], &parts),
            tensor(
                "reference",
                &[reference.len(), reference.dim()],
                reference.values(),
            ),
        ];
        write("kernel", &header, &tensors)
    }

    /// Reads a file, trusting nothing in it.
    pub fn from_bytes(bytes: &[u8], watch: &Watch) -> Result<Self> {
        let (header, tensors): (KernelHeader, _) = read(bytes, "kernel")?;
        let (values, shape) = numbers(&tensors, "reference", 2)?;
        let kernel: Kernel = header.kernel.parse()?;
        require(
            header.encoder.is_sound() && shape[1] == header.encoder.width(),
            "the encoding of its columns",
        )?;
        require(header.partition.is_sound(), "its partition")?;
        let points = Points::new(values, shape[1])?;
        let own = (kernel, points, header.cells, &header.partition);
        let mean = if tensors.tensor("gram").is_ok() {
            kept(own, &tensors)?
        } else {
            let allowed = COMPUTED
                .0
                .saturating_add(bytes.len().saturating_mul(COMPUTED.1));
            estimated(own, &tensors, allowed, watch)?
        };
        Ok(Self {
            encoder: header.encoder,
            map: ObliviousMap::new(mean, header.strength)?,
            partition: header.partition,
        })
    }
}

/// The kernel, the reference rows, their cells, and the partition these are of.
type Own<'p> = (Kernel, Points<'static>, Vec<u32>, &'p Partition);

/// The means as they were written.
fn kept((kernel, points, cells, partition): Own, tensors: &SafeTensors) -> Result<ConditionalMean> {
    let (gram, sides) = numbers(tensors, "gram", 2)?;
    let (parts, _) = numbers(tensors, "parts", 1)?;
    if partition.smooth.is_none() {
        all_have_rows(&cells, partition.len())?;
    }
    let means = partition
        .smooth
        .as_ref()
        .map_or(partition.len(), Smooth::len);
    require(sides == [means, means], "the number of its means")?;
    let gram = MatRef::from_column_major_slice(&gram, means, means).to_owned();
    let kept = KeptMean { cells, parts, gram };
    ConditionalMean::of_kept(kernel, points, kept, partition)
        .ok_or_else(|| invalid("the number of its means makes no sense"))
}

/// The means of a file of an older version, estimated anew: their inner products are a square that the file does not account for, so
/// there are only as many as its size allows.
fn estimated(
    (kernel, points, cells, partition): Own,
    tensors: &SafeTensors,
    allowed: usize,
    watch: &Watch,
) -> Result<ConditionalMean> {
    let (weights, _) = numbers(tensors, "weights", 1)?;
    // The oldest have cells only.
    let (smooth, _) = numbers(tensors, "smooth", 1).unwrap_or_default();
    let (rows, features) = (points.len(), partition.smooth.as_ref().map(Smooth::len));
    all_have_rows(&cells, partition.len())?;
    // They are the sums of a square of as many rows.
    require(rows <= MOST_REFERENCE, "the number of its rows")?;
    require(
        cells.len() == rows
            && features.unwrap_or(0).checked_mul(rows) == Some(smooth.len())
            && weights.len() == rows
            && weights.iter().all(|weight| *weight > 0.0),
        "its partition",
    )?;
    let means = features.unwrap_or(partition.len());
    if means.checked_mul(means).is_none_or(|all| all > allowed) {
        return Err(invalid(format!(
            "it has {means} means, whose inner products an older version has left out; fit it again"
        )));
    }
    let features =
        features.map(|count| MatRef::from_column_major_slice(&smooth, count, rows).to_owned());
    let assignment = Assignment {
        cells,
        smooth: features,
        ..Assignment::default()
    };
    ConditionalMean::frugal(kernel, points, &assignment, &weights, partition, watch)
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
    use crate::oblivious::Features;
    use crate::partition::Estimator;
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
        let Assignment { cells, smooth, .. } = model.partition.assign(sensitive).unwrap();
        let header = KernelHeader {
            kernel: model.map.mean().kernel().to_string(),
            encoder: model.encoder.clone(),
            partition: model.partition.clone(),
            strength: 1.0,
            cells,
        };
        let of_row = |features: &faer::Mat<f64>, i: usize| features.col_as_slice(i).to_vec();
        let smooth: Vec<f64> = smooth.map_or(Vec::new(), |features| {
            (0..points.len())
                .flat_map(|i| of_row(&features, i))
                .collect()
        });
        let weights = vec![1.0; points.len()];
        let tensors = [
            tensor("reference", &[points.len(), points.dim()], points.values()),
            tensor("smooth", &[smooth.len()], &smooth),
            tensor("weights", &[weights.len()], &weights),
        ];
        write("kernel", &header, &tensors).unwrap()
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
