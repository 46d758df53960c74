//! Scores of a stream, kept for an alignment.

use oblivio_base::random::{Draw, Drawn};

use crate::partition::SensitiveDesign;

/// Scores before their offsets, of at most so many rows of a stream: a seeded sample, the same as that of a survey of the same rows.
#[derive(Clone, Debug)]
pub(crate) struct SampledScores {
    draw: Draw,
    /// Rows seen.
    seen: usize,
    /// The numbers of rows that have been in the sample, ascending. Few are taken out again: the sample of n rows has held
    /// 1 + ln(n/size) times its size.
    numbers: Vec<usize>,
    pub(crate) before: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    pub(crate) assignment: SensitiveDesign,
}

impl SampledScores {
    pub(crate) fn new(size: usize, seed: u64) -> Self {
        Self {
            draw: Draw::new(size, seed),
            seen: 0,
            numbers: Vec::new(),
            before: Vec::new(),
            weights: Vec::new(),
            assignment: SensitiveDesign::default(),
        }
    }

    /// The rows of a batch that belong to the sample so far; those of weight zero have no number.
    pub(crate) fn draw(&mut self, weights: &[f64]) -> Vec<usize> {
        let mut drawn = Vec::new();
        for (row, weight) in weights.iter().enumerate() {
            if *weight > 0.0 {
                if !matches!(self.draw.next_row(), Drawn::No) {
                    drawn.push(row);
                    self.numbers.push(self.seen);
                }
                self.seen += 1;
            }
        }
        drawn
    }

    /// Adds the scores of the rows that were drawn from a batch, with their weights and what is known of their S.
    pub(crate) fn add(&mut self, before: &[f64], weights: &[f64], assignment: SensitiveDesign) {
        self.before.extend(before);
        self.weights.extend(weights);
        self.assignment.append(assignment);
    }

    /// The rows of the sample, in the order they came, for which `test` of their number in the stream holds.
    pub(crate) fn finish(mut self, test: &dyn Fn(usize) -> bool) -> Self {
        let empty = Draw::new(0, 0);
        let chosen = std::mem::replace(&mut self.draw, empty).finish();
        let chosen = chosen.into_iter().filter(|&number| test(number));
        let places: Vec<usize> = chosen
            .filter_map(|number| self.numbers.binary_search(&number).ok())
            .collect();
        let pick = |values: &[f64]| places.iter().map(|&k| values[k]).collect();
        self.before = pick(&self.before);
        self.weights = pick(&self.weights);
        self.assignment = self.assignment.select(&places);
        self.numbers = places.iter().map(|&k| self.numbers[k]).collect();
        self
    }
}
