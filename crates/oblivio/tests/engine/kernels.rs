//! Every kernel passes the same tests; the rules for γ; every error the engine can give.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use oblivio::partition::{EmptyCell, OutOfRange, PartitionRule, Policies};
use oblivio::reference::Reference;
use oblivio::{
    Column, Encoder, Error, Kernel, Mode, Partition, Points, Sensitive, Settings, Training, Watch,
};
use oblivio_base::{Encoding, MissingFeatures, Named, Scaling, UnseenCategory};
use oblivio_kernels::learn::{Ridge, Solver};
use oblivio_kernels::{Gamma, KernelMatrix, Lower, Smoothness};
use oblivio_testing::{
    KERNELS, apart, generator, kernel, matrix, rounding, size, smallest_eigenvalue, trace, watch,
};
use proptest::prelude::*;
use rand::RngExt;
use rand_distr::StandardNormal;

fn points(rows: usize, dim: usize, seed: u64) -> Points<'static> {
    let mut random = generator(seed);
    let values = (0..rows * dim).map(|_| random.sample::<f64, _>(StandardNormal));
    Points::new(values.collect::<Vec<_>>(), dim).unwrap()
}

fn shifted(points: &Points, by: f64) -> Points<'static> {
    let values: Vec<f64> = points.values().iter().map(|v| v + by).collect();
    Points::new(values, points.dim()).unwrap()
}

fn of(kernel: &Kernel, points: &Points) -> Vec<f64> {
    KernelMatrix::of(kernel, points).entries(&watch()).unwrap()
}

fn between(kernel: &Kernel, a: &Points, b: &Points) -> Vec<f64> {
    KernelMatrix::between(kernel, a, b)
        .unwrap()
        .entries(&watch())
        .unwrap()
}

/// k(x, y) and how far rounding may take it when distances come from norms and inner products about a centre.
fn expected(kernel: &Kernel, x: &[f64], y: &[f64], centre: &[f64]) -> (f64, f64) {
    let value = kernel.at(x, y);
    let steps = (x.len() + 4) as f64 * f64::EPSILON;
    let error = match kernel {
        Kernel::Linear => steps * products(x, y),
        Kernel::Polynomial {
            degree,
            gamma,
            coef0,
        } => {
            // |(b + e)^p − b^p| ≤ p (|b| + e)^(p − 1) e
            let base = gamma * products(x, y) + coef0;
            let p = f64::from(*degree);
            p * (base * (1.0 + steps)).powf(p - 1.0) * base * steps
        }
        Kernel::Gaussian { .. } | Kernel::Matern { .. } => {
            let squared = |v: &[f64]| {
                v.iter()
                    .zip(centre)
                    .map(|(v, c)| (v - c).powi(2))
                    .sum::<f64>()
            };
            let distance = x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            let rounding = 4.0 * steps * (squared(x) + squared(y));
            let far = kernel.at(&[(distance + rounding).sqrt()], &[0.0]);
            let near = kernel.at(&[(distance - rounding).max(0.0).sqrt()], &[0.0]);
            let exponent = if value > 0.0 { 1.0 - value.ln() } else { 0.0 };
            near - far + 8.0 * f64::EPSILON * exponent * near
        }
        Kernel::Laplacian { .. } => {
            let exponent = if value > 0.0 { 1.0 - value.ln() } else { 0.0 };
            steps * exponent * value
        }
        // Values are looked up.
        Kernel::Table(_) => 0.0,
        Kernel::Sum(kernels) => {
            let parts = kernels.iter().map(|k| expected(k, x, y, centre));
            parts
                .map(|(value, error)| error + steps * value.abs())
                .sum()
        }
        Kernel::Product(kernels) => {
            let parts = kernels.iter().map(|k| expected(k, x, y, centre));
            let (low, high) = parts.fold((1.0, 1.0), |(low, high), (value, error)| {
                (
                    low * value.abs(),
                    high * (value.abs() + error) * (1.0 + steps),
                )
            });
            high - low
        }
        Kernel::Scaled(factor, kernel) => {
            let (value, error) = expected(kernel, x, y, centre);
            factor * (error + steps * value.abs())
        }
    };
    // Below the smallest normal number, digits are lost one by one.
    (value, error + f64::MIN_POSITIVE)
}

