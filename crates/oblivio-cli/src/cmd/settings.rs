//! `oblivio settings`

use anyhow::Result;
use oblivio::settings::settings_json;

use crate::report;

/// Print the table of settings as JSON
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<()> {
    report::json(&settings_json())
}
