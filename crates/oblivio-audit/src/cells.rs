//! The measures that compare cells: means, decisions, distributions, and the table of cells and bins.
//!
//! All of them follow from a few sums over the rows, so one pass over shuffled or redrawn rows serves all.

use std::collections::BTreeMap;

use oblivio_base::{Result, Watch};
use rayon::prelude::*;

use super::grid::Grid;
use super::measure::{Measure, Measured};
use super::odds::Odds;
use super::resampling::Resampling;
use super::transport;

/// No more cells than this, the largest, are compared with each other: pairs grow with the square of the cells.
const MOST_COMPARED: usize = 200;

/// What is held against the cells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome<'a> {
    /// Numbers with an order and a distance.
    Scores(&'a [f64]),
    /// Classes, numbered from 0.
    Classes(&'a [u32]),
}

/// The rows of a comparison of cells.
pub(crate) struct Comparison<'a> {
    pub(crate) outcome: Outcome<'a>,
    /// The cell of each row, below `count`.
    pub(crate) cells: &'a [u32],
    pub(crate) count: usize,
    pub(crate) weights: Option<&'a [f64]>,
    /// Whether each row's decision is positive.
    pub(crate) positive: Option<&'a [bool]>,
    /// Whether each row's true label is positive.
    pub(crate) truth: Option<&'a [bool]>,
    /// Bins of the scores for β.
    pub(crate) bins: usize,
    /// Cells with fewer rows are left out of largest differences, unless fewer than two would remain.
    pub(crate) least_rows: usize,
}

/// What a comparison of cells finds.
pub(crate) struct Compared {
    pub(crate) found: Vec<Found>,
    /// The interval of each cell's mean score.
    pub(crate) intervals: Vec<(f64, f64)>,
}

/// A measure, with the numbers and the cells that explain it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) measure: Measure,
    pub(crate) measured: Measured,
    /// Other forms of the same measure, by name.
    pub(crate) further: BTreeMap<String, f64>,
    /// The two cells that differ most: the smaller first.
    pub(crate) pair: Option<(usize, usize)>,
    /// What else is to say.
    pub(crate) detail: Option<String>,
}

impl Found {
    pub(crate) fn new(measure: Measure, measured: Measured) -> Self {
        Self {
            measure,
            measured,
            further: BTreeMap::new(),
            pair: None,
            detail: None,
        }
    }

    pub(crate) fn with(mut self, name: &str, value: f64) -> Self {
        self.further.insert(name.to_owned(), value);
        self
    }

    fn between(mut self, pair: (usize, usize)) -> Self {
        // One cell alone differs from none.
        self.pair = (pair.0 != pair.1).then_some(pair);
        self
    }
}

/// The statistics of one draw; those that are not defined are NaN.
#[derive(Clone, Debug)]
struct Statistics {
    /// The mean score of each cell.
    means: Vec<f64>,
    correlation_ratio: f64,
    gap: Extremes,
    beta: f64,
    parity: Extremes,
    odds: f64,
    wasserstein: Extremes,
    kolmogorov: Extremes,
}

/// A smallest and a largest value among the cells, or the largest distance of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extremes {
    pub(super) least: f64,
    pub(super) most: f64,
    pub(super) pair: (usize, usize),
}

impl Extremes {
    pub(super) const NONE: Self = Self {
        least: f64::NAN,
        most: f64::NAN,
        pair: (0, 0),
    };

    pub(super) fn of(values: impl Iterator<Item = (usize, f64)>) -> Self {
        values.fold(Self::NONE, |mut found, (cell, value)| {
            if found.least.is_nan() || value < found.least {
                (found.least, found.pair.0) = (value, cell);
            }
            if found.most.is_nan() || value > found.most {
                (found.most, found.pair.1) = (value, cell);
            }
            found
        })
    }

    pub(super) fn difference(self) -> f64 {
        self.most - self.least
    }

    /// 1 where nobody is chosen: nobody is favoured.
    fn ratio(self) -> f64 {
        if self.most == 0.0 {
            1.0
        } else {
            self.least / self.most
        }
    }
}

