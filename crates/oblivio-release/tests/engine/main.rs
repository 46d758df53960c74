//! The crate as its users see it. One program for all files: it is linked once.

mod bounds;
mod files;
mod joint;
mod projection;
mod release;
