//! A model that can leave the program: a table's columns in, scores out, and bytes to keep it in.

mod checkpoint;
pub mod file;
mod history;
mod holdings;
mod kernel;
mod labels;
mod objects;
mod reduce;
mod row;
pub mod tables;
mod transformer;

use std::sync::Arc;

use oblivio_base::encoder::{Encoding, complete, filled_features, find};
use oblivio_base::error::require;
use oblivio_base::points::check_weights;
use oblivio_base::{Column, Encoder, Error, Named, Points, Result, UnseenCategory, Warning, Watch};
use oblivio_kernels::learn::Learner;
use oblivio_kernels::{Basis, Shape};
use serde::{Deserialize, Serialize};

pub use self::checkpoint::Checkpoint;
pub use self::file::{kind_of, version_of};
pub use self::history::{Change, ModelRefresh, Refreshed, Renewed, Step};
pub use self::holdings::{Held, Holdings};
pub use self::kernel::{KernelModel, KernelSettings};
pub use self::labels::Labels;
pub use self::reduce::{Loss, Reduce, Reduction};
pub use self::row::{RowColumn, RowModel, RowPrediction};
pub use self::transformer::Transformer;
use crate::classes::Classes;
use crate::dependence::Dependence;
use crate::fit::{Fit, Mode, Path, PathGrid, Settings, Summary, Training};
use crate::partition::Uses;
use crate::predictor::{Prediction, Predictor};
use crate::sensitive::Sensitive;

/// One score or several, with the encoding of their columns and a card that says where they come from.
///
/// On the exact path the scores hold the rows they were fitted on: keep the model as safe as the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// From columns to points.
    pub encoder: Encoder,
    /// From points to scores: one, or one for each class against the rest. All have the same basis and cells.
    pub scorers: Vec<Predictor>,
    /// The classes, if the model is a classifier.
    pub classes: Option<Classes>,
    /// What a reader should know.
    pub card: Card,
}

/// Where a model comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Card {
    /// The target's column.
    pub target: String,
    /// The learner's name; files of older versions hold ridge regressions.
    #[serde(default = "ridge")]
    pub learner: String,
    /// The mode's name.
    pub mode: String,
    /// λ; the C of a classifier is 1/λ.
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
    /// Root mean squared error on the training rows; the share of wrong classes for a classifier.
    pub training_error: f64,
    /// The same for a constant.
    pub target_spread: f64,
    /// How the system was solved.
    pub solver: String,
    /// How often training rows needed a policy.
    pub uses: Uses,
    /// Remarks of the fit.
    pub warnings: Vec<String>,
    /// How much each score says of the cells; empty without sensitive columns, where it would have taken another look at the rows,
    /// and in files of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependence: Vec<Dependence>,
    /// The reference rows of each cell at the fit, once a refresh has put others in their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cell_rows: Vec<usize>,
    /// For each score the mean of h over each cell at the fit, once a refresh has put others in their place; empty if an older version has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cell_means: Vec<Vec<f64>>,
    /// What was done to the model since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Change>,
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
    /// The classes of Y, for a classifier; those that occur, in order, if absent.
    pub labels: Option<&'a Labels>,
    /// How often each row counts.
    pub weights: Option<&'a [f64]>,
}

