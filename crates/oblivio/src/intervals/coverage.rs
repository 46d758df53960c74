//! How often intervals hold the target.

use oblivio_base::{Error, Result};

use super::PredictionInterval;
use crate::partition::{Partition, SensitiveDesign};

/// What was found of intervals and targets, cell by cell; rows may come in batches.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// The cells, and rows without one of their own.
    cells: Vec<Found>,
}

/// Sums over rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Found {
    rows: usize,
    covered: usize,
    endless: usize,
    width: f64,
}

/// How often the intervals of one cell held the target.
#[derive(Clone, Debug, PartialEq)]
pub struct CellCoverage {
    /// The cell in words.
    pub label: String,
    /// Its rows.
    pub rows: usize,
    /// The share of them whose interval holds the target.
    pub covered: f64,
    /// The mean width of the intervals; infinite if one of them is.
    pub width: f64,
    /// How many have no end.
    pub endless: usize,
}

impl Coverage {
    /// Nothing yet, for so many cells.
    pub fn new(cells: usize) -> Self {
        Self {
            cells: vec![Found::default(); cells + 1],
        }
    }

    /// Adds rows with their targets; those whose target is missing (NaN) do not count. An interval that ends at the target holds it.
    pub fn update(
        &mut self,
        interval: &PredictionInterval,
        targets: &[f64],
        assignment: Option<&SensitiveDesign>,
    ) -> Result<()> {
        if targets.len() != interval.lower.len() {
            return Err(Error::Length {
                what: "the target",
                found: targets.len(),
                needed: interval.lower.len(),
            });
        }
        let without = self.cells.len() - 1;
        for (row, target) in targets.iter().enumerate() {
            if target.is_nan() {
                continue;
            }
            let (lower, upper) = (interval.lower[row], interval.upper[row]);
            let cell = assignment.and_then(|of| of.cell(row)).unwrap_or(without);
            let found = &mut self.cells[cell];
            found.rows += 1;
            found.covered += usize::from(lower <= *target && *target <= upper);
            found.endless += usize::from(upper == f64::INFINITY);
            found.width += upper - lower;
        }
        Ok(())
    }

    /// The cells that have rows, rows without a cell of their own, and all rows together: the last alone without sensitive columns.
    pub fn cells(&self, partition: Option<&Partition>) -> Vec<CellCoverage> {
        let without = self.cells.len() - 1;
        let label = |cell: usize| match partition {
            Some(partition) if cell < without => partition.label(cell),
            _ => "no cell of their own".into(),
        };
        let mut lines: Vec<CellCoverage> = Vec::new();
        if partition.is_some() {
            let some = (0..=without).filter(|&cell| self.cells[cell].rows > 0);
            lines.extend(some.map(|cell| self.cells[cell].named(label(cell))));
        }
        let all = self.cells.iter().fold(Found::default(), Found::plus);
        if all.rows > 0 {
            lines.push(all.named("all rows".into()));
        }
        lines
    }
}

impl Found {
    fn plus(self, other: &Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            covered: self.covered + other.covered,
            endless: self.endless + other.endless,
            width: self.width + other.width,
        }
    }

    fn named(self, label: String) -> CellCoverage {
        let rows = self.rows as f64;
        CellCoverage {
            label,
            rows: self.rows,
            covered: self.covered as f64 / rows,
            width: self.width / rows,
            endless: self.endless,
        }
    }
}
