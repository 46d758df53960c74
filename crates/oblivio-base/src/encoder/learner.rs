//! An encoder that is learned from batches of rows.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Encoder, Encoding, Feature, Fill, MissingFeatures, MissingLevel, Scaling};
use super::{UnseenCategory, filled, finite};
use crate::column::{Column, MISSING, MOST_ROWS, Values, sort_levels};
use crate::error::{Error, Result, Warning, require};
use crate::stats::Spread;

/// An encoder being learned from batches of rows: the same rows in the same order give the same encoder.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EncoderLearner {
    columns: Vec<SeenColumn>,
    rows: usize,
}

/// What was seen of a column.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SeenColumn {
    name: String,
    values: Seen,
    missing: SeenMissing,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Seen {
    Numbers(Numbers),
    Levels(BTreeSet<String>),
}

/// The missing values of a column.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct SeenMissing {
    count: usize,
    /// The first row that misses the value.
    first: Option<usize>,
    /// Whether a row of positive weight misses it.
    counts: bool,
}

/// A column of numbers: their spread, their size, and whether they differ at all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Numbers {
    spread: Spread,
    first: Option<f64>,
    varies: bool,
    largest: f64,
}

impl EncoderLearner {
    /// Learns from more rows; all batches have the same columns.
    pub fn update(&mut self, columns: &[Column], weights: &[f64]) -> Result<()> {
        columns.iter().try_for_each(finite)?;
        if self.columns.is_empty() {
            self.columns = columns.iter().map(SeenColumn::new).collect();
        }
        for (seen, column) in self.columns.iter_mut().zip(columns) {
            debug_assert_eq!(seen.name, column.name, "batches have the same columns");
            seen.update(column, weights, self.rows)?;
        }
        self.rows += weights.len();
        Ok(())
    }

    /// Refuses counts that no table has (of a damaged or hostile file).
    pub fn check_read(&self) -> Result<()> {
        let sound = self.columns.iter().all(|column| {
            let SeenMissing { count, first, .. } = column.missing;
            count <= self.rows && first.is_none_or(|row| row < self.rows)
        });
        require(self.rows <= MOST_ROWS && sound, "the rows of its columns")
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// A remark if values are missing.
    pub fn filled(&self) -> Option<Warning> {
        let count = |column: &SeenColumn| (column.name.clone(), column.missing.count);
        filled(self.columns.iter().map(count))
    }

    /// Takes in what another learned from the rows that follow; `None` if their columns differ.
    pub fn merge(&mut self, other: Self) -> Option<()> {
        if self.columns.is_empty() {
            *self = other;
            return Some(());
        }
        if other.columns.is_empty() {
            return Some(());
        }
        if !self.names().eq(other.names()) {
            return None;
        }
        for (mine, theirs) in self.columns.iter_mut().zip(other.columns) {
            match (&mut mine.values, theirs.values) {
                (Seen::Numbers(mine), Seen::Numbers(theirs)) => mine.merge(&theirs),
                (Seen::Levels(mine), Seen::Levels(theirs)) => mine.extend(theirs),
                _ => return None,
            }
            mine.missing.merge(theirs.missing, self.rows);
        }
        self.rows += other.rows;
        Some(())
    }

    /// A remark if features are constant: numbers that do not vary, a single level.
    pub fn constant(&self) -> Option<Warning> {
        let mut features = Vec::new();
        let mut position = 0;
        for column in &self.columns {
            let missing = usize::from(column.missing.counts);
            let (known, width) = match &column.values {
                Seen::Numbers(numbers) => (1 + usize::from(numbers.varies), 1 + missing),
                Seen::Levels(levels) => (levels.len(), levels.len() + missing),
            };
            if known + missing < 2 {
                features.push((position, column.name.clone()));
            }
            position += width;
        }
        (!features.is_empty()).then_some(Warning::ConstantFeatures { features })
    }

    /// The encoder of everything learned.
    ///
    /// Refuses missing values if the encoding says so, and numbers that are too large to be squared.
    pub fn finish(self, encoding: impl Into<Encoding>, unseen: UnseenCategory) -> Result<Encoder> {
        let encoding = encoding.into();
        let feature = |column: SeenColumn| column.feature(encoding);
        Ok(Encoder {
            features: self
                .columns
                .into_iter()
                .map(feature)
                .collect::<Result<_>>()?,
            unseen,
        })
    }
}

impl SeenColumn {
    fn new(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            values: match column.values {
                Values::Numbers(_) => Seen::Numbers(Numbers::default()),
                Values::Categories { .. } => Seen::Levels(BTreeSet::new()),
            },
            missing: SeenMissing::default(),
        }
    }

