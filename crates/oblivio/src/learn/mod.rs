//! Learners. They see a Gram matrix, features or their moments; whether these are oblivious is none of their business.

mod linear;
mod logistic;
mod lowrank;
mod ridge;
mod scaled;
mod svm;
mod system;

pub(crate) use linear::dot;
pub use linear::{Linear, PathPoint};
pub use logistic::Logistic;
pub use ridge::{Intercept, Ridge, Solution};
pub use svm::{Certificate, Classified, LinearClassified, Margins, Svm, SvmSolver};
pub use system::{Convergence, Solver};
