//! The sensitive features: any number of columns, categorical or continuous.

use std::collections::{BTreeSet, HashSet};

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
const MOST_CATEGORIES: usize = 5;
/// Targets that are whole numbers with more distinct values than this are quantities, not labels.
const MOST_LABELS: usize = 20;

/// In smaller tables every row may well be a group of its own.
const FEWEST_IDENTIFIED: usize = 30;
/// Fewer whole numbers without a gap may be quantities, such as the ages of as many persons.
const FEWEST_NUMBERED: usize = 100;

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

impl Sensitive {
    /// Refuses columns that identify rows: categories, or numbers that count up without a gap, that are another in every row. Columns
    /// in `continuous` are quantities, whatever they look like.
    pub(crate) fn check_identifiers(&self, continuous: &[String]) -> Result<()> {
        let mut columns = self.columns.iter();
        let found = columns.find(|column| !continuous.contains(&column.name) && identifies(column));
        found.map_or(Ok(()), |column| {
            Err(Error::Identifier {
                column: column.name.clone(),
                rows: self.rows,
            })
        })
    }
}

/// Whether a column identifies the rows of a table that is not tiny.
fn identifies(column: &Column) -> bool {
    let rows = column.len();
    if rows < FEWEST_IDENTIFIED {
        return false;
    }
    match &column.values {
        Values::Categories { codes, .. } => {
            let distinct: HashSet<&u32> = codes.iter().collect();
            distinct.len() == rows
        }
        Values::Numbers(_) if rows < FEWEST_NUMBERED => false,
        Values::Numbers(values) => {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            // Whole numbers from the least on, each once.
            let mut seen = vec![false; rows];
            values.iter().all(|value| {
                let place = value - least;
                let is_new = place.fract() == 0.0
                    && place < rows as f64
                    && !std::mem::replace(&mut seen[place as usize], true);
                is_new && value.fract() == 0.0
            })
        }
    }
}

impl Kind {
    /// The kind of a column nobody spoke about: text, and whole numbers with at most 5 distinct values, are categorical.
    pub fn of(column: &Column) -> Self {
        let mut guess = KindGuess::default();
        guess.update(column);
        guess.finish()
    }

    /// The kind of a target nobody spoke about: text, and whole numbers with at most 20 distinct values, are categorical.
    pub fn of_target(column: &Column) -> Self {
        let Values::Numbers(values) = &column.values else {
            return Self::Categorical;
        };
        let mut distinct = BTreeSet::new();
        let is_label = |value: &f64| {
            distinct.insert((value + 0.0).to_bits());
            value.fract() == 0.0 && distinct.len() <= MOST_LABELS
        };
        let mut known = values.iter().filter(|value| !value.is_nan());
        if known.all(is_label) {
            Self::Categorical
        } else {
            Self::Continuous
        }
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
        assert_eq!(Kind::of(&whole(5)), Kind::Categorical);
        assert_eq!(Kind::of(&whole(6)), Kind::Continuous);
        assert_eq!(Kind::of_target(&whole(20)), Kind::Categorical);
        assert_eq!(Kind::of_target(&whole(21)), Kind::Continuous);
        let halves = Column::numbers("s", vec![0.5, 1.0, f64::NAN]);
        assert_eq!(Kind::of_target(&halves), Kind::Continuous);
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
    fn columns_that_identify_rows_are_refused_by_name() {
        let refused = |column: Column, continuous: &[String]| {
            let rows = column.len();
            let sensitive = Sensitive::new(vec![column], rows).unwrap();
            sensitive.check_identifiers(continuous).is_err()
        };
        let names = |count: usize| (0..count).map(|k| format!("p{k}")).collect::<Vec<_>>();
        let texts =
            |names: &[String]| Column::texts("id", names.iter().map(|name| Some(name.as_str())));
        let numbers = |count: i32, step: i32| {
            Column::numbers(
                "id",
                (0..count)
                    .map(|k| f64::from(1000 + step * (k * 7 % count)))
                    .collect(),
            )
        };
        assert!(refused(texts(&names(30)), &[]));
        assert!(!refused(texts(&names(29)), &[]));
        let mut twice = names(30);
        twice[1] = twice[0].clone();
        assert!(!refused(texts(&twice), &[]));
        assert!(refused(numbers(100, 1), &[]));
        assert!(!refused(numbers(99, 1), &[]));
        assert!(!refused(numbers(100, 1), &["id".to_owned()]));
        assert!(!refused(numbers(100, 2), &[]));
        let mut missing = vec![f64::NAN];
        missing.extend((0..140).map(f64::from));
        assert!(!refused(Column::numbers("id", missing), &[]));
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
