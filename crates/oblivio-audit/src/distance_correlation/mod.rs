//! The distance correlation of two columns of numbers: zero only if they are independent.

mod pairs;
mod tail;
#[cfg(test)]
mod tests;

use oblivio_base::points::check_weights;
use oblivio_base::{Error, Result, Watch, random};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::pairs::{Moments, Pairs};
use self::tail::chi_square_tail;
use super::measure::{Measure, Measured, Null};
use super::resampling::{Resampling, quantile};

/// The distance correlation of two columns, in its two forms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DistanceCorrelation {
    /// From doubly centred distances: between 0 and 1, and above 0 on any sample.
    pub biased: f64,
    /// The square, from U-centred distances: near 0, and as often negative as not, where nothing depends.
    pub unbiased: f64,
    /// The biased one with its level and interval.
    pub measured: Measured,
}

/// The most rows that are shuffled and drawn again all together; beyond, a sample of [`SAMPLE`] of them.
const MOST_ROWS: usize = 50_000;
/// The rows of that sample.
const SAMPLE: usize = 20_000;
/// U-centring divides by N − 3.
const FEWEST_ROWS: usize = 4;

/// The distance correlation of `x` and `s`, in O(n log n).
///
/// Weights are repetitions: whole weights give what as many equal rows would; those that add up to less than the number of
/// rows are first scaled to it. Rows of weight zero are left out.
///
/// Up to 50 000 rows the level under independence comes from shuffles of `s` against `x`, and the interval from drawing all
/// rows again. Beyond, the value is still that of all rows; the p-value is that of Shen, Panda and Vogelstein (2022),
/// $P(\chi^2_1 \ge nC + 1)$ with C the unbiased form and n the effective rows; and since the distance correlation of
/// independent columns, as any deviation of it from its limit, shrinks as $1/\sqrt n$, the rest comes from a seeded sample of
/// m = 20 000 rows: its mean and critical level after shuffles times $\sqrt{m/n}$, and its deviations when drawn again,
/// likewise.
///
/// ```
/// use oblivio::Watch;
/// use oblivio_audit::{Resampling, distance_correlation};
/// let x: Vec<f64> = (-20..=20).map(f64::from).collect();
/// let s: Vec<f64> = x.iter().map(|x| x * x).collect();
/// let found = distance_correlation(&x, &s, None, &Resampling::default(), &Watch::default())?;
/// assert!(found.biased > 0.4 && found.measured.p_value < 0.01);
/// # Ok::<(), oblivio::Error>(())
/// ```
pub fn distance_correlation(
    x: &[f64],
    s: &[f64],
    weights: Option<&[f64]>,
    resampling: &Resampling,
    watch: &Watch,
) -> Result<DistanceCorrelation> {
    resampling.check()?;
    let columns = Columns::new(x, s, weights)?;
    let rows = columns.weights.len();
    if constant(&columns.x) || constant(&columns.s) {
        return Ok(nothing(rows));
    }
    let pairs = Pairs::new(&columns.x, &columns.s);
    let moments = pairs.moments(&columns.weights, None);
    let measured = if rows <= MOST_ROWS {
        let (permuted, resampled) = draws(&pairs, &columns.weights, resampling, watch)?;
        let value = moments.biased();
        resampling.measured(MEASURE, value, permuted, resampled, rows)
    } else {
        sampled(&columns, &moments, resampling, watch)?
    };
    Ok(DistanceCorrelation {
        biased: measured.value,
        unbiased: moments.unbiased(columns.weights.iter().sum()),
        measured,
    })
}

const MEASURE: Measure = Measure::DistanceCorrelation;

/// Two columns of the rows that have a weight.
struct Columns {
    x: Vec<f64>,
    s: Vec<f64>,
    weights: Vec<f64>,
}

impl Columns {
    fn new(x: &[f64], s: &[f64], weights: Option<&[f64]>) -> Result<Self> {
        if s.len() != x.len() {
            return Err(Error::Length {
                what: "the sensitive column",
                found: s.len(),
                needed: x.len(),
            });
        }
        finite(x, "the score")?;
        finite(s, "the sensitive column")?;
        let ones = vec![1.0; x.len()];
        let weights = weights.unwrap_or(&ones);
        check_weights(weights, x.len())?;
        let rows: Vec<usize> = (0..x.len()).filter(|&i| weights[i] > 0.0).collect();
        let of = |values: &[f64]| rows.iter().map(|&i| values[i]).collect::<Vec<f64>>();
        let columns = Self {
            x: of(x),
            s: of(s),
            weights: of(weights),
        };
        columns.enough()?;
        let total: f64 = columns.weights.iter().sum();
        let scale = (rows.len() as f64 / total).max(1.0);
        let weights = columns.weights.iter().map(|weight| weight * scale);
        Ok(Self {
            weights: weights.collect(),
            ..columns
        })
    }

