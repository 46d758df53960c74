//! The observations' features, checked once.

use std::borrow::Cow;
use std::collections::HashSet;

use faer::MatRef;

use crate::error::{Error, Result};

/// Rows of finite features, row after row in memory.
///
/// Owned or borrowed: a matrix that is already row-major and finite is not copied.
///
/// ```
/// use oblivio_base::Points;
/// let points = Points::new(vec![0.0, 1.0, 2.0, 3.0], 2)?;
/// assert_eq!(points.len(), 2);
/// assert_eq!(points.row(1), [2.0, 3.0]);
/// # Ok::<(), oblivio_base::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Points<'a> {
    values: Cow<'a, [f64]>,
    dim: usize,
}

impl<'a> Points<'a> {
    /// Takes the values of rows of `dim` features each.
    pub fn new(values: impl Into<Cow<'a, [f64]>>, dim: usize) -> Result<Self> {
        let values = values.into();
        if dim == 0 {
            return Err(Error::InvalidParameter {
                name: "number of features",
                expected: "at least 1",
                value: "0".into(),
            });
        }
        if !values.len().is_multiple_of(dim) {
            return Err(Error::Ragged {
                found: values.len(),
                columns: dim,
            });
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite {
                name: format!("feature {}", at % dim),
                row: at / dim,
                value: values[at],
            });
        }
        Ok(Self { values, dim })
    }

    /// Points that were checked before, row by row; at least one.
    pub fn of_rows(rows: &[&[f64]]) -> Points<'static> {
        Points {
            values: Cow::Owned(rows.concat()),
            dim: rows.first().map_or(1, |row| row.len()),
        }
    }

    /// The number of observations.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Whether there is no observation.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The number of features.
    #[inline]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The features of one observation.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.dim..(i + 1) * self.dim]
    }

    /// All values, row after row.
    #[inline]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The observations as a matrix.
    pub fn as_mat(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.values, self.len(), self.dim)
    }

    /// The named observations, in the order of `rows`.
    pub fn select(&self, rows: &[usize]) -> Points<'static> {
        Points {
            values: rows.iter().flat_map(|&i| self.row(i)).copied().collect(),
            dim: self.dim,
        }
    }

    /// The same points, owning their memory.
    pub fn into_owned(self) -> Points<'static> {
        Points {
            values: Cow::Owned(self.values.into_owned()),
            dim: self.dim,
        }
    }

    /// Positions of the features that take a single value.
    pub fn constant_features(&self) -> Vec<usize> {
        (0..self.dim)
            .filter(|&k| {
                let first = self.values.get(k);
                (0..self.len()).all(|i| Some(&self.row(i)[k]) == first)
            })
            .collect()
    }

    /// How many rows repeat an earlier row.
    pub fn duplicates(&self) -> usize {
        let mut seen = HashSet::with_capacity(self.len());
        // Adding zero makes -0 and 0 one value.
        (0..self.len())
            .filter(|&i| {
                !seen.insert(
                    self.row(i)
                        .iter()
                        .map(|v| (v + 0.0).to_bits())
                        .collect::<Box<[u64]>>(),
                )
            })
            .count()
    }
}

/// Refuses weights that do not say how often rows count.
pub fn check_weights(weights: &[f64], rows: usize) -> Result<()> {
    check_each_weight(weights, rows)?;
    if rows > 0 && weights.iter().all(|w| *w == 0.0) {
        return Err(wrong_weight("positive for some row", 0.0));
    }
    Ok(())
}

/// The same for some of the rows, which may all count nothing.
pub fn check_each_weight(weights: &[f64], rows: usize) -> Result<()> {
    if weights.len() != rows {
        return Err(Error::Length {
            what: "the weights",
            found: weights.len(),
            needed: rows,
        });
    }
    match weights.iter().find(|w| !(**w >= 0.0 && w.is_finite())) {
        Some(weight) => Err(wrong_weight("zero or a positive finite number", *weight)),
        None => Ok(()),
    }
}

fn wrong_weight(expected: &'static str, value: f64) -> Error {
    Error::InvalidParameter {
        name: "a weight",
        expected,
        value: value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_not_finite_is_named() {
        let error = Points::new(vec![0.0, 1.0, 2.0, f64::INFINITY], 2).unwrap_err();
        assert_eq!(
            error.to_string(),
            "feature 1 is inf in row 1; every value must be finite: remove or replace it"
        );
    }

    #[test]
    fn a_matrix_must_be_complete() {
        assert_eq!(
            Points::new(vec![0.0; 5], 2),
            Err(Error::Ragged {
                found: 5,
                columns: 2
            })
        );
        assert!(matches!(
            Points::new(vec![], 0),
            Err(Error::InvalidParameter { .. })
        ));
    }

    #[test]
    fn borrowed_rows_are_not_copied() {
        let values = [1.0, 2.0, 3.0, 4.0];
        let points = Points::new(&values[..], 2).unwrap();
        assert_eq!(points.values().as_ptr(), values.as_ptr());
    }

    #[test]
    fn duplicates_and_constant_features_are_found() {
        let points = Points::new(vec![1.0, 0.0, 1.0, -0.0, 1.0, 2.0], 2).unwrap();
        assert_eq!(points.duplicates(), 1);
        assert_eq!(points.constant_features(), vec![0]);
    }
}
