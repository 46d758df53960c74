//! An axis with round ticks, even or logarithmic.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::figure::{Axis, Scale};

/// How values of an axis become places on paper.
#[derive(Clone)]
pub(super) struct Ruler {
    low: f64,
    high: f64,
    scale: Scale,
    ticks: Vec<f64>,
    /// Digits after the point.
    digits: usize,
}

impl Ruler {
    /// Covers the given range, or the values with a margin.
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let positive = axis.scale == Scale::Log;
        let usable = values.filter(|v| v.is_finite() && (!positive || *v > 0.0));
        let (mut low, mut high) = axis.range.unwrap_or_else(|| {
            usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                (low.min(v), high.max(v))
            })
        });
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        if axis.range.is_none() {
            if positive {
                let margin = (high / low).powf(0.06).max(1.05);
                (low, high) = (low / margin, high * margin);
            } else {
                let margin = 0.05 * (high - low).max(1e-9);
                (low, high) = (low - margin, high + margin);
            }
        }
        let (ticks, digits) = match axis.scale {
            Scale::Linear => even(low, high),
            Scale::Log => decades(low, high),
        };
        Self {
            low,
            high,
            scale: axis.scale,
            ticks,
            digits,
        }
    }

    /// The part of the axis below the value.
    fn share(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }
}

/// Multiples of 1, 2 or 5 times a power of ten, about seven of them.
fn even(low: f64, high: f64) -> (Vec<f64>, usize) {
    let rough = (high - low) / 7.5;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough * (1.0 - 1e-9))
        .unwrap_or(rough);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    let ticks = (first..=last).map(|k| k as f64 * step).collect();
    let digits = (-step.log10().floor()).max(0.0) as usize;
    (ticks, digits)
}

/// Powers of ten, with their multiples where there are few.
fn decades(low: f64, high: f64) -> (Vec<f64>, usize) {
    let factors: &[f64] = if high / low > 300.0 {
        &[1.0]
    } else if high / low > 20.0 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0, 2.0, 3.0, 5.0]
    };
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let ticks: Vec<f64> = powers
        .flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)))
        .filter(|tick| (low..=high).contains(tick))
        .collect();
    let digits = (-low.log10().floor()).max(0.0) as usize;
    (ticks, digits)
}

impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let place = f64::from(limit.0) + self.share(*value) * f64::from(limit.1 - limit.0);
        // Far outside is as good as just outside, and fits.
        place.round().clamp(-1e6, 1e6) as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            self.ticks.clone()
        }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format_ext(&self, value: &f64) -> String {
        let digits = match self.scale {
            Scale::Linear => self.digits,
            Scale::Log => (-value.log10().floor()).max(0.0) as usize,
        };
        // A true minus, and no sign before zero.
        format!("{:.digits$}", value + 0.0).replace('-', "\u{2212}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ruler: &Ruler) -> Vec<String> {
        ruler.ticks.iter().map(|t| ruler.format_ext(t)).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        let axis = Axis::linear("x").between(0.0, 1.0);
        let ruler = Ruler::new(&axis, [].into_iter());
        assert_eq!(labels(&ruler), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let axis = Axis::linear("x").between(-50.0, 230.0);
        let ruler = Ruler::new(&axis, [].into_iter());
        assert_eq!(
            labels(&ruler),
            ["\u{2212}50", "0", "50", "100", "150", "200"]
        );
        let ruler = Ruler::new(&Axis::log("n"), [80.0, 10_000.0].into_iter());
        assert_eq!(
            labels(&ruler),
            ["100", "200", "500", "1000", "2000", "5000", "10000"]
        );
        assert_eq!(ruler.map(&ruler.low, (10, 110)), 10);
        assert_eq!(ruler.map(&ruler.high, (10, 110)), 110);
    }
}
