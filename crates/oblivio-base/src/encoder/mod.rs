//! From named columns to points: numbers (standardised or not), categories as indicators.

mod feature;
mod learner;
mod row;

use serde::{Deserialize, Serialize};

pub use self::feature::{Feature, Fill, MissingLevel};
pub use self::learner::EncoderLearner;
pub use self::row::EncoderRow;
use crate::choice::{Named, nearest};
use crate::column::{Column, Values};
use crate::error::{Error, Result, Warning, require};
use crate::points::Points;

/// How the feature columns of a table become points; fitted once, then frozen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encoder {
    features: Vec<Feature>,
    unseen: UnseenCategory,
}

/// How feature columns are encoded: the settings of an [`Encoder`].
///
/// A [`Scaling`] stands for an encoding with the usual answer to missing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// What becomes of columns of numbers.
    pub scaling: Scaling,
    /// What becomes of missing values.
    pub missing: MissingFeatures,
}

/// What becomes of missing values of features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingFeatures {
    /// A missing number is the mean of its column, with a feature that says so; a missing category is a level of its own.
    #[default]
    Indicate,
    /// They are refused, naming column and row.
    Error,
}

impl Named for MissingFeatures {
    const WHAT: &'static str = "the rule for missing features";
    const NAMES: &'static [(&'static str, Self)] =
        &[("indicate", Self::Indicate), ("error", Self::Error)];
}

impl From<Scaling> for Encoding {
    fn from(scaling: Scaling) -> Self {
        Self {
            scaling,
            missing: MissingFeatures::default(),
        }
    }
}

/// The values of features that an encoder had not seen at the fit, or that are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureUses {
    /// Values of unseen categories: all indicators are 0.
    pub unseen: usize,
    /// Missing values.
    pub missing: usize,
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

impl Encoder {
    /// Learns the columns' kinds, levels, means and scales; `weights` say how often each row counts.
    ///
    /// A category that turns up later is refused, or given no indicator, as `unseen` says. Refuses numbers that are too large to
    /// be squared, and missing values if the encoding says so.
    pub fn fit(
        columns: &[Column],
        encoding: impl Into<Encoding>,
        weights: &[f64],
        unseen: UnseenCategory,
    ) -> Result<Self> {
        let mut learner = EncoderLearner::default();
        learner.update(columns, weights)?;
        learner.finish(encoding, unseen)
    }

