//! The arguments of `oblivio fit`, and the settings they amount to.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, ensure};
use oblivio::align::{AlignMethod, AlignRule};
use oblivio::classes::{ClassWeights, Threshold};
use oblivio::features::FeatureSettings;
use oblivio::intervals::IntervalSource;
use oblivio::partition::PartitionRule;
use oblivio::reference::Reference;
use oblivio::sensitive_free::{Parity, Restraint};
use oblivio::{Mode, Settings};
use oblivio_base::{Named, Scaling};
use oblivio_kernels::learn::{Intercept, Learner, Solver};
use oblivio_kernels::{Components, Selection};

use crate::args::{delimiter, named};
use crate::cmd::cells::CellOptions;
use crate::cmd::kernel::KernelOptions;
use crate::table::ReadOptions;

/// The penalty of ridge regression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Alpha {
    Value(f64),
    /// Found by leave-one-out.
    Auto,
}

impl FromStr for Alpha {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(Self::Auto),
            (_, Ok(value)) => Ok(Self::Value(value)),
            (_, Err(_)) => Err("expected a number or auto".into()),
        }
    }
}

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
    /// CSV or Parquet files with the same columns, patterns such as 'part-*.csv', or - for standard input
    #[arg(required = true)]
    pub(super) data: Vec<PathBuf>,
    /// Column to predict; with --components and without this, features are fitted for `oblivio transform`
    #[arg(long, value_name = "COLUMN", required_unless_present = "components")]
    pub(super) target: Option<String>,
    /// Where to write the model
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) options: Options,
    /// Fit on this many rows, drawn by seed
    #[arg(
        long,
        value_name = "ROWS",
        help_heading = "Columns",
        conflicts_with = "components",
        requires = "target"
    )]
    pub(super) sample: Option<usize>,
    /// How much is taken out, from 0 (nothing) to 1 (all that the method can)
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "T",
        default_value_t = 1.0,
        help_heading = "Model"
    )]
    pub(super) strength: f64,
    /// oblivious learns on oblivious features; m-oblivious takes the offsets off a plain model; sensitive-free learns a score
    /// whose mean is the same in every cell, which needs no sensitive column to predict
    #[arg(long, default_value = "oblivious", value_parser = named::<Mode>(), help_heading = "Model")]
    pub(super) mode: Mode,
    /// Make the distribution of the score the same whatever the sensitive values are: its mean and spread, or all of it
    #[arg(long, value_name = "METHOD", value_parser = named::<AlignMethod>(), requires = "target", help_heading = "Model")]
    pub(super) align: Option<AlignMethod>,
    /// How far, from 0 (the score as it is) to 1 (all the way)
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "T",
        default_value_t = 1.0,
        requires = "align",
        help_heading = "Model"
    )]
    pub(super) align_strength: f64,
    /// Keep residuals of rows that the model has not seen, for `oblivio predict --coverage`: by leave-one-out in closed form, or
    /// by five fits to four fifths of the rows; auto takes the first where it can. The rows must fit into memory
    #[arg(long, value_name = "SOURCE", num_args = 0..=1, default_missing_value = "auto", value_parser = named::<IntervalSource>(), requires = "target", help_heading = "Model")]
    pub(super) intervals: Option<IntervalSource>,
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