impl Model {
    /// Leave-one-out errors and dependence for a grid of ridge regressions on the columns of a table; see [`Settings::path`].
    pub fn path(
        roles: Roles,
        encoding: impl Into<Encoding>,
        settings: &Settings,
        grid: &PathGrid,
        watch: &Watch,
    ) -> Result<Path> {
        let (_, points, sensitive) = roles.encoded(encoding)?;
        let targets = roles.target.to_numbers()?;
        let training = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &targets,
            weights: roles.weights,
        };
        settings.path(training, grid, watch)
    }

    /// Fits one score or several to the columns of a table.
    pub fn fit(
        roles: Roles,
        encoding: impl Into<Encoding>,
        settings: &Settings,
        watch: &Watch,
    ) -> Result<(Self, Vec<Summary>)> {
        let (encoder, points, sensitive) = roles.encoded(encoding)?;
        let filled = filled_features(roles.features);
        let name = &roles.target.name;
        if settings.learner.classifies() {
            let own = Labels::of(roles.target);
            let labels = roles.labels.unwrap_or(&own);
            let targets = labels.encode(roles.target)?;
            let training = Training {
                points: &points,
                sensitive: &sensitive,
                targets: &targets,
                weights: roles.weights,
            };
            let mut fits = settings
                .fit_classes(training, labels.len(), watch)
                .map_err(|error| labels.named(error))?;
            for fit in &mut fits {
                fit.summary.warnings.extend(filled.clone());
            }
            return Ok(Self::classifier(encoder, fits, name, labels, settings));
        }
        let targets = roles.target.to_numbers()?;
        let training = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &targets,
            weights: roles.weights,
        };
        let mut fit = settings.fit(training, watch)?;
        fit.summary.warnings.extend(filled);
        let (model, summary) = Self::new(encoder, fit, name, settings);
        Ok((model, vec![summary]))
    }

    /// A fitted score with the encoding its points came from and a card.
    pub fn new(encoder: Encoder, fit: Fit, target: &str, settings: &Settings) -> (Self, Summary) {
        let Fit {
            predictor,
            mut summary,
            ..
        } = fit;
        for warning in &mut summary.warnings {
            warning.name_features(|feature| encoder.feature_name(feature));
        }
        let card = Card::new(&predictor, &summary, target, settings);
        let model = Self {
            encoder,
            scorers: vec![predictor],
            classes: None,
            card,
        };
        (model, summary)
    }

    /// The fitted decisions between the classes of a target.
    pub fn classifier(
        encoder: Encoder,
        fits: Vec<Fit>,
        target: &str,
        labels: &Labels,
        settings: &Settings,
    ) -> (Self, Vec<Summary>) {
        let thresholds = fits.iter().map(|fit| fit.threshold).collect();
        let mut models = Vec::new();
        let mut summaries = Vec::new();
        for fit in fits {
            let (model, summary) = Self::new(encoder.clone(), fit, target, settings);
            models.push(model);
            summaries.push(summary);
        }
        let mut all = models.into_iter();
        let first = all.next();
        let card = first.as_ref().map(|model| Card {
            dependence: summaries.iter().filter_map(|s| s.dependence).collect(),
            ..model.card.clone()
        });
        let mut scorers: Vec<Predictor> = first
            .into_iter()
            .chain(all)
            .flat_map(|m| m.scorers)
            .collect();
        prune(&mut scorers.iter_mut().collect::<Vec<_>>());
        let fallbacks = scorers.iter_mut().filter_map(|s| s.fallback.as_deref_mut());
        prune(&mut fallbacks.collect::<Vec<_>>());
        let model = Self {
            encoder,
            scorers,
            classes: Some(labels.classes(thresholds, settings.learner)),
            card: card.unwrap_or_default(),
        };
        (model, summaries)
    }

    /// The first score; the only one unless there are more than two classes.
    pub fn predictor(&self) -> &Predictor {
        &self.scorers[0]
    }

    /// Whether rows without sensitive values are refused.
    pub fn needs_sensitive(&self) -> bool {
        self.scorers.iter().any(Predictor::needs_sensitive)
    }

    /// The names of the sensitive columns, whether or not they are needed to predict.
    pub fn sensitive_columns(&self) -> Vec<&str> {
        self.predictor()
            .offsets()
            .map_or(Vec::new(), |offsets| offsets.partition.needs())
    }

    /// Scores the rows of a table, its columns found by name.
    ///
    /// Sensitive columns are used if all are there; a model that needs them refuses a table without, and one with a fallback
    /// scores all of its rows by that. There is one prediction for each score.
    pub fn predict(&self, table: &[Column], watch: &Watch) -> Result<Vec<Prediction>> {
        let (points, features) = self.encoder.encode(table)?;
        let columns: Result<Vec<Column>> = self
            .sensitive_columns()
            .into_iter()
            .map(|name| find(table, name).cloned())
            .collect();
        let sensitive = match columns {
            Ok(columns) => Some(Sensitive::new(columns, points.len())?),
            Err(error) if self.needs_sensitive() => return Err(error),
            Err(_) => None,
        };
        let score = |scorer: &Predictor| {
            let mut prediction = scorer.predict(&points, sensitive.as_ref(), watch)?;
            prediction.uses = prediction.uses.with_features(features);
            Ok(prediction)
        };
        self.scorers.iter().map(score).collect()
    }
}

