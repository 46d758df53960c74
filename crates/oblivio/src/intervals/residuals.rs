//! The sizes of the residuals of one cell, in order, and how many rows have no larger one.

use oblivio_base::Result;
use oblivio_base::error::require;

/// What a long list leaves out costs less than this share of what is left uncovered.
const PART: f64 = 1.0 / 128.0;

/// A step function: up to each size, so much weight.
///
/// Long lists are thinned: where rows of weight L have larger residuals than a size, the next size kept has no fewer than
/// (1 − 1/128)·L above it. So up to 128 rows all sizes are kept, of a million about 1300, a half-width is never smaller for it, and
/// rows left uncovered are at most 1/128 fewer than they could be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Residuals {
    /// How many rows there were.
    pub(crate) rows: usize,
    /// In ascending order, each once.
    pub(crate) sizes: Vec<f64>,
    /// The weight of the rows whose residual is no larger.
    pub(crate) mass: Vec<f64>,
}

impl Residuals {
    /// Of rows with these residuals and weights.
    pub(super) fn new(mut rows: Vec<(f64, f64)>) -> Self {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut sizes, mut mass): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut total = 0.0;
        for &(size, weight) in &rows {
            let before = total;
            total += weight;
            if total == before {
                // Too light to be seen beside the others.
                continue;
            }
            if sizes.last() == Some(&size) {
                mass.pop();
            } else {
                sizes.push(size);
            }
            mass.push(total);
        }
        let kept = kept(&mass);
        Self {
            rows: rows.len(),
            sizes: kept.iter().map(|&k| sizes[k]).collect(),
            mass: kept.iter().map(|&k| mass[k]).collect(),
        }
    }

    /// The smallest size up to which there is a weight of at least $(W + 1)\,\text{coverage}$, W being that of all rows; infinite if
    /// there is none.
    pub(super) fn half_width(&self, coverage: f64) -> f64 {
        /// So that ten rows, nine tenths of them, are nine.
        const ROUNDING: f64 = 1e-12;
        let total = self.mass.last().copied().unwrap_or(0.0);
        let needed = (total + 1.0) * coverage * (1.0 - ROUNDING);
        let place = self.mass.partition_point(|mass| *mass < needed);
        self.sizes.get(place).copied().unwrap_or(f64::INFINITY)
    }

    /// Refuses steps that residuals cannot have.
    pub(crate) fn check_read(&self) -> Result<()> {
        let ascend = |values: &[f64]| values.windows(2).all(|pair| pair[0] < pair[1]);
        let sound = self.sizes.len() == self.mass.len()
            && self.sizes.len() <= self.rows
            && self.sizes.first().is_none_or(|size| *size >= 0.0)
            && self.mass.first().is_none_or(|mass| *mass > 0.0)
            && ascend(&self.sizes)
            && ascend(&self.mass);
        require(sound, "its intervals")
    }
}

/// The steps that stay of a list with these masses.
fn kept(mass: &[f64]) -> Vec<usize> {
    let Some(&total) = mass.last() else {
        return Vec::new();
    };
    let mut kept = Vec::new();
    let mut from = 0;
    while from < mass.len() {
        let least = (total - mass[from]) * (1.0 - PART);
        let more = mass[from..].partition_point(|m| total - m >= least);
        kept.push(from + more - 1);
        from += more;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Residuals in no order, some of them equal.
    fn scrambled(count: usize) -> Vec<(f64, f64)> {
        let size = |i: usize| ((i * 7919) % 10_007) as f64 / 8.0;
        (0..count).map(|i| (size(i).floor(), 1.0)).collect()
    }

    /// The definition: of n sorted residuals, that with rank ⌈(n + 1)c⌉.
    fn by_rank(rows: &[(f64, f64)], (numerator, denominator): (usize, usize)) -> f64 {
        let mut sizes: Vec<f64> = rows.iter().map(|row| row.0).collect();
        sizes.sort_by(f64::total_cmp);
        let rank = ((sizes.len() + 1) * numerator).div_ceil(denominator);
        sizes.get(rank - 1).copied().unwrap_or(f64::INFINITY)
    }

    #[test]
    fn the_half_width_is_the_order_statistic() {
        for count in 0..=128 {
            let rows = scrambled(count);
            let residuals = Residuals::new(rows.clone());
            for numerator in 1..100 {
                let found = residuals.half_width(numerator as f64 / 100.0);
                let expected = by_rank(&rows, (numerator, 100));
                assert_eq!(found, expected, "{count} rows, {numerator} %");
            }
        }
    }

    #[test]
    fn a_row_of_weight_three_is_three_rows() {
        let weight = |i: usize| (i % 4) as f64 + 1.0;
        let rows: Vec<(f64, f64)> = (0..40).map(|i| ((i * 7 % 41) as f64, weight(i))).collect();
        let each = |row: &(f64, f64)| vec![(row.0, 1.0); row.1 as usize];
        let repeated: Vec<(f64, f64)> = rows.iter().flat_map(each).collect();
        let (weighted, repeated) = (Residuals::new(rows), Residuals::new(repeated));
        for percent in 1..100 {
            let coverage = f64::from(percent) / 100.0;
            let (a, b) = (weighted.half_width(coverage), repeated.half_width(coverage));
            assert_eq!(a, b, "{percent} %");
        }
    }

    #[test]
    fn thin_lists_are_short_and_never_too_narrow() {
        let rows: Vec<(f64, f64)> = (0..1_000_000).map(|i| (f64::from(i), 1.0)).collect();
        let thin = Residuals::new(rows);
        assert!(thin.check_read().is_ok());
        assert!(thin.sizes.len() < 1400, "{}", thin.sizes.len());
        for k in 1..2000 {
            // Every size is its rank less one.
            let coverage = 1.0 - (f64::from(k) / 2000.0).powi(3);
            let exact = (1_000_001.0 * coverage * (1.0 - 1e-12)).ceil() - 1.0;
            let found = thin.half_width(coverage);
            if exact > 999_999.0 {
                assert_eq!(found, f64::INFINITY, "{coverage}");
                continue;
            }
            assert!(found >= exact, "{coverage}: {found} < {exact}");
            let (left, could) = (999_999.0 - found, 999_999.0 - exact);
            assert!(
                left >= could * (1.0 - PART),
                "{coverage}: {left} of {could}"
            );
        }
        assert_eq!(thin.half_width(1.0 - 1e-7), f64::INFINITY);
    }

    #[test]
    fn nine_rows_are_the_fewest_for_nine_tenths() {
        let half_width = |count: usize| Residuals::new(scrambled(count)).half_width(0.9);
        assert_eq!(half_width(0), f64::INFINITY);
        assert_eq!(half_width(8), f64::INFINITY);
        assert!(half_width(9).is_finite());
    }
}
