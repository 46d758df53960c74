//! One side of a comparison.

use oblivio::sensitive::Kind;
use oblivio_base::points::check_weights;
use oblivio_base::{Column, Error, Result, Watch};

use super::HsicSettings;
use super::factor::Factor;
use super::matrix::Matrix;
use super::reading::Reading;

/// One side of a comparison by HSIC: columns under a kernel, ready to be held against any number of others.
#[derive(Clone, Debug)]
pub struct HsicSide {
    pub(super) weights: Vec<f64>,
    pub(super) settings: HsicSettings,
    pub(super) form: Form,
    gamma: Option<f64>,
}

/// The centred kernel of all pairs of rows.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// Through features: all a kernel of low rank needs.
    Factor(Factor),
    /// Entry by entry.
    Matrix(Matrix),
}

impl HsicSide {
    /// Numbers under one Gaussian kernel times, for each categorical column, 1 if two rows have the same category and 0
    /// if not.
    ///
    /// Continuous columns are standardised, and γ is one over the median of their squared distances, pairs of equal rows
    /// left out. A missing category is one like the others; a missing number is refused.
    pub fn new(
        columns: &[Column],
        kinds: &[Kind],
        weights: Option<&[f64]>,
        settings: &HsicSettings,
        watch: &Watch,
    ) -> Result<Self> {
        let weights = checked(columns, weights)?;
        let reading = Reading::of(columns, kinds, &weights)?;
        Self::of(reading, weights, settings, watch)
    }

    /// All columns of a table under one Gaussian kernel.
    ///
    /// Where categories are to be equal in many columns at once, hardly any two rows are alike. Here a categorical column
    /// becomes coordinates of total variance 1 beside the standardised numbers. Beyond its 64 most frequent categories,
    /// the others count as one.
    pub fn table(
        columns: &[Column],
        weights: Option<&[f64]>,
        settings: &HsicSettings,
        watch: &Watch,
    ) -> Result<Self> {
        let weights = checked(columns, weights)?;
        let reading = Reading::of_table(columns, &weights)?;
        Self::of(reading, weights, settings, watch)
    }

    fn of(
        reading: Reading,
        weights: Vec<f64>,
        settings: &HsicSettings,
        watch: &Watch,
    ) -> Result<Self> {
        watch.begin("kernel for HSIC", 0)?;
        let gamma = reading.points.as_ref().and(reading.kernel.gamma());
        let seed = settings.seed;
        let form = if reading.rows <= settings.exact_rows {
            match Factor::exact(&reading, &weights, seed, watch)? {
                Some(factor) => Form::Factor(factor),
                None => Form::Matrix(Matrix::of(&reading, &weights, watch)?),
            }
        } else {
            let landmarks = settings.landmarks(&reading);
            Form::Factor(Factor::low_rank(reading, &weights, landmarks, seed, watch)?)
        };
        Ok(Self {
            weights,
            settings: *settings,
            form,
            gamma,
        })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// γ of the Gaussian part; none where no number varies.
    pub fn gamma(&self) -> Option<f64> {
        self.gamma
    }

    /// The rank of the kernel, where it is known to be low.
    pub fn rank(&self) -> Option<usize> {
        match &self.form {
            Form::Factor(factor) => Some(factor.spectrum.iter().filter(|v| **v > 0.0).count()),
            Form::Matrix(_) => None,
        }
    }

    pub(super) fn is_exact(&self) -> bool {
        self.len() <= self.settings.exact_rows
    }
}

/// The weights of the columns' rows, 1 where none are given.
fn checked(columns: &[Column], weights: Option<&[f64]>) -> Result<Vec<f64>> {
    let rows = columns.first().map_or(0, Column::len);
    for column in columns {
        if column.len() != rows {
            return Err(Error::Length {
                what: "a column",
                found: column.len(),
                needed: rows,
            });
        }
    }
    if let Some(weights) = weights {
        check_weights(weights, rows)?;
    }
    let weights = weights.map_or_else(|| vec![1.0; rows], <[f64]>::to_vec);
    let found = weights.iter().filter(|w| **w > 0.0).count();
    if found < HsicSettings::FEWEST_ROWS {
        return Err(Error::TooFewRows {
            what: "a comparison by HSIC",
            found,
            needed: HsicSettings::FEWEST_ROWS,
        });
    }
    Ok(weights)
}
