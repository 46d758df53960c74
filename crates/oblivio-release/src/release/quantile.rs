//! Conditional quantile repair of a column of numbers.

use oblivio::Partition;
use oblivio::partition::SensitiveDesign;
use oblivio::sibling::Distribution;
use oblivio_base::Result;
use oblivio_base::error::require;
use serde::{Deserialize, Serialize};

use super::bytes::DAMAGED;
use super::conditional::{Conditional, Reference, rank};
use super::draw::{Draws, Purpose};
use super::steps::Steps;

/// Ranks at which the quantiles of a barycentre are kept, where there are no cells to add up.
const RANKS: usize = 512;

/// From a number and S to the number with the same rank in a distribution common to all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct QuantileMap {
    given: Conditional,
    common: Common,
}

/// The distribution that all rows get.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Common {
    /// That of all reference rows: released values are values seen, and their shares stay.
    Pooled(Steps),
    /// $\bar Q(u) = \sum_cp_cQ_c(u)$, the quantiles of the Wasserstein-2 barycentre: of all common distributions, the one that moves
    /// numbers least in mean square.
    Barycentre,
    /// The mean of $Q(u \mid s)$ over the reference rows at the ranks $(j + \tfrac12)/J$.
    Quantiles(Vec<f64>),
}

impl QuantileMap {
    /// A column of few values, all of which are kept.
    pub(super) fn graded(values: &[f64], reference: Reference, count: usize) -> Result<Self> {
        Ok(Self {
            given: Conditional::fit(values, reference, count)?,
            common: Common::Pooled(Steps::of(&reference.sorted(values), count)),
        })
    }

    /// A column of many values.
    pub(super) fn barycentre(values: &[f64], reference: Reference) -> Result<Self> {
        let given = Conditional::fit(values, reference, 0)?;
        let common = match &given {
            Conditional::Cells(_) => Common::Barycentre,
            Conditional::Smooth(_) => Common::Quantiles(mean_quantiles(&given, reference)?),
        };
        Ok(Self { given, common })
    }

    /// Whether values are those seen, chosen by draws.
    pub(super) fn is_graded(&self) -> bool {
        matches!(self.common, Common::Pooled(_))
    }

    /// The released numbers $(1-t)x + t\,\bar Q(u)$, u being the row's [`rank`] given S; of a column of few values, $\bar Q(u)$ for a
    /// share t of the rows and x for the others. Missing values stay missing.
    pub(super) fn apply(
        &self,
        values: &[f64],
        assignment: &SensitiveDesign,
        (column, draws): (&str, &Draws),
        strength: f64,
    ) -> Result<Vec<f64>> {
        let place = draws.of(column, Purpose::Place);
        let share = draws.of(column, Purpose::Share);
        let common = self.common();
        self.given.each(assignment, |row, parts| {
            let value = values[row];
            if value.is_nan() {
                return value;
            }
            let full = common(rank(parts, value, place.at(row)));
            self.partial(value, full, strength, share.at(row))
        })
    }

    /// The [`rank`] of every value given S; of a missing one, a draw.
    pub(super) fn ranks(
        &self,
        values: &[f64],
        assignment: &SensitiveDesign,
        (column, draws): (&str, &Draws),
    ) -> Result<Vec<f64>> {
        let place = draws.of(column, Purpose::Place);
        self.given.each(assignment, |row, parts| {
            if values[row].is_nan() {
                return place.at(row);
            }
            rank(parts, values[row], place.at(row))
        })
    }

    /// $\bar Q$: from a rank to the number that all rows of this rank get.
    pub(super) fn common(&self) -> impl Fn(f64) -> f64 + Sync {
        let population = match &self.given {
            Conditional::Cells(cells) => cells.shares(),
            Conditional::Smooth(_) => Vec::new(),
        };
        move |rank| match &self.common {
            Common::Pooled(all) => all.view().value(rank),
            Common::Barycentre => {
                let quantiles = population
                    .iter()
                    .map(|(cell, p)| p * cell.view().value(rank));
                quantiles.sum()
            }
            Common::Quantiles(common) => interpolated(common, rank),
        }
    }

    /// What a share t of the way to a number comes to: of a column of few values, the number itself for a share t of the rows.
    pub(super) fn partial(&self, value: f64, full: f64, strength: f64, share: f64) -> f64 {
        match &self.common {
            Common::Pooled(_) if share < strength => full,
            Common::Pooled(_) => value,
            _ => mixed(value, full, strength),
        }
    }

    /// The ranks at which the number changes, of a column of few values.
    pub(super) fn edges(&self) -> Option<Vec<f64>> {
        match &self.common {
            Common::Pooled(steps) => Some(steps.edges.iter().skip(1).step_by(2).copied().collect()),
            _ => None,
        }
    }

    /// Refuses a map that no fit with this partition gives.
    pub(super) fn check_read(&self, partition: &Partition) -> Result<()> {
        let common = match (&self.common, &self.given) {
            (Common::Pooled(steps), _) => steps.check_read().is_ok(),
            (Common::Barycentre, Conditional::Cells(_)) => true,
            (Common::Quantiles(values), Conditional::Smooth(_)) => {
                !values.is_empty() && values.is_sorted() && values.iter().all(|v| v.is_finite())
            }
            _ => false,
        };
        require(common, DAMAGED)?;
        self.given.check_read(partition)
    }

    /// All numbers of which there may be many.
    pub(super) fn numbers(&mut self) -> Vec<&mut Vec<f64>> {
        let mut numbers = self.given.numbers();
        match &mut self.common {
            Common::Pooled(steps) => numbers.extend([&mut steps.values, &mut steps.edges]),
            Common::Barycentre => (),
            Common::Quantiles(values) => numbers.push(values),
        }
        numbers
    }
}

fn mixed(value: f64, full: f64, strength: f64) -> f64 {
    (1.0 - strength) * value + strength * full
}

fn mean_quantiles(given: &Conditional, reference: Reference) -> Result<Vec<f64>> {
    /// Rows whose quantiles are held at a time.
    const BLOCK: usize = 4096;
    let Reference {
        assignment,
        weights,
        rows,
        ..
    } = reference;
    let total: f64 = rows.iter().map(|&i| weights[i]).sum();
    let mut mean = vec![0.0; RANKS];
    for block in rows.chunks(BLOCK) {
        let quantiles = given.each(&assignment.select(block), |_, parts| {
            let at = |j: usize| parts[0].0.value((j as f64 + 0.5) / RANKS as f64);
            (0..RANKS).map(at).collect::<Vec<f64>>()
        })?;
        for (own, &row) in quantiles.iter().zip(block) {
            let weight = weights[row] / total;
            mean.iter_mut().zip(own).for_each(|(m, q)| *m += weight * q);
        }
    }
    Ok(mean)
}

/// The broken line through the values at the ranks $(j + \tfrac12)/J$, constant beyond its ends.
fn interpolated(values: &[f64], rank: f64) -> f64 {
    let last = values.len() - 1;
    let at = (rank * values.len() as f64 - 0.5).clamp(0.0, last as f64);
    let below = (at.floor() as usize).min(last);
    let above = (below + 1).min(last);
    values[below] + (at - below as f64) * (values[above] - values[below])
}
