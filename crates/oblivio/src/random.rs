//! Every random choice, from a seed.
//!
//! The generator and the numbering of its streams are part of the contract: a seed gives the same result in Rust,
//! Python and on the command line.

use rand::SeedableRng;
use rand::seq::SliceRandom;
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
}

pub(crate) fn generator(seed: u64, stream: Stream) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(stream as u64);
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

#[cfg(test)]
mod tests {
    use super::*;

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