// What fits have in common, whatever is made of them. (A comment for the documentation would become the help of the command.)
#[derive(clap::Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Options {
    /// Columns the predictions should not depend on
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(in crate::cmd) sensitive: Vec<String>,

    /// Legitimate factors: only what the sensitive columns tell beyond these is taken out; they stay features
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        requires = "sensitive",
        help_heading = "Columns"
    )]
    pub(in crate::cmd) control: Vec<String>,
    /// Let the sensitive columns be features, too; their influence is taken out of the score as that of the others is
    #[arg(long, requires = "sensitive", help_heading = "Columns")]
    pub(in crate::cmd) keep_sensitive: bool,
    /// Feature columns (default: all that have no other role)
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns"
    )]
    pub(in crate::cmd) features: Vec<String>,
    /// Columns to leave out
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns",
        conflicts_with = "features"
    )]
    pub(in crate::cmd) drop: Vec<String>,
    /// Column of row weights
    #[arg(long, value_name = "COLUMN", help_heading = "Columns")]
    pub(in crate::cmd) weights: Option<String>,
    /// Columns to read as categories whatever they hold
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns"
    )]
    pub(in crate::cmd) categorical: Vec<String>,
    /// Columns to read as numbers whatever they hold; sensitive ones are then continuous
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        help_heading = "Columns"
    )]
    pub(in crate::cmd) continuous: Vec<String>,
    /// Value of the target that counts as 1, or as the positive class; all others count as 0
    #[arg(long, value_name = "VALUE", help_heading = "Columns")]
    pub(in crate::cmd) positive: Option<String>,
    /// Character between the fields of a CSV file, \t for a tab
    #[arg(long, value_name = "CHAR", value_parser = delimiter, help_heading = "Columns")]
    pub(in crate::cmd) delimiter: Option<u8>,
    /// Leave out rows with missing values instead of refusing them
    #[arg(long, help_heading = "Columns")]
    pub(in crate::cmd) drop_missing: bool,
    /// Keep number columns as they are instead of scaling them to mean 0 and standard deviation 1
    #[arg(long, help_heading = "Columns")]
    pub(in crate::cmd) no_standardize: bool,

    #[command(flatten)]
    pub(in crate::cmd) kernel: KernelOptions,
    /// What is learned: a number by ridge regression, or classes by a support vector machine or logistic regression
    #[arg(long, default_value = "ridge", value_parser = named::<Learner>(), help_heading = "Model")]
    pub(in crate::cmd) learner: Learner,
    /// Penalty of ridge regression: a number, or auto for the one with the least leave-one-out error
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "PENALTY",
        default_value = "1",
        help_heading = "Model"
    )]
    pub(in crate::cmd) alpha: Alpha,
    /// Cost C of an error of svm or logistic, one over the penalty
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "C",
        default_value_t = 1.0,
        help_heading = "Model"
    )]
    pub(in crate::cmd) cost: f64,
    /// Learn a constant beside the expansion, without a penalty; svm and logistic always do unless --no-intercept
    #[arg(long, help_heading = "Model")]
    pub(in crate::cmd) intercept: bool,
    /// Learn no constant
    #[arg(long, conflicts_with = "intercept", help_heading = "Model")]
    pub(in crate::cmd) no_intercept: bool,
    /// How the problem is solved: cholesky, mixed and pcg are for ridge, smo and interior for svm
    #[arg(long, default_value = "auto", value_parser = named::<Solver>(), help_heading = "Model")]
    pub(in crate::cmd) solver: Solver,

    /// equal, or balanced to let both sides of a decision count the same
    #[arg(long, default_value = "equal", value_parser = ["equal", "balanced"], help_heading = "Classes")]
    pub(in crate::cmd) class_weight: String,
    /// Where the line is: zero, base-rate (as many positives as there are among the training rows), or a share such as 0.3
    #[arg(
        long,
        value_name = "THRESHOLD",
        default_value = "zero",
        help_heading = "Classes"
    )]
    pub(in crate::cmd) threshold: Threshold,
    /// Relative duality gap to reach (default: 1e-5 for svm, 1e-12 for logistic)
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "GAP",
        help_heading = "Classes"
    )]
    pub(in crate::cmd) gap: Option<f64>,
    /// Most steps of the solver (default: its own limit)
    #[arg(long, value_name = "STEPS", help_heading = "Classes")]
    pub(in crate::cmd) max_steps: Option<usize>,

    /// Rows whose mean scores are equal: all, or those of the positive class
    #[arg(long, default_value = "demographic-parity", value_parser = named::<Parity>(), help_heading = "Sensitive-free mode")]
    pub(in crate::cmd) parity: Parity,
    /// Penalty on the differences of mean scores, instead of none allowed
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "ETA",
        conflicts_with = "epsilon",
        help_heading = "Sensitive-free mode"
    )]
    pub(in crate::cmd) eta: Option<f64>,
    /// Largest difference of a mean score allowed, for svm
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "EPSILON",
        help_heading = "Sensitive-free mode"
    )]
    pub(in crate::cmd) epsilon: Option<f64>,

    /// Most memory for the matrix or the features of svm and logistic (default: most of what is free); rows are computed anew
    /// rather than kept beyond it
    #[arg(long, value_name = "MEGABYTES", help_heading = "Classes")]
    pub(in crate::cmd) memory: Option<usize>,

    /// Learn on this many landmarks: rows are read in batches, and memory does not grow with them
    #[arg(long, value_name = "N", help_heading = "Landmarks")]
    pub(in crate::cmd) components: Option<usize>,
    /// How landmarks are chosen: randomly pivoted Cholesky, k-means++ seeding, or uniformly; fourier takes random waves instead
    #[arg(long, default_value = "cholesky", value_parser = named::<Selection>(), help_heading = "Landmarks")]
    pub(in crate::cmd) landmarks: Selection,
    /// Stop adding landmarks once they leave out no more than this share of the kernel's trace
    #[arg(
        allow_negative_numbers = true,
        long,
        value_name = "SHARE",
        default_value_t = 0.0,
        help_heading = "Landmarks"
    )]
    pub(in crate::cmd) tolerance: f64,

    /// Rows that estimate the means: all, or half (the other half then trains)
    #[arg(long, default_value = "all", value_parser = ["all", "half"], help_heading = "Cells")]
    pub(in crate::cmd) reference: String,
    #[command(flatten)]
    pub(in crate::cmd) cells: CellOptions,

    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    pub(in crate::cmd) seed: u64,
}

