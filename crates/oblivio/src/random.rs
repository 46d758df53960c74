//! Every random choice, from a seed.
//!
//! The generator and the numbering of its streams are part of the contract: a seed gives the same result in Rust,
//! Python and on the command line.

use rand::SeedableRng;
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
