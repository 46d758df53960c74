//! Alignment: a second, one-dimensional stage that makes the distribution of a score the same whatever S is.
//!
//! Equal means per cell leave differences of spread and shape, from which S can be read. Here every score is moved to the place in a
//! common distribution that it has in the distribution given its own S. The common one is the Wasserstein-2 barycentre: of all maps
//! that make the distributions equal, it moves the scores least in mean square.

pub(crate) mod cells;
mod check;
mod lines;
mod sample;
pub(crate) mod smooth;
mod table;

use faer::MatRef;
use oblivio_base::points::check_weights;
use oblivio_base::{Error, Named, Result};
use serde::{Deserialize, Serialize};

pub(crate) use self::cells::{ByCell, Normal};
pub(crate) use self::sample::SampledScores;
pub(crate) use self::smooth::Regression;
pub(crate) use self::smooth::{LEAST_VARIANCE, MARGINAL, SmoothNormal, SmoothTable};
pub(crate) use self::table::Table;
use crate::partition::{Partition, SensitiveDesign};

/// How scores are aligned, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlignRule {
    /// What is made equal.
    pub method: AlignMethod,
    /// τ: the aligned score is $(1-\tau)\,\text{score} + \tau\,\text{full}$, a point of the geodesic between the distributions.
    pub strength: f64,
}

/// What alignment makes equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlignMethod {
    /// Mean and standard deviation.
    LocationScale,
    /// The whole distribution.
    #[default]
    Quantile,
}

impl Named for AlignMethod {
    const WHAT: &'static str = "alignment";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("quantile", Self::Quantile),
        ("location-scale", Self::LocationScale),
    ];
}

/// What alignment knows of the S of rows.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// A cell each. A row that a policy has placed among several has the mixture of their distributions; where nothing is known of
    /// a row, or of its cell, it has that of the whole population.
    Cells(&'a SensitiveDesign),
    /// Features ψ(s), a column for each row, whose weighted mean over the rows of the fit is zero.
    Features(MatRef<'a, f64>),
}

/// A fitted alignment: from a score and what is known of S to the aligned score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Alignment {
    strength: f64,
    pub(crate) by: By,
}

/// Distributions given S.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum By {
    CellMoments(ByCell<Normal>),
    CellQuantiles(ByCell<Table>),
    SmoothMoments(SmoothNormal),
    SmoothQuantiles(SmoothTable),
}

/// What alignment goes by where a predictor knows this of its rows: the features of S that the conditional mean is a regression on,
/// else the cells. And the ridge of that regression, if its partition is given.
pub(crate) fn given<'a>(
    assignment: &'a SensitiveDesign,
    partition: Option<&Partition>,
) -> (Given<'a>, f64) {
    match assignment.matrix() {
        None => (Given::Cells(assignment), 0.0),
        Some(features) => {
            let ridge = partition.map_or(0.0, Partition::ridge);
            (Given::Features(features.as_ref()), ridge)
        }
    }
}

impl AlignRule {
    /// Refuses a strength outside [0, 1].
    pub fn check(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.strength) {
            Ok(())
        } else {
            Err(Error::InvalidParameter {
                name: "the strength of the alignment",
                expected: "between 0 and 1",
                value: self.strength.to_string(),
            })
        }
    }
}

impl Given<'_> {
    fn check(&self, rows: usize) -> Result<()> {
        let found = match self {
            Self::Cells(assignment) => assignment.len(),
            Self::Features(features) => features.ncols(),
        };
        if found == rows {
            Ok(())
        } else {
            Err(Error::Length {
                what: "the sensitive part",
                found,
                needed: rows,
            })
        }
    }
}

