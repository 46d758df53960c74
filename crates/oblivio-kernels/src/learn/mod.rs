//! Learners. They see a Gram matrix, features or their moments; whether these are oblivious is none of their business.

mod equations;
mod gradients;
mod linear;
mod logistic;
mod lowrank;
mod path;
mod pcg;
mod preconditioner;
mod resolvent;
mod ridge;
mod scaled;
mod svm;
mod system;
mod task;

pub(crate) use crate::gram::dot;
pub use equations::{NormalEquations, translate};
pub use linear::{Influence, Linear, PathPoint};
pub use logistic::Logistic;
pub use lowrank::Spanning;
pub use path::{PathFit, RidgePath};
pub use ridge::{Intercept, Ridge, Solution};
pub use svm::{Certificate, Classified, LinearClassified, Margins, Svm, SvmSolver};
pub use system::{Convergence, Solver};
pub use task::{Answer, LinearAnswer, Outcomes, Task};
pub use task::{Effort, Learner};
