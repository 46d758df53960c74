//! Columns as the arguments of one kernel.

use std::cmp::Ordering;
use std::collections::HashMap;

use oblivio::sensitive::Kind;
use oblivio_base::encoder::complete;
use oblivio_base::stats::Spread;
use oblivio_base::{Column, Error, Points, Result, Values, Watch};
use oblivio_kernels::{Kernel, KernelMatrix};
use rayon::prelude::*;

/// Observations $(x, c)$ of numbers and a combination of categories, and their kernel
/// $$k((x, c), (x', c')) = \exp(-\gamma\|x - x'\|^2)\,1\{c = c'\}.$$
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) rows: usize,
    /// Standardised; absent where no number varies.
    pub(super) points: Option<Points<'static>>,
    pub(super) kernel: Kernel,
    /// Empty where all rows share one.
    pub(super) cells: Vec<u32>,
    /// Rows that stand for all, among which landmarks are drawn.
    pub(super) representatives: Vec<u32>,
}

/// The rows that stand for all, and those whose distances give γ.
const REPRESENTATIVES: usize = 4096;
const PAIRED: usize = 512;

/// The categories of a column of a table that get a coordinate; the rarer ones share another.
const LEVELS: usize = 64;

impl Reading {
    /// Numbers under one Gaussian kernel, categories equal or not.
    pub(super) fn of(columns: &[Column], kinds: &[Kind], weights: &[f64]) -> Result<Self> {
        if columns.len() != kinds.len() {
            return Err(Error::InvalidParameter {
                name: "number of kinds",
                expected: "that of the columns",
                value: kinds.len().to_string(),
            });
        }
        let (mut numbers, mut cells) = (Vec::new(), Vec::new());
        for (column, kind) in columns.iter().zip(kinds) {
            match kind {
                Kind::Continuous => numbers.extend(standardised(column, weights)?),
                Kind::Categorical => cells = combined(cells, column.to_categories().1),
            }
        }
        if cells.iter().all(|&cell| cell == 0) {
            cells.clear();
        }
        Self::new(&numbers, cells, weights)
    }

    /// Everything under one Gaussian kernel: categories become coordinates, all those of a column of total variance 1.
    pub(super) fn of_table(columns: &[Column], weights: &[f64]) -> Result<Self> {
        let mut coordinates = Vec::new();
        for column in columns {
            match &column.values {
                Values::Numbers(_) => coordinates.extend(standardised(column, weights)?),
                Values::Categories { codes, .. } => coordinates.extend(one_hot(codes, weights)),
            }
        }
        Self::new(&coordinates, Vec::new(), weights)
    }

    fn new(coordinates: &[Vec<f64>], cells: Vec<u32>, weights: &[f64]) -> Result<Self> {
        let rows = weights.len();
        let mut reading = Self {
            rows,
            points: None,
            kernel: Kernel::Gaussian { gamma: 1.0 },
            cells,
            representatives: Vec::new(),
        };
        if !coordinates.is_empty() {
            let row = |i: usize| coordinates.iter().map(move |column| column[i]);
            let values: Vec<f64> = (0..rows).flat_map(row).collect();
            reading.points = Some(Points::new(values, coordinates.len())?);
            let order = reading.order();
            reading.representatives = at_even_steps(&order, weights, REPRESENTATIVES);
            let paired = reading.select(&at_even_steps(&order, weights, PAIRED));
            if let Some(points) = paired.points {
                let gamma = 1.0 / median_distance(&points);
                reading.kernel = Kernel::Gaussian { gamma };
            }
        }
        Ok(reading)
    }

    /// The named rows, in the order of `rows`.
    pub(super) fn select(&self, rows: &[u32]) -> Self {
        let values = |points: &Points| -> Vec<f64> {
            let row = |&i: &u32| points.row(i as usize).to_vec();
            if points.dim() == 1 {
                rows.iter().map(|&i| points.values()[i as usize]).collect()
            } else {
                rows.iter().flat_map(row).collect()
            }
        };
        let select = |points: &Points| Points::new(values(points), points.dim()).ok();
        Self {
            rows: rows.len(),
            points: self.points.as_ref().and_then(select),
            kernel: self.kernel.clone(),
            cells: if self.cells.is_empty() {
                Vec::new()
            } else {
                rows.iter().map(|&i| self.cells[i as usize]).collect()
            },
            representatives: Vec::new(),
        }
    }

