//! Checks of partitions and their parts that were read from a file: damaged or hostile ones are refused.

use std::collections::HashSet;

use oblivio_base::Result;
use oblivio_base::column::MOST_ROWS;
use oblivio_base::error::require;

use super::axis::{self, Axis};
use super::boxes::Tree;
use super::regression::{
    Block, Coordinate, Coordinates, Form, Landmarks, MOST_LANDMARKS, Smooth, Source, check_features,
};
use super::{Partition, Uses};
use crate::sensitive::MOST_COLUMNS;

/// The damaged part, if a check fails.
const DAMAGED: &str = "its partition";

impl Partition {
    /// Refuses a partition that no fit gives (of a damaged or hostile file).
    pub fn check_read(&self) -> Result<()> {
        self.smooth.as_ref().map_or(Ok(()), Smooth::check_read)?;
        axis::check_read(&self.axes)?;
        let sound = !self.keys.is_empty()
            && self.mass.len() == self.keys.len()
            && self.counts.len() == self.keys.len()
            && rows_are_sound(&self.counts)
            && self.mass.iter().all(|mass| *mass > 0.0 && mass.is_finite())
            && self.keys.is_sorted_by(|a, b| a < b)
            && self.keys.iter().all(|key| {
                key.len() == self.axes.len()
                    && key.iter().zip(&self.axes).all(|(p, axis)| *p < axis.len())
            })
            && (self.ends.is_empty() || self.spans_are_sound());
        require(sound, DAMAGED)
    }

    /// Whether cells that span several positions do so along bins, and none meets another.
    fn spans_are_sound(&self) -> bool {
        let spans = |low: u32, high: u32, axis: &Axis| {
            low == high || (low < high && axis.bins().is_some_and(|bins| high < bins))
        };
        self.ends.len() == self.keys.len()
            && self.keys.iter().zip(&self.ends).all(|(low, high)| {
                let mut axes = low.iter().zip(high).zip(&self.axes);
                high.len() == low.len() && axes.all(|((l, h), axis)| spans(*l, *h, axis))
            })
            && Tree::new(&self.axes, &self.keys, &self.ends).is_some()
    }
}

/// Whether a table can have this number of rows in its cells.
fn rows_are_sound(counts: &[usize]) -> bool {
    let rows = counts
        .iter()
        .try_fold(0usize, |sum, count| sum.checked_add(*count));
    rows.is_some_and(|rows| rows <= MOST_ROWS)
}

impl Uses {
    /// Refuses counts that no fit gives (of a damaged or hostile file).
    pub(crate) fn check_read(self) -> Result<()> {
        let Self {
            empty_cell,
            unseen_category,
            out_of_range,
            missing,
            sensitive_free,
            unseen_level,
            missing_feature,
        } = self;
        let counts = [
            empty_cell,
            unseen_category,
            out_of_range,
            missing,
            sensitive_free,
            unseen_level,
            missing_feature,
        ];
        let possible = counts.iter().all(|count| *count <= MOST_ROWS);
        require(possible, "the number of its rows")
    }
}

impl Smooth {
    /// Refuses a regression that no fit gives (of a damaged or hostile file).
    pub(super) fn check_read(&self) -> Result<()> {
        require((1..=2).contains(&self.blocks.len()), DAMAGED)?;
        self.blocks.iter().try_for_each(Block::check_read)?;
        require(check_features(self.len()).is_ok(), DAMAGED)
    }
}

impl Block {
    fn check_read(&self) -> Result<()> {
        match &self.source {
            Source::Cells(partition) => {
                require(partition.smooth.is_none(), DAMAGED)?;
                partition.check_read()?;
            }
            Source::Columns(coordinates) => coordinates.check_read()?,
            Source::Kernel(features) => features.on.check_read()?,
        }
        let sound = self.len() > 0
            && self.centre.iter().all(|v| v.is_finite())
            && self.centre.len() == self.len()
            && self.ridge >= 0.0
            && self.ridge.is_finite()
            && self.sign.abs() == 1.0;
        require(sound, DAMAGED)
    }
}

impl Landmarks {
    /// Refuses landmarks that no fit gives (of a damaged or hostile file).
    fn check_read(&self) -> Result<()> {
        self.coordinates.check_read()?;
        let (dim, count) = (self.coordinates.len(), self.len());
        let sound = self.gamma.is_finite()
            && self.gamma >= 0.0
            && dim > 0
            && (1..=MOST_LANDMARKS).contains(&count)
            && count * dim == self.values.len()
            && self.values.iter().all(|v| v.is_finite());
        require(sound, DAMAGED)
    }
}

impl Coordinates {
    fn check_read(&self) -> Result<()> {
        let sound = |coordinate: &Coordinate| match &coordinate.form {
            Form::Categories { .. } => coordinate.len() > 0,
            Form::Number { mean, scale, .. } => {
                mean.is_finite() && scale.is_finite() && *scale > 0.0
            }
        };
        let names: HashSet<&str> = self.names().collect();
        let few = names.len() == self.0.len() && self.0.len() <= MOST_COLUMNS;
        require(few && self.0.iter().all(sound), DAMAGED)
    }
}
