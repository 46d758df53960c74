//! Offsets: the part of a score that follows from S through the conditional mean.

use std::sync::Arc;

use faer::Col;
use oblivio_base::choice::check_strength;
use oblivio_base::error::require;
use oblivio_base::{Error, Result, Warning, Watch};
use serde::{Deserialize, Serialize};

use crate::conditioning::{Observed, Of};
use crate::partition::{Partition, PartitionRule, SensitiveDesign, Uses};
use crate::sensitive::Sensitive;

/// The amount that is taken off the score of each cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offsets {
    /// The cells; several scores may have them in common.
    pub partition: Arc<Partition>,
    /// t; zero for a plain model, which then needs no sensitive value to predict.
    pub strength: f64,
    /// $b_c = \langle h, \delta_c\rangle$: the mean of h over the cell's reference rows less its mean over all.
    pub by_cell: Vec<f64>,
    /// The mean of h over the reference rows, the intercept apart.
    pub mean: f64,
    /// Where the conditional mean is a regression on features of S: its values, which are taken off instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smooth: Option<SmoothOffsets>,
}

/// Offsets by a regression on features D of S: $b(s) = \sum_a D_a(s)\langle h, \beta_a\rangle$.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SmoothOffsets {
    /// $\langle h, \beta_a\rangle$
    pub values: Vec<f64>,
    /// The mean of b over the reference rows of each cell, for reports.
    pub by_cell: Vec<f64>,
}

/// Scores of rows that count, their sensitive values and their weights.
pub(super) struct Counted {
    pub(super) scores: Vec<f64>,
    pub(super) reference: Sensitive,
    pub(super) weights: Vec<f64>,
}

impl Counted {
    /// Rows of weight zero are left out.
    pub(super) fn new(scores: &[f64], reference: &Sensitive, weights: &[f64]) -> Result<Self> {
        for (what, found) in [("the scores", scores.len()), ("the weights", weights.len())] {
            if found != reference.len() {
                return Err(Error::Length {
                    what,
                    found,
                    needed: reference.len(),
                });
            }
        }
        if let Some(row) = scores.iter().position(|score| !score.is_finite()) {
            return Err(Error::NotFinite {
                name: "the score".into(),
                row,
                value: scores[row],
            });
        }
        let rows: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        let pick = |values: &[f64]| rows.iter().map(|&i| values[i]).collect();
        Ok(Self {
            scores: pick(scores),
            weights: pick(weights),
            reference: reference.select(&rows),
        })
    }

    /// Offsets of these scores, and the design of the rows.
    pub(super) fn offsets(
        &self,
        rule: &PartitionRule,
        strength: f64,
        seed: u64,
    ) -> Result<(Offsets, SensitiveDesign, Vec<Warning>)> {
        check_strength(strength)?;
        let Self {
            scores,
            reference,
            weights,
        } = self;
        let table = Observed::new(reference, weights, Of::Scores(scores), seed);
        let (partition, warnings) = Partition::conditioned(rule, table, &Watch::default())?;
        let design = partition.assign(reference)?;
        let offsets = Offsets::regressed(&partition, strength, scores, &design, weights)?;
        Ok((offsets, design, warnings))
    }
}

impl Offsets {
    /// The offsets of any scorer: its scores at reference rows, best at rows it has not seen.
    ///
    /// `weights` say how often each row counts; rows of weight zero do not.
    pub fn of_scores(
        scores: &[f64],
        reference: &Sensitive,
        weights: &[f64],
        rule: &PartitionRule,
        strength: f64,
    ) -> Result<(Self, Vec<Warning>)> {
        let known = Counted::new(scores, reference, weights)?;
        let (offsets, _, warnings) = known.offsets(rule, strength, 0)?;
        Ok((offsets, warnings))
    }

    /// Reads offsets written as JSON, trusting nothing.
    pub fn from_json(text: &str) -> Result<Self> {
        let offsets: Self = serde_json::from_str(text).map_err(|error| Error::InvalidModel {
            problem: error.to_string(),
        })?;
        check_strength(offsets.strength)?;
        offsets.partition.check_read()?;
        let fits = offsets.partition.len() == offsets.by_cell.len()
            && offsets.mean.is_finite()
            && offsets.fits();
        require(fits, "its partition")?;
        Ok(offsets)
    }

    /// Takes t times the offset of each row's cell off its score.
    pub fn apply(&self, scores: &[f64], sensitive: &Sensitive) -> Result<(Vec<f64>, Uses)> {
        let assignment = self.design(scores, sensitive)?;
        let rows = scores.iter().enumerate();
        let less = rows.map(|(row, score)| self.less(*score, &assignment, row));
        Ok((less.collect(), assignment.uses))
    }

