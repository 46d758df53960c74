//! Named columns: how tables reach the engine, whatever file or frame they come from.

use std::collections::HashMap;

use crate::error::{Error, Result};

/// One named column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name in the table's header.
    pub name: String,
    /// One value per row.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers; NaN is a missing value.
    Numbers(Vec<f64>),
    /// Categories, each row a position in `levels` or [`MISSING`].
    Categories {
        /// The distinct categories.
        levels: Vec<String>,
        /// The category of each row.
        codes: Vec<u32>,
    },
}

/// No table has more rows: so many are exact as a double, and sums of a few such counts are no overflow.
pub const MOST_ROWS: usize = 1 << 52;
/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'v> {
    /// A number; NaN is a missing value.
    Number(f64),
    /// Text: a category, or a number that is written out.
    Text(&'v str),
    /// No value.
    Missing,
}

impl Value<'_> {
    /// Whether there is no value.
    #[inline]
    pub fn is_missing(self) -> bool {
        match self {
            Self::Number(value) => value.is_nan(),
            Self::Text(_) => false,
            Self::Missing => true,
        }
    }

    /// The finite number that the value is, or reads as.
    #[inline]
    pub fn finite(self) -> Option<f64> {
        let number = match self {
            Self::Number(value) => Some(value),
            Self::Text(text) => number(text),
            Self::Missing => None,
        };
        number.filter(|value| value.is_finite())
    }
}

/// The places of categories, found by their text or by the number that they are.
#[derive(Clone, Debug, Default)]
pub struct LevelMap {
    texts: HashMap<String, u32>,
    numbers: HashMap<u64, u32>,
}

impl LevelMap {
    /// The places of these categories.
    pub fn new(levels: &[String]) -> Self {
        let mut map = Self::default();
        for (level, place) in levels.iter().zip(0..) {
            map.texts.insert(level.clone(), place);
            if let Some(value) = Value::Text(level)
                .finite()
                .filter(|value| category(*value) == *level)
            {
                map.numbers.insert(value.to_bits(), place);
            }
        }
        map
    }

    /// The place of a value that is not missing.
    #[inline]
    pub fn find(&self, value: Value) -> Option<u32> {
        match value {
            Value::Text(text) => self.texts.get(text),
            // Adding zero makes -0 and 0 one value.
            Value::Number(value) => self.numbers.get(&(value + 0.0).to_bits()),
            Value::Missing => None,
        }
        .copied()
    }
}

/// The number that a text reads as.
fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// The name of a number as a category; adding zero makes -0 and 0 one value.
pub fn category(value: f64) -> String {
    (value + 0.0).to_string()
}

/// The code of a missing category.
pub const MISSING: u32 = u32::MAX;

impl Column {
    /// A column of numbers.
    pub fn numbers(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self {
            name: name.into(),
            values: Values::Numbers(values),
        }
    }

