//! What the engine computes fast is what the definitions say slowly.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use oblivio::oblivious::Features;
use oblivio::partition::{Binning, CellCount, EmptyCell, PartitionRule, Policies, SensitiveDesign};
use oblivio::reference::Reference;
use oblivio::{
    Column, Error, Fit, Kernel, Mode, ObliviousMap, Partition, Sensitive, Settings, Training,
};
use oblivio_kernels::learn::{Ridge, Solution, Solver};
use oblivio_kernels::{KernelMatrix, Lower};

use faer::Mat;
use faer::linalg::solvers::Solve;
use oblivio_testing::{
    Cut, KERNELS, Table, apart, cuts, difference, kernel, kernel_matrix, kernels, largest, matrix,
    mirrored, nine_terms, rounding, rounding_of, settings, shift_weights, size, stacked, tables,
    transform, watch,
};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The four terms are the nine of Algorithm 1, collected (with its sign mended).
    #[test]
    fn the_oblivious_matrix_is_the_nine_terms(
        kernel in kernels(), table in tables(), cut in cuts(), seed in any::<u64>(),
    ) {
        let apart = Table::new(25, table.points.dim(), seed);
        let (partition, map) = table.map(&kernel, cut, 1.0);
        for rows in [&table, &apart] {
            let assignment = partition.assign(&rows.sensitive(cut)).unwrap();
            let expected = nine_terms(&kernel, (rows, &table), cut, 1.0);
            let scale = largest(&kernel_matrix(&kernel, &rows.points, &rows.points))
                .max(largest(&kernel_matrix(&kernel, &table.points, &table.points)));
            let tolerance = rounding_of(&kernel, table.len(), scale);
            let found = map.gram(&rows.points, &assignment, &watch()).unwrap();
            prop_assert!(difference(&matrix(&found, rows.len()), &expected) <= tolerance);
            let z = Features::Oblivious(&rows.points, &assignment);
            let found = map.inner(z, z, &watch()).unwrap();
            prop_assert!(difference(&matrix(&found, rows.len()), &expected) <= tolerance);
        }
    }

    /// ⟨a_i, b_j⟩ = (T_a K T_bᵀ)_ij with T = [I | −tD] for oblivious and [I | 0] for plain features.
    #[test]
    fn inner_products_are_those_of_explicit_weights(
        kernel in kernels(), reference in tables(), cut in cuts(), seed in any::<u64>(), strength in 0.0..=1.0f64,
    ) {
        let (partition, map) = reference.map(&kernel, cut, strength);
        let cells = reference.cells(cut, &reference);
        let side = |table: &Table| {
            let own = table.cells(cut, &reference);
            shift_weights(table.len(), &reference.weights, |i, u| own[i] == cells[u])
        };
        let dim = reference.points.dim();
        let (a, b) = (Table::new(20, dim, seed), Table::new(13, dim, seed ^ 1));
        let assign = |table: &Table| partition.assign(&table.sensitive(cut)).unwrap();
        compare_all(&map, (&a, &assign(&a), &side(&a)), (&b, &assign(&b), &side(&b)), &reference)?;
    }
}

type Side<'a> = (&'a Table, &'a SensitiveDesign, &'a Mat<f64>);

/// Plain and oblivious features on either side, against T K Tᵀ.
fn compare_all(
    map: &ObliviousMap,
    (a, of_a, shift_a): Side,
    (b, of_b, shift_b): Side,
    reference: &Table,
) -> Result<(), TestCaseError> {
    let kernel = map.mean().kernel();
    let (left, right) = (
        stacked(&a.points, &reference.points),
        stacked(&b.points, &reference.points),
    );
    let k = kernel_matrix(kernel, &left, &right);
    let t = map.strength();
    for (oblivious_a, oblivious_b) in [(false, false), (false, true), (true, false), (true, true)] {
        let of = |oblivious, points, assignment| {
            if oblivious {
                Features::Oblivious(points, assignment)
            } else {
                Features::Plain(points)
            }
        };
        let strength = |oblivious| if oblivious { t } else { 0.0 };
        let expected = transform(shift_a, strength(oblivious_a))
            * &k
            * transform(shift_b, strength(oblivious_b)).transpose();
        let found = map
            .inner(
                of(oblivious_a, &a.points, of_a),
                of(oblivious_b, &b.points, of_b),
                &watch(),
            )
            .unwrap();
        let gap = difference(&matrix(&found, a.len()), &expected);
        let tolerance = rounding_of(kernel, reference.len(), largest(&k));
        prop_assert!(
            gap <= tolerance,
            "{} {oblivious_a} {oblivious_b}: {gap:e}",
            kernel
        );
    }
    Ok(())
}

