//! Parquet: typed columns, taken as they are.
//!
//! Numbers of every width become doubles; text, booleans, dates and times become categories of their printed form. A table
//! that is to have the types of another one gets them back where they can say what it holds.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::sync::Arc;

use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use ::parquet::arrow::{ArrowWriter, ProjectionMask};
use ::parquet::basic::Compression;
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use ::parquet::file::properties::WriterProperties;
use anyhow::{Context, Result, anyhow, bail};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_cast::display::FormatOptions;
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use oblivio::{Column, Values};

use super::contain::contain;
use super::input::Input;
use super::kind::{Could, Kind};
use super::part::CHANGED;

/// Rows of a group that is written, and the memory it may take before.
const GROUP_ROWS: usize = 1 << 20;
const GROUP_BYTES: usize = 16 << 20;

/// Whether files with this extension are Parquet.
pub(super) fn is_extension(extension: &OsStr) -> bool {
    extension.eq_ignore_ascii_case("parquet")
}

/// A value that cannot be converted must not pass for a missing one.
const STRICT: CastOptions<'static> = CastOptions {
    safe: false,
    format_options: FormatOptions::new(),
};

/// The types of columns, by name.
pub(super) type Types = BTreeMap<String, DataType>;

/// What can be known of a file before its values are decoded.
pub(super) struct Survey {
    pub(super) names: Vec<String>,
    pub(super) rows: usize,
    pub(super) could: Vec<Could>,
}

/// Looks at the schema, and at columns of text for a value: one that has none could be anything.
///
/// The decoder panics on some damaged files; that is an error of the file, like any other damage.
pub(super) fn survey(input: &Input) -> Result<Survey> {
    contained(|| {
        let file = open(input)?;
        check_compression(file.metadata())?;
        let fields = file.schema().fields();
        for field in fields {
            check_type(field)?;
        }
        let groups = file.metadata().row_groups().iter();
        let rows = groups.map(|group| usize::try_from(group.num_rows()));
        let rows = rows.sum::<Result<usize, _>>().map_err(unreadable)?;
        let could = fields.iter().enumerate().map(|(position, field)| {
            Ok(match simple_type(field.data_type()) {
                _ if field.data_type() == &DataType::Null => Could::ANYTHING,
                DataType::Float64 => Could::NUMBERS,
                _ if !has_value(input, &file, position)? => Could::ANYTHING,
                _ if field.data_type() == &DataType::Boolean => Could::BOOLEANS,
                _ => Could::TEXTS,
            })
        });
        Ok(Survey {
            names: fields.iter().map(|field| field.name().clone()).collect(),
            rows,
            could: could.collect::<Result<_>>()?,
        })
    })
}

/// What `work` returns, its panics being errors of the file.
pub(super) fn contained<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    contain(work).unwrap_or_else(|message| Err(unreadable(message)))
}

fn open(input: &Input) -> Result<ArrowReaderMetadata> {
    let file = ArrowReaderMetadata::load(input, ArrowReaderOptions::new()).map_err(unreadable)?;
    // Booleans behind a dictionary are stored as booleans, and the reader knows them as nothing else.
    let is_coded = |field: &FieldRef| match field.data_type() {
        DataType::Dictionary(_, of) => **of == DataType::Boolean,
        _ => false,
    };
    if !file.schema().fields().iter().any(is_coded) {
        return Ok(file);
    }
    let plain = |field: &FieldRef| {
        if is_coded(field) {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Boolean))
        } else {
            Arc::clone(field)
        }
    };
    let fields: Vec<FieldRef> = file.schema().fields().iter().map(plain).collect();
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
    ArrowReaderMetadata::load(input, options).map_err(unreadable)
}

/// The type of every column, in the order of the file.
pub(super) fn types(input: &Input) -> Result<Vec<DataType>> {
    contained(|| {
        let file = open(input)?;
        let fields = file.schema().fields().iter();
        Ok(fields.map(|field| field.data_type().clone()).collect())
    })
}

