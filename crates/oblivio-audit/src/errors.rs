//! Errors by cell: whether some people are predicted worse.

use oblivio_base::{Result, Watch};

use super::cells::{Cells, Extremes};
use super::draws::{Draws, Statistic};
use super::found::Found;
use super::measure::Measure;
use super::resampling::Resampling;

/// How wrong each row is.
pub(super) enum Losses {
    /// 1 for a wrong decision, 0 for a right one: their mean is an error rate.
    Wrong(Vec<f64>),
    /// Squared distances, and the standard deviation of the target: the root of their mean is an error.
    Squares(Vec<f64>, f64),
}

impl Losses {
    fn values(&self) -> &[f64] {
        match self {
            Self::Wrong(values) | Self::Squares(values, _) => values,
        }
    }

    /// The error of a mean loss.
    fn error(&self, mean: f64) -> f64 {
        match self {
            Self::Wrong(_) => mean,
            Self::Squares(..) => mean.sqrt(),
        }
    }

    fn unit(&self) -> f64 {
        match self {
            Self::Squares(_, deviation) if *deviation > 0.0 => *deviation,
            _ => 1.0,
        }
    }
}

/// Losses in cells.
pub(super) struct Errors<'a> {
    cells: &'a Cells<'a>,
    losses: &'a Losses,
    usable: Vec<bool>,
}

/// The statistics of one draw.
pub(super) struct Values {
    gap: f64,
    pair: (usize, usize),
    /// Of each cell, and of all rows last.
    errors: Vec<f64>,
}

/// The gap, and the error of each cell and of all rows last, with its interval.
pub(super) struct CellErrors {
    pub(super) found: Found,
    pub(super) errors: Vec<(f64, (f64, f64))>,
}

impl<'a> Errors<'a> {
    pub(super) fn new(cells: &'a Cells<'a>, losses: &'a Losses) -> Self {
        Self {
            cells,
            losses,
            usable: cells.usable(0..cells.rows()),
        }
    }

    pub(super) fn measure(&self, resampling: &Resampling, watch: &Watch) -> Result<CellErrors> {
        let draws = Draws::new(self, resampling, watch, "comparing errors")?;
        let unit = self.losses.unit();
        let measured = draws.measured(Measure::ErrorGap, |v| v.gap / unit);
        let all = self.cells.count;
        let found = Found::new(Measure::ErrorGap, measured)
            .with("in-units-of-the-target", draws.here.gap)
            .with("standard-deviation", unit)
            .with("all-rows", draws.here.errors[all])
            .between(draws.here.pair);
        let error = |cell: usize| {
            let (lower, upper) = draws.interval(|v| v.errors[cell]);
            let most = match self.losses {
                Losses::Wrong(_) => 1.0,
                Losses::Squares(..) => f64::INFINITY,
            };
            let ends = (lower.clamp(0.0, most), upper.clamp(0.0, most));
            (draws.here.errors[cell], ends)
        };
        Ok(CellErrors {
            found,
            errors: (0..=all).map(error).collect(),
        })
    }

    fn values(&self, cells: &[u32], weight: &dyn Fn(usize) -> f64) -> Values {
        let count = self.cells.count;
        let places = self.cells.strata.count() * count;
        let (mut mass, mut sums) = (vec![0.0; places], vec![0.0; places]);
        for (row, &cell) in cells.iter().enumerate() {
            let place = self.cells.place(row, cell);
            mass[place] += weight(row);
            sums[place] += weight(row) * self.losses.values()[row];
        }
        let groups: Vec<(f64, Extremes)> = (0..self.cells.strata.count())
            .map(|group| {
                let own = group * count..(group + 1) * count;
                let used = own
                    .clone()
                    .filter(|&place| self.usable[place] && mass[place] > 0.0);
                let error = |place| (place % count, self.losses.error(sums[place] / mass[place]));
                (mass[own].iter().sum(), Extremes::of(used.map(error)))
            })
            .collect();
        let total =
            |values: &[f64], cell: usize| values.iter().skip(cell).step_by(count).sum::<f64>();
        let of_cell = |cell| self.losses.error(total(&sums, cell) / total(&mass, cell));
        let all = self
            .losses
            .error(sums.iter().sum::<f64>() / mass.iter().sum::<f64>());
        Values {
            gap: Cells::average(groups.iter().map(|(mass, own)| (*mass, own.difference()))),
            pair: match &groups[..] {
                [(_, one)] => one.pair,
                _ => (0, 0),
            },
            errors: (0..count).map(of_cell).chain([all]).collect(),
        }
    }
}

impl Statistic for Errors<'_> {
    type Values = Values;

    fn rows(&self) -> usize {
        self.cells.rows()
    }

    fn here(&self) -> Values {
        self.values(self.cells.codes, &|row| self.cells.weight(row))
    }

    fn permuted(&self, order: &[u32]) -> Values {
        let (cells, weights) = self.cells.shuffled(order);
        self.values(&cells, &|row| weights[row])
    }

    fn resampled(&self, counts: &[f64]) -> Values {
        self.values(self.cells.codes, &|row| {
            counts[row] * self.cells.weight(row)
        })
    }
}
