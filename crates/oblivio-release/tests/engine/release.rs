//! Releases: the same table, less what S says of it. Nothing is said of a release that was not true of the table before.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use oblivio::model::kind_of;
use oblivio::partition::{CellCount, Estimator, PartitionRule, Policies};
use oblivio::{Column, Error, Sensitive, Values, Warning};
use oblivio_audit::{AuditRows, AuditSettings, Measure, Resampling};
use oblivio_base::{Named, UnseenCategory};
use oblivio_release::{
    ColumnRange, MissingValues, Release, ReleaseMethod, ReleaseReport, ReleaseRows,
    ReleaseSettings, Released, StudySettings,
};
use oblivio_simulate::Simulation;
use oblivio_testing::{generator, watch};
use rand::RngExt;
use rand_distr::StandardNormal;

/// A table of three groups: a mark (many values), a grade (few values) and a colour, all of which depend on the group.
#[derive(Clone)]
struct Table {
    features: Vec<Column>,
    sensitive: Sensitive,
    group: Vec<usize>,
}

const GROUPS: [&str; 3] = ["a", "b", "c"];

fn table(rows: usize, seed: u64) -> Table {
    let mut random = generator(seed);
    let group: Vec<usize> = (0..rows).map(|i| [0, 0, 0, 1, 1, 2][i % 6]).collect();
    let mut mark = Vec::new();
    let mut grade = Vec::new();
    let mut colour = Vec::new();
    for &g in &group {
        let talent: f64 = random.sample(StandardNormal);
        let noise: f64 = random.sample(StandardNormal);
        let g_ = g as f64;
        mark.push(50.0 + 8.0 * g_ + (5.0 + 3.0 * g_) * (talent + 0.3 * noise));
        grade.push((5.0 + g_ + 1.5 * talent).clamp(1.0, 10.0).round());
        let chance: f64 = random.random();
        colour.push(if chance < 0.2 + 0.25 * g_ {
            "red"
        } else if chance < 0.8 {
            "green"
        } else {
            "blue"
        });
    }
    let names = group.iter().map(|g| Some(GROUPS[*g]));
    Table {
        features: vec![
            Column::numbers("mark", mark),
            Column::numbers("grade", grade),
            Column::texts("colour", colour.into_iter().map(Some)),
        ],
        sensitive: Sensitive::new(vec![Column::texts("group", names)], rows).unwrap(),
        group,
    }
}

fn fit(settings: &ReleaseSettings, table: &Table) -> Release {
    let fitted = settings.fit(&table.features, &table.sensitive, None, &watch());
    fitted.unwrap().0
}

fn released(release: &Release, table: &Table) -> Released {
    let made = release.transform(&table.features, &table.sensitive, &watch());
    made.unwrap()
}

fn release(settings: &ReleaseSettings, table: &Table) -> Vec<Column> {
    released(&fit(settings, table), table).columns
}

/// The share of a group's rows whose number is at most this.
fn share(values: &[f64], group: &[usize], of: usize, at: f64) -> f64 {
    let own: Vec<f64> = values
        .iter()
        .zip(group)
        .filter(|(_, g)| **g == of)
        .map(|(v, _)| *v)
        .collect();
    own.iter().filter(|v| **v <= at).count() as f64 / own.len() as f64
}

/// The largest Kolmogorov–Smirnov distance between two groups.
fn distance(values: &[f64], group: &[usize]) -> f64 {
    let pairs = [(0, 1), (0, 2), (1, 2)];
    let at = |v: &f64| {
        let gap = |(a, b)| (share(values, group, a, *v) - share(values, group, b, *v)).abs();
        pairs.into_iter().map(gap).fold(0.0, f64::max)
    };
    values.iter().map(at).fold(0.0, f64::max)
}

fn numbers(column: &Column) -> Vec<f64> {
    column.to_numbers().unwrap()
}

fn texts(column: &Column) -> Vec<String> {
    let (levels, codes) = column.to_categories();
    codes
        .iter()
        .map(|c| levels.get(*c as usize).cloned().unwrap_or_default())
        .collect()
}

/// Colours as numbers.
fn codes(column: &Column) -> Vec<f64> {
    let place = |text: &String| ["blue", "green", "red"].iter().position(|c| c == text);
    texts(column)
        .iter()
        .map(|text| place(text).unwrap() as f64)
        .collect()
}

/// Hoeffding's bound on the largest of `levels` shares of a group of n rows, missed by one table in a thousand.
fn tolerance(rows: usize, levels: usize) -> f64 {
    ((2.0 * levels as f64 * 1000.0).ln() / (2.0 * rows as f64)).sqrt()
}

