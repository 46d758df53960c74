//! Where projections may lie: a box, and features that take some values only.

use std::ops::Range;

use oblivio_base::{Error, Points, Result};

/// The compact set of points that a projection is looked for in.
///
/// A feature in none of its parts stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// Features that take every number of an interval.
    pub free: Vec<Span>,
    /// Features that take some numbers only.
    pub stepped: Vec<Stepped>,
    /// Indicators of which one is 1 and all others are 0.
    pub one_of: Vec<Range<usize>>,
}

/// The interval of a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The feature's position.
    pub feature: usize,
    /// The least value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

/// The values of a feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Stepped {
    /// The feature's position.
    pub feature: usize,
    /// Ascending.
    pub values: Vec<f64>,
}

impl Span {
    pub(super) fn width(&self) -> f64 {
        self.high - self.low
    }

    /// The value at a share of the width.
    pub(super) fn at(&self, share: f64) -> f64 {
        (self.low + share * self.width()).clamp(self.low, self.high)
    }
}

impl Stepped {
    /// The place of the value nearest to this one.
    pub(super) fn nearest(&self, value: f64) -> usize {
        let above = self.values.partition_point(|v| *v < value);
        let last = self.values.len() - 1;
        if above == 0 {
            0
        } else if above > last || value - self.values[above - 1] <= self.values[above] - value {
            above - 1
        } else {
            above
        }
    }
}

impl Region {
    /// The smallest box that holds these points.
    pub fn of(points: &Points) -> Self {
        let span = |feature: usize| {
            let values = (0..points.len()).map(|i| points.row(i)[feature]);
            let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
                (l.min(v), h.max(v))
            });
            Span { feature, low, high }
        };
        Self {
            free: (0..points.dim()).map(span).collect(),
            ..Self::default()
        }
    }

    /// Refuses what is no region of points of `dim` features.
    pub(super) fn check(&self, dim: usize) -> Result<()> {
        let refuse = |expected, value: String| {
            Err(Error::InvalidParameter {
                name: "the region of a projection",
                expected,
                value,
            })
        };
        let steps = self.stepped.iter();
        let mut features: Vec<usize> = self.free.iter().map(|span| span.feature).collect();
        features.extend(steps.clone().map(|stepped| stepped.feature));
        features.extend(self.one_of.iter().cloned().flatten());
        if let Some(feature) = features.iter().find(|feature| **feature >= dim) {
            return refuse(
                "made of features of the points",
                format!("feature {feature}"),
            );
        }
        features.sort_unstable();
        if let Some(&[twice, _]) = features.windows(2).find(|pair| pair[0] == pair[1]) {
            return refuse("made of features named once", format!("feature {twice}"));
        }
        let ordered = |span: &&Span| {
            !(span.low <= span.high && span.low.is_finite() && span.high.is_finite())
        };
        if let Some(span) = self.free.iter().find(ordered) {
            let value = format!("{} to {}", span.low, span.high);
            return refuse("intervals of finite numbers, the lower end first", value);
        }
        let unsorted = |stepped: &&Stepped| {
            let values = &stepped.values;
            values.is_empty()
                || !values.iter().all(|v| v.is_finite())
                || !values.is_sorted_by(|a, b| a < b)
        };
        match steps.clone().find(unsorted) {
            Some(stepped) => refuse(
                "steps that are finite numbers, ascending",
                format!("{:?}", stepped.values),
            ),
            None if self.one_of.iter().any(Range::is_empty) => {
                refuse("indicators of at least one category", "none".into())
            }
            None => Ok(()),
        }
    }

    /// The features that can move: those whose interval has a width.
    pub(super) fn moving(&self) -> Vec<Span> {
        let wide = |span: &&Span| span.width() > 0.0;
        self.free.iter().filter(wide).copied().collect()
    }

    /// The nearest point of the region, feature by feature; of indicators the largest becomes 1.
    pub(super) fn enter(&self, x: &mut [f64]) {
        for span in &self.free {
            x[span.feature] = x[span.feature].clamp(span.low, span.high);
        }
        for stepped in &self.stepped {
            let nearest = stepped.nearest(x[stepped.feature]);
            x[stepped.feature] = stepped.values[nearest];
        }
        for indicators in &self.one_of {
            let mut largest = indicators.start;
            for k in indicators.clone() {
                if x[k] > x[largest] {
                    largest = k;
                }
            }
            select(x, indicators, largest);
        }
    }

    /// The number of combinations of the values of stepped features and indicators; none if there are too many to count.
    pub(super) fn combinations(&self) -> Option<usize> {
        let steps = self.stepped.iter().map(|stepped| stepped.values.len());
        let kinds = self.one_of.iter().map(Range::len);
        steps.chain(kinds).try_fold(1usize, usize::checked_mul)
    }

    /// Sets stepped features and indicators to the combination of this number.
    pub(super) fn combine(&self, mut number: usize, x: &mut [f64]) {
        for stepped in &self.stepped {
            let count = stepped.values.len();
            x[stepped.feature] = stepped.values[number % count];
            number /= count;
        }
        for indicators in &self.one_of {
            let count = indicators.len();
            select(x, indicators, indicators.start + number % count);
            number /= count;
        }
    }

    /// A bound of the norm of all points that agree with x in the features that stay.
    pub(super) fn radius(&self, x: &[f64]) -> f64 {
        let mut most: Vec<f64> = x.iter().map(|v| v.abs()).collect();
        for span in &self.free {
            most[span.feature] = span.low.abs().max(span.high.abs());
        }
        for stepped in &self.stepped {
            let ends = stepped.values.iter().map(|v| v.abs());
            most[stepped.feature] = ends.fold(0.0, f64::max);
        }
        for k in self.one_of.iter().cloned().flatten() {
            most[k] = 1.0;
        }
        most.iter().map(|v| v * v).sum::<f64>().sqrt()
    }
}

/// Sets one of the indicators to 1, the others to 0.
pub(super) fn select(x: &mut [f64], indicators: &Range<usize>, chosen: usize) {
    for k in indicators.clone() {
        x[k] = f64::from(u8::from(k == chosen));
    }
}
