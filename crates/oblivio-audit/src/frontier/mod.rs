//! Error against dependence on held-out rows, for everything that could be fitted.
//!
//! Rows are split by seed. Every [`Candidate`] is fitted on the training rows and scored on the held-out ones, where its error and
//! the measures of an [audit](crate::AuditSettings) are taken with the same draws for all of them.

mod align;
mod candidate;
mod errors;
mod marks;
mod penalty;
mod report;
mod run;
pub(crate) mod split;

pub use align::ALIGNS;
pub use candidate::{Candidate, FrontierGrid};
pub use errors::{ErrorFound, ErrorMeasure};
pub use penalty::PenaltyChoice;
pub use report::{DependenceFound, Frontier, FrontierError, Tried};
pub use run::FrontierSettings;
