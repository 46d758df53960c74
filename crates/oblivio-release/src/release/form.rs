//! How the columns of a release are read and written.

use std::collections::{HashMap, HashSet};

use oblivio_base::encoder::{complete, find};
use oblivio_base::error::{listed, require};
use oblivio_base::{Column, Error, MISSING, Result, UnseenCategory, Values};
use serde::{Deserialize, Serialize};

use super::bytes::DAMAGED;
use super::format::NumberFormat;
use super::settings::{ColumnRange, MissingValues};

/// More categories than this are names of rows.
const MOST_LEVELS: usize = 1000;

/// A column's name, and how its values are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ColumnForm {
    pub(super) name: String,
    pub(super) form: Form,
}

/// How values are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Form {
    Numbers(NumberFormat),
    /// The categories of the reference rows, in order.
    Categories(Vec<String>),
}

/// A column as numbers: its values cut to their range, or the places of its categories; NaN is a missing one.
pub(super) struct ReadColumn {
    pub(super) values: Vec<f64>,
    /// The known categories and, after them, unseen ones.
    levels: Vec<String>,
    pub(super) clipped: usize,
    pub(super) unseen: usize,
}

impl ColumnForm {
    /// The form of a column of reference rows.
    pub(super) fn of(column: &Column, range: Option<&ColumnRange>) -> Result<Self> {
        let form = match &column.values {
            Values::Numbers(values) => Form::Numbers(NumberFormat::of(values, range)?),
            Values::Categories { .. } => {
                let levels = column.sorted_levels();
                if levels.len() > MOST_LEVELS {
                    return Err(Error::InvalidParameter {
                        name: "the number of categories of a released column",
                        expected: "at most 1000; leave the column out, or join categories",
                        value: format!("{} in `{}`", levels.len(), column.name),
                    });
                }
                Form::Categories(levels)
            }
        };
        Ok(Self {
            name: column.name.clone(),
            form,
        })
    }

    /// `numbers`, `whole numbers` or `categories`.
    pub(super) fn kind(&self) -> &'static str {
        match &self.form {
            Form::Numbers(format) if format.is_whole() => "whole numbers",
            Form::Numbers(_) => "numbers",
            Form::Categories(_) => "categories",
        }
    }

    pub(super) fn range(&self) -> Option<(f64, f64)> {
        match &self.form {
            Form::Numbers(format) => Some((format.low, format.high)),
            Form::Categories(_) => None,
        }
    }

    /// The column of this name in a table.
    pub(super) fn read(
        &self,
        table: &[Column],
        missing: MissingValues,
        unseen: UnseenCategory,
    ) -> Result<ReadColumn> {
        let column = find(table, &self.name)?;
        match missing {
            MissingValues::Error => complete(column)?,
            MissingValues::Keep => finite(column)?,
        }
        match &self.form {
            Form::Numbers(format) => {
                let values = column.to_numbers()?;
                let outside = |v: &&f64| !v.is_nan() && !format.holds(**v);
                Ok(ReadColumn {
                    clipped: values.iter().filter(outside).count(),
                    values: values.iter().map(|v| format.within(*v)).collect(),
                    levels: Vec::new(),
                    unseen: 0,
                })
            }
            Form::Categories(known) => {
                let (found, codes) = column.to_categories();
                let mut levels = known.clone();
                let known_at = levels.iter().enumerate();
                let mut at: HashMap<String, usize> = known_at
                    .map(|(place, level)| (level.clone(), place))
                    .collect();
                let mut places = Vec::with_capacity(found.len());
                for level in found {
                    let place = *at.entry(level.clone()).or_insert(levels.len());
                    if place == levels.len() {
                        levels.push(level);
                    }
                    places.push(place);
                }
                let place = |code: &u32| places.get(*code as usize).copied();
                let places: Vec<Option<usize>> = codes.iter().map(place).collect();
                let new = |place: &&Option<usize>| place.is_some_and(|p| p >= known.len());
                let unseen_values = places.iter().filter(new).count();
                if let Some(Some(place)) = places.iter().find(new)
                    && unseen == UnseenCategory::Error
                {
                    return Err(Error::UnknownLevel {
                        column: self.name.clone(),
                        value: levels[*place].clone(),
                        known: listed(known),
                    });
                }
                let value = |place: &Option<usize>| place.map_or(f64::NAN, |p| p as f64);
                Ok(ReadColumn {
                    values: places.iter().map(value).collect(),
                    levels,
                    clipped: 0,
                    unseen: unseen_values,
                })
            }
        }
    }

    /// The column with values of the kind it had at the fit, whatever a file or frame made of them.
    pub(super) fn as_given(&self, column: &Column) -> Result<Column> {
        let values = match (&self.form, &column.values) {
            (Form::Numbers(_), Values::Categories { .. }) => Values::Numbers(column.to_numbers()?),
            (Form::Categories(_), Values::Numbers(_)) => {
                let (levels, codes) = column.to_categories();
                Values::Categories { levels, codes }
            }
            (_, values) => values.clone(),
        };
        Ok(Column {
            name: column.name.clone(),
            values,
        })
    }

    /// The column with these values, written as its own are.
    pub(super) fn written(&self, read: &ReadColumn, released: &[f64]) -> Column {
        let values = match &self.form {
            Form::Numbers(format) => {
                Values::Numbers(released.iter().map(|v| format.written(*v)).collect())
            }
            Form::Categories(_) => {
                let code = |v: &f64| if v.is_nan() { MISSING } else { *v as u32 };
                Values::Categories {
                    levels: read.levels.clone(),
                    codes: released.iter().map(code).collect(),
                }
            }
        };
        Column {
            name: self.name.clone(),
            values,
        }
    }

    /// Refuses a form that no column has.
    pub(super) fn check_read(&self) -> Result<()> {
        match &self.form {
            Form::Numbers(format) => format.check_read(),
            Form::Categories(levels) => {
                let known: HashSet<_> = levels.iter().collect();
                let sound = levels.len() <= MOST_LEVELS && known.len() == levels.len();
                require(sound, DAMAGED)
            }
        }
    }
}

impl ReadColumn {
    /// The named rows, in the order of `rows`.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        Self {
            values: rows.iter().map(|&i| self.values[i]).collect(),
            levels: self.levels.clone(),
            ..*self
        }
    }
}

/// Refuses infinite values, by the column's name; missing ones are let through.
fn finite(column: &Column) -> Result<()> {
    if let Values::Numbers(values) = &column.values
        && let Some(row) = values.iter().position(|v| v.is_infinite())
    {
        return Err(Error::NotFinite {
            name: format!("column `{}`", column.name),
            row,
            value: values[row],
        });
    }
    Ok(())
}
