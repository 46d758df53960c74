//! Solvers for two classes, against a general solver of quadratic programs and against definitions.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use faer::{Mat, Side};
use oblivio::{Error, Watch};
use oblivio_kernels::learn::{
    Classified, Intercept, LinearClassified, Logistic, Margins, Svm, SvmSolver,
};
use oblivio_kernels::{Gram, Lower};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

const CAPS: [f64; 5] = [1e-3, 1.0, 100.0, 1024.0, 524_288.0];
const BOTH: [Intercept; 2] = [Intercept::Fitted, Intercept::None];
const SOLVERS: [SvmSolver; 3] = [SvmSolver::Auto, SvmSolver::Smo, SvmSolver::Interior];

/// Rows of features (in columns), labels and caps.
#[derive(Clone)]
struct Data {
    features: Mat<f64>,
    labels: Vec<f64>,
    caps: Vec<f64>,
}

impl Data {
    fn margins(&self, intercept: Intercept) -> Margins<'_> {
        Margins {
            labels: &self.labels,
            caps: &self.caps,
            intercept,
        }
    }

    fn gram(&self) -> Lower {
        lower(&(self.features.transpose() * &self.features))
    }

    fn with_caps(&self, cap: f64) -> Self {
        Self {
            caps: self.caps.iter().map(|c| c * cap).collect(),
            ..self.clone()
        }
    }

    fn len(&self) -> usize {
        self.labels.len()
    }
}

fn watch() -> Watch {
    Watch::default()
}

fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn lower(matrix: &Mat<f64>) -> Lower {
    let mut lower = Lower::new(matrix.nrows()).unwrap();
    lower.as_mat_mut().copy_from(matrix);
    lower
}

/// Two overlapping clouds, their labels noisy.
fn clouds(rows: usize, width: usize, seed: u64) -> Data {
    let mut random = random(seed);
    let mut normal = || -> f64 { random.sample(StandardNormal) };
    let mut features = Mat::zeros(width, rows);
    let mut labels = vec![1.0; rows];
    for i in 0..rows {
        labels[i] = if normal() > 0.2 { 1.0 } else { -1.0 };
        for k in 0..width {
            features[(k, i)] = normal() + if k == 0 { labels[i] } else { 0.3 };
        }
    }
    (labels[0], labels[1]) = (1.0, -1.0);
    Data {
        features,
        caps: vec![1.0; rows],
        labels,
    }
}

/// The rows seen by a Gaussian kernel, as features: the root of their kernel matrix.
fn gaussian(data: &Data, gamma: f64) -> Data {
    let x = &data.features;
    let kernel = Mat::from_fn(data.len(), data.len(), |i, j| {
        (-gamma * (x.col(i) - x.col(j)).squared_norm_l2()).exp()
    });
    let eigen = kernel.self_adjoint_eigen(Side::Lower).unwrap();
    let roots: Vec<f64> = eigen
        .S()
        .column_vector()
        .iter()
        .map(|v| v.max(0.0).sqrt())
        .collect();
    Data {
        features: Mat::from_fn(data.len(), data.len(), |k, i| roots[k] * eigen.U()[(i, k)]),
        ..data.clone()
    }
}

/// Every row twice.
fn twice(data: &Data) -> Data {
    let n = data.len();
    let double = |v: &[f64]| [v, v].concat();
    Data {
        features: Mat::from_fn(data.features.nrows(), 2 * n, |k, i| {
            data.features[(k, i % n)]
        }),
        labels: double(&data.labels),
        caps: double(&data.caps),
    }
}

/// Weights of widely different sizes.
fn uneven(data: &Data, seed: u64) -> Data {
    let mut random = random(seed);
    let caps = data.caps.iter().map(|c| {
        let exponent: f64 = random.random_range(-3.0..2.0);
        c * 10f64.powf(exponent)
    });
    Data {
        caps: caps.collect(),
        ..data.clone()
    }
}

