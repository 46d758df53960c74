use oblivio::sensitive::Kind;
use oblivio_base::{Column, Values};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::side::Form;
use super::*;

fn numbers(rows: usize, seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // The sum of three uniform numbers: a bell without tails.
    let mut draw = || (0..3).map(|_| random.random::<f64>()).sum();
    (0..rows).map(|_| draw()).collect()
}

fn codes(rows: usize, levels: u32, seed: u64) -> Vec<u32> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // The smaller of two numbers: unequal shares.
    let mut draw = || random.random_range(0..levels);
    (0..rows).map(|_| draw().min(draw())).collect()
}

fn number(values: &[f64]) -> Column {
    Column::numbers("number", values.to_vec())
}

fn category(codes: &[u32]) -> Column {
    let last = codes.iter().filter(|c| **c != oblivio_base::MISSING).max();
    Column {
        name: "category".into(),
        values: Values::Categories {
            levels: (0..=*last.unwrap()).map(|c| format!("level {c}")).collect(),
            codes: codes.to_vec(),
        },
    }
}

fn side_with(columns: &[Column], weights: Option<&[f64]>, settings: &HsicSettings) -> HsicSide {
    let kinds: Vec<Kind> = columns
        .iter()
        .map(|column| match column.values {
            Values::Numbers(_) => Kind::Continuous,
            Values::Categories { .. } => Kind::Categorical,
        })
        .collect();
    HsicSide::new(columns, &kinds, weights, settings, &Watch::default()).unwrap()
}

fn side(columns: &[Column]) -> HsicSide {
    side_with(columns, None, &HsicSettings::default())
}

fn table(columns: &[Column]) -> HsicSide {
    HsicSide::table(columns, None, &HsicSettings::default(), &Watch::default()).unwrap()
}

fn found(x: &HsicSide, s: &HsicSide) -> Hsic {
    hsic(x, s, &FEW, &Watch::default()).unwrap()
}

const FEW: Resampling = Resampling {
    permutations: 39,
    resamples: 39,
    confidence: 0.95,
    seed: 1,
};

const LOW_RANK: HsicSettings = HsicSettings {
    exact_rows: 10,
    rank: 40,
    seed: 0,
    permute_rows: 0,
};

fn close(a: f64, b: f64, tolerance: f64) {
    assert!(
        (a - b).abs() <= tolerance * b.abs().max(1e-6),
        "{a} and {b}"
    );
}

/// The kernel matrix by its definition, from columns and the γ that the side found.
fn kernel(columns: &[Column], side: &HsicSide) -> Vec<Vec<f64>> {
    let rows = side.len();
    let mut matrix = vec![vec![1.0; rows]; rows];
    for column in columns {
        match &column.values {
            Values::Numbers(values) => {
                let mean = values.iter().sum::<f64>() / rows as f64;
                let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / rows as f64;
                let gamma = side.gamma().unwrap() / variance;
                for i in 0..rows {
                    for j in 0..rows {
                        matrix[i][j] *= (-gamma * (values[i] - values[j]).powi(2)).exp();
                    }
                }
            }
            Values::Categories { codes, .. } => {
                for i in 0..rows {
                    for j in (0..rows).filter(|&j| codes[i] != codes[j]) {
                        matrix[i][j] = 0.0;
                    }
                }
            }
        }
    }
    matrix
}

/// tr(KHLH)/n² with H = I − 11ᵀ/n, and the mean of the kernel of the U-statistic over all quadruples of different rows.
fn naive(k: &[Vec<f64>], l: &[Vec<f64>]) -> (f64, f64) {
    let n = k.len();
    let centred = |m: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let means: Vec<f64> = m
            .iter()
            .map(|row| row.iter().sum::<f64>() / n as f64)
            .collect();
        let mean = means.iter().sum::<f64>() / n as f64;
        let row = |i: usize| {
            (0..n)
                .map(|j| m[i][j] - means[i] - means[j] + mean)
                .collect()
        };
        (0..n).map(row).collect()
    };
    let (a, b) = (centred(k), centred(l));
    let biased = (0..n * n)
        .map(|at| a[at / n][at % n] * b[at / n][at % n])
        .sum::<f64>();
    let (mut pairs, mut triples, mut quadruples) = (0.0, 0.0, 0.0);
    for i in 0..n {
        for j in (0..n).filter(|&j| j != i) {
            pairs += k[i][j] * l[i][j];
            for q in (0..n).filter(|&q| q != i && q != j) {
                triples += k[i][j] * l[i][q];
                let rest = (0..n).filter(|&r| r != i && r != j && r != q);
                quadruples += rest.map(|r| k[i][j] * l[q][r]).sum::<f64>();
            }
        }
    }
    let m = n as f64;
    let (two, three) = (m * (m - 1.0), m * (m - 1.0) * (m - 2.0));
    let unbiased = pairs / two - 2.0 * triples / three + quadruples / (three * (m - 3.0));
    (biased / (m * m), unbiased)
}

