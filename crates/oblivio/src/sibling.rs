//! What sibling crates need of the inside. No API: it changes without notice. `tests/house.rs` counts the names.

// A release moves a column within the distributions that an alignment of scores uses.
pub use crate::align::cells::{ByCell, Distribution};
pub use crate::align::smooth::Regression;
// A projection estimates the conditional mean of whole rows, as a fit does.
pub use crate::conditioning::{Observed, Of};
// The container of every model file; a release is one.
pub use crate::model::file::container::{Tensor, read, write};
