//! The design D of rows: how much of each direction of the conditional mean is in the shift of a row.

mod append;
mod correction;
#[cfg(test)]
mod tests;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

pub use self::correction::Shifts;
pub(crate) use self::correction::{Correction, Side};
use super::Uses;

/// Rows worked on at a time; fixed, so that the result does not depend on the threads.
const CHUNK: usize = 256;

/// The design D of some rows: the shift of row i is $\delta_i = \sum_a D_{ia}\beta_a$ with the directions $\beta_a$ of the conditional mean.
///
/// Where the conditional mean is by cells, a row of D has weights over the cells: 1 for its own cell, or a mixture where a policy
/// stands in. Where it is a regression, a row of D has the centred features of S. Nothing outside this module asks which of the two it
/// is. Rows also have a cell for reports in both cases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SensitiveDesign {
    cells: CellCodes,
    storage: Storage,
    /// One entry for each row.
    status: Vec<RowStatus>,
    /// How often a policy was used.
    pub uses: Uses,
}

/// The knowledge of the S of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowStatus {
    /// The row has a cell of its own, or features of S.
    #[default]
    Known,
    /// A policy gives weights over the cells.
    StandIn,
    /// S is unknown: the row of D is zero, and nothing is taken off.
    Unknown,
    /// The row misses a sensitive value, and a model that needs none scores it.
    Missing,
}

/// The weights of a row over the cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellWeights<'a> {
    /// The row's own cell.
    Own(usize),
    /// A weight for each cell. They sum to 1, or to 0 where the mean is taken as 0.
    Mixture(&'a [f64]),
}

/// Rows with equal weights have the same code.
#[derive(Clone, Debug, Default, PartialEq)]
struct CellCodes {
    /// The number of cells.
    count: usize,
    /// Codes below `count` are cells; further codes are the mixtures, in order.
    codes: Vec<u32>,
    mixtures: Vec<Vec<f64>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Storage {
    /// D is in the cell codes: few distinct rows, found by look-up.
    #[default]
    Coded,
    /// One row of D in each column.
    Dense(Mat<f64>),
    /// D was dropped. Codes and status serve reports.
    Dropped,
}

/// Rows of D as codes of few distinct rows.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a> {
    /// The number of cells.
    pub cells: usize,
    /// One code for each row: a cell, or the number of cells and more for the mixtures, in order.
    pub codes: &'a [u32],
    /// Weights over the cells.
    pub mixtures: &'a [Vec<f64>],
}

/// Sums over rows: $\sum_i\alpha_i D_i$, and $\sum_i\alpha_i$.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignSums {
    /// One sum for each direction.
    pub values: Vec<f64>,
    /// The sum of α over all rows.
    pub total: f64,
}

/// The parts of a design of one row, to be written in place.
pub(in crate::partition) struct RowSlot<'a> {
    pub(in crate::partition) code: &'a mut u32,
    /// The weights that code `count` stands for.
    pub(in crate::partition) mixture: &'a mut [f64],
    /// D; empty where it is in the code.
    pub(in crate::partition) features: &'a mut [f64],
    pub(in crate::partition) status: &'a mut RowStatus,
    pub(in crate::partition) uses: &'a mut Uses,
}

impl SensitiveDesign {
    /// Rows with these cells.
    pub fn from_cells(cells: Vec<u32>) -> Self {
        let count = cells.iter().max().map_or(0, |cell| *cell as usize + 1);
        Self::from_codes(count, cells, Vec::new())
    }

    /// Rows with these codes: below `count` a cell, above one of the mixtures, each of `count` weights.
    pub fn from_codes(count: usize, codes: Vec<u32>, mixtures: Vec<Vec<f64>>) -> Self {
        let status = |code: &u32| {
            if (*code as usize) < count {
                RowStatus::Known
            } else {
                RowStatus::StandIn
            }
        };
        Self {
            status: codes.iter().map(status).collect(),
            cells: CellCodes {
                count,
                codes,
                mixtures,
            },
            storage: Storage::Coded,
            uses: Uses::default(),
        }
    }

    /// The same rows with features of S in place of the cells, one row in each column. Where `unknown` says so, S is unknown.
    /// Features may be weights over the cells: a policy then stands in as before.
    #[must_use]
    pub(crate) fn with_features(
        self,
        features: Mat<f64>,
        unknown: &[bool],
        are_weights: bool,
    ) -> Self {
        let status = |row: usize| match unknown.get(row) {
            Some(true) => RowStatus::Unknown,
            _ if are_weights => self.status[row],
            _ => RowStatus::Known,
        };
        Self {
            status: (0..self.len()).map(status).collect(),
            storage: Storage::Dense(features),
            ..self
        }
    }

