//! Where everything goes, made sure of before anything is computed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::Args;
use crate::cmd::written;
use crate::table;

/// The endings of what is found, next to the table.
const BESIDE: [&str; 2] = ["release.json", "release.html"];

/// The reports that are written: those asked for, or those next to the table. Next to a pipe or a device there are none.
pub(super) fn reports(args: &Args) -> Vec<PathBuf> {
    let is_stream = args.output.as_os_str() == "-"
        || fs::metadata(&args.output).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if !args.report.is_empty() || is_stream {
        return args.report.clone();
    }
    BESIDE
        .map(|ending| args.output.with_extension(ending))
        .into()
}

/// Refuses what cannot be written.
pub(super) fn check(args: &Args, data: &[PathBuf], reports: &[PathBuf]) -> Result<()> {
    let inputs: Vec<&Path> = data.iter().map(PathBuf::as_path).collect();
    let others: Vec<&PathBuf> = [&args.output].into_iter().chain(&args.model).collect();
    for (k, path) in others.iter().enumerate() {
        ensure!(
            !reports.contains(path) && !others[..k].contains(path),
            "{}: given twice; every file needs a name of its own",
            path.display()
        );
        table::keep_apart(path, &inputs)?;
        table::check_place(path)?;
    }
    written::check(reports, &inputs)
}
