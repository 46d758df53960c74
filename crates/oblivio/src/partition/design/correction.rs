//! The correction of kernel values for features that have their shifts subtracted.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use oblivio_kernels::kernel::{Span, Tile};

use super::{SensitiveDesign, Storage};

/// Inner products of points and shifts: what turns a kernel matrix into an oblivious one.
#[derive(Clone, Debug)]
pub struct Shifts {
    /// $\Delta_p(x_i)$
    pub at: Mat<f64>,
    /// $G_{pq}$
    pub gram: Mat<f64>,
}

/// The difference of $\langle Z_i, Z'_j\rangle$ and $k(x_i, x'_j)$.
#[derive(Debug)]
pub(crate) enum Correction {
    /// An entry that depends on i and the cell of j, and one that depends on j and the cell of i.
    Cells {
        by_column: Option<(Mat<f64>, Vec<u32>)>,
        by_row: Option<(Mat<f64>, Vec<u32>)>,
    },
    /// $\langle l_i, r_j\rangle$, each a column.
    Dense { left: Mat<f64>, right: Mat<f64> },
}

/// One side of a correction: some rows, with features that are plain or oblivious.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    /// Inner products of the plain features and the shifts of the other side, a row for each point; none if the other side is plain.
    pub(crate) at: Option<&'a Mat<f64>>,
    /// None for plain features.
    pub(crate) design: Option<&'a SensitiveDesign>,
}

impl<'a> Side<'a> {
    fn len(self) -> usize {
        let rows = self.design.map_or(0, SensitiveDesign::len);
        self.at.map_or(rows, Mat::nrows)
    }

    /// D, where it is a regression.
    fn dense(self) -> Option<&'a Mat<f64>> {
        match &self.design?.storage {
            Storage::Dense(features) => Some(features),
            Storage::Coded | Storage::Dropped => None,
        }
    }
}

impl Correction {
    /// $-t\Delta_{c'}(x) - t\Delta_c(x') + t^2G_{cc'}$ for rows on two sides; G are the inner products of the shifts of both.
    pub(crate) fn between(a: Side, b: Side, gram: Option<&Mat<f64>>, t: f64) -> Self {
        let width = a.dense().or(b.dense()).map(Mat::nrows);
        if let Some(width) = width {
            return Self::dense(a, b, (gram, width), t);
        }
        let by_column = b.design.zip(a.at).map(|(of, at)| {
            let minus = Mat::from_fn(at.nrows(), at.ncols(), |i, p| -t * at[(i, p)]);
            (minus, of.cells.codes.clone())
        });
        let by_row = a.design.zip(b.at).map(|(of, at)| {
            let both = gram.zip(b.design);
            let term = Mat::from_fn(at.ncols(), at.nrows(), |p, j| {
                let both = both.map_or(0.0, |(gram, other)| {
                    gram[(p, other.cells.codes[j] as usize)]
                });
                -t * at[(j, p)] + t * t * both
            });
            (term, of.cells.codes.clone())
        });
        Self::Cells { by_column, by_row }
    }

    /// $-t\langle D'_j, b_i\rangle - t\langle D_i, b'_j\rangle + t^2\langle D_i, GD'_j\rangle$ with b the inner products of points and β, G those
    /// of the β.
    fn dense(a: Side, b: Side, (gram, count): (Option<&Mat<f64>>, usize), t: f64) -> Self {
        let both = gram.zip(b.dense()).map(|(gram, features)| gram * features);
        let left = Mat::from_fn(2 * count, a.len(), |k, i| match k.checked_sub(count) {
            None => a.at.map_or(0.0, |at| at[(i, k)]),
            Some(k) => a.dense().map_or(0.0, |features| features[(k, i)]),
        });
        let right = Mat::from_fn(2 * count, b.len(), |k, j| match k.checked_sub(count) {
            None => b.dense().map_or(0.0, |features| -t * features[(k, j)]),
            Some(k) => {
                let both = both.as_ref().map_or(0.0, |both| both[(k, j)]);
                t * t * both - b.at.map_or(0.0, |at| t * at[(j, k)])
            }
        });
        Self::Dense { left, right }
    }

