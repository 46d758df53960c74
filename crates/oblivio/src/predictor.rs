//! A fitted model: one kernel expansion and one offset per cell.

use std::collections::BTreeMap;
use std::sync::Arc;

use oblivio_base::{Error, Points, Result, Watch};
use oblivio_kernels::{Basis, Kernel};

use crate::adjust::{Adjustment, Offsets};
use crate::align::{AlignRule, Alignment};
use crate::intervals::Intervals;
use crate::partition::{Partition, SensitiveDesign, Uses};
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
    /// What is done to h(x) given S.
    pub(crate) adjustment: Option<Adjustment>,
    /// For rows that miss a sensitive value.
    pub(crate) fallback: Option<Box<Predictor>>,
    /// For intervals: those of the fit, whatever was refreshed since.
    pub(crate) intervals: Option<Intervals>,
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
            adjustment: offsets.map(Adjustment::from),
            fallback: None,
            intervals: None,
        }
    }

    /// The same h without what is known of the cells.
    pub(crate) fn without_cells(self) -> Self {
        Self {
            adjustment: None,
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

    /// What is done to h(x) given S, if the model was fitted with sensitive values.
    pub fn adjustment(&self) -> Option<&Adjustment> {
        self.adjustment.as_ref()
    }

    /// The offsets, if the model was fitted with sensitive values.
    pub fn offsets(&self) -> Option<&Offsets> {
        self.adjustment.as_ref().map(Adjustment::offsets)
    }

    /// The cells, if the model was fitted with sensitive values.
    pub fn partition(&self) -> Option<&Partition> {
        self.offsets().map(|offsets| &*offsets.partition)
    }

    /// t; zero for a model that takes nothing off.
    pub fn strength(&self) -> f64 {
        self.offsets().map_or(0.0, |offsets| offsets.strength)
    }

    /// The alignment of the scores, if there is one.
    pub fn alignment(&self) -> Option<&Alignment> {
        self.adjustment.as_ref().and_then(Adjustment::alignment)
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
        let adjustment = self.adjustment.as_ref();
        adjustment.is_some_and(Adjustment::reads_sensitive)
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
        let assignment = match (self.offsets(), sensitive) {
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
        match &self.adjustment {
            None => before.to_vec(),
            Some(adjustment) => adjustment.less_offsets(before, assignment),
        }
    }

    /// The scores, aligned if there is an alignment.
    pub(crate) fn aligned(&self, scores: &[f64], assignment: &SensitiveDesign) -> Result<Vec<f64>> {
        match &self.adjustment {
            None => Ok(scores.to_vec()),
            Some(adjustment) => adjustment.aligned(scores, assignment),
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
        match &mut self.adjustment {
            None => Ok(()),
            Some(adjustment) => adjustment.align(rule, before, assignment, weights),
        }
    }

    /// Moves the threshold between two classes to zero.
    pub(crate) fn move_line(&mut self, threshold: f64) {
        self.intercept -= threshold;
        if let Some(adjustment) = &mut self.adjustment {
            adjustment.shift(-threshold);
        }
    }
}
