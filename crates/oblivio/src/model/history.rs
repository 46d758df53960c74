//! What was done to a model after its fit.

use oblivio_base::error::require;
use oblivio_base::{Points, Result, Watch};
use serde::{Deserialize, Serialize};

use super::Model;
use super::reduce::Reduction;
use crate::partition::{Partition, Uses};
use crate::predictor::Predictor;
use crate::refresh::{Drift, FitMeans, Refresh, Renewal};
use crate::sensitive::Sensitive;

/// An entry in the history of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Change {
    /// The version of oblivio that made the change.
    pub version: String,
    /// When, in the words of who asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// What was done.
    #[serde(flatten)]
    pub step: Step,
}

/// What can be done to a model after its fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// New offsets.
    Refresh(Refreshed),
    /// Fewer points.
    Reduce(Reduction),
}

/// Where new offsets came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Refreshed {
    /// The new rows.
    pub rows: usize,
    /// Those in each cell.
    pub cells: Vec<usize>,
    /// The cells that kept their means.
    pub kept: Vec<usize>,
    /// The largest |z| of a cell's drift, over all scores; none where no cell has one.
    pub largest_z: Option<f64>,
    /// The same of the drift since the fit; none in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_z_since_fit: Option<f64>,
}

/// New offsets of every score of a model in the making; see [`Refresh`].
#[derive(Clone, Debug)]
pub struct ModelRefresh<'m> {
    model: &'m Model,
    scores: Vec<Refresh>,
    rows: usize,
}

/// A model with new offsets.
#[derive(Clone, Debug)]
pub struct Renewed {
    /// The model, its history one longer.
    pub model: Model,
    /// For each score the drift of every cell.
    pub drifts: Vec<Vec<Drift>>,
    /// How often new rows needed a policy.
    pub uses: Uses,
}

impl Change {
    /// A change by this version.
    pub(super) fn new(step: Step, date: Option<String>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            date,
            step,
        }
    }

    /// Refuses a change that cannot have happened to a model with these numbers of cells and scores.
    pub(super) fn check_read(&self, cells: usize, scores: usize) -> Result<()> {
        let fits = match &self.step {
            Step::Refresh(refreshed) => {
                refreshed.cells.len() == cells && refreshed.kept.iter().all(|cell| *cell < cells)
            }
            Step::Reduce(reduction) => reduction.scores.len() == scores,
        };
        require(fits, "its history")
    }
}

impl Model {
    /// Begins a refresh of the offsets of every score.
    pub fn refresh(&self) -> Result<ModelRefresh<'_>> {
        let mut scores = vec![self.predictor().refresh()?];
        for scorer in &self.scorers[1..] {
            scores.push(scorer.refresh_beside()?);
        }
        Ok(ModelRefresh {
            model: self,
            scores,
            rows: 0,
        })
    }

    /// Writes the means of the cells on the card while they are those of the fit.
    fn keep_fit_means(&mut self) {
        let is_refresh = |change: &Change| matches!(change.step, Step::Refresh(_));
        if self.card.history.iter().any(is_refresh) {
            return;
        }
        let mean = |scorer: &Predictor| {
            let offsets = scorer.offsets()?;
            let base = scorer.intercept + offsets.mean;
            Some(offsets.by_cell.iter().map(|b| base + b).collect())
        };
        let counts = self.predictor().partition().map(Partition::counts);
        self.card.cell_rows = counts.map_or(Vec::new(), <[usize]>::to_vec);
        self.card.cell_means = self.scorers.iter().filter_map(mean).collect();
    }
}

impl ModelRefresh<'_> {
    /// Adds rows, which need no target. Those without a cell of their own are counted and left out.
    pub fn update(
        &mut self,
        points: &Points,
        sensitive: &Sensitive,
        weights: Option<&[f64]>,
        watch: &Watch,
    ) -> Result<()> {
        for score in &mut self.scores {
            score.update(points, sensitive, weights, watch)?;
        }
        self.rows += points.len();
        Ok(())
    }

    /// The rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The model with new offsets; `date` is what its history will say of the time.
    pub fn finish(mut self, renewal: Renewal, date: Option<String>) -> Result<Renewed> {
        let sums = self.scores.first_mut().and_then(Refresh::take_sums);
        let mut model = self.model.clone();
        model.keep_fit_means();
        let (rows, means) = (&model.card.cell_rows, &model.card.cell_means);
        let (mut drifts, mut uses) = (Vec::new(), Uses::default());
        let scores = model.scorers.iter_mut().zip(self.scores);
        for (k, (scorer, score)) in scores.enumerate() {
            let fit = means.get(k).map(|means| FitMeans { means, rows });
            let (predictor, drift, used) = score.finish_since(renewal, fit, sums.as_ref())?;
            *scorer = predictor;
            drifts.push(drift);
            uses = used;
        }
        let first = drifts.first().map_or(&[][..], Vec::as_slice);
        let largest = |z: &dyn Fn(&Drift) -> Option<f64>| {
            let sizes = drifts.iter().flatten().filter_map(z).map(f64::abs);
            sizes.filter(|z| z.is_finite()).reduce(f64::max)
        };
        let refreshed = Refreshed {
            rows: self.rows,
            cells: first.iter().map(|drift| drift.rows).collect(),
            kept: (0..first.len()).filter(|&c| first[c].kept).collect(),
            largest_z: largest(&|drift| drift.z),
            largest_z_since_fit: largest(&|drift| drift.since_fit?.z),
        };
        let change = Change::new(Step::Refresh(refreshed), date);
        model.card.history.push(change);
        Ok(Renewed {
            model,
            drifts,
            uses,
        })
    }
}
