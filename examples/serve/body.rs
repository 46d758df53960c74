//! Bodies of requests, read so that they take memory in proportion to their bytes.
//!
//! A general JSON value takes up to a hundred times the bytes it is written in. A row is read against the schema instead, and a batch is
//! divided into its rows first, which stay text until their turn comes.

use std::fmt;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use oblivio::model::RowColumn;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::answer::Refusal;

pub(crate) fn received(bytes: Result<Bytes, BytesRejection>) -> Result<Bytes, Refusal> {
    bytes.map_err(|error| Refusal::new(error.status(), error.body_text()))
}

/// What a client wrote for a column.
pub(crate) enum Entry {
    Missing,
    Number(f64),
    Text(String),
    /// What no column takes, in words.
    Other(&'static str),
}

/// What a client wrote for a row: an entry for each column of the schema, where there is one.
pub(crate) struct Row {
    pub(crate) entries: Vec<Option<Entry>>,
    /// The first name that the schema lacks.
    pub(crate) unknown: Option<String>,
}

impl Row {
    pub(crate) fn read(json: &[u8], schema: &[RowColumn]) -> Result<Self, Refusal> {
        read(json, Columns(schema), "an object of values by column name")
    }
}

/// The rows of a batch. What follows one row more than `most` is not looked at.
pub(crate) fn rows(json: &[u8], most: usize) -> Result<Vec<&RawValue>, Refusal> {
    let mut rows = Vec::new();
    let taken = Take {
        rows: &mut rows,
        most,
    };
    let read = read(json, taken, "an array of objects by column name");
    if rows.len() > most {
        let problem = format!("more than {most} rows; send several batches");
        return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, problem));
    }
    read.map(|()| rows)
}

fn read<'b, S: DeserializeSeed<'b>>(
    json: &'b [u8],
    seed: S,
    expected: &str,
) -> Result<S::Value, Refusal> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value = seed.deserialize(&mut reader);
    let value = value.and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| {
        let problem = format!("the body is not {expected}: {error}");
        Refusal::new(StatusCode::BAD_REQUEST, problem)
    })
}

struct Columns<'s>(&'s [RowColumn]);

impl<'de> DeserializeSeed<'de> for Columns<'_> {
    type Value = Row;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Row, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Columns<'_> {
    type Value = Row;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
        let mut row = Row {
            entries: self.0.iter().map(|_| None).collect(),
            unknown: None,
        };
        while let Some(name) = map.next_key::<String>()? {
            if let Some(place) = self.0.iter().position(|column| column.name == name) {
                row.entries[place] = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
                row.unknown.get_or_insert(name);
            }
        }
        Ok(row)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(AnEntry)
    }
}

struct AnEntry;

impl<'de> Visitor<'de> for AnEntry {
    type Value = Entry;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("a number, a text or null")
    }

    fn visit_unit<E>(self) -> Result<Entry, E> {
        Ok(Entry::Missing)
    }

    fn visit_f64<E>(self, number: f64) -> Result<Entry, E> {
        Ok(Entry::Number(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Entry, E> {
        Ok(Entry::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Entry, E> {
        Ok(Entry::Number(number as f64))
    }

    fn visit_str<E>(self, text: &str) -> Result<Entry, E> {
        Ok(Entry::Text(text.to_owned()))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Entry, E> {
        Ok(Entry::Other(if truth { "true" } else { "false" }))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Entry, A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Entry::Other("an array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Entry::Other("an object"))
    }
}

/// Fills its rows until there is one too many.
struct Take<'r, 'b> {
    rows: &'r mut Vec<&'b RawValue>,
    most: usize,
}

impl<'b> DeserializeSeed<'b> for Take<'_, 'b> {
    type Value = ();

    fn deserialize<D: Deserializer<'b>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'b> Visitor<'b> for Take<'_, 'b> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'b>>(self, mut array: A) -> Result<(), A::Error> {
        while let Some(row) = array.next_element()? {
            self.rows.push(row);
            if self.rows.len() > self.most {
                return Err(A::Error::custom("too many rows"));
            }
        }
        Ok(())
    }
}
