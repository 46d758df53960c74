//! The explicit path: rows pass by in batches, once to be looked at and once to be summed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use oblivio::{
    Batch, Checkpoint, Column, Components, Encoder, FeatureFit, FeatureSettings, Model, Scaling,
    Sensitive, SensitiveRows, Settings, StreamFit, Summary, Survey, Transformer, Warning, Watch,
};
use rayon::ThreadPool;
use serde::{Deserialize, Serialize};

use super::Args;
use super::columns::{Columns, Rows};
use super::exact::say_dropped;
use crate::cmd::stream::in_table;
use crate::progress::{RowBar, watched};
use crate::report;
use crate::table::{self, FileRecord, Source};

/// Rows on their way into a fit.
pub(super) struct Pass<'a> {
    pub(super) args: &'a Args,
    pub(super) scaling: Scaling,
    pub(super) components: Components,
    pub(super) source: &'a Source,
    pub(super) columns: &'a Columns,
    pub(super) pool: &'a ThreadPool,
}

/// What is summed: the moments of a regression, or the means of features.
enum Sums {
    Ridge(Box<StreamFit>),
    Features(Box<FeatureFit>),
}

impl Sums {
    fn update(&mut self, batch: Batch, watch: &Watch) -> oblivio::Result<()> {
        match self {
            Self::Ridge(fit) => fit.update(batch, watch),
            Self::Features(fit) => fit.update(batch, watch),
        }
    }
}

