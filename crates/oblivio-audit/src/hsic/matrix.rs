//! Kernels of high rank, entry by entry.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use oblivio_base::{Result, Watch};
use rayon::prelude::*;

use super::factor::Factor;
use super::pair::Draws;
use super::reading::Reading;
use super::totals::{Totals, normalized};

/// The centred kernel $(I - 1p^\top)K(I - p1^\top)$ with p the rows' shares of the weight: symmetric, row after row.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    rows: usize,
    values: Vec<f64>,
}

/// Rows that one task takes at a time; fixed, so that sums do not depend on the threads.
const PANEL: usize = 64;

impl Matrix {
    pub(super) fn of(reading: &Reading, weights: &[f64], watch: &Watch) -> Result<Self> {
        let mut matrix = Self {
            rows: reading.rows,
            values: reading.matrix(watch)?,
        };
        matrix.centre(weights);
        Ok(matrix)
    }

    /// The matrix of a factor's inner products.
    pub(super) fn of_factor(factor: &Factor) -> Result<Self> {
        let (rows, rank) = (factor.rows, factor.rank());
        let features = factor.all()?;
        let features = MatRef::from_row_major_slice(&features, rows, rank);
        let mut values = vec![0.0; rows * rows];
        matmul(
            faer::MatMut::from_row_major_slice_mut(&mut values, rows, rows),
            Accum::Replace,
            features,
            features.transpose(),
            1.0,
            Par::rayon(rayon::current_num_threads()),
        );
        Ok(Self { rows, values })
    }

    fn centre(&mut self, weights: &[f64]) {
        let total: f64 = weights.iter().sum();
        let dot = |row: &[f64]| row.iter().zip(weights).map(|(k, w)| k * w).sum::<f64>() / total;
        let means: Vec<f64> = self.values.par_chunks_exact(self.rows).map(dot).collect();
        let mean = dot(&means);
        self.values
            .par_chunks_exact_mut(self.rows)
            .zip(&means)
            .for_each(|(row, own)| {
                for (value, other) in row.iter_mut().zip(&means) {
                    *value -= own + other - mean;
                }
            });
    }

    /// $p_ip_jA_{ij}$
    fn weighted(&self, shares: &[f64]) -> Self {
        let row = |i: usize| {
            let entries = self.row(i).iter().zip(shares);
            entries.map(move |(a, p)| shares[i] * p * a)
        };
        let mut values = vec![0.0; self.values.len()];
        let rows = values.par_chunks_exact_mut(self.rows).enumerate();
        rows.for_each(|(i, to)| {
            to.iter_mut()
                .zip(row(i))
                .for_each(|(to, value)| *to = value);
        });
        Self {
            rows: self.rows,
            values,
        }
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.rows..(i + 1) * self.rows]
    }

    /// Consecutive rows, as the columns of a matrix.
    fn panel(&self, rows: &Range<usize>) -> MatRef<'_, f64> {
        let values = &self.values[rows.start * self.rows..rows.end * self.rows];
        MatRef::from_column_major_slice(values, self.rows, rows.len())
    }

    fn panels(&self) -> Vec<Range<usize>> {
        let panel = |start: usize| start..(start + PANEL).min(self.rows);
        (0..self.rows).step_by(PANEL).map(panel).collect()
    }
}

/// For every row i, $\sum_j p_j A_{ij}B_{ij}$ for the two sides, the first with itself, and the second with itself.
pub(super) fn row_means(x: &Matrix, s: &Matrix, weights: &[f64]) -> Vec<[f64; 3]> {
    let total: f64 = weights.iter().sum();
    let row = |i: usize| {
        let mut sums = [0.0; 3];
        for ((a, b), w) in x.row(i).iter().zip(s.row(i)).zip(weights) {
            sums[0] += w * a * b;
            sums[1] += w * a * a;
            sums[2] += w * b * b;
        }
        sums.map(|sum| sum / total)
    };
    (0..x.rows).into_par_iter().map(row).collect()
}

