//! An audit as people read it: in words, as CSV, and as one self-contained HTML page.
//!
//! ```no_run
//! # fn read() -> oblivio::Audit { unimplemented!() }
//! use oblivio_report::{Page, answer};
//!
//! let audit = read();
//! println!("{}", answer(&audit).headline);
//! let page = Page { audit: &audit, title: "scores.csv", facts: &[], frontier: &[] };
//! std::fs::write("audit.html", page.html())?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Names and values come from data and are shown as text, whatever they hold.

mod answer;
mod csv;
mod number;
mod page;
mod pair;
mod text;
mod words;

pub use answer::{Answer, Figure, answer};
pub use csv::csv;
pub use page::{FrontierPoint, HAS_CHARTS, Page};
pub use words::words;

#[cfg(test)]
#[path = "../tests/sample/mod.rs"]
mod sample;
