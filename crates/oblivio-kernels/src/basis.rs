//! The functions that expansions and features are made of.

use std::ops::Range;

use oblivio_base::random::Stream;
use oblivio_base::{Error, Points, Result, Watch, random};
use rand::RngExt;
use rand_distr::{Cauchy, ChiSquared, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::kernel::{Kernel, KernelMatrix, KernelRow, dot};

/// Functions of a point: the kernel at given points, or waves that stand for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Basis {
    pub(crate) kernel: Kernel,
    pub(crate) points: Points<'static>,
    pub(crate) shape: Shape,
}

/// What the points of a basis are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Points $x_j$: the functions are $k(x_j, \cdot)$.
    #[default]
    Points,
    /// Frequencies $\omega_j$: the functions are $\cos\langle\omega_j, \cdot\rangle$, then $\sin\langle\omega_j, \cdot\rangle$.
    Frequencies,
}

/// Rows worked on at a time; fixed, so that the result does not depend on the threads.
const CHUNK: usize = 256;

impl Basis {
    /// The functions of this shape.
    pub fn new(kernel: Kernel, points: Points<'static>, shape: Shape) -> Self {
        Self {
            kernel,
            points,
            shape,
        }
    }

    /// The kernel at these points.
    pub fn of_points(kernel: Kernel, points: Points<'static>) -> Self {
        Self {
            kernel,
            points,
            shape: Shape::Points,
        }
    }

    /// `count` waves whose frequencies are drawn from the kernel's spectrum (Bochner): their mean product is the kernel.
    ///
    /// Gaussian: $\omega \sim N(0, 2\gamma I)$. Laplacian: independent Cauchy of scale γ. Matérn: multivariate t with 2ν degrees
    /// of freedom and scale γ. Others are no functions of the difference of two points, or have no simple spectrum.
    pub(crate) fn waves(kernel: Kernel, dim: usize, count: usize, seed: u64) -> Result<Self> {
        let mut random = random::generator(seed, Stream::Landmarks);
        let frequencies = (count / 2).max(1);
        let mut values = Vec::with_capacity(frequencies * dim);
        for _ in 0..frequencies {
            let scale = match &kernel {
                Kernel::Gaussian { gamma } => (2.0 * gamma).sqrt(),
                Kernel::Laplacian { gamma } => *gamma,
                Kernel::Matern { smoothness, gamma } => {
                    let freedom = smoothness.twice_nu();
                    let chi = ChiSquared::new(freedom).map_err(|_| no_spectrum(&kernel))?;
                    gamma * (freedom / random.sample(chi)).sqrt()
                }
                other => return Err(no_spectrum(other)),
            };
            let cauchy = Cauchy::new(0.0, 1.0).map_err(|_| no_spectrum(&kernel))?;
            for _ in 0..dim {
                values.push(
                    scale
                        * match kernel {
                            Kernel::Laplacian { .. } => random.sample(cauchy),
                            _ => random.sample::<f64, _>(StandardNormal),
                        },
                );
            }
        }
        Ok(Self {
            points: Points::new(values, dim)?,
            kernel,
            shape: Shape::Frequencies,
        })
    }

    /// The number of functions.
    pub fn len(&self) -> usize {
        match self.shape {
            Shape::Points => self.points.len(),
            Shape::Frequencies => 2 * self.points.len(),
        }
    }

    /// Whether there is no function.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of features of a point.
    pub fn dim(&self) -> usize {
        self.points.dim()
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The points at which the kernel is taken, or the frequencies.
    pub fn points(&self) -> &Points<'static> {
        &self.points
    }

    /// What the points are.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether the points are rows of a table: neither frequencies, nor the axes that serve the linear kernel.
    pub fn holds_rows(&self) -> bool {
        let dim = self.dim();
        let axes = self.kernel == Kernel::Linear
            && self.points.len() == dim
            && self.points.values().iter().enumerate().all(|(at, value)| {
                let one = at.is_multiple_of(dim + 1);
                *value == f64::from(u8::from(one))
            });
        self.shape == Shape::Points && !axes
    }

    /// The value of every function at every point, point after point.
    pub fn values(&self, points: &Points, watch: &Watch) -> Result<Vec<f64>> {
        let mut values = vec![0.0; self.len() * points.len()];
        self.values_into(points, &mut values, self.len(), &|_, _, _| (), watch)?;
        Ok(values)
    }

