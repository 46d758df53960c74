//! Alignment: the distribution of a score is the same whatever S is, and nothing else about the score is lost.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use faer::{Mat, MatRef};
use oblivio::align::{AlignMethod, AlignRule, Alignment, Given};
use oblivio::classes::Threshold;
use oblivio::fit::StreamFit;
use oblivio::model::Checkpoint;
use oblivio::moments::SensitiveRows;
use oblivio::partition::{Policies, SensitiveDesign};
use oblivio::reference::Reference;
use oblivio::refresh::Renewal;
use oblivio::survey::Survey;
use oblivio::{Column, Error, Fit, Mode, Points, Sensitive, Settings, Training};
use oblivio_base::{Named, Scaling, UnseenCategory};
use oblivio_kernels::Components;
use oblivio_kernels::learn::{Intercept, Learner};
use oblivio_testing::{Cut, Table, apart, generator, settings, size, watch};
use rand::RngExt;
use rand_distr::StandardNormal;

const METHODS: [AlignMethod; 2] = [AlignMethod::LocationScale, AlignMethod::Quantile];
const MODES: [Mode; 4] = [
    Mode::Plain,
    Mode::Oblivious,
    Mode::MOblivious,
    Mode::SensitiveFree,
];

fn rule(method: AlignMethod, strength: f64) -> AlignRule {
    AlignRule { method, strength }
}

fn cells(cells: &[u32]) -> SensitiveDesign {
    SensitiveDesign::from_cells(cells.to_vec())
}

fn normals(count: usize, seed: u64) -> Vec<f64> {
    let mut random = generator(seed);
    (0..count)
        .map(|_| random.sample::<f64, _>(StandardNormal))
        .collect()
}

/// Fits to rows of weight one and gives their aligned scores.
fn aligned(rule: AlignRule, scores: &[f64], assignment: &SensitiveDesign) -> Vec<f64> {
    let ones = vec![1.0; scores.len()];
    let alignment = Alignment::fit(rule, scores, Given::Cells(assignment), &ones, 0.0).unwrap();
    alignment.apply(scores, Given::Cells(assignment)).unwrap()
}

/// The scores of one cell, ascending.
fn of_cell(scores: &[f64], cells: &[u32], cell: u32) -> Vec<f64> {
    let rows = scores.iter().zip(cells).filter(|(_, c)| **c == cell);
    let mut scores: Vec<f64> = rows.map(|(score, _)| *score).collect();
    scores.sort_by(f64::total_cmp);
    scores
}

/// The Kolmogorov–Smirnov distance of two ascending samples; scores that differ by rounding are one.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let tie = 1e-9 * size(a.iter().chain(b)).max(1e-300);
    let share =
        |of: &[f64], at: f64| of.partition_point(|v| *v <= at + tie) as f64 / of.len() as f64;
    let all = a.iter().chain(b);
    all.map(|&v| (share(a, v) - share(b, v)).abs())
        .fold(0.0, f64::max)
}

/// Scores whose spread and shape depend on the cell, and whose mean does not.
fn spread_out(rows: usize, counts: u32, seed: u64) -> (Vec<f64>, SensitiveDesign) {
    let of: Vec<u32> = (0..rows).map(|i| i as u32 % counts).collect();
    let noise = normals(rows, seed).into_iter().zip(&of);
    let scores = noise
        .map(|(e, c)| match c {
            0 => e,
            1 => 4.0 * e,
            // One-sided, of mean zero.
            _ => e * e - 1.0,
        })
        .collect();
    (scores, cells(&of))
}

#[test]
fn names_are_those_of_the_settings() {
    assert_eq!(
        AlignMethod::named("location-scale").unwrap(),
        AlignMethod::LocationScale
    );
    assert_eq!(
        AlignMethod::named("quantile").unwrap(),
        AlignMethod::Quantile
    );
    assert!(AlignMethod::named("ranks").is_err());
    assert_eq!(AlignMethod::default(), AlignMethod::NAMES[0].1);
}

#[test]
fn quantiles_of_cells_of_equal_counts_are_equal_to_the_bit_and_their_mean() {
    let (scores, assignment) = spread_out(600, 3, 1);
    let before: Vec<Vec<f64>> = (0..3)
        .map(|c| of_cell(&scores, assignment.codes(), c))
        .collect();
    assert!(distance(&before[0], &before[1]) > 0.2);
    let aligned = aligned(rule(AlignMethod::Quantile, 1.0), &scores, &assignment);
    let first = of_cell(&aligned, assignment.codes(), 0);
    for cell in 1..3 {
        assert_eq!(first, of_cell(&aligned, assignment.codes(), cell));
    }
    // The barycentre of distributions on the line: means of order statistics.
    for (k, value) in first.iter().enumerate() {
        let mean = (before[0][k] + before[1][k] + before[2][k]) / 3.0;
        assert!((value - mean).abs() < 1e-12);
    }
}

#[test]
fn quantiles_of_cells_of_any_counts_are_equal_to_one_row() {
    let sizes = [7, 50, 211];
    let of: Vec<u32> = (0..3).flat_map(|c| vec![c; sizes[c as usize]]).collect();
    let scores: Vec<f64> = normals(of.len(), 2)
        .iter()
        .zip(&of)
        .map(|(e, c)| f64::from(*c) + e * f64::from(1 + c))
        .collect();
    let assignment = cells(&of);
    let after = aligned(rule(AlignMethod::Quantile, 1.0), &scores, &assignment);
    for a in 0..3 {
        for b in 0..a {
            let ks = |scores: &[f64]| distance(&of_cell(scores, &of, a), &of_cell(scores, &of, b));
            let row = 1.0 / sizes[a as usize] as f64 + 1.0 / sizes[b as usize] as f64;
            assert!(ks(&after) <= row, "{a} {b}: {}", ks(&after));
            assert!(ks(&scores) > 2.0 * ks(&after));
        }
    }
}

