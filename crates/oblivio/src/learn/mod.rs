//! Learners. They see a Gram matrix or the moments of features; whether these are oblivious is none of their business.

mod gradients;
mod linear;
mod path;
mod pcg;
mod preconditioner;
mod resolvent;
mod ridge;
mod system;

pub(crate) use linear::dot;
pub use linear::{Linear, PathPoint};
pub use path::{PathFit, RidgePath};
pub use ridge::{Intercept, Ridge, Solution};
pub use system::{Convergence, Solver};
