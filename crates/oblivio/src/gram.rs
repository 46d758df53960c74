//! What a learner sees: inner products of features, or the features themselves. Neither is formed before it is asked for.

use faer::{Mat, MatRef};
use oblivio_base::{Points, Result, Watch};

use crate::kernel::{Kernel, KernelMatrix, Lower, Span, Tile};
use crate::oblivious::{Correction, ObliviousMap, Shifts};
use crate::partition::Assignment;

/// Rows in a block of features. Sums over rows are sums over blocks, so that it decides the last bits.
pub const ROWS: usize = 4096;

/// A symmetric positive-semidefinite matrix of inner products $\langle z_i, z_j\rangle$.
pub trait Gram: Sync {
    /// The number of rows.
    fn len(&self) -> usize;

    /// Whether there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// $\|z_i\|^2$ for every row.
    fn diagonal(&self) -> Vec<f64>;

    /// $\langle z_i, z_j\rangle$ for every j.
    fn row_into(&self, i: usize, out: &mut [f64]);

    /// The lower triangle.
    fn lower(&self, watch: &Watch) -> Result<Lower>;

    /// The product with a vector, without storing the matrix.
    fn multiply(&self, vector: &[f64], watch: &Watch) -> Result<Vec<f64>>;

    /// The products with several vectors; worth writing where entries are computed afresh for every product.
    fn multiply_each(&self, vectors: &[&[f64]], watch: &Watch) -> Result<Vec<Vec<f64>>> {
        vectors.iter().map(|v| self.multiply(v, watch)).collect()
    }
}

/// Rows of explicit features, to be gone through again and again.
pub trait FeatureRows {
    /// The number of rows.
    fn len(&self) -> usize;

    /// Whether there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of features.
    fn width(&self) -> usize;

    /// Does `work` on all rows, block after block in their order: it hears the number of the block's first row, and sees
    /// the features of one row in each column.
    fn each(
        &self,
        work: &mut dyn FnMut(usize, MatRef<'_, f64>) -> Result<()>,
        watch: &Watch,
    ) -> Result<()>;
}

/// A kernel matrix, perhaps with a correction of low rank.
#[derive(Debug)]
pub struct FeatureGram<'k> {
    matrix: KernelMatrix<'k>,
    rows: usize,
    correction: Option<Change>,
}

/// What makes a kernel matrix one of other features.
#[derive(Debug)]
pub(crate) enum Change {
    /// The shifts of the cells are taken off.
    Shifts(Correction),
    /// $K - CC^\top$: what lies in some directions is taken out. One row of C in each column.
    Less(Mat<f64>),
}

impl<'k> FeatureGram<'k> {
    /// The kernel matrix itself.
    pub fn plain(kernel: &'k Kernel, points: &Points) -> Self {
        Self::new(kernel, points, None)
    }

    /// $\langle Z_i, Z_j\rangle$ for the oblivious features of these points.
    pub fn oblivious(
        map: &'k ObliviousMap,
        points: &Points,
        assignment: &Assignment,
        shifts: &Shifts,
    ) -> Self {
        let correction = map.symmetric_correction(assignment, shifts);
        Self::new(
            map.mean().kernel(),
            points,
            Some(Change::Shifts(correction)),
        )
    }

    pub(crate) fn new(kernel: &'k Kernel, points: &Points, correction: Option<Change>) -> Self {
        Self {
            matrix: KernelMatrix::of(kernel, points),
            rows: points.len(),
            correction,
        }
    }
}

impl Change {
    fn apply(&self, span: &Span, tile: &mut Tile) {
        match self {
            Self::Shifts(correction) => correction.apply(span, tile),
            Self::Less(less) => {
                for j in 0..tile.columns() {
                    let right = less.col_as_slice(span.columns.start + j);
                    for (i, v) in tile.column(j).iter_mut().enumerate() {
                        *v -= dot(less.col_as_slice(span.rows.start + i), right);
                    }
                }
            }
        }
    }

    /// Adds the product with a vector.
    fn multiply(&self, vector: &[f64], product: &mut [f64]) {
        match self {
            Self::Shifts(correction) => correction.multiply(vector, product),
            Self::Less(less) => {
                let mut sums = vec![0.0; less.nrows()];
                for (j, v) in vector.iter().enumerate() {
                    let column = less.col_as_slice(j);
                    sums.iter_mut().zip(column).for_each(|(s, c)| *s += v * c);
                }
                for (i, p) in product.iter_mut().enumerate() {
                    *p -= dot(&sums, less.col_as_slice(i));
                }
            }
        }
    }
}

