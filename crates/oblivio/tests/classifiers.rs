//! Solvers for two classes, against a general solver of quadratic programs and against definitions.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};
use faer::{Mat, MatRef, Side};
use oblivio::learn::{Classified, Intercept, LinearClassified, Margins, Svm, SvmSolver};
use oblivio::{Gram, Lower, Watch};
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
    for k in 0..p {
        quadratic[k][k] = 1.0 / unit;
    }
    let mut linear = vec![0.0; variables];
    for i in 0..n {
        linear[p + one + i] = data.caps[i] / unit;
    }
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let mut sides = Vec::new();
    for i in 0..n {
        let mut row = vec![0.0; variables];
        for k in 0..p {
            row[k] = -data.labels[i] * data.features[(k, i)];
        }
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
    (solver.solution.status == SolverStatus::Solved).then(|| solver.solution.obj_val * unit)
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
        (gap - certificate.gap).abs() <= 1e-9,
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
                    let start = std::time::Instant::now();
                    let found = svm(solver).solve(&data.gram(), &data.margins(intercept), &watch());
                    let found = found.unwrap();
                    verify(&data, intercept, &found, &what);
                    let certificate = &found.certificate;
                    // Two coefficients at a time go nowhere when C is large; that is what the other solver is for.
                    if solver == SvmSolver::Smo && !certificate.converged {
                        println!("{what}: {certificate:?} {:?}", start.elapsed());
                        continue;
                    }
                    if !(certificate.converged && near(certificate.primal, least, 1e-6)) {
                        println!("BAD {what}: {least} {certificate:?} {:?}", start.elapsed());
                    }
                }
            }
        }
    }
}