#[test]
fn reference_rows_have_equal_distributions_in_every_cell() {
    let table = table(1800, 1);
    let made = release(&ReleaseSettings::default(), &table);
    let smallest = 300;
    // A mark has its own rank in each group, so that two groups differ by a row of each: no draw can change that. Of the largest
    // group's 900 marks 512 are knots.
    let mark = |columns: &[Column]| distance(&numbers(&columns[0]), &table.group);
    assert!(mark(&table.features) > 0.3);
    assert!(mark(&made) <= 1.0 / 300.0 + 1.0 / 600.0 + 2.0 / 511.0 + 1e-12);
    let grade = |columns: &[Column]| distance(&numbers(&columns[1]), &table.group);
    assert!(grade(&table.features) > 0.4);
    assert!(grade(&made) < 2.0 * tolerance(smallest, 10));
    let colour = |columns: &[Column]| distance(&codes(&columns[2]), &table.group);
    assert!(colour(&table.features) > 0.3);
    assert!(colour(&made) < 2.0 * tolerance(smallest, 3));
    // Few values and categories keep the shares that they have among all rows.
    let all = vec![0; table.group.len()];
    for at in 1..10 {
        let gap = share(&numbers(&table.features[1]), &all, 0, f64::from(at))
            - share(&numbers(&made[1]), &all, 0, f64::from(at));
        assert!(gap.abs() < tolerance(1800, 10), "{at}: {gap}");
    }
}

#[test]
fn groups_of_few_rows_are_equal_to_a_row() {
    let table = table(60, 3);
    let made = release(&ReleaseSettings::default(), &table);
    let before = distance(&numbers(&table.features[0]), &table.group);
    let after = distance(&numbers(&made[0]), &table.group);
    assert!(before > 0.35);
    assert!(after <= 1.0 / 10.0 + 1.0 / 20.0 + 1e-12, "{after}");
}

#[test]
fn many_values_go_to_the_mean_of_the_quantiles_of_the_cells() {
    let third = |v: f64| v / 3.0;
    let x = [-1.0, 0.0, 1.0, -9.0, 0.0, 3.0].map(third);
    let group = [0, 0, 0, 1, 1, 1];
    let names = group.map(|g| Some(GROUPS[g]));
    let sensitive = Sensitive::new(vec![Column::texts("group", names)], 6).unwrap();
    let features = [Column::numbers("x", x.to_vec())];
    let settings = ReleaseSettings::default();
    let (fitted, _) = settings.fit(&features, &sensitive, None, &watch()).unwrap();
    let made = fitted.transform(&features, &sensitive, &watch()).unwrap();
    let expected = [-5.0, 0.0, 2.0, -5.0, 0.0, 2.0].map(third);
    for (made, expected) in numbers(&made.columns[0]).iter().zip(expected) {
        assert!((made - expected).abs() < 1e-12, "{made} {expected}");
    }
}

#[test]
fn categories_change_as_rarely_as_can_be() {
    let table = table(3000, 2);
    let made = release(&ReleaseSettings::default(), &table);
    let (before, after) = (codes(&table.features[2]), codes(&made[2]));
    let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count() as f64 / 3000.0;
    // Half of what the shares of a group differ from those of all, over the groups.
    let of = |group: &[usize], of: usize, level: f64| {
        share(&before, group, of, level) - share(&before, group, of, level - 1.0)
    };
    let all = vec![0; 3000];
    let needed: f64 = [(0, 0.5), (1, 1.0 / 3.0), (2, 1.0 / 6.0)]
        .into_iter()
        .map(|(g, weight)| {
            let gap = |level: f64| (of(&table.group, g, level) - of(&all, 0, level)).abs();
            weight * [0.0, 1.0, 2.0].map(gap).iter().sum::<f64>() / 2.0
        })
        .sum();
    assert!(needed > 0.1);
    assert!(
        (changed - needed).abs() < tolerance(3000, 1),
        "{changed} {needed}"
    );
}

/// A continuous S on which the mean and the spread of a number depend, along a curve.
fn curve(rows: usize, seed: u64) -> Table {
    let mut random = generator(seed);
    let age: Vec<f64> = (0..rows).map(|_| random.random_range(0.0..1.0)).collect();
    let (mut x, mut kind) = (Vec::new(), Vec::new());
    for &a in &age {
        let noise: f64 = random.sample(StandardNormal);
        x.push((4.0 * a).sin() + (0.3 + a) * noise);
        kind.push(if random.random::<f64>() < 0.2 + 0.6 * a {
            "p"
        } else {
            "q"
        });
    }
    Table {
        features: vec![
            Column::numbers("x", x),
            Column::texts("kind", kind.into_iter().map(Some)),
        ],
        group: vec![0; rows],
        sensitive: Sensitive::new(vec![Column::numbers("age", age)], rows).unwrap(),
    }
}

fn audited(table: &Table, features: &[Column], measure: Measure) -> oblivio_audit::Measured {
    let settings = AuditSettings {
        measures: vec![measure],
        resampling: Resampling {
            permutations: 99,
            resamples: 19,
            ..Resampling::default()
        },
        ..AuditSettings::default()
    };
    let rows = AuditRows {
        subjects: Vec::new(),
        features: features.to_vec(),
        whole_table: true,
        sensitive: table.sensitive.clone(),
        truth: None,
        control: Vec::new(),
        weights: None,
    };
    settings.run(&rows, &watch()).unwrap().findings[0].measured
}

