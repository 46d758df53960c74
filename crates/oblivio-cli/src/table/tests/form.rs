//! Tables that look like the ones they are made of.

use std::path::Path;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float32Array, Int8Array, Int64Array,
    RecordBatch,
};
use arrow_schema::DataType;
use oblivio::Column;

use super::source;
use crate::table::{Form, ReadOptions, Sink, Source};

const TEXT: &str = "n,x,mixed,open,word\n62,62.0,1.5,TRUE,true\n17,3.5,2,FALSE,maybe\n,,,,\n";

/// What a table with the form of another one is when it is read again.
fn written(source: &Source, columns: &[Column], path: &Path) -> Source {
    let names: Vec<String> = source.names().map(str::to_owned).collect();
    let form = Form::of(source, &names).unwrap();
    let mut sink = Sink::create(path).unwrap().of_form(form);
    sink.write(columns).unwrap();
    sink.finish().unwrap();
    Source::open(&[path.to_owned()], &ReadOptions::default()).unwrap()
}

#[test]
fn csv_is_spelt_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("again.csv");
    let source = source(TEXT.as_bytes(), None, &ReadOptions::default()).unwrap();
    let table = source.table().unwrap();
    written(&source, table.columns(), &path);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), TEXT);
}

#[test]
fn what_is_only_copied_keeps_its_digits() {
    let text = "id,x\n12345678901234567891,1\n1.50,2\n,3\n";
    let source = source(text.as_bytes(), None, &ReadOptions::default()).unwrap();
    let digits = [Some("12345678901234567891"), Some("1.50"), None];
    let table = source.verbatim(&["id".into()]).table().unwrap();
    assert_eq!(table.columns()[0], Column::texts("id", digits));
}

#[test]
fn text_has_types_where_they_are_plain() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("again.parquet");
    let source = source(TEXT.as_bytes(), None, &ReadOptions::default()).unwrap();
    let table = source.table().unwrap();
    let again = written(&source, table.columns(), &path);
    let types: Vec<DataType> = again.types().unwrap().into_values().collect();
    let (float, text) = (DataType::Float64, DataType::Utf8);
    // mixed, n, open, word, x
    assert_eq!(
        types,
        [
            float.clone(),
            DataType::Int64,
            DataType::Boolean,
            text,
            float
        ]
    );
}

/// A file with a column of each type that people have.
fn typed() -> Vec<u8> {
    let dictionary: DictionaryArray<Int32Type> = [Some("b"), None, Some("a")].into_iter().collect();
    let columns: [(&str, ArrayRef); 6] = [
        (
            "id",
            Arc::new(Int64Array::from(vec![i64::MAX, 2, i64::MIN])),
        ),
        (
            "age",
            Arc::new(Int8Array::from(vec![Some(62), None, Some(17)])),
        ),
        (
            "open",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        ),
        ("job", Arc::new(dictionary)),
        (
            "born",
            Arc::new(Date32Array::from(vec![Some(0), None, Some(366)])),
        ),
        ("share", Arc::new(Float32Array::from(vec![0.5, 0.25, 0.1]))),
    ];
    let columns = columns.map(|(name, values)| (name, values, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn a_table_can_have_the_types_of_another() {
    let open = |bytes: &[u8]| source(bytes, None, &ReadOptions::default()).unwrap();
    let source = open(&typed()).verbatim(&["id".into()]);
    let names: Vec<String> = source.names().map(str::to_owned).collect();
    let table = source.table().unwrap();
    assert_eq!(
        table.columns()[0],
        Column::texts(
            "id",
            ["9223372036854775807", "2", "-9223372036854775808"].map(Some)
        )
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("again.parquet");
    let write = |columns: &[Column]| {
        let mut sink = Sink::create(&path)
            .unwrap()
            .of_form(Form::of(&source, &names).unwrap());
        sink.write(columns).unwrap();
        let lost = sink.lost_types().to_vec();
        sink.finish().unwrap();
        let again = open(&std::fs::read(&path).unwrap()).verbatim(&["id".into()]);
        (lost, again)
    };
    let (lost, again) = write(table.columns());
    assert!(lost.is_empty(), "{lost:?}");
    assert_eq!(again.types().unwrap(), source.types().unwrap());
    let shown = |table: &crate::table::Table| format!("{:?}", table.columns());
    assert_eq!(shown(&again.table().unwrap()), shown(&table));

    // A number that is not whole must not become one.
    let mut columns = table.columns().to_vec();
    columns[1] = Column::numbers("age", vec![62.5, 1.0, 2.0]);
    let (lost, again) = write(&columns);
    assert_eq!(lost, ["age"]);
    assert_eq!(again.table().unwrap().columns()[1], columns[1]);
}
