//! Explicit features of a side: centred, uncorrelated, the strongest first.

use std::borrow::Cow;
use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};
use oblivio_base::{Error, Result, Watch};
use rayon::prelude::*;

use super::pivots::{Pivots, Stop};
use super::reading::Reading;

/// Features $f(x_i)$ with $\langle f(x_i), f(x_j)\rangle$ the centred kernel: their weighted mean is 0 and their weighted
/// covariance is diagonal.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    pub(super) rows: usize,
    /// The features' variances, the largest first and zeros at the end; empty for a constant side.
    pub(super) spectrum: Vec<f64>,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    /// Row after row.
    Held(Vec<f64>),
    /// Computed whenever they are asked for.
    Mapped(Box<Map>),
}

/// $f(x) = A\,(k(l_1, x), \dots, k(l_p, x))^\top - m$
#[derive(Clone, Debug)]
struct Map {
    reading: Reading,
    landmarks: Reading,
    matrix: Mat<f64>,
    mean: Vec<f64>,
}

/// Rows that one task takes; fixed, so that sums do not depend on the threads.
pub(super) const BLOCK: usize = 4096;

/// Rows whose features are in cache together.
pub(super) const CHUNK: usize = 256;

/// Features are kept up to this many numbers (128 MiB): computing them again costs about as much as their product.
const HELD: usize = 1 << 24;

/// What an exact factor may leave of the kernel, as a share.
const ROUNDING: f64 = 1e-12;

/// What any other factor may leave, far below what its landmarks miss.
const NEGLIGIBLE: f64 = 1e-7;

impl Factor {
    /// The factor of the kernel matrix to rounding, if it has a rank that is worth it.
    pub(super) fn exact(
        reading: &Reading,
        weights: &[f64],
        seed: u64,
        watch: &Watch,
    ) -> Result<Option<Self>> {
        // Beyond this rank, products of features cost more than gathering entries of the matrices.
        let stop = Stop {
            landmarks: (2.0 * (reading.rows as f64).sqrt()).max(64.0) as usize,
            left: ROUNDING,
        };
        let pivots = Pivots::draw(reading, stop, seed, watch)?;
        if pivots.left > stop.left {
            return Ok(None);
        }
        let mut features = pivots.factor;
        let principal = Principal::of(features.as_mut(), weights, 0.1 * ROUNDING)?;
        let rotated = principal.vectors.transpose() * features.transpose();
        let rank = principal.spectrum.len();
        let values = (0..reading.rows).flat_map(|i| rotated.col(i).iter().copied());
        Ok(Some(Self {
            rows: reading.rows,
            source: Source::Held(if rank == 0 {
                Vec::new()
            } else {
                values.collect()
            }),
            spectrum: principal.spectrum,
        }))
    }

    /// The kernel with every point projected onto the span of at most `count` landmarks.
    pub(super) fn low_rank(
        reading: Reading,
        weights: &[f64],
        count: usize,
        seed: u64,
        watch: &Watch,
    ) -> Result<Self> {
        if reading.points.is_none() && reading.cells.is_empty() {
            return Ok(Self {
                rows: reading.rows,
                spectrum: Vec::new(),
                source: Source::Held(Vec::new()),
            });
        }
        let sample = reading.select(&reading.representatives);
        let (landmarks, root, mean) = if reading.points.is_some() {
            let stop = Stop {
                landmarks: count,
                left: NEGLIGIBLE,
            };
            let pivots = Pivots::draw(&sample, stop, seed, watch)?;
            let (root, mean) = whitened(&pivots)?;
            (sample.select(&pivots.rows), root, mean)
        } else {
            // The landmarks of different cells are orthonormal.
            let landmarks = reading.select(&Pivots::of_cells(&reading, count, weights));
            let width = landmarks.rows;
            (landmarks, Mat::identity(width, width), vec![0.0; width])
        };
        let map = Map {
            reading,
            landmarks,
            matrix: root,
            mean,
        };
        map.finish(weights, watch)
    }

    /// The number of features, with those that are zero.
    pub(super) fn rank(&self) -> usize {
        self.spectrum.len()
    }

    /// The features of consecutive rows, row after row.
    pub(super) fn block(&self, rows: Range<usize>) -> Result<Cow<'_, [f64]>> {
        let rank = self.rank();
        Ok(match &self.source {
            Source::Held(values) => Cow::Borrowed(&values[rows.start * rank..rows.end * rank]),
            Source::Mapped(map) => Cow::Owned(map.features(rows)?),
        })
    }

    /// All features, row after row.
    pub(super) fn all(&self) -> Result<Cow<'_, [f64]>> {
        self.block(0..self.rows)
    }
}

