//! Learners. They see a Gram matrix or the moments of features; whether these are oblivious is none of their business.

mod linear;
mod logistic;
mod ridge;
mod svm;
mod system;
mod task;

pub(crate) use linear::dot;
pub use linear::{Linear, PathPoint};
pub use ridge::{Intercept, Ridge, Solution};
pub(crate) use svm::features_of;
pub use system::{Convergence, Solver};
pub(crate) use task::{Answer, LinearAnswer, Outcomes, Task};
pub use task::{Effort, Learner};