fn products(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| (a * b).abs()).sum()
}

fn assert_entries(kernel: &Kernel, found: &[f64], a: &Points, b: &Points) {
    let centre = oblivio_kernels::Side::centre(b);
    assert_eq!(found.len(), a.len() * b.len());
    for (j, column) in found.chunks(a.len()).enumerate() {
        for (i, value) in column.iter().enumerate() {
            let (exact, error) = expected(kernel, a.row(i), b.row(j), &centre);
            assert!(
                (value - exact).abs() <= error,
                "{kernel} at ({i}, {j}) of {} x {}, dim {}: {value} is not {exact} ± {error:e}",
                a.len(),
                b.len(),
                a.dim(),
            );
        }
    }
}

/// The formulas of the documentation, at points where they can be worked out.
#[test]
fn kernels_have_the_values_of_their_formulas() {
    let (x, y) = ([1.0, 2.0], [4.0, -2.0]);
    // ⟨x, y⟩ = 0, ‖x − y‖₂ = 5, ‖x − y‖₁ = 7
    let (u3, u5) = (3f64.sqrt() * 0.5, 5f64.sqrt() * 0.5);
    for (text, value) in [
        ("linear", 0.0),
        ("poly(degree=3, gamma=2, coef0=1.5)", 1.5f64.powi(3)),
        ("rbf(gamma=0.04)", (-1f64).exp()),
        ("laplacian(gamma=0.5)", (-3.5f64).exp()),
        ("matern12(gamma=0.1)", (-0.5f64).exp()),
        ("matern32(gamma=0.1)", (1.0 + u3) * (-u3).exp()),
        (
            "matern52(gamma=0.1)",
            (1.0 + u5 + u5 * u5 / 3.0) * (-u5).exp(),
        ),
        ("linear + 2 * poly(degree=1, gamma=1, coef0=3)", 6.0),
        (
            "poly(degree=1, gamma=1, coef0=3) * rbf(gamma=0.04)",
            3.0 * (-1f64).exp(),
        ),
    ] {
        let kernel = kernel(text);
        assert!(
            (kernel.at(&x, &y) - value).abs() <= 4.0 * f64::EPSILON * value,
            "{text}"
        );
        let (x, y) = (
            Points::new(x.to_vec(), 2).unwrap(),
            Points::new(y.to_vec(), 2).unwrap(),
        );
        assert_entries(&kernel, &between(&kernel, &x, &y), &x, &y);
    }
    let squared = kernel("poly(degree=2, gamma=0.5, coef0=1)").at(&[2.0], &[3.0]);
    assert_eq!(squared, 16.0);
}

/// Blocks are 256 × 128: sizes on both sides of their borders.
#[test]
fn blocks_make_up_the_whole_matrix() {
    for dim in [1, 3, 17] {
        for (seed, (left, right)) in [
            (1, 1),
            (1, 257),
            (255, 129),
            (256, 127),
            (257, 128),
            (257, 1),
            (129, 257),
            (256, 256),
            (513, 3),
        ]
        .into_iter()
        .enumerate()
        {
            let (a, b) = (
                points(left, dim, seed as u64),
                points(right, dim, 100 + seed as u64),
            );
            for text in KERNELS {
                let kernel = kernel(text);
                assert_entries(&kernel, &between(&kernel, &a, &b), &a, &b);
            }
        }
    }
}

#[test]
fn the_matrix_of_a_set_is_symmetric_positive_and_exact_on_the_diagonal() {
    for dim in [1, 3, 17] {
        for rows in [1, 127, 129, 255, 256, 257] {
            let a = points(rows, dim, rows as u64);
            // A buffer that was used before.
            let mut lower = Lower::new(rows).unwrap();
            for text in KERNELS {
                let kernel = kernel(text);
                let entries = of(&kernel, &a);
                assert_entries(&kernel, &entries, &a, &a);
                KernelMatrix::of(&kernel, &a)
                    .lower_into(&mut lower, &watch())
                    .unwrap();
                for j in 0..rows {
                    assert_eq!(
                        lower.column(j),
                        &entries[j * rows + j..(j + 1) * rows],
                        "{text}"
                    );
                    for i in 0..j {
                        assert_eq!(entries[i + j * rows], entries[j + i * rows], "{text}");
                    }
                    if is_of_distance(&kernel) {
                        assert_eq!(
                            entries[j * (rows + 1)],
                            kernel.at(a.row(j), a.row(j)),
                            "{text}"
                        );
                    }
                }
            }
        }
    }
}

