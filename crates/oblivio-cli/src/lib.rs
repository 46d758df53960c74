//! The `oblivio` program: tables in, the engine's work, tables and reports out.
//!
//! [`run`] is the whole program, so that the Python package can offer the same command.

mod args;
mod cmd;
mod progress;
mod report;
mod stored;
mod table;
mod threads;

use std::ffi::OsString;
use std::io::Write;
use std::sync::Mutex;

use clap::Parser;
use rayon::{ThreadPool, ThreadPoolBuilder};

use args::{Cli, Command};

/// Exit codes: done, the input or the computation, usage, a limit passed.
const DONE: i32 = 0;
const FAILED: i32 = 1;
const USAGE: i32 = 2;
const PASSED_LIMIT: i32 = 3;
/// What a shell reports for a program that Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// What Ctrl-C leaves the user with.
static PARTING: Mutex<Option<String>> = Mutex::new(None);

/// Sets what is said if Ctrl-C ends the program from now on.
pub(crate) fn say_if_interrupted(text: String) {
    if let Ok(mut parting) = PARTING.lock() {
        *parting = Some(text);
    }
}

/// Runs the command line given by `arguments` (the program's name first) and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; a closed pipe is none either.
            let code = if error.use_stderr() { USAGE } else { DONE };
            let _ = error.print();
            return code;
        }
    };
    // A second handler is refused: then whoever installed the first one looks after Ctrl-C.
    let _ = ctrlc::set_handler(|| {
        table::remove_unfinished();
        if let Ok(Some(text)) = PARTING.lock().as_deref() {
            let _ = writeln!(std::io::stderr(), "\n{text}");
        }
        std::process::exit(INTERRUPTED);
    });
    match perform(cli) {
        Ok(code) => code,
        Err(error) => {
            report::remark(format_args!("error: {error:#}"));
            FAILED
        }
    }
}

fn perform(cli: Cli) -> anyhow::Result<i32> {
    let pool = || -> anyhow::Result<ThreadPool> {
        let threads = threads::number(cli.threads)?;
        Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
    };
    match cli.command {
        Command::Fit(args) => cmd::fit::run(&args, &pool()?),
        Command::Predict(args) => cmd::predict::run(&args, &pool()?),
        Command::Transform(args) => cmd::transform::run(&args, &pool()?),
        Command::Audit(args) => {
            let kept = cmd::audit::run(&args, &pool()?)?;
            return Ok(if kept { DONE } else { PASSED_LIMIT });
        }
        Command::Frontier(args) => cmd::frontier::run(&args, &pool()?),
        Command::Bounds(args) => cmd::bounds::run(&args, &pool()?),
        Command::Release(args) => cmd::release::run(&args, &pool()?),
        Command::Inspect(args) => cmd::inspect::run(&args, &pool()?),
        Command::Export(args) => cmd::export::run(&args, &pool()?),
        Command::Refresh(args) => cmd::refresh::run(&args, &pool()?),
        Command::Simulate(args) => cmd::simulate::run(&args),
        Command::Reproduce(args) => cmd::reproduce::run(&args, &pool()?),
        Command::Completions(args) => cmd::completions::run(&args),
        Command::Man(args) => cmd::man::run(&args),
    }?;
    Ok(DONE)
}
