//! Kernel matrices, block by block.
//!
//! Blocks do not depend on how many threads there are, so neither do the results, to the last bit.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use oblivio_base::{Error, Points, Result, Watch};
use rayon::prelude::*;

use super::Kernel;
use super::block::{self, Side, Span, Tile};

/// A block's rows and columns: 256 KiB, within the second-level cache.
pub(super) const ROWS: usize = 256;
pub(super) const COLUMNS: usize = 128;

/// The lower triangle of a symmetric matrix, stored in an n × n column-major buffer.
///
/// What lies above the diagonal has no meaning. Fresh memory costs more than the arithmetic that fills it, so a buffer
/// can be used again.
#[derive(Clone, Debug)]
pub struct Lower {
    values: Vec<f64>,
    len: usize,
}

impl Lower {
    /// A buffer for n rows.
    pub fn new(len: usize) -> Result<Self> {
        let too_large = Error::TooLarge {
            rows: len,
            gigabytes: (len as f64).powi(2) * 8e-9,
        };
        let entries = len.checked_mul(len).ok_or(too_large.clone())?;
        Vec::<f64>::new()
            .try_reserve_exact(entries)
            .map_err(|_| too_large)?;
        // Zeroed memory is only mapped here; the threads that fill it touch it first.
        Ok(Self {
            values: vec![0.0; entries],
            len,
        })
    }

    /// The lower triangle of these entries.
    #[inline]
    pub fn from_fn(len: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let column = |j: usize| (0..len).map(move |i| (i, j));
        let entries = (0..len).flat_map(column);
        let values = entries.map(|(i, j)| if i < j { 0.0 } else { entry(i, j) });
        Self {
            values: values.collect(),
            len,
        }
    }

    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The buffer as a matrix, of which only the lower triangle counts.
    #[inline]
    pub fn as_mat(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.values, self.len, self.len)
    }

    /// The buffer as a matrix to change.
    #[inline]
    pub fn as_mat_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_mut(&mut self.values, self.len, self.len)
    }

    /// The part of column j from the diagonal down.
    #[inline]
    pub fn column(&self, j: usize) -> &[f64] {
        &self.values[j * self.len + j..(j + 1) * self.len]
    }

    /// $v^\top A v$
    pub fn quadratic(&self, v: &[f64]) -> f64 {
        let column = |j: usize| {
            let column = self.column(j);
            let below = column[1..].iter().zip(&v[j + 1..]);
            v[j] * (column[0] * v[j] + 2.0 * below.map(|(a, b)| a * b).sum::<f64>())
        };
        (0..self.len).map(column).sum()
    }

    /// The buffer from the diagonal of column j on.
    pub(super) fn below_diagonal(&self, j: usize) -> &[f64] {
        &self.values[j * (self.len + 1)..]
    }

    /// Adds to the diagonal.
    #[inline]
    pub fn add_diagonal(&mut self, add: impl Fn(usize) -> f64) {
        for i in 0..self.len {
            self.values[i * (self.len + 1)] += add(i);
        }
    }

    /// The whole symmetric matrix, in the same buffer.
    pub fn mirrored(mut self, watch: &Watch) -> Result<Vec<f64>> {
        watch.begin("other triangle", 0)?;
        mirror(self.as_mat_mut(), watch);
        watch.check()?;
        Ok(self.values)
    }
}

/// Copies the lower triangle onto the upper, by quadrants.
fn mirror(matrix: MatMut<'_, f64>, watch: &Watch) {
    let n = matrix.nrows();
    if n < 64 {
        let mut matrix = matrix;
        for j in 0..n {
            for i in j + 1..n {
                matrix[(j, i)] = matrix[(i, j)];
            }
        }
        return;
    }
    let half = n / 2;
    let (top, mut upper, lower, bottom) = matrix.split_at_mut(half, half);
    rayon::join(
        || transpose(upper.as_mut(), lower.as_ref(), watch),
        || rayon::join(|| mirror(top, watch), || mirror(bottom, watch)),
    );
}

