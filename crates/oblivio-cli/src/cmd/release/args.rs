//! The arguments of `oblivio release`, and the settings they amount to.

use std::path::PathBuf;

use anyhow::Result;
use oblivio::Settings;
use oblivio::partition::{CellCount, PartitionRule, Policies};
use oblivio_audit::{AuditSettings, Resampling};
use oblivio_kernels::Components;
use oblivio_release::{
    ColumnRange, Discrete, MissingValues, ProjectionRule, ReleaseMethod, ReleaseSettings,
    StudySettings,
};

use crate::args::{bounds, named};
use crate::cmd::columns::ReadArgs;
use crate::settings::{OfRelease, SettingArgs};

/// Write a table again with the sensitive columns' influence taken out
///
/// Same columns, same order, same types; only the values of features change. Use it where people need rows. Where a score is
/// what they need, `oblivio fit` promises more and costs less.
///
/// Next to the table goes what was found on held-out rows, as `NAME.release.json` and `NAME.release.html`: how much the columns
/// depend on the sensitive ones before and after, what an adversary finds of them, how far values moved and what can still be
/// learned.
///
/// The sensitive columns stay in the table unless --drop-sensitive. A released table is not anonymised.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// CSV or Parquet files with the same columns, patterns such as 'part-*.csv', or - for standard input
    #[arg(required = true)]
    pub(super) data: Vec<PathBuf>,
    /// Columns whose influence on the features is taken out
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', required = true)]
    pub(super) sensitive: Vec<String>,
    /// Unchanged column that the released features should still predict
    #[arg(long, value_name = "COLUMN")]
    pub(super) target: Option<String>,
    /// Where to write the table: .parquet, or else CSV; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    /// Where to write what was found, instead of next to the table: .html, .csv or .json; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(super) report: Vec<PathBuf>,
    /// Where to write the fitted release, for `oblivio transform` of later rows
    #[arg(long, value_name = "FILE")]
    pub(super) model: Option<PathBuf>,

    /// Columns to leave as they are, such as a number of the row
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns"
    )]
    pub(super) keep: Vec<String>,
    /// Columns to leave out of the table
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns"
    )]
    pub(super) drop: Vec<String>,
    /// Leave the sensitive columns out of the table
    #[arg(long, help_heading = "Columns")]
    pub(super) drop_sensitive: bool,
    /// Column of row weights
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(super) weights: Option<String>,
    /// Values that a column may have, COLUMN=LOW:HIGH (default: those it has); may be given several times
    #[arg(long, value_name = "RANGE", value_parser = range, value_delimiter = ',', allow_hyphen_values = true, help_heading = "Columns")]
    pub(super) range: Vec<ColumnRange>,
    /// Missing values of features: refuse them, or keep them missing
    #[arg(long, default_value = "error", value_parser = named::<MissingValues>(), help_heading = "Columns")]
    pub(super) missing_values: MissingValues,
    #[command(flatten)]
    pub(super) read: ReadArgs,

    /// quantile gives each column a distribution that is the same whatever the sensitive values are; joint does the same and then
    /// aligns all columns together; projection looks for the row
    /// whose features by the kernel are nearest to oblivious ones; residual moves each column by its conditional mean
    #[arg(long, default_value = "quantile", value_parser = named::<ReleaseMethod>(), help_heading = "Release")]
    pub(super) method: ReleaseMethod,
    #[command(flatten)]
    pub(super) settings: SettingArgs<OfRelease>,
    /// Factors of gamma to try
    #[arg(long, value_name = "FACTORS", value_delimiter = ',', default_values_t = ProjectionRule::default().bandwidths, help_heading = "Projection")]
    pub(super) bandwidths: Vec<f64>,
    /// Columns of categories and of whole numbers: try their values, or keep them as they are
    #[arg(long, default_value = "enumerate", value_parser = named::<Discrete>(), help_heading = "Projection")]
    pub(super) discrete: Discrete,

    /// Share of the rows that judge the release and do not fit the one that is judged, drawn by seed
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = StudySettings::default().held_out,
        allow_negative_numbers = true,
        help_heading = "Measures"
    )]
    pub(super) held_out: f64,
    /// Cells of each continuous sensitive column where dependence is measured: a number, auto or paper
    #[arg(
        long,
        value_name = "CELLS",
        default_value = "4",
        help_heading = "Measures"
    )]
    pub(super) measure_cells: CellCount,
    /// Shuffles of the sensitive values, for the level under independence
    #[arg(
        long,
        value_name = "N",
        default_value_t = 199,
        help_heading = "Measures"
    )]
    pub(super) permutations: usize,
    /// Samples drawn with replacement, for the intervals
    #[arg(
        long,
        value_name = "N",
        default_value_t = 199,
        help_heading = "Measures"
    )]
    pub(super) resamples: usize,
    /// Confidence of intervals
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.95,
        help_heading = "Measures"
    )]
    pub(super) confidence: f64,

    /// Title of the page (default: the names of the files)
    #[arg(long, value_name = "TEXT")]
    pub(super) title: Option<String>,
    /// Print what was found as JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// Reads `column=low:high`.
fn range(text: &str) -> Result<ColumnRange, String> {
    match bounds(text) {
        Ok((column, low, high)) if !column.is_empty() => Ok(ColumnRange { column, low, high }),
        _ => Err("must be COLUMN=LOW:HIGH with LOW < HIGH".into()),
    }
}

impl Args {
    pub(super) fn settings(&self) -> Result<ReleaseSettings> {
        let settings = Settings::from_values(&self.settings.values)?;
        Ok(ReleaseSettings {
            method: self.method,
            strength: settings.strength,
            partition: self.read.rule(settings.partition, &self.sensitive),
            missing: self.missing_values,
            ranges: self.range.clone(),
            projection: ProjectionRule {
                kernel: settings.kernel,
                bandwidths: self.bandwidths.clone(),
                components: settings.components.map(|c| Components::new(c.count)),
                discrete: self.discrete,
            },
            seed: settings.seed,
        })
    }

    pub(super) fn study(&self, settings: &ReleaseSettings) -> StudySettings {
        let partition = &settings.partition;
        StudySettings {
            held_out: self.held_out,
            audit: AuditSettings {
                rule: PartitionRule {
                    cells: self.measure_cells,
                    policies: Policies {
                        missing: partition.policies.missing,
                        ..Policies::default()
                    },
                    ..partition.clone()
                },
                resampling: Resampling {
                    permutations: self.permutations,
                    resamples: self.resamples,
                    confidence: self.confidence,
                    seed: settings.seed,
                },
                ..AuditSettings::default()
            },
            ..StudySettings::default()
        }
    }
}
