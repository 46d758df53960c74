//! Values that every crate of oblivio needs.
//!
//! Contents: why the engine refuses something ([`Error`]) or accepts it with a remark ([`Warning`]), settings that are one of
//! a few words ([`Named`]), progress and interruption ([`Watch`]), random choices by seed ([`random`]), running means ([`stats`]),
//! columns of a table ([`Column`]), observations ([`Points`]) and the way from one to the other ([`Encoder`]).
//!
//! It imports no other crate of oblivio, and knows neither kernels nor sensitive features.
//!
//! The values are at the root; functions and helpers are in their modules.
//!
//! ```
//! use oblivio_base::{Column, Encoder, Scaling, UnseenCategory};
//!
//! let table = [
//!     Column::numbers("age", vec![30.0, 50.0]),
//!     Column::texts("work", [Some("shop"), Some("farm")]),
//! ];
//! let encoder = Encoder::fit(&table, Scaling::Standard, &[1.0, 1.0], UnseenCategory::Error)?;
//! let (points, _) = encoder.encode(&table)?;
//! assert_eq!(points.row(0), [-1.0, 0.0, 1.0]);
//! # Ok::<(), oblivio_base::Error>(())
//! ```

pub mod choice;
pub mod column;
pub mod encoder;
pub mod error;
pub mod points;
pub mod random;
pub mod stats;
mod watch;

pub use choice::{Named, nearest};
pub use column::{Column, MISSING, Value, Values};
pub use encoder::{Encoder, Encoding, MissingFeatures, Scaling, UnseenCategory};
pub use error::{Error, Result, Warning};
pub use points::Points;
pub use watch::Watch;