    /// A column of categories given as text, `None` for a missing one.
    pub fn texts<'t>(
        name: impl Into<String>,
        values: impl IntoIterator<Item = Option<&'t str>>,
    ) -> Self {
        let mut levels: Vec<String> = Vec::new();
        let mut known: HashMap<&'t str, u32> = HashMap::new();
        let codes = values
            .into_iter()
            .map(|value| match value {
                None => MISSING,
                Some(text) => *known.entry(text).or_insert_with(|| {
                    levels.push(text.to_owned());
                    levels.len() as u32 - 1
                }),
            })
            .collect();
        Self {
            name: name.into(),
            values: Values::Categories { levels, codes },
        }
    }

    /// A column of one row.
    pub fn of_value(name: impl Into<String>, value: Value) -> Self {
        match value {
            Value::Number(value) => Self::numbers(name, vec![value]),
            Value::Text(text) => Self::texts(name, [Some(text)]),
            Value::Missing => Self::texts(name, [None]),
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Numbers(values) => values.len(),
            Values::Categories { codes, .. } => codes.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows whose value is missing.
    pub fn missing(&self) -> Vec<usize> {
        match &self.values {
            Values::Numbers(values) => positions(values, |v| v.is_nan()),
            Values::Categories { codes, .. } => positions(codes, |c| *c == MISSING),
        }
    }

    /// The named rows, in the order of `rows`.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            name: self.name.clone(),
            values: match &self.values {
                Values::Numbers(values) => {
                    Values::Numbers(rows.iter().map(|&i| values[i]).collect())
                }
                Values::Categories { levels, codes } => Values::Categories {
                    levels: levels.clone(),
                    codes: rows.iter().map(|&i| codes[i]).collect(),
                },
            },
        }
    }

    /// The column's levels and codes, numbers read as categories: 1 and 1.0 are both `1`.
    pub fn to_categories(&self) -> (Vec<String>, Vec<u32>) {
        let values = match &self.values {
            Values::Categories { levels, codes } => return (levels.clone(), codes.clone()),
            Values::Numbers(values) => values,
        };
        let mut levels = Vec::new();
        let mut known: HashMap<u64, u32> = HashMap::new();
        let codes = values
            .iter()
            .map(|v| {
                if v.is_nan() {
                    return MISSING;
                }
                *known.entry((v + 0.0).to_bits()).or_insert_with(|| {
                    levels.push(category(*v));
                    levels.len() as u32 - 1
                })
            })
            .collect();
        (levels, codes)
    }

    /// The categories that rows have, in the order a person would put them.
    pub fn sorted_levels(&self) -> Vec<String> {
        let (levels, codes) = self.to_categories();
        let mut used = vec![false; levels.len()];
        for &code in codes.iter().filter(|&&code| code != MISSING) {
            used[code as usize] = true;
        }
        let mut levels: Vec<String> = levels
            .into_iter()
            .zip(used)
            .filter_map(|(level, used)| used.then_some(level))
            .collect();
        sort_levels(&mut levels);
        levels
    }

    /// The sorted categories that rows have, and each row's place among them or [`MISSING`].
    pub fn sorted_categories(&self) -> (Vec<String>, Vec<u32>) {
        let sorted = self.sorted_levels();
        let (levels, codes) = self.to_categories();
        let place = |level: &String| sorted.iter().position(|other| other == level);
        let places: Vec<u32> = levels
            .iter()
            .map(|level| place(level).map_or(MISSING, |place| place as u32))
            .collect();
        let of = |&code: &u32| places.get(code as usize).copied().unwrap_or(MISSING);
        (sorted, codes.iter().map(of).collect())
    }

    /// The column as numbers: categories that all read as numbers become them.
    pub fn to_numbers(&self) -> Result<Vec<f64>> {
        match &self.values {
            Values::Numbers(values) => Ok(values.clone()),
            Values::Categories { levels, codes } => {
                let numbers = levels
                    .iter()
                    .map(|level| {
                        number(level).ok_or_else(|| Error::NotNumeric {
                            column: self.name.clone(),
                            value: level.clone(),
                        })
                    })
                    .collect::<Result<Vec<f64>>>()?;
                Ok(codes
                    .iter()
                    .map(|&c| numbers.get(c as usize).copied().unwrap_or(f64::NAN))
                    .collect())
            }
        }
    }
}

fn positions<T>(values: &[T], test: impl Fn(&T) -> bool) -> Vec<usize> {
    (0..values.len()).filter(|&i| test(&values[i])).collect()
}

/// Sorts categories as a person would: whole numbers by value, then text by letter.
pub fn sort_levels(levels: &mut [String]) {
    let number = |level: &str| level.parse::<i64>().ok();
    levels.sort_by(|a, b| match (number(a), number(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => a.cmp(b),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_categories_and_back() {
        let (levels, codes) =
            Column::numbers("g", vec![1.0, 0.0, -0.0, 2.5, f64::NAN]).to_categories();
        assert_eq!(levels, ["1", "0", "2.5"]);
        assert_eq!(codes, [0, 1, 1, 2, MISSING]);
        let column = Column {
            name: "g".into(),
            values: Values::Categories { levels, codes },
        };
        let numbers = column.to_numbers().unwrap();
        assert_eq!(numbers[..4], [1.0, 0.0, 0.0, 2.5]);
        assert!(numbers[4].is_nan());
        assert_eq!(column.missing(), vec![4]);
    }

    #[test]
    fn text_is_not_a_number() {
        let column = Column::texts("g", [Some("1"), Some("one")]);
        assert_eq!(
            column.to_numbers(),
            Err(Error::NotNumeric {
                column: "g".into(),
                value: "one".into()
            })
        );
    }

    #[test]
    fn categories_are_numbered_in_their_order() {
        let column = Column::texts("g", [Some("b"), None, Some("10"), Some("9"), Some("b")]);
        let (levels, codes) = column.sorted_categories();
        assert_eq!(levels, ["9", "10", "b"]);
        assert_eq!(codes, [2, MISSING, 1, 0, 2]);
    }

    #[test]
    fn levels_sort_by_value_then_letter() {
        let mut levels = ["b", "10", "9", "a", "-1"].map(String::from);
        sort_levels(&mut levels);
        assert_eq!(levels, ["-1", "9", "10", "a", "b"]);
    }
}
