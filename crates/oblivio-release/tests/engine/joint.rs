//! Joint releases: what columns say of S only together, in rows that were not seen.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

use oblivio::partition::{Estimator, PartitionRule};
use oblivio::sensitive::Kind;
use oblivio::{Column, Error, Sensitive, Values};
use oblivio_audit::{AdversarySettings, Resampling, adversary};
use oblivio_base::Named;
use oblivio_release::{
    ColumnRange, MissingValues, Release, ReleaseMethod, ReleaseRows, ReleaseSettings, Released,
    StudySettings,
};
use oblivio_testing::{generator, watch};
use rand::RngExt;
use rand_distr::StandardNormal;

/// Columns that say nothing of the group one by one: the correlation of income and rent has the group's sign, and the colour goes with
/// high or low marks. A code says the same as the grade.
struct Table {
    features: Vec<Column>,
    sensitive: Sensitive,
}

fn table(rows: usize, seed: u64) -> Table {
    let mut random = generator(seed);
    let mut normal = || random.sample::<f64, _>(StandardNormal);
    let group: Vec<usize> = (0..rows).map(|i| i % 2).collect();
    let (mut income, mut rent, mut grade, mut colour) = (vec![], vec![], vec![], vec![]);
    for &g in &group {
        let sign = if g == 0 { 1.0 } else { -1.0 };
        let (a, b, c) = (normal(), normal(), normal());
        income.push(20.0 + 5.0 * a);
        rent.push(9.0 + 2.0 * (0.7 * sign * a + 0.51f64.sqrt() * b));
        grade.push((5.0 + 1.5 * c).clamp(1.0, 9.0).round());
        let warm = sign * c + normal() > 0.0;
        colour.push(Some(if warm { "red" } else { "blue" }));
    }
    let codes = grade
        .iter()
        .map(|g| Some(["low", "middle", "high"][(*g as usize - 1) / 3]));
    let features = vec![
        Column::texts("code", codes.collect::<Vec<_>>()),
        Column::numbers("income", income),
        Column::numbers("rent", rent),
        Column::texts("colour", colour),
        Column::numbers("grade", grade),
    ];
    let names = group.iter().map(|g| Some(["a", "b"][*g]));
    Table {
        features,
        sensitive: Sensitive::new(vec![Column::texts("group", names)], rows).unwrap(),
    }
}

fn joint() -> ReleaseSettings {
    ReleaseSettings {
        method: ReleaseMethod::Joint,
        ..ReleaseSettings::default()
    }
}

fn fit(settings: &ReleaseSettings, table: &Table) -> Release {
    let fitted = settings.fit(&table.features, &table.sensitive, None, &watch());
    fitted.unwrap().0
}

fn transform(release: &Release, table: &Table) -> Released {
    let made = release.transform(&table.features, &table.sensitive, &watch());
    made.unwrap()
}

/// How well the first sensitive column is guessed: an AUC, or an R² of a continuous one.
fn guessed(columns: &[Column], sensitive: &Sensitive, kind: Kind) -> f64 {
    let resampling = Resampling {
        permutations: 19,
        resamples: 19,
        ..Resampling::default()
    };
    let (s, settings) = (&sensitive.columns()[0], AdversarySettings::default());
    let found = adversary(columns, s, kind, None, &settings, &resampling, &watch());
    found.unwrap().measured.value
}

fn numbers(column: &Column) -> Vec<f64> {
    column.to_numbers().unwrap()
}

fn texts(column: &Column) -> Vec<String> {
    let (levels, codes) = column.to_categories();
    codes.iter().map(|c| levels[*c as usize].clone()).collect()
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let mean = |x: &[f64]| x.iter().sum::<f64>() / n;
    let (p, q) = (mean(a), mean(b));
    let product = |x: &[f64], y: &[f64], p: f64, q: f64| {
        x.iter().zip(y).map(|(x, y)| (x - p) * (y - q)).sum::<f64>()
    };
    product(a, b, p, q) / (product(a, a, p, p) * product(b, b, q, q)).sqrt()
}

#[test]
fn what_columns_say_together_is_taken_out_of_rows_not_seen() {
    let (reference, held) = (table(6000, 1), table(3000, 2));
    let auc = |columns: &[Column]| guessed(columns, &held.sensitive, Kind::Categorical);
    let alone = transform(&fit(&ReleaseSettings::default(), &reference), &held).columns;
    let together = transform(&fit(&joint(), &reference), &held).columns;
    // Column by column there is nothing to take out.
    assert!(auc(&held.features) > 0.75);
    assert!(auc(&alone) > 0.75);
    // At most a quarter of it is left. The standard error of an AUC of 1500 against 1500 rows is 0.0105.
    let left = (auc(&together) - 0.5) / (auc(&held.features) - 0.5);
    assert!(left < 0.25, "{left}");
    // Numbers move no further than they must: half of what rent says of income depends on the group.
    for k in [1, 2] {
        let kept = correlation(&numbers(&held.features[k]), &numbers(&together[k]));
        assert!(kept > 0.7, "{kept}");
    }
}

