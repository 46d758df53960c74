//! Calibration in groups: whether outcomes of like scores depend on the cell.

use oblivio_base::{Result, Watch};

use super::cells::Cells;
use super::comparison::Outcome;
use super::draws::{Draws, Statistic};
use super::formulas::deviation;
use super::found::Found;
use super::measure::Measure;
use super::report::ReliabilityBin;
use super::resampling::Resampling;
use super::strata::{Strata, bins};

/// Bins of scores that count as alike.
const BINS: usize = 10;

/// Bins with fewer rows of a cell are not told.
const FEWEST_TOLD: usize = 5;

/// Scores, outcomes and cells.
pub(super) struct Calibration<'a> {
    cells: &'a Cells<'a>,
    score: Outcome<'a>,
    /// Numbers, or 0 and 1.
    outcome: &'a [f64],
    is_share: bool,
    /// Bins of the score.
    bins: Strata,
    /// Bins within the groups of the cells.
    alike: Strata,
    /// Outcomes less the line through the outcomes of like scores.
    residuals: Vec<f64>,
    usable: Vec<bool>,
    deviation: f64,
}

/// The finding, and the curve of each cell.
pub(super) struct Calibrated {
    pub(super) found: Found,
    /// Of each cell, and of all rows last.
    pub(super) curves: Vec<Vec<ReliabilityBin>>,
}

/// The statistics of one draw.
pub(super) struct Values {
    distance: f64,
    /// Mean outcomes by bin and cell.
    outcomes: Vec<f64>,
}

