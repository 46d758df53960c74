use oblivio_base::Column;

use super::*;

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
        let cell = partition.assign(&numbers("s", &[value])).unwrap().codes()[0];
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
    assert_eq!(assignment.codes(), [0, 1]);
    assert_eq!(assignment.uses.out_of_range, 2);
}

#[test]
fn quantile_and_uniform_ends_are_open_and_counted() {
    for binning in [Binning::Quantile, Binning::Uniform] {
        let partition = fit(&bins(2, binning), &numbers("s", &[1.0, 2.0, 3.0, 4.0]));
        let assignment = partition.assign(&numbers("s", &[-9.0, 9.0])).unwrap();
        assert_eq!(assignment.codes(), [0, 1]);
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
        assert_eq!(assignment.codes(), [3]);
        assignment.mixtures()[0].clone()
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
        partition.assign(&row("a", 5.5)).unwrap().mixtures(),
        vec![vec![third, third, third, 0.0]]
    );
    assert_eq!(
        partition.assign(&row("b", 9.5)).unwrap().mixtures(),
        vec![vec![0.0, 0.0, 0.0, 1.0]]
    );
}

#[test]
fn a_grid_has_as_many_mixtures_as_are_allowed() {
    // Four of sixteen bins have rows: between them other pairs enclose an empty one.
    let partition = fit(&bounded(0.0, 16.0), &numbers("s", &[0.5, 3.5, 8.5, 15.5]));
    let grid = partition.grid(usize::MAX).unwrap();
    let mixtures = grid.assignment.mixtures().len();
    assert!(mixtures > 1 && grid.assignment.len() == 4 + mixtures);
    assert!(partition.grid(4 * mixtures).is_some());
    assert!(partition.grid(4 * mixtures - 1).is_none());
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
        mixture(EmptyCell::Population).unwrap().mixtures(),
        vec![vec![0.5, 0.5]]
    );
    assert_eq!(
        mixture(EmptyCell::Zero).unwrap().mixtures(),
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
    assert_eq!(assignment.codes(), [0, 2]);
    assert_eq!(assignment.mixtures(), [vec![2.0 / 3.0, 1.0 / 3.0]]);
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
    let known = table(&["x", "y"], &["u", "v"]);
    let new = table(&["x"], &["v"]);
    let assignment = fit(&PartitionRule::default(), &known).assign(&new).unwrap();
    assert_eq!(assignment.uses.empty_cell, 1);
    // Both columns have two levels, so the last is dropped first.
    assert_eq!(assignment.mixtures(), [vec![1.0, 0.0]]);
    let mut strict = PartitionRule::default();
    strict.policies.empty = EmptyCell::Error;
    assert_eq!(
        fit(&strict, &known).assign(&new).unwrap_err(),
        Error::EmptyCell {
            cell: "a=x, b=v".into()
        }
    );
}

