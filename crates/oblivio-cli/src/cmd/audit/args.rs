//! The arguments of `oblivio audit`, and the settings they amount to.

use std::path::PathBuf;

use anyhow::{Result, bail};
use oblivio::partition::{Binning, CellCount, Missing, PartitionRule, Policies};
use oblivio_audit::{AuditSettings, Measure, Resampling};
use oblivio_base::Named;
use oblivio_release::BoundSettings;

use super::gate::Limit;
use crate::args::{bounds, delimiter, named};
use crate::table::ReadOptions;

/// Measure how much scores, labels or features depend on sensitive columns
///
/// Audits the features of a table and its target, columns of scores, or a model on new rows. Every measure is printed beside
/// the level it would have under independence and an interval; `detectable` (chance would hardly give it) and `large` are two
/// things. Writes a page for people with -o report.html, and tables with -o report.csv and -o report.json.
///
/// With --at-most or --at-least the exit code is 3 if a measure is beyond its limit.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// CSV or Parquet files with the same columns, patterns such as 'part-*.csv', or - for standard input
    #[arg(required = true)]
    pub(super) data: Vec<PathBuf>,
    /// Sensitive columns (default: those of the model)
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        required_unless_present = "model"
    )]
    pub(super) sensitive: Vec<String>,
    /// Columns of scores or decisions to audit
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        conflicts_with = "model"
    )]
    pub(super) score: Vec<String>,
    /// Column with the score before the correction, to compare the (one) score with
    #[arg(long, value_name = "COLUMN", requires = "score")]
    pub(super) before: Option<String>,
    /// Model file whose scores on these rows are audited
    #[arg(long, value_name = "FILE")]
    pub(super) model: Option<PathBuf>,
    /// Model file to compare with; without it: the score before the model's own correction
    #[arg(long, value_name = "FILE", requires = "model")]
    pub(super) baseline: Option<PathBuf>,
    /// Column of true labels: audited itself if there is no score, else for separation, equalised odds, calibration and errors
    #[arg(long, value_name = "COLUMN")]
    pub(super) target: Option<String>,
    /// Legitimate factors: cells are compared within their levels, and the results are averaged
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(super) control: Vec<String>,
    /// Where to write the report: .html, .csv or .json, by the name's ending; may be given several times
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Vec<PathBuf>,
    /// Largest value allowed, as in beta=0.05; adversary is for AUC and adversary-r2 for R²; may be given several times
    #[arg(long, value_name = "MEASURE=VALUE", value_delimiter = ',')]
    pub(super) at_most: Vec<Limit>,
    /// Smallest value allowed, as in parity-ratio=0.8; may be given several times
    #[arg(long, value_name = "MEASURE=VALUE", value_delimiter = ',')]
    pub(super) at_least: Vec<Limit>,

    /// Feature columns (default: all that have no other role)
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns"
    )]
    pub(super) features: Vec<String>,
    /// Columns to leave out
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns",
        conflicts_with = "features"
    )]
    pub(super) drop: Vec<String>,
    /// Column of row weights
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(super) weights: Option<String>,
    /// Columns to read as categories whatever they hold
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns"
    )]
    pub(super) categorical: Vec<String>,
    /// Columns to read as numbers whatever they hold; sensitive ones are then continuous
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns"
    )]
    pub(super) continuous: Vec<String>,
    /// Character between the fields of a CSV file, \t for a tab
    #[arg(long, value_name = "CHAR", value_parser = delimiter, help_heading = "Columns")]
    pub(super) delimiter: Option<u8>,
    /// Missing sensitive values: refuse them, or take them as a category of their own
    #[arg(long, default_value = "error", value_parser = named::<Missing>(), help_heading = "Columns")]
    pub(super) handle_missing: Missing,

    /// Scores from here on are positive decisions (default: 0 for classifiers, 0.5 for scores between 0 and 1, else the median)
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "SCORE",
        help_heading = "Measures"
    )]
    pub(super) threshold: Option<f64>,
    /// Label that counts as positive (default: the last of two)
    #[arg(long, value_name = "VALUE", help_heading = "Measures")]
    pub(super) positive: Option<String>,
    /// Measures to take (default: all that are defined)
    #[arg(long, value_name = "MEASURES", value_delimiter = ',', value_parser = named::<Measure>(), help_heading = "Measures")]
    pub(super) measures: Vec<Measure>,
    /// Cells of each continuous sensitive column: a number, auto or paper
    #[arg(
        long,
        value_name = "CELLS",
        default_value = "4",
        help_heading = "Measures"
    )]
    pub(super) cells: CellCount,
    /// Where those cells begin and end
    #[arg(long, default_value = "quantile", value_parser = named::<Binning>(), help_heading = "Measures")]
    pub(super) binning: Binning,
    /// Bounds of continuous sensitive columns, COLUMN=LOW:HIGH or LOW:HIGH for all
    #[arg(long, value_name = "BOUNDS", value_parser = bounds, value_delimiter = ',', allow_hyphen_values = true, help_heading = "Measures")]
    pub(super) sensitive_bounds: Vec<(String, f64, f64)>,
    /// Bins of a score for beta
    #[arg(
        long,
        value_name = "BINS",
        default_value_t = 4,
        help_heading = "Measures"
    )]
    pub(super) bins: usize,
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
    /// Confidence of intervals and certificates
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
    /// Table of error against dependence to show on the page: columns error, dependence and, if wanted, name and chosen
    #[arg(long, value_name = "FILE")]
    pub(super) frontier: Option<PathBuf>,
    /// Add the bounds of `oblivio bounds` to the page and to JSON
    #[arg(long, requires = "model", conflicts_with = "score")]
    pub(super) bounds: bool,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// Print the report as JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Args {
    pub(super) fn read_options(&self) -> ReadOptions {
        ReadOptions {
            delimiter: self.delimiter,
            categorical: self.categorical.clone(),
            numeric: self.continuous.clone(),
        }
    }

    /// How the bounds of the model are computed, if they were asked for.
    pub(super) fn bound_settings(&self) -> Option<BoundSettings> {
        self.bounds.then(|| BoundSettings {
            confidence: self.confidence,
            seed: self.seed,
            ..BoundSettings::default()
        })
    }

    pub(super) fn settings(&self, sensitive: &[String]) -> Result<AuditSettings> {
        let known = |names: &[String]| -> Vec<String> {
            let is_read = |name: &&String| sensitive.contains(name) || self.control.contains(name);
            let known = names.iter().filter(is_read);
            known.cloned().collect()
        };
        for (limits, grows, side) in [
            (&self.at_most, true, "--at-least"),
            (&self.at_least, false, "--at-most"),
        ] {
            if let Some(limit) = limits.iter().find(|limit| limit.measure.grows() != grows) {
                let (name, value) = (limit.measure.name(), limit.value);
                let changes = if grows { "shrinks" } else { "grows" };
                bail!("{name} {changes} with dependence; limit it with {side} {name}={value}");
            }
        }
        Ok(AuditSettings {
            rule: PartitionRule {
                cells: self.cells,
                binning: self.binning,
                bounds: self.sensitive_bounds.clone(),
                categorical: known(&self.categorical),
                continuous: known(&self.continuous),
                policies: Policies {
                    missing: self.handle_missing,
                    ..Policies::default()
                },
                ..PartitionRule::default()
            },
            threshold: self.threshold,
            positive: self.positive.clone(),
            bins: self.bins,
            least_rows: self.min_rows,
            measures: self.measures(),
            resampling: Resampling {
                permutations: self.permutations,
                resamples: self.resamples,
                confidence: self.confidence,
                seed: self.seed,
            },
            ..AuditSettings::default()
        })
    }

    /// A measure that is limited is taken even where it was not named.
    fn measures(&self) -> Vec<Measure> {
        let mut measures = self.measures.clone();
        if !measures.is_empty() {
            let limited = self.at_most.iter().chain(&self.at_least);
            measures.extend(limited.map(|limit| limit.measure));
        }
        measures
    }
}
