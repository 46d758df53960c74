//! The bound ψ on the dependence of W and S, and the function f that it is attained with.
//!
//! Let r be the size $\|E^S Z - E Z\|_2$ of what is left of the means, 0 for the paper's Z. For every event A of W, every event B of S,
//! every f in $\mathcal H$ and every constant c, with norms in L²,
//! $$|P(A \cap B) - P(A)P(B)| \le \sqrt{P(B)(1 - P(B))}\,\bigl(\|\chi_A - f(W) - c\| + \|f\|(\|Z - \phi(W)\| + r)\bigr).$$
//! The left side is the covariance of $\chi_A$ and $\chi_B$, and
//! $\chi_A = (\chi_A - f(W) - c) + \langle f, \phi(W) - Z\rangle + \langle f, Z\rangle + c$. The covariance of the first two with $\chi_B$ is at most their
//! norm times the standard deviation of $\chi_B$; that of the third is one of $\langle f, E^S Z - E Z\rangle$, at most $\|f\|r$ times it.
//! W need not be the nearest point: the bound holds for any.

use faer::{Mat, MatRef, Side};
use oblivio_base::{Error, Result};

/// Whether a constant may be taken off what is left to approximate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// As in the sharp form.
    Any,
    /// As in the paper's.
    None,
}

/// The eigenvalues and eigenvectors of the kernel of W, from which every f follows.
///
/// With the weights p of the points, they are those of $M = D^{1/2}KD^{1/2}$, $D = \operatorname{diag} p$, and of the same with the
/// features less their mean where a constant may be taken off.
#[derive(Clone, Debug)]
pub struct Spectrum {
    values: Vec<f64>,
    vectors: Mat<f64>,
    weights: Vec<f64>,
    constant: Constant,
}

/// What the two parts of a bound are multiplied by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Of $\|\chi_A - f(W) - c\|$.
    pub approximation: f64,
    /// Of $\|f\|$.
    pub norm: f64,
}

/// The best f at a price, and its two parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trade {
    /// The least value of both parts together, each times its price.
    pub value: f64,
    /// $\|\chi_A - f(W) - c\|$
    pub approximation: f64,
    /// $\|f\|$
    pub norm: f64,
    /// The penalty of the ridge regression that f is; `None` for f = 0.
    pub penalty: Option<f64>,
}

/// Penalties that are tried before the best is refined, as powers of ten beside the largest eigenvalue.
const POWERS: (f64, f64) = (-11.0, 5.0);
const GRID: usize = 128;
/// Steps of the golden section: the last interval is 1e-12 of the first.
const STEPS: usize = 58;

