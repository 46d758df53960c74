//! Folds of rows, and shuffles that respect them.

use std::ops::Range;

use oblivio_base::random;
use oblivio_base::random::Stream;
use rand::seq::SliceRandom;

/// The rows in the order of their folds.
pub(crate) struct Folds {
    /// All rows, fold after fold.
    pub(crate) rows: Vec<usize>,
    /// The part of `rows` that is each fold.
    pub(crate) spans: Vec<Range<usize>>,
}

impl Folds {
    /// Deals the rows of every group out in turn, shuffled by seed, so that a group of at least as many rows as there are
    /// folds is in each of them.
    pub(crate) fn draw(groups: &[u32], count: usize, seed: u64) -> Self {
        let mut random = random::generator(seed, Stream::Folds);
        let mut shuffled: Vec<usize> = (0..groups.len()).collect();
        shuffled.shuffle(&mut random);
        // Stable, so that a group's rows stay shuffled; the next group goes on where the one before ended.
        shuffled.sort_by_key(|&row| groups[row]);
        let mut folds = vec![Vec::new(); count];
        for (turn, row) in shuffled.into_iter().enumerate() {
            folds[turn % count].push(row);
        }
        let mut spans = Vec::with_capacity(count);
        let mut start = 0;
        for fold in &mut folds {
            fold.sort_unstable();
            spans.push(start..start + fold.len());
            start += fold.len();
        }
        Self {
            rows: folds.concat(),
            spans,
        }
    }

    /// The shuffle within every fold that a shuffle of all rows makes: the rows of a fold in the order in which they appear.
    ///
    /// Folds depend on S where S has categories, so a shuffle across them would not be the same procedure on other data.
    /// Within them it is: given the folds, rows whose S is independent of X are still exchangeable.
    pub(crate) fn shuffle(&self, order: &[u32]) -> Vec<u32> {
        let mut next: Vec<usize> = self.spans.iter().map(|span| span.start).collect();
        let mut fold_of = vec![0u32; order.len()];
        for (fold, span) in self.spans.iter().enumerate() {
            fold_of[span.clone()].fill(fold as u32);
        }
        let mut shuffled = vec![0; order.len()];
        for &place in order {
            let fold = fold_of[place as usize] as usize;
            shuffled[next[fold]] = place;
            next[fold] += 1;
        }
        shuffled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Resampling;

    #[test]
    fn every_group_is_in_every_fold_and_shuffles_stay_inside() {
        let groups: Vec<u32> = (0..53).map(|i| u32::from(i % 10 == 0)).collect();
        let folds = Folds::draw(&groups, 5, 1);
        let mut all = folds.rows.clone();
        all.sort_unstable();
        assert_eq!(all, (0..53).collect::<Vec<_>>());
        for span in &folds.spans {
            let rare = folds.rows[span.clone()]
                .iter()
                .filter(|&&row| groups[row] == 1);
            assert!((1..=2).contains(&rare.count()) && (10..=11).contains(&span.len()));
        }
        let shuffled = folds.shuffle(&Resampling::default().permutation(0, 53));
        for span in &folds.spans {
            let mut inside = shuffled[span.clone()].to_vec();
            assert!(!inside.is_sorted());
            inside.sort_unstable();
            assert!(
                inside
                    .into_iter()
                    .map(|place| place as usize)
                    .eq(span.clone())
            );
        }
    }
}
