//! The conditional mean of the features given the cell, estimated on the reference rows.

use faer::{Mat, MatRef};

use crate::error::Result;
use crate::kernel::{Kernel, KernelMatrix};
use crate::partition::{Assignment, Partition};
use crate::points::Points;
use crate::sensitive_free::Root;
use crate::watch::Watch;

/// $E_n^S\phi$ by cells: the means $\mu_c = E_n(\phi \mid S \in A_c) = \sum_{u : c_u = c} \omega_u\phi(x_u)/N_c$.
///
/// The means live in $\mathcal H$ and are never formed; what can be had is their inner products. Every reference row has a
/// cell, so the overall mean is $E_n\phi = \sum_c p_c\mu_c$ with the shares $p_c = N_c/\sum_c N_c$, and with weights w
/// over the cells ($w = e_c$ for a row of cell c, a mixture where a policy stands in) the **shift** of a row is
/// $$\delta = \sum_c (w_c - p_c)\mu_c.$$
///
/// Where the conditional mean is a regression on features D(s) of S, the shift is $\delta = \sum_a D_a(s)\beta_a$ with
/// $\beta_a = \sum_u A_{au}\phi(x_u)$. It then reads as above with the β for the means, D for the weights and shares of zero.
#[derive(Clone, Debug)]
pub struct ConditionalMean {
    kernel: Kernel,
    reference: Points<'static>,
    estimate: Estimate,
    /// Whether the features of S are those of a kernel.
    is_kernel: bool,
    shares: Vec<f64>,
    /// $\langle\phi(x_u), \mu_c\rangle$
    at_reference: Mat<f64>,
    /// $\langle\mu_c, \mu_{c'}\rangle$
    gram: Mat<f64>,
}

/// How much each reference row has of each mean.
#[derive(Clone, Debug)]
enum Estimate {
    /// It has a part in that of its cell: $\omega_u/N_{c_u}$.
    Cells { cells: Vec<u32>, weights: Vec<f64> },
    /// A, one reference row in each column.
    Smooth(Mat<f64>),
}

impl ConditionalMean {
    /// Estimates the means of `mass.len()` cells; `cells` and `weights` are those of the reference rows.
    pub fn estimate(
        kernel: Kernel,
        reference: Points<'static>,
        cells: Vec<u32>,
        weights: &[f64],
        mass: &[f64],
        watch: &Watch,
    ) -> Result<Self> {
        let total: f64 = mass.iter().sum();
        let weights = weights
            .iter()
            .zip(&cells)
            .map(|(weight, cell)| weight / mass[*cell as usize])
            .collect();
        let shares = mass.iter().map(|m| m / total).collect();
        let estimate = Estimate::Cells { cells, weights };
        Self::new(kernel, reference, estimate, shares, watch)
    }

    /// Estimates what the partition says of these reference rows: the means of its cells, or its regression.
    pub(crate) fn of(
        kernel: Kernel,
        reference: Points<'static>,
        assignment: &Assignment,
        weights: &[f64],
        partition: &Partition,
        watch: &Watch,
    ) -> Result<Self> {
        let (Some(smooth), Some(features)) = (&partition.smooth, &assignment.smooth) else {
            let cells = assignment.cells.clone();
            return Self::estimate(kernel, reference, cells, weights, partition.mass(), watch);
        };
        let estimate = Estimate::Smooth(smooth.weights(features.as_ref(), weights)?);
        let shares = vec![0.0; features.nrows()];
        let mut mean = Self::new(kernel, reference, estimate, shares, watch)?;
        mean.is_kernel = smooth.is_kernel();
        Ok(mean)
    }

    fn new(
        kernel: Kernel,
        reference: Points<'static>,
        estimate: Estimate,
        shares: Vec<f64>,
        watch: &Watch,
    ) -> Result<Self> {
        let mut mean = Self {
            kernel,
            reference,
            estimate,
            is_kernel: false,
            shares,
            at_reference: Mat::new(),
            gram: Mat::new(),
        };
        let matrix = KernelMatrix::of(&mean.kernel, &mean.reference);
        mean.at_reference = mean.estimate.sums(&matrix, mean.len(), watch)?;
        mean.gram = mean.cell_gram();
        Ok(mean)
    }

    /// Averages $\langle\phi(x_u), \mu_c\rangle$ over the cells of the rows u, and over both orders.
    fn cell_gram(&self) -> Mat<f64> {
        let cells = self.len();
        let gram: Mat<f64> = match &self.estimate {
            Estimate::Smooth(rows) => rows * &self.at_reference,
            Estimate::Cells {
                cells: of_rows,
                weights,
            } => {
                let mut gram = Mat::zeros(cells, cells);
                for c in 0..cells {
                    for (u, (cell, weight)) in of_rows.iter().zip(weights).enumerate() {
                        gram[(*cell as usize, c)] += weight * self.at_reference[(u, c)];
                    }
                }
                gram
            }
        };
        Mat::from_fn(cells, cells, |a, b| 0.5 * (gram[(a, b)] + gram[(b, a)]))
    }

    /// The number of cells, or of features of S.
    pub fn len(&self) -> usize {
        self.shares.len()
    }

