//! How far apart the cells' distributions of scores are, exactly.

use rayon::prelude::*;

use super::cells::Extremes;

/// The scores of one cell: its values in order, and the share of its weight up to each.
struct Cell {
    values: Vec<f64>,
    below: Vec<f64>,
}

/// The largest Wasserstein-1 distance $\int|F_a - F_b|$ between two of the usable cells, and the largest
/// Kolmogorov–Smirnov distance $\sup|F_a - F_b|$.
pub(super) fn largest(
    scores: &[f64],
    cells: &[u32],
    weights: Option<&[f64]>,
    usable: &[bool],
) -> (Extremes, Extremes) {
    let mut rows: Vec<Vec<(f64, f64)>> = vec![Vec::new(); usable.len()];
    for (row, &cell) in cells.iter().enumerate() {
        let weight = weights.map_or(1.0, |weights| weights[row]);
        if usable[cell as usize] && weight > 0.0 {
            rows[cell as usize].push((scores[row], weight));
        }
    }
    let sorted: Vec<Option<Cell>> = rows.into_par_iter().map(Cell::of).collect();
    let pairs: Vec<(usize, usize)> = (0..sorted.len())
        .flat_map(|b| (0..b).map(move |a| (a, b)))
        .collect();
    let distances: Vec<Option<(f64, f64)>> = pairs
        .par_iter()
        .map(|&(a, b)| Some(sorted[a].as_ref()?.distance(sorted[b].as_ref()?)))
        .collect();
    let (mut transport, mut most) = (Extremes::NONE, Extremes::NONE);
    for (pair, distance) in pairs.into_iter().zip(distances) {
        if let Some((wasserstein, kolmogorov)) = distance {
            transport.widen(wasserstein, pair);
            most.widen(kolmogorov, pair);
        }
    }
    (transport, most)
}

impl Extremes {
    /// Takes the distance of this pair if it is larger.
    pub(super) fn widen(&mut self, distance: f64, pair: (usize, usize)) {
        if self.most.is_nan() || distance > self.most {
            (self.most, self.pair) = (distance, pair);
        }
    }
}

impl Cell {
    fn of(mut rows: Vec<(f64, f64)>) -> Option<Self> {
        if rows.is_empty() {
            return None;
        }
        rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = rows.iter().map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        let below = rows.iter().map(|(_, weight)| {
            sum += weight;
            sum / total
        });
        let below = below.collect();
        Some(Self {
            values: rows.into_iter().map(|(value, _)| value).collect(),
            below,
        })
    }

    /// Wasserstein-1 and Kolmogorov–Smirnov, by one walk along both.
    fn distance(&self, other: &Self) -> (f64, f64) {
        let (mut i, mut j) = (0, 0);
        let (mut transport, mut most) = (0.0, 0.0f64);
        let share = |of: &Self, passed: usize| {
            if passed == 0 {
                0.0
            } else {
                of.below[passed - 1]
            }
        };
        let mut last = f64::NAN;
        while i < self.values.len() || j < other.values.len() {
            let apart = (share(self, i) - share(other, j)).abs();
            let next = |of: &Self, passed: usize| of.values.get(passed).copied();
            let at = match (next(self, i), next(other, j)) {
                (Some(a), Some(b)) => a.min(b),
                (Some(a), None) => a,
                (None, Some(b)) => b,
                (None, None) => break,
            };
            if !last.is_nan() {
                transport += apart * (at - last);
            }
            most = most.max(apart);
            while next(self, i) == Some(at) {
                i += 1;
            }
            while next(other, j) == Some(at) {
                j += 1;
            }
            last = at;
        }
        (transport, most)
    }
}