    /// The design of rows with these scores.
    pub(super) fn design(&self, scores: &[f64], sensitive: &Sensitive) -> Result<SensitiveDesign> {
        let design = self.partition.assign(sensitive)?;
        if design.len() == scores.len() {
            return Ok(design);
        }
        Err(Error::Length {
            what: "the scores",
            found: scores.len(),
            needed: design.len(),
        })
    }

    /// A score less t times the offset of its row.
    pub(crate) fn less(&self, score: f64, assignment: &SensitiveDesign, row: usize) -> f64 {
        score - self.strength * self.of(assignment, row)
    }

    /// The offsets of an h with these means over the cells.
    pub(crate) fn new(
        partition: impl Into<Arc<Partition>>,
        strength: f64,
        cell_means: &[f64],
    ) -> Self {
        let partition = partition.into();
        let total: f64 = partition.mass().iter().sum();
        let mean = partition
            .mass()
            .iter()
            .zip(cell_means)
            .map(|(mass, m)| mass / total * m)
            .sum();
        Self {
            partition,
            strength,
            by_cell: cell_means.iter().map(|m| m - mean).collect(),
            mean,
            smooth: None,
        }
    }

    /// The offsets of an h with these values at reference rows: its means over the cells, or its regression on S.
    pub(crate) fn regressed(
        partition: &Partition,
        strength: f64,
        values: &[f64],
        assignment: &SensitiveDesign,
        weights: &[f64],
    ) -> Result<Self> {
        let regression = match (&partition.smooth, assignment.matrix()) {
            (Some(smooth), Some(features)) => {
                let influence = smooth.weights(features.as_ref(), weights)?;
                let h = Col::from_fn(values.len(), |i| values[i]);
                Some((&influence * &h).iter().copied().collect())
            }
            _ => None,
        };
        let offsets = Self::new(
            partition.clone(),
            strength,
            &cell_means(partition, values, assignment, weights),
        );
        Ok(match regression {
            None => offsets,
            Some(regression) => offsets.with_regression(regression, assignment, weights),
        })
    }

    /// The same with a regression on features of S in place of the cells; the rows are those of the reference.
    pub(crate) fn with_regression(
        self,
        values: Vec<f64>,
        assignment: &SensitiveDesign,
        weights: &[f64],
    ) -> Self {
        let mut offsets = Self {
            smooth: Some(SmoothOffsets {
                values,
                by_cell: Vec::new(),
            }),
            ..self
        };
        let each: Vec<f64> = (0..weights.len())
            .map(|i| offsets.of(assignment, i))
            .collect();
        let by_cell = cell_means(&offsets.partition, &each, assignment, weights);
        if let Some(smooth) = &mut offsets.smooth {
            smooth.by_cell = by_cell;
        }
        offsets
    }

    /// The mean offset over a cell at t = 1.
    pub fn taken(&self, cell: usize) -> f64 {
        match &self.smooth {
            None => self.by_cell[cell],
            Some(smooth) => smooth.by_cell[cell],
        }
    }

    /// Whether there are as many numbers as the partition asks for.
    pub(crate) fn fits(&self) -> bool {
        match (&self.partition.smooth, &self.smooth) {
            (None, None) => true,
            (Some(of), Some(smooth)) => {
                smooth.values.len() == of.len()
                    && smooth.by_cell.len() == self.partition.len()
                    && smooth
                        .values
                        .iter()
                        .chain(&smooth.by_cell)
                        .all(|v| v.is_finite())
            }
            _ => false,
        }
    }

    /// $\sum_c (w_c - p_c)\,m_c$ for a row of weights w over the cells, $m_c = b_c + m$ being the means of h.
    pub(crate) fn of(&self, assignment: &SensitiveDesign, row: usize) -> f64 {
        let values = match &self.smooth {
            Some(smooth) if !assignment.is_for_reports() => &smooth.values,
            _ => &self.by_cell,
        };
        assignment.offset(row, values, self.mean)
    }
}

/// The mean over each cell of values at reference rows; every cell has rows.
pub(crate) fn cell_means(
    partition: &Partition,
    values: &[f64],
    assignment: &SensitiveDesign,
    weights: &[f64],
) -> Vec<f64> {
    let mut means = vec![0.0; partition.len()];
    for (i, cell) in assignment.cells().enumerate() {
        if let Some(cell) = cell {
            means[cell] += weights[i] * values[i];
        }
    }
    for (mean, mass) in means.iter_mut().zip(partition.mass()) {
        *mean /= mass;
    }
    means
}
