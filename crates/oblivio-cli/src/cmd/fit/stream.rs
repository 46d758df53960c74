//! The explicit path: rows pass by in batches, once to be looked at and once to be summed.

use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use oblivio::features::{FeatureFit, FeatureSettings};
use oblivio::fit::{PathGrid, StreamFit};
use oblivio::model::Checkpoint;
use oblivio::moments::{Batch, SensitiveRows};
use oblivio::survey::Survey;
use oblivio::{Column, Encoder, Model, Sensitive, Settings, Transformer, Warning, Watch};
use oblivio_base::Encoding;
use oblivio_kernels::Components;
use rayon::ThreadPool;

use super::columns::{Columns, Rows};
use super::memory::say_dropped;
use super::saved::Saved;
use super::{Args, Fitted};
use crate::cmd::stream::in_table;
use crate::progress::{RowBar, watched};
use crate::table::Source;

/// Rows on their way into a fit.
pub(super) struct Pass<'a> {
    pub(super) args: &'a Args,
    pub(super) data: &'a [PathBuf],
    pub(super) encoding: Encoding,
    pub(super) components: Components,
    pub(super) source: &'a Source,
    pub(super) columns: &'a Columns,
    pub(super) pool: &'a ThreadPool,
    pub(super) saved: Saved,
}

/// What is summed: the moments of a regression, or the means of features.
pub(super) enum Sums {
    Ridge(Box<StreamFit>),
    Features(Box<FeatureFit>),
}

impl Sums {
    /// Whether targets are summed, too.
    fn learns(&self) -> bool {
        matches!(self, Self::Ridge(_))
    }

    fn update(&mut self, batch: Batch, watch: &Watch) -> oblivio::Result<()> {
        match self {
            Self::Ridge(fit) => fit.update(batch, watch),
            Self::Features(fit) => fit.update(batch, watch),
        }
    }
}

