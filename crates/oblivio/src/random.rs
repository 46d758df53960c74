//! Every random choice, from a seed.
//!
//! The generator and the numbering of its streams are part of the contract: a seed gives the same result in Rust,
//! Python and on the command line.

use std::collections::BinaryHeap;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What the numbers are for. Each purpose has its own stream, so that one choice does not move another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    /// Simulated tables.
    Simulation = 0,
    /// The split into training and reference rows.
    Reference = 1,
    /// Pairs for the median rule.
    Bandwidth = 2,
    /// A sample of rows.
    Sample = 3,
    /// Landmarks.
    Landmarks = 4,
    /// The rows that stand for a stream.
    Survey = 5,
    /// Folds of a cross-fit.
    Folds = 6,
    /// Shuffles for a level under independence.
    Permutations = 7,
    /// Samples with replacement for an interval.
    Bootstrap = 8,
    /// The rows that are held out.
    HeldOut = 9,
}

pub(crate) fn generator(seed: u64, stream: Stream) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(stream as u64);
    generator
}

/// One of many generators for the same purpose: their numbers have nothing to do with each other.
pub(crate) fn numbered(seed: u64, stream: Stream, number: usize) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(stream as u64 | (number as u64 + 1) << 8);
    generator
}

/// `size` of the rows, drawn by seed without replacement, in their order; all if there are not more.
pub fn sample(rows: &[usize], size: usize, seed: u64) -> Vec<usize> {
    if size >= rows.len() {
        return rows.to_vec();
    }
    let mut drawn = rows.to_vec();
    drawn.shuffle(&mut generator(seed, Stream::Sample));
    drawn.truncate(size);
    drawn.sort_unstable();
    drawn
}

/// A sample of the rows of a stream whose length is not known: those with the smallest of one random number each.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    size: usize,
    generator: ChaCha8Rng,
    kept: BinaryHeap<(u64, usize)>,
    rows: usize,
}

/// What becomes of the next row of a stream.
pub(crate) enum Drawn {
    No,
    Yes,
    /// In place of this one.
    Instead(usize),
}

impl Draw {
    pub(crate) fn new(size: usize, seed: u64) -> Self {
        Self {
            size,
            generator: generator(seed, Stream::Survey),
            kept: BinaryHeap::new(),
            rows: 0,
        }
    }

    /// Whether the next row belongs to the sample so far.
    pub(crate) fn next(&mut self) -> Drawn {
        let row = (self.generator.next_u64(), self.rows);
        self.rows += 1;
        if self.kept.len() < self.size {
            self.kept.push(row);
            return Drawn::Yes;
        }
        match self.kept.peek() {
            Some(largest) if row < *largest => {
                let out = self.kept.pop().map_or(0, |(_, out)| out);
                self.kept.push(row);
                Drawn::Instead(out)
            }
            _ => Drawn::No,
        }
    }

    /// The rows of the sample, ascending.
    pub(crate) fn finish(self) -> Vec<usize> {
        let mut rows: Vec<usize> = self.kept.into_iter().map(|(_, row)| row).collect();
        rows.sort_unstable();
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_is_uniform_seeded_and_keeps_all_that_fit() {
        let drawn = |rows: usize, seed| {
            let mut draw = Draw::new(10, seed);
            for _ in 0..rows {
                draw.next();
            }
            draw.finish()
        };
        assert_eq!(drawn(7, 1), (0..7).collect::<Vec<_>>());
        assert_eq!(drawn(100, 1), drawn(100, 1));
        assert_ne!(drawn(100, 1), drawn(100, 2));
        // Each of 40 rows is in a quarter of the samples; four standard deviations of a binomial share.
        let mut times = [0.0f64; 40];
        for seed in 0..2000 {
            for row in drawn(40, seed) {
                times[row] += 1.0;
            }
        }
        assert!(
            times
                .iter()
                .all(|&t| (t - 500.0).abs() < 4.0 * 375.0f64.sqrt())
        );
    }

    #[test]
    fn a_sample_is_seeded_sorted_and_of_its_size() {
        let rows: Vec<usize> = (100..200).collect();
        let drawn = sample(&rows, 10, 1);
        assert_eq!(drawn.len(), 10);
        assert!(drawn.is_sorted() && drawn.iter().all(|row| rows.contains(row)));
        assert_eq!(drawn, sample(&rows, 10, 1));
        assert_ne!(drawn, sample(&rows, 10, 2));
        assert_eq!(sample(&rows, 500, 1), rows);
    }
}
