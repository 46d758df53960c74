//! Draws that belong to a row: they do not depend on the other rows of a call, or on their order.

use std::collections::HashMap;

use oblivio_base::{Column, MISSING, Values};

/// What a draw is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// The place among equal values.
    Place = 1,
    /// Whether the row is among the share that is changed.
    Share = 2,
    /// The place within a category.
    Within = 3,
    /// The place among equal numbers after a joint alignment.
    Last = 4,
}

/// What is drawn for the rows of one call.
///
/// A draw is a number of \[0, 1) from a hash of the seed, the name of the column, the purpose and the contents of the row: all features
/// and sensitive values; and, where k > 0 earlier rows of the call have the same contents, of k. So equal rows have draws of their own, and
/// draws for different columns and purposes have nothing to do with each other.
///
/// The hash is that of splitmix64 ([`mixed`]) over one word at a time: the bits of a number (−0 as 0), the eight-byte pieces of UTF-8 text
/// and their count of bytes, or a word for a missing value. It is the same on every machine.
pub(super) struct Draws {
    rows: Vec<u64>,
    /// k
    repeats: Vec<u64>,
}

/// The draws for one column and purpose.
pub(super) struct ColumnDraws<'a> {
    draws: &'a Draws,
    salt: u64,
}

impl Draws {
    /// The rows of these columns.
    pub(super) fn new<'c>(
        seed: u64,
        rows: usize,
        columns: impl Iterator<Item = &'c Column>,
    ) -> Self {
        let mut hashes = vec![mixed(seed, 0); rows];
        for column in columns {
            for (hash, word) in hashes.iter_mut().zip(words(column)) {
                *hash = mixed(*hash, word);
            }
        }
        let mut seen: HashMap<u64, u64> = HashMap::new();
        let repeats = hashes.iter().map(|hash| {
            let earlier = seen.entry(*hash).or_insert(0);
            *earlier += 1;
            *earlier - 1
        });
        Self {
            repeats: repeats.collect(),
            rows: hashes,
        }
    }

    pub(super) fn of(&self, column: &str, purpose: Purpose) -> ColumnDraws<'_> {
        ColumnDraws {
            draws: self,
            salt: mixed(text_word(column), purpose as u64),
        }
    }
}

impl ColumnDraws<'_> {
    /// The draw of a row, at least 0 and less than 1.
    pub(super) fn at(&self, row: usize) -> f64 {
        let hash = mixed(self.draws.rows[row], self.salt);
        let bits = match self.draws.repeats[row] {
            0 => hash,
            repeat => mixed(hash, repeat),
        };
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A word for each value of a column.
fn words(column: &Column) -> Vec<u64> {
    const ABSENT: u64 = 0x6d69_7373_696e_6700;
    match &column.values {
        Values::Numbers(values) => values
            .iter()
            .map(|v| {
                if v.is_nan() {
                    ABSENT
                } else {
                    (v + 0.0).to_bits()
                }
            })
            .collect(),
        Values::Categories { levels, codes } => {
            let levels: Vec<u64> = levels.iter().map(|level| text_word(level)).collect();
            let word = |code: &u32| match *code {
                MISSING => ABSENT,
                code => levels[code as usize],
            };
            codes.iter().map(word).collect()
        }
    }
}

fn text_word(text: &str) -> u64 {
    let pieces = text.as_bytes().chunks(8).map(|piece| {
        let mut word = [0; 8];
        word[..piece.len()].copy_from_slice(piece);
        u64::from_le_bytes(word)
    });
    pieces.fold(mixed(0, text.len() as u64), mixed)
}

/// A hash and one more word: the finisher of splitmix64 on the word xor the hash turned by 23 bits, plus the odd constant.
fn mixed(hash: u64, word: u64) -> u64 {
    let mut z = (hash.rotate_left(23) ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(columns: &[Column], name: &str) -> Vec<f64> {
        let rows = columns[0].len();
        let draws = Draws::new(7, rows, columns.iter());
        let own = draws.of(name, Purpose::Place);
        (0..rows).map(|row| own.at(row)).collect()
    }

    #[test]
    fn a_draw_is_that_of_its_row_and_column() {
        let columns = [
            Column::numbers("a", vec![1.0, 2.0, 0.0, f64::NAN]),
            Column::texts("b", [Some("x"), Some("a longer text"), None, Some("x")]),
        ];
        let all = draws(&columns, "a");
        assert!(all.iter().all(|v| (0.0..1.0).contains(v)));
        let order = [3, 1, 0, 2];
        let moved: Vec<Column> = columns.iter().map(|c| c.select(&order)).collect();
        let again = draws(&moved, "a");
        for (place, &row) in order.iter().enumerate() {
            assert_eq!(again[place], all[row]);
        }
        assert_ne!(draws(&columns, "b"), all);
        // Pinned: the same rows get the same draws on every machine and in every version.
        assert_eq!(all[..2], [0.288_663_310_841_617_9, 0.697_673_213_285_930_2]);
        let zeros = [-0.0, 0.0].map(|zero| draws(&[Column::numbers("a", vec![zero])], "a"));
        assert_eq!(zeros[0], zeros[1]);
    }

    #[test]
    fn draws_are_spread_evenly_whether_rows_are_equal_or_not() {
        let count = 4000;
        let worst = |mut draws: Vec<f64>| {
            draws.sort_by(f64::total_cmp);
            let place = |(i, v): (usize, &f64)| (v - (i as f64 + 0.5) / f64::from(count)).abs();
            draws.iter().enumerate().map(place).fold(0.0, f64::max)
        };
        // Kolmogorov's bound at one in a thousand.
        let bound = 1.95 / f64::from(count).sqrt();
        let different = Column::numbers("a", (0..count).map(f64::from).collect());
        assert!(worst(draws(&[different], "a")) < bound);
        let equal = Column::numbers("a", vec![3.0; count as usize]);
        assert!(worst(draws(std::slice::from_ref(&equal), "a")) < bound);
        // And the draws of equal rows for two columns, or two purposes, are not correlated.
        let all = Draws::new(7, count as usize, std::iter::once(&equal));
        let of = |column: &str, purpose| {
            let own = all.of(column, purpose);
            (0..count as usize)
                .map(|row| own.at(row) - 0.5)
                .collect::<Vec<_>>()
        };
        let first = of("a", Purpose::Place);
        for other in [of("b", Purpose::Place), of("a", Purpose::Share)] {
            let product: f64 = first.iter().zip(&other).map(|(a, b)| 12.0 * a * b).sum();
            // A mean of products of standard deviation one: four standard errors.
            assert!((product / f64::from(count)).abs() < 4.0 / f64::from(count).sqrt());
        }
    }
}
