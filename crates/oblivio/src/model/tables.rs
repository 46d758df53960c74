//! Numbers of a fitted model as tables, for programs that score rows without oblivio.
//!
//! The arithmetic of the method stays in this crate: an exporter writes these tables down and looks them up.

use crate::adjust::Offsets;
use crate::align::{
    Alignment, By, ByCell, LEAST_VARIANCE, MARGINAL, Normal, SmoothNormal, SmoothTable, Table,
};
use crate::features::ObliviousFeatures;
pub use crate::partition::Cutting;
use crate::partition::{Grid, KernelFeatures, Partition};

/// The places of rows: every cell, then every mixture of cells that a policy puts in place of one.
///
/// A row has a *position* on every sensitive column (see [`Cutting`]). Positions, the last column's changing fastest, number the
/// entries of [`places`](Self::places).
#[derive(Clone, Debug)]
pub struct StandIns {
    grid: Grid,
    cells: usize,
}

impl StandIns {
    /// The places of a partition. `None` if the mixtures have more than `most` weights together.
    pub fn new(partition: &Partition, most: usize) -> Option<Self> {
        Some(Self {
            grid: partition.grid(most)?,
            cells: partition.len(),
        })
    }

    /// The place of every combination of positions; [`len`](Self::len) where the row is refused.
    pub fn places(&self) -> &[usize] {
        &self.grid.places
    }

    /// The number of places.
    #[allow(clippy::len_without_is_empty, reason = "every partition has a cell")]
    pub fn len(&self) -> usize {
        self.grid.assignment.len()
    }

    /// The weights over the cells, place after place: 1 for the cell itself.
    pub fn weights(&self) -> Vec<f64> {
        let cells = self.cells;
        let mut weights = vec![0.0; cells * cells];
        for cell in 0..cells {
            weights[cell * (cells + 1)] = 1.0;
        }
        weights.extend(self.grid.assignment.mixtures().iter().flatten());
        weights
    }

    /// The offset of every place, times the strength.
    pub fn offsets(&self, offsets: &Offsets) -> Vec<f64> {
        let offset = |place| offsets.strength * offsets.of(&self.grid.assignment, place);
        (0..self.len()).map(offset).collect()
    }

    /// The shift of the features of every place, times the strength, place after place; empty without sensitive columns.
    pub fn shifts(&self, features: &ObliviousFeatures) -> Vec<f64> {
        let width = features.map.len();
        features.cells.as_ref().map_or(Vec::new(), |cells| {
            let shifts = cells.shifts(self.grid.assignment.mixtures(), width);
            let columns = shifts.col_iter().flat_map(faer::ColRef::iter);
            columns.map(|d| cells.strength * d).collect()
        })
    }
}

/// The directions β of a regression on S, times the strength, one after the other; empty where the shift is the cell's.
pub fn directions(features: &ObliviousFeatures) -> Vec<f64> {
    let cells = features.cells.iter();
    cells
        .flat_map(|cells| cells.directions.iter().map(|d| cells.strength * d))
        .collect()
}

/// The transposed inverse of the factor L of the landmarks' kernel matrix, row after row: $\psi^\top = k^\top L^{-\top}$.
pub fn landmark_factor(features: &KernelFeatures) -> Vec<f64> {
    let lower = features.factor();
    transposed_inverse(lower, lower.len().isqrt())
}

/// An alignment as numbers for every place, or for every feature of S.
#[derive(Clone, Debug)]
pub enum AlignmentTables {
    /// Means and standard deviations by place.
    Moments(PlaceMoments),
    /// Distribution functions by place.
    Quantiles {
        /// The distribution function of every place, as a broken line.
        places: Vec<Knots>,
        /// The quantiles of the common distribution.
        common: Knots,
    },
    /// Means and variances that are regressions on S.
    RegressedMoments(RegressedMoments),
    /// Distribution functions at thresholds that are regressions on S.
    RegressedQuantiles(RegressedQuantiles),
}

/// The aligned score of a place is `centre + scale · (score − mean)/deviation`.
#[derive(Clone, Debug)]
pub struct PlaceMoments {
    /// The mean of every place.
    pub mean: Vec<f64>,
    /// The standard deviation of every place; 1 where there is none.
    pub deviation: Vec<f64>,
    /// The common standard deviation; 0 where the place has none.
    pub scale: Vec<f64>,
    /// The common mean.
    pub centre: f64,
}

/// A broken line: ascending values, and their ranks between 0 and 1.
#[derive(Clone, Debug)]
pub struct Knots {
    /// The values.
    pub values: Vec<f64>,
    /// Their ranks.
    pub ranks: Vec<f64>,
}

/// A regression on the features D of S: `mean + Σ on_a D_a`.
#[derive(Clone, Debug)]
pub struct Regressed {
    /// The mean over the reference rows.
    pub mean: f64,
    /// The coefficient of every feature.
    pub on: Vec<f64>,
}

/// The aligned score is `centre + scale · (score − mean(s))/√variance(s)`.
#[derive(Clone, Debug)]
pub struct RegressedMoments {
    /// The mean given S.
    pub mean: Regressed,
    /// The variance given S; its mean is 0 where scores have no spread given S, and the aligned score is then `centre`.
    pub variance: Regressed,
    /// The least variance.
    pub least: f64,
    /// The common mean.
    pub centre: f64,
    /// The common standard deviation.
    pub scale: f64,
}

