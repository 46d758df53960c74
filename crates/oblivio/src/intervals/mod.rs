//! Prediction intervals: a half-width for each cell, from residuals of rows that the score has not seen.
//!
//! The interval of a row is its score, more or less the half-width of its cell (conformal prediction, Mondrian by cell). What is
//! promised is weak: rows of a cell that are exchangeable with those of the fit are covered about as often as asked, up to the
//! instability of leaving out a row or a fold; on average over the cell, not row by row.

mod coverage;
mod predict;
mod residuals;

use oblivio_base::{Error, Named, Result, Warning};

pub use self::coverage::{CellCoverage, Coverage};
pub use self::predict::PredictionInterval;
pub(crate) use self::residuals::Residuals;
use crate::partition::{CellWeights, SensitiveDesign};

/// The coverage that is meant where none is given.
pub const USUAL_COVERAGE: f64 = 0.9;

/// Which models have not seen the rows whose residuals are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalSource {
    /// Leave-one-out where it has a closed form, else folds.
    #[default]
    Auto,
    /// Each row is scored by the ridge regression without it, in closed form: exact with the conditional means held fixed.
    /// On the exact path, without alignment.
    Loo,
    /// Each of five folds, drawn by seed alike from every cell, is scored by a model fitted to the others from the beginning.
    Folds,
}

impl Named for IntervalSource {
    const WHAT: &'static str = "intervals";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("loo", Self::Loo),
        ("folds", Self::Folds),
    ];
}

/// The residuals of each cell, from which half-widths follow for any coverage.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals {
    pub(crate) source: IntervalSource,
    pub(crate) cells: Vec<Residuals>,
}

impl Intervals {
    /// The residuals $|y_i - \text{score}_i|$ of rows that the score has not seen, sorted into so many cells. Rows without a cell of
    /// their own belong to none.
    pub(crate) fn new(
        source: IntervalSource,
        cells: usize,
        residuals: &[f64],
        (cell_of, weights): (&[u32], &[f64]),
    ) -> Self {
        let mut sorted = vec![Vec::new(); cells];
        for ((&residual, &weight), &cell) in residuals.iter().zip(weights).zip(cell_of) {
            if let Some(rows) = sorted.get_mut(cell as usize) {
                rows.push((residual, weight));
            }
        }
        Self {
            source,
            cells: sorted.into_iter().map(Residuals::new).collect(),
        }
    }

    /// Where the residuals come from: leave-one-out or folds.
    pub fn source(&self) -> IntervalSource {
        self.source
    }

    /// The rows whose residuals each cell has.
    pub fn rows(&self) -> Vec<usize> {
        self.cells.iter().map(|cell| cell.rows).collect()
    }

    /// The half-width of every cell: the residual with rank $\lceil(n_c + 1)\,\text{coverage}\rceil$ among the $n_c$ of the cell,
    /// and infinite where they are too few. A row of weight w counts as w rows.
    pub fn half_widths(&self, coverage: f64) -> Result<Vec<f64>> {
        check_coverage(coverage)?;
        let of = |cell: &Residuals| cell.half_width(coverage);
        Ok(self.cells.iter().map(of).collect())
    }

    /// A remark if the intervals of some cells have no end at this coverage.
    pub fn remark(&self, coverage: f64) -> Result<Option<Warning>> {
        let widths = self.half_widths(coverage)?;
        let count = widths.iter().filter(|width| width.is_infinite()).count();
        Ok((count > 0).then_some(Warning::EndlessIntervals {
            count,
            needed: (coverage / (1.0 - coverage) - 1e-9).ceil() as usize,
            coverage,
        }))
    }

    /// The half-width of every row. One that may be in several cells (or in any, where nothing is known of it) has the largest of
    /// theirs.
    fn of_rows(
        &self,
        assignment: Option<&SensitiveDesign>,
        rows: usize,
        coverage: f64,
    ) -> Result<Vec<f64>> {
        let widths = self.half_widths(coverage)?;
        let largest = |may: &dyn Fn(usize) -> bool| {
            let own = widths.iter().enumerate().filter(|(cell, _)| may(*cell));
            own.map(|(_, width)| *width).fold(0.0, f64::max)
        };
        let any = largest(&|_| true);
        let Some(assignment) = assignment else {
            return Ok(vec![any; rows]);
        };
        let of = |row| match assignment.cell_weights(row) {
            CellWeights::Own(cell) => widths[cell],
            CellWeights::Mixture(weights) if weights.iter().any(|w| *w > 0.0) => {
                largest(&|cell| weights[cell] > 0.0)
            }
            CellWeights::Mixture(_) => any,
        };
        Ok((0..assignment.len()).map(of).collect())
    }
}

fn check_coverage(coverage: f64) -> Result<()> {
    if coverage > 0.0 && coverage < 1.0 {
        Ok(())
    } else {
        Err(Error::InvalidParameter {
            name: "coverage",
            expected: "between 0 and 1, both excluded",
            value: coverage.to_string(),
        })
    }
}
