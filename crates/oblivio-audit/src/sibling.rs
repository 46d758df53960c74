//! What oblivio-release needs of the inside. No API: it changes without notice.

// A release is studied on rows that are split as a frontier splits them.
pub use crate::frontier::split::{Parts, split};
// Measures of a study share the reading of columns with the audit.
pub use crate::kernels::prepared;