impl Alignment {
    /// Learns the distributions of the scores of reference rows.
    ///
    /// `weights` say how often each row counts; rows of weight zero do not. `ridge` is the κ of the regressions on features, and has
    /// no say for cells.
    ///
    /// Quantiles per cell make the distributions of the reference rows equal: exactly where cells have equal counts of scores that all
    /// differ and none is isolated, else to a row of each cell. An isolated score, farther from the next one than that is from the
    /// median of the cell, keeps its distance from the next one. Regressions on features leave out the outermost score at each end
    /// and more up to a 128th of all, so that one outlying score cannot drag a tail. Of a cell with more than 512 different scores as many are kept, and a 512th takes the place
    /// of a row. Equal scores of a cell stay equal, so a cell of few different scores can only be moved as they are.
    ///
    /// ```
    /// use oblivio::align::{AlignMethod, AlignRule, Alignment, Given};
    /// use oblivio::partition::SensitiveDesign;
    /// // The scores of cell 1 are spread three times as wide.
    /// let cells = SensitiveDesign::from_cells(vec![0, 0, 0, 1, 1, 1]);
    /// let scores = [-1.0, 0.0, 1.0, -3.0, 0.0, 3.0];
    /// let rule = AlignRule { method: AlignMethod::Quantile, strength: 1.0 };
    /// let alignment = Alignment::fit(rule, &scores, Given::Cells(&cells), &[1.0; 6], 0.0)?;
    /// let aligned = alignment.apply(&scores, Given::Cells(&cells))?;
    /// assert_eq!(aligned, [-2.0, 0.0, 2.0, -2.0, 0.0, 2.0]);
    /// # Ok::<(), oblivio::Error>(())
    /// ```
    pub fn fit(
        rule: AlignRule,
        scores: &[f64],
        given: Given,
        weights: &[f64],
        ridge: f64,
    ) -> Result<Self> {
        rule.check()?;
        finite(scores)?;
        given.check(scores.len())?;
        check_weights(weights, scores.len())?;
        if scores.is_empty() {
            return Err(Error::TooFewRows {
                what: "the reference of an alignment",
                found: 0,
                needed: 1,
            });
        }
        let by = match (given, rule.method) {
            (Given::Cells(assignment), AlignMethod::LocationScale) => {
                By::CellMoments(ByCell::moments(scores, assignment, weights)?)
            }
            (Given::Cells(assignment), AlignMethod::Quantile) => {
                By::CellQuantiles(ByCell::quantiles(scores, assignment, weights)?)
            }
            (Given::Features(features), method) => {
                let counts = |i: &usize| weights[*i] > 0.0;
                let rows: Vec<usize> = (0..scores.len()).filter(counts).collect();
                let regression = Regression::new(features, &rows, weights, ridge)?;
                match method {
                    AlignMethod::LocationScale => {
                        By::SmoothMoments(SmoothNormal::fit(&regression, scores)?)
                    }
                    AlignMethod::Quantile => {
                        By::SmoothQuantiles(SmoothTable::fit(&regression, scores)?)
                    }
                }
            }
        };
        Ok(Self {
            strength: rule.strength,
            by,
        })
    }

    /// The rule it was fitted by.
    pub fn rule(&self) -> AlignRule {
        let method = match self.by {
            By::CellMoments(_) | By::SmoothMoments(_) => AlignMethod::LocationScale,
            By::CellQuantiles(_) | By::SmoothQuantiles(_) => AlignMethod::Quantile,
        };
        AlignRule {
            method,
            strength: self.strength,
        }
    }

    /// τ
    pub fn strength(&self) -> f64 {
        self.strength
    }

    /// The aligned scores: $(1-\tau)\,\text{score} + \tau\,\text{full}$. They rise with the score, whatever S is.
    pub fn apply(&self, scores: &[f64], given: Given) -> Result<Vec<f64>> {
        finite(scores)?;
        given.check(scores.len())?;
        let full = match (&self.by, given) {
            (By::CellMoments(cells), Given::Cells(assignment)) => cells.full(scores, assignment),
            (By::CellQuantiles(cells), Given::Cells(assignment)) => cells.full(scores, assignment),
            (By::SmoothMoments(smooth), Given::Features(features)) => {
                smooth.full(scores, features)?
            }
            (By::SmoothQuantiles(smooth), Given::Features(features)) => {
                smooth.full(scores, features)?
            }
            (By::CellMoments(_) | By::CellQuantiles(_), Given::Features(_)) => {
                return Err(wrong_kind("cells, as at the fit", "features of S"));
            }
            (By::SmoothMoments(_) | By::SmoothQuantiles(_), Given::Cells(_)) => {
                return Err(wrong_kind("features of S, as at the fit", "cells"));
            }
        };
        let pairs = scores.iter().zip(&full);
        let aligned: Vec<f64> = pairs
            .map(|(score, full)| self.mixed(*score, *full))
            .collect();
        if aligned.iter().any(|score| !score.is_finite()) {
            return Err(Error::Overflow {
                what: "an aligned score",
            });
        }
        Ok(aligned)
    }

    /// $(1-\tau)\,\text{score} + \tau\,\text{full}$
    fn mixed(&self, score: f64, full: f64) -> f64 {
        (1.0 - self.strength) * score + self.strength * full
    }

