//! What is settled by a look at some of the rows, before the sums over all of them are taken.

use std::cmp::Ordering;

use oblivio_base::random::{Draw, Stream, generator};
use oblivio_base::stats::effective_rows;
use oblivio_base::{Column, Error, Points, Result, Values, Warning, Watch};
use oblivio_kernels::{Components, FeatureMap, Gamma, Kernel};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::smooth::dense_width;
use crate::conditioning::{Observed, Of};
use crate::partition::{Cuts, Missing, Partition, PartitionRule};
use crate::reference::{Members, Reference};
use crate::sensitive::Sensitive;

/// Rows that stand for all: enough to place edges within half a percent of the mass, few enough to hold in memory.
pub(crate) const SAMPLE: usize = 1 << 16;

/// The error that sums of kernel columns may bring into the whitened system, relative to the penalty. It is felt in the
/// directions of the features that matter least; predictions differ by thousands of times less.
const TOLERABLE: f64 = 1e-5;
/// Rows times squared landmarks below which whitening every row takes less than a second.
const CHEAP: f64 = 2e10;

/// The kernel, the landmarks, and where the sensitive columns are cut: all that [`Moments`](super::Moments) need to know
/// to add up rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub(crate) map: FeatureMap,
    pub(crate) sensitive: SensitivePlan,
    /// The mean kernel columns of the sample.
    pub(crate) origin: Vec<f64>,
    /// Whether rows are whitened one by one; else their sums are, at the end, which is faster and loses digits.
    pub(crate) whitened: bool,
    /// Whether second moments are summed, or means only.
    pub(crate) second: bool,
}

/// What becomes of the sensitive part of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SensitivePlan {
    /// Columns are cut, and each combination is a feature of its own.
    Cells(Cuts),
    /// The caller brings this many features; the conditional mean is linear in them, with this ridge.
    Features { count: usize, ridge: f64 },
    /// The features of a regression on S, then an indicator for each cell, as the partition has them.
    Smooth(Box<Partition>),
}

impl SensitivePlan {
    /// How many features of S are summed as a matrix; `None` where cells are.
    pub(crate) fn dense(&self) -> Option<usize> {
        match self {
            Self::Cells(_) => None,
            Self::Features { count, .. } => Some(*count),
            Self::Smooth(partition) => Some(dense_width(partition)),
        }
    }
}

/// The settings of a plan.
#[derive(Clone, Debug)]
pub(crate) struct PlanSettings<'a> {
    pub(crate) kernel: &'a Kernel<Gamma>,
    pub(crate) components: Components,
    /// With every column's kind settled.
    pub(crate) partition: PartitionRule,
    pub(crate) reference: &'a Reference,
    /// The penalty of the learner to come; `None` where only means are needed.
    pub(crate) penalty: Option<f64>,
    pub(crate) seed: u64,
}

/// Rows that stand for a table, and the size of the table.
#[derive(Clone, Debug)]
pub(crate) struct Sample<'a> {
    /// Their numbers in the table.
    pub(crate) rows: Vec<usize>,
    pub(crate) points: Points<'a>,
    pub(crate) sensitive: Sensitive,
    pub(crate) weights: Vec<f64>,
    /// All rows of the table, and their weight.
    pub(crate) table_rows: usize,
    pub(crate) table_weight: f64,
}

impl Plan {
    /// Chooses the kernel's numbers, the landmarks and the cuts; also says which rows estimate.
    pub(crate) fn new(
        sample: &Sample,
        settings: &PlanSettings,
        watch: &Watch,
    ) -> Result<(Self, Members, Vec<Warning>)> {
        let Sample {
            points, weights, ..
        } = sample;
        sample
            .sensitive
            .check_identifiers(&settings.partition.continuous)?;
        if points.is_empty() {
            return Err(Error::TooFewRows {
                what: "the table",
                found: 0,
                needed: 1,
            });
        }
        settings.kernel.check_formula("a fit on landmarks")?;
        let kernel = settings.kernel.resolve(points, weights, settings.seed)?;
        let (map, remark) =
            FeatureMap::choose(kernel, points, settings.components, settings.seed, watch)?;
        let members = settings
            .reference
            .members(sample.table_rows, settings.seed)?;
        let (sensitive, mut warnings) =
            sample.conditioned(&settings.partition, &members, map.kernel(), settings.seed)?;
        warnings.extend(remark);
        let (origin, square) = mean_column(&map, points, weights)?;
        let cheap = sample.table_rows as f64 * (map.len() as f64).powi(2) < CHEAP;
        let whitened = settings.penalty.is_some_and(|penalty| {
            cheap || loses_digits(&map, square * sample.table_weight, penalty)
        });
        let plan = Self {
            map,
            sensitive,
            origin,
            whitened,
            second: settings.penalty.is_some(),
        };
        Ok((plan, members, warnings))
    }

