//! A path finds what a fit for each of its points finds.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef};
use oblivio::{Error, Watch};
use oblivio_kernels::learn::{Intercept, PathFit, Ridge, RidgePath, Solver};
use oblivio_kernels::{KernelMatrix, Lower};
use oblivio_testing::{Cut, KERNELS, Table, apart, kernel, mirrored, size, watch};

const STRENGTHS: [f64; 4] = [0.0, 0.3, 0.7, 1.0];
const INTERCEPTS: [Intercept; 2] = [Intercept::None, Intercept::Fitted];

/// K, V and a C for every strength.
struct Corrected {
    table: Table,
    lower: Lower,
    basis: Mat<f64>,
    corrections: Vec<Mat<f64>>,
}

fn plain(text: &str, table: &Table) -> Lower {
    let mut lower = Lower::new(table.len()).unwrap();
    KernelMatrix::of(&kernel(text), &table.points)
        .lower_into(&mut lower, &watch())
        .unwrap();
    lower
}

impl Corrected {
    fn new(text: &str, table: Table) -> Self {
        let (partition, map) = table.map(&kernel(text), Cut::Product, 1.0);
        let assignment = partition.assign(&table.sensitive(Cut::Product)).unwrap();
        let at = map.mean().at(&table.points, &watch()).unwrap();
        let shifts = map.shifts(at.as_ref(), &assignment);
        let cells = shifts.gram.ncols();
        let basis = Mat::from_fn(table.len(), 2 * cells, |i, j| {
            if j < cells {
                f64::from(u8::from(assignment.codes()[i] as usize == j))
            } else {
                -shifts.at[(i, j - cells)]
            }
        });
        let correction = |t: &f64| {
            Mat::from_fn(2 * cells, 2 * cells, |a, b| match (a < cells, b < cells) {
                (true, true) => t * t * shifts.gram[(a, b)],
                (false, false) => 0.0,
                _ => t * f64::from(u8::from(a.abs_diff(b) == cells)),
            })
        };
        Self {
            corrections: STRENGTHS.iter().map(correction).collect(),
            lower: plain(text, &table),
            basis,
            table,
        }
    }

    /// K + VCVᵀ
    fn gram(&self, correction: usize) -> Mat<f64> {
        let correction = &self.corrections[correction];
        mirrored(&self.lower) + &self.basis * correction * self.basis.transpose()
    }

    fn path(&self, intercept: Intercept, penalties: &[f64]) -> Vec<Vec<PathFit>> {
        let Table {
            targets, weights, ..
        } = &self.table;
        RidgePath::new(&self.lower, self.basis.as_ref(), targets, weights)
            .with_intercept(intercept)
            .points(&self.corrections, penalties, &watch())
            .unwrap()
    }
}

fn lower_of(matrix: &Mat<f64>) -> Lower {
    let mut lower = Lower::new(matrix.nrows()).unwrap();
    lower.as_mat_mut().copy_from(matrix);
    lower
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) -> bool {
    apart(found, expected) <= tolerance * size(expected)
}

/// Few penalties are factorised one by one, many come from one eigendecomposition.
fn few_and_many() -> [Vec<f64>; 2] {
    let few = vec![10.0, 0.3, 1e-3];
    let many = (0..14).map(|k| 10f64.powf(1.0 - 0.3 * f64::from(k)));
    [few, many.collect()]
}

#[test]
fn every_point_is_a_direct_solution() {
    for (number, text) in KERNELS.iter().enumerate() {
        let table = Table::new(60, 2, 31 + number as u64);
        let table = if number % 2 == 0 {
            table
        } else {
            table.weighted(3)
        };
        let corrected = Corrected::new(text, table);
        let Table {
            targets, weights, ..
        } = &corrected.table;
        for (penalties, intercept) in few_and_many().iter().zip(INTERCEPTS) {
            let path = corrected.path(intercept, penalties);
            for (correction, fits) in path.iter().enumerate() {
                let gram = corrected.gram(correction);
                let norm = gram.norm_l2();
                let gram = lower_of(&gram);
                for (fit, &penalty) in fits.iter().zip(penalties) {
                    // A direct solution is no more certain than its condition allows.
                    let close = |found: &[f64], expected: &[f64]| {
                        let certain = 16.0 * f64::EPSILON * norm / penalty;
                        close(found, expected, certain.max(1e-9))
                    };
                    let direct = Ridge::new(penalty, Solver::Cholesky)
                        .unwrap()
                        .with_intercept(intercept)
                        .solve_leaving_out(gram.clone(), targets, weights, &watch())
                        .unwrap();
                    let what = format!("{text}, {intercept:?}, {correction}, {penalty:e}");
                    assert_eq!(fit.penalty, penalty);
                    assert!(close(&fit.coefficients, &direct.coefficients), "{what}");
                    assert!(close(&fit.fitted, &direct.fitted), "{what}");
                    assert!(close(&fit.left_out, &direct.left_out.unwrap()), "{what}");
                    let gap = (fit.intercept - direct.intercept).abs();
                    assert!(gap <= 1e-9 * size(targets), "{what}: {gap:e}");
                }
            }
        }
    }
}

