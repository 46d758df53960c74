//! The arguments of `oblivio frontier`, and the settings they amount to.

use std::path::PathBuf;

use anyhow::Result;
use oblivio::partition::{CellCount, PartitionRule, Policies};
use oblivio::{Mode, Settings};
use oblivio_audit::{
    ALIGNS, AuditSettings, FrontierGrid, FrontierSettings, Measure, PenaltyChoice, Resampling,
};

use crate::args::named;
use crate::cmd::columns::ColumnArgs;
use crate::cmd::fit;
use crate::settings::{OfFrontier, SettingArgs};

/// Compare error with dependence over strengths, modes and alignments, on held-out rows
///
/// Fits every combination on some rows and judges it on the others: its error, and how much its scores depend on the sensitive
/// columns by every measure asked for, each beside its level under independence and with an interval. Those that no other beats
/// in both are on the frontier. Nothing is chosen: how much to take out is a decision, and the numbers of the one you choose are
/// too good; measure it again on new rows.
///
/// Writes a page with a chart with -o frontier.html, and tables with -o frontier.csv and -o frontier.json.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// CSV or Parquet files with the same columns, patterns such as 'part-*.csv', or - for standard input
    #[arg(required = true)]
    pub(super) data: Vec<PathBuf>,
    /// Column to predict: a number, or two classes
    #[arg(long, value_name = "COLUMN")]
    pub(super) target: String,
    /// Where to write the frontier: .html, .csv or .json, by the name's ending; may be given several times
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Vec<PathBuf>,

    /// Modes to try beside the plain one
    #[arg(long, value_name = "MODES", value_delimiter = ',', default_value = "oblivious,m-oblivious,sensitive-free", value_parser = named::<Mode>(), help_heading = "Candidates")]
    pub(super) modes: Vec<Mode>,
    /// Strengths to try, from 0 (nothing is taken out) to 1
    #[arg(
        long,
        value_name = "STRENGTHS",
        value_delimiter = ',',
        default_value = "0,0.25,0.5,0.75,1",
        allow_negative_numbers = true,
        help_heading = "Candidates"
    )]
    pub(super) strengths: Vec<f64>,
    /// Alignments of the scores to try; none leaves them as they are
    #[arg(long, value_name = "ALIGNMENTS", value_delimiter = ',', default_values_t = ALIGNS.iter().map(|&name| name.to_owned()), help_heading = "Candidates")]
    pub(super) aligns: Vec<String>,
    /// Strengths of alignments to try
    #[arg(
        long,
        value_name = "STRENGTHS",
        value_delimiter = ',',
        default_value = "1",
        allow_negative_numbers = true,
        help_heading = "Candidates"
    )]
    pub(super) align_strengths: Vec<f64>,
    /// Share of the rows that judge and do not train, drawn by seed
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.3,
        allow_negative_numbers = true,
        help_heading = "Candidates"
    )]
    pub(super) held_out: f64,

    /// Measures of dependence to take
    #[arg(long, value_name = "MEASURES", value_delimiter = ',', default_value = "correlation-ratio,parity-difference,hsic,distance-correlation", value_parser = named::<Measure>(), help_heading = "Measures")]
    pub(super) measures: Vec<Measure>,
    /// Cells of each continuous sensitive column where dependence is measured: a number, auto or paper
    #[arg(
        long,
        value_name = "CELLS",
        default_value = "4",
        help_heading = "Measures"
    )]
    pub(super) measure_cells: CellCount,
    /// Scores from here on are positive decisions (default: 0 for classes, 0.5 for targets between 0 and 1, else the median of the
    /// training targets)
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "SCORE",
        help_heading = "Measures"
    )]
    pub(super) decide_at: Option<f64>,
    /// Cells with fewer rows are called small and left out of largest differences
    #[arg(
        long,
        value_name = "ROWS",
        default_value_t = 20,
        help_heading = "Measures"
    )]
    pub(super) min_rows: usize,
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

    #[command(flatten)]
    pub(super) columns: ColumnArgs,
    #[command(flatten)]
    pub(super) settings: SettingArgs<OfFrontier>,
    /// Title of the page (default: the names of the files)
    #[arg(long, value_name = "TEXT")]
    pub(super) title: Option<String>,
    /// Print the frontier as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    pub(super) fn grid(&self) -> FrontierGrid {
        FrontierGrid {
            modes: self.modes.clone(),
            strengths: self.strengths.clone(),
            aligns: self.aligns.clone(),
            align_strengths: self.align_strengths.clone(),
        }
    }

    pub(super) fn base(&self) -> Result<Settings> {
        fit::settings(&self.columns, &self.settings.values)
    }

    pub(super) fn frontier(&self, base: &Settings) -> FrontierSettings {
        FrontierSettings {
            held_out: self.held_out,
            penalty: if self.settings.values.finds_penalty() {
                PenaltyChoice::Auto
            } else {
                PenaltyChoice::Given
            },
            audit: AuditSettings {
                rule: PartitionRule {
                    cells: self.measure_cells,
                    policies: Policies {
                        missing: base.partition.policies.missing,
                        ..Policies::default()
                    },
                    ..base.partition.clone()
                },
                threshold: self.decide_at,
                least_rows: self.min_rows,
                measures: self.measures.clone(),
                resampling: Resampling {
                    permutations: self.permutations,
                    resamples: self.resamples,
                    confidence: self.confidence,
                    seed: base.seed,
                },
                ..AuditSettings::default()
            },
        }
    }
}
