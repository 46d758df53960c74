//! The page of an audit: one file, read by a browser without a network.

use oblivio::Audit;

/// The charts' script; empty if it was not there when this crate was built.
const CHARTS: &str = include_str!(concat!(env!("OUT_DIR"), "/charts.js"));

/// Whether pages have charts: if not, they have tables in their place.
pub const HAS_CHARTS: bool = !CHARTS.is_empty();

/// An audit to be shown, with what was done.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// What was found.
    pub audit: &'a Audit,
    /// What it is about, such as the name of a file.
    pub title: &'a str,
    /// What was done: names and values.
    pub facts: &'a [(String, String)],
    /// Error against dependence of the models that were tried; if there are none, the page has no such section.
    pub frontier: &'a [FrontierPoint],
}

/// One of the models that were tried.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontierPoint {
    /// What it is called.
    pub name: String,
    /// Its error.
    pub error: f64,
    /// How much its scores depend on S.
    pub dependence: f64,
    /// Whether it is the one in use.
    pub chosen: bool,
}

impl Page<'_> {
    /// The whole page.
    pub fn html(&self) -> String {
        String::new()
    }

    /// The answer, three numbers and the measures as a piece of HTML for notebooks: no script, and styles of its own.
    pub fn compact(&self) -> String {
        String::new()
    }
}