pub(super) fn totals(x: &Matrix, s: &Matrix, weights: &[f64]) -> Totals {
    let mut totals = Totals::default();
    for (i, means) in row_means(x, s, weights).into_iter().enumerate() {
        totals.add_diagonal(weights[i], x.row(i)[i], s.row(i)[i]);
        totals.add_kernel(weights[i], means);
    }
    totals.averaged()
}

/// $\sum_{ij}p_ip_jA_{ij}B_{\pi(i)\pi(j)}$ for every permutation π.
///
/// A row of B stays in cache for all permutations, which read it in no order; the rows of A that meet it are read from
/// one end to the other, and only up to their diagonal.
pub(super) fn permuted(
    x: &Matrix,
    s: &Matrix,
    draws: &Draws<'_>,
    watch: &Watch,
) -> Result<Vec<f64>> {
    let weighted = x.weighted(&draws.shares);
    let orders = draws.permutations();
    let inverses: Vec<Vec<u32>> = orders.iter().map(|order| inverse(order)).collect();
    let panels = x.panels();
    watch.begin("permutations for HSIC", panels.len())?;
    let sums: Vec<Vec<f64>> = panels
        .into_par_iter()
        .with_max_len(1)
        .map(|rows| {
            watch.check()?;
            let mut sums = vec![0.0; orders.len()];
            for row in rows {
                let b = s.row(row);
                let draws = orders.iter().zip(&inverses);
                for (sum, (order, inverse)) in sums.iter_mut().zip(draws) {
                    let i = inverse[row] as usize;
                    let a = &weighted.row(i)[..=i];
                    *sum += 2.0 * gathered(&a[..i], b, order) + a[i] * b[row];
                }
            }
            watch.advance();
            Ok(sums)
        })
        .collect::<Result<_>>()?;
    Ok(added(&sums))
}

fn inverse(order: &[u32]) -> Vec<u32> {
    let mut inverse = vec![0; order.len()];
    for (i, &to) in order.iter().enumerate() {
        inverse[to as usize] = i as u32;
    }
    inverse
}

/// $\sum_j a_jb_{\pi(j)}$
fn gathered(a: &[f64], b: &[f64], order: &[u32]) -> f64 {
    let mut sums = [0.0; 4];
    let (fours, orders) = (a.chunks_exact(4), order.chunks_exact(4));
    let rest = fours.remainder();
    for (four, at) in fours.zip(orders) {
        for k in 0..4 {
            sums[k] += four[k] * b[at[k] as usize];
        }
    }
    let order = &order[a.len() - rest.len()..];
    let rest: f64 = rest
        .iter()
        .zip(order)
        .map(|(a, &j)| a * b[j as usize])
        .sum();
    sums.iter().sum::<f64>() + rest
}

/// The same where the other side has few features: $\sum_k u_k^\top Au_k$ with $u_k$ the permuted k-th feature times the
/// shares, for all permutations in one product.
///
/// `place` gives, for a permutation, the row of A and that of the features that meet.
pub(super) fn permuted_narrow(
    matrix: &Matrix,
    factor: &Factor,
    draws: &Draws<'_>,
    place: impl Fn(usize, &[u32]) -> (usize, usize),
    watch: &Watch,
) -> Result<Vec<f64>> {
    let (rows, rank) = (factor.rows, factor.rank());
    let features = factor.all()?;
    let orders = draws.permutations();
    let mut columns = Mat::<f64>::zeros(rows, rank * orders.len());
    for (number, order) in orders.iter().enumerate() {
        for i in 0..rows {
            let (at, from) = place(i, order);
            for k in 0..rank {
                columns[(at, number * rank + k)] = draws.shares[i] * features[from * rank + k];
            }
        }
    }
    let forms = quadratic_forms(matrix, &columns, watch)?;
    Ok(forms.chunks_exact(rank).map(|f| f.iter().sum()).collect())
}

