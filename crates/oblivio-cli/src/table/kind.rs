//! What a column holds, settled over all rows of all files.

use serde::{Deserialize, Serialize};

/// How every value of a column is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Numbers,
    /// Categories, `True` and `TRUE` being `true`.
    Booleans,
    /// Categories as they are spelt.
    Texts,
}

/// What all values seen so far could be. Missing values could be anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Could {
    pub(super) numbers: bool,
    pub(super) booleans: bool,
}

impl Could {
    pub(super) const ANYTHING: Self = Self {
        numbers: true,
        booleans: true,
    };
    pub(super) const NUMBERS: Self = Self {
        numbers: true,
        booleans: false,
    };
    pub(super) const BOOLEANS: Self = Self {
        numbers: false,
        booleans: true,
    };
    pub(super) const TEXTS: Self = Self {
        numbers: false,
        booleans: false,
    };

    /// What the values of both could be.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            numbers: self.numbers && other.numbers,
            booleans: self.booleans && other.booleans,
        }
    }

    pub(super) fn kind(self) -> Kind {
        match self {
            Self { numbers: true, .. } => Kind::Numbers,
            Self { booleans: true, .. } => Kind::Booleans,
            _ => Kind::Texts,
        }
    }
}
