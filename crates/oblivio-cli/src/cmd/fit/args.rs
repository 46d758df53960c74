//! The arguments of `oblivio fit`, and the settings they amount to.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use oblivio::Settings;
use oblivio::partition::PartitionRule;
use oblivio::settings::SettingValues;
use oblivio_base::Named;

use crate::cmd::columns::ColumnArgs;
use crate::settings::{OfFit, SettingArgs};

/// Fit a model to a table
///
/// Kernel ridge regression, a support vector machine or logistic regression whose scores have the sensitive columns'
/// influence taken out.
///
/// Prediction then needs the sensitive columns as well: they are read in order to take their own influence out. The mode
/// sensitive-free learns a score that needs none, and costs more accuracy.
/// Equal mean scores per cell are not independence: look at the scores on new rows before relying on them.
///
/// Without --components the fit is exact, and its time and memory grow with the cube and the square of the rows. With it,
/// any number of rows will do.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// CSV or Parquet files, patterns such as 'part-*.csv', or - for standard input
    ///
    /// Several files have the same columns.
    #[arg(required = true)]
    pub(super) data: Vec<PathBuf>,
    /// Column to predict
    ///
    /// With --components and without a target, features are fitted for `oblivio transform`.
    #[arg(long, value_name = "COLUMN", required_unless_present = "components")]
    pub(super) target: Option<String>,
    /// Where to write the model
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) columns: ColumnArgs,
    /// Fit on this many rows, drawn by seed
    #[arg(
        long,
        value_name = "ROWS",
        help_heading = "Columns",
        conflicts_with = "components",
        requires = "target"
    )]
    pub(super) sample: Option<usize>,
    #[command(flatten)]
    pub(super) settings: SettingArgs<OfFit>,
    /// Save the state here now and then; the same command goes on from it after an interruption
    #[arg(long, value_name = "FILE", help_heading = "Landmarks")]
    pub(super) checkpoint: Option<PathBuf>,
    /// How often, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30,
        help_heading = "Landmarks"
    )]
    pub(super) checkpoint_every: u64,
    /// Print the summary as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// The share of free memory that a classifier may take.
const SHARE: f64 = 0.6;

impl Args {
    /// A sentence if the flags do not go together.
    pub(crate) fn usage_error(&self) -> Option<&'static str> {
        let is_plain = self.settings.values.text("mode").as_deref() == Some("plain");
        (self.columns.sensitive.is_empty() && !is_plain).then_some(
            "--sensitive is missing, so nothing would be removed; name columns, as in --sensitive sex,age, or give --mode plain",
        )
    }

    pub(super) fn settings(&self) -> Result<Settings> {
        settings(&self.columns, &self.settings.values)
    }
}

/// The settings of a fit to these columns.
pub(in crate::cmd) fn settings(columns: &ColumnArgs, values: &SettingValues) -> Result<Settings> {
    let settings = Settings::from_values(values)?;
    check_penalty(&settings, values)?;
    let sensitive = [&columns.sensitive[..], &columns.control].concat();
    let free = || super::free_memory().map(|free| (SHARE * free) as usize);
    Ok(Settings {
        partition: PartitionRule {
            control: columns.control.clone(),
            ..columns.read.rule(settings.partition, &sensitive)
        },
        memory: match settings.memory {
            None if settings.learner.classifies() => free(),
            given => given,
        },
        ..settings
    })
}

/// Refuses the penalty of another learner.
fn check_penalty(settings: &Settings, values: &SettingValues) -> Result<()> {
    let classifies = settings.learner.classifies();
    ensure!(
        !(classifies && values.is_set("alpha")),
        "--alpha is the penalty of ridge regression; give --cost to {}, one over the penalty",
        settings.learner.name()
    );
    ensure!(
        classifies || !values.is_set("cost"),
        "--cost is for svm and logistic; give --alpha to ridge regression"
    );
    let cost = values.number("cost")?.unwrap_or(1.0);
    ensure!(
        cost > 0.0 && cost.is_finite(),
        "--cost must be a positive finite number, got {cost}"
    );
    Ok(())
}
