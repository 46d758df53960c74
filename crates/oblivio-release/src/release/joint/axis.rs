//! The alignment of one number of each row given S, by few coefficients that are held back where rows are few.

use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};

/// Knots of the distribution of all rows.
const KNOTS: usize = 128;
/// Rows that a knot stands for, at least.
const ROWS_PER_KNOT: usize = 4;
/// M: the moments of a rank given S. The first is its mean, the second its spread, then skewness and the weight of the tails.
pub(super) const MOMENTS: usize = 4;
/// What noise alone would give a coefficient is taken off it this many times: a weak one becomes zero.
const CAUTION: f64 = 3.0;
/// A density given S is at least one less this; a larger deviation is scaled down.
const MOST: f64 = 0.9;
/// Places at which a density is looked at.
const GRID: usize = 33;

/// An alignment of a number t: from its rank u among all rows to its rank given S,
/// $F(u \mid s) = u + \sum_{jm} D_j(s)\,\beta_{jm}\int_0^u\ell_m$, and back to the number of that rank among all rows.
///
/// $\ell_m$ are the Legendre polynomials that are orthonormal on \[0, 1\], so that $\beta_{jm} = E(D_j\,\ell_m(u))$ where the
/// features D of S are orthonormal, and each estimate of it has the variance $1/n$ if t does not depend on S. Positive-part
/// shrinkage of the M coefficients of a feature leaves those that chance alone could give at zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Axis {
    /// Quantiles of all rows at the ranks $(k + \tfrac12)/K$.
    pub(super) knots: Vec<f64>,
    /// β on the features of S as the partition gives them, the M of each feature together.
    pub(super) on: Vec<f64>,
}

/// Features of S with mean square one that are uncorrelated over the reference rows, and what makes them of the partition's own.
pub(super) struct Orthonormal {
    /// From the partition's features to these, a column for each of these.
    pub(super) from: Mat<f64>,
    /// One row of the table in each column.
    pub(super) rows: Mat<f64>,
}

/// Rows that teach an axis, as places among the rows of [`Orthonormal`], with their weights.
#[derive(Clone, Copy)]
pub(super) struct Taught<'a> {
    pub(super) rows: &'a [usize],
    pub(super) weights: &'a [f64],
}

impl Axis {
    /// Learns from the numbers of rows, listed as the features are. None where S is not seen to matter.
    pub(super) fn fit(numbers: &[f64], given: &Orthonormal, taught: Taught) -> Option<Self> {
        let Taught { rows, weights } = taught;
        let knots = knots(numbers, taught)?;
        let width = given.rows.nrows();
        let mut sums = vec![0.0; width * MOMENTS];
        let (mut total, mut squares) = (0.0, 0.0);
        for &row in rows {
            let (weight, moments) = (weights[row], legendre(rank(&knots, numbers[row])));
            total += weight;
            squares += weight * weight;
            for (own, d) in sums
                .chunks_exact_mut(MOMENTS)
                .zip(given.rows.col_as_slice(row))
            {
                for (sum, moment) in own.iter_mut().zip(moments) {
                    *sum += weight * d * moment;
                }
            }
        }
        // The rows that equal weights would need for the same precision.
        let count = total * total / squares;
        let mut seen = false;
        for own in sums.chunks_exact_mut(MOMENTS) {
            for sum in own.iter_mut() {
                *sum /= total;
            }
            let strength = count * own.iter().map(|b| b * b).sum::<f64>();
            let kept = (1.0 - CAUTION * MOMENTS as f64 / strength).max(0.0);
            seen |= kept > 0.0;
            for sum in own {
                *sum *= kept;
            }
        }
        seen.then(|| Self {
            on: carried(given.from.as_ref(), &sums),
            knots,
        })
    }

    /// The aligned number of a row with these features of S.
    ///
    /// A number beyond the outermost knots stays, and so does the order of any two numbers between them with the same S.
    pub(super) fn apply(&self, number: f64, given: &[f64]) -> f64 {
        let (Some(first), Some(last)) = (self.knots.first(), self.knots.last()) else {
            return number;
        };
        if !(*first..=*last).contains(&number) {
            return number;
        }
        let mut on = [0.0; MOMENTS];
        for (own, d) in self.on.chunks_exact(MOMENTS).zip(given) {
            if *d != 0.0 {
                on.iter_mut().zip(own).for_each(|(sum, b)| *sum += d * b);
            }
        }
        let u = rank(&self.knots, number);
        let moved = held_back(&on) * inner(&on, &integrals(u));
        value(&self.knots, (u + moved).clamp(0.0, 1.0))
    }

