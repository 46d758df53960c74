//! The loops over all active rows that SMO spends its time in.
//!
//! They are plain code that the compiler vectorises, compiled for several instruction sets. Each looks at blocks: in a block it only
//! asks whether something better is there (a maximum, no branches and no division), and looks where only if so.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the caller's instruction set"
)]

use crate::kernel::exp::{Vectorized, vectorize};

/// Rows that are handled at once.
const LANES: usize = 8;
/// Groups of rows in a block: few enough that looking where costs little.
const GROUPS: usize = 8;
const BLOCK: usize = GROUPS * LANES;

type Lanes = [f64; LANES];

/// Whole groups of rows; the rest is up to the caller.
#[inline(always)]
fn groups(rows: &[f64]) -> &[Lanes] {
    rows.as_chunks().0
}

/// What the choice of rows is made from; each slice is of the active rows.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    /// Zero where a coefficient can grow, −∞ where it cannot.
    pub(super) up: &'a [f64],
    /// Zero where a coefficient can fall, +∞ where it cannot.
    pub(super) down: &'a [f64],
    /// $\|z\|^2$
    pub(super) diagonal: &'a [f64],
}

/// The largest residual of a row that can grow, and the smallest of one that can fall.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extremes {
    pub(super) highest: (f64, usize),
    pub(super) lowest: (f64, usize),
}

/// A gain $b^2/\eta$ as a fraction, and the row that has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gain {
    pub(super) square: f64,
    pub(super) curvature: f64,
    pub(super) row: usize,
}

impl Gain {
    pub(super) const NONE: Self = Self {
        square: 0.0,
        curvature: 1.0,
        row: usize::MAX,
    };

    #[inline(always)]
    fn exceeded_by(self, square: f64, curvature: f64) -> f64 {
        square * self.curvature - self.square * curvature
    }
}

// `f64::max` also orders NaN, which costs instructions; there is none here.
#[inline(always)]
fn higher(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[inline(always)]
fn highest(lanes: Lanes) -> f64 {
    lanes.into_iter().fold(f64::NEG_INFINITY, higher)
}

/// A curvature that is zero (two equal rows) is taken as this part of its terms: the box then bounds the step.
const FLAT: f64 = 1e-14;

/// $\|z_i - z_j\|^2$, positive.
#[inline(always)]
pub(super) fn curvature(first: f64, second: f64, inner: f64) -> f64 {
    let terms = first + second;
    higher(higher(terms - 2.0 * inner, FLAT * terms), f64::MIN_POSITIVE)
}

/// The row j that gains most beside row i of residual `highest`: the largest
/// $(s_i - s_j)_+^2/\|z_i - z_j\|^2$ among rows that can fall (Fan, Chen and Lin 2005).
pub(super) struct Partner<'a> {
    pub(super) view: View<'a>,
    pub(super) residuals: &'a [f64],
    /// Row i of the matrix.
    pub(super) row: &'a [f64],
    pub(super) highest: f64,
    /// $\|z_i\|^2$
    pub(super) norm: f64,
    /// A first guess.
    pub(super) best: Gain,
}

impl Partner<'_> {
    pub(super) fn find(self) -> Gain {
        vectorize(self)
    }

    #[inline(always)]
    fn fraction(&self, s: f64, down: f64, diagonal: f64, inner: f64) -> (f64, f64) {
        let b = higher(self.highest - (s + down), 0.0);
        (b * b, curvature(self.norm, diagonal, inner))
    }

    #[inline(always)]
    fn search(&mut self, rows: std::ops::Range<usize>) {
        for t in rows {
            let (down, diagonal) = (self.view.down[t], self.view.diagonal[t]);
            let (square, curvature) = self.fraction(self.residuals[t], down, diagonal, self.row[t]);
            if self.best.exceeded_by(square, curvature) > 0.0 {
                self.best = Gain {
                    square,
                    curvature,
                    row: t,
                };
            }
        }
    }
}

impl Vectorized for Partner<'_> {
    type Output = Gain;

    #[inline(always)]
    fn run<const FUSED: bool>(mut self) -> Gain {
        let blocks = groups(self.residuals).chunks(GROUPS);
        let blocks = blocks.zip(groups(self.row).chunks(GROUPS));
        let blocks = blocks.zip(groups(self.view.down).chunks(GROUPS));
        let blocks = blocks.zip(groups(self.view.diagonal).chunks(GROUPS));
        for (block, (((s, row), down), diagonal)) in blocks.enumerate() {
            let mut over = [f64::NEG_INFINITY; LANES];
            for (((s, row), down), diagonal) in s.iter().zip(row).zip(down).zip(diagonal) {
                for k in 0..LANES {
                    let (square, curvature) = self.fraction(s[k], down[k], diagonal[k], row[k]);
                    over[k] = higher(self.best.exceeded_by(square, curvature), over[k]);
                }
            }
            if highest(over) > 0.0 {
                self.search(block * BLOCK..block * BLOCK + s.len() * LANES);
            }
        }
        let n = self.residuals.len();
        self.search(n / LANES * LANES..n);
        self.best
    }
}

/// Takes `step` times (row i − row j) off the residuals and finds their extremes.
pub(super) struct Update<'a> {
    pub(super) view: View<'a>,
    pub(super) residuals: &'a mut [f64],
    /// Row i and row j of the matrix.
    pub(super) grown: &'a [f64],
    pub(super) fallen: &'a [f64],
    pub(super) step: f64,
}

impl Update<'_> {
    pub(super) fn apply(self) -> Extremes {
        vectorize(self)
    }
}

