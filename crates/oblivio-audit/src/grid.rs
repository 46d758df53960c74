//! The values of a score as places on a short grid, so that distributions can be compared hundreds of times.

use super::cells::Extremes;
use super::comparison::Outcome;

/// Where each row's value lies among few places: the distinct values, or as many quantiles.
pub(super) struct Grid {
    places: Vec<u32>,
    /// The value of each place: the mean of its rows.
    values: Vec<f64>,
    /// The bin of each place, for β.
    bins: Vec<u32>,
    mean: f64,
    deviation: f64,
}

/// Whole numbers of no more kinds than this are labels.
const MOST_LABELS: usize = 20;

/// The work of comparing pairs of cells at all places, per draw. The cost of a grid is the number of pairs.
const WORK: usize = 4_000_000;

impl Grid {
    pub(super) fn new(outcome: Outcome, weights: Option<&[f64]>, bins: usize, cost: usize) -> Self {
        match outcome {
            Outcome::Classes(codes) => {
                let count = codes.iter().max().map_or(0, |&code| code as usize + 1);
                Self {
                    places: codes.to_vec(),
                    values: vec![0.0; count],
                    bins: (0..count as u32).collect(),
                    mean: 0.0,
                    deviation: 1.0,
                }
            }
            Outcome::Scores(scores) => {
                let most = (WORK / cost.max(1)).clamp(64, 1024);
                Self::of_scores(scores, weights, bins, most)
            }
        }
    }

    fn of_scores(scores: &[f64], weights: Option<&[f64]>, bins: usize, most: usize) -> Self {
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let mut order: Vec<u32> = (0..scores.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| scores[a as usize].total_cmp(&scores[b as usize]));
        let total: f64 = (0..scores.len()).map(weight).sum();
        let distinct = 1 + order
            .windows(2)
            .filter(|pair| scores[pair[0] as usize] != scores[pair[1] as usize])
            .count();
        // Equal values share a place; a place ends once it holds its share of the weight.
        let share = if distinct <= most {
            0.0
        } else {
            total / most as f64
        };
        let mut places = vec![0; scores.len()];
        let (mut values, mut ends) = (Vec::new(), Vec::new());
        let (mut mass, mut sum, mut before) = (0.0, 0.0, 0.0);
        let mut first = f64::NAN;
        for (k, &row) in order.iter().enumerate() {
            let row = row as usize;
            places[row] = values.len() as u32;
            if mass == 0.0 {
                first = scores[row];
            }
            mass += weight(row);
            sum += weight(row) * scores[row];
            let next = order.get(k + 1).map(|&next| scores[next as usize]);
            // A place whose rows weigh nothing joins the next one.
            let full = next.is_none() || (next != Some(scores[row]) && mass > 0.0 && mass >= share);
            if full {
                // A single value is kept as it is: the mean of equal numbers may round.
                let single = first == scores[row] || mass == 0.0;
                values.push(if single { scores[row] } else { sum / mass });
                before += mass;
                ends.push(before);
                (mass, sum) = (0.0, 0.0);
            }
        }
        // The bin of a place is that of the middle of its weight.
        let bin = |place: usize| {
            let start = if place == 0 { 0.0 } else { ends[place - 1] };
            let middle = f64::midpoint(start, ends[place]) / total;
            ((middle * bins as f64) as u32).min(bins.max(1) as u32 - 1)
        };
        // Whole numbers of few kinds are labels: each is a bin of its own.
        let labels = values.len() <= MOST_LABELS && values.iter().all(|v| v.fract() == 0.0);
        let bins = if labels || values.len() <= bins {
            (0..values.len() as u32).collect()
        } else {
            (0..values.len()).map(bin).collect()
        };
        let mean = (0..scores.len())
            .map(|row| weight(row) * scores[row])
            .sum::<f64>()
            / total;
        let squares: f64 = (0..scores.len())
            .map(|row| weight(row) * (scores[row] - mean).powi(2))
            .sum();
        let deviation = (squares / total).sqrt();
        Self {
            places,
            values,
            bins,
            mean,
            // Constant scores differ by nothing, in whatever unit.
            deviation: if deviation > 0.0 { deviation } else { 1.0 },
        }
    }

    /// The number of places.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn place(&self, row: usize) -> usize {
        self.places[row] as usize
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    pub(super) fn deviation(&self) -> f64 {
        self.deviation
    }

    /// $\beta = \frac12\sum_{ij}|p_{ij} - p_i p_j|$ over the cells i and the bins j.
    pub(super) fn beta(&self, table: &[f64], mass: &[f64]) -> f64 {
        let width = self.len();
        let count = self.bins.iter().max().map_or(0, |&bin| bin as usize + 1);
        let total: f64 = mass.iter().sum();
        let mut joint = vec![0.0; mass.len() * count];
        for (cell, row) in table.chunks(width).enumerate() {
            for (place, weight) in row.iter().enumerate() {
                joint[cell * count + self.bins[place] as usize] += weight / total;
            }
        }
        let mut of_bin = vec![0.0; count];
        for row in joint.chunks(count) {
            of_bin.iter_mut().zip(row).for_each(|(sum, p)| *sum += p);
        }
        let mut sum = 0.0;
        for (row, mass) in joint.chunks(count).zip(mass) {
            for (p, q) in row.iter().zip(&of_bin) {
                sum += (p - mass / total * q).abs();
            }
        }
        sum / 2.0
    }

    /// The largest Wasserstein-1 and Kolmogorov–Smirnov distances between two of these cells, on the grid.
    pub(super) fn distances(
        &self,
        table: &[f64],
        mass: &[f64],
        cells: &[usize],
    ) -> (Extremes, Extremes) {
        let width = self.len();
        let mut steps: Vec<f64> = self.values.windows(2).map(|v| v[1] - v[0]).collect();
        steps.push(0.0);
        let below: Vec<Vec<f64>> = cells
            .iter()
            .map(|&cell| {
                let mut sum = 0.0;
                let row = &table[cell * width..(cell + 1) * width];
                row.iter()
                    .map(|weight| {
                        sum += weight;
                        sum / mass[cell]
                    })
                    .collect()
            })
            .collect();
        let (mut transport, mut largest) = (Extremes::NONE, Extremes::NONE);
        for (i, a) in below.iter().enumerate() {
            for (j, b) in below[..i].iter().enumerate() {
                let (mut sum, mut most) = (0.0, 0.0f64);
                for ((a, b), step) in a.iter().zip(b).zip(&steps) {
                    let apart = (a - b).abs();
                    sum += apart * step;
                    most = most.max(apart);
                }
                transport.widen(sum, (cells[j], cells[i]));
                largest.widen(most, (cells[j], cells[i]));
            }
        }
        (transport, largest)
    }
}
