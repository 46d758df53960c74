//! An audit, a frontier, a release or bounds as people read them: in words, as CSV, and as one self-contained HTML page.
//!
//! ```
//! use oblivio::{Column, Sensitive, Watch};
//! use oblivio_audit::{AuditRows, AuditSettings, Measure, Role};
//! use oblivio_report::{Page, answer};
//!
//! let scores = Column::numbers("score", (0..60).map(|i| f64::from(i) / 7.0).collect());
//! let group = Column::texts("group", (0..60).map(|i| Some(if i < 30 { "a" } else { "b" })));
//! let rows = AuditRows {
//!     subjects: vec![(Role::of_scores(&scores), scores)],
//!     features: Vec::new(),
//!     whole_table: false,
//!     sensitive: Sensitive::new(vec![group], 60)?,
//!     truth: None,
//!     control: Vec::new(),
//!     weights: None,
//! };
//! let settings = AuditSettings { measures: vec![Measure::Beta], ..AuditSettings::default() };
//! let audit = settings.run(&rows, &Watch::default())?;
//! assert!(answer(&audit).headline.starts_with("Scores depend on group"));
//! let page = Page { audit: &audit, title: "scores.csv", facts: &[], frontier: &[], bounds: None };
//! assert!(page.html().starts_with("<!DOCTYPE html>"));
//! # Ok::<(), oblivio::Error>(())
//! ```
//!
//! It imports `oblivio-release`, `oblivio-audit`, `oblivio` and `oblivio-base`. It shows numbers and computes none. Names and values come
//! from data and are shown as text, whatever they hold.

mod answer;
mod bounds;
mod csv;
mod frontier;
mod number;
mod page;
mod pair;
mod release;
mod text;
mod words;

pub use answer::{Answer, Figure, answer};
pub use bounds::{
    BoundLine, best_interval, bound_lines, bound_words, bounds_answer, bounds_csv, vacuous_bounds,
};
pub use csv::csv;
pub use frontier::{frontier_answer, frontier_csv};
pub use page::{BoundsPage, FrontierPage, FrontierPoint, HAS_CHARTS, Page, ReleasePage};
pub use release::{
    NOT_ANONYMISED, release_answer, release_audit, release_certificate, release_csv,
};
pub use words::{error_words, words};

#[cfg(test)]
#[path = "../tests/sample/mod.rs"]
mod sample;