/// The rank of a score is `(1 − marginal)` times its rank given S and `marginal` times its rank among all scores.
#[derive(Clone, Debug)]
pub struct RegressedQuantiles {
    /// The thresholds, and their ranks among all scores.
    pub all: Knots,
    /// The coefficients of each feature at every threshold, feature after feature.
    pub on: Vec<f64>,
    /// The common quantiles at the ranks of the thresholds.
    pub common: Vec<f64>,
    /// The share of the distribution of all scores.
    pub marginal: f64,
}

impl AlignmentTables {
    /// The tables of an alignment. `None` if the broken lines of all places have more than `most` knots together.
    pub fn new(alignment: &Alignment, places: &StandIns, most: usize) -> Option<Self> {
        Some(match &alignment.by {
            By::CellMoments(cells) => Self::Moments(place_moments(cells, places)),
            By::CellQuantiles(cells) => {
                let lines = cells.distributions(&places.grid.assignment, most)?;
                Self::Quantiles {
                    places: lines.into_iter().map(Knots::from).collect(),
                    common: cells.barycentre().into(),
                }
            }
            By::SmoothMoments(normal) => Self::RegressedMoments(normal.into()),
            By::SmoothQuantiles(table) => Self::RegressedQuantiles(table.into()),
        })
    }
}

/// The largest factor by which an alignment enlarges a difference of scores, and with it a rounding error.
///
/// `None` for quantiles: they can be as steep as scores are near each other.
pub fn amplification(alignment: &Alignment) -> Option<f64> {
    let full = match &alignment.by {
        By::CellMoments(cells) => {
            let population = cells.shares();
            let common = Normal::common(population.iter().copied()).deviation;
            let spread = population.iter().map(|(cell, _)| cell.deviation);
            let spread = spread.filter(|deviation| *deviation > cells.negligible);
            common / spread.fold(f64::INFINITY, f64::min)
        }
        By::SmoothMoments(normal) if normal.variance == 0.0 => 0.0,
        By::SmoothMoments(normal) => normal.scale / (LEAST_VARIANCE * normal.variance).sqrt(),
        By::CellQuantiles(_) | By::SmoothQuantiles(_) => return None,
    };
    Some(1.0 + alignment.strength() * (full - 1.0).max(0.0))
}

fn place_moments(cells: &ByCell<Normal>, places: &StandIns) -> PlaceMoments {
    let population = cells.shares();
    let common = Normal::common(population.iter().copied());
    let assignment = &places.grid.assignment;
    let own: Vec<Normal> = (0..places.len())
        .map(|place| Normal::mixed(cells.parts(&population, assignment, place).into_iter()))
        .collect();
    let spread = |normal: &Normal| normal.deviation > cells.negligible;
    let table = |entry: &dyn Fn(&Normal) -> f64| own.iter().map(entry).collect();
    PlaceMoments {
        mean: table(&|normal| normal.mean),
        deviation: table(&|normal| {
            if spread(normal) {
                normal.deviation
            } else {
                1.0
            }
        }),
        scale: table(&|normal| {
            if spread(normal) {
                common.deviation
            } else {
                0.0
            }
        }),
        centre: common.mean,
    }
}

impl From<Table> for Knots {
    fn from(table: Table) -> Self {
        Self {
            values: table.values,
            ranks: table.ranks,
        }
    }
}

impl From<&SmoothNormal> for RegressedMoments {
    fn from(normal: &SmoothNormal) -> Self {
        let regressed = |mean: f64, on: &[f64]| Regressed {
            mean,
            on: on.to_vec(),
        };
        Self {
            mean: regressed(normal.mean, &normal.mean_on),
            variance: regressed(normal.variance, &normal.variance_on),
            least: LEAST_VARIANCE * normal.variance,
            centre: normal.centre,
            scale: normal.scale,
        }
    }
}

impl From<&SmoothTable> for RegressedQuantiles {
    fn from(table: &SmoothTable) -> Self {
        Self {
            all: table.all.clone().into(),
            on: table.on.clone(),
            common: table.common.clone(),
            marginal: MARGINAL,
        }
    }
}

/// The transposed inverse of a lower triangular matrix, row after row.
fn transposed_inverse(lower: &[f64], count: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; count * count];
    for j in 0..count {
        // Column j of the inverse solves L v = e_j, and is row j of its transpose.
        let v = &mut inverse[j * count..(j + 1) * count];
        for i in j..count {
            let before: f64 = (j..i).map(|k| lower[i * count + k] * v[k]).sum();
            let right = if i == j { 1.0 } else { 0.0 };
            v[i] = (right - before) / lower[i * count + i];
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_of_a_triangle_times_it_is_one() {
        let lower = [2.0, 0.0, 0.0, 1.0, 4.0, 0.0, -3.0, 0.5, 0.25];
        let inverse = transposed_inverse(&lower, 3);
        for i in 0..3 {
            for j in 0..3 {
                let entry: f64 = (0..3).map(|k| lower[i * 3 + k] * inverse[j * 3 + k]).sum();
                assert!((entry - f64::from(u8::from(i == j))).abs() < 1e-15);
            }
        }
    }
}
