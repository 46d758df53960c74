//! What the adversary sees of X.

use std::cmp::Reverse;

use oblivio_base::{Column, Encoder, Points, Result, Scaling, UnseenCategory, Values, Watch};
use oblivio_kernels::{Components, FeatureMap, Gamma, Kernel};

use super::{AdversaryKind, AdversarySettings};

/// Features of rows, row after row.
pub(crate) struct Design {
    pub(crate) values: Vec<f64>,
    pub(crate) width: usize,
}

/// The most categories of a column that have an indicator of their own.
const MOST_CATEGORIES: usize = 100;
/// The most columns that are taken as they are; beyond, as many Nyström features of the linear kernel stand for them.
const WIDEST: usize = 400;
/// Landmarks for a single column of numbers: by the median rule, more of them span nothing more.
const QUANTILES: usize = 40;

impl Design {
    /// Columns standardised, categories as indicators; for [`AdversaryKind::Kernel`], Nyström features of the Gaussian kernel
    /// beside them. None if nothing varies.
    pub(crate) fn new(
        x: &[Column],
        weights: &[f64],
        settings: &AdversarySettings,
        watch: &Watch,
    ) -> Result<Option<Self>> {
        let columns: Vec<Column> = x.iter().map(known).collect();
        let encoder = Encoder::fit(&columns, Scaling::Standard, weights, UnseenCategory::Error)?;
        let points = encoder.encode(&columns)?.0;
        if points.constant_features().len() == points.dim() {
            return Ok(None);
        }
        let linear = Self::linear(&points, settings, watch)?;
        Ok(Some(match settings.kind {
            AdversaryKind::Linear => linear,
            AdversaryKind::Kernel => {
                linear.beside(&Self::kernel(&points, weights, settings, watch)?)
            }
        }))
    }

    fn linear(points: &Points, settings: &AdversarySettings, watch: &Watch) -> Result<Self> {
        if points.dim() <= WIDEST {
            return Ok(Self {
                values: points.values().to_vec(),
                width: points.dim(),
            });
        }
        let components = Components::new(WIDEST);
        let map = FeatureMap::choose(Kernel::Linear, points, components, settings.seed, watch)?.0;
        Self::mapped(&map, points, watch)
    }

    fn kernel(
        points: &Points,
        weights: &[f64],
        settings: &AdversarySettings,
        watch: &Watch,
    ) -> Result<Self> {
        let kernel = Kernel::Gaussian {
            gamma: Gamma::Median,
        };
        let kernel = kernel.resolve(points, weights, settings.seed)?;
        let map = if points.dim() == 1 {
            let landmarks = quantiles(points.values(), settings.components.min(QUANTILES));
            FeatureMap::on(kernel, Points::new(landmarks, 1)?)?
        } else {
            let components = Components::new(settings.components);
            FeatureMap::choose(kernel, points, components, settings.seed, watch)?.0
        };
        Self::mapped(&map, points, watch)
    }

    fn mapped(map: &FeatureMap, points: &Points, watch: &Watch) -> Result<Self> {
        Ok(Self {
            values: map.features(points, watch)?,
            width: map.len(),
        })
    }

    /// The features of both, side by side.
    pub(crate) fn beside(&self, other: &Self) -> Self {
        let rows = self
            .values
            .chunks(self.width)
            .zip(other.values.chunks(other.width));
        let mut values = Vec::with_capacity(self.values.len() + other.values.len());
        for (row, more) in rows {
            values.extend_from_slice(row);
            values.extend_from_slice(more);
        }
        Self {
            values,
            width: self.width + other.width,
        }
    }
}

/// The column with a missing category as one of its own, and the rarest of too many categories as one.
fn known(column: &Column) -> Column {
    let Values::Categories { levels, codes } = &column.values else {
        return column.clone();
    };
    // The code of a missing one is beyond all others.
    let place = |code: &u32| (*code as usize).min(levels.len());
    let mut rows = vec![0usize; levels.len() + 1];
    for code in codes {
        rows[place(code)] += 1;
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&level| Reverse(rows[level]));
    let mut new_codes = vec![0u32; rows.len()];
    for (new, &level) in order.iter().enumerate() {
        new_codes[level] = new.min(MOST_CATEGORIES) as u32;
    }
    Column {
        name: column.name.clone(),
        values: Values::Categories {
            // The adversary does not read: numbers are as good as names, and never one name for two categories.
            levels: (0..=MOST_CATEGORIES)
                .map(|level| level.to_string())
                .collect(),
            codes: codes.iter().map(|code| new_codes[place(code)]).collect(),
        },
    }
}

/// Distinct values at even shares of the rows.
fn quantiles(values: &[f64], count: usize) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = (sorted.len() - 1) as f64;
    let at = |k: usize| (k as f64 + 0.5) / count as f64 * last;
    let mut found: Vec<f64> = (0..count).map(|k| sorted[at(k).round() as usize]).collect();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_rare_categories_keep_their_rows() {
        let texts: Vec<String> = (0..500).map(|i| format!("{}", i % 240)).collect();
        let rows = texts.iter().enumerate();
        let rows = rows.map(|(i, text)| (i % 7 > 0).then_some(text.as_str()));
        let column = known(&Column::texts("c", rows));
        assert!(column.missing().is_empty());
        assert_eq!(column.sorted_levels().len(), MOST_CATEGORIES + 1);
        let (_, codes) = column.to_categories();
        // The missing are the largest group of all.
        assert_eq!((codes[0], codes[7], codes[1] > 0), (0, 0, true));
    }

    #[test]
    fn quantiles_are_distinct_values() {
        assert_eq!(quantiles(&[1.0, 0.0, 1.0, 1.0, 3.0], 5), [0.0, 1.0, 3.0]);
    }
}
