//! The residuals that intervals are made of, in a model file.

use oblivio_base::{Named, Result};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};

use super::container::{numbers, require};
use crate::intervals::{IntervalSource, Intervals, Residuals};
use crate::predictor::Predictor;

/// [`Intervals`] without the numbers that are a tensor: all sizes, then all masses.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct IntervalsHeader {
    source: String,
    /// Of each cell, the rows and the steps.
    rows: Vec<usize>,
    steps: Vec<usize>,
}

impl IntervalsHeader {
    pub(super) fn of(intervals: &Intervals) -> Self {
        Self {
            source: intervals.source.name().into(),
            rows: intervals.rows(),
            steps: intervals.cells.iter().map(|of| of.sizes.len()).collect(),
        }
    }

    pub(super) fn numbers(intervals: &Intervals) -> Vec<f64> {
        let cells = &intervals.cells;
        let sizes = cells.iter().flat_map(|cell| &cell.sizes);
        let mass = cells.iter().flat_map(|cell| &cell.mass);
        sizes.chain(mass).copied().collect()
    }

    /// Gives the score of a regression its intervals of so many cells, and its fallback those of its own. Classes have none.
    pub(super) fn read_both(
        [own, spare]: [&Option<Self>; 2],
        tensors: &SafeTensors,
        cells: usize,
        mut regressions: Vec<&mut Predictor>,
    ) -> Result<()> {
        let [scorer] = &mut regressions[..] else {
            return require(
                own.is_none() && spare.is_none(),
                "the number of its intervals",
            );
        };
        if let Some(own) = own {
            scorer.intervals = Some(own.read(tensors, "intervals", cells)?);
        }
        if let Some(spare) = spare {
            let spare = spare.read(tensors, "fallback-intervals", cells)?;
            require(scorer.fallback.is_some(), "the intervals of its fallback")?;
            scorer
                .fallback
                .iter_mut()
                .for_each(|fallback| fallback.intervals = Some(spare.clone()));
        }
        Ok(())
    }

    /// The intervals of so many cells.
    fn read(&self, tensors: &SafeTensors, name: &str, cells: usize) -> Result<Intervals> {
        let (values, _) = numbers(tensors, name, 1)?;
        let source = IntervalSource::named(&self.source)?;
        let (mut sizes, mut mass) = values.split_at(values.len() / 2);
        let total = self
            .steps
            .iter()
            .try_fold(0usize, |sum, k| sum.checked_add(*k));
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
            found.push(Residuals {
                rows,
                sizes: own_sizes.to_vec(),
                mass: own_mass.to_vec(),
            });
        }
        require(found.iter().all(Residuals::is_sound), "its intervals")?;
        Ok(Intervals {
            source,
            cells: found,
        })
    }
}
