//! One block of a kernel matrix: geometry by matrix product, profile while the block is in cache.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the caller's instruction set"
)]

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, Par};
use oblivio_base::Points;

use super::exp::{Vectorized, exp, multiply_add, vectorize};
use super::{Kernel, Smoothness};

/// Points as the blocks need them: features as columns, and for kernels of the distance centred, with squared norms.
///
/// Distances come from $\|x\|^2 + \|x'\|^2 - 2\langle x, x'\rangle$, which loses digits when the points are far from the
/// origin compared with each other; a shift of the origin changes no distance.
#[derive(Clone, Debug)]
pub struct Side {
    raw: Mat<f64>,
    centred: Mat<f64>,
    squared_norms: Vec<f64>,
}

impl Side {
    /// Prepares points for `kernel`; both sides of a matrix need the same `centre`.
    pub fn new(kernel: &Kernel, points: &Points, centre: &[f64]) -> Self {
        let products = |k: &Kernel| {
            matches!(
                k,
                Kernel::Linear
                    | Kernel::Polynomial { .. }
                    | Kernel::Laplacian { .. }
                    | Kernel::Table(_)
            )
        };
        let distances = |k: &Kernel| matches!(k, Kernel::Gaussian { .. } | Kernel::Matern { .. });
        let columns = |needed: bool| {
            let rows = if needed { points.len() } else { 0 };
            Mat::zeros(rows, points.dim())
        };
        let centred = columns(kernel.any(&distances));
        let mut side = Self {
            raw: columns(kernel.any(&products)),
            squared_norms: vec![0.0; centred.nrows()],
            centred,
        };
        for i in 0..points.len() {
            side.set(i, points.row(i), centre);
        }
        side
    }

    /// Puts another point in the place of the i-th.
    pub(super) fn set(&mut self, i: usize, point: &[f64], centre: &[f64]) {
        if i < self.raw.nrows() {
            for (k, value) in point.iter().enumerate() {
                self.raw[(i, k)] = *value;
            }
        }
        if i < self.centred.nrows() {
            let mut squared_norm = 0.0;
            for (k, (value, centre)) in point.iter().zip(centre).enumerate() {
                let centred = value - centre;
                self.centred[(i, k)] = centred;
                squared_norm += centred * centred;
            }
            self.squared_norms[i] = squared_norm;
        }
    }

    /// The median of each feature: the centre that suits most of the points, whatever a few of them are.
    pub fn centre(points: &Points) -> Vec<f64> {
        (0..points.dim())
            .map(|k| {
                let mut values: Vec<f64> = (0..points.len()).map(|i| points.row(i)[k]).collect();
                if values.is_empty() {
                    return 0.0;
                }
                let middle = values.len() / 2;
                *values.select_nth_unstable_by(middle, f64::total_cmp).1
            })
            .collect()
    }
}

/// Part of a column-major matrix, held by one thread.
pub struct Tile<'a> {
    values: &'a mut [f64],
    stride: usize,
    rows: usize,
    columns: usize,
}

impl<'a> Tile<'a> {
    /// `values` starts at the tile's first entry; column j starts `j * stride` further on.
    #[inline]
    pub(crate) fn new(values: &'a mut [f64], stride: usize, rows: usize, columns: usize) -> Self {
        Self {
            values,
            stride,
            rows,
            columns,
        }
    }

    /// A column of the tile.
    #[inline]
    pub fn column(&mut self, j: usize) -> &mut [f64] {
        &mut self.values[j * self.stride..][..self.rows]
    }

    #[inline]
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The tile as a matrix.
    #[inline]
    pub fn as_mat(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_with_stride_mut(
            self.values,
            self.rows,
            self.columns,
            self.stride,
        )
    }
}

/// The rows and columns of a matrix that a tile stands for.
#[derive(Clone, Debug)]
pub struct Span {
    /// The rows.
    pub rows: Range<usize>,
    /// The columns.
    pub columns: Range<usize>,
}