impl Spectrum {
    /// Of points with this kernel matrix and these weights, which sum to 1.
    pub fn of(kernel: MatRef<'_, f64>, weights: &[f64], constant: Constant) -> Result<Self> {
        let rows = weights.len();
        if kernel.nrows() != rows || kernel.ncols() != rows {
            return Err(Error::Length {
                what: "the kernel matrix",
                found: kernel.nrows(),
                needed: rows,
            });
        }
        let means: Vec<f64> = match constant {
            Constant::None => vec![0.0; rows],
            Constant::Any => (0..rows)
                .map(|j| (0..rows).map(|i| weights[i] * kernel[(i, j)]).sum())
                .collect(),
        };
        let all: f64 = means.iter().zip(weights).map(|(m, w)| m * w).sum();
        let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        let matrix = Mat::from_fn(rows, rows, |i, j| {
            roots[i] * roots[j] * (kernel[(i, j)] - means[i] - means[j] + all)
        });
        let overflow = Error::Overflow {
            what: "the kernel of the projected rows",
        };
        if (0..rows).any(|i| !matrix[(i, i)].is_finite()) {
            return Err(overflow);
        }
        let eigen = matrix
            .as_ref()
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| overflow)?;
        let values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
        // Directions of no size but rounding hold no function.
        let floor = rows as f64 * f64::EPSILON * values.iter().fold(0.0f64, |a, b| a.max(*b));
        let floored = |v: &f64| if *v > floor { *v } else { 0.0 };
        Ok(Self {
            values: values.iter().map(floored).collect(),
            vectors: eigen.U().to_owned(),
            weights: weights.to_vec(),
            constant,
        })
    }

    /// The coordinates of $D^{1/2}(\chi_A - c)$, c = P(A) being best for f = 0 and any f of mean 0.
    fn coordinates(&self, event: &[bool]) -> Vec<f64> {
        let centre = match self.constant {
            Constant::Any => share(event, &self.weights),
            Constant::None => 0.0,
        };
        let target: Vec<f64> = event
            .iter()
            .zip(&self.weights)
            .map(|(inside, w)| w.sqrt() * (f64::from(u8::from(*inside)) - centre))
            .collect();
        let columns = self.vectors.col_iter();
        columns
            .map(|v| v.iter().zip(&target).map(|(a, b)| a * b).sum())
            .collect()
    }

    /// $\inf_f\,\{a\|\chi_A - f(W) - c\| + b\|f\|\}$ for the event that holds where `event` is true.
    ///
    /// The best f of every norm is a ridge regression: with coordinates z of the event and eigenvalues s, its parts are
    /// $\bigl(\sum_k z_k^2\lambda^2/(s_k + \lambda)^2\bigr)^{1/2}$ and $\bigl(\sum_k z_k^2s_k/(s_k + \lambda)^2\bigr)^{1/2}$. They trace a convex
    /// curve, so one search over λ finds the least value. Every λ gives a valid bound.
    pub fn trade(&self, event: &[bool], price: Price) -> Trade {
        let coordinates = self.coordinates(event);
        let size = coordinates.iter().map(|z| z * z).sum::<f64>().sqrt();
        let nothing = Trade {
            value: price.approximation * size,
            approximation: size,
            norm: 0.0,
            penalty: None,
        };
        let largest = self.values.iter().fold(0.0f64, |a, b| a.max(*b));
        if largest == 0.0 || size == 0.0 {
            return nothing;
        }
        let at = |power: f64| self.at(&coordinates, price, largest * 10f64.powf(power));
        let step = (POWERS.1 - POWERS.0) / GRID as f64;
        let powers = (0..=GRID).map(|k| POWERS.0 + step * k as f64);
        let least = |a: (f64, Trade), b: (f64, Trade)| if b.1.value < a.1.value { b } else { a };
        let first = (POWERS.0, at(POWERS.0));
        let (near, mut best) = powers.map(|p| (p, at(p))).fold(first, least);
        let (mut low, mut high) = (near - step, near + step);
        let golden = 0.5 * (5f64.sqrt() - 1.0);
        for _ in 0..STEPS {
            let (left, right) = (high - golden * (high - low), low + golden * (high - low));
            let (a, b) = (at(left), at(right));
            let nearer = if a.value < b.value { a } else { b };
            if a.value < b.value {
                high = right;
            } else {
                low = left;
            }
            if nearer.value < best.value {
                best = nearer;
            }
        }
        if best.value < nothing.value {
            best
        } else {
            nothing
        }
    }

    fn at(&self, coordinates: &[f64], price: Price, penalty: f64) -> Trade {
        let (mut left, mut norm) = (0.0, 0.0);
        for (z, s) in coordinates.iter().zip(&self.values) {
            let part = z / (s + penalty);
            left += (part * penalty).powi(2);
            norm += s * part * part;
        }
        let (approximation, norm) = (left.sqrt(), norm.sqrt());
        Trade {
            value: price.approximation * approximation + price.norm * norm,
            approximation,
            norm,
            penalty: Some(penalty),
        }
    }

    /// The coefficients a of $f = \sum_i a_i\phi(w_i)$ at this penalty.
    pub fn coefficients(&self, event: &[bool], penalty: f64) -> Vec<f64> {
        let coordinates = self.coordinates(event);
        let mut all = vec![0.0; self.weights.len()];
        for ((z, s), vector) in coordinates
            .iter()
            .zip(&self.values)
            .zip(self.vectors.col_iter())
        {
            if *s > 0.0 {
                let part = z / (s + penalty);
                all.iter_mut()
                    .zip(vector.iter())
                    .for_each(|(a, v)| *a += part * v);
            }
        }
        let roots = self.weights.iter().map(|w| w.sqrt());
        all.iter_mut().zip(roots).for_each(|(a, root)| *a *= root);
        if self.constant == Constant::Any {
            // f is one of features less their mean.
            let total: f64 = all.iter().sum();
            let weights = self.weights.iter();
            all.iter_mut()
                .zip(weights)
                .for_each(|(a, w)| *a -= w * total);
        }
        all
    }
}