/// The mean-only correction leaves these as they are: their means are equal, and S can be read from them.
#[test]
fn held_out_scores_are_aligned_to_sampling_error() {
    let (scores, assignment) = spread_out(6000, 3, 3);
    let (fresh, fresh_cells) = spread_out(6000, 3, 4);
    let ones = vec![1.0; 6000];
    let worst = |scores: &[f64]| -> f64 {
        let of = |c| of_cell(scores, fresh_cells.codes(), c);
        distance(&of(0), &of(1))
            .max(distance(&of(0), &of(2)))
            .max(distance(&of(1), &of(2)))
    };
    assert!(worst(&fresh) > 0.3);
    let fit = |method| {
        let given = Given::Cells(&assignment);
        Alignment::fit(rule(method, 1.0), &scores, given, &ones, 0.0).unwrap()
    };
    let apply = |method| {
        fit(method)
            .apply(&fresh, Given::Cells(&fresh_cells))
            .unwrap()
    };
    // Four samples of 2000 rows, two to learn from and two that are compared, have a say in each of these; at 1 in 1000
    // a Kolmogorov–Smirnov distance of two has 1.95·√(2/2000), of twice the variance √2 times that.
    let chance = 1.95 * (2.0f64 / 2000.0).sqrt() * 2.0f64.sqrt();
    assert!(worst(&apply(AlignMethod::Quantile)) < chance);
    // Location and scale leave the shape.
    let half = apply(AlignMethod::LocationScale);
    assert!(worst(&half) > chance && worst(&half) < worst(&fresh));
    let of = |c| of_cell(&half, fresh_cells.codes(), c);
    assert!(distance(&of(0), &of(1)) < chance);
}

#[test]
fn location_and_scale_are_those_of_the_barycentre() {
    let (scores, assignment) = spread_out(90, 3, 5);
    let moments = |scores: &[f64], cell| {
        let own = of_cell(scores, assignment.codes(), cell);
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        let square = own.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / own.len() as f64;
        (mean, square.sqrt())
    };
    let means =
        |scores: &[f64]| -> Vec<(f64, f64)> { (0..3).map(|c| moments(scores, c)).collect() };
    let before = means(&scores);
    let mean = before.iter().map(|m| m.0).sum::<f64>() / 3.0;
    let deviation = before.iter().map(|m| m.1).sum::<f64>() / 3.0;
    let after = aligned(rule(AlignMethod::LocationScale, 1.0), &scores, &assignment);
    for (m, s) in means(&after) {
        assert!((m - mean).abs() < 1e-12 && (s - deviation).abs() < 1e-12);
    }
}

#[test]
fn the_knob_goes_from_the_score_to_the_barycentre_on_a_line() {
    let (scores, assignment) = spread_out(100, 3, 6);
    for method in METHODS {
        let at = |strength| aligned(rule(method, strength), &scores, &assignment);
        let full = at(1.0);
        assert_eq!(at(0.0), scores);
        assert!(apart(&full, &scores) > 0.5);
        let part: Vec<f64> = scores
            .iter()
            .zip(&full)
            .map(|(s, f)| 0.7 * s + 0.3 * f)
            .collect();
        assert!(apart(&at(0.3), &part) < 1e-14 * size(&full).max(1.0) * 10.0);
    }
    for strength in [-0.1, 1.1, f64::NAN] {
        let ones = vec![1.0; 100];
        let given = Given::Cells(&assignment);
        let refused = Alignment::fit(rule(METHODS[0], strength), &scores, given, &ones, 0.0);
        assert!(matches!(refused, Err(Error::InvalidParameter { .. })));
        let settings = Settings {
            align: Some(rule(METHODS[0], strength)),
            ..Settings::default()
        };
        assert!(settings.check().is_err());
    }
}

/// Rows of every cell, of mixtures, of cells that are not known, within and beyond the range of the fit.
#[test]
fn aligned_scores_rise_with_the_score() {
    let (scores, assignment) = spread_out(700, 3, 7);
    // Some ties, and one cell thinned.
    let scores: Vec<f64> = scores.iter().map(|s| (s * 8.0).round() / 8.0).collect();
    let mixtures = vec![
        vec![0.2, 0.8, 0.0],
        vec![0.0, 0.0, 0.0],
        vec![0.1, 0.1, 0.8],
    ];
    let of = |codes: &[u32]| SensitiveDesign::from_codes(3, codes.to_vec(), mixtures.clone());
    let assignment = of(assignment.codes());
    let ones = vec![1.0; 700];
    let sweep: Vec<f64> = (0..4000).map(|i| f64::from(i - 2000) / 100.0).collect();
    for method in METHODS {
        for strength in [1.0, 0.4] {
            let given = Given::Cells(&assignment);
            let fit = Alignment::fit(rule(method, strength), &scores, given, &ones, 0.0).unwrap();
            for cell in 0..6 {
                let of = of(&vec![cell; sweep.len()]);
                let aligned = fit.apply(&sweep, Given::Cells(&of)).unwrap();
                assert!(aligned.is_sorted(), "{method:?} {strength} {cell}");
            }
            // Nothing known of the cell, or of the row: the population.
            let one = |assignment: &SensitiveDesign| {
                fit.apply(&[1.3], Given::Cells(assignment)).unwrap()[0]
            };
            let zero = of(&[4]);
            assert_eq!(one(&cells(&[9])), one(&zero));
            assert_ne!(one(&cells(&[1])), one(&zero));
        }
    }
}