    /// The same plan for rows that come with `count` features ψ(s) of their sensitive values, on which the conditional mean
    /// is regressed with ridge ρ (zero for none).
    pub fn with_sensitive_features(self, count: usize, ridge: f64) -> Result<Self> {
        if !(ridge >= 0.0 && ridge.is_finite()) {
            return Err(Error::InvalidParameter {
                name: "the ridge of the conditional mean",
                expected: "zero or a positive finite number",
                value: ridge.to_string(),
            });
        }
        Ok(Self {
            sensitive: SensitivePlan::Features { count, ridge },
            ..self
        })
    }

    pub(crate) fn has_sensitive(&self) -> bool {
        match &self.sensitive {
            SensitivePlan::Cells(cuts) => cuts.names().next().is_some(),
            SensitivePlan::Features { count, .. } => *count > 0,
            SensitivePlan::Smooth(_) => true,
        }
    }

    /// Which rows are left out because they miss a sensitive value, where that is the policy.
    pub(crate) fn left_out(&self, sensitive: &Sensitive) -> Result<Vec<bool>> {
        match &self.sensitive {
            SensitivePlan::Cells(cuts) => cuts.left_out(sensitive),
            SensitivePlan::Features { .. } => Ok(vec![false; sensitive.len()]),
            SensitivePlan::Smooth(partition) => {
                let mut left_out = vec![true; sensitive.len()];
                for row in partition.complete(sensitive)? {
                    left_out[row] = false;
                }
                Ok(left_out)
            }
        }
    }

    /// Whether the conditional mean is a regression on features of S.
    pub fn is_smooth(&self) -> bool {
        matches!(self.sensitive, SensitivePlan::Smooth(_))
    }

    /// Whether rows that miss a sensitive value are left to a second model.
    pub(crate) fn leaves_out(&self) -> bool {
        match &self.sensitive {
            SensitivePlan::Cells(cuts) => cuts.leaves_out(),
            SensitivePlan::Features { .. } => false,
            SensitivePlan::Smooth(partition) => partition.leaves_out(),
        }
    }

    /// The number of features.
    pub fn components(&self) -> usize {
        self.map.len()
    }

    /// Whether rows are whitened one by one; else their sums are, at the end.
    pub fn is_whitened(&self) -> bool {
        self.whitened
    }

    /// From points to features.
    pub fn map(&self) -> &FeatureMap {
        &self.map
    }
}

impl Sample<'static> {
    /// A sample of rows that are all in memory, drawn as from a stream.
    pub(crate) fn of(points: &Points, sensitive: &Sensitive, weights: &[f64], seed: u64) -> Self {
        let mut draw = Draw::new(SAMPLE, seed);
        for _ in weights {
            draw.next_row();
        }
        let rows = draw.finish();
        Self {
            points: points.select(&rows),
            sensitive: sensitive.select(&rows),
            weights: rows.iter().map(|&i| weights[i]).collect(),
            rows,
            table_rows: weights.len(),
            table_weight: weights.iter().sum(),
        }
        .shuffled(seed)
    }

    /// The same rows in an order that depends on their values and the seed alone: sorted, then shuffled. What is settled by a
    /// sample is then the same whatever order a table comes in, and some of its rows stand for all. Equal rows stay together, so
    /// that a row of weight two is in the place of two rows.
    pub(crate) fn shuffled(self, seed: u64) -> Self {
        let ranks: Vec<Vec<f64>> = self.sensitive.columns().iter().map(ranks).collect();
        let values = |i: usize, j: usize| {
            let (a, b) = (self.points.row(i), self.points.row(j));
            let mut points = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
            let mut sensitive = ranks.iter().map(|ranks| ranks[i].total_cmp(&ranks[j]));
            let differs = |order: &Ordering| order.is_ne();
            let found = points.find(differs).or_else(|| sensitive.find(differs));
            found.unwrap_or(Ordering::Equal)
        };
        let weights = |i: usize, j: usize| self.weights[i].total_cmp(&self.weights[j]);
        let mut sorted: Vec<usize> = (0..self.rows.len()).collect();
        sorted.sort_by(|&i, &j| values(i, j).then_with(|| weights(i, j)));
        let mut groups: Vec<&[usize]> = sorted.chunk_by(|&i, &j| values(i, j).is_eq()).collect();
        groups.shuffle(&mut generator(seed, Stream::Order));
        let order = groups.concat();
        Self {
            points: self.points.select(&order),
            sensitive: self.sensitive.select(&order),
            weights: order.iter().map(|&i| self.weights[i]).collect(),
            rows: order.iter().map(|&i| self.rows[i]).collect(),
            ..self
        }
    }
}

