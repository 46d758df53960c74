//! Tables in and out: CSV and Parquet files become named columns and back.
//!
//! Everything a file can get wrong is refused here, with the file's name, what was found and what to do.
//! Past this door a table is rectangular, its names are unique and it has at least one column.

mod contain;
mod csv;
mod expand;
mod form;
mod input;
mod kind;
mod parquet;
mod part;
mod read;
mod shape;
mod sink;
mod source;
mod write;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
#[cfg(test)]
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use oblivio::Column;
use oblivio_base::nearest;

pub use expand::expand;
pub use form::Form;
pub use read::ReadOptions;
pub use sink::Sink;
pub use source::{BATCH, KnownSource, Source};
pub use write::{check_place, keep_apart, remove_unfinished, write_bytes};

/// Named columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    rows: usize,
}

impl Table {
    /// The table of these columns, whose names must differ and whose lengths must agree.
    pub fn new(columns: Vec<Column>) -> Result<Self> {
        let rows = check(&columns)?;
        Ok(Self { columns, rows })
    }

    /// All rows of a [`Source`] at once.
    #[cfg(test)]
    pub fn read(path: &Path, options: &ReadOptions) -> Result<Self> {
        Source::open(&[path.to_owned()], options)?.table()
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns, in the order of the header.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Result<&Column> {
        let mut columns = self.columns.iter();
        columns
            .find(|column| column.name == name)
            .ok_or_else(|| unknown(name, self.columns.iter().map(|c| c.name.as_str())))
    }
}

fn unknown<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> anyhow::Error {
    const SHOWN: usize = 10;
    let mut names: Vec<&str> = names.collect();
    let guess = nearest(name, names.iter().copied()).map_or(String::new(), |nearest| {
        format!("; did you mean `{nearest}`?")
    });
    if names.len() > SHOWN {
        names.truncate(SHOWN);
        names.push("…");
    }
    let names = names.join(", ");
    anyhow!("column `{name}` is not in the table (columns: {names}){guess}")
}

/// The number of rows, if the columns make a table.
fn check(columns: &[Column]) -> Result<usize> {
    check_names(columns.iter().map(|column| column.name.as_str()))?;
    let Some(first) = columns.first() else {
        bail!("there are no columns; a table needs at least one");
    };
    let rows = first.len();
    match columns.iter().find(|column| column.len() != rows) {
        None => Ok(rows),
        Some(other) => bail!(
            "column `{}` has {} rows but column `{}` has {rows}; give one value per row",
            other.name,
            other.len(),
            first.name,
        ),
    }
}

pub(crate) fn check_names<'n>(names: impl Iterator<Item = &'n str>) -> Result<()> {
    let mut first_seen = HashMap::new();
    for (position, name) in (1..).zip(names) {
        if name.is_empty() {
            bail!("column {position} has no name; name it in the header or drop it");
        }
        if let Some(earlier) = first_seen.insert(name, position) {
            bail!("columns {earlier} and {position} are both named `{name}`; rename one of them");
        }
    }
    Ok(())
}
