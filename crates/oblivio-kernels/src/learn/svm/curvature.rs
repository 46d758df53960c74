//! The linear algebra of interior-point steps: rows of features in passes, or a whole Gram matrix.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatMut, MatRef};
use oblivio_base::{Result, Watch};

use super::interior::{Curvature, Images, Norms, Step};
use crate::gram::{FeatureRows, Gram};
use crate::learn::scaled::Scaled;
use crate::learn::system::{cholesky, substitute, threads};
use crate::learn::{Intercept, dot};

/// Sees where a block of rows starts, its features, and whether it takes part in the intercept.
type Block<'a> = dyn FnMut(usize, MatRef<'_, f64>, bool) -> Result<()> + 'a;

/// Features in passes: three for each step, and p × p numbers beside vectors over the rows.
///
/// With $\tilde z = (z, 1)$ a step solves $(\sum_i D_i^{-1}\tilde z_i\tilde z_i^\top + \mathrm{diag}(I, 0))(dw, dc) =
/// \sum_i y_i(D_i^{-1}r_i + \beta_i)\tilde z_i - (w, 0)$. The constant comes first: its pivot is then a plain sum.
pub(super) struct Passes<'a> {
    rows: &'a dyn FeatureRows,
    /// Further rows, which have no part in the intercept.
    further: MatRef<'a, f64>,
    /// One with an intercept, else zero: the place of the first feature.
    first: usize,
    largest: f64,
    /// (c, w), of which c is not used
    weights: Vec<f64>,
    direction: Vec<f64>,
    factor: Mat<f64>,
    /// The right side of the system, and the two that join it in the correction.
    right: Vec<f64>,
    joining: Option<[Vec<f64>; 2]>,
}

impl<'a> Passes<'a> {
    pub(super) fn new(
        rows: &'a dyn FeatureRows,
        further: MatRef<'a, f64>,
        intercept: Intercept,
        watch: &Watch,
    ) -> Result<Self> {
        let mut largest = 0.0f64;
        let mut see = |_: usize, block: MatRef<'_, f64>| {
            for column in block.col_iter() {
                largest = largest.max(column.squared_norm_l2());
            }
            Ok(())
        };
        rows.each(&mut see, watch)?;
        see(0, further)?;
        let first = usize::from(intercept == Intercept::Fitted);
        let size = rows.width() + first;
        Ok(Self {
            rows,
            further,
            first,
            largest,
            weights: vec![0.0; size],
            direction: vec![0.0; size],
            factor: Mat::zeros(size, size),
            right: vec![0.0; size],
            joining: None,
        })
    }

    /// Shows all rows.
    fn each(&self, work: &mut Block<'_>, watch: &Watch) -> Result<()> {
        let own = self.first > 0;
        self.rows
            .each(&mut |start, block| work(start, block, own), watch)?;
        if self.further.ncols() > 0 {
            work(self.rows.len(), self.further, false)?;
        }
        Ok(())
    }

    /// Factorises, and again with a little on the diagonal while rounding leaves the matrix indefinite.
    fn factorize(&mut self, matrix: &Mat<f64>) -> bool {
        let size = matrix.nrows();
        let diagonal = (0..size).map(|k| matrix[(k, k)]);
        let mut jitter = 1e-16 * diagonal.fold(0.0, f64::max);
        for attempt in 0..4 {
            self.factor.copy_from(matrix);
            if attempt > 0 {
                (0..size).for_each(|k| self.factor[(k, k)] += jitter);
                jitter *= 100.0;
            }
            if cholesky(self.factor.as_mut()).is_ok() {
                return true;
            }
        }
        false
    }

    fn solve(&mut self) {
        self.direction.clone_from(&self.right);
        substitute(self.factor.as_ref(), &mut self.direction);
    }
}

/// A matrix of one column.
fn column(vector: &mut [f64]) -> MatMut<'_, f64> {
    let rows = vector.len();
    MatMut::from_column_major_slice_mut(vector, rows, 1)
}

/// Adds the features of a block, weighted, to a sum over rows (with the constant first, where there is one).
fn gather(sum: &mut [f64], block: MatRef<'_, f64>, weights: &[f64], own: bool, first: usize) {
    if own {
        sum[0] += weights.iter().sum::<f64>();
    }
    let weights = MatRef::from_column_major_slice(weights, weights.len(), 1);
    let sum = column(&mut sum[first..]);
    matmul(sum, Accum::Add, block, weights, 1.0, threads());
}

