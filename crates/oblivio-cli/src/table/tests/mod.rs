//! Tests of what a user can do to a table: one file per door.

mod csv;
mod form;
mod fuzz;
mod parquet;
mod read;
mod sink;
mod source;
mod table;
mod write;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Result, anyhow};
use oblivio::Column;

use super::input::Input;
use super::part::{Place, survey};
use super::read::Look;
use super::{ReadOptions, Sink, Source, Table, csv as format_csv, parquet as format_parquet};

/// The table in the bytes of a file with this extension; problems are told without the file's name.
fn from_bytes(bytes: &[u8], extension: Option<&str>, options: &ReadOptions) -> Result<Table> {
    let read = || source(bytes, extension, options)?.table();
    read().map_err(|problem| {
        let problem = problem.to_string();
        anyhow!("{}", problem.strip_prefix("table: ").unwrap_or(&problem))
    })
}

/// The source of these bytes, which have no name.
fn source(bytes: &[u8], extension: Option<&str>, options: &ReadOptions) -> Result<Source> {
    let place = Place::Kept(Input::spooled(&mut &*bytes)?);
    let look = Look {
        options,
        seen: &|_| (),
    };
    let found = survey("table", place, extension.map(OsStr::new), look)?;
    Source::join(vec![found], options)
}

fn write(path: &Path, columns: &[Column]) -> Result<()> {
    let mut sink = Sink::create(path)?;
    sink.write(columns)?;
    sink.finish()
}

fn csv_bytes(columns: &[Column]) -> Vec<u8> {
    let rows = columns[0].len();
    let mut encoder = format_csv::Encoder::new(b',');
    encoder.encode(columns, 0..rows, &BTreeMap::new()).unwrap()
}

fn parquet_bytes(columns: &[Column]) -> Vec<u8> {
    let rows = columns[0].len();
    let mut encoder = format_parquet::Encoder::default();
    let first = encoder.encode(columns, 0..rows).unwrap();
    [first, encoder.finish().unwrap()].concat()
}

/// A table that is awkward in every way the formats allow.
fn sample() -> Vec<Column> {
    let numbers = (0..50).map(|i| {
        if i % 7 == 0 {
            f64::NAN
        } else {
            f64::from(i) / 3.0
        }
    });
    let texts = ["a", "b, c", "é \"quoted\"", ""];
    vec![
        Column::numbers("x", numbers.collect()),
        Column::texts("group", (0..50).map(|i| texts.get(i % 5).copied())),
    ]
}
