//! Explicit features: Nyström on landmarks, or Fourier.

mod select;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use oblivio_base::{Error, Points, Result, Warning, Watch};
use rayon::prelude::*;

pub use self::select::{Components, Selection};
pub(crate) use self::select::{NEGLIGIBLE, Proposals, draw};
use crate::basis::{Basis, Shape};
use crate::kernel::{Kernel, KernelMatrix};

/// Nyström features $f(x) = K_{LL}^{+1/2}\,(k(l_1, x), \dots, k(l_p, x))^\top$: $\langle f(x), f(x')\rangle$ is the kernel
/// with both points projected onto the landmarks' span.
///
/// Fourier features are $f(x) = \sqrt{2/p}\,(\cos\langle\omega_j, x\rangle, \sin\langle\omega_j, x\rangle)_j$: the inner product is the kernel on average
/// over the frequencies. They need no look at the data, and many more of them.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureMap {
    /// The functions that the features are combinations of.
    basis: Basis,
    /// $R = K_{LL}^{+1/2}$, or $\sqrt{2/p}\,I$; symmetric, column after column.
    root: Vec<f64>,
}

/// Rows whose features are computed at a time; fixed, so that the result does not depend on the threads.
const CHUNK: usize = 256;

/// Eigenvalues below this share of the largest count as zero.
const FLOOR: f64 = 1e-12;

impl FeatureMap {
    /// Features on landmarks chosen by seed among these points, and a remark if there are fewer than asked for.
    ///
    /// The linear kernel needs no landmark from the data: if there are as many components as features of the points,
    /// the features are those of the points.
    pub fn choose(
        kernel: Kernel,
        points: &Points,
        components: Components,
        seed: u64,
        watch: &Watch,
    ) -> Result<(Self, Option<Warning>)> {
        components.check()?;
        let dim = points.dim();
        if components.selection == Selection::Fourier {
            let basis = Basis::waves(kernel, dim, components.count, seed)?;
            return Ok((Self::waves(basis), None));
        }
        if kernel == Kernel::Linear && dim <= components.count {
            let unit = |at: usize| f64::from(u8::from(at.is_multiple_of(dim + 1)));
            let axes = Points::new((0..dim * dim).map(unit).collect::<Vec<_>>(), dim)?;
            return Ok((Self::on(kernel, axes)?, None));
        }
        let (landmarks, distinct) = components.choose(&kernel, points, seed, watch)?;
        let map = Self::on(kernel, landmarks)?;
        let (asked, made) = (components.count, map.len());
        let remark = if made == asked {
            None
        } else if made == distinct {
            Some(Warning::FewerLandmarks { asked, made })
        } else if components.tolerance > 0.0 {
            // That is what a tolerance is for.
            None
        } else {
            Some(Warning::KernelExhausted { asked, made })
        };
        Ok((map, remark))
    }

