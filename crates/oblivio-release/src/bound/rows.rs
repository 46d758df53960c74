//! The rows of a table, split: those that estimate the conditional mean anew, and those that bounds are of.

use oblivio::adjust::Offsets;
use oblivio::partition::SensitiveDesign;
use oblivio::reference::Reference;
use oblivio::{Model, Partition, Prediction, Sensitive};
use oblivio_base::encoder::find;
use oblivio_base::{Column, Error, Points, Result, Watch, random};

use super::certificate::placed;
use super::event::MOST_FEATURES;
use super::ground::Ground;
use super::report::BoundCell;

/// No more rows than this estimate the conditional mean, drawn by seed: every projected row is held against each of them.
const MOST_REFERENCE: usize = 4000;
/// Halves of fewer rows say nothing.
pub(super) const LEAST: usize = 10;

/// The rows of a table, by what they are for.
pub(super) struct Table<'a> {
    pub(super) model: &'a Model,
    pub(super) offsets: &'a Offsets,
    pub(super) points: Points<'static>,
    pub(super) sensitive: Sensitive,
    /// The partition with the masses and centres of the reference rows.
    pub(super) partition: Partition,
    pub(super) reference: Vec<usize>,
    pub(super) evaluation: Vec<usize>,
    /// The cells that have reference rows.
    pub(super) used: Vec<usize>,
    /// Rows that have no cell of their own.
    pub(super) left_out: usize,
}

impl<'a> Table<'a> {
    pub(super) fn new(model: &'a Model, table: &[Column], seed: u64) -> Result<Self> {
        let offsets = model.predictor().offsets().ok_or(Error::InvalidParameter {
            name: "a model to bound",
            expected: "one that was fitted with sensitive columns: fit it again with some",
            value: "one without".into(),
        })?;
        let (points, _) = model.encoder.encode(table)?;
        let columns: Result<Vec<Column>> = offsets
            .partition
            .needs()
            .into_iter()
            .map(|name| find(table, name).cloned())
            .collect();
        let sensitive = Sensitive::new(columns?, points.len())?;
        let complete = offsets.partition.complete(&sensitive)?;
        let assignment = offsets.partition.assign(&sensitive.select(&complete))?;
        let every = vec![true; offsets.partition.len()];
        let own: Vec<usize> = placed(&assignment, &every)
            .into_iter()
            .map(|i| complete[i])
            .collect();
        let left_out = points.len() - own.len();
        if own.len() < 2 * LEAST {
            return Err(Error::TooFewRows {
                what: "the table (those with a cell)",
                found: own.len(),
                needed: 2 * LEAST,
            });
        }
        let split = Reference::Half.split(own.len(), seed)?;
        let named = |part: &[usize]| -> Vec<usize> { part.iter().map(|&i| own[i]).collect() };
        let reference = random::sample(&named(&split.reference), MOST_REFERENCE, seed);
        let mut rows = Self {
            model,
            offsets,
            partition: (*offsets.partition).clone(),
            evaluation: named(&split.training),
            reference,
            used: Vec::new(),
            left_out,
            points,
            sensitive,
        };
        rows.recount()?;
        let kept = rows.evaluation.len();
        if kept < LEAST {
            // As many as leave enough, if the same share of them is lost.
            return Err(Error::TooFewRows {
                what: "the table (those with a cell, some of which have no reference row)",
                found: own.len(),
                needed: (own.len() * LEAST).div_ceil(kept.max(1)),
            });
        }
        Ok(rows)
    }

    /// Puts the reference rows in the place of those of the fit, and leaves out rows of cells that have none of them.
    fn recount(&mut self) -> Result<()> {
        let reference = self.sensitive.select(&self.reference);
        let partition = self.partition.re_estimated(&reference)?;
        let has_rows: Vec<bool> = partition.counts().iter().map(|count| *count > 0).collect();
        self.used = (0..partition.len()).filter(|&c| has_rows[c]).collect();
        self.partition = partition;
        let kept = placed(&self.assigned(&self.evaluation)?, &has_rows);
        self.left_out += self.evaluation.len() - kept.len();
        self.evaluation = kept.into_iter().map(|i| self.evaluation[i]).collect();
        Ok(())
    }

    pub(super) fn assigned(&self, rows: &[usize]) -> Result<SensitiveDesign> {
        self.partition.assign(&self.sensitive.select(rows))
    }

    pub(super) fn predict(
        &self,
        rows: &[usize],
        table: &[Column],
        watch: &Watch,
    ) -> Result<Vec<Prediction>> {
        let part: Vec<Column> = table.iter().map(|column| column.select(rows)).collect();
        self.model.predict(&part, watch)
    }

    pub(super) fn cells(&self, ground: &Ground) -> Vec<BoundCell> {
        let rows = ground.cells.len() as f64;
        let cell = |&cell: &usize| {
            let inside = ground.cells.iter().filter(|c| **c as usize == cell);
            BoundCell {
                label: self.partition.label(cell),
                rows: self.partition.counts()[cell],
                share: inside.count() as f64 / rows,
            }
        };
        self.used.iter().map(cell).collect()
    }

    pub(super) fn notes(&self, ground: &Ground) -> Vec<String> {
        let mut notes = vec![
            "certificates hold for rows that the model was not fitted on, drawn independently; each bound holds by itself".to_owned(),
        ];
        let (certified, rows) = (ground.certified, ground.rows.len());
        if ground.least.is_none() {
            notes.push(
                "the nearest points are not certified: distances found are at least the least ones, so only the upper ends of their intervals are valid".into(),
            );
        } else if certified < rows {
            notes.push(format!(
                "the lower ends of the intervals of distances are from {certified} of {rows} rows, whose nearest points are certified"
            ));
        }
        if ground.outside > 0 {
            notes.push(format!(
                "{} of {rows} projected rows lie outside the box of the reference rows: W may be the row itself there",
                ground.outside
            ));
        }
        if self.partition.smooth().is_some() {
            notes.push("the conditional mean is a regression on S, whose shifts have no range that is known beforehand: there are no intervals of distances, and no bound on the population by ψ".into());
        } else if !ground.limited {
            notes.push("features of this kernel can be longer than those of the reference rows: there is no bound on the population by ψ".into());
        }
        if self.model.predictor().alignment().is_some() {
            notes.push("scores are aligned after the offset: the bound on the change is of the score before that".into());
        }
        if self.left_out > 0 {
            notes.push(format!(
                "{} rows without a cell of their own, or whose cell has no reference row, are left out",
                self.left_out
            ));
        }
        let numbers = self.model.encoder.columns();
        let numbers = numbers
            .filter(|name| self.model.encoder.levels(name).is_none())
            .count();
        if numbers > MOST_FEATURES {
            notes.push(format!(
                "the first {MOST_FEATURES} of {numbers} features that are numbers have events of their own"
            ));
        }
        notes
    }
}