#[test]
fn values_are_those_of_the_definitions() {
    let rows = 40;
    let x = numbers(rows, 1);
    let s: Vec<f64> = x
        .iter()
        .zip(numbers(rows, 2))
        .map(|(x, e)| x * x + 0.5 * e)
        .collect();
    let groups = codes(rows, 3, 3);
    let cases: [(Vec<Column>, Vec<Column>); 4] = [
        (vec![number(&x)], vec![number(&s)]),
        (vec![number(&x)], vec![category(&groups)]),
        (
            vec![category(&codes(rows, 4, 4))],
            vec![category(&groups), category(&codes(rows, 2, 5))],
        ),
        (vec![number(&x)], vec![number(&s), category(&groups)]),
    ];
    for (a, b) in cases {
        let (x, s) = (side(&a), side(&b));
        let (k, l) = (kernel(&a, &x), kernel(&b, &s));
        let value = found(&x, &s);
        let (biased, unbiased) = naive(&k, &l);
        let (x_biased, x_unbiased) = naive(&k, &k);
        let (s_biased, s_unbiased) = naive(&l, &l);
        close(value.biased, biased, 1e-9);
        close(value.unbiased, unbiased, 1e-8);
        close(
            value.normalized,
            biased / (x_biased * s_biased).sqrt(),
            1e-9,
        );
        let normalized = unbiased / (x_unbiased * s_unbiased).sqrt();
        close(value.normalized_unbiased, normalized, 1e-8);
        assert!(value.exact && value.measured.value == value.normalized);
    }
}

/// Many columns, so that the kernel has full rank and is held entry by entry.
fn wide(rows: usize, seed: u64) -> Vec<Column> {
    (0..8).map(|k| number(&numbers(rows, seed + k))).collect()
}

#[test]
fn matrices_and_features_agree() {
    let rows = 300;
    let x = wide(rows, 10);
    let groups: Vec<u32> = numbers(rows, 10)
        .iter()
        .map(|v| u32::from(*v > 1.5))
        .collect();
    let s = number(&numbers(rows, 11));
    let weights: Vec<f64> = numbers(rows, 99).iter().map(|w| w + 0.1).collect();
    for (partner, weights) in [
        (category(&groups), None),
        (s.clone(), None),
        (category(&groups), Some(&weights[..])),
        (s, Some(&weights[..])),
    ] {
        let settings = HsicSettings::default();
        let x = side_with(&x, weights, &settings);
        let s = side_with(&[partner], weights, &settings);
        let Form::Factor(factor) = &s.form else {
            panic!("few features")
        };
        assert!(x.rank().is_none());
        let mut dense = s.clone();
        dense.form = Form::Matrix(matrix::Matrix::of_factor(factor).unwrap());
        // The same value, permutations and resamples, whether features or entries are gathered.
        for (a, b) in [
            (found(&x, &s), found(&x, &dense)),
            (found(&s, &x), found(&dense, &x)),
        ] {
            close(a.biased, b.biased, 1e-10);
            close(a.unbiased, b.unbiased, 1e-9);
            close(a.gamma_p_value, b.gamma_p_value, 1e-8);
            close(a.measured.expected, b.measured.expected, 1e-10);
            close(a.measured.critical, b.measured.critical, 1e-10);
            close(a.measured.lower, b.measured.lower, 1e-9);
            close(a.measured.upper, b.measured.upper, 1e-9);
            assert_eq!(a.permutation_p_value, b.permutation_p_value);
        }
        let both = (found(&s, &s), found(&dense, &dense));
        close(both.0.normalized, 1.0, 1e-10);
        close(both.1.measured.critical, both.0.measured.critical, 1e-9);
        close(both.1.measured.lower, both.0.measured.lower, 1e-9);
        let formula = |s: &HsicSide| {
            let mut side = s.clone();
            side.settings.permute_rows = 0;
            side
        };
        let (a, b) = (
            found(&formula(&s), &formula(&s)),
            found(&formula(&dense), &formula(&dense)),
        );
        close(a.measured.lower, b.measured.lower, 1e-9);
    }
}

