//! Alignment by cells: a distribution for each.

use oblivio_base::error::require;
use oblivio_base::stats::Spread;
use oblivio_base::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::own;
use super::table::{Ends, Table, sorted, tie};
use crate::partition::{CellWeights, SensitiveDesign};

/// The most knots of a cell's distribution. A knot is then worth less than a 512th of the cell, which is below the sampling error of
/// as many rows as are looked at.
const KNOTS: usize = 512;
/// A standard deviation below this share of that of all scores is rounding.
const NO_SPREAD: f64 = 1e-9;

/// The distributions of the cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByCell<D> {
    /// The weight of the reference rows in each cell.
    mass: Vec<f64>,
    /// Absent for a cell without reference rows.
    cells: Vec<Option<D>>,
    /// A standard deviation up to this is none.
    pub(crate) negligible: f64,
}

/// Mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Normal {
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

/// What a cell knows of its scores.
pub trait Distribution {
    /// The distribution of scores higher by this much.
    fn shift(&mut self, by: f64);
    /// Refuses a distribution that no scores have (of a damaged or hostile file).
    fn check_read(&self) -> Result<()>;
}

impl Normal {
    /// The barycentre of a location-scale family: the means of its means and of its standard deviations.
    pub(crate) fn common<'n>(parts: impl Iterator<Item = (&'n Self, f64)> + Clone) -> Self {
        Self {
            mean: mean_of(parts.clone(), |cell| cell.mean),
            deviation: mean_of(parts, |cell| cell.deviation),
        }
    }

    /// The mean and the standard deviation of a mixture.
    pub(crate) fn mixed<'n>(parts: impl Iterator<Item = (&'n Self, f64)> + Clone) -> Self {
        let mut first = parts.clone();
        if let (Some((only, _)), None) = (first.next(), first.next()) {
            return *only;
        }
        let mean = mean_of(parts.clone(), |cell| cell.mean);
        let square = mean_of(parts, |cell| {
            cell.deviation.powi(2) + (cell.mean - mean).powi(2)
        });
        Self {
            mean,
            deviation: square.sqrt(),
        }
    }
}

fn mean_of<'n>(parts: impl Iterator<Item = (&'n Normal, f64)>, of: impl Fn(&Normal) -> f64) -> f64 {
    parts.map(|(cell, share)| share * of(cell)).sum()
}

impl Distribution for Normal {
    fn shift(&mut self, by: f64) {
        self.mean += by;
    }

    fn check_read(&self) -> Result<()> {
        let sound = self.mean.is_finite() && self.deviation.is_finite() && self.deviation >= 0.0;
        require(sound, "its alignment")
    }
}

impl Distribution for Table {
    fn shift(&mut self, by: f64) {
        self.values.iter_mut().for_each(|value| *value += by);
    }

    fn check_read(&self) -> Result<()> {
        Table::check_read(self)
    }
}

impl<D> ByCell<D> {
    /// Estimates the distribution of each cell from its scores and weights, ascending by score. Mixtures estimate nothing.
    pub fn estimate(
        scores: &[f64],
        assignment: &SensitiveDesign,
        weights: &[f64],
        of: impl Fn(&[(f64, f64)]) -> D,
    ) -> Result<Self> {
        let mut rows: Vec<(usize, f64, f64)> = (0..scores.len())
            .filter_map(|i| Some((assignment.cell(i)?, scores[i], weights[i])))
            .filter(|(_, _, weight)| *weight > 0.0)
            .collect();
        let Some(last) = rows.iter().map(|(cell, ..)| *cell).max() else {
            return Err(Error::TooFewRows {
                what: "the reference of an alignment, rows without a cell of their own apart,",
                found: 0,
                needed: 1,
            });
        };
        rows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        // Only cells up to the last that has rows are listed, so that a number of cells is never taken on trust.
        let mut mass = vec![0.0; last + 1];
        let mut cells: Vec<Option<D>> = mass.iter().map(|_| None).collect();
        let mut all = Spread::default();
        for rows in rows.chunk_by(|a, b| a.0 == b.0) {
            let own: Vec<(f64, f64)> = rows.iter().map(|(_, s, w)| (*s, *w)).collect();
            mass[rows[0].0] = own.iter().map(|(_, weight)| weight).sum();
            for (score, weight) in &own {
                all.add(*score, *weight);
            }
            cells[rows[0].0] = Some(of(&own));
        }
        Ok(Self {
            mass,
            cells,
            negligible: NO_SPREAD * all.variance().max(0.0).sqrt(),
        })
    }