impl Pass<'_> {
    /// Ridge regression of the target.
    pub(super) fn fit(mut self, settings: &Settings) -> Result<Fitted> {
        check_memory(self.components)?;
        let found = self.find(&format!("{settings:?}"))?;
        let (encoder, fit) = if let Some(checkpoint) = found {
            checkpoint.into_fit(settings)?
        } else {
            let survey = self.survey(settings.seed)?;
            watched(self.pool, |watch| {
                survey.begin(self.encoding, settings, self.components, watch)
            })?
        };
        let sums = self.gather(&encoder, Sums::Ridge(Box::new(fit)))?;
        let Sums::Ridge(mut fit) = sums else {
            bail!("the checkpoint is of another kind of fit; remove it");
        };
        let (mut settings, mut path) = (settings.clone(), Vec::new());
        if self.args.settings.values.finds_penalty() {
            let penalties = PathGrid::usual(settings.strength).penalties;
            (settings.penalty, path) =
                watched(self.pool, |watch| fit.choose(&settings, &penalties, watch))?;
        }
        let mut solved = watched(self.pool, |watch| fit.solve(watch))?;
        if solved.needs_rows() {
            let bar = RowBar::new("leaving out each row", self.source.rows());
            self.each(0, &bar, &mut |rows, _| {
                with_batch(&encoder, rows, rows.target.as_ref(), |batch| {
                    solved.update(batch, &Watch::default())
                })
            })?;
        }
        let target = self.args.target.as_deref().unwrap_or("");
        let (model, summary) = Model::new(encoder, solved.finish()?, target, &settings);
        Ok(Fitted {
            model,
            summaries: vec![summary],
            path,
        })
    }

    /// Features of the rows, for a learner to come.
    pub(super) fn features(
        mut self,
        settings: &FeatureSettings,
    ) -> Result<(Transformer, Vec<Warning>, usize)> {
        check_memory(self.components)?;
        let found = self.find(&format!("{settings:?}"))?;
        let (encoder, fit) = if let Some(checkpoint) = found {
            checkpoint.into_features(settings)?
        } else {
            let survey = self.survey(settings.seed)?;
            watched(self.pool, |watch| {
                survey.begin_features(self.encoding, settings, watch)
            })?
        };
        let sums = self.gather(&encoder, Sums::Features(Box::new(fit)))?;
        let Sums::Features(fit) = sums else {
            bail!("the checkpoint is of another kind of fit; remove it");
        };
        let (features, warnings) = watched(self.pool, |watch| fit.finish(watch))?;
        let transformer = Transformer { encoder, features };
        Ok((transformer, warnings, self.source.rows()))
    }

    /// The state that an earlier run with the same settings left.
    fn find(&mut self, settings: &str) -> Result<Option<Checkpoint>> {
        let settings = format!(
            "{settings} {:?} {:?} {:?} {:?}",
            self.encoding,
            self.components,
            self.columns,
            self.args.columns.read.options()
        );
        self.saved.begin(self.data, self.source, settings)
    }

    /// The first look at all rows.
    pub(super) fn survey(&self, seed: u64) -> Result<Survey> {
        let mut survey = Survey::new(seed);
        let (mut dropped, mut has_positive) = (0, false);
        let bar = RowBar::new("looking", self.source.rows());
        self.each(0, &bar, &mut |rows, _| {
            dropped += rows.dropped;
            has_positive |= rows.has_positive;
            survey.update(&rows.features, &rows.sensitive, rows.weights.as_deref())
        })?;
        drop(bar);
        self.columns.check_positive(has_positive, self.source)?;
        say_dropped(dropped, self.source.rows())?;
        Ok(survey)
    }

    /// The second: every row is summed. Goes on where a saved state left off.
    pub(super) fn gather(&mut self, encoder: &Encoder, mut sums: Sums) -> Result<Sums> {
        let mut saved = std::mem::take(&mut self.saved);
        let bar = RowBar::new("summing", self.source.rows());
        bar.advance(saved.rows());
        let mut failure = None;
        self.each(saved.rows(), &bar, &mut |rows, done| {
            let target = rows.target.as_ref().filter(|_| sums.learns());
            with_batch(encoder, rows, target, |batch| {
                sums.update(batch, &Watch::default())
            })?;
            // What cannot be saved is not the engine's problem, but it ends the pass.
            if let Err(error) = saved.keep(encoder, &sums, done) {
                failure = Some(error);
                return Err(oblivio::Error::Interrupted);
            }
            Ok(())
        })
        .map_err(|error| failure.unwrap_or(error))?;
        Ok(sums)
    }

    /// Does `work` on every batch of rows from `start` on; it hears how many rows of the table are done then.
    pub(super) fn each(
        &self,
        start: usize,
        bar: &RowBar,
        work: &mut (dyn FnMut(&Rows, usize) -> oblivio::Result<()> + Send),
    ) -> Result<()> {
        let mut done = start;
        for batch in self.source.batches(&self.columns.names(), start)? {
            let batch = batch?;
            let rows = self.columns.rows(&batch)?;
            let after = done + batch.rows();
            self.pool
                .install(|| work(&rows, after))
                .map_err(|error| in_table(error, self.source, done))?;
            bar.advance(batch.rows());
            done = after;
        }
        Ok(())
    }
}

/// The rows as the engine takes them; the target as numbers, if one is given.
fn with_batch(
    encoder: &Encoder,
    rows: &Rows,
    target: Option<&Column>,
    work: impl FnOnce(Batch) -> oblivio::Result<()>,
) -> oblivio::Result<()> {
    let (points, _) = encoder.encode(&rows.features)?;
    let sensitive = Sensitive::new(rows.sensitive.clone(), points.len())?;
    let targets = target.map(Column::to_numbers).transpose()?;
    if let (Some(target), Some(values)) = (target, &targets)
        && let Some(row) = values.iter().position(|value| value.is_nan())
    {
        return Err(oblivio::Error::MissingValues {
            column: target.name.clone(),
            count: target.missing().len(),
            row,
        });
    }
    work(Batch {
        points: &points,
        sensitive: SensitiveRows::Columns(&sensitive),
        targets: targets.as_deref(),
        weights: rows.weights.as_deref(),
    })
}

/// Compares what the sums need with what is free.
pub(in crate::cmd) fn check_memory(components: Components) -> Result<()> {
    // The second moments, their copies while they are solved, and a block of rows.
    let needed = 8.0 * (6.0 * (components.count as f64).powi(2) + f64::from(1u32 << 24));
    let Some(free) = super::free_memory() else {
        return Ok(());
    };
    ensure!(
        needed < 0.9 * free,
        "{} components need {:.1} GB of memory and {:.1} GB are free; give fewer --components",
        components.count,
        needed / 1e9,
        free / 1e9,
    );
    Ok(())
}
