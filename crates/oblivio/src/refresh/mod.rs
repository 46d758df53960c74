//! Offsets from new rows without labels, and how far the cells have drifted.

mod drift;
mod sums;

use oblivio_base::points::check_each_weight;
use oblivio_base::{Error, Named, Points, Result, Watch};

pub(crate) use self::drift::FitMeans;
use self::drift::realign;
pub use self::drift::{Drift, SinceFit};
pub(crate) use self::sums::SmoothSums;
use self::sums::{CellScores, OffsetSums, SmoothScores};
use crate::adjust::Offsets;
use crate::align::SampledScores;
use crate::moments::{Moments, SAMPLE};
use crate::partition::Uses;
use crate::predictor::Predictor;
use crate::sensitive::Sensitive;

/// How many new rows a cell needs, and what becomes of cells that have fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// The fewest new rows of a cell; never less than one.
    pub least: usize,
    /// What becomes of cells with fewer.
    pub small: SmallCells,
}

/// What becomes of cells with too few new rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SmallCells {
    /// The refresh is refused.
    #[default]
    Refuse,
    /// They keep their mean and their share of the population. A regression on S is renewed all the same: it is one of all rows.
    Keep,
}

impl Named for SmallCells {
    const WHAT: &'static str = "policy for small cells";
    const NAMES: &'static [(&'static str, Self)] = &[("error", Self::Refuse), ("keep", Self::Keep)];
}

impl Default for Renewal {
    fn default() -> Self {
        Self {
            least: 30,
            small: SmallCells::default(),
        }
    }
}

impl Renewal {
    /// At least so many rows; cells with fewer stay as they were.
    pub fn keeping(least: usize) -> Self {
        Self {
            least,
            small: SmallCells::Keep,
        }
    }

    fn is_small(self, rows: usize) -> bool {
        rows < self.least.max(1)
    }
}

/// New offsets in the making: scores of rows that need no label, added up per cell.
///
/// A model with an alignment gets a new one, fitted to a seeded sample of 65 536 of the rows. A cell with too few rows in the sample
/// keeps its distribution.
#[derive(Clone, Debug)]
pub struct Refresh {
    predictor: Predictor,
    cells: Vec<CellScores>,
    /// Of a model whose offsets are a regression on features of S.
    smooth: Option<SmoothScores>,
    uses: Uses,
    /// For a new alignment.
    sampled: Option<SampledScores>,
}

impl Predictor {
    /// Begins a refresh of the offsets.
    pub fn refresh(&self) -> Result<Refresh> {
        let mut refresh = self.refresh_beside()?;
        let cells = refresh.cells.len();
        if let Some(smooth) = &mut refresh.smooth {
            smooth.sums = Some(SmoothSums::new(smooth.cross.len(), cells));
        }
        Ok(refresh)
    }

    /// Begins a refresh beside that of another score, which adds up the features of S for both.
    pub(crate) fn refresh_beside(&self) -> Result<Refresh> {
        let offsets = self.refreshable()?;
        let count = offsets.partition.len();
        let features = offsets.smooth.as_ref().map(|smooth| smooth.values.len());
        Ok(Refresh {
            predictor: self.clone(),
            cells: vec![CellScores::default(); count],
            smooth: features.map(|features| SmoothScores {
                score: 0.0,
                cross: vec![0.0; features],
                sums: None,
            }),
            uses: Uses::default(),
            sampled: self
                .alignment()
                .is_some()
                .then(|| SampledScores::new(SAMPLE, 0)),
        })
    }

    /// The offsets that the moments of new rows amount to, gathered by the plan of the fit. The standard deviations are
    /// those within all cells together. Not for a model with an alignment, which needs the scores of single rows.
    pub fn refresh_from(
        &self,
        moments: &Moments,
        renewal: Renewal,
        watch: &Watch,
    ) -> Result<(Self, Vec<Drift>)> {
        self.refreshable()?;
        if self.alignment().is_some() {
            return Err(Error::InvalidParameter {
                name: "a model to refresh from moments",
                expected: "one without alignment, which needs the rows: refresh it from them",
                value: "one with alignment".into(),
            });
        }
        let sums = OffsetSums::from_moments(self, moments, watch)?;
        sums.finish(self, renewal, None)
    }