/// `to` becomes the transpose of `from`, in pieces that stay in cache.
fn transpose(to: MatMut<'_, f64>, from: MatRef<'_, f64>, watch: &Watch) {
    let (rows, columns) = (to.nrows(), to.ncols());
    if rows.max(columns) <= 64 {
        if watch.is_interrupted() {
            return;
        }
        let mut to = to;
        for j in 0..columns {
            let row = from.row(j).iter();
            to.as_mut()
                .col_mut(j)
                .iter_mut()
                .zip(row)
                .for_each(|(t, f)| *t = *f);
        }
    } else if rows >= columns {
        let (a, b) = to.split_at_row_mut(rows / 2);
        let (x, y) = from.split_at_col(rows / 2);
        rayon::join(|| transpose(a, x, watch), || transpose(b, y, watch));
    } else {
        let (a, b) = to.split_at_col_mut(columns / 2);
        let (x, y) = from.split_at_row(columns / 2);
        rayon::join(|| transpose(a, x, watch), || transpose(b, y, watch));
    }
}

/// The matrix $K_{ij} = k(x_i, x'_j)$, not computed until one of its parts is asked for.
#[derive(Debug)]
pub struct KernelMatrix<'k> {
    kernel: &'k Kernel,
    left: Side,
    /// Absent where it is the left side again.
    right: Option<Side>,
    shape: (usize, usize),
}

impl<'k> KernelMatrix<'k> {
    /// Between two sets of points with the same features.
    pub fn between(kernel: &'k Kernel, left: &Points, right: &Points) -> Result<Self> {
        if left.dim() != right.dim() {
            return Err(Error::Width {
                found: left.dim(),
                needed: right.dim(),
            });
        }
        let centre = Side::centre(right);
        Ok(Self {
            kernel,
            left: Side::new(kernel, left, &centre),
            right: Some(Side::new(kernel, right, &centre)),
            shape: (left.len(), right.len()),
        })
    }

    /// The transposed matrix.
    #[must_use]
    pub fn transposed(self) -> Self {
        match self.right {
            None => self,
            Some(right) => Self {
                kernel: self.kernel,
                left: right,
                right: Some(self.left),
                shape: (self.shape.1, self.shape.0),
            },
        }
    }

    /// Of a set of points with itself.
    pub fn of(kernel: &'k Kernel, points: &Points) -> Self {
        Self {
            kernel,
            left: Side::new(kernel, points, &Side::centre(points)),
            right: None,
            shape: (points.len(), points.len()),
        }
    }

    /// All entries, column after column.
    pub fn entries(&self, watch: &Watch) -> Result<Vec<f64>> {
        self.corrected(&|_, _| (), watch)
    }

    /// All entries, column after column, into a buffer of the right size.
    pub fn entries_into(&self, out: &mut [f64], watch: &Watch) -> Result<()> {
        self.panels((out, self.shape.0), &|_| 0, &|_, _| (), watch)
    }

    /// All entries, each tile passing through `correct` while it is in cache, into columns that are `stride` apart.
    pub(crate) fn corrected_into(
        &self,
        out: &mut [f64],
        stride: usize,
        correct: &(impl Fn(&Span, &mut Tile) + Sync),
        watch: &Watch,
    ) -> Result<()> {
        self.panels((out, stride), &|_| 0, correct, watch)
    }

    /// All entries, each tile passing through `correct` while it is in cache.
    pub fn corrected(
        &self,
        correct: &(impl Fn(&Span, &mut Tile) + Sync),
        watch: &Watch,
    ) -> Result<Vec<f64>> {
        let (rows, columns) = self.shape;
        if self.right.is_none() {
            let mut lower = Lower::new(rows)?;
            self.lower(&mut lower, correct, watch)?;
            return lower.mirrored(watch);
        }
        let entries = rows.saturating_mul(columns);
        let mut values = Vec::new();
        values
            .try_reserve_exact(entries)
            .map_err(|_| Error::TooLarge {
                rows,
                gigabytes: rows as f64 * columns as f64 * 8e-9,
            })?;
        values = vec![0.0; entries];
        self.panels((&mut values, rows), &|_| 0, correct, watch)?;
        Ok(values)
    }

    /// The lower triangle, each tile passing through `correct` while it is in cache.
    pub fn lower(
        &self,
        out: &mut Lower,
        correct: &(impl Fn(&Span, &mut Tile) + Sync),
        watch: &Watch,
    ) -> Result<()> {
        self.panels((&mut out.values, out.len), &|column| column, correct, watch)
    }

    /// The lower triangle of the plain matrix, into a buffer of the right size.
    pub fn lower_into(&self, out: &mut Lower, watch: &Watch) -> Result<()> {
        self.lower(out, &|_, _| (), watch)
    }

