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
pub enum Stream {
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
    /// The order of the rows that stand for a table.
    Order = 10,
}

/// The generator of a seed for one purpose.
pub fn generator(seed: u64, stream: Stream) -> ChaCha8Rng {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    generator.set_stream(stream as u64);
    generator
}

/// One of many generators for the same purpose: their numbers have nothing to do with each other.
pub fn numbered(seed: u64, stream: Stream, number: usize) -> ChaCha8Rng {
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
///
/// A row's random number depends on the seed and its place in the stream alone, so that parts of a stream can be drawn from
/// apart and be joined: the sample is the same.
#[derive(Clone, Debug)]
pub struct Draw {
    size: usize,
    seed: u64,
    generator: ChaCha8Rng,
    kept: BinaryHeap<Ticket>,
    /// The place of the first row, and how many there were.
    start: usize,
    rows: usize,
    /// No row of the sample has a greater number, as far as is known beforehand.
    most: u64,
}

/// The random number of a row, and the row's number among those of the part.
pub type Ticket = (u64, usize);

/// What becomes of the next row of a stream.
pub enum Drawn {
    /// The row is not drawn.
    No,
    /// The row is drawn.
    Yes,
    /// In place of this one.
    Instead(usize),
}

impl Draw {
    /// A draw of `size` rows from a whole stream.
    pub fn new(size: usize, seed: u64) -> Self {
        Self::part(size, seed, 0, None)
    }

    /// The draw from a part of a stream that begins at row `start`. If the stream is known to have `total` rows, those that
    /// have no chance are not kept at all.
    pub fn part(size: usize, seed: u64, start: usize, total: Option<usize>) -> Self {
        let mut generator = generator(seed, Stream::Survey);
        // Two words of the stream for each row.
        generator.set_word_pos(2 * start as u128);
        // Of the rows below this, eight standard deviations more than needed are expected.
        let most = total.filter(|total| *total > size).map(|total| {
            let share = (size as f64 + 8.0 * (size as f64).sqrt()) / total as f64;
            (share * 2.0_f64.powi(64)) as u64
        });
        Self {
            size,
            seed,
            generator,
            kept: BinaryHeap::new(),
            start,
            rows: 0,
            most: most.unwrap_or(u64::MAX),
        }
    }

    /// Whether the next row belongs to the sample so far.
    #[inline]
    pub fn next_row(&mut self) -> Drawn {
        let ticket = (self.generator.next_u64(), self.rows);
        self.rows += 1;
        if ticket.0 > self.most {
            return Drawn::No;
        }
        self.offer(ticket)
    }

    fn offer(&mut self, ticket: Ticket) -> Drawn {
        if self.kept.len() < self.size {
            self.kept.push(ticket);
            return Drawn::Yes;
        }
        match self.kept.peek() {
            Some(largest) if ticket < *largest => {
                let out = self.kept.pop().map_or(0, |(_, out)| out);
                self.kept.push(ticket);
                Drawn::Instead(out)
            }
            _ => Drawn::No,
        }
    }

    /// Goes on with the sample of the part that follows: of each of its rows the number there, the number from now on, and what
    /// becomes of it. Nothing if the part does not follow.
    pub fn join(&mut self, later: &Self) -> Option<Vec<(usize, usize, Drawn)>> {
        let follows = later.start == self.start + self.rows
            && (later.size, later.seed) == (self.size, self.seed);
        if !follows {
            return None;
        }
        let tickets = later.tickets().into_iter();
        let joined = tickets.map(|(random, row)| {
            let number = self.rows + row;
            (row, number, self.offer((random, number)))
        });
        let joined = joined.collect();
        self.rows += later.rows;
        self.generator = later.generator.clone();
        Some(joined)
    }

    /// The tickets of the sample so far, by their rows.
    pub fn tickets(&self) -> Vec<Ticket> {
        let mut tickets: Vec<Ticket> = self.kept.iter().copied().collect();
        tickets.sort_unstable_by_key(|(_, row)| *row);
        tickets
    }

    /// The seed, the place of the first row, and how many there were.
    pub fn extent(&self) -> (u64, usize, usize) {
        (self.seed, self.start, self.rows)
    }

    /// A draw that goes on from these tickets.
    pub fn resumed(
        size: usize,
        (seed, start, rows): (u64, usize, usize),
        tickets: Vec<Ticket>,
    ) -> Self {
        Self {
            kept: tickets.into(),
            start,
            rows,
            ..Self::part(size, seed, start + rows, None)
        }
    }

    /// The rows of the sample, ascending.
    pub fn finish(self) -> Vec<usize> {
        self.tickets().into_iter().map(|(_, row)| row).collect()
    }
}

/// Of `rows` rows that begin at row `start` of a table of `total`: those that may be among a seeded sample of `size` of the
/// table, each with a random number. The sample is the rows with the `size` smallest numbers of the whole table.
pub fn drawn(
    size: usize,
    seed: u64,
    start: usize,
    rows: usize,
    total: usize,
) -> (Vec<usize>, Vec<u64>) {
    let mut draw = Draw::part(size, seed, start, Some(total));
    for _ in 0..rows {
        draw.next_row();
    }
    let tickets = draw.tickets().into_iter();
    tickets.map(|(random, row)| (row, random)).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_is_uniform_seeded_and_keeps_all_that_fit() {
        let drawn = |rows: usize, seed| {
            let mut draw = Draw::new(10, seed);
            for _ in 0..rows {
                draw.next_row();
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
    fn parts_of_a_stream_are_drawn_from_as_the_whole() {
        let whole = |rows: usize| {
            let mut draw = Draw::new(50, 3);
            for _ in 0..rows {
                draw.next_row();
            }
            draw
        };
        let part = |start, rows, total| {
            let mut draw = Draw::part(50, 3, start, total);
            for _ in 0..rows {
                draw.next_row();
            }
            draw
        };
        for total in [None, Some(1000)] {
            let mut joined = part(0, 123, total);
            let (mut middle, last) = (part(123, 500, total), part(623, 377, total));
            assert!(joined.clone().join(&last).is_none(), "rows between them");
            middle.join(&last).unwrap();
            joined.join(&middle).unwrap();
            assert_eq!(joined.tickets(), whole(1000).tickets());
            // And it goes on as if nothing had happened.
            let mut resumed = Draw::resumed(50, joined.extent(), joined.tickets());
            for _ in 0..100 {
                resumed.next_row();
            }
            assert_eq!(resumed.tickets(), whole(1100).tickets());
        }
        // Where the whole is known to be large, a part keeps little.
        let (few, numbers) = drawn(50, 3, 0, 1000, 100_000);
        assert!(few.len() < 20 && few.len() == numbers.len());
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