impl Comparison<'_> {
    fn rows(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// The cells that take part in largest differences among rows of these cells: those with enough rows, or if fewer
    /// than two have, all; of many, the largest.
    pub(super) fn usable(&self, cells: impl Iterator<Item = u32>) -> Vec<bool> {
        let mut rows = vec![0; self.count];
        cells.for_each(|cell| rows[cell as usize] += 1);
        let mut large = rows
            .iter()
            .filter(|&&n| n >= self.least_rows.max(1))
            .count();
        let least = if large >= 2 {
            self.least_rows.max(1)
        } else {
            large = rows.iter().filter(|&&n| n > 0).count();
            1
        };
        let mut order: Vec<usize> = (0..self.count).collect();
        order.sort_by_key(|&cell| std::cmp::Reverse(rows[cell]));
        let mut usable = vec![false; self.count];
        for &cell in &order[..large.min(MOST_COMPARED)] {
            usable[cell] = rows[cell] >= least;
        }
        usable
    }

    /// Every measure that is defined.
    pub(crate) fn measure(&self, resampling: &Resampling, watch: &Watch) -> Result<Compared> {
        let usable = self.usable(self.cells.iter().copied());
        let odds = Odds::new(self);
        let odds_of = |from: &dyn Fn(usize) -> usize, times: &dyn Fn(usize) -> f64| {
            odds.as_ref().map_or(f64::NAN, |odds| odds.gap(from, times))
        };
        let grid = Grid::new(self.outcome, self.weights, self.bins, self.count);
        let (rows, weights) = (self.rows(), |row| self.weight(row));
        let here = Statistics {
            odds: odds_of(&|row| row, &|_| 1.0),
            ..self.statistics(&grid, &usable, self.cells, &weights)
        };
        watch.begin(
            "comparing cells",
            resampling.permutations + resampling.resamples,
        )?;
        let permuted: Vec<Statistics> = (0..resampling.permutations)
            .into_par_iter()
            .map(|number| {
                // Cells move together with the weights, which often depend on them.
                let order = resampling.permutation(number, rows);
                let cells: Vec<u32> = order.iter().map(|&i| self.cells[i as usize]).collect();
                let moved = |row: usize| weights(order[row] as usize);
                let within = odds.as_ref().map(|odds| odds.within(&order));
                let from = |row: usize| within.as_ref().map_or(row, |order| order[row] as usize);
                watch.advance();
                watch.check()?;
                Ok(Statistics {
                    odds: odds_of(&from, &|_| 1.0),
                    ..self.statistics(&grid, &usable, &cells, &moved)
                })
            })
            .collect::<Result<_>>()?;
        let resampled: Vec<Statistics> = (0..resampling.resamples)
            .into_par_iter()
            .map(|number| {
                let counts = resampling.counts(number, rows);
                let drawn = |row: usize| counts[row] * weights(row);
                watch.advance();
                watch.check()?;
                Ok(Statistics {
                    odds: odds_of(&|row| row, &|row| counts[row]),
                    ..self.statistics(&grid, &usable, self.cells, &drawn)
                })
            })
            .collect::<Result<_>>()?;
        let draws = Draws {
            here,
            permuted,
            resampled,
            resampling,
            rows,
        };
        Ok(Compared {
            found: self.found(&draws, &grid, &usable),
            intervals: (0..self.count).map(|cell| draws.interval(cell)).collect(),
        })
    }

    fn found(&self, draws: &Draws, grid: &Grid, usable: &[bool]) -> Vec<Found> {
        let mut found = Vec::new();
        if let Outcome::Scores(scores) = self.outcome {
            found.extend(self.means(draws, grid));
            found.extend(self.distances(draws, grid, scores, usable));
        }
        found.extend(self.table(draws));
        if self.positive.is_some() {
            found.extend(Self::decisions(draws));
        }
        if !draws.here.odds.is_nan() {
            let odds = draws.measured(Measure::EqualizedOdds, |s| s.odds);
            found.push(Found::new(Measure::EqualizedOdds, odds));
        }
        found
    }

    fn means(&self, draws: &Draws, grid: &Grid) -> [Found; 2] {
        let ratio = draws.measured(Measure::CorrelationRatio, |s| s.correlation_ratio);
        let rows = effective_rows(self.weights, self.rows());
        let debiased = if grid.len() > 1 {
            debiased(ratio.value, self.occupied() as f64, rows)
        } else {
            0.0
        };
        let unit = grid.deviation();
        let gap = draws.measured(Measure::MeanGap, |s| s.gap.difference() / unit);
        let raw = draws.here.gap.difference();
        [
            Found::new(Measure::CorrelationRatio, ratio).with("debiased", debiased),
            Found::new(Measure::MeanGap, gap)
                .with("in-units-of-the-score", raw)
                .with("standard-deviation", unit)
                .between(draws.here.gap.pair),
        ]
    }

    fn distances(&self, draws: &Draws, grid: &Grid, scores: &[f64], usable: &[bool]) -> [Found; 2] {
        let (transport, most) = transport::largest(scores, self.cells, self.weights, usable);
        let unit = grid.deviation();
        let wasserstein = draws.measured(Measure::Wasserstein, |s| s.wasserstein.most / unit);
        let kolmogorov = draws.measured(Measure::KolmogorovSmirnov, |s| s.kolmogorov.most);
        let raw = if transport.most.is_nan() {
            0.0
        } else {
            transport.most
        };
        [
            Found::new(Measure::Wasserstein, moved(wasserstein, raw / unit))
                .with("in-units-of-the-score", raw)
                .with("standard-deviation", unit)
                .between(transport.pair),
            Found::new(Measure::KolmogorovSmirnov, moved(kolmogorov, most.most)).between(most.pair),
        ]
    }

    fn table(&self, draws: &Draws) -> [Found; 2] {
        let beta = draws.measured(Measure::Beta, |s| s.beta);
        let rows = effective_rows(self.weights, self.rows());
        let bound = |value| certificate(value, rows, draws.resampling.confidence);
        let bounded = Measured {
            value: bound(beta.value),
            expected: bound(beta.expected),
            critical: bound(beta.critical),
            lower: bound(beta.lower),
            upper: bound(beta.upper),
            ..beta
        };
        [
            Found::new(Measure::Beta, beta)
                .with("without-half", 2.0 * beta.value)
                .with("bound", bounded.value),
            Found::new(Measure::BetaBound, bounded),
        ]
    }

    fn decisions(draws: &Draws) -> [Found; 2] {
        let parity = |measure, of: fn(Extremes) -> f64| {
            Found::new(measure, draws.measured(measure, |s| of(s.parity)))
                .between(draws.here.parity.pair)
        };
        [
            parity(Measure::ParityDifference, Extremes::difference),
            parity(Measure::ParityRatio, Extremes::ratio),
        ]
    }

    fn occupied(&self) -> usize {
        let mut seen = vec![false; self.count];
        self.cells.iter().for_each(|&c| seen[c as usize] = true);
        seen.iter().filter(|seen| **seen).count()
    }

    /// All statistics of the rows with these cells and weights, distances between distributions on the grid.
    fn statistics(
        &self,
        grid: &Grid,
        usable: &[bool],
        cells: &[u32],
        weight: &dyn Fn(usize) -> f64,
    ) -> Statistics {
        let (count, width) = (self.count, grid.len());
        let mut table = vec![0.0; count * width];
        let mut sums = vec![0.0; count];
        let mut chosen = vec![0.0; count];
        let mut squares = 0.0;
        for (row, &cell) in cells.iter().enumerate() {
            let (cell, w) = (cell as usize, weight(row));
            if w == 0.0 {
                continue;
            }
            table[cell * width + grid.place(row)] += w;
            if let Outcome::Scores(scores) = self.outcome {
                let score = scores[row] - grid.mean();
                sums[cell] += w * score;
                squares += w * score * score;
            }
            if self.positive.is_some_and(|positive| positive[row]) {
                chosen[cell] += w;
            }
        }
        let mass: Vec<f64> = table.chunks(width).map(|c| c.iter().sum()).collect();
        let used = |cell: &usize| usable[*cell] && mass[*cell] > 0.0;
        let scores = matches!(self.outcome, Outcome::Scores(_));
        let (wasserstein, kolmogorov) = if scores {
            grid.distances(&table, &mass, &(0..count).filter(used).collect::<Vec<_>>())
        } else {
            (Extremes::NONE, Extremes::NONE)
        };
        // Differences first: far from zero the overall mean would swallow them.
        let apart = |cell: usize| (cell, sums[cell] / mass[cell]);
        let mean = |cell: usize| grid.mean() + apart(cell).1;
        Statistics {
            correlation_ratio: explained(&sums, &mass, squares),
            gap: Extremes::of((0..count).filter(used).map(apart)),
            means: (0..count).map(mean).collect(),
            beta: grid.beta(&table, &mass),
            parity: match self.positive {
                Some(_) => {
                    let rate = |cell: usize| (cell, chosen[cell] / mass[cell]);
                    Extremes::of((0..count).filter(used).map(rate))
                }
                None => Extremes::NONE,
            },
            odds: f64::NAN,
            wasserstein,
            kolmogorov,
        }
    }
}