    /// Fills panels of columns (`stride` apart) in parallel, each from row `first(column)` on.
    fn panels(
        &self,
        (values, stride): (&mut [f64], usize),
        first: &(impl Fn(usize) -> usize + Sync),
        correct: &(impl Fn(&Span, &mut Tile) + Sync),
        watch: &Watch,
    ) -> Result<()> {
        let (rows, columns) = self.shape;
        if rows == 0 {
            return Ok(());
        }
        watch.begin("kernel matrix", columns.div_ceil(COLUMNS))?;
        values
            .par_chunks_mut(stride * COLUMNS)
            .enumerate()
            .with_max_len(1)
            .for_each_init(Vec::new, |spare, (panel, values)| {
                if watch.is_interrupted() {
                    return;
                }
                let start = panel * COLUMNS;
                let width = values.len() / stride;
                for top in (first(start)..rows).step_by(ROWS) {
                    let span = Span {
                        rows: top..(top + ROWS).min(rows),
                        columns: start..start + width,
                    };
                    let mut tile = Tile::new(&mut values[top..], stride, span.rows.len(), width);
                    self.fill(&span, &mut tile, spare);
                    correct(&span, &mut tile);
                }
                watch.advance();
            });
        watch.check()
    }

    /// For every row i and group c, $\sum_{j : c_j = c} w_j K_{ij}$, without storing K.
    ///
    /// With one group and the weights of an expansion these are its values; with 1/N_c they are the inner products
    /// with the groups' means.
    pub fn grouped_sums(
        &self,
        weights: &[f64],
        groups: &[u32],
        count: usize,
        watch: &Watch,
    ) -> Result<Mat<f64>> {
        self.row_sums(
            count,
            &|span, tile, sums| {
                let (weights, groups) = (
                    &weights[span.columns.clone()],
                    &groups[span.columns.clone()],
                );
                block::accumulate(tile, weights, groups, sums);
            },
            watch,
        )
    }

    /// The product with a matrix that has a row for every column of K, without storing K.
    pub fn times_matrix(&self, right: MatRef<'_, f64>, watch: &Watch) -> Result<Mat<f64>> {
        let count = right.ncols();
        self.row_sums(
            count,
            &|span, tile, sums| {
                let height = span.rows.len();
                matmul(
                    MatMut::from_column_major_slice_mut(sums, height, count),
                    Accum::Add,
                    tile.as_mat().as_ref(),
                    right.subrows(span.columns.start, span.columns.len()),
                    1.0,
                    Par::Seq,
                );
            },
            watch,
        )
    }

    /// `count` sums for every row, to which `add` adds what a tile brings; those of a part of the rows one sum after the other.
    fn row_sums(
        &self,
        count: usize,
        add: &(dyn Fn(&Span, &mut Tile, &mut [f64]) + Sync),
        watch: &Watch,
    ) -> Result<Mat<f64>> {
        let (rows, columns) = self.shape;
        watch.begin("sums over the reference", rows.div_ceil(ROWS))?;
        let parts: Vec<Vec<f64>> = (0..rows.div_ceil(ROWS))
            .into_par_iter()
            .with_max_len(1)
            .map_init(
                || (Vec::new(), vec![0.0; ROWS * COLUMNS]),
                |(spare, memory), part| {
                    let rows = part * ROWS..((part + 1) * ROWS).min(rows);
                    let mut sums = vec![0.0; rows.len() * count];
                    for start in (0..columns).step_by(COLUMNS) {
                        if watch.is_interrupted() {
                            return sums;
                        }
                        let span = Span {
                            rows: rows.clone(),
                            columns: start..(start + COLUMNS).min(columns),
                        };
                        let mut tile =
                            Tile::new(memory, rows.len(), rows.len(), span.columns.len());
                        self.fill(&span, &mut tile, spare);
                        add(&span, &mut tile, &mut sums);
                    }
                    watch.advance();
                    sums
                },
            )
            .collect();
        watch.check()?;
        Ok(Mat::from_fn(rows, count, |i, c| {
            let part = &parts[i / ROWS];
            part[c * (part.len() / count) + i % ROWS]
        }))
    }

    /// The numbers of rows and columns.
    pub(super) fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// Whether it is the matrix of a set of points with itself.
    pub(super) fn is_symmetric(&self) -> bool {
        self.right.is_none()
    }

    pub(super) fn fill(&self, span: &Span, tile: &mut Tile, spare: &mut Vec<Vec<f64>>) {
        let right = self.right.as_ref().unwrap_or(&self.left);
        block::fill(
            self.kernel,
            (&self.left, right),
            span,
            self.right.is_none(),
            tile,
            spare,
        );
    }
}