/// What stands in for a cell without reference rows, by each policy, is one more row of weights.
#[test]
fn mixtures_are_rows_of_explicit_weights() {
    let table = Table::new(60, 2, 11).weighted(3);
    let bin = |age: f64| ((age * 8.0) as usize).min(7);
    let kept: Vec<usize> = (0..60)
        .filter(|&i| !(2..=5).contains(&bin(table.age[i])))
        .collect();
    let reference = table.select(&kept);
    let occupied: Vec<usize> = reference.age.iter().map(|age| bin(*age)).collect();
    // The bins that stand in for bin k.
    let stand_in = |policy: EmptyCell, k: usize| -> Vec<usize> {
        match policy {
            _ if occupied.contains(&k) => vec![k],
            EmptyCell::Population => (0..8).collect(),
            EmptyCell::Zero => Vec::new(),
            _ => (1..4)
                .map(|level| {
                    (0..8)
                        .filter(|other| other >> level == k >> level)
                        .collect::<Vec<_>>()
                })
                .find(|bins| bins.iter().any(|other| occupied.contains(other)))
                .unwrap(),
        }
    };
    for policy in [EmptyCell::Population, EmptyCell::Zero, EmptyCell::Enclosing] {
        let rule = PartitionRule {
            cells: CellCount::Given(8),
            binning: Binning::Dyadic,
            bounds: vec![("age".into(), 0.0, 1.0)],
            policies: Policies {
                empty: policy,
                ..Policies::default()
            },
            ..PartitionRule::default()
        };
        let shift = shift_weights(60, &reference.weights, |i, u| {
            stand_in(policy, bin(table.age[i])).contains(&occupied[u])
        });
        for (kernel, strength) in KERNELS
            .iter()
            .flat_map(|k| [(kernel(k), 0.6), (kernel(k), 1.0)])
        {
            let sensitive = reference.sensitive(Cut::Dyadic);
            let (partition, map) = reference.map_by(&kernel, &rule, &sensitive, strength);
            let assignment = partition.assign(&table.sensitive(Cut::Dyadic)).unwrap();
            assert_eq!(assignment.groups().unwrap().mixtures.len(), 4);
            assert_eq!(assignment.uses.empty_cell, 60 - kept.len());
            let side = (&table, &assignment, &shift);
            compare_all(&map, side, side, &reference).unwrap();
        }
    }
}

/// α = (𝒪 + λΩ⁻¹)⁻¹y by a dense solve, and how far its rounding can move a score.
fn ridge(gram: &Mat<f64>, penalty: f64, targets: &[f64], weights: &[f64]) -> Mat<f64> {
    let n = targets.len();
    let system = Mat::from_fn(n, n, |i, j| {
        gram[(i, j)] + if i == j { penalty / weights[i] } else { 0.0 }
    });
    let targets = Mat::from_fn(n, 1, |i, _| targets[i]);
    system.partial_piv_lu().solve(targets)
}

fn column(matrix: &Mat<f64>) -> Vec<f64> {
    matrix.col(0).iter().copied().collect()
}

/// The rounding of a solution with this condition number, in numbers of the size of the scores.
fn solving(kernel: &Kernel, gram: &Mat<f64>, penalty: f64, scores: &[f64]) -> f64 {
    let condition = 1.0 + gram.nrows() as f64 * largest(gram) / penalty;
    rounding_of(kernel, gram.nrows(), condition * size(scores))
}