#[test]
fn a_smooth_release_hides_a_continuous_s_in_rows_it_has_not_seen() {
    let settings = ReleaseSettings {
        partition: PartitionRule {
            estimator: Estimator::Smooth,
            ..PartitionRule::default()
        },
        ..ReleaseSettings::default()
    };
    let (reference, new) = (curve(3000, 4), curve(1500, 5));
    let fitted = fit(&settings, &reference);
    assert_eq!(fitted.partition().estimator(), Estimator::Smooth);
    // The mean of the barycentre is that of all.
    let mean = |columns: &[Column]| numbers(&columns[0]).iter().sum::<f64>() / 3000.0;
    let own = released(&fitted, &reference).columns;
    assert!((mean(&own) - mean(&reference.features)).abs() < 0.02);
    let made = released(&fitted, &new).columns;
    for (measure, there) in [(Measure::Hsic, 0.1), (Measure::Adversary, 0.3)] {
        let before = audited(&new, &new.features, measure);
        let after = audited(&new, &made, measure);
        assert!(before.value > before.critical + there, "{before:?}");
        assert!(
            after.value < after.expected + 0.05 * (before.value - before.expected),
            "{after:?}"
        );
    }
}

#[test]
fn a_continuous_s_is_conditioned_on_smoothly_by_itself() {
    let fitted = fit(&ReleaseSettings::default(), &curve(1000, 6));
    assert_eq!(fitted.partition().estimator(), Estimator::Smooth);
    assert!(fitted.partition().choice().is_some());
}

#[test]
fn residuals_have_equal_means_and_leave_categories() {
    let table = table(900, 7);
    let settings = ReleaseSettings {
        method: ReleaseMethod::Residual,
        ..ReleaseSettings::default()
    };
    let (fitted, warnings) = settings
        .fit(&table.features, &table.sensitive, None, &watch())
        .unwrap();
    assert!(warnings.contains(&Warning::LeftColumns {
        columns: vec!["colour".into()]
    }));
    let made = released(&fitted, &table).columns;
    let mean = |values: &[f64], of: usize| {
        let own = values.iter().zip(&table.group).filter(|(_, g)| **g == of);
        let own: Vec<f64> = own.map(|(v, _)| *v).collect();
        own.iter().sum::<f64>() / own.len() as f64
    };
    let gap = |columns: &[Column], k: usize| {
        let values = numbers(&columns[k]);
        (mean(&values, 2) - mean(&values, 0)).abs()
    };
    assert!(gap(&table.features, 0) > 10.0 && gap(&table.features, 1) > 1.0);
    // Marks are cut to their range, which moves few of them; rounding grades by draw leaves their means.
    assert!(gap(&made, 0) < 0.5, "{}", gap(&made, 0));
    assert!(gap(&made, 1) < 0.15, "{}", gap(&made, 1));
    assert_eq!(made[2], table.features[2].clone().sorted());
}

/// The same column with its levels in order, as a release writes them.
trait Sorted {
    fn sorted(self) -> Self;
}

impl Sorted for Column {
    fn sorted(self) -> Self {
        let own = texts(&self);
        let mut levels = own.clone();
        levels.sort();
        levels.dedup();
        let code = |text: &String| levels.iter().position(|level| level == text).unwrap() as u32;
        Self {
            values: Values::Categories {
                codes: own.iter().map(code).collect(),
                levels: levels.clone(),
            },
            ..self
        }
    }
}

#[test]
fn residuals_beyond_a_legitimate_factor_keep_what_it_explains() {
    let rows = 1200;
    let mut random = generator(8);
    let (mut group, mut factor, mut x) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..rows {
        let g = i % 2;
        let f = usize::from(random.random::<f64>() < 0.3 + 0.4 * g as f64);
        let noise: f64 = random.sample(StandardNormal);
        group.push(Some(GROUPS[g]));
        factor.push(Some(["low", "high"][f]));
        x.push(3.0 * f as f64 + 2.0 * g as f64 + noise);
    }
    let sensitive = vec![
        Column::texts("group", group.clone()),
        Column::texts("factor", factor.clone()),
    ];
    let sensitive = Sensitive::new(sensitive, rows).unwrap();
    let features = [Column::numbers("x", x.clone())];
    let mut settings = ReleaseSettings {
        method: ReleaseMethod::Residual,
        ..ReleaseSettings::default()
    };
    settings.partition.control = vec!["factor".into()];
    let (fitted, _) = settings.fit(&features, &sensitive, None, &watch()).unwrap();
    let made = fitted.transform(&features, &sensitive, &watch()).unwrap();
    let made = numbers(&made.columns[0]);
    let mean = |values: &[f64], g: &str, f: &str| {
        let own = (0..rows).filter(|&i| group[i] == Some(g) && factor[i] == Some(f));
        let own: Vec<f64> = own.map(|i| values[i]).collect();
        own.iter().sum::<f64>() / own.len() as f64
    };
    for f in ["low", "high"] {
        assert!(mean(&x, "b", f) - mean(&x, "a", f) > 1.5);
        assert!((mean(&made, "b", f) - mean(&made, "a", f)).abs() < 0.1);
    }
    assert!(mean(&made, "a", "high") - mean(&made, "a", "low") > 2.5);
    settings.method = ReleaseMethod::Quantile;
    let refused = settings
        .fit(&features, &sensitive, None, &watch())
        .unwrap_err();
    assert!(refused.to_string().contains("residual"), "{refused}");
}