    /// The rows in the order of their first number, of the second where it is the same, and so on.
    fn order(&self) -> Vec<(f64, u32)> {
        let Some(points) = &self.points else {
            return Vec::new();
        };
        let row = |i: u32| points.row(i as usize);
        let mut order: Vec<(f64, u32)> = (0..self.rows as u32).map(|i| (row(i)[0], i)).collect();
        order.par_sort_by(|(x, a), (y, b)| {
            let rest = || row(*a)[1..].iter().zip(&row(*b)[1..]);
            let unlike = || rest().map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne());
            let first = x.total_cmp(y);
            first.then_with(|| unlike().unwrap_or(Ordering::Equal))
        });
        order
    }

    /// The kernel of every row with every landmark, landmark after landmark.
    pub(super) fn values(&self, landmarks: &Self) -> Result<Vec<f64>> {
        let mut values = match (&self.points, &landmarks.points) {
            (Some(points), Some(centres)) => {
                KernelMatrix::between(&self.kernel, points, centres)?.entries(&Watch::default())?
            }
            _ => vec![1.0; self.rows * landmarks.rows],
        };
        let columns = values.chunks_exact_mut(self.rows).zip(&landmarks.cells);
        for (column, landmark) in columns {
            for (value, cell) in column.iter_mut().zip(&self.cells) {
                if cell != landmark {
                    *value = 0.0;
                }
            }
        }
        Ok(values)
    }

    /// The kernel of every row with every other, column after column.
    pub(super) fn matrix(&self, watch: &Watch) -> Result<Vec<f64>> {
        let Some(points) = &self.points else {
            return self.values(self);
        };
        let kernel = KernelMatrix::of(&self.kernel, points);
        if self.cells.is_empty() {
            return kernel.entries(watch);
        }
        kernel.corrected(
            &|span, tile| {
                for (at, j) in span.columns.clone().enumerate() {
                    let cells = &self.cells[span.rows.clone()];
                    for (value, &cell) in tile.column(at).iter_mut().zip(cells) {
                        if cell != self.cells[j] {
                            *value = 0.0;
                        }
                    }
                }
            },
            watch,
        )
    }

    /// The kernel of every row with this one.
    pub(super) fn column(&self, row: usize) -> Vec<f64> {
        let gamma = self.kernel.gamma().unwrap_or(1.0);
        let mut values = vec![1.0; self.rows];
        if let Some(points) = &self.points {
            let centre = points.row(row);
            for (value, x) in values
                .iter_mut()
                .zip(points.values().chunks_exact(points.dim()))
            {
                let distance: f64 = x.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum();
                *value = (-gamma * distance).exp();
            }
        }
        for (value, cell) in values.iter_mut().zip(&self.cells) {
            if *cell != self.cells[row] {
                *value = 0.0;
            }
        }
        values
    }
}

/// Rows at even steps of the weight: the quantiles of a single column.
///
/// The order of the table does not matter, nor whether a row is repeated or has a weight.
fn at_even_steps(order: &[(f64, u32)], weights: &[f64], count: usize) -> Vec<u32> {
    let step = weights.iter().sum::<f64>() / count as f64;
    let mut chosen = Vec::with_capacity(count);
    let mut passed = 0.0;
    for &(_, row) in order {
        passed += weights[row as usize];
        while chosen.len() < count && (chosen.len() as f64 + 0.5) * step < passed {
            chosen.push(row);
        }
    }
    chosen
}

/// The numbers with mean 0 and variance 1; none if they do not vary.
fn standardised(column: &Column, weights: &[f64]) -> Result<Option<Vec<f64>>> {
    complete(column)?;
    let mut values = column.to_numbers()?;
    let mut spread = Spread::default();
    for (value, weight) in values.iter().zip(weights) {
        spread.add(*value, *weight);
    }
    let deviation = spread.variance().sqrt();
    // A column of one number has a variance of rounding errors.
    if deviation <= 1e-12 * spread.mean.abs() || !deviation.is_normal() {
        return Ok(None);
    }
    for value in &mut values {
        *value = (*value - spread.mean) / deviation;
    }
    Ok(Some(values))
}

/// The coordinates of the categories, most frequent first; none if there is one.
fn one_hot(codes: &[u32], weights: &[f64]) -> Vec<Vec<f64>> {
    let cells = combined(Vec::new(), codes.to_vec());
    let shares = cell_shares(&cells, weights);
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
    let mut places = vec![LEVELS; shares.len()];
    for (place, &cell) in order.iter().enumerate().take(LEVELS) {
        places[cell] = place;
    }
    let places: Vec<u32> = cells.iter().map(|&c| places[c as usize] as u32).collect();
    let shares = cell_shares(&places, weights);
    let variance = 1.0 - shares.iter().map(|share| share * share).sum::<f64>();
    if variance <= 1e-12 {
        return Vec::new();
    }
    let height = 1.0 / variance.sqrt();
    let coordinate = |place: usize| {
        let at = |&p: &u32| if p as usize == place { height } else { 0.0 };
        places.iter().map(at).collect()
    };
    (0..shares.len()).map(coordinate).collect()
}

/// The cells' shares of the weight.
pub(super) fn cell_shares(cells: &[u32], weights: &[f64]) -> Vec<f64> {
    let count = cells.iter().max().map_or(0, |&last| last as usize + 1);
    let mut shares = vec![0.0; count];
    for (&cell, weight) in cells.iter().zip(weights) {
        shares[cell as usize] += weight;
    }
    let total: f64 = shares.iter().sum();
    shares.iter().map(|share| share / total).collect()
}

/// Combinations of cells and categories, numbered as they appear; a missing category is one like the others.
fn combined(cells: Vec<u32>, codes: Vec<u32>) -> Vec<u32> {
    let cells = if cells.is_empty() {
        vec![0; codes.len()]
    } else {
        cells
    };
    let mut known = HashMap::new();
    let number = |pair| {
        let next = known.len() as u32;
        *known.entry(pair).or_insert(next)
    };
    cells.into_iter().zip(codes).map(number).collect()
}

/// The median of the squared distances that are not zero; the number of coordinates if all are.
fn median_distance(points: &Points) -> f64 {
    let mut distances = Vec::with_capacity(points.len() * points.len() / 2);
    for i in 0..points.len() {
        for j in 0..i {
            let pairs = points.row(i).iter().zip(points.row(j));
            distances.push(pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>());
        }
    }
    distances.retain(|&distance| distance > 0.0);
    if distances.is_empty() {
        return points.dim() as f64;
    }
    let middle = distances.len() / 2;
    *distances.select_nth_unstable_by(middle, f64::total_cmp).1
}