#[test]
fn a_mixture_has_the_distribution_of_the_mixture() {
    // Two cells far apart: a mixture of both in equal parts is an even spread over both.
    let scores: Vec<f64> = (0..200).map(f64::from).collect();
    let of: Vec<u32> = (0..200).map(|i| i / 100).collect();
    let fit = Alignment::fit(
        rule(AlignMethod::Quantile, 1.0),
        &scores,
        Given::Cells(&cells(&of)),
        &[1.0; 200],
        0.0,
    )
    .unwrap();
    let mixture = SensitiveDesign::from_codes(2, vec![2; 200], vec![vec![0.5, 0.5]]);
    let mixed = fit.apply(&scores, Given::Cells(&mixture)).unwrap();
    let own = fit.apply(&scores, Given::Cells(&cells(&of))).unwrap();
    // The barycentre is an even spread from 50 to 149.
    let mut own = own;
    own.sort_by(f64::total_cmp);
    assert!((own[0] - 50.0).abs() < 1e-9 && (own[199] - 149.0).abs() < 1e-9);
    assert!(apart(&own, &mixed) < 1.0);
}

#[test]
fn equal_scores_of_a_cell_stay_equal() {
    let of = [0, 0, 0, 0, 1, 1, 1, 1, 1];
    let scores = [0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 2.0];
    for method in METHODS {
        let after = aligned(rule(method, 1.0), &scores, &cells(&of));
        for (i, j) in [(0, 1), (2, 3), (5, 6), (6, 7)] {
            assert_eq!(after[i], after[j]);
        }
        assert!(after[0] < after[2] && after[4] < after[5] && after[5] < after[8]);
    }
    // By hand: the first cell has ranks 1/4 and 3/4, the second 1/10, 1/2 and 9/10.
    let after = aligned(rule(AlignMethod::Quantile, 1.0), &scores, &cells(&of));
    let common = |first: f64, second: f64| 4.0 / 9.0 * first + 5.0 / 9.0 * second;
    assert!((after[0] - common(0.0, 0.375)).abs() < 1e-12);
    assert!((after[2] - common(1.0, 1.625)).abs() < 1e-12);
    assert!((after[5] - common(0.5, 1.0)).abs() < 1e-12);
}

/// Rounding splits ties where a score is computed in two ways; that must not matter.
#[test]
fn scores_that_differ_by_rounding_are_ties() {
    let of: Vec<u32> = (0..80).map(|i| i % 2).collect();
    let exact: Vec<f64> = (0..80).map(|i| f64::from((i / 2) % 3)).collect();
    let noisy: Vec<f64> = exact
        .iter()
        .zip(normals(80, 8))
        .map(|(v, e)| v + 1e-14 * e)
        .collect();
    let ones = vec![1.0; 80];
    for method in METHODS {
        let fit = |scores: &[f64]| {
            let given = Given::Cells(&cells(&of));
            let fit = Alignment::fit(rule(method, 1.0), scores, given, &ones, 0.0).unwrap();
            fit.apply(&exact, given).unwrap()
        };
        assert!(apart(&fit(&exact), &fit(&noisy)) < 1e-12);
    }
}

#[test]
fn a_weight_counts_rows_and_weight_zero_counts_none() {
    let (scores, assignment) = spread_out(90, 3, 9);
    let weights: Vec<f64> = (0..90).map(|i| f64::from(i % 4)).collect();
    let rows: Vec<usize> = (0..90).flat_map(|i| vec![i; i % 4]).collect();
    let repeated: Vec<f64> = rows.iter().map(|&i| scores[i]).collect();
    let of: Vec<u32> = rows.iter().map(|&i| assignment.codes()[i]).collect();
    let features = hats(&normals(90, 10));
    let features = centred(&features, &weights);
    let again = Mat::from_fn(features.nrows(), rows.len(), |j, k| features[(j, rows[k])]);
    let ones = vec![1.0; rows.len()];
    for method in METHODS {
        let rule = rule(method, 1.0);
        let fit = |scores: &[f64], given: Given, weights: &[f64]| {
            Alignment::fit(rule, scores, given, weights, 0.3).unwrap()
        };
        let given = Given::Cells(&assignment);
        let a = fit(&scores, given, &weights).apply(&scores, given).unwrap();
        let repeated_cells = cells(&of);
        let b = fit(&repeated, Given::Cells(&repeated_cells), &ones);
        assert!(apart(&a, &b.apply(&scores, given).unwrap()) < 1e-12);
        let given = Given::Features(features.as_ref());
        let a = fit(&scores, given, &weights).apply(&scores, given).unwrap();
        let b = fit(&repeated, Given::Features(again.as_ref()), &ones);
        assert!(apart(&a, &b.apply(&scores, given).unwrap()) < 1e-9);
    }
}

#[test]
fn threads_change_no_bit() {
    let (scores, assignment) = spread_out(5000, 3, 11);
    let features = centred(&hats(&normals(5000, 12)), &vec![1.0; 5000]);
    let ones = vec![1.0; 5000];
    let all = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| {
            let mut results = Vec::new();
            for method in METHODS {
                for given in [
                    Given::Cells(&assignment),
                    Given::Features(features.as_ref()),
                ] {
                    let fit = Alignment::fit(rule(method, 0.9), &scores, given, &ones, 0.1);
                    results.push(fit.unwrap().apply(&scores, given).unwrap());
                }
            }
            results
        })
    };
    assert_eq!(all(1), all(4));
}

