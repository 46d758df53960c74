//! Solvers that do not store the matrix find what the others find.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

mod common;

use common::{KERNELS, Table, apart, kernel, kernel_matrix, largest, rounding_of, watch};
use oblivio::KernelMatrix;

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
                let scale = size as f64 * largest(&whole) * common::size(*vector);
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
