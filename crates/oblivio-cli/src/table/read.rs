//! From a path to an open file: which format it is, and what is no table.

use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use ::parquet::file::reader::Length;
use anyhow::{Result, anyhow, bail};
use serde::{Deserialize, Serialize};

use super::input::Input;
use super::kind::Could;
use super::{check_names, csv, parquet};

/// What the user knows about a file better than its content tells.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// What separates the fields of a CSV file; by default a tab in `.tsv` files, else a comma.
    pub delimiter: Option<u8>,
    /// Columns to read as categories, though they look like numbers.
    pub categorical: Vec<String>,
    /// Columns to read as numbers, though they are stored as text.
    pub numeric: Vec<String>,
}

/// First bytes of files that are neither CSV nor Parquet, and what to do with those.
const FOREIGN: [(&[u8], &str); 6] = [
    (b"\x1f\x8b", "is compressed with gzip; decompress it first"),
    (
        b"\x28\xb5\x2f\xfd",
        "is compressed with zstd; decompress it first",
    ),
    (
        b"PK\x03\x04",
        "is a zip archive or an Excel workbook; unpack it or save it as CSV",
    ),
    (
        b"ARROW1",
        "is an Arrow or Feather file; save it as CSV or Parquet",
    ),
    (b"\xff\xfe", "is encoded in UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "is encoded in UTF-16; save it as UTF-8"),
];

/// How files are looked at.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) options: &'a ReadOptions,
    /// Hears how many bytes more are done with.
    pub(super) seen: &'a dyn Fn(u64),
}

/// Which of the two a file is, and how it is laid out.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) enum Format {
    Csv(csv::Layout),
    Parquet,
}

impl Format {
    /// Looks at a file: its format, taken from the content and then from the extension; the names of its columns; the
    /// number of rows; and what each column could be.
    pub(super) fn survey(
        input: &Input,
        extension: Option<&OsStr>,
        Look { options, seen }: Look,
    ) -> Result<(Self, Vec<String>, usize, Vec<Could>)> {
        let start = input.start(8)?;
        if is_parquet(&start, extension) {
            let parquet::Survey { names, rows, could } = parquet::survey(input)?;
            seen(input.len());
            return Ok((Self::Parquet, names, rows, could));
        }
        if start.is_empty() {
            bail!("the file is empty; a header and at least one row are needed");
        }
        if let Some((_, problem)) = FOREIGN.iter().find(|(first, _)| start.starts_with(first)) {
            bail!("the file {problem}");
        }
        let separation = match options.delimiter {
            Some(delimiter) => csv::Separation::Given(delimiter),
            None => csv::Separation::Usual(csv::usual_delimiter(extension)),
        };
        let (layout, names) = csv::Layout::find(input, separation)?;
        check_names(names.iter().map(String::as_str))?;
        let (rows, could) = layout.survey(input, seen)?;
        Ok((Self::Csv(layout), names, rows, could))
    }
}

pub(super) fn open(path: &Path) -> Result<File> {
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => anyhow!("there is no such file; check the path"),
        ErrorKind::PermissionDenied => {
            anyhow!("the file may not be read (permission denied); change its permissions")
        }
        _ => anyhow!("the file cannot be opened ({error}); choose another"),
    })?;
    if file.metadata()?.is_dir() {
        bail!("this is a directory; give a CSV or Parquet file");
    }
    Ok(file)
}

fn is_parquet(start: &[u8], extension: Option<&OsStr>) -> bool {
    let named = extension.is_some_and(parquet::is_extension);
    start.starts_with(b"PAR1") || (named && !start.is_empty())
}