#[test]
fn weights_are_repetitions() {
    let rows = 60;
    let (x, s) = (numbers(rows, 1), numbers(rows, 2));
    let groups = codes(rows, 3, 3);
    let weights: Vec<f64> = codes(rows, 4, 4).iter().map(|&c| f64::from(c)).collect();
    let repeated: Vec<usize> = (0..rows)
        .flat_map(|i| std::iter::repeat_n(i, weights[i] as usize))
        .collect();
    for columns in [[number(&x), number(&s)], [number(&x), category(&groups)]] {
        let [x, s] = columns
            .clone()
            .map(|column| side_with(&[column], Some(&weights), &HsicSettings::default()));
        let weighted = found(&x, &s);
        let [x, s] = columns.map(|column| side(&[column.select(&repeated)]));
        let plain = found(&x, &s);
        close(weighted.biased, plain.biased, 1e-9);
        close(weighted.unbiased, plain.unbiased, 1e-8);
        close(weighted.normalized, plain.normalized, 1e-9);
        close(
            weighted.normalized_unbiased,
            plain.normalized_unbiased,
            1e-8,
        );
        // Repeated rows are no new evidence, and only weights say so.
        assert!(weighted.gamma_p_value > plain.gamma_p_value || plain.gamma_p_value > 0.5);
    }
}

#[test]
fn values_do_not_depend_on_how_rows_and_columns_are_written() {
    let rows = 120;
    let (x, groups) = (numbers(rows, 1), codes(rows, 5, 2));
    let s: Vec<f64> = x.iter().zip(numbers(rows, 3)).map(|(x, e)| x * e).collect();
    let same = |a: Hsic, b: Hsic| {
        close(a.biased, b.biased, 1e-9);
        close(a.unbiased, b.unbiased, 1e-8);
        close(a.normalized, b.normalized, 1e-9);
        close(a.gamma_p_value, b.gamma_p_value, 1e-6);
    };
    let plain = found(&side(&[number(&x)]), &side(&[number(&s)]));
    same(found(&side(&[number(&s)]), &side(&[number(&x)])), plain);
    let moved: Vec<f64> = x.iter().map(|x| 1000.0 - 7.0 * x).collect();
    same(found(&side(&[number(&moved)]), &side(&[number(&s)])), plain);
    let order: Vec<usize> = FEW
        .permutation(0, rows)
        .iter()
        .map(|&i| i as usize)
        .collect();
    let [x2, s2] = [number(&x), number(&s)].map(|c| side(&[c.select(&order)]));
    same(found(&x2, &s2), plain);
    let grouped = found(&side(&[number(&x)]), &side(&[category(&groups)]));
    let renamed: Vec<u32> = groups.iter().map(|g| 4 - g).collect();
    same(
        found(&side(&[number(&x)]), &side(&[category(&renamed)])),
        grouped,
    );
    // A missing category is one like the others.
    let missing: Vec<u32> = groups
        .iter()
        .map(|&g| if g == 2 { oblivio_base::MISSING } else { g })
        .collect();
    same(
        found(&side(&[number(&x)]), &side(&[category(&missing)])),
        grouped,
    );
    let both = [number(&x), category(&groups)];
    let changed = [number(&moved), category(&renamed)];
    same(
        found(&table(&both), &side(&[number(&s)])),
        found(&table(&changed), &side(&[number(&s)])),
    );
}

#[test]
fn landmarks_come_close() {
    let rows = 3000;
    let x = numbers(rows, 1);
    let s: Vec<f64> = x
        .iter()
        .zip(numbers(rows, 2))
        .map(|(x, e)| (x - 1.5).powi(2) + e)
        .collect();
    let heavy: Vec<f64> = numbers(rows, 3)
        .iter()
        .zip(&x)
        .map(|(e, x)| (4.0 * e + x).exp())
        .collect();
    let cases = [
        (number(&x), number(&s), 1e-4),
        (number(&x), number(&heavy), 0.01),
        (number(&s), category(&codes(rows, 30, 4)), 1e-4),
        (
            category(&codes(rows, 30, 4)),
            category(&codes(rows, 7, 5)),
            1e-9,
        ),
    ];
    for (x, s, tolerance) in cases {
        let exact = found(
            &side(std::slice::from_ref(&x)),
            &side(std::slice::from_ref(&s)),
        );
        let [x, s] = [x, s].map(|column| side_with(&[column], None, &LOW_RANK));
        let low = hsic(&x, &s, &FEW, &Watch::default()).unwrap();
        assert!(!low.exact && low.measured.null == Null::Formula);
        close(low.biased, exact.biased, tolerance);
        close(low.normalized, exact.normalized, tolerance);
        close(
            low.normalized_unbiased,
            exact.normalized_unbiased,
            3.0 * tolerance,
        );
        close(low.gamma_p_value, exact.gamma_p_value, 30.0 * tolerance);
    }
}