#[test]
fn a_fit_is_the_dense_solution_of_the_definitions() {
    let table = Table::new(80, 2, 51).weighted(1);
    let test = Table::new(30, 2, 52);
    let rows: Vec<usize> = (0..80).filter(|i| i % 5 < 2).collect();
    for (text, cut) in KERNELS
        .iter()
        .flat_map(|k| oblivio_testing::CUTS.map(|cut| (k, cut)))
    {
        for (reference, strength) in [
            (Reference::All, 1.0),
            (Reference::All, 0.4),
            (Reference::Half, 1.0),
            (Reference::Rows(rows.clone()), 0.7),
        ] {
            for mode in [Mode::Plain, Mode::Oblivious, Mode::MOblivious] {
                let settings = Settings {
                    mode,
                    strength,
                    reference: reference.clone(),
                    seed: 3,
                    ..settings(text)
                };
                let split = settings.reference.split(80, 3).unwrap();
                let expected = literal(&settings, cut, (&table, &test), &split);
                let found = test.scores(&table.fit(&settings, cut), cut);
                let kernel = kernel(text);
                let gram = kernel_matrix(&kernel, &table.points, &table.points);
                let tolerance = solving(&kernel, &gram, settings.penalty, &expected);
                let gap = apart(&found, &expected);
                assert!(
                    gap <= tolerance,
                    "{text} {cut:?} {reference:?} {mode:?}: {gap:e} > {tolerance:e}"
                );
            }
        }
    }
}

/// The scores of `test` by the definitions.
fn literal(
    settings: &Settings,
    cut: Cut,
    (table, test): (&Table, &Table),
    split: &oblivio::reference::Split,
) -> Vec<f64> {
    let kernel = kernel(&settings.kernel.to_string());
    let (training, reference) = (
        table.select(&split.training),
        table.select(&split.reference),
    );
    let cells = reference.cells(cut, &reference);
    let operator = |rows: &Table| {
        let own = rows.cells(cut, &reference);
        assert!(own.iter().all(|cell| cells.contains(cell)));
        let shift = shift_weights(rows.len(), &reference.weights, |i, u| own[i] == cells[u]);
        transform(&shift, settings.strength)
    };
    let both = |rows: &Table| stacked(&rows.points, &reference.points);
    let targets = &training.targets;
    if settings.mode == Mode::Oblivious {
        let (left, right) = (operator(test), operator(&training));
        let gram =
            &right * kernel_matrix(&kernel, &both(&training), &both(&training)) * right.transpose();
        let alpha = ridge(&gram, settings.penalty, targets, &training.weights);
        let across =
            left * kernel_matrix(&kernel, &both(test), &both(&training)) * right.transpose();
        return column(&(across * alpha));
    }
    let gram = kernel_matrix(&kernel, &training.points, &training.points);
    let alpha = ridge(&gram, settings.penalty, targets, &training.weights);
    let scores =
        |rows: &Table| column(&(kernel_matrix(&kernel, &rows.points, &training.points) * &alpha));
    let mut found = scores(test);
    if settings.mode == Mode::MOblivious {
        let of_reference = if split.training == split.reference {
            left_out(&gram, settings.penalty, targets, &training.weights)
        } else {
            scores(&reference)
        };
        let own = test.cells(cut, &reference);
        let shift = shift_weights(test.len(), &reference.weights, |i, u| own[i] == cells[u]);
        for (i, score) in found.iter_mut().enumerate() {
            let offset: f64 = of_reference
                .iter()
                .enumerate()
                .map(|(u, h)| shift[(i, u)] * h)
                .sum();
            *score -= settings.strength * offset;
        }
    }
    found
}

