use oblivio_base::random::{Stream, numbered};
use rand::RngExt;

use super::*;

fn noise(number: usize, rows: usize) -> Vec<f64> {
    let mut random = numbered(1, Stream::Simulation, number);
    (0..rows).map(|_| random.random::<f64>() - 0.5).collect()
}

/// Few distinct values, so that there are ties.
fn rounded(number: usize, rows: usize) -> Vec<f64> {
    let values = noise(number, rows).into_iter();
    values.map(|v| (8.0 * v).round() / 4.0).collect()
}

fn found(x: &[f64], s: &[f64], weights: Option<&[f64]>) -> DistanceCorrelation {
    distance_correlation(x, s, weights, &Resampling::default(), &Watch::default()).unwrap()
}

/// Both forms by their definitions: centred matrices of distances, entry by entry.
fn by_definition(x: &[f64], s: &[f64]) -> (f64, f64) {
    let n = x.len();
    let size = n as f64;
    let centred = |v: &[f64], u: bool| {
        let distance = |i: usize, j: usize| (v[i] - v[j]).abs();
        let rows: Vec<f64> = (0..n)
            .map(|i| (0..n).map(|j| distance(i, j)).sum())
            .collect();
        let all: f64 = rows.iter().sum();
        let (one, two) = if u {
            (size - 2.0, (size - 1.0) * (size - 2.0))
        } else {
            (size, size * size)
        };
        let entry = move |at: usize| {
            let (i, j) = (at / n, at % n);
            if u && i == j {
                0.0
            } else {
                (v[i] - v[j]).abs() - (rows[i] + rows[j]) / one + all / two
            }
        };
        (0..n * n).map(entry).collect::<Vec<f64>>()
    };
    let correlation = |u| {
        let (a, b) = (centred(x, u), centred(s, u));
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        product(&a, &b) / (product(&a, &a) * product(&b, &b)).sqrt()
    };
    (correlation(false).sqrt(), correlation(true))
}

#[test]
fn it_is_what_the_definition_says_with_ties_too() {
    for (x, s) in [
        (noise(0, 60), noise(1, 60)),
        (rounded(2, 61), rounded(3, 61)),
        (rounded(4, 40), noise(5, 40)),
        (noise(6, 4), noise(7, 4)),
    ] {
        let shifted: Vec<f64> = s.iter().zip(&x).map(|(s, x)| 1e3 + s + 0.5 * x).collect();
        let (biased, unbiased) = by_definition(&x, &shifted);
        let found = found(&x, &shifted, None);
        assert!((found.biased - biased).abs() < 1e-10);
        assert!((found.unbiased - unbiased).abs() < 1e-10);
    }
}

#[test]
fn weights_are_repetitions() {
    let (x, s) = (rounded(0, 30), noise(1, 30));
    let weights: Vec<f64> = (0..30).map(|i| f64::from(i % 4)).collect();
    let repeated = |values: &[f64]| -> Vec<f64> {
        let pairs = values.iter().zip(&weights);
        pairs
            .flat_map(|(&value, &weight)| vec![value; weight as usize])
            .collect()
    };
    let (biased, unbiased) = by_definition(&repeated(&x), &repeated(&s));
    let found = found(&x, &s, Some(&weights));
    assert!((found.biased - biased).abs() < 1e-10);
    assert!((found.unbiased - unbiased).abs() < 1e-10);
    assert_eq!(found.measured.rows, 22);
}

#[test]
fn shift_scale_sign_and_the_sides_make_no_difference() {
    let (x, s) = (noise(0, 200), rounded(1, 200));
    let s: Vec<f64> = s.iter().zip(&x).map(|(s, x)| s + x.abs()).collect();
    let plain = found(&x, &s, None);
    let moved: Vec<f64> = x.iter().map(|x| 5.0 - 3.0 * x).collect();
    for other in [found(&moved, &s, None), found(&s, &x, None)] {
        assert!((other.biased - plain.biased).abs() < 1e-10);
        assert!((other.unbiased - plain.unbiased).abs() < 1e-10);
    }
    assert_eq!(plain, found(&x, &s, None));
}

