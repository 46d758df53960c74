//! Scores rows with a model file, without Python: `predict MODEL < columns.json`.
//!
//! The columns are a JSON list of `{"name": ..., "numbers": [...]}` and `{"name": ..., "texts": [...]}`, null being a missing value.
//! Prints one list of scores for each decision of the model.

use std::error::Error;
use std::io::stdin;

use oblivio::{Column, Model, Watch};
use serde::Deserialize;

#[derive(Deserialize)]
struct Given {
    name: String,
    numbers: Option<Vec<Option<f64>>>,
    texts: Option<Vec<Option<String>>>,
}

impl From<Given> for Column {
    fn from(given: Given) -> Self {
        if let Some(numbers) = given.numbers {
            let numbers = numbers.into_iter().map(|v| v.unwrap_or(f64::NAN));
            Self::numbers(given.name, numbers.collect())
        } else {
            let texts = given.texts.unwrap_or_default();
            Self::texts(given.name, texts.iter().map(Option::as_deref))
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a model file")?;
    let model = Model::from_bytes(&std::fs::read(path)?)?;
    let given: Vec<Given> = serde_json::from_reader(stdin().lock())?;
    let table: Vec<Column> = given.into_iter().map(Column::from).collect();
    let predictions = model.predict(&table, &Watch::default())?;
    let scores: Vec<_> = predictions.iter().map(|p| &p.scores).collect();
    println!("{}", serde_json::to_string(&scores)?);
    Ok(())
}
