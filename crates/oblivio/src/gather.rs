//! One pass over the rows of a table: the moments of those that train and of those that estimate.

use std::sync::Arc;

use oblivio_base::{Error, Points, Result, Watch};

use crate::moments::{Batch, Moments, Plan, SensitiveRows};
use crate::reference::Members;
use crate::sensitive::Sensitive;

/// The moments of a table, its rows sorted into those that train and those that estimate.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    pub(crate) members: Members,
    /// Rows of the table; what comes after them is not expected.
    pub(crate) table_rows: usize,
    /// Rows seen.
    pub(crate) rows: usize,
    pub(crate) reference: Moments,
    /// Absent where the same rows do both, or none are to train.
    pub(crate) training: Option<Moments>,
}

/// Rows of a batch, copied.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) points: Points<'static>,
    pub(crate) sensitive: Sensitive,
    pub(crate) targets: Option<Vec<f64>>,
    pub(crate) weights: Vec<f64>,
}

impl Rows {
    /// The rows of a batch with these numbers.
    pub(crate) fn select(batch: &Batch, sensitive: &Sensitive, rows: &[usize]) -> Self {
        let pick = |values: &[f64]| rows.iter().map(|&i| values[i]).collect::<Vec<f64>>();
        Self {
            points: batch.points.select(rows),
            sensitive: sensitive.select(rows),
            targets: batch.targets.map(pick),
            weights: batch.weights.map_or(vec![1.0; rows.len()], pick),
        }
    }

    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch {
            points: &self.points,
            sensitive: SensitiveRows::Columns(&self.sensitive),
            targets: self.targets.as_deref(),
            weights: Some(&self.weights),
        }
    }
}

impl Gather {
    pub(crate) fn new(plan: &Arc<Plan>, members: Members, table_rows: usize, trains: bool) -> Self {
        let training = (trains && !members.overlap()).then(|| Moments::new(Arc::clone(plan)));
        Self {
            members,
            table_rows,
            rows: 0,
            reference: Moments::new(Arc::clone(plan)),
            training,
        }
    }

    /// Moments whose rows train and estimate.
    pub(crate) fn of(moments: Moments) -> Self {
        Self {
            members: Members::all(),
            table_rows: moments.rows(),
            rows: moments.rows(),
            reference: moments,
            training: None,
        }
    }

    /// The moments of the rows that train.
    pub(crate) fn training(&self) -> &Moments {
        self.training.as_ref().unwrap_or(&self.reference)
    }

    /// Whether the same rows train and estimate.
    pub(crate) fn overlap(&self) -> bool {
        self.members.overlap()
    }

    /// Adds rows; those of weight zero, and those left out because they miss a sensitive value, are as good as not there and
    /// have no number.
    pub(crate) fn update(&mut self, batch: Batch, watch: &Watch) -> Result<()> {
        batch.check()?;
        let SensitiveRows::Columns(sensitive) = batch.sensitive else {
            return self.reference.update(batch, watch);
        };
        let counts = |i: &usize| batch.weights.is_none_or(|weights| weights[*i] > 0.0);
        let left_out = self.reference.plan.left_out(sensitive)?;
        let (without, rows): (Vec<usize>, Vec<usize>) = (0..batch.points.len())
            .filter(counts)
            .partition(|&i| left_out[i]);
        let first = self.rows;
        if !self.overlap() && first + rows.len() > self.table_rows {
            return Err(Error::Length {
                what: "the second pass over the table",
                found: first + rows.len(),
                needed: self.table_rows,
            });
        }
        self.rows += rows.len();
        if self.overlap() {
            // No row is assigned by its number, so more may come than were announced.
            self.table_rows = self.table_rows.max(self.rows);
            // Weights of zero are left out there, too.
            return self.reference.update(batch, watch);
        }
        let part = |test: &dyn Fn(usize) -> bool| -> Rows {
            let numbered = rows.iter().enumerate();
            let chosen: Vec<usize> = numbered
                .filter(|(k, _)| test(first + k))
                .map(|(_, &i)| i)
                .collect();
            Rows::select(&batch, sensitive, &chosen)
        };
        let reference = part(&|row| self.members.is_reference(row));
        self.reference.update(reference.batch(), watch)?;
        let counted = self.training.as_mut().unwrap_or(&mut self.reference);
        counted.count_left_out(without.len());
        if let Some(training) = &mut self.training {
            let rows = part(&|row| self.members.is_training(row));
            training.update(rows.batch(), watch)?;
        }
        Ok(())
    }
}