    /// Space for one row, with `features` features of S or none.
    pub(in crate::partition) fn one_row(count: usize, features: Option<usize>) -> Self {
        Self {
            cells: CellCodes {
                count,
                codes: vec![0],
                mixtures: vec![vec![0.0; count]],
            },
            storage: features.map_or(Storage::Coded, |features| {
                Storage::Dense(Mat::zeros(features, 1))
            }),
            status: vec![RowStatus::Known],
            uses: Uses::default(),
        }
    }

    /// The one row of a design that [`one_row`](Self::one_row) made.
    pub(in crate::partition) fn slot(&mut self) -> RowSlot<'_> {
        RowSlot {
            code: &mut self.cells.codes[0],
            mixture: &mut self.cells.mixtures[0],
            features: match &mut self.storage {
                Storage::Dense(features) => features.col_as_slice_mut(0),
                Storage::Coded | Storage::Dropped => &mut [],
            },
            status: &mut self.status[0],
            uses: &mut self.uses,
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.cells.codes.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.cells.codes.is_empty()
    }

    /// Whether the S of a row is known.
    pub fn status(&self, row: usize) -> RowStatus {
        self.status[row]
    }

    /// Whether D is zero because the S of a row is unknown.
    pub(crate) fn is_unknown(&self, row: usize) -> bool {
        self.status[row] == RowStatus::Unknown
    }

    /// The rows that miss a sensitive value.
    pub(crate) fn missing(&self) -> Vec<usize> {
        let missing = |row: &usize| self.status[*row] == RowStatus::Missing;
        (0..self.len()).filter(missing).collect()
    }

    /// The cell of a row, for reports; `None` where a policy stands in.
    pub fn cell(&self, row: usize) -> Option<usize> {
        Some(self.cells.codes[row] as usize).filter(|code| *code < self.cells.count)
    }

    /// The cell of every row, for reports.
    pub fn cells(&self) -> impl Iterator<Item = Option<usize>> {
        (0..self.len()).map(|row| self.cell(row))
    }

    /// A number for each row, for reports: its cell, and the number of cells or more where a policy stands in.
    pub fn codes(&self) -> &[u32] {
        &self.cells.codes
    }

