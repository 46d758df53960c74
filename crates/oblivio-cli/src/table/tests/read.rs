//! Paths and bytes into tables: formats, refusals and overrides.

use std::fs;
use std::path::Path;

use anyhow::Result;
use oblivio::{Column, Values};

use super::{from_bytes, parquet_bytes};
use crate::table::{ReadOptions, Table};

fn parse(text: &str, options: &ReadOptions) -> Result<Table> {
    from_bytes(text.as_bytes(), None, options)
}

/// What reading a file of these bytes complains of, after the file's name.
fn problem(file_name: &str, bytes: &[u8]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(file_name);
    fs::write(&path, bytes).unwrap();
    let message = Table::read(&path, &ReadOptions::default())
        .unwrap_err()
        .to_string();
    let name = format!("{}: ", path.display());
    message.strip_prefix(&name).expect(&message).to_owned()
}

#[test]
fn a_path_without_a_file_is_explained() {
    let directory = tempfile::tempdir().unwrap();
    let read = |path: &Path| {
        Table::read(path, &ReadOptions::default())
            .unwrap_err()
            .to_string()
    };
    let missing = read(&directory.path().join("no.csv"));
    assert!(
        missing.ends_with("no.csv: there is no such file; check the path"),
        "{missing}"
    );
    let wrong = read(directory.path());
    assert!(
        wrong.ends_with(": this is a directory; give a CSV or Parquet file"),
        "{wrong}"
    );
}

#[test]
fn files_that_are_no_tables_are_explained() {
    let cases: [(&str, &[u8], &str); 12] = [
        ("a.csv", b"", "the file is empty"),
        ("a.parquet", b"", "the file is empty"),
        ("a.csv", b"\n\r\n", "the file holds only blank lines"),
        ("a.csv", b"x,y\n", "the table has column names but no rows"),
        (
            "a.csv",
            b"\x1f\x8b\x08\0",
            "the file is compressed with gzip; decompress it first",
        ),
        ("a.csv", b"\xff\xfex\0\n\0", "the file is encoded in UTF-16"),
        (
            "a.csv",
            b"x,y\n1,2\n3,\xe9\n",
            "line 3 is not valid UTF-8; save the file as UTF-8",
        ),
        ("a.csv", b"\xc3,\xa9\n1,2\n", "line 1 is not valid UTF-8"),
        (
            "a.csv",
            b"x,x \n1,2\n",
            "columns 1 and 2 are both named `x`",
        ),
        ("a.csv", b"x,,y\n1,2,3\n", "column 2 has no name"),
        (
            "a.parquet",
            b"x,y\n1,2\n",
            "the file cannot be read as Parquet",
        ),
        ("a.csv", b"PAR1....", "the file cannot be read as Parquet"),
    ];
    for (name, bytes, expected) in cases {
        let found = problem(name, bytes);
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
}

#[test]
fn parquet_is_known_by_its_content_even_from_a_pipe() {
    let columns = vec![Column::numbers("x", vec![1.0, 2.0])];
    let bytes = parquet_bytes(&columns);
    let piped = from_bytes(&bytes, None, &ReadOptions::default()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("misnamed.csv");
    fs::write(&path, bytes).unwrap();
    let stored = Table::read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(
        (piped.columns(), stored.columns()),
        (&columns[..], &columns[..])
    );
}

#[test]
fn types_are_overridden_by_name() {
    let options = |categorical: &[&str], numeric: &[&str]| ReadOptions {
        delimiter: None,
        categorical: categorical.iter().map(ToString::to_string).collect(),
        numeric: numeric.iter().map(ToString::to_string).collect(),
    };
    let text = "code,group\n1,a\n1.0,b\n,a\n";
    let table = parse(text, &options(&["code"], &[])).unwrap();
    assert_eq!(
        table.columns()[0],
        Column::texts("code", [Some("1"), Some("1"), None])
    );

    let problem = |categorical: &[&str], numeric: &[&str]| {
        let table = parse(text, &options(categorical, numeric));
        table.unwrap_err().to_string()
    };
    assert!(problem(&[], &["group"]).contains("column `group` holds text such as `a`"));
    assert!(problem(&[], &["grup"]).ends_with("did you mean `group`?"));
    assert!(problem(&["Code"], &[]).ends_with("did you mean `code`?"));
    assert!(problem(&["code"], &["code"]).contains("both categorical and numeric"));

    let text_column = vec![Column::texts("x", [Some("1.5"), None, Some(" 2")])];
    let bytes = parquet_bytes(&text_column);
    let table = from_bytes(&bytes, None, &options(&[], &["x"])).unwrap();
    let Values::Numbers(numbers) = &table.columns()[0].values else {
        panic!("not numbers");
    };
    assert!(numbers[0] == 1.5 && numbers[1].is_nan() && numbers[2] == 2.0);
}
