//! Tests of what a user can do to a table: one file per door.

mod csv;
mod fuzz;
mod parquet;
mod read;
mod table;
mod write;
