//! Sensitive columns as numbers.

use std::collections::HashMap;

use oblivio_base::column::LevelMap;
use oblivio_base::error::listed;
use oblivio_base::{Column, Error, Result, UnseenCategory, Value};
use serde::{Deserialize, Serialize};

use super::super::{Missing, PartitionRule, Policies, Uses};
use crate::sensitive::{Kind, Sensitive};

/// Sensitive columns as numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coordinates(pub Vec<Coordinate>);

/// A sensitive column as numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Coordinate {
    /// The name of the column.
    pub name: String,
    /// Whether missing is a level of its own, the last one.
    pub missing: bool,
    #[serde(flatten)]
    /// Which numbers.
    pub form: Form,
}

/// The numbers of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// An indicator for each category.
    Categories {
        /// The categories.
        levels: Vec<String>,
    },
    /// (value − mean)/scale
    Number {
        /// The mean over the reference rows.
        mean: f64,
        /// The standard deviation, or 1.
        scale: f64,
        /// The range over the reference rows.
        bounds: (f64, f64),
    },
}

impl Coordinates {
    /// The coordinates of these columns, standardised over these rows.
    pub(crate) fn fit(columns: &[&Column], weights: &[f64], rule: &PartitionRule) -> Result<Self> {
        let coordinate = |column: &&Column| -> Result<Coordinate> {
            let form = match rule.kind(column) {
                Kind::Categorical => Form::Categories {
                    levels: column.sorted_levels(),
                },
                Kind::Continuous => number(&column.to_numbers()?, weights),
            };
            Ok(Coordinate {
                name: column.name.clone(),
                missing: !column.missing().is_empty(),
                form,
            })
        };
        Ok(Self(columns.iter().map(coordinate).collect::<Result<_>>()?))
    }

    pub(in crate::partition) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|coordinate| coordinate.name.as_str())
    }

    pub(super) fn column(&self, name: &str) -> Option<(Kind, &[String])> {
        let coordinate = self.0.iter().find(|coordinate| coordinate.name == name)?;
        Some(match &coordinate.form {
            Form::Categories { levels } => (Kind::Categorical, &levels[..]),
            Form::Number { .. } => (Kind::Continuous, &[]),
        })
    }

    /// Where the categories of every column are.
    pub(in crate::partition) fn level_maps(&self) -> Vec<LevelMap> {
        let map = |coordinate: &Coordinate| match &coordinate.form {
            Form::Categories { levels } => LevelMap::new(levels),
            Form::Number { .. } => LevelMap::default(),
        };
        self.0.iter().map(map).collect()
    }

    /// The coordinates of one row, its values being in the order of the columns; `None` where [`of`](Self::of) refuses it.
    pub(in crate::partition) fn write<'v>(
        &self,
        row: impl Iterator<Item = (Value<'v>, &'v LevelMap)>,
        policies: Policies,
        out: &mut [f64],
        (unplaced, uses): (&mut bool, &mut Uses),
    ) -> Option<()> {
        out.fill(0.0);
        let mut rest = out;
        for (coordinate, (value, levels)) in self.0.iter().zip(row) {
            let (own, others) = rest.split_at_mut(coordinate.len());
            rest = others;
            if value.is_missing() {
                if !coordinate.takes_missing(policies) {
                    return None;
                }
                uses.missing += 1;
                own[coordinate.len() - 1] = 1.0;
                continue;
            }
            match &coordinate.form {
                Form::Categories { .. } => match levels.find(value) {
                    Some(place) => own[place as usize] = 1.0,
                    None if policies.category == UnseenCategory::Error => return None,
                    None => *unplaced = true,
                },
                Form::Number {
                    mean,
                    scale,
                    bounds,
                } => {
                    let value = value.finite()?;
                    uses.out_of_range += usize::from(value < bounds.0 || value > bounds.1);
                    own[0] = standard(value, *mean, *scale);
                }
            }
        }
        Some(())
    }

    /// The number of coordinates.
    #[allow(clippy::len_without_is_empty, reason = "a table of none is refused")]
    pub fn len(&self) -> usize {
        self.0.iter().map(Coordinate::len).sum()
    }

    /// The coordinates of rows, row after row.
    pub(crate) fn of(
        &self,
        sensitive: &Sensitive,
        policies: Policies,
        unplaced: &mut [bool],
        uses: &mut Uses,
    ) -> Result<Vec<f64>> {
        let width = self.len();
        let mut points = vec![0.0; width * sensitive.len()];
        let mut at = 0;
        for coordinate in &self.0 {
            let column = sensitive.column(&coordinate.name)?;
            let mut entry = |row: usize, k: usize, value: f64| points[row * width + at + k] = value;
            coordinate.place(column, policies, &mut entry, unplaced, uses)?;
            at += coordinate.len();
        }
        Ok(points)
    }
}