/// Categorical columns are dropped one by one: the one with the most levels first, after every continuous column.
#[test]
fn an_unseen_combination_takes_the_smallest_enclosing_cell() {
    let table = |rows: &[(&'static str, &'static str, f64)]| {
        sensitive(vec![
            Column::texts("sex", rows.iter().map(|row| Some(row.0))),
            Column::texts("marital", rows.iter().map(|row| Some(row.1))),
            Column::numbers("age", rows.iter().map(|row| row.2).collect()),
        ])
    };
    let known = table(&[
        ("f", "single", 20.0),
        ("f", "single", 60.0),
        ("f", "married", 60.0),
        ("m", "single", 20.0),
        ("m", "widowed", 60.0),
        ("m", "widowed", 20.0),
    ]);
    let rule = PartitionRule {
        cells: CellCount::Given(2),
        min_rows: Some(1),
        continuous: vec!["age".into()],
        ..PartitionRule::default()
    };
    let partition = fit(&rule, &known);
    let weights = |sex, marital, age| {
        let assignment = partition.assign(&table(&[(sex, marital, age)])).unwrap();
        assert_eq!(assignment.uses.empty_cell, 1);
        let weights = assignment.mixtures()[0].clone();
        let used = (0..weights.len()).filter(|&c| weights[c] > 0.0);
        used.map(|c| (partition.brief(c), weights[c]))
            .collect::<Vec<_>>()
    };
    // The bins of age are enough where they lead to rows.
    assert_eq!(weights("m", "single", 60.0).len(), 1);
    // Of the women without a widow among them, all ages and states.
    let of_women = weights("f", "widowed", 60.0);
    assert_eq!(of_women.len(), 3);
    assert!(
        of_women
            .iter()
            .all(|(cell, weight)| cell.starts_with('f') && (weight - 1.0 / 3.0).abs() < 1e-15)
    );
    // Every combination of known values has a place: two sexes, three states, two bins.
    let grid = partition.grid(usize::MAX).unwrap();
    let refused = grid.assignment.len();
    let placed = grid.places.iter().filter(|&&place| place != refused);
    assert_eq!(placed.count(), 12);
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
    assert_eq!(assignment.codes(), [2, 0]);
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

mod merging {
    use proptest::prelude::*;

    use super::*;

    /// Rows of two continuous columns, one with missing values, and a category.
    #[derive(Clone, Debug)]
    struct Rows {
        fine: Vec<f64>,
        coarse: Vec<f64>,
        group: Vec<u8>,
    }

    impl Rows {
        fn table(&self) -> Sensitive {
            let names = ["a", "b", "c"];
            let groups = self.group.iter().map(|g| Some(names[*g as usize]));
            sensitive(vec![
                Column::numbers("fine", self.fine.clone()),
                Column::texts("group", groups),
                Column::numbers("coarse", self.coarse.clone()),
            ])
        }

        /// The values of the columns that are never joined: the category, and what is missing.
        fn combination(&self, row: usize) -> (u8, bool, bool) {
            let missing = |values: &[f64]| values[row].is_nan();
            (self.group[row], missing(&self.fine), missing(&self.coarse))
        }
    }

    fn rows() -> impl Strategy<Value = Rows> {
        let value = || prop_oneof![9 => -2.0..2.0f64, 1 => Just(f64::NAN)];
        prop::collection::vec((value(), value(), 0u8..3), 3..80).prop_map(|mut rows| {
            // Not all may be missing.
            (rows[0].0, rows[0].1) = (0.5, -0.5);
            Rows {
                fine: rows.iter().map(|r| r.0).collect(),
                coarse: rows.iter().map(|r| r.1).collect(),
                group: rows.iter().map(|r| r.2).collect(),
            }
        })
    }

    fn rule(binning: Binning, cells: usize, min_rows: usize) -> PartitionRule {
        PartitionRule {
            cells: CellCount::Given(cells),
            binning,
            continuous: vec!["fine".into(), "coarse".into()],
            min_rows: Some(min_rows),
            policies: Policies {
                missing: Missing::Category,
                ..Policies::default()
            },
            ..PartitionRule::default()
        }
    }

    fn binnings() -> impl Strategy<Value = Binning> {
        prop_oneof![
            Just(Binning::Quantile),
            Just(Binning::Uniform),
            Just(Binning::Dyadic)
        ]
    }

    proptest! {
        /// Every cell has enough rows or is all there is of its categories; every row has a cell; no two cells meet.
        #[test]
        fn cells_have_enough_rows_or_are_whole_combinations(
            rows in rows(), binning in binnings(), cells in 1usize..9, least in 1usize..12,
        ) {
            let table = rows.table();
            let partition = fit(&rule(binning, cells, least), &table);
            prop_assert!(partition.check_read().is_ok());
            let assignment = partition.assign(&table).unwrap();
            prop_assert!(assignment.mixtures().is_empty());
            let mut counts = vec![0; partition.len()];
            for cell in assignment.codes() {
                counts[*cell as usize] += 1;
            }
            prop_assert_eq!(&counts, partition.counts());
            for cell in 0..partition.len() {
                let members: Vec<usize> = (0..table.len())
                    .filter(|&row| assignment.codes()[row] as usize == cell)
                    .collect();
                let combination = rows.combination(members[0]);
                prop_assert!(members.iter().all(|&row| rows.combination(row) == combination));
                let all = (0..table.len()).filter(|&row| rows.combination(row) == combination);
                prop_assert!(members.len() >= least || members.len() == all.count());
            }
            for a in 0..partition.len() {
                for b in 0..a {
                    let (a, b) = (partition.ranges(a), partition.ranges(b));
                    let apart = |(a, b): (&Range<u32>, &Range<u32>)| a.end <= b.start || b.end <= a.start;
                    prop_assert!(a.iter().zip(&b).any(apart));
                }
            }
        }

        /// The cells do not depend on the order of the rows.
        #[test]
        fn cells_are_the_same_for_any_order_of_rows(
            rows in rows(), least in 1usize..12, seed in 0u64..1000,
        ) {
            let mut order: Vec<usize> = (0..rows.group.len()).collect();
            order.sort_by_key(|&i| (i as u64 + 1).wrapping_mul(seed.wrapping_mul(0x9E37_79B9) | 1) % 8191);
            let rule = rule(Binning::Quantile, 5, least);
            prop_assert_eq!(fit(&rule, &rows.table()), fit(&rule, &rows.table().select(&order)));
        }

        /// With one row enough, every combination of positions that rows have is a cell, and a file says no more than before.
        #[test]
        fn one_row_is_enough_for_a_cell_if_asked(rows in rows(), binning in binnings()) {
            let table = rows.table();
            let rule = rule(binning, 4, 1);
            let partition = fit(&rule, &table);
            let (keys, _) = locate(&partition.axes, &table, partition.policies).unwrap();
            let keys: std::collections::BTreeSet<Vec<u32>> = keys.collect();
            prop_assert_eq!(partition.keys.clone(), keys.into_iter().collect::<Vec<_>>());
            prop_assert!(!serde_json::to_string(&partition).unwrap().contains("ends"));
        }

        /// A partition comes back from a file as it was, and a damaged one is refused.
        #[test]
        fn joined_cells_survive_a_file(rows in rows(), least in 2usize..12) {
            let partition = fit(&rule(Binning::Uniform, 5, least), &rows.table());
            let text = serde_json::to_string(&partition).unwrap();
            let read: Partition = serde_json::from_str(&text).unwrap();
            prop_assert!(read.check_read().is_ok());
            prop_assert_eq!(&read, &partition);
            prop_assert_eq!(read.assign(&rows.table()), partition.assign(&rows.table()));
        }
    }

    /// Ages 20, 30, … in bins of ten years.
    fn ages(ages: &[f64]) -> (PartitionRule, Sensitive) {
        let rule = PartitionRule {
            bounds: vec![("age".into(), 20.0, 70.0)],
            continuous: vec!["age".into()],
            min_rows: Some(2),
            binning: Binning::Uniform,
            cells: CellCount::Given(5),
            ..PartitionRule::default()
        };
        let sex = vec![Some("F"); ages.len()];
        let table = sensitive(vec![
            Column::numbers("age", ages.to_vec()),
            Column::texts("sex", sex),
        ]);
        (rule, table)
    }

    #[test]
    fn joined_cells_are_named_and_hold_the_empty_bins_within() {
        let (rule, table) = ages(&[21.0, 22.0, 33.0, 55.0, 65.0, 66.0]);
        let (partition, warnings) = Partition::fit(&rule, &table, &[1.0; 6]).unwrap();
        let labels: Vec<String> = (0..partition.len()).map(|c| partition.label(c)).collect();
        // Of 33 and 55 the lower joins first, and its smaller neighbour is 55.
        assert_eq!(
            labels,
            [
                "age < 30, sex=F",
                "30 <= age < 60, sex=F",
                "age >= 60, sex=F"
            ]
        );
        assert_eq!(partition.brief(1), "30 to 60, F");
        assert_eq!(partition.counts(), [2, 2, 2]);
        assert_eq!(
            warnings,
            [Warning::MergedCells {
                count: 2,
                made: 1,
                least: 2
            }]
        );
        let (_, empty) = ages(&[45.0]);
        let assignment = partition.assign(&empty).unwrap();
        assert_eq!(
            (assignment.codes(), assignment.uses.empty_cell),
            (&[1][..], 0)
        );
    }

    #[test]
    fn an_empty_bin_outside_joined_cells_takes_what_encloses_it() {
        let (rule, table) = ages(&[21.0, 32.0, 65.0, 66.0]);
        let partition = fit(&rule, &table);
        assert_eq!(partition.label(0), "age < 40, sex=F");
        let (_, empty) = ages(&[45.0]);
        let assignment = partition.assign(&empty).unwrap();
        assert_eq!(assignment.codes(), [2]);
        // Among several columns the finest is dropped first.
        assert_eq!(assignment.mixtures(), [vec![0.5, 0.5]]);
    }

    #[test]
    fn weights_count_as_rows() {
        let (rule, table) = ages(&[25.0, 35.0, 45.0]);
        let (once, _) = Partition::fit(&rule, &table, &[1.0; 3]).unwrap();
        let (twice, _) = Partition::fit(&rule, &table, &[2.0; 3]).unwrap();
        assert_eq!((once.len(), twice.len()), (1, 3));
    }

    #[test]
    fn cells_are_joined_by_default_only_where_their_number_is_left_to_the_rule() {
        let rule = |cells| PartitionRule {
            cells,
            ..PartitionRule::default()
        };
        assert_eq!(rule(CellCount::Auto).least_rows(1000, 1), 5);
        assert_eq!(rule(CellCount::Paper).least_rows(1000, 1), 1);
        assert_eq!(rule(CellCount::Given(3)).least_rows(1000, 1), 1);
        // Three bins of four rows, and four times four of six.
        assert_eq!(rule(CellCount::Auto).least_rows(12, 1), 2);
        assert_eq!(rule(CellCount::Auto).least_rows(100, 2), 3);
        assert_eq!(rule(CellCount::Auto).least_rows(1, 1), 1);
        let refused = Partition::fit(
            &PartitionRule {
                min_rows: Some(0),
                ..PartitionRule::default()
            },
            &numbers("s", &[0.0]),
            &[1.0],
        );
        assert!(matches!(refused, Err(Error::InvalidParameter { .. })));
    }

    #[test]
    fn damaged_spans_are_refused() {
        let (rule, table) = ages(&[21.0, 22.0, 33.0, 55.0, 65.0, 66.0]);
        let sound = fit(&rule, &table);
        assert!(sound.check_read().is_ok());
        let with = |change: &dyn Fn(&mut Vec<Vec<u32>>)| {
            let mut damaged = sound.clone();
            change(&mut damaged.ends);
            damaged.check_read().is_ok()
        };
        assert!(!with(&|ends| ends[0][0] = 1), "cells meet");
        assert!(!with(&|ends| ends[1][0] = 0), "ends before it begins");
        assert!(!with(&|ends| ends[2][0] = 5), "beyond the bins");
        assert!(!with(&|ends| ends[1][1] = 1), "joins categories");
        assert!(!with(&|ends| ends.truncate(1)), "too few");
        assert!(!with(&|ends| ends[0].clear()), "no positions");
    }
}