/// The statistics of the rows as they are, shuffled, and redrawn.
struct Draws<'a> {
    here: Statistics,
    permuted: Vec<Statistics>,
    resampled: Vec<Statistics>,
    resampling: &'a Resampling,
    rows: usize,
}

impl Draws<'_> {
    /// The basic bootstrap interval of a cell's mean, over the samples that have rows of the cell.
    fn interval(&self, cell: usize) -> (f64, f64) {
        let drawn = self.resampled.iter().map(|s| s.means[cell]);
        let drawn: Vec<f64> = drawn.filter(|mean| mean.is_finite()).collect();
        let mean = self.here.means[cell];
        self.resampling.basic(mean, drawn)
    }

    /// Where a statistic is not defined, as with a single cell, there is nothing that could differ.
    fn measured(&self, measure: Measure, of: impl Fn(&Statistics) -> f64) -> Measured {
        let nothing = if measure.grows() { 0.0 } else { 1.0 };
        let of = |draw: &Statistics| {
            let value = of(draw);
            if value.is_nan() { nothing } else { value }
        };
        self.resampling.measured(
            measure,
            of(&self.here),
            self.permuted.iter().map(of).collect(),
            self.resampled.iter().map(of).collect(),
            self.rows,
        )
    }
}

/// The same level and interval about the exact value instead of the grid's.
fn moved(measured: Measured, exact: f64) -> Measured {
    let exact = if exact.is_finite() { exact } else { 0.0 };
    let by = exact - measured.value;
    Measured {
        value: exact,
        expected: measured.expected + by,
        critical: measured.critical + by,
        // An end at zero stays there.
        lower: if measured.lower > 0.0 {
            (measured.lower + by).max(0.0)
        } else {
            0.0
        },
        upper: measured.upper + by,
        ..measured
    }
}