fn problems() -> Vec<(&'static str, Data)> {
    let linear = clouds(40, 3, 1);
    let overlapping = clouds(30, 1, 2);
    vec![
        ("linear", linear.clone()),
        ("one feature", overlapping.clone()),
        ("Gaussian", gaussian(&clouds(50, 2, 3), 0.7)),
        ("smooth Gaussian", gaussian(&clouds(40, 1, 4), 0.05)),
        ("duplicates", twice(&linear)),
        (
            "Gaussian duplicates",
            twice(&gaussian(&clouds(25, 2, 5), 1.0)),
        ),
        ("uneven", uneven(&linear, 6)),
        (
            "uneven Gaussian",
            uneven(&gaussian(&clouds(40, 2, 7), 0.7), 8),
        ),
        ("two rows", clouds(2, 2, 9)),
    ]
}

/// The least objective, from the primal in (w, c, ξ) with y(⟨w, z⟩ + c) ≥ 1 − ξ, ξ ≥ 0 and |⟨w, u⟩| ≤ ε.
fn oracle(data: &Data, intercept: Intercept, bounded: Option<(&Mat<f64>, f64)>) -> f64 {
    let largest = data.caps.iter().copied().fold(0.0, f64::max);
    // The general solver manages some problems in one unit of loss and some in the other.
    let tries =
        [1.0, largest, largest.sqrt()].map(|unit| oracle_in(unit, data, intercept, bounded));
    let solved = tries.iter().flatten().copied();
    solved.fold(f64::INFINITY, f64::min)
}

fn oracle_in(
    unit: f64,
    data: &Data,
    intercept: Intercept,
    bounded: Option<(&Mat<f64>, f64)>,
) -> Option<f64> {
    let (p, n) = (data.features.nrows(), data.len());
    let one = usize::from(intercept == Intercept::Fitted);
    let variables = p + one + n;
    let mut quadratic = vec![vec![0.0; variables]; variables];
    (0..p).for_each(|k| quadratic[k][k] = 1.0 / unit);
    let mut linear = vec![0.0; variables];
    for i in 0..n {
        linear[p + one + i] = data.caps[i] / unit;
    }
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let mut sides = Vec::new();
    for i in 0..n {
        let mut row = vec![0.0; variables];
        (0..p).for_each(|k| row[k] = -data.labels[i] * data.features[(k, i)]);
        if one == 1 {
            row[p] = -data.labels[i];
        }
        row[p + one + i] = -1.0;
        rows.push(row);
        sides.push(-1.0);
        let mut row = vec![0.0; variables];
        row[p + one + i] = -1.0;
        rows.push(row);
        sides.push(0.0);
    }
    if let Some((directions, slack)) = bounded {
        for u in directions.col_iter() {
            for sign in [1.0, -1.0] {
                let mut row = vec![0.0; variables];
                (0..p).for_each(|k| row[k] = sign * u[k]);
                rows.push(row);
                sides.push(slack);
            }
        }
    }
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: 1e-14,
        tol_gap_rel: 1e-10,
        tol_feas: 1e-11,
        max_iter: 500,
        ..DefaultSettings::default()
    };
    let cones = [SupportedConeT::NonnegativeConeT(rows.len())];
    let mut solver = DefaultSolver::new(
        &CscMatrix::from(&quadratic),
        &linear,
        &CscMatrix::from(&rows),
        &sides,
        &cones,
        settings,
    )
    .unwrap();
    solver.solve();
    (solver.solution.status == SolverStatus::Solved).then_some(solver.solution.obj_val * unit)
}

fn svm(solver: SvmSolver) -> Svm {
    Svm {
        tolerance: 1e-7,
        solver,
        ..Svm::default()
    }
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1e-12)
}