#[test]
fn a_continuous_s_is_taken_out_of_products() {
    let rows = 6000;
    let curve = |seed| {
        let mut random = generator(seed);
        let mut normal = || random.sample::<f64, _>(StandardNormal);
        let (mut age, mut x, mut y) = (vec![], vec![], vec![]);
        for _ in 0..rows {
            let (a, b, c) = (normal().tanh(), normal(), normal());
            age.push(45.0 + 20.0 * a);
            x.push(b);
            y.push(a * b + (1.0 - a * a).sqrt() * c);
        }
        let s = Sensitive::new(vec![Column::numbers("age", age)], rows).unwrap();
        Table {
            features: vec![Column::numbers("x", x), Column::numbers("y", y)],
            sensitive: s,
        }
    };
    let (reference, held) = (curve(3), curve(4));
    let told = |columns: &[Column]| guessed(columns, &held.sensitive, Kind::Continuous);
    for estimator in [Estimator::Smooth, Estimator::Cells] {
        let settings = ReleaseSettings {
            partition: PartitionRule {
                estimator,
                ..PartitionRule::default()
            },
            ..joint()
        };
        let together = transform(&fit(&settings, &reference), &held).columns;
        let (before, after) = (told(&held.features), told(&together));
        assert!(before > 0.15);
        // Within cells of age, products still say how old somebody is.
        let most = match estimator {
            Estimator::Cells => 0.5,
            _ => 0.25,
        };
        assert!(after < most * before, "{estimator:?} {after} {before}");
    }
}

#[test]
fn a_row_is_released_in_the_same_way_whatever_rows_are_next_to_it() {
    let reference = table(1500, 5);
    let release = fit(&joint(), &reference);
    let all = transform(&release, &reference);
    let rows: Vec<usize> = (0..1500).rev().step_by(7).collect();
    let part = Table {
        features: reference.features.iter().map(|c| c.select(&rows)).collect(),
        sensitive: reference.sensitive.select(&rows),
    };
    let own = transform(&release, &part);
    for (whole, part) in all.columns.iter().zip(&own.columns) {
        assert_eq!(whole.select(&rows), *part);
    }
    assert_eq!(release, fit(&joint(), &reference));
    let other = ReleaseSettings { seed: 8, ..joint() };
    assert_ne!(transform(&fit(&other, &reference), &reference), all);
}

#[test]
fn a_column_that_another_determines_still_goes_with_it() {
    let (reference, held) = (table(1200, 6), table(600, 7));
    let release = fit(&joint(), &reference);
    let columns = transform(&release, &held).columns;
    let (levels, codes) = columns[0].to_categories();
    let grades = numbers(&columns[4]);
    assert_ne!(grades, numbers(&held.features[4]));
    for (code, grade) in codes.iter().zip(grades) {
        let expected = ["low", "middle", "high"][(grade as usize - 1) / 3];
        assert_eq!(levels[*code as usize], expected);
    }
}

#[test]
fn types_ranges_and_decimals_are_kept() {
    let mut reference = table(1200, 8);
    let tenths = |v: &f64| (v * 10.0).round() / 10.0;
    let rounded = numbers(&reference.features[2]).iter().map(tenths).collect();
    reference.features[2] = Column::numbers("rent", rounded);
    let settings = ReleaseSettings {
        ranges: vec![ColumnRange {
            column: "income".into(),
            low: 12.0,
            high: 28.0,
        }],
        ..joint()
    };
    let columns = transform(&fit(&settings, &reference), &reference).columns;
    for (before, after) in reference.features.iter().zip(&columns) {
        assert_eq!(before.name, after.name);
        match (&before.values, &after.values) {
            (Values::Numbers(before), Values::Numbers(after)) => {
                let most = before.iter().copied().fold(f64::MIN, f64::max);
                let least = before.iter().copied().fold(f64::MAX, f64::min);
                assert!(after.iter().all(|v| (least..=most).contains(v)));
            }
            (Values::Categories { levels: known, .. }, Values::Categories { levels, codes }) => {
                assert!(codes.iter().all(|c| known.contains(&levels[*c as usize])));
            }
            _ => panic!("{} has another type", after.name),
        }
    }
    assert!(
        numbers(&columns[1])
            .iter()
            .all(|v| (12.0..=28.0).contains(v))
    );
    assert!(numbers(&columns[2]).iter().all(|v| *v == tenths(v)));
    assert!(numbers(&columns[4]).iter().all(|v| v.fract() == 0.0));
}

