//! Products of a kernel matrix and vectors, its rows and its diagonal, without storing it.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the caller's instruction set"
)]

use oblivio_base::{Result, Watch};
use rayon::prelude::*;

use super::block::{Span, Tile};
use super::exp::{Vectorized, multiply_add, vectorize};
use super::matrix::{COLUMNS, KernelMatrix, Lower, ROWS};

/// Partial sums of a product. Each is a vector as long as the result, so there is a fixed number of them; panels are dealt
/// out to them in turn, which spreads the long and the short ones evenly.
const PARTS: usize = 32;
/// Entries of the diagonal that are computed at a time.
const DIAGONAL: usize = 16;
/// Columns of a tile that are multiplied at a time.
const ABREAST: usize = 4;
/// A tile of a stored matrix: long columns are read fastest, and all of it stays in the second-level cache for the next
/// vector.
const LONG: usize = 4096;
const NARROW: usize = 32;
/// Partial sums of an inner product.
const LANES: usize = 8;

impl KernelMatrix<'_> {
    /// $Kv$
    ///
    /// Of a set of points with itself, every tile of the lower triangle serves twice: $y_I \mathrel{+}= T v_J$ and
    /// $y_J \mathrel{+}= T^\top v_I$. The same bits for any number of threads.
    pub fn times(&self, vector: &[f64], watch: &Watch) -> Result<Vec<f64>> {
        let mut products = self.times_each(&[vector], watch)?;
        Ok(products.pop().unwrap_or_default())
    }

    /// The products with several vectors, for which every entry is computed once.
    pub fn times_each(&self, vectors: &[&[f64]], watch: &Watch) -> Result<Vec<Vec<f64>>> {
        let (rows, columns) = self.shape();
        if !self.is_symmetric() {
            let product = |vector: &&[f64]| {
                let sums = self.grouped_sums(vector, &vec![0; columns], 1, watch)?;
                Ok(sums.col_as_slice(0).to_vec())
            };
            return vectors.iter().map(product).collect();
        }
        let memory = || (vec![0.0; ROWS * COLUMNS], Vec::new());
        let products = products(
            (rows, ROWS, COLUMNS),
            vectors,
            memory,
            |(memory, spare), span, add| {
                if watch.is_interrupted() {
                    return;
                }
                let height = span.rows.len();
                let mut tile = Tile::new(memory, height, height, span.columns.len());
                self.fill(span, &mut tile, spare);
                add(memory, height);
            },
        );
        watch.check()?;
        Ok(products)
    }

    /// $K_{ij}$ for every j.
    pub fn row_into(&self, i: usize, out: &mut [f64]) {
        let (rows, columns) = self.shape();
        // A column is what the blocks are made for, and a symmetric matrix does not mind.
        let span = if self.is_symmetric() {
            Span {
                rows: 0..rows,
                columns: i..i + 1,
            }
        } else {
            Span {
                rows: i..i + 1,
                columns: 0..columns,
            }
        };
        let mut tile = Tile::new(out, span.rows.len(), span.rows.len(), span.columns.len());
        self.fill(&span, &mut tile, &mut Vec::new());
    }

    /// $K_{ii}$ for every i.
    pub fn diagonal(&self) -> Vec<f64> {
        let (rows, columns) = self.shape();
        let mut diagonal = vec![0.0; rows.min(columns)];
        diagonal
            .par_chunks_mut(DIAGONAL)
            .enumerate()
            .with_min_len(64)
            .for_each_init(Vec::new, |spare, (chunk, diagonal)| {
                let (first, size) = (chunk * DIAGONAL, diagonal.len());
                let span = Span {
                    rows: first..first + size,
                    columns: first..first + size,
                };
                let mut memory = [0.0; DIAGONAL * DIAGONAL];
                self.fill(&span, &mut Tile::new(&mut memory, size, size, size), spare);
                for (i, entry) in diagonal.iter_mut().enumerate() {
                    *entry = memory[i * (size + 1)];
                }
            });
        diagonal
    }
}

impl Lower {
    /// The product of the symmetric matrix and a vector; the same bits for any number of threads.
    pub(crate) fn times(&self, vector: &[f64]) -> Vec<f64> {
        self.times_each(&[vector]).pop().unwrap_or_default()
    }

    /// The products with several vectors, for which the matrix is read once.
    pub(crate) fn times_each(&self, vectors: &[&[f64]]) -> Vec<Vec<f64>> {
        let stride = self.len();
        let shape = (stride, LONG, NARROW);
        let nothing = || ();
        products(shape, vectors, nothing, |(), span, add| {
            // A column from its diagonal down begins at the row of that number.
            let first = span.rows.start - span.columns.start;
            add(&self.below_diagonal(span.columns.start)[first..], stride);
        })
    }
}