    /// The number of cells.
    #[allow(clippy::len_without_is_empty, reason = "no alignment is without cells")]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The distributions of cells that have reference rows.
    pub fn each_mut(&mut self) -> impl Iterator<Item = &mut D> {
        self.cells.iter_mut().flatten()
    }

    /// The distributions of cells with a share each.
    pub fn shares(&self) -> Vec<(&D, f64)> {
        self.of_numbers(&self.numbered_shares())
    }

    /// The numbers of cells that have a distribution, with a share each.
    pub(super) fn numbered_shares(&self) -> Vec<(usize, f64)> {
        let total: f64 = self.mass.iter().sum();
        let cells = self.cells.iter().zip(&self.mass).enumerate();
        cells
            .filter_map(|(number, (cell, mass))| cell.as_ref().map(|_| (number, mass / total)))
            .collect()
    }

    fn of_numbers(&self, parts: &[(usize, f64)]) -> Vec<(&D, f64)> {
        self.named(parts).collect()
    }

    /// The distributions of cells that have one, by their numbers.
    fn named<'d, 'p>(
        &'d self,
        parts: &'p [(usize, f64)],
    ) -> impl Iterator<Item = (&'d D, f64)> + Clone + use<'d, 'p, D> {
        let cells = &self.cells;
        let of = move |(number, share): &(usize, f64)| Some((cells[*number].as_ref()?, *share));
        parts.iter().filter_map(of)
    }

    /// The distributions that make up that of a row. `population` stands in where nothing is known.
    pub fn parts<'d>(
        &'d self,
        population: &[(&'d D, f64)],
        assignment: &SensitiveDesign,
        row: usize,
    ) -> Vec<(&'d D, f64)> {
        let mut parts = Vec::new();
        self.part_into(assignment, row, &mut parts);
        if parts.is_empty() {
            population.to_vec()
        } else {
            self.of_numbers(&parts)
        }
    }

    /// The numbers of the cells whose distributions make up that of a row, with a share each; none where nothing is known.
    pub(super) fn part_into(
        &self,
        assignment: &SensitiveDesign,
        row: usize,
        parts: &mut Vec<(usize, f64)>,
    ) {
        parts.clear();
        match assignment.cell_weights(row) {
            CellWeights::Mixture(weights) => {
                let known = self.cells.iter().zip(weights).enumerate();
                parts.extend(
                    known
                        .filter(|(_, (cell, weight))| **weight > 0.0 && cell.is_some())
                        .map(|(number, (_, weight))| (number, *weight)),
                );
                let total: f64 = parts.iter().map(|(_, weight)| weight).sum();
                for (_, weight) in parts {
                    *weight /= total;
                }
            }
            CellWeights::Own(cell) => {
                if let Some(Some(_)) = self.cells.get(cell) {
                    parts.push((cell, 1.0));
                }
            }
        }
    }
}

impl<D: Distribution + Clone> ByCell<D> {
    /// Makes the scores of each cell higher by so much.
    pub(super) fn shift(&mut self, by: &dyn Fn(usize) -> f64) {
        for (number, cell) in self.cells.iter_mut().enumerate() {
            if let Some(cell) = cell {
                cell.shift(by(number));
            }
        }
    }

    /// Takes the kept cells from an earlier estimate.
    pub(super) fn keep(
        &mut self,
        old: &Self,
        kept: &dyn Fn(usize) -> bool,
        shift: &dyn Fn(usize) -> f64,
        mass: &[f64],
    ) {
        self.cells.resize(self.len().max(old.len()), None);
        self.mass = vec![0.0; self.len()];
        for number in 0..self.len() {
            if kept(number) {
                self.cells[number] = old.cells.get(number).cloned().flatten();
                if let Some(cell) = &mut self.cells[number] {
                    cell.shift(shift(number));
                }
            }
            if self.cells[number].is_some() {
                self.mass[number] = mass.get(number).copied().unwrap_or(0.0);
            }
        }
    }

