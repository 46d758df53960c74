//! ψ for the population: everything that is chosen is chosen on half of the rows, and looked at once on the others.

use faer::Mat;
use oblivio_base::{Points, Result, Watch, random};
use oblivio_kernels::{Kernel, KernelMatrix};

use super::interval::{bernstein_upper, mean};
use super::psi::{Constant, Price, Spectrum, share};
use super::report::PopulationBound;

/// What every event's bound is made of.
pub(super) struct Population {
    /// Of the kernel of the rows that choose.
    spectrum: Spectrum,
    /// The mean of each of its columns.
    means: Vec<f64>,
    /// The kernel between the rows that judge and those that choose.
    between: Mat<f64>,
    choosing: Vec<usize>,
    judging: Vec<usize>,
    /// ρ
    norm: f64,
    /// What d is expected to be, and what it is at most.
    distance: (f64, f64),
    /// What r is at most.
    left: f64,
    miss: f64,
}

/// What is known of the projected rows.
pub(super) struct Known<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) points: &'a Points<'a>,
    pub(super) distances: &'a [f64],
    pub(super) range: f64,
    pub(super) norm: f64,
    /// The cell of every row.
    pub(super) cells: &'a [u32],
    /// The reference rows of each cell.
    pub(super) counts: &'a [usize],
    /// What a strength below 1 leaves: $(1 - t)\max_c\|\delta_c\|$.
    pub(super) remainder: f64,
    pub(super) confidence: f64,
    pub(super) seed: u64,
}

/// A statement fails if one of so many parts does.
const PARTS: f64 = 4.0;

/// What $\|\hat\mu_c - \mu_c\|$ is at most for all of L cells together, with probability 1 − δ: $(1 + \sqrt{2\log(L/\delta)})\rho/\sqrt{N_c}$.
///
/// The mean of the norm is at most $\rho/\sqrt{N_c}$; another row in place of one moves it by at most $2\rho/N_c$ (McDiarmid).
pub(super) fn mean_error(rows: usize, cells: usize, norm: f64, miss: f64) -> f64 {
    (1.0 + (2.0 * (cells as f64 / miss).ln()).sqrt()) * norm / (rows as f64).sqrt()
}

impl Population {
    /// `None` where there are too few rows for two halves.
    pub(super) fn new(known: &Known, watch: &Watch) -> Result<Option<Self>> {
        let rows: Vec<usize> = (0..known.points.len()).collect();
        let choosing = random::sample(&rows, rows.len() / 2, known.seed);
        let judging: Vec<usize> = rows
            .into_iter()
            .filter(|row| choosing.binary_search(row).is_err())
            .collect();
        if choosing.len() < 2 || judging.len() < 2 {
            return Ok(None);
        }
        let miss = (1.0 - known.confidence) / PARTS;
        let cells = known.counts.iter().filter(|count| **count > 0).count();
        let errors: Vec<f64> = known
            .counts
            .iter()
            .filter(|count| **count > 0)
            .map(|&count| mean_error(count, cells, known.norm, miss).powi(2))
            .collect();
        let largest = errors.iter().fold(0.0f64, |a, b| a.max(*b));
        let of_row = |&row: &usize| {
            let count = known.counts[known.cells[row] as usize];
            mean_error(count, cells, known.norm, miss).powi(2)
        };
        let errors: Vec<f64> = judging.iter().map(of_row).collect();
        let squares = |rows: &[usize]| -> Vec<f64> {
            rows.iter()
                .map(|&row| known.distances[row].powi(2))
                .collect()
        };
        let distance = (
            mean(&squares(&choosing)).sqrt(),
            bernstein_upper(&squares(&judging), known.range.powi(2), miss).sqrt(),
        );
        let chosen = known.points.select(&choosing);
        let judges = known.points.select(&judging);
        let weights = vec![1.0 / choosing.len() as f64; choosing.len()];
        let own = entries(
            &KernelMatrix::of(known.kernel, &chosen),
            choosing.len(),
            watch,
        )?;
        let between = KernelMatrix::between(known.kernel, &judges, &chosen)?;
        Ok(Some(Self {
            means: own
                .col_iter()
                .map(|column| mean(&column.iter().copied().collect::<Vec<_>>()))
                .collect(),
            spectrum: Spectrum::of(own.as_ref(), &weights, Constant::Any)?,
            between: entries(&between, judging.len(), watch)?,
            norm: known.norm,
            distance,
            left: bernstein_upper(&errors, largest, miss).sqrt() + known.remainder,
            choosing,
            judging,
            miss,
        }))
    }

