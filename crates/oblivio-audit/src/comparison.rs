//! The measures that compare cells: means, decisions, distributions, and the table of cells and bins.
//!
//! All of them follow from a few sums over the rows, so one pass over shuffled or redrawn rows serves all.

use oblivio_base::{Result, Watch};

use super::cells::{Cells, Extremes};
use super::draws::{Draws, Statistic};
use super::formulas::{certificate, debiased, effective_rows, explained};
use super::found::Found;
use super::grid::Grid;
use super::measure::{Measure, Measured};
use super::resampling::Resampling;
use super::transport;

/// Scores, labels or features that are compared with the cells.
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
    pub(super) cells: &'a Cells<'a>,
    /// Whether each row's decision is positive.
    pub(crate) positive: Option<&'a [bool]>,
    /// Bins of the scores for β.
    pub(crate) bins: usize,
}

/// What a comparison of cells finds.
pub(crate) struct Compared {
    pub(crate) found: Vec<Found>,
    /// The interval of each cell's mean score.
    pub(crate) intervals: Vec<(f64, f64)>,
}

/// The statistics of one draw; those that are not defined are NaN.
#[derive(Clone, Debug)]
struct Statistics {
    /// The mean score of each cell.
    means: Vec<f64>,
    correlation_ratio: f64,
    gap: f64,
    beta: f64,
    parity_difference: f64,
    parity_ratio: f64,
    wasserstein: f64,
    kolmogorov: f64,
    /// The cells that differ most in means and in decisions, if there is one group.
    gap_pair: (usize, usize),
    parity_pair: (usize, usize),
}

/// What does not change from draw to draw.
struct Prepared<'a> {
    rows: &'a Comparison<'a>,
    grid: Grid,
    usable: Vec<bool>,
}

impl Statistic for Prepared<'_> {
    type Values = Statistics;

    fn rows(&self) -> usize {
        self.rows.cells.rows()
    }

    fn here(&self) -> Statistics {
        let cells = self.rows.cells;
        self.statistics(cells.codes, &|row| cells.weight(row))
    }

    fn permuted(&self, order: &[u32]) -> Statistics {
        let (cells, weights) = self.rows.cells.shuffled(order);
        self.statistics(&cells, &|row| weights[row])
    }

    fn resampled(&self, counts: &[f64]) -> Statistics {
        let cells = self.rows.cells;
        self.statistics(cells.codes, &|row| counts[row] * cells.weight(row))
    }
}

/// Sums over the rows of each group and cell.
struct Sums {
    /// The weight of each place of the grid.
    table: Vec<f64>,
    scores: Vec<f64>,
    chosen: Vec<f64>,
    /// Of each group.
    squares: Vec<f64>,
}

