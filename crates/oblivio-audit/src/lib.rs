//! How much scores, labels, features or whole tables depend on the sensitive columns.
//!
//! Every measure comes as a [`Measured`]: its value, the level it would have under independence, and an interval. An audit takes
//! columns and gives aggregates ([`Audit`]); it does not know where scores come from. A [`Frontier`] is many fits on some rows of a table
//! and one audit of their scores on the others.
//!
//! It imports `oblivio`, `oblivio-kernels` and `oblivio-base`. The frontier fits models; the audit only reads cells.
//!
//! ```
//! use oblivio_audit::correlation_ratio;
//!
//! let ratio = correlation_ratio(&[1.0, 1.0, 3.0, 3.0], &[0, 0, 1, 1]);
//! assert_eq!(ratio.value, 1.0);
//! ```

mod adversary;
mod calibration;
mod cells;
mod comparison;
mod control;
mod distance_correlation;
mod draws;
mod errors;
mod formulas;
mod found;
mod frontier;
mod grid;
mod hsic;
mod kernels;
mod measure;
mod odds;
mod profile;
mod report;
mod resampling;
mod run;
mod scene;
mod share;
#[doc(hidden)]
pub mod sibling;
mod strata;
mod subject;
mod tally;
mod transport;
mod truth;
mod view;

pub(crate) use adversary::auc::Ranking;
pub use adversary::{Adversary, AdversaryKind, AdversaryScore, AdversarySettings, adversary};
pub use distance_correlation::{DistanceCorrelation, distance_correlation};
pub use formulas::certificate;
pub use frontier::{
    ALIGNS, Candidate, DependenceFound, ErrorFound, ErrorMeasure, Frontier, FrontierError,
    FrontierGrid, FrontierSettings, PenaltyChoice, Tried,
};
pub use hsic::{Hsic, HsicSettings, HsicSide, hsic};
pub use measure::{Convention, Measure, Measured, Null, Unit};
pub use report::{
    Against, Audit, CellProfile, CellRows, FeatureFinding, Finding, Profile, ReliabilityBin, Role,
    Subject,
};
pub use resampling::Resampling;
pub(crate) use resampling::quantile;
pub use run::{AuditRows, AuditSettings};
pub use tally::{CellMean, CorrelationRatio, Tally, cell_means, correlation_ratio};
