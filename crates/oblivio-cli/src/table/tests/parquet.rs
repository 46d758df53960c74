//! Parquet types into columns, and what is refused.

use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use anyhow::Result;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    Float32Array, Float64Array, Int8Array, Int64Array, ListArray, NullArray, RecordBatch,
    StringArray, TimestampSecondArray, UInt64Array,
};
use oblivio::{Column, Values};

use super::{from_bytes, parquet_bytes};
use crate::table::ReadOptions;

fn decode(bytes: &[u8]) -> Result<Vec<Column>> {
    let table = from_bytes(bytes, None, &ReadOptions::default())?;
    Ok(table.columns().to_vec())
}

fn read(name: &str, array: impl Array + 'static) -> Result<Column> {
    let array: ArrayRef = Arc::new(array);
    let batch = RecordBatch::try_from_iter_with_nullable([(name, array, true)])?;
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None)?;
    writer.write(&batch)?;
    Ok(decode(&writer.into_inner()?)?.remove(0))
}

#[test]
fn numbers_of_every_width_become_doubles() {
    let expected = |values: &[f64]| Column::numbers("x", values.to_vec());
    let decimals = Decimal128Array::from(vec![150, -25]).with_precision_and_scale(10, 2);
    let columns = [
        (
            read("x", Int8Array::from(vec![-1, 2])),
            expected(&[-1.0, 2.0]),
        ),
        (
            read("x", Int64Array::from(vec![1 << 40, 2])),
            expected(&[1_099_511_627_776.0, 2.0]),
        ),
        (
            read("x", UInt64Array::from(vec![u64::MAX, 2])),
            expected(&[1.844_674_407_370_955_2e19, 2.0]),
        ),
        (
            read("x", Float32Array::from(vec![0.5, f32::INFINITY])),
            expected(&[0.5, f64::INFINITY]),
        ),
        (read("x", decimals.unwrap()), expected(&[1.5, -0.25])),
    ];
    for (found, expected) in columns {
        assert_eq!(found.unwrap(), expected);
    }
    let gaps = read(
        "x",
        Float64Array::from(vec![Some(1.0), None, Some(f64::NAN)]),
    )
    .unwrap();
    assert_eq!(gaps.missing(), [1, 2]);
}

#[test]
fn everything_else_becomes_categories_as_printed() {
    let dictionary: DictionaryArray<Int32Type> =
        [Some("b"), None, Some(" a")].into_iter().collect();
    let zoned = TimestampSecondArray::from(vec![0, 1, 0]).with_timezone("Europe/Berlin");
    let columns = [
        (read("x", dictionary), [Some("b"), None, Some(" a")]),
        (
            read("x", StringArray::from(vec!["NA", "", "c"])),
            [Some("NA"), Some(""), Some("c")],
        ),
        (
            read("x", BinaryArray::from(vec![&b"u"[..], b"v", b"u"])),
            [Some("u"), Some("v"), Some("u")],
        ),
        (
            read("x", BooleanArray::from(vec![Some(true), None, Some(false)])),
            [Some("true"), None, Some("false")],
        ),
        (
            read("x", Date32Array::from(vec![Some(0), None, Some(366)])),
            [Some("1970-01-01"), None, Some("1971-01-02")],
        ),
        (
            read("x", zoned),
            [
                Some("1970-01-01T00:00:00Z"),
                Some("1970-01-01T00:00:01Z"),
                Some("1970-01-01T00:00:00Z"),
            ],
        ),
    ];
    for (found, expected) in columns {
        assert_eq!(found.unwrap(), Column::texts("x", expected));
    }
}

#[test]
fn only_missing_values_are_numbers() {
    for found in [
        read("x", NullArray::new(2)),
        read("x", StringArray::new_null(2)),
    ] {
        let found = found.unwrap();
        assert!(matches!(found.values, Values::Numbers(_)));
        assert_eq!(found.missing(), [0, 1]);
    }
}

#[test]
fn what_is_neither_is_refused_by_name() {
    let nested = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
    let found = read("tags", nested).unwrap_err().to_string();
    assert!(
        found.starts_with("column `tags` holds values of type List("),
        "{found}"
    );
    assert!(found.ends_with(", not numbers or text; drop it"), "{found}");
    let found = read("raw", BinaryArray::from(vec![&b"\xff"[..]]))
        .unwrap_err()
        .to_string();
    assert!(
        found.starts_with("column `raw`: ") && found.ends_with("; drop it"),
        "{found}"
    );
}

#[test]
fn a_truncated_file_is_said_to_be_truncated() {
    let bytes = parquet_bytes(&[Column::numbers("x", vec![1.0, 2.0])]);
    let found = decode(&bytes[..bytes.len() - 1]).unwrap_err().to_string();
    assert!(
        found.starts_with("the file cannot be read as Parquet (") && found.contains("truncated"),
        "{found}"
    );
}
