//! Which candidates are on the frontier.

use super::errors::ErrorMeasure;
use super::report::Tried;
use crate::Measure;

/// Whether each pair of error and dependence is on the frontier: no other is at least as good in both and better in one.
///
/// Equal pairs are on it together.
pub(super) fn on_frontier(pairs: &[(f64, f64)]) -> Vec<bool> {
    let beats = |(error, dependence): (f64, f64), other: (f64, f64)| {
        error <= other.0 && dependence <= other.1 && (error < other.0 || dependence < other.1)
    };
    pairs
        .iter()
        .map(|own| !pairs.iter().any(|other| beats(*other, *own)))
        .collect()
}

/// Marks the candidates on the frontier of an error and every measure of dependence.
pub(super) fn mark(candidates: &mut [Tried], error: ErrorMeasure, axes: &[(String, Measure)]) {
    for (against, measure) in axes {
        let found: Vec<(usize, f64, f64)> = candidates
            .iter()
            .enumerate()
            .filter_map(|(k, tried)| {
                let value = tried.of(against, *measure)?.measured.value;
                let dependence = if measure.grows() { value } else { -value };
                Some((k, tried.error(error)?.value, dependence))
            })
            .collect();
        let pairs: Vec<(f64, f64)> = found.iter().map(|(_, e, d)| (*e, *d)).collect();
        for ((k, ..), is) in found.iter().zip(on_frontier(&pairs)) {
            let mut own = candidates[*k].dependence.iter_mut();
            let own = own.find(|d| d.against == *against && d.measure == *measure);
            if let (Some(own), true) = (own, is) {
                own.on_frontier.push(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frontier_of_six_points() {
        let pairs = [
            (1.0, 0.9), // the least error
            (2.0, 0.5),
            (2.0, 0.6), // as wrong as the one before, and more dependent
            (3.0, 0.1), // the least dependence, twice
            (3.0, 0.1),
            (4.0, 0.4), // worse than the last in both
        ];
        assert_eq!(on_frontier(&pairs), [true, true, false, true, true, false]);
        assert!(on_frontier(&[]).is_empty());
    }
}
