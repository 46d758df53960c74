//! Tables made of columns, and columns found by name.

use anyhow::Result;
use oblivio::Column;

use crate::table::Table;

fn table(names: &[&str]) -> Table {
    let columns = names
        .iter()
        .map(|&name| Column::numbers(name, vec![1.0, 2.0, 3.0]));
    Table::new(columns.collect()).unwrap()
}

fn problem<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn an_unknown_column_is_answered_with_the_nearest() {
    let table = table(&["age", "sex", "hours-per-week"]);
    assert_eq!(table.column("sex").unwrap().name, "sex");
    assert_eq!(
        problem(table.column("agee")),
        "column `agee` is not in the table (columns: age, sex, hours-per-week); did you mean `age`?"
    );
    assert!(problem(table.column("Hours per week")).ends_with("did you mean `hours-per-week`?"));
    assert!(problem(table.column("zzzzzz")).ends_with("(columns: age, sex, hours-per-week)"));
}

#[test]
fn a_wide_table_is_not_listed_in_full() {
    let names: Vec<String> = (0..40).map(|i| format!("feature{i}")).collect();
    let table = table(&names.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(problem(table.column("y")).ends_with("feature8, feature9, …)"));
}

#[test]
fn what_is_no_table_is_refused() {
    let columns = |second: &str, values: Vec<f64>| {
        Table::new(vec![
            Column::numbers("a", vec![1.0]),
            Column::numbers(second, values),
        ])
    };
    assert_eq!(
        problem(columns("a", vec![1.0])),
        "columns 1 and 2 are both named `a`; rename one of them"
    );
    assert_eq!(
        problem(columns("", vec![1.0])),
        "column 2 has no name; name it in the header or drop it"
    );
    assert_eq!(
        problem(columns("b", vec![])),
        "column `b` has 0 rows but column `a` has 1; give one value per row"
    );
    assert!(problem(Table::new(vec![])).starts_with("there are no columns"));
}
