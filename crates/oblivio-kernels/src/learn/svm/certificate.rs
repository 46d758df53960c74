//! How good a solution is, from nothing but itself.

use oblivio_base::Named;

use super::{Certificate, Margins, SvmSolver};
use crate::learn::{Intercept, dot};

/// Brings coefficients $a_i = \alpha_i y_i$ into the box $0 \le \alpha_i \le C_i$ and, with an intercept, onto $\sum_i a_i = 0$.
pub(super) fn make_feasible(problem: &Margins, coefficients: &mut [f64]) {
    let Margins { labels, caps, .. } = *problem;
    for ((a, y), cap) in coefficients.iter_mut().zip(labels).zip(caps) {
        *a = y * (*a * y).clamp(0.0, *cap);
    }
    if problem.intercept == Intercept::None {
        return;
    }
    // What is left over is spread over the coefficients by the room they have, which moves none out of the box.
    let room = |a: f64, cap: f64| a.abs().min(cap - a.abs());
    for _ in 0..3 {
        let over: f64 = coefficients.iter().sum();
        let rooms = coefficients.iter().zip(caps);
        let total: f64 = rooms.map(|(a, cap)| room(*a, *cap)).sum();
        if over == 0.0 || over.abs() > total {
            break;
        }
        for (a, cap) in coefficients.iter_mut().zip(caps) {
            *a -= over * (room(*a, *cap) / total);
        }
    }
    // Otherwise the heavier class gives way.
    let side = |sign: f64| {
        let members = coefficients.iter().filter(|a| **a * sign > 0.0);
        members.map(|a| a.abs()).sum::<f64>()
    };
    let (plus, minus) = (side(1.0), side(-1.0));
    if (plus - minus).abs() > 1e-12 * plus.max(minus) {
        let heavier = if plus > minus { 1.0 } else { -1.0 };
        let factor = plus.min(minus) / plus.max(minus);
        for a in coefficients.iter_mut().filter(|a| **a * heavier > 0.0) {
            *a *= factor;
        }
    }
}

/// The constant c that makes $\sum_i C_i \max(0, 1 - y_i(f_i + c))$ least; the middle if an interval of them does.
///
/// Row i is charged $y_i(s_i - c)$ with $s_i = y_i - f_i$, so the slope in c is the weight of the negative rows with $s_i < c$ less
/// that of the positive rows with $s_i > c$, and it changes sign at one of the $s_i$.
pub(super) fn best_intercept(problem: &Margins, values: &[f64]) -> f64 {
    let Margins { labels, caps, .. } = *problem;
    if problem.intercept == Intercept::None {
        return 0.0;
    }
    let mut breaks: Vec<(f64, f64)> = (labels.iter().zip(values).zip(caps))
        .map(|((y, f), cap)| (y - f, *cap))
        .collect();
    breaks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let positive = labels.iter().zip(caps).filter(|(y, _)| **y > 0.0);
    let total: f64 = caps.iter().sum();
    let mut slope = -positive.map(|(_, cap)| cap).sum::<f64>();
    let flat = 1e-13 * total;
    let mut first = None;
    for (at, cap) in &breaks {
        slope += cap;
        if slope > flat {
            // The end of a flat piece, or a corner.
            return first.map_or(*at, |first: f64| f64::midpoint(first, *at));
        }
        if slope >= -flat && first.is_none() {
            first = Some(*at);
        }
    }
    first.unwrap_or(0.0)
}

/// $\sum_i C_i \max(0, 1 - y_i(f_i + c))$
pub(super) fn hinge(problem: &Margins, values: &[f64], intercept: f64) -> f64 {
    let rows = problem.labels.iter().zip(problem.caps).zip(values);
    rows.map(|((y, cap), f)| cap * (1.0 - y * (f + intercept)).max(0.0))
        .sum()
}

/// Primal, dual and the intercept, from feasible coefficients a and $f = \mathcal O a$:
/// $P = \tfrac12 a^\top f + \sum_i C_i \max(0, 1 - y_i(f_i + c))$ and $D = \sum_i y_i a_i - \tfrac12 a^\top f$.
pub(super) fn values(problem: &Margins, coefficients: &[f64], values: &[f64]) -> (f64, f64, f64) {
    let half = 0.5 * dot(coefficients, values);
    let intercept = best_intercept(problem, values);
    let primal = half + hinge(problem, values, intercept);
    let dual = dot(coefficients, problem.labels) - half;
    (primal, dual, intercept)
}

/// The gap relative to the primal; an objective that is zero but for rounding counts as zero.
pub(super) fn relative(problem: &Margins, primal: f64, dual: f64) -> f64 {
    let floor = 1e-14 * problem.caps.iter().sum::<f64>();
    (primal - dual) / primal.abs().max(floor)
}

impl Certificate {
    pub(super) fn new(
        solver: SvmSolver,
        iterations: usize,
        (primal, dual): (f64, f64),
        (gap, tolerance): (f64, f64),
    ) -> Self {
        Self {
            solver: solver.name(),
            iterations,
            primal,
            dual,
            gap,
            converged: gap <= tolerance,
        }
    }
}
