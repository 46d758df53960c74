//! The conditional mean of the features given the cell, estimated on the reference rows.

mod weights;

use faer::{Mat, MatRef};
use oblivio_base::{Points, Result, Watch};
use oblivio_kernels::{Kernel, KernelMatrix};

use self::weights::ReferenceWeights;
use crate::partition::{DesignSums, Partition, SensitiveDesign, Smooth};
use crate::sensitive_free::Root;

/// Reference rows handled at a time where memory is short.
const CHUNK: usize = 256;

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
    estimate: ReferenceWeights,
    /// Whether the features of S are those of a kernel.
    is_kernel: bool,
    shares: Vec<f64>,
    /// $\langle\phi(x_u), \mu_c\rangle$; a mean that was read is asked for other rows, and has none.
    at_reference: Option<Mat<f64>>,
    /// $\langle\mu_c, \mu_{c'}\rangle$
    gram: Mat<f64>,
}

/// What a file keeps of a conditional mean beside the kernel and the reference rows.
pub(crate) struct KeptMean {
    /// The cells of the reference rows; none where the means are a regression.
    pub(crate) cells: Vec<u32>,
    /// How much each reference row has of the mean of its cell; or of every mean, row after row.
    pub(crate) parts: Vec<f64>,
    /// $\langle\mu_c, \mu_{c'}\rangle$, symmetric.
    pub(crate) gram: Mat<f64>,
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
        let (estimate, shares) = ReferenceWeights::cells(cells, weights, mass);
        Self::new(kernel, reference, estimate, shares, watch)
    }

    /// Estimates what the partition says of these reference rows: the means of its cells, or its regression.
    #[doc(hidden)]
    pub fn of(
        kernel: Kernel,
        reference: Points<'static>,
        assignment: &SensitiveDesign,
        weights: &[f64],
        partition: &Partition,
        watch: &Watch,
    ) -> Result<Self> {
        let (estimate, shares) = ReferenceWeights::of(assignment, weights, partition)?;
        let mut mean = Self::new(kernel, reference, estimate, shares, watch)?;
        mean.is_kernel = partition.smooth.as_ref().is_some_and(Smooth::is_kernel);
        Ok(mean)
    }

    /// How much each reference row has of each mean, one mean in each column, and the shares that are taken off the weights.
    #[doc(hidden)]
    pub fn parts(
        assignment: &SensitiveDesign,
        weights: &[f64],
        partition: &Partition,
    ) -> Result<(Mat<f64>, Vec<f64>)> {
        let (estimate, shares) = ReferenceWeights::of(assignment, weights, partition)?;
        Ok((estimate.matrix(shares.len()), shares))
    }

    fn new(
        kernel: Kernel,
        reference: Points<'static>,
        estimate: ReferenceWeights,
        shares: Vec<f64>,
        watch: &Watch,
    ) -> Result<Self> {
        let matrix = KernelMatrix::of(&kernel, &reference);
        let at_reference = estimate.sums(&matrix, shares.len(), watch)?;
        let mut gram = Mat::zeros(shares.len(), shares.len());
        estimate.average(at_reference.as_ref(), 0, &mut gram);
        Ok(Self {
            kernel,
            reference,
            estimate,
            is_kernel: false,
            shares,
            at_reference: Some(at_reference),
            gram: symmetric(&gram),
        })
    }

    /// As [`of`](Self::of), without the inner products with the reference rows, and within so much memory as those of the means take.
    pub(crate) fn frugal(
        kernel: Kernel,
        reference: Points<'static>,
        assignment: &SensitiveDesign,
        weights: &[f64],
        partition: &Partition,
        watch: &Watch,
    ) -> Result<Self> {
        let (estimate, shares) = ReferenceWeights::of(assignment, weights, partition)?;
        let mut gram = Mat::zeros(shares.len(), shares.len());
        for start in (0..reference.len()).step_by(CHUNK) {
            let rows: Vec<usize> = (start..reference.len().min(start + CHUNK)).collect();
            let chunk = reference.select(&rows);
            let matrix = KernelMatrix::between(&kernel, &chunk, &reference)?;
            let at = estimate.sums(&matrix, shares.len(), watch)?;
            estimate.average(at.as_ref(), start, &mut gram);
        }
        Ok(Self {
            kernel,
            reference,
            estimate,
            is_kernel: partition.smooth.as_ref().is_some_and(Smooth::is_kernel),
            shares,
            at_reference: None,
            gram: symmetric(&gram),
        })
    }

    /// What a file keeps.
    pub(crate) fn kept(&self) -> KeptMean {
        let (cells, parts) = self.estimate.kept();
        KeptMean {
            cells,
            parts,
            gram: self.gram.clone(),
        }
    }

    /// A mean that was kept; `None` where the parts do not fit each other, the partition or the reference rows.
    pub(crate) fn of_kept(
        kernel: Kernel,
        reference: Points<'static>,
        kept: KeptMean,
        partition: &Partition,
    ) -> Option<Self> {
        let KeptMean { cells, parts, gram } = kept;
        let kept = (cells, parts);
        let (estimate, shares) = ReferenceWeights::from_kept(kept, reference.len(), partition)?;
        let sides = [gram.nrows(), gram.ncols()];
        (sides == [shares.len(); 2]).then_some(Self {
            kernel,
            reference,
            estimate,
            is_kernel: partition.smooth.as_ref().is_some_and(Smooth::is_kernel),
            shares,
            at_reference: None,
            gram,
        })
    }

    /// The number of cells, or of features of S.
    pub fn len(&self) -> usize {
        self.shares.len()
    }

    /// Whether there is no cell; no estimate is empty.
    pub fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// The same means with a kernel that has the same values between reference rows.
    pub(crate) fn with_kernel(self, kernel: Kernel) -> Self {
        Self { kernel, ..self }
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
    pub(crate) fn root(&self, assignment: &SensitiveDesign, weights: &[f64]) -> Result<Root> {
        let Some(features) = assignment.matrix() else {
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
    pub fn at_reference(&self, watch: &Watch) -> Result<Mat<f64>> {
        match &self.at_reference {
            Some(at) => Ok(at.clone()),
            None => self.at(&self.reference, watch),
        }
    }

    /// $\langle\mu_c, \mu_{c'}\rangle$
    #[doc(hidden)]
    pub fn gram(&self) -> MatRef<'_, f64> {
        self.gram.as_ref()
    }

    /// The means as coefficients of the reference rows, one in each column.
    #[doc(hidden)]
    pub fn directions(&self) -> Mat<f64> {
        self.estimate.matrix(self.len())
    }

    /// $\Delta_p(x_i) = \langle\phi(x_i), \delta_p\rangle$, from [`at`](Self::at); p runs over the cells, then the mixtures.
    #[doc(hidden)]
    pub fn shifts(&self, at: MatRef<'_, f64>, mixtures: &[Vec<f64>]) -> Mat<f64> {
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
    #[doc(hidden)]
    pub fn shift_gram(&self, left: &[Vec<f64>], right: &[Vec<f64>]) -> Mat<f64> {
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
        assignment: &SensitiveDesign,
        strength: f64,
    ) -> Vec<f64> {
        let DesignSums { values, total } = assignment.sum(coefficients);
        let taken: Vec<f64> = values.iter().map(|sum| strength * sum).collect();
        self.expand_cells(&taken, strength * total)
    }

    /// The coefficients on the reference rows of $-\sum_c q_c\mu_c + q\,E_n\phi$; with $q = \sum_c q_c$ that is
    /// $-\sum_c q_c\delta_c$.
    pub(crate) fn expand_cells(&self, taken: &[f64], total: f64) -> Vec<f64> {
        let centred: Vec<f64> = taken
            .iter()
            .zip(&self.shares)
            .map(|(q, share)| q - total * share)
            .collect();
        self.estimate.less(&centred)
    }
}

/// The mean of a matrix and its transpose.
fn symmetric(matrix: &Mat<f64>) -> Mat<f64> {
    let entry = |a: usize, b: usize| 0.5 * (matrix[(a, b)] + matrix[(b, a)]);
    Mat::from_fn(matrix.nrows(), matrix.ncols(), entry)
}