    /// $\frac12(\|\chi_A - f(W) - c\| + \|f\|(d + r))$, each part what it is at most. The square of $\chi_A - f(W) - c$ is never more
    /// than $(\max(|c|, |1 - c|) + \rho\|f\|)^2$.
    pub(super) fn bound(&self, event: &[bool]) -> PopulationBound {
        let seen: Vec<bool> = self.choosing.iter().map(|&row| event[row]).collect();
        let weights = vec![1.0 / seen.len() as f64; seen.len()];
        let price = Price {
            approximation: 1.0,
            norm: self.distance.0 + self.left,
        };
        let trade = self.spectrum.trade(&seen, price);
        let coefficients = match trade.penalty {
            Some(penalty) => self.spectrum.coefficients(&seen, penalty),
            None => vec![0.0; seen.len()],
        };
        let at = |i: usize| -> f64 {
            let row = coefficients.iter().enumerate();
            row.map(|(j, a)| a * self.between[(i, j)]).sum()
        };
        let f_mean: f64 = coefficients
            .iter()
            .zip(&self.means)
            .map(|(a, m)| a * m)
            .sum();
        let constant = share(&seen, &weights) - f_mean;
        let longest = constant.abs().max((1.0 - constant).abs()) + self.norm * trade.norm;
        let squares: Vec<f64> = self
            .judging
            .iter()
            .enumerate()
            .map(|(i, &row)| (f64::from(u8::from(event[row])) - at(i) - constant).powi(2))
            .collect();
        let approximation = bernstein_upper(&squares, longest.powi(2), self.miss).sqrt();
        let value = 0.5 * (approximation + trade.norm * (self.distance.1 + self.left));
        PopulationBound {
            value,
            vacuous: value >= 0.25,
            approximation,
            norm: trade.norm,
            distance: self.distance.1,
            left: self.left,
        }
    }
}

/// A kernel matrix with so many rows.
pub(super) fn entries(matrix: &KernelMatrix, rows: usize, watch: &Watch) -> Result<Mat<f64>> {
    let entries = matrix.entries(watch)?;
    let columns = entries.len() / rows;
    Ok(Mat::from_fn(rows, columns, |i, j| entries[j * rows + i]))
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use oblivio_base::random::{Stream, numbered};

    /// Two cells whose features are orthogonal units: the norm of the error is that of the shares of three outcomes.
    #[test]
    fn errors_of_means_are_within_their_bound_as_often_as_said() {
        let (repetitions, rows, miss) = (2000, 30, 0.5);
        let truth = [0.5, 0.3, 0.2];
        let inside = (0..repetitions).filter(|number| {
            let mut random = numbered(8, Stream::Simulation, *number);
            let worst = (0..2).map(|_| {
                let mut shares = [0.0f64; 3];
                for _ in 0..rows {
                    let u: f64 = random.random();
                    shares[usize::from(u > 0.5) + usize::from(u > 0.8)] += 1.0 / f64::from(rows);
                }
                let pairs = shares.iter().zip(truth);
                pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
            });
            worst.fold(0.0, f64::max) <= mean_error(rows as usize, 2, 1.0, miss)
        });
        assert!(inside.count() as f64 >= 0.5 * repetitions as f64);
    }
}