#[test]
fn types_ranges_and_decimals_are_kept() {
    let mut table = table(700, 9);
    let tenths = numbers(&table.features[0])
        .iter()
        .map(|v| (v * 10.0).round() / 10.0)
        .collect();
    table.features.push(Column::numbers("tenths", tenths));
    let whole = numbers(&table.features[0])
        .iter()
        .map(|v| v.round())
        .collect();
    table.features.push(Column::numbers("whole", whole));
    for method in [ReleaseMethod::Quantile, ReleaseMethod::Residual] {
        for strength in [1.0, 0.5] {
            let settings = ReleaseSettings {
                method,
                strength,
                ..ReleaseSettings::default()
            };
            let made = release(&settings, &table);
            for (before, after) in table.features.iter().zip(&made) {
                assert_eq!(before.name, after.name);
                let Values::Numbers(x) = &before.values else {
                    let known = texts(before);
                    assert!(texts(after).iter().all(|text| known.contains(text)));
                    continue;
                };
                let Values::Numbers(w) = &after.values else {
                    panic!("`{}` was a column of numbers", before.name)
                };
                assert_ne!(x, w);
                let low = x.iter().copied().fold(f64::INFINITY, f64::min);
                let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                assert!(
                    w.iter().all(|v| (low..=high).contains(v)),
                    "{}",
                    before.name
                );
            }
            assert!(numbers(&made[1]).iter().all(|v| v.fract() == 0.0));
            assert!(numbers(&made[4]).iter().all(|v| v.fract() == 0.0));
            let tenths = numbers(&made[3]);
            assert!(tenths.iter().all(|v| (v * 10.0).round() / 10.0 == *v));
        }
    }
}

#[test]
fn a_given_range_holds() {
    let table = table(600, 10);
    let range = |low, high| ColumnRange {
        column: "mark".into(),
        low,
        high,
    };
    let settings = |range: ColumnRange| ReleaseSettings {
        ranges: vec![range],
        ..ReleaseSettings::default()
    };
    let fitted = fit(&settings(range(45.0, 60.0)), &table);
    let made = released(&fitted, &table);
    assert!(made.clipped > 0);
    assert!(
        numbers(&made.columns[0])
            .iter()
            .all(|v| (45.0..=60.0).contains(v))
    );
    let refuse = |range: ColumnRange| {
        settings(range)
            .fit(&table.features, &table.sensitive, None, &watch())
            .unwrap_err()
    };
    assert!(matches!(
        refuse(range(3.0, 1.0)),
        Error::InvalidParameter { .. }
    ));
    let elsewhere = |column: &str| ColumnRange {
        column: column.into(),
        ..range(0.0, 1.0)
    };
    assert!(
        matches!(refuse(elsewhere("marks")), Error::UnknownColumn { nearest: Some(n), .. } if n == "mark")
    );
    assert!(matches!(
        refuse(elsewhere("colour")),
        Error::InvalidParameter { .. }
    ));
}

#[test]
fn rows_that_were_not_seen_are_placed_clipped_or_refused() {
    let reference = table(900, 11);
    let new = |mark: f64, colour: &'static str, group: &'static str| {
        let features = vec![
            Column::texts("colour", [Some(colour)]),
            Column::numbers("unused", vec![f64::NAN]),
            Column::numbers("grade", vec![5.0]),
            Column::numbers("mark", vec![mark]),
        ];
        let sensitive = Sensitive::new(vec![Column::texts("group", [Some(group)])], 1).unwrap();
        (features, sensitive)
    };
    let mut settings = ReleaseSettings::default();
    let strict = fit(&settings, &reference);
    let apply = |release: &Release, (features, sensitive): (Vec<Column>, Sensitive)| {
        release.transform(&features, &sensitive, &watch())
    };
    let made = apply(&strict, new(51.25, "red", "b")).unwrap();
    let names: Vec<&str> = made.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["mark", "grade", "colour"]);
    assert_eq!((made.clipped, made.unseen), (0, 0));
    let high = numbers(&reference.features[0])
        .into_iter()
        .fold(f64::NEG_INFINITY, f64::max);
    let made = apply(&strict, new(1e9, "red", "b")).unwrap();
    assert_eq!(made.clipped, 1);
    assert!(numbers(&made.columns[0])[0] <= high);
    assert!(matches!(
        apply(&strict, new(50.0, "mauve", "b")),
        Err(Error::UnknownLevel { column, value, .. }) if column == "colour" && value == "mauve"
    ));
    assert!(matches!(
        apply(&strict, new(50.0, "red", "d")),
        Err(Error::UnknownCategory { column, .. }) if column == "group"
    ));
    settings.partition.policies = Policies::for_unknown(UnseenCategory::Population);
    let lenient = fit(&settings, &reference);
    let made = apply(&lenient, new(50.0, "mauve", "b")).unwrap();
    assert_eq!(
        (texts(&made.columns[2])[0].as_str(), made.unseen),
        ("mauve", 1)
    );
    let made = apply(&lenient, new(50.0, "red", "d")).unwrap();
    assert_eq!(made.uses.unseen_category, 1);
}

