//! Explicit features: Nyström on landmarks, with the shifts of the cells taken off.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, Warning};
use crate::fit::Training;
use crate::kernel::{Gamma, Kernel, KernelMatrix};
use crate::oblivious::check_strength;
use crate::partition::{Assignment, Partition, PartitionRule};
use crate::points::Points;
use crate::random;
use crate::reference::Reference;
use crate::sensitive::Sensitive;
use crate::watch::Watch;

/// Nyström features $f(x) = K_{LL}^{+1/2}\,(k(l_1, x), \dots, k(l_p, x))^\top$: $\langle f(x), f(x')\rangle$ is the kernel
/// with both points projected onto the landmarks' span.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureMap {
    pub(crate) kernel: Kernel,
    pub(crate) landmarks: Points<'static>,
    /// $K_{LL}^{+1/2}$, symmetric, column after column.
    pub(crate) root: Vec<f64>,
}

impl FeatureMap {
    /// Features on `count` landmarks drawn by seed, uniformly and without replacement, from the distinct rows.
    ///
    /// The order and the repetition of rows make no difference. All distinct rows are used if there are not more.
    pub fn uniform(kernel: Kernel, points: &Points, count: usize, seed: u64) -> Result<Self> {
        if count == 0 {
            return Err(Error::InvalidParameter {
                name: "the number of components",
                expected: "at least 1",
                value: "0".into(),
            });
        }
        let mut rows: Vec<usize> = (0..points.len()).collect();
        let compare = |a: &usize, b: &usize| {
            let pairs = points.row(*a).iter().zip(points.row(*b));
            let mut orders = pairs.map(|(x, y)| (x + 0.0).total_cmp(&(y + 0.0)));
            orders
                .find(|order| order.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        };
        rows.sort_by(compare);
        rows.dedup_by(|a, b| compare(a, b).is_eq());
        let places: Vec<usize> = (0..rows.len()).collect();
        let drawn = random::sample(&places, count, seed);
        let chosen: Vec<usize> = drawn.into_iter().map(|place| rows[place]).collect();
        Self::on(kernel, points.select(&chosen))
    }

    /// Features on these landmarks.
    ///
    /// Directions whose eigenvalue is lost in rounding are left out of the pseudo-inverse.
    pub fn on(kernel: Kernel, landmarks: Points<'static>) -> Result<Self> {
        let count = landmarks.len();
        let gram = KernelMatrix::of(&kernel, &landmarks).entries(&Watch::default())?;
        if gram.iter().any(|v| !v.is_finite()) {
            return Err(Error::Overflow {
                what: "the kernel of two landmarks",
            });
        }
        let eigen = MatRef::from_column_major_slice(&gram, count, count)
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| Error::Overflow {
                what: "the decomposition of the landmarks' kernel matrix",
            })?;
        let values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
        let floor = values.iter().fold(0.0f64, |a, b| a.max(*b)) * count as f64 * f64::EPSILON;
        let vectors = eigen.U();
        // U S^{-1/4} times its transpose is exactly symmetric.
        let half = Mat::from_fn(count, count, |i, j| {
            if values[j] > floor {
                vectors[(i, j)] * values[j].powf(-0.25)
            } else {
                0.0
            }
        });
        let mut root = vec![0.0; count * count];
        matmul(
            MatMut::from_column_major_slice_mut(&mut root, count, count),
            Accum::Replace,
            half.as_ref(),
            half.transpose(),
            1.0,
            threads(),
        );
        Ok(Self {
            kernel,
            landmarks,
            root,
        })
    }

    /// The number of features.
    pub fn len(&self) -> usize {
        self.landmarks.len()
    }

    /// Whether there is no feature; no map is empty.
    pub fn is_empty(&self) -> bool {
        self.landmarks.is_empty()
    }

    /// The features of every point, row after row.
    pub fn features(&self, points: &Points, watch: &Watch) -> Result<Vec<f64>> {
        let (count, rows) = (self.len(), points.len());
        let matrix = KernelMatrix::between(&self.kernel, points, &self.landmarks)?;
        let kernel = matrix.transposed().entries(watch)?;
        let mut features = vec![0.0; count * rows];
        matmul(
            MatMut::from_column_major_slice_mut(&mut features, count, rows),
            Accum::Replace,
            MatRef::from_column_major_slice(&self.root, count, count),
            MatRef::from_column_major_slice(&kernel, count, rows),
            1.0,
            threads(),
        );
        watch.check()?;
        Ok(features)
    }
}

