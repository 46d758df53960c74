//! Releases: a table with the same columns, order, types and ranges, less what S says of its values.
//!
//! A [`Release`] is fitted on reference rows and frozen; it reads a row's S to take its influence out of the row's features. A released
//! table is not anonymised: rows stay rows of people, and one that knows much of a person can find the person's row.

mod apply;
mod bytes;
mod columns;
mod conditional;
mod coupling;
mod draw;
mod fit;
mod form;
mod format;
mod joint;
mod measures;
mod projection;
mod quantile;
mod report;
mod residual;
mod settings;
mod smooth;
mod steps;
mod study;

pub use apply::{Release, Released};
pub use report::{ColumnReport, ReleaseCertificate, ReleasePathPoint, ReleaseReport, Utility};
pub use settings::{
    ColumnRange, Discrete, MissingValues, ProjectionRule, ReleaseMethod, ReleaseSettings,
};
pub use study::{ReleaseRows, StudySettings};
