//! The crate as its users see it. One program for all files: it is linked once.

mod audit;
mod frontier;
mod labels;
