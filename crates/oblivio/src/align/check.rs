//! Checks of alignments that were read from a file: damaged or hostile ones are refused.

use oblivio_base::Result;
use oblivio_base::choice::check_strength;
use oblivio_base::error::require;

use super::{Alignment, By, SmoothNormal, SmoothTable, Table};

/// The damaged part, if a check fails.
const DAMAGED: &str = "its alignment";

impl Alignment {
    /// Refuses an alignment that no fit gives (of a damaged or hostile file).
    pub fn check_read(&self) -> Result<()> {
        check_strength(self.strength)?;
        match &self.by {
            By::CellMoments(cells) => cells.check_read(),
            By::CellQuantiles(cells) => cells.check_read(),
            By::SmoothMoments(smooth) => smooth.check_read(),
            By::SmoothQuantiles(smooth) => smooth.check_read(),
        }
    }
}

impl Table {
    /// Refuses a line that is no distribution (of a damaged or hostile file).
    pub(super) fn check_read(&self) -> Result<()> {
        let sound = !self.values.is_empty()
            && self.values.len() == self.ranks.len()
            && self.values.iter().all(|value| value.is_finite())
            && self.values.is_sorted()
            && self.ranks.is_sorted()
            && self.ranks.iter().all(|rank| (0.0..=1.0).contains(rank));
        require(sound, DAMAGED)
    }
}

impl SmoothNormal {
    /// Refuses moments that no fit gives.
    pub(super) fn check_read(&self) -> Result<()> {
        let numbers = [self.mean, self.variance, self.centre, self.scale];
        let on = self.mean_on.iter().chain(&self.variance_on);
        let sound = numbers.iter().chain(on).all(|v| v.is_finite())
            && self.variance >= 0.0
            && self.scale >= 0.0
            && self.mean_on.len() == self.variance_on.len();
        require(sound, DAMAGED)
    }
}

impl SmoothTable {
    /// Refuses distributions that no fit gives.
    pub(super) fn check_read(&self) -> Result<()> {
        self.all.check_read()?;
        let count = self.all.values.len();
        let sound = self.common.len() == count
            && self.common.is_sorted()
            && self.on.len().is_multiple_of(count)
            && self.common.iter().chain(&self.on).all(|v| v.is_finite());
        require(sound, DAMAGED)
    }
}
