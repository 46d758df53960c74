//! The files of this crate: the schema of each kind.

pub use crate::partition::smooth::{
    Block, Coordinate, Coordinates, Form, KernelFeatures, Landmarks, Smooth, Source,
};
