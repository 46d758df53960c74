//! ψ for events of Z itself: the second half of the paper's Proposition 2.
//!
//! Let A be an event, C an event of W and $c = P(A \triangle C)$ the probability that only one of them holds. For every event B of S
//! $$|P(A \cap B) - P(A)P(B)| \le \max(P(B), 1 - P(B))\,c + |P(C \cap B) - P(C)P(B)|.$$
//! For $U = \chi_A - \chi_C$ is 0 but with probability c, and $|E\,U(\chi_B - P(B))| \le E|U|\max(P(B), 1 - P(B))$. That is attained: by
//! A = B and an empty C. The paper takes the two parts of the covariance one by one, and so has 2c in the place of c: valid, and never
//! less. The second term is what ψ bounds.

use oblivio::Model;
use oblivio_base::{Points, Result, Watch};

use super::certificate::Counts;
use super::change::{RowShifts, along};
use super::event::{median, oblivious_score};
use super::ground::Ground;
use super::psi::{Price, Spectrum, trivial};
use super::report::FeatureEventBound;

/// No more events of W than this are tried for an event of Z.
const MOST_CANDIDATES: usize = 33;

/// The spectra of the sharp form and of the paper's.
pub(super) struct Spectra {
    pub(super) sharp: Spectrum,
    pub(super) papers: Spectrum,
}

/// A score of rows, as a function of W and as one of Z.
struct Pair {
    /// h(W)
    projected: Vec<f64>,
    /// $\langle h, Z\rangle$
    oblivious: Vec<f64>,
}

/// A bound, and the event of W that it is attained with.
#[derive(Clone, Copy)]
struct Best {
    value: f64,
    mismatch: f64,
    threshold: f64,
}

/// The bound for the score of every scorer: the event that $\langle h, Z\rangle$ is at least its median on the reference rows.
///
/// `products` are $\langle h, \mu_c\rangle$ of each scorer. A score that is constant on the reference rows has no event.
pub(super) fn bounds(
    model: &Model,
    (ground, original): (&Ground, &Points),
    shifts: &RowShifts,
    products: &[Vec<f64>],
    spectra: &Spectra,
    watch: &Watch,
) -> Result<Vec<FeatureEventBound>> {
    let mut found = Vec::new();
    for (k, (scorer, products)) in model.scorers.iter().zip(products).enumerate() {
        watch.check()?;
        let strength = scorer.strength();
        let score = |points: &Points, assignment| -> Result<Vec<f64>> {
            let shifts = along(shifts.mean, assignment, products);
            let h = scorer.expansion_at(points, watch)?;
            let pairs = h.iter().zip(shifts);
            Ok(pairs.map(|(h, shift)| h - strength * shift).collect())
        };
        let known = score(shifts.mean.reference(), shifts.assignment)?;
        let Some(threshold) = median(&known) else {
            continue;
        };
        let pair = Pair {
            projected: scorer.expansion_at(&ground.points, watch)?,
            oblivious: score(original, &ground.assignment)?,
        };
        let name = oblivious_score(model, k, threshold);
        found.push(pair.bound(name, threshold, ground, spectra));
    }
    Ok(found)
}

impl Pair {
    fn bound(
        &self,
        event: String,
        threshold: f64,
        ground: &Ground,
        spectra: &Spectra,
    ) -> FeatureEventBound {
        let inside: Vec<bool> = self.oblivious.iter().map(|v| *v >= threshold).collect();
        let cells = ground
            .cells
            .iter()
            .max()
            .map_or(0, |cell| *cell as usize + 1);
        let counts = Counts::of(&inside, &ground.cells, cells);
        let distance = ground.root_mean_square();
        let price = |approximation, norm| Price {
            approximation,
            norm,
        };
        let candidates = self.candidates(&inside);
        let least = |factor: f64, part: &dyn Fn(&[bool]) -> f64| {
            self.least(&inside, &candidates, factor, part)
        };
        let sharp = least(1.0, &|of| {
            let price = price(1.0, distance + ground.left);
            0.5 * spectra.sharp.trade(of, price).value
        });
        let paper =
            |norm: f64| least(2.0, &|of| spectra.papers.trade(of, price(2.0, norm)).value).value;
        FeatureEventBound {
            event,
            share: counts.share(),
            actual: counts.largest(),
            value: sharp.value,
            vacuous: sharp.value >= trivial(counts.share()),
            mismatch: sharp.mismatch,
            projected: sharp.value - sharp.mismatch,
            threshold: sharp.threshold,
            paper_statement: paper(distance),
            paper_proof: paper(2.0 * distance),
        }
    }

