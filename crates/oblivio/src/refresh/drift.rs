//! New offsets, and how far the scores have drifted since the old ones.

use std::sync::Arc;

use oblivio_base::{Error, Result};

use super::sums::{CellScores, OffsetSums};
use super::{Renewal, SmallCells};
use crate::adjust::{Adjustment, Offsets};
use crate::align::{Alignment, SampledScores, given};
use crate::predictor::Predictor;

/// How the score before the offset has moved in one cell since its means were estimated: at the fit, or by the last refresh; and since
/// the fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// The cell in words.
    pub label: String,
    /// Its new rows.
    pub rows: usize,
    /// The mean of h until now.
    pub before: f64,
    /// The mean of h over the new rows; that until now where there are none.
    pub after: f64,
    /// $z_c = (\bar h_c^{new} - \bar h_c^{old})/(s_c\sqrt{1/n_c^{new} + 1/n_c^{old}})$ with $s_c$ the standard deviation of h over the
    /// new rows of the cell; `None` where they have none.
    pub z: Option<f64>,
    /// The offset until now, and the one from now on.
    pub offsets: (f64, f64),
    /// Whether there were too few new rows, so that the cell keeps its mean and its share of the population; see [`SmallCells::Keep`].
    pub kept: bool,
    /// The same since the fit, however often the means were estimated anew since; `None` where those of the fit are not known.
    pub since_fit: Option<SinceFit>,
}

/// How the score before the offset has moved in one cell since the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SinceFit {
    /// The mean of h at the fit.
    pub mean: f64,
    /// As [`Drift::z`], with the rows of the fit for the old ones.
    pub z: Option<f64>,
}

/// The mean of h over every cell at the fit, and the rows it was taken over.
#[derive(Clone, Copy)]
pub(crate) struct FitMeans<'a> {
    pub(crate) means: &'a [f64],
    pub(crate) rows: &'a [usize],
}

impl OffsetSums {
    /// The predictor with new offsets, and the drift of every cell.
    pub(super) fn finish(
        self,
        predictor: &Predictor,
        renewal: Renewal,
        fit: Option<FitMeans>,
    ) -> Result<(Predictor, Vec<Drift>)> {
        let Self { cells, regression } = self;
        let offsets = predictor.refreshable()?;
        check_small(offsets, &cells, renewal)?;
        let mut renewed = renewed(offsets, &cells, renewal);
        if let Some((smooth, regressed)) = regression {
            Arc::make_mut(&mut renewed.partition).smooth = Some(smooth);
            renewed.smooth = Some(regressed);
        }
        let drift = |c: usize| {
            let kept = renewal.is_small(cells[c].rows);
            let taken = (offsets.taken(c), renewed.taken(c));
            let fit = fit.map(|fit| (fit.means[c], fit.rows[c]));
            Drift::new(predictor, offsets, (c, &cells[c]), (taken, kept), fit)
        };
        let drift = (0..cells.len()).map(drift).collect();
        let predictor = Predictor {
            adjustment: Some(Adjustment {
                offsets: renewed,
                alignment: predictor.alignment().cloned(),
            }),
            ..predictor.clone()
        };
        Ok((predictor, drift))
    }
}

/// Refuses too few rows of a cell, and of all.
fn check_small(offsets: &Offsets, cells: &[CellScores], renewal: Renewal) -> Result<()> {
    let small: Vec<usize> = (0..cells.len())
        .filter(|&c| renewal.is_small(cells[c].rows))
        .collect();
    if renewal.small == SmallCells::Refuse && !small.is_empty() {
        let named = |c: &usize| (offsets.partition.label(*c), cells[*c].rows);
        return Err(Error::SmallCells {
            small: small.iter().map(named).collect(),
            cells: cells.len(),
            needed: renewal.least.max(1),
        });
    }
    if small.len() == cells.len() {
        return Err(Error::TooFewRows {
            what: "the largest cell of the new table",
            found: cells.iter().map(|cell| cell.rows).max().unwrap_or(0),
            needed: renewal.least.max(1),
        });
    }
    Ok(())
}

/// The offsets of cells with these scores. Small cells keep their mean and their share of the population.
fn renewed(offsets: &Offsets, cells: &[CellScores], renewal: Renewal) -> Offsets {
    let old = &offsets.partition;
    let kept = |c: usize| renewal.is_small(cells[c].rows);
    let old_mass: f64 = old.mass().iter().sum();
    let new_mass: f64 = cells.iter().map(|cell| cell.spread.weight).sum();
    let mean = |c: usize| {
        if kept(c) {
            offsets.mean + offsets.by_cell[c]
        } else {
            cells[c].spread.mean
        }
    };
    let share = |c: usize| {
        if kept(c) {
            (old.mass()[c] / old_mass * new_mass, old.counts()[c])
        } else {
            (cells[c].spread.weight, cells[c].rows)
        }
    };
    let (mass, counts) = (0..cells.len()).map(share).unzip();
    let means: Vec<f64> = (0..cells.len()).map(mean).collect();
    Offsets::new(old.with_mass(mass, counts), offsets.strength, &means)
}

impl Drift {
    fn new(
        predictor: &Predictor,
        old: &Offsets,
        (c, cell): (usize, &CellScores),
        (offsets, kept): ((f64, f64), bool),
        fit: Option<(f64, usize)>,
    ) -> Self {
        let before = predictor.intercept + old.mean + old.by_cell[c];
        let seen = cell.rows > 0;
        let after = if seen {
            predictor.intercept + cell.spread.mean
        } else {
            before
        };
        let z = |mean: f64, rows: usize| {
            let variance = cell.spread.variance();
            let error = (variance / cell.rows as f64 + variance / rows as f64).sqrt();
            (seen && error > 0.0).then(|| (after - mean) / error)
        };
        Self {
            label: old.partition.label(c),
            rows: cell.rows,
            before,
            after,
            z: z(before, old.partition.counts()[c]),
            offsets,
            kept,
            since_fit: fit.map(|(mean, rows)| SinceFit {
                mean,
                z: z(mean, rows),
            }),
        }
    }
}

/// The alignment of a predictor with new offsets. In cells with too few sampled rows the distribution stays: h has the one
/// it had, and the score differs by the change of the offset.
pub(super) fn realign(
    before: &Predictor,
    old: &Alignment,
    after: &Predictor,
    sampled: &SampledScores,
    renewal: Renewal,
) -> Result<Alignment> {
    let (was, is) = (before.refreshable()?, after.refreshable()?);
    let scores = after.less_offsets(&sampled.before, &sampled.assignment);
    let (given, ridge) = given(&sampled.assignment, Some(&is.partition));
    let new = Alignment::fit(old.rule(), &scores, given, &sampled.weights, ridge)?;
    let mut rows = vec![0; is.partition.len()];
    for cell in sampled.assignment.cells().flatten() {
        rows[cell] += 1;
    }
    let kept = |cell: usize| rows.get(cell).is_none_or(|rows| renewal.is_small(*rows));
    let shift = |cell: usize| is.strength * (was.taken(cell) - is.taken(cell));
    Ok(new.keeping(old, &kept, &shift, is.partition.mass()))
}