/// (O + λΩ⁻¹ 1; 1ᵀ 0) without the rows of weight zero: α and the constant.
fn refit(gram: &Mat<f64>, penalty: f64, intercept: Intercept, y: &[f64], w: &[f64]) -> Vec<f64> {
    let rows: Vec<usize> = (0..y.len()).filter(|&i| w[i] > 0.0).collect();
    let n = rows.len();
    let constant = f64::from(u8::from(intercept == Intercept::Fitted));
    let system = Mat::from_fn(n + 1, n + 1, |a, b| match (a < n, b < n) {
        (true, true) => {
            let noise = if a == b { penalty / w[rows[a]] } else { 0.0 };
            gram[(rows[a], rows[b])] + noise
        }
        (false, false) => 1.0 - constant,
        _ => constant,
    });
    let right = Mat::from_fn(n + 1, 1, |a, _| if a < n { y[rows[a]] } else { 0.0 });
    let solved = system.partial_piv_lu().solve(&right);
    let mut full = vec![0.0; y.len() + 1];
    for (a, &i) in rows.iter().enumerate() {
        full[i] = solved[(a, 0)];
    }
    full[y.len()] = solved[(n, 0)];
    full
}

#[test]
fn left_out_scores_are_those_of_refits_with_the_means_held_fixed() {
    for (text, weighted) in [("rbf(gamma=0.7)", true), ("laplacian(gamma=2)", false)] {
        let table = Table::new(40, 2, 51);
        let table = if weighted { table.weighted(5) } else { table };
        let corrected = Corrected::new(text, table);
        let Table {
            targets, weights, ..
        } = &corrected.table;
        for (penalties, intercept) in few_and_many().iter().zip(INTERCEPTS.iter().rev()) {
            let path = corrected.path(*intercept, penalties);
            for (correction, fits) in path.iter().enumerate() {
                let gram = corrected.gram(correction);
                for fit in fits {
                    let score = |out: usize| {
                        let mut weights = weights.clone();
                        weights[out] -= weights[out].min(1.0);
                        let alpha = refit(&gram, fit.penalty, *intercept, targets, &weights);
                        let terms = (0..targets.len()).map(|i| alpha[i] * gram[(out, i)]);
                        alpha[targets.len()] + terms.sum::<f64>()
                    };
                    let expected: Vec<f64> = (0..targets.len()).map(score).collect();
                    assert!(
                        close(&fit.left_out, &expected, 1e-9),
                        "{text} {}",
                        fit.penalty
                    );
                }
            }
        }
    }
}

/// H y is the fitted values: column j of H is the fit to the j-th unit vector.
#[test]
fn generalised_cross_validation_is_its_definition() {
    let corrected = Corrected::new("rbf(gamma=0.7)", Table::new(40, 2, 52).weighted(1));
    let Table {
        targets, weights, ..
    } = &corrected.table;
    let n = targets.len();
    for (penalties, intercept) in few_and_many().iter().zip(INTERCEPTS) {
        let path = corrected.path(intercept, penalties);
        for (correction, fits) in path.iter().enumerate() {
            let gram = corrected.gram(correction);
            for fit in fits {
                let fitted = |y: &[f64]| -> Vec<f64> {
                    let alpha = refit(&gram, fit.penalty, intercept, y, weights);
                    (0..n)
                        .map(|i| alpha[n] + (0..n).map(|j| gram[(i, j)] * alpha[j]).sum::<f64>())
                        .collect()
                };
                let unit = |j: usize| -> Vec<f64> {
                    (0..n).map(|i| f64::from(u8::from(i == j))).collect()
                };
                let freedom: f64 = (0..n).map(|j| fitted(&unit(j))[j]).sum();
                let gap = fitted(targets);
                let squares: f64 = (0..n)
                    .map(|i| weights[i] * (targets[i] - gap[i]).powi(2))
                    .sum();
                let weight: f64 = weights.iter().sum();
                let gcv = weight * squares / (weight - freedom).powi(2);
                assert!((fit.gcv - gcv).abs() <= 1e-8 * gcv, "{} {gcv}", fit.gcv);
                let error = (squares / weight).sqrt();
                assert!((fit.error - error).abs() <= 1e-8 * error);
            }
        }
    }
}

