use super::*;
use crate::column::Column;

fn sensitive(columns: Vec<Column>) -> Sensitive {
    let rows = columns[0].len();
    Sensitive::new(columns, rows).unwrap()
}

fn numbers(name: &str, values: &[f64]) -> Sensitive {
    sensitive(vec![Column::numbers(name, values.to_vec())])
}

fn fit(rule: &PartitionRule, reference: &Sensitive) -> Partition {
    Partition::fit(rule, reference, &vec![1.0; reference.len()])
        .unwrap()
        .0
}

/// A rule with this many bins, whatever the values look like.
fn bins(cells: usize, binning: Binning) -> PartitionRule {
    PartitionRule {
        cells: CellCount::Given(cells),
        binning,
        continuous: vec!["s".into()],
        ..PartitionRule::default()
    }
}

fn bounded(low: f64, high: f64) -> PartitionRule {
    PartitionRule {
        bounds: vec![("s".into(), low, high)],
        ..bins(16, Binning::Dyadic)
    }
}

#[test]
fn dyadic_cells_agree_with_exact_arithmetic() {
    let table = include_str!("../../tests/fixtures/cell_edges.csv");
    let centres: Vec<f64> = (0..16)
        .map(|k| -5.0 + 0.625 * (f64::from(k) + 0.5))
        .collect();
    let partition = fit(&bounded(-5.0, 5.0), &numbers("s", &centres));
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let value: f64 = fields[0].parse().unwrap();
        let exact: u32 = fields[1].parse().unwrap();
        let cell = partition.assign(&numbers("s", &[value])).unwrap().cells[0];
        assert_eq!(cell, exact, "s = {value}");
        compared += 1;
    }
    assert_eq!(compared, 16);
}

#[test]
fn values_outside_given_dyadic_bounds_are_refused_or_clamped() {
    let reference = numbers("s", &[-4.9, 4.9]);
    let partition = fit(&bounded(-5.0, 5.0), &reference);
    assert_eq!(
        partition.assign(&numbers("s", &[5.5])).unwrap_err(),
        Error::OutOfBounds {
            column: "s".into(),
            value: 5.5,
            low: -5.0,
            high: 5.0
        }
    );
    let mut rule = bounded(-5.0, 5.0);
    rule.policies.range = OutOfRange::Clamp;
    let assignment = fit(&rule, &reference)
        .assign(&numbers("s", &[-7.0, 5.5]))
        .unwrap();
    assert_eq!(assignment.cells, vec![0, 1]);
    assert_eq!(assignment.uses.out_of_range, 2);
}

#[test]
fn quantile_and_uniform_ends_are_open_and_counted() {
    for binning in [Binning::Quantile, Binning::Uniform] {
        let partition = fit(&bins(2, binning), &numbers("s", &[1.0, 2.0, 3.0, 4.0]));
        let assignment = partition.assign(&numbers("s", &[-9.0, 9.0])).unwrap();
        assert_eq!(assignment.cells, vec![0, 1]);
        assert_eq!(assignment.uses.out_of_range, 2);
    }
}

#[test]
fn the_number_of_cells_by_rule() {
    assert_eq!(CellCount::Auto.resolve(27, 1), 3);
    assert_eq!(CellCount::Auto.resolve(28, 1), 4);
    assert_eq!(CellCount::Auto.resolve(1000, 1), 10);
    assert_eq!(CellCount::Auto.resolve(1000, 2), 6);
    assert_eq!(CellCount::Paper.resolve(500, 1), 4);
    assert_eq!(CellCount::Paper.resolve(256, 1), 4);
    assert_eq!(CellCount::Paper.resolve(255, 1), 3);
    let partition = fit(&bins(9, Binning::Dyadic), &numbers("s", &[0.0, 1.0]));
    assert_eq!(partition.edges("s").unwrap().len(), 15);
}

#[test]
fn an_empty_bin_takes_the_smallest_enclosing_cell() {
    // Bins of width 1 on [0, 8]; rows in bins 0, 1 and 7.
    let reference = numbers("s", &[0.0, 0.5, 1.5, 8.0]);
    let weights = |binning, value: f64| {
        let partition = fit(&bins(8, binning), &reference);
        let assignment = partition.assign(&numbers("s", &[value])).unwrap();
        assert_eq!(assignment.uses.empty_cell, 1);
        assert_eq!(assignment.cells, vec![3]);
        assignment.mixtures[0].clone()
    };
    // Bin 3: halving gives 2..4 (empty), then 0..4; neighbours give 2..5 (empty), then 1..6.
    assert_eq!(
        weights(Binning::Dyadic, 3.5),
        vec![2.0 / 3.0, 1.0 / 3.0, 0.0]
    );
    assert_eq!(weights(Binning::Uniform, 3.5), vec![0.0, 1.0, 0.0]);
}

#[test]
fn in_a_product_the_finest_continuous_column_goes_first_and_categories_are_never_joined() {
    let reference = sensitive(vec![
        Column::texts("g", ["a", "a", "a", "b"].map(Some)),
        Column::numbers("s", vec![0.5, 1.5, 9.5, 0.5]),
    ]);
    let rule = PartitionRule {
        bounds: vec![("s".into(), 0.0, 10.0)],
        ..bins(10, Binning::Uniform)
    };
    let partition = fit(&rule, &reference);
    let row = |g: &str, s: f64| {
        sensitive(vec![
            Column::texts("g", [Some(g)]),
            Column::numbers("s", vec![s]),
        ])
    };
    let third = 1.0 / 3.0;
    assert_eq!(
        partition.assign(&row("a", 5.5)).unwrap().mixtures,
        vec![vec![third, third, third, 0.0]]
    );
    assert_eq!(
        partition.assign(&row("b", 9.5)).unwrap().mixtures,
        vec![vec![0.0, 0.0, 0.0, 1.0]]
    );
}