/// P(A)
pub(crate) fn share(event: &[bool], weights: &[f64]) -> f64 {
    let inside = event.iter().zip(weights).filter(|(inside, _)| **inside);
    inside.map(|(_, w)| w).sum()
}

/// What $|P(A \cap B) - P(A)P(B)|$ is at most for any B, whatever A and B have to do with each other: $P(A)(1 - P(A)) \le ¼$.
pub fn trivial(share: f64) -> f64 {
    share * (1.0 - share)
}

/// The same for a B of this probability: $P(A \cap B)$ is at most the smaller of both, and at least $P(A) + P(B) - 1$ and 0.
pub fn trivial_for(share: f64, other: f64) -> f64 {
    let product = share * other;
    let above = share.min(other) - product;
    let below = product - (share + other - 1.0).max(0.0);
    above.max(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel() -> Mat<f64> {
        let at = |i: usize| (i as f64 * 1.7).sin() * 2.0;
        Mat::from_fn(30, 30, |i, j| (-(at(i) - at(j)).powi(2)).exp())
    }

    /// The same convex problem by its own optimality: the best penalty is λ = b‖χ − f − c‖/(a‖f‖), found by iteration.
    #[test]
    fn the_search_agrees_with_direct_minimisation() {
        let weights = vec![1.0 / 30.0; 30];
        let event: Vec<bool> = (0..30).map(|i| i % 3 == 0 || i > 24).collect();
        for constant in [Constant::Any, Constant::None] {
            let spectrum = Spectrum::of(kernel().as_ref(), &weights, constant).unwrap();
            let coordinates = spectrum.coordinates(&event);
            for norm in [0.001, 0.01, 0.03] {
                let price = Price {
                    approximation: 1.0,
                    norm,
                };
                let found = spectrum.trade(&event, price);
                let mut penalty = 1.0;
                for _ in 0..100_000 {
                    let here = spectrum.at(&coordinates, price, penalty);
                    penalty = norm * here.approximation / here.norm;
                }
                let direct = spectrum.at(&coordinates, price, penalty);
                assert!(
                    (found.value - direct.value).abs() < 1e-9,
                    "{found:?} {direct:?}"
                );
                assert!(found.value <= direct.value + 1e-12);
            }
            // A norm that costs too much is none.
            let dear = Price {
                approximation: 1.0,
                norm: 100.0,
            };
            assert_eq!(spectrum.trade(&event, dear).penalty, None);
        }
    }

    #[test]
    fn the_parts_are_those_of_the_function() {
        let event: Vec<bool> = (0..30).map(|i| i % 4 == 0).collect();
        let raw: Vec<f64> = (0..30).map(|i| 1.0 + f64::from(i % 5)).collect();
        let total: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|w| w / total).collect();
        let kernel = kernel();
        for constant in [Constant::Any, Constant::None] {
            let spectrum = Spectrum::of(kernel.as_ref(), &weights, constant).unwrap();
            let price = Price {
                approximation: 1.0,
                norm: 0.01,
            };
            let trade = spectrum.trade(&event, price);
            let a = spectrum.coefficients(&event, trade.penalty.unwrap());
            let f: Vec<f64> = (0..30)
                .map(|i| (0..30).map(|j| kernel[(i, j)] * a[j]).sum())
                .collect();
            let norm: f64 = f.iter().zip(&a).map(|(f, a)| f * a).sum::<f64>().sqrt();
            assert!((norm - trade.norm).abs() < 1e-9);
            let residual = |i: usize| f64::from(u8::from(event[i])) - f[i];
            let c: f64 = match constant {
                Constant::Any => (0..30).map(|i| weights[i] * residual(i)).sum(),
                Constant::None => 0.0,
            };
            let left: f64 = (0..30)
                .map(|i| weights[i] * (residual(i) - c).powi(2))
                .sum();
            assert!((left.sqrt() - trade.approximation).abs() < 1e-9);
        }
    }

    #[test]
    fn trivial_bounds_are_attained() {
        assert_eq!(trivial(0.5), 0.25);
        assert!((trivial_for(0.2, 0.2) - 0.16).abs() < 1e-15);
        assert!((trivial_for(0.2, 0.8) - 0.16).abs() < 1e-15);
        assert!((trivial_for(0.2, 0.5) - 0.1).abs() < 1e-15);
    }
}
