//! h*, by which oblivious features are translated before their distance to the manifold is measured (paper, section 4).

use faer::MatRef;
use oblivio::ConditionalMean;
use oblivio::partition::SensitiveDesign;
use oblivio_base::{Result, Watch};
use oblivio_kernels::KernelMatrix;

use super::change::along;

/// $h^* = u\,E_n\phi$: a multiple of the mean feature of the reference rows.
///
/// The paper's Proposition 2 holds for every h*. Its Z of section 5 contains $E\phi$ already, so that u = 0 suits it.
pub(super) struct Translation {
    /// The coefficients of h* on the reference rows.
    pub(super) coefficients: Vec<f64>,
    /// $\langle h^*, \mu_c\rangle$ of every cell, or $\langle h^*, \beta_a\rangle$.
    products: Vec<f64>,
    /// $\|h^*\|^2$
    square: f64,
}

impl Translation {
    /// The translation by this multiple of the mean feature; none for the multiple 0.
    pub(super) fn new(factor: f64, mean: &ConditionalMean, watch: &Watch) -> Result<Option<Self>> {
        if factor == 0.0 {
            return Ok(None);
        }
        let reference = mean.reference();
        let coefficients = vec![factor / reference.len() as f64; reference.len()];
        let at = mean.at_reference(watch)?;
        let product = |values: &[f64]| -> f64 {
            let pairs = values.iter().zip(&coefficients);
            pairs.map(|(v, c)| v * c).sum()
        };
        let products = (0..at.ncols()).map(|a| product(at.col_as_slice(a)));
        let star = MatRef::from_column_major_slice(&coefficients, coefficients.len(), 1);
        let at_star =
            KernelMatrix::of(mean.kernel(), reference).times_matrix(star.as_ref(), watch)?;
        Ok(Some(Self {
            products: products.collect(),
            square: product(at_star.col_as_slice(0)).max(0.0),
            coefficients,
        }))
    }

    /// $\|h^*\|$
    pub(super) fn norm(&self) -> f64 {
        self.square.sqrt()
    }

    /// $\|Z + h^* - \phi(X)\| = \|h^* - t\delta\|$ of rows whose shifts have these lengths.
    pub(super) fn distances(
        &self,
        strength: f64,
        norms: &[f64],
        mean: &ConditionalMean,
        assignment: &SensitiveDesign,
    ) -> Vec<f64> {
        let along = along(mean, assignment, &self.products);
        let pairs = norms.iter().zip(along);
        let squares = pairs
            .map(|(norm, along)| (strength * norm).powi(2) - 2.0 * strength * along + self.square);
        squares.map(|square| square.max(0.0).sqrt()).collect()
    }
}
