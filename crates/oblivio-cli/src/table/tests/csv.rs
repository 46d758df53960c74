//! CSV text into columns.

use anyhow::Result;
use oblivio::{Column, Values};

use super::from_bytes;
use crate::table::ReadOptions;

enum Separation {
    Given(u8),
    Usual(u8),
}

fn decode(text: &str, separation: &Separation) -> Result<Vec<Column>> {
    let mut options = ReadOptions::default();
    let extension = match separation {
        Separation::Given(delimiter) => {
            options.delimiter = Some(*delimiter);
            None
        }
        Separation::Usual(delimiter) => (*delimiter == b'\t').then_some("tsv"),
    };
    let table = from_bytes(text.as_bytes(), extension, &options)?;
    Ok(table.columns().to_vec())
}

fn columns(text: &str) -> Vec<Column> {
    decode(text, &Separation::Usual(b',')).unwrap()
}

fn problem(text: &str, separation: &Separation) -> String {
    decode(text, separation).unwrap_err().to_string()
}

#[test]
fn a_column_is_numbers_if_every_value_is() {
    let found = columns("n,f,t\n1,-2.5e3,1\n+2,.5,2\n3,inf,x\n");
    assert_eq!(found[0], Column::numbers("n", vec![1.0, 2.0, 3.0]));
    assert_eq!(
        found[1],
        Column::numbers("f", vec![-2500.0, 0.5, f64::INFINITY])
    );
    assert_eq!(
        found[2],
        Column::texts("t", [Some("1"), Some("2"), Some("x")])
    );
}

#[test]
fn text_after_many_numbers_makes_the_column_text() {
    let rows = 200_000;
    let lines: Vec<String> = (0..rows).map(|i| format!("{},0{}\n", i, i % 7)).collect();
    let text = lines.concat();
    let found = columns(&format!("id,code\n{text}{rows},none\n"));
    assert!(matches!(&found[0].values, Values::Numbers(ids) if ids.len() == rows + 1));
    let Values::Categories { levels, codes } = &found[1].values else {
        panic!("not categories");
    };
    assert_eq!(levels, &["00", "01", "02", "03", "04", "05", "06", "none"]);
    assert_eq!((codes[rows - 1], codes[rows]), ((rows as u32 - 1) % 7, 7));
}

#[test]
fn missing_values_have_many_spellings() {
    let found = columns("n,t,e\n,,\nNA,NA,NA\nN/A,N/A,\nNaN,nan,NaN\nnull, NULL ,\n1,x,\n");
    for column in &found[..2] {
        assert_eq!(column.missing(), [0, 1, 2, 3, 4], "{}", column.name);
    }
    assert!(matches!(&found[2].values, Values::Numbers(v) if v.iter().all(|v| v.is_nan())));
}

#[test]
fn whitespace_marks_and_line_ends_do_not_count() {
    let found =
        columns("\u{feff}age, work class ,\"a, b\"\r\n39, Private,x\r\n\r\n 40 ,Private ,\"y\nz\"");
    assert_eq!(found[0], Column::numbers("age", vec![39.0, 40.0]));
    assert_eq!(found[1], Column::texts("work class", [Some("Private"); 2]));
    assert_eq!(found[2], Column::texts("a, b", [Some("x"), Some("y\nz")]));
}

#[test]
fn booleans_are_spelt_one_way() {
    let found = columns("a,b\nTrue,TRUE\nfalse,yes\ntrue,no\n");
    assert_eq!(
        found[0],
        Column::texts("a", [Some("true"), Some("false"), Some("true")])
    );
    assert_eq!(
        found[1],
        Column::texts("b", [Some("TRUE"), Some("yes"), Some("no")])
    );
}

#[test]
fn the_delimiter_is_doubted_when_there_is_one_column() {
    let found = problem("age;income\n1,5;2\n", &Separation::Usual(b','));
    assert_eq!(
        found,
        "the header is one column, `age;income`; if ';' separates the columns, give --delimiter ';'"
    );
    assert!(problem("a\tb\n1\t2\n", &Separation::Usual(b',')).ends_with("--delimiter '\\t'"));
    assert!(problem("a|b;c|d\n1\n", &Separation::Usual(b',')).ends_with("--delimiter '|'"));
    assert!(problem("a,b\n1,2\n", &Separation::Usual(b'\t')).ends_with("--delimiter ','"));
    assert!(problem("a\n1\n", &Separation::Given(b'"')).starts_with("the delimiter must be"));
    let found = decode("a;b\n1\n", &Separation::Given(b',')).unwrap();
    assert_eq!(found[0].name, "a;b");
    assert_eq!(
        decode("a;b\n1;2\n", &Separation::Given(b';'))
            .unwrap()
            .len(),
        2
    );
}
