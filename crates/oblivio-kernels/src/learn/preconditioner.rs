//! Something near the inverse of a system, from a few of its rows.

use std::collections::HashSet;

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use oblivio_base::random::Stream;
use oblivio_base::{Error, Result, Watch, random};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::pcg::Implicit;
use super::system::{cholesky, substitute, threads};
use crate::kernel::Lower;
use crate::landmarks::{NEGLIGIBLE, Proposals, draw};

/// Rows of the factor handled at a time; fixed, so that the choice of pivots does not depend on the threads.
const CHUNK: usize = 256;
/// Pivots that leave less than this share of the penalty to the steps are enough.
const ENOUGH: f64 = 0.1;

/// The preconditioner $P = \Omega^{-1/2}(BB^\top + \lambda I)\Omega^{-1/2}$, where B is the partial Cholesky factor of
/// $\Omega^{1/2}G\Omega^{1/2}$ for a few pivots.
pub(super) struct Landmarks {
    /// B, row after row.
    factor: Vec<f64>,
    count: usize,
    /// The roots of the weights.
    roots: Vec<f64>,
    penalty: f64,
    /// The Cholesky factor of $B^\top B + \lambda I$.
    inner: Lower,
}

impl Landmarks {
    /// At most `count` pivots.
    pub(super) fn new(system: &Implicit, count: usize, watch: &Watch) -> Result<Self> {
        let mut growth = Growth::new(system, count)?;
        let mut random = random::generator(0, Stream::Landmarks);
        watch.begin("landmarks", growth.count)?;
        while growth.wants_more() {
            let taken = growth.grow(&mut random);
            watch.check()?;
            watch.advance_by(taken);
            if taken == 0 {
                // The diagonal says that something is left, and the block that it is not: rounding.
                break;
            }
        }
        let (factor, count) = growth.packed();
        let rows = system.gram.len();
        let mut inner = Lower::new(count)?;
        let matrix = MatRef::from_row_major_slice(&factor, rows, count);
        triangular::matmul(
            inner.as_mat_mut(),
            BlockStructure::TriangularLower,
            Accum::Replace,
            matrix.transpose(),
            BlockStructure::Rectangular,
            matrix,
            BlockStructure::Rectangular,
            1.0,
            threads(),
        );
        inner.add_diagonal(|_| system.penalty);
        cholesky(inner.as_mat_mut()).map_err(|_| Error::NotPositiveDefinite {
            pivot: 0,
            penalty: system.penalty,
        })?;
        watch.check()?;
        Ok(Self {
            factor,
            count,
            roots: system.weights.iter().map(|w| w.sqrt()).collect(),
            penalty: system.penalty,
            inner,
        })
    }

    /// $P^{-1}v = \Omega^{1/2}(u - B(B^\top B + \lambda I)^{-1}B^\top u)/\lambda$ with $u = \Omega^{1/2}v$.
    pub(super) fn solve(&self, vector: &[f64]) -> Vec<f64> {
        let mut scaled: Vec<f64> = vector.iter().zip(&self.roots).map(|(v, r)| v * r).collect();
        if self.count > 0 {
            let mut small = self.transposed(&scaled);
            substitute(self.inner.as_mat(), &mut small);
            let image = self.times(&small);
            scaled.iter_mut().zip(&image).for_each(|(s, i)| *s -= i);
        }
        for (s, r) in scaled.iter_mut().zip(&self.roots) {
            *s *= r / self.penalty;
        }
        scaled
    }

    /// $\Omega^{-1/2}BB^\top\Omega^{-1/2}v$
    pub(super) fn multiply(&self, vector: &[f64]) -> Vec<f64> {
        if self.count == 0 {
            return vec![0.0; vector.len()];
        }
        let scaled: Vec<f64> = vector.iter().zip(&self.roots).map(|(v, r)| v / r).collect();
        let mut image = self.times(&self.transposed(&scaled));
        image.iter_mut().zip(&self.roots).for_each(|(i, r)| *i /= r);
        image
    }

    /// $B^\top v$
    fn transposed(&self, vector: &[f64]) -> Vec<f64> {
        let parts: Vec<Vec<f64>> = self
            .chunks()
            .zip(vector.par_chunks(CHUNK))
            .map(|(rows, vector)| {
                let mut part = vec![0.0; self.count];
                times(&mut part, rows.transpose(), vector);
                part
            })
            .collect();
        let mut sum = vec![0.0; self.count];
        for part in &parts {
            sum.iter_mut().zip(part).for_each(|(s, p)| *s += p);
        }
        sum
    }

    /// $Bv$
    fn times(&self, vector: &[f64]) -> Vec<f64> {
        let mut image = vec![0.0; self.roots.len()];
        image
            .par_chunks_mut(CHUNK)
            .zip(self.chunks())
            .for_each(|(image, rows)| times(image, rows, vector));
        image
    }

    fn chunks(&self) -> impl IndexedParallelIterator<Item = MatRef<'_, f64>> {
        self.factor
            .par_chunks(CHUNK * self.count)
            .map(|rows| MatRef::from_row_major_slice(rows, rows.len() / self.count, self.count))
    }
}

fn times(image: &mut [f64], matrix: MatRef<'_, f64>, vector: &[f64]) {
    let (rows, columns) = (matrix.nrows(), matrix.ncols());
    matmul(
        MatMut::from_column_major_slice_mut(image, rows, 1),
        Accum::Replace,
        matrix,
        MatRef::from_column_major_slice(vector, columns, 1),
        1.0,
        Par::Seq,
    );
}