    /// Features on these landmarks.
    ///
    /// Directions whose eigenvalue is less than 1e-12 of the largest are left out of the pseudo-inverse: they would amplify
    /// rounding a million times and hold nothing a penalised learner could use.
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
        let floor = values.iter().fold(0.0f64, |a, b| a.max(*b)) * FLOOR;
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
            Par::rayon(rayon::current_num_threads()),
        );
        Ok(Self {
            basis: Basis::of_points(kernel, landmarks),
            root,
        })
    }

    /// The map with this root, column after column: what a file holds.
    pub fn from_parts(basis: Basis, root: Vec<f64>) -> Self {
        Self { basis, root }
    }

    fn waves(basis: Basis) -> Self {
        let count = basis.len();
        let scale = (2.0 / count as f64).sqrt();
        let entry = |at: usize| {
            if at.is_multiple_of(count + 1) {
                scale
            } else {
                0.0
            }
        };
        Self {
            root: (0..count * count).map(entry).collect(),
            basis,
        }
    }

    /// The number of features.
    pub fn len(&self) -> usize {
        self.basis.len()
    }

    /// Whether there is no feature; no map is empty.
    pub fn is_empty(&self) -> bool {
        self.basis.is_empty()
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.basis.kernel
    }

    /// The functions that the features are combinations of.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The features of every point, row after row.
    pub fn features(&self, points: &Points, watch: &Watch) -> Result<Vec<f64>> {
        let count = self.len();
        let mut features = self.basis.values(points, watch)?;
        features
            .par_chunks_mut(count * CHUNK)
            .for_each(|chunk| self.whiten(chunk, count, 0));
        watch.check()?;
        Ok(features)
    }

    /// Turns kernel columns into features: rows of `stride` numbers, of which those at `at..at + p` are kernel values.
    pub fn whiten(&self, rows: &mut [f64], stride: usize, at: usize) {
        let count = self.len();
        let number = rows.len() / stride;
        let mut whole = MatMut::from_column_major_slice_mut(rows, stride, number);
        let mut columns = whole.as_mut().subrows_mut(at, count);
        let kernel = columns.as_ref().to_owned();
        matmul(
            columns.as_mut(),
            Accum::Replace,
            self.root(),
            kernel.as_ref(),
            1.0,
            Par::Seq,
        );
    }

    /// The weights w of features whose linear function is the expansion with these coefficients: $g = Rw$, so
    /// $w = RK_{LL}\,g$ for landmarks, and $w = (p/2)Rg$ for waves.
    pub fn weights_of(&self, coefficients: &[f64], watch: &Watch) -> Result<Vec<f64>> {
        let count = self.len();
        let values: Vec<f64> = match self.basis.shape {
            Shape::Points => self
                .basis
                .expansion(&self.basis.points, coefficients, watch)?,
            Shape::Frequencies => coefficients
                .iter()
                .map(|g| 0.5 * count as f64 * g)
                .collect(),
        };
        let weights = self.root() * MatRef::from_column_major_slice(&values, count, 1);
        Ok(weights.col_as_slice(0).to_vec())
    }

    /// The largest eigenvalue of $R^2$, by power iteration: by how much whitening can amplify an error.
    pub fn amplification(&self) -> f64 {
        const STEPS: usize = 30;
        let mut vector = faer::Col::from_fn(self.len(), |i| 1.0 + (i % 7) as f64);
        let mut largest = 0.0;
        for _ in 0..STEPS {
            let length = vector.norm_l2();
            if length == 0.0 {
                break;
            }
            vector = self.root() * (vector * faer::Scale(1.0 / length));
            largest = vector.norm_l2();
        }
        largest * largest
    }

    /// The entries of R, column after column.
    pub fn root_entries(&self) -> &[f64] {
        &self.root
    }

    /// R
    pub fn root(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.root, self.len(), self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oblivio_base::{Named, random};

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
        let map = FeatureMap::choose(
            kernel.clone(),
            &points,
            Components::new(100),
            0,
            &Watch::default(),
        )
        .unwrap()
        .0;
        let features = map.features(&points, &Watch::default()).unwrap();
        let rows: Vec<&[f64]> = features.chunks(map.len()).collect();
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate() {
                let inner: f64 = a.iter().zip(*b).map(|(x, y)| x * y).sum();
                assert!((inner - kernel.at(points.row(i), points.row(j))).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn landmarks_do_not_depend_on_order_or_repetition() {
        let points = points(30, 2);
        let shuffled = points.select(&(0..60).map(|i| (i * 7) % 30).collect::<Vec<_>>());
        let kernel: Kernel = "rbf(gamma=1)".parse().unwrap();
        for (_, selection) in Selection::NAMES {
            let map = |points| {
                let components = Components {
                    selection: *selection,
                    ..Components::new(8)
                };
                FeatureMap::choose(kernel.clone(), points, components, 5, &Watch::default())
                    .unwrap()
            };
            assert_eq!(map(&points), map(&shuffled));
        }
    }
}