    /// Learns from a batch whose first row is row `start` of the table.
    fn update(&mut self, column: &Column, weights: &[f64], start: usize) -> Result<()> {
        match &mut self.values {
            Seen::Numbers(numbers) => {
                for (row, (value, weight)) in column.to_numbers()?.iter().zip(weights).enumerate() {
                    if value.is_nan() {
                        self.missing.add(start + row, *weight);
                    } else {
                        numbers.add(*value, *weight);
                    }
                }
            }
            Seen::Levels(levels) => {
                levels.extend(column.sorted_levels());
                let (_, codes) = column.to_categories();
                for (row, (code, weight)) in codes.iter().zip(weights).enumerate() {
                    if *code == MISSING {
                        self.missing.add(start + row, *weight);
                    }
                }
            }
        }
        Ok(())
    }

    fn feature(self, encoding: Encoding) -> Result<Feature> {
        let Self {
            name,
            values,
            missing,
        } = self;
        let fills = encoding.missing == MissingFeatures::Indicate;
        if let (Some(row), false) = (missing.first, fills) {
            return Err(Error::MissingValues {
                column: name,
                count: missing.count,
                row,
            });
        }
        match values {
            Seen::Levels(levels) => {
                let mut levels: Vec<String> = levels.into_iter().collect();
                sort_levels(&mut levels);
                Ok(Feature::Categories {
                    name,
                    levels,
                    missing: match (fills, missing.counts) {
                        (false, _) => MissingLevel::Refused,
                        (true, false) => MissingLevel::Unmarked,
                        (true, true) => MissingLevel::Level,
                    },
                })
            }
            Seen::Numbers(numbers) => {
                let scale = numbers.scale(&name)?;
                let known = numbers.spread.mean;
                let (mean, scale) = match encoding.scaling {
                    Scaling::Raw => (0.0, 1.0),
                    Scaling::Standard => (known, scale),
                };
                // Where no row of the fit needs it, seven digits do: parts of a table agree on them, whatever their order of sums.
                let seven = f64::from(known as f32);
                let exact = missing.counts || !seven.is_finite();
                let missing = fills.then_some(Fill {
                    value: if exact { known } else { seven },
                    indicator: missing.counts,
                });
                Ok(Feature::Number {
                    name,
                    mean,
                    scale,
                    missing,
                })
            }
        }
    }
}

impl SeenMissing {
    fn add(&mut self, row: usize, weight: f64) {
        self.count += 1;
        self.first.get_or_insert(row);
        self.counts |= weight > 0.0;
    }

    /// Adds the missing values of the rows that follow the first `rows`.
    fn merge(&mut self, later: Self, rows: usize) {
        self.count += later.count;
        self.first = self.first.or(later.first.map(|row| rows + row));
        self.counts |= later.counts;
    }
}

impl Numbers {
    fn add(&mut self, value: f64, weight: f64) {
        self.varies |= *self.first.get_or_insert(value) != value;
        self.spread.add(value, weight);
        if value.abs() > self.largest.abs() {
            self.largest = value;
        }
    }

    fn merge(&mut self, other: &Self) {
        if let Some(value) = other.first {
            self.varies |= other.varies || *self.first.get_or_insert(value) != value;
        }
        self.spread.merge(other.spread);
        if other.largest.abs() > self.largest.abs() {
            self.largest = other.largest;
        }
    }

    /// The standard deviation; 1 for a constant. Refuses numbers whose squares overflow.
    fn scale(&self, name: &str) -> Result<f64> {
        let Spread {
            weight,
            mean,
            squares,
        } = self.spread;
        if !(mean.is_finite() && squares.is_finite()) {
            return Err(Error::OutOfSize {
                name: name.to_owned(),
                value: self.largest,
            });
        }
        let deviation = (squares / weight).sqrt();
        Ok(if self.varies && deviation > 0.0 {
            deviation
        } else {
            1.0
        })
    }
}
