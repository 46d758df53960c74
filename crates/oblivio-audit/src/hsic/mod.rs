//! The Hilbert–Schmidt independence criterion: how far the joint distribution of two sides is from the product of their
//! own, in the eyes of two kernels.
//!
//! A kernel matrix of low rank (categories, one or two columns of numbers) is held as centred features, and everything
//! follows from their covariance. Only kernels of high rank are compared entry by entry.

mod factor;
mod factors;
mod gamma;
mod matrix;
mod pair;
mod pivots;
mod reading;
mod side;
#[cfg(test)]
mod tests;
mod totals;

use oblivio_base::{Error, Result, Watch};
use serde::{Deserialize, Serialize};

use self::gamma::GammaFit;
use self::pair::{Draws, Pair};
use self::reading::Reading;
pub use self::side::HsicSide;
use self::totals::{Totals, normalized};
use super::{Measure, Measured, Null, Resampling};

/// How HSIC is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HsicSettings {
    /// Up to this many rows the kernels are exact; beyond, points are projected onto the span of landmarks.
    pub exact_rows: usize,
    /// The landmarks of one column of numbers; several columns have four times as many, and categories alone one for
    /// each of the 256 most frequent.
    pub rank: usize,
    /// Draws the landmarks.
    pub seed: u64,
    /// Up to this many rows the level under independence is permuted and the interval resampled; beyond, both are
    /// formulas.
    pub permute_rows: usize,
}

impl Default for HsicSettings {
    fn default() -> Self {
        Self {
            exact_rows: 5000,
            rank: 40,
            seed: 0,
            permute_rows: 20_000,
        }
    }
}

impl HsicSettings {
    /// The moments under independence need as many.
    const FEWEST_ROWS: usize = 6;

    fn landmarks(&self, reading: &Reading) -> usize {
        const CATEGORIES: usize = 256;
        match &reading.points {
            None => CATEGORIES,
            Some(points) if points.dim() == 1 && reading.cells.is_empty() => self.rank.max(1),
            Some(_) => 4 * self.rank.max(1),
        }
    }
}

/// The Hilbert–Schmidt independence criterion of two sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hsic {
    /// $\sum_{ij}p_ip_jA_{ij}B_{ij}$ with p the rows' shares of the weight and A, B the kernel matrices centred in the
    /// weighted mean: $\operatorname{tr}(KHLH)/n^2$ without weights.
    pub biased: f64,
    /// The U-statistic, which is 0 on average under independence. Weights count as repetitions of rows; those that add up
    /// to less than the number of rows are first scaled to it.
    pub unbiased: f64,
    /// The biased value over $\sqrt{HSIC(x, x)\,HSIC(s, s)}$; 0 if a side is constant.
    pub normalized: f64,
    /// The same of unbiased values.
    pub normalized_unbiased: f64,
    /// The tail of the gamma distribution that has the mean and the variance of the biased value over all permutations.
    pub gamma_p_value: f64,
    /// By permutation, where rows were permuted.
    pub permutation_p_value: Option<f64>,
    /// Whether the kernels are exact (to rounding) or projected onto landmarks.
    pub exact: bool,
    /// The normalised value with its level and interval.
    ///
    /// Where rows were permuted, the level is theirs and the interval is the bootstrap's. Elsewhere the level is that of the
    /// gamma distribution, and the interval is normal around the unbiased value. Its variance is that of the rows'
    /// first-order influence plus, for where there is none, the variance under independence.
    pub measured: Measured,
}

/// How much two sides of the same rows depend on each other.
///
/// Where no permutations or no resamples are asked for, formulas take their place.
///
/// ```
/// use oblivio::sensitive::Kind;
/// use oblivio::{Column, Watch};
/// use oblivio_audit::{HsicSettings, HsicSide, Resampling, hsic};
/// let s: Vec<f64> = (0..100).map(|i| f64::from(i) / 50.0 - 1.0).collect();
/// let x = s.iter().map(|s| s * s).collect();
/// let (settings, watch) = (HsicSettings::default(), Watch::default());
/// let side = |values| {
///     let columns = [Column::numbers("", values)];
///     HsicSide::new(&columns, &[Kind::Continuous], None, &settings, &watch)
/// };
/// // Uncorrelated, and yet one is a function of the other.
/// let found = hsic(&side(x)?, &side(s)?, &Resampling::default(), &watch)?;
/// assert_eq!(found.permutation_p_value, Some(0.005));
/// # Ok::<(), oblivio::Error>(())
/// ```
pub fn hsic(x: &HsicSide, s: &HsicSide, resampling: &Resampling, watch: &Watch) -> Result<Hsic> {
    agree(x, s)?;
    let exact = x.is_exact() && s.is_exact();
    if x.rank() == Some(0) || s.rank() == Some(0) {
        return Ok(Hsic::constant(x.len(), exact));
    }
    let pair = Pair::of(x, s, watch)?;
    let totals = pair.totals();
    let own = (totals.own[0] * totals.own[1]).sqrt();
    let value = normalized(totals.cross, totals.own[0], totals.own[1]);
    let repetitions = repetitions(&x.weights);
    let unbiased = totals.unbiased(repetitions);
    let [unbiased_x, unbiased_s] = totals.unbiased_own(repetitions);
    let normalized_unbiased = normalized(unbiased, unbiased_x, unbiased_s);

    let draws = Draws::new(resampling, &x.weights);
    let by_draws = x.len() <= x.settings.permute_rows.min(s.settings.permute_rows);
    let mut measured = by_formula(&totals, value, &x.weights);
    let gamma_p_value = measured.p_value;
    if by_draws && resampling.permutations > 0 {
        let permuted = pair.permuted(&draws, watch)?;
        let permuted = permuted.into_iter().map(|draw| draw / own).collect();
        measured = resampling.measured(Measure::Hsic, value, permuted, vec![value], x.len());
    }
    (measured.lower, measured.upper) = if by_draws && resampling.resamples > 0 {
        resampling.interval(Measure::Hsic, value, pair.resampled(&draws, watch)?)
    } else {
        let influence = first_order(&pair.row_means(watch)?, &totals, &draws.shares);
        let (_, chance) = totals.permutation_moments(effective_rows(&x.weights));
        let deviation = (influence + chance.max(0.0) / (own * own)).sqrt();
        normal_interval(normalized_unbiased, deviation, resampling.confidence)
    };
    let permuted = measured.null == Null::Permutation;
    Ok(Hsic {
        biased: totals.cross,
        unbiased,
        normalized: value,
        normalized_unbiased,
        gamma_p_value,
        permutation_p_value: permuted.then_some(measured.p_value),
        exact,
        measured,
    })
}