#[test]
fn columns_that_do_not_fit_are_named() {
    let table = table(60, 12);
    let fitted = fit(&ReleaseSettings::default(), &table);
    let apply = |features: &[Column]| fitted.transform(features, &table.sensitive, &watch());
    assert!(matches!(
        apply(&table.features[1..]),
        Err(Error::UnknownColumn { name, .. }) if name == "mark"
    ));
    let twice = [&table.features[..], &table.features[..1]].concat();
    assert!(matches!(
        apply(&twice),
        Err(Error::DuplicateColumn { name, count: 2 }) if name == "mark"
    ));
    let short: Vec<Column> = table.features.iter().map(|c| c.select(&[0, 1])).collect();
    assert!(matches!(
        apply(&short),
        Err(Error::Length {
            found: 2,
            needed: 60,
            ..
        })
    ));
    let fit = |features: &[Column]| {
        let settings = ReleaseSettings::default();
        settings
            .fit(features, &table.sensitive, None, &watch())
            .unwrap_err()
    };
    assert!(matches!(fit(&twice), Error::DuplicateColumn { .. }));
    assert!(matches!(fit(&[]), Error::InvalidParameter { .. }));
    let sensitive = table.sensitive.columns().to_vec();
    assert!(fit(&sensitive).to_string().contains("`group`"));
    let ids = (0..2000).map(|i| i.to_string()).collect::<Vec<_>>();
    let ids = [Column::texts("id", ids.iter().map(|id| Some(id.as_str())))];
    let many = Sensitive::new(vec![Column::numbers("s", vec![0.0; 2000])], 2000).unwrap();
    let refused = ReleaseSettings::default()
        .fit(&ids, &many, None, &watch())
        .unwrap_err();
    assert!(refused.to_string().contains("2000 in `id`"), "{refused}");
}

#[test]
fn the_order_of_columns_and_of_different_rows_changes_nothing() {
    let table = table(600, 13);
    let fitted = fit(&ReleaseSettings::default(), &table);
    let made = released(&fitted, &table).columns;
    let order: Vec<usize> = (0..600).map(|i| i * 7 % 600).collect();
    let mut moved: Vec<Column> = table.features.iter().map(|c| c.select(&order)).collect();
    moved.reverse();
    let again = fitted
        .transform(&moved, &table.sensitive.select(&order), &watch())
        .unwrap();
    let expected: Vec<Column> = made.iter().map(|c| c.select(&order)).collect();
    assert_eq!(again.columns, expected);
    let half: Vec<usize> = (0..300).collect();
    let alone: Vec<Column> = table.features.iter().map(|c| c.select(&half)).collect();
    let alone = fitted
        .transform(&alone, &table.sensitive.select(&half), &watch())
        .unwrap();
    let expected: Vec<Column> = made.iter().map(|c| c.select(&half)).collect();
    assert_eq!(alone.columns, expected);
}

#[test]
fn the_same_seed_gives_the_same_table_and_another_seed_another() {
    let table = table(600, 14);
    let settings = |seed| ReleaseSettings {
        seed,
        ..ReleaseSettings::default()
    };
    assert_eq!(release(&settings(1), &table), release(&settings(1), &table));
    assert_ne!(release(&settings(1), &table), release(&settings(2), &table));
}