    /// Where events of W may begin: at the scores that differ least from A, and at quantiles of h(W).
    ///
    /// The least mismatch comes first, for a bound below the next mismatch ends the search.
    fn candidates(&self, inside: &[bool]) -> Vec<(f64, f64)> {
        let rows = self.projected.len();
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_unstable_by(|&a, &b| self.projected[a].total_cmp(&self.projected[b]));
        // From the least score on, all rows are in C: those outside A do not match.
        let mut wrong = inside.iter().filter(|inside| !**inside).count();
        let mut all: Vec<(f64, f64)> = Vec::new();
        for (place, &row) in order.iter().enumerate() {
            let value = self.projected[row];
            if place == 0 || self.projected[order[place - 1]] < value {
                all.push((wrong as f64 / rows as f64, value));
            }
            if inside[row] {
                wrong += 1;
            } else {
                wrong -= 1;
            }
        }
        let step = all.len().div_ceil(MOST_CANDIDATES - 1).max(1);
        let first = all.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0));
        let mut some: Vec<(f64, f64)> = all.into_iter().step_by(step).chain(first).collect();
        some.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        some.dedup();
        some
    }

    /// The least of `factor` times the mismatch and the bound on the event of W, over the candidates.
    fn least(
        &self,
        inside: &[bool],
        candidates: &[(f64, f64)],
        factor: f64,
        part: &dyn Fn(&[bool]) -> f64,
    ) -> Best {
        debug_assert_eq!(inside.len(), self.projected.len());
        let mut best = Best {
            value: f64::INFINITY,
            mismatch: 1.0,
            threshold: f64::NAN,
        };
        for &(mismatch, threshold) in candidates {
            if factor * mismatch >= best.value {
                break;
            }
            let of: Vec<bool> = self.projected.iter().map(|v| *v >= threshold).collect();
            let value = factor * mismatch + part(&of);
            if value < best.value {
                best = Best {
                    value,
                    mismatch,
                    threshold,
                };
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use oblivio_base::random::{Stream, numbered};

    /// The constants of the proof, on random joint distributions of A, C and B: c is enough, the paper's 2c is more, and no constant
    /// below 1 would do.
    #[test]
    fn an_event_depends_by_no_more_than_its_neighbour_and_their_mismatch() {
        let mut closest = 0.0f64;
        for number in 0..20_000 {
            let mut random = numbered(11, Stream::Simulation, number);
            // The probabilities of the eight combinations of A, C and B: uneven, so that extremes occur.
            let raw: Vec<f64> = (0..8).map(|_| random.random::<f64>().powi(6)).collect();
            let total: f64 = raw.iter().sum();
            let of = |holds: &dyn Fn(usize) -> bool| -> f64 {
                let some = (0..8).filter(|o| holds(*o));
                some.map(|o| raw[o] / total).sum()
            };
            let (a, c, b) = (|o| o & 1 == 1, |o| o & 2 == 2, |o| o & 4 == 4);
            let mismatch = of(&|o| a(o) != c(o));
            let of_b = of(&b);
            let own = of(&|o| a(o) && b(o)) - of(&a) * of_b;
            let neighbour = of(&|o| c(o) && b(o)) - of(&c) * of_b;
            let apart = (own - neighbour).abs();
            assert!(apart <= of_b.max(1.0 - of_b) * mismatch + 1e-12);
            assert!(own.abs() <= mismatch + neighbour.abs() + 1e-12);
            closest = closest.max(apart / mismatch.max(1e-300));
        }
        // 1 is approached where B is rare, and never exceeded.
        assert!((0.9..=1.0 + 1e-12).contains(&closest), "{closest}");
    }

    /// Candidates begin with the least mismatch, and each mismatch is the share of rows in one event only.
    #[test]
    fn candidates_have_their_mismatch() {
        let mut random = numbered(12, Stream::Simulation, 0);
        let oblivious: Vec<f64> = (0..200).map(|_| random.random()).collect();
        let noisy = |v: &f64| (8.0 * (v + 0.2 * random.random::<f64>())).round();
        let projected: Vec<f64> = oblivious.iter().map(noisy).collect();
        let pair = Pair {
            projected,
            oblivious,
        };
        let inside: Vec<bool> = pair.oblivious.iter().map(|v| *v >= 0.5).collect();
        let mismatch = |threshold: f64| {
            let pairs = pair.projected.iter().zip(&inside);
            let wrong = pairs.filter(|(v, inside)| (**v >= threshold) != **inside);
            wrong.count() as f64 / 200.0
        };
        let candidates = pair.candidates(&inside);
        assert!(candidates.len() > 5);
        for (of, threshold) in &candidates {
            assert!((of - mismatch(*threshold)).abs() < 1e-12);
        }
        let least = pair.projected.iter().map(|v| mismatch(*v));
        assert_eq!(candidates[0].0, least.fold(1.0, f64::min));
        assert!(candidates.is_sorted_by(|a, b| a.0 <= b.0));
    }
}