/// The score of each row by the fit without it: a weight above one is lowered by one, a lesser one to nothing.
fn left_out(gram: &Mat<f64>, penalty: f64, targets: &[f64], weights: &[f64]) -> Vec<f64> {
    (0..targets.len())
        .map(|out| {
            let mut weights = weights.to_vec();
            weights[out] -= weights[out].min(1.0);
            let rows: Vec<usize> = (0..targets.len()).filter(|&i| weights[i] > 0.0).collect();
            let pick = |values: &[f64]| rows.iter().map(|&i| values[i]).collect::<Vec<_>>();
            let within = Mat::from_fn(rows.len(), rows.len(), |i, j| gram[(rows[i], rows[j])]);
            let alpha = ridge(&within, penalty, &pick(targets), &pick(&weights));
            rows.iter()
                .enumerate()
                .map(|(k, &i)| alpha[(k, 0)] * gram[(out, i)])
                .sum()
        })
        .collect()
}

/// The largest difference of the closed form of leaving out one row from refits.
fn leave_one_out_gap(penalty: f64, weighted: bool) -> f64 {
    let table = Table::new(40, 2, 61);
    let table = if weighted { table.weighted(5) } else { table };
    // Nearly orthogonal features: the solution itself is not sensitive, however small the penalty.
    let kernel = kernel("laplacian(gamma=20)");
    let gram = kernel_matrix(&kernel, &table.points, &table.points);
    let mut lower = Lower::new(40).unwrap();
    KernelMatrix::of(&kernel, &table.points)
        .lower_into(&mut lower, &watch())
        .unwrap();
    let found = Ridge::new(penalty, Solver::Auto)
        .unwrap()
        .solve_leaving_out(lower, &table.targets, &table.weights, &watch())
        .unwrap();
    let expected = left_out(&gram, penalty, &table.targets, &table.weights);
    apart(&found.left_out.unwrap(), &expected)
}

#[test]
fn leave_one_out_scores_are_those_of_refits() {
    for (penalty, weighted) in [(10.0, true), (1.0, false), (0.1, true), (1e-2, false)] {
        let gap = leave_one_out_gap(penalty, weighted);
        assert!(gap <= rounding(40, 100.0), "penalty {penalty:e}: {gap:e}");
    }
}

/// Where almost nothing is left of y − f, as well.
#[test]
fn leave_one_out_scores_are_exact_for_the_smallest_penalties() {
    for (penalty, weighted) in [(1e-6, false), (1e-10, true), (1e-14, false), (1e-20, true)] {
        let gap = leave_one_out_gap(penalty, weighted);
        assert!(gap <= rounding(40, 100.0), "penalty {penalty:e}: {gap:e}");
    }
}

/// Each row as often as its weight says.
fn repeated(table: &Table) -> Table {
    let rows: Vec<usize> = (0..table.len())
        .flat_map(|i| std::iter::repeat_n(i, table.weights[i] as usize))
        .collect();
    let mut repeated = table.select(&rows);
    repeated.weights = vec![1.0; rows.len()];
    repeated
}

