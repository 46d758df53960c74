//! The cells of rows, and largest differences between cells.

use super::strata::Strata;

/// No more cells than this, the largest, are compared with each other: pairs grow with the square of the cells.
const MOST_COMPARED: usize = 200;

/// The rows of every comparison: their cells, weights and groups.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    /// The cell of each row, below `count`.
    pub(super) codes: &'a [u32],
    pub(super) count: usize,
    pub(super) weights: Option<&'a [f64]>,
    /// Cells with fewer rows are left out of largest differences, unless fewer than two would remain.
    pub(super) least_rows: usize,
    /// Cells are compared within each group, and the results are averaged by the weight of the groups.
    pub(super) strata: &'a Strata,
}

impl Cells<'_> {
    pub(super) fn rows(&self) -> usize {
        self.codes.len()
    }

    pub(super) fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// The cells that take part in largest differences within each group, group after group, among the given rows: cells
    /// with enough rows, or if fewer than two have, all; of many, the largest.
    pub(super) fn usable(&self, rows: impl Iterator<Item = usize>) -> Vec<bool> {
        let mut counts = vec![0; self.count * self.strata.count()];
        rows.for_each(|row| counts[self.place(row, self.codes[row])] += 1);
        let of_group = |counts: &[usize]| usable(counts, self.least_rows);
        counts.chunks(self.count).flat_map(of_group).collect()
    }

    /// The place of a row in tables of groups and cells, if it were in this cell.
    pub(super) fn place(&self, row: usize, cell: u32) -> usize {
        self.strata.group(row) * self.count + cell as usize
    }

    /// A shuffle within the groups: cells move together with the weights, which often depend on them.
    pub(super) fn shuffled(&self, order: &[u32]) -> (Vec<u32>, Vec<f64>) {
        let order = self.strata.shuffle(order);
        let cells = order.iter().map(|&from| self.codes[from as usize]);
        let weights = order.iter().map(|&from| self.weight(from as usize));
        (cells.collect(), weights.collect())
    }

    /// The mean of a number over the groups where it is defined, by their weights.
    pub(super) fn average(groups: impl Iterator<Item = (f64, f64)>) -> f64 {
        let known: Vec<(f64, f64)> = groups.filter(|(_, value)| !value.is_nan()).collect();
        if let [(_, value)] = known[..] {
            return value;
        }
        let total: f64 = known.iter().map(|(mass, _)| mass).sum();
        known
            .iter()
            .map(|(mass, value)| mass / total * value)
            .sum::<f64>()
            + if known.is_empty() { f64::NAN } else { 0.0 }
    }
}

fn usable(rows: &[usize], least_rows: usize) -> Vec<bool> {
    let least = least_rows.max(1);
    let mut large = rows.iter().filter(|&&n| n >= least).count();
    let least = if large >= 2 {
        least
    } else {
        large = rows.iter().filter(|&&n| n > 0).count();
        1
    };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&cell| std::cmp::Reverse(rows[cell]));
    let mut usable = vec![false; rows.len()];
    for &cell in &order[..large.min(MOST_COMPARED)] {
        usable[cell] = rows[cell] >= least;
    }
    usable
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
    pub(super) fn ratio(self) -> f64 {
        if self.most == 0.0 {
            1.0
        } else {
            self.least / self.most
        }
    }
}
