//! The columns of a release: how they are read and written, and what becomes of their values.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::conditional::Reference;
use super::coupling::CouplingMap;
use super::draw::Draws;
use super::format::NumberFormat;
use super::quantile::QuantileMap;
use super::residual::ResidualMap;
use super::settings::{ColumnRange, MissingFeatures, ReleaseMethod};
use crate::column::{Column, MISSING, Values};
use crate::encoder::{complete, find};
use crate::error::{Error, Result};
use crate::partition::{Assignment, Partition, UnseenCategory, effective_rows, listed};

/// More categories than this are names of rows.
const MOST_LEVELS: usize = 1000;
/// The most values of a column of few values.
const GRADES: usize = 256;
/// The fewest rows for each of them, on average.
const ROWS_PER_GRADE: usize = 10;
/// Whole numbers of so few values are always a column of few values.
const WHOLE_GRADES: usize = 20;

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

/// What becomes of the values of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ColumnMap {
    /// Nothing.
    Kept(Why),
    Quantile(QuantileMap),
    Coupling(CouplingMap),
    Residual(ResidualMap),
}

/// Why a column is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Why {
    /// It has one value at most.
    Constant,
    /// S has one cell.
    NothingKnown,
    /// The method changes numbers only.
    Categories,
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
        missing: MissingFeatures,
        unseen: UnseenCategory,
    ) -> Result<ReadColumn> {
        let column = find(table, &self.name)?;
        match missing {
            MissingFeatures::Error => complete(column)?,
            MissingFeatures::Keep => finite(column)?,
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
                let mut places = Vec::with_capacity(found.len());
                for level in found {
                    let place = levels.iter().position(|known| *known == level);
                    places.push(place.unwrap_or(levels.len()));
                    if place.is_none() {
                        levels.push(level);
                    }
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
    pub(super) fn write(&self, read: ReadColumn, released: &[f64]) -> Column {
        let values = match &self.form {
            Form::Numbers(format) => {
                Values::Numbers(released.iter().map(|v| format.written(*v)).collect())
            }
            Form::Categories(_) => {
                let code = |v: &f64| if v.is_nan() { MISSING } else { *v as u32 };
                Values::Categories {
                    levels: read.levels,
                    codes: released.iter().map(code).collect(),
                }
            }
        };
        Column {
            name: self.name.clone(),
            values,
        }
    }

    pub(super) fn is_sound(&self) -> bool {
        match &self.form {
            Form::Numbers(format) => format.is_sound(),
            Form::Categories(levels) => {
                levels.len() <= MOST_LEVELS
                    && levels.iter().collect::<HashSet<_>>().len() == levels.len()
            }
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

impl ColumnMap {
    /// Learns what becomes of a column; `weights` are those of all reference rows.
    pub(super) fn fit(
        method: ReleaseMethod,
        form: &ColumnForm,
        values: &[f64],
        (partition, assignment): (&Partition, &Assignment),
        weights: &[f64],
    ) -> Result<Self> {
        if method == ReleaseMethod::Residual && matches!(form.form, Form::Categories(_)) {
            return Ok(Self::Kept(Why::Categories));
        }
        if partition.len() == 1 && partition.smooth.is_none() {
            return Ok(Self::Kept(Why::NothingKnown));
        }
        let rows: Vec<usize> = (0..values.len()).filter(|&i| !values[i].is_nan()).collect();
        let distinct: HashSet<u64> = rows.iter().map(|&i| (values[i] + 0.0).to_bits()).collect();
        let distinct = distinct.len();
        if distinct < 2 {
            return Ok(Self::Kept(Why::Constant));
        }
        let taught = |(value, weight): (&f64, &f64)| if value.is_nan() { 0.0 } else { *weight };
        let weights: Vec<f64> = values.iter().zip(weights).map(taught).collect();
        let reference = Reference {
            partition,
            assignment,
            weights: &weights,
            rows: &rows,
        };
        match (&form.form, method) {
            (Form::Categories(levels), _) => {
                CouplingMap::fit(values, reference, levels.len()).map(Self::Coupling)
            }
            (_, ReleaseMethod::Residual) => ResidualMap::fit(values, reference).map(Self::Residual),
            (Form::Numbers(format), _) => {
                let total = effective_rows(rows.len(), weights.iter().sum());
                let few = distinct <= GRADES && total >= ROWS_PER_GRADE * distinct;
                if few || (format.is_whole() && distinct <= WHOLE_GRADES) {
                    QuantileMap::graded(values, reference, distinct).map(Self::Quantile)
                } else {
                    QuantileMap::barycentre(values, reference).map(Self::Quantile)
                }
            }
        }
    }

    /// The released values, not yet written as the column's are.
    pub(super) fn apply(
        &self,
        values: &[f64],
        assignment: &Assignment,
        own: (&str, &Draws),
        strength: f64,
    ) -> Result<Vec<f64>> {
        match self {
            Self::Kept(_) => Ok(values.to_vec()),
            Self::Quantile(map) => map.apply(values, assignment, own, strength),
            Self::Coupling(map) => map.apply(values, assignment, own, strength),
            Self::Residual(map) => map.apply(values, assignment, strength),
        }
    }

    /// Whether values are chosen by draws, and not only the places of equal ones.
    pub(super) fn is_drawn(&self) -> bool {
        match self {
            Self::Coupling(_) => true,
            Self::Quantile(map) => map.is_graded(),
            Self::Kept(_) | Self::Residual(_) => false,
        }
    }

    /// What is done, in words.
    pub(super) fn words(&self) -> &'static str {
        match self {
            Self::Kept(Why::Constant) => "left as it is: it has one value",
            Self::Kept(Why::NothingKnown) => "left as it is: S tells no rows apart",
            Self::Kept(Why::Categories) => "left as it is: categories have no mean",
            Self::Quantile(map) if map.is_graded() => {
                "the value of the same rank among all rows, ranks of equal values drawn"
            }
            Self::Quantile(_) => "the number of the same rank in the barycentre",
            Self::Coupling(_) => "the shares of all rows, with the fewest changes, drawn",
            Self::Residual(_) => "less its conditional mean, plus the mean",
        }
    }

    pub(super) fn is_sound(&self, form: &ColumnForm, partition: &Partition) -> bool {
        match (self, &form.form) {
            (Self::Kept(_), _) => true,
            (Self::Quantile(map), Form::Numbers(_)) => map.is_sound(partition),
            (Self::Residual(map), Form::Numbers(_)) => map.is_sound(partition),
            (Self::Coupling(map), Form::Categories(levels)) => {
                map.is_sound(partition, levels.len())
            }
            _ => false,
        }
    }

    /// All numbers of which there may be many.
    pub(super) fn numbers(&mut self) -> Vec<&mut Vec<f64>> {
        match self {
            Self::Kept(_) => Vec::new(),
            Self::Quantile(map) => map.numbers(),
            Self::Coupling(map) => map.numbers(),
            Self::Residual(map) => map.numbers(),
        }
    }
}