#[test]
fn a_weight_counts_as_that_many_rows() {
    let mut table = Table::new(70, 2, 71);
    table.weights = (0..70).map(|i| f64::from([1, 2, 0, 3, 1][i % 5])).collect();
    let repeated = repeated(&table);
    let test = Table::new(25, 2, 72);
    let fit = |table: &Table, weights, settings: &Settings, cut| -> Fit {
        let training = Training {
            points: &table.points,
            sensitive: &table.sensitive(cut),
            targets: &table.targets,
            weights,
        };
        settings.fit(training, &watch()).unwrap()
    };
    for kernel in [
        "rbf",
        "matern32",
        "rbf(gamma=median)",
        "poly(degree=2) + laplacian",
    ] {
        for cells in [CellCount::Auto, CellCount::Paper, CellCount::Given(5)] {
            for (mode, strength) in [
                (Mode::Plain, 1.0),
                (Mode::Oblivious, 1.0),
                (Mode::Oblivious, 0.6),
                (Mode::MOblivious, 1.0),
            ] {
                for cut in [Cut::Quantile, Cut::Product, Cut::Group] {
                    let settings = Settings {
                        mode,
                        strength,
                        partition: PartitionRule {
                            cells,
                            ..PartitionRule::default()
                        },
                        ..settings(kernel)
                    };
                    let by_weight = fit(&table, Some(&table.weights), &settings, cut);
                    let by_row = fit(&repeated, None, &settings, cut);
                    let (a, b) = (test.scores(&by_weight, cut), test.scores(&by_row, cut));
                    let what = format!("{kernel} {cells:?} {mode:?} {strength} {cut:?}");
                    assert!(
                        apart(&a, &b) <= 1e-10 * size(&b),
                        "{what}: {:e}",
                        apart(&a, &b)
                    );
                    let (a, b) = (by_weight.summary, by_row.summary);
                    assert!((a.error - b.error).abs() <= 1e-10 * b.spread, "{what}");
                    assert!((a.spread - b.spread).abs() <= 1e-10 * b.spread, "{what}");
                    assert_eq!(a.cells.len(), b.cells.len(), "{what}");
                    for (a, b) in a.cells.iter().zip(&b.cells) {
                        assert_eq!(a.label, b.label);
                        assert!(
                            (a.before - b.before).abs() <= 1e-10 * b.before.abs(),
                            "{what}"
                        );
                        assert!((a.after - b.after).abs() <= 1e-10 * b.after.abs(), "{what}");
                    }
                }
            }
        }
    }
}

/// A given reference keeps its meaning when rows of weight zero are dropped.
#[test]
fn rows_of_weight_zero_are_as_good_as_not_there() {
    let mut table = Table::new(60, 2, 73);
    table.weights = (0..60)
        .map(|i| if i % 4 == 1 { 0.0 } else { 1.5 })
        .collect();
    let kept: Vec<usize> = (0..60).filter(|i| i % 4 != 1).collect();
    let without = table.select(&kept);
    let reference: Vec<usize> = (20..50).collect();
    let renumbered: Vec<usize> = (0..kept.len())
        .filter(|&i| reference.contains(&kept[i]))
        .collect();
    for mode in [Mode::Plain, Mode::Oblivious, Mode::MOblivious] {
        let with = |rows| Settings {
            mode,
            reference: Reference::Rows(rows),
            ..settings("rbf")
        };
        let a = table.fit(&with(reference.clone()), Cut::Product);
        let b = without.fit(&with(renumbered.clone()), Cut::Product);
        assert_eq!(
            table.scores(&a, Cut::Product),
            table.scores(&b, Cut::Product)
        );
    }
}

#[test]
fn a_reference_row_that_is_not_in_the_table_is_refused_whatever_the_weights() {
    let mut table = Table::new(20, 2, 74);
    table.weights[3] = 0.0;
    let settings = Settings {
        reference: Reference::Rows(vec![0, 1, 99]),
        ..settings("rbf")
    };
    let training = Training {
        points: &table.points,
        sensitive: &table.sensitive(Cut::Quantile),
        targets: &table.targets,
        weights: Some(&table.weights),
    };
    assert!(matches!(
        settings.fit(training, &watch()),
        Err(Error::NoSuchRow { row: 99, .. })
    ));
}

/// Doubling all weights, or taking a tenth of them, leaves every share of the mass what it was.
#[test]
fn bins_do_not_depend_on_the_unit_of_the_weights() {
    for (rows, cells) in (8..40).flat_map(|rows| [2, 3, 4, 6].map(|cells| (rows, cells))) {
        let ages = Column::numbers("age", (0..rows).map(|i| i as f64 + 0.5).collect());
        let sensitive = Sensitive::new(vec![ages], rows).unwrap();
        let rule = PartitionRule {
            cells: CellCount::Given(cells),
            ..PartitionRule::default()
        };
        let edges = |weight: f64| {
            let (partition, _) = Partition::fit(&rule, &sensitive, &vec![weight; rows]).unwrap();
            partition.edges("age").unwrap().to_vec()
        };
        for weight in [0.1, 1.0 / rows as f64, 0.7, 3.0] {
            assert_eq!(
                edges(weight),
                edges(1.0),
                "{rows} rows, {cells} cells, weight {weight}"
            );
        }
    }
}

