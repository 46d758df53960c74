//! A model that can leave the program: a table's columns in, scores out, and bytes to keep it in.

mod bytes;
mod container;
mod moments;
mod transformer;

use serde::{Deserialize, Serialize};

pub use self::container::kind_of;
pub use self::moments::Checkpoint;
pub use self::transformer::{KernelModel, KernelSettings, Transformer};
use crate::column::Column;
use crate::encoder::{Encoder, Scaling, complete, find};
use crate::error::{Error, Result, Warning};
use crate::fit::{Fit, Mode, Settings, Summary, Training};
use crate::named::Named;
use crate::partition::Uses;
use crate::points::check_weights;
use crate::predictor::{Prediction, Predictor};
use crate::sensitive::Sensitive;
use crate::watch::Watch;

/// A predictor with the encoding of its columns and a card that says where it comes from.
///
/// On the exact path the predictor holds the rows it was fitted on: keep the model as safe as the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// From columns to points.
    pub encoder: Encoder,
    /// From points to scores.
    pub predictor: Predictor,
    /// What a reader should know.
    pub card: Card,
}

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Card {
    /// The target's column.
    pub target: String,
    /// The mode's name.
    pub mode: String,
    /// λ
    pub penalty: f64,
    /// Which rows estimated the means.
    pub reference: String,
    /// The seed.
    pub seed: u64,
    /// Landmarks of the explicit path; `None` is the exact path, and what files of older versions have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<usize>,
    /// Rows whose targets were used.
    pub training_rows: usize,
    /// Rows that estimated the means.
    pub reference_rows: usize,
    /// Root mean squared error on the training rows.
    pub training_error: f64,
    /// The same for a constant.
    pub target_spread: f64,
    /// How the system was solved.
    pub solver: String,
    /// How often training rows needed a policy.
    pub uses: Uses,
    /// Remarks of the fit.
    pub warnings: Vec<String>,
}

/// The columns of a fit, by role.
#[derive(Clone, Copy, Debug)]
pub struct Roles<'a> {
    /// X
    pub features: &'a [Column],
    /// S
    pub sensitive: &'a [Column],
    /// Y
    pub target: &'a Column,
    /// How often each row counts.
    pub weights: Option<&'a [f64]>,
}

impl Model {
    /// Fits ridge regression to the columns of a table.
    pub fn fit(
        roles: Roles,
        scaling: Scaling,
        settings: &Settings,
        watch: &Watch,
    ) -> Result<(Self, Summary)> {
        let rows = roles.target.len();
        if roles.features.is_empty() {
            return Err(Error::InvalidParameter {
                name: "number of features",
                expected: "at least 1",
                value: "0".into(),
            });
        }
        for column in roles.features {
            if column.len() != rows {
                return Err(Error::Length {
                    what: "a feature",
                    found: column.len(),
                    needed: rows,
                });
            }
        }
        complete(roles.target)?;
        let ones = vec![1.0; rows];
        let weights = roles.weights.unwrap_or(&ones);
        check_weights(weights, rows)?;
        let unseen = settings.partition.policies.category;
        let encoder = Encoder::fit(roles.features, scaling, weights, unseen)?;
        let (points, _) = encoder.encode(roles.features)?;
        let sensitive = Sensitive::new(roles.sensitive.to_vec(), rows)?;
        let targets = roles.target.to_numbers()?;
        let training = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &targets,
            weights: roles.weights,
        };
        let fit = settings.fit(training, watch)?;
        Ok(Self::new(encoder, fit, &roles.target.name, settings))
    }

    /// A fitted predictor with the encoding its points came from and a card.
    pub fn new(encoder: Encoder, fit: Fit, target: &str, settings: &Settings) -> (Self, Summary) {
        let Fit {
            predictor,
            mut summary,
        } = fit;
        // What takes nothing off is plain, whatever was asked for.
        let mode = if predictor.needs_sensitive() {
            settings.mode
        } else {
            Mode::Plain
        };
        let names = encoder.feature_names();
        summary
            .warnings
            .iter_mut()
            .for_each(|w| w.name_features(&names));
        let card = Card {
            target: target.into(),
            mode: mode.name().into(),
            penalty: settings.penalty,
            reference: settings.reference.name().into(),
            seed: settings.seed,
            components: settings.components.map(|_| predictor.basis.len()),
            training_rows: summary.training_rows,
            reference_rows: summary.reference_rows,
            training_error: summary.error,
            target_spread: summary.spread,
            solver: summary.convergence.solver.name().into(),
            uses: summary.uses,
            warnings: summary.warnings.iter().map(Warning::to_string).collect(),
        };
        let model = Self {
            encoder,
            predictor,
            card,
        };
        (model, summary)
    }

    /// The names of the sensitive columns, whether or not they are needed to predict.
    pub fn sensitive_columns(&self) -> Vec<&str> {
        self.predictor.offsets().map_or(Vec::new(), |offsets| {
            offsets.partition.columns().map(|(name, _)| name).collect()
        })
    }

    /// Scores the rows of a table, its columns found by name.
    ///
    /// Sensitive columns are used if all are there; a model that needs them refuses a table without.
    pub fn predict(&self, table: &[Column], watch: &Watch) -> Result<Prediction> {
        let (points, unseen_level) = self.encoder.encode(table)?;
        let columns: Result<Vec<Column>> = self
            .sensitive_columns()
            .into_iter()
            .map(|name| find(table, name).cloned())
            .collect();
        let sensitive = match columns {
            Ok(columns) => Some(Sensitive::new(columns, points.len())?),
            Err(error) if self.predictor.needs_sensitive() => return Err(error),
            Err(_) => None,
        };
        let mut prediction = self.predictor.predict(&points, sensitive.as_ref(), watch)?;
        prediction.uses.unseen_level = unseen_level;
        Ok(prediction)
    }
}
