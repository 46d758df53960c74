//! CSV: a header row, then one row of numbers and categories per line.
//!
//! A column is numbers if every value that is not missing reads as one, and categories otherwise; all rows are
//! looked at. Whitespace around names and values does not count.

use std::ffi::OsStr;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray, StringViewArray};
use arrow_csv::reader::Format;
use arrow_csv::{ReaderBuilder, WriterBuilder};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use oblivio::{Column, Values};
use rayon::prelude::*;

use super::check_names;
use super::shape::check_shape;

/// What separates the fields.
#[derive(Clone, Copy)]
pub(super) enum Separation {
    /// The user said so.
    Given(u8),
    /// An assumption, to be doubted if the header holds one column.
    Usual(u8),
}

/// The delimiter of files with this extension.
pub(super) fn usual_delimiter(extension: Option<&OsStr>) -> u8 {
    match extension {
        Some(extension) if extension.eq_ignore_ascii_case("tsv") => b'\t',
        _ => b',',
    }
}

/// The columns of a CSV file.
pub(super) fn decode(bytes: Vec<u8>, separation: Separation) -> Result<Vec<Column>> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.split(|&byte| byte == b'\n').count();
        anyhow!("line {line} is not valid UTF-8; save the file as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).as_bytes();
    let (Separation::Given(delimiter) | Separation::Usual(delimiter)) = separation;
    if matches!(delimiter, b'"' | b'\r' | b'\n' | 0x80..) {
        bail!("the delimiter must be an ASCII character other than a quote or a line end");
    }
    let names = header(text, delimiter)?;
    if let (Separation::Usual(_), [name]) = (separation, names.as_slice()) {
        doubt(name, delimiter)?;
    }
    check_names(names.iter().map(String::as_str))?;
    check_shape(text, delimiter, names.len())?;

    let batches = batches(text, delimiter, names.len()).context("the file is not readable CSV")?;
    let columns = names.into_par_iter().enumerate().map(|(position, name)| {
        let chunks = batches.iter().map(|b| b.column(position).as_string_view());
        column(name, &chunks.collect::<Vec<_>>())
    });
    Ok(columns.collect())
}

fn header(text: &[u8], delimiter: u8) -> Result<Vec<String>> {
    let format = Format::default()
        .with_header(true)
        .with_delimiter(delimiter);
    let (schema, _) = format.infer_schema(text, Some(0))?;
    if schema.fields().is_empty() {
        bail!("the file holds only blank lines; a header and at least one row are needed");
    }
    let names = schema.fields().iter();
    Ok(names.map(|f| f.name().trim().to_owned()).collect())
}

/// Refuses a single column that looks like several in need of another delimiter.
fn doubt(name: &str, delimiter: u8) -> Result<()> {
    let count = |candidate: char| name.matches(candidate).count();
    let likely = [',', ';', '\t', '|']
        .into_iter()
        .filter(|&candidate| candidate != char::from(delimiter) && count(candidate) > 0)
        .max_by_key(|&candidate| count(candidate));
    match likely {
        None => Ok(()),
        Some(likely) => bail!(
            "the header is one column, `{name}`; if {likely:?} separates the columns, give --delimiter {likely:?}"
        ),
    }
}

fn batches(text: &[u8], delimiter: u8, width: usize) -> Result<Vec<RecordBatch>, ArrowError> {
    // The decoder reserves room for a whole batch, so a wide table needs shorter ones.
    const FIELDS: usize = 1 << 17;
    let field = |position: usize| Field::new(position.to_string(), DataType::Utf8View, true);
    let schema = Schema::new((0..width).map(field).collect::<Vec<_>>());
    ReaderBuilder::new(Arc::new(schema))
        .with_header(true)
        .with_delimiter(delimiter)
        .with_batch_size((FIELDS / width).max(1))
        .build_buffered(text)?
        .collect()
}

fn column(name: String, chunks: &[&StringViewArray]) -> Column {
    let texts = || {
        let values = chunks.iter().flat_map(|chunk| chunk.iter());
        values.map(|value| value.map(str::trim).filter(|text| !is_missing(text)))
    };
    // Digits behind a leading zero are a code, such as a postal one: as numbers, different codes would be one.
    let is_code = |text: &str| {
        let digits = text.trim_start_matches(['-', '+']).as_bytes();
        digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit()
    };
    let number = |text: Option<&str>| match text {
        None => Some(f64::NAN),
        Some(text) if is_code(text) => None,
        Some(text) => text.parse().ok(),
    };
    if let Some(numbers) = texts().map(number).collect() {
        Column::numbers(name, numbers)
    } else if texts().flatten().all(|text| boolean(text).is_some()) {
        Column::texts(name, texts().map(|text| text.and_then(boolean)))
    } else {
        Column::texts(name, texts())
    }
}

fn is_missing(text: &str) -> bool {
    matches!(text, "" | "NA" | "N/A" | "NaN" | "nan" | "null" | "NULL")
}

/// `True` and `TRUE` are what a Parquet file calls `true`.
fn boolean(text: &str) -> Option<&'static str> {
    ["true", "false"]
        .into_iter()
        .find(|value| text.eq_ignore_ascii_case(value))
}

/// The CSV file of these columns; a missing value is an empty field.
pub(super) fn encode(columns: &[Column], delimiter: u8) -> Result<Vec<u8>> {
    const ROWS: usize = 8192;
    let fields = columns
        .iter()
        .map(|c| Field::new(&c.name, DataType::Utf8, true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let rows = columns.first().map_or(0, Column::len);
    let mut writer = WriterBuilder::new()
        .with_delimiter(delimiter)
        .build(Vec::new());
    // A table without rows still has its header.
    for start in (0..rows.max(1)).step_by(ROWS) {
        let end = rows.min(start + ROWS);
        let texts = columns.iter().map(|c| texts(&c.values, start, end));
        writer.write(&RecordBatch::try_new(schema.clone(), texts.collect())?)?;
    }
    Ok(writer.into_inner())
}

fn texts(values: &Values, start: usize, end: usize) -> ArrayRef {
    let texts: StringArray = match values {
        Values::Numbers(numbers) => numbers[start..end]
            .iter()
            .map(|&value| (!value.is_nan()).then(|| print(value)))
            .collect(),
        Values::Categories { levels, codes } => codes[start..end]
            .iter()
            .map(|&code| levels.get(code as usize))
            .collect(),
    };
    Arc::new(texts)
}

/// The shortest text that reads as the same bits, with an exponent where digits alone would be mostly zeros.
fn print(value: f64) -> String {
    let plain = value == 0.0 || value.is_infinite() || (1e-5..1e16).contains(&value.abs());
    if plain {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}
