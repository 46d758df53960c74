//! The `oblivio` program: tables in, the engine's work, tables and reports out.
//!
//! [`run`] is the whole program, so that the Python package can offer the same command. It imports every crate but the experiments, the
//! tests' crates and the Python extension. Files are written under a temporary name and renamed.
//!
//! ```
//! assert_eq!(oblivio_cli::run(["oblivio", "--version"].map(Into::into)), 0);
//! ```

mod args;
mod cmd;
mod progress;
mod report;
mod settings;
mod stored;
mod table;
mod threads;

use std::ffi::OsString;
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::Mutex;

use rayon::{ThreadPool, ThreadPoolBuilder};

use args::{Cli, Command};

/// Files, messages and exit codes for the repository's other programs, so that they behave like this one.
#[doc(hidden)]
pub mod program {
    use std::num::NonZeroUsize;

    use anyhow::Result;
    use rayon::ThreadPool;
    use serde_json::Value;

    pub use crate::table::{Sink, check_place, write_bytes};

    /// Runs a program that parsed its arguments, and returns its exit code.
    pub fn run(work: impl FnOnce() -> Result<()>) -> i32 {
        crate::guarded(|| work().map(|()| crate::DONE))
    }

    /// A pool of this many threads, by default one per core.
    pub fn thread_pool(threads: Option<NonZeroUsize>) -> Result<ThreadPool> {
        crate::thread_pool(threads)
    }

    /// Prints one line.
    pub fn print(line: &str) -> Result<()> {
        crate::report::to_stdout(|out| writeln!(out, "{line}"))
    }

    /// Prints one JSON document.
    pub fn print_json(value: &Value) -> Result<()> {
        crate::report::json(value)
    }
}

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
    let cli = match args::parse(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; a closed pipe is none either.
            let code = if error.use_stderr() { USAGE } else { DONE };
            let _ = error.print();
            return code;
        }
    };
    guarded(|| perform(cli))
}

/// Does the work of a program: Ctrl-C leaves no unfinished file, and an error is printed and gives exit code 1.
fn guarded(work: impl FnOnce() -> anyhow::Result<i32>) -> i32 {
    // A second handler is refused: then whoever installed the first one looks after Ctrl-C.
    let _ = ctrlc::set_handler(|| {
        table::remove_unfinished();
        if let Ok(Some(text)) = PARTING.lock().as_deref() {
            let _ = writeln!(std::io::stderr(), "\n{text}");
        }
        std::process::exit(INTERRUPTED);
    });
    match work() {
        Ok(code) => code,
        Err(error) => {
            report::remark(format_args!("error: {}", report::sentence(&error)));
            FAILED
        }
    }
}

fn thread_pool(threads: Option<NonZeroUsize>) -> anyhow::Result<ThreadPool> {
    let threads = threads::number(threads)?;
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}

fn perform(cli: Cli) -> anyhow::Result<i32> {
    let pool = || thread_pool(cli.threads);
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
        Command::Completions(args) => cmd::completions::run(&args),
        Command::Man(args) => cmd::man::run(&args),
        Command::Settings(args) => cmd::settings::run(&args),
    }?;
    Ok(DONE)
}
