//! The state of a fit on disk, so that it can go on after an interruption.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use oblivio::Encoder;
use oblivio::model::Checkpoint;
use serde::{Deserialize, Serialize};

use super::Args;
use super::stream::Sums;
use crate::report;
use crate::table::{self, KnownSource, Source};

/// Where the state of a fit is kept, if it is kept at all.
#[derive(Default)]
pub(super) struct Saved {
    path: Option<PathBuf>,
    every: Duration,
    last: Option<Instant>,
    /// What an earlier run left.
    found: Option<(Checkpoint, Note)>,
    /// Rows of the table that are in the sums of the state found.
    rows: usize,
    settings: String,
    known: Option<KnownSource>,
}

/// What must be the same for a fit to go on, and how far it came.
#[derive(Clone, Serialize, Deserialize)]
struct Note {
    source: KnownSource,
    settings: String,
    rows: usize,
}

impl Saved {
    /// Looks for what an earlier run left.
    pub(super) fn find(args: &Args) -> Result<Self> {
        let Some(path) = &args.checkpoint else {
            return Ok(Self::default());
        };
        let name = || path.display().to_string();
        let bytes = match std::fs::read(path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(name),
        };
        let found = match bytes {
            None => None,
            Some(bytes) => {
                let checkpoint = Checkpoint::from_bytes(&bytes).with_context(name)?;
                let note: Note = serde_json::from_str(checkpoint.note()).with_context(|| {
                    format!("{}: this is not a checkpoint of `oblivio fit`", name())
                })?;
                Some((checkpoint, note))
            }
        };
        table::check_place(path)?;
        Ok(Self {
            path: Some(path.clone()),
            every: Duration::from_secs(args.checkpoint_every),
            found,
            ..Self::default()
        })
    }

    /// The files of the earlier run, if they are as they were: then nobody needs to look at their rows again.
    pub(super) fn source(&self, data: &[PathBuf]) -> Option<Source> {
        let (_, note) = self.found.as_ref()?;
        let known = note.source.clone();
        known.is_of(data).then(|| Source::of_known(known))?
    }

    /// The state to go on from, if there is one. Another fit's is refused.
    pub(super) fn begin(
        &mut self,
        data: &[PathBuf],
        source: &Source,
        settings: String,
    ) -> Result<Option<Checkpoint>> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        self.last = Some(Instant::now());
        self.known = source.known();
        ensure!(
            self.known.is_some(),
            "standard input and pipes cannot be read again after an interruption; leave --checkpoint out or give files"
        );
        self.settings = settings;
        let Some((checkpoint, note)) = self.found.take() else {
            return Ok(None);
        };
        let same = note.settings == self.settings
            && note.source.is_of(data)
            && Source::of_known(note.source).is_some();
        if !same {
            bail!(
                "{}: this is the checkpoint of a fit with other arguments or files; remove it, or give another --checkpoint",
                path.display()
            );
        }
        report::remark(format_args!(
            "note: going on from {} after {} rows",
            path.display(),
            note.rows
        ));
        self.rows = note.rows;
        Ok(Some(checkpoint))
    }

    /// Rows that are in the sums already.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Writes the state if it is time.
    pub(super) fn keep(&mut self, encoder: &Encoder, sums: &Sums, rows: usize) -> Result<()> {
        let (Some(path), Some(last), Some(known)) = (&self.path, self.last, &self.known) else {
            return Ok(());
        };
        if last.elapsed() < self.every {
            return Ok(());
        }
        let note = serde_json::to_string(&Note {
            source: known.clone(),
            settings: self.settings.clone(),
            rows,
        })?;
        let checkpoint = match sums {
            Sums::Ridge(fit) => Checkpoint::of_fit(encoder, fit, note),
            Sums::Features(fit) => Checkpoint::of_features(encoder, fit, note),
        };
        table::write_bytes(path, &checkpoint.to_bytes()?)?;
        crate::say_if_interrupted(format!(
            "interrupted; {rows} rows are saved in {}, and the same command goes on from there",
            path.display()
        ));
        self.last = Some(Instant::now());
        Ok(())
    }
}

/// The fit is done: nothing is left to go on with.
pub(super) fn forget(checkpoint: Option<&Path>) {
    if let Some(path) = checkpoint {
        let _ = std::fs::remove_file(path);
    }
}
