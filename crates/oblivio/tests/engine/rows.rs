//! Rows scored one by one: what a table of that row gives, to the last bit, and what it refuses.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use oblivio::{Column, Error, Model, Result, RowModel, Watch};
use oblivio_base::Value;
use proptest::prelude::*;
use proptest::test_runner::{TestRunner, contextualize_config};

use crate::cases::{Made, ROWS, models, value};

/// Scores, h(x), label, probabilities and uses of a row, by way of a table.
fn by_table(model: &Model, names: &[String], row: &[Value]) -> Result<String> {
    let columns = names.iter().zip(row);
    let table: Vec<Column> = columns.map(|(n, v)| Column::of_value(n, *v)).collect();
    let all = model.predict(&table, &Watch::default())?;
    let scores: Vec<f64> = all.iter().map(|p| p.scores[0]).collect();
    let before: Vec<f64> = all.iter().map(|p| p.before[0]).collect();
    let classes = model.classes.as_ref();
    let label = classes.map(|classes| classes.decide(&scores));
    let chances = classes.and_then(|classes| classes.probabilities(&scores));
    // Of numbers, `Debug` shows as many digits as tell them apart.
    Ok(format!(
        "{before:?} {scores:?} {label:?} {chances:?} {:?}",
        all[0].uses
    ))
}

fn by_row(rows: &mut RowModel, row: &[Value]) -> Result<String> {
    let p = rows.predict(row)?;
    let (before, scores, label) = (p.before, p.scores, p.label);
    let chances = p.probabilities.map(<[f64]>::to_vec);
    Ok(format!(
        "{before:?} {scores:?} {label:?} {chances:?} {:?}",
        p.uses
    ))
}

fn names(rows: &RowModel) -> Vec<String> {
    rows.schema().iter().map(|c| c.name.clone()).collect()
}

/// The rows of the table that a model was fitted on, in the order of its schema.
fn own_rows<'t>(made: &'t Made, names: &[String]) -> Vec<Vec<Value<'t>>> {
    let column = |name: &String| made.table.iter().find(|c| c.name == *name).unwrap();
    let row = |i: usize| names.iter().map(|n| value(column(n), i)).collect();
    (0..ROWS).map(row).collect()
}

#[test]
fn rows_of_the_fit_score_as_tables_of_one_row_and_agree_with_the_whole() {
    for made in models() {
        let mut rows = RowModel::new(made.model.clone());
        let names = names(&rows);
        let whole = made.model.predict(&made.table, &Watch::default()).unwrap();
        for (i, row) in own_rows(&made, &names).iter().enumerate() {
            let found = by_row(&mut rows, row).unwrap();
            let table = by_table(&made.model, &names, row).unwrap();
            assert_eq!(found, table, "{} row {i}", made.name);
            for (score, all) in rows.predict(row).unwrap().scores.iter().zip(&whole) {
                let gap = (score - all.scores[i]).abs();
                assert!(gap <= 1e-11 * (1.0 + score.abs()), "{} {gap}", made.name);
            }
        }
    }
}

#[test]
fn sensitive_values_can_be_left_out_where_a_table_without_them_is_scored() {
    let mut scored = 0;
    for made in models() {
        let mut rows = RowModel::new(made.model.clone());
        let features = rows.schema().iter().filter(|c| c.is_feature).count();
        let names = names(&rows);
        let row = &own_rows(&made, &names)[3][..features];
        let found = by_row(&mut rows, row);
        assert_eq!(found, by_table(&made.model, &names, row), "{}", made.name);
        scored += usize::from(found.is_ok());
        let short = rows.predict(&row[..features - 1]).unwrap_err();
        assert!(matches!(short, Error::Width { found: 2, .. }), "{short}");
    }
    assert!(scored > 5, "{scored}");
}

/// Ordinary values and those that policies and errors are for.
fn values() -> impl Strategy<Value = Value<'static>> {
    prop_oneof![
        8 => (-100.0..100.0f64).prop_map(Value::Number),
        2 => prop::sample::select(vec![0.0, -0.0, 7.0, 1e9, 1e300, -1e308]).prop_map(Value::Number),
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY]).prop_map(Value::Number),
        1 => Just(Value::Missing),
        6 => prop::sample::select(vec![
            "home", "public", "7", "F", "M", "north", "south", "7.0", " 7", "nan", "inf", "", "x",
            "33",
        ])
        .prop_map(Value::Text),
    ]
}

/// A row of the fit with some values changed.
fn changes() -> impl Strategy<Value = (usize, Vec<(usize, Value<'static>)>)> {
    (0..ROWS, prop::collection::vec((0..6usize, values()), 0..3))
}

#[test]
fn any_row_is_scored_or_refused_as_a_table_of_it_is() {
    let (mut scored, mut refused, mut policies) = (0, 0, 0);
    for made in models() {
        let mut rows = RowModel::new(made.model.clone());
        let names = names(&rows);
        let own = own_rows(&made, &names);
        let mut runner = TestRunner::new(contextualize_config(ProptestConfig {
            cases: 40,
            source_file: Some(file!()),
            ..ProptestConfig::default()
        }));
        let counts = std::cell::RefCell::new((&mut scored, &mut refused, &mut policies));
        let rows = std::cell::RefCell::new(&mut rows);
        runner
            .run(&changes(), |(start, changes)| {
                let mut row = own[start].clone();
                for (at, value) in changes {
                    row[at % names.len()] = value;
                }
                let found = by_row(*rows.borrow_mut(), &row);
                let table = by_table(&made.model, &names, &row);
                let mut counts = counts.borrow_mut();
                match &found {
                    Ok(_) => *counts.0 += 1,
                    Err(_) => *counts.1 += 1,
                }
                if let Ok(prediction) = rows.borrow_mut().predict(&row) {
                    *counts.2 +=
                        usize::from(prediction.uses != oblivio::partition::Uses::default());
                }
                // As text, in which NaN is equal to itself.
                let (found, table) = (format!("{found:?}"), format!("{table:?}"));
                prop_assert_eq!(found, table, "{} {:?}", made.name, row);
                Ok(())
            })
            .unwrap();
    }
    // Each way is gone often enough to mean something.
    assert!(
        scored > 500 && refused > 200 && policies > 50,
        "{scored} {refused} {policies}"
    );
}

#[test]
fn the_schema_lists_features_then_sensitive_columns() {
    let all = models();
    let made = all.iter().find(|m| m.name == "shared").unwrap();
    let rows = RowModel::new(made.model.clone());
    let shown: Vec<(&str, bool, bool, usize)> = rows
        .schema()
        .iter()
        .map(|c| (&c.name[..], c.is_feature, c.is_sensitive, c.levels.len()))
        .collect();
    let expected = [
        ("x", true, false, 0),
        ("hours", true, false, 0),
        ("school", true, true, 3),
        ("sex", false, true, 2),
    ];
    assert_eq!(shown, expected);
}
