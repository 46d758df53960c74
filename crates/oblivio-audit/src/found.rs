//! One measure of one subject, before names are put to it.

use std::collections::BTreeMap;

use super::measure::{Measure, Measured};

/// A measure, with the numbers and the cells that explain it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) measure: Measure,
    pub(crate) measured: Measured,
    /// Other forms of the same measure, by name.
    pub(crate) further: BTreeMap<String, f64>,
    /// The two cells that differ most: the smaller first.
    pub(crate) pair: Option<(usize, usize)>,
    /// What else is to say.
    pub(crate) detail: Option<String>,
}

impl Found {
    pub(crate) fn new(measure: Measure, measured: Measured) -> Self {
        Self {
            measure,
            measured,
            further: BTreeMap::new(),
            pair: None,
            detail: None,
        }
    }

    pub(crate) fn with(mut self, name: &str, value: f64) -> Self {
        self.further.insert(name.to_owned(), value);
        self
    }

    pub(crate) fn between(mut self, pair: (usize, usize)) -> Self {
        // One cell alone differs from none.
        self.pair = (pair.0 != pair.1).then_some(pair);
        self
    }
}
