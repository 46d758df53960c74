//! Rows scored one by one: seconds for each, against a table of that row.

use oblivio::{Column, Model, Result, Roles, RowModel, Settings, Watch};
use oblivio_base::{Scaling, Value};
use oblivio_kernels::Components;

use crate::{least, say};

const DIM: usize = 10;
const ROWS: usize = 4000;
const TIMES: usize = 2000;

fn table() -> Vec<Column> {
    let wave = |k: usize| (0..ROWS).map(move |i| ((i * (k + 3)) as f64 * 0.37).sin());
    let mut table: Vec<Column> = (0..DIM)
        .map(|k| Column::numbers(format!("x{k}"), wave(k).collect()))
        .collect();
    let levels = ["a", "b", "c", "d"];
    table.push(Column::texts("s", (0..ROWS).map(|i| Some(levels[i % 4]))));
    table.push(Column::numbers("y", wave(DIM).collect()));
    table
}

/// Ten features, a sensitive column of four categories; one thread.
pub(crate) fn run() -> Result<()> {
    let table = table();
    let watch = Watch::default();
    for landmarks in [100, 1000] {
        let settings = Settings {
            components: Some(Components::new(landmarks)),
            ..Settings::default()
        };
        let roles = Roles {
            features: &table[..DIM],
            sensitive: &table[DIM..=DIM],
            target: &table[DIM + 1],
            labels: None,
            weights: None,
        };
        let (model, _) = Model::fit(roles, Scaling::Standard, &settings, &watch)?;
        let mut row: Vec<Value> = (0..DIM).map(|k| Value::Number(0.1 * k as f64)).collect();
        row.push(Value::Text("b"));
        let mut rows = RowModel::new(model.clone());
        let alone = least(5, || {
            (0..TIMES).try_fold(0.0, |sum, _| Ok(sum + rows.predict(&row)?.scores[0]))
        })?;
        say(&format!("row p={landmarks}"), alone / TIMES as f64);
        let names = rows.schema().iter().zip(&row);
        let one: Vec<Column> = names
            .map(|(column, value)| Column::of_value(&column.name, *value))
            .collect();
        let by_table = least(5, || {
            (0..TIMES / 20).try_for_each(|_| model.predict(&one, &watch).map(drop))
        })?;
        say(
            &format!("table of one row p={landmarks}"),
            by_table / (TIMES / 20) as f64,
        );
    }
    Ok(())
}
