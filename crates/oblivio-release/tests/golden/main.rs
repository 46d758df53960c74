//! The golden harness: small fits of every kind, compared bit for bit with a record made at another commit.
//!
//! | variable | meaning |
//! |---|---|
//! | `OBLIVIO_GOLDEN` | absent: the test skips itself. `record`: writes a record. A path: compares with the record in this file |
//! | `OBLIVIO_GOLDEN_FILE` | the file to write, instead of `target/golden/<commit>.json` |
//! | `OBLIVIO_GOLDEN_BOUND` | the largest relative difference of numbers that passes; 0, the default, demands equal bits |
//! | `OBLIVIO_GOLDEN_BYTES` | `0` leaves the bytes of files out of the comparison |
//!
//! Bits depend on the machine and on `RAYON_NUM_THREADS`, so records are not committed. `make golden` records at the base commit and
//! compares the current tree. Imports stand in `engine.rs` alone: a commit that moves a name changes that file and no other.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod audits;
mod cases;
mod compare;
mod engine;
mod grid;
mod maps;
mod models;
mod record;
mod streams;
mod table;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::cases::Cases;
use self::compare::Bound;
use self::record::Record;

fn every_case() -> Record {
    let mut cases = Cases::default();
    grid::add(&mut cases);
    models::add(&mut cases);
    streams::add(&mut cases);
    maps::add(&mut cases);
    audits::add(&mut cases);
    cases.record
}

/// The file to write: named by the commit, in the target folder.
fn destination() -> PathBuf {
    if let Some(file) = env::var_os("OBLIVIO_GOLDEN_FILE") {
        return file.into();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut git = Command::new("git");
    let output = git.args(["rev-parse", "HEAD"]).current_dir(&root).output();
    let commit = String::from_utf8(output.unwrap().stdout).unwrap();
    root.join(format!("target/golden/{}.json", commit.trim()))
}

#[test]
fn every_number_is_as_recorded() {
    let Some(wish) = env::var_os("OBLIVIO_GOLDEN") else {
        println!("Skipped: set OBLIVIO_GOLDEN to `record` or to a record, or run `make golden`.");
        return;
    };
    if wish == "record" {
        let record = every_case();
        let file = destination();
        record.write(&file);
        println!("{} in {}", record.counts(), file.display());
        return;
    }
    let expected = Record::read(Path::new(&wish));
    let bound = Bound::from_environment();
    let found = every_case();
    println!("{}", found.counts());
    let failures = compare::report(&expected, &found, bound);
    assert_eq!(failures, 0, "cases that differ from the record");
}
