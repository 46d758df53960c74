use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use oblivio_base::random::{Stream, numbered};
use rand::RngExt;

use super::folds::Folds;
use super::ridges::{PENALTIES, Ridges};
use super::*;

fn noise(number: usize, rows: usize) -> Vec<f64> {
    let mut random = numbered(2, Stream::Simulation, number);
    // Nearly normal.
    let mut draw = || (0..6).map(|_| random.random::<f64>() - 0.5).sum::<f64>();
    (0..rows).map(|_| draw()).collect()
}

fn map(values: &[f64], others: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    values.iter().zip(others).map(|(a, b)| f(*a, *b)).collect()
}

fn categories(values: &[f64], name: impl Fn(f64) -> &'static str) -> Column {
    Column::texts("s", values.iter().map(|v| Some(name(*v))))
}

fn sign(value: f64) -> &'static str {
    if value > 0.0 { "high" } else { "low" }
}

fn settings(kind: AdversaryKind) -> AdversarySettings {
    AdversarySettings {
        kind,
        ..AdversarySettings::default()
    }
}

fn found(kind: AdversaryKind, x: &[f64], s: &Column) -> Adversary {
    let x = [Column::numbers("x", x.to_vec())];
    let few = Resampling {
        permutations: 99,
        resamples: 99,
        ..Resampling::default()
    };
    let watch = Watch::default();
    adversary(&x, s, Kind::of(s), None, &settings(kind), &few, &watch).unwrap()
}

/// The prediction of every row by ridge regressions that are solved one by one, with the trace of the hat matrix.
fn directly(folds: &Folds, features: &Mat<f64>, y: &[f64], weights: &[f64]) -> Vec<f64> {
    let (rows, width) = (features.nrows(), features.ncols());
    let mut predicted = vec![0.0; rows];
    for span in &folds.spans {
        let taught: Vec<usize> = (0..rows).filter(|row| !span.contains(row)).collect();
        let total: f64 = taught.iter().map(|&i| weights[i]).sum();
        let mean = |f: &dyn Fn(usize) -> f64| {
            taught.iter().map(|&i| weights[i] * f(i)).sum::<f64>() / total
        };
        let means: Vec<f64> = (0..width).map(|k| mean(&|i| features[(i, k)])).collect();
        let middle = mean(&|i| y[i]);
        let root = |i: usize| weights[i].sqrt();
        let f = Mat::from_fn(taught.len(), width, |t, k| {
            root(taught[t]) * (features[(taught[t], k)] - means[k])
        });
        let target = Mat::from_fn(taught.len(), 1, |t, _| {
            root(taught[t]) * (y[taught[t]] - middle)
        });
        let mut best = (f64::INFINITY, Mat::zeros(width, 1));
        for each in PENALTIES {
            let mut system = f.transpose() * &f;
            (0..width).for_each(|k| system[(k, k)] += each * total);
            let factor = system.llt(Side::Lower).unwrap();
            let beta = factor.solve(f.transpose() * &target);
            let hat = &f * factor.solve(f.transpose());
            let freedom = 1.0 + (0..taught.len()).map(|t| hat[(t, t)]).sum::<f64>();
            let missed = (&target - &f * &beta).squared_norm_l2();
            let score = missed / (total - freedom).powi(2);
            if score < best.0 {
                best = (score, beta);
            }
        }
        for row in span.clone() {
            let at = (0..width).map(|k| (features[(row, k)] - means[k]) * best.1[(k, 0)]);
            predicted[row] = middle + at.sum::<f64>();
        }
    }
    predicted
}