#[test]
fn a_line_has_one_and_independence_little() {
    let x = noise(0, 300);
    let line: Vec<f64> = x.iter().map(|x| 2.0 - 7.0 * x).collect();
    let same = found(&x, &line, None);
    assert!((same.biased - 1.0).abs() < 1e-10 && (same.unbiased - 1.0).abs() < 1e-10);
    assert_eq!(same.measured.p_value, 0.005);
    let other = found(&x, &noise(1, 300), None);
    assert!(other.unbiased.abs() < 0.05 && other.measured.p_value > 0.05);
    assert!((other.biased - other.measured.expected).abs() < 0.05);
}

#[test]
fn a_spread_that_gives_s_away_is_seen() {
    let s = noise(0, 400);
    let x: Vec<f64> = noise(1, 400).iter().zip(&s).map(|(e, s)| e * s).collect();
    let found = found(&x, &s, None);
    assert!(found.measured.p_value <= 0.01);
    assert!(found.measured.lower < found.biased && found.measured.lower > 0.0);
}

/// Of 400 tests at 5 %, Binomial(400, 0.05) reject: 20 and four standard deviations of 4.36 more.
#[test]
fn shuffles_reject_independence_as_often_as_they_say() {
    let few = |seed| Resampling {
        permutations: 19,
        resamples: 19,
        seed,
        ..Resampling::default()
    };
    let rejects = |number: usize| {
        let (x, s) = (noise(2 * number, 20), rounded(2 * number + 1, 20));
        let found = distance_correlation(&x, &s, None, &few(number as u64), &Watch::default());
        found.unwrap().measured.is_detectable()
    };
    let rejected = (0..400).filter(|&number| rejects(number)).count();
    assert!((3..=37).contains(&rejected), "{rejected}");
}

/// The formula for many rows is near the shuffles of as many, and its levels are those of fewer rows, shrunk.
#[test]
fn the_formula_agrees_with_shuffles() {
    let few = Resampling {
        permutations: 39,
        resamples: 39,
        ..Resampling::default()
    };
    let rows = MOST_ROWS + 2_000;
    let (x, s) = (noise(0, rows), noise(1, rows));
    let columns = Columns::new(&x, &s, None).unwrap();
    let pairs = Pairs::new(&x, &s);
    let moments = pairs.moments(&columns.weights, None);
    let formula = sampled(&columns, &moments, &few, &Watch::default()).unwrap();
    let (permuted, _) = draws(&pairs, &columns.weights, &few, &Watch::default()).unwrap();
    let mean = permuted.iter().sum::<f64>() / 39.0;
    assert!((formula.expected / mean - 1.0).abs() < 0.1);
    assert_eq!(formula.null, Null::Formula);
    let dependent: Vec<f64> = s.iter().zip(&x).map(|(s, x)| s + 0.05 * x).collect();
    let found = distance_correlation(&x, &dependent, None, &few, &Watch::default()).unwrap();
    assert!(found.measured.p_value < 1e-6 && found.measured.lower > 0.0);
}

#[test]
fn what_has_no_correlation_has_none() {
    let flat = found(&[2.0; 10], &noise(0, 10), None);
    assert_eq!((flat.biased, flat.unbiased), (0.0, 0.0));
    assert_eq!(flat.measured.p_value, 1.0);
    let one_apart: Vec<f64> = (0..10).map(|i| f64::from(u8::from(i == 0))).collect();
    let found = found(&one_apart, &noise(0, 10), None);
    assert!(found.biased.is_finite() && found.measured.lower.is_finite());
    let refused = |x: &[f64], weights: Option<&[f64]>| {
        let s = vec![1.0; x.len()];
        distance_correlation(x, &s, weights, &Resampling::default(), &Watch::default()).unwrap_err()
    };
    assert!(matches!(refused(&[1.0; 3], None), Error::TooFewRows { .. }));
    assert!(matches!(
        refused(&[f64::NAN; 4], None),
        Error::NotFinite { .. }
    ));
}

#[test]
fn the_unit_of_small_weights_is_of_no_matter() {
    let (x, s) = (noise(0, 30), noise(1, 30));
    let weights =
        |unit: f64| -> Vec<f64> { (0..30).map(|i| unit * f64::from(1 + i % 3)).collect() };
    let (one, other) = (
        found(&x, &s, Some(&weights(0.01))),
        found(&x, &s, Some(&weights(0.2))),
    );
    assert!((one.biased - other.biased).abs() < 1e-12);
    assert!((one.unbiased - other.unbiased).abs() < 1e-12);
}
