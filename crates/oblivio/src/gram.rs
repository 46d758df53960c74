//! What a learner sees: inner products of features, or the features themselves. Neither is formed before it is asked for.

use faer::MatRef;

use crate::error::Result;
use crate::kernel::Lower;
use crate::watch::Watch;

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
        const BLOCK: usize = 4096;
        for first in (0..self.ncols()).step_by(BLOCK) {
            watch.check()?;
            work(first, self.subcols(first, BLOCK.min(self.ncols() - first)))?;
        }
        Ok(())
    }
}
