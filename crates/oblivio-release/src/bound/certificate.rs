//! What rows that nobody has seen say directly about an event and the cells.

use oblivio::partition::SensitiveDesign;

/// How often each cell occurs inside an event and outside it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counts {
    inside: Vec<f64>,
    all: Vec<f64>,
}

impl Counts {
    pub(crate) fn of(event: &[bool], cells: &[u32], count: usize) -> Self {
        let (mut inside, mut all) = (vec![0.0; count], vec![0.0; count]);
        for (event, cell) in event.iter().zip(cells) {
            all[*cell as usize] += 1.0;
            inside[*cell as usize] += f64::from(u8::from(*event));
        }
        Self { inside, all }
    }

    fn rows(&self) -> f64 {
        self.all.iter().sum()
    }

    /// P(A) on these rows.
    pub(crate) fn share(&self) -> f64 {
        self.inside.iter().sum::<f64>() / self.rows()
    }

    /// P(B) of a cell on these rows.
    pub(crate) fn share_of(&self, cell: usize) -> f64 {
        self.all[cell] / self.rows()
    }

    /// $P_n(A \cap B) - P_n(A)P_n(B)$ for a cell B.
    pub(crate) fn covariance(&self, cell: usize) -> f64 {
        self.inside[cell] / self.rows() - self.share() * self.share_of(cell)
    }

    /// The largest of these among all unions of cells: half the sum of their sizes, for over all cells they sum to 0.
    pub(crate) fn largest(&self) -> f64 {
        let sizes = (0..self.all.len()).map(|cell| self.covariance(cell).abs());
        0.5 * sizes.sum::<f64>()
    }
}

/// What $\max_B |P(A \cap B) - P(A)P(B)|$ over all unions B of cells is at most with this confidence:
/// $\frac{n}{n-1}\,\frac12\sum_c|P_n(A \cap c) - P_n(A)P_n(c)| + \sqrt{\log(1/\delta)/2n}$.
///
/// For n rows drawn independently, an event and cells that were fixed beforehand. For every B, $\frac{n}{n-1}$ times the sample's
/// covariance has the true one as its mean, and another row in place of one moves it by at most 1/n. So does their maximum, whose mean is
/// at least the maximum of the means; McDiarmid's inequality for it needs no sum over the unions.
pub fn event_certificate(largest: f64, rows: usize, confidence: f64) -> f64 {
    if rows < 2 {
        return 0.25;
    }
    let n = rows as f64;
    n / (n - 1.0) * largest + (-(1.0 - confidence).ln() / (2.0 * n)).sqrt()
}

/// $\beta_n = \frac12\sum_{cj}|p_{cj} - p_cp_j|$ of cells and the bins that these edges cut.
pub(crate) fn beta(scores: &[f64], edges: &[f64], cells: &[u32], count: usize) -> f64 {
    let bins = (0..=edges.len()).map(|bin| {
        let inside = |score: &f64| edges.partition_point(|edge| edge <= score) == bin;
        let event: Vec<bool> = scores.iter().map(inside).collect();
        Counts::of(&event, cells, count).largest()
    });
    bins.sum()
}

/// $1 - \sum_c p_c^2$: β is never more, whatever the scores.
pub(crate) fn largest_beta(cells: &[u32], count: usize) -> f64 {
    let event = vec![true; cells.len()];
    let counts = Counts::of(&event, cells, count);
    1.0 - (0..count).map(|c| counts.share_of(c).powi(2)).sum::<f64>()
}

