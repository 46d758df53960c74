//! Reports that are written as a page, as CSV or as JSON, by the ending of their name.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::report;
use crate::table;

/// How a report is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Page,
    Csv,
    Json,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_lowercase();
        match ending.as_str() {
            "html" | "htm" => Some(Self::Page),
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// Refuses what cannot be written before anything is computed.
pub(super) fn check(outputs: &[PathBuf], inputs: &[&Path]) -> Result<()> {
    for (k, path) in outputs.iter().enumerate() {
        ensure!(
            Kind::of(path).is_some(),
            "{}: the report is written as .html, .csv or .json; give the name one of these endings",
            path.display()
        );
        ensure!(
            !outputs[..k].contains(path),
            "{}: given twice; name every report once",
            path.display()
        );
        table::keep_apart(path, inputs)?;
        table::check_place(path)?;
    }
    Ok(())
}

/// Writes a report of each kind that was asked for.
pub(super) fn write(outputs: &[PathBuf], text: impl Fn(Kind) -> String) -> Result<()> {
    for path in outputs {
        let kind = Kind::of(path).unwrap_or(Kind::Page);
        table::write_bytes(path, text(kind).as_bytes())?;
    }
    Ok(())
}

/// Says of pages that should have charts that they have none, if so.
pub(super) fn say_if_without_charts(outputs: &[PathBuf]) {
    let pages = outputs
        .iter()
        .filter(|path| Kind::of(path) == Some(Kind::Page));
    for path in pages.filter(|_| !oblivio_report::HAS_CHARTS) {
        report::remark(format_args!(
            "note: this program was built without the chart bundle: {} has tables in place of charts",
            path.display()
        ));
    }
}

/// What was found as it is, its title, and what was done in pairs of a name and a value.
pub(super) fn json(found: &impl Serialize, title: &str, facts: &[(String, String)]) -> Value {
    let facts = facts.iter();
    let facts: Map<String, Value> = facts
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let mut json = json!(found);
    if let Some(map) = json.as_object_mut() {
        map.insert("schema".into(), json!(1));
        map.insert("oblivio".into(), json!(env!("CARGO_PKG_VERSION")));
        map.insert("title".into(), json!(title));
        map.insert("facts".into(), facts.into());
    }
    json
}

/// The names of files without their folders.
pub(super) fn names(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| match path.file_name() {
            Some(name) if path.as_os_str() != "-" => name.to_string_lossy().into_owned(),
            _ => "standard input".into(),
        })
        .collect();
    match &names[..] {
        [first, .., last] if names.len() > 3 => format!("{first} … {last}"),
        _ => names.join(", "),
    }
}