fn is_of_distance(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Linear | Kernel::Polynomial { .. } | Kernel::Table(_) => false,
        Kernel::Gaussian { .. } | Kernel::Laplacian { .. } | Kernel::Matern { .. } => true,
        Kernel::Sum(kernels) | Kernel::Product(kernels) => kernels.iter().all(is_of_distance),
        Kernel::Scaled(_, kernel) => is_of_distance(kernel),
    }
}

#[test]
fn kernel_matrices_are_positive_semidefinite() {
    for dim in [1, 3, 17] {
        let once = points(90, dim, 7);
        // Equal rows make the matrix singular.
        let twice = Points::new([once.values(), once.values()].concat(), dim).unwrap();
        for text in KERNELS {
            let kernel = kernel(text);
            let gram = matrix(&of(&kernel, &twice), 180);
            let lowest = smallest_eigenvalue(&gram);
            assert!(lowest >= -rounding(180, trace(&gram)), "{text}: {lowest:e}");
        }
    }
}

#[test]
fn grouped_sums_are_sums_of_entries() {
    for (rows, columns) in [(1, 1), (257, 129), (256, 300), (129, 255)] {
        let (a, b) = (points(rows, 3, 1), points(columns, 3, 2));
        let weights: Vec<f64> = points(columns, 1, 3).values().to_vec();
        let groups: Vec<u32> = (0..columns as u32).map(|j| (j * 7) % 4).collect();
        for text in KERNELS {
            let kernel = kernel(text);
            let entries = between(&kernel, &a, &b);
            let sums = KernelMatrix::between(&kernel, &a, &b)
                .unwrap()
                .grouped_sums(&weights, &groups, 4, &watch())
                .unwrap();
            for c in 0..4 {
                let expected: Vec<f64> = (0..rows)
                    .map(|i| {
                        let members = (0..columns).filter(|&j| groups[j] == c);
                        members.map(|j| weights[j] * entries[i + j * rows]).sum()
                    })
                    .collect();
                let found: Vec<f64> = sums.col(c as usize).iter().copied().collect();
                let tolerance = rounding(columns, size(&weights) * size(&entries));
                assert!(apart(&found, &expected) <= tolerance, "{text}");
            }
        }
    }
}

/// A kernel made of others is made of their matrices.
#[test]
fn composites_combine_the_matrices_of_their_parts() {
    let (a, b) = (points(257, 3, 11), points(130, 3, 12));
    let parts: Vec<Kernel> = KERNELS[..8].iter().map(|text| kernel(text)).collect();
    let entries: Vec<Vec<f64>> = parts.iter().map(|k| between(k, &a, &b)).collect();
    let combine = |op: fn(f64, f64) -> f64| -> Vec<f64> {
        let rest = entries[1..].iter();
        rest.fold(entries[0].clone(), |all, part| {
            all.iter().zip(part).map(|(a, b)| op(*a, *b)).collect()
        })
    };
    let (sum, product) = (combine(|a, b| a + b), combine(|a, b| a * b));
    let of_sum = Kernel::Sum(parts.clone());
    let of_product = Kernel::Product(parts);
    let nested = Kernel::Scaled(
        0.3,
        Box::new(Kernel::Sum(vec![of_product.clone(), of_sum.clone()])),
    );
    let both: Vec<f64> = product
        .iter()
        .zip(&sum)
        .map(|(a, b)| (a + b) * 0.3)
        .collect();
    for (kernel, expected) in [(of_sum, sum), (of_product, product), (nested, both)] {
        let gap = apart(&between(&kernel, &a, &b), &expected);
        assert!(gap <= rounding(8, size(&expected)), "{kernel}: {gap:e}");
    }
}

