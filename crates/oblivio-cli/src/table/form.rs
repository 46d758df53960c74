//! The form of a table: what a table that is made of it should look like, where its values alone do not tell.

use std::collections::BTreeMap;

use anyhow::Result;
use arrow_schema::DataType;
use oblivio::{Column, Values};

use super::csv::is_code;
use super::parquet::Types;
use super::source::Source;

/// The types that the columns have in a Parquet file, and how they are spelt in a CSV file.
#[derive(Clone, Debug, Default)]
pub struct Form {
    pub(super) types: Types,
    /// Whether a file says so, and not only its text.
    pub(super) typed: bool,
    pub(super) spellings: BTreeMap<String, Spelling>,
}

/// How the values of a column are spelt.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Spelling {
    /// Numbers with a decimal point, and those without: a column of `62.0` does not become one of `62`.
    points: usize,
    whole: usize,
    /// `true` and `false` as they are written.
    truth: [Option<String>; 2],
    /// Whether nothing but these was seen.
    texts: bool,
}

const TRUTH: [&str; 2] = ["true", "false"];

impl Form {
    /// The form of these columns, for which every value is looked at.
    pub fn of(source: &Source, names: &[String]) -> Result<Self> {
        let mut spellings: BTreeMap<String, Spelling> = BTreeMap::new();
        for batch in source.verbatim(names).batches(names, 0)? {
            for column in batch?.columns() {
                let spelling = spellings.entry(column.name.clone()).or_default();
                spelling.look(column);
            }
        }
        let declared = source.types()?;
        let typed = !declared.is_empty();
        let known = spellings.iter();
        let guessed = known.filter_map(|(name, own)| Some((name.clone(), own.data_type()?)));
        Ok(Self {
            types: if typed { declared } else { guessed.collect() },
            typed,
            spellings,
        })
    }
}

impl Spelling {
    fn look(&mut self, column: &Column) {
        let Values::Categories { levels, .. } = &column.values else {
            return;
        };
        for level in levels {
            let truth = TRUTH
                .iter()
                .position(|word| level.eq_ignore_ascii_case(word));
            if let Some(at) = truth {
                self.truth[at].get_or_insert_with(|| level.clone());
            } else if is_code(level) || level.parse::<f64>().is_err() {
                self.texts = true;
            } else if level.contains(['.', 'e', 'E']) {
                self.points += 1;
            } else {
                self.whole += 1;
            }
        }
    }

    /// The type that says most of the values, for text that has none.
    fn data_type(&self) -> Option<DataType> {
        let numbers = self.points + self.whole > 0;
        let truth = self.truth.iter().any(Option::is_some);
        match (numbers, truth) {
            _ if self.texts => None,
            (true, false) if self.points == 0 => Some(DataType::Int64),
            (true, false) => Some(DataType::Float64),
            (false, true) => Some(DataType::Boolean),
            _ => None,
        }
    }

    /// The text of a number that prints like this.
    pub(super) fn number(&self, printed: String) -> String {
        let pointed = self.points > 0 && self.whole == 0;
        if pointed
            && printed
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-')
        {
            printed + ".0"
        } else {
            printed
        }
    }

    /// The text of a category.
    pub(super) fn text<'t>(&'t self, level: &'t str) -> &'t str {
        let known = TRUTH.iter().position(|word| *word == level);
        let spelt = known.and_then(|at| self.truth[at].as_deref());
        spelt.filter(|_| !self.texts).unwrap_or(level)
    }
}
