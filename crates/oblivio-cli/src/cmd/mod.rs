//! One file per subcommand: its arguments, what it does, what it prints.

pub(crate) mod audit;
pub(crate) mod bounds;
pub(crate) mod columns;
pub(crate) mod completions;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod frontier;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod predict;
mod reduce;
pub(crate) mod refresh;
pub(crate) mod release;
pub(crate) mod settings;
pub(crate) mod simulate;
pub(crate) mod stream;
pub(crate) mod transform;
mod written;
