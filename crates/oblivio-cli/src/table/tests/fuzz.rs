//! Damaged and random files: reading them gives a table or an error, never a panic.

use super::{csv_bytes, from_bytes, parquet_bytes, sample, source};
use crate::table::ReadOptions;

/// How often each kind of damage is tried.
const TRIALS: usize = 2000;

/// A generator that needs no crate; its quality hardly matters.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let position = self.below(bytes.len());
            match self.below(4) {
                0 => bytes.truncate(position + 1),
                1 => bytes[position] ^= 1 << self.below(8),
                2 => bytes[position] = self.below(256) as u8,
                _ => bytes.insert(position, self.below(256) as u8),
            }
        }
    }
}

/// Reads the bytes under every name they may have; whether that succeeds does not matter here.
fn try_all(bytes: &[u8]) {
    for extension in [None, Some("parquet"), Some("tsv")] {
        let _ = from_bytes(bytes, extension, &ReadOptions::default());
    }
}

#[test]
fn random_bytes() {
    let mut random = Random(1);
    for _ in 0..TRIALS {
        let bytes: Vec<u8> = (0..random.below(200))
            .map(|_| random.below(256) as u8)
            .collect();
        try_all(&bytes);
        try_all(&[b"PAR1", &bytes[..], b"PAR1"].concat());
    }
}

#[test]
fn damaged_csv() {
    let whole = csv_bytes(&sample());
    let mut random = Random(2);
    for _ in 0..TRIALS {
        let mut bytes = whole.clone();
        random.damage(&mut bytes);
        try_all(&bytes);
    }
}

#[test]
fn damaged_parquet() {
    let whole = parquet_bytes(&sample());
    for length in 0..whole.len() {
        try_all(&whole[..length]);
    }
    let mut random = Random(3);
    for _ in 0..TRIALS {
        let mut bytes = whole.clone();
        random.damage(&mut bytes);
        try_all(&bytes);
    }
}

/// The shape check must agree with the decoder behind it, or its line numbers lie.
#[test]
fn whatever_has_the_right_shape_decodes() {
    let mut random = Random(4);
    let mut decoded = 0;
    for trial in 0..8 * TRIALS {
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
    assert!(decoded > TRIALS);
}
