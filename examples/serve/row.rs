//! From an object by column name to a score.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::http::StatusCode;
use oblivio::model::{RowColumn, RowPrediction};
use oblivio::partition::Uses;
use oblivio::sensitive::Kind;
use oblivio::{Error, Model, RowModel};
use oblivio_base::{Value, nearest};
use serde_json::{Map, Value as Json, json};

use crate::answer::Refusal;
use crate::body::{self, Entry, Row};

/// A model, and as many scorers of rows as were busy at once.
pub(crate) struct Service {
    first: RowModel,
    idle: Mutex<Vec<RowModel>>,
    schema: Json,
}

impl Service {
    pub(crate) fn new(model: Model) -> Self {
        let first = RowModel::new(model);
        let target = &first.model().card.target;
        let columns: Vec<Json> = first.schema().iter().map(column).collect();
        let schema = json!({
            "target": target,
            "classes": first.model().classes.as_ref().map(|classes| &classes.labels),
            "needs_sensitive": first.model().needs_sensitive(),
            "columns": columns,
        });
        Self {
            idle: Mutex::new(Vec::new()),
            schema,
            first,
        }
    }

    pub(crate) fn schema(&self) -> &Json {
        &self.schema
    }

    /// Lends a scorer that nobody else has.
    pub(crate) fn with_rows<T>(&self, work: impl FnOnce(&mut RowModel) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let lent = idle().pop();
        let mut rows = lent.unwrap_or_else(|| self.first.clone());
        let result = work(&mut rows);
        idle().push(rows);
        result
    }

    /// The answers for the rows of a batch, as JSON; given up when nobody waits for them any more.
    pub(crate) fn batch(
        &self,
        json: &[u8],
        most: usize,
        until: Instant,
    ) -> Result<String, Refusal> {
        let batch = body::rows(json, most)?;
        self.with_rows(|rows| {
            let mut answers = String::from("[");
            for (number, row) in batch.iter().enumerate() {
                if Instant::now() > until {
                    let problem = format!("the time was up after {number} rows");
                    return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, problem));
                }
                let found = self.predict(rows, row.get().as_bytes());
                let found = found.map_err(|refusal| refusal.in_row(number))?;
                let comma = if number > 0 { "," } else { "" };
                write!(answers, "{comma}{found}").expect("a text grows");
            }
            answers.push(']');
            Ok(answers)
        })
    }

    /// The answer for one row.
    pub(crate) fn predict(&self, rows: &mut RowModel, json: &[u8]) -> Result<Json, Refusal> {
        let schema = self.first.schema();
        let row = Row::read(json, schema)?;
        if let Some(name) = row.unknown {
            let hint = nearest(&name, schema.iter().map(|column| column.name.as_str()));
            let hint = hint.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            let problem = format!("the model has no column `{name}`{hint}");
            return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, problem));
        }
        let each = || schema.iter().zip(&row.entries);
        let has_apart = each().any(|(column, entry)| !column.is_feature && entry.is_some());
        let mut values = Vec::with_capacity(schema.len());
        for (column, entry) in each() {
            match entry {
                Some(entry) => values.push(value(&column.name, entry)?),
                // What is no feature can be left out, with all others that are none.
                None if !column.is_feature && !has_apart => break,
                None => {
                    return Err(Refusal::from(Error::UnknownColumn {
                        name: column.name.clone(),
                        nearest: None,
                    }));
                }
            }
        }
        let found = rows.predict(&values);
        let found = found.map(|found| answer(found, &self.first))?;
        Ok(found)
    }
}

fn column(column: &RowColumn) -> Json {
    let kind = match column.kind {
        Kind::Categorical => "categorical",
        Kind::Continuous => "number",
    };
    json!({
        "name": column.name,
        "kind": kind,
        "levels": column.levels,
        "feature": column.is_feature,
        "sensitive": column.is_sensitive,
    })
}

fn value<'e>(name: &str, entry: &'e Entry) -> Result<Value<'e>, Refusal> {
    Ok(match entry {
        Entry::Missing => Value::Missing,
        Entry::Text(text) => Value::Text(text),
        Entry::Number(number) => Value::Number(*number),
        Entry::Other(other) => {
            let problem = format!("column `{name}` is {other}; give a number, a text or null");
            return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, problem));
        }
    })
}

/// The score, or the class and its probability; and the policies that were needed, if any.
fn answer(found: RowPrediction, rows: &RowModel) -> Json {
    let mut answer = match (rows.model().classes.as_ref(), found.label) {
        (Some(classes), Some(label)) => {
            let mut answer = json!({ "label": classes.labels[label], "scores": found.scores });
            if let Some(probabilities) = found.probabilities {
                let pairs = classes.labels.iter().zip(probabilities);
                let object: Map<String, Json> =
                    pairs.map(|(label, p)| (label.clone(), json!(p))).collect();
                answer["probabilities"] = Json::Object(object);
            }
            answer
        }
        _ => json!({ "score": found.scores[0] }),
    };
    if found.uses != Uses::default() {
        answer["policies"] = json!(found.uses);
    }
    answer
}