/// Rows in pieces of this many.
pub(super) fn pieces(rows: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(size)
        .map(move |start| start..(start + size).min(end))
}

/// Something for every block of rows, in parallel and in order.
pub(super) fn by_blocks<T: Send>(
    rows: usize,
    stage: &'static str,
    watch: &Watch,
    of: impl Fn(Range<usize>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let blocks: Vec<Range<usize>> = pieces(0..rows, BLOCK).collect();
    watch.begin(stage, blocks.len())?;
    let one = |block| {
        watch.check()?;
        let value = of(block)?;
        watch.advance();
        Ok(value)
    };
    blocks.into_par_iter().with_max_len(1).map(one).collect()
}

/// The map from kernel values to the pivots' features, without directions in which candidates hardly vary, and the mean.
fn whitened(pivots: &Pivots) -> Result<(Mat<f64>, Vec<f64>)> {
    let count = pivots.rows.len();
    let lower = Mat::from_fn(count, count, |i, j| {
        pivots.factor[(pivots.rows[i] as usize, j)]
    });
    let mut inverse = Mat::identity(count, count);
    solve_lower_triangular_in_place(lower.as_ref(), inverse.as_mut(), Par::Seq);
    let mut features = pivots.factor.clone();
    let weights = vec![1.0; features.nrows()];
    let principal = Principal::of(features.as_mut(), &weights, NEGLIGIBLE)?.padded();
    let directions = principal.vectors.transpose();
    let mean = directions * MatRef::from_column_major_slice(&principal.mean, count, 1);
    let mean = (0..mean.nrows()).map(|k| mean[(k, 0)]).collect();
    Ok((directions * inverse, mean))
}

impl Map {
    /// The features of these rows, row after row.
    fn features(&self, rows: Range<usize>) -> Result<Vec<f64>> {
        let rows: Vec<u32> = rows.map(|i| i as u32).collect();
        let (rank, width) = (self.mean.len(), self.landmarks.rows);
        let kernel = self.reading.select(&rows).values(&self.landmarks)?;
        let mut features = vec![0.0; rows.len() * rank];
        for row in features.chunks_exact_mut(rank.max(1)) {
            row.iter_mut().zip(&self.mean).for_each(|(f, m)| *f = -m);
        }
        matmul(
            MatMut::from_column_major_slice_mut(&mut features, rank, rows.len()),
            Accum::Add,
            self.matrix.as_ref(),
            MatRef::from_row_major_slice(&kernel, width, rows.len()),
            1.0,
            Par::Seq,
        );
        Ok(features)
    }

    /// Centres and turns the features by the moments of all rows, and keeps them if they are few.
    fn finish(mut self, weights: &[f64], watch: &Watch) -> Result<Factor> {
        let (rank, rows) = (self.mean.len(), self.reading.rows);
        let sums = by_blocks(rows, "features for HSIC", watch, |block| {
            let mut sum = Mat::<f64>::zeros(padded(rank + 1), padded(rank + 1));
            for chunk in pieces(block, CHUNK) {
                let features = self.features(chunk.clone())?;
                let weights = weights[chunk].iter().copied();
                sum += second_moments(features.chunks_exact(rank).zip(weights), rank);
            }
            Ok(sum)
        })?;
        let mut total = Mat::<f64>::zeros(padded(rank + 1), padded(rank + 1));
        for sum in &sums {
            total += sum;
        }
        let weight = total[(rank, rank)];
        let mean: Vec<f64> = (0..rank).map(|k| total[(rank, k)] / weight).collect();
        let covariance = Mat::from_fn(rank, rank, |i, j| {
            total[(i, j)] / weight - mean[i] * mean[j]
        });
        let principal = Principal::decompose(covariance.as_ref(), mean, NEGLIGIBLE)?.padded();
        let directions = principal.vectors.transpose();
        let moved: Vec<f64> = self
            .mean
            .iter()
            .zip(&principal.mean)
            .map(|(a, b)| a + b)
            .collect();
        let mean = directions * MatRef::from_column_major_slice(&moved, rank, 1);
        self.mean = (0..mean.nrows()).map(|k| mean[(k, 0)]).collect();
        self.matrix = directions * &self.matrix;
        let mut factor = Factor {
            rows,
            spectrum: principal.spectrum,
            source: Source::Mapped(Box::new(self)),
        };
        if rows * factor.rank() <= HELD {
            factor.hold()?;
        }
        Ok(factor)
    }
}

impl Factor {
    fn hold(&mut self) -> Result<()> {
        let rank = self.rank();
        let mut values = vec![0.0; self.rows * rank];
        values
            .par_chunks_mut((CHUNK * rank).max(1))
            .enumerate()
            .try_for_each(|(at, chunk)| {
                let start = at * CHUNK;
                let rows = start..start + chunk.len() / rank;
                chunk.copy_from_slice(&self.block(rows)?);
                Ok(())
            })?;
        self.source = Source::Held(values);
        Ok(())
    }
}

/// Rows of products come in multiples of this.
///
/// The product of matrices computes in whole vectors. What lies beyond the last row is garbage that it throws away, but
/// garbage that happens to be subnormal numbers makes it many times slower.
const LANES: usize = 8;

/// The next multiple of the vectors' length.
pub(super) fn padded(rank: usize) -> usize {
    rank.next_multiple_of(LANES)
}

/// $\sum_iw_i(f_i, 1)(f_i, 1)^\top$ of rows and their weights, with rows and columns of zeros after it.
pub(super) fn second_moments<'a>(
    rows: impl Iterator<Item = (&'a [f64], f64)>,
    rank: usize,
) -> Mat<f64> {
    let width = padded(rank + 1);
    let mut scaled = Vec::with_capacity(CHUNK * width);
    for (features, weight) in rows {
        let root = weight.sqrt();
        scaled.extend(features.iter().map(|f| root * f));
        scaled.push(root);
        scaled.resize(scaled.len().next_multiple_of(width), 0.0);
    }
    let rows = scaled.len() / width;
    let mut sum = Mat::zeros(width, width);
    matmul(
        sum.as_mut(),
        Accum::Replace,
        MatRef::from_column_major_slice(&scaled, width, rows),
        MatRef::from_row_major_slice(&scaled, rows, width),
        1.0,
        Par::Seq,
    );
    sum
}

/// The directions in which features vary.
struct Principal {
    /// One column for each.
    vectors: Mat<f64>,
    /// Their variances, the largest first.
    spectrum: Vec<f64>,
    mean: Vec<f64>,
}

impl Principal {
    /// Centres the features (one row each) and finds their directions, leaving out a `negligible` share of the variance.
    fn of(mut features: MatMut<'_, f64>, weights: &[f64], negligible: f64) -> Result<Self> {
        let total: f64 = weights.iter().sum();
        let mut mean = Vec::with_capacity(features.ncols());
        for column in features.as_mut().col_iter_mut() {
            let own = column.as_ref().iter().zip(weights);
            let own = own.map(|(f, w)| f * w).sum::<f64>() / total;
            column.iter_mut().for_each(|f| *f -= own);
            mean.push(own);
        }
        let weighted = Mat::from_fn(features.nrows(), features.ncols(), |i, j| {
            features[(i, j)] * (weights[i] / total)
        });
        let covariance = weighted.transpose() * features.as_ref();
        Self::decompose(covariance.as_ref(), mean, negligible)
    }

    /// With directions of no length, whose features are zero, up to a multiple of the vectors' length.
    fn padded(mut self) -> Self {
        let rank = self.spectrum.len();
        self.spectrum.resize(padded(rank), 0.0);
        self.vectors = Mat::from_fn(self.vectors.nrows(), padded(rank), |i, j| {
            if j < rank { self.vectors[(i, j)] } else { 0.0 }
        });
        self
    }

    fn decompose(covariance: MatRef<'_, f64>, mean: Vec<f64>, negligible: f64) -> Result<Self> {
        let eigen = covariance
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| Error::Overflow {
                what: "the decomposition of the features' covariance",
            })?;
        let mut spectrum: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
        spectrum.reverse();
        let trace: f64 = spectrum.iter().map(|v| v.max(0.0)).sum();
        // The kernel of a point with itself is 1: a variance below this is rounding.
        let mut left = if trace < 1e-13 {
            f64::INFINITY
        } else {
            negligible * trace
        };
        while spectrum.last().is_some_and(|last| *last <= left) {
            left -= spectrum.pop().map_or(0.0, |last| last.max(0.0));
        }
        let width = covariance.ncols();
        let vectors = eigen.U();
        Ok(Self {
            vectors: Mat::from_fn(width, spectrum.len(), |i, j| vectors[(i, width - 1 - j)]),
            spectrum,
            mean,
        })
    }
}
