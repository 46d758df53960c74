//! From named columns to points: numbers (standardised or not), categories as indicators.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::choice::{Named, nearest};
use crate::column::{Column, LevelMap, Value, Values, sort_levels};
use crate::error::{Error, Result, Warning, listed, require};
use crate::points::Points;
use crate::stats::Spread;

/// How the feature columns of a table become points; fitted once, then frozen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encoder {
    features: Vec<Feature>,
    unseen: UnseenCategory,
}

/// How one column becomes features of the points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(
    missing_docs,
    reason = "the fields are named in their variant's sentence"
)]
pub enum Feature {
    /// (v − mean)/scale
    Number { name: String, mean: f64, scale: f64 },
    /// One indicator per level.
    Categories { name: String, levels: Vec<String> },
}

/// An encoder being learned from batches of rows: the same rows in the same order give the same encoder.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EncoderLearner(Vec<(String, Seen)>);

/// What was seen of a column.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Seen {
    Numbers(Numbers),
    Levels(BTreeSet<String>),
}

impl EncoderLearner {
    /// Learns from more rows; all batches have the same columns.
    pub fn update(&mut self, columns: &[Column], weights: &[f64]) -> Result<()> {
        columns.iter().try_for_each(complete)?;
        if self.0.is_empty() {
            let seen = |column: &Column| match column.values {
                Values::Numbers(_) => Seen::Numbers(Numbers::default()),
                Values::Categories { .. } => Seen::Levels(BTreeSet::new()),
            };
            self.0 = columns.iter().map(|c| (c.name.clone(), seen(c))).collect();
        }
        for ((name, seen), column) in self.0.iter_mut().zip(columns) {
            match seen {
                Seen::Numbers(numbers) => {
                    for (value, weight) in column.to_numbers()?.into_iter().zip(weights) {
                        numbers.add(value, *weight);
                    }
                }
                Seen::Levels(levels) => {
                    debug_assert_eq!(*name, column.name, "batches have the same columns");
                    levels.extend(column.sorted_levels());
                }
            }
        }
        Ok(())
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Takes in what another learned from other rows; `None` if their columns differ.
    pub fn merge(&mut self, other: Self) -> Option<()> {
        if self.0.is_empty() {
            *self = other;
            return Some(());
        }
        if other.0.is_empty() {
            return Some(());
        }
        if !self.names().eq(other.names()) {
            return None;
        }
        for ((_, mine), (_, theirs)) in self.0.iter_mut().zip(other.0) {
            match (mine, theirs) {
                (Seen::Numbers(mine), Seen::Numbers(theirs)) => mine.merge(&theirs),
                (Seen::Levels(mine), Seen::Levels(theirs)) => mine.extend(theirs),
                _ => return None,
            }
        }
        Some(())
    }

    /// A remark if features are constant: numbers that do not vary, a single level.
    pub fn constant(&self) -> Option<Warning> {
        let (mut features, mut position) = (Vec::new(), 0);
        for (name, seen) in &self.0 {
            let (constant, width) = match seen {
                Seen::Numbers(numbers) => (!numbers.varies, 1),
                Seen::Levels(levels) => (levels.len() == 1, levels.len()),
            };
            if constant {
                features.push((position, name.clone()));
            }
            position += width;
        }
        (!features.is_empty()).then_some(Warning::ConstantFeatures { features })
    }

    /// The encoder of everything learned.
    pub fn finish(self, scaling: Scaling, unseen: UnseenCategory) -> Encoder {
        let feature = |(name, seen)| match seen {
            Seen::Levels(levels) => {
                let mut levels: Vec<String> = levels.into_iter().collect();
                sort_levels(&mut levels);
                Feature::Categories { name, levels }
            }
            Seen::Numbers(_) if scaling == Scaling::Raw => Feature::Number {
                name,
                mean: 0.0,
                scale: 1.0,
            },
            Seen::Numbers(numbers) => Feature::Number {
                name,
                mean: numbers.spread.mean,
                scale: numbers.scale(),
            },
        };
        Encoder {
            features: self.0.into_iter().map(feature).collect(),
            unseen,
        }
    }
}

/// A column of numbers: their spread, and whether they differ at all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Numbers {
    spread: Spread,
    first: Option<f64>,
    varies: bool,
}