    /// The weights of a row over the cells, for reports.
    pub fn cell_weights(&self, row: usize) -> CellWeights<'_> {
        let code = self.cells.codes[row] as usize;
        match code.checked_sub(self.cells.count) {
            None => CellWeights::Own(code),
            Some(k) => CellWeights::Mixture(self.cells.mixtures.get(k).map_or(&[], |w| &w[..])),
        }
    }

    /// Whether D projects onto the cells: offsets are then constant within a cell, and so are shifts. The leave-one-out errors of a
    /// projection are not optimistic, and the targets of ridge regression need no residual.
    pub fn is_projection(&self) -> bool {
        matches!(self.storage, Storage::Coded)
    }

    /// D as codes of few distinct rows, where it is by cells.
    pub fn groups(&self) -> Option<Groups<'_>> {
        self.is_projection().then_some(Groups {
            cells: self.cells.count,
            codes: &self.cells.codes,
            mixtures: &self.cells.mixtures,
        })
    }

    /// D with one row in each column, where it is a regression.
    pub fn matrix(&self) -> Option<&Mat<f64>> {
        match &self.storage {
            Storage::Dense(features) => Some(features),
            Storage::Coded | Storage::Dropped => None,
        }
    }

    /// The mixtures: shifts are needed of each, after the shifts of the cells. None where D is a regression.
    pub fn mixtures(&self) -> &[Vec<f64>] {
        match self.storage {
            Storage::Coded => &self.cells.mixtures,
            Storage::Dense(_) | Storage::Dropped => &[],
        }
    }

    /// The same without D, which is large where it is a regression. Codes and status are left.
    #[must_use]
    pub(crate) fn for_reports(self) -> Self {
        Self {
            storage: match self.storage {
                Storage::Coded => Storage::Coded,
                Storage::Dense(_) | Storage::Dropped => Storage::Dropped,
            },
            ..self
        }
    }

    /// Whether offsets cannot be computed, because D was dropped.
    pub(crate) fn is_for_reports(&self) -> bool {
        matches!(self.storage, Storage::Dropped)
    }

    /// $\sum_c w_cv_c + (\sum_cw_c - 1)\,m$ with the weights w of a row over the cells, v the means of h over the cells less the
    /// overall mean m; or $\sum_aD_av_a$ where D is a regression.
    pub(crate) fn offset(&self, row: usize, values: &[f64], overall: f64) -> f64 {
        if let Storage::Dense(features) = &self.storage {
            let pairs = values.iter().zip(features.col_as_slice(row));
            return pairs.map(|(v, d)| v * d).sum();
        }
        match self.cell_weights(row) {
            CellWeights::Own(cell) => values[cell],
            CellWeights::Mixture(weights) => {
                let inside: f64 = weights.iter().zip(values).map(|(w, v)| w * v).sum();
                inside + (weights.iter().sum::<f64>() - 1.0) * overall
            }
        }
    }

    /// $\sum_pD_{ip}v_p$ with a value for each cell, then for each mixture; or for each feature of S.
    pub fn product(&self, row: usize, value: impl Fn(usize) -> f64) -> f64 {
        match &self.storage {
            Storage::Dense(features) => {
                let own = features.col_as_slice(row).iter().enumerate();
                own.map(|(p, d)| d * value(p)).sum()
            }
            Storage::Coded | Storage::Dropped => value(self.cells.codes[row] as usize),
        }
    }

    /// $D_{ip}$, p running over the cells, then the mixtures; or over the features of S.
    pub(crate) fn entry(&self, row: usize, p: usize) -> f64 {
        match &self.storage {
            Storage::Dense(features) => features[(p, row)],
            Storage::Coded | Storage::Dropped => {
                f64::from(u8::from(self.cells.codes[row] as usize == p))
            }
        }
    }

    /// $D_i^\top GD_i$ for every row; rows by cells have a cell of their own, or `gram` has the mixtures, too.
    pub fn quadratic(&self, gram: MatRef<'_, f64>) -> Vec<f64> {
        let of = |i: usize| match &self.storage {
            Storage::Dense(features) => {
                let d = features.col_as_slice(i);
                let row = |a: usize| (0..d.len()).map(|b| gram[(a, b)] * d[b]).sum::<f64>();
                (0..d.len()).map(|a| d[a] * row(a)).sum()
            }
            Storage::Coded | Storage::Dropped => {
                let code = self.cells.codes[i] as usize;
                gram[(code, code)]
            }
        };
        (0..self.len()).map(of).collect()
    }

    /// $D^\top\alpha$, and the sum of α.
    pub fn sum(&self, alpha: &[f64]) -> DesignSums {
        let mut values = vec![0.0; self.width()];
        if let Storage::Dense(features) = &self.storage {
            for (i, alpha) in alpha.iter().enumerate() {
                let row = features.col_as_slice(i);
                let pairs = values.iter_mut().zip(row);
                pairs.for_each(|(sum, d)| *sum += alpha * d);
            }
        } else {
            for (row, alpha) in alpha.iter().enumerate() {
                match self.cell_weights(row) {
                    CellWeights::Own(cell) => values[cell] += alpha,
                    CellWeights::Mixture(weights) => {
                        for (sum, weight) in values.iter_mut().zip(weights) {
                            *sum += alpha * weight;
                        }
                    }
                }
            }
        }
        DesignSums {
            values,
            total: alpha.iter().sum::<f64>(),
        }
    }

    /// The number of directions: cells, or features of S.
    pub fn width(&self) -> usize {
        match &self.storage {
            Storage::Dense(features) => features.nrows(),
            Storage::Coded | Storage::Dropped => self.cells.count,
        }
    }

    /// Subtracts t times the shift from the features of every row, row after row. Directions are columns: of the cells and mixtures, or
    /// of the features of S.
    pub(crate) fn subtract(
        &self,
        strength: f64,
        directions: MatRef<'_, f64>,
        features: &mut [f64],
    ) {
        let width = directions.nrows();
        if let Storage::Dense(design) = &self.storage {
            let blocks = features.par_chunks_mut(width * CHUNK).enumerate();
            blocks.for_each(|(block, rows)| {
                let number = rows.len() / width;
                matmul(
                    MatMut::from_column_major_slice_mut(rows, width, number),
                    Accum::Add,
                    directions,
                    design.subcols(block * CHUNK, number),
                    -strength,
                    Par::Seq,
                );
            });
            return;
        }
        let entry = |k: usize, p: usize| strength * directions[(k, p)];
        let shifts = Mat::from_fn(width, directions.ncols(), entry);
        let rows = features.par_chunks_mut(width).zip(&self.cells.codes);
        rows.for_each(|(row, code)| {
            let shift = shifts.col_as_slice(*code as usize);
            row.iter_mut().zip(shift).for_each(|(f, s)| *f -= s);
        });
    }

    /// Subtracts this mean of D from every row, where D is a regression.
    pub(crate) fn recentre(&mut self, mean: &[f64]) {
        if let Storage::Dense(features) = &mut self.storage {
            for i in 0..features.ncols() {
                let row = features.col_as_slice_mut(i);
                row.iter_mut().zip(mean).for_each(|(d, m)| *d -= m);
            }
        }
    }

    /// Writes the weights of a row over the cells: the indicator of its cell, or its mixture.
    pub(crate) fn indicate(&self, row: usize, weights: &mut [f64]) {
        match self.cell_weights(row) {
            CellWeights::Own(cell) => {
                weights.fill(0.0);
                weights[cell] = 1.0;
            }
            CellWeights::Mixture(mixture) => weights.copy_from_slice(mixture),
        }
    }
}