/// Oblivious features for a linear learner: $z(x, s) = f(x) - t\,(\bar f_{c(s)} - \bar f)$.
///
/// At t = 1 every linear function of z has the same mean in every cell, on the reference rows. A nonlinear learner can do
/// better than that at telling the cells apart: give these features to linear models only.
#[derive(Clone, Debug, PartialEq)]
pub struct ObliviousFeatures {
    pub(crate) map: FeatureMap,
    pub(crate) cells: Option<CellShifts>,
}

/// What is taken off the features of each cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CellShifts {
    pub(crate) partition: Partition,
    pub(crate) strength: f64,
    /// The mean features of each cell, cell after cell.
    #[serde(skip)]
    pub(crate) means: Vec<f64>,
}

/// The settings of oblivious features.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureSettings {
    /// The kernel, its γ perhaps by rule.
    pub kernel: Kernel<Gamma>,
    /// The number of landmarks.
    pub components: usize,
    /// t
    pub strength: f64,
    /// How sensitive values become cells.
    pub partition: PartitionRule,
    /// Which rows estimate the means. All rows can be landmarks.
    pub reference: Reference,
    /// For everything random.
    pub seed: u64,
}

impl FeatureSettings {
    /// Fits the features. The targets of `data` are not used.
    pub fn fit(&self, data: Training, watch: &Watch) -> Result<(ObliviousFeatures, Vec<Warning>)> {
        check_strength(self.strength)?;
        let ones = vec![1.0; data.points.len()];
        let weights = data.weights.unwrap_or(&ones);
        let rows: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        let points = data.points.select(&rows);
        let sensitive = data.sensitive.select(&rows);
        let weights: Vec<f64> = rows.iter().map(|&i| weights[i]).collect();
        if points.is_empty() {
            return Err(Error::TooFewRows {
                what: "the table",
                found: 0,
                needed: 1,
            });
        }
        let kernel = self.kernel.resolve(&points, &weights, self.seed)?;
        let map = FeatureMap::uniform(kernel, &points, self.components, self.seed)?;
        let mut warnings = Vec::new();
        if map.len() < self.components {
            warnings.push(Warning::FewerLandmarks {
                asked: self.components,
                made: map.len(),
            });
        }
        if sensitive.columns().is_empty() || self.strength == 0.0 {
            return Ok((ObliviousFeatures { map, cells: None }, warnings));
        }
        self.reference.check(data.points.len())?;
        let split = self
            .reference
            .renumbered(&rows)
            .split(points.len(), self.seed)?;
        let reference_weights: Vec<f64> = split.reference.iter().map(|&i| weights[i]).collect();
        let reference = sensitive.select(&split.reference);
        let (partition, remarks) = Partition::fit(
            &self.partition.settled(&sensitive),
            &reference,
            &reference_weights,
        )?;
        warnings.extend(remarks);
        let features = map.features(&points.select(&split.reference), watch)?;
        let width = map.len();
        let mut means = vec![0.0; partition.len() * width];
        let cells = partition.assign(&reference)?.cells;
        for (i, cell) in cells.iter().enumerate() {
            let share = reference_weights[i] / partition.mass()[*cell as usize];
            let row = &features[i * width..(i + 1) * width];
            let mean = &mut means[*cell as usize * width..][..width];
            mean.iter_mut().zip(row).for_each(|(m, f)| *m += share * f);
        }
        let cells = Some(CellShifts {
            partition,
            strength: self.strength,
            means,
        });
        Ok((ObliviousFeatures { map, cells }, warnings))
    }
}

impl ObliviousFeatures {
    /// The plain map.
    pub fn map(&self) -> &FeatureMap {
        &self.map
    }

    /// The partition, if there are sensitive columns.
    pub fn partition(&self) -> Option<&Partition> {
        self.cells.as_ref().map(|cells| &cells.partition)
    }

    /// The oblivious features of every row, row after row, and the cells.
    pub fn transform(
        &self,
        points: &Points,
        sensitive: Option<&Sensitive>,
        watch: &Watch,
    ) -> Result<(Vec<f64>, Option<Assignment>)> {
        let Some(cells) = &self.cells else {
            return Ok((self.map.features(points, watch)?, None));
        };
        let Some(sensitive) = sensitive else {
            let names: Vec<&str> = cells.partition.columns().map(|(name, _)| name).collect();
            return Err(Error::SensitiveNeeded {
                columns: names.join(", "),
            });
        };
        let assignment = cells.partition.assign(sensitive)?;
        if assignment.cells.len() != points.len() {
            return Err(Error::Length {
                what: "the sensitive part",
                found: assignment.cells.len(),
                needed: points.len(),
            });
        }
        let mut features = self.map.features(points, watch)?;
        let shifts = cells.shifts(&assignment, self.map.len());
        features
            .par_chunks_mut(self.map.len())
            .zip(&assignment.cells)
            .for_each(|(row, cell)| {
                let shift = &shifts[*cell as usize];
                row.iter_mut().zip(shift).for_each(|(f, s)| *f -= s);
            });
        Ok((features, Some(assignment)))
    }
}