#[test]
fn missing_values_are_refused_or_stay_missing() {
    let mut table = table(900, 15);
    let mark = numbers(&table.features[0]);
    let holes = mark
        .iter()
        .enumerate()
        .map(|(i, v)| if i % 7 == 0 { f64::NAN } else { *v });
    table.features[0] = Column::numbers("mark", holes.collect());
    let colour = texts(&table.features[2]);
    let holes = colour
        .iter()
        .enumerate()
        .map(|(i, v)| (i % 5 > 0).then_some(v.as_str()));
    table.features[2] = Column::texts("colour", holes);
    let mut settings = ReleaseSettings::default();
    let refused = settings.fit(&table.features, &table.sensitive, None, &watch());
    assert!(matches!(refused, Err(Error::MissingValues { column, .. }) if column == "mark"));
    settings.missing = MissingValues::Keep;
    let made = release(&settings, &table);
    assert!(made[1].missing().is_empty());
    for (before, after) in table.features.iter().zip(&made) {
        assert_eq!(before.missing(), after.missing());
    }
    let known: Vec<usize> = (0..900).filter(|i| i % 7 > 0).collect();
    let group: Vec<usize> = known.iter().map(|&i| table.group[i]).collect();
    let own = |columns: &[Column]| distance(&numbers(&columns[0].select(&known)), &group);
    assert!(own(&table.features) > 0.3);
    assert!(
        own(&made) < 1.0 / 120.0 + 1.0 / 240.0 + 1e-12,
        "{}",
        own(&made)
    );
    table.features[0] = Column::numbers("mark", vec![f64::INFINITY; 900]);
    assert!(matches!(
        settings.fit(&table.features, &table.sensitive, None, &watch()),
        Err(Error::NotFinite { .. })
    ));
}

#[test]
fn missing_sensitive_values_follow_the_policy() {
    let mut table = table(600, 16);
    let holes = table.group.iter().enumerate();
    let holes = holes.map(|(i, g)| (i % 10 > 0).then_some(GROUPS[*g]));
    table.sensitive = Sensitive::new(vec![Column::texts("group", holes)], 600).unwrap();
    let mut settings = ReleaseSettings::default();
    let fit = |settings: &ReleaseSettings| {
        settings.fit(&table.features, &table.sensitive, None, &watch())
    };
    assert!(matches!(
        fit(&settings),
        Err(Error::MissingSensitive { .. })
    ));
    settings.partition.policies.missing = oblivio::partition::Missing::SensitiveFree;
    assert!(fit(&settings).unwrap_err().to_string().contains("category"));
    settings.partition.policies.missing = oblivio::partition::Missing::Category;
    assert_eq!(fit(&settings).unwrap().0.partition().len(), 4);
}

#[test]
fn at_strength_zero_nothing_changes_and_half_way_some_is_left() {
    let table = table(900, 17);
    let sorted: Vec<Column> = vec![
        table.features[0].clone(),
        table.features[1].clone(),
        table.features[2].clone().sorted(),
    ];
    for method in [ReleaseMethod::Quantile, ReleaseMethod::Residual] {
        let at = |strength| {
            let settings = ReleaseSettings {
                method,
                strength,
                ..ReleaseSettings::default()
            };
            release(&settings, &table)
        };
        assert_eq!(at(0.0), sorted);
        let gap = |strength| distance(&numbers(&at(strength)[0]), &table.group);
        assert!(gap(0.0) > gap(0.5) && gap(0.5) > gap(1.0));
    }
}

#[test]
fn one_cell_or_one_value_leaves_a_column_to_the_bit() {
    let mut table = table(300, 18);
    table
        .features
        .push(Column::numbers("constant", vec![3.25; 300]));
    let made = release(&ReleaseSettings::default(), &table);
    assert_eq!(made[3], table.features[3]);
    table.sensitive =
        Sensitive::new(vec![Column::texts("group", vec![Some("a"); 300])], 300).unwrap();
    let settings = ReleaseSettings::default();
    let (fitted, warnings) = settings
        .fit(&table.features, &table.sensitive, None, &watch())
        .unwrap();
    assert!(warnings.contains(&Warning::SingleCell));
    let made = released(&fitted, &table).columns;
    for k in [0, 1, 3] {
        assert_eq!(made[k], table.features[k]);
    }
    assert_eq!(texts(&made[2]), texts(&table.features[2]));
}

#[test]
fn a_weight_counts_like_repeated_rows() {
    let table = table(300, 19);
    let weights: Vec<f64> = (0..300).map(|i| f64::from(i % 4)).collect();
    let repeated: Vec<usize> = (0..300).flat_map(|i| vec![i; i % 4]).collect();
    let settings = ReleaseSettings::default();
    let weighted = settings
        .fit(&table.features, &table.sensitive, Some(&weights), &watch())
        .unwrap()
        .0;
    let rows: Vec<Column> = table.features.iter().map(|c| c.select(&repeated)).collect();
    let often = settings
        .fit(&rows, &table.sensitive.select(&repeated), None, &watch())
        .unwrap()
        .0;
    let counted: Vec<usize> = (0..300).filter(|i| i % 4 > 0).collect();
    let rows: Vec<Column> = table.features.iter().map(|c| c.select(&counted)).collect();
    let s = table.sensitive.select(&counted);
    let apply = |release: &Release| release.transform(&rows, &s, &watch()).unwrap().columns;
    assert_eq!(apply(&weighted)[1..], apply(&often)[1..]);
    let (a, b) = (numbers(&apply(&weighted)[0]), numbers(&apply(&often)[0]));
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9));
    assert_ne!(apply(&weighted), rows);
}

