//! How one column becomes features of the points.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{FeatureUses, UnseenCategory, complete, finite};
use crate::column::{Column, MISSING};
use crate::error::{Error, Result, listed};

/// How one column becomes features of the points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(
    missing_docs,
    reason = "the fields are named in their variant's sentence"
)]
pub enum Feature {
    /// (v − mean)/scale; a missing value is refused, or filled in.
    Number {
        name: String,
        mean: f64,
        scale: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing: Option<Fill>,
    },
    /// One indicator per level; `missing` says how a missing value is encoded.
    Categories {
        name: String,
        levels: Vec<String>,
        #[serde(default, skip_serializing_if = "MissingLevel::is_refused")]
        missing: MissingLevel,
    },
}

/// How a missing number is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// The mean of the column, in its place.
    pub value: f64,
    /// Whether a feature of its own, 0 or 1, says that the value is missing: if the column misses values at the fit.
    pub indicator: bool,
}

/// How a missing category is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingLevel {
    /// It is refused.
    #[default]
    Refused,
    /// All indicators are 0: the column misses no value at the fit.
    Unmarked,
    /// An indicator of its own, after the levels.
    Level,
}

impl Feature {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Number { name, .. } | Self::Categories { name, .. } => name,
        }
    }

    pub(super) fn width(&self) -> usize {
        match self {
            Self::Number { .. } => 1 + usize::from(self.is_indicated()),
            Self::Categories { levels, .. } => levels.len() + usize::from(self.is_indicated()),
        }
    }

    /// Whether its last feature says that the value is missing.
    pub fn is_indicated(&self) -> bool {
        match self {
            Self::Number { missing, .. } => missing.is_some_and(|fill| fill.indicator),
            Self::Categories { missing, .. } => *missing == MissingLevel::Level,
        }
    }

    /// Whether missing values are refused.
    pub fn refuses_missing(&self) -> bool {
        match self {
            Self::Number { missing, .. } => missing.is_none(),
            Self::Categories { missing, .. } => missing.is_refused(),
        }
    }

    /// The name of one of its features: the column's, with `=level` for an indicator.
    pub(super) fn feature_name(&self, number: usize) -> String {
        let levels = match self {
            Self::Number { name, .. } if number == 0 => return name.clone(),
            Self::Number { .. } => &[][..],
            Self::Categories { levels, .. } => levels,
        };
        match levels.get(number) {
            Some(level) => format!("{}={level}", self.name()),
            None => format!("{} is missing", self.name()),
        }
    }

    /// Writes the features of a column's values into `values`, rows of `width` numbers, from place `start` of each row on.
    pub(super) fn encode(
        &self,
        column: &Column,
        unseen: UnseenCategory,
        (values, width, start): (&mut [f64], usize, usize),
    ) -> Result<FeatureUses> {
        if self.refuses_missing() {
            complete(column)?;
        } else {
            finite(column)?;
        }
        let rows = values.chunks_exact_mut(width.max(1));
        let rows = rows.map(|row| &mut row[start..]);
        match self {
            Self::Number {
                mean,
                scale,
                missing,
                ..
            } => {
                let mut uses = FeatureUses::default();
                for (value, row) in column.to_numbers()?.into_iter().zip(rows) {
                    row[0] = scaled(value, *mean, *scale);
                    if let (true, Some(fill)) = (value.is_nan(), missing) {
                        uses.missing += 1;
                        row[0] = scaled(fill.value, *mean, *scale);
                        if fill.indicator {
                            row[1] = 1.0;
                        }
                    }
                }
                Ok(uses)
            }
            Self::Categories { levels, .. } => {
                let missing = self.is_indicated().then_some(levels.len());
                write_indicators(column, (levels, missing), unseen, rows)
            }
        }
    }
}

/// Writes an indicator for each row of a column: at the place of its level, or at `missing` where there is no value.
fn write_indicators<'v>(
    column: &Column,
    (levels, missing): (&[String], Option<usize>),
    unseen: UnseenCategory,
    rows: impl Iterator<Item = &'v mut [f64]>,
) -> Result<FeatureUses> {
    let (found, codes) = column.to_categories();
    let known: HashMap<&String, usize> = levels.iter().zip(0..).collect();
    let places: Vec<Option<usize>> = found
        .iter()
        .map(|level| known.get(level).copied())
        .collect();
    let mut uses = FeatureUses::default();
    for (code, row) in codes.into_iter().zip(rows) {
        let place = if code == MISSING {
            uses.missing += 1;
            missing
        } else {
            let place = places[code as usize];
            if place.is_none() && unseen == UnseenCategory::Error {
                return Err(Error::UnknownLevel {
                    column: column.name.clone(),
                    value: found[code as usize].clone(),
                    known: listed(levels),
                });
            }
            uses.unseen += usize::from(place.is_none());
            place
        };
        if let Some(place) = place {
            row[place] = 1.0;
        }
    }
    Ok(uses)
}

impl MissingLevel {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
    pub(super) fn is_refused(&self) -> bool {
        *self == Self::Refused
    }
}

/// (v − mean)/scale
pub(super) fn scaled(value: f64, mean: f64, scale: f64) -> f64 {
    (value - mean) / scale
}