#[test]
fn degenerate_reference_rows_are_no_trouble() {
    let (scores, _) = spread_out(50, 3, 13);
    let one_cell = cells(&[0; 50]);
    let identity = aligned(rule(AlignMethod::Quantile, 1.0), &scores, &one_cell);
    assert!(apart(&identity, &scores) < 1e-14 * size(&scores));
    let identity = aligned(rule(AlignMethod::LocationScale, 1.0), &scores, &one_cell);
    assert!(apart(&identity, &scores) < 1e-13 * size(&scores));
    for method in METHODS {
        let rule = rule(method, 1.0);
        // All equal; one row; a row alone in its cell.
        let equal = aligned(rule, &[2.5; 6], &cells(&[0, 0, 1, 1, 2, 2]));
        assert!(apart(&equal, &[2.5; 6]) < 1e-15);
        assert_eq!(aligned(rule, &[7.0], &cells(&[3])), [7.0]);
        let alone = aligned(rule, &[0.0, 1.0, 2.0, 9.0], &cells(&[0, 0, 0, 1]));
        // In the middle of the common distribution: three quarters of 1 and a quarter of 9.
        assert!((alone[3] - 3.0).abs() < 1e-12 && (alone[1] - 3.0).abs() < 1e-12);
        // Constants per cell.
        let constant = aligned(rule, &[1.0, 1.0, 5.0, 5.0], &cells(&[0, 0, 1, 1]));
        assert_eq!(constant, [3.0; 4]);
        // The same without any feature, and with features of no size.
        for width in [0, 2] {
            let nothing = Mat::<f64>::zeros(width, 50);
            let given = Given::Features(nothing.as_ref());
            let fit = Alignment::fit(rule, &scores, given, &[1.0; 50], 0.0).unwrap();
            assert!(apart(&fit.apply(&scores, given).unwrap(), &scores) < 1e-12 * size(&scores));
            let one = Given::Features(nothing.as_ref().subcols(0, 1));
            let fit = Alignment::fit(rule, &[4.0], one, &[1.0], 0.0).unwrap();
            assert_eq!(fit.apply(&[4.0], one).unwrap(), [4.0]);
        }
    }
}

#[test]
fn what_cannot_be_aligned_is_refused() {
    let given = cells(&[0, 0, 1]);
    let given = Given::Cells(&given);
    let features = Mat::<f64>::zeros(2, 3);
    let features = Given::Features(features.as_ref());
    for method in METHODS {
        let fit = |scores: &[f64], given: Given, weights: &[f64], ridge| {
            Alignment::fit(rule(method, 1.0), scores, given, weights, ridge)
        };
        let scores = [0.0, 1.0, 2.0];
        let ones = [1.0; 3];
        assert!(matches!(
            fit(&[0.0, f64::NAN, 1.0], given, &ones, 0.0),
            Err(Error::NotFinite { row: 1, .. })
        ));
        assert!(matches!(
            fit(&scores[..2], given, &ones[..2], 0.0),
            Err(Error::Length { .. })
        ));
        assert!(matches!(
            fit(&scores, given, &ones[..2], 0.0),
            Err(Error::Length { .. })
        ));
        assert!(fit(&scores, given, &[0.0; 3], 0.0).is_err());
        assert!(fit(&scores, given, &[1.0, -1.0, 1.0], 0.0).is_err());
        assert!(fit(&scores, features, &ones, -1.0).is_err());
        let none = SensitiveDesign::default();
        assert!(fit(&[], Given::Cells(&none), &[], 0.0).is_err());
        let mixtures = SensitiveDesign::from_codes(2, vec![2; 3], vec![vec![0.5, 0.5]]);
        assert!(matches!(
            fit(&scores, Given::Cells(&mixtures), &ones, 0.0),
            Err(Error::TooFewRows { .. })
        ));
        let fitted = fit(&scores, given, &ones, 0.0).unwrap();
        assert!(fitted.apply(&scores, features).is_err());
        assert!(fitted.apply(&[f64::INFINITY, 0.0, 0.0], given).is_err());
        assert!(matches!(
            fitted.apply(&scores[..2], given),
            Err(Error::Length { .. })
        ));
        let smooth = fit(&scores, features, &ones, 0.1).unwrap();
        assert!(smooth.apply(&scores, given).is_err());
        let wider = Mat::<f64>::zeros(3, 3);
        assert!(
            smooth
                .apply(&scores, Given::Features(wider.as_ref()))
                .is_err()
        );
    }
}

// Smooth in S.

/// Hats over the line: continuous features that add up to one.
fn hats(s: &[f64]) -> Mat<f64> {
    Mat::from_fn(9, s.len(), |j, i| {
        (1.0 - ((s[i] + 2.0) / 0.5 - j as f64).abs()).max(0.0)
    })
}

/// Features less their weighted means.
fn centred(features: &Mat<f64>, weights: &[f64]) -> Mat<f64> {
    let means = feature_means(features.as_ref(), weights);
    Mat::from_fn(features.nrows(), features.ncols(), |j, i| {
        features[(j, i)] - means[j]
    })
}

fn feature_means(features: MatRef<'_, f64>, weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    let mean = |j: usize| -> f64 {
        (0..weights.len())
            .map(|i| weights[i] * features[(j, i)])
            .sum::<f64>()
            / total
    };
    (0..features.nrows()).map(mean).collect()
}