impl CellShifts {
    /// t times the shift of every cell, then of every mixture.
    fn shifts(&self, assignment: &Assignment, width: usize) -> Vec<Vec<f64>> {
        let total: f64 = self.partition.mass().iter().sum();
        let shares: Vec<f64> = self.partition.mass().iter().map(|m| m / total).collect();
        let combine = |weights: &[f64]| {
            let mut sum = vec![0.0; width];
            for (weight, mean) in weights.iter().zip(self.means.chunks(width)) {
                sum.iter_mut().zip(mean).for_each(|(s, m)| *s += weight * m);
            }
            sum
        };
        let overall = combine(&shares);
        let less_overall = |mean: Vec<f64>| -> Vec<f64> {
            let pairs = mean.iter().zip(&overall);
            pairs.map(|(m, o)| self.strength * (m - o)).collect()
        };
        let cells = self.means.chunks(width).map(<[f64]>::to_vec);
        let mixtures = assignment.mixtures.iter().map(|weights| combine(weights));
        cells.chain(mixtures).map(less_overall).collect()
    }
}

fn threads() -> Par {
    Par::rayon(rayon::current_num_threads())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;

    fn points(rows: usize, seed: u64) -> Points<'static> {
        use rand::RngExt;
        let mut random = random::generator(seed, random::Stream::Simulation);
        Points::new(
            (0..2 * rows)
                .map(|_| random.random::<f64>())
                .collect::<Vec<_>>(),
            2,
        )
        .unwrap()
    }

    #[test]
    fn with_every_row_a_landmark_the_features_give_the_kernel_back() {
        let points = points(40, 1);
        let kernel: Kernel = "rbf(gamma=3)".parse().unwrap();
        let map = FeatureMap::uniform(kernel.clone(), &points, 100, 0).unwrap();
        let features = map.features(&points, &Watch::default()).unwrap();
        for i in 0..40 {
            for j in 0..40 {
                let inner: f64 = (0..40)
                    .map(|k| features[i * 40 + k] * features[j * 40 + k])
                    .sum();
                assert!((inner - kernel.at(points.row(i), points.row(j))).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn landmarks_do_not_depend_on_order_or_repetition() {
        let points = points(30, 2);
        let shuffled = points.select(&(0..60).map(|i| (i * 7) % 30).collect::<Vec<_>>());
        let kernel: Kernel = "rbf(gamma=1)".parse().unwrap();
        let map = |points| FeatureMap::uniform(kernel.clone(), points, 8, 5).unwrap();
        assert_eq!(map(&points), map(&shuffled));
    }

    #[test]
    fn the_cells_have_equal_mean_features_after_and_not_before() {
        let points = points(60, 3);
        let groups = (0..60)
            .map(|i| f64::from(u8::from(points.row(i)[0] > 0.5)))
            .collect();
        let sensitive = Sensitive::new(vec![Column::numbers("s", groups)], 60).unwrap();
        let settings = FeatureSettings {
            kernel: "rbf(gamma=2)".parse().unwrap(),
            components: 10,
            strength: 1.0,
            partition: PartitionRule::default(),
            reference: Reference::All,
            seed: 0,
        };
        let training = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &[],
            weights: None,
        };
        let watch = Watch::default();
        let (fitted, _) = settings.fit(training, &watch).unwrap();
        let plain = fitted.map().features(&points, &watch).unwrap();
        let (after, cells) = fitted.transform(&points, Some(&sensitive), &watch).unwrap();
        let cells = cells.unwrap().cells;
        let gap = |features: &[f64], k: usize| {
            let mean = |cell: u32| {
                let rows: Vec<usize> = (0..60).filter(|&i| cells[i] == cell).collect();
                rows.iter().map(|i| features[i * 10 + k]).sum::<f64>() / rows.len() as f64
            };
            (mean(0) - mean(1)).abs()
        };
        assert!((0..10).any(|k| gap(&plain, k) > 0.1));
        assert!((0..10).all(|k| gap(&after, k) < 1e-12));
    }
}
