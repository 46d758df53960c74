//! The files of this crate: one schema for each kind.
//!
//! A schema ([`Codec`]) is the header of a file and its tensors. Each is in a file of its own, with all that writes, reads and checks
//! such a file:
//!
//! | kind | value | schema |
//! |---|---|---|
//! | `ridge`, `classifier` | [`Model`](crate::Model) | `model.rs`, with `fallback.rs` and `intervals.rs` |
//! | `features` | [`Transformer`](crate::Transformer) | `features.rs` |
//! | `kernel` | [`KernelModel`](crate::model::KernelModel) | `kernel.rs` |
//! | `moments`, `checkpoint` | [`Moments`](crate::moments::Moments), [`Checkpoint`](crate::model::Checkpoint) | `moments.rs`, with `sums.rs` |
//! | `survey`, `share` | [`Survey`](crate::survey::Survey), [`Share`](crate::share::Share) | `survey.rs`, `share.rs` |
//!
//! `oblivio-release` has the schema of a release. Parts that several kinds have are values of their rooms, with the names that files
//! give their fields; an exporter can read them: the features of a regression on S are [`Smooth`].

pub(crate) mod container;
mod fallback;
mod features;
mod intervals;
mod kernel;
mod model;
mod moments;
mod share;
mod sums;
mod survey;

pub use self::container::{Codec, kind_of, version_of};
pub use crate::partition::regression::{
    Block, Coordinate, Coordinates, Form, KernelFeatures, Landmarks, Smooth, Source,
};
