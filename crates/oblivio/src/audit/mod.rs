//! How much scores, labels, features or whole tables depend on the sensitive columns.
//!
//! Every measure comes as a [`Measured`]: its value, the level it would have under independence, and an interval.

mod adversary;
mod cells;
mod distance_correlation;
mod grid;
mod hsic;
mod kernels;
mod measure;
mod odds;
mod profile;
mod report;
mod resampling;
mod run;
mod subject;
mod tally;
mod transport;
mod view;

pub(crate) use adversary::auc::Ranking;
pub use adversary::{Adversary, AdversaryKind, AdversaryScore, AdversarySettings, adversary};
pub use cells::certificate;
pub use distance_correlation::{DistanceCorrelation, distance_correlation};
pub use hsic::{Hsic, HsicSettings, HsicSide, hsic};
pub(crate) use kernels::prepared;
pub use measure::{Measure, Measured, Null};
pub use report::{
    Against, Audit, CellProfile, CellRows, FeatureFinding, Finding, Profile, Role, Subject,
};
pub use resampling::Resampling;
pub(crate) use resampling::quantile;
pub use run::{AuditRows, AuditSettings};
pub use tally::{CellMean, CorrelationRatio, Tally, cell_means, correlation_ratio};