impl Prepared<'_> {
    fn sums(&self, cells: &[u32], weight: &dyn Fn(usize) -> f64) -> Sums {
        let (rows, width) = (self.rows, self.grid.len());
        let groups = rows.cells.strata.count();
        let places = groups * rows.cells.count;
        let mut sums = Sums {
            table: vec![0.0; places * width],
            scores: vec![0.0; places],
            chosen: vec![0.0; places],
            squares: vec![0.0; groups],
        };
        for (row, &cell) in cells.iter().enumerate() {
            let (place, w) = (rows.cells.place(row, cell), weight(row));
            if w == 0.0 {
                continue;
            }
            sums.table[place * width + self.grid.place(row)] += w;
            if let Outcome::Scores(scores) = rows.outcome {
                let score = scores[row] - self.grid.mean();
                sums.scores[place] += w * score;
                sums.squares[rows.cells.strata.group(row)] += w * score * score;
            }
            if rows.positive.is_some_and(|positive| positive[row]) {
                sums.chosen[place] += w;
            }
        }
        sums
    }

    /// All statistics of the rows with these cells and weights, distances between distributions on the grid.
    fn statistics(&self, cells: &[u32], weight: &dyn Fn(usize) -> f64) -> Statistics {
        let sums = self.sums(cells, weight);
        let (count, width) = (self.rows.cells.count, self.grid.len());
        let mass: Vec<f64> = sums.table.chunks(width).map(|c| c.iter().sum()).collect();
        let groups: Vec<(f64, Statistics)> = (0..sums.squares.len())
            .map(|group| {
                let own = group * count..(group + 1) * count;
                (mass[own].iter().sum(), self.of_group(group, &sums, &mass))
            })
            .collect();
        // A draw may leave a group without rows.
        let groups: Vec<_> = groups.into_iter().filter(|(mass, _)| *mass > 0.0).collect();
        let mean = |cell: usize| {
            let places = (0..sums.squares.len()).map(|group| group * count + cell);
            let score: f64 = places.clone().map(|place| sums.scores[place]).sum();
            self.grid.mean() + score / places.map(|place| mass[place]).sum::<f64>()
        };
        let average = |value: fn(&Statistics) -> f64| {
            Cells::average(groups.iter().map(|(mass, own)| (*mass, value(own))))
        };
        let pair = |pair: fn(&Statistics) -> (usize, usize)| match &groups[..] {
            [(_, one)] => pair(one),
            _ => (0, 0),
        };
        Statistics {
            means: (0..count).map(mean).collect(),
            correlation_ratio: average(|s| s.correlation_ratio),
            gap: average(|s| s.gap),
            beta: average(|s| s.beta),
            parity_difference: average(|s| s.parity_difference),
            parity_ratio: average(|s| s.parity_ratio),
            wasserstein: average(|s| s.wasserstein),
            kolmogorov: average(|s| s.kolmogorov),
            gap_pair: pair(|s| s.gap_pair),
            parity_pair: pair(|s| s.parity_pair),
        }
    }

    fn of_group(&self, group: usize, sums: &Sums, mass: &[f64]) -> Statistics {
        let (count, width) = (self.rows.cells.count, self.grid.len());
        let own = group * count..(group + 1) * count;
        let table = &sums.table[own.start * width..own.end * width];
        let (mass, usable) = (&mass[own.clone()], &self.usable[own.clone()]);
        let (scores, chosen) = (&sums.scores[own.clone()], &sums.chosen[own]);
        let used = |cell: &usize| usable[*cell] && mass[*cell] > 0.0;
        let (wasserstein, kolmogorov) = match self.rows.outcome {
            Outcome::Scores(_) => {
                let cells: Vec<usize> = (0..count).filter(used).collect();
                self.grid.distances(table, mass, &cells)
            }
            Outcome::Classes(_) => (Extremes::NONE, Extremes::NONE),
        };
        // Differences first: far from zero the overall mean would swallow them.
        let apart = |cell: usize| (cell, scores[cell] / mass[cell]);
        let gap = Extremes::of((0..count).filter(used).map(apart));
        let parity = match self.rows.positive {
            Some(_) => {
                let rate = |cell: usize| (cell, chosen[cell] / mass[cell]);
                Extremes::of((0..count).filter(used).map(rate))
            }
            None => Extremes::NONE,
        };
        Statistics {
            means: Vec::new(),
            correlation_ratio: explained(scores, mass, sums.squares[group]),
            gap: gap.difference(),
            beta: self.grid.beta(table, mass),
            parity_difference: parity.difference(),
            parity_ratio: parity.ratio(),
            wasserstein: wasserstein.most,
            kolmogorov: kolmogorov.most,
            gap_pair: gap.pair,
            parity_pair: parity.pair,
        }
    }
}

