//! Two sides of low rank, through their features.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use oblivio_base::{Result, Watch};
use rayon::prelude::*;

use super::factor::{CHUNK, Factor, by_blocks, padded, pieces, second_moments};
use super::pair::Draws;
use super::totals::{Totals, normalized};

/// The features' covariance $C = \sum_ip_if_ig_i^\top$ and what else one pass over the rows gives.
pub(super) struct Cross {
    covariance: Mat<f64>,
    pub(super) totals: Totals,
}

impl Cross {
    pub(super) fn of(x: &Factor, s: &Factor, weights: &[f64], watch: &Watch) -> Result<Self> {
        let sums = by_blocks(x.rows, "covariance for HSIC", watch, |block| {
            let mut covariance = Mat::<f64>::zeros(padded(x.rank()), s.rank());
            let mut totals = Totals::default();
            for rows in pieces(block, CHUNK) {
                let (f, g) = (x.block(rows.clone())?, s.block(rows.clone())?);
                let pairs = f.chunks_exact(x.rank()).zip(g.chunks_exact(s.rank()));
                for ((f, g), w) in pairs.zip(&weights[rows.clone()]) {
                    totals.add_diagonal(*w, dot(f, f), dot(g, g));
                }
                let f = scaled(&f, x.rank(), &weights[rows]);
                add_product(&mut covariance, &f, &g);
            }
            Ok((covariance, totals))
        })?;
        let mut covariance = Mat::<f64>::zeros(padded(x.rank()), s.rank());
        let mut totals = Totals::default();
        for (more, sum) in sums {
            covariance += more;
            totals.add(&sum);
        }
        covariance *= faer::Scale(1.0 / totals.weight);
        let squares = |spectrum: &[f64]| spectrum.iter().map(|v| v * v).sum::<f64>();
        let mut totals = totals.averaged();
        totals.cross = covariance.squared_norm_l2();
        totals.own = [squares(&x.spectrum), squares(&s.spectrum)];
        Ok(Self { covariance, totals })
    }

    /// For every row i, $\sum_jp_jA_{ij}B_{ij} = f_i^\top Cg_i$, and the same of each side with itself.
    pub(super) fn row_means(&self, x: &Factor, s: &Factor, watch: &Watch) -> Result<Vec<[f64; 3]>> {
        let means = by_blocks(x.rows, "interval for HSIC", watch, |block| {
            let mut means = Vec::with_capacity(block.len());
            for rows in pieces(block, CHUNK) {
                let (f, g) = (x.block(rows.clone())?, s.block(rows)?);
                let image = self.image(&g);
                let pairs = f.chunks_exact(x.rank()).zip(g.chunks_exact(s.rank()));
                for ((f, g), image) in pairs.zip(image.chunks_exact(padded(x.rank()))) {
                    let own = [(f, x), (g, s)].map(|(f, side)| weighted_square(f, &side.spectrum));
                    means.push([dot(f, image), own[0], own[1]]);
                }
            }
            Ok(means)
        })?;
        Ok(means.concat())
    }

    /// $Cg$ of rows after rows.
    fn image(&self, g: &[f64]) -> Vec<f64> {
        let (p, r) = (self.covariance.nrows(), self.covariance.ncols());
        let rows = g.len() / r;
        let mut image = vec![0.0; rows * p];
        matmul(
            MatMut::from_column_major_slice_mut(&mut image, p, rows),
            Accum::Replace,
            self.covariance.as_ref(),
            MatRef::from_column_major_slice(g, r, rows),
            1.0,
            Par::Seq,
        );
        image
    }
}