impl Numbers {
    fn add(&mut self, value: f64, weight: f64) {
        self.varies |= *self.first.get_or_insert(value) != value;
        self.spread.add(value, weight);
    }

    fn merge(&mut self, other: &Self) {
        if let Some(value) = other.first {
            self.varies |= other.varies || *self.first.get_or_insert(value) != value;
        }
        self.spread.merge(other.spread);
    }

    /// The standard deviation; that of a constant counts as 1.
    fn scale(&self) -> f64 {
        let deviation = self.spread.variance().sqrt();
        if self.varies && deviation > 0.0 {
            deviation
        } else {
            1.0
        }
    }
}

/// What becomes of columns of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// Mean 0 and standard deviation 1 over the rows of the fit; indicators stay 0 and 1.
    Standard,
    /// As they are.
    Raw,
}

impl Named for Scaling {
    const WHAT: &'static str = "scaling";
    const NAMES: &'static [(&'static str, Self)] =
        &[("standard", Self::Standard), ("raw", Self::Raw)];
}

/// A category without reference rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnseenCategory {
    /// Refuse, naming column and value.
    #[default]
    Error,
    /// The mean of all reference rows: nothing is taken out.
    Population,
    /// A mean of zero: the paper's rule, for reproduction only.
    Zero,
}

impl Named for UnseenCategory {
    const WHAT: &'static str = "the policy for unknown categories";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("error", Self::Error),
        ("population", Self::Population),
        ("zero", Self::Zero),
    ];
}

impl Feature {
    fn name(&self) -> &str {
        match self {
            Self::Number { name, .. } | Self::Categories { name, .. } => name,
        }
    }

    fn width(&self) -> usize {
        match self {
            Self::Number { .. } => 1,
            Self::Categories { levels, .. } => levels.len(),
        }
    }
}

impl Encoder {
    /// Learns the columns' kinds, levels, means and scales; `weights` say how often each row counts.
    ///
    /// A category that turns up later is refused, or given no indicator, as `unseen` says.
    pub fn fit(
        columns: &[Column],
        scaling: Scaling,
        weights: &[f64],
        unseen: UnseenCategory,
    ) -> Result<Self> {
        let mut learner = EncoderLearner::default();
        learner.update(columns, weights)?;
        Ok(learner.finish(scaling, unseen))
    }

    /// Columns of numbers, taken as they are.
    pub fn raw(names: &[String]) -> Self {
        let features = names.iter().map(|name| Feature::Number {
            name: name.clone(),
            mean: 0.0,
            scale: 1.0,
        });
        Self {
            features: features.collect(),
            unseen: UnseenCategory::Error,
        }
    }

    /// The same with another answer to categories that turn up later.
    #[must_use]
    pub fn with_unseen(self, unseen: UnseenCategory) -> Self {
        Self { unseen, ..self }
    }

    /// Whether points are the columns as they are, so that a matrix needs no encoding.
    pub fn is_raw(&self) -> bool {
        self.features.iter().all(|feature| {
            matches!(feature, Feature::Number { mean, scale, .. } if *mean == 0.0 && *scale == 1.0)
        })
    }

    /// The columns, in the order of the points' features.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// The answer to categories that turn up later.
    pub fn unseen(&self) -> UnseenCategory {
        self.unseen
    }