    /// Whether there is no cell; no estimate is empty.
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The reference rows.
    pub fn reference(&self) -> &Points<'static> {
        &self.reference
    }

    /// The share $p_c$ of each cell.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// The root of the weights of the means: the shares of the cells, or the second moments of the features of S.
    pub(crate) fn root(&self, assignment: &Assignment, weights: &[f64]) -> Result<Root> {
        let Some(features) = &assignment.smooth else {
            return Ok(Root::of_shares(&self.shares));
        };
        let total: f64 = weights.iter().sum();
        let scaled = Mat::from_fn(features.nrows(), features.ncols(), |a, i| {
            features[(a, i)] * weights[i] / total
        });
        Root::of_moments((&scaled * features.transpose()).as_ref(), self.is_kernel)
    }

    /// $\langle\phi(x_i), \mu_c\rangle$ for every point and cell.
    pub fn at(&self, points: &Points, watch: &Watch) -> Result<Mat<f64>> {
        let matrix = KernelMatrix::between(&self.kernel, points, &self.reference)?;
        self.estimate.sums(&matrix, self.len(), watch)
    }

    /// As [`at`](Self::at), for the reference rows themselves.
    pub fn at_reference(&self) -> MatRef<'_, f64> {
        self.at_reference.as_ref()
    }

    /// $\langle\mu_c, \mu_{c'}\rangle$
    pub(crate) fn gram(&self) -> MatRef<'_, f64> {
        self.gram.as_ref()
    }

    /// The means as coefficients of the reference rows, one in each column.
    pub(crate) fn directions(&self) -> Mat<f64> {
        let (rows, count) = (self.reference.len(), self.len());
        match &self.estimate {
            Estimate::Cells { cells, weights } => {
                let mut directions = Mat::zeros(rows, count);
                for (u, (cell, weight)) in cells.iter().zip(weights).enumerate() {
                    directions[(u, *cell as usize)] = *weight;
                }
                directions
            }
            Estimate::Smooth(weights) => weights.transpose().to_owned(),
        }
    }

    /// $\Delta_p(x_i) = \langle\phi(x_i), \delta_p\rangle$, from [`at`](Self::at); p runs over the cells, then the mixtures.
    pub(crate) fn shifts(&self, at: MatRef<'_, f64>, mixtures: &[Vec<f64>]) -> Mat<f64> {
        let overall: Vec<f64> = (0..at.nrows())
            .map(|i| (0..self.len()).map(|c| self.shares[c] * at[(i, c)]).sum())
            .collect();
        Mat::from_fn(at.nrows(), self.len() + mixtures.len(), |i, p| {
            let mean: f64 = match p.checked_sub(self.len()) {
                None => at[(i, p)],
                Some(k) => (0..self.len()).map(|c| mixtures[k][c] * at[(i, c)]).sum(),
            };
            mean - overall[i]
        })
    }

    /// $G_{pq} = \langle\delta_p, \delta_q\rangle$ between the cells and mixtures of two assignments.
    pub(crate) fn shift_gram(&self, left: &[Vec<f64>], right: &[Vec<f64>]) -> Mat<f64> {
        let half = self.shifts_at_means(right);
        self.shifts(half.transpose(), left).transpose().to_owned()
    }

    /// $\langle\mu_c, \delta_p\rangle$, p running over the cells, then the mixtures.
    pub(crate) fn shifts_at_means(&self, mixtures: &[Vec<f64>]) -> Mat<f64> {
        self.shifts(self.gram.as_ref(), mixtures)
    }

    /// The coefficients on the reference rows of $-t\sum_i \alpha_i\delta_i$.
    pub(crate) fn expand(
        &self,
        coefficients: &[f64],
        assignment: &Assignment,
        strength: f64,
    ) -> Vec<f64> {
        let mut by_cell = vec![0.0; self.len()];
        if let Some(features) = &assignment.smooth {
            for (i, alpha) in coefficients.iter().enumerate() {
                let row = features.col_as_slice(i);
                by_cell
                    .iter_mut()
                    .zip(row)
                    .for_each(|(sum, d)| *sum += alpha * d);
            }
        } else {
            for (alpha, cell) in coefficients.iter().zip(&assignment.cells) {
                match (*cell as usize).checked_sub(self.len()) {
                    None => by_cell[*cell as usize] += alpha,
                    Some(k) => {
                        for (sum, weight) in by_cell.iter_mut().zip(&assignment.mixtures[k]) {
                            *sum += alpha * weight;
                        }
                    }
                }
            }
        }
        let taken: Vec<f64> = by_cell.iter().map(|sum| strength * sum).collect();
        self.expand_cells(&taken, strength * coefficients.iter().sum::<f64>())
    }

    /// The coefficients on the reference rows of $-\sum_c q_c\mu_c + q\,E_n\phi$; with $q = \sum_c q_c$ that is
    /// $-\sum_c q_c\delta_c$.
    pub(crate) fn expand_cells(&self, taken: &[f64], total: f64) -> Vec<f64> {
        let centred: Vec<f64> = taken
            .iter()
            .zip(&self.shares)
            .map(|(q, share)| q - total * share)
            .collect();
        match &self.estimate {
            Estimate::Cells { cells, weights } => cells
                .iter()
                .zip(weights)
                .map(|(cell, weight)| -centred[*cell as usize] * weight)
                .collect(),
            Estimate::Smooth(rows) => rows
                .col_iter()
                .map(|row| row.iter().zip(&centred).map(|(a, q)| -a * q).sum())
                .collect(),
        }
    }
}

impl Estimate {
    /// $\langle\phi(x_i), \mu_c\rangle$ from the kernel of points and reference rows.
    fn sums(&self, matrix: &KernelMatrix, count: usize, watch: &Watch) -> Result<Mat<f64>> {
        match self {
            Self::Cells { cells, weights } => matrix.grouped_sums(weights, cells, count, watch),
            Self::Smooth(rows) => matrix.times_matrix(rows.transpose(), watch),
        }
    }
}