/// The value with the level of the gamma distribution, its interval yet to come.
fn by_formula(totals: &Totals, value: f64, weights: &[f64]) -> Measured {
    let rows = effective_rows(weights);
    let own = (totals.own[0] * totals.own[1]).sqrt();
    let (mean, _) = totals.permutation_moments(rows);
    let level = totals.level(rows);
    Measured {
        value,
        expected: mean / own,
        critical: level.map_or(mean, |level| level.exceeded_with(0.05)) / own,
        p_value: level.map_or(1.0, |level| level.tail(totals.cross)),
        lower: value,
        upper: value,
        rows: weights.len(),
        null: Null::Formula,
    }
}

impl Hsic {
    /// What is found where a side is constant: it tells nothing of the other.
    fn constant(rows: usize, exact: bool) -> Self {
        Self {
            biased: 0.0,
            unbiased: 0.0,
            normalized: 0.0,
            normalized_unbiased: 0.0,
            gamma_p_value: 1.0,
            permutation_p_value: None,
            exact,
            measured: Measured {
                value: 0.0,
                expected: 0.0,
                critical: 0.0,
                p_value: 1.0,
                lower: 0.0,
                upper: 0.0,
                rows,
                null: Null::Formula,
            },
        }
    }
}

/// Refuses sides of different rows.
fn agree(x: &HsicSide, s: &HsicSide) -> Result<()> {
    if x.len() != s.len() {
        return Err(Error::Length {
            what: "a side of the comparison",
            found: s.len(),
            needed: x.len(),
        });
    }
    if x.weights == s.weights {
        Ok(())
    } else {
        Err(Error::InvalidParameter {
            name: "the weights of the two sides",
            expected: "the same",
            value: "different ones".into(),
        })
    }
}

/// The rows that the weights repeat: their sum, but no less than the rows that have weight.
fn repetitions(weights: &[f64]) -> f64 {
    let rows = weights.iter().filter(|w| **w > 0.0).count();
    weights.iter().sum::<f64>().max(rows as f64)
}

/// $(\sum w)^2/\sum w^2$, but no fewer than the moments under independence need.
fn effective_rows(weights: &[f64]) -> f64 {
    let sum: f64 = weights.iter().sum();
    let squares: f64 = weights.iter().map(|w| w * w).sum();
    (sum * sum / squares).max(HsicSettings::FEWEST_ROWS as f64)
}

/// The variance of the normalised HSIC to first order: $\sum_ip_i^2\psi_i^2$ with
/// $\psi_i = \hat\theta\,(2(N_i - N)/N - (A_i - A)/A - (B_i - B)/B)$ the influence of row i. N, A and B are HSIC of the two
/// sides and of each with itself; $N_i$, $A_i$ and $B_i$ are the rows' parts, of which they are the means.
fn first_order(row_means: &[[f64; 3]], totals: &Totals, shares: &[f64]) -> f64 {
    let [a, b] = totals.own;
    let own = (a * b).sqrt();
    let influence = |[cross, x, s]: [f64; 3]| {
        let value = totals.cross / own;
        2.0 * (cross - totals.cross) / own - value * ((x - a) / a + (s - b) / b)
    };
    let rows = row_means.iter().zip(shares);
    rows.map(|(means, p)| (p * influence(*means)).powi(2)).sum()
}

fn normal_interval(centre: f64, deviation: f64, confidence: f64) -> (f64, f64) {
    // The square of a standard normal is a gamma variable of mean 1 and variance 2.
    let square = GammaFit::new(1.0, 2.0).map_or(0.0, |g| g.exceeded_with(1.0 - confidence));
    let reach = square.sqrt() * deviation;
    let (least, most) = Measure::Hsic.range();
    let end = |value: f64| value.clamp(least, most);
    (end(centre - reach), end(centre + reach))
}
