//! CSV: a header row, then one row of numbers and categories per line.
//!
//! A column is numbers if every value that is not missing reads as one, and categories otherwise; all rows are
//! looked at. Whitespace around names and values does not count.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray, StringViewArray};
use arrow_csv::reader::{BufReader as Decoder, Format};
use arrow_csv::{ReaderBuilder, WriterBuilder};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use oblivio::{Column, Values};
use oblivio_base::column::category;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::contain::contain;
use super::form::Spelling;
use super::input::Input;
use super::kind::{Could, Kind};
use super::part::CHANGED;
use super::shape::{Checked, Shape};

/// Rows looked at together.
const ROWS: usize = 8192;

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

/// How the text of a file is cut into rows and fields.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Layout {
    delimiter: u8,
    width: usize,
    /// Where the header begins: behind a byte order mark.
    start: u64,
}

impl Layout {
    /// The number of columns.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The layout of a file, and the names in its header.
    pub(super) fn find(input: &Input, separation: Separation) -> Result<(Self, Vec<String>)> {
        let (Separation::Given(delimiter) | Separation::Usual(delimiter)) = separation;
        if matches!(delimiter, b'"' | b'\r' | b'\n' | 0x80..) {
            bail!("the delimiter must be an ASCII character other than a quote or a line end");
        }
        let mark = "\u{feff}".as_bytes();
        let marked = input.start(mark.len() as u64)? == mark;
        let start = if marked { mark.len() as u64 } else { 0 };
        let names = header(input.at(start), delimiter)?;
        if let (Separation::Usual(_), [name]) = (separation, names.as_slice()) {
            doubt(name, delimiter)?;
        }
        let layout = Self {
            delimiter,
            width: names.len(),
            start,
        };
        Ok((layout, names))
    }

    /// Looks at every value: how many rows there are, and what each column could be.
    pub(super) fn survey(&self, input: &Input, seen: &dyn Fn(u64)) -> Result<(usize, Vec<Could>)> {
        let shape = Shape::new(self.delimiter, Some(self.width));
        let bytes = Counted {
            from: input.at(self.start),
            seen,
        };
        let mut text = Checked::new(bytes, shape);
        let mut could = vec![Could::ANYTHING; self.width];
        let surveyed = self
            .decoder(&mut text, ROWS)
            .and_then(|mut batches| {
                batches.try_fold(0, |rows, batch| {
                    let batch = batch?;
                    let columns = could.par_iter_mut().zip(batch.columns());
                    columns.for_each(|(could, chunk)| look(could, chunk.as_string_view()));
                    Ok(rows + batch.num_rows())
                })
            })
            .map_err(unreadable);
        match text.problem() {
            Some(problem) => Err(problem),
            None => Ok((surveyed?, could)),
        }
    }

    /// The chosen columns from row `skip` on, at most `rows` rows at a time.
    pub(super) fn batches(
        &self,
        input: &Input,
        columns: &[usize],
        skip: usize,
        rows: usize,
    ) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        const CHUNK: usize = 1 << 16;
        let text = BufReader::with_capacity(CHUNK, input.at(self.start));
        let batches = self
            .builder(rows)
            .with_projection(columns.to_vec())
            .with_bounds(skip, usize::MAX - 1)
            .build_buffered(text);
        let batches = batches.map_err(unreadable)?;
        Ok(batches.map(|batch| batch.map_err(unreadable)))
    }

    fn decoder<R: BufRead>(&self, text: R, rows: usize) -> Result<Decoder<R>, ArrowError> {
        self.builder(rows).build_buffered(text)
    }

    fn builder(&self, rows: usize) -> ReaderBuilder {
        // The decoder reserves room for a whole batch, so a wide table needs shorter ones.
        const FIELDS: usize = 1 << 17;
        let field = |position: usize| Field::new(position.to_string(), DataType::Utf8View, true);
        let schema = Schema::new((0..self.width).map(field).collect::<Vec<_>>());
        ReaderBuilder::new(Arc::new(schema))
            .with_header(true)
            .with_delimiter(self.delimiter)
            .with_batch_size(rows.min(FIELDS / self.width).max(1))
    }
}

/// Bytes, and someone who hears how many.
struct Counted<'a> {
    from: Input,
    seen: &'a dyn Fn(u64),
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        (self.seen)(count as u64);
        Ok(count)
    }
}

/// What `work` returns, its panics being errors of the file.
pub(super) fn contained<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    contain(work).unwrap_or_else(|message| bail!("the file is not readable CSV: {message}"))
}

fn unreadable(error: ArrowError) -> anyhow::Error {
    anyhow!(error).context("the file is not readable CSV")
}