/// Scores m(s) + σ(s) ε and the s and ε they are made of.
fn located(rows: usize, seed: u64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut random = generator(seed);
    let s: Vec<f64> = (0..rows).map(|_| random.random_range(-2.0..2.0)).collect();
    let noise: Vec<f64> = (0..rows).map(|_| random.sample(StandardNormal)).collect();
    let score = |i: usize| location(s[i]) + scale(s[i]) * noise[i];
    ((0..rows).map(score).collect(), s, noise)
}

fn location(s: f64) -> f64 {
    s.sin()
}

fn scale(s: f64) -> f64 {
    0.6 + 0.2 * s
}

#[test]
fn smooth_alignment_finds_what_the_scores_are_made_of() {
    let (scores, s, _) = located(20_000, 14);
    let ones = vec![1.0; scores.len()];
    let features = hats(&s);
    let means = feature_means(features.as_ref(), &ones);
    let features = centred(&features, &ones);
    let (fresh, fresh_s, noise) = located(4000, 15);
    let wide = hats(&fresh_s);
    let fresh_features = Mat::from_fn(9, 4000, |j, i| wide[(j, i)] - means[j]);
    let given = Given::Features(fresh_features.as_ref());
    // The mean of σ is 0.6 and of m 0; so the oracle is 0.6 ε.
    let oracle: Vec<f64> = noise.iter().map(|e| 0.6 * e).collect();
    let off = |scores: &[f64]| -> f64 {
        let squares = scores.iter().zip(&oracle).map(|(a, b)| (a - b).powi(2));
        (squares.sum::<f64>() / oracle.len() as f64).sqrt()
    };
    assert!(off(&fresh) > 0.6);
    for method in METHODS {
        let learned = Given::Features(features.as_ref());
        let fit = Alignment::fit(rule(method, 1.0), &scores, learned, &ones, 1e-3).unwrap();
        let aligned = fit.apply(&fresh, given).unwrap();
        // A tenth of its spread.
        assert!(off(&aligned) < 0.06, "{method:?}: {}", off(&aligned));
        // The same distribution for low, middle and high s.
        let third = |low: f64, scores: &[f64]| {
            let of: Vec<u32> = fresh_s
                .iter()
                .map(|s| u32::from((low..low + 1.3).contains(s)))
                .collect();
            of_cell(scores, &of, 1)
        };
        let ks = |scores: &[f64]| distance(&third(-2.0, scores), &third(0.7, scores));
        let chance = 1.95 * (2.0f64 / 1250.0).sqrt();
        assert!(
            ks(&fresh) > 0.5 && ks(&aligned) < chance,
            "{method:?} {}",
            ks(&aligned)
        );
    }
}

#[test]
fn smooth_alignment_is_continuous_in_s_and_rises_with_the_score() {
    let (scores, s, _) = located(3000, 16);
    let ones = vec![1.0; scores.len()];
    let features = hats(&s);
    let means = feature_means(features.as_ref(), &ones);
    let features = centred(&features, &ones);
    let of = |s: &[f64]| {
        let wide = hats(s);
        Mat::from_fn(9, s.len(), |j, i| wide[(j, i)] - means[j])
    };
    for method in METHODS {
        let given = Given::Features(features.as_ref());
        let fit = Alignment::fit(rule(method, 1.0), &scores, given, &ones, 1.0).unwrap();
        let largest_step = |steps: u32, score: f64| {
            let path: Vec<f64> = (0..=steps)
                .map(|i| -2.5 + 5.0 * f64::from(i) / f64::from(steps))
                .collect();
            let along = of(&path);
            let scores = vec![score; path.len()];
            let aligned = fit.apply(&scores, Given::Features(along.as_ref())).unwrap();
            aligned
                .windows(2)
                .map(|w| (w[1] - w[0]).abs())
                .fold(0.0, f64::max)
        };
        for score in [-3.0, -1.0, 0.0, 0.4, 1.0, 3.0] {
            // No jump: steps become small with the steps of s, and in proportion.
            let (coarse, fine) = (largest_step(2000, score), largest_step(20_000, score));
            assert!(
                fine < 0.1 && fine < 0.2 * coarse + 1e-12,
                "{method:?} {score}: {coarse} {fine}"
            );
        }
        let sweep: Vec<f64> = (0..3000).map(|i| f64::from(i - 1500) / 250.0).collect();
        for s in [-2.5, -2.0, -0.3, 1.1, 2.0] {
            let at = of(&vec![s; sweep.len()]);
            let aligned = fit.apply(&sweep, Given::Features(at.as_ref())).unwrap();
            assert!(aligned.is_sorted(), "{method:?} {s}");
            if method == AlignMethod::Quantile {
                // Scores that differ stay apart, also where there were none.
                assert!(aligned.windows(2).all(|w| w[0] < w[1]));
            }
        }
    }
}

/// With one feature for each cell and no ridge the regressions are the means over the cells.
#[test]
fn features_of_cells_give_the_alignment_by_cells() {
    let (scores, assignment) = spread_out(99, 3, 17);
    let ones = vec![1.0; 99];
    let indicators = Mat::from_fn(3, 99, |j, i| {
        f64::from(u8::from(assignment.codes()[i] == j as u32))
    });
    let features = centred(&indicators, &ones);
    let given = Given::Features(features.as_ref());
    let smooth = |method| {
        let fit = Alignment::fit(rule(method, 1.0), &scores, given, &ones, 0.0).unwrap();
        fit.apply(&scores, given).unwrap()
    };
    let by_cell = |method| aligned(rule(method, 1.0), &scores, &assignment);
    let method = AlignMethod::LocationScale;
    assert!(apart(&smooth(method), &by_cell(method)) < 1e-10);
    // Broken lines through other points.
    let method = AlignMethod::Quantile;
    let differences = smooth(method).into_iter().zip(by_cell(method));
    let mean: f64 = differences.map(|(a, b)| (a - b).abs()).sum::<f64>() / 99.0;
    assert!(mean < 0.1, "{mean}");
}