    /// The names of the columns needed.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.features.iter().map(Feature::name)
    }

    /// The number of features of the points.
    pub fn width(&self) -> usize {
        self.features.iter().map(Feature::width).sum()
    }

    /// The name of a feature of the points: the column's, with `=level` for an indicator.
    pub fn feature_name(&self, number: usize) -> Option<String> {
        let mut left = number;
        for feature in &self.features {
            if left < feature.width() {
                return Some(match feature {
                    Feature::Number { name, .. } => name.clone(),
                    Feature::Categories { name, levels } => format!("{name}={}", levels[left]),
                });
            }
            left -= feature.width();
        }
        None
    }

    /// The levels of a categorical column.
    pub fn levels(&self, column: &str) -> Option<&[String]> {
        self.features.iter().find_map(|feature| match feature {
            Feature::Categories { name, levels } if name == column => Some(&levels[..]),
            _ => None,
        })
    }

    /// The points of a table, whose columns are found by name; and how many values were of unseen categories.
    pub fn encode(&self, table: &[Column]) -> Result<(Points<'static>, usize)> {
        let columns = self
            .features
            .iter()
            .map(|feature| find(table, feature.name()))
            .collect::<Result<Vec<_>>>()?;
        let rows = columns.first().map_or(0, |column| column.len());
        let width = self.width();
        let mut values = vec![0.0; rows * width];
        let (mut start, mut ignored) = (0, 0);
        for (feature, column) in self.features.iter().zip(columns) {
            complete(column)?;
            match feature {
                Feature::Number { mean, scale, .. } => {
                    for (row, value) in column.to_numbers()?.into_iter().enumerate() {
                        values[row * width + start] = scaled(value, *mean, *scale);
                    }
                }
                Feature::Categories { levels, .. } => {
                    let (found, codes) = column.to_categories();
                    let known: HashMap<&String, usize> = levels.iter().zip(0..).collect();
                    let places: Vec<Option<usize>> = found
                        .iter()
                        .map(|level| known.get(level).copied())
                        .collect();
                    for (row, code) in codes.iter().enumerate() {
                        match places[*code as usize] {
                            Some(place) => values[row * width + start + place] = 1.0,
                            None if self.unseen == UnseenCategory::Error => {
                                return Err(Error::UnknownLevel {
                                    column: column.name.clone(),
                                    value: found[*code as usize].clone(),
                                    known: listed(levels),
                                });
                            }
                            None => ignored += 1,
                        }
                    }
                }
            }
            start += feature.width();
        }
        Ok((Points::new(values, width)?, ignored))
    }

    /// Refuses an encoder that no fit gives (of a damaged or hostile file).
    pub fn check_read(&self) -> Result<()> {
        let sound = self.features.iter().all(|feature| match feature {
            Feature::Number { mean, scale, .. } => {
                mean.is_finite() && scale.is_finite() && *scale > 0.0
            }
            Feature::Categories { levels, .. } => !levels.is_empty(),
        });
        require(sound, "the encoding of its columns")
    }
}

/// (v − mean)/scale
fn scaled(value: f64, mean: f64, scale: f64) -> f64 {
    (value - mean) / scale
}

/// The point of one row after the other, in memory that is taken once.
#[derive(Clone, Debug)]
pub struct EncoderRow {
    /// For every column; empty for numbers.
    levels: Vec<LevelMap>,
    /// The point of the row that was encoded last.
    pub point: Vec<f64>,
    /// How many values of the row were of unseen categories.
    pub ignored: usize,
}

impl EncoderRow {
    /// Takes the memory for rows of this encoder.
    pub fn new(encoder: &Encoder) -> Self {
        let levels = |feature: &Feature| match feature {
            Feature::Number { .. } => LevelMap::default(),
            Feature::Categories { levels, .. } => LevelMap::new(levels),
        };
        Self {
            levels: encoder.features.iter().map(levels).collect(),
            point: vec![0.0; encoder.width()],
            ignored: 0,
        }
    }