/// A common shift of all points changes no distance, and costs no digits.
#[test]
fn points_far_from_the_origin_keep_their_distances() {
    let (a, b) = (points(150, 3, 21), points(140, 3, 22));
    let (far_a, far_b) = (shifted(&a, 1e6), shifted(&b, 1e6));
    for text in KERNELS {
        let kernel = kernel(text);
        if is_of_distance(&kernel) {
            assert_entries(&kernel, &between(&kernel, &far_a, &far_b), &far_a, &far_b);
            assert_entries(&kernel, &of(&kernel, &far_a), &far_a, &far_a);
            // What is left is the rounding of the shifted points themselves.
            assert!(
                apart(&between(&kernel, &far_a, &far_b), &between(&kernel, &a, &b)) <= 1e-9,
                "{text}"
            );
        }
    }
}

#[test]
fn large_distances_underflow_to_zero() {
    for text in KERNELS {
        let kernel = kernel(text);
        if is_of_distance(&kernel) {
            for far in [1e4, 1e8, 1e100, 1e150] {
                let pair = Points::new(vec![far, 0.0, -far, 0.0], 2).unwrap();
                assert_eq!(of(&kernel, &pair), [1.0, 0.0, 0.0, 1.0], "{text} {far:e}");
                assert_eq!(
                    between(&kernel, &pair, &pair)[1..3],
                    [0.0, 0.0],
                    "{text} {far:e}"
                );
            }
        }
    }
    // Near the smallest numbers, digits go one by one and none turns into a NaN.
    let kernel = kernel("rbf(gamma=1)");
    let steps: Vec<f64> = (0..400).map(|i| 26.0 + f64::from(i) * 0.005).collect();
    let (steps, origin) = (
        Points::new(steps, 1).unwrap(),
        Points::new(vec![0.0], 1).unwrap(),
    );
    let values = between(&kernel, &steps, &origin);
    assert!(values.is_sorted_by(|a, b| a >= b));
    assert!(values[0] > 0.0 && values[399] == 0.0);
    assert_entries(&kernel, &values, &steps, &origin);
}

