//! The distribution of a column given S.

use oblivio::Partition;
use oblivio::partition::SensitiveDesign;
use oblivio::sibling::ByCell;
use oblivio_base::error::require;
use oblivio_base::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::bytes::DAMAGED;
use super::smooth::{SmoothRows, SmoothSteps};
use super::steps::{Steps, StepsRef};

/// The most knots of a cell's distribution: a knot then stands for less than a 512th of the cell.
const CELL_KNOTS: usize = 512;
/// The most knots at which distribution functions are regressed.
const SMOOTH_KNOTS: usize = 128;

/// The distribution of a column given S: that of the cell, or a regression on features of S.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Conditional {
    Cells(ByCell<Steps>),
    Smooth(SmoothSteps),
}

/// Distributions with a share each: what a row has where it belongs to several cells.
pub(super) type Parts<'a> = [(StepsRef<'a>, f64)];

/// Reference rows, what is known of their S, and the rows that teach.
#[derive(Clone, Copy)]
pub(super) struct Reference<'a> {
    pub(super) partition: &'a Partition,
    pub(super) assignment: &'a SensitiveDesign,
    /// Zero for a row whose value is missing.
    pub(super) weights: &'a [f64],
    pub(super) rows: &'a [usize],
}

impl<'a> Reference<'a> {
    /// The features of S, where the conditional mean is a regression on them.
    pub(super) fn smooth(&self) -> Option<SmoothRows<'a>> {
        Some(SmoothRows {
            features: self.assignment.matrix()?,
            rows: self.rows,
            weights: self.weights,
            ridge: self.partition.ridge(),
        })
    }

    /// Values and weights of the rows that teach, ascending.
    pub(super) fn sorted(&self, values: &[f64]) -> Vec<(f64, f64)> {
        let own = self.rows.iter().map(|&i| (values[i], self.weights[i]));
        let mut sorted: Vec<(f64, f64)> = own.collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        sorted
    }
}

impl Conditional {
    /// Learns the distributions of these values; every value is a knot of a regression if there are at most `values_kept`.
    pub(super) fn fit(values: &[f64], reference: Reference, values_kept: usize) -> Result<Self> {
        if let Some(table) = reference.smooth() {
            let most = SMOOTH_KNOTS.max(values_kept);
            return SmoothSteps::fit(values, table, most).map(Self::Smooth);
        }
        let most = CELL_KNOTS.max(values_kept);
        let of = |rows: &[(f64, f64)]| Steps::of(rows, most);
        let Reference {
            assignment,
            weights,
            ..
        } = reference;
        ByCell::estimate(values, assignment, weights, of).map(Self::Cells)
    }

    /// Something of the distribution of every row.
    pub(super) fn each<T: Send>(
        &self,
        assignment: &SensitiveDesign,
        of: impl Fn(usize, &Parts) -> T + Sync,
    ) -> Result<Vec<T>> {
        match (self, assignment.matrix()) {
            (Self::Cells(cells), _) => {
                let population = cells.shares();
                let one = |row: usize| {
                    let parts = cells.parts(&population, assignment, row).into_iter();
                    let parts: Vec<(StepsRef, f64)> = parts.map(|(s, w)| (s.view(), w)).collect();
                    of(row, &parts)
                };
                Ok((0..assignment.len()).into_par_iter().map(one).collect())
            }
            (Self::Smooth(smooth), Some(features)) => {
                smooth.each(features, |row, steps| of(row, &[(steps, 1.0)]))
            }
            (Self::Smooth(_), None) => Err(Error::InvalidParameter {
                name: "what a release is given",
                expected: "features of S, as at the fit",
                value: "cells".into(),
            }),
        }
    }

    /// Refuses distributions that no fit with this partition gives.
    pub(super) fn check_read(&self, partition: &Partition) -> Result<()> {
        let fits = match (self, partition.smooth()) {
            (Self::Cells(cells), None) => {
                cells.check_read()?;
                cells.len() <= partition.len()
            }
            (Self::Smooth(smooth), Some(features)) => {
                smooth.check_read()?;
                smooth.width() == features.len()
            }
            _ => false,
        };
        require(fits, DAMAGED)
    }

    /// All numbers of which there may be many.
    pub(super) fn numbers(&mut self) -> Vec<&mut Vec<f64>> {
        match self {
            Self::Cells(cells) => {
                let steps = cells.each_mut();
                steps.flat_map(|s| [&mut s.values, &mut s.edges]).collect()
            }
            Self::Smooth(smooth) => vec![
                &mut smooth.all.values,
                &mut smooth.all.edges,
                &mut smooth.start,
                &mut smooth.on,
            ],
        }
    }
}

/// A rank of a value, chosen by a draw among those it may have: $u = F(x^-) + v\,(F(x) - F(x^-))$, which is uniform given S if v is.
pub(super) fn rank(parts: &Parts, value: f64, draw: f64) -> f64 {
    let (low, high) = parts
        .iter()
        .fold((0.0, 0.0), |(low, high), (steps, share)| {
            let (below, upto) = steps.ranks(value);
            (low + share * below, high + share * upto)
        });
    // Rounding must not carry a draw to the next value.
    if high > low {
        (low + draw * (high - low)).min(high.next_down())
    } else {
        low
    }
}
