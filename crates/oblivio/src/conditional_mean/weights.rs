//! The means of a conditional mean as weights of the reference rows.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use oblivio_base::{Result, Watch};
use oblivio_kernels::KernelMatrix;

use crate::partition::{Partition, SensitiveDesign};

/// How much each reference row has of each mean.
#[derive(Clone, Debug)]
pub(super) enum ReferenceWeights {
    /// It has a part in that of its cell: $\omega_u/N_{c_u}$.
    Cells { cells: Vec<u32>, weights: Vec<f64> },
    /// A, one reference row in each column.
    Smooth(Mat<f64>),
}

impl ReferenceWeights {
    /// What the partition says of these reference rows, and the shares of the means.
    pub(super) fn of(
        assignment: &SensitiveDesign,
        weights: &[f64],
        partition: &Partition,
    ) -> Result<(Self, Vec<f64>)> {
        let (Some(smooth), Some(features)) = (&partition.smooth, assignment.matrix()) else {
            let cells = assignment.codes().to_vec();
            return Ok(Self::cells(cells, weights, partition.mass()));
        };
        let estimate = Self::Smooth(smooth.weights(features.as_ref(), weights)?);
        Ok((estimate, vec![0.0; features.nrows()]))
    }

    pub(super) fn cells(cells: Vec<u32>, weights: &[f64], mass: &[f64]) -> (Self, Vec<f64>) {
        let total: f64 = mass.iter().sum();
        let pairs = weights.iter().zip(&cells);
        let weights = pairs.map(|(weight, cell)| weight / mass[*cell as usize]);
        let weights = weights.collect();
        let shares = mass.iter().map(|m| m / total).collect();
        (Self::Cells { cells, weights }, shares)
    }

    /// One reference row in each row, one of `count` means in each column.
    pub(super) fn matrix(&self, count: usize) -> Mat<f64> {
        match self {
            Self::Cells { cells, weights } => {
                let mut matrix = Mat::zeros(cells.len(), count);
                for (u, (cell, weight)) in cells.iter().zip(weights).enumerate() {
                    matrix[(u, *cell as usize)] = *weight;
                }
                matrix
            }
            Self::Smooth(rows) => rows.transpose().to_owned(),
        }
    }

    /// Adds to the inner products of means what these rows of $\langle\phi(x_u), \mu_c\rangle$ have a part in, the first being reference
    /// row `start`.
    pub(super) fn average(&self, at: MatRef<'_, f64>, start: usize, gram: &mut Mat<f64>) {
        let rows = at.nrows();
        match self {
            Self::Smooth(parts) => {
                let own = parts.subcols(start, rows);
                matmul(
                    gram.as_mut(),
                    Accum::Add,
                    own,
                    at,
                    1.0,
                    Par::rayon(rayon::current_num_threads()),
                );
            }
            Self::Cells { cells, weights } => {
                let own = || cells[start..start + rows].iter().zip(&weights[start..]);
                for c in 0..at.ncols() {
                    for (u, (cell, weight)) in own().enumerate() {
                        gram[(*cell as usize, c)] += weight * at[(u, c)];
                    }
                }
            }
        }
    }

    /// $\langle\phi(x_i), \mu_c\rangle$ from the kernel of points and reference rows.
    pub(super) fn sums(
        &self,
        matrix: &KernelMatrix,
        count: usize,
        watch: &Watch,
    ) -> Result<Mat<f64>> {
        match self {
            Self::Cells { cells, weights } => matrix.grouped_sums(weights, cells, count, watch),
            Self::Smooth(rows) => matrix.times_matrix(rows.transpose(), watch),
        }
    }

    /// What a file keeps: the cells of the reference rows, none for a regression, and the weights, row after row.
    pub(super) fn kept(&self) -> (Vec<u32>, Vec<f64>) {
        match self {
            Self::Cells { cells, weights } => (cells.clone(), weights.clone()),
            Self::Smooth(rows) => {
                let rows = (0..rows.ncols()).flat_map(|u| rows.col_as_slice(u).to_vec());
                (Vec::new(), rows.collect())
            }
        }
    }

    /// What a file kept of `rows` reference rows, and the shares of the means; `None` where it does not fit the partition.
    pub(super) fn from_kept(
        (cells, parts): (Vec<u32>, Vec<f64>),
        rows: usize,
        partition: &Partition,
    ) -> Option<(Self, Vec<f64>)> {
        let Some(smooth) = &partition.smooth else {
            let (_, shares) = Self::cells(Vec::new(), &[], partition.mass());
            let known = |cell: &u32| (*cell as usize) < shares.len();
            let fits = cells.len() == rows && parts.len() == rows && cells.iter().all(known);
            let weights = parts;
            return Some((fits.then_some(Self::Cells { cells, weights })?, shares));
        };
        let count = smooth.len();
        (cells.is_empty() && count.checked_mul(rows) == Some(parts.len())).then_some(())?;
        let parts = MatRef::from_column_major_slice(&parts, count, rows).to_owned();
        Some((Self::Smooth(parts), vec![0.0; count]))
    }

    /// The coefficients on the reference rows of $-\sum_c q_c\mu_c$.
    pub(super) fn less(&self, q: &[f64]) -> Vec<f64> {
        match self {
            Self::Cells { cells, weights } => {
                let rows = cells.iter().zip(weights);
                rows.map(|(cell, weight)| -q[*cell as usize] * weight)
                    .collect()
            }
            Self::Smooth(rows) => rows
                .col_iter()
                .map(|row| row.iter().zip(q).map(|(a, q)| -a * q).sum())
                .collect(),
        }
    }
}
