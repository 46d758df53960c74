//! What a learner sees: inner products of features, or the features themselves. Neither is formed before it is asked for.

use faer::MatRef;
use oblivio_base::{Points, Result, Watch};

use crate::kernel::{Kernel, KernelMatrix, Lower};

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

/// A kernel matrix, computed where it is asked for.
#[derive(Debug)]
pub struct KernelGram<'k> {
    matrix: KernelMatrix<'k>,
    rows: usize,
}

impl<'k> KernelGram<'k> {
    /// The matrix of a kernel at points.
    pub fn new(kernel: &'k Kernel, points: &Points) -> Self {
        Self {
            matrix: KernelMatrix::of(kernel, points),
            rows: points.len(),
        }
    }

    /// The matrix, which gives its tiles to be corrected.
    pub fn matrix(&self) -> &KernelMatrix<'k> {
        &self.matrix
    }
}

impl Gram for KernelGram<'_> {
    fn len(&self) -> usize {
        self.rows
    }

    fn diagonal(&self) -> Vec<f64> {
        self.matrix.diagonal()
    }

    fn row_into(&self, i: usize, out: &mut [f64]) {
        self.matrix.row_into(i, out);
    }

    fn lower(&self, watch: &Watch) -> Result<Lower> {
        let mut out = Lower::new(self.rows)?;
        self.matrix.lower_into(&mut out, watch)?;
        Ok(out)
    }

    fn multiply(&self, vector: &[f64], watch: &Watch) -> Result<Vec<f64>> {
        self.matrix.times(vector, watch)
    }

    fn multiply_each(&self, vectors: &[&[f64]], watch: &Watch) -> Result<Vec<Vec<f64>>> {
        self.matrix.times_each(vectors, watch)
    }
}

/// A Gram matrix with some vectors more.
pub struct Extended<'a> {
    /// The matrix.
    pub gram: &'a dyn Gram,
    /// Inner products of the rows and the other vectors.
    pub others: MatRef<'a, f64>,
    /// Inner products among the other vectors.
    pub inner: MatRef<'a, f64>,
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
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
