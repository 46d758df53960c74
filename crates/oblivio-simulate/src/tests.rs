use oblivio_base::Values;

use super::*;

/// The numbers of a column.
pub(super) fn values<'t>(table: &'t SimulatedTable, name: &str) -> &'t [f64] {
    match &column(table, name).values {
        Values::Numbers(values) => values,
        Values::Categories { .. } => panic!("`{name}` holds text"),
    }
}

fn column<'t>(table: &'t SimulatedTable, name: &str) -> &'t Column {
    table.columns().find(|column| column.name == name).unwrap()
}

pub(super) fn products(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a * b).collect()
}

/// The mean is `expected` up to five of its standard errors (and rounding, where nothing varies).
#[track_caller]
pub(super) fn assert_mean(values: &[f64], expected: f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let margin = 5.0 * (variance / n).sqrt() + 1e-12;
    assert!(
        (mean - expected).abs() <= margin,
        "mean {mean} of {n} values, expected {expected} ± {margin}"
    );
}

fn all() -> [Simulation; 7] {
    Simulation::NAMES.map(|name| Simulation::from_name(name).unwrap())
}

#[test]
fn names_are_read_back() {
    for (simulation, name) in all().into_iter().zip(Simulation::NAMES) {
        assert_eq!(simulation.name(), name);
    }
    assert_eq!(
        Simulation::from_name("ridge"),
        Simulation::from_name("ridge-1")
    );
    let Err(Error::InvalidParameter {
        expected, value, ..
    }) = Simulation::from_name("grade")
    else {
        panic!("`grade` was accepted")
    };
    assert_eq!(value, "grade");
    assert!(Simulation::NAMES.iter().all(|name| expected.contains(name)));
}

#[test]
fn a_table_is_the_beginning_of_a_longer_one() {
    for simulation in all() {
        let long = simulation.table(200, 11).unwrap();
        // An odd number cuts a pair of grades in two.
        for rows in [1, 77, 200] {
            let short = simulation.table(rows, 11).unwrap();
            assert_eq!(short.rows(), rows);
            assert_eq!(short.columns().count(), long.columns().count());
            for (short, long) in short.columns().zip(long.columns()) {
                let first: Vec<usize> = (0..rows).collect();
                assert_eq!(short.name, long.name);
                match (&short.values, &long.select(&first).values) {
                    (
                        Values::Categories { levels, codes },
                        Values::Categories {
                            levels: more,
                            codes: same,
                        },
                    ) => {
                        assert_eq!(codes, same);
                        assert!(more.starts_with(levels));
                    }
                    (short, long) => assert_eq!(short, long),
                }
            }
        }
    }
}

#[test]
fn another_seed_is_another_table() {
    for simulation in all() {
        let table = simulation.table(50, 1).unwrap();
        assert_eq!(table, simulation.table(50, 1).unwrap());
        for (column, other) in table
            .columns()
            .zip(simulation.table(50, 2).unwrap().columns())
        {
            assert_ne!(column, other, "{}", simulation.name());
        }
    }
}

#[test]
fn impossible_numbers_of_rows_are_refused() {
    for simulation in all() {
        for rows in [0, usize::MAX] {
            let refused = simulation.table(rows, 0);
            assert!(matches!(
                refused,
                Err(Error::InvalidParameter { name: "rows", .. })
            ));
        }
    }
}

#[test]
fn positions_follow_their_shares() {
    let shares = [0.2, 0.0, 0.5, 0.3];
    let mut generator = Generator::new(3);
    let drawn: Vec<usize> = (0..10_000).map(|_| generator.position(&shares)).collect();
    for (i, share) in shares.into_iter().enumerate() {
        let hits: Vec<f64> = drawn
            .iter()
            .map(|&position| indicator(position == i))
            .collect();
        assert_mean(&hits, share);
    }
}

/// A row in words; nine decimals, because platforms differ in the last digits of sines and exponentials.
fn written(table: &SimulatedTable, row: usize) -> String {
    let value = |column: &Column| match &column.values {
        Values::Numbers(values) => format!("{:.9}", values[row]),
        Values::Categories { levels, codes } => levels[codes[row] as usize].clone(),
    };
    table.columns().map(value).collect::<Vec<_>>().join(" ")
}

#[test]
fn batches_are_the_pieces_of_the_table() {
    for simulation in all() {
        let whole = simulation.table(100, 11).unwrap();
        for size in [1, 3, 64, 100, 1000] {
            let mut row = 0;
            for batch in simulation.batches_of(size, 100, 11) {
                let batch = batch.unwrap();
                assert!(batch.rows() == size.min(100 - row));
                for i in 0..batch.rows() {
                    assert_eq!(written(&batch, i), written(&whole, row + i));
                }
                row += batch.rows();
            }
            assert_eq!(row, 100);
        }
    }
    let whole = Simulation::Admissions.table(BATCH + 1, 3).unwrap();
    let last = Simulation::Admissions.batches(BATCH + 1, 3).last();
    assert_eq!(written(&last.unwrap().unwrap(), 0), written(&whole, BATCH));
}

#[test]
fn nothing_follows_an_error() {
    let wrong = Simulation::Gaussian(GaussianParameters { covariance: 2.0 });
    for mut batches in [
        wrong.batches(3 * BATCH, 0),
        Simulation::Admissions.batches(0, 0),
    ] {
        assert!(matches!(
            batches.next(),
            Some(Err(Error::InvalidParameter { .. }))
        ));
        assert!(batches.next().is_none());
    }
}

/// A seed means the same for ever: these rows may never change.
#[test]
fn the_stream_is_pinned() {
    for (name, first, third) in [
        (
            "ridge-1",
            "1.970561168 0.534257115 -0.025570797",
            "-2.090093498 -2.652984771 7.426152562",
        ),
        (
            "ridge-2",
            "1.970561168 0.534257115 3.857540519",
            "-2.090093498 -2.652984771 11.794643395",
        ),
        (
            "grades",
            "0.000000000 1.409501538 0.000000000 2.409501538 1.000000000 0.000000000",
            "1.000000000 4.113204169 1.000000000 3.113204169 1.000000000 1.000000000",
        ),
        (
            "uncorrelated-square",
            "0.697056117 0.606851423 0.368268650",
            "0.946427518 0.727011434 0.528545625",
        ),
        (
            "uncorrelated-sine",
            "4.379732751 5.023437713 -0.952013121",
            "5.946579474 6.387319659 0.103946249",
        ),
        (
            "gaussian",
            "0.825026522 0.551423064",
            "0.858983815 0.181768948",
        ),
        (
            "admissions",
            "M Valley 30.400000000 32800.000000000 public 25.000000000 3.910000000 1360.000000000 8.500000000 8.000000000 71.700000000 yes 2.045500495 0.858983815",
            "M Coast 36.900000000 67300.000000000 public 25.000000000 3.570000000 1270.000000000 5.500000000 8.000000000 79.600000000 no 1.285794034 0.579527800",
        ),
    ] {
        let table = Simulation::from_name(name).unwrap().table(3, 2021).unwrap();
        assert_eq!(
            [written(&table, 0), written(&table, 2)],
            [first, third],
            "{name}"
        );
    }
}
