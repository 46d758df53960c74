//! A fitted release on later rows, for `oblivio transform`.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use oblivio::{Error, Sensitive};
use oblivio_base::nearest;
use oblivio_release::Release;
use oblivio_report::NOT_ANONYMISED;
use rayon::ThreadPool;
use serde_json::json;

use super::{replaced, used};
use crate::cmd::stream::opened;
use crate::cmd::transform::Said;
use crate::progress::watched;
use crate::report;
use crate::table::{self, Form, ReadOptions, Sink, Source};

/// Where rows come from and go to.
pub(in crate::cmd) struct Later<'a> {
    pub(in crate::cmd) release: &'a Release,
    /// Its file, which the output must not replace.
    pub(in crate::cmd) model: &'a Path,
    pub(in crate::cmd) data: &'a [PathBuf],
    pub(in crate::cmd) delimiter: Option<u8>,
    pub(in crate::cmd) output: &'a Path,
}

impl Later<'_> {
    /// Writes the rows with their released columns replaced. All are in memory: equal rows are spread over the values that they may
    /// have, so that parts of a table would not make the whole.
    pub(in crate::cmd) fn write(&self, pool: &ThreadPool) -> Result<Said> {
        let data = table::expand(self.data)?;
        let mut inputs: Vec<&Path> = data.iter().map(PathBuf::as_path).collect();
        inputs.push(self.model);
        table::keep_apart(self.output, &inputs)?;
        let sink = Sink::create(self.output)?;
        let options = ReadOptions {
            delimiter: self.delimiter,
            ..ReadOptions::default()
        };
        let source = opened(&data, &options)?;
        let names: Vec<String> = source.names().map(str::to_owned).collect();
        let copied = self.copied(&source)?;
        let mut sink = sink.of_form(Form::of(&source, &names)?);
        let table = source.verbatim(&copied).table_of(&names)?;
        let sensitive = self.release.sensitive_columns();
        let sensitive = sensitive.iter().map(|name| table.column(name).cloned());
        let sensitive = Sensitive::new(sensitive.collect::<Result<_>>()?, table.rows())?;
        let released = watched(pool, |watch| {
            self.release.transform(table.columns(), &sensitive, watch)
        })?;
        for use_ in used(&released) {
            report::remark(format_args!("note: {use_}"));
        }
        let (uses, clipped) = (released.uses, released.clipped);
        sink.write(&replaced(&table, &names, released.columns)?)?;
        sink.finish()?;
        let (rows, output) = (table.rows(), self.output.display());
        Ok(Said {
            sentence: format!("{rows} released rows written to {output}\n{NOT_ANONYMISED}"),
            json: json!({
                "rows": rows, "columns": self.release.columns(), "clipped": clipped, "policies-used": uses, "anonymised": false,
            }),
        })
    }

    /// The columns that the release does not look at; refuses a table that lacks one that it does.
    fn copied(&self, source: &Source) -> Result<Vec<String>> {
        let (columns, sensitive) = (self.release.columns(), self.release.sensitive_columns());
        let known: Vec<&str> = source.names().collect();
        let needed = || columns.iter().chain(&sensitive);
        if let Some(name) = needed().find(|name| !known.contains(*name)) {
            return Err(anyhow!(Error::UnknownColumn {
                name: (*name).to_owned(),
                nearest: nearest(name, known.iter().copied()),
            }));
        }
        let others = known
            .iter()
            .filter(|name| !needed().any(|own| own == *name));
        Ok(others.map(|name| (*name).to_owned()).collect())
    }
}