/// A regression of squares on a line falls below zero; the variance it stands for does not.
#[test]
fn a_variance_is_at_least_a_hundredth_of_the_mean_one() {
    let s: Vec<f64> = (0..400).map(|i| f64::from(i) / 200.0 - 0.9975).collect();
    let noise = normals(400, 18);
    let scores: Vec<f64> = s
        .iter()
        .zip(&noise)
        .map(|(s, e)| e * (s + 1.0).powi(4))
        .collect();
    let features = Mat::from_fn(1, 400, |_, i| s[i]);
    let given = Given::Features(features.as_ref());
    let fit = Alignment::fit(
        rule(AlignMethod::LocationScale, 1.0),
        &scores,
        given,
        &[1.0; 400],
        0.0,
    )
    .unwrap();
    let far = Mat::from_fn(1, 2, |_, _| -50.0);
    let steps = fit
        .apply(&[0.0, 1.0], Given::Features(far.as_ref()))
        .unwrap();
    let near = Mat::from_fn(1, 2, |_, _| 0.0);
    let even = fit
        .apply(&[0.0, 1.0], Given::Features(near.as_ref()))
        .unwrap();
    // At s = 0 the variance is the mean one; far below, a hundredth of it, which makes a tenth of the standard deviation.
    let slope = |pair: &[f64]| pair[1] - pair[0];
    assert!((slope(&steps) / slope(&even) - 10.0).abs() < 1e-9);
}

#[test]
fn a_large_ridge_leaves_the_score_as_it_is() {
    let (scores, s, _) = located(100, 19);
    let ones = vec![1.0; 100];
    let features = centred(&hats(&s), &ones);
    let given = Given::Features(features.as_ref());
    for method in METHODS {
        let fit = Alignment::fit(rule(method, 1.0), &scores, given, &ones, 1e14).unwrap();
        assert!(apart(&fit.apply(&scores, given).unwrap(), &scores) < 1e-9);
    }
}

// In models.

/// A target that is x, in groups of which one has it spread three times as wide.
fn table(rows: usize, seed: u64) -> Table {
    let mut table = Table::new(rows, 1, seed);
    let noise = normals(2 * rows, seed + 100);
    let x: Vec<f64> = (0..rows)
        .map(|i| noise[i] * [1.0, 3.0, 0.5][table.group[i]])
        .collect();
    table.targets = x
        .iter()
        .zip(&noise[rows..])
        .map(|(x, e)| x + 0.3 * e)
        .collect();
    table.points = Points::new(x, 1).unwrap();
    table
}

/// The same as classes.
fn classes(table: &Table) -> Vec<f64> {
    let positive = |y: &f64| f64::from(u8::from(*y > 0.6));
    table.targets.iter().map(positive).collect()
}

fn fit(table: &Table, settings: &Settings) -> Fit {
    if settings.learner.classifies() {
        table.fit_to(settings, Cut::Group, &classes(table))
    } else {
        table.fit(settings, Cut::Group)
    }
}

/// The largest distance of the distributions of two groups.
fn worst(scores: &[f64], groups: &[usize]) -> f64 {
    let of: Vec<u32> = groups.iter().map(|&g| g as u32).collect();
    let group = |g| of_cell(scores, &of, g);
    distance(&group(0), &group(1))
        .max(distance(&group(0), &group(2)))
        .max(distance(&group(1), &group(2)))
}

/// The most scores of one group that are one but for rounding.
fn ties(scores: &[f64], groups: &[usize]) -> usize {
    let of: Vec<u32> = groups.iter().map(|&g| g as u32).collect();
    let tie = 1e-9 * size(scores);
    let most = |group| {
        let own = of_cell(scores, &of, group);
        let upto = |v: &f64| own.partition_point(|w| *w <= v + tie);
        let below = |v: &f64| own.partition_point(|w| *w < v - tie);
        own.iter().map(|v| upto(v) - below(v)).max().unwrap()
    };
    (0..3).map(most).max().unwrap()
}

/// Every learner, on the exact path and on landmarks.
fn kinds() -> Vec<Settings> {
    let base = Settings {
        intercept: Intercept::Fitted,
        ..settings("rbf(gamma=0.3)")
    };
    let mut kinds = Vec::new();
    for learner in [Learner::Ridge, Learner::Svm, Learner::Logistic] {
        for components in [None, Some(Components::new(20))] {
            kinds.push(Settings {
                learner,
                components,
                ..base.clone()
            });
        }
    }
    kinds
}

