//! The loops over all active rows that SMO spends its time in.
//!
//! They are plain code that the compiler vectorises, compiled for several instruction sets. Each looks at blocks: in a block it only
//! asks whether something better is there (a maximum, no branches and no division), and looks where only if so.

#![allow(
    clippy::inline_always,
    reason = "only inlined code is compiled for the caller's instruction set"
)]

use pulp::Arch;

/// Rows of a block: few enough that looking where costs little.
const BLOCK: usize = 64;
const LANES: usize = 8;

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

/// The largest of `value(k)` over a block.
#[inline(always)]
fn top(len: usize, value: impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [f64::NEG_INFINITY; LANES];
    let whole = len / LANES * LANES;
    let mut start = 0;
    while start < whole {
        for (lane, top) in lanes.iter_mut().enumerate() {
            *top = higher(value(start + lane), *top);
        }
        start += LANES;
    }
    let mut top = f64::NEG_INFINITY;
    for lane in lanes {
        top = higher(lane, top);
    }
    for k in whole..len {
        top = higher(value(k), top);
    }
    top
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
pub(super) fn partner(
    view: View,
    residuals: &[f64],
    row: &[f64],
    (highest, norm): (f64, f64),
    mut best: Gain,
) -> Gain {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let n = residuals.len();
            let (row, down, diagonal) = (&row[..n], &view.down[..n], &view.diagonal[..n]);
            for start in (0..n).step_by(BLOCK) {
                let end = (start + BLOCK).min(n);
                let (s, k) = (&residuals[start..end], &row[start..end]);
                let (down, diagonal) = (&down[start..end], &diagonal[start..end]);
                let len = s.len();
                let (k, down, diagonal) = (&k[..len], &down[..len], &diagonal[..len]);
                let fraction = |t: usize| {
                    let b = higher(highest - (s[t] + down[t]), 0.0);
                    (b * b, curvature(norm, diagonal[t], k[t]))
                };
                let over = top(len, |t| {
                    let (square, curvature) = fraction(t);
                    best.exceeded_by(square, curvature)
                });
                if over > 0.0 {
                    for t in 0..len {
                        let (square, curvature) = fraction(t);
                        if best.exceeded_by(square, curvature) > 0.0 {
                            best = Gain {
                                square,
                                curvature,
                                row: start + t,
                            };
                        }
                    }
                }
            }
            best
        },
    )
}

/// Takes `step` times (row i − row j) off the residuals and finds their extremes.
pub(super) fn update(
    view: View,
    residuals: &mut [f64],
    (grown, fallen): (&[f64], &[f64]),
    step: f64,
) -> Extremes {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let n = residuals.len();
            let (grown, fallen) = (&grown[..n], &fallen[..n]);
            let (up, down) = (&view.up[..n], &view.down[..n]);
            let mut extremes = Extremes {
                highest: (f64::NEG_INFINITY, usize::MAX),
                lowest: (f64::INFINITY, usize::MAX),
            };
            for start in (0..n).step_by(BLOCK) {
                let end = (start + BLOCK).min(n);
                let s = &mut residuals[start..end];
                let len = s.len();
                let (i, j) = (&grown[start..end][..len], &fallen[start..end][..len]);
                for t in 0..len {
                    s[t] -= step * (i[t] - j[t]);
                }
                extremes.see(start, s, &up[start..end], &down[start..end]);
            }
            extremes.locate(residuals, view);
            extremes
        },
    )
}

/// The extremes of residuals that stay as they are.
pub(super) fn extremes(view: View, residuals: &[f64]) -> Extremes {
    let mut extremes = Extremes {
        highest: (f64::NEG_INFINITY, usize::MAX),
        lowest: (f64::INFINITY, usize::MAX),
    };
    for start in (0..residuals.len()).step_by(BLOCK) {
        let end = (start + BLOCK).min(residuals.len());
        let s = &residuals[start..end];
        extremes.see(start, s, &view.up[start..end], &view.down[start..end]);
    }
    extremes.locate(residuals, view);
    extremes
}

impl Extremes {
    /// Compares with a block; rows are the block's start until [`locate`](Self::locate).
    #[inline(always)]
    fn see(&mut self, start: usize, s: &[f64], up: &[f64], down: &[f64]) {
        let len = s.len();
        let (up, down) = (&up[..len], &down[..len]);
        let highest = top(len, |t| s[t] + up[t]);
        let lowest = -top(len, |t| -(s[t] + down[t]));
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
            let block = start..residuals.len().min(start.saturating_add(BLOCK));
            block
                .into_iter()
                .find(|&t| residuals[t] + shift[t] == value)
                .unwrap_or(usize::MAX)
        };
        self.highest.1 = find(self.highest, view.up);
        self.lowest.1 = find(self.lowest, view.down);
    }
}

/// Takes `step` times a row off the residuals and finds the row whose own step gains most: the largest $s_i^2/\|z_i\|^2$ among
/// rows that can go the way of their residual. Also the largest such |s|.
pub(super) fn update_alone(
    view: View,
    residuals: &mut [f64],
    row: &[f64],
    step: f64,
) -> (Gain, f64) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let n = residuals.len();
            let (row, up, down) = (&row[..n], &view.up[..n], &view.down[..n]);
            let diagonal = &view.diagonal[..n];
            let (mut best, mut largest) = (Gain::NONE, 0.0);
            for start in (0..n).step_by(BLOCK) {
                let end = (start + BLOCK).min(n);
                let s = &mut residuals[start..end];
                let len = s.len();
                let k = &row[start..end][..len];
                for t in 0..len {
                    s[t] -= step * k[t];
                }
                let s = &s[..len];
                let (up, down) = (&up[start..end][..len], &down[start..end][..len]);
                let diagonal = &diagonal[start..end][..len];
                let violation = |t: usize| higher(higher(s[t] + up[t], -(s[t] + down[t])), 0.0);
                let fraction = |t: usize| {
                    let b = violation(t);
                    (b * b, higher(diagonal[t], f64::MIN_POSITIVE))
                };
                largest = higher(top(len, violation), largest);
                let over = top(len, |t| {
                    let (square, curvature) = fraction(t);
                    best.exceeded_by(square, curvature)
                });
                if over > 0.0 {
                    for t in 0..len {
                        let (square, curvature) = fraction(t);
                        if best.exceeded_by(square, curvature) > 0.0 {
                            best = Gain {
                                square,
                                curvature,
                                row: start + t,
                            };
                        }
                    }
                }
            }
            (best, largest)
        },
    )
}