fn header(text: Input, delimiter: u8) -> Result<Vec<String>> {
    let format = Format::default()
        .with_header(true)
        .with_delimiter(delimiter);
    let mut text = Checked::new(text, Shape::new(delimiter, None));
    let inferred = format.infer_schema(&mut text, Some(0));
    if let Some(problem) = text.problem() {
        return Err(problem);
    }
    let (schema, _) = inferred?;
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

/// Narrows down what a column could be.
fn look(could: &mut Could, chunk: &StringViewArray) {
    could.numbers = could.numbers && texts(chunk).all(|text| number(text).is_some());
    could.booleans = could.booleans && texts(chunk).flatten().all(|text| boolean(text).is_some());
}

/// The column of these values, which are of this kind unless the file has changed.
pub(super) fn column(name: &str, kind: Kind, chunk: &StringViewArray) -> Result<Column> {
    let column = match kind {
        Kind::Numbers => {
            let numbers: Option<Vec<f64>> = texts(chunk).map(number).collect();
            Column::numbers(name, numbers.context(CHANGED)?)
        }
        Kind::Booleans => {
            let known = |text: &str| boolean(text).context(CHANGED);
            let booleans: Result<Vec<Option<&str>>> = texts(chunk)
                .map(|text| text.map(known).transpose())
                .collect();
            Column::texts(name, booleans?)
        }
        Kind::Texts => Column::texts(name, texts(chunk)),
    };
    Ok(column)
}

/// Whether a value of this kind that was one of these categories is one of them again.
pub(super) fn reads_back(kind: Kind, levels: &[String]) -> bool {
    let same = |level: &String| match kind {
        Kind::Numbers => number(Some(level)).is_some_and(|value| category(value) == *level),
        Kind::Booleans => boolean(level) == Some(level),
        Kind::Texts => level.trim() == level,
    };
    levels.iter().all(|level| same(level) && !is_missing(level))
}

/// The column of these categories: the text as it is if that is one of them, else without whitespace, or as the number or the boolean that it
/// looks like. What is none of them is called as it would be without them.
pub(super) fn categories(
    name: &str,
    kind: Kind,
    levels: &HashSet<String>,
    chunk: &StringViewArray,
) -> Column {
    let known = |text: &str| levels.contains(text);
    let of = |raw: &str| -> Option<String> {
        let text = raw.trim();
        if let Some(same) = [raw, text].into_iter().find(|text| known(text)) {
            return Some(same.to_owned());
        }
        if is_missing(text) {
            return None;
        }
        let called = number(Some(text)).map(category);
        let truth = boolean(text).map(str::to_owned);
        let other = [&truth, &called]
            .into_iter()
            .flatten()
            .find(|other| known(other));
        let unknown = match kind {
            Kind::Numbers => called.as_ref(),
            Kind::Booleans => truth.as_ref(),
            Kind::Texts => None,
        };
        Some(
            other
                .or(unknown)
                .cloned()
                .unwrap_or_else(|| text.to_owned()),
        )
    };
    let values: Vec<Option<String>> = chunk.iter().map(|raw| raw.and_then(of)).collect();
    Column::texts(name, values.iter().map(Option::as_deref))
}

/// The values without the whitespace around them, `None` if missing.
fn texts(chunk: &StringViewArray) -> impl Iterator<Item = Option<&str>> {
    let values = chunk.iter();
    values.map(|value| value.map(str::trim).filter(|text| !is_missing(text)))
}

fn number(text: Option<&str>) -> Option<f64> {
    match text {
        None => Some(f64::NAN),
        Some(text) if is_code(text) => None,
        Some(text) => text.parse().ok(),
    }
}

/// Digits behind a leading zero are a code, such as a postal one: as numbers, different codes would be one.
pub(super) fn is_code(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']).as_bytes();
    digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit()
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

/// The CSV text of a table that comes in pieces; a missing value is an empty field.
pub(super) struct Encoder {
    delimiter: u8,
    begun: bool,
}

impl Encoder {
    pub(super) fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            begun: false,
        }
    }

    /// The text of these rows, behind the header if they are the first.
    pub(super) fn encode(
        &mut self,
        columns: &[Column],
        rows: Range<usize>,
        spellings: &BTreeMap<String, Spelling>,
    ) -> Result<Vec<u8>> {
        let fields = columns
            .iter()
            .map(|c| Field::new(&c.name, DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let usual = Spelling::default();
        let texts = columns.iter().map(|c| {
            let spelling = spellings.get(&c.name).unwrap_or(&usual);
            printed(&c.values, rows.clone(), spelling)
        });
        let mut writer = WriterBuilder::new()
            .with_delimiter(self.delimiter)
            .with_header(!self.begun)
            .build(Vec::new());
        self.begun = true;
        writer.write(&RecordBatch::try_new(schema, texts.collect())?)?;
        Ok(writer.into_inner())
    }
}

fn printed(values: &Values, rows: Range<usize>, spelling: &Spelling) -> ArrayRef {
    let texts: StringArray = match values {
        Values::Numbers(numbers) => numbers[rows]
            .iter()
            .map(|&value| (!value.is_nan()).then(|| spelling.number(print(value))))
            .collect(),
        Values::Categories { levels, codes } => codes[rows]
            .iter()
            .map(|&code| levels.get(code as usize).map(|level| spelling.text(level)))
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
