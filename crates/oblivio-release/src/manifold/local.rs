//! A local minimum from a starting point, within the box.

use optimization_engine::constraints::Rectangle;
use optimization_engine::core::Problem;
use optimization_engine::core::panoc::{PANOCCache, PANOCOptimizer};

use super::objective::{Objective, Scratch};
use super::region::Span;

/// A search ends when a step is shorter than this share of the box.
const SHORT: f64 = 1e-8;
const MOST_STEPS: usize = 200;
/// Past steps that an L-BFGS direction is made of.
const MEMORY: usize = 8;

/// Moves x downhill along the free features and gives f there. It never ends higher than it starts.
pub(super) fn descend(
    objective: &Objective,
    free: &[Span],
    x: &mut [f64],
    scratch: &mut Scratch,
) -> f64 {
    if free.is_empty() {
        return objective.value(x, scratch);
    }
    match objective.space.gaussian() {
        Some(gamma) => fixed_point(objective, gamma, free, x, scratch),
        None => quasi_newton(objective, free, x, scratch),
    }
}

/// For the Gaussian kernel f falls as $g(x) = \sum_ja_jk(b_j, x)$ rises, and g is stationary where $x = \sum_ja_jk(b_j, x)b_j/g(x)$.
///
/// That is a step along the slope, of a length that suits the kernel. Coefficients below zero can make it too long: it is halved until
/// g does not fall. The box is met by taking the nearest point in it.
fn fixed_point(
    objective: &Objective,
    gamma: f64,
    free: &[Span],
    x: &mut [f64],
    scratch: &mut Scratch,
) -> f64 {
    const HALVINGS: usize = 40;
    let mut means = vec![0.0; x.len()];
    let mut next_means = means.clone();
    let mut next = x.to_vec();
    let mut inner = objective.mean(gamma, x, &mut means, scratch);
    for _ in 0..MOST_STEPS {
        if inner <= 0.0 {
            break;
        }
        let mut length = 1.0;
        let mut found = None;
        for _ in 0..HALVINGS {
            let mut farthest: f64 = 0.0;
            for span in free {
                let k = span.feature;
                let target = means[k] / inner;
                next[k] = (x[k] + length * (target - x[k])).clamp(span.low, span.high);
                farthest = farthest.max((next[k] - x[k]).abs() / span.width());
            }
            if farthest <= SHORT {
                break;
            }
            let value = objective.mean(gamma, &next, &mut next_means, scratch);
            if value >= inner {
                found = Some(value);
                break;
            }
            length *= 0.5;
        }
        let Some(value) = found else {
            break;
        };
        let gained = value - inner;
        x.copy_from_slice(&next);
        std::mem::swap(&mut means, &mut next_means);
        inner = value;
        if gained <= f64::EPSILON * inner {
            break;
        }
    }
    1.0 - 2.0 * inner
}

/// L-BFGS within a box, by the proximal method PANOC of the library.
fn quasi_newton(objective: &Objective, free: &[Span], x: &mut [f64], scratch: &mut Scratch) -> f64 {
    let start = objective.value(x, scratch);
    let low: Vec<f64> = vec![0.0; free.len()];
    let high: Vec<f64> = vec![1.0; free.len()];
    let at = |u: &[f64]| {
        let mut point = x.to_vec();
        for (span, u) in free.iter().zip(u) {
            point[span.feature] = span.at(*u);
        }
        point
    };
    let memory = std::cell::RefCell::new(scratch);
    let value = |u: &[f64], value: &mut f64| {
        *value = objective.value(&at(u), &mut memory.borrow_mut());
        Ok(())
    };
    let slope = |u: &[f64], slope: &mut [f64]| {
        let mut whole = vec![0.0; x.len()];
        objective.slope(&at(u), &mut whole, &mut memory.borrow_mut());
        for (s, span) in slope.iter_mut().zip(free) {
            *s = whole[span.feature] * span.width();
        }
        Ok(())
    };
    let inside = Rectangle::new(Some(&low), Some(&high));
    let mut cache = PANOCCache::new(free.len(), SHORT, MEMORY);
    let mut u: Vec<f64> = free
        .iter()
        .map(|span| ((x[span.feature] - span.low) / span.width()).clamp(0.0, 1.0))
        .collect();
    let problem = Problem::new(&inside, slope, value);
    let mut optimizer = PANOCOptimizer::new(problem, &mut cache).with_max_iter(MOST_STEPS);
    let solved = optimizer.solve(&mut u).is_ok();
    let mut end = f64::INFINITY;
    let found = at(&u);
    if solved && u.iter().all(|u| u.is_finite()) {
        end = objective.value(&found, &mut memory.borrow_mut());
    }
    if end < start {
        x.copy_from_slice(&found);
        end
    } else {
        start
    }
}