impl Vectorized for Update<'_> {
    type Output = Extremes;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> Extremes {
        let mut extremes = Extremes::NONE;
        let (view, step) = (self.view, self.step);
        let (whole, rest) = self.residuals.as_chunks_mut::<LANES>();
        let start = whole.len() * LANES;
        let blocks = whole.chunks_mut(GROUPS);
        let blocks = blocks.zip(groups(self.grown).chunks(GROUPS));
        let blocks = blocks.zip(groups(self.fallen).chunks(GROUPS));
        let blocks = blocks.zip(groups(view.up).chunks(GROUPS));
        let blocks = blocks.zip(groups(view.down).chunks(GROUPS));
        for (block, ((((s, i), j), up), down)) in blocks.enumerate() {
            let mut top = [f64::NEG_INFINITY; LANES];
            let mut bottom = [f64::NEG_INFINITY; LANES];
            let rows = s.iter_mut().zip(i).zip(j).zip(up).zip(down);
            for ((((s, i), j), up), down) in rows {
                for k in 0..LANES {
                    s[k] -= step * (i[k] - j[k]);
                    top[k] = higher(s[k] + up[k], top[k]);
                    bottom[k] = higher(-(s[k] + down[k]), bottom[k]);
                }
            }
            extremes.see(block * BLOCK, highest(top), -highest(bottom));
        }
        for (k, s) in rest.iter_mut().enumerate() {
            let t = start + k;
            *s -= step * (self.grown[t] - self.fallen[t]);
            extremes.see(t, *s + view.up[t], *s + view.down[t]);
        }
        extremes.locate(self.residuals, view);
        extremes
    }
}

impl Extremes {
    pub(super) const NONE: Self = Self {
        highest: (f64::NEG_INFINITY, usize::MAX),
        lowest: (f64::INFINITY, usize::MAX),
    };

    /// Of residuals that stay as they are.
    pub(super) fn of(view: View, residuals: &[f64]) -> Self {
        let mut extremes = Self::NONE;
        for (t, s) in residuals.iter().enumerate() {
            extremes.see(t, s + view.up[t], s + view.down[t]);
        }
        extremes
    }

    /// Compares with rows from `start` on; which of them it was is left to [`locate`](Self::locate).
    #[inline(always)]
    fn see(&mut self, start: usize, highest: f64, lowest: f64) {
        if highest > self.highest.0 {
            self.highest = (highest, start);
        }
        if lowest < self.lowest.0 {
            self.lowest = (lowest, start);
        }
    }

    #[inline(always)]
    fn locate(&mut self, residuals: &[f64], view: View) {
        let find = |(value, start): (f64, usize), shift: &[f64]| {
            let mut block = start..residuals.len().min(start.saturating_add(BLOCK));
            let found = block.find(|&t| residuals[t] + shift[t] == value);
            found.unwrap_or(usize::MAX)
        };
        self.highest.1 = find(self.highest, view.up);
        self.lowest.1 = find(self.lowest, view.down);
    }
}

/// Takes `step` times a row off the residuals and finds the row whose own step gains most: the largest $s_i^2/\|z_i\|^2$ among
/// rows that can go the way of their residual. Also the largest such |s|.
pub(super) struct Alone<'a> {
    pub(super) view: View<'a>,
    pub(super) residuals: &'a mut [f64],
    pub(super) row: &'a [f64],
    pub(super) step: f64,
}

impl Alone<'_> {
    pub(super) fn apply(self) -> (Gain, f64) {
        vectorize(self)
    }
}

/// How far a row is from where it wants to be.
#[inline(always)]
fn violation(s: f64, up: f64, down: f64) -> f64 {
    higher(higher(s + up, -(s + down)), 0.0)
}

impl Vectorized for Alone<'_> {
    type Output = (Gain, f64);

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> (Gain, f64) {
        let (mut best, mut largest) = (Gain::NONE, 0.0);
        let view = self.view;
        let n = self.residuals.len();
        for start in (0..n).step_by(BLOCK) {
            let rows = start..(start + BLOCK).min(n);
            let s = &mut self.residuals[rows.clone()];
            for (s, k) in s.iter_mut().zip(&self.row[rows.clone()]) {
                *s -= self.step * k;
            }
            let (up, down) = (&view.up[rows.clone()], &view.down[rows.clone()]);
            let diagonal = &view.diagonal[rows];
            let mut over = [f64::NEG_INFINITY; LANES];
            let mut worst = [0.0; LANES];
            let all = groups(s).iter().zip(groups(up)).zip(groups(down));
            for (((s, up), down), diagonal) in all.zip(groups(diagonal)) {
                for k in 0..LANES {
                    let b = violation(s[k], up[k], down[k]);
                    let norm = higher(diagonal[k], f64::MIN_POSITIVE);
                    worst[k] = higher(b, worst[k]);
                    over[k] = higher(best.exceeded_by(b * b, norm), over[k]);
                }
            }
            largest = higher(highest(worst), largest);
            let whole = if highest(over) > 0.0 {
                0
            } else {
                s.len() / LANES * LANES
            };
            for t in whole..s.len() {
                let b = violation(s[t], up[t], down[t]);
                let norm = higher(diagonal[t], f64::MIN_POSITIVE);
                largest = higher(b, largest);
                if best.exceeded_by(b * b, norm) > 0.0 {
                    best = Gain {
                        square: b * b,
                        curvature: norm,
                        row: start + t,
                    };
                }
            }
        }
        (best, largest)
    }
}
