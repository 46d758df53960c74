//! Features that take some values only: all combinations where they are few, else one feature after the other.

use super::local::descend;
use super::objective::{Objective, Scratch};
use super::region::{Region, Span, Stepped, select};

/// More combinations than this are not all tried.
pub(super) const MOST_COMBINATIONS: usize = 64;
/// Values of a feature that are all tried; of more, those near the present one.
const MOST_VALUES: usize = 32;
const MOST_ROUNDS: usize = 20;

/// Moves x downhill along all features that can change, and gives f there. It never ends higher than it starts.
pub(super) fn descend_all(
    objective: &Objective,
    region: &Region,
    free: &[Span],
    x: &mut Vec<f64>,
    scratch: &mut Scratch,
) -> f64 {
    match region.combinations() {
        Some(1) => descend(objective, free, x, scratch),
        Some(count) if count <= MOST_COMBINATIONS => {
            let start = x.clone();
            let mut best = descend(objective, free, x, scratch);
            for number in 0..count {
                let mut other = start.clone();
                region.combine(number, &mut other);
                let end = descend(objective, free, &mut other, scratch);
                if end < best {
                    (*x, best) = (other, end);
                }
            }
            best
        }
        _ => one_by_one(objective, region, free, x, scratch),
    }
}

/// Steps are taken as numbers of an interval first, and the nearest steps are the start of a search that changes one feature at a
/// time, until none helps.
fn one_by_one(
    objective: &Objective,
    region: &Region,
    free: &[Span],
    x: &mut Vec<f64>,
    scratch: &mut Scratch,
) -> f64 {
    let mut best = descend(objective, free, x, scratch);
    let mut relaxed: Vec<Span> = free.to_vec();
    relaxed.extend(region.stepped.iter().filter_map(|stepped| {
        let (low, high) = (*stepped.values.first()?, *stepped.values.last()?);
        (low < high).then_some(Span {
            feature: stepped.feature,
            low,
            high,
        })
    }));
    let mut other = x.clone();
    descend(objective, &relaxed, &mut other, scratch);
    region.enter(&mut other);
    let end = descend(objective, free, &mut other, scratch);
    if end < best {
        (*x, best) = (other, end);
    }
    for _ in 0..MOST_ROUNDS {
        let before = best;
        for stepped in &region.stepped {
            best = step(objective, stepped, x, best, scratch);
        }
        for indicators in &region.one_of {
            let mut chosen = None;
            for k in indicators.clone() {
                let mut other = x.clone();
                select(&mut other, indicators, k);
                let value = objective.value(&other, scratch);
                if value < best {
                    (chosen, best) = (Some(k), value);
                }
            }
            if let Some(k) = chosen {
                select(x, indicators, k);
            }
        }
        if best >= before {
            break;
        }
        best = descend(objective, free, x, scratch);
    }
    best
}

/// The best value of one feature: of all its values where they are few, else downhill in steps that double.
fn step(
    objective: &Objective,
    stepped: &Stepped,
    x: &mut [f64],
    mut best: f64,
    scratch: &mut Scratch,
) -> f64 {
    let values = &stepped.values;
    let mut place = stepped.nearest(x[stepped.feature]);
    let mut attempt = |place: usize, x: &mut [f64]| {
        let before = x[stepped.feature];
        x[stepped.feature] = values[place];
        let value = objective.value(x, scratch);
        x[stepped.feature] = before;
        value
    };
    if values.len() <= MOST_VALUES {
        for k in 0..values.len() {
            let value = attempt(k, x);
            if value < best {
                (place, best) = (k, value);
            }
        }
    } else {
        let mut length = 1;
        while length < values.len() {
            let below = place.checked_sub(length);
            let above = Some(place + length).filter(|k| *k < values.len());
            let mut moved = false;
            for k in [below, above].into_iter().flatten() {
                let value = attempt(k, x);
                if value < best {
                    (place, best, moved) = (k, value, true);
                }
            }
            length = if moved { 1 } else { length * 2 };
        }
    }
    x[stepped.feature] = values[place];
    best
}
