//! Scores that need no sensitive value: h is kept away from the directions in which the cells differ.
//!
//! With the shifts $\delta_c$ of the cells and their shares $p_c$, the mean score of cell c differs from that of all by
//! $\langle h, \delta_c\rangle$. The oblivious modes take this off with the help of S; here h is learned so that it is
//! zero ([`Restraint::Hard`]) or small, and nothing needs to be taken off. For one binary S and the means of the positive rows
//! this is fair empirical risk minimisation (Donini et al., 2018); with a penalty it is fair kernel learning
//! (Pérez-Suay et al., 2017).

use faer::{Col, Mat, MatRef, Side};
use oblivio_base::{Error, Named, Result};

/// The rows whose mean scores are to be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parity {
    /// All reference rows: demographic parity of the mean score.
    #[default]
    Demographic,
    /// The reference rows of the positive class: equal opportunity of the mean score.
    Opportunity,
}

impl Named for Parity {
    const WHAT: &'static str = "parity";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("demographic-parity", Self::Demographic),
        ("equal-opportunity", Self::Opportunity),
    ];
}

/// How firmly h is kept away from the directions in which the cells differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Restraint {
    /// $\langle h, \delta_c\rangle = 0$; at strength t < 1 the part of the features in these directions is scaled by 1 − t.
    #[default]
    Hard,
    /// The penalty $\eta\sum_c p_c\langle h, \delta_c\rangle^2$ beside $\lambda\|h\|^2$.
    Soft(f64),
    /// $|\langle h, \delta_c\rangle| \le \varepsilon$ for every cell; for support vector machines.
    Slack(f64),
}

impl Restraint {
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Self::Soft(eta) if !(eta > 0.0 && eta.is_finite()) => Err(Error::InvalidParameter {
                name: "eta",
                expected: "a positive finite number",
                value: eta.to_string(),
            }),
            Self::Slack(epsilon) if !(epsilon > 0.0 && epsilon.is_finite()) => {
                Err(Error::InvalidParameter {
                    name: "epsilon",
                    expected: "a positive finite number",
                    value: epsilon.to_string(),
                })
            }
            _ => Ok(()),
        }
    }
}

/// Directions of the shifts of cells below this share of the largest count as none.
const FLOOR: f64 = 1e-12;
/// The same for a regression on kernel features of S, most of whose directions are noise.
const SMOOTH_FLOOR: f64 = 1e-3;

/// A root r of the weights of shifts, $P = rr^\top$.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    matrix: Mat<f64>,
    floor: f64,
}

/// The map $R = M^{-1/2}$ with $M = I + \frac\eta\lambda\sum_c p_c\delta_c\delta_c^\top$, or its limit: learning on $R\phi$ without
/// constraint is learning on φ with it.
///
/// With a root $P = rr^\top$ of the weights ($r = \operatorname{diag}\sqrt{p_c}$ for cells), the eigenvectors $v_k$ and values $s_k$ of
/// $r^\top\langle\delta_c, \delta_{c'}\rangle r$, the directions $q_k = \sum_{cj}r_{cj}v_{jk}\delta_c/\sqrt{s_k}$ are orthonormal, and $R = I - \sum_k(1 - r_k)q_kq_k^\top$ with
/// $r_k = 1 - t$, or $(1 + \frac\eta\lambda s_k)^{-1/2}$ for a penalty.
#[derive(Clone, Debug)]
pub(crate) struct Removal {
    /// $\sum_j r_{cj}v_{jk}/\sqrt{s_k}$: from inner products with shifts to those with directions.
    directions: Mat<f64>,
    /// $r_k$
    kept: Vec<f64>,
}

