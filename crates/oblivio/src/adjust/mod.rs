//! The second stage: a map of scores given S.

mod offsets;
#[cfg(test)]
mod tests;

use oblivio_base::{Result, Warning};

use self::offsets::Counted;
pub(crate) use self::offsets::cell_means;
pub use self::offsets::{Offsets, SmoothOffsets};
use crate::align::{AlignRule, Alignment, given};
use crate::partition::{PartitionRule, SensitiveDesign};
use crate::sensitive::Sensitive;

/// A map of scores given S: takes offsets off, then makes distributions equal.
///
/// It is fitted to scores and S alone, and does not know where scores come from. Fit it to scores of rows that the scorer has not
/// seen: scores of its training rows hide how much it says of S.
///
/// ```
/// use oblivio::adjust::{Adjustment, AdjustmentRule};
/// use oblivio::{Column, Sensitive};
///
/// let group = Column::texts("group", ["a", "a", "a", "b", "b", "b"].map(Some));
/// let sensitive = Sensitive::new(vec![group], 6)?;
/// let scores = [0.0, 1.0, 2.0, 10.0, 11.0, 12.0];
/// let rule = AdjustmentRule::default();
/// let (adjustment, _) = Adjustment::fit(&scores, &sensitive, &[1.0; 6], &rule)?;
/// let adjusted = adjustment.apply(&scores, &sensitive)?.scores;
/// assert!((adjusted[0] - adjusted[3]).abs() < 1e-12);
/// # Ok::<(), oblivio::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Adjustment {
    pub(crate) offsets: Offsets,
    pub(crate) alignment: Option<Alignment>,
}

/// How scores are adjusted.
#[derive(Clone, Debug, PartialEq)]
pub struct AdjustmentRule {
    /// How S is read.
    pub partition: PartitionRule,
    /// Share of the offsets that is taken off, from 0 to 1.
    pub strength: f64,
    /// How the distributions are made equal after that, if they are.
    pub align: Option<AlignRule>,
    /// For the sample that a conditional mean is chosen on.
    pub seed: u64,
}

/// Adjusted scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjusted {
    /// One score for each row.
    pub scores: Vec<f64>,
    /// The design of the rows: their cells, and how often a policy was used.
    pub design: SensitiveDesign,
}

impl Default for AdjustmentRule {
    /// All offsets are taken off, and nothing is aligned.
    fn default() -> Self {
        Self {
            partition: PartitionRule::default(),
            strength: 1.0,
            align: None,
            seed: 0,
        }
    }
}

impl From<Offsets> for Adjustment {
    /// Offsets without an alignment.
    fn from(offsets: Offsets) -> Self {
        Self {
            offsets,
            alignment: None,
        }
    }
}

impl Adjustment {
    /// Fits the map to scores of reference rows. `weights` say how often each row counts; rows of weight zero do not.
    pub fn fit(
        scores: &[f64],
        sensitive: &Sensitive,
        weights: &[f64],
        rule: &AdjustmentRule,
    ) -> Result<(Self, Vec<Warning>)> {
        if let Some(align) = &rule.align {
            align.check()?;
        }
        let known = Counted::new(scores, sensitive, weights)?;
        let (offsets, design, warnings) =
            known.offsets(&rule.partition, rule.strength, rule.seed)?;
        let mut adjustment = Self::from(offsets);
        adjustment.align(rule.align, &known.scores, &design, &known.weights)?;
        Ok((adjustment, warnings))
    }

    /// Adjusts the scores of rows.
    pub fn apply(&self, scores: &[f64], sensitive: &Sensitive) -> Result<Adjusted> {
        let design = self.offsets.design(scores, sensitive)?;
        let scores = self.aligned(&self.less_offsets(scores, &design), &design)?;
        Ok(Adjusted { scores, design })
    }

    /// The offsets.
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// The alignment, if there is one.
    pub fn alignment(&self) -> Option<&Alignment> {
        self.alignment.as_ref()
    }

    /// Whether adjusted scores depend on the sensitive values given.
    pub fn reads_sensitive(&self) -> bool {
        let aligns = |alignment: &Alignment| alignment.strength() > 0.0;
        self.offsets.strength > 0.0 || self.alignment.as_ref().is_some_and(aligns)
    }

    /// Scores less their offsets, before any alignment.
    pub(crate) fn less_offsets(&self, scores: &[f64], design: &SensitiveDesign) -> Vec<f64> {
        let rows = scores.iter().enumerate();
        rows.map(|(row, score)| self.offsets.less(*score, design, row))
            .collect()
    }

    /// Scores less their offsets, aligned if there is an alignment.
    pub(crate) fn aligned(&self, scores: &[f64], design: &SensitiveDesign) -> Result<Vec<f64>> {
        match &self.alignment {
            None => Ok(scores.to_vec()),
            Some(alignment) => alignment.apply(scores, given(design, None).0),
        }
    }

    /// Fits the alignment to scores of reference rows, before their offsets. At strength 0 there is none.
    pub(crate) fn align(
        &mut self,
        rule: Option<AlignRule>,
        before: &[f64],
        design: &SensitiveDesign,
        weights: &[f64],
    ) -> Result<()> {
        self.alignment = match rule {
            Some(rule) if rule.strength > 0.0 => {
                let scores = self.less_offsets(before, design);
                let (given, ridge) = given(design, Some(&self.offsets.partition));
                // Rows with unknown S get weight 0.
                let weight = |row: usize| {
                    let counts = !design.is_unknown(row);
                    if counts { weights[row] } else { 0.0 }
                };
                let weights: Vec<f64> = (0..weights.len()).map(weight).collect();
                Some(Alignment::fit(rule, &scores, given, &weights, ridge)?)
            }
            _ => None,
        };
        Ok(())
    }

    /// The same map of scores that are all moved by this amount.
    pub(crate) fn shift(&mut self, by: f64) {
        if let Some(alignment) = &mut self.alignment {
            alignment.shift(by);
        }
    }
}