    /// Columns of numbers, taken as they are.
    pub fn raw(names: &[String]) -> Self {
        let features = names.iter().map(|name| Feature::Number {
            name: name.clone(),
            mean: 0.0,
            scale: 1.0,
            missing: None,
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

    /// Whether points are the columns as they are, so that a matrix without missing values needs no encoding.
    pub fn is_raw(&self) -> bool {
        self.features.iter().all(|feature| {
            matches!(feature, Feature::Number { mean, scale, .. } if *mean == 0.0 && *scale == 1.0)
                && !feature.is_indicated()
        })
    }

    /// Whether columns of numbers are scaled.
    pub fn is_scaled(&self) -> bool {
        let scaled = |feature: &Feature| matches!(feature, Feature::Number { mean, scale, .. } if *mean != 0.0 || *scale != 1.0);
        self.features.iter().any(scaled)
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
                return Some(feature.feature_name(left));
            }
            left -= feature.width();
        }
        None
    }

    /// The levels of a categorical column.
    pub fn levels(&self, column: &str) -> Option<&[String]> {
        self.features.iter().find_map(|feature| match feature {
            Feature::Categories { name, levels, .. } if name == column => Some(&levels[..]),
            _ => None,
        })
    }

    /// The points of a table, whose columns are found by name; and how many values were missing or of unseen categories.
    pub fn encode(&self, table: &[Column]) -> Result<(Points<'static>, FeatureUses)> {
        let columns = self
            .features
            .iter()
            .map(|feature| find(table, feature.name()))
            .collect::<Result<Vec<_>>>()?;
        let rows = columns.first().map_or(0, |column| column.len());
        let width = self.width();
        let mut values = vec![0.0; rows * width];
        let (mut start, mut uses) = (0, FeatureUses::default());
        for (feature, column) in self.features.iter().zip(columns) {
            let found = feature.encode(column, self.unseen, (&mut values, width, start))?;
            uses.unseen += found.unseen;
            uses.missing += found.missing;
            start += feature.width();
        }
        Ok((Points::new(values, width)?, uses))
    }

    /// Refuses an encoder that no fit gives (of a damaged or hostile file).
    pub fn check_read(&self) -> Result<()> {
        let sound = self.features.iter().all(|feature| match feature {
            Feature::Number {
                mean,
                scale,
                missing,
                ..
            } => {
                let fill = missing.is_none_or(|fill| fill.value.is_finite());
                mean.is_finite() && scale.is_finite() && *scale > 0.0 && fill
            }
            Feature::Categories { .. } => feature.width() > 0,
        });
        require(sound, "the encoding of its columns")
    }
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

/// A remark if these columns of a fit miss values.
pub fn filled_features(columns: &[Column]) -> Option<Warning> {
    let count = |column: &Column| (column.name.clone(), column.missing().len());
    filled(columns.iter().map(count))
}

/// A remark if columns miss values, by their counts.
fn filled(columns: impl Iterator<Item = (String, usize)>) -> Option<Warning> {
    let columns: Vec<(String, usize)> = columns.filter(|(_, count)| *count > 0).collect();
    (!columns.is_empty()).then_some(Warning::FilledFeatures { columns })
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
    finite(column)
}

/// Refuses infinite values, by the column's name; missing ones are let through.
pub fn finite(column: &Column) -> Result<()> {
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
    use crate::column::Value;

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
        let encoding = Encoding {
            scaling: Scaling::Raw,
            missing: MissingFeatures::Error,
        };
        let fit = |unseen| Encoder::fit(&table(), encoding, &[1.0; 2], unseen).unwrap();
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
        let (points, uses) = fit(UnseenCategory::Population)
            .encode(&row(1.0, Some("z")))
            .unwrap();
        assert_eq!((points.row(0), uses.unseen), (&[1.0, 0.0, 0.0][..], 1));
    }

    /// Columns that miss values, and one of each kind that misses none.
    fn gaps() -> Vec<Column> {
        vec![
            Column::numbers("a", vec![1.0, f64::NAN, 3.0, f64::NAN]),
            Column::texts("b", [Some("y"), None, Some("x"), Some("x")]),
            Column::numbers("c", vec![0.0, 2.0, 2.0, 0.0]),
            Column::texts("d", ["u", "v", "v", "u"].map(Some)),
        ]
    }

    fn fit(table: &[Column], scaling: Scaling) -> Encoder {
        let weights = vec![1.0; table[0].len()];
        Encoder::fit(table, scaling, &weights, UnseenCategory::Population).unwrap()
    }

    #[test]
    fn a_missing_number_is_the_mean_and_a_missing_category_a_level() {
        let encoder = fit(&gaps(), Scaling::Standard);
        let names: Vec<String> = (0..9).map_while(|k| encoder.feature_name(k)).collect();
        let expected = [
            "a",
            "a is missing",
            "b=x",
            "b=y",
            "b is missing",
            "c",
            "d=u",
            "d=v",
        ];
        assert_eq!(names, expected);
        let (points, uses) = encoder.encode(&gaps()).unwrap();
        assert_eq!(points.row(0), [-1.0, 0.0, 0.0, 1.0, 0.0, -1.0, 1.0, 0.0]);
        assert_eq!(points.row(1), [0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0]);
        assert_eq!((uses.missing, uses.unseen), (3, 0));
        // Not standardised, the mean itself takes the place.
        let (points, _) = fit(&gaps(), Scaling::Raw).encode(&gaps()).unwrap();
        assert_eq!(points.row(1)[..2], [2.0, 1.0]);
    }

    #[test]
    fn a_column_without_gaps_at_the_fit_may_have_some_later() {
        let encoder = fit(&gaps(), Scaling::Raw);
        let later = [
            Column::numbers("a", vec![1.0]),
            Column::texts("b", [Some("x")]),
            Column::numbers("c", vec![f64::NAN]),
            Column::texts("d", [None]),
        ];
        let (points, uses) = encoder.encode(&later).unwrap();
        assert_eq!(points.row(0), [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(uses.missing, 2);
    }

    #[test]
    fn a_column_may_miss_every_value() {
        let table = [
            Column::numbers("a", vec![f64::NAN; 2]),
            Column::texts("b", [None, None]),
        ];
        let encoder = fit(&table, Scaling::Standard);
        encoder.check_read().unwrap();
        let (points, _) = encoder.encode(&table).unwrap();
        assert_eq!(points.row(0), [0.0, 1.0, 1.0]);
    }

    #[test]
    fn a_row_of_weight_zero_makes_no_feature() {
        let weights = [1.0, 0.0, 1.0, 0.0];
        let policy = UnseenCategory::Population;
        let encoder = Encoder::fit(&gaps(), Scaling::Raw, &weights, policy).unwrap();
        assert!(!encoder.features().iter().any(Feature::is_indicated));
        let (points, uses) = encoder.encode(&gaps()).unwrap();
        assert_eq!((points.row(1)[0], uses.missing), (2.0, 3));
    }

    #[test]
    fn parts_are_learned_like_the_whole() {
        let part = |rows: std::ops::Range<usize>| -> EncoderLearner {
            let rows: Vec<usize> = rows.collect();
            let columns: Vec<Column> = gaps().iter().map(|c| c.select(&rows)).collect();
            let mut learner = EncoderLearner::default();
            learner.update(&columns, &vec![1.0; rows.len()]).unwrap();
            learner
        };
        let mut joined = part(0..1);
        joined.merge(part(1..4)).unwrap();
        assert_eq!(joined.filled(), filled_features(&gaps()));
        let finish = |learner: EncoderLearner, missing| {
            let scaling = Scaling::Raw;
            learner.finish(Encoding { scaling, missing }, UnseenCategory::Population)
        };
        let encoder = finish(joined.clone(), MissingFeatures::Indicate).unwrap();
        assert_eq!(encoder, fit(&gaps(), Scaling::Raw));
        assert_eq!(
            finish(joined, MissingFeatures::Error).unwrap_err(),
            Error::MissingValues {
                column: "a".into(),
                count: 2,
                row: 1
            }
        );
    }

    #[test]
    fn one_row_is_encoded_like_a_table_of_it() {
        let encoder = fit(&gaps(), Scaling::Standard);
        let mut rows = EncoderRow::new(&encoder);
        let values = [
            [
                Value::Number(1.0),
                Value::Text("z"),
                Value::Missing,
                Value::Text("u"),
            ],
            [
                Value::Number(f64::NAN),
                Value::Missing,
                Value::Text("2"),
                Value::Missing,
            ],
        ];
        for row in values {
            let columns = encoder.columns().zip(row);
            let table: Vec<Column> = columns.map(|(c, v)| Column::of_value(c, v)).collect();
            let (points, uses) = encoder.encode(&table).unwrap();
            rows.encode(&encoder, &row).unwrap();
            assert_eq!((&rows.point[..], rows.uses), (points.row(0), uses));
        }
        assert!(
            rows.encode(&encoder, &[Value::Number(f64::INFINITY); 4])
                .is_none()
        );
    }

    #[test]
    fn numbers_too_large_to_be_squared_are_not_called_constant() {
        let column = Column::numbers("a", vec![1e300, 2.0]);
        for scaling in [Scaling::Standard, Scaling::Raw] {
            let policy = UnseenCategory::Error;
            let error = Encoder::fit(std::slice::from_ref(&column), scaling, &[1.0; 2], policy);
            assert_eq!(
                error.unwrap_err(),
                Error::OutOfSize {
                    name: "a".into(),
                    value: 1e300
                }
            );
        }
    }
}
