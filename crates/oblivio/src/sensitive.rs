//! The sensitive features: any number of columns, categorical or continuous.

use std::collections::BTreeSet;

use oblivio_base::{Column, Error, Result, Values, nearest};
use serde::{Deserialize, Serialize};

/// Sensitive columns of equal length, checked once.
///
/// Missing values are let through; the [`Policies`](crate::partition::Policies) of a partition say what becomes of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitive {
    columns: Vec<Column>,
    rows: usize,
}

/// How a sensitive column is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Each value is a category of its own.
    Categorical,
    /// Values are numbers with an order and a distance.
    Continuous,
}

/// The most sensitive columns: cells are combinations of their values.
pub(crate) const MOST_COLUMNS: usize = 256;
/// Whole numbers with more distinct values than this are continuous unless the user says otherwise.
const MOST_CATEGORIES: usize = 20;

impl Sensitive {
    /// Takes the columns of a table of `rows` rows.
    pub fn new(columns: Vec<Column>, rows: usize) -> Result<Self> {
        if columns.len() > MOST_COLUMNS {
            return Err(Error::InvalidParameter {
                name: "the number of sensitive columns",
                expected: "at most 256; leave some out, or join them",
                value: columns.len().to_string(),
            });
        }
        for column in &columns {
            if column.len() != rows {
                return Err(Error::Length {
                    what: "a sensitive column",
                    found: column.len(),
                    needed: rows,
                });
            }
            let count = columns.iter().filter(|c| c.name == column.name).count();
            if count > 1 {
                return Err(Error::DuplicateColumn {
                    name: column.name.clone(),
                    count,
                });
            }
            if let Values::Numbers(values) = &column.values
                && let Some(row) = values.iter().position(|v| v.is_infinite())
            {
                return Err(Error::NotFinite {
                    name: format!("sensitive column `{}`", column.name),
                    row,
                    value: values[row],
                });
            }
        }
        Ok(Self { columns, rows })
    }

    /// No sensitive feature at all.
    pub fn none(rows: usize) -> Self {
        Self {
            columns: Vec::new(),
            rows,
        }
    }

    /// The columns with these names apart from the others.
    pub fn split(&self, names: &[String]) -> Result<(Self, Vec<Column>)> {
        for name in names {
            self.column(name)?;
        }
        let named = |column: &Column| names.contains(&column.name);
        let (control, columns) = self.columns.iter().cloned().partition(named);
        let rows = self.rows;
        Ok((Self { columns, rows }, control))
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Result<&Column> {
        self.columns
            .iter()
            .find(|column| column.name == name)
            .ok_or_else(|| Error::UnknownColumn {
                name: name.to_owned(),
                nearest: nearest(name, self.columns.iter().map(|c| c.name.as_str())),
            })
    }

    /// Whether each row misses a value in one of these columns.
    pub(crate) fn misses<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<Vec<bool>> {
        let mut misses = vec![false; self.rows];
        for name in names {
            for row in self.column(name)?.missing() {
                misses[row] = true;
            }
        }
        Ok(misses)
    }

    /// The named rows, in the order of `rows`.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            columns: self.columns.iter().map(|c| c.select(rows)).collect(),
            rows: rows.len(),
        }
    }
}

impl Kind {
    /// The kind of a column nobody spoke about: text, and whole numbers with at most 20 distinct values, are categorical.
    pub fn of(column: &Column) -> Self {
        let mut guess = KindGuess::default();
        guess.update(column);
        guess.finish()
    }
}

/// The kind of a column whose rows come in batches.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct KindGuess {
    distinct: BTreeSet<u64>,
    continuous: bool,
}

impl KindGuess {
    pub(crate) fn update(&mut self, column: &Column) {
        let Values::Numbers(values) = &column.values else {
            return;
        };
        for value in values.iter().filter(|v| !v.is_nan()) {
            if self.continuous {
                return;
            }
            self.distinct.insert((value + 0.0).to_bits());
            self.continuous = value.fract() != 0.0 || self.distinct.len() > MOST_CATEGORIES;
        }
    }

    /// Takes in what was seen in other rows.
    pub(crate) fn merge(&mut self, other: Self) {
        self.distinct.extend(other.distinct);
        self.continuous |= other.continuous || self.distinct.len() > MOST_CATEGORIES;
    }

    pub(crate) fn finish(&self) -> Kind {
        if self.continuous {
            Kind::Continuous
        } else {
            Kind::Categorical
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_default() {
        let whole = |count: i32| Column::numbers("s", (0..count).map(f64::from).collect());
        assert_eq!(Kind::of(&whole(20)), Kind::Categorical);
        assert_eq!(Kind::of(&whole(21)), Kind::Continuous);
        assert_eq!(
            Kind::of(&Column::numbers("s", vec![0.5, 1.0])),
            Kind::Continuous
        );
        assert_eq!(
            Kind::of(&Column::texts("s", [Some("a")])),
            Kind::Categorical
        );
    }

    #[test]
    fn columns_must_be_rows_long_unique_and_finite() {
        let column = |values: &[f64]| Column::numbers("s", values.to_vec());
        assert!(matches!(
            Sensitive::new(vec![column(&[1.0])], 2),
            Err(Error::Length { found: 1, .. })
        ));
        assert!(matches!(
            Sensitive::new(vec![column(&[1.0]), column(&[2.0])], 1),
            Err(Error::DuplicateColumn { count: 2, .. })
        ));
        assert!(matches!(
            Sensitive::new(vec![column(&[1.0, f64::INFINITY])], 2),
            Err(Error::NotFinite { row: 1, .. })
        ));
    }
}
