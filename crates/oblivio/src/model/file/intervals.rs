//! Residuals of intervals in the file of a model.

use oblivio_base::{Named, Result};
use serde::{Deserialize, Serialize};

use super::container::{Tensor, require};
use crate::intervals::{IntervalSource, Intervals, Residuals};

/// [`Intervals`] without the numbers that are a tensor: all sizes, then all masses.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct IntervalsHeader {
    source: String,
    /// The rows of each cell.
    rows: Vec<usize>,
    /// The steps of each cell.
    steps: Vec<usize>,
}

impl IntervalsHeader {
    pub(super) fn new(intervals: &Intervals) -> Self {
        Self {
            source: intervals.source.name().into(),
            rows: intervals.rows(),
            steps: intervals.cells.iter().map(|of| of.sizes.len()).collect(),
        }
    }

    /// The numbers, as a tensor of this name.
    pub(super) fn numbers(name: &'static str, intervals: &Intervals) -> Tensor<'static> {
        let cells = &intervals.cells;
        let sizes = cells.iter().flat_map(|cell| &cell.sizes);
        let mass = cells.iter().flat_map(|cell| &cell.mass);
        Tensor::vector(name, sizes.chain(mass).copied().collect::<Vec<f64>>())
    }

    /// The intervals of `cells` cells.
    pub(super) fn check(&self, numbers: &Tensor, cells: usize) -> Result<Intervals> {
        let source = IntervalSource::named(&self.source)?;
        let values = &numbers.values[..];
        let (mut sizes, mut mass) = values.split_at(values.len() / 2);
        let mut steps = self.steps.iter();
        let total = steps.try_fold(0usize, |sum, k| sum.checked_add(*k));
        require(
            self.rows.len() == cells
                && self.steps.len() == cells
                && total == Some(sizes.len())
                && sizes.len() == mass.len(),
            "the number of its intervals",
        )?;
        let mut found = Vec::with_capacity(cells);
        for (&rows, &steps) in self.rows.iter().zip(&self.steps) {
            let (own_sizes, own_mass);
            (own_sizes, sizes) = sizes.split_at(steps);
            (own_mass, mass) = mass.split_at(steps);
            let residuals = Residuals {
                rows,
                sizes: own_sizes.to_vec(),
                mass: own_mass.to_vec(),
            };
            residuals.check_read()?;
            found.push(residuals);
        }
        Ok(Intervals {
            source,
            cells: found,
        })
    }
}