impl Coordinate {
    /// How many numbers: a missing value has one of its own.
    #[allow(clippy::len_without_is_empty, reason = "a column has a number")]
    pub fn len(&self) -> usize {
        let present = match &self.form {
            Form::Categories { levels } => levels.len(),
            Form::Number { .. } => 1,
        };
        present + usize::from(self.missing)
    }

    /// Whether a missing value is a level of its own.
    fn takes_missing(&self, policies: Policies) -> bool {
        policies.missing == Missing::Category && self.missing
    }

    fn place(
        &self,
        column: &Column,
        policies: Policies,
        entry: &mut dyn FnMut(usize, usize, f64),
        unplaced: &mut [bool],
        uses: &mut Uses,
    ) -> Result<()> {
        let absent = column.missing();
        if let Some(&row) = absent.first()
            && !self.takes_missing(policies)
        {
            return Err(Error::MissingSensitive {
                column: self.name.clone(),
                count: absent.len(),
                row,
            });
        }
        uses.missing += absent.len();
        for &row in &absent {
            entry(row, self.len() - 1, 1.0);
        }
        match &self.form {
            Form::Categories { levels } => {
                let (names, codes) = column.to_categories();
                let known: HashMap<&String, usize> = levels.iter().zip(0..).collect();
                let places: Vec<Option<usize>> =
                    names.iter().map(|name| known.get(name).copied()).collect();
                for (row, &code) in codes.iter().enumerate() {
                    match places.get(code as usize) {
                        Some(Some(place)) => entry(row, *place, 1.0),
                        Some(None) if policies.category == UnseenCategory::Error => {
                            return Err(Error::UnknownCategory {
                                column: self.name.clone(),
                                value: names[code as usize].clone(),
                                known: listed(levels),
                            });
                        }
                        Some(None) => unplaced[row] = true,
                        // Missing, and seen to above.
                        None => {}
                    }
                }
            }
            Form::Number {
                mean,
                scale,
                bounds,
            } => {
                for (row, value) in column.to_numbers()?.into_iter().enumerate() {
                    if value.is_nan() {
                        continue;
                    }
                    uses.out_of_range += usize::from(value < bounds.0 || value > bounds.1);
                    entry(row, 0, standard(value, *mean, *scale));
                }
            }
        }
        Ok(())
    }
}

/// (v − mean)/scale
fn standard(value: f64, mean: f64, scale: f64) -> f64 {
    (value - mean) / scale
}

/// The mean, standard deviation and range of the values that are there.
fn number(values: &[f64], weights: &[f64]) -> Form {
    let present = || values.iter().zip(weights).filter(|(v, _)| !v.is_nan());
    let total: f64 = present().map(|(_, w)| w).sum();
    let mean = present().map(|(v, w)| w * v).sum::<f64>() / total;
    let variance = present().map(|(v, w)| w * (v - mean).powi(2)).sum::<f64>() / total;
    let scale = variance.sqrt();
    let least = present().map(|(v, _)| *v).fold(f64::INFINITY, f64::min);
    let most = present().map(|(v, _)| *v).fold(f64::NEG_INFINITY, f64::max);
    Form::Number {
        mean: if mean.is_finite() { mean } else { 0.0 },
        scale: if scale > 0.0 { scale } else { 1.0 },
        bounds: if least <= most {
            (least, most)
        } else {
            (0.0, 0.0)
        },
    }
}