/// The objective of scores, by its definition.
fn objective(data: &Data, scores: &[f64], squared_norm: f64) -> f64 {
    let losses =
        (0..data.len()).map(|i| data.caps[i] * (1.0 - data.labels[i] * scores[i]).max(0.0));
    0.5 * squared_norm + losses.sum::<f64>()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What a certificate says, found from the solution alone.
fn verify(data: &Data, intercept: Intercept, found: &Classified, what: &str) {
    let total: f64 = data.caps.iter().sum();
    for ((a, y), cap) in found.coefficients.iter().zip(&data.labels).zip(&data.caps) {
        assert!(
            a * y >= 0.0 && a * y <= *cap,
            "{what}: {a} is not in the box"
        );
    }
    if intercept == Intercept::Fitted {
        let sum: f64 = found.coefficients.iter().sum();
        assert!(sum.abs() <= 1e-11 * total, "{what}: sum {sum}");
    } else {
        assert_eq!(found.intercept, 0.0);
    }
    let values = data.gram().multiply(&found.coefficients, &watch()).unwrap();
    for (value, score) in values.iter().zip(&found.scores) {
        assert!(
            (value + found.intercept - score).abs()
                <= 1e-9 * (1.0 + score.abs()) * total.sqrt().max(1.0),
            "{what}"
        );
    }
    let norm = dot(&values, &found.coefficients);
    let primal = objective(data, &found.scores, norm);
    let dual = dot(&found.coefficients, &data.labels) - 0.5 * norm;
    let certificate = &found.certificate;
    assert!(
        near(primal, certificate.primal, 1e-9),
        "{what}: {primal} {certificate:?}"
    );
    assert!(
        (dual - certificate.dual).abs() <= 1e-9 * primal.max(dual),
        "{what}: {dual} {certificate:?}"
    );
    let gap = (primal - dual) / primal.max(1e-14 * total);
    assert!(
        (gap - certificate.gap).abs() <= 1e-8,
        "{what}: {gap} {certificate:?}"
    );
}

#[test]
fn objectives_are_those_of_a_general_solver() {
    for (name, data) in problems() {
        for cap in CAPS {
            let data = data.with_caps(cap);
            for intercept in BOTH {
                let least = oracle(&data, intercept, None);
                for solver in SOLVERS {
                    let what = format!("{name}, C = {cap}, {intercept:?}, {solver:?}");
                    let found = svm(solver).solve(&data.gram(), &data.margins(intercept), &watch());
                    let found = found.unwrap();
                    verify(&data, intercept, &found, &what);
                    let certificate = &found.certificate;
                    // Two coefficients at a time go nowhere when C is large: that is what the other solver is for.
                    if solver == SvmSolver::Smo && cap > 1000.0 && !certificate.converged {
                        continue;
                    }
                    assert!(certificate.converged, "{what}: {certificate:?}");
                    assert!(
                        near(certificate.primal, least, 1e-6),
                        "{what}: {least} {certificate:?}"
                    );
                }
            }
        }
    }
}

fn weights_of(data: &Data, found: &Classified) -> Vec<f64> {
    let row = |k: usize| (0..data.len()).map(move |i| (k, i));
    let weight = |k| {
        row(k)
            .map(|(k, i)| data.features[(k, i)] * found.coefficients[i])
            .sum()
    };
    (0..data.features.nrows()).map(weight).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>().sqrt()
}

fn on_features(data: &Data, intercept: Intercept) -> LinearClassified {
    let rows = data.features.as_ref();
    let svm = svm(SvmSolver::Auto);
    svm.solve_features(&rows, &data.margins(intercept), None, &watch())
        .unwrap()
}

#[test]
fn features_and_inner_products_give_one_solution() {
    for (name, data) in problems() {
        for intercept in BOTH {
            let data = data.with_caps(2.0);
            let linear = on_features(&data, intercept);
            assert!(
                linear.certificate.converged,
                "{name}: {:?}",
                linear.certificate
            );
            for solver in SOLVERS {
                let found = svm(solver).solve(&data.gram(), &data.margins(intercept), &watch());
                let found = found.unwrap();
                let (a, b) = (found.certificate.primal, linear.certificate.primal);
                assert!(near(a, b, 2e-7), "{name} {solver:?}: {a} {b}");
                // The objective is strongly convex in h.
                let apart = distance(&weights_of(&data, &found), &linear.weights);
                assert!(
                    apart <= (8e-7 * a).sqrt() + 1e-9,
                    "{name} {solver:?}: {apart}"
                );
            }
        }
    }
}

#[test]
fn a_weight_of_two_is_a_row_twice() {
    let data = gaussian(&clouds(30, 2, 11), 0.8);
    let doubled = twice(&data);
    let weighted = data.with_caps(2.0);
    for intercept in BOTH {
        for solver in SOLVERS {
            let solve = |data: &Data| {
                svm(solver)
                    .solve(&data.gram(), &data.margins(intercept), &watch())
                    .unwrap()
            };
            let (a, b) = (solve(&weighted), solve(&doubled));
            assert!(near(a.certificate.primal, b.certificate.primal, 1e-6));
            assert!(distance(&a.scores, &b.scores[..30]) < 1e-2);
        }
        let solve = |data: &Data| {
            let logistic = Logistic::default();
            logistic
                .solve(&data.gram(), &data.margins(intercept), &watch())
                .unwrap()
        };
        let (a, b) = (solve(&weighted), solve(&doubled));
        assert!(distance(&a.scores, &b.scores[..30]) < 1e-5);
    }
}

#[test]
fn bounded_directions_are_bounded_and_cost_no_more_than_they_must() {
    let data = clouds(50, 4, 21);
    let mut random = random(22);
    for count in [1, 3] {
        let directions = Mat::from_fn(4, count, |_, _| random.sample::<f64, _>(StandardNormal));
        for (cap, slack) in [1e-2, 1.0, 100.0]
            .into_iter()
            .flat_map(|cap| [0.0, 1e-3, 0.05, 0.2, 10.0].map(|slack| (cap, slack)))
        {
            let data = data.with_caps(cap);
            for intercept in BOTH {
                let what = format!("{count} directions, C = {cap}, slack {slack}, {intercept:?}");
                let least = oracle(&data, intercept, Some((&directions, slack)));
                let rows = data.features.as_ref();
                let bounded = Some((directions.as_ref(), slack));
                let svm = svm(SvmSolver::Auto);
                let found = svm.solve_features(&rows, &data.margins(intercept), bounded, &watch());
                let found = found.unwrap();
                let certificate = &found.certificate;
                assert!(certificate.converged, "{what}: {certificate:?}");
                assert!(
                    near(certificate.primal, least, 1e-6),
                    "{what}: {least} {certificate:?}"
                );
                for u in directions.col_iter() {
                    let along: f64 = (0..4).map(|k| found.weights[k] * u[k]).sum();
                    assert!(along.abs() <= slack + 1e-8, "{what}: {along}");
                }
                // The certificate, from the dual point that came with it.
                let mut expansion = vec![0.0; 4];
                for k in 0..4 {
                    let rows = (0..50).map(|i| found.coefficients[i] * data.features[(k, i)]);
                    let taken = (0..count).map(|c| found.multipliers[c] * directions[(k, c)]);
                    expansion[k] = rows.sum::<f64>() - taken.sum::<f64>();
                }
                let lengths: f64 = found.multipliers.iter().map(|m| m.abs()).sum();
                let dual = dot(&found.coefficients, &data.labels)
                    - slack * lengths
                    - 0.5 * dot(&expansion, &expansion);
                let primal = objective(&data, &found.scores, dot(&found.weights, &found.weights));
                assert!(
                    near(dual, certificate.dual, 1e-9) && near(primal, certificate.primal, 1e-9)
                );
            }
        }
    }
}

#[test]
fn rows_computed_when_asked_for_give_the_same_solution() {
    let data = gaussian(&clouds(300, 3, 31), 0.5).with_caps(10.0);
    for intercept in BOTH {
        let solve = |cache: usize| {
            let svm = Svm {
                cache,
                ..svm(SvmSolver::Smo)
            };
            svm.solve(&data.gram(), &data.margins(intercept), &watch())
                .unwrap()
        };
        let whole = solve(1 << 30);
        let svm = svm(SvmSolver::Smo);
        let owned = svm.solve_matrix(data.gram(), &data.margins(intercept), &watch());
        assert_eq!(owned.unwrap(), whole);
        verify(&data, intercept, &whole, "whole");
        for rows in [2, 20, 299] {
            let found = solve(rows * 300 * 8);
            verify(&data, intercept, &found, "asked for");
            assert!(found.certificate.converged);
            for (a, b) in found.coefficients.iter().zip(&whole.coefficients) {
                assert!((a - b).abs() <= 1e-9, "{a} and {b}");
            }
        }
    }
}

#[test]
fn what_did_not_converge_says_so() {
    let data = gaussian(&clouds(60, 2, 41), 0.8).with_caps(10.0);
    for solver in SOLVERS {
        let svm = Svm {
            most_steps: Some(1),
            ..svm(solver)
        };
        let found = svm
            .solve(&data.gram(), &data.margins(Intercept::Fitted), &watch())
            .unwrap();
        assert!(!found.certificate.converged && found.certificate.gap > 1e-3);
        verify(&data, Intercept::Fitted, &found, "one step");
    }
    let logistic = Logistic {
        most_steps: 1,
        ..Logistic::default()
    };
    let found = logistic
        .solve(&data.gram(), &data.margins(Intercept::Fitted), &watch())
        .unwrap();
    assert!(!found.certificate.converged && found.certificate.iterations == 1);
}

#[test]
fn an_interrupt_ends_the_work() {
    let data = clouds(50, 3, 43);
    let watch = watch();
    watch.interrupt();
    let margins = data.margins(Intercept::Fitted);
    let rows = data.features.as_ref();
    for solver in SOLVERS {
        assert_eq!(
            svm(solver).solve(&data.gram(), &margins, &watch),
            Err(Error::Interrupted)
        );
    }
    let logistic = Logistic::default();
    assert_eq!(
        logistic.solve(&data.gram(), &margins, &watch),
        Err(Error::Interrupted)
    );
    assert_eq!(
        logistic.solve_features(&rows, &margins, &watch),
        Err(Error::Interrupted)
    );
}

/// Features of which labels cannot be told: all rows are the same.
fn constant(rows: usize, value: f64) -> Data {
    Data {
        features: Mat::from_fn(2, rows, |_, _| value),
        labels: (0..rows)
            .map(|i| if i % 3 == 0 { -1.0 } else { 1.0 })
            .collect(),
        caps: vec![1.0; rows],
    }
}

#[test]
fn hostile_problems_have_solutions() {
    for cap in CAPS {
        for value in [0.0, 1.0] {
            let data = constant(9, value).with_caps(cap);
            for solver in SOLVERS {
                let margins = data.margins(Intercept::Fitted);
                let found = svm(solver).solve(&data.gram(), &margins, &watch()).unwrap();
                assert!(
                    found.certificate.converged,
                    "{cap} {solver:?} {:?}",
                    found.certificate
                );
                // Three of nine are on the wrong side of a constant of one.
                assert!(near(found.certificate.primal, 6.0 * cap, 1e-6));
                assert!(found.scores.iter().all(|score| (score - 1.0).abs() < 1e-6));
            }
            let linear = on_features(&data, Intercept::Fitted);
            assert!(
                linear.certificate.converged && near(linear.certificate.primal, 6.0 * cap, 1e-6)
            );
        }
        // One class.
        let data = Data {
            labels: vec![-1.0; 12],
            ..clouds(12, 2, 51)
        }
        .with_caps(cap);
        for solver in SOLVERS {
            let found = svm(solver).solve(&data.gram(), &data.margins(Intercept::Fitted), &watch());
            let found = found.unwrap();
            assert!(found.certificate.converged && found.certificate.primal == 0.0);
            assert!(found.scores.iter().all(|score| *score <= -1.0));
            let alone = svm(solver).solve(&data.gram(), &data.margins(Intercept::None), &watch());
            let alone = alone.unwrap();
            assert!(alone.certificate.converged || solver == SvmSolver::Smo && cap > 1000.0);
        }
        // Two rows, a unit apart: w = 2, whatever C is, once it is large enough.
        let data = Data {
            features: Mat::from_fn(1, 2, |_, i| i as f64),
            labels: vec![-1.0, 1.0],
            caps: vec![cap.max(10.0); 2],
        };
        for solver in SOLVERS {
            let margins = data.margins(Intercept::Fitted);
            let found = svm(solver).solve(&data.gram(), &margins, &watch()).unwrap();
            assert!(
                near(found.certificate.primal, 2.0, 1e-6),
                "{:?}",
                found.certificate
            );
            assert!(distance(&found.scores, &[-1.0, 1.0]) < 1e-3);
        }
    }
}

#[test]
fn separable_classes_are_separated_at_any_price() {
    let mut data = clouds(40, 3, 61);
    for i in 0..40 {
        data.features[(0, i)] = data.labels[i] * (1.0 + data.features[(1, i)].abs());
    }
    let data = data.with_caps(524_288.0);
    for intercept in BOTH {
        let found = svm(SvmSolver::Auto).solve(&data.gram(), &data.margins(intercept), &watch());
        let found = found.unwrap();
        assert!(found.certificate.converged, "{:?}", found.certificate);
        assert!(near(
            found.certificate.primal,
            oracle(&data, intercept, None),
            1e-6
        ));
        let margins = found.scores.iter().zip(&data.labels).map(|(s, y)| s * y);
        assert!(margins.fold(f64::INFINITY, f64::min) > 1.0 - 1e-5);
        let logistic = Logistic::default();
        let rows = data.features.as_ref();
        let found = logistic
            .solve_features(&rows, &data.margins(intercept), &watch())
            .unwrap();
        assert!(found.certificate.converged, "{:?}", found.certificate);
        assert!(gradient(&data, intercept, &found) < 1e-4);
    }
}

#[test]
fn random_problems_are_solved_and_certified() {
    let mut random = random(71);
    for seed in 0..40 {
        let rows = random.random_range(2..120);
        let width = random.random_range(1..6);
        let cap = 10f64.powf(random.random_range(-3.0..2.0));
        let mut data = clouds(rows, width, 1000 + seed);
        if seed % 2 == 0 {
            data = gaussian(&data, random.random_range(0.1..3.0));
        }
        if seed % 3 == 0 {
            data = uneven(&data, seed);
        }
        let data = data.with_caps(cap);
        for intercept in BOTH {
            let mut least: Vec<f64> = Vec::new();
            for solver in SOLVERS {
                let what = format!("seed {seed}, {intercept:?}, {solver:?}");
                let svm = Svm {
                    tolerance: 1e-6,
                    ..svm(solver)
                };
                let found = svm
                    .solve(&data.gram(), &data.margins(intercept), &watch())
                    .unwrap();
                verify(&data, intercept, &found, &what);
                let certificate = &found.certificate;
                if solver == SvmSolver::Smo && !certificate.converged {
                    continue;
                }
                assert!(certificate.converged, "{what}: {certificate:?}");
                least.push(certificate.primal);
            }
            assert!(
                least.iter().all(|p| near(*p, least[0], 1e-6)),
                "seed {seed}: {least:?}"
            );
        }
    }
}

/// The norm of the gradient in (w, c), by its definition.
fn gradient(data: &Data, intercept: Intercept, found: &LinearClassified) -> f64 {
    let slopes: Vec<f64> = (0..data.len())
        .map(|i| {
            let margin = data.labels[i] * found.scores[i];
            data.caps[i] * data.labels[i] / (1.0 + margin.exp())
        })
        .collect();
    let mut total: f64 = 0.0;
    for k in 0..data.features.nrows() {
        let pull: f64 = (0..data.len())
            .map(|i| slopes[i] * data.features[(k, i)])
            .sum();
        total += (found.weights[k] - pull).powi(2);
    }
    if intercept == Intercept::Fitted {
        total += slopes.iter().sum::<f64>().powi(2);
    }
    total.sqrt()
}

/// Plain gradient descent with the step that the largest curvature allows.
fn descend(data: &Data, intercept: Intercept) -> (Vec<f64>, f64) {
    let width = data.features.nrows();
    let one = f64::from(u8::from(intercept == Intercept::Fitted));
    let curvature: f64 = (0..data.len())
        .map(|i| 0.25 * data.caps[i] * (data.features.col(i).squared_norm_l2() + one))
        .sum();
    let (mut weights, mut constant) = (vec![0.0; width], 0.0);
    for _ in 0..60_000 {
        let mut step: Vec<f64> = weights.iter().map(|w: &f64| -w).collect();
        let mut shift = 0.0;
        for i in 0..data.len() {
            let score: f64 = (0..width).map(|k| weights[k] * data.features[(k, i)]).sum();
            let margin = data.labels[i] * (score + constant);
            let slope = data.caps[i] * data.labels[i] / (1.0 + margin.exp());
            (0..width).for_each(|k| step[k] += slope * data.features[(k, i)]);
            shift += one * slope;
        }
        let rate = 1.0 / (1.0 + curvature);
        (0..width).for_each(|k| weights[k] += rate * step[k]);
        constant += rate * shift;
    }
    (weights, constant)
}

#[test]
fn logistic_regression_is_what_gradient_descent_finds() {
    for cap in [1e-3, 0.3, 3.0] {
        let data = uneven(&clouds(30, 2, 81), 82).with_caps(cap);
        for intercept in BOTH {
            let (weights, constant) = descend(&data, intercept);
            let rows = data.features.as_ref();
            let logistic = Logistic {
                tolerance: 1e-20,
                ..Logistic::default()
            };
            let found = logistic
                .solve_features(&rows, &data.margins(intercept), &watch())
                .unwrap();
            assert!(
                distance(&weights, &found.weights) < 1e-7,
                "{cap}: {:?} {weights:?}",
                found.weights
            );
            assert!((constant - found.intercept).abs() < 1e-7);
        }
    }
}

#[test]
fn logistic_regression_has_no_gradient_left() {
    for (name, data) in problems() {
        for cap in CAPS {
            let data = data.with_caps(cap);
            for intercept in BOTH {
                let what = format!("{name}, C = {cap}, {intercept:?}");
                let (margins, rows) = (data.margins(intercept), data.features.as_ref());
                let tolerance = if cap < 1000.0 { 1e-20 } else { 1e-15 };
                let logistic = Logistic {
                    tolerance,
                    ..Logistic::default()
                };
                let linear = logistic.solve_features(&rows, &margins, &watch()).unwrap();
                assert!(
                    linear.certificate.converged,
                    "{what}: {:?}",
                    linear.certificate
                );
                let total: f64 = data.caps.iter().sum();
                let left = gradient(&data, intercept, &linear);
                assert!(left <= 1e-9 * total.max(1.0), "{what}: {left}");
                let logistic = Logistic {
                    tolerance: if cap < 1000.0 { 1e-20 } else { 1e-10 },
                    ..logistic
                };
                let found = logistic.solve(&data.gram(), &margins, &watch()).unwrap();
                assert!(
                    found.certificate.converged,
                    "{what}: {:?}",
                    found.certificate
                );
                let (a, b) = (found.certificate.primal, linear.certificate.primal);
                assert!(near(a, b, 1e-8), "{what}: {a} {b}");
                let apart = distance(&found.scores, &linear.scores);
                assert!(
                    apart <= 1e-5 * (1.0 + dot(&linear.scores, &linear.scores).sqrt()),
                    "{what}: {apart}"
                );
                let values = data.gram().multiply(&found.coefficients, &watch()).unwrap();
                let values: Vec<f64> = values.iter().map(|v| v + found.intercept).collect();
                let apart = distance(&values, &found.scores);
                assert!(
                    apart <= 1e-5 * (1.0 + dot(&values, &values).sqrt()),
                    "{what}: {apart}"
                );
            }
        }
    }
}
