//! One alignment among many: along an axis of all columns, or of one column among rows with one value of another.

use serde::{Deserialize, Serialize};

use super::axis::Axis;

/// An alignment of the rows that it concerns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Step {
    pub(super) along: Along,
    pub(super) axis: Axis,
}

/// The number that is aligned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Along {
    /// The component of a row along this direction of length one.
    Direction(Vec<f64>),
    /// One column, of the rows that have another one within \[low, high).
    Column {
        moved: usize,
        within: usize,
        low: f64,
        high: f64,
    },
}

impl Along {
    /// The number that is aligned; none for a row that it does not concern.
    pub(super) fn number(&self, row: &[f64]) -> Option<f64> {
        match self {
            Self::Direction(direction) => Some(direction.iter().zip(row).map(|(a, z)| a * z).sum()),
            Self::Column {
                moved,
                within,
                low,
                high,
            } => (*low <= row[*within] && row[*within] < *high).then(|| row[*moved]),
        }
    }

    /// Moves a row by so much.
    pub(super) fn shift(&self, row: &mut [f64], by: f64) {
        match self {
            Self::Direction(direction) => {
                row.iter_mut()
                    .zip(direction)
                    .for_each(|(z, a)| *z += a * by);
            }
            Self::Column { moved, .. } => row[*moved] += by,
        }
    }

    fn fits(&self, columns: usize) -> bool {
        match self {
            Self::Direction(direction) => {
                direction.len() == columns && direction.iter().all(|a| a.is_finite())
            }
            Self::Column {
                moved,
                within,
                low,
                high,
            } => *moved < columns && *within < columns && moved != within && low < high,
        }
    }
}

impl Step {
    /// Aligns a row with these features of S.
    pub(super) fn apply(&self, row: &mut [f64], given: &[f64]) {
        if let Some(number) = self.along.number(row) {
            self.along
                .shift(row, self.axis.apply(number, given) - number);
        }
    }

    /// All long vectors.
    pub(super) fn numbers(&mut self) -> Vec<&mut Vec<f64>> {
        let mut numbers = vec![&mut self.axis.knots, &mut self.axis.on];
        if let Along::Direction(direction) = &mut self.along {
            numbers.push(direction);
        }
        numbers
    }

    pub(super) fn fits(&self, columns: usize, width: usize) -> bool {
        self.along.fits(columns) && self.axis.fits(width)
    }
}