#[test]
fn predictions_are_those_of_ridge_regressions_one_by_one() {
    let rows = 60;
    let (a, b) = (noise(0, rows), noise(1, rows));
    let y = map(&a, &noise(2, rows), |a, e| a + 0.5 * e);
    let weights: Vec<f64> = (0..rows).map(|i| 0.5 + (i % 3) as f64).collect();
    let features = Mat::from_fn(rows, 3, |i, k| [a[i] + 3.0, b[i], a[i] * b[i]][k]);
    let folds = Folds::draw(&vec![0; rows], 5, 0);
    // The rows are taken to be in the order of the folds already.
    let flat = (0..rows * 3).map(|at| features[(at / 3, at % 3)]).collect();
    let ridges = Ridges::new(&folds, flat, 3, weights.clone()).unwrap();
    let both: Vec<f64> = y.iter().chain(&b).copied().collect();
    let held = ridges.hold_out(&both);
    for (target, numbers) in [&y, &b].into_iter().enumerate() {
        let expected = directly(&folds, &features, numbers, &weights);
        for (fold, span) in folds.spans.iter().enumerate() {
            for row in span.clone() {
                let score = held.scores[target * rows + row] + held.means[target][fold];
                assert!((score - expected[row]).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn r_squared_is_one_less_the_share_missed() {
    let (x, e) = (noise(0, 400), noise(1, 400));
    let s = Column::numbers("s", map(&x, &e, |x, e| x + e));
    for kind in [AdversaryKind::Linear, AdversaryKind::Kernel] {
        let found = found(kind, &x, &s);
        assert_eq!(found.score, AdversaryScore::RSquared);
        assert!((found.measured.value - 0.5).abs() < 0.1);
        assert!(found.measured.lower > 0.3 && found.measured.upper < 0.7);
        assert!(found.measured.p_value == 0.01 && found.measured.expected.abs() < 0.05);
    }
}

#[test]
fn a_spread_is_seen_by_the_kernel_alone() {
    let s = noise(0, 600);
    let group = categories(&s, sign);
    // The same mean in both groups, and three times the spread in one.
    let x = map(&noise(1, 600), &s, |e, s| if s > 0.0 { 3.0 * e } else { e });
    let linear = found(AdversaryKind::Linear, &x, &group);
    let kernel = found(AdversaryKind::Kernel, &x, &group);
    assert!((linear.measured.value - 0.5).abs() < 0.06);
    assert!(kernel.measured.value > 0.65 && kernel.measured.p_value == 0.01);
    assert!((kernel.measured.expected - 0.5).abs() < 0.02);
    assert!(kernel.measured.lower > 0.6 && kernel.measured.upper < 0.85);
    // A continuous S whose sign is hidden.
    let distance = map(&s, &noise(2, 600), |s, e| s * s + 0.1 * e);
    let hidden = found(AdversaryKind::Kernel, &distance, &Column::numbers("s", s));
    assert!(hidden.measured.value < 0.05 && hidden.squared.unwrap() > 0.5);
}

#[test]
fn every_category_has_its_own_auc() {
    let s = noise(0, 500);
    let name = |v: f64| match v {
        v if v > 0.8 => "top",
        v if v > 0.0 => "upper",
        _ => "lower",
    };
    let x = map(&s, &noise(1, 500), |s, e| {
        f64::from(u8::from(s > 0.8)) + 0.3 * e
    });
    let three = found(AdversaryKind::Kernel, &x, &categories(&s, name));
    assert_eq!((three.levels.len(), &three.levels[0].0[..]), (3, "top"));
    assert!(three.levels[0].1 > 0.9 && three.levels.is_sorted_by(|a, b| a.1 >= b.1));
    let mean = three.measured.value;
    assert!(three.levels[2].1 < mean && mean < three.levels[0].1);
    let two = found(AdversaryKind::Linear, &x, &categories(&s, sign));
    assert_eq!(two.levels.len(), 2);
    assert!(two.levels.iter().all(|(_, auc)| *auc == two.measured.value));
}

#[test]
fn a_table_of_numbers_and_categories_with_gaps_is_read() {
    let s = noise(0, 300);
    let told = Column::texts("told", s.iter().map(|v| (*v > 0.3).then_some("yes")));
    let x = [told, Column::numbers("noise", noise(1, 300))];
    let s = Column::texts("s", s.iter().map(|v| (*v > 0.3).then_some("some")));
    let run = |kind, weights: Option<&[f64]>| {
        let (settings, draws) = (settings(kind), Resampling::default());
        let watch = Watch::default();
        adversary(
            &x,
            &s,
            Kind::Categorical,
            weights,
            &settings,
            &draws,
            &watch,
        )
        .unwrap()
    };
    let ones = vec![2.0; 300];
    for kind in [AdversaryKind::Linear, AdversaryKind::Kernel] {
        let found = run(kind, None);
        assert!(found.measured.value > 0.99);
        assert_eq!(found, run(kind, None));
        let doubled = run(kind, Some(&ones));
        assert!((doubled.measured.value - found.measured.value).abs() < 1e-12);
    }
    let half: Vec<f64> = (0..300).map(|i| f64::from(u8::from(i % 2 == 0))).collect();
    assert_eq!(run(AdversaryKind::Kernel, Some(&half)).measured.rows, 150);
}

/// Of 300 tests at 5 %, Binomial(300, 0.05) reject: 15 and four standard deviations of 3.8 either way.
#[test]
fn shuffles_reject_independence_as_often_as_they_say() {
    let rejects = |number: usize, continuous: bool| {
        let (x, s) = (noise(2 * number, 40), noise(2 * number + 1, 40));
        let few = Resampling {
            permutations: 19,
            resamples: 19,
            seed: number as u64,
            ..Resampling::default()
        };
        let column = if continuous {
            Column::numbers("s", s)
        } else {
            categories(&s, sign)
        };
        let settings = AdversarySettings {
            seed: number as u64,
            components: 10,
            ..AdversarySettings::default()
        };
        let x = [Column::numbers("x", x)];
        let watch = Watch::default();
        let kind = Kind::of(&column);
        let found = adversary(&x, &column, kind, None, &settings, &few, &watch).unwrap();
        found.measured.is_detectable()
    };
    for continuous in [false, true] {
        let rejected = (0..300)
            .filter(|&number| rejects(number, continuous))
            .count();
        assert!((1..=30).contains(&rejected), "{rejected}");
    }
}

#[test]
fn constants_tell_nothing() {
    let x = noise(0, 50);
    let check = |x: &[f64], s: &Column, value: f64| {
        for kind in [AdversaryKind::Linear, AdversaryKind::Kernel] {
            let found = found(kind, x, s);
            assert_eq!((found.measured.value, found.measured.p_value), (value, 1.0));
            assert!(found.measured.lower == value && found.levels.iter().all(|l| l.1 == value));
        }
    };
    check(&x, &categories(&x, |_| "all"), 0.5);
    check(&[1.0; 50], &categories(&x, sign), 0.5);
    check(&[1.0; 50], &Column::numbers("s", x.clone()), 0.0);
    check(&x, &Column::numbers("s", vec![0.5; 50]), 0.0);
    let one_row: Vec<f64> = (0..50).map(|i| f64::from(u8::from(i == 0))).collect();
    check(&x, &categories(&one_row, sign), 0.5);
    // A sign has no spread, and one row apart is still a column.
    let signs = Column::numbers("s", x.iter().map(|v| v.signum()).collect());
    let few = Resampling::default();
    let (settings, watch) = (AdversarySettings::default(), Watch::default());
    let column = [Column::numbers("x", one_row)];
    let found = adversary(
        &column,
        &signs,
        Kind::Continuous,
        None,
        &settings,
        &few,
        &watch,
    );
    let found = found.unwrap();
    assert!(found.measured.value.is_finite() && found.squared.unwrap().abs() < 0.5);
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let run = |x: Vec<f64>, s: Vec<f64>, folds: usize| {
        let x = [Column::numbers("x", x)];
        let settings = AdversarySettings {
            folds,
            ..AdversarySettings::default()
        };
        let s = Column::numbers("s", s);
        let (draws, watch) = (Resampling::default(), Watch::default());
        adversary(&x, &s, Kind::Continuous, None, &settings, &draws, &watch).unwrap_err()
    };
    let numbers = noise(0, 20);
    let short = run(numbers[..9].to_vec(), numbers[..9].to_vec(), 5);
    assert!(matches!(short, Error::TooFewRows { needed: 10, .. }));
    let missing = run(vec![f64::NAN; 20], numbers.clone(), 5);
    assert!(matches!(missing, Error::MissingValues { count: 20, .. }));
    let unlike = run(numbers[1..].to_vec(), numbers.clone(), 5);
    assert!(matches!(unlike, Error::Length { found: 19, .. }));
    let single = run(numbers.clone(), numbers, 1);
    assert!(matches!(single, Error::InvalidParameter { .. }));
}

#[test]
fn it_can_be_stopped() {
    let watch = Watch::default();
    watch.interrupt();
    let x = [Column::numbers("x", noise(0, 50))];
    let s = categories(&noise(1, 50), sign);
    let (settings, draws) = (AdversarySettings::default(), Resampling::default());
    let stopped = adversary(&x, &s, Kind::Categorical, None, &settings, &draws, &watch);
    assert_eq!(stopped.unwrap_err(), Error::Interrupted);
}

#[test]
fn of_many_rows_a_sample_is_used() {
    let (most, rows) = (20_000, 20_100);
    let s = noise(0, rows);
    let x = map(&s, &noise(1, rows), |s, e| s + e);
    let few = Resampling {
        permutations: 19,
        resamples: 19,
        ..Resampling::default()
    };
    let columns = [Column::numbers("x", x)];
    let settings = AdversarySettings {
        most_rows: most,
        ..settings(AdversaryKind::Linear)
    };
    let s = Column::numbers("s", s);
    let watch = Watch::default();
    let found = adversary(
        &columns,
        &s,
        Kind::Continuous,
        None,
        &settings,
        &few,
        &watch,
    )
    .unwrap();
    assert_eq!(found.measured.rows, most);
    assert!((found.measured.value - 0.5).abs() < 0.02);
}

#[test]
fn the_number_of_threads_makes_no_difference() {
    let columns: Vec<Column> = (0..60)
        .map(|k| Column::numbers(format!("x{k}"), noise(k, 400)))
        .collect();
    let s = categories(&noise(3, 400), sign);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let few = Resampling {
            permutations: 19,
            resamples: 19,
            ..Resampling::default()
        };
        let (settings, watch) = (AdversarySettings::default(), Watch::default());
        pool.build().unwrap().install(|| {
            adversary(
                &columns,
                &s,
                Kind::Categorical,
                None,
                &settings,
                &few,
                &watch,
            )
            .unwrap()
        })
    };
    assert_eq!(run(1), run(4));
}
