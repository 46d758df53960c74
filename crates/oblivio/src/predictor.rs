//! A fitted model: one kernel expansion and one offset per cell.

use std::collections::BTreeMap;
use std::sync::Arc;

use faer::Col;
use oblivio_base::choice::check_strength;
use oblivio_base::error::require;
use oblivio_base::{Error, Points, Result, Warning, Watch};
use oblivio_kernels::{Basis, Kernel};
use serde::{Deserialize, Serialize};

use crate::align::{AlignRule, Alignment, given};
use crate::conditioning::{Observed, Of};
use crate::intervals::Intervals;
use crate::partition::{Partition, PartitionRule, SensitiveDesign, Uses};
use crate::sensitive::Sensitive;

/// Predicts $\langle h, Z\rangle = h(x) - t\,b_{c(s)}$, with $h = c + \sum_j g_j k(x_j, \cdot)$; or that score aligned.
///
/// Serving needs the kernel at the expansion's points and one look-up; no oblivious matrix is formed.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictor {
    /// Several scores may have one.
    pub(crate) basis: Arc<Basis>,
    pub(crate) coefficients: Vec<f64>,
    pub(crate) intercept: f64,
    pub(crate) offsets: Option<Offsets>,
    pub(crate) alignment: Option<Alignment>,
    /// For rows that miss a sensitive value.
    pub(crate) fallback: Option<Box<Predictor>>,
    /// For intervals: those of the fit, whatever was refreshed since.
    pub(crate) intervals: Option<Intervals>,
}

/// What is taken off the score of each cell.
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
    /// Where the conditional mean is a regression on features of S: what is taken off instead.
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

/// Scores of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prediction {
    /// h(x), before the offset.
    pub before: Vec<f64>,
    /// The prediction: h(x) − t b(s), aligned if the model has an alignment.
    pub scores: Vec<f64>,
    /// The cell of every row, where sensitive values were given.
    pub assignment: Option<SensitiveDesign>,
    /// How often a policy was needed.
    pub uses: Uses,
    /// The rows that the fallback scored.
    pub apart: Vec<usize>,
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
        check_strength(strength)?;
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
        let reference = reference.select(&rows);
        let weights: Vec<f64> = rows.iter().map(|&i| weights[i]).collect();
        let scores: Vec<f64> = rows.iter().map(|&i| scores[i]).collect();
        let table = Observed::new(&reference, &weights, Of::Scores(&scores), 0);
        let (partition, warnings) = Partition::conditioned(rule, table, &Watch::default())?;
        let assignment = partition.assign(&reference)?;
        let offsets = Self::regressed(&partition, strength, &scores, &assignment, &weights)?;
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
        let assignment = self.partition.assign(sensitive)?;
        if assignment.len() != scores.len() {
            return Err(Error::Length {
                what: "the scores",
                found: scores.len(),
                needed: assignment.len(),
            });
        }
        let rows = scores.iter().enumerate();
        let less = rows.map(|(row, score)| self.less(*score, &assignment, row));
        Ok((less.collect(), assignment.uses))
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

    /// The mean over a cell of what is taken off at t = 1.
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

impl Predictor {
    /// Merges coefficients on training and on reference rows of a table into one expansion, in the table's order.
    /// Each part is the rows' numbers in the table, their points and their coefficients (or none).
    pub(crate) fn assemble(
        kernel: Kernel,
        intercept: f64,
        parts: &[(&[usize], &Points, &[f64])],
        offsets: Option<Offsets>,
    ) -> Self {
        let mut merged = BTreeMap::new();
        for (rows, points, coefficients) in parts {
            for (i, (row, coefficient)) in rows.iter().zip(*coefficients).enumerate() {
                merged.entry(*row).or_insert((points.row(i), 0.0)).1 += coefficient;
            }
        }
        let (points, coefficients): (Vec<&[f64]>, Vec<f64>) = merged.into_values().unzip();
        Self {
            basis: Basis::of_points(kernel, Points::of_rows(&points)).into(),
            coefficients,
            intercept,
            offsets,
            alignment: None,
            fallback: None,
            intervals: None,
        }
    }

    /// The same h without what is known of the cells.
    pub(crate) fn without_cells(self) -> Self {
        Self {
            offsets: None,
            alignment: None,
            fallback: None,
            intervals: None,
            ..self
        }
    }

    /// The kernel of the expansion.
    pub fn kernel(&self) -> &Kernel {
        self.basis.kernel()
    }

