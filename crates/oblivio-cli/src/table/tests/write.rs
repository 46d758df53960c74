//! Files written whole, and read back to the bit.

use std::fs;
use std::path::Path;

use oblivio::{Column, Values};

use super::write;
use crate::table::{ReadOptions, Table, write_bytes};

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// Doubles that lose bits when printed carelessly, from both ends of the range and the middle.
fn awkward() -> Vec<f64> {
    let mut values = vec![
        0.0,
        -0.0,
        0.1,
        0.1 + 0.2,
        1.0 / 3.0,
        1e-5,
        9.999_999e-6,
        1e15,
        1e16,
        9_007_199_254_740_993.0,
        1e22,
        5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::MIN,
        f64::EPSILON,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let mut bits: u64 = 0x9e37_79b9_7f4a_7c15;
    while values.len() < 20_000 {
        bits = bits
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        values.push(f64::from_bits(bits ^ (bits >> 29)));
    }
    values
}

#[test]
fn what_is_written_reads_the_same_to_the_bit() {
    let numbers = awkward();
    let words = [
        "plain",
        "a, b",
        "say \"so\"",
        "two\nlines",
        "tab\t|;",
        "é",
        "#",
        "'",
    ];
    let texts = (0..numbers.len()).map(|i| words.get(i % 9).copied());
    let columns = [
        Column::numbers("x, y", numbers.clone()),
        Column::texts("w \"w\"", texts),
    ];
    let directory = tempfile::tempdir().unwrap();
    for name in ["t.csv", "t.tsv", "t.parquet", "t"] {
        let path = directory.path().join(name);
        write(&path, &columns).unwrap();
        let table = Table::read(&path, &ReadOptions::default()).unwrap();
        let Values::Numbers(found) = &table.columns()[0].values else {
            panic!("not numbers");
        };
        for (found, value) in found.iter().zip(&numbers) {
            assert!(
                found.to_bits() == value.to_bits() || (found.is_nan() && value.is_nan()),
                "{value:e}"
            );
        }
        assert_eq!(table.columns()[1], columns[1], "{name}");
        assert_eq!(
            (&*table.columns()[0].name, table.rows()),
            ("x, y", numbers.len())
        );
    }
    let text = fs::read_to_string(directory.path().join("t")).unwrap();
    assert!(
        text.starts_with("\"x, y\",\"w \"\"w\"\"\"\n0,plain\n-0,\"a, b\"\n0.1,"),
        "{}",
        &text[..80]
    );
}

#[test]
fn a_missing_value_in_the_only_column_is_still_a_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    write(&path, &[Column::numbers("x", vec![1.0, f64::NAN, 2.0])]).unwrap();
    let table = Table::read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(table.columns()[0].missing(), [1]);
    write(&path, &[Column::numbers("x", vec![])]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"x\n");
}

#[test]
fn a_failure_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    write_bytes(&path, b"before").unwrap();
    let ragged = [
        Column::numbers("x", vec![1.0]),
        Column::numbers("y", vec![]),
    ];
    write(&path, &ragged).unwrap_err();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    let found = write_bytes(&path, b"after").unwrap_err().to_string();
    assert!(
        found.contains("t.csv: the file may not be written (permission denied)"),
        "{found}"
    );
    assert_eq!(fs::read(&path).unwrap(), b"before");

    let found = write_bytes(directory.path(), b"").unwrap_err().to_string();
    assert!(
        found.ends_with("this is a directory; give the name of a file"),
        "{found}"
    );
    let found = write_bytes(&directory.path().join("no/t.csv"), b"")
        .unwrap_err()
        .to_string();
    assert!(
        found.ends_with("no does not exist; create it first"),
        "{found}"
    );
    let found = write_bytes(&path.join("t.csv"), b"")
        .unwrap_err()
        .to_string();
    assert!(
        found.ends_with("t.csv is not a directory; choose another path"),
        "{found}"
    );
    assert_eq!(names(directory.path()), ["t.csv"]);
}

#[cfg(unix)]
#[test]
fn links_permissions_and_devices_survive() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = tempfile::tempdir().unwrap();
    let (path, link) = (
        directory.path().join("t.csv"),
        directory.path().join("link.csv"),
    );
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    fs::write(&path, b"before").unwrap();
    let usual = mode();
    fs::remove_file(&path).unwrap();
    write_bytes(&path, b"before").unwrap();
    assert_eq!(mode(), usual);

    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&path, &link).unwrap();
    write_bytes(&link, b"after").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(
        (fs::read(&path).unwrap(), mode()),
        (b"after".to_vec(), 0o640)
    );
    write_bytes(Path::new("/dev/null"), b"gone").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}
