//! A fitted model: one kernel expansion and one offset per cell.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::basis::Basis;
use crate::error::{Error, Result, Warning};
use crate::kernel::Kernel;
use crate::oblivious::check_strength;
use crate::partition::{Assignment, Partition, PartitionRule, Uses};
use crate::points::Points;
use crate::sensitive::Sensitive;
use crate::watch::Watch;

/// Predicts $\langle h, Z\rangle = h(x) - t\,b_{c(s)}$, with $h = c + \sum_j g_j k(x_j, \cdot)$.
///
/// Serving needs the kernel at the expansion's points and one look-up; no oblivious matrix is formed.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictor {
    pub(crate) basis: Basis,
    pub(crate) coefficients: Vec<f64>,
    pub(crate) intercept: f64,
    pub(crate) offsets: Option<Offsets>,
    /// For rows that miss a sensitive value.
    pub(crate) fallback: Option<Box<Predictor>>,
}

/// What is taken off the score of each cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offsets {
    /// The cells.
    pub partition: Partition,
    /// t; zero for a plain model, which then needs no sensitive value to predict.
    pub strength: f64,
    /// $b_c = \langle h, \delta_c\rangle$: the mean of h over the cell's reference rows less its mean over all.
    pub by_cell: Vec<f64>,
    /// The mean of h over the reference rows, the intercept apart.
    pub mean: f64,
}

