//! Tables written batch by batch.

use std::fs;
use std::path::Path;

use oblivio::Column;

use super::{sample, write};
use crate::table::{ReadOptions, Sink, Table};

fn pieces(columns: &[Column], size: usize) -> Vec<Vec<Column>> {
    let rows: Vec<usize> = (0..columns[0].len()).collect();
    let piece = |rows: &[usize]| columns.iter().map(|c| c.select(rows)).collect();
    rows.chunks(size).map(piece).collect()
}

fn write_pieces(path: &Path, columns: &[Column], size: usize) {
    let mut sink = Sink::create(path).unwrap();
    for piece in pieces(columns, size) {
        sink.write(&piece).unwrap();
    }
    sink.finish().unwrap();
}

#[test]
fn pieces_make_the_same_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let columns = sample();
    for (whole, pieces) in [("a.csv", "b.csv"), ("a.tsv", "b.tsv")] {
        write(&path(whole), &columns).unwrap();
        for size in [1, 7, 50] {
            write_pieces(&path(pieces), &columns, size);
            assert!(fs::read(path(whole)).unwrap() == fs::read(path(pieces)).unwrap());
        }
    }
    write(&path("a.parquet"), &columns).unwrap();
    write_pieces(&path("b.parquet"), &columns, 7);
    let read = |name: &str| Table::read(&path(name), &ReadOptions::default()).unwrap();
    let found = [read("a.parquet"), read("b.parquet")];
    assert_eq!(
        format!("{:?}", found[0].columns()),
        format!("{:?}", found[1].columns())
    );
}

#[test]
fn every_batch_has_the_columns_of_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    let numbers = |name: &str| vec![Column::numbers(name, vec![1.0])];
    for (batch, expected) in [
        (
            vec![Column::texts("x", [Some("a")])],
            "column `x` holds numbers in one batch and text in another; give it one type",
        ),
        (
            numbers("y"),
            "a batch has column `y` in the place of `x`; give every batch the same columns",
        ),
        (
            [numbers("x"), numbers("y")].concat(),
            "a batch has 2 columns after one of 1; give every batch the same columns",
        ),
    ] {
        let mut sink = Sink::create(&path).unwrap();
        sink.write(&numbers("x")).unwrap();
        assert_eq!(sink.write(&batch).unwrap_err().to_string(), expected);
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_sink_that_is_not_finished_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    fs::write(&path, "before").unwrap();
    let mut sink = Sink::create(&path).unwrap();
    sink.write(&sample()).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    drop(sink);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    assert_eq!(fs::read(&path).unwrap(), b"before");
}

#[test]
fn a_place_that_cannot_be_written_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let create = |path: &Path| Sink::create(path).err().unwrap().to_string();
    assert!(
        create(&directory.path().join("no/t.csv")).ends_with("does not exist; create it first")
    );
    assert!(create(directory.path()).ends_with("this is a directory; give the name of a file"));
}

/// Wide rows fill a group long before a million of them do.
#[test]
fn wide_parquet_is_cut_into_groups_by_its_size() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    let mut sink = Sink::create(&path).unwrap();
    let mut bits: u64 = 1;
    let mut number = || {
        bits = bits.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (bits >> 11) as f64
    };
    for _ in 0..6 {
        let column = |i: usize| (i, (0..1000).map(|_| number()).collect());
        let columns = (0..500).map(column);
        let columns: Vec<Column> = columns
            .map(|(i, values)| Column::numbers(format!("z{i}"), values))
            .collect();
        sink.write(&columns).unwrap();
    }
    // Most of it is in the file before the end.
    let written: u64 = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(written > 10 << 20, "{written}");
    sink.finish().unwrap();
    let table = Table::read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((table.rows(), table.columns().len()), (6000, 500));
}