fn has_value(input: &Input, file: &ArrowReaderMetadata, position: usize) -> Result<bool> {
    const ROWS: usize = 1024;
    for batch in rows_of(input, file, &[position], 0, ROWS)? {
        let batch = batch?;
        if batch.column(0).null_count() < batch.num_rows() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The chosen columns, in the order of the file, from row `skip` on and at most `rows` rows at a time.
pub(super) fn batches(
    input: &Input,
    columns: &[usize],
    skip: usize,
    rows: usize,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    rows_of(input, &open(input)?, columns, skip, rows)
}

fn rows_of(
    input: &Input,
    file: &ArrowReaderMetadata,
    columns: &[usize],
    skip: usize,
    rows: usize,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    let columns = ProjectionMask::roots(file.parquet_schema(), columns.iter().copied());
    let mut before = 0;
    let mut groups = Vec::new();
    let mut skipped = 0;
    for (number, group) in file.metadata().row_groups().iter().enumerate() {
        before += usize::try_from(group.num_rows()).map_err(unreadable)?;
        if before <= skip {
            skipped = before;
        } else {
            groups.push(number);
        }
    }
    let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(input.at(0), file.clone())
        .with_projection(columns)
        .with_row_groups(groups)
        .with_offset(skip - skipped)
        .with_batch_size(rows)
        .build()
        .map_err(unreadable)?;
    Ok(batches.map(|batch| batch.map_err(unreadable)))
}

fn unreadable(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!(
        "the file cannot be read as Parquet ({error}); it is truncated or corrupt, write it again"
    )
}

fn check_compression(metadata: &ParquetMetaData) -> Result<()> {
    let chunks = metadata
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns);
    for chunk in chunks {
        let codec = chunk.compression();
        if matches!(
            codec,
            Compression::GZIP(_) | Compression::BROTLI(_) | Compression::LZO
        ) {
            bail!("the file is compressed with {codec}; write it with snappy, zstd or lz4");
        }
    }
    Ok(())
}

fn check_type(field: &Field) -> Result<()> {
    let found = field.data_type();
    if found.is_nested() || !can_cast_types(found, &simple_type(found)) {
        bail!(
            "column `{}` holds values of type {found}, not numbers or text; drop it",
            field.name()
        );
    }
    Ok(())
}

/// The one of two types as which a column is read.
fn simple_type(found: &DataType) -> DataType {
    match found {
        DataType::Dictionary(_, values) => simple_type(values),
        DataType::Null => DataType::Float64,
        number if number.is_numeric() => DataType::Float64,
        _ => DataType::Utf8View,
    }
}

fn simplify(chunk: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let found = chunk.data_type();
    if let DataType::Timestamp(unit, Some(_)) = found {
        // Printed in universal time: the names of time zones are not known here.
        let universal = DataType::Timestamp(*unit, Some("+00:00".into()));
        let chunk = cast_with_options(chunk, &universal, &STRICT)?;
        return cast_with_options(&chunk, &DataType::Utf8View, &STRICT);
    }
    cast_with_options(chunk, &simple_type(found), &STRICT)
}

/// The column of these values, which are of this kind unless the file has changed.
pub(super) fn column(name: &str, kind: Kind, chunk: &ArrayRef) -> Result<Column> {
    let chunk = simplify(chunk).map_err(|error| anyhow!("column `{name}`: {error}; drop it"))?;
    let missing = || Column::numbers(name, vec![f64::NAN; chunk.len()]);
    let column = if let Some(numbers) = chunk.as_primitive_opt::<Float64Type>() {
        let numbers = numbers.iter().map(|value| value.unwrap_or(f64::NAN));
        Column::numbers(name, numbers.collect())
    } else if kind == Kind::Numbers {
        let empty = chunk.null_count() == chunk.len();
        empty.then(missing).context(CHANGED)?
    } else {
        Column::texts(name, chunk.as_string_view().iter())
    };
    Ok(column)
}

/// The column as the text of its values, whatever their type.
pub(super) fn text(name: &str, chunk: &ArrayRef) -> Result<Column> {
    let text = cast_with_options(chunk, &DataType::Utf8View, &STRICT);
    let text = text.map_err(|error| anyhow!("column `{name}`: {error}; drop it"))?;
    Ok(Column::texts(name, text.as_string_view().iter()))
}

/// The Parquet file of a table that comes in pieces; a missing value is a null.
#[derive(Default)]
pub(super) struct Encoder {
    writer: Option<ArrowWriter<Vec<u8>>>,
    /// The types of columns that are to be neither doubles nor text.
    types: Types,
}

impl Encoder {
    /// Takes on those of the types that can say what the columns hold; the names of the columns whose type cannot.
    pub(super) fn settle(&mut self, columns: &[Column], types: Types) -> Vec<String> {
        let mut lost = Vec::new();
        for (name, wanted) in types {
            let column = columns.iter().find(|column| column.name == name);
            let Some(column) = column else { continue };
            if says(&array(&column.values, 0..column.len()), &wanted) {
                self.types.insert(name, wanted);
            } else {
                lost.push(name);
            }
        }
        lost
    }

    /// The next bytes of the file, most of them of earlier rows: rows are kept back until a group is full.
    pub(super) fn encode(&mut self, columns: &[Column], rows: Range<usize>) -> Result<Vec<u8>> {
        let arrays = columns.iter().map(|c| {
            let values = array(&c.values, rows.clone());
            let values = match self.types.get(&c.name) {
                Some(wanted) => cast_with_options(&values, wanted, &STRICT)?,
                None => values,
            };
            Ok((&c.name, values, true))
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let batch = RecordBatch::try_from_iter_with_nullable(arrays)?;
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => begin(&batch)?,
        };
        writer.write(&batch)?;
        if writer.memory_size() > GROUP_BYTES {
            writer.flush()?;
        }
        let bytes = std::mem::take(writer.inner_mut());
        self.writer = Some(writer);
        Ok(bytes)
    }

    /// The last bytes of the file.
    pub(super) fn finish(self) -> Result<Vec<u8>> {
        match self.writer {
            Some(writer) => Ok(writer.into_inner()?),
            None => Ok(Vec::new()),
        }
    }
}

fn begin(batch: &RecordBatch) -> Result<ArrowWriter<Vec<u8>>> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    let writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
    Ok(writer)
}

/// Whether a type can hold these values; a narrower float may round them, as it did before.
fn says(values: &ArrayRef, wanted: &DataType) -> bool {
    let (from, is_float) = (values.data_type(), wanted.is_floating());
    if !can_cast_types(from, wanted) || !can_cast_types(wanted, from) {
        return false;
    }
    let there = cast_with_options(values, wanted, &STRICT);
    let Ok(there) = there else { return false };
    let back = cast_with_options(&there, from, &STRICT);
    is_float || back.is_ok_and(|back| &back == values)
}

fn array(values: &Values, rows: Range<usize>) -> ArrayRef {
    match values {
        Values::Numbers(numbers) => {
            let present = numbers[rows].iter().map(|&v| (!v.is_nan()).then_some(v));
            Arc::new(present.collect::<Float64Array>())
        }
        Values::Categories { levels, codes } => {
            let texts = codes[rows].iter().map(|&code| levels.get(code as usize));
            Arc::new(texts.collect::<StringArray>())
        }
    }
}
