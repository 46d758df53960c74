//! Offsets from new rows without labels, and how far the cells have drifted.

use crate::error::{Error, Result};
use crate::learn::dot;
use crate::moments::{Moments, SensitiveSums};
use crate::partition::{Place, Uses};
use crate::points::Points;
use crate::predictor::{Offsets, Predictor};
use crate::sensitive::Sensitive;
use crate::spread::Spread;
use crate::watch::Watch;

/// How the score before the offset has moved in one cell since the fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// The cell in words.
    pub label: String,
    /// Its new rows.
    pub rows: usize,
    /// The mean of h at the fit.
    pub before: f64,
    /// The mean of h over the new rows; that of the fit where there are none.
    pub after: f64,
    /// $z_c = (\bar h_c^{new} - \bar h_c^{old})/(s_c\sqrt{1/n_c^{new} + 1/n_c^{old}})$ with $s_c$ the standard deviation of h over the
    /// new rows of the cell; `None` where they have none.
    pub z: Option<f64>,
    /// The offset at the fit, and the one from now on.
    pub offsets: (f64, f64),
    /// Whether there were too few new rows, so that the cell keeps its mean and its share of the population.
    pub kept: bool,
}

/// New offsets in the making: scores of rows that need no label, added up per cell.
#[derive(Clone, Debug)]
pub struct Refresh {
    predictor: Predictor,
    cells: Vec<CellScores>,
    uses: Uses,
}

/// The scores of one cell.
#[derive(Clone, Copy, Debug, Default)]
struct CellScores {
    rows: usize,
    spread: Spread,
}

impl Predictor {
    /// Begins a refresh of the offsets.
    pub fn refresh(&self) -> Result<Refresh> {
        let count = self.refreshable()?.partition.len();
        Ok(Refresh {
            predictor: self.clone(),
            cells: vec![CellScores::default(); count],
            uses: Uses::default(),
        })
    }

    /// The offsets that the moments of new rows amount to, gathered by the plan of the fit. The standard deviations are
    /// those within all cells together.
    pub fn refresh_from(
        &self,
        moments: &Moments,
        least: usize,
        watch: &Watch,
    ) -> Result<(Self, Vec<Drift>)> {
        let offsets = self.refreshable()?;
        let plan = moments.plan();
        if plan.map.basis != self.basis {
            return Err(Error::UnlikeMoments {
                problem: "the predictor has other landmarks",
            });
        }
        let weights = plan.map.weights_of(&self.coefficients, watch)?;
        let sums = moments.clone().whitened(watch)?;
        let SensitiveSums::Cells {
            cuts,
            slots,
            sums: by_slot,
        } = &sums.sensitive
        else {
            return Err(Error::UnlikeMoments {
                problem: "their sensitive features are not cells",
            });
        };
        let width = sums.width;
        let base = dot(&weights, &sums.origin);
        let mut cells = vec![CellScores::default(); offsets.partition.len()];
        let (mut mass, mut between) = (0.0, 0.0);
        for (slot, row) in by_slot.chunks(width).enumerate() {
            if slots.counts[slot] == 0 {
                continue;
            }
            let weight = row[width - 1];
            let mean = dot(&weights, row) / weight;
            mass += weight;
            let mut uses = Uses::default();
            let place = offsets
                .partition
                .place(cuts, &slots.keys[slot], &mut uses, 0)?;
            // A cell may be made up of several slots.
            if let Place::Cell(cell) = place {
                cells[cell].rows += slots.counts[slot];
                cells[cell].spread.add(mean, weight);
            } else {
                between += weight * mean * mean;
            }
        }
        for cell in &mut cells {
            between += cell.spread.weight * cell.spread.mean * cell.spread.mean;
            cell.spread.mean += base;
            cell.spread.squares = 0.0;
        }
        if let Some(within) = sums.quadratic(&weights) {
            // Of the squares about the origin, those of the means are between the cells.
            let variance = (within - between).max(0.0) / mass;
            for cell in &mut cells {
                cell.spread.squares = variance * cell.spread.weight;
            }
        }
        renew(self, &cells, least)
    }

    fn refreshable(&self) -> Result<&Offsets> {
        self.offsets.as_ref().ok_or(Error::InvalidParameter {
            name: "a model to refresh",
            expected: "one that was fitted with sensitive columns",
            value: "one without".into(),
        })
    }
}

impl Refresh {
    /// Adds rows. Those without a cell of their own are counted and left out.
    pub fn update(
        &mut self,
        points: &Points,
        sensitive: &Sensitive,
        weights: Option<&[f64]>,
        watch: &Watch,
    ) -> Result<()> {
        let prediction = self.predictor.predict(points, Some(sensitive), watch)?;
        self.uses = self.uses.plus(prediction.uses);
        let cells = prediction.assignment.map_or(Vec::new(), |a| a.cells);
        for (row, cell) in cells.into_iter().enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[row]);
            if let Some(scores) = self.cells.get_mut(cell as usize)
                && weight > 0.0
            {
                scores.rows += 1;
                let score = prediction.before[row] - self.predictor.intercept;
                scores.spread.add(score, weight);
            }
        }
        Ok(())
    }

    /// The predictor with new offsets, the drift of every cell, and how often rows needed a policy. Cells with fewer than
    /// `least` new rows stay as they were.
    pub fn finish(self, least: usize) -> Result<(Predictor, Vec<Drift>, Uses)> {
        let (predictor, drift) = renew(&self.predictor, &self.cells, least)?;
        Ok((predictor, drift, self.uses))
    }
}

fn renew(
    predictor: &Predictor,
    cells: &[CellScores],
    least: usize,
) -> Result<(Predictor, Vec<Drift>)> {
    let offsets = predictor.refreshable()?;
    let old = &offsets.partition;
    let kept = |c: usize| cells[c].rows < least.max(1);
    if (0..cells.len()).all(kept) {
        return Err(Error::TooFewRows {
            what: "the largest cell of the new table",
            found: cells.iter().map(|cell| cell.rows).max().unwrap_or(0),
            needed: least.max(1),
        });
    }
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
    let partition = old.with_mass(mass, counts);
    let renewed = Offsets::new(partition, offsets.strength, &means);
    let drift = (0..cells.len())
        .map(|c| {
            let before = predictor.intercept + offsets.mean + offsets.by_cell[c];
            let cell = &cells[c];
            let seen = cell.rows > 0;
            let after = if seen {
                predictor.intercept + cell.spread.mean
            } else {
                before
            };
            let variance = cell.spread.variance();
            let error = (variance / cell.rows as f64 + variance / old.counts()[c] as f64).sqrt();
            Drift {
                label: old.label(c),
                rows: cell.rows,
                before,
                after,
                z: (seen && error > 0.0).then(|| (after - before) / error),
                offsets: (offsets.by_cell[c], renewed.by_cell[c]),
                kept: kept(c),
            }
        })
        .collect();
    let predictor = Predictor {
        offsets: Some(renewed),
        ..predictor.clone()
    };
    Ok((predictor, drift))
}