    /// The number of cells it knows, if it goes by cells: no more than the partition has.
    pub(crate) fn cells(&self) -> Option<usize> {
        match &self.by {
            By::CellMoments(cells) => Some(cells.len()),
            By::CellQuantiles(cells) => Some(cells.len()),
            By::SmoothMoments(_) | By::SmoothQuantiles(_) => None,
        }
    }

    /// The number of features of S it goes by, if it does.
    pub(crate) fn features(&self) -> Option<usize> {
        match &self.by {
            By::CellMoments(_) | By::CellQuantiles(_) => None,
            By::SmoothMoments(smooth) => Some(smooth.features()),
            By::SmoothQuantiles(smooth) => Some(smooth.features()),
        }
    }

    /// The same map of scores that are all higher by this much.
    pub(crate) fn shift(&mut self, by: f64) {
        match &mut self.by {
            By::CellMoments(cells) => cells.shift(&|_| by),
            By::CellQuantiles(cells) => cells.shift(&|_| by),
            By::SmoothMoments(smooth) => smooth.shift(by),
            By::SmoothQuantiles(smooth) => smooth.shift(by),
        }
    }

    /// This alignment of new rows, with the distributions of an `old` one in the cells that are `kept`: there scores are higher by
    /// `shift` than they were. The cells have these masses from now on. Regressions have nothing to keep.
    pub(crate) fn keeping(
        mut self,
        old: &Self,
        kept: &dyn Fn(usize) -> bool,
        shift: &dyn Fn(usize) -> f64,
        mass: &[f64],
    ) -> Self {
        match (&mut self.by, &old.by) {
            (By::CellMoments(new), By::CellMoments(old)) => new.keep(old, kept, shift, mass),
            (By::CellQuantiles(new), By::CellQuantiles(old)) => new.keep(old, kept, shift, mass),
            _ => (),
        }
        self
    }
}

/// The aligned score of one row after the other, in memory that is taken once.
#[derive(Clone, Debug)]
pub(crate) struct AlignmentRow {
    population: Vec<(usize, f64)>,
    parts: Vec<(usize, f64)>,
    given: Vec<f64>,
    below: Vec<f64>,
}

impl AlignmentRow {
    pub(crate) fn new(alignment: &Alignment) -> Self {
        let (population, thresholds) = match &alignment.by {
            By::CellMoments(cells) => (cells.numbered_shares(), 0),
            By::CellQuantiles(cells) => (cells.numbered_shares(), 0),
            By::SmoothMoments(_) => (Vec::new(), 0),
            By::SmoothQuantiles(smooth) => (Vec::new(), smooth.thresholds()),
        };
        Self {
            parts: Vec::with_capacity(population.len()),
            population,
            given: vec![0.0; thresholds],
            below: vec![0.0; thresholds],
        }
    }

    /// The aligned score of the one row of an assignment; `None` where [`apply`](Alignment::apply) refuses it.
    pub(crate) fn apply(
        &mut self,
        alignment: &Alignment,
        score: f64,
        assignment: &SensitiveDesign,
    ) -> Option<f64> {
        let (population, parts) = (&self.population, &mut self.parts);
        let full = match (&alignment.by, given(assignment, None).0) {
            (By::CellMoments(cells), Given::Cells(assignment)) => {
                let common = cells.common(population);
                cells.part_into(assignment, 0, parts);
                cells.full_at(score, own(parts, population), common)
            }
            (By::CellQuantiles(cells), Given::Cells(assignment)) => {
                cells.part_into(assignment, 0, parts);
                cells.full_at(score, own(parts, population), population)
            }
            (By::SmoothMoments(smooth), Given::Features(features)) => {
                smooth.full_at(score, features, 0)
            }
            (By::SmoothQuantiles(smooth), Given::Features(features)) => {
                smooth.full_at(score, features, 0, (&mut self.given, &mut self.below))
            }
            _ => return None,
        };
        Some(alignment.mixed(score, full)).filter(|aligned| aligned.is_finite())
    }
}

/// The parts of a row, or those of the population where nothing is known of it.
fn own<'p>(parts: &'p [(usize, f64)], population: &'p [(usize, f64)]) -> &'p [(usize, f64)] {
    if parts.is_empty() { population } else { parts }
}

fn finite(scores: &[f64]) -> Result<()> {
    match scores.iter().position(|score| !score.is_finite()) {
        None => Ok(()),
        Some(row) => Err(Error::NotFinite {
            name: "the score".into(),
            row,
            value: scores[row],
        }),
    }
}

fn wrong_kind(expected: &'static str, value: &str) -> Error {
    Error::InvalidParameter {
        name: "what an alignment is given",
        expected,
        value: value.into(),
    }
}