/// Writes $k(x_i, x'_j)$ into `tile`.
///
/// `symmetric` says that both sides are the same points: then the diagonal is exactly k(x, x).
/// `spare` keeps the memory that sums and products need from one call to the next.
pub(super) fn fill(
    kernel: &Kernel,
    (left, right): (&Side, &Side),
    span: &Span,
    symmetric: bool,
    tile: &mut Tile,
    spare: &mut Vec<Vec<f64>>,
) {
    let product = |left: &Mat<f64>, right: &Mat<f64>, factor: f64, tile: &mut Tile| {
        matmul(
            tile.as_mat(),
            Accum::Replace,
            left.as_ref().subrows(span.rows.start, span.rows.len()),
            right
                .as_ref()
                .subrows(span.columns.start, span.columns.len())
                .transpose(),
            factor,
            Par::Seq,
        );
    };
    let squared = (&left.squared_norms[..], &right.squared_norms[..]);
    match kernel {
        Kernel::Linear => product(&left.raw, &right.raw, 1.0, tile),
        Kernel::Polynomial {
            degree,
            gamma,
            coef0,
        } => {
            product(&left.raw, &right.raw, *gamma, tile);
            vectorize(Power(tile, *degree, *coef0));
        }
        Kernel::Gaussian { gamma } => {
            product(&left.centred, &right.centred, 2.0 * gamma, tile);
            vectorize(Gaussian(tile, *gamma, squared, span));
        }
        Kernel::Matern { smoothness, gamma } => {
            product(&left.centred, &right.centred, -2.0, tile);
            let dim = left.centred.ncols();
            vectorize(Matern(tile, (*smoothness, *gamma, dim), squared, span));
        }
        Kernel::Laplacian { gamma } => {
            vectorize(Laplacian(tile, *gamma, (&left.raw, &right.raw), span));
        }
        Kernel::Sum(kernels) | Kernel::Product(kernels) => {
            let combine = match kernel {
                Kernel::Sum(_) => |a, b| a + b,
                _ => |a: f64, b: f64| a * b,
            };
            fill(&kernels[0], (left, right), span, symmetric, tile, spare);
            let (rows, columns) = (tile.rows(), tile.columns());
            let mut memory = spare.pop().unwrap_or_default();
            memory.resize(rows * columns, 0.0);
            for kernel in &kernels[1..] {
                let mut other = Tile::new(&mut memory, rows, rows, columns);
                fill(kernel, (left, right), span, symmetric, &mut other, spare);
                for j in 0..columns {
                    for (a, b) in tile.column(j).iter_mut().zip(other.column(j)) {
                        *a = combine(*a, *b);
                    }
                }
            }
            spare.push(memory);
        }
        Kernel::Scaled(factor, kernel) => {
            fill(kernel, (left, right), span, symmetric, tile, spare);
            for j in 0..tile.columns() {
                tile.column(j).iter_mut().for_each(|v| *v *= factor);
            }
        }
        Kernel::Table(table) => {
            let left = &left.raw.col_as_slice(0)[span.rows.clone()];
            let right = &right.raw.col_as_slice(0)[span.columns.clone()];
            for (j, y) in right.iter().enumerate() {
                for (v, x) in tile.column(j).iter_mut().zip(left) {
                    *v = table.value(*x, *y);
                }
            }
        }
    }
    if symmetric && matches!(kernel, Kernel::Gaussian { .. } | Kernel::Matern { .. }) {
        for i in span.rows.start.max(span.columns.start)..span.rows.end.min(span.columns.end) {
            tile.column(i - span.columns.start)[i - span.rows.start] = 1.0;
        }
    }
}

/// $(v + c_0)^p$ where v = γ⟨x, x'⟩
struct Power<'a, 't>(&'a mut Tile<'t>, u32, f64);

impl Vectorized for Power<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self(tile, degree, coef0) = self;
        for j in 0..tile.columns {
            for v in tile.column(j) {
                let base = *v + coef0;
                *v = match degree {
                    1 => base,
                    2 => base * base,
                    3 => base * base * base,
                    _ => base.powi(degree.cast_signed()),
                };
            }
        }
    }
}

/// exp(v − γ‖x‖² − γ‖x'‖²) where v = 2γ⟨x, x'⟩
struct Gaussian<'a, 't>(&'a mut Tile<'t>, f64, (&'a [f64], &'a [f64]), &'a Span);

impl Vectorized for Gaussian<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self(tile, gamma, (left, right), span) = self;
        let left = &left[span.rows.clone()];
        for (j, y) in right[span.columns.clone()].iter().enumerate() {
            let y = gamma * y;
            for (v, x) in tile.column(j).iter_mut().zip(left) {
                let exponent = multiply_add::<FUSED>(-gamma, *x, *v - y);
                // Rounding can leave a tiny positive exponent between equal points; norms that overflow are far apart.
                let exponent = if exponent > 0.0 { 0.0 } else { exponent };
                let exponent = if exponent <= 0.0 {
                    exponent
                } else {
                    f64::NEG_INFINITY
                };
                *v = exp::<FUSED>(exponent);
            }
        }
    }
}