#[test]
fn policies_for_empty_cells() {
    let reference = numbers("s", &[0.0, 8.0]);
    let mixture = |empty| {
        let mut rule = bins(8, Binning::Uniform);
        rule.policies.empty = empty;
        fit(&rule, &reference).assign(&numbers("s", &[3.5]))
    };
    assert_eq!(
        mixture(EmptyCell::Population).unwrap().mixtures,
        vec![vec![0.5, 0.5]]
    );
    assert_eq!(
        mixture(EmptyCell::Zero).unwrap().mixtures,
        vec![vec![0.0, 0.0]]
    );
    assert_eq!(
        mixture(EmptyCell::Error).unwrap_err(),
        Error::EmptyCell {
            cell: "3 <= s < 4".into()
        }
    );
}

#[test]
fn unseen_categories_are_named_or_follow_the_policy() {
    let reference = sensitive(vec![Column::texts("g", ["f", "m", "f"].map(Some))]);
    let unseen = sensitive(vec![Column::texts("g", ["f", "x"].map(Some))]);
    let partition = fit(&PartitionRule::default(), &reference);
    assert_eq!(
        partition.assign(&unseen).unwrap_err(),
        Error::UnknownCategory {
            column: "g".into(),
            value: "x".into(),
            known: "f, m".into()
        }
    );
    let rule = PartitionRule {
        policies: Policies::for_unknown(UnseenCategory::Population),
        ..PartitionRule::default()
    };
    let assignment = fit(&rule, &reference).assign(&unseen).unwrap();
    assert_eq!(assignment.cells, vec![0, 2]);
    assert_eq!(assignment.mixtures, vec![vec![2.0 / 3.0, 1.0 / 3.0]]);
    assert_eq!(assignment.uses.unseen_category, 1);
}

#[test]
fn an_unseen_combination_of_seen_categories_is_an_empty_cell() {
    let table = |a: &[&'static str], b: &[&'static str]| {
        sensitive(vec![
            Column::texts("a", a.iter().copied().map(Some)),
            Column::texts("b", b.iter().copied().map(Some)),
        ])
    };
    let partition = fit(&PartitionRule::default(), &table(&["x", "y"], &["u", "v"]));
    assert_eq!(
        partition.assign(&table(&["x"], &["v"])).unwrap_err(),
        Error::EmptyCell {
            cell: "a=x, b=v".into()
        }
    );
}

#[test]
fn missing_is_refused_or_a_level_of_its_own() {
    let reference = numbers("s", &[0.5, f64::NAN, 1.5, f64::NAN]);
    let weights = [1.0; 4];
    assert!(matches!(
        Partition::fit(&PartitionRule::default(), &reference, &weights),
        Err(Error::MissingSensitive {
            count: 2,
            row: 1,
            ..
        })
    ));
    let mut rule = bins(2, Binning::Quantile);
    rule.policies.missing = Missing::Category;
    let partition = fit(&rule, &reference);
    assert_eq!(partition.len(), 3);
    assert_eq!(partition.label(2), "s missing");
    let assignment = partition.assign(&numbers("s", &[f64::NAN, 0.0])).unwrap();
    assert_eq!(assignment.cells, vec![2, 0]);
    assert_eq!(assignment.uses.missing, 1);
    // Missing at prediction but never in training is still refused.
    let partition = fit(&rule, &numbers("s", &[0.5, 1.5]));
    assert!(partition.assign(&numbers("s", &[f64::NAN])).is_err());
}

#[test]
fn one_cell_and_constant_columns_are_remarked_upon() {
    let warnings = |reference: &Sensitive, rule: &PartitionRule| {
        Partition::fit(rule, reference, &vec![1.0; reference.len()])
            .unwrap()
            .1
    };
    assert_eq!(
        warnings(&numbers("s", &[1.0, 1.0]), &PartitionRule::default()),
        vec![Warning::SingleCell]
    );
    assert_eq!(
        warnings(&numbers("s", &[1.0, 1.0]), &bins(4, Binning::Quantile)),
        vec![
            Warning::ConstantSensitive { column: "s".into() },
            Warning::SingleCell
        ]
    );
    assert_eq!(
        warnings(
            &numbers("s", &[1.0, 1.0, 1.0, 2.0]),
            &bins(4, Binning::Quantile)
        ),
        vec![
            Warning::FewerCells {
                column: "s".into(),
                asked: 4,
                made: 2
            },
            Warning::SingletonCells { count: 1 }
        ]
    );
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let reference = numbers("s", &[0.0, 1.0]);
    let refused = |rule: PartitionRule| Partition::fit(&rule, &reference, &[1.0; 2]).unwrap_err();
    assert!(matches!(
        refused(bins(0, Binning::Uniform)),
        Error::InvalidParameter { name: "cells", .. }
    ));
    assert!(matches!(
        refused(bounded(5.0, 5.0)),
        Error::InvalidParameter { .. }
    ));
    let rule = PartitionRule {
        categorical: vec!["t".into()],
        ..PartitionRule::default()
    };
    assert!(matches!(refused(rule), Error::UnknownColumn { .. }));
}