/// Numbers that sort rows as their values do, whatever the codes of categories.
fn ranks(column: &Column) -> Vec<f64> {
    match &column.values {
        Values::Numbers(values) => values.clone(),
        Values::Categories { .. } => column
            .sorted_categories()
            .1
            .into_iter()
            .map(f64::from)
            .collect(),
    }
}

impl Sample<'_> {
    /// Settles by the reference rows of the sample how the sensitive columns are cut, or what the conditional mean is a regression
    /// on.
    fn conditioned(
        &self,
        rule: &PartitionRule,
        members: &Members,
        kernel: &Kernel,
        seed: u64,
    ) -> Result<(SensitivePlan, Vec<Warning>)> {
        let all = self.rows.len() == self.table_rows;
        let chosen: Vec<usize> = (0..self.rows.len())
            .filter(|&i| members.is_reference(self.rows[i]))
            .collect();
        let weights: Vec<f64> = chosen.iter().map(|&i| self.weights[i]).collect();
        let weight: f64 = weights.iter().sum();
        let (rows, weight) = if all {
            (chosen.len(), weight)
        } else {
            let rows = members.reference_rows(self.table_rows);
            let share = rows as f64 / self.table_rows as f64;
            (rows, self.table_weight * share)
        };
        if rule.policies.missing == Missing::Error {
            self.complete(&chosen)?;
        }
        let reference = self.sensitive.select(&chosen);
        if reference.is_empty() {
            return Err(Error::TooFewRows {
                what: "the reference",
                found: 0,
                needed: 1,
            });
        }
        let points = self.points.select(&chosen);
        let table = Observed {
            sensitive: &reference,
            weights: &weights,
            of: Of::Features(kernel, &points),
            rows: effective_rows(rows, weight),
            seed,
        };
        let (partition, warnings) = Partition::conditioned(rule, table, &Watch::default())?;
        if partition.smooth.is_some() {
            return Ok((SensitivePlan::Smooth(Box::new(partition)), warnings));
        }
        let (own, _) = reference.split(&rule.control)?;
        let rule = PartitionRule {
            // Settled by a look at the features, perhaps.
            cells: partition.cell_count(rule.cells),
            control: Vec::new(),
            ..rule.of_columns(&own)
        };
        let (cuts, warnings) = Cuts::fit(&rule, &own, &weights, table.rows)?;
        let cuts = cuts.chosen_by(partition.choice);
        Ok((SensitivePlan::Cells(cuts), warnings))
    }

    /// Refuses missing sensitive values of these rows, by their first number in the table.
    fn complete(&self, chosen: &[usize]) -> Result<()> {
        for column in self.sensitive.columns() {
            let absent = column.select(chosen).missing();
            let numbers = absent.iter().map(|&k| self.rows[chosen[k]]);
            if let Some(row) = numbers.min() {
                return Err(Error::MissingSensitive {
                    column: column.name.clone(),
                    count: absent.len(),
                    row,
                });
            }
        }
        Ok(())
    }
}

/// The mean kernel column over weighted points, and the mean squared distance from it.
fn mean_column(map: &FeatureMap, points: &Points, weights: &[f64]) -> Result<(Vec<f64>, f64)> {
    // Enough for an origin.
    const ROWS: usize = 4096;
    let rows: Vec<usize> = (0..points.len().min(ROWS)).collect();
    let columns = map
        .basis()
        .values(&points.select(&rows), &Watch::default())?;
    let total: f64 = weights[..rows.len()].iter().sum();
    let mut mean = vec![0.0; map.len()];
    let mut square = 0.0;
    for (column, weight) in columns.chunks(map.len()).zip(weights) {
        let share = weight / total;
        mean.iter_mut()
            .zip(column)
            .for_each(|(m, k)| *m += share * k);
        square += share * column.iter().map(|k| k * k).sum::<f64>();
    }
    square -= mean.iter().map(|m| m * m).sum::<f64>();
    if !square.is_finite() {
        return Err(Error::Overflow {
            what: "the kernel of a row and a landmark",
        });
    }
    Ok((mean, square))
}

/// Whether rounding in sums of kernel columns, $\varepsilon\sum_i w_i\|k_L(x_i) - o\|^2$, is felt once whitening amplifies it and it is
/// compared with the penalty.
fn loses_digits(map: &FeatureMap, square: f64, penalty: f64) -> bool {
    f64::EPSILON * square * map.amplification() > TOLERABLE * penalty
}