impl Curvature for Passes<'_> {
    fn begin(&mut self, step: &Step<'_>, watch: &Watch) -> Result<Option<Norms>> {
        let (first, size) = (self.first, self.weights.len());
        let mut matrix = Mat::<f64>::zeros(size, size);
        let mut right = vec![0.0; size];
        let mut dual = vec![0.0; size];
        let mut scaled = Mat::<f64>::zeros(0, 0);
        self.each(
            &mut |start, block, own| {
                let rows = start..start + block.ncols();
                let inverse = &step.inverse[rows.clone()];
                if scaled.ncols() != block.ncols() {
                    scaled = Mat::zeros(block.nrows(), block.ncols());
                }
                for (j, inverse) in inverse.iter().enumerate() {
                    let root = inverse.sqrt();
                    let from = block.col(j);
                    let to = scaled.col_mut(j);
                    to.iter_mut()
                        .zip(from.iter())
                        .for_each(|(t, f)| *t = root * f);
                }
                triangular::matmul(
                    matrix
                        .as_mut()
                        .submatrix_mut(first, first, size - first, size - first),
                    BlockStructure::TriangularLower,
                    Accum::Add,
                    scaled.as_ref(),
                    BlockStructure::Rectangular,
                    scaled.transpose(),
                    BlockStructure::Rectangular,
                    1.0,
                    threads(),
                );
                if own {
                    let mut edge = vec![0.0; size];
                    gather(&mut edge, block, inverse, true, 1);
                    let corner = matrix.col_mut(0);
                    corner.iter_mut().zip(&edge).for_each(|(m, e)| *m += e);
                }
                let signed = &step.signed[rows.clone()];
                let both: Vec<f64> = (signed.iter().zip(&step.right[rows]))
                    .map(|(s, r)| s + r)
                    .collect();
                gather(&mut right, block, &both, own, first);
                gather(&mut dual, block, signed, own, first);
                Ok(())
            },
            watch,
        )?;
        for k in first..size {
            matrix[(k, k)] += 1.0;
            right[k] -= self.weights[k];
        }
        self.right = right;
        self.joining = Some([vec![0.0; size], vec![0.0; size]]);
        if !self.factorize(&matrix) {
            return Ok(None);
        }
        self.solve();
        let (weights, dual) = (&self.weights[first..], &dual[first..]);
        let apart = weights.iter().zip(dual).map(|(w, d)| (w - d).powi(2));
        Ok(Some(Norms {
            primal: dot(weights, weights),
            dual: dot(dual, dual),
            apart: apart.sum(),
        }))
    }

    fn images(&mut self, work: &mut Images<'_>, watch: &Watch) -> Result<()> {
        let first = self.first;
        let mut joining = self.joining.take();
        let weights = &self.direction[first..];
        let weights = MatRef::from_column_major_slice(weights, weights.len(), 1);
        self.each(
            &mut |start, block, own| {
                let count = block.ncols();
                let mut images = vec![0.0; count];
                let to = column(&mut images);
                matmul(
                    to,
                    Accum::Replace,
                    block.transpose(),
                    weights,
                    1.0,
                    threads(),
                );
                let rows = start..start + count;
                if let Some([centre, second]) = &mut joining {
                    let (mut a, mut b) = (vec![0.0; count], vec![0.0; count]);
                    work(rows, &images, Some([&mut a, &mut b]));
                    gather(centre, block, &a, own, first);
                    gather(second, block, &b, own, first);
                } else {
                    work(rows, &images, None);
                }
                Ok(())
            },
            watch,
        )?;
        self.joining = joining;
        Ok(())
    }

    fn correct(&mut self, centring: f64) {
        if let Some([centre, second]) = self.joining.take() {
            for (k, right) in self.right.iter_mut().enumerate() {
                *right += centring * centre[k] + second[k];
            }
        }
        self.solve();
    }

    fn moves(&self) -> Option<Vec<f64>> {
        None
    }

    fn advance(&mut self, part: f64) {
        let weights = self.weights.iter_mut().zip(&self.direction);
        weights.for_each(|(w, d)| *w += part * d);
    }

    fn weights(&self) -> &[f64] {
        &self.weights[self.first..]
    }

    fn largest(&self) -> f64 {
        self.largest
    }

    fn constant(&self) -> f64 {
        if self.first > 0 {
            self.direction[0]
        } else {
            0.0
        }
    }
}

