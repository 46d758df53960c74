//! `oblivio completions`

use anyhow::Result;
use clap::CommandFactory;

use crate::args::Cli;
use crate::report;

/// Print a completion script for a shell
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "oblivio", &mut script);
    report::to_stdout(|out| out.write_all(&script))
}