/// Scores of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prediction {
    /// h(x), before the offset.
    pub before: Vec<f64>,
    /// h(x) − t b(s), the prediction.
    pub scores: Vec<f64>,
    /// The cell of every row, where sensitive values were given.
    pub assignment: Option<Assignment>,
    /// How often a policy was needed.
    pub uses: Uses,
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
        let (partition, warnings) = Partition::fit(rule, &reference, &weights)?;
        let mut means = vec![0.0; partition.len()];
        for (i, cell) in partition.assign(&reference)?.cells.iter().enumerate() {
            let cell = *cell as usize;
            means[cell] += weights[i] * scores[rows[i]] / partition.mass()[cell];
        }
        Ok((Self::new(partition, strength, &means), warnings))
    }

    /// Reads offsets written as JSON, trusting nothing.
    pub fn from_json(text: &str) -> Result<Self> {
        let offsets: Self = serde_json::from_str(text).map_err(|error| Error::InvalidModel {
            problem: error.to_string(),
        })?;
        check_strength(offsets.strength)?;
        if offsets.partition.is_sound()
            && offsets.partition.len() == offsets.by_cell.len()
            && offsets.mean.is_finite()
        {
            Ok(offsets)
        } else {
            Err(Error::InvalidModel {
                problem: "its partition makes no sense".into(),
            })
        }
    }

    /// Takes t times the offset of each row's cell off its score.
    pub fn apply(&self, scores: &[f64], sensitive: &Sensitive) -> Result<(Vec<f64>, Uses)> {
        let assignment = self.partition.assign(sensitive)?;
        if assignment.cells.len() != scores.len() {
            return Err(Error::Length {
                what: "the scores",
                found: scores.len(),
                needed: assignment.cells.len(),
            });
        }
        let less = |(row, score): (usize, &f64)| score - self.strength * self.of(&assignment, row);
        Ok((
            scores.iter().enumerate().map(less).collect(),
            assignment.uses,
        ))
    }

    /// The offsets of an h with these means over the cells.
    pub(crate) fn new(partition: Partition, strength: f64, cell_means: &[f64]) -> Self {
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
        }
    }

    /// $\sum_c (w_c - p_c)\,m_c$ for a row of weights w over the cells, $m_c = b_c + m$ being the means of h.
    pub(crate) fn of(&self, assignment: &Assignment, row: usize) -> f64 {
        let cell = assignment.cells[row] as usize;
        match cell.checked_sub(self.by_cell.len()) {
            None => self.by_cell[cell],
            Some(k) => {
                let weights = &assignment.mixtures[k];
                let inside: f64 = weights.iter().zip(&self.by_cell).map(|(w, b)| w * b).sum();
                inside + (weights.iter().sum::<f64>() - 1.0) * self.mean
            }
        }
    }
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
            basis: Basis::of_points(kernel, Points::of_rows(&points)),
            coefficients,
            intercept,
            offsets,
            fallback: None,
        }
    }

    /// The same h without what is known of the cells.
    pub(crate) fn without_cells(self) -> Self {
        Self {
            offsets: None,
            fallback: None,
            ..self
        }
    }

    /// The kernel of the expansion.
    pub fn kernel(&self) -> &Kernel {
        &self.basis.kernel
    }

    /// The functions of the expansion.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// The points of the expansion, or its frequencies.
    pub fn points(&self) -> &Points<'static> {
        &self.basis.points
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

    /// t; zero for a model that takes nothing off.
    pub fn strength(&self) -> f64 {
        self.offsets
            .as_ref()
            .map_or(0.0, |offsets| offsets.strength)
    }

    /// The model that scores rows whose sensitive values are missing, if there is one: it was fitted in the mode sensitive-free
    /// and needs none.
    pub fn fallback(&self) -> Option<&Self> {
        self.fallback.as_deref()
    }

    /// Whether rows without sensitive values are refused.
    pub fn needs_sensitive(&self) -> bool {
        self.strength() > 0.0 && self.fallback.is_none()
    }

    /// h(x) for every point.
    pub fn expansion_at(&self, points: &Points, watch: &Watch) -> Result<Vec<f64>> {
        let values = self.basis.expansion(points, &self.coefficients, watch)?;
        let values: Vec<f64> = values.iter().map(|v| v + self.intercept).collect();
        if values.iter().any(|v| !v.is_finite()) {
            return Err(Error::Overflow { what: "a score" });
        }
        Ok(values)
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
                let complete = offsets.partition.complete(sensitive)?;
                let left = complete.len() < points.len();
                if left && !self.needs_sensitive() {
                    return self.predict_apart(points, sensitive, &complete, watch);
                }
                Some(offsets.partition.assign(sensitive)?)
            }
            (Some(offsets), None) if offsets.strength > 0.0 => {
                if let Some(fallback) = &self.fallback {
                    let mut prediction = fallback.predict(points, None, watch)?;
                    prediction.uses.sensitive_free = points.len();
                    return Ok(prediction);
                }
                let names: Vec<&str> = offsets.partition.columns().map(|(name, _)| name).collect();
                return Err(Error::SensitiveNeeded {
                    columns: names.join(", "),
                });
            }
            _ => None,
        };
        let before = self.expansion_at(points, watch)?;
        let scores = match (&self.offsets, &assignment) {
            (Some(offsets), Some(assignment)) => before
                .iter()
                .enumerate()
                .map(|(row, h)| h - offsets.strength * offsets.of(assignment, row))
                .collect(),
            _ => before.clone(),
        };
        let uses = assignment.as_ref().map_or(Uses::default(), |a| a.uses);
        Ok(Prediction {
            before,
            scores,
            assignment,
            uses,
        })
    }

    /// The prediction of rows some of which miss a sensitive value: `complete` are the others.
    fn predict_apart(
        &self,
        points: &Points,
        sensitive: &Sensitive,
        complete: &[usize],
        watch: &Watch,
    ) -> Result<Prediction> {
        let mut is_complete = vec![false; points.len()];
        for &row in complete {
            is_complete[row] = true;
        }
        let rest: Vec<usize> = (0..points.len()).filter(|&i| !is_complete[i]).collect();
        // What takes nothing off needs no other model.
        let other = self.fallback.as_deref().unwrap_or(self);
        let free = other.expansion_at(&points.select(&rest), watch)?;
        let known = if complete.is_empty() {
            Prediction::default()
        } else {
            let given = sensitive.select(complete);
            self.predict(&points.select(complete), Some(&given), watch)?
        };
        let together = |known: &[f64]| {
            let mut all = vec![0.0; points.len()];
            for (rows, values) in [(complete, known), (&rest[..], &free[..])] {
                rows.iter().zip(values).for_each(|(&row, v)| all[row] = *v);
            }
            all
        };
        let mut assignment = known.assignment.unwrap_or_default();
        assignment.uses.sensitive_free = rest.len();
        if let Some(offsets) = &self.offsets {
            assignment.mixtures.push(offsets.partition.shares());
            let mixture = (offsets.partition.len() + assignment.mixtures.len() - 1) as u32;
            let mut cells = vec![mixture; points.len()];
            let found = complete.iter().zip(&assignment.cells);
            found.for_each(|(&row, cell)| cells[row] = *cell);
            assignment.cells = cells;
        }
        Ok(Prediction {
            before: together(&known.before),
            scores: together(&known.scores),
            uses: assignment.uses,
            assignment: Some(assignment),
        })
    }
}
