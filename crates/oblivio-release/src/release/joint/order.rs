//! The order of categories on a line: neighbours are those whose rows are alike in the columns of numbers.

/// Steps of the power iteration; the order needs no more digits than these give.
const ITERATIONS: usize = 64;

/// The categories from one end to the other: by the component of their mean places that tells them apart best. `codes` may be missing.
pub(super) fn order(
    codes: &[f64],
    count: usize,
    places: &[Vec<f64>],
    weights: &[f64],
) -> Vec<usize> {
    let mut mass = vec![0.0; count];
    let mut means = vec![vec![0.0; places.len()]; count];
    for (row, (code, weight)) in codes.iter().zip(weights).enumerate() {
        if *code >= 0.0 && *code < count as f64 {
            let level = *code as usize;
            mass[level] += weight;
            for (mean, place) in means[level].iter_mut().zip(places) {
                *mean += weight * place[row];
            }
        }
    }
    for (means, mass) in means.iter_mut().zip(&mass) {
        for mean in means {
            *mean /= mass.max(f64::MIN_POSITIVE);
        }
    }
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut direction = vec![1.0; places.len()];
    for _ in 0..ITERATIONS {
        let mut next = vec![0.0; places.len()];
        for (means, mass) in means.iter().zip(&mass) {
            let along = mass * dot(means, &direction);
            next.iter_mut()
                .zip(means)
                .for_each(|(n, mean)| *n += along * mean);
        }
        let length = dot(&next, &next).sqrt();
        if !(length > 0.0 && length.is_finite()) {
            break;
        }
        direction = next.into_iter().map(|n| n / length).collect();
    }
    let along: Vec<f64> = means.iter().map(|means| dot(means, &direction)).collect();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| along[a].total_cmp(&along[b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_ordered_as_their_rows_are() {
        // Levels 2, 0, 1 have rising numbers in one column, falling ones in the other.
        let codes = [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, f64::NAN];
        let level = [1.0, 4.0, -2.0, 1.5, 4.5, -2.5, 0.0];
        let falling = level.map(|v: f64| -2.0 * v);
        let weights = [1.0; 7];
        let own = order(&codes, 3, &[level.to_vec()], &weights);
        assert_eq!(own, [2, 0, 1]);
        let both = order(&codes, 3, &[level.to_vec(), falling.to_vec()], &weights);
        assert!(both == [2, 0, 1] || both == [1, 0, 2]);
        assert_eq!(order(&codes, 3, &[], &weights), [0, 1, 2]);
    }
}
