//! `oblivio man`

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::args::Cli;

/// Write the manual pages, one for the program and one for each subcommand
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder, made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let folder = &args.folder;
    let said = || format!("cannot write manual pages to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(said)?;
    clap_mangen::generate_to(Cli::command(), folder).with_context(said)
}
