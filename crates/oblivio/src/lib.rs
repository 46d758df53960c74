//! engine
mod column;
mod error;
mod kernel;
mod partition;
mod points;
mod random;
mod sensitive;
mod watch;

pub use column::{Column, MISSING, Values};
pub use error::{Error, Result, Warning};
pub use kernel::{Gamma, Kernel, KernelMatrix, Lower, Side, Smoothness};
pub use points::Points;
pub use watch::Watch;
pub use partition::*;
pub use sensitive::{Kind, Sensitive};