#[test]
fn every_mode_and_learner_can_be_aligned() {
    let train = table(240, 20);
    let fresh = table(1500, 21);
    for kind in kinds() {
        for mode in MODES {
            for reference in [Reference::All, Reference::Half] {
                let plain = Settings {
                    mode,
                    reference: reference.clone(),
                    ..kind.clone()
                };
                let what = format!(
                    "{:?} {:?} {mode:?} {reference:?}",
                    kind.learner, kind.components
                );
                let aligned = Settings {
                    align: Some(rule(AlignMethod::Quantile, 1.0)),
                    ..plain.clone()
                };
                let (without, with) = (fit(&train, &plain), fit(&train, &aligned));
                assert!(with.predictor.needs_sensitive(), "{what}");
                assert!(matches!(
                    with.predictor.predict(&fresh.points, None, &watch()),
                    Err(Error::SensitiveNeeded { .. })
                ));
                let scores = |fit: &Fit, table: &Table| table.scores(fit, Cut::Group);
                // Exactly equal on the reference rows, which have equal counts; but a plain h on the exact path is aligned by
                // scores of rows that it has not seen.
                let unseen =
                    kind.components.is_none() && matches!(mode, Mode::Plain | Mode::MOblivious);
                if reference == Reference::All && !unseen {
                    let own = scores(&with, &train);
                    let before = scores(&without, &train);
                    assert!(worst(&before, &train.group) > 0.15, "{what}");
                    let after = worst(&own, &train.group);
                    // Support vectors are ties.
                    let row = ties(&before, &train.group) as f64 / 80.0;
                    assert!(after < row + 1e-9, "{what}: {after}");
                }
                // New rows to sampling error: 500 and about 80 (or 40) rows for a group.
                let (before, after) = (
                    worst(&scores(&without, &fresh), &fresh.group),
                    worst(&scores(&with, &fresh), &fresh.group),
                );
                assert!(after < 0.5 * before + 0.15, "{what}: {before} to {after}");
                // h is what it was.
                let h = |fit: &Fit| fit.predictor.expansion_at(&fresh.points, &watch()).unwrap();
                let (a, b) = (h(&without), h(&with));
                let moved = with.threshold - without.threshold;
                let shifted: Vec<f64> = b.iter().map(|v| v + moved).collect();
                assert!(apart(&a, &shifted) < 1e-9 * size(&a), "{what}");
            }
        }
    }
}

#[test]
fn the_line_between_classes_is_drawn_on_the_aligned_score() {
    let train = table(300, 22);
    for kind in kinds().into_iter().filter(|kind| kind.learner.classifies()) {
        for mode in MODES {
            let settings = Settings {
                mode,
                threshold: Threshold::Rate(0.4),
                align: Some(rule(AlignMethod::Quantile, 1.0)),
                ..kind.clone()
            };
            let with = fit(&train, &settings);
            let scores = train.scores(&with, Cut::Group);
            let unaligned = Settings {
                align: None,
                ..settings.clone()
            };
            let row = ties(
                &train.scores(&fit(&train, &unaligned), Cut::Group),
                &train.group,
            );
            // A plain h on the exact path is aligned by scores of rows that it has not seen: to a tenth of the rows of a group.
            let unseen =
                kind.components.is_none() && matches!(mode, Mode::Plain | Mode::MOblivious);
            let row = if unseen { 10 } else { row };
            // Two fifths of every group are above the line.
            for group in 0..3 {
                let rows = (0..300).filter(|&i| train.group[i] == group);
                let above = rows.filter(|&i| scores[i] > 0.0).count();
                assert!(
                    above.abs_diff(40) <= row,
                    "{:?} {mode:?} {group}: {above}",
                    (kind.learner, kind.components)
                );
            }
            let labels = classes(&train);
            let wrong = (0..300).filter(|&i| (scores[i] > 0.0) != (labels[i] > 0.0));
            let error = wrong.count() as f64 / 300.0;
            assert!((error - with.summary.error).abs() < 0.01, "{mode:?}");
        }
    }
}

#[test]
fn strength_zero_and_no_sensitive_columns_are_no_alignment() {
    let train = table(120, 23);
    let plain = settings("rbf(gamma=0.3)");
    let off = Settings {
        align: Some(rule(AlignMethod::Quantile, 0.0)),
        ..plain.clone()
    };
    assert_eq!(fit(&train, &off).predictor, fit(&train, &plain).predictor);
    let on = Settings {
        align: Some(rule(AlignMethod::Quantile, 1.0)),
        ..plain.clone()
    };
    let sensitive = Sensitive::new(Vec::new(), 120).unwrap();
    let training = Training {
        points: &train.points,
        sensitive: &sensitive,
        targets: &train.targets,
        weights: None,
    };
    for components in [None, Some(Components::new(10))] {
        let on = Settings {
            components,
            ..on.clone()
        };
        let fit = on.fit(training, &watch()).unwrap();
        assert!(fit.predictor.alignment().is_none() && !fit.predictor.needs_sensitive());
    }
}

/// The policies hold where S is needed to predict, and only there.
#[test]
fn a_plain_model_with_alignment_minds_unseen_categories() {
    let train = table(120, 24);
    let mut other = train.select(&[0, 1, 2]);
    let stranger = Column::texts("group", ["a", "z", "c"].map(Some));
    let stranger = Sensitive::new(vec![stranger], 3).unwrap();
    other.weights = vec![1.0; 3];
    let with = |category, align| {
        let mut rule = Cut::Group.rule();
        rule.policies = Policies::for_unknown(category);
        let settings = Settings {
            mode: Mode::Plain,
            align,
            partition: rule,
            ..settings("rbf(gamma=0.3)")
        };
        let training = Training {
            points: &train.points,
            sensitive: &train.sensitive(Cut::Group),
            targets: &train.targets,
            weights: None,
        };
        let fit = settings.fit(training, &watch()).unwrap();
        fit.predictor
            .predict(&other.points, Some(&stranger), &watch())
    };
    let align = Some(rule(AlignMethod::Quantile, 1.0));
    assert!(with(UnseenCategory::Error, None).is_ok());
    assert!(matches!(
        with(UnseenCategory::Error, align),
        Err(Error::UnknownCategory { .. })
    ));
    assert!(with(UnseenCategory::Population, align).is_ok());
    assert!(with(UnseenCategory::Zero, align).is_ok());
}

