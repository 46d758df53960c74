//! The options that say how sensitive columns are cut, and the rule they amount to.

use oblivio::partition::{
    Binning, CellCount, EmptyCell, Estimator, Missing, OutOfRange, PartitionRule, Policies,
};
use oblivio_base::UnseenCategory;

use crate::args::{bounds, named};
use crate::table::ReadOptions;

// (A comment for the documentation would become the help of the command.)
#[derive(clap::Args)]
pub(crate) struct CellOptions {
    /// How the mean of the features given the sensitive columns is estimated: by cells, smoothly, or linearly; auto takes cells or
    /// smooth, whichever has the smaller leave-one-out error
    #[arg(long, default_value = "auto", value_parser = named::<Estimator>(), help_heading = "Cells")]
    conditional_mean: Estimator,
    /// Draw the means of cells towards the mean of all, by as much as their scatter suggests; leaves some dependence
    #[arg(long, help_heading = "Cells")]
    shrink: bool,
    /// Cells of each continuous sensitive column: a number, auto, loo (least leave-one-out error) or paper
    #[arg(
        long,
        value_name = "CELLS",
        default_value = "auto",
        help_heading = "Cells"
    )]
    cells: CellCount,
    /// Join cells with fewer reference rows with their neighbours (default: 5, fewer in small tables, if --cells is auto)
    #[arg(long, value_name = "ROWS", help_heading = "Cells")]
    min_cell_rows: Option<usize>,
    /// Where those cells begin and end
    #[arg(long, default_value = "quantile", value_parser = named::<Binning>(), help_heading = "Cells")]
    binning: Binning,
    /// Bounds of continuous sensitive columns, COLUMN=LOW:HIGH or LOW:HIGH for all
    #[arg(long, value_name = "BOUNDS", value_parser = bounds, value_delimiter = ',', allow_hyphen_values = true, help_heading = "Cells")]
    sensitive_bounds: Vec<(String, f64, f64)>,
    /// Sensitive categories without reference rows
    #[arg(long, default_value = "error", value_parser = named::<UnseenCategory>(), help_heading = "Cells")]
    handle_unknown: UnseenCategory,
    /// Cells without reference rows (default: enclosing, or as --handle-unknown)
    #[arg(long, value_parser = named::<EmptyCell>(), help_heading = "Cells")]
    handle_empty: Option<EmptyCell>,
    /// Values outside the bounds given for dyadic cells
    #[arg(long, default_value = "error", value_parser = named::<OutOfRange>(), help_heading = "Cells")]
    handle_range: OutOfRange,
    /// Missing sensitive values
    #[arg(long, default_value = "error", value_parser = named::<Missing>(), help_heading = "Cells")]
    handle_missing: Missing,
}

impl CellOptions {
    /// The rule for these sensitive columns; of the others, the user has said nothing that matters to it.
    pub(super) fn rule(&self, sensitive: &[String], read: &ReadOptions) -> PartitionRule {
        let known = |names: &[String]| -> Vec<String> {
            let known = names.iter().filter(|name| sensitive.contains(name));
            known.cloned().collect()
        };
        let policies = Policies {
            range: self.handle_range,
            missing: self.handle_missing,
            ..Policies::for_unknown(self.handle_unknown)
        };
        PartitionRule {
            estimator: self.conditional_mean,
            shrink: self.shrink,
            control: Vec::new(),
            cells: self.cells,
            binning: self.binning,
            bounds: self.sensitive_bounds.clone(),
            categorical: known(&read.categorical),
            continuous: known(&read.numeric),
            min_rows: self.min_cell_rows,
            policies: Policies {
                empty: self.handle_empty.unwrap_or(policies.empty),
                ..policies
            },
        }
    }
}
