//! Groups of rows that a shuffle keeps apart: S moves within them only.

use oblivio_base::{Column, Values};

/// The group of each row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Strata {
    codes: Vec<u32>,
    count: usize,
}

impl Strata {
    /// All rows as one group.
    pub(super) fn whole(rows: usize) -> Self {
        Self {
            codes: vec![0; rows],
            count: usize::from(rows > 0),
        }
    }

    /// Groups by code. A code without rows is no group.
    pub(super) fn new(codes: &[u32]) -> Self {
        let most = codes.iter().max().map_or(0, |&code| code as usize + 1);
        let mut rows = vec![0usize; most];
        for &code in codes {
            rows[code as usize] += 1;
        }
        let mut next = 0;
        let numbers: Vec<u32> = rows
            .iter()
            .map(|&rows| {
                next += u32::from(rows > 0);
                next.saturating_sub(1)
            })
            .collect();
        Self {
            codes: codes.iter().map(|&code| numbers[code as usize]).collect(),
            count: next as usize,
        }
    }

    /// Bins of about equal mass for a column of numbers, categories for others.
    pub(super) fn of_numbers(column: &Column, weights: Option<&[f64]>) -> Self {
        match &column.values {
            Values::Numbers(numbers) => Self::new(&bins(numbers, weights, MOST_BINS)),
            Values::Categories { .. } => Self::new(&column.to_categories().1),
        }
    }

    /// The rows of the same group in both.
    pub(super) fn cross(&self, other: &Self) -> Self {
        let pairs = self.codes.iter().zip(&other.codes);
        let count = other.count as u32;
        Self::new(&pairs.map(|(a, b)| a * count + b).collect::<Vec<_>>())
    }

    /// The groups of the named rows.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        Self::new(&rows.iter().map(|&row| self.codes[row]).collect::<Vec<_>>())
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn codes(&self) -> &[u32] {
        &self.codes
    }

    pub(super) fn group(&self, row: usize) -> usize {
        self.codes[row] as usize
    }

    /// A shuffle of all rows as one within the groups: the rows of a group in the order in which they appear.
    pub(super) fn shuffle(&self, order: &[u32]) -> Vec<u32> {
        if self.count < 2 {
            return order.to_vec();
        }
        let mut drawn = vec![Vec::new(); self.count];
        for &row in order {
            drawn[self.group(row as usize)].push(row);
        }
        let mut next = vec![0; self.count];
        let place = |&code: &u32| {
            let code = code as usize;
            next[code] += 1;
            drawn[code][next[code] - 1]
        };
        self.codes.iter().map(place).collect()
    }
}

/// The most bins of numbers.
const MOST_BINS: usize = 20;

/// A bin of numbers has about this many rows at least.
const BIN_ROWS: usize = 20;

/// Bins of about equal mass, as many as the rows allow; equal numbers share a bin.
pub(super) fn bins(numbers: &[f64], weights: Option<&[f64]>, most: usize) -> Vec<u32> {
    let weight = |row: u32| weights.map_or(1.0, |weights| weights[row as usize]);
    let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| numbers[a as usize].total_cmp(&numbers[b as usize]));
    let total: f64 = order.iter().map(|&row| weight(row)).sum();
    let count = (numbers.len() / BIN_ROWS).clamp(1, most) as f64;
    let mut codes = vec![0; numbers.len()];
    let (mut below, mut k) = (0.0, 0);
    while k < order.len() {
        let value = numbers[order[k] as usize];
        let equal = order[k..].iter();
        let equal = equal.take_while(|&&row| numbers[row as usize] == value);
        let end = k + equal.count();
        let mass: f64 = order[k..end].iter().map(|&row| weight(row)).sum();
        // The bin at the middle of the equal numbers.
        let share = (below + mass / 2.0) / total;
        let bin = (share * count).min(count - 1.0).max(0.0) as u32;
        order[k..end]
            .iter()
            .for_each(|&row| codes[row as usize] = bin);
        below += mass;
        k = end;
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Resampling;

    #[test]
    fn shuffles_stay_within_groups_and_a_single_group_is_free() {
        let order = Resampling::default().permutation(0, 60);
        assert_eq!(Strata::whole(60).shuffle(&order), order);
        let codes: Vec<u32> = (0..60).map(|row| 5 * (row % 3)).collect();
        let strata = Strata::new(&codes);
        assert_eq!(strata.count(), 3);
        let shuffled = strata.shuffle(&order);
        assert_ne!(shuffled, (0..60).collect::<Vec<u32>>());
        for (row, &from) in shuffled.iter().enumerate() {
            assert_eq!(codes[row], codes[from as usize]);
        }
        let mut sorted = shuffled;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..60).collect::<Vec<u32>>());
    }

    #[test]
    fn bins_have_equal_mass_and_equal_numbers_stay_together() {
        let numbers: Vec<f64> = (0..400).map(|i| f64::from(i * 7 % 400)).collect();
        let codes = bins(&numbers, None, 10);
        for bin in 0..10 {
            assert_eq!(codes.iter().filter(|&&code| code == bin).count(), 40);
        }
        let tied: Vec<f64> = (0..400).map(|i| f64::from(i % 3)).collect();
        assert_eq!(Strata::new(&bins(&tied, None, 10)).count(), 3);
        assert_eq!(Strata::new(&bins(&numbers[..15], None, 10)).count(), 1);
        let crossed = Strata::new(&codes).cross(&Strata::new(&bins(&tied, None, 10)));
        assert_eq!(crossed.count(), 30);
    }
}
