//! The walls of the house as tests: counts that only fall, and arrows between crates and modules.
//!
//! Each line of the table in `ceilings.rs` is a test. It fails when a count rises above its ceiling, and when a count falls below:
//! then the ceiling must fall, too. Sources are read as text, from `crates/*/src` and `experiments/src`: a new crate is covered
//! without a change here.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod arrows;
mod ceilings;
mod crates;
mod english;
mod files;
mod names;
mod source;
mod storage;