    /// The functions of the expansion.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The points of the expansion, or its frequencies.
    pub fn points(&self) -> &Points<'static> {
        self.basis.points()
    }

    /// The coefficients g of the expansion.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// c; zero for a model fitted without one.
    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    /// The offsets, if the model was fitted with sensitive values.
    pub fn offsets(&self) -> Option<&Offsets> {
        self.offsets.as_ref()
    }

    /// The cells, if the model was fitted with sensitive values.
    pub fn partition(&self) -> Option<&Partition> {
        self.offsets.as_ref().map(|offsets| &*offsets.partition)
    }

    /// t; zero for a model that takes nothing off.
    pub fn strength(&self) -> f64 {
        self.offsets
            .as_ref()
            .map_or(0.0, |offsets| offsets.strength)
    }

    /// The alignment of the scores, if there is one.
    pub fn alignment(&self) -> Option<&Alignment> {
        self.alignment.as_ref()
    }

    /// The model that scores rows whose sensitive values are missing, if there is one: it was fitted in the mode sensitive-free
    /// and needs none.
    pub fn fallback(&self) -> Option<&Self> {
        self.fallback.as_deref()
    }

    /// Whether rows without sensitive values are refused.
    pub fn needs_sensitive(&self) -> bool {
        self.reads_sensitive() && self.fallback.is_none()
    }

    /// Whether predictions depend on the sensitive values given.
    pub fn reads_sensitive(&self) -> bool {
        let aligns = |alignment: &Alignment| alignment.strength() > 0.0;
        self.strength() > 0.0 || self.alignment.as_ref().is_some_and(aligns)
    }

    /// h(x) for every point.
    pub fn expansion_at(&self, points: &Points, watch: &Watch) -> Result<Vec<f64>> {
        let values = self.basis.expansion(points, &self.coefficients, watch)?;
        let values: Vec<f64> = values.iter().map(|v| self.intercept_added(*v)).collect();
        if values.iter().any(|v| !v.is_finite()) {
            return Err(Error::Overflow { what: "a score" });
        }
        Ok(values)
    }

    /// h(x) from the value of the expansion.
    pub(crate) fn intercept_added(&self, value: f64) -> f64 {
        value + self.intercept
    }

    /// The prediction for every row. `sensitive` may be absent only for a model that does not need it.
    ///
    /// Rows that miss a sensitive value are scored by the [`fallback`](Self::fallback) where there is one, and so are all rows if
    /// `sensitive` is absent. They are counted, and have the population's mixture of cells in the assignment.
    pub fn predict(
        &self,
        points: &Points,
        sensitive: Option<&Sensitive>,
        watch: &Watch,
    ) -> Result<Prediction> {
        let assignment = match (&self.offsets, sensitive) {
            (Some(offsets), Some(sensitive)) => {
                if sensitive.len() != points.len() {
                    return Err(Error::Length {
                        what: "the sensitive part",
                        found: sensitive.len(),
                        needed: points.len(),
                    });
                }
                Some(if self.needs_sensitive() {
                    offsets.partition.assign(sensitive)?
                } else {
                    offsets.partition.assign_all(sensitive)?
                })
            }
            (Some(offsets), None) if self.reads_sensitive() => {
                if let Some(fallback) = &self.fallback {
                    let mut prediction = fallback.predict(points, None, watch)?;
                    prediction.uses.sensitive_free = points.len();
                    prediction.apart = (0..points.len()).collect();
                    return Ok(prediction);
                }
                let names = offsets.partition.needs();
                return Err(Error::SensitiveNeeded {
                    columns: names.join(", "),
                });
            }
            _ => None,
        };
        let before = self.expansion_at(points, watch)?;
        let scores = match &assignment {
            Some(assignment) => {
                self.aligned(&self.less_offsets(&before, assignment), assignment)?
            }
            None => before.clone(),
        };
        let prediction = Prediction {
            before,
            scores,
            uses: assignment.as_ref().map_or(Uses::default(), |a| a.uses),
            assignment,
            apart: Vec::new(),
        };
        self.with_missing_scored(prediction, points, watch)
    }

    /// Scores the rows that miss a sensitive value by the fallback. Without one, nothing is taken off any row.
    fn with_missing_scored(
        &self,
        mut prediction: Prediction,
        points: &Points,
        watch: &Watch,
    ) -> Result<Prediction> {
        let assignment = prediction.assignment.as_ref();
        let missing = assignment.map_or(Vec::new(), SensitiveDesign::missing);
        if missing.is_empty() {
            return Ok(prediction);
        }
        if let Some(fallback) = &self.fallback {
            let scores = fallback.expansion_at(&points.select(&missing), watch)?;
            for (&row, score) in missing.iter().zip(scores) {
                prediction.before[row] = score;
                prediction.scores[row] = score;
            }
            prediction.apart = missing;
        }
        Ok(prediction)
    }

    /// h(x) − t b(s), before any alignment.
    pub(crate) fn less_offsets(&self, before: &[f64], assignment: &SensitiveDesign) -> Vec<f64> {
        let Some(offsets) = &self.offsets else {
            return before.to_vec();
        };
        let rows = before.iter().enumerate();
        rows.map(|(row, h)| offsets.less(*h, assignment, row))
            .collect()
    }

    /// The scores, aligned if there is an alignment.
    pub(crate) fn aligned(&self, scores: &[f64], assignment: &SensitiveDesign) -> Result<Vec<f64>> {
        match &self.alignment {
            None => Ok(scores.to_vec()),
            Some(alignment) => alignment.apply(scores, given(assignment, None).0),
        }
    }

    /// Fits the alignment to h(x) of reference rows. Without sensitive columns, and at strength 0, there is none.
    pub(crate) fn align(
        &mut self,
        rule: Option<AlignRule>,
        before: &[f64],
        assignment: &SensitiveDesign,
        weights: &[f64],
    ) -> Result<()> {
        self.alignment = match rule {
            Some(rule) if rule.strength > 0.0 && self.offsets.is_some() => {
                let scores = self.less_offsets(before, assignment);
                let (given, ridge) = given(assignment, self.partition());
                // Rows with unknown S get weight 0.
                let weight = |row: usize| {
                    let counts = !assignment.is_unknown(row);
                    if counts { weights[row] } else { 0.0 }
                };
                let weights: Vec<f64> = (0..weights.len()).map(weight).collect();
                Some(Alignment::fit(rule, &scores, given, &weights, ridge)?)
            }
            _ => None,
        };
        Ok(())
    }

    /// Moves the line between two classes to zero.
    pub(crate) fn move_line(&mut self, threshold: f64) {
        self.intercept -= threshold;
        if let Some(alignment) = &mut self.alignment {
            alignment.shift(-threshold);
        }
    }
}
