//! The options that say which columns there are and how they are read.

use oblivio::partition::PartitionRule;

use crate::args::{bounds, delimiter};
use crate::table::ReadOptions;

// (A comment for the documentation would become the help of the command.)
#[derive(clap::Args)]
pub(crate) struct ReadArgs {
    /// Columns to read as categories whatever they hold
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns"
    )]
    pub(crate) categorical: Vec<String>,
    /// Columns to read as numbers whatever they hold; sensitive ones are then continuous
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns"
    )]
    pub(crate) continuous: Vec<String>,
    /// Bounds of continuous sensitive columns, COLUMN=LOW:HIGH or LOW:HIGH for all
    #[arg(long, value_name = "BOUNDS", value_parser = bounds, value_delimiter = ',', allow_hyphen_values = true, help_heading = "Columns")]
    pub(crate) sensitive_bounds: Vec<(String, f64, f64)>,
    /// Character between the fields of a CSV file, \t for a tab
    #[arg(long, value_name = "CHAR", value_parser = delimiter, help_heading = "Columns")]
    pub(crate) delimiter: Option<u8>,
}

// What fits have in common, whatever they make.
#[derive(clap::Args)]
pub(crate) struct ColumnArgs {
    /// Columns the predictions should not depend on
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) sensitive: Vec<String>,
    /// Legitimate factors: only the part of S beyond them is removed
    ///
    /// They stay features.
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        requires = "sensitive",
        help_heading = "Columns"
    )]
    pub(crate) control: Vec<String>,
    /// Let the sensitive columns be features, too; their influence is removed like the influence of the others
    #[arg(long, requires = "sensitive", help_heading = "Columns")]
    pub(crate) keep_sensitive: bool,
    /// Feature columns (default: all that have no other role)
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns"
    )]
    pub(crate) features: Vec<String>,
    /// Columns to leave out
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns",
        conflicts_with = "features"
    )]
    pub(crate) drop: Vec<String>,
    /// Column of row weights
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(crate) weights: Option<String>,
    /// Value of the target that is the positive class, or 1
    ///
    /// All others count as 0.
    #[arg(long, value_name = "VALUE", help_heading = "Columns")]
    pub(crate) positive: Option<String>,
    /// Leave out rows with missing values that are refused otherwise
    ///
    /// Sensitive values and the target, and features with --missing-features error.
    #[arg(long, help_heading = "Columns")]
    pub(crate) drop_missing: bool,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl ReadArgs {
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            delimiter: self.delimiter,
            categorical: self.categorical.clone(),
            numeric: self.continuous.clone(),
        }
    }

    /// The rule with the kinds and bounds of these sensitive columns; the flags also name features.
    pub(crate) fn rule(&self, rule: PartitionRule, sensitive: &[String]) -> PartitionRule {
        let known = |names: &[String]| -> Vec<String> {
            let known = names.iter().filter(|name| sensitive.contains(name));
            known.cloned().collect()
        };
        PartitionRule {
            bounds: self.sensitive_bounds.clone(),
            categorical: known(&self.categorical),
            continuous: known(&self.continuous),
            ..rule
        }
    }
}
