//! Damaged and random files: reading them gives a table or an error, never a panic. `OBLIVIO_FUZZ` says how many are tried.

use std::ffi::OsStr;

use anyhow::Result;
use oblivio::Column;
use oblivio_fuzz::{Random, Target, fuzz};

use super::{csv_bytes, parquet_bytes, sample, source};
use crate::table::ReadOptions;
use crate::table::input::Input;
use crate::table::part::{Declared, Place, Settled, survey};
use crate::table::read::Look;
use crate::table::source::BATCH;

/// Inputs that are tried unless the environment says otherwise.
const USUAL: u64 = 3000;

/// What both formats hold beside the bytes of a file: buffers of a size of their own, and a batch of rows.
const MEMORY: u64 = 64 << 20;

/// A target whose inputs are tables that the program wrote, damaged; or just bytes.
fn damaged(name: &'static str, extension: Option<&str>, seeds: &[Vec<u8>]) {
    let target = Target {
        name,
        usual: USUAL,
        memory: MEMORY,
        memory_per_byte: 256,
        share: 1,
    };
    let make = |random: &mut Random| {
        let mut bytes = random.pick(seeds).clone();
        match random.below(16) {
            0 => {
                bytes = (0..random.below(200))
                    .map(|_| random.bits() as u8)
                    .collect();
            }
            // Where Parquet says what it holds.
            1..=6 => {
                let mut end = bytes.split_off(bytes.len() - bytes.len().min(700));
                random.damage(&mut end);
                bytes.extend(end);
            }
            _ => random.damage(&mut bytes),
        }
        bytes
    };
    fuzz(target, seeds, make, |bytes| read(bytes, extension).is_ok());
}

/// Looks at the bytes and decodes every row, on this thread.
fn read(bytes: &[u8], extension: Option<&str>) -> Result<usize> {
    let options = ReadOptions::default();
    let look = Look {
        options: &options,
        seen: &|_| (),
    };
    let place = Place::Kept(Input::spooled(&mut &*bytes)?);
    let mut found = survey("table", place, extension.map(OsStr::new), look)?;
    found.part.positions = (0..found.names.len()).collect();
    let columns = found.names.iter().zip(&found.could);
    let columns = columns.map(|(name, could)| Settled {
        name: name.clone(),
        kind: could.kind(),
        declared: Declared::Nothing,
        levels: None,
    });
    let columns: Vec<Settled> = columns.collect();
    let mut rows = 0;
    found.part.read(&columns, 0, BATCH, &mut |table| {
        rows += table.rows();
        true
    })?;
    Ok(rows)
}

/// A table whose values do not vary: pages of one value, repeated.
fn plain() -> Vec<Column> {
    vec![
        Column::numbers("a", vec![1.0; 300]),
        Column::texts("b", (0..300).map(|_| Some("same"))),
    ]
}

#[test]
fn damaged_csv() {
    let texts = ["x,y\r\n1,\"a\"\"b\"\r\n", "\u{feff}x,y\n,\n NA , 1e5 \n"];
    let mut seeds = vec![csv_bytes(&sample())];
    seeds.extend(texts.map(|text| text.as_bytes().to_vec()));
    damaged("csv", None, &seeds);
}

#[test]
fn damaged_parquet() {
    let whole = parquet_bytes(&sample());
    for length in 0..whole.len() {
        assert!(read(&whole[..length], Some("parquet")).is_err());
    }
    damaged(
        "parquet",
        Some("parquet"),
        &[whole, parquet_bytes(&plain())],
    );
}

/// The shape check must agree with the decoder behind it, or its line numbers lie.
#[test]
fn whatever_has_the_right_shape_decodes() {
    const TRIALS: u64 = 4_000;
    let mut decoded = 0;
    for trial in 0..TRIALS {
        let mut random = Random::of("shape", trial);
        let body = (0..random.below(12)).map(|_| b"a1,,\"\"\n\n\r "[random.below(10)]);
        let bytes: Vec<u8> = b"x,y\n".iter().copied().chain(body).collect();
        match source(&bytes, None, &ReadOptions::default()) {
            // Rows come out on a thread of their own, which takes time.
            Ok(source) if trial % 10 == 0 => {
                assert_eq!(source.table().unwrap().rows(), source.rows());
                decoded += 1;
            }
            Ok(_) => decoded += 1,
            Err(problem) => {
                let problem = problem.to_string();
                let problem = problem.strip_prefix("table: ").unwrap_or(&problem);
                let ours = [
                    "line ",
                    "the quote",
                    "the table has column names but no rows",
                ];
                let ours = ours.iter().any(|start| problem.starts_with(start));
                assert!(ours, "{problem}: {}", bytes.escape_ascii());
            }
        }
    }
    assert!(decoded > TRIALS / 8);
}