/// $\|\sum_ip_if_ig_{\pi(i)}^\top\|^2$ for every permutation π.
///
/// Permutations go in batches, so that products are never narrow.
pub(super) fn permuted(
    x: &Factor,
    s: &Factor,
    draws: &Draws<'_>,
    watch: &Watch,
) -> Result<Vec<f64>> {
    const WIDTH: usize = 32;
    let (count, rank) = (draws.resampling.permutations, s.rank());
    let batch = (WIDTH / rank).max(1);
    let weighted = scaled(&x.all()?, x.rank(), &draws.shares);
    let features = s.all()?;
    watch.begin("permutations for HSIC", count)?;
    let starts: Vec<usize> = (0..count).step_by(batch).collect();
    let values: Vec<Vec<f64>> = starts
        .into_par_iter()
        .with_max_len(1)
        .map(|start| {
            watch.check()?;
            let numbers = start..(start + batch).min(count);
            let orders: Vec<Vec<u32>> = numbers.map(|number| draws.permutation(number)).collect();
            let width = rank * orders.len();
            let mut sum = Mat::<f64>::zeros(padded(x.rank()), width);
            let mut gathered = vec![0.0; CHUNK * width];
            for rows in pieces(0..x.rows, CHUNK) {
                let gathered = &mut gathered[..rows.len() * width];
                for (row, i) in gathered.chunks_exact_mut(width).zip(rows.clone()) {
                    for (part, order) in row.chunks_exact_mut(rank).zip(&orders) {
                        let from = order[i] as usize * rank;
                        part.copy_from_slice(&features[from..from + rank]);
                    }
                }
                let f = &weighted[rows.start * padded(x.rank())..rows.end * padded(x.rank())];
                add_product(&mut sum, f, gathered);
            }
            watch.advance_by(orders.len());
            let square = |k: usize| sum.subcols(k * rank, rank).squared_norm_l2();
            Ok((0..orders.len()).map(square).collect())
        })
        .collect::<Result<_>>()?;
    Ok(values.concat())
}

/// The normalised HSIC of every resample: from the covariance of both sides' features, taken together.
pub(super) fn resampled(
    x: &Factor,
    s: &Factor,
    draws: &Draws<'_>,
    watch: &Watch,
) -> Result<Vec<f64>> {
    let (p, r) = (x.rank(), s.rank());
    let (f, g) = (x.all()?, s.all()?);
    let joined: Vec<f64> = f
        .chunks_exact(p)
        .zip(g.chunks_exact(r))
        .flat_map(|(f, g)| f.iter().chain(g))
        .copied()
        .collect();
    let width = p + r;
    watch.begin("resamples for HSIC", draws.resampling.resamples)?;
    (0..draws.resampling.resamples)
        .into_par_iter()
        .with_max_len(1)
        .map(|number| {
            watch.check()?;
            let shares = draws.resample(number);
            let mut sum = Mat::<f64>::zeros(padded(width + 1), padded(width + 1));
            for rows in pieces(0..x.rows, CHUNK) {
                // More than a third of the rows are not in a resample.
                let rows = rows.filter(|&i| shares[i] > 0.0);
                let rows = rows.map(|i| (&joined[i * width..(i + 1) * width], shares[i]));
                sum += second_moments(rows, width);
            }
            watch.advance();
            let entry =
                |i: usize, j: usize| sum[(i.max(j), i.min(j))] - sum[(width, i)] * sum[(width, j)];
            let square = |rows: Range<usize>, columns: Range<usize>| -> f64 {
                let row = |i| {
                    columns
                        .clone()
                        .map(move |j| entry(i, j).powi(2))
                        .sum::<f64>()
                };
                rows.map(row).sum()
            };
            Ok(normalized(
                square(0..p, p..width),
                square(0..p, 0..p),
                square(p..width, p..width),
            ))
        })
        .collect()
}

/// Adds $\sum_if_ig_i^\top$ of rows after rows.
fn add_product(sum: &mut Mat<f64>, f: &[f64], g: &[f64]) {
    let (p, r) = (sum.nrows(), sum.ncols());
    let rows = f.len() / p;
    matmul(
        sum.as_mut(),
        Accum::Add,
        MatRef::from_column_major_slice(f, p, rows),
        MatRef::from_row_major_slice(g, rows, r),
        1.0,
        Par::Seq,
    );
}

/// Every row times its weight, with zeros after it.
fn scaled(features: &[f64], rank: usize, weights: &[f64]) -> Vec<f64> {
    let mut scaled = vec![0.0; weights.len() * padded(rank)];
    let rows = features.chunks_exact(rank).zip(weights);
    for (to, (row, weight)) in scaled.chunks_exact_mut(padded(rank)).zip(rows) {
        to.iter_mut().zip(row).for_each(|(to, f)| *to = weight * f);
    }
    scaled
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// $\sum_k\lambda_kf_k^2$
fn weighted_square(f: &[f64], spectrum: &[f64]) -> f64 {
    f.iter().zip(spectrum).map(|(f, v)| v * f * f).sum()
}
