//! The engine as its users see it. One program for all files: it is linked once, and what the files share is compiled once.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

mod alignment;
mod cases;
mod classifiers;
mod definitions;
mod errata;
mod explicit;
mod fallback;
mod fixtures;
mod intervals;
mod kernels;
mod learners;
mod missing_features;
mod model;
mod outliers;
mod parts;
mod path;
mod rows;
mod smooth;
mod solvers;
mod theorems;
mod travel;
