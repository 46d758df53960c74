//! Which rows are held out.

use oblivio_base::random::{Stream, generator};
use oblivio_base::{Error, Result};
use rand::seq::SliceRandom;

/// Rows that train and rows that judge, each ascending.
pub struct Parts {
    /// Rows that train.
    pub training: Vec<usize>,
    /// Rows that judge.
    pub held_out: Vec<usize>,
}

/// Fewer rows of a kind than this say nothing.
const LEAST: usize = 2;

/// Holds out this share of the rows, drawn by seed; of the rows of each class, if there are classes.
pub fn split(rows: usize, classes: Option<&[f64]>, share: f64, seed: u64) -> Result<Parts> {
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::InvalidParameter {
            name: "the share of rows held out",
            expected: "between 0 and 1",
            value: share.to_string(),
        });
    }
    let kinds: Vec<Vec<usize>> = match classes {
        None => vec![(0..rows).collect()],
        Some(classes) => [false, true]
            .map(|positive| {
                let all = 0..rows;
                all.filter(|&i| (classes[i] > 0.0) == positive).collect()
            })
            .to_vec(),
    };
    let mut random = generator(seed, Stream::HeldOut);
    let (mut training, mut held_out) = (Vec::new(), Vec::new());
    for mut kind in kinds {
        kind.shuffle(&mut random);
        let out = (share * kind.len() as f64).round() as usize;
        for (what, found) in [
            ("the held-out part (of a class)", out),
            ("the training part (of a class)", kind.len() - out),
        ] {
            if found < LEAST {
                return Err(Error::TooFewRows {
                    what,
                    found,
                    needed: LEAST,
                });
            }
        }
        held_out.extend_from_slice(&kind[..out]);
        training.extend_from_slice(&kind[out..]);
    }
    training.sort_unstable();
    held_out.sort_unstable();
    Ok(Parts { training, held_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_on_one_side_and_classes_keep_their_shares() -> Result<()> {
        let classes: Vec<f64> = (0..100).map(|i| f64::from(u8::from(i % 5 == 0))).collect();
        for kinds in [None, Some(&classes[..])] {
            let Parts { training, held_out } = split(100, kinds, 0.3, 7)?;
            assert_eq!((training.len(), held_out.len()), (70, 30));
            let mut all = [training, held_out.clone()].concat();
            all.sort_unstable();
            assert_eq!(all, (0..100).collect::<Vec<_>>());
            if kinds.is_some() {
                assert_eq!(held_out.iter().filter(|&&i| classes[i] > 0.0).count(), 6);
            }
            assert_eq!(held_out, split(100, kinds, 0.3, 7)?.held_out);
            assert_ne!(held_out, split(100, kinds, 0.3, 8)?.held_out);
        }
        Ok(())
    }

    #[test]
    fn shares_that_leave_nothing_are_refused() {
        for share in [0.0, 1.0, f64::NAN, 0.01, 0.99] {
            assert!(split(20, None, share, 0).is_err(), "{share}");
        }
    }
}