/// A partial Cholesky factor of $\Omega^{1/2}G\Omega^{1/2}$ as it grows by randomly pivoted blocks.
struct Growth<'a> {
    system: &'a Implicit<'a>,
    /// Row after row, `count` numbers each, of which the first `known` are there.
    factor: Vec<f64>,
    count: usize,
    known: usize,
    diagonal: Vec<f64>,
    /// The diagonal less that of $BB^\top$.
    left: Vec<f64>,
    trace: f64,
}

impl<'a> Growth<'a> {
    fn new(system: &'a Implicit<'a>, count: usize) -> Result<Self> {
        let rows = system.gram.len();
        let count = count.min(rows);
        let mut diagonal = system.gram.diagonal();
        for (entry, weight) in diagonal.iter_mut().zip(system.weights) {
            *entry *= weight;
        }
        let trace: f64 = diagonal.iter().sum();
        if !trace.is_finite() {
            return Err(Error::Overflow {
                what: "an inner product of features",
            });
        }
        Ok(Self {
            system,
            factor: vec![0.0; rows * count],
            count,
            known: 0,
            // Rounding can leave a feature of no length a little less.
            left: diagonal.iter().map(|d| d.max(0.0)).collect(),
            diagonal,
            trace,
        })
    }

    fn wants_more(&self) -> bool {
        let total: f64 = self.left.iter().sum();
        self.known < self.count
            && total > ENOUGH * self.system.penalty
            && total > NEGLIGIBLE * self.trace
    }

    /// Adds a block of pivots and says how many.
    fn grow(&mut self, random: &mut ChaCha8Rng) -> usize {
        let mut proposed = draw(&self.left, self.left.iter().sum(), random);
        // A pivot leaves nothing of itself: a second proposal of it would be refused.
        let mut seen = HashSet::new();
        proposed.retain(|i| seen.insert(*i));
        let fresh = self.residual_columns(&proposed);
        let rest = |a: usize, b: usize| fresh[a * self.left.len() + proposed[b]];
        let mut rest = Mat::from_fn(proposed.len(), proposed.len(), rest);
        let proposals = Proposals {
            left: proposed.iter().map(|&i| self.left[i]).collect(),
            negligible: proposed
                .iter()
                .map(|&i| NEGLIGIBLE * self.diagonal[i])
                .collect(),
            room: self.count - self.known,
        };
        let (taken, inner) = proposals.sift(rest.as_mut(), random);
        self.append(&fresh, &taken, inner.as_ref());
        for &j in &taken {
            self.left[proposed[j]] = 0.0;
        }
        taken.len()
    }

    /// These columns of $\Omega^{1/2}G\Omega^{1/2} - BB^\top$, one after the other.
    fn residual_columns(&self, columns: &[usize]) -> Vec<f64> {
        let (rows, weights) = (self.left.len(), self.system.weights);
        let mut fresh = vec![0.0; rows * columns.len()];
        fresh
            .par_chunks_mut(rows)
            .zip(columns)
            .with_max_len(1)
            .for_each(|(fresh, &i)| {
                self.system.gram.row_into(i, fresh);
                for (entry, weight) in fresh.iter_mut().zip(weights) {
                    *entry *= (weight * weights[i]).sqrt();
                }
            });
        let pivots: Vec<f64> = columns
            .iter()
            .flat_map(|&i| &self.factor[i * self.count..i * self.count + self.known])
            .copied()
            .collect();
        matmul(
            MatMut::from_column_major_slice_mut(&mut fresh, rows, columns.len()),
            Accum::Add,
            MatRef::from_row_major_slice(&self.factor, rows, self.count).subcols(0, self.known),
            MatRef::from_row_major_slice(&pivots, columns.len(), self.known).transpose(),
            -1.0,
            threads(),
        );
        fresh
    }

    /// Makes the taken columns part of the factor: $B_\text{new} = R_{:,T}L^{-\top}$ with $R_{TT} = LL^\top$.
    fn append(&mut self, fresh: &[f64], taken: &[usize], inner: MatRef<'_, f64>) {
        let (rows, count, known, width) = (self.left.len(), self.count, self.known, taken.len());
        self.factor
            .par_chunks_mut(CHUNK * count)
            .zip(self.left.par_chunks_mut(CHUNK))
            .enumerate()
            .for_each(|(chunk, (factor, left))| {
                for (j, column) in taken.iter().enumerate() {
                    let column = &fresh[column * rows + chunk * CHUNK..][..left.len()];
                    for (row, value) in factor.chunks_mut(count).zip(column) {
                        row[known + j] = *value;
                    }
                }
                // A row of the factor is a column here.
                let columns = MatMut::from_column_major_slice_mut(factor, count, left.len());
                let columns = columns.subrows_mut(known, width);
                solve_lower_triangular_in_place(inner, columns, Par::Seq);
                for (rest, row) in left.iter_mut().zip(factor.chunks(count)) {
                    *rest -= row[known..known + width].iter().map(|v| v * v).sum::<f64>();
                }
            });
        for (rest, whole) in self.left.iter_mut().zip(&self.diagonal) {
            if *rest <= NEGLIGIBLE * whole {
                *rest = 0.0;
            }
        }
        self.known += width;
    }

    /// The factor without the room that was not needed, and its columns.
    fn packed(self) -> (Vec<f64>, usize) {
        let (count, known) = (self.count, self.known);
        if known == count {
            return (self.factor, count);
        }
        let rows = (0..self.left.len()).map(|i| &self.factor[i * count..i * count + known]);
        (rows.flatten().copied().collect(), known)
    }
}
