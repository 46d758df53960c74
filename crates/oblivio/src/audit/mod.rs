//! How much scores, labels, features or whole tables depend on the sensitive columns.
//!
//! Every measure comes as a [`Measured`]: its value, the level it would have under independence, and an interval.

mod adversary;
mod distance_correlation;
mod measure;
mod report;
mod resampling;
mod tally;

pub use adversary::{Adversary, AdversaryKind, AdversaryScore, AdversarySettings, adversary};
pub use distance_correlation::{DistanceCorrelation, distance_correlation};
pub use measure::{Measure, Measured, Null};
pub use report::{
    Against, Audit, CellProfile, CellRows, FeatureFinding, Finding, Profile, Role, Subject,
};
pub use resampling::Resampling;
pub use tally::{CellMean, CorrelationRatio, Tally, cell_means, correlation_ratio};