impl Removal {
    /// From the inner products of the shifts and their weights $P = rr^\top$: the shares of the cells on the diagonal, or the
    /// second moments of the features of S.
    pub(crate) fn new(
        gram: MatRef<'_, f64>,
        root: &Root,
        restraint: Restraint,
        (strength, penalty): (f64, f64),
    ) -> Result<Self> {
        let Root {
            matrix: root,
            floor,
        } = root;
        let cells = root.ncols();
        let half = root.transpose() * gram * root;
        let weighted = Mat::from_fn(cells, cells, |a, b| 0.5 * (half[(a, b)] + half[(b, a)]));
        let overflow = Error::Overflow {
            what: "the inner products of the shifts",
        };
        if (0..cells).any(|c| !weighted[(c, c)].is_finite()) {
            return Err(overflow);
        }
        let eigen = weighted
            .as_ref()
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| overflow)?;
        let values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
        let floor = floor * values.iter().fold(0.0f64, |a, b| a.max(*b));
        let used: Vec<usize> = (0..cells).filter(|&k| values[k] > floor).collect();
        let unit = Mat::from_fn(cells, used.len(), |c, k| {
            eigen.U()[(c, used[k])] / values[used[k]].sqrt()
        });
        let directions = root * &unit;
        let kept = |k: &usize| match restraint {
            Restraint::Hard => 1.0 - strength,
            Restraint::Soft(eta) => (1.0 + eta / penalty * values[*k]).sqrt().recip(),
            Restraint::Slack(_) => 1.0,
        };
        Ok(Self {
            directions,
            kept: used.iter().map(kept).collect(),
        })
    }

    /// C with $\langle R\phi_i, R\phi_j\rangle = k(x_i, x_j) - \langle C_i, C_j\rangle$, one column for each row of the inner products
    /// of points and shifts: $C = \operatorname{diag}(\sqrt{1 - r_k^2})\,q^\top\phi$.
    pub(crate) fn less(&self, shifts: MatRef<'_, f64>) -> Mat<f64> {
        let mut less = self.directions.transpose() * shifts.transpose();
        for (k, r) in self.kept.iter().enumerate() {
            let scale = (1.0 - r * r).max(0.0).sqrt();
            less.row_mut(k).iter_mut().for_each(|v| *v *= scale);
        }
        less
    }

    /// C with $\langle R\phi_i, R\phi_j\rangle = k(x_i, x_j) + \langle\Delta_i, C\Delta_j\rangle$ for the inner products Δ of points and shifts.
    pub(crate) fn correction(&self) -> Mat<f64> {
        let scaled = Mat::from_fn(self.directions.nrows(), self.kept.len(), |c, k| {
            self.directions[(c, k)] * (self.kept[k] * self.kept[k] - 1.0)
        });
        &scaled * self.directions.transpose()
    }

    /// The q with $R^2\sum_i\alpha_i\phi_i = \sum_i\alpha_i\phi_i - \sum_c q_c\delta_c$.
    pub(crate) fn taken(&self, shifts: MatRef<'_, f64>, coefficients: &[f64]) -> Vec<f64> {
        let alpha = Col::from_fn(coefficients.len(), |i| coefficients[i]);
        let mut along = self.directions.transpose() * (shifts.transpose() * &alpha);
        for (v, r) in along.iter_mut().zip(&self.kept) {
            *v *= 1.0 - r * r;
        }
        (&self.directions * &along).iter().copied().collect()
    }

    /// R itself, for shifts given as explicit features (one in each column).
    pub(crate) fn matrix(&self, shifts: MatRef<'_, f64>) -> Mat<f64> {
        let unit = shifts * &self.directions;
        let scaled = Mat::from_fn(unit.nrows(), unit.ncols(), |i, k| {
            unit[(i, k)] * (1.0 - self.kept[k])
        });
        let mut matrix = &scaled * unit.transpose();
        let size = matrix.nrows();
        for j in 0..size {
            for i in 0..size {
                matrix[(i, j)] = f64::from(u8::from(i == j)) - matrix[(i, j)];
            }
        }
        matrix
    }
}

impl Root {
    /// That of the shares of cells.
    pub(crate) fn of_shares(shares: &[f64]) -> Self {
        let matrix = Mat::from_fn(shares.len(), shares.len(), |a, b| {
            if a == b { shares[a].sqrt() } else { 0.0 }
        });
        Self {
            matrix,
            floor: FLOOR,
        }
    }

    /// That of the second moments of features of S.
    /// Of those of a kernel most are noise.
    pub(crate) fn of_moments(moments: MatRef<'_, f64>, kernel: bool) -> Result<Self> {
        let eigen = moments
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| Error::Overflow {
                what: "the second moments of the sensitive features",
            })?;
        let values = eigen.S().column_vector();
        let matrix = Mat::from_fn(moments.nrows(), moments.ncols(), |a, k| {
            eigen.U()[(a, k)] * values[k].max(0.0).sqrt()
        });
        Ok(Self {
            matrix,
            floor: if kernel { SMOOTH_FLOOR } else { FLOOR },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oblivio_base::random;
    use rand::RngExt;

    fn features(rows: usize, columns: usize, seed: u64) -> Mat<f64> {
        let mut random = random::generator(seed, random::Stream::Simulation);
        Mat::from_fn(rows, columns, |_, _| random.random::<f64>() - 0.5)
    }

    /// $\|A - B\|$ over the largest entry of B.
    fn distance(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
        (a - b).norm_max() / b.norm_max()
    }

    #[test]
    fn the_root_the_kernel_and_the_coefficients_are_one_map() {
        let (points, shifts) = (features(5, 9, 1), features(5, 3, 2));
        let shares = [0.2, 0.5, 0.3];
        let gram = shifts.transpose() * &shifts;
        for (restraint, strength) in [
            (Restraint::Hard, 1.0),
            (Restraint::Hard, 0.4),
            (Restraint::Soft(3.0), 1.0),
        ] {
            let root = Root::of_shares(&shares);
            let removal = Removal::new(gram.as_ref(), &root, restraint, (strength, 0.7)).unwrap();
            let root = removal.matrix(shifts.as_ref());
            if let Restraint::Soft(eta) = restraint {
                let penalty = Mat::from_fn(5, 5, |i, j| {
                    let both = |c: usize| shares[c] * shifts[(i, c)] * shifts[(j, c)];
                    f64::from(u8::from(i == j)) + eta / 0.7 * (0..3).map(both).sum::<f64>()
                });
                let identity = &root * &penalty * &root;
                assert!(distance(identity.as_ref(), Mat::identity(5, 5).as_ref()) < 1e-12);
            } else if strength == 1.0 {
                assert!((&root * &shifts).norm_max() < 1e-12);
            }
            let turned = &root * &points;
            let at = points.transpose() * &shifts;
            let less = removal.less(at.as_ref());
            let kernel = points.transpose() * &points - less.transpose() * &less;
            assert!(distance(kernel.as_ref(), (turned.transpose() * &turned).as_ref()) < 1e-12);
            let alpha: Vec<f64> = (0..9).map(|i| f64::from(i) - 4.0).collect();
            let column = Col::from_fn(9, |i| alpha[i]);
            let taken = removal.taken(at.as_ref(), &alpha);
            let expansion = &points * &column - &shifts * Col::from_fn(3, |c| taken[c]);
            let direct = &root * (&turned * &column);
            assert!((expansion - direct).norm_max() < 1e-12);
        }
    }
}