    /// The same into rows that are `stride` apart, each part of a row passing through `correct` with the number of the row and
    /// of the functions.
    pub fn values_into(
        &self,
        points: &Points,
        out: &mut [f64],
        stride: usize,
        correct: &(impl Fn(usize, Range<usize>, &mut [f64]) + Sync),
        watch: &Watch,
    ) -> Result<()> {
        match self.shape {
            Shape::Points => KernelMatrix::between(&self.kernel, points, &self.points)?
                .transposed()
                .corrected_into(
                    out,
                    stride,
                    &|span, tile| {
                        for j in 0..tile.columns() {
                            let row = span.columns.start + j;
                            correct(row, span.rows.clone(), tile.column(j));
                        }
                    },
                    watch,
                ),
            Shape::Frequencies => {
                let count = self.points.len();
                let phases = KernelMatrix::between(&Kernel::Linear, points, &self.points)?
                    .transposed()
                    .entries(watch)?;
                out.par_chunks_mut(stride)
                    .zip(phases.par_chunks(count))
                    .enumerate()
                    .for_each(|(row, (out, phases))| {
                        let out = &mut out[..2 * count];
                        waves(phases, out);
                        correct(row, 0..2 * count, out);
                    });
                Ok(())
            }
        }
    }

    /// $\sum_j g_jf_j(x)$ for every point.
    pub fn expansion(
        &self,
        points: &Points,
        coefficients: &[f64],
        watch: &Watch,
    ) -> Result<Vec<f64>> {
        if points.len() == 1 && points.dim() == self.dim() {
            let mut row = BasisRow::new(self);
            return Ok(vec![dot(row.at(points.row(0)), coefficients)]);
        }
        if self.shape == Shape::Points {
            let groups = vec![0; self.points.len()];
            let sums = KernelMatrix::between(&self.kernel, points, &self.points)?.grouped_sums(
                coefficients,
                &groups,
                1,
                watch,
            )?;
            return Ok(sums.col_as_slice(0).to_vec());
        }
        let mut sums = Vec::with_capacity(points.len());
        let rows: Vec<usize> = (0..points.len()).collect();
        for rows in rows.chunks(16 * CHUNK) {
            let values = self.values(&points.select(rows), watch)?;
            let row = |row: &[f64]| {
                row.iter()
                    .zip(coefficients)
                    .map(|(f, g)| f * g)
                    .sum::<f64>()
            };
            sums.par_extend(values.par_chunks(self.len()).map(row));
        }
        Ok(sums)
    }
}

/// The functions of a basis at one point after the other, in memory that is taken once.
#[derive(Clone, Debug)]
pub struct BasisRow {
    kernel: KernelRow,
    /// The waves; empty where the functions are the kernel's.
    waves: Vec<f64>,
}

impl BasisRow {
    /// Takes the memory for points of this basis.
    pub fn new(basis: &Basis) -> Self {
        let (kernel, waves) = match basis.shape {
            Shape::Points => (&basis.kernel, 0),
            Shape::Frequencies => (&Kernel::Linear, basis.len()),
        };
        Self {
            kernel: KernelRow::new(kernel, &basis.points),
            waves: vec![0.0; waves],
        }
    }

    /// The value of every function at a point.
    pub fn at(&mut self, point: &[f64]) -> &[f64] {
        let values = self.kernel.at(point);
        if !self.waves.is_empty() {
            waves(values, &mut self.waves);
        }
        self.last()
    }

    /// The values at the last point.
    pub fn last(&self) -> &[f64] {
        if self.waves.is_empty() {
            self.kernel.last()
        } else {
            &self.waves
        }
    }
}

/// $\cos\langle\omega_j, x\rangle$ for every j, then the sines.
fn waves(phases: &[f64], out: &mut [f64]) {
    let (cosines, sines) = out.split_at_mut(phases.len());
    for ((phase, cosine), sine) in phases.iter().zip(cosines).zip(sines) {
        (*sine, *cosine) = phase.sin_cos();
    }
}

fn no_spectrum(kernel: &Kernel) -> Error {
    Error::InvalidParameter {
        name: "the kernel of Fourier features",
        expected: "a single rbf, laplacian or Matérn kernel",
        value: kernel.to_string(),
    }
}