    /// Refuses distributions that no scores have (of a damaged or hostile file).
    pub fn check_read(&self) -> Result<()> {
        let fits = |(cell, mass): (&Option<D>, &f64)| match cell {
            Some(_) => *mass > 0.0 && mass.is_finite(),
            None => *mass == 0.0,
        };
        let sound = self.cells.len() == self.mass.len()
            && self.cells.iter().any(Option::is_some)
            && self.cells.iter().zip(&self.mass).all(fits)
            && self.mass.iter().sum::<f64>().is_finite()
            && self.negligible.is_finite()
            && self.negligible >= 0.0;
        require(sound, "the distribution of a cell")?;
        self.cells.iter().flatten().try_for_each(D::check_read)
    }
}

impl ByCell<Normal> {
    pub(super) fn moments(
        scores: &[f64],
        assignment: &SensitiveDesign,
        weights: &[f64],
    ) -> Result<Self> {
        Self::estimate(scores, assignment, weights, |rows| {
            let mut spread = Spread::default();
            for (score, weight) in rows {
                spread.add(*score, *weight);
            }
            Normal {
                mean: spread.mean,
                deviation: spread.variance().max(0.0).sqrt(),
            }
        })
    }

    /// $\bar m + \bar\sigma\,(x - m_c)/\sigma_c$, with $\bar m = \sum_cp_cm_c$ and $\bar\sigma = \sum_cp_c\sigma_c$ those of the barycentre
    /// of a location-scale family; $\bar m$ in a cell without spread. A mixture of cells has the mean and the standard deviation of the
    /// mixture.
    pub(super) fn full(&self, scores: &[f64], assignment: &SensitiveDesign) -> Vec<f64> {
        let population = self.numbered_shares();
        let common = self.common(&population);
        let full = |parts: &mut Vec<_>, (row, score): (usize, &f64)| {
            self.part_into(assignment, row, parts);
            self.full_at(*score, own(parts, &population), common)
        };
        let rows = scores.par_iter().enumerate();
        rows.map_init(Vec::new, full).collect()
    }

    /// $\bar m$ and $\bar\sigma$
    pub(super) fn common(&self, population: &[(usize, f64)]) -> Normal {
        Normal::common(self.named(population))
    }

    /// The map of [`full`](Self::full) for a row made up of these parts.
    pub(super) fn full_at(&self, score: f64, parts: &[(usize, f64)], common: Normal) -> f64 {
        let own = Normal::mixed(self.named(parts));
        if own.deviation <= self.negligible {
            common.mean
        } else {
            common.mean + common.deviation * ((score - own.mean) / own.deviation)
        }
    }
}

impl ByCell<Table> {
    pub(super) fn quantiles(
        scores: &[f64],
        assignment: &SensitiveDesign,
        weights: &[f64],
    ) -> Result<Self> {
        let pairs = scores.iter().copied().zip(weights.iter().copied());
        let tie = tie(&sorted(pairs));
        Self::estimate(scores, assignment, weights, |rows| {
            Table::new(rows, tie, Ends::WithoutIsolated, KNOTS)
        })
    }

    /// $\bar Q(F_c(x))$ with $\bar Q(u) = \sum_cp_cQ_c(u)$, the quantiles of the Wasserstein-2 barycentre, and
    /// $F = \sum_cw_cF_c$ for a mixture of cells.
    ///
    /// Beyond the least and the largest score of the cell (of the mixture), isolated ones apart, the map goes on with slope 1.
    pub(super) fn full(&self, scores: &[f64], assignment: &SensitiveDesign) -> Vec<f64> {
        let population = self.numbered_shares();
        let full = |parts: &mut Vec<_>, (row, score): (usize, &f64)| {
            self.part_into(assignment, row, parts);
            self.full_at(*score, own(parts, &population), &population)
        };
        let rows = scores.par_iter().enumerate();
        rows.map_init(Vec::new, full).collect()
    }

    /// The map of [`full`](Self::full) for a row made up of these parts.
    pub(super) fn full_at(
        &self,
        score: f64,
        parts: &[(usize, f64)],
        population: &[(usize, f64)],
    ) -> f64 {
        let parts = self.named(parts);
        let low = parts.clone().map(|(cell, _)| cell.values[0]);
        let low = low.fold(f64::INFINITY, f64::min);
        let high = parts.clone();
        let high = high.map(|(cell, _)| cell.values[cell.values.len() - 1]);
        let high = high.fold(f64::NEG_INFINITY, f64::max);
        let inside = score.clamp(low, high);
        let rank: f64 = parts.map(|(cell, w)| w * cell.rank(inside)).sum();
        let population = self.named(population);
        let common: f64 = population.map(|(cell, p)| p * cell.value(rank)).sum();
        common + (score - inside)
    }
}