/// Products of a symmetric matrix and vectors, from the tiles of its lower triangle: `visit` passes on the entries of a
/// tile, column after column, and the distance of its columns. A panel of `width` columns begins with the square on the
/// diagonal and goes on with tiles of `height` rows.
fn products<M>(
    (size, height, width): (usize, usize, usize),
    vectors: &[&[f64]],
    memory: impl Fn() -> M + Sync,
    visit: impl Fn(&mut M, &Span, &mut dyn FnMut(&[f64], usize)) + Sync,
) -> Vec<Vec<f64>> {
    let panels = size.div_ceil(width);
    let parts: Vec<Vec<Vec<f64>>> = (0..PARTS.min(panels))
        .into_par_iter()
        .with_max_len(1)
        .map(|part| {
            let mut sums = vec![vec![0.0; size]; vectors.len()];
            let mut memory = memory();
            for panel in (part..panels).step_by(PARTS) {
                let start = panel * width;
                let end = (start + width).min(size);
                let below = (end..size)
                    .step_by(height)
                    .map(|top| top..(top + height).min(size));
                for rows in std::iter::once(start..end).chain(below) {
                    let span = Span {
                        rows,
                        columns: start..end,
                    };
                    visit(&mut memory, &span, &mut |entries, stride| {
                        for (vector, sums) in vectors.iter().zip(&mut sums) {
                            vectorize(Both(entries, stride, &span, vector, sums));
                        }
                    });
                }
            }
            sums
        })
        .collect();
    let mut products = vec![vec![0.0; size]; vectors.len()];
    for part in &parts {
        for (product, part) in products.iter_mut().zip(part) {
            product.iter_mut().zip(part).for_each(|(p, s)| *p += s);
        }
    }
    products
}

/// Adds the products of a tile on or below the diagonal, and of its mirror image.
struct Both<'a>(&'a [f64], usize, &'a Span, &'a [f64], &'a mut [f64]);

impl Vectorized for Both<'_> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self(entries, stride, span, vector, sums) = self;
        let (rows, columns) = (span.rows.clone(), span.columns.clone());
        let height = rows.len();
        let entries = |j: usize| &entries[j * stride..][..height];
        if rows.start < columns.end {
            // The diagonal's tile: what is above the diagonal is left out, and the diagonal itself serves once.
            for (j, at) in columns.enumerate() {
                let entries = &entries(j)[at - rows.start..];
                sums[at] += entries[0] * vector[at];
                let (image, other) = (&mut sums[at + 1..rows.end], &vector[at + 1..rows.end]);
                let dots = both::<FUSED, 1>([&entries[1..]], [vector[at]], other, image);
                sums[at] += dots[0];
            }
            return;
        }
        let (above, below) = sums.split_at_mut(rows.start);
        let image = &mut below[..height];
        let other = &vector[rows];
        let whole = columns.len() / ABREAST * ABREAST;
        for j in (0..whole).step_by(ABREAST) {
            let at = columns.start + j;
            let own = [vector[at], vector[at + 1], vector[at + 2], vector[at + 3]];
            let tall = [entries(j), entries(j + 1), entries(j + 2), entries(j + 3)];
            let dots = both::<FUSED, ABREAST>(tall, own, other, image);
            for (sum, dot) in above[at..at + ABREAST].iter_mut().zip(dots) {
                *sum += dot;
            }
        }
        for j in whole..columns.len() {
            let at = columns.start + j;
            above[at] += both::<FUSED, 1>([entries(j)], [vector[at]], other, image)[0];
        }
    }
}

/// Adds $\sum_k x_k T_k$ to `image` and returns $\langle T_k, v\rangle$, for N columns T_k.
#[inline(always)]
fn both<const FUSED: bool, const N: usize>(
    columns: [&[f64]; N],
    own: [f64; N],
    other: &[f64],
    image: &mut [f64],
) -> [f64; N] {
    let mut dots = [[0.0; LANES]; N];
    let length = image.len();
    let whole = length / LANES * LANES;
    for first in (0..whole).step_by(LANES) {
        let image = &mut image[first..first + LANES];
        let other = &other[first..first + LANES];
        for k in 0..N {
            let column = &columns[k][first..first + LANES];
            for lane in 0..LANES {
                image[lane] = multiply_add::<FUSED>(own[k], column[lane], image[lane]);
                dots[k][lane] = multiply_add::<FUSED>(other[lane], column[lane], dots[k][lane]);
            }
        }
    }
    for i in whole..length {
        for k in 0..N {
            image[i] = multiply_add::<FUSED>(own[k], columns[k][i], image[i]);
            dots[k][0] = multiply_add::<FUSED>(other[i], columns[k][i], dots[k][0]);
        }
    }
    dots.map(|lanes| lanes.iter().sum())
}
