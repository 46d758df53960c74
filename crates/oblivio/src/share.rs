//! The share of a fit that falls to some rows, gathered away from the others.

use oblivio_base::{Encoder, Error, Result, Watch};

use crate::features::FeatureFit;
use crate::fit::StreamFit;
use crate::gather::Gather;
use crate::model::Checkpoint;
use crate::moments::{Batch, Moments};

/// The sums of some rows of a table, by the plan of a fit that was begun elsewhere and takes them in.
///
/// A share knows where its rows begin and how many there are, and joins only with the one that follows: no row can be counted
/// twice and none be left out, however often a part of the work was done again.
#[derive(Clone, Debug)]
pub struct Share {
    pub(crate) encoder: Encoder,
    /// Absent where no sum is needed.
    pub(crate) moments: Option<Moments>,
    /// The place of the first row in the table, and how many there are; those of weight zero are not counted.
    pub(crate) start: usize,
    pub(crate) rows: usize,
}

impl Share {
    /// No rows yet, of a part of the table that begins at row `start`. The plan is that of a fit without rows whose training
    /// rows estimate.
    pub fn new(plan: Checkpoint, start: usize) -> Result<Self> {
        let (encoder, moments) = plan.into_plan()?;
        Ok(Self {
            encoder,
            moments,
            start,
            rows: 0,
        })
    }

    /// From columns to points, as settled by the fit.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Rows added, those of weight zero left out.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds rows.
    pub fn update(&mut self, batch: Batch, watch: &Watch) -> Result<()> {
        let rows = match batch.weights {
            Some(weights) => weights.iter().filter(|w| **w != 0.0).count(),
            None => batch.points.len(),
        };
        match &mut self.moments {
            Some(moments) => moments.update(batch, watch)?,
            None => batch.check()?,
        }
        self.rows += rows;
        Ok(())
    }

    /// Takes in the share of the rows that follow.
    pub fn join(&mut self, later: &Self, watch: &Watch) -> Result<()> {
        if later.start != self.start + self.rows {
            return Err(Error::OutOfTurn {
                found: later.start,
                needed: self.start + self.rows,
            });
        }
        if let (Some(mine), Some(theirs)) = (&mut self.moments, &later.moments) {
            take_in(mine, theirs, watch)?;
        }
        self.rows += later.rows;
        Ok(())
    }
}

/// Adds sums to others. Those of no rows are added to the others, so that no digit is lost to another origin, and the rows that
/// were left out stay counted.
fn take_in(mine: &mut Moments, theirs: &Moments, watch: &Watch) -> Result<()> {
    if mine.rows() > 0 {
        return mine.merge(theirs, watch);
    }
    let mut both = theirs.clone();
    both.merge(mine, watch)?;
    *mine = both;
    Ok(())
}

impl Gather {
    /// Takes in the share of all rows of the table.
    fn absorb(&mut self, share: &Share, watch: &Watch) -> Result<()> {
        if let Some(moments) = &share.moments {
            take_in(&mut self.reference, moments, watch)?;
            self.rows += moments.rows();
            self.table_rows = self.table_rows.max(self.rows);
        }
        Ok(())
    }
}

impl StreamFit {
    /// Adds the rows of a share, which are all there are.
    pub fn absorb(&mut self, share: &Share, watch: &Watch) -> Result<()> {
        self.gather.absorb(share, watch)
    }
}

impl FeatureFit {
    /// Adds the rows of a share, which are all there are.
    pub fn absorb(&mut self, share: &Share, watch: &Watch) -> Result<()> {
        match &mut self.gather {
            Some(gather) => gather.absorb(share, watch),
            None => Ok(()),
        }
    }
}
