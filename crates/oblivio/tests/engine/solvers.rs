//! Solvers that do not store the matrix find what the others find.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use oblivio::{Error, Result, Watch};
use oblivio_base::Named;
use oblivio_kernels::learn::{Intercept, Ridge, Solution, Solver};
use oblivio_kernels::{Gram, KernelMatrix, Lower};

use oblivio_testing::{
    Cut, KERNELS, Table, apart, kernel, kernel_matrix, largest, rounding_of, watch,
};

/// A kernel matrix that is never stored, plus a correction where there is one.
struct Implicit<'a> {
    matrix: KernelMatrix<'a>,
    correction: Option<Lower>,
    len: usize,
}

impl<'a> Implicit<'a> {
    fn plain(kernel: &'a oblivio::Kernel, table: &Table) -> Self {
        Self {
            matrix: KernelMatrix::of(kernel, &table.points),
            correction: None,
            len: table.len(),
        }
    }

    /// The correction of oblivious features, as the difference of the two matrices.
    fn oblivious(kernel: &'a oblivio::Kernel, table: &Table) -> Self {
        let plain = Self::plain(kernel, table);
        let (partition, map) = table.map(kernel, Cut::Quantile, 1.0);
        let assignment = partition.assign(&table.sensitive(Cut::Quantile)).unwrap();
        let at = map.mean().at(&table.points, &watch()).unwrap();
        let shifts = map.shifts(at.as_ref(), &assignment);
        let mut gram = Lower::new(table.len()).unwrap();
        map.gram_into(&table.points, &assignment, &shifts, &mut gram, &watch())
            .unwrap();
        let without = plain.lower(&watch()).unwrap();
        let mut correction = gram.as_mat_mut();
        correction -= without.as_mat();
        Self {
            correction: Some(gram),
            ..plain
        }
    }
}

impl Gram for Implicit<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn diagonal(&self) -> Vec<f64> {
        let mut diagonal = self.matrix.diagonal();
        if let Some(correction) = &self.correction {
            let more = correction.diagonal();
            diagonal.iter_mut().zip(more).for_each(|(d, m)| *d += m);
        }
        diagonal
    }

    fn row_into(&self, i: usize, out: &mut [f64]) {
        self.matrix.row_into(i, out);
        if let Some(correction) = &self.correction {
            let mut more = vec![0.0; self.len];
            correction.row_into(i, &mut more);
            out.iter_mut().zip(more).for_each(|(d, m)| *d += m);
        }
    }

    fn lower(&self, watch: &Watch) -> Result<Lower> {
        let mut lower = Lower::new(self.len)?;
        self.matrix.lower_into(&mut lower, watch)?;
        if let Some(correction) = &self.correction {
            let mut sum = lower.as_mat_mut();
            sum += correction.as_mat();
        }
        Ok(lower)
    }

    fn multiply(&self, vector: &[f64], watch: &Watch) -> Result<Vec<f64>> {
        let mut product = self.matrix.times(vector, watch)?;
        if let Some(correction) = &self.correction {
            let more = correction.multiply(vector, watch)?;
            product.iter_mut().zip(more).for_each(|(d, m)| *d += m);
        }
        Ok(product)
    }
}

fn solve(gram: &dyn Gram, table: &Table, penalty: f64, solver: Solver) -> Solution {
    solve_with(gram, table, penalty, solver, Intercept::None)
}

fn solve_with(
    gram: &dyn Gram,
    table: &Table,
    penalty: f64,
    solver: Solver,
    intercept: Intercept,
) -> Solution {
    Ridge::new(penalty, solver)
        .unwrap()
        .with_intercept(intercept)
        .solve_gram(gram, &table.targets, &table.weights, &watch())
        .unwrap()
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) -> bool {
    apart(found, expected) <= tolerance * oblivio_testing::size(expected)
}

