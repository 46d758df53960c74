//! What theory says about a model, with numbers: how far Z is from the manifold (paper, section 4.1), how much W can depend on S (ψ,
//! section 4), how far predictions were moved, and what held-out rows say directly.

mod certificate;
mod change;
mod event;
mod feature;
mod ground;
mod interval;
mod population;
mod psi;
mod range;
mod report;
mod rows;
mod run;
mod translation;

pub use certificate::event_certificate;
pub use interval::{Interval, bernstein, hoeffding};
pub use psi::{Constant, Price, Spectrum, Trade, trivial, trivial_for};
pub use range::{is_nonnegative, largest_distance, largest_square};
pub use report::{
    BoundCell, Bounds, CellBound, CellChange, Certificate, CertificateMeasure, ChangeBound,
    DependenceBound, DistanceBound, Estimate, FeatureEventBound, MoveBound, PopulationBound,
};
pub use run::BoundSettings;