/// Squares of features beyond 1e154 are infinite; distances between such points are not.
#[test]
fn the_largest_points_have_no_distance_that_is_not_a_number() {
    let huge = Points::new(vec![1e200, 2e200, -1e300], 1).unwrap();
    for text in KERNELS {
        let kernel = kernel(text);
        if is_of_distance(&kernel) {
            assert_eq!(
                of(&kernel, &huge),
                [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
                "{text}"
            );
        }
    }
}

/// One row far from all others must not cost the others their distances.
#[test]
fn an_outlier_leaves_the_distances_of_the_others_alone() {
    let cloud = points(99, 3, 31);
    let with_outlier = Points::new([cloud.values(), &[1e9, 0.0, 0.0]].concat(), 3).unwrap();
    for text in KERNELS {
        let kernel = kernel(text);
        if is_of_distance(&kernel) {
            let (alone, entries) = (of(&kernel, &cloud), of(&kernel, &with_outlier));
            for j in 0..99 {
                let gap = apart(
                    &entries[j * 100..j * 100 + 99],
                    &alone[j * 99..(j + 1) * 99],
                );
                assert!(gap <= 1e-9, "{text}: {gap:e}");
            }
        }
    }
}

/// The kernel of a point with itself is the same whichever sets it is found in.
#[test]
fn points_that_coincide_are_at_distance_zero() {
    let (a, b) = (points(100, 3, 41), points(300, 3, 42));
    let both = Points::new([a.values(), b.values()].concat(), 3).unwrap();
    for text in KERNELS {
        let kernel = kernel(text);
        let entries = between(&kernel, &a, &both);
        for i in 0..100 {
            let (found, exact) = (entries[i * 101], kernel.at(a.row(i), a.row(i)));
            assert!(
                (found - exact).abs() <= rounding(3, exact),
                "{text}: {:e}",
                found - exact
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the scale of the points and of γ, entries are those of the definition.
    #[test]
    fn kernels_of_any_scale_agree_with_the_definition(
        kind in 0usize..7, gamma in -6f64..6.0, spread in -3f64..3.0, offset in -1e3..1e3f64,
        (rows, columns) in (1usize..40, 1usize..40), dim in 1usize..6, seed in any::<u64>(),
    ) {
        let gamma = 10f64.powf(gamma);
        let scaled = |points: Points| {
            let values: Vec<f64> = points.values().iter().map(|v| 10f64.powf(spread) * v + offset).collect();
            Points::new(values, points.dim()).unwrap()
        };
        let (a, b) = (scaled(points(rows, dim, seed)), scaled(points(columns, dim, seed ^ 1)));
        let matern = |smoothness| Kernel::Matern { smoothness, gamma };
        let kernel = match kind {
            0 => Kernel::Linear,
            1 => Kernel::Polynomial { degree: 3, gamma, coef0: 0.5 },
            2 => Kernel::Gaussian { gamma },
            3 => Kernel::Laplacian { gamma },
            4 => matern(Smoothness::Half),
            5 => matern(Smoothness::ThreeHalves),
            _ => matern(Smoothness::FiveHalves),
        };
        assert_entries(&kernel, &between(&kernel, &a, &b), &a, &b);
        assert_entries(&kernel, &of(&kernel, &a), &a, &a);
    }
}

fn gamma_of(kernel: &Kernel) -> f64 {
    match kernel {
        Kernel::Polynomial { gamma, .. }
        | Kernel::Gaussian { gamma }
        | Kernel::Laplacian { gamma }
        | Kernel::Matern { gamma, .. } => *gamma,
        other => panic!("{other} has no gamma"),
    }
}

fn resolved(text: &str, points: &Points, weights: &[f64], seed: u64) -> f64 {
    let rule: Kernel<Gamma> = text.parse().unwrap();
    gamma_of(&rule.resolve(points, weights, seed).unwrap())
}

#[test]
fn scale_is_one_over_the_variance_of_all_entries_times_their_number_per_row() {
    let three = shifted(&points(50, 3, 51), 2.0);
    let once = vec![1.0; 50];
    let entries = three.values();
    let mean = entries.iter().sum::<f64>() / 150.0;
    let variance = entries.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 150.0;
    let expected = 1.0 / (3.0 * variance);
    for text in [
        "rbf",
        "laplacian",
        "matern12",
        "matern32(gamma=scale)",
        "poly",
        "rbf()",
    ] {
        let gap = resolved(text, &three, &once, 0) - expected;
        assert!(gap.abs() <= rounding(150, expected), "{text}");
    }

    let widened: Vec<f64> = (0..50)
        .flat_map(|i| [three.row(i), &[7.0]].concat())
        .collect();
    let widened = Points::new(widened, 4).unwrap();
    assert!((resolved("rbf", &widened, &once, 0) - expected).abs() <= rounding(150, expected));

    let weights: Vec<f64> = (0..50).map(|i| f64::from(1 + i % 3)).collect();
    let rows: Vec<usize> = (0..50)
        .flat_map(|i| std::iter::repeat_n(i, 1 + i % 3))
        .collect();
    let repeated = three.select(&rows);
    let (a, b) = (
        resolved("rbf", &three, &weights, 0),
        resolved("rbf", &repeated, &vec![1.0; rows.len()], 0),
    );
    assert!((a - b).abs() <= rounding(300, b));

    let constant = Points::new(vec![2.0; 10], 2).unwrap();
    assert_eq!(resolved("rbf", &constant, &[1.0; 5], 0), 1.0);
}

/// The median of the distances of 1000 pairs from the generator's second stream, equal rows left out.
#[test]
fn median_is_the_definition_to_the_letter() {
    let few = Points::new(vec![0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 1.0, 1.0, -2.0, 5.0], 2).unwrap();
    let absolute = |x: &[f64], y: &[f64]| (x[0] - y[0]).abs() + (x[1] - y[1]).abs();
    let squared = |x: &[f64], y: &[f64]| (x[0] - y[0]).powi(2) + (x[1] - y[1]).powi(2);
    let root = |x: &[f64], y: &[f64]| squared(x, y).sqrt();
    for seed in [0, 1, 12345] {
        let mut random = generator(seed);
        random.set_stream(2);
        let pairs: Vec<(usize, usize)> = (0..1000)
            .map(|_| {
                let mut draw = || (random.random::<f64>() * 5.0) as usize;
                (draw(), draw())
            })
            .collect();
        let expected = |distance: &dyn Fn(&[f64], &[f64]) -> f64| {
            let mut distances: Vec<f64> = pairs
                .iter()
                .map(|&(i, j)| distance(few.row(i), few.row(j)))
                .collect();
            distances.retain(|d| *d > 0.0);
            distances.sort_by(f64::total_cmp);
            let n = distances.len();
            1.0 / (0.5 * (distances[(n - 1) / 2] + distances[n / 2]))
        };
        let found = |name: &str| resolved(&format!("{name}(gamma=median)"), &few, &[1.0; 5], seed);
        assert_eq!(found("rbf"), expected(&squared));
        assert_eq!(found("poly"), expected(&squared));
        assert_eq!(found("laplacian"), expected(&absolute));
        assert_eq!(found("matern12"), expected(&root));
        assert_eq!(found("matern52"), expected(&root));
    }
    let pair = Points::new(vec![1.0, 4.0], 1).unwrap();
    assert_eq!(
        resolved("rbf(gamma=median)", &pair, &[1.0; 2], 9),
        1.0 / 9.0
    );
    assert_eq!(
        resolved("laplacian(gamma=median)", &pair, &[1.0; 2], 9),
        1.0 / 3.0
    );
    let equal = Points::new(vec![1.0; 4], 1).unwrap();
    assert_eq!(resolved("rbf(gamma=median)", &equal, &[1.0; 4], 9), 1.0);
}

/// Everything the engine refuses, with what the sentence must name.
#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn errors_name_the_offending_value() {
    let x = Points::new(vec![0.0, 1.0, 2.0, 3.0], 1).unwrap();
    let y = [1.0, 2.0, 3.0, 4.0];
    let numbers = |name: &str, values: &[f64]| Column::numbers(name, values.to_vec());
    let sensitive = |columns: Vec<Column>| {
        let rows = columns[0].len();
        Sensitive::new(columns, rows)
    };
    let groups = |values: [&'static str; 4]| {
        Sensitive::new(vec![Column::texts("group", values.map(Some))], 4).unwrap()
    };
    let (two, ages) = (
        groups(["a", "b", "a", "b"]),
        sensitive(vec![numbers("age", &[0.1, 0.2, 0.7, 0.9])]).unwrap(),
    );
    let fit =
        |settings: &Settings, sensitive: &Sensitive, targets: &[f64], weights: Option<&[f64]>| {
            let training = Training {
                points: &x,
                sensitive,
                targets,
                weights,
            };
            settings.fit(training, &watch()).map(|fit| fit.predictor)
        };
    let plain = Settings::default();
    let refused = |settings: Settings| fit(&settings, &two, &y, None).unwrap_err();
    let ruled = |rule: PartitionRule, sensitive: &Sensitive| {
        Partition::fit(&rule, sensitive, &[1.0; 4]).map(|(partition, _)| partition)
    };
    let predictor = fit(&plain, &two, &y, None).unwrap();
    let wide = Points::new(vec![0.0; 8], 2).unwrap();
    let by_age = |policies| {
        let rule = PartitionRule {
            cells: oblivio::partition::CellCount::Given(4),
            binning: oblivio::partition::Binning::Dyadic,
            bounds: vec![("age".into(), 0.0, 1.0)],
            policies,
            ..PartitionRule::default()
        };
        ruled(rule, &ages).unwrap()
    };
    let at_age = |age: f64| sensitive(vec![numbers("age", &[age])]).unwrap();
    let strict = Encoding {
        scaling: Scaling::Raw,
        missing: MissingFeatures::Error,
    };
    let encoder =
        |column: Column| Encoder::fit(&[column], strict, &[1.0; 2], UnseenCategory::Error);
    let parse = |text: &str| text.parse::<Kernel<Gamma>>().unwrap_err();
    let stopped = Watch::default();
    stopped.interrupt();
    let system = |value: f64| {
        let mut lower = Lower::new(2).unwrap();
        let twice = Points::new(vec![value; 2], 1).unwrap();
        KernelMatrix::of(&Kernel::Linear, &twice)
            .lower_into(&mut lower, &watch())
            .unwrap();
        lower
    };
    let solve = |value: f64, penalty: f64, target: f64| {
        let ridge = Ridge::new(penalty, Solver::Cholesky).unwrap();
        ridge
            .solve(system(value), &[target, target], &[1.0; 2], &watch())
            .unwrap_err()
    };
    let linear = Settings {
        kernel: "linear".parse().unwrap(),
        ..Settings::default()
    };
    let steep = fit(&linear, &two, &y, None).unwrap();

    #[rustfmt::skip]
    let table: Vec<(&str, Error, &[&str])> = vec![
        ("NotFinite", Points::new(vec![0.0, f64::NAN], 2).unwrap_err(), &["feature 1", "NaN", "row 0"]),
        ("NotFinite", sensitive(vec![numbers("age", &[1.0, f64::NEG_INFINITY])]).unwrap_err(), &["`age`", "-inf", "row 1"]),
        ("NotFinite", fit(&plain, &two, &[1.0, 2.0, f64::INFINITY, 4.0], None).unwrap_err(), &["the target", "inf", "row 2"]),
        ("Length", fit(&plain, &two, &y[..3], None).unwrap_err(), &["the target", "3", "4"]),
        ("Length", fit(&plain, &Sensitive::none(5), &y, None).unwrap_err(), &["sensitive", "5", "4"]),
        ("Length", fit(&plain, &two, &y, Some(&[1.0; 6])).unwrap_err(), &["weights", "6", "4"]),
        ("Length", Sensitive::new(vec![numbers("age", &[1.0])], 7).unwrap_err(), &["1 rows", "7"]),
        ("Length", predictor.predict(&x, Some(&Sensitive::none(9)), &watch()).unwrap_err(), &["9", "4"]),
        ("Ragged", Points::new(vec![0.0; 5], 3).unwrap_err(), &["5", "3"]),
        ("Width", predictor.predict(&wide, Some(&two), &watch()).unwrap_err(), &["2", "1"]),
        ("TooFewRows", Reference::Rows(vec![0, 1]).split(2, 0).unwrap_err(), &["training", "0", "1"]),
        ("TooFewRows", Reference::Rows(vec![]).split(2, 0).unwrap_err(), &["reference", "0", "1"]),
        ("TooFewRows", fit(&plain, &two, &y, Some(&[0.0, 3.0, 0.0, 0.0])).unwrap_err(), &["1", "2"]),
        ("TooFewRows", Partition::fit(&PartitionRule::default(), &Sensitive::none(0), &[]).unwrap_err(), &["0", "1"]),
        ("InvalidParameter", Points::new(vec![], 0).unwrap_err(), &["features", "0"]),
        ("InvalidParameter", refused(Settings { penalty: -0.25, ..plain.clone() }), &["penalty", "-0.25"]),
        ("InvalidParameter", refused(Settings { penalty: f64::NAN, ..plain.clone() }), &["penalty", "NaN"]),
        ("InvalidParameter", refused(Settings { strength: 1.5, ..plain.clone() }), &["strength", "1.5"]),
        ("InvalidParameter", refused(Settings { strength: f64::NAN, ..plain.clone() }), &["strength", "NaN"]),
        ("InvalidParameter", refused(Settings { kernel: Kernel::Gaussian { gamma: Gamma::Value(-3.0) }, ..plain.clone() }), &["gamma", "-3"]),
        ("InvalidParameter", refused(Settings { kernel: Kernel::Sum(vec![]), ..plain.clone() }), &["sum", "0"]),
        ("InvalidParameter", fit(&plain, &two, &y, Some(&[1.0, 1.0, -2.5, 1.0])).unwrap_err(), &["weight", "-2.5"]),
        ("InvalidParameter", parse("rbf(gamma=0)"), &["gamma", "0"]),
        ("InvalidParameter", parse("poly(degree=65)"), &["degree", "65"]),
        ("InvalidParameter", parse("poly(coef0=-1)"), &["coef0", "-1"]),
        ("InvalidParameter", parse("-2 * rbf"), &["factor", "-2"]),
        ("InvalidParameter", "rbf".parse::<Kernel>().unwrap_err(), &["gamma", "scale"]),
        ("InvalidParameter", ruled(PartitionRule { cells: oblivio::partition::CellCount::Given(0), ..PartitionRule::default() }, &ages).unwrap_err(), &["cells", "0"]),
        ("InvalidParameter", ruled(PartitionRule { bounds: vec![("age".into(), 3.0, 1.0)], ..PartitionRule::default() }, &ages).unwrap_err(), &["bounds", "3:1"]),
        ("Syntax", parse("rbf + gauss"), &["`rbf + gauss`", "character 7"]),
        ("UnknownName", Mode::named("fair").unwrap_err(), &["mode", "`fair`", "m-oblivious"]),
        ("UnknownColumn", ruled(PartitionRule { continuous: vec!["height".into()], ..PartitionRule::default() }, &ages).unwrap_err(), &["`height`"]),
        ("UnknownColumn", predictor.predict(&x, Some(&ages), &watch()).unwrap_err(), &["`group`"]),
        ("DuplicateColumn", sensitive(vec![numbers("age", &[1.0]), numbers("age", &[2.0])]).unwrap_err(), &["`age`", "2"]),
        ("NotNumeric", ruled(PartitionRule { continuous: vec!["group".into()], ..PartitionRule::default() }, &two).unwrap_err(), &["`group`", "`a`"]),
        ("MissingValues", encoder(numbers("height", &[1.0, f64::NAN])).unwrap_err(), &["`height`", "1", "row 1"]),
        ("MissingSensitive", ruled(PartitionRule::default(), &sensitive(vec![numbers("age", &[0.5, f64::NAN, 0.5, f64::NAN])]).unwrap()).unwrap_err(), &["`age`", "2", "row 1"]),
        ("SensitiveNeeded", predictor.predict(&x, None, &watch()).unwrap_err(), &["group"]),
        ("UnknownCategory", predictor.predict(&x, Some(&groups(["a", "b", "zebra", "b"])), &watch()).unwrap_err(), &["`group`", "`zebra`", "a, b"]),
        ("UnknownCategory", fit(&Settings { reference: Reference::Rows(vec![0, 2]), ..plain.clone() }, &two, &y, None).unwrap_err(), &["`group`", "`b`", "a"]),
        ("UnknownLevel", encoder(Column::texts("town", ["Bath", "York"].map(Some))).unwrap().encode(&[Column::texts("town", [Some("Ely")])]).unwrap_err(), &["`town`", "`Ely`", "Bath, York"]),
        ("EmptyCell", by_age(Policies { empty: EmptyCell::Error, ..Policies::default() }).assign(&at_age(0.3)).unwrap_err(), &["0.25 <= age < 0.5"]),
        ("OutOfBounds", by_age(Policies::default()).assign(&at_age(1.75)).unwrap_err(), &["`age`", "1.75", "[0, 1]"]),
        ("NoSuchRow", refused(Settings { reference: Reference::Rows(vec![1, 4]), ..plain.clone() }), &["row 4", "4 rows"]),
        ("NotPositiveDefinite", solve(1e15, 3.5, 1.0), &["3.5", "pivot 1"]),
        ("Overflow", solve(1.0, 1e-10, 1e308), &["coefficient"]),
        ("Overflow", steep.predict(&Points::new(vec![1e308; 4], 1).unwrap(), Some(&two), &watch()).unwrap_err(), &["score"]),
        ("TooLarge", Lower::new(1 << 40).unwrap_err(), &["1099511627776", "GB"]),
        ("Interrupted", plain.fit(Training { points: &x, sensitive: &two, targets: &y, weights: None }, &stopped).unwrap_err(), &["interrupted"]),
        ("Interrupted", predictor.predict(&x, Some(&two), &stopped).unwrap_err(), &["interrupted"]),
    ];
    for (variant, error, parts) in &table {
        let (sentence, debug) = (error.to_string(), format!("{error:?}"));
        assert!(debug.starts_with(variant), "{debug} is no {variant}");
        for part in *parts {
            assert!(sentence.contains(part), "`{sentence}` does not name {part}");
        }
    }
    for variant in [
        "NotFinite",
        "Length",
        "Ragged",
        "Width",
        "TooFewRows",
        "InvalidParameter",
        "Syntax",
        "UnknownName",
        "UnknownColumn",
        "DuplicateColumn",
        "NotNumeric",
        "MissingValues",
        "MissingSensitive",
        "SensitiveNeeded",
        "UnknownCategory",
        "UnknownLevel",
        "EmptyCell",
        "OutOfBounds",
        "NoSuchRow",
        "NotPositiveDefinite",
        "Overflow",
        "TooLarge",
        "Interrupted",
    ] {
        assert!(
            table.iter().any(|(found, ..)| *found == variant),
            "{variant} is not reached"
        );
    }
    let clamped = Policies {
        range: OutOfRange::Clamp,
        ..Policies::default()
    };
    assert_eq!(by_age(clamped).assign(&at_age(1.75)).unwrap().codes(), [2]);
}