    fn refreshable(&self) -> Result<&Offsets> {
        self.offsets().ok_or(Error::InvalidParameter {
            name: "a model to refresh",
            expected: "one that was fitted with sensitive columns",
            value: "one without".into(),
        })
    }
}

impl Refresh {
    /// Adds rows. Those without a cell of their own are counted and left out.
    pub fn update(
        &mut self,
        points: &Points,
        sensitive: &Sensitive,
        weights: Option<&[f64]>,
        watch: &Watch,
    ) -> Result<()> {
        if sensitive.len() != points.len() {
            return Err(Error::Length {
                what: "the sensitive part",
                found: sensitive.len(),
                needed: points.len(),
            });
        }
        if let Some(weights) = weights {
            check_each_weight(weights, points.len())?;
        }
        let mut complete = vec![false; points.len()];
        for row in self
            .predictor
            .refreshable()?
            .partition
            .complete(sensitive)?
        {
            complete[row] = true;
        }
        if !complete.contains(&true) {
            return Ok(());
        }
        let prediction = self.predictor.predict(points, Some(sensitive), watch)?;
        self.uses = self.uses.plus(prediction.uses);
        let assignment = prediction.assignment.unwrap_or_default();
        for (row, complete) in complete.iter_mut().enumerate() {
            *complete &= !assignment.is_unknown(row);
        }
        if let Some(sampled) = &mut self.sampled {
            let counting = |row: usize| weights.map_or(1.0, |weights| weights[row]);
            let counted: Vec<f64> = (0..points.len())
                .map(|row| if complete[row] { counting(row) } else { 0.0 })
                .collect();
            let weights = &counted[..];
            let drawn = sampled.draw(weights);
            let pick = |values: &[f64]| drawn.iter().map(|&i| values[i]).collect::<Vec<f64>>();
            let chosen = assignment.select(&drawn);
            sampled.add(&pick(&prediction.before), &pick(weights), chosen);
        }
        for (row, cell) in assignment.cells().enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[row]);
            let score = prediction.before[row] - self.predictor.intercept;
            if weight == 0.0 || !complete[row] {
                continue;
            }
            if let Some(cell) = cell {
                self.cells[cell].rows += 1;
                self.cells[cell].spread.add(score, weight);
            }
            if let (Some(sums), Some(features)) = (&mut self.smooth, assignment.matrix()) {
                sums.add(features.col_as_slice(row), score, weight, cell);
            }
        }
        Ok(())
    }

    /// The predictor with new offsets, the drift of every cell, and how often rows needed a policy.
    pub fn finish(self, renewal: Renewal) -> Result<(Predictor, Vec<Drift>, Uses)> {
        self.finish_since(renewal, None, None)
    }

    /// The sums over features of S, for scores beside this one.
    pub(crate) fn take_sums(&mut self) -> Option<SmoothSums> {
        self.smooth.as_mut().and_then(|smooth| smooth.sums.take())
    }

    /// The same, with the drift since the fit, whose means are these; `sums` are those of the score that was refreshed beside this one.
    pub(crate) fn finish_since(
        mut self,
        renewal: Renewal,
        fit: Option<FitMeans>,
        sums: Option<&SmoothSums>,
    ) -> Result<(Predictor, Vec<Drift>, Uses)> {
        let own = self.take_sums();
        let sums = sums.or(own.as_ref());
        let mut sampled = self.sampled.map(|sampled| sampled.finish(&|_| true));
        let of = &self.predictor.refreshable()?.partition.smooth;
        let regression = match (self.smooth, sums, of) {
            (Some(scores), Some(sums), Some(of)) => {
                if let Some(sampled) = &mut sampled {
                    sampled.assignment.recentre(&sums.mean());
                }
                Some(sums.regression(of, &scores)?)
            }
            _ => None,
        };
        let sums = OffsetSums {
            cells: self.cells,
            regression,
        };
        let (mut predictor, drift) = sums.finish(&self.predictor, renewal, fit)?;
        if let (Some(old), Some(sampled)) = (self.predictor.alignment(), sampled) {
            let new = realign(&self.predictor, old, &predictor, &sampled, renewal)?;
            if let Some(adjustment) = &mut predictor.adjustment {
                adjustment.alignment = Some(new);
            }
        }
        Ok((predictor, drift, self.uses))
    }
}