/// The share of the variance of these scores that the cells explain.
pub(crate) fn share_explained(scores: &[f64], cells: &[u32], weights: Option<&[f64]>) -> f64 {
    let count = cells.iter().max().map_or(0, |&cell| cell as usize + 1);
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let total: f64 = (0..scores.len()).map(weight).sum();
    let mean = (0..scores.len())
        .map(|i| weight(i) * scores[i])
        .sum::<f64>()
        / total;
    let (mut sums, mut mass, mut squares) = (vec![0.0; count], vec![0.0; count], 0.0);
    for (row, &cell) in cells.iter().enumerate() {
        let (w, score) = (weight(row), scores[row] - mean);
        sums[cell as usize] += w * score;
        mass[cell as usize] += w;
        squares += w * score * score;
    }
    explained(&sums, &mass, squares)
}

/// $\eta^2 = \sum_c W_c \bar y_c^2/\sum_i w_i y_i^2$ of scores y about their weighted mean; 0 for constant scores.
fn explained(sums: &[f64], mass: &[f64], squares: f64) -> f64 {
    let total: f64 = mass.iter().sum();
    // A draw has a mean of its own.
    let mean = sums.iter().sum::<f64>() / total;
    let spread = squares - total * mean * mean;
    let cells = sums.iter().zip(mass).filter(|(_, mass)| **mass > 0.0);
    let between: f64 = cells
        .map(|(sum, mass)| mass * (sum / mass - mean).powi(2))
        .sum();
    if spread > 0.0 {
        (between / spread).min(1.0)
    } else {
        0.0
    }
}

/// $[\mathrm{SSB} - (k-1)\,\mathrm{SSW}/(n-k)]/\mathrm{SST}$: the share of variance without what chance adds to it.
fn debiased(ratio: f64, cells: f64, rows: f64) -> f64 {
    if rows > cells {
        ratio - (cells - 1.0) * (1.0 - ratio) / (rows - cells)
    } else {
        0.0
    }
}

/// What β is at most with this confidence: $\frac{n}{n-1}\bigl(\beta_n + 3\sqrt{\log(1/\delta)/2n}\bigr)$.
///
/// By McDiarmid's inequality, for rows drawn independently and cells and bins that were fixed beforehand: another row
/// in place of one moves β by at most 3/n, and $E\beta_n \ge (1 - 1/n)\beta$. With weights, n is the number of
/// equally weighted rows that say as much. Never more than 1.
pub fn certificate(beta: f64, rows: f64, confidence: f64) -> f64 {
    if rows <= 1.0 {
        return 1.0;
    }
    let margin = 3.0 * (-(1.0 - confidence).ln() / (2.0 * rows)).sqrt();
    (rows / (rows - 1.0) * (beta + margin)).min(1.0)
}

/// $(\sum w)^2/\sum w^2$
pub(crate) fn effective_rows(weights: Option<&[f64]>, rows: usize) -> f64 {
    weights.map_or(rows as f64, |weights| {
        let squares: f64 = weights.iter().map(|w| w * w).sum();
        weights.iter().sum::<f64>().powi(2) / squares
    })
}
