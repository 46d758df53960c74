//! Missing values of features: a fit fills them in as one would by hand, in memory, in batches and row by row.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use oblivio::survey::Survey;
use oblivio::{Column, Error, Model, Roles, RowModel, Settings, Watch};
use oblivio_base::{Encoding, MissingFeatures, Scaling, Value};
use oblivio_kernels::Components;

const ROWS: usize = 60;

fn sex() -> Column {
    Column::texts("sex", (0..ROWS).map(|i| Some(["F", "M"][i * 7 % 5 % 2])))
}

fn target() -> Column {
    Column::numbers("y", (0..ROWS).map(|i| (i * 11 % 17) as f64).collect())
}

fn age(i: usize) -> Option<f64> {
    (!i.is_multiple_of(4)).then_some((i * 13 % 23) as f64)
}

fn school(i: usize) -> Option<&'static str> {
    (!i.is_multiple_of(7)).then_some(["home", "public"][i % 3 % 2])
}

/// A number and a category that miss values, and a number that misses none.
fn gaps() -> Vec<Column> {
    vec![
        Column::numbers(
            "age",
            (0..ROWS).map(|i| age(i).unwrap_or(f64::NAN)).collect(),
        ),
        Column::texts("school", (0..ROWS).map(school)),
        Column::numbers("mark", (0..ROWS).map(|i| (i * 5 % 13) as f64).collect()),
    ]
}

/// The same columns, filled in by hand.
fn by_hand() -> Vec<Column> {
    let known: Vec<f64> = (0..ROWS).filter_map(age).collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let ages = (0..ROWS).map(|i| age(i).unwrap_or(mean)).collect();
    let missing = (0..ROWS).map(|i| f64::from(u8::from(age(i).is_none())));
    vec![
        Column::numbers("age", ages),
        Column::numbers("missing", missing.collect()),
        Column::texts("school", (0..ROWS).map(|i| school(i).or(Some("zzz")))),
        gaps().remove(2),
    ]
}

fn fit(features: &[Column], settings: &Settings) -> Model {
    let (sex, target) = (sex(), target());
    let roles = Roles {
        features,
        sensitive: std::slice::from_ref(&sex),
        target: &target,
        labels: None,
        weights: None,
    };
    let fitted = Model::fit(roles, Scaling::Raw, settings, &Watch::default());
    fitted.unwrap().0
}

fn scores(model: &Model, features: Vec<Column>) -> Vec<f64> {
    let table = [features, vec![sex()]].concat();
    let prediction = model.predict(&table, &Watch::default()).unwrap().remove(0);
    prediction.scores
}

#[test]
fn a_fit_is_that_of_columns_filled_in_by_hand() {
    let on_landmarks = Settings {
        components: Some(Components::new(ROWS)),
        ..Settings::default()
    };
    for settings in [Settings::default(), on_landmarks] {
        let filled = scores(&fit(&gaps(), &settings), gaps());
        let expected = scores(&fit(&by_hand(), &settings), by_hand());
        for (found, expected) in filled.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }
}

#[test]
fn one_row_scores_as_a_table_of_it() {
    let model = fit(&gaps(), &Settings::default());
    let mut rows = RowModel::new(model.clone());
    let all = scores(&model, gaps());
    let sex = sex().to_categories();
    for (i, expected) in all.iter().enumerate() {
        let row = [
            age(i).map_or(Value::Missing, Value::Number),
            school(i).map_or(Value::Missing, Value::Text),
            Value::Number((i * 5 % 13) as f64),
            Value::Text(&sex.0[sex.1[i] as usize]),
        ];
        let found = rows.predict(&row).unwrap();
        let missing = row.iter().filter(|value| value.is_missing()).count();
        assert_eq!(found.uses.missing_feature, missing);
        assert!((found.scores[0] - expected).abs() < 1e-9, "row {i}");
    }
}

#[test]
fn batches_and_parts_are_encoded_like_the_whole() {
    let encoder = fit(&gaps(), &Settings::default()).encoder;
    let mut survey = Survey::part(0, 0, None);
    for (start, end) in [(0, 1), (1, 30), (30, ROWS)] {
        let rows: Vec<usize> = (start..end).collect();
        let pick = |columns: Vec<Column>| -> Vec<Column> {
            columns.iter().map(|column| column.select(&rows)).collect()
        };
        let mut part = Survey::part(0, start, None);
        part.update(&pick(gaps()), &pick(vec![sex()]), None)
            .unwrap();
        // What travels between the machines of a cluster.
        let part = Survey::from_bytes(&part.to_bytes().unwrap()).unwrap();
        survey.join(&part).unwrap();
    }
    let begin = |missing| {
        let encoding = Encoding {
            scaling: Scaling::Raw,
            missing,
        };
        let settings = Settings {
            components: Some(Components::new(8)),
            ..Settings::default()
        };
        let components = Components::new(8);
        let begun = survey
            .clone()
            .begin(encoding, &settings, components, &Watch::default());
        begun.map(|(encoder, _)| encoder)
    };
    let found = begin(MissingFeatures::Indicate).unwrap();
    let names = |encoder: &oblivio::Encoder| -> Vec<String> {
        (0..9).map_while(|k| encoder.feature_name(k)).collect()
    };
    assert_eq!(names(&found), names(&encoder));
    assert_eq!(
        begin(MissingFeatures::Error).unwrap_err(),
        Error::MissingValues {
            column: "age".into(),
            count: ROWS / 4,
            row: 0
        }
    );
}
