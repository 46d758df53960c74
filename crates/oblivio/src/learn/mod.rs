//! Learners. They see a Gram matrix; whether it is oblivious is none of their business.

mod ridge;
mod system;

pub use ridge::{Intercept, Ridge, Solution};
pub use system::{Convergence, Solver};