#[test]
fn a_table_of_landmarks_comes_close() {
    let rows = 1500;
    let mut columns = wide(rows, 10);
    columns.push(category(&codes(rows, 80, 4)));
    let s: Vec<f64> = numbers(rows, 10)
        .iter()
        .zip(numbers(rows, 5))
        .map(|(a, b)| a + b)
        .collect();
    let exact = found(&table(&columns), &side(&[number(&s)]));
    let watch = Watch::default();
    let x = HsicSide::table(&columns, None, &LOW_RANK, &watch).unwrap();
    let low = found(&x, &side_with(&[number(&s)], None, &LOW_RANK));
    close(low.normalized, exact.normalized, 0.02);
    close(low.normalized_unbiased, exact.normalized_unbiased, 0.02);
}

/// The moments over permutations are exact: over all of them, for few rows.
#[test]
fn moments_under_independence_are_those_of_all_permutations() {
    let rows = 6;
    let x = side(&[number(&numbers(rows, 1))]);
    let s = side(&[number(&numbers(rows, 2))]);
    let (Form::Factor(f), Form::Factor(g)) = (&x.form, &s.form) else {
        panic!("few rows, few features")
    };
    let pair = Pair::of(&x, &s, &Watch::default()).unwrap();
    let (mean, variance) = pair.totals().permutation_moments(rows as f64);
    let (f, g) = (f.all().unwrap(), g.all().unwrap());
    let (p, r) = (f.len() / rows, g.len() / rows);
    let mut values = Vec::new();
    // All orders, in the mixed-radix numbering of permutations.
    for number in 0..720usize {
        let (mut left, mut number) = ((0..rows).collect::<Vec<_>>(), number);
        let order: Vec<usize> = (0..rows)
            .map(|i| {
                let at = number % (rows - i);
                number /= rows - i;
                left.remove(at)
            })
            .collect();
        let entry = |a: usize, b: usize| -> f64 {
            let rows = (0..rows).map(|i| f[i * p + a] * g[order[i] * r + b]);
            rows.sum::<f64>() / 6.0
        };
        let squares = (0..p * r).map(|at| entry(at / r, at % r).powi(2));
        values.push(squares.sum::<f64>());
    }
    let count = values.len() as f64;
    let average = values.iter().sum::<f64>() / count;
    let spread = values.iter().map(|v| (v - average).powi(2)).sum::<f64>() / count;
    close(mean, average, 1e-10);
    close(variance, spread, 1e-7);
}

/// Under independence both p-values are below 0.05 in a twentieth of the cases.
///
/// 400 repetitions, and four standard deviations of a binomial share: 0.05 ± 0.044.
#[test]
fn independence_is_rejected_as_often_as_promised() {
    let (repetitions, rows) = (400, 50);
    let mut rejected = [[0.0; 2]; 2];
    for seed in 0..repetitions {
        let x = side(&[number(&numbers(rows, 2 * seed + 1000))]);
        let s = number(&numbers(rows, 2 * seed + 1001));
        for (k, s) in [s, category(&codes(rows, 3, seed))].into_iter().enumerate() {
            let resampling = Resampling {
                seed,
                resamples: 0,
                permutations: 99,
                ..FEW
            };
            let value = hsic(&x, &side(&[s]), &resampling, &Watch::default()).unwrap();
            let p_values = [value.gamma_p_value, value.permutation_p_value.unwrap()];
            for (count, p) in rejected[k].iter_mut().zip(p_values) {
                *count += f64::from(u8::from(p <= 0.05)) / repetitions as f64;
            }
        }
    }
    let share = |s: &f64| (s - 0.05).abs() < 0.044;
    assert!(rejected.as_flattened().iter().all(share), "{rejected:?}");
}

#[test]
fn dependence_without_correlation_is_found() {
    let rows = 100;
    let s: Vec<f64> = numbers(rows, 1).iter().map(|v| v - 1.5).collect();
    let x: Vec<f64> = s
        .iter()
        .zip(numbers(rows, 2))
        .map(|(s, e)| s * s + 0.1 * e)
        .collect();
    let resampling = Resampling::default();
    let (x, s) = (side(&[number(&x)]), side(&[number(&s)]));
    let value = hsic(&x, &s, &resampling, &Watch::default()).unwrap();
    assert_eq!(value.permutation_p_value, Some(0.005));
    assert!(value.gamma_p_value < 1e-4);
    assert!(value.measured.lower > value.measured.critical - value.measured.expected);
    assert!(value.measured.is_large(Measure::Hsic));
}