/// Forty ages in whole years are continuous, also where only twenty of them are in the reference.
#[test]
fn the_kind_of_a_column_does_not_depend_on_the_split() {
    let table = Table::new(40, 1, 75);
    let ages = Column::numbers("age", (20..60).map(f64::from).collect());
    let training = Training {
        points: &table.points,
        sensitive: &Sensitive::new(vec![ages], 40).unwrap(),
        targets: &table.targets,
        weights: None,
    };
    let settings = |reference| Settings {
        reference,
        ..settings("rbf")
    };
    assert!(settings(Reference::All).fit(training, &watch()).is_ok());
    let half = settings(Reference::Half).fit(training, &watch());
    assert!(half.is_ok(), "{}", half.unwrap_err());
}

/// The system of a fit, its lower triangle and the whole.
fn system(kernel: &str, table: &Table) -> (Lower, Mat<f64>) {
    let (partition, map) = table.map(&oblivio_testing::kernel(kernel), Cut::Quantile, 1.0);
    let assignment = partition.assign(&table.sensitive(Cut::Quantile)).unwrap();
    let at = map.mean().at(&table.points, &watch()).unwrap();
    let shifts = map.shifts(at.as_ref(), &assignment);
    let mut lower = Lower::new(table.len()).unwrap();
    map.gram_into(&table.points, &assignment, &shifts, &mut lower, &watch())
        .unwrap();
    let whole = mirrored(&lower);
    (lower, whole)
}

/// A system solved both ways.
struct Solved {
    what: String,
    mixed: Solution,
    cholesky: Solution,
    /// ‖y − Aα‖ of either.
    residuals: (f64, f64),
    /// ‖A‖‖α‖ + ‖y‖
    scale: f64,
}

/// Well and ill conditioned systems.
fn solved_both_ways() -> Vec<Solved> {
    let table = Table::new(1500, 3, 81);
    let norm = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>().sqrt();
    let mut solved = Vec::new();
    for text in ["rbf(gamma=1)", "rbf(gamma=0.001)", "matern32(gamma=0.5)"] {
        let (lower, gram) = system(text, &table);
        for penalty in [1.0, 1e-3, 1e-6] {
            let solve = |solver| {
                let ridge = Ridge::new(penalty, solver).unwrap();
                ridge
                    .solve(lower.clone(), &table.targets, &table.weights, &watch())
                    .unwrap()
            };
            let residual = |solution: &Solution| {
                let alpha = &solution.coefficients;
                let image = &gram * Mat::from_fn(1500, 1, |i, _| alpha[i]);
                let gap = |i: usize| table.targets[i] - image[(i, 0)] - penalty * alpha[i];
                norm(&(0..1500).map(gap).collect::<Vec<_>>())
            };
            let (mixed, cholesky) = (solve(Solver::Mixed), solve(Solver::Cholesky));
            assert_eq!(cholesky.convergence.solver, Solver::Cholesky);
            solved.push(Solved {
                what: format!("{text}, penalty {penalty:e}, {:?}", mixed.convergence),
                residuals: (residual(&mixed), residual(&cholesky)),
                // A few large eigenvalues make up the Frobenius norm.
                scale: (gram.norm_l2() + penalty) * norm(&mixed.coefficients)
                    + norm(&table.targets),
                mixed,
                cholesky,
            });
        }
    }
    solved
}

/// Single precision only preconditions: what comes out solves a system that differs by rounding, or is Cholesky's.
#[test]
fn mixed_precision_solves_to_rounding() {
    let mut carried = 0;
    for solved in solved_both_ways() {
        if solved.mixed.convergence.solver == Solver::Mixed {
            carried += 1;
            let error = solved.residuals.0 / solved.scale;
            assert!(error <= 8.0 * f64::EPSILON, "{}: {error:e}", solved.what);
        } else {
            assert!(
                solved.mixed.coefficients == solved.cholesky.coefficients,
                "{}",
                solved.what
            );
        }
    }
    // Penalties of 1 and 1e-3 are no obstacle to single precision.
    assert!(carried >= 6, "{carried}");
}