impl Pass<'_> {
    /// Ridge regression of the target.
    pub(super) fn fit(&self, settings: &Settings) -> Result<(Model, Summary)> {
        check_memory(self.components)?;
        let fingerprint = format!("{settings:?}");
        let mut saved = Saved::new(self, fingerprint)?;
        let (encoder, fit) = match saved.take() {
            Some(checkpoint) => checkpoint.into_fit(settings)?,
            None => {
                let survey = self.survey(settings.seed)?;
                watched(self.pool, |watch| {
                    survey.begin(self.scaling, settings, self.components, watch)
                })?
            }
        };
        let sums = self.gather(&encoder, Sums::Ridge(Box::new(fit)), &mut saved)?;
        let Sums::Ridge(fit) = sums else {
            bail!("the checkpoint is of another kind of fit; remove it");
        };
        let mut solved = watched(self.pool, |watch| fit.solve(watch))?;
        if solved.needs_rows() {
            let bar = RowBar::new("leaving out each row", self.source.rows());
            self.each(0, &bar, &mut |rows, _| {
                with_batch(&encoder, rows, |batch| {
                    solved.update(batch, &Watch::default())
                })
            })?;
        }
        let target = self.args.target.as_deref().unwrap_or("");
        let (model, summary) = Model::new(encoder, solved.finish()?, target, settings);
        saved.forget();
        Ok((model, summary))
    }

    /// Features of the rows, for a learner to come.
    pub(super) fn features(
        &self,
        settings: &FeatureSettings,
    ) -> Result<(Transformer, Vec<Warning>, usize)> {
        check_memory(self.components)?;
        let mut saved = Saved::new(self, format!("{settings:?}"))?;
        let (encoder, fit) = match saved.take() {
            Some(checkpoint) => checkpoint.into_features(settings)?,
            None => {
                let survey = self.survey(settings.seed)?;
                watched(self.pool, |watch| {
                    survey.begin_features(self.scaling, settings, watch)
                })?
            }
        };
        let sums = self.gather(&encoder, Sums::Features(Box::new(fit)), &mut saved)?;
        let Sums::Features(fit) = sums else {
            bail!("the checkpoint is of another kind of fit; remove it");
        };
        let (features, warnings) = watched(self.pool, |watch| fit.finish(watch))?;
        saved.forget();
        let transformer = Transformer { encoder, features };
        Ok((transformer, warnings, self.source.rows()))
    }

    /// The first look at all rows.
    fn survey(&self, seed: u64) -> Result<Survey> {
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
    fn gather(&self, encoder: &Encoder, mut sums: Sums, saved: &mut Saved) -> Result<Sums> {
        let start = saved.rows;
        let bar = RowBar::new("summing", self.source.rows());
        bar.advance(start);
        let mut failure = None;
        self.each(start, &bar, &mut |rows, done| {
            with_batch(encoder, rows, |batch| sums.update(batch, &Watch::default()))?;
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
    fn each(
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

/// The rows as the engine takes them.
fn with_batch(
    encoder: &Encoder,
    rows: &Rows,
    work: impl FnOnce(Batch) -> oblivio::Result<()>,
) -> oblivio::Result<()> {
    let (points, _) = encoder.encode(&rows.features)?;
    let sensitive = Sensitive::new(rows.sensitive.clone(), points.len())?;
    let targets = rows.target.as_ref().map(Column::to_numbers).transpose()?;
    if let (Some(target), Some(values)) = (&rows.target, &targets)
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
fn check_memory(components: Components) -> Result<()> {
    // The second moments, their copies while they are solved, and a block of rows.
    let needed = 8.0 * (6.0 * (components.count as f64).powi(2) + (1u32 << 24) as f64);
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

/// The state of a fit on disk, so that it can go on after an interruption.
struct Saved {
    path: Option<PathBuf>,
    every: Duration,
    last: Instant,
    note: Note,
    /// Rows of the table that are in the sums of the state found.
    rows: usize,
    found: Option<Checkpoint>,
}

/// What must be the same for a fit to go on.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Note {
    files: Vec<FileRecord>,
    columns: Vec<String>,
    settings: String,
    rows: usize,
}

impl Saved {
    fn new(pass: &Pass, settings: String) -> Result<Self> {
        let args = pass.args;
        let settings = format!(
            "{settings} {:?} {:?} {:?} {:?}",
            pass.scaling, pass.components, args.positive, args.drop_missing
        );
        let mut saved = Self {
            path: args.checkpoint.clone(),
            every: Duration::from_secs(args.checkpoint_every),
            last: Instant::now(),
            note: Note {
                files: pass.source.files(),
                columns: pass.columns.names(),
                settings,
                rows: 0,
            },
            rows: 0,
            found: None,
        };
        if let Some(path) = saved.path.clone() {
            ensure!(
                saved.note.files.iter().all(|file| file.path != "-"),
                "standard input cannot be read again after an interruption; leave --checkpoint out or give files"
            );
            saved.find(&path)?;
        }
        Ok(saved)
    }

    /// Looks for the state of an earlier run with the same arguments and files.
    fn find(&mut self, path: &Path) -> Result<()> {
        let name = || path.display().to_string();
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error).with_context(name),
        };
        let checkpoint = Checkpoint::from_bytes(&bytes).with_context(name)?;
        let note: Note = serde_json::from_str(checkpoint.note())
            .with_context(|| format!("{}: this is not a checkpoint of `oblivio fit`", name()))?;
        let rows = note.rows;
        let same = Note { rows: 0, ..note } == self.note;
        ensure!(
            same,
            "{}: this is the checkpoint of a fit with other arguments or files; remove it, or give another --checkpoint",
            name()
        );
        report::remark(format_args!(
            "note: going on from {} after {rows} rows",
            name()
        ));
        self.rows = rows;
        self.found = Some(checkpoint);
        Ok(())
    }

    /// The state found.
    fn take(&mut self) -> Option<Checkpoint> {
        self.found.take()
    }

    /// Writes the state if it is time.
    fn keep(&mut self, encoder: &Encoder, sums: &Sums, rows: usize) -> Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        if self.last.elapsed() < self.every {
            return Ok(());
        }
        self.note.rows = rows;
        let note = serde_json::to_string(&self.note)?;
        let checkpoint = match sums {
            Sums::Ridge(fit) => Checkpoint::of_fit(encoder, fit, note),
            Sums::Features(fit) => Checkpoint::of_features(encoder, fit, note),
        };
        table::write_bytes(path, &checkpoint.to_bytes()?)?;
        crate::say_if_interrupted(format!(
            "interrupted; {rows} rows are saved in {}, and the same command goes on from there",
            path.display()
        ));
        self.note.rows = 0;
        self.last = Instant::now();
        Ok(())
    }

    /// The fit is done: nothing is left to go on with.
    fn forget(&self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}