#[test]
fn bytes_give_the_same_release_and_hostile_ones_none() {
    let table = table(300, 20);
    let smooth = curve(400, 21);
    let residual = ReleaseSettings {
        method: ReleaseMethod::Residual,
        ..ReleaseSettings::default()
    };
    for (settings, table) in [
        (&ReleaseSettings::default(), &table),
        (&ReleaseSettings::default(), &smooth),
        (&residual, &table),
        (&residual, &smooth),
    ] {
        let fitted = fit(settings, table);
        let bytes = fitted.to_bytes().unwrap();
        assert_eq!(kind_of(&bytes).unwrap(), "release");
        let again = Release::from_bytes(&bytes).unwrap();
        assert_eq!(again, fitted);
        assert_eq!(again.to_bytes().unwrap(), bytes);
        assert_eq!(released(&again, table), released(&fitted, table));
        for length in (0..bytes.len()).step_by(97) {
            assert!(Release::from_bytes(&bytes[..length]).is_err());
        }
        // A changed byte is refused, or gives a release that does not panic.
        let mut random = generator(22);
        for _ in 0..400 {
            let mut hostile = bytes.clone();
            let at = random.random_range(0..hostile.len());
            hostile[at] ^= 1 << random.random_range(0..8);
            if let Ok(release) = Release::from_bytes(&hostile) {
                let _ = release.transform(&table.features, &table.sensitive, &watch());
            }
        }
        // Numbers that no fit could have.
        let from = bytes.len() - 8;
        for value in [f64::NAN, f64::INFINITY] {
            let mut hostile = bytes.clone();
            hostile[from..].copy_from_slice(&value.to_le_bytes());
            assert!(Release::from_bytes(&hostile).is_err());
        }
    }
}

fn study(table: &Table, settings: &ReleaseSettings) -> ReleaseReport {
    let study = StudySettings {
        audit: AuditSettings {
            resampling: Resampling {
                permutations: 39,
                resamples: 39,
                ..Resampling::default()
            },
            ..AuditSettings::default()
        },
        ..StudySettings::default()
    };
    let rows = ReleaseRows {
        features: table.features.clone(),
        sensitive: table.sensitive.clone(),
        target: None,
        weights: None,
    };
    settings.study(&rows, &study, &watch()).unwrap()
}

#[test]
fn a_study_shows_what_was_there_and_what_is_left() {
    let table = table(2400, 23);
    let report = study(&table, &ReleaseSettings::default());
    assert_eq!(
        (report.rows, report.training_rows, report.held_out_rows),
        (2400, 1680, 720)
    );
    assert_eq!(report.sensitive, ["group"]);
    let of = |audit: &oblivio_audit::Audit| {
        audit
            .finding("features", "group", Measure::Adversary)
            .unwrap()
            .measured
    };
    let (before, after) = (of(&report.before), of(&report.after));
    assert!(before.value > 0.75, "{before:?}");
    assert!(after.value < after.critical + 0.05, "{after:?}");
    let single = |audit: &oblivio_audit::Audit| {
        audit
            .features
            .iter()
            .map(|f| f.hsic.value - f.hsic.expected)
            .fold(0.0, f64::max)
    };
    assert!(single(&report.before) > 0.1 && single(&report.after) < 0.01);
    let names: Vec<&str> = report.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["mark", "grade", "colour"]);
    let kinds: Vec<&str> = report.columns.iter().map(|c| c.kind.as_str()).collect();
    assert_eq!(kinds, ["numbers", "whole numbers", "categories"]);
    let mark = &report.columns[0];
    assert!(mark.changed > 0.9 && mark.correlation.unwrap() > 0.7);
    assert!(mark.distance.unwrap() > 0.3 && mark.distance.unwrap() < 1.0);
    assert!(report.columns[2].distance.is_none() && report.columns[2].changed < 0.4);
    // What marks say of grades beyond the group is left.
    let grade = &report.utility[1];
    assert_eq!((grade.target.as_str(), grade.given), ("grade", false));
    assert!(grade.original.value > 0.3 && grade.released.value > 0.3);
    for word in ["not anonymised", "only together", "drawn"] {
        assert!(
            report.notes.iter().any(|note| note.contains(word)),
            "{word}"
        );
    }
    let text = serde_json::to_string(&report).unwrap();
    assert!(text.contains("\"held-out-rows\":720"));
    assert_eq!(
        serde_json::from_str::<ReleaseReport>(&text).unwrap(),
        report
    );
}