/// The interval holds the value of ten times as many rows in most cases: at least 80 of 100, asked for 95.
#[test]
fn intervals_cover() {
    let draw = |rows: usize, seed: u64| {
        let x = numbers(rows, seed);
        let s: Vec<f64> = x
            .iter()
            .zip(numbers(rows, seed + 5000))
            .map(|(x, e)| x + e)
            .collect();
        (number(&x), number(&s))
    };
    let truth = {
        let (x, s) = draw(5000, 9999);
        found(&side(&[x]), &side(&[s])).normalized_unbiased
    };
    let mut covered = [0; 2];
    for seed in 0..100 {
        let (x, s) = draw(200, seed);
        for (k, permute_rows) in [1000, 0].into_iter().enumerate() {
            let settings = HsicSettings {
                permute_rows,
                ..HsicSettings::default()
            };
            let [x, s] = [&x, &s].map(|c| side_with(std::slice::from_ref(c), None, &settings));
            let resampling = Resampling {
                permutations: 0,
                resamples: 99,
                ..FEW
            };
            let value = hsic(&x, &s, &resampling, &Watch::default())
                .unwrap()
                .measured;
            covered[k] += usize::from(value.lower <= truth && truth <= value.upper);
        }
    }
    assert!(covered.iter().all(|&c| c >= 80), "{covered:?}");
}

#[test]
fn constant_sides_and_few_rows() {
    let rows = 30;
    let varying = number(&numbers(rows, 1));
    for constant in [number(&vec![0.1; rows]), category(&vec![0; rows])] {
        for settings in [HsicSettings::default(), LOW_RANK] {
            let [x, s] =
                [&varying, &constant].map(|c| side_with(std::slice::from_ref(c), None, &settings));
            let value = found(&x, &s);
            assert_eq!((value.normalized, value.measured.p_value), (0.0, 1.0));
            assert_eq!(found(&s, &s).unbiased, 0.0);
        }
    }
    // All different: shuffling changes nothing, so nothing can be told.
    let different: Vec<u32> = (0..rows as u32).collect();
    let value = found(&side(&[varying]), &side(&[category(&different)]));
    assert_eq!(
        (value.gamma_p_value, value.permutation_p_value),
        (1.0, Some(1.0))
    );
    for rows in 6..12 {
        let (x, s) = (numbers(rows, 1), codes(rows, 2, 2));
        let value = found(&side(&[number(&x)]), &side(&[category(&s)]));
        assert!(
            value.unbiased.is_finite() && value.measured.lower.is_finite(),
            "{value:?}"
        );
        assert!((0.0..=1.0).contains(&value.gamma_p_value));
    }
    let few = HsicSide::new(
        &[number(&[1.0, 2.0])],
        &[Kind::Continuous],
        None,
        &HsicSettings::default(),
        &Watch::default(),
    );
    assert!(matches!(few, Err(Error::TooFewRows { found: 2, .. })));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let (x, s) = (
        side(&[number(&numbers(20, 1))]),
        side(&[number(&numbers(21, 1))]),
    );
    assert!(matches!(
        hsic(&x, &s, &FEW, &Watch::default()),
        Err(Error::Length { .. })
    ));
    let weights: Vec<f64> = numbers(20, 2);
    let s = side_with(
        &[number(&numbers(20, 1))],
        Some(&weights),
        &HsicSettings::default(),
    );
    let refused = hsic(&x, &s, &FEW, &Watch::default());
    assert!(matches!(refused, Err(Error::InvalidParameter { .. })));
    let mut holes = numbers(20, 1);
    holes[3] = f64::NAN;
    let refused = HsicSide::table(&[number(&holes)], None, &LOW_RANK, &Watch::default());
    assert!(matches!(refused, Err(Error::MissingValues { row: 3, .. })));
    let watch = Watch::default();
    watch.interrupt();
    assert_eq!(hsic(&x, &x, &FEW, &watch), Err(Error::Interrupted));
}

#[test]
fn results_do_not_depend_on_the_threads() {
    let rows = 9000;
    let x = [number(&numbers(rows, 1))];
    let s = [number(&numbers(rows, 2)), category(&codes(rows, 3, 3))];
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let small: Vec<usize> = (0..500).collect();
            let wide = table(&wide(500, 3));
            (
                found(&side(&x), &side(&s)),
                found(&wide, &side(&[s[0].select(&small)])),
            )
        })
    };
    assert_eq!(on(1), on(3));
}