/// $u^\top Au$ for every column u.
fn quadratic_forms(matrix: &Matrix, columns: &Mat<f64>, watch: &Watch) -> Result<Vec<f64>> {
    let panels = matrix.panels();
    watch.begin("permutations for HSIC", panels.len())?;
    let sums: Vec<Vec<f64>> = panels
        .into_par_iter()
        .with_max_len(1)
        .map(|rows| {
            watch.check()?;
            let product = times(matrix.panel(&rows), columns);
            watch.advance();
            let form = |k: usize| {
                let here = columns.col(k).subrows(rows.start, rows.len());
                here.iter()
                    .zip(product.col(k).iter())
                    .map(|(u, v)| u * v)
                    .sum()
            };
            Ok((0..columns.ncols()).map(form).collect())
        })
        .collect::<Result<_>>()?;
    Ok(added(&sums))
}

/// The transposed panel times the columns.
fn times(panel: MatRef<'_, f64>, columns: &Mat<f64>) -> Mat<f64> {
    let mut product = Mat::zeros(panel.ncols(), columns.ncols());
    let columns = columns.as_ref();
    matmul(
        product.as_mut(),
        Accum::Replace,
        panel.transpose(),
        columns,
        1.0,
        Par::Seq,
    );
    product
}

/// The normalised HSIC of every resample.
///
/// With v the rows' shares in the resample, a = Av and b = Bv, HSIC is
/// $v^\top(A \circ B)v - 2\sum_iv_ia_ib_i + v^\top Av\;v^\top Bv$, for all resamples in one product.
pub(super) fn resampled(
    x: &Matrix,
    s: &Matrix,
    draws: &Draws<'_>,
    watch: &Watch,
) -> Result<Vec<f64>> {
    let columns = draws.resamples();
    let panels = x.panels();
    watch.begin("resamples for HSIC", panels.len())?;
    let sums: Vec<Vec<f64>> = panels
        .into_par_iter()
        .with_max_len(1)
        .map(|rows| {
            watch.check()?;
            let (a, b) = (x.panel(&rows), s.panel(&rows));
            let entrywise = |a: MatRef<'_, f64>, b: MatRef<'_, f64>| {
                let product = Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] * b[(i, j)]);
                times(product.as_ref(), &columns)
            };
            let products = [entrywise(a, b), entrywise(a, a), entrywise(b, b)];
            let (a, b) = (times(a, &columns), times(b, &columns));
            watch.advance();
            let mut sums = vec![0.0; FORMS * columns.ncols()];
            for (k, sums) in sums.chunks_exact_mut(FORMS).enumerate() {
                for at in 0..rows.len() {
                    let share = columns[(rows.start + at, k)];
                    let (a, b) = (a[(at, k)], b[(at, k)]);
                    let [ab, aa, bb] = [0, 1, 2].map(|form| products[form][(at, k)]);
                    let terms = [ab - 2.0 * a * b, aa - 2.0 * a * a, bb - 2.0 * b * b, a, b];
                    sums.iter_mut()
                        .zip(terms)
                        .for_each(|(sum, term)| *sum += share * term);
                }
            }
            Ok(sums)
        })
        .collect::<Result<_>>()?;
    let value = |sums: &[f64]| {
        let (a, b) = (sums[3], sums[4]);
        normalized(sums[0] + a * b, sums[1] + a * a, sums[2] + b * b)
    };
    Ok(added(&sums).chunks_exact(FORMS).map(value).collect())
}

/// The sums that a resample's value is made of.
const FORMS: usize = 5;

/// Lists added entry by entry, in order.
fn added(lists: &[Vec<f64>]) -> Vec<f64> {
    let mut total = vec![0.0; lists.first().map_or(0, Vec::len)];
    for list in lists {
        total.iter_mut().zip(list).for_each(|(t, v)| *t += v);
    }
    total
}