impl<'a> Calibration<'a> {
    /// Takes outcomes, and whether they are shares of a class.
    pub(super) fn new(
        cells: &'a Cells<'a>,
        score: Outcome<'a>,
        (outcome, is_share): (&'a [f64], bool),
    ) -> Self {
        let bins = match score {
            Outcome::Scores(scores) => Strata::new(&bins(scores, cells.weights, BINS)),
            Outcome::Classes(codes) => Strata::new(codes),
        };
        let mut made = Self {
            cells,
            score,
            outcome,
            is_share,
            alike: cells.strata.cross(&bins),
            bins,
            residuals: Vec::new(),
            usable: cells.usable(0..cells.rows()),
            deviation: 1.0,
        };
        made.residuals = made.residuals();
        let unit = deviation(outcome, cells.weights);
        if unit > 0.0 {
            made.deviation = unit;
        }
        made
    }

    /// Outcomes less a line in the score, by least squares among like scores: cells with larger scores within a bin are no
    /// sign of anything.
    fn residuals(&self) -> Vec<f64> {
        let score = |row: usize| match self.score {
            Outcome::Scores(scores) => scores[row],
            Outcome::Classes(_) => 0.0,
        };
        let mut lines = vec![Line::default(); self.alike.count()];
        let rows = 0..self.outcome.len();
        for row in rows.clone() {
            let line = &mut lines[self.alike.group(row)];
            line.mean(score(row), self.outcome[row], self.cells.weight(row));
        }
        for row in rows.clone() {
            let line = &mut lines[self.alike.group(row)];
            line.slope(score(row), self.outcome[row], self.cells.weight(row));
        }
        let residual = |row: usize| {
            let line = &lines[self.alike.group(row)];
            self.outcome[row] - line.value(score(row))
        };
        rows.map(residual).collect()
    }

    /// The mean over rows of $|\bar r_{bc} - \bar r_b|$, with residuals r of like scores b in cell c.
    fn distance(&self, cells: &[u32], weight: &dyn Fn(usize) -> f64) -> f64 {
        let count = self.cells.count;
        let mut mass = vec![0.0; self.alike.count() * count];
        let mut sums = vec![0.0; mass.len()];
        for (row, &cell) in cells.iter().enumerate() {
            if !self.usable[self.cells.place(row, cell)] {
                continue;
            }
            let place = self.alike.group(row) * count + cell as usize;
            mass[place] += weight(row);
            sums[place] += weight(row) * self.residuals[row];
        }
        let (mut distance, mut total) = (0.0, 0.0);
        for (mass, sums) in mass.chunks(count).zip(sums.chunks(count)) {
            let all: f64 = mass.iter().sum();
            let mean = sums.iter().sum::<f64>() / all;
            let own = mass.iter().zip(sums).filter(|(mass, _)| **mass > 0.0);
            distance += own
                .map(|(mass, sum)| (sum - mass * mean).abs())
                .sum::<f64>();
            total += all;
        }
        distance / total
    }

    /// Mean outcomes by bin and cell.
    fn outcomes(&self, weight: &dyn Fn(usize) -> f64) -> Vec<f64> {
        self.means(self.outcome, weight)
    }

    /// The mean of a number by bin and cell, and over all cells last.
    fn means(&self, values: &[f64], weight: &dyn Fn(usize) -> f64) -> Vec<f64> {
        let count = self.cells.count + 1;
        let mut mass = vec![0.0; self.bins.count() * count];
        let mut sums = vec![0.0; mass.len()];
        for (row, &cell) in self.cells.codes.iter().enumerate() {
            for column in [cell as usize, count - 1] {
                let place = self.bins.group(row) * count + column;
                mass[place] += weight(row);
                sums[place] += weight(row) * values[row];
            }
        }
        sums.iter()
            .zip(&mass)
            .map(|(sum, mass)| sum / mass)
            .collect()
    }

    /// The distance and the curves. `briefs` are the cells in words.
    pub(super) fn measure(
        &self,
        briefs: &[String],
        resampling: &Resampling,
        watch: &Watch,
    ) -> Result<Calibrated> {
        let draws = Draws::new(self, resampling, watch, "comparing outcomes")?;
        let measured = draws.measured(Measure::Calibration, |v| v.distance / self.deviation);
        let mut found = Found::new(Measure::Calibration, measured)
            .with("in-units-of-the-target", draws.here.distance)
            .with("standard-deviation", self.deviation);
        found.detail = self.furthest(briefs);
        Ok(Calibrated {
            found,
            curves: self.curves(&draws),
        })
    }

    /// The cell whose outcomes differ most from outcomes of like scores, in words.
    fn furthest(&self, briefs: &[String]) -> Option<String> {
        let count = self.cells.count;
        let (mut mass, mut sums) = (vec![0.0; count], vec![0.0; count]);
        for (row, &cell) in self.cells.codes.iter().enumerate() {
            if self.usable[self.cells.place(row, cell)] {
                mass[cell as usize] += self.cells.weight(row);
                sums[cell as usize] += self.cells.weight(row) * self.residuals[row];
            }
        }
        let means = sums.iter().zip(&mass).map(|(sum, mass)| sum / mass);
        let known = means.enumerate().filter(|(_, mean)| mean.is_finite());
        let (cell, mean) = known.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
        let side = if mean > 0.0 { "above" } else { "below" };
        let is_any = mean.abs() > 1e-12 * self.deviation;
        is_any.then(|| {
            let brief = &briefs[cell];
            format!(
                "{brief}: outcomes {:.3} {side} outcomes of like scores",
                mean.abs()
            )
        })
    }

    fn curves(&self, draws: &Draws<Values>) -> Vec<Vec<ReliabilityBin>> {
        let count = self.cells.count + 1;
        let mut rows = vec![0; self.bins.count() * count];
        for (row, &cell) in self.cells.codes.iter().enumerate() {
            rows[self.bins.group(row) * count + cell as usize] += 1;
            rows[self.bins.group(row) * count + count - 1] += 1;
        }
        let scores = match self.score {
            Outcome::Scores(scores) => self.means(scores, &|row| self.cells.weight(row)),
            Outcome::Classes(_) => (0..rows.len())
                .map(|place| (place / count) as f64)
                .collect(),
        };
        let (least, most) = if self.is_share {
            (0.0, 1.0)
        } else {
            (f64::NEG_INFINITY, f64::INFINITY)
        };
        let curve = |cell: usize| {
            let places = (0..self.bins.count()).map(|bin| bin * count + cell);
            let told = places.filter(|&place| rows[place] >= FEWEST_TOLD);
            let bin = |place: usize| {
                let (lower, upper) = draws.interval(|v| v.outcomes[place]);
                ReliabilityBin {
                    score: scores[place],
                    outcome: draws.here.outcomes[place],
                    lower: lower.clamp(least, most),
                    upper: upper.clamp(least, most),
                    rows: rows[place],
                }
            };
            told.map(bin).collect()
        };
        (0..count).map(curve).collect()
    }
}

impl Statistic for Calibration<'_> {
    type Values = Values;

    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn here(&self) -> Values {
        let weight = |row: usize| self.cells.weight(row);
        Values {
            distance: self.distance(self.cells.codes, &weight),
            outcomes: self.outcomes(&weight),
        }
    }

    fn permuted(&self, order: &[u32]) -> Values {
        let alike = Cells {
            strata: &self.alike,
            ..*self.cells
        };
        let (cells, weights) = alike.shuffled(order);
        Values {
            distance: self.distance(&cells, &|row| weights[row]),
            outcomes: Vec::new(),
        }
    }

    fn resampled(&self, counts: &[f64]) -> Values {
        let weight = |row: usize| counts[row] * self.cells.weight(row);
        Values {
            distance: self.distance(self.cells.codes, &weight),
            outcomes: self.outcomes(&weight),
        }
    }
}

/// A line by least squares: means first, then the slope about them.
#[derive(Clone, Copy, Default)]
struct Line {
    mass: f64,
    x: f64,
    y: f64,
    squares: f64,
    products: f64,
}

impl Line {
    fn mean(&mut self, x: f64, y: f64, weight: f64) {
        self.mass += weight;
        self.x += weight / self.mass * (x - self.x);
        self.y += weight / self.mass * (y - self.y);
    }

    fn slope(&mut self, x: f64, y: f64, weight: f64) {
        self.squares += weight * (x - self.x).powi(2);
        self.products += weight * (x - self.x) * (y - self.y);
    }

    fn value(&self, x: f64) -> f64 {
        if self.squares > 0.0 {
            self.y + self.products / self.squares * (x - self.x)
        } else {
            self.y
        }
    }
}
