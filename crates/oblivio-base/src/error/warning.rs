//! Remarks on what the engine accepts.

use serde::{Deserialize, Serialize};

use super::few;

/// Something accepted that the user should know of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named in its variant's sentence")]
pub enum Warning {
    /// All reference rows share one cell.
    SingleCell,
    /// Features without variance, by position and name.
    ConstantFeatures { features: Vec<(usize, String)> },
    /// Rows whose features repeat another row's.
    DuplicateRows { count: usize },
    /// A continuous sensitive column that takes one value.
    ConstantSensitive { column: String },
    /// Fewer cells than asked, because values repeat.
    FewerCells {
        column: String,
        asked: usize,
        made: usize,
    },
    /// Cells with a single reference row.
    SingletonCells { count: usize },
    /// The means of cells are drawn towards the mean of all.
    ShrunkCells { ridge: f64 },
    /// Cells joined with their neighbours, because some had too few reference rows.
    MergedCells {
        count: usize,
        made: usize,
        least: usize,
    },
    /// Rows left out of the fit because they miss a sensitive value.
    LeftOutRows { count: usize },
    /// A solver that stopped before it was as near to the solution as it was asked to be.
    NotConverged {
        solver: String,
        iterations: usize,
        gap: f64,
    },
    /// Fewer landmarks than asked, because there are fewer distinct rows.
    FewerLandmarks { asked: usize, made: usize },
    /// Fewer landmarks than asked, because these hold all of the kernel but rounding.
    KernelExhausted { asked: usize, made: usize },
    /// Cells whose intervals have no end, because they hold too few rows for the coverage.
    EndlessIntervals {
        count: usize,
        needed: usize,
        coverage: f64,
    },
    /// Columns that a release leaves as they are, because its method cannot change them.
    LeftColumns { columns: Vec<String> },
    /// Missing values of features at the fit, by column.
    FilledFeatures { columns: Vec<(String, usize)> },
}

impl Warning {
    /// Whether it says something of ordinary data and needs no action: it belongs to a summary and is no alarm.
    pub fn is_note(&self) -> bool {
        match self {
            Self::ConstantFeatures { .. }
            | Self::DuplicateRows { .. }
            | Self::FewerCells { .. }
            | Self::SingletonCells { .. }
            | Self::MergedCells { .. }
            | Self::FewerLandmarks { .. }
            | Self::KernelExhausted { .. }
            | Self::FilledFeatures { .. } => true,
            Self::SingleCell
            | Self::ConstantSensitive { .. }
            | Self::ShrunkCells { .. }
            | Self::LeftOutRows { .. }
            | Self::NotConverged { .. }
            | Self::EndlessIntervals { .. }
            | Self::LeftColumns { .. } => false,
        }
    }

    /// Replaces numbers of features by their names, where there are such features.
    pub fn name_features(&mut self, named: impl Fn(usize) -> Option<String>) {
        if let Self::ConstantFeatures { features } = self {
            for (feature, name) in features {
                if let Some(known) = named(*feature) {
                    *name = known;
                }
            }
        }
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SingleCell => write!(
                f,
                "all reference rows fall in one cell: there is nothing to remove"
            ),
            Self::ConstantFeatures { features } => {
                let names: Vec<&str> = features.iter().map(|(_, name)| name.as_str()).collect();
                write!(
                    f,
                    "constant features tell nothing and are left out of the kernel's scale: {}",
                    names.join(", ")
                )
            }
            Self::DuplicateRows { count } => {
                write!(f, "{count} rows have the same features as an earlier row")
            }
            Self::ConstantSensitive { column } => write!(
                f,
                "sensitive column `{column}` takes one value: there is nothing to remove for it"
            ),
            Self::FewerCells {
                column,
                asked,
                made,
            } => write!(
                f,
                "sensitive column `{column}` has too many equal values for {asked} cells; {made} were made"
            ),
            Self::SingletonCells { count } => write!(
                f,
                "{count} cells hold a single reference row, which is then its own mean: use fewer cells"
            ),
            Self::ShrunkCells { ridge } => write!(
                f,
                "the means of cells are drawn towards the mean of all: about N/(N + {ridge:.3}) of the shift of a cell of N rows is taken off, so that some dependence is left"
            ),
            Self::MergedCells { count, made, least } => write!(
                f,
                "{count} cells were joined with their neighbours into {made}, because some held fewer than {least} reference rows"
            ),
            Self::LeftOutRows { count } => write!(
                f,
                "{count} rows miss a sensitive value and are left out of the fit; such rows are scored by a sensitive-free model"
            ),
            Self::NotConverged {
                solver,
                iterations,
                gap,
            } => write!(
                f,
                "the solver ({solver}) stopped after {iterations} steps with a relative gap of {gap:.1e}: the model is not as near to its best as was asked; allow more steps, a larger gap or a larger penalty"
            ),
            Self::FewerLandmarks { asked, made } => write!(
                f,
                "{asked} components were asked for and there are {made} distinct rows: all are landmarks"
            ),
            Self::KernelExhausted { asked, made } => write!(
                f,
                "{asked} components were asked for and {made} hold all that the kernel sees in these rows"
            ),
            Self::EndlessIntervals {
                count,
                needed,
                coverage,
            } => write!(
                f,
                "the intervals of {count} cells have no end at coverage {coverage}, for which a cell needs {needed} rows: use fewer or larger cells, or less coverage"
            ),
            Self::FilledFeatures { columns } => write!(
                f,
                "{} values of features are missing: {}; a missing number is the mean of its column, marked by an indicator, and a missing category a level of its own",
                columns.iter().map(|(_, count)| count).sum::<usize>(),
                few(columns)
            ),
            Self::LeftColumns { columns } => write!(
                f,
                "categories have no mean to take off and are left as they are, with all that they say of the sensitive columns: {}",
                columns.join(", ")
            ),
        }
    }
}
