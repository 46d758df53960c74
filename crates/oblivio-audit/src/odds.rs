//! Equalised odds: whether decisions depend on the cell among rows of the same true label.

use super::cells::{Comparison, Extremes};

/// The rows of each true label.
pub(super) struct Odds<'a> {
    rows: &'a Comparison<'a>,
    positive: &'a [bool],
    /// The rows whose label is negative, and those whose label is positive.
    sides: [Vec<u32>; 2],
    /// The cells with enough rows of each label.
    usable: [Vec<bool>; 2],
}

impl<'a> Odds<'a> {
    /// Nothing without decisions and labels.
    pub(super) fn new(rows: &'a Comparison<'a>) -> Option<Self> {
        let (positive, truth) = (rows.positive?, rows.truth?);
        let mut sides = [Vec::new(), Vec::new()];
        for (row, label) in truth.iter().enumerate() {
            sides[usize::from(*label)].push(row as u32);
        }
        let usable = [0, 1].map(|side: usize| {
            let cells = sides[side].iter().map(|&row| rows.cells[row as usize]);
            rows.usable(cells)
        });
        Some(Self {
            rows,
            positive,
            sides,
            usable,
        })
    }

    /// The larger of the largest differences between two cells' rates of positive decisions, among the rows whose label is
    /// positive and among the others.
    ///
    /// A row takes its cell and weight from the row that `from` names, and counts `times` as often.
    pub(super) fn gap(&self, from: &dyn Fn(usize) -> usize, times: &dyn Fn(usize) -> f64) -> f64 {
        let difference = |side: usize| {
            let mut chosen = vec![0.0; self.rows.count];
            let mut all = vec![0.0; self.rows.count];
            for &row in &self.sides[side] {
                let row = row as usize;
                let cell = self.rows.cells[from(row)] as usize;
                let weight = self.rows.weight(from(row)) * times(row);
                all[cell] += weight;
                if self.positive[row] {
                    chosen[cell] += weight;
                }
            }
            let cells = (0..all.len()).filter(|&c| self.usable[side][c] && all[c] > 0.0);
            Extremes::of(cells.map(|cell| (cell, chosen[cell] / all[cell]))).difference()
        };
        difference(0).max(difference(1))
    }

    /// A shuffle of all rows as one of the rows of each label: what equal odds would leave unchanged.
    pub(super) fn within(&self, order: &[u32]) -> Vec<u32> {
        let Some(truth) = self.rows.truth else {
            return order.to_vec();
        };
        let mut shuffled = vec![0; order.len()];
        for (side, rows) in self.sides.iter().enumerate() {
            let drawn = order
                .iter()
                .filter(|&&row| usize::from(truth[row as usize]) == side);
            for (row, from) in rows.iter().zip(drawn) {
                shuffled[*row as usize] = *from;
            }
        }
        shuffled
    }
}