    /// Whether it can have come from a fit with `width` features of S.
    pub(super) fn fits(&self, width: usize) -> bool {
        !self.knots.is_empty()
            && self.knots.iter().all(|knot| knot.is_finite())
            && self.knots.is_sorted()
            && self.on.len() == width * MOMENTS
            && self.on.iter().all(|b| b.is_finite())
    }
}

/// Coefficients on the partition's own features, of those on orthonormal ones.
fn carried(from: MatRef<f64>, on: &[f64]) -> Vec<f64> {
    let mut own = vec![0.0; from.nrows() * MOMENTS];
    for (j, b) in on.chunks_exact(MOMENTS).enumerate() {
        if b.iter().all(|b| *b == 0.0) {
            continue;
        }
        for (own, share) in own.chunks_exact_mut(MOMENTS).zip(from.col(j).iter()) {
            own.iter_mut().zip(b).for_each(|(own, b)| *own += share * b);
        }
    }
    own
}

/// The share of a deviation that leaves the density positive.
fn held_back(on: &[f64; MOMENTS]) -> f64 {
    let largest: f64 = (1..).zip(on).map(|(m, b)| b.abs() * norm(m)).sum();
    if largest <= MOST {
        return 1.0;
    }
    let below = (0..GRID).map(|k| -inner(on, &legendre(k as f64 / (GRID - 1) as f64)));
    let worst = below.fold(0.0, f64::max);
    if worst > MOST { MOST / worst } else { 1.0 }
}