#[test]
fn new_rows_renew_the_alignment_and_small_cells_keep_theirs() {
    let train = table(900, 25);
    let settings = Settings {
        align: Some(rule(AlignMethod::Quantile, 1.0)),
        ..settings("linear")
    };
    let old = fit(&train, &settings);
    // The first group is now spread as wide as the second, and moved; the third has two rows only.
    let mut moved = table(900, 26);
    let x: Vec<f64> = (0..900)
        .map(|i| {
            let x = moved.points.values()[i];
            if moved.group[i] == 0 {
                3.0 * x + 1.0
            } else {
                x
            }
        })
        .collect();
    moved.points = Points::new(x, 1).unwrap();
    let few: Vec<usize> = (0..900).filter(|i| i % 3 < 2 || *i < 6).collect();
    let new = moved.select(&few);
    let mut refresh = old.predictor.refresh().unwrap();
    for rows in (0..new.len()).collect::<Vec<_>>().chunks(100) {
        let part = new.select(rows);
        let sensitive = part.sensitive(Cut::Group);
        refresh
            .update(&part.points, &sensitive, None, &watch())
            .unwrap();
    }
    let (renewed, drift, _) = refresh.finish(Renewal::keeping(30)).unwrap();
    assert!(drift[2].kept && !drift[0].kept);
    let scores = |predictor: &oblivio::Predictor| {
        let sensitive = moved.sensitive(Cut::Group);
        predictor
            .predict(&moved.points, Some(&sensitive), &watch())
            .unwrap()
            .scores
    };
    let of: Vec<u32> = moved.group.iter().map(|&g| g as u32).collect();
    let (before, after) = (scores(&old.predictor), scores(&renewed));
    let ks = |scores: &[f64], a, b| distance(&of_cell(scores, &of, a), &of_cell(scores, &of, b));
    assert!(ks(&before, 0, 1) > 0.2);
    assert!(ks(&after, 0, 1) < 0.01);
    // Of the third group the rows are as they were, so that its own old distribution fits.
    let chance = 1.95 * (2.0f64 / 300.0).sqrt();
    assert!(ks(&after, 2, 1) < chance, "{}", ks(&after, 2, 1));
    // With the rows of the fit nothing changes.
    let mut same = old.predictor.refresh().unwrap();
    let sensitive = train.sensitive(Cut::Group);
    same.update(&train.points, &sensitive, None, &watch())
        .unwrap();
    let (same, ..) = same.finish(Renewal::keeping(1)).unwrap();
    assert!(apart(&scores(&same), &before) < 1e-8 * size(&before));
}

fn stream(
    settings: &Settings,
    columns: &[Column],
    group: &[Column],
) -> (oblivio::Encoder, StreamFit) {
    let mut survey = Survey::new(settings.seed);
    survey.update(columns, group, None).unwrap();
    let components = settings.components.unwrap();
    survey
        .begin(Scaling::Raw, settings, components, &watch())
        .unwrap()
}

/// A fit that was left off has lost its sample, and draws the same one again from the rows that come by once more.
#[test]
fn a_fit_taken_up_again_is_aligned_alike_and_moments_alone_are_not_enough() {
    let rows = 70_000;
    let train = table(rows, 27);
    let x = [Column::numbers("x", train.points.values().to_vec())];
    let names = train.group.iter().map(|g| Some(["a", "b", "c"][*g]));
    let group = [Column::texts("group", names)];
    let sensitive = train.sensitive(Cut::Group);
    for mode in [Mode::Oblivious, Mode::MOblivious] {
        for reference in [Reference::All, Reference::Half] {
            let settings = Settings {
                mode,
                reference,
                align: Some(rule(AlignMethod::Quantile, 1.0)),
                components: Some(Components::new(5)),
                ..settings("rbf(gamma=0.3)")
            };
            let batch = || oblivio::moments::Batch {
                points: &train.points,
                sensitive: SensitiveRows::Columns(&sensitive),
                targets: Some(&train.targets),
                weights: None,
            };
            let (encoder, mut fit) = stream(&settings, &x, &group);
            fit.update(batch(), &watch()).unwrap();
            let bytes = Checkpoint::of_fit(&encoder, &fit, String::new())
                .to_bytes()
                .unwrap();
            let finish = |fit: &StreamFit, needs: bool| {
                let mut solved = fit.solve(&watch()).unwrap();
                assert_eq!(solved.needs_rows(), needs);
                if needs {
                    solved.update(batch(), &watch()).unwrap();
                }
                solved.finish().unwrap().predictor
            };
            let left_out = mode == Mode::MOblivious && settings.reference == Reference::All;
            let whole = finish(&fit, left_out);
            let checkpoint = Checkpoint::from_bytes(&bytes).unwrap();
            let (_, again) = checkpoint.into_fit(&settings).unwrap();
            let again = finish(&again, true);
            assert_eq!(again, whole);
            let scores = whole
                .predict(&train.points, Some(&sensitive), &watch())
                .unwrap()
                .scores;
            assert!(worst(&scores, &train.group) < 0.03);
            if mode == Mode::Oblivious && settings.reference == Reference::All {
                let (_, moments) = Checkpoint::from_bytes(&bytes)
                    .unwrap()
                    .into_moments()
                    .unwrap();
                let refused = settings.fit_moments(&moments, &watch());
                assert!(matches!(refused, Err(Error::InvalidParameter { .. })));
                assert!(matches!(
                    whole.refresh_from(&moments, Renewal::keeping(1), &watch()),
                    Err(Error::InvalidParameter { .. })
                ));
            }
        }
    }
}
