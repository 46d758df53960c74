//! From an object by column name to a score.

use std::sync::{Mutex, PoisonError};

use axum::http::StatusCode;
use oblivio::{Error, Kind, Model, RowColumn, RowModel, RowPrediction, Uses, Value, nearest};
use serde_json::{Map, Value as Json, json};

use crate::answer::Refusal;

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

    /// The answer for one row.
    pub(crate) fn predict(
        &self,
        rows: &mut RowModel,
        row: &Map<String, Json>,
    ) -> Result<Json, Refusal> {
        let schema = self.first.schema();
        let known = || schema.iter().map(|column| column.name.as_str());
        if let Some(name) = row.keys().find(|name| !known().any(|own| own == *name)) {
            let hint = nearest(name, known());
            let hint = hint.map_or(String::new(), |name| format!("; did you mean `{name}`?"));
            let problem = format!("the model has no column `{name}`{hint}");
            return Err(Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, problem));
        }
        let mut values = Vec::with_capacity(schema.len());
        for column in schema {
            match row.get(&column.name) {
                Some(value) => values.push(read(&column.name, value)?),
                // What is no feature can be left out, with all others that are none.
                None if !column.is_feature && !row.keys().any(|name| self.is_apart(name)) => break,
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

    /// Whether a column is sensitive, and no feature.
    fn is_apart(&self, name: &str) -> bool {
        let mut schema = self.first.schema().iter();
        schema.any(|column| !column.is_feature && column.name == name)
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

fn read<'v>(name: &str, value: &'v Json) -> Result<Value<'v>, Refusal> {
    Ok(match value {
        Json::Null => Value::Missing,
        Json::String(text) => Value::Text(text),
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        other => {
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
