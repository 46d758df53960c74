//! Parquet: typed columns, taken as they are.
//!
//! Numbers of every width become doubles; text, booleans, dates and times become categories of their printed form.

use std::ffi::OsStr;
use std::fs::File;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::Compression;
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use ::parquet::file::properties::WriterProperties;
use anyhow::{Result, anyhow, bail};
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field};
use oblivio::{Column, Values};

use super::contain::contain;

/// Whether files with this extension are Parquet.
pub(super) fn is_extension(extension: &OsStr) -> bool {
    extension.eq_ignore_ascii_case("parquet")
}

/// The columns of a Parquet file.
///
/// The decoder panics on some damaged files; that is an error of the file, like any other damage.
pub(super) fn decode(file: File) -> Result<Vec<Column>> {
    contain(move || columns(file)).unwrap_or_else(|message| Err(unreadable(message)))
}

fn columns(file: File) -> Result<Vec<Column>> {
    const ROWS: usize = 8192;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(unreadable)?;
    check_compression(reader.metadata())?;
    let schema = reader.schema().clone();
    for field in schema.fields() {
        check_type(field)?;
    }
    let batches = reader.with_batch_size(ROWS).build().map_err(unreadable)?;
    let mut columns: Vec<Vec<ArrayRef>> = vec![Vec::new(); schema.fields().len()];
    for batch in batches {
        let batch = batch.map_err(unreadable)?;
        for ((chunks, chunk), field) in columns.iter_mut().zip(batch.columns()).zip(schema.fields())
        {
            let chunk = simplify(chunk)
                .map_err(|error| anyhow!("column `{}`: {error}; drop it", field.name()))?;
            chunks.push(chunk);
        }
    }
    let named = schema.fields().iter().zip(columns);
    Ok(named.map(|(f, chunks)| column(f.name(), &chunks)).collect())
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
    // A value that cannot be converted must not pass for a missing one.
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let found = chunk.data_type();
    if let DataType::Timestamp(unit, Some(_)) = found {
        // Printed in universal time: the names of time zones are not known here.
        let universal = DataType::Timestamp(*unit, Some("+00:00".into()));
        let chunk = cast_with_options(chunk, &universal, &options)?;
        return cast_with_options(&chunk, &DataType::Utf8View, &options);
    }
    cast_with_options(chunk, &simple_type(found), &options)
}

fn column(name: &str, chunks: &[ArrayRef]) -> Column {
    let rows: usize = chunks.iter().map(Array::len).sum();
    if chunks.iter().all(|chunk| chunk.null_count() == chunk.len()) {
        return Column::numbers(name, vec![f64::NAN; rows]);
    }
    if chunks[0].data_type() == &DataType::Float64 {
        let numbers = chunks
            .iter()
            .flat_map(|chunk| chunk.as_primitive::<Float64Type>().iter())
            .map(|value| value.unwrap_or(f64::NAN));
        Column::numbers(name, numbers.collect())
    } else {
        let texts = chunks
            .iter()
            .flat_map(|chunk| chunk.as_string_view().iter());
        Column::texts(name, texts)
    }
}

/// The Parquet file of these columns; a missing value is a null.
pub(super) fn encode(columns: &[Column]) -> Result<Vec<u8>> {
    let arrays = columns.iter().map(|c| (&c.name, array(&c.values), true));
    let batch = RecordBatch::try_from_iter_with_nullable(arrays)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    Ok(writer.into_inner()?)
}

fn array(values: &Values) -> ArrayRef {
    match values {
        Values::Numbers(numbers) => {
            let present = numbers.iter().map(|&v| (!v.is_nan()).then_some(v));
            Arc::new(present.collect::<Float64Array>())
        }
        Values::Categories { levels, codes } => {
            let texts = codes.iter().map(|&code| levels.get(code as usize));
            Arc::new(texts.collect::<StringArray>())
        }
    }
}
