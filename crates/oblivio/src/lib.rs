//! engine
mod column;
mod conditional_mean;
mod error;
mod fit;
mod kernel;
pub mod learn;
mod oblivious;
mod partition;
mod points;
mod predictor;
mod random;
mod reference;
mod sensitive;
mod watch;

pub use column::{Column, MISSING, Values};
pub use conditional_mean::ConditionalMean;
pub use error::{Error, Result, Warning};
pub use fit::{CellSummary, Fit, Mode, Settings, Summary, Training};
pub use kernel::{Gamma, Kernel, KernelMatrix, Lower, Side, Smoothness};
pub use oblivious::{Features, ObliviousMap, Shifts};
pub use partition::*;
pub use points::Points;
pub use predictor::{Offsets, Prediction, Predictor};
pub use reference::{Reference, Split};
pub use sensitive::{Kind, Sensitive};
pub use watch::Watch;
