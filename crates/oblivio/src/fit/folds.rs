//! Folds: the rows a machine is judged on have not taught it.

use oblivio_base::{Error, Result, random};
use rand::seq::SliceRandom;

/// As many as are usual; the offsets need no more.
pub(super) const FOLDS: usize = 5;

/// A fold for every row. Within each class the rows are shuffled by seed and dealt out in turn, so that what is left of a
/// class is never nothing.
pub(super) fn folds(classes: &[f64], seed: u64) -> Result<Vec<usize>> {
    let mut random = random::generator(seed, random::Stream::Folds);
    let mut fold_of = vec![0; classes.len()];
    for positive in [false, true] {
        let all = 0..classes.len();
        let mut rows: Vec<usize> = all.filter(|&i| (classes[i] > 0.0) == positive).collect();
        if rows.len() < 2 {
            return Err(Error::TooFewRows {
                what: "the smaller class",
                found: rows.len(),
                needed: 2,
            });
        }
        rows.shuffle(&mut random);
        for (turn, row) in rows.into_iter().enumerate() {
            fold_of[row] = turn % FOLDS;
        }
    }
    Ok(fold_of)
}