#[test]
fn conjugate_gradients_find_what_cholesky_finds() {
    for text in [
        "rbf(gamma=0.7)",
        "matern32(gamma=0.5)",
        "linear",
        "rbf(gamma=0.2) + 0.1 * linear",
    ] {
        let kernel = kernel(text);
        for weighted in [false, true] {
            let table = Table::new(400, 3, 71);
            let table = if weighted { table.weighted(2) } else { table };
            let grams = [
                Implicit::plain(&kernel, &table),
                Implicit::oblivious(&kernel, &table),
            ];
            for gram in &grams {
                for intercept in [Intercept::None, Intercept::Fitted] {
                    for penalty in [1.0, 1e-2] {
                        let find = |solver| solve_with(gram, &table, penalty, solver, intercept);
                        let (found, expected) = (find(Solver::Pcg), find(Solver::Cholesky));
                        let what =
                            format!("{text} {intercept:?} {penalty} {:?}", found.convergence);
                        assert_eq!(found.convergence.solver, Solver::Pcg, "{what}");
                        assert!(found.convergence.reached, "{what}");
                        assert!(found.convergence.residual.unwrap() < 1e-15, "{what}");
                        assert!(
                            close(&found.coefficients, &expected.coefficients, 1e-8),
                            "{what}"
                        );
                        assert!(close(&found.fitted, &expected.fitted, 1e-8), "{what}");
                        let gap = (found.intercept - expected.intercept).abs();
                        assert!(gap < 1e-8, "{what}: {gap:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_matrix_in_memory_can_be_solved_so_too() {
    let (table, kernel) = (Table::new(300, 2, 72), kernel("rbf(gamma=0.7)"));
    let lower = Implicit::plain(&kernel, &table).lower(&watch()).unwrap();
    let found = Ridge::new(0.5, Solver::named("pcg").unwrap())
        .unwrap()
        .solve(lower.clone(), &table.targets, &table.weights, &watch())
        .unwrap();
    assert_eq!(found.convergence.solver, Solver::Pcg);
    let expected = solve(&lower, &table, 0.5, Solver::Cholesky);
    assert!(close(&found.coefficients, &expected.coefficients, 1e-8));
}

/// Small systems by Cholesky, easy ones by conjugate gradients, hard ones by mixed precision; all say so.
#[test]
fn auto_says_which_solver_it_took() {
    let taken = |rows: usize, text: &str, penalty: f64| {
        let (table, kernel) = (Table::new(rows, 3, 73), kernel(text));
        let gram = Implicit::plain(&kernel, &table);
        let found = solve(&gram, &table, penalty, Solver::Auto);
        assert!(found.convergence.reached);
        let expected = solve(&gram, &table, penalty, Solver::Cholesky);
        assert!(close(&found.fitted, &expected.fitted, 1e-8));
        found.convergence.solver
    };
    assert_eq!(taken(300, "rbf(gamma=0.3)", 1.0), Solver::Cholesky);
    assert_eq!(taken(3000, "rbf(gamma=0.3)", 1.0), Solver::Pcg);
    assert_eq!(taken(3000, "laplacian(gamma=1)", 1e-3), Solver::Mixed);
}

/// A Gram matrix whose rows do not fit into memory.
struct Vast<'a>(&'a Implicit<'a>);

impl Gram for Vast<'_> {
    fn len(&self) -> usize {
        self.0.len
    }

    fn diagonal(&self) -> Vec<f64> {
        self.0.diagonal()
    }

    fn row_into(&self, i: usize, out: &mut [f64]) {
        self.0.row_into(i, out);
    }

    fn lower(&self, _: &Watch) -> Result<Lower> {
        Err(Error::TooLarge {
            rows: self.0.len,
            gigabytes: 0.0,
        })
    }

    fn multiply(&self, vector: &[f64], watch: &Watch) -> Result<Vec<f64>> {
        self.0.multiply(vector, watch)
    }
}

#[test]
fn without_memory_for_the_matrix_the_steps_go_on() {
    let (table, kernel) = (Table::new(1500, 3, 74), kernel("laplacian(gamma=0.5)"));
    let gram = Implicit::plain(&kernel, &table);
    let found = solve(&Vast(&gram), &table, 0.1, Solver::Auto);
    let expected = solve(&gram, &table, 0.1, Solver::Cholesky);
    assert_eq!(found.convergence.solver, Solver::Pcg);
    assert!(found.convergence.reached && found.convergence.iterations > 20);
    assert!(close(&found.coefficients, &expected.coefficients, 1e-8));
}

/// Products that are off by more than rounding let no one reach the goal: that must be said, with the residual.
#[test]
fn a_goal_that_is_missed_is_reported() {
    struct Noisy<'a>(Implicit<'a>, std::sync::atomic::AtomicU64);
    impl Gram for Noisy<'_> {
        fn len(&self) -> usize {
            self.0.len
        }
        fn diagonal(&self) -> Vec<f64> {
            self.0.diagonal()
        }
        fn row_into(&self, i: usize, out: &mut [f64]) {
            self.0.row_into(i, out);
        }
        fn lower(&self, watch: &Watch) -> Result<Lower> {
            self.0.lower(watch)
        }
        fn multiply(&self, vector: &[f64], watch: &Watch) -> Result<Vec<f64>> {
            let count = self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let mut product = self.0.multiply(vector, watch)?;
            product[count as usize % self.0.len] *= 1.001;
            Ok(product)
        }
    }
    let (table, kernel) = (Table::new(300, 3, 75), kernel("rbf(gamma=0.7)"));
    let gram = Noisy(Implicit::plain(&kernel, &table), 0.into());
    let found = solve(&gram, &table, 0.1, Solver::Pcg).convergence;
    assert!(
        !found.reached && found.residual.unwrap() > 1e-10,
        "{found:?}"
    );
}

#[test]
fn a_target_of_zeros_needs_no_step() {
    let (mut table, kernel) = (Table::new(300, 3, 76), kernel("rbf(gamma=0.7)"));
    table.targets.fill(0.0);
    let found = solve(&Implicit::plain(&kernel, &table), &table, 0.1, Solver::Pcg);
    assert!(found.convergence.reached && found.coefficients.iter().all(|a| *a == 0.0));
}

#[test]
fn solutions_are_bit_equal_for_equal_threads() {
    let (table, kernel) = (Table::new(700, 3, 77), kernel("rbf(gamma=0.7)"));
    let gram = Implicit::plain(&kernel, &table);
    let find = |threads| with_threads(threads, || solve(&gram, &table, 0.1, Solver::Pcg));
    let one = find(1);
    for threads in 1..4 {
        let found = find(threads);
        assert_eq!(found, find(threads));
        assert!(close(&found.coefficients, &one.coefficients, 1e-10));
    }
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(work)
}

/// Fewer rows than a tile, one tile, several panels, and sizes that no block divides.
const SIZES: [usize; 6] = [1, 7, 128, 130, 256, 701];

#[test]
fn products_without_the_matrix_are_products_with_it() {
    for text in KERNELS {
        let kernel = kernel(text);
        for size in SIZES {
            let table = Table::new(size, 3, 17);
            let matrix = KernelMatrix::of(&kernel, &table.points);
            let whole = kernel_matrix(&kernel, &table.points, &table.points);
            let ones = vec![1.0; size];
            let vectors = [&table.targets[..], &ones];
            let found = matrix.times_each(&vectors, &watch()).unwrap();
            for (vector, found) in vectors.iter().zip(&found) {
                let expected: Vec<f64> = (0..size)
                    .map(|i| (0..size).map(|j| whole[(i, j)] * vector[j]).sum())
                    .collect();
                let scale = size as f64 * largest(&whole) * oblivio_testing::size(*vector);
                let tolerance = rounding_of(&kernel, size, scale);
                assert!(apart(found, &expected) <= tolerance, "{text}, {size} rows");
                assert_eq!(*found, matrix.times(vector, &watch()).unwrap());
            }
            let tolerance = rounding_of(&kernel, 3, largest(&whole));
            let mut row = vec![0.0; size];
            for i in [0, size / 2, size - 1] {
                matrix.row_into(i, &mut row);
                let expected: Vec<f64> = (0..size).map(|j| whole[(i, j)]).collect();
                assert!(apart(&row, &expected) <= tolerance, "{text}, row {i}");
            }
            let expected: Vec<f64> = (0..size).map(|i| whole[(i, i)]).collect();
            assert!(apart(&matrix.diagonal(), &expected) <= tolerance, "{text}");
        }
    }
}

#[test]
fn products_between_two_sets_of_points_as_well() {
    let kernel = kernel("rbf(gamma=0.7)");
    let (a, b) = (Table::new(40, 3, 1), Table::new(150, 3, 2));
    let matrix = KernelMatrix::between(&kernel, &a.points, &b.points).unwrap();
    let whole = kernel_matrix(&kernel, &a.points, &b.points);
    let expected: Vec<f64> = (0..40)
        .map(|i| (0..150).map(|j| whole[(i, j)] * b.targets[j]).sum())
        .collect();
    let found = matrix.times(&b.targets, &watch()).unwrap();
    assert!(apart(&found, &expected) < 1e-11);
    let mut row = vec![0.0; 150];
    matrix.row_into(7, &mut row);
    let expected: Vec<f64> = (0..150).map(|j| whole[(7, j)]).collect();
    assert!(apart(&row, &expected) < 1e-13);
}

#[test]
fn products_are_the_same_bits_for_any_number_of_threads() {
    let table = Table::new(5000, 3, 18);
    for text in ["rbf(gamma=0.7)", "2 * laplacian(gamma=0.2) + linear"] {
        let kernel = kernel(text);
        let matrix = KernelMatrix::of(&kernel, &table.points);
        let product =
            |threads| with_threads(threads, || matrix.times(&table.targets, &watch()).unwrap());
        let one = product(1);
        assert!(one == product(2) && one == product(3), "{text}");
    }
}