    fn enough(&self) -> Result<()> {
        if self.weights.len() < FEWEST_ROWS {
            Err(Error::TooFewRows {
                what: "a distance correlation",
                found: self.weights.len(),
                needed: FEWEST_ROWS,
            })
        } else {
            Ok(())
        }
    }

    fn select(&self, rows: &[usize]) -> Self {
        let of = |values: &[f64]| rows.iter().map(|&i| values[i]).collect::<Vec<f64>>();
        Self {
            x: of(&self.x),
            s: of(&self.s),
            weights: of(&self.weights),
        }
    }

    /// $(\sum w)^2/\sum w^2$
    fn effective_rows(&self) -> f64 {
        let total: f64 = self.weights.iter().sum();
        total * total / self.weights.iter().map(|w| w * w).sum::<f64>()
    }
}

/// The biased form after every shuffle, and on every sample drawn with replacement.
///
/// Neither needs a new order of the columns: a shuffle moves places, and a sample is a weight for each row.
fn draws(
    pairs: &Pairs,
    weights: &[f64],
    resampling: &Resampling,
    watch: &Watch,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let rows = pairs.len();
    watch.begin(
        "distance correlation",
        resampling.permutations + resampling.resamples,
    )?;
    let done = |moments: Moments| {
        watch.advance();
        watch.check()?;
        Ok(moments.biased())
    };
    let permuted = (0..resampling.permutations).into_par_iter().map(|number| {
        let order = resampling.permutation(number, rows);
        done(pairs.moments(weights, Some(&order)))
    });
    let permuted = permuted.collect::<Result<_>>()?;
    let resampled = (0..resampling.resamples).into_par_iter().map(|number| {
        let mut counts = resampling.counts(number, rows);
        for (count, weight) in counts.iter_mut().zip(weights) {
            *count *= weight;
        }
        done(pairs.moments(&counts, None))
    });
    Ok((permuted, resampled.collect::<Result<_>>()?))
}

/// The value on all rows, with level and interval by formula and from a sample of them.
fn sampled(
    columns: &Columns,
    moments: &Moments,
    resampling: &Resampling,
    watch: &Watch,
) -> Result<Measured> {
    let rows = columns.weights.len();
    let all: Vec<usize> = (0..rows).collect();
    let sample = columns.select(&random::sample(&all, SAMPLE, resampling.seed));
    let pairs = Pairs::new(&sample.x, &sample.s);
    let (mut permuted, mut resampled) = draws(&pairs, &sample.weights, resampling, watch)?;
    let shrink = (SAMPLE as f64 / rows as f64).sqrt();
    let value = moments.biased();
    let of_sample = pairs.moments(&sample.weights, None).biased();
    for draw in &mut resampled {
        *draw = value + shrink * (*draw - of_sample);
    }
    let (lower, upper) = resampling.interval(MEASURE, value, resampled);
    permuted.sort_unstable_by(f64::total_cmp);
    let n = columns.effective_rows();
    Ok(Measured {
        value,
        expected: shrink * permuted.iter().sum::<f64>() / permuted.len() as f64,
        critical: shrink * quantile(&permuted, 0.95),
        p_value: chi_square_tail(n * moments.unbiased(n) + 1.0),
        lower,
        upper,
        rows,
        null: Null::Formula,
    })
}

fn finite(values: &[f64], name: &str) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(row) => Err(Error::NotFinite {
            name: name.to_owned(),
            row,
            value: values[row],
        }),
    }
}

fn constant(values: &[f64]) -> bool {
    values.iter().all(|value| *value == values[0])
}

/// What there is to say of a constant.
fn nothing(rows: usize) -> DistanceCorrelation {
    DistanceCorrelation {
        biased: 0.0,
        unbiased: 0.0,
        measured: Measured {
            value: 0.0,
            expected: 0.0,
            critical: 0.0,
            p_value: 1.0,
            lower: 0.0,
            upper: 0.0,
            rows,
            null: Null::Permutation,
        },
    }
}