/// A Gram matrix in memory. Weights are coefficients a of rows here, and a step solves
/// $(K + D)\,da = Yr + D(Y\beta - a) - \mathbf 1\,dc$ with $\sum_i da_i = -\sum_i a_i$.
pub(super) struct Whole<'a> {
    system: Scaled<'a>,
    intercept: Intercept,
    largest: f64,
    /// $D^{-1/2}$
    roots: Vec<f64>,
    /// $D^{-1}Yr$ of the present right side, and those that join it.
    right: Vec<f64>,
    joining: Option<[Vec<f64>; 2]>,
    /// $(K + D)^{-1}\mathbf 1$
    ones: Vec<f64>,
    /// a, and Yβ
    weights: Vec<f64>,
    signed: Vec<f64>,
    direction: Vec<f64>,
    constant: f64,
}

impl<'a> Whole<'a> {
    pub(super) fn new(gram: &'a dyn Gram, intercept: Intercept, watch: &Watch) -> Result<Self> {
        Ok(Self {
            largest: gram.diagonal().into_iter().fold(0.0, f64::max),
            system: Scaled::new(gram, watch)?,
            intercept,
            roots: Vec::new(),
            right: Vec::new(),
            joining: None,
            ones: Vec::new(),
            weights: vec![0.0; gram.len()],
            signed: Vec::new(),
            direction: Vec::new(),
            constant: 0.0,
        })
    }

    /// $(K + D)^{-1}D\rho = D^{-1/2}(I + D^{-1/2}KD^{-1/2})^{-1}D^{1/2}\rho$
    fn apply(&self, shares: &[f64]) -> Vec<f64> {
        let mut vector: Vec<f64> = shares.iter().zip(&self.roots).map(|(s, r)| s / r).collect();
        self.system.solve(&mut vector);
        vector
            .iter_mut()
            .zip(&self.roots)
            .for_each(|(v, r)| *v *= r);
        vector
    }

    fn solve(&mut self) {
        let mut direction = self.apply(&self.right);
        if self.intercept == Intercept::Fitted {
            let sum: f64 = direction.iter().chain(&self.weights).sum();
            self.constant = sum / self.ones.iter().sum::<f64>();
            let both = direction.iter_mut().zip(&self.ones);
            both.for_each(|(d, one)| *d -= self.constant * one);
        }
        self.direction = direction;
    }
}

impl Curvature for Whole<'_> {
    fn begin(&mut self, step: &Step<'_>, watch: &Watch) -> Result<Option<Norms>> {
        self.roots = step.inverse.iter().map(|d| d.sqrt()).collect();
        if !self.system.factorize(&self.roots, watch)? {
            return Ok(None);
        }
        if self.intercept == Intercept::Fitted {
            self.ones = self.apply(step.inverse);
        }
        self.signed = step.signed.to_vec();
        self.right = (step.right.iter().zip(step.signed).zip(&self.weights))
            .map(|((right, signed), a)| right + (signed - a))
            .collect();
        self.joining = Some([vec![0.0; self.right.len()], vec![0.0; self.right.len()]]);
        self.solve();
        let squared_norm = |system: &Scaled, vector: &[f64]| -> Result<f64> {
            Ok(dot(vector, &system.times(vector, watch)?).max(0.0))
        };
        let apart: Vec<f64> = (self.weights.iter().zip(step.signed))
            .map(|(a, b)| a - b)
            .collect();
        Ok(Some(Norms {
            primal: squared_norm(&self.system, &self.weights)?,
            dual: squared_norm(&self.system, step.signed)?,
            apart: squared_norm(&self.system, &apart)?,
        }))
    }

    fn images(&mut self, work: &mut Images<'_>, watch: &Watch) -> Result<()> {
        let images = self.system.times(&self.direction, watch)?;
        let sides = self.joining.as_mut();
        let sides = sides.map(|[centre, second]| [centre.as_mut_slice(), second.as_mut_slice()]);
        work(0..images.len(), &images, sides);
        Ok(())
    }

    fn correct(&mut self, centring: f64) {
        if let Some([centre, second]) = self.joining.take() {
            for (k, right) in self.right.iter_mut().enumerate() {
                *right += centring * centre[k] + second[k];
            }
        }
        self.solve();
    }

    fn moves(&self) -> Option<Vec<f64>> {
        let moved = self.direction.iter().zip(&self.weights).zip(&self.signed);
        Some(moved.map(|((d, a), b)| d + (a - b)).collect())
    }

    fn advance(&mut self, part: f64) {
        let weights = self.weights.iter_mut().zip(&self.direction);
        weights.for_each(|(w, d)| *w += part * d);
    }

    fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn largest(&self) -> f64 {
        self.largest
    }

    fn constant(&self) -> f64 {
        self.constant
    }
}