    /// Adds the product with a vector.
    pub(crate) fn multiply(&self, vector: &[f64], out: &mut [f64]) {
        let (by_column, by_row) = match self {
            Self::Cells { by_column, by_row } => (by_column, by_row),
            Self::Dense { left, right } => {
                let mut sums = vec![0.0; right.nrows()];
                for (j, v) in vector.iter().enumerate() {
                    let term = right.col_as_slice(j);
                    sums.iter_mut().zip(term).for_each(|(s, t)| *s += v * t);
                }
                for (i, o) in out.iter_mut().enumerate() {
                    *o += product(left.col_as_slice(i), &sums);
                }
                return;
            }
        };
        if let Some((terms, cells)) = by_column {
            let mut sums = vec![0.0; terms.ncols()];
            for (v, cell) in vector.iter().zip(cells) {
                sums[*cell as usize] += v;
            }
            for (cell, sum) in sums.iter().enumerate().filter(|(_, sum)| **sum != 0.0) {
                let term = terms.col_as_slice(cell);
                out.iter_mut().zip(term).for_each(|(o, t)| *o += sum * t);
            }
        }
        if let Some((terms, cells)) = by_row {
            let mut sums = vec![0.0; terms.nrows()];
            for (j, v) in vector.iter().enumerate() {
                let term = terms.col_as_slice(j);
                sums.iter_mut().zip(term).for_each(|(s, t)| *s += v * t);
            }
            for (o, cell) in out.iter_mut().zip(cells) {
                *o += sums[*cell as usize];
            }
        }
    }

    /// Adds row i of a symmetric matrix.
    pub(crate) fn row(&self, i: usize, out: &mut [f64]) {
        match self {
            Self::Dense { left, right } => {
                let own = left.col_as_slice(i);
                for (j, o) in out.iter_mut().enumerate() {
                    *o += product(own, right.col_as_slice(j));
                }
            }
            Self::Cells { by_column, by_row } => {
                if let Some((terms, cells)) = by_column {
                    for (o, cell) in out.iter_mut().zip(cells) {
                        *o += terms[(i, *cell as usize)];
                    }
                }
                if let Some((terms, cells)) = by_row {
                    let cell = cells[i] as usize;
                    for (j, o) in out.iter_mut().enumerate() {
                        *o += terms[(cell, j)];
                    }
                }
            }
        }
    }

    /// The entry at (i, i).
    pub(crate) fn diagonal(&self, i: usize) -> f64 {
        match self {
            Self::Dense { left, right } => product(left.col_as_slice(i), right.col_as_slice(i)),
            Self::Cells { by_column, by_row } => {
                let column = by_column.as_ref();
                let row = by_row.as_ref();
                column.map_or(0.0, |(terms, cells)| terms[(i, cells[i] as usize)])
                    + row.map_or(0.0, |(terms, cells)| terms[(cells[i] as usize, i)])
            }
        }
    }

    pub(crate) fn apply(&self, span: &Span, tile: &mut Tile) {
        let (by_column, by_row) = match self {
            Self::Cells { by_column, by_row } => (by_column, by_row),
            Self::Dense { left, right } => {
                matmul(
                    tile.as_mat(),
                    Accum::Add,
                    left.subcols(span.rows.start, span.rows.len()).transpose(),
                    right.subcols(span.columns.start, span.columns.len()),
                    1.0,
                    Par::Seq,
                );
                return;
            }
        };
        if let Some((terms, cells)) = by_column {
            for (j, cell) in cells[span.columns.clone()].iter().enumerate() {
                let term = &terms.col_as_slice(*cell as usize)[span.rows.clone()];
                for (v, term) in tile.column(j).iter_mut().zip(term) {
                    *v += term;
                }
            }
        }
        if let Some((terms, cells)) = by_row {
            let runs: Vec<&[u32]> = cells[span.rows.clone()].chunk_by(|a, b| a == b).collect();
            for j in 0..tile.columns() {
                let term = terms.col_as_slice(span.columns.start + j);
                let mut rest = tile.column(j);
                for run in &runs {
                    let (these, others) = rest.split_at_mut(run.len());
                    let term = term[run[0] as usize];
                    for v in these {
                        *v += term;
                    }
                    rest = others;
                }
            }
        }
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
