//! A row that is not refused takes no memory, whatever the model. The counter is the program's allocator, so this is a program
//! of its own.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "engine/cases/mod.rs"]
mod cases;

use allocation_counter::measure;

use cases::{ROWS, models, value};
use oblivio::RowModel;
use oblivio::partition::Uses;
use oblivio_base::Value;

#[test]
fn a_row_takes_no_memory() {
    let mut policies = 0;
    for made in models() {
        let mut rows = RowModel::new(made.model.clone());
        let column = |name: &str| made.table.iter().find(|c| c.name == name).unwrap();
        let schema: Vec<_> = rows.schema().iter().map(|c| column(&c.name)).collect();
        for i in 0..ROWS {
            let mut row: Vec<Value> = schema.iter().map(|c| value(c, i)).collect();
            // Ages that no row has, so that cells without reference rows are met as well.
            if let Some(at) = schema.iter().position(|c| c.name == "age") {
                row[at] = Value::Number(12.0 + 1.4 * i as f64);
            }
            let mut used = None;
            let taken = measure(|| used = rows.predict(&row).ok().map(|found| found.uses));
            let Some(used) = used else {
                continue;
            };
            policies += usize::from(used != Uses::default());
            assert_eq!(taken.count_total, 0, "{} row {i}", made.name);
        }
    }
    assert!(policies > 100, "{policies}");
}

#[test]
fn the_counter_counts() {
    let made = models().into_iter().next().unwrap();
    let taken = measure(|| drop(RowModel::new(made.model.clone())));
    assert!(taken.count_total > 10, "{taken:?}");
}