#[test]
fn no_correction_is_a_path_in_the_penalty_alone() {
    let table = Table::new(50, 2, 53);
    let lower = plain("rbf(gamma=0.7)", &table);
    let none = MatRef::from_column_major_slice(&[], 50, 0);
    for penalties in few_and_many() {
        let fits = RidgePath::new(&lower, none, &table.targets, &table.weights)
            .points(&[Mat::zeros(0, 0)], &penalties, &watch())
            .unwrap();
        for fit in &fits[0] {
            let direct = Ridge::new(fit.penalty, Solver::Cholesky)
                .unwrap()
                .solve_leaving_out(lower.clone(), &table.targets, &table.weights, &watch())
                .unwrap();
            assert!(close(&fit.coefficients, &direct.coefficients, 1e-9));
            assert!(close(&fit.left_out, &direct.left_out.unwrap(), 1e-9));
        }
    }
}

/// Nearly orthogonal features: the solution itself is not sensitive, however small the penalty.
#[test]
fn the_smallest_penalties_are_no_obstacle() {
    let corrected = Corrected::new("laplacian(gamma=20)", Table::new(40, 2, 61).weighted(5));
    let few = vec![1e-6, 1e-10];
    let many: Vec<f64> = (0..14).map(|k| 10f64.powi(-k)).collect();
    for penalties in [few, many] {
        for intercept in INTERCEPTS {
            // At full strength the mean of a cell is nothing but penalty.
            for (correction, fits) in corrected.path(intercept, &penalties)[..3]
                .iter()
                .enumerate()
            {
                let gram = lower_of(&corrected.gram(correction));
                for fit in fits {
                    let direct = Ridge::new(fit.penalty, Solver::Cholesky)
                        .unwrap()
                        .with_intercept(intercept)
                        .solve_leaving_out(
                            gram.clone(),
                            &corrected.table.targets,
                            &corrected.table.weights,
                            &watch(),
                        )
                        .unwrap();
                    assert!(close(&fit.coefficients, &direct.coefficients, 1e-9));
                    assert!(close(&fit.left_out, &direct.left_out.unwrap(), 1e-9));
                }
            }
        }
    }
}

/// Equal rows make the kernel matrix singular, and a factorisation fail for a penalty that rounding swallows.
#[test]
fn duplicates_and_a_penalty_below_rounding() {
    let table = Table::new(30, 2, 62);
    let rows: Vec<usize> = (0..60).map(|i| i % 30).collect();
    let corrected = Corrected::new("rbf(gamma=0.7)", table.select(&rows));
    for penalties in few_and_many() {
        for (correction, fits) in corrected
            .path(Intercept::None, &penalties)
            .iter()
            .enumerate()
        {
            let gram = lower_of(&corrected.gram(correction));
            for fit in fits {
                let direct = Ridge::new(fit.penalty, Solver::Cholesky)
                    .unwrap()
                    .solve(
                        gram.clone(),
                        &corrected.table.targets,
                        &corrected.table.weights,
                        &watch(),
                    )
                    .unwrap();
                assert!(close(&fit.fitted, &direct.fitted, 1e-9));
            }
        }
    }
    for penalties in [vec![1e-300], vec![1e-300; 14]] {
        for fit in &corrected.path(Intercept::None, &penalties)[0] {
            assert!(fit.fitted.iter().all(|v| v.is_finite()));
        }
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let corrected = Corrected::new("rbf(gamma=0.7)", Table::new(30, 2, 63));
    let Table {
        targets, weights, ..
    } = &corrected.table;
    let path = RidgePath::new(&corrected.lower, corrected.basis.as_ref(), targets, weights);
    let narrow = [Mat::zeros(1, 1)];
    let found = path.points(&narrow, &[1.0], &watch());
    assert!(matches!(found, Err(Error::Width { found: 1, .. })));
    let found = path.points(&corrected.corrections, &[0.0], &watch());
    assert!(matches!(found, Err(Error::InvalidParameter { .. })));
    let stopped = Watch::default();
    stopped.interrupt();
    let found = path.points(&corrected.corrections, &[1.0], &stopped);
    assert!(matches!(found, Err(Error::Interrupted)));
}
