//! The kernel matrix of features that a mode has changed.

use faer::Mat;
use oblivio_base::{Points, Result, Watch};
use oblivio_kernels::gram::dot;
use oblivio_kernels::kernel::{Span, Tile};
use oblivio_kernels::{Gram, Kernel, KernelGram, Lower};

use crate::oblivious::{ObliviousMap, Shifts};
use crate::partition::{Correction, SensitiveDesign};

/// A kernel matrix, perhaps with a correction of low rank.
#[derive(Debug)]
pub struct FeatureGram<'k> {
    kernel: KernelGram<'k>,
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
        assignment: &SensitiveDesign,
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
            kernel: KernelGram::new(kernel, points),
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
        self.kernel.len()
    }

    fn diagonal(&self) -> Vec<f64> {
        let mut diagonal = self.kernel.diagonal();
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
        self.kernel.row_into(i, out);
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
        let Some(change) = &self.correction else {
            return self.kernel.lower(watch);
        };
        let mut out = Lower::new(self.len())?;
        let correct = |span: &Span, tile: &mut Tile| change.apply(span, tile);
        self.kernel.matrix().lower(&mut out, &correct, watch)?;
        Ok(out)
    }

    fn multiply(&self, vector: &[f64], watch: &Watch) -> Result<Vec<f64>> {
        let mut product = self.kernel.multiply(vector, watch)?;
        if let Some(change) = &self.correction {
            change.multiply(vector, &mut product);
        }
        Ok(product)
    }

    fn multiply_each(&self, vectors: &[&[f64]], watch: &Watch) -> Result<Vec<Vec<f64>>> {
        let mut products = self.kernel.multiply_each(vectors, watch)?;
        if let Some(change) = &self.correction {
            for (vector, product) in vectors.iter().zip(&mut products) {
                change.multiply(vector, product);
            }
        }
        Ok(products)
    }
}