impl Comparison<'_> {
    /// Every measure that is defined.
    pub(crate) fn measure(&self, resampling: &Resampling, watch: &Watch) -> Result<Compared> {
        let cells = self.cells;
        // Pairs of cells are compared in every group.
        let cost = (cells.count * cells.count).saturating_mul(cells.strata.count());
        let prepared = Prepared {
            rows: self,
            grid: Grid::new(self.outcome, cells.weights, self.bins, cost),
            usable: cells.usable(0..cells.rows()),
        };
        let draws = Draws::new(&prepared, resampling, watch, "comparing cells")?;
        Ok(Compared {
            found: self.found(&draws, &prepared),
            intervals: (0..cells.count)
                .map(|cell| draws.interval(|s| s.means[cell]))
                .collect(),
        })
    }

    fn found(&self, draws: &Draws<Statistics>, prepared: &Prepared) -> Vec<Found> {
        let mut found = Vec::new();
        if let Outcome::Scores(scores) = self.outcome {
            found.extend(self.means(draws, &prepared.grid));
            found.extend(self.distances(draws, prepared, scores));
        }
        found.extend(self.table(draws));
        if self.positive.is_some() {
            let found_ = [
                (
                    Measure::ParityDifference,
                    draws.measured(Measure::ParityDifference, |s| s.parity_difference),
                ),
                (
                    Measure::ParityRatio,
                    draws.measured(Measure::ParityRatio, |s| s.parity_ratio),
                ),
            ];
            let pair = draws.here.parity_pair;
            found.extend(
                found_.map(|(measure, measured)| Found::new(measure, measured).between(pair)),
            );
        }
        found
    }

    fn means(&self, draws: &Draws<Statistics>, grid: &Grid) -> [Found; 2] {
        let ratio = draws.measured(Measure::CorrelationRatio, |s| s.correlation_ratio);
        let mut explained = Found::new(Measure::CorrelationRatio, ratio);
        if self.cells.strata.count() == 1 {
            let rows = effective_rows(self.cells.weights, self.cells.rows());
            let debiased = if grid.len() > 1 {
                debiased(ratio.value, self.occupied() as f64, rows)
            } else {
                0.0
            };
            explained = explained.with("debiased", debiased);
        }
        let unit = grid.deviation();
        let gap = draws.measured(Measure::MeanGap, |s| s.gap / unit);
        [
            explained,
            Found::new(Measure::MeanGap, gap)
                .with("in-units-of-the-score", draws.here.gap)
                .with("standard-deviation", unit)
                .between(draws.here.gap_pair),
        ]
    }

    fn distances(
        &self,
        draws: &Draws<Statistics>,
        prepared: &Prepared,
        scores: &[f64],
    ) -> [Found; 2] {
        let (transport, most) = self.exact(scores, &prepared.usable);
        let unit = prepared.grid.deviation();
        let wasserstein = draws.measured(Measure::Wasserstein, |s| s.wasserstein / unit);
        let kolmogorov = draws.measured(Measure::KolmogorovSmirnov, |s| s.kolmogorov);
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

    /// The largest distances between distributions without the grid.
    fn exact(&self, scores: &[f64], usable: &[bool]) -> (Extremes, Extremes) {
        let cells = self.cells;
        if cells.strata.count() < 2 {
            return transport::largest(scores, cells.codes, cells.weights, usable);
        }
        let mut groups = Vec::new();
        for (group, usable) in usable.chunks(cells.count).enumerate() {
            let rows = (0..scores.len()).filter(|&row| cells.strata.group(row) == group);
            let rows: Vec<usize> = rows.collect();
            let own: Vec<f64> = rows.iter().map(|&row| scores[row]).collect();
            let codes: Vec<u32> = rows.iter().map(|&row| cells.codes[row]).collect();
            let weights: Vec<f64> = rows.iter().map(|&row| cells.weight(row)).collect();
            let (transport, most) = transport::largest(&own, &codes, Some(&weights), usable);
            // Without two cells there is nothing that could differ.
            let known = |value: f64| if value.is_nan() { 0.0 } else { value };
            let mass: f64 = weights.iter().sum();
            groups.push((mass, known(transport.most), known(most.most)));
        }
        let mean = |value: fn(&(f64, f64, f64)) -> f64| Extremes {
            most: Cells::average(groups.iter().map(|group| (group.0, value(group)))),
            ..Extremes::NONE
        };
        (mean(|group| group.1), mean(|group| group.2))
    }

    /// β and, without groups, its bound: the certificate speaks of one table.
    fn table(&self, draws: &Draws<Statistics>) -> Vec<Found> {
        let beta = draws.measured(Measure::Beta, |s| s.beta);
        let found = Found::new(Measure::Beta, beta).with("without-half", 2.0 * beta.value);
        if self.cells.strata.count() > 1 {
            return vec![found];
        }
        let rows = effective_rows(self.cells.weights, self.cells.rows());
        let bound = |value| certificate(value, rows, draws.resampling.confidence);
        let bounded = Measured {
            value: bound(beta.value),
            expected: bound(beta.expected),
            critical: bound(beta.critical),
            lower: bound(beta.lower),
            upper: bound(beta.upper),
            ..beta
        };
        vec![
            found.with("bound", bounded.value),
            Found::new(Measure::BetaBound, bounded),
        ]
    }

    fn occupied(&self) -> usize {
        let mut seen = vec![false; self.cells.count];
        self.cells
            .codes
            .iter()
            .for_each(|&c| seen[c as usize] = true);
        seen.iter().filter(|seen| **seen).count()
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