#[test]
fn a_study_of_applicants_runs_with_a_target_missing_values_and_three_sensitive_columns() {
    let made = Simulation::from_name("admissions").unwrap();
    let made = made.table(1500, 24).unwrap();
    let mut features = made.features.clone();
    let gpa = numbers(&features[3]);
    let holes = gpa
        .iter()
        .enumerate()
        .map(|(i, v)| if i % 11 == 0 { f64::NAN } else { *v });
    features[3] = Column::numbers("gpa", holes.collect());
    let rows = ReleaseRows {
        features,
        sensitive: Sensitive::new(made.sensitive.clone(), 1500).unwrap(),
        target: Some(made.targets[0].clone()),
        weights: Some((0..1500).map(|i| f64::from(i % 3)).collect()),
    };
    let settings = ReleaseSettings {
        missing: MissingValues::Keep,
        ..ReleaseSettings::default()
    };
    let small = StudySettings {
        audit: AuditSettings {
            rule: PartitionRule {
                cells: CellCount::Given(2),
                ..PartitionRule::default()
            },
            resampling: Resampling {
                permutations: 19,
                resamples: 19,
                ..Resampling::default()
            },
            ..AuditSettings::default()
        },
        ..StudySettings::default()
    };
    let report = settings.study(&rows, &small, &watch()).unwrap();
    assert_eq!(report.rows, 1000);
    assert_eq!(report.utility.len(), 1);
    assert!(report.utility[0].given && report.utility[0].released.value > 0.2);
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("missing values stay missing"))
    );
    let value = |audit: &oblivio_audit::Audit, against: &str| {
        audit
            .finding("features", against, Measure::Adversary)
            .unwrap()
            .measured
    };
    for against in ["age", "region"] {
        let (before, after) = (
            value(&report.before, against),
            value(&report.after, against),
        );
        let left = (after.value - after.expected) / (before.value - before.expected);
        assert!(
            before.p_value <= 0.05 && left < 0.6,
            "{against}: {before:?} {after:?}"
        );
    }
}

#[test]
fn settings_are_spelled_and_checked() {
    assert_eq!(ReleaseMethod::default().name(), "quantile");
    assert_eq!(
        ReleaseMethod::named("residual").unwrap(),
        ReleaseMethod::Residual
    );
    assert_eq!(MissingValues::named("keep").unwrap(), MissingValues::Keep);
    let table = table(60, 25);
    let settings = ReleaseSettings {
        strength: 1.5,
        ..ReleaseSettings::default()
    };
    let refused = settings.fit(&table.features, &table.sensitive, None, &watch());
    assert!(matches!(
        refused,
        Err(Error::InvalidParameter {
            name: "strength",
            ..
        })
    ));
}

/// Two categories that are independent given S, and nothing else: most rows are equal to many others.
#[test]
fn equal_rows_have_draws_of_their_own_in_every_column() {
    use rand::{RngExt, SeedableRng};
    let rows = 20_000;
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(5);
    let s: Vec<bool> = (0..rows).map(|_| random.random()).collect();
    let word = |yes: bool| Some(if yes { "yes" } else { "no" });
    let mut column = |name: &str| {
        let drawn = s
            .iter()
            .map(|s| random.random::<f64>() < if *s { 0.7 } else { 0.3 });
        let drawn: Vec<bool> = drawn.collect();
        Column::texts(name, drawn.into_iter().map(word))
    };
    let x = [column("a"), column("b")];
    let groups = Column::texts("s", s.iter().map(|s| Some(if *s { "f" } else { "m" })));
    let sensitive = Sensitive::new(vec![groups], rows).unwrap();
    let watch = oblivio::Watch::default();
    let shares = |columns: &[Column], of: bool| {
        let yes = |column: &Column| -> Vec<bool> {
            let (levels, codes) = column.to_categories();
            codes.iter().map(|c| levels[*c as usize] == "yes").collect()
        };
        let (a, b) = (yes(&columns[0]), yes(&columns[1]));
        let own: Vec<usize> = (0..rows).filter(|&i| s[i] == of).collect();
        let share = |test: &dyn Fn(usize) -> bool| {
            own.iter().filter(|&&i| test(i)).count() as f64 / own.len() as f64
        };
        (share(&|i| a[i]), share(&|i| a[i] && b[i]))
    };
    // Five standard errors of a difference of shares of 10 000 rows each.
    let error = 5.0 * (2.0 * 0.25 / 10_000.0_f64).sqrt();
    assert!((shares(&x, true).1 - shares(&x, false).1).abs() > 0.3);
    for (strength, first) in [(1.0, 0.5), (0.5, 0.6)] {
        let settings = ReleaseSettings {
            strength,
            ..ReleaseSettings::default()
        };
        let (release, _) = settings.fit(&x, &sensitive, None, &watch).unwrap();
        let w = release.transform(&x, &sensitive, &watch).unwrap().columns;
        let (f, m) = (shares(&w, true), shares(&w, false));
        assert!(
            (f.0 - first).abs() < error && (m.0 - (1.0 - first)).abs() < error,
            "{f:?} {m:?}"
        );
        // Independent given S, the columns stay so.
        assert!(
            (f.1 - f.0 * f.0).abs() < error && (m.1 - m.0 * m.0).abs() < error,
            "{f:?} {m:?}"
        );
    }
}