    /// Encodes the values of the encoder's columns; `None` for a row that [`encode`](Encoder::encode) refuses.
    pub fn encode(&mut self, encoder: &Encoder, row: &[Value]) -> Option<()> {
        self.point.fill(0.0);
        self.ignored = 0;
        let mut rest = &mut self.point[..];
        for ((feature, levels), value) in encoder.features.iter().zip(&self.levels).zip(row) {
            let (own, others) = rest.split_at_mut(feature.width());
            match feature {
                Feature::Number { mean, scale, .. } => {
                    own[0] = scaled(value.finite()?, *mean, *scale);
                }
                Feature::Categories { .. } => match levels.find(*value) {
                    Some(place) => own[place as usize] = 1.0,
                    None if encoder.unseen == UnseenCategory::Error || !is_category(*value) => {
                        return None;
                    }
                    None => self.ignored += 1,
                },
            }
            rest = others;
        }
        self.point.iter().all(|v| v.is_finite()).then_some(())
    }
}

/// Whether a value could be a category: neither missing nor infinite.
fn is_category(value: Value) -> bool {
    matches!(value, Value::Text(_)) || value.finite().is_some()
}

/// The column of that name.
pub fn find<'t>(table: &'t [Column], name: &str) -> Result<&'t Column> {
    table
        .iter()
        .find(|column| column.name == name)
        .ok_or_else(|| Error::UnknownColumn {
            name: name.to_owned(),
            nearest: nearest(name, table.iter().map(|c| c.name.as_str())),
        })
}

/// Refuses missing and infinite values, by the column's name.
pub fn complete(column: &Column) -> Result<()> {
    if let Some(&row) = column.missing().first() {
        return Err(Error::MissingValues {
            column: column.name.clone(),
            count: column.missing().len(),
            row,
        });
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<Column> {
        vec![
            Column::numbers("a", vec![1.0, 3.0]),
            Column::texts("b", [Some("y"), Some("x")]),
        ]
    }

    #[test]
    fn numbers_are_standardised_and_categories_become_indicators() {
        let encoder = Encoder::fit(
            &table(),
            Scaling::Standard,
            &[1.0; 2],
            UnseenCategory::Error,
        )
        .unwrap();
        let names: Vec<String> = (0..9).map_while(|k| encoder.feature_name(k)).collect();
        assert_eq!(names, ["a", "b=x", "b=y"]);
        let reversed: Vec<Column> = table().into_iter().rev().collect();
        let (points, _) = encoder.encode(&reversed).unwrap();
        assert_eq!(points.row(0), [-1.0, 0.0, 1.0]);
        assert_eq!(points.row(1), [1.0, 1.0, 0.0]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let fit = |unseen| Encoder::fit(&table(), Scaling::Raw, &[1.0; 2], unseen).unwrap();
        let row = |a: f64, b: Option<&'static str>| {
            vec![Column::numbers("a", vec![a]), Column::texts("b", [b])]
        };
        let refused = |table: &[Column]| fit(UnseenCategory::Error).encode(table).unwrap_err();
        assert_eq!(
            refused(&row(1.0, Some("z"))),
            Error::UnknownLevel {
                column: "b".into(),
                value: "z".into(),
                known: "x, y".into()
            }
        );
        assert!(matches!(
            refused(&row(f64::NAN, Some("x"))),
            Error::MissingValues { column, .. } if column == "a"
        ));
        assert!(matches!(
            refused(&row(f64::INFINITY, Some("x"))),
            Error::NotFinite { name, .. } if name == "column `a`"
        ));
        assert!(matches!(
            refused(&row(1.0, None)),
            Error::MissingValues { .. }
        ));
        assert_eq!(
            refused(&[Column::numbers("A", vec![1.0])]),
            Error::UnknownColumn {
                name: "a".into(),
                nearest: Some("A".into())
            }
        );
        let (points, ignored) = fit(UnseenCategory::Population)
            .encode(&row(1.0, Some("z")))
            .unwrap();
        assert_eq!((points.row(0), ignored), (&[1.0, 0.0, 0.0][..], 1));
    }
}