fn inner(a: &[f64; MOMENTS], b: &[f64; MOMENTS]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// $\sqrt{2m + 1}$, the value of $\ell_m$ at 1.
fn norm(m: usize) -> f64 {
    ((2 * m + 1) as f64).sqrt()
}

/// $P_0, \dots, P_{M+1}$ at $2u - 1$.
fn polynomials(u: f64) -> [f64; MOMENTS + 2] {
    let x = 2.0 * u - 1.0;
    let mut p = [1.0; MOMENTS + 2];
    p[1] = x;
    for m in 1..=MOMENTS {
        let k = m as f64;
        p[m + 1] = ((2.0 * k + 1.0) * x * p[m] - k * p[m - 1]) / (k + 1.0);
    }
    p
}

/// $\ell_m(u) = \sqrt{2m + 1}\,P_m(2u - 1)$ for m from 1.
fn legendre(u: f64) -> [f64; MOMENTS] {
    let p = polynomials(u);
    std::array::from_fn(|m| norm(m + 1) * p[m + 1])
}

/// $\int_0^u\ell_m = (P_{m+1} - P_{m-1})/(2\sqrt{2m + 1})$ for m from 1.
fn integrals(u: f64) -> [f64; MOMENTS] {
    let p = polynomials(u);
    std::array::from_fn(|m| (p[m + 2] - p[m]) / (2.0 * norm(m + 1)))
}

/// Quantiles of the numbers of the rows that teach; none if these are too few.
fn knots(numbers: &[f64], Taught { rows, weights }: Taught) -> Option<Vec<f64>> {
    let count = KNOTS.min(rows.len() / ROWS_PER_KNOT);
    if count < 2 {
        return None;
    }
    let mut sorted: Vec<(f64, f64)> = rows.iter().map(|&i| (numbers[i], weights[i])).collect();
    sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    let mut knots = Vec::with_capacity(count);
    let mut upto = 0.0;
    for (number, weight) in sorted {
        upto += weight;
        while knots.len() < count && (knots.len() as f64 + 0.5) / count as f64 * total <= upto {
            knots.push(number);
        }
    }
    (knots.first() < knots.last()).then_some(knots)
}

/// The rank of a number on the broken line through the knots.
fn rank(knots: &[f64], number: f64) -> f64 {
    let count = knots.len() as f64;
    let next = knots.partition_point(|knot| *knot <= number);
    if next == 0 {
        return 0.5 / count;
    }
    if next == knots.len() {
        return 1.0 - 0.5 / count;
    }
    let (low, high) = (knots[next - 1], knots[next]);
    (next as f64 - 0.5 + (number - low) / (high - low)) / count
}

/// The number of a rank on the broken line through the knots.
fn value(knots: &[f64], rank: f64) -> f64 {
    let last = knots.len() - 1;
    let at = (rank * knots.len() as f64 - 0.5).clamp(0.0, last as f64);
    let below = (at as usize).min(last);
    let above = (below + 1).min(last);
    knots[below] + (at - below as f64) * (knots[above] - knots[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups of equal size as features of mean square one.
    fn groups(rows: usize) -> Orthonormal {
        Orthonormal {
            from: Mat::from_fn(1, 1, |_, _| 1.0),
            rows: Mat::from_fn(1, rows, |_, i| if i.is_multiple_of(2) { 1.0 } else { -1.0 }),
        }
    }

    fn fit(numbers: &[f64]) -> Option<Axis> {
        let rows: Vec<usize> = (0..numbers.len()).collect();
        let weights = vec![1.0; numbers.len()];
        let (rows, weights) = (&rows[..], &weights[..]);
        Axis::fit(numbers, &groups(numbers.len()), Taught { rows, weights })
    }

    #[test]
    fn polynomials_are_orthonormal_and_integrals_are_theirs() {
        let places = 20_000;
        let at = |k: usize| (k as f64 + 0.5) / f64::from(places);
        for a in 0..MOMENTS {
            for b in 0..MOMENTS {
                let product = |k| legendre(at(k))[a] * legendre(at(k))[b];
                let mean = (0..places as usize).map(product).sum::<f64>() / f64::from(places);
                assert!((mean - f64::from(u8::from(a == b))).abs() < 1e-6);
            }
            let half: f64 = (0..places as usize / 2).map(|k| legendre(at(k))[a]).sum();
            assert!((half / f64::from(places) - integrals(0.5)[a]).abs() < 1e-6);
            assert!(integrals(1.0)[a].abs() < 1e-12 && integrals(0.0)[a].abs() < 1e-12);
        }
    }

    #[test]
    fn a_shift_between_groups_is_taken_out_and_order_is_kept() {
        // Ranks 0..1000 of both groups, one of them half a standard deviation higher.
        let numbers: Vec<f64> = (0..2000)
            .map(|i| f64::from(i / 2) + if i % 2 == 0 { 150.0 } else { 0.0 })
            .collect();
        let axis = fit(&numbers).unwrap();
        let sign = |i: usize| [if i.is_multiple_of(2) { 1.0 } else { -1.0 }];
        let aligned: Vec<f64> = (0..2000)
            .map(|i| axis.apply(numbers[i], &sign(i)))
            .collect();
        let mean = |values: &[f64], group: usize| {
            values.iter().skip(group).step_by(2).sum::<f64>() / 1000.0
        };
        let gap = |values: &[f64]| mean(values, 0) - mean(values, 1);
        assert!((gap(&numbers) - 150.0).abs() < 1e-9);
        // A shift of bounded numbers is not exactly a sum of four polynomials: a tenth of it may stay. Shrinkage keeps back another
        // share, 3·4/(nβ²) with β = √12 times half the gap of the ranks, which are uniform on 1150 numbers.
        let beta = 12.0f64.sqrt() * 75.0 / 1150.0;
        let held_back = CAUTION * MOMENTS as f64 / (2000.0 * beta * beta);
        let most = 150.0 * (0.1 + held_back);
        assert!(gap(&aligned).abs() < most, "{}", gap(&aligned));
        for group in 0..2 {
            let own: Vec<f64> = aligned.iter().skip(group).step_by(2).copied().collect();
            assert!(own.is_sorted());
        }
    }

    #[test]
    fn what_does_not_depend_on_s_has_no_axis() {
        let numbers: Vec<f64> = (0..2000).map(|i| f64::from(i / 2)).collect();
        assert_eq!(fit(&numbers), None);
        assert_eq!(fit(&[1.0; 100]), None);
        assert_eq!(fit(&[1.0, 2.0]), None);
    }

    #[test]
    fn an_extreme_coefficient_does_not_turn_numbers_round() {
        let axis = Axis {
            knots: (0..128).map(f64::from).collect(),
            on: vec![5.0, -7.0, 3.0, 9.0],
        };
        let aligned: Vec<f64> = (0..1270)
            .map(|k| axis.apply(f64::from(k) / 10.0, &[2.0]))
            .collect();
        assert!(aligned.is_sorted());
        assert!(aligned.iter().all(|v| (0.0..=127.0).contains(v)));
    }
}
