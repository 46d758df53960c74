//! Which points become landmarks.

use std::cmp::Ordering;

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use oblivio_base::random::Stream;
use oblivio_base::{Error, Named, Points, Result, Watch, random};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::kernel::{Kernel, KernelMatrix};

/// How many features there are to be, and how their landmarks are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// The most landmarks.
    pub count: usize,
    /// How they are chosen.
    pub selection: Selection,
    /// Landmarks stop being added once the share of the kernel's trace they leave out is no more than this. For
    /// [`Selection::Cholesky`] only: the others cannot tell.
    pub tolerance: f64,
}

/// How landmarks are chosen among the points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// Randomly pivoted Cholesky: each landmark drawn in proportion to what the ones before leave of k(x, x).
    #[default]
    Cholesky,
    /// k-means++ seeding: each landmark drawn in proportion to the squared distance from the nearest one before.
    KMeans,
    /// All points alike.
    Uniform,
    /// No landmarks but random waves, which depend on the kernel and the seed alone: for streams without a sample.
    Fourier,
}

impl Named for Selection {
    const WHAT: &'static str = "selection of landmarks";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("cholesky", Self::Cholesky),
        ("k-means++", Self::KMeans),
        ("uniform", Self::Uniform),
        ("fourier", Self::Fourier),
    ];
}

/// Candidates for each landmark: more cost time and change little.
const CANDIDATES_EACH: usize = 10;
/// Few landmarks deserve a good choice, too.
const FEWEST_CANDIDATES: usize = 4096;
/// Pivots proposed at a time.
const BLOCK: usize = 128;
/// Rows of the factor handled at a time; fixed, so that the result does not depend on the threads.
const CHUNK: usize = 512;
/// What is left of k(x, x) is rounding below this share of it.
pub(crate) const NEGLIGIBLE: f64 = 1e-11;

impl Components {
    /// This many, by randomly pivoted Cholesky.
    pub fn new(count: usize) -> Self {
        Self {
            count,
            selection: Selection::default(),
            tolerance: 0.0,
        }
    }

    /// Refuses numbers outside their ranges.
    pub fn check(self) -> Result<()> {
        if self.count == 0 {
            return Err(Error::InvalidParameter {
                name: "the number of components",
                expected: "at least 1",
                value: "0".into(),
            });
        }
        if !(0.0..1.0).contains(&self.tolerance) {
            return Err(Error::InvalidParameter {
                name: "the tolerance of the landmarks",
                expected: "at least 0 and below 1",
                value: self.tolerance.to_string(),
            });
        }
        Ok(())
    }

    /// Chooses landmarks among the distinct points, whose order and repetition make no difference.
    ///
    /// Also returns how many distinct points there are.
    pub(super) fn choose(
        self,
        kernel: &Kernel,
        points: &Points,
        seed: u64,
        watch: &Watch,
    ) -> Result<(Points<'static>, usize)> {
        self.check()?;
        let distinct = distinct(points);
        let among = self
            .count
            .saturating_mul(CANDIDATES_EACH)
            .max(FEWEST_CANDIDATES);
        // Positions are drawn, not rows: the order of the rows must make no difference.
        let places: Vec<usize> = (0..distinct.len()).collect();
        let drawn = |count| -> Vec<usize> {
            let places = random::sample(&places, count, seed);
            places.into_iter().map(|place| distinct[place]).collect()
        };
        let chosen = match self.selection {
            // Waves need no choice among points.
            Selection::Uniform | Selection::Fourier => drawn(self.count),
            Selection::Cholesky => {
                let candidates = drawn(among);
                let points = points.select(&candidates);
                let pivots = pivots(kernel, &points, self.count, self.tolerance, seed, watch)?;
                pivots.into_iter().map(|i| candidates[i]).collect()
            }
            Selection::KMeans => {
                let candidates = drawn(among);
                let points = points.select(&candidates);
                let seeds = spread_out(&points, self.count, seed, watch)?;
                seeds.into_iter().map(|i| candidates[i]).collect()
            }
        };
        Ok((points.select(&chosen), distinct.len()))
    }
}

