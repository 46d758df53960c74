//! Columns and matrices from Python.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use oblivio::{Column, Encoder, Points, Result, Sensitive, Values, Warning};
use oblivio_base::UnseenCategory;
use oblivio_base::encoder::{FeatureUses, filled_features};
use pyo3::prelude::*;

use crate::settings::Common;

/// A column's values: numbers, or levels and codes.
#[derive(FromPyObject)]
pub(crate) enum ColumnValues<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Categories((Vec<String>, PyReadonlyArray1<'py, u32>)),
}

/// Name and values.
pub(crate) type NamedColumn<'py> = (String, ColumnValues<'py>);

/// The feature columns: a matrix of numbers with its columns' names, or columns one by one.
#[derive(FromPyObject)]
pub(crate) enum Table<'py> {
    Matrix((PyReadonlyArray2<'py, f64>, Vec<String>)),
    Columns(Vec<NamedColumn<'py>>),
}

pub(crate) fn column((name, values): &NamedColumn<'_>) -> Column {
    let values = match values {
        ColumnValues::Numbers(numbers) => Values::Numbers(numbers.as_array().to_vec()),
        ColumnValues::Categories((levels, codes)) => Values::Categories {
            levels: levels.clone(),
            codes: codes.as_array().to_vec(),
        },
    };
    Column {
        name: name.clone(),
        values,
    }
}

pub(crate) fn sensitive(columns: &[NamedColumn<'_>], rows: usize) -> Result<Sensitive> {
    Sensitive::new(columns.iter().map(column).collect(), rows)
}

/// Name and values for Python.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    column: &Column,
) -> PyResult<(String, Bound<'py, PyAny>)> {
    let values = match &column.values {
        Values::Numbers(values) => PyArray1::from_slice(py, values).into_any(),
        Values::Categories { levels, codes } => (levels.clone(), codes.clone().into_pyarray(py))
            .into_pyobject(py)?
            .into_any(),
    };
    Ok((column.name.clone(), values))
}

impl Table<'_> {
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Matrix((matrix, _)) => matrix.as_array().nrows(),
            Self::Columns(columns) => columns.first().map_or(0, |c| column(c).len()),
        }
    }

    /// The columns, those named in `categorical` read as categories.
    pub(crate) fn columns(&self, categorical: &[String]) -> Vec<Column> {
        let columns: Vec<Column> = match self {
            Self::Matrix((matrix, names)) => names
                .iter()
                .zip(matrix.as_array().columns())
                .map(|(name, values)| Column::numbers(name, values.to_vec()))
                .collect(),
            Self::Columns(columns) => columns.iter().map(column).collect(),
        };
        let read = |column: Column| {
            if categorical.contains(&column.name) {
                let (levels, codes) = column.to_categories();
                Column {
                    name: column.name,
                    values: Values::Categories { levels, codes },
                }
            } else {
                column
            }
        };
        columns.into_iter().map(read).collect()
    }

    /// Learns the encoding; also a remark if values are missing.
    pub(crate) fn encoder(
        &self,
        common: &Common,
        weights: Option<&[f64]>,
    ) -> Result<(Encoder, Option<Warning>)> {
        let columns = self.columns(&common.categorical_features);
        let ones = vec![1.0; self.rows()];
        let encoder = Encoder::fit(
            &columns,
            common.encoding()?,
            weights.unwrap_or(&ones),
            UnseenCategory::Population,
        )?;
        Ok((encoder, filled_features(&columns)))
    }

    /// Whether values of a matrix are missing.
    fn has_gaps(&self) -> bool {
        match self {
            Self::Matrix((matrix, _)) => matrix.as_array().iter().any(|value| value.is_nan()),
            Self::Columns(_) => false,
        }
    }

    /// The points, and how many values were missing or of unseen categories; borrowed from Python's memory where the encoding is none
    /// and the rows lie one after the other.
    pub(crate) fn points(&self, encoder: &Encoder) -> Result<(Points<'_>, FeatureUses)> {
        match self {
            Self::Matrix((matrix, _)) if encoder.is_raw() && !self.has_gaps() => {
                let width = matrix.as_array().ncols();
                let points = match matrix.as_slice() {
                    Ok(values) => Points::new(values, width)?,
                    Err(_) => {
                        Points::new(matrix.as_array().iter().copied().collect::<Vec<_>>(), width)?
                    }
                };
                Ok((points, FeatureUses::default()))
            }
            _ => encoder.encode(&self.columns(&[])),
        }
    }
}