#[test]
fn missing_values_stay_missing_and_strength_zero_changes_nothing() {
    let mut reference = table(1200, 9);
    let Values::Numbers(rents) = &mut reference.features[2].values else {
        panic!("rents are numbers");
    };
    for row in (0..1200).step_by(10) {
        rents[row] = f64::NAN;
    }
    let refused = joint().fit(&reference.features, &reference.sensitive, None, &watch());
    assert!(matches!(refused, Err(Error::MissingValues { .. })));
    let settings = ReleaseSettings {
        missing: MissingValues::Keep,
        ..joint()
    };
    let columns = transform(&fit(&settings, &reference), &reference).columns;
    for (row, rent) in numbers(&columns[2]).iter().enumerate() {
        assert_eq!(rent.is_nan(), row % 10 == 0);
    }
    let settings = ReleaseSettings {
        strength: 0.0,
        ..joint()
    };
    let complete = table(1200, 9);
    let columns = transform(&fit(&settings, &complete), &complete).columns;
    for (before, after) in complete.features.iter().zip(&columns) {
        match &before.values {
            Values::Numbers(values) => assert_eq!(*values, numbers(after)),
            Values::Categories { .. } => assert_eq!(texts(before), texts(after)),
        }
    }
}

#[test]
fn one_column_or_few_rows_are_released_by_themselves() {
    let one = Table {
        features: vec![table(1200, 10).features.remove(1)],
        ..table(1200, 10)
    };
    let alone = transform(&fit(&ReleaseSettings::default(), &one), &one).columns;
    let together = transform(&fit(&joint(), &one), &one).columns;
    // Ranks go through a distribution of 512 knots once more.
    for (a, b) in numbers(&alone[0]).iter().zip(numbers(&together[0])) {
        assert!((a - b).abs() < 0.5, "{a} {b}");
    }
    let few = table(12, 11);
    assert_eq!(transform(&fit(&joint(), &few), &few).columns.len(), 5);
}

#[test]
fn bytes_give_the_same_release_and_name_their_schema() {
    let reference = table(1500, 12);
    let release = fit(&joint(), &reference);
    let bytes = release.to_bytes().unwrap();
    let again = Release::from_bytes(&bytes).unwrap();
    assert_eq!(again, release);
    assert_eq!(again.to_bytes().unwrap(), bytes);
    let held = table(300, 13);
    assert_eq!(transform(&again, &held), transform(&release, &held));
    for length in (0..bytes.len()).step_by(bytes.len() / 50) {
        assert!(Release::from_bytes(&bytes[..length]).is_err());
    }
    let schema = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("schema");
    let alone = fit(&ReleaseSettings::default(), &reference);
    assert!(schema(&bytes) && !schema(&alone.to_bytes().unwrap()));
    // A digit for a digit, so that the lengths of the file still hold.
    let text = br#"\"schema\":2"#;
    let at = bytes.windows(text.len()).position(|w| w == text).unwrap();
    let mut later = bytes;
    later[at + text.len() - 1] = b'9';
    let refused = Release::from_bytes(&later).unwrap_err().to_string();
    assert!(refused.contains("schema 9"), "{refused}");
}

#[test]
fn control_features_are_refused() {
    let reference = table(60, 14);
    let mut columns = reference.sensitive.columns().to_vec();
    columns.push(Column::numbers(
        "need",
        (0..60).map(|i| f64::from(i % 7)).collect(),
    ));
    let sensitive = Sensitive::new(columns, 60).unwrap();
    let settings = ReleaseSettings {
        partition: PartitionRule {
            control: vec!["need".into()],
            ..PartitionRule::default()
        },
        ..joint()
    };
    let refused = settings.fit(&reference.features, &sensitive, None, &watch());
    assert!(matches!(refused, Err(Error::InvalidParameter { .. })));
    assert_eq!(ReleaseMethod::named("joint").unwrap(), ReleaseMethod::Joint);
}

#[test]
fn a_study_says_what_was_done_and_what_is_left() {
    let Table {
        features,
        sensitive,
    } = table(3000, 15);
    let rows = ReleaseRows {
        features,
        sensitive,
        target: None,
        weights: None,
    };
    let mut study = StudySettings::default();
    study.audit.resampling.permutations = 19;
    study.audit.resampling.resamples = 19;
    let found = joint().study(&rows, &study, &watch()).unwrap();
    assert_eq!(found.method, "joint");
    let treatment = |name: &str| {
        let column = found.columns.iter().find(|c| c.name == name);
        column.unwrap().treatment.clone()
    };
    assert_eq!(
        treatment("code"),
        "the value that goes with the released `grade`"
    );
    assert!(treatment("income").ends_with("aligned with the other columns"));
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("aligned together"))
    );
    assert!(found.utility.iter().any(|told| told.target == "colour"));
}