/// The rows that do not repeat another, in the order of their values.
fn distinct(points: &Points) -> Vec<usize> {
    let compare = |a: &usize, b: &usize| {
        let pairs = points.row(*a).iter().zip(points.row(*b));
        // Adding zero makes -0 and 0 one value.
        let mut orders = pairs.map(|(x, y)| (x + 0.0).total_cmp(&(y + 0.0)));
        orders
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    let mut rows: Vec<usize> = (0..points.len()).collect();
    rows.par_sort_by(compare);
    rows.dedup_by(|a, b| compare(a, b).is_eq());
    rows
}

/// Randomly pivoted Cholesky: pivot i is drawn with probability $d_i/\sum_j d_j$, where $d = \operatorname{diag}(K - GG^\top)$
/// is what the factor G of the pivots before leaves of the kernel's diagonal.
///
/// Pivots are proposed by the block and each is accepted with probability (what the accepted ones before it in the block
/// leave of it)/(what was left when it was proposed), which draws from the same distribution as one at a time.
fn pivots(
    kernel: &Kernel,
    points: &Points,
    count: usize,
    tolerance: f64,
    seed: u64,
    watch: &Watch,
) -> Result<Vec<usize>> {
    let rows = points.len();
    let count = count.min(rows);
    let mut random = random::generator(seed, Stream::Landmarks);
    let diagonal: Vec<f64> = (0..rows)
        .map(|i| kernel.at(points.row(i), points.row(i)))
        .collect();
    let trace: f64 = diagonal.iter().sum();
    if !trace.is_finite() {
        return Err(overflow());
    }
    let mut left = diagonal.clone();
    let mut chosen: Vec<usize> = Vec::new();
    // Row after row, so that a chunk of rows is one piece of memory.
    let mut factor = vec![0.0; rows * count];
    watch.begin("landmarks", count)?;
    while chosen.len() < count {
        let total: f64 = left.iter().sum();
        if total <= trace * tolerance || total <= 0.0 {
            break;
        }
        let known = chosen.len();
        let proposed = draw(&left, total, &mut random);
        let (accepted, inner) = accept(
            kernel,
            points,
            &proposed,
            &factor,
            (count, known),
            &left,
            &mut random,
        )?;
        if accepted.is_empty() {
            // The diagonal says that something is left, and the block that it is not: rounding.
            break;
        }
        let block = points.select(&accepted);
        let width = accepted.len();
        let mut fresh = KernelMatrix::between(kernel, points, &block)?
            .transposed()
            .entries(&Watch::default())?;
        let pivot_rows: Vec<f64> = accepted
            .iter()
            .flat_map(|&i| &factor[i * count..i * count + known])
            .copied()
            .collect();
        let pivot_rows = MatRef::from_row_major_slice(&pivot_rows, width, known);
        factor
            .par_chunks_mut(CHUNK * count)
            .zip(fresh.par_chunks_mut(CHUNK * width))
            .zip(left.par_chunks_mut(CHUNK))
            .for_each(|((factor, fresh), left)| {
                let rows = left.len();
                let before = MatRef::from_row_major_slice(factor, rows, count).subcols(0, known);
                // A row of the new columns is a column here.
                let mut columns = MatMut::from_column_major_slice_mut(fresh, width, rows);
                matmul(
                    columns.as_mut(),
                    Accum::Add,
                    pivot_rows,
                    before.transpose(),
                    -1.0,
                    Par::Seq,
                );
                solve_lower_triangular_in_place(inner.as_ref(), columns.as_mut(), Par::Seq);
                for (row, rest) in left.iter_mut().enumerate() {
                    let new = &fresh[row * width..(row + 1) * width];
                    factor[row * count + known..][..width].copy_from_slice(new);
                    *rest -= new.iter().map(|v| v * v).sum::<f64>();
                }
            });
        for (rest, whole) in left.iter_mut().zip(&diagonal) {
            if *rest <= NEGLIGIBLE * whole {
                *rest = 0.0;
            }
        }
        for &pivot in &accepted {
            left[pivot] = 0.0;
        }
        chosen.extend(accepted);
        watch.advance_by(width);
        watch.check()?;
    }
    if chosen.is_empty() {
        // A kernel that is zero everywhere: one landmark says so as well as many.
        chosen.push(0);
    }
    Ok(chosen)
}

/// Draws a block of positions in proportion to `left`, with replacement.
pub(crate) fn draw(left: &[f64], total: f64, random: &mut ChaCha8Rng) -> Vec<usize> {
    let cumulative: Vec<f64> = left
        .iter()
        .scan(0.0, |sum, value| {
            *sum += value;
            Some(*sum)
        })
        .collect();
    (0..BLOCK)
        .map(|_| {
            let u = random.random::<f64>() * total;
            cumulative.partition_point(|&c| c <= u).min(left.len() - 1)
        })
        .collect()
}

/// The proposals that are accepted, in order, and the Cholesky factor of what is left of the kernel among them.
fn accept(
    kernel: &Kernel,
    points: &Points,
    proposed: &[usize],
    factor: &[f64],
    (stride, known): (usize, usize),
    left: &[f64],
    random: &mut ChaCha8Rng,
) -> Result<(Vec<usize>, Mat<f64>)> {
    let block = points.select(proposed);
    let size = proposed.len();
    let mut rest = KernelMatrix::of(kernel, &block).entries(&Watch::default())?;
    if rest.iter().any(|v| !v.is_finite()) {
        return Err(overflow());
    }
    let rows: Vec<f64> = proposed
        .iter()
        .flat_map(|&i| &factor[i * stride..i * stride + known])
        .copied()
        .collect();
    let rows = MatRef::from_row_major_slice(&rows, size, known);
    let mut rest = MatMut::from_column_major_slice_mut(&mut rest, size, size);
    matmul(
        rest.as_mut(),
        Accum::Add,
        rows,
        rows.transpose(),
        -1.0,
        Par::Seq,
    );
    let negligible = |j: usize| NEGLIGIBLE * kernel.at(block.row(j), block.row(j));
    let proposals = Proposals {
        left: proposed.iter().map(|&i| left[i]).collect(),
        negligible: (0..size).map(negligible).collect(),
        room: stride - known,
    };
    let (taken, inner) = proposals.sift(rest, random);
    Ok((taken.into_iter().map(|j| proposed[j]).collect(), inner))
}

/// Proposed pivots.
pub(crate) struct Proposals {
    /// What was left of their diagonal entries when they were proposed.
    pub(crate) left: Vec<f64>,
    /// Below this it is rounding.
    pub(crate) negligible: Vec<f64>,
    /// The most to take.
    pub(crate) room: usize,
}

impl Proposals {
    /// The places of the pivots that are accepted, in order, and the Cholesky factor of what is left of the matrix among
    /// them, from what is left among all proposals.
    pub(crate) fn sift(
        &self,
        mut rest: MatMut<'_, f64>,
        random: &mut ChaCha8Rng,
    ) -> (Vec<usize>, Mat<f64>) {
        let size = self.left.len();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut taken: Vec<usize> = Vec::new();
        for j in 0..size {
            let pivot = rest[(j, j)];
            let chance = random.random::<f64>() * self.left[j];
            if taken.len() >= self.room || pivot <= self.negligible[j] || pivot < chance {
                continue;
            }
            let column: Vec<f64> = (0..size).map(|i| rest[(i, j)] / pivot.sqrt()).collect();
            for b in 0..size {
                for a in 0..size {
                    rest[(a, b)] -= column[a] * column[b];
                }
            }
            taken.push(j);
            columns.push(column);
        }
        let inner = Mat::from_fn(taken.len(), taken.len(), |a, b| {
            if a >= b { columns[b][taken[a]] } else { 0.0 }
        });
        (taken, inner)
    }
}

/// k-means++ seeding: each point is drawn in proportion to its squared distance from the nearest one drawn before.
fn spread_out(points: &Points, count: usize, seed: u64, watch: &Watch) -> Result<Vec<usize>> {
    let rows = points.len();
    let mut random = random::generator(seed, Stream::Landmarks);
    let mut chosen = vec![(random.random::<f64>() * rows as f64) as usize];
    let mut nearest = vec![f64::INFINITY; rows];
    watch.begin("landmarks", count.min(rows))?;
    while chosen.len() < count.min(rows) {
        let last = points.row(chosen[chosen.len() - 1]);
        nearest.par_iter_mut().enumerate().for_each(|(i, near)| {
            let pairs = points.row(i).iter().zip(last);
            *near = near.min(pairs.map(|(a, b)| (a - b) * (a - b)).sum());
        });
        let total: f64 = nearest.iter().sum();
        let mut target = random.random::<f64>() * total;
        let next = nearest.iter().position(|near| {
            target -= near;
            target < 0.0
        });
        // Distinct points are apart, so there is always one left; rounding may overshoot it.
        let last = || nearest.iter().rposition(|near| *near > 0.0);
        match next.or_else(last) {
            Some(next) => chosen.push(next),
            None => break,
        }
        watch.advance_by(1);
        watch.check()?;
    }
    Ok(chosen)
}

fn overflow() -> Error {
    Error::Overflow {
        what: "the kernel of two landmarks",
    }
}
