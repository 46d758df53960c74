//! What becomes of the values of each column.

use std::collections::HashSet;

use oblivio::Partition;
use oblivio::partition::SensitiveDesign;
use oblivio_base::Result;
use oblivio_base::error::require;
use oblivio_base::stats::effective_rows;
use serde::{Deserialize, Serialize};

use super::bytes::DAMAGED;
use super::conditional::Reference;
use super::coupling::CouplingMap;
use super::draw::{Draws, Purpose};
use super::form::{ColumnForm, Form};
use super::quantile::QuantileMap;
use super::residual::ResidualMap;
use super::settings::ReleaseMethod;

/// The most values of a column of few values.
const GRADES: usize = 256;
/// The fewest rows for each of them, on average.
const ROWS_PER_GRADE: usize = 10;
/// Whole numbers of so few values are always a column of few values.
const WHOLE_GRADES: usize = 20;

/// What becomes of the values of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ColumnMap {
    /// Nothing.
    Kept(Why),
    Quantile(QuantileMap),
    Coupling(CouplingMap),
    Residual(ResidualMap),
}

/// Why a column is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Why {
    /// It has one value at most.
    Constant,
    /// S has one cell.
    NothingKnown,
    /// The method changes numbers only.
    Categories,
}

impl ColumnMap {
    /// Learns what becomes of a column; `weights` are those of all reference rows.
    pub(super) fn fit(
        method: ReleaseMethod,
        form: &ColumnForm,
        values: &[f64],
        (partition, assignment): (&Partition, &SensitiveDesign),
        weights: &[f64],
    ) -> Result<Self> {
        if method == ReleaseMethod::Residual && matches!(form.form, Form::Categories(_)) {
            return Ok(Self::Kept(Why::Categories));
        }
        if partition.len() == 1 && partition.smooth().is_none() {
            return Ok(Self::Kept(Why::NothingKnown));
        }
        let rows: Vec<usize> = (0..values.len()).filter(|&i| !values[i].is_nan()).collect();
        let distinct: HashSet<u64> = rows.iter().map(|&i| (values[i] + 0.0).to_bits()).collect();
        let distinct = distinct.len();
        if distinct < 2 {
            return Ok(Self::Kept(Why::Constant));
        }
        let taught = |(value, weight): (&f64, &f64)| if value.is_nan() { 0.0 } else { *weight };
        let weights: Vec<f64> = values.iter().zip(weights).map(taught).collect();
        let reference = Reference {
            partition,
            assignment,
            weights: &weights,
            rows: &rows,
        };
        match (&form.form, method) {
            (Form::Categories(levels), _) => {
                CouplingMap::fit(values, reference, levels.len()).map(Self::Coupling)
            }
            (_, ReleaseMethod::Residual) => ResidualMap::fit(values, reference).map(Self::Residual),
            (Form::Numbers(format), _) => {
                let total = effective_rows(rows.len(), weights.iter().sum());
                let few = distinct <= GRADES && total >= ROWS_PER_GRADE * distinct;
                if few || (format.is_whole() && distinct <= WHOLE_GRADES) {
                    QuantileMap::graded(values, reference, distinct).map(Self::Quantile)
                } else {
                    QuantileMap::barycentre(values, reference).map(Self::Quantile)
                }
            }
        }
    }

    /// The released values, not yet written as the column's are.
    pub(super) fn apply(
        &self,
        values: &[f64],
        assignment: &SensitiveDesign,
        (form, draws): (&ColumnForm, &Draws),
        strength: f64,
    ) -> Result<Vec<f64>> {
        let own = (form.name.as_str(), draws);
        match (self, &form.form) {
            (Self::Kept(_), _) => Ok(values.to_vec()),
            (Self::Quantile(map), _) => map.apply(values, assignment, own, strength),
            (Self::Coupling(map), _) => map.apply(values, assignment, own, strength),
            (Self::Residual(map), Form::Categories(_)) => map.apply(values, assignment, strength),
            (Self::Residual(map), Form::Numbers(format)) => {
                let place = draws.of(&form.name, Purpose::Place);
                let less = map.apply(values, assignment, strength)?;
                let less = less.iter().enumerate();
                Ok(less
                    .map(|(row, v)| format.drawn(*v, place.at(row)))
                    .collect())
            }
        }
    }

    /// Whether values are chosen by draws.
    pub(super) fn is_drawn(&self) -> bool {
        match self {
            Self::Coupling(_) => true,
            Self::Quantile(map) => map.is_graded(),
            Self::Kept(_) | Self::Residual(_) => false,
        }
    }

    /// Whether draws only tell equal and neighbouring values apart.
    pub(super) fn is_placed(&self) -> bool {
        matches!(self, Self::Quantile(map) if !map.is_graded())
    }

    pub(super) fn is_residual(&self) -> bool {
        matches!(self, Self::Residual(_))
    }

    /// What is done, in words.
    pub(super) fn words(&self) -> &'static str {
        match self {
            Self::Kept(Why::Constant) => "left as it is: it has one value",
            Self::Kept(Why::NothingKnown) => "left as it is: S tells no rows apart",
            Self::Kept(Why::Categories) => "left as it is: categories have no mean",
            Self::Quantile(map) if map.is_graded() => {
                "the value of the same rank among all rows, ranks of equal values drawn"
            }
            Self::Quantile(_) => "the number of the same rank in the barycentre",
            Self::Coupling(_) => "the shares of all rows, with the fewest changes, drawn",
            Self::Residual(_) => {
                "less its conditional mean, plus the mean; rounded up or down by draw"
            }
        }
    }

    /// Refuses a map that no fit of such a column gives.
    pub(super) fn check_read(&self, form: &ColumnForm, partition: &Partition) -> Result<()> {
        match (self, &form.form) {
            (Self::Kept(_), _) => Ok(()),
            (Self::Quantile(map), Form::Numbers(_)) => map.check_read(partition),
            (Self::Residual(map), Form::Numbers(_)) => map.check_read(partition),
            (Self::Coupling(map), Form::Categories(levels)) => {
                map.check_read(partition, levels.len())
            }
            _ => require(false, DAMAGED),
        }
    }

    /// All numbers of which there may be many.
    pub(super) fn numbers(&mut self) -> Vec<&mut Vec<f64>> {
        match self {
            Self::Kept(_) => Vec::new(),
            Self::Quantile(map) => map.numbers(),
            Self::Coupling(map) => map.numbers(),
            Self::Residual(map) => map.numbers(),
        }
    }
}