impl Gram for FeatureGram<'_> {
    fn len(&self) -> usize {
        self.rows
    }

    fn diagonal(&self) -> Vec<f64> {
        let mut diagonal = self.matrix.diagonal();
        for (i, entry) in diagonal.iter_mut().enumerate() {
            *entry += match &self.correction {
                None => 0.0,
                Some(Change::Shifts(correction)) => correction.diagonal(i),
                Some(Change::Less(less)) => -less.col(i).squared_norm_l2(),
            };
        }
        diagonal
    }

    fn row_into(&self, i: usize, out: &mut [f64]) {
        self.matrix.row_into(i, out);
        match &self.correction {
            None => (),
            Some(Change::Shifts(correction)) => correction.row(i, out),
            Some(Change::Less(less)) => {
                let left = less.col_as_slice(i);
                for (j, o) in out.iter_mut().enumerate() {
                    *o -= dot(left, less.col_as_slice(j));
                }
            }
        }
    }

    fn lower(&self, watch: &Watch) -> Result<Lower> {
        let mut out = Lower::new(self.rows)?;
        match &self.correction {
            None => self.matrix.lower_into(&mut out, watch)?,
            Some(change) => {
                let correct = |span: &Span, tile: &mut Tile| change.apply(span, tile);
                self.matrix.lower(&mut out, &correct, watch)?;
            }
        }
        Ok(out)
    }

    fn multiply(&self, vector: &[f64], watch: &Watch) -> Result<Vec<f64>> {
        let mut product = self.matrix.times(vector, watch)?;
        if let Some(change) = &self.correction {
            change.multiply(vector, &mut product);
        }
        Ok(product)
    }

    fn multiply_each(&self, vectors: &[&[f64]], watch: &Watch) -> Result<Vec<Vec<f64>>> {
        let mut products = self.matrix.times_each(vectors, watch)?;
        if let Some(change) = &self.correction {
            for (vector, product) in vectors.iter().zip(&mut products) {
                change.multiply(vector, product);
            }
        }
        Ok(products)
    }
}

/// A Gram matrix with some vectors more.
pub(crate) struct Extended<'a> {
    pub(crate) gram: &'a dyn Gram,
    /// Inner products of the rows and the other vectors.
    pub(crate) others: MatRef<'a, f64>,
    /// Inner products among the other vectors.
    pub(crate) inner: MatRef<'a, f64>,
}

impl Extended<'_> {
    fn entry(&self, i: usize, j: usize) -> f64 {
        let rows = self.gram.len();
        if i < rows {
            self.others[(i, j - rows)]
        } else {
            self.inner[(i - rows, j - rows)]
        }
    }
}

impl Gram for Extended<'_> {
    fn len(&self) -> usize {
        self.gram.len() + self.inner.nrows()
    }

    fn diagonal(&self) -> Vec<f64> {
        let mut diagonal = self.gram.diagonal();
        diagonal.extend((0..self.inner.nrows()).map(|c| self.inner[(c, c)]));
        diagonal
    }

    fn row_into(&self, i: usize, out: &mut [f64]) {
        let rows = self.gram.len();
        let (first, last) = out.split_at_mut(rows);
        if i < rows {
            self.gram.row_into(i, first);
        } else {
            for (j, entry) in first.iter_mut().enumerate() {
                *entry = self.entry(j, i);
            }
        }
        for (c, entry) in last.iter_mut().enumerate() {
            *entry = self.entry(i, rows + c);
        }
    }

    fn lower(&self, watch: &Watch) -> Result<Lower> {
        let rows = self.gram.len();
        let gram = self.gram.lower(watch)?;
        Ok(Lower::from_fn(self.len(), |i, j| {
            if i < rows {
                gram.column(j)[i - j]
            } else {
                self.entry(j, i)
            }
        }))
    }

    fn multiply(&self, vector: &[f64], watch: &Watch) -> Result<Vec<f64>> {
        let rows = self.gram.len();
        let mut product = self.gram.multiply(&vector[..rows], watch)?;
        for (i, p) in product.iter_mut().enumerate() {
            *p += (rows..self.len())
                .map(|j| self.entry(i, j) * vector[j])
                .sum::<f64>();
        }
        for j in rows..self.len() {
            let all = (0..self.len()).map(|i| self.entry(i, j) * vector[i]);
            product.push(all.sum());
        }
        Ok(product)
    }
}

/// A matrix that is in memory.
impl Gram for Lower {
    fn len(&self) -> usize {
        self.len()
    }

    fn diagonal(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.column(i)[0]).collect()
    }

    fn row_into(&self, i: usize, out: &mut [f64]) {
        for (j, entry) in out.iter_mut().enumerate() {
            *entry = self.column(i.min(j))[i.abs_diff(j)];
        }
    }

    fn lower(&self, _: &Watch) -> Result<Lower> {
        Ok(self.clone())
    }

    fn multiply(&self, vector: &[f64], _: &Watch) -> Result<Vec<f64>> {
        Ok(self.times(vector))
    }

    fn multiply_each(&self, vectors: &[&[f64]], _: &Watch) -> Result<Vec<Vec<f64>>> {
        Ok(self.times_each(vectors))
    }
}

/// Features that are in memory, those of one row in each column.
impl FeatureRows for MatRef<'_, f64> {
    fn len(&self) -> usize {
        self.ncols()
    }

    fn width(&self) -> usize {
        self.nrows()
    }

    fn each(
        &self,
        work: &mut dyn FnMut(usize, MatRef<'_, f64>) -> Result<()>,
        watch: &Watch,
    ) -> Result<()> {
        for first in (0..self.ncols()).step_by(ROWS) {
            watch.check()?;
            work(first, self.subcols(first, ROWS.min(self.ncols() - first)))?;
        }
        Ok(())
    }
}

/// $\langle a, b\rangle$
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
