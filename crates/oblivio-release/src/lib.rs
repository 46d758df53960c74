//! What theory and effort can say beyond a model: tables released with less dependence, nearest points, and bounds.
//!
//! - A [`Release`] does to every column of a table what alignment does to a score. What that did to held-out rows is in a
//!   [`ReleaseReport`]: two audits, before and after, and what became of the columns.
//! - A [`Manifold`] finds the row of the table's own space whose feature is nearest to an oblivious one.
//! - [`BoundSettings`] give the [`Bounds`] of a fitted model: distances to the manifold, the best function for ψ, certificates.
//!
//! It imports `oblivio-audit`, `oblivio`, `oblivio-kernels` and `oblivio-base`. It learns no score.
//!
//! ```
//! use oblivio_release::hoeffding;
//!
//! let interval = hoeffding(&[0.0, 1.0, 1.0, 0.0], 1.0, 0.95);
//! assert!(interval.upper >= 0.5);
//! ```

mod bound;
mod manifold;
mod release;

pub use bound::{
    BoundCell, BoundSettings, Bounds, CellBound, CellChange, Certificate, CertificateMeasure,
    ChangeBound, Constant, DependenceBound, DistanceBound, Estimate, FeatureEventBound, Interval,
    MoveBound, PopulationBound, Price, Spectrum, Trade, bernstein, event_certificate, hoeffding,
    is_nonnegative, largest_distance, largest_square, trivial, trivial_for,
};
pub use manifold::{Certify, LowerBound, Manifold, Projected, Region, Search, Span, Stepped};
pub use release::{
    ColumnRange, ColumnReport, Discrete, MissingValues, ProjectionRule, Release,
    ReleaseCertificate, ReleaseMethod, ReleasePathPoint, ReleaseReport, ReleaseRows,
    ReleaseSettings, Released, StudySettings, Utility,
};