impl Card {
    /// Refuses a card that no fit with these numbers of cells and scores gives (of a damaged or hostile file).
    fn check_read(&self, cells: usize, scores: usize) -> Result<()> {
        let means = &self.cell_means;
        let known = |means: &Vec<f64>| means.len() == cells && means.iter().all(|m| m.is_finite());
        for change in &self.history {
            change.check_read(cells, scores)?;
        }
        let rows = self.cell_rows.is_empty() || self.cell_rows.len() == cells;
        let means = means.is_empty()
            || (means.len() == scores && means.iter().all(known) && !self.cell_rows.is_empty());
        require(rows && means, "its history")
    }

    fn new(predictor: &Predictor, summary: &Summary, target: &str, settings: &Settings) -> Self {
        // What takes nothing off is plain, whatever was asked for.
        let plain = settings.strength == 0.0
            || predictor.offsets().is_none()
            || (settings.mode.takes_off() && predictor.strength() == 0.0);
        let mode = if plain { Mode::Plain } else { settings.mode };
        Self {
            target: target.into(),
            learner: settings.learner.name().into(),
            mode: mode.name().into(),
            penalty: settings.penalty,
            reference: settings.reference.name().into(),
            seed: settings.seed,
            components: settings.components.map(|_| predictor.basis.len()),
            training_rows: summary.training_rows,
            reference_rows: summary.reference_rows,
            training_error: summary.error,
            target_spread: summary.spread,
            solver: summary.effort.solver.into(),
            uses: summary.uses,
            warnings: summary.warnings.iter().map(Warning::to_string).collect(),
            dependence: summary.dependence.into_iter().collect(),
            cell_rows: Vec::new(),
            cell_means: Vec::new(),
            history: Vec::new(),
        }
    }
}

impl Roles<'_> {
    /// The encoding of a table's columns, its points and its sensitive part.
    pub fn encoded(
        &self,
        encoding: impl Into<Encoding>,
    ) -> Result<(Encoder, Points<'static>, Sensitive)> {
        let rows = self.target.len();
        if self.features.is_empty() {
            return Err(Error::InvalidParameter {
                name: "number of features",
                expected: "at least 1",
                value: "0".into(),
            });
        }
        for column in self.features {
            if column.len() != rows {
                return Err(Error::Length {
                    what: "a feature",
                    found: column.len(),
                    needed: rows,
                });
            }
        }
        complete(self.target)?;
        let ones = vec![1.0; rows];
        let weights = self.weights.unwrap_or(&ones);
        check_weights(weights, rows)?;
        let unseen = UnseenCategory::Population;
        let encoder = Encoder::fit(self.features, encoding, weights, unseen)?;
        let (points, _) = encoder.encode(self.features)?;
        let sensitive = Sensitive::new(self.sensitive.to_vec(), rows)?;
        Ok((encoder, points, sensitive))
    }
}

fn ridge() -> String {
    Learner::Ridge.name().into()
}

/// Leaves out points that no score uses.
fn prune(scorers: &mut [&mut Predictor]) {
    let Some(first) = scorers.first() else {
        return;
    };
    let points = first.basis.points().len();
    let used = |i: &usize| scorers.iter().any(|scorer| scorer.coefficients[*i] != 0.0);
    let kept: Vec<usize> = (0..points).filter(used).collect();
    if first.basis.shape() != Shape::Points || kept.is_empty() || kept.len() == points {
        return;
    }
    let basis = Arc::new(Basis::new(
        first.basis.kernel().clone(),
        first.basis.points().select(&kept),
        first.basis.shape(),
    ));
    for scorer in scorers {
        scorer.basis = Arc::clone(&basis);
        scorer.coefficients = kept.iter().map(|&i| scorer.coefficients[i]).collect();
    }
}
