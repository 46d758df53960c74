//! From a path to a table: which format it is, and which types the user overrides.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use oblivio::{Column, Values};

use super::{Table, csv, parquet};

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

pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Table> {
    let (name, table) = if path.as_os_str() == "-" {
        ("standard input".into(), from_stdin(options))
    } else {
        (path.display().to_string(), from_path(path, options))
    };
    table.map_err(|problem| anyhow!("{name}: {problem:#}"))
}

fn from_stdin(options: &ReadOptions) -> Result<Table> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    from_bytes(bytes, None, options)
}

fn from_path(path: &Path, options: &ReadOptions) -> Result<Table> {
    let extension = path.extension();
    let mut file = open(path)?;
    let mut bytes = Vec::new();
    (&file).take(4).read_to_end(&mut bytes)?;
    // A pipe cannot be read from its end, where Parquet begins.
    if file.metadata()?.is_file() && is_parquet(&bytes, extension) {
        return finish(parquet::decode(file)?, options);
    }
    file.read_to_end(&mut bytes)?;
    from_bytes(bytes, extension, options)
}

/// The table in the bytes of a file with this extension.
pub(super) fn from_bytes(
    bytes: Vec<u8>,
    extension: Option<&OsStr>,
    options: &ReadOptions,
) -> Result<Table> {
    if is_parquet(&bytes, extension) {
        let mut file = tempfile::tempfile()?;
        file.write_all(&bytes)?;
        return finish(parquet::decode(file)?, options);
    }
    if bytes.is_empty() {
        bail!("the file is empty; a header and at least one row are needed");
    }
    if let Some((_, problem)) = FOREIGN.iter().find(|(start, _)| bytes.starts_with(start)) {
        bail!("the file {problem}");
    }
    let separation = match options.delimiter {
        Some(delimiter) => csv::Separation::Given(delimiter),
        None => csv::Separation::Usual(csv::usual_delimiter(extension)),
    };
    finish(csv::decode(bytes, separation)?, options)
}

fn open(path: &Path) -> Result<File> {
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

fn finish(columns: Vec<Column>, options: &ReadOptions) -> Result<Table> {
    let mut table = Table::new(columns)?;
    if table.rows == 0 {
        bail!("the table has column names but no rows; at least one row is needed");
    }
    for name in &options.categorical {
        if options.numeric.contains(name) {
            bail!("column `{name}` is declared both categorical and numeric; choose one");
        }
        let position = table.position(name)?;
        let (levels, codes) = table.columns[position].to_categories();
        table.columns[position].values = Values::Categories { levels, codes };
    }
    for name in &options.numeric {
        let position = table.position(name)?;
        let numbers = table.columns[position].to_numbers()?;
        table.columns[position].values = Values::Numbers(numbers);
    }
    Ok(table)
}