/// The profile of u = √(2ν) γ √(v + ‖x‖² + ‖x'‖²) where v = −2⟨x, x'⟩
struct Matern<'a, 't>(
    &'a mut Tile<'t>,
    (Smoothness, f64, usize),
    (&'a [f64], &'a [f64]),
    &'a Span,
);

impl Vectorized for Matern<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self(tile, (smoothness, gamma, dim), (left, right), span) = self;
        let factor = smoothness.factor() * gamma;
        let slack = (dim as f64 + 4.0) * f64::EPSILON;
        let (linear, quadratic) = match smoothness {
            Smoothness::Half => (0.0, 0.0),
            Smoothness::ThreeHalves => (1.0, 0.0),
            Smoothness::FiveHalves => (1.0, 1.0 / 3.0),
        };
        let left = &left[span.rows.clone()];
        for (j, y) in right[span.columns.clone()].iter().enumerate() {
            for (v, x) in tile.column(j).iter_mut().zip(left) {
                let squared = *v + x + y;
                // A square below its own rounding error is zero; its root would not be small.
                let squared = if squared < slack * (x + y) {
                    0.0
                } else {
                    squared
                };
                let u = factor * squared.sqrt();
                // An infinite u would meet exp(−u) = 0 as infinity times zero; norms that overflow are far apart.
                let u = if u < 1e150 { u } else { 1e150 };
                *v = (1.0 + u * (linear + quadratic * u)) * exp::<FUSED>(-u);
            }
        }
    }
}

/// exp(−γ‖x − x'‖₁)
struct Laplacian<'a, 't>(
    &'a mut Tile<'t>,
    f64,
    (&'a Mat<f64>, &'a Mat<f64>),
    &'a Span,
);

impl Vectorized for Laplacian<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self(tile, gamma, (left, right), span) = self;
        for j in 0..tile.columns {
            let column = tile.column(j);
            column.fill(0.0);
            for k in 0..left.ncols() {
                let y = right[(span.columns.start + j, k)];
                let x = &left.col_as_slice(k)[span.rows.clone()];
                for (v, x) in column.iter_mut().zip(x) {
                    *v += (x - y).abs();
                }
            }
            for v in column {
                *v = exp::<FUSED>(-gamma * *v);
            }
        }
    }
}

/// Adds w_j times column j of the tile to the sums of its group.
pub(super) fn accumulate(tile: &mut Tile, weights: &[f64], groups: &[u32], sums: &mut [f64]) {
    vectorize(Accumulate(tile, weights, groups, sums));
}

struct Accumulate<'a, 't>(&'a mut Tile<'t>, &'a [f64], &'a [u32], &'a mut [f64]);

impl Vectorized for Accumulate<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self(tile, weights, groups, sums) = self;
        let (rows, stride) = (tile.rows, tile.stride);
        let column = |j: usize| &tile.values[j * stride..][..rows];
        let mut j = 0;
        while j < weights.len() {
            let sums = &mut sums[groups[j] as usize * rows..][..rows];
            // Four columns of one group at a time: the sums are read and written once for all.
            if let (Some(&[u, v, w, x]), true) = (
                weights[j..].first_chunk::<4>(),
                groups[j..].iter().take(4).all(|group| *group == groups[j]),
            ) {
                let first = sums.iter_mut().zip(column(j)).zip(column(j + 1));
                for ((((sum, a), b), c), d) in first.zip(column(j + 2)).zip(column(j + 3)) {
                    let half = multiply_add::<FUSED>(u, *a, v * b);
                    *sum += multiply_add::<FUSED>(w, *c, multiply_add::<FUSED>(x, *d, half));
                }
                j += 4;
            } else {
                for (sum, value) in sums.iter_mut().zip(column(j)) {
                    *sum = multiply_add::<FUSED>(weights[j], *value, *sum);
                }
                j += 1;
            }
        }
    }
}
