//! Oblivious features $Z = \phi(X) - t\,(E_n^S\phi(X) - E_n\phi(X))$ (paper, section 6.3; the strength t is ours).
//!
//! A feature is never formed. Within one cell the correction is a constant of $\mathcal H$, the shift $\delta_c$, so
//! $$\langle Z, Z'\rangle = k(x, x') - t\,\Delta_{c'}(x) - t\,\Delta_c(x') + t^2 G_{cc'},
//! \quad \Delta_c(x) = \langle\phi(x), \delta_c\rangle,\ G_{cc'} = \langle\delta_c, \delta_{c'}\rangle.$$
//! These four terms are the nine of Algorithm 1, collected (with its sign mended).

use faer::{Mat, MatRef};
use oblivio_base::choice::check_strength;
use oblivio_base::{Points, Result, Watch};
use oblivio_kernels::{KernelMatrix, Lower};

use crate::conditional_mean::ConditionalMean;
pub use crate::partition::Shifts;
use crate::partition::{Correction, SensitiveDesign, Side};

/// Maps points and their cells to oblivious features, as far as inner products go.
///
/// At t = 1 and on the reference rows, the mean of ⟨h, Z⟩ over a cell is the same for all cells, for every fixed h in
/// $\mathcal H$. That is not independence: other properties of ⟨h, Z⟩, such as its spread, can still depend on the cell.
#[derive(Clone, Debug)]
pub struct ObliviousMap {
    mean: ConditionalMean,
    strength: f64,
}

/// Elements of $\mathcal H$ that [`ObliviousMap::inner`] understands.
#[derive(Clone, Copy, Debug)]
pub enum Features<'a> {
    /// $\phi(x_i)$
    Plain(&'a Points<'a>),
    /// $Z_i = \phi(x_i) - t\,\delta_{c_i}$
    Oblivious(&'a Points<'a>, &'a SensitiveDesign),
}

impl<'a> Features<'a> {
    fn points(self) -> &'a Points<'a> {
        match self {
            Self::Plain(points) | Self::Oblivious(points, _) => points,
        }
    }

    fn assignment(self) -> Option<&'a SensitiveDesign> {
        match self {
            Self::Plain(_) => None,
            Self::Oblivious(_, assignment) => Some(assignment),
        }
    }
}

impl ObliviousMap {
    /// A map of strength t in [0, 1]: 0 is the plain feature map, 1 the paper's.
    pub fn new(mean: ConditionalMean, strength: f64) -> Result<Self> {
        check_strength(strength)?;
        Ok(Self { mean, strength })
    }

    /// The conditional mean.
    pub fn mean(&self) -> &ConditionalMean {
        &self.mean
    }

    /// t
    pub fn strength(&self) -> f64 {
        self.strength
    }

    /// The inner products $\langle a_i, b_j\rangle$, column after column.
    ///
    /// Plain with plain is the kernel matrix, oblivious with oblivious the paper's $\mathcal O$, and the mixed case is
    /// what M-Oblivious prediction amounts to.
    pub fn inner(&self, a: Features, b: Features, watch: &Watch) -> Result<Vec<f64>> {
        let matrix = KernelMatrix::between(self.mean.kernel(), a.points(), b.points())?;
        let correction = self.correction(a, b, watch)?;
        matrix.corrected(&|span, tile| correction.apply(span, tile), watch)
    }

    /// The inner products of points and shifts, from those of points and means.
    pub fn shifts(&self, at: MatRef<'_, f64>, assignment: &SensitiveDesign) -> Shifts {
        let mixtures = assignment.mixtures();
        Shifts {
            at: self.mean.shifts(at, mixtures),
            gram: self.mean.shift_gram(mixtures, mixtures),
        }
    }

    /// The lower triangle of $\langle Z_i, Z_j\rangle$, in one pass over `out`.
    ///
    /// Rows sorted by cell make it fastest; the order does not change the result.
    pub fn gram_into(
        &self,
        points: &Points,
        assignment: &SensitiveDesign,
        shifts: &Shifts,
        out: &mut Lower,
        watch: &Watch,
    ) -> Result<()> {
        let correction = self.symmetric_correction(assignment, shifts);
        KernelMatrix::of(self.mean.kernel(), points).lower(
            out,
            &|span, tile| correction.apply(span, tile),
            watch,
        )
    }

    /// The whole matrix $\langle Z_i, Z_j\rangle$.
    pub fn gram(
        &self,
        points: &Points,
        assignment: &SensitiveDesign,
        watch: &Watch,
    ) -> Result<Vec<f64>> {
        let shifts = self.shifts(self.mean.at(points, watch)?.as_ref(), assignment);
        let mut lower = Lower::new(points.len())?;
        self.gram_into(points, assignment, &shifts, &mut lower, watch)?;
        lower.mirrored(watch)
    }

    pub(crate) fn symmetric_correction(
        &self,
        assignment: &SensitiveDesign,
        shifts: &Shifts,
    ) -> Correction {
        let side = Side {
            at: Some(&shifts.at),
            design: Some(assignment),
        };
        Correction::between(side, side, Some(&shifts.gram), self.strength)
    }

    fn correction(&self, a: Features, b: Features, watch: &Watch) -> Result<Correction> {
        // Inner products of the points of one side are needed if the other is oblivious.
        let at = |of: Features, other: Features| match other.assignment() {
            None => Ok(None),
            Some(other) => {
                let at = self.mean.at(of.points(), watch)?;
                Ok(Some(self.mean.shifts(at.as_ref(), other.mixtures())))
            }
        };
        let (at_a, at_b): (Option<Mat<f64>>, _) = (at(a, b)?, at(b, a)?);
        let both = a.assignment().zip(b.assignment());
        let gram = both.map(|(a, b)| self.mean.shift_gram(a.mixtures(), b.mixtures()));
        let a = Side {
            at: at_a.as_ref(),
            design: a.assignment(),
        };
        let b = Side {
            at: at_b.as_ref(),
            design: b.assignment(),
        };
        Ok(Correction::between(a, b, gram.as_ref(), self.strength))
    }
}
