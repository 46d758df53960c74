//! The area under the curve, with ties and weights.

/// Scores in ascending order.
pub(crate) struct Ranking {
    /// The score, as a whole number of the same order, above the row.
    keys: Vec<u64>,
}

impl Ranking {
    /// Ranks the scores in single precision: scores that differ by rounding are ties.
    pub(crate) fn new(scores: &[f64]) -> Self {
        let key =
            |(row, score): (usize, &f64)| u64::from(ordered(*score as f32)) << 32 | row as u64;
        let keys: Vec<u64> = scores.iter().enumerate().map(key).collect();
        Self { keys: sorted(keys) }
    }

    /// The weight of all positive rows, and the share of pairs of a positive and another row in which the positive one has
    /// the larger score, pairs counting by the product of their weights and a tie as half:
    /// $$\frac{\sum_{i\in P}\sum_{j\notin P} w_iw_j\bigl([f_i > f_j] + \tfrac12[f_i = f_j]\bigr)}{\sum_{i\in P} w_i\sum_{j\notin P} w_j}.$$
    /// It is a half if either kind has no weight.
    pub(crate) fn auc(&self, weights: &[f64], positive: impl Fn(usize) -> bool) -> (f64, f64) {
        let (mut above, mut positives, mut negatives) = (0.0, 0.0, 0.0);
        let (mut score, mut tied_positives, mut tied_negatives) = (0, 0.0, 0.0);
        for key in &self.keys {
            if key >> 32 != score {
                above += tied_positives * (negatives + 0.5 * tied_negatives);
                positives += tied_positives;
                negatives += tied_negatives;
                (score, tied_positives, tied_negatives) = (key >> 32, 0.0, 0.0);
            }
            let row = (key & u64::from(u32::MAX)) as usize;
            // Without a branch: no processor can guess which it will be.
            let share = f64::from(u8::from(positive(row)));
            tied_positives += share * weights[row];
            tied_negatives += (1.0 - share) * weights[row];
        }
        above += tied_positives * (negatives + 0.5 * tied_negatives);
        positives += tied_positives;
        negatives += tied_negatives;
        if positives > 0.0 && negatives > 0.0 {
            (positives, above / (positives * negatives))
        } else {
            (positives, 0.5)
        }
    }
}

/// A whole number that is larger for a larger score; 0 and −0 are one.
fn ordered(score: f32) -> u32 {
    let bits = (score + 0.0).to_bits();
    if bits >> 31 == 0 {
        bits | 1 << 31
    } else {
        !bits
    }
}

/// Sorts by the upper half, digit by digit from the last: several times as fast as by comparison, and sorting is most of
/// the work that shuffles make.
fn sorted(mut keys: Vec<u64>) -> Vec<u64> {
    const BITS: usize = 11;
    const DIGITS: usize = 1 << BITS;
    if keys.len() < 2 * DIGITS {
        keys.sort_unstable();
        return keys;
    }
    let mut moved = vec![0; keys.len()];
    for shift in [32, 32 + BITS, 32 + 2 * BITS] {
        let digit = |key: u64| (key >> shift) as usize % DIGITS;
        let mut starts = vec![0u32; DIGITS + 1];
        for &key in &keys {
            starts[digit(key) + 1] += 1;
        }
        for at in 1..DIGITS {
            starts[at] += starts[at - 1];
        }
        for &key in &keys {
            let place = &mut starts[digit(key)];
            moved[*place as usize] = key;
            *place += 1;
        }
        std::mem::swap(&mut keys, &mut moved);
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    use oblivio_base::random::{Stream, generator};

    fn by_pairs(scores: &[f64], weights: &[f64], positive: &[bool]) -> f64 {
        let (mut above, mut all) = (0.0, 0.0);
        for i in (0..scores.len()).filter(|&i| positive[i]) {
            for j in (0..scores.len()).filter(|&j| !positive[j]) {
                let half = f64::from(u8::from(scores[i] > scores[j]))
                    + f64::from(u8::from(scores[i] >= scores[j]));
                above += 0.5 * half * weights[i] * weights[j];
                all += weights[i] * weights[j];
            }
        }
        above / all
    }

    fn rows() -> (Vec<f64>, Vec<f64>, Vec<bool>) {
        let mut random = generator(3, Stream::Simulation);
        let mut rows = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..150 {
            let score = (12.0 * random.random::<f64>()).floor() - 6.0;
            rows.0.push(score);
            rows.1.push((4.0 * random.random::<f64>()).floor());
            rows.2.push(random.random::<f64>() < 0.3 + 0.03 * score);
        }
        rows
    }

    #[test]
    fn it_counts_pairs_with_ties_and_weights() {
        let (scores, weights, positive) = rows();
        let ranked = Ranking::new(&scores);
        for weights in [&vec![1.0; 150], &weights] {
            let (share, auc) = ranked.auc(weights, |row| positive[row]);
            assert!((auc - by_pairs(&scores, weights, &positive)).abs() < 1e-12);
            let of_positive = (0..150).filter(|&i| positive[i]).map(|i| weights[i]);
            assert_eq!(share, of_positive.sum::<f64>());
        }
    }

    #[test]
    fn a_weight_is_a_repetition_and_a_growing_map_changes_nothing() {
        let (scores, weights, positive) = rows();
        let again: Vec<usize> = (0..150)
            .flat_map(|i| vec![i; weights[i] as usize])
            .collect();
        let repeated: Vec<f64> = again.iter().map(|&i| scores[i].powi(3) + 1.0).collect();
        let weighted = Ranking::new(&scores).auc(&weights, |row| positive[row]);
        let ones = vec![1.0; again.len()];
        let plain = Ranking::new(&repeated).auc(&ones, |row| positive[again[row]]);
        assert!((weighted.1 - plain.1).abs() < 1e-12);
    }

    #[test]
    fn one_kind_alone_and_all_tied_are_a_half() {
        let ranking = Ranking::new(&[1.0, 2.0, 3.0]);
        assert_eq!(ranking.auc(&[1.0; 3], |_| true), (3.0, 0.5));
        assert_eq!(ranking.auc(&[1.0; 3], |_| false), (0.0, 0.5));
        let tied = Ranking::new(&[0.0, -0.0, 0.0]);
        assert_eq!(tied.auc(&[1.0; 3], |row| row == 1), (1.0, 0.5));
    }

    #[test]
    fn many_keys_are_sorted_like_few() {
        let mut random = generator(4, Stream::Simulation);
        let mut scores: Vec<f64> = (0..9000).map(|_| random.random::<f64>() - 0.5).collect();
        scores[17] = 1e30;
        scores[18] = -1e-30;
        let ranking = Ranking::new(&scores);
        let mut expected = ranking.keys.clone();
        expected.sort_unstable();
        assert_eq!(ranking.keys, expected);
        let order = ranking.keys.iter().map(|key| *key as u32 as usize);
        assert!(order.map(|row| scores[row] as f32).is_sorted());
    }
}
