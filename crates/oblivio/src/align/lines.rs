//! Alignment by quantiles as broken lines: what [`ByCell::full`] adds up for each row, added up once for each place.

use super::cells::ByCell;
use super::table::{Table, interpolate};
use crate::partition::Assignment;

impl ByCell<Table> {
    /// The distribution function of every row of an assignment.
    ///
    /// A sum of broken lines is one, with the knots of all: $F = \sum_cw_cF_c$ is exact, not sampled.
    pub(crate) fn distributions(&self, assignment: &Assignment) -> Vec<Table> {
        let population = self.shares();
        let of = |row: usize| {
            let parts = self.parts(&population, assignment, row);
            if let [(only, _)] = parts[..] {
                return only.clone();
            }
            let values = knots(parts.iter().map(|(cell, _)| &cell.values[..]));
            let rank = |value: &f64| parts.iter().map(|(cell, w)| w * cell.rank(*value)).sum();
            Table {
                ranks: values.iter().map(rank).collect(),
                values,
            }
        };
        (0..assignment.cells.len()).map(of).collect()
    }

    /// The quantiles $\bar Q = \sum_cp_cQ_c$ of the barycentre.
    pub(crate) fn barycentre(&self) -> Table {
        let population = self.shares();
        let ranks = knots(population.iter().map(|(cell, _)| &cell.ranks[..]));
        let value = |rank: &f64| {
            let cells = population.iter();
            cells
                .map(|(cell, p)| p * interpolate(&cell.ranks, &cell.values, *rank))
                .sum()
        };
        Table {
            values: ranks.iter().map(value).collect(),
            ranks,
        }
    }
}

/// All knots once, in order.
fn knots<'k>(lines: impl Iterator<Item = &'k [f64]>) -> Vec<f64> {
    let mut knots: Vec<f64> = lines.flatten().copied().collect();
    knots.sort_by(f64::total_cmp);
    knots.dedup();
    knots
}