#[test]
fn mixed_precision_leaves_a_residual_like_that_of_cholesky() {
    for solved in solved_both_ways() {
        let (mixed, cholesky) = solved.residuals;
        assert!(
            mixed <= 10.0 * cholesky,
            "{}: {mixed:e} against {cholesky:e}",
            solved.what
        );
    }
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(work)
}

/// Kernel matrices and their sums are the same bits whatever the threads; fits are for equal threads, and to rounding
/// otherwise.
#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let table = Table::new(700, 3, 91).weighted(1);
    let other = Table::new(300, 3, 92);
    let groups: Vec<u32> = (0..700).map(|j| j % 5).collect();
    for text in KERNELS {
        let kernel = kernel(text);
        let parts = |threads| {
            with_threads(threads, || {
                let of = KernelMatrix::of(&kernel, &table.points);
                let between = KernelMatrix::between(&kernel, &other.points, &table.points).unwrap();
                let sums = between
                    .grouped_sums(&table.weights, &groups, 5, &watch())
                    .unwrap();
                (
                    of.entries(&watch()).unwrap(),
                    between.entries(&watch()).unwrap(),
                    (0..5)
                        .flat_map(|c| sums.col(c).iter().copied().collect::<Vec<_>>())
                        .collect::<Vec<_>>(),
                )
            })
        };
        let one = parts(1);
        assert!(one == parts(2) && one == parts(3), "{text}");
    }
    for (mode, solver) in [
        (Mode::Oblivious, Solver::Cholesky),
        (Mode::Oblivious, Solver::Mixed),
        (Mode::MOblivious, Solver::Auto),
        (Mode::Plain, Solver::Mixed),
    ] {
        let settings = Settings {
            mode,
            solver,
            ..settings("rbf(gamma=0.5)")
        };
        let scores = |threads| {
            with_threads(threads, || {
                other.scores(&table.fit(&settings, Cut::Product), Cut::Product)
            })
        };
        let one = scores(1);
        let kernel = kernel("rbf(gamma=0.5)");
        let gram = kernel_matrix(&kernel, &table.points, &table.points);
        let tolerance = solving(&kernel, &gram, settings.penalty, &one);
        for threads in 1..4 {
            let found = scores(threads);
            assert!(
                apart(&found, &one) <= tolerance,
                "{mode:?} {solver:?} {threads}"
            );
            assert_eq!(found, scores(threads), "{mode:?} {solver:?} {threads}");
        }
    }
}

/// A row's score does not depend on the rows it is asked for with.
#[test]
fn rows_in_batches_are_scored_as_all_at_once() {
    let (table, test) = (Table::new(400, 3, 93), Table::new(600, 3, 94));
    for text in KERNELS {
        let fit = table.fit(&settings(text), Cut::Product);
        let whole = test.scores(&fit, Cut::Product);
        let kernel = fit.predictor.kernel();
        let between = kernel_matrix(kernel, &test.points, fit.predictor.points());
        let terms: f64 = fit.predictor.coefficients().iter().map(|g| g.abs()).sum();
        let tolerance = rounding_of(kernel, 400, terms * largest(&between));
        for batch in [1, 100, 257] {
            let rows: Vec<usize> = (0..600).collect();
            let parts: Vec<f64> = rows
                .chunks(batch)
                .flat_map(|rows| test.select(rows).scores(&fit, Cut::Product))
                .collect();
            assert!(
                apart(&parts, &whole) <= tolerance,
                "{text} {batch}: {:e}",
                apart(&parts, &whole)
            );
        }
        let nobody = test.select(&[]);
        assert!(nobody.scores(&fit, Cut::Product).is_empty());
    }
}
