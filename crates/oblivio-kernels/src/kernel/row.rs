//! A kernel at one point after the other, in memory that is taken once.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the caller's instruction set"
)]

use std::sync::Arc;

use oblivio_base::Points;

use super::Kernel;
use super::block::{self, Side, Span, Tile};
use super::exp::{Vectorized, multiply_add, vectorize};
use super::matrix::ROWS;

/// Partial sums of an inner product.
const LANES: usize = 8;

/// The column $k(x_1, x), k(x_2, x), \dots$ of a kernel matrix between given points and a single one.
///
/// Clones share what they know of the points, not the memory they work in.
#[derive(Clone, Debug)]
pub struct KernelRow {
    kernel: Kernel,
    points: Arc<Side>,
    centre: Arc<[f64]>,
    one: Side,
    values: Vec<f64>,
    spare: Vec<Vec<f64>>,
}

impl KernelRow {
    /// Between these points and those to come.
    pub(crate) fn new(kernel: &Kernel, points: &Points) -> Self {
        let centre = Side::centre(points);
        let one = Points::of_rows(&[&centre]);
        let mut row = Self {
            kernel: kernel.clone(),
            points: Arc::new(Side::new(kernel, points, &centre)),
            one: Side::new(kernel, &one, &centre),
            centre: centre.into(),
            values: vec![0.0; points.len()],
            spare: Vec::new(),
        };
        // Sums and products of kernels take their memory now, and not with the first point.
        row.fill();
        row
    }

    /// $k(x_j, x)$ for every j, x being a point with as many features.
    pub(crate) fn at(&mut self, point: &[f64]) -> &[f64] {
        self.one.set(0, point, &self.centre);
        self.fill();
        &self.values
    }

    /// The same for the last point.
    pub(crate) fn last(&self) -> &[f64] {
        &self.values
    }

    fn fill(&mut self) {
        for (tile, values) in self.values.chunks_mut(ROWS).enumerate() {
            let (start, rows) = (tile * ROWS, values.len());
            let span = Span {
                rows: start..start + rows,
                columns: 0..1,
            };
            block::fill(
                &self.kernel,
                (&self.points, &self.one),
                &span,
                false,
                &mut Tile::new(values, rows, rows, 1),
                &mut self.spare,
            );
        }
    }
}

/// $\sum_j a_jb_j$
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    vectorize(Dot(a, b))
}

struct Dot<'a>(&'a [f64], &'a [f64]);

impl Vectorized for Dot<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> f64 {
        let Self(a, b) = self;
        let (a, rest) = a.as_chunks::<LANES>();
        let (b, other) = b.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for (a, b) in a.iter().zip(b) {
            for lane in 0..LANES {
                sums[lane] = multiply_add::<FUSED>(a[lane], b[lane], sums[lane]);
            }
        }
        let pairs = rest.iter().zip(other);
        sums.iter().sum::<f64>() + pairs.map(|(a, b)| a * b).sum::<f64>()
    }
}