/// The rows whose cell is one of these, and not a mixture that stands in for one.
pub(crate) fn placed(assignment: &SensitiveDesign, usable: &[bool]) -> Vec<usize> {
    let cells = assignment.cells().enumerate();
    cells
        .filter(|(_, cell)| cell.is_some_and(|cell| usable.get(cell) == Some(&true)))
        .map(|(row, _)| row)
        .collect()
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use oblivio_base::random::{Stream, numbered};

    /// At a low confidence, so that a margin too small would show.
    #[test]
    fn the_certificate_covers_at_its_level() {
        let (confidence, repetitions, rows) = (0.5, 4000, 40);
        let allowed = 3.0 * (0.25 / f64::from(repetitions)).sqrt();
        // The probability of the event in each of three cells of probability 0.5, 0.3 and 0.2.
        for rates in [[0.5, 0.5, 0.5], [0.9, 0.1, 0.1], [0.3, 0.5, 0.7]] {
            let shares = [0.5, 0.3, 0.2];
            let all: f64 = rates.iter().zip(shares).map(|(r, p)| r * p).sum();
            let truth: f64 = 0.5
                * rates
                    .iter()
                    .zip(shares)
                    .map(|(r, p)| p * (r - all).abs())
                    .sum::<f64>();
            let mut covered = 0;
            for repetition in 0..repetitions {
                let number = repetition as usize + (rates[0] * 100_000.0) as usize;
                let mut random = numbered(5, Stream::Simulation, number);
                let cells: Vec<u32> = (0..rows)
                    .map(|_| match random.random::<f64>() {
                        u if u < 0.5 => 0,
                        u if u < 0.8 => 1,
                        _ => 2,
                    })
                    .collect();
                let event: Vec<bool> = cells
                    .iter()
                    .map(|c| random.random::<f64>() < rates[*c as usize])
                    .collect();
                let largest = Counts::of(&event, &cells, 3).largest();
                covered += u32::from(event_certificate(largest, rows, confidence) >= truth);
            }
            let share = f64::from(covered) / f64::from(repetitions);
            assert!(share >= confidence - allowed, "{rates:?}: {share}");
        }
    }

    /// The constant of the proof: another row moves $\frac{n}{n-1}$ times the largest covariance by at most 1/n.
    #[test]
    fn another_row_moves_it_by_at_most_one_over_n() {
        for number in 0..500 {
            let mut random = numbered(6, Stream::Simulation, number);
            let rows = random.random_range(2..12usize);
            let draw = |random: &mut rand_chacha::ChaCha8Rng| {
                (random.random::<bool>(), random.random_range(0..3u32))
            };
            let mut sample: Vec<(bool, u32)> = (0..rows).map(|_| draw(&mut random)).collect();
            let largest = |sample: &[(bool, u32)]| {
                let (event, cells): (Vec<bool>, Vec<u32>) = sample.iter().copied().unzip();
                let n = rows as f64;
                n / (n - 1.0) * Counts::of(&event, &cells, 3).largest()
            };
            let before = largest(&sample);
            sample[0] = draw(&mut random);
            assert!((largest(&sample) - before).abs() <= 1.0 / rows as f64 + 1e-12);
        }
    }

    #[test]
    fn unions_of_cells_are_the_half_sum_of_the_cells() {
        let event = [true, true, false, false, true, false];
        let cells = [0, 0, 1, 1, 2, 2];
        let counts = Counts::of(&event, &cells, 3);
        let unions = (0..8u32).map(|union| {
            let members = (0..3).filter(|c| union >> c & 1 == 1);
            members
                .map(|c| counts.covariance(c as usize))
                .sum::<f64>()
                .abs()
        });
        let most = unions.fold(0.0, f64::max);
        assert!((most - counts.largest()).abs() < 1e-15 && most > 0.1);
    }

    #[test]
    fn beta_is_that_of_its_table() {
        let (scores, cells) = ([0.0, 0.0, 1.0, 1.0], [0, 0, 1, 1]);
        assert!((beta(&scores, &[0.5], &cells, 2) - 0.5).abs() < 1e-15);
        assert!((largest_beta(&cells, 2) - 0.5).abs() < 1e-15);
        assert!(beta(&[0.0, 1.0, 0.0, 1.0], &[0.5], &cells, 2).abs() < 1e-15);
    }
}
