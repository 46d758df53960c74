//! How the numbers of a column are written: their range and their decimals.

use oblivio_base::error::require;
use oblivio_base::{Error, Result};
use serde::{Deserialize, Serialize};

use super::bytes::DAMAGED;
use super::settings::ColumnRange;

/// More decimals than this are those of a measurement, and not rounded.
const MOST_DECIMALS: i32 = 4;

/// The range of a column of numbers, and its decimals if they are few.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct NumberFormat {
    pub(super) low: f64,
    pub(super) high: f64,
    /// At most four; none if some value has more.
    pub(super) decimals: Option<i32>,
}

impl NumberFormat {
    /// The format of these values, missing ones apart; a given range takes the place of theirs.
    pub(super) fn of(values: &[f64], given: Option<&ColumnRange>) -> Result<Self> {
        let known = || values.iter().copied().filter(|v| !v.is_nan());
        let fits = |digits: &i32| known().all(|v| rounded(v, *digits) == v);
        let decimals = (0..=MOST_DECIMALS).find(fits);
        let (mut low, mut high) = known().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
            (l.min(v), h.max(v))
        });
        if let Some(range) = given {
            (low, high) = (range.low, range.high);
            if let Some(digits) = decimals {
                (low, high) = (
                    inward(low, digits, f64::ceil),
                    inward(high, digits, f64::floor),
                );
            }
            if low > high {
                return Err(Error::InvalidParameter {
                    name: "the range of a column",
                    expected: "one that holds a value with as many decimals as the column has",
                    value: format!("{}:{} for `{}`", range.low, range.high, range.column),
                });
            }
        } else if low > high {
            // No value at all.
            (low, high) = (0.0, 0.0);
        }
        Ok(Self {
            low,
            high,
            decimals,
        })
    }

    pub(super) fn is_whole(self) -> bool {
        self.decimals == Some(0)
    }

    pub(super) fn holds(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The nearest value of the range; missing stays missing.
    pub(super) fn within(self, value: f64) -> f64 {
        value.clamp(self.low, self.high)
    }

    /// The nearest value of the range that is written as the column's are.
    pub(super) fn written(self, value: f64) -> f64 {
        let value = self.decimals.map_or(value, |digits| rounded(value, digits));
        self.within(value)
    }

    /// One of the two nearest numbers that are written as the column's are, chosen by a draw so that their mean is the number: rounding
    /// to the nearest would undo a shift of less than half a step.
    pub(super) fn drawn(self, value: f64, draw: f64) -> f64 {
        let scale = 10f64.powi(self.decimals.unwrap_or(0));
        let drawn = (value * scale + draw).floor() / scale;
        if self
            .decimals
            .is_none_or(|digits| rounded(value, digits) == value)
            || drawn.is_infinite()
        {
            value
        } else {
            drawn
        }
    }

    /// Refuses a format that no column has.
    pub(super) fn check_read(self) -> Result<()> {
        let sound = self.low <= self.high
            && self.low.is_finite()
            && self.high.is_finite()
            && self
                .decimals
                .is_none_or(|digits| (0..=MOST_DECIMALS).contains(&digits));
        require(sound, DAMAGED)
    }
}

/// A number of so many decimals; one too large to have any is left as it is.
fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    let scaled = (value * scale).round();
    if scaled.is_finite() {
        scaled / scale
    } else {
        value
    }
}

/// The end of a range, moved inward to a number of so many decimals.
fn inward(end: f64, digits: i32, towards: fn(f64) -> f64) -> f64 {
    let scale = 10f64.powi(digits);
    if rounded(end, digits) == end {
        end
    } else {
        towards(end * scale) / scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_those_of_all_values() {
        let decimals = |values: &[f64]| NumberFormat::of(values, None).unwrap().decimals;
        assert_eq!(decimals(&[1.0, -3.0, f64::NAN, 1e300]), Some(0));
        assert_eq!(decimals(&[0.57, 0.1, 28.999]), Some(3));
        assert_eq!(decimals(&[1.0 / 3.0]), None);
    }

    #[test]
    fn written_numbers_are_of_the_column() {
        let format = NumberFormat::of(&[0.5, 3.7, 2.0], None).unwrap();
        assert_eq!((format.low, format.high), (0.5, 3.7));
        assert_eq!(format.written(1.26), 1.3);
        assert_eq!(format.written(9.0), 3.7);
        assert!(format.written(f64::NAN).is_nan());
    }

    #[test]
    fn drawn_numbers_keep_the_mean() {
        let format = NumberFormat::of(&[1.0, 4.0], None).unwrap();
        let drawn = (0..100).map(|k| format.drawn(2.3, f64::from(k) / 100.0));
        assert!((drawn.sum::<f64>() - 230.0).abs() < 1e-9);
        assert_eq!(format.drawn(2.0, 0.999), 2.0);
        assert!(format.drawn(f64::NAN, 0.5).is_nan());
    }

    #[test]
    fn a_given_range_ends_at_values_the_column_can_have() {
        let range = |low, high| ColumnRange {
            column: "a".into(),
            low,
            high,
        };
        let format = NumberFormat::of(&[1.0, 2.0], Some(&range(0.4, 7.9))).unwrap();
        assert_eq!((format.low, format.high), (1.0, 7.0));
        let format = NumberFormat::of(&[0.12], Some(&range(0.29, 0.57))).unwrap();
        assert_eq!((format.low, format.high), (0.29, 0.57));
        assert!(NumberFormat::of(&[1.0], Some(&range(1.2, 1.8))).is_err());
    }
}
