//! Alignment by quantiles as broken lines: what [`ByCell::full`] adds up for each row, added up once for each place.

use super::cells::ByCell;
use super::table::{Table, interpolate};
use crate::partition::SensitiveDesign;

impl ByCell<Table> {
    /// The distribution function of every row of an assignment; `None` if they have more knots than `most` together.
    ///
    /// A sum of broken lines is one, with the knots of all: $F = \sum_cw_cF_c$ is exact, not sampled.
    pub(crate) fn distributions(
        &self,
        assignment: &SensitiveDesign,
        most: usize,
    ) -> Option<Vec<Table>> {
        let population = self.shares();
        let mut left = most;
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
        let within = |table: Table| {
            left = left.checked_sub(table.values.len())?;
            Some(table)
        };
        (0..assignment.len()).map(of).map(within).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_knots_as_are_allowed() {
        let mixtures = vec![vec![0.5, 0.5]];
        let assignment = SensitiveDesign::from_codes(2, vec![0, 0, 1, 1, 1, 2], mixtures.clone());
        let scores = [1.0, 2.0, 2.0, 3.0, 4.0, 0.0];
        let cells = ByCell::quantiles(&scores, &assignment, &[1.0; 6]).unwrap();
        let places = SensitiveDesign::from_codes(2, vec![0, 1, 2], mixtures);
        // Two of the first cell, three of the second, and of both together four.
        let lines = cells.distributions(&places, 9).unwrap();
        assert_eq!(lines[2].values, [1.0, 2.0, 3.0, 4.0]);
        assert!(cells.distributions(&places, 8).is_none());
    }
}
