//! Ridge regression on explicit features, from their second moments.

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Col, Mat, MatMut, MatRef, Par, Side};
use oblivio_base::{Error, Result, Watch};

use super::equations::NormalEquations;
use super::ridge::{Intercept, Ridge};
use super::system::{Convergence, Factor, System};
use crate::gram::dot;

/// What ridge regression on features found.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// w
    pub weights: Vec<f64>,
    /// The constant; zero unless it was asked for.
    pub intercept: f64,
    /// Root mean squared error on the rows of the moments.
    pub error: f64,
    /// How the system was solved.
    pub convergence: Convergence,
}

/// One penalty of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathPoint {
    /// λ
    pub penalty: f64,
    /// Generalised cross-validation: $W\,\mathrm{RSS}/(W - \mathrm{df})^2$ with $\mathrm{df} = \operatorname{tr}(S(S + \lambda I)^{-1})$, and one
    /// more with an intercept.
    pub gcv: f64,
    /// Root mean squared error on the rows of the moments.
    pub error: f64,
}

/// What a row does to its own fitted value: the factor of $S + \lambda I$, and the mean where there is an intercept.
pub struct Influence {
    factor: Factor,
    /// Features' mean and the share of one unit of weight, with an intercept.
    centre: Option<(Vec<f64>, f64)>,
}

impl Ridge {
    /// $w = (S + \lambda I)^{-1}r$ with $S = \sum w zz^\top$ and $r = \sum w zy$; about the means where there is an intercept,
    /// which is then $\bar y - \langle w, \bar z\rangle$.
    pub fn solve_design(&self, design: &NormalEquations, watch: &Watch) -> Result<Linear> {
        Ok(self.solve_with_influence(design, watch)?.0)
    }

    /// The same, and what each row does to its own fitted value.
    pub fn solve_with_influence(
        &self,
        design: &NormalEquations,
        watch: &Watch,
    ) -> Result<(Linear, Influence)> {
        let (mut gram, cross, target) = self.normal(design);
        let symmetric = gram.clone();
        gram.add_diagonal(|_| self.penalty());
        let factor = System::new(gram, self.penalty()).factorize(watch)?;
        let (mut solved, convergence) = factor.solve(std::slice::from_ref(&cross));
        let weights = solved.pop().unwrap_or_default();
        if weights.iter().any(|w| !w.is_finite()) {
            return Err(Error::Overflow {
                what: "a coefficient",
            });
        }
        let (means, target_mean) = design.means();
        let fitted = self.intercept() == Intercept::Fitted;
        let intercept = if fitted {
            target_mean - dot(&weights, &means)
        } else {
            0.0
        };
        let quadratic = symmetric.quadratic(&weights);
        let residual = target - 2.0 * dot(&weights, &cross) + quadratic;
        let linear = Linear {
            error: (residual.max(0.0) / design.weight()).sqrt(),
            weights,
            intercept,
            convergence,
        };
        let centre = fitted.then(|| (means, 1.0 / design.weight()));
        Ok((linear, Influence { factor, centre }))
    }

    /// The errors of every penalty, from one eigendecomposition.
    ///
    /// Each comes with its weights w.
    pub fn path(
        &self,
        design: &NormalEquations,
        penalties: &[f64],
    ) -> Result<Vec<(PathPoint, Vec<f64>)>> {
        let (gram, cross, target) = self.normal(design);
        let eigen = gram
            .as_mat()
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| Error::Overflow {
                what: "the decomposition of the second moments",
            })?;
        let values: Vec<f64> = eigen
            .S()
            .column_vector()
            .iter()
            .map(|v| v.max(0.0))
            .collect();
        let cross = Col::from_fn(cross.len(), |k| cross[k]);
        let turned = eigen.U().transpose() * &cross;
        let weight = design.weight();
        let one = f64::from(u8::from(self.intercept() == Intercept::Fitted));
        let point = |&penalty: &f64| {
            Self::new(penalty, self.solver())?;
            let mut residual = target;
            let mut freedom = one;
            let mut shrunken = Col::zeros(values.len());
            for (k, (value, q)) in values.iter().zip(turned.iter()).enumerate() {
                let shrunk = q / (value + penalty);
                shrunken[k] = shrunk;
                residual -= 2.0 * q * shrunk - value * shrunk * shrunk;
                freedom += value / (value + penalty);
            }
            let residual = residual.max(0.0);
            let weights = eigen.U() * &shrunken;
            let point = PathPoint {
                penalty,
                gcv: weight * residual / (weight - freedom).powi(2),
                error: (residual / weight).sqrt(),
            };
            Ok((point, weights.iter().copied().collect()))
        };
        penalties.iter().map(point).collect()
    }

    fn normal(&self, design: &NormalEquations) -> (crate::kernel::Lower, Vec<f64>, f64) {
        match self.intercept() {
            Intercept::Fitted => design.centred(),
            Intercept::None => design.about_zero(),
        }
    }
}

impl Influence {
    /// $L^{-1}R$ for the map R from kernel columns to features, and $L^{-1}\bar z$: with $v = L^{-1}(Rk - \bar z)$ the leverage of
    /// a row is $\|v\|^2$ (plus 1/W).
    pub fn of_map(&self, root: MatRef<'_, f64>) -> (Mat<f64>, Vec<f64>, f64) {
        let mut map = root.to_owned();
        let solve = |matrix: MatMut<'_, f64>| {
            let threads = Par::rayon(rayon::current_num_threads());
            solve_lower_triangular_in_place(self.factor.lower(), matrix, threads);
        };
        solve(map.as_mut());
        let (mut centre, share) = match &self.centre {
            Some((mean, share)) => (mean.clone(), *share),
            None => (vec![0.0; map.nrows()], 0.0),
        };
        let rows = centre.len();
        solve(MatMut::from_column_major_slice_mut(&mut centre, rows, 1));
        (map, centre, share)
    }
}