/// The share of free memory that a classifier may take.
const SHARE: f64 = 0.6;

impl Args {
    pub(super) fn settings(&self) -> Result<Settings> {
        Ok(Settings {
            strength: self.strength,
            mode: self.mode,
            align: self.align.map(|method| AlignRule {
                method,
                strength: self.align_strength,
            }),
            intervals: self.intervals,
            ..self.options.settings()?
        })
    }
}

impl Options {
    pub(in crate::cmd) fn read_options(&self) -> ReadOptions {
        ReadOptions {
            delimiter: self.delimiter,
            categorical: self.categorical.clone(),
            numeric: self.continuous.clone(),
        }
    }

    pub(in crate::cmd) fn scaling(&self) -> Scaling {
        if self.no_standardize {
            Scaling::Raw
        } else {
            Scaling::Standard
        }
    }

    /// All of them but strength and mode.
    pub(in crate::cmd) fn settings(&self) -> Result<Settings> {
        let sensitive = [&self.sensitive[..], &self.control].concat();
        Ok(Settings {
            kernel: self.kernel.kernel()?,
            learner: self.learner,
            penalty: self.penalty()?,
            parity: self.parity,
            restraint: match (self.eta, self.epsilon) {
                (Some(eta), _) => Restraint::Soft(eta),
                (None, Some(epsilon)) if epsilon != 0.0 => Restraint::Slack(epsilon),
                _ => Restraint::Hard,
            },
            partition: PartitionRule {
                control: self.control.clone(),
                ..self.cells.rule(&sensitive, &self.read_options())
            },
            reference: if self.reference == "half" {
                Reference::Half
            } else {
                Reference::All
            },
            intercept: if self.intercept || (self.learner.classifies() && !self.no_intercept) {
                Intercept::Fitted
            } else {
                Intercept::None
            },
            solver: self.solver,
            gap: self.gap,
            steps: self.max_steps,
            memory: self.memory(),
            class_weights: if self.class_weight == "balanced" {
                ClassWeights::Balanced
            } else {
                ClassWeights::Equal
            },
            threshold: self.threshold,
            components: self.components.map(|count| Components {
                count,
                selection: self.landmarks,
                tolerance: self.tolerance,
            }),
            seed: self.seed,
            ..Settings::default()
        })
    }

    /// Bytes for the matrix or the features of a classifier.
    fn memory(&self) -> Option<usize> {
        if !self.learner.classifies() {
            return None;
        }
        let given = self
            .memory
            .map(|megabytes| megabytes.saturating_mul(1_000_000));
        given.or_else(|| super::free_memory().map(|free| (SHARE * free) as usize))
    }

    /// λ; where it is to be found, the one to begin with.
    fn penalty(&self) -> Result<f64> {
        if self.learner.classifies() {
            ensure!(
                self.alpha == Alpha::Value(1.0),
                "--alpha is the penalty of ridge regression; give --cost to {}, one over the penalty",
                self.learner.name()
            );
            ensure!(
                self.cost > 0.0 && self.cost.is_finite(),
                "--cost must be a positive finite number, got {}",
                self.cost
            );
            return Ok(1.0 / self.cost);
        }
        ensure!(
            self.cost == 1.0,
            "--cost is for svm and logistic; give --alpha to ridge regression"
        );
        Ok(match self.alpha {
            Alpha::Value(penalty) => penalty,
            Alpha::Auto => 1.0,
        })
    }

    /// The settings of features, for a fit without a target.
    pub(super) fn features(settings: &Settings, components: Components) -> FeatureSettings {
        FeatureSettings {
            kernel: settings.kernel.clone(),
            components,
            strength: settings.strength,
            partition: settings.partition.clone(),
            reference: settings.reference.clone(),
            seed: settings.seed,
        }
    }
}
