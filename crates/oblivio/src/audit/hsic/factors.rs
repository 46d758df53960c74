//! Two sides of low rank, through their features.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use super::factor::{BLOCK, Factor, second_moments};
use super::pair::Draws;
use super::totals::{Totals, normalized};
use crate::error::Result;
use crate::watch::Watch;

/// The features' covariance $C = \sum_ip_if_ig_i^\top$ and what else one pass over the rows gives.
pub(super) struct Cross {
    covariance: Mat<f64>,
    pub(super) totals: Totals,
}

impl Cross {
    pub(super) fn of(x: &Factor, s: &Factor, weights: &[f64], watch: &Watch) -> Result<Self> {
        let blocks = Factor::blocks(x.rows);
        watch.begin("covariance for HSIC", blocks.len())?;
        let sums: Vec<(Mat<f64>, Totals)> = blocks
            .into_par_iter()
            .map(|rows| {
                watch.check()?;
                let weights = &weights[rows.clone()];
                let (f, g) = (x.block(rows.clone())?, s.block(rows)?);
                let weighted = scaled(&f, x.rank(), weights);
                let mut totals = Totals::default();
                let pairs = f.chunks_exact(x.rank()).zip(g.chunks_exact(s.rank()));
                for ((f, g), w) in pairs.zip(weights) {
                    totals.add_diagonal(*w, dot(f, f), dot(g, g));
                }
                watch.advance();
                Ok((product(&weighted, x.rank(), &g, s.rank()), totals))
            })
            .collect::<Result<_>>()?;
        let mut covariance = Mat::<f64>::zeros(x.rank(), s.rank());
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
        let blocks = Factor::blocks(x.rows);
        watch.begin("interval for HSIC", blocks.len())?;
        let means: Vec<Vec<[f64; 3]>> = blocks
            .into_par_iter()
            .map(|rows| {
                watch.check()?;
                let (f, g) = (x.block(rows.clone())?, s.block(rows.clone())?);
                let image =
                    &self.covariance * MatRef::from_column_major_slice(&g, s.rank(), rows.len());
                let row = |i: usize| {
                    let f = &f[i * x.rank()..(i + 1) * x.rank()];
                    let g = &g[i * s.rank()..(i + 1) * s.rank()];
                    let cross = f.iter().zip(image.col(i).iter()).map(|(a, b)| a * b).sum();
                    [
                        cross,
                        weighted_square(f, &x.spectrum),
                        weighted_square(g, &s.spectrum),
                    ]
                };
                watch.advance();
                Ok((0..rows.len()).map(row).collect())
            })
            .collect::<Result<_>>()?;
        Ok(means.concat())
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
            let mut sum = Mat::<f64>::zeros(x.rank(), width);
            let mut gathered = vec![0.0; BLOCK.min(x.rows) * width];
            for rows in Factor::blocks(x.rows) {
                let gathered = &mut gathered[..rows.len() * width];
                for (row, i) in gathered.chunks_exact_mut(width).zip(rows.clone()) {
                    for (part, order) in row.chunks_exact_mut(rank).zip(&orders) {
                        let from = order[i] as usize * rank;
                        part.copy_from_slice(&features[from..from + rank]);
                    }
                }
                let f = &weighted[rows.start * x.rank()..rows.end * x.rank()];
                sum += product(f, x.rank(), gathered, width);
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
            let mut sum = Mat::<f64>::zeros(width + 1, width + 1);
            let (mut features, mut weights) = (Vec::new(), Vec::new());
            for rows in Factor::blocks(x.rows) {
                features.clear();
                weights.clear();
                // More than a third of the rows are not in a resample.
                for i in rows.filter(|&i| shares[i] > 0.0) {
                    features.extend_from_slice(&joined[i * width..(i + 1) * width]);
                    weights.push(shares[i]);
                }
                sum += second_moments(&features, width, &weights);
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

/// $\sum_if_ig_i^\top$ of rows after rows.
fn product(f: &[f64], p: usize, g: &[f64], r: usize) -> Mat<f64> {
    let rows = f.len() / p;
    let mut sum = Mat::zeros(p, r);
    matmul(
        sum.as_mut(),
        Accum::Replace,
        MatRef::from_column_major_slice(f, p, rows),
        MatRef::from_row_major_slice(g, rows, r),
        1.0,
        Par::Seq,
    );
    sum
}

/// Every row times its weight.
fn scaled(features: &[f64], rank: usize, weights: &[f64]) -> Vec<f64> {
    let rows = features.chunks_exact(rank).zip(weights);
    rows.flat_map(|(row, w)| row.iter().map(move |f| w * f))
        .collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// $\sum_k\lambda_kf_k^2$
fn weighted_square(f: &[f64], spectrum: &[f64]) -> f64 {
    f.iter().zip(spectrum).map(|(f, v)| v * f * f).sum()
}
