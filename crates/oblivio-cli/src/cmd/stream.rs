//! Rows through a model, batch by batch: columns in, new columns out beside those that are kept.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use oblivio::model::RowColumn;
use oblivio::{Column, Error};
use oblivio_base::error::Interface;
use oblivio_base::nearest;
use rayon::ThreadPool;

use crate::progress::RowBar;
use crate::table::{self, ReadOptions, Sink, Source};

/// Where rows come from and go to.
pub(crate) struct Stream<'a> {
    /// What is done to them, for the bar.
    pub(crate) stage: &'static str,
    /// The model, which the output must not replace.
    pub(crate) model: &'a Path,
    pub(crate) data: &'a [PathBuf],
    pub(crate) delimiter: Option<u8>,
    pub(crate) keep: &'a [String],
    pub(crate) output: &'a Path,
    /// Rows that are worked on together, at most.
    pub(crate) batch: usize,
}

/// The columns of a table that a model looks at.
pub(crate) struct Needs<'m> {
    pub(crate) required: Vec<&'m str>,
    /// Used if all are there.
    pub(crate) optional: Vec<&'m str>,
    /// How the model knows them.
    pub(crate) schema: Vec<RowColumn>,
}

impl Stream<'_> {
    /// Writes the kept columns and what `work` makes of every batch, which must be columns named `made`.
    ///
    /// The number of rows, or nothing if whoever reads the output went away before the end.
    pub(crate) fn run(
        &self,
        pool: &ThreadPool,
        needs: &Needs,
        made: &[String],
        mut work: impl FnMut(&[Column]) -> oblivio::Result<Vec<Column>> + Send,
    ) -> Result<Option<usize>> {
        let data = table::expand(self.data)?;
        let mut inputs: Vec<&Path> = data.iter().map(PathBuf::as_path).collect();
        inputs.push(self.model);
        table::keep_apart(self.output, &inputs)?;
        let mut sink = Sink::create(self.output)?;
        let options = ReadOptions {
            delimiter: self.delimiter,
            ..ReadOptions::default()
        };
        let source = opened(&data, &options)?.knowing(&needs.schema);
        for name in self.keep {
            source.is_number(name)?;
        }
        table::check_names(self.keep.iter().chain(made).map(String::as_str))?;
        let columns = self.columns(&source, needs)?;

        let bar = if sink.is_terminal() {
            RowBar::hidden()
        } else {
            RowBar::new(self.stage, source.rows())
        };
        let mut rows = 0;
        for batch in source.batches_of(self.batch, &columns, 0)? {
            let batch = batch?;
            let mut written = Vec::new();
            for name in self.keep {
                written.push(batch.column(name)?.clone());
            }
            match pool.install(|| work(batch.columns())) {
                Ok(made) => written.extend(made),
                Err(error) => return Err(in_table(error, &source, rows)),
            }
            sink.write(&written)?;
            rows += batch.rows();
            bar.advance(batch.rows());
            if !sink.is_heard() {
                return Ok(None);
            }
        }
        sink.finish()?;
        bar.finish();
        Ok(Some(rows))
    }

    /// What has to be read, each column once; refuses a table that lacks what the model needs.
    fn columns(&self, source: &Source, needs: &Needs) -> Result<Vec<String>> {
        let known: Vec<&str> = source.names().collect();
        if let Some(name) = needs.required.iter().find(|name| !known.contains(*name)) {
            return Err(Error::UnknownColumn {
                name: (*name).to_owned(),
                nearest: nearest(name, known.iter().copied()),
            }
            .into());
        }
        let kept = self.keep.iter().map(String::as_str);
        let looked_at = needs.required.iter().chain(&needs.optional).copied();
        let used: Vec<&str> = looked_at.chain(kept).collect();
        let names = known.into_iter().filter(|name| used.contains(name));
        Ok(names.map(str::to_owned).collect())
    }
}

/// The files, with a bar while they are read for the first time.
pub(crate) fn opened(data: &[PathBuf], options: &ReadOptions) -> Result<Source> {
    let sizes = data.iter().filter_map(|path| fs::metadata(path).ok());
    let bar = RowBar::of_bytes("reading", sizes.map(|file| file.len()).sum());
    Source::open_watched(data, options, &|bytes| bar.advance(bytes as usize))
}

/// An error of the rows from `start` on, in terms of the whole table.
pub(crate) fn in_table(error: Error, source: &Source, start: usize) -> anyhow::Error {
    let count = |column: &str| -> Result<usize> {
        let rest = source.batches(&[column.to_owned()], start)?;
        let missing = rest.map(|batch| Ok(batch?.column(column)?.missing().len()));
        missing.sum()
    };
    let in_table = |error| -> Result<Error> {
        Ok(match error {
            Error::MissingValues { column, row, .. } => Error::MissingValues {
                count: count(&column)?,
                row: start + row,
                column,
            },
            Error::MissingSensitive { column, row, .. } => Error::MissingSensitive {
                count: count(&column)?,
                row: start + row,
                column,
            },
            Error::NotFinite { name, row, value } => Error::NotFinite {
                name,
                row: start + row,
                value,
            },
            other => other,
        })
    };
    in_table(error).map_or_else(|problem| problem, |error| placed(error.into(), source))
}

/// An error of the rows of a table, with the place of a row in its files.
pub(crate) fn placed(error: anyhow::Error, source: &Source) -> anyhow::Error {
    match error.downcast::<Error>() {
        Ok(error) => anyhow!(error.told(Interface::Program, &|row| source.place(row))),
        Err(other) => other,
    }
}
