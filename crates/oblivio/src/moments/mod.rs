//! The mergeable sums of the explicit path: one pass over the rows, and everything else from them.

mod design;
mod plan;
mod smooth;
mod sums;

use std::sync::Arc;

use faer::Mat;
use faer::MatRef;
use oblivio_base::choice::check_strength;
use oblivio_base::points::check_weights;
use oblivio_base::{Error, Points, Result, Warning, Watch};
use oblivio_kernels::learn::NormalEquations;
use rayon::prelude::*;

pub(crate) use self::design::{Shift, normal_equations};
pub use self::plan::Plan;
pub(crate) use self::plan::{PlanSettings, SAMPLE, Sample, SensitivePlan};
pub(crate) use self::smooth::SmoothFeatures;
use self::smooth::{dense_rows, dense_width};
use self::sums::{Block, Psi};
pub(crate) use self::sums::{SensitiveSums, Sums};
use crate::adjust::Offsets;
use crate::partition::{Partition, Place, Slots, Uses, regression};
use crate::sensitive::Sensitive;

/// Numbers held of rows whose features are being summed: 8 MiB.
const BLOCK: usize = 1 << 20;

/// Sums over rows, from which oblivious ridge regression follows for every strength and penalty.
///
/// Rows are added in blocks of a fixed size, whatever the batches they come in: the same rows in the same order give the
/// same bits. Moments of parts of a table merge to those of the table, and a part can be taken out again.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    pub(crate) plan: Arc<Plan>,
    pub(crate) sums: Sums,
    pub(crate) pending: Pending,
    pub(crate) scratch: Scratch,
}

/// Memory of the last block, to be used again: fresh memory costs more than what is computed in it.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Vec<f64>);

impl Clone for Scratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Scratch {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Rows that do not fill a block yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pending {
    pub(crate) points: Vec<f64>,
    /// Slots of rows, or features of S: one of them stays empty.
    pub(crate) slots: Vec<usize>,
    pub(crate) psi: Vec<f64>,
    pub(crate) targets: Vec<f64>,
    pub(crate) weights: Vec<f64>,
}

/// A batch of rows.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// X
    pub points: &'a Points<'a>,
    /// S
    pub sensitive: SensitiveRows<'a>,
    /// Y; zeros where there is none to learn from.
    pub targets: Option<&'a [f64]>,
    /// How often each row counts; once if absent.
    pub weights: Option<&'a [f64]>,
}

/// The sensitive part of a batch, as the plan asks for it.
#[derive(Clone, Copy, Debug)]
pub enum SensitiveRows<'a> {
    /// Columns, to be cut into cells.
    Columns(&'a Sensitive),
    /// Features ψ(s) of the sensitive values, row after row.
    Features(&'a [f64]),
}

/// Mean features per cell.
pub(crate) struct CellFeatures {
    pub(crate) partition: Partition,
    /// Those of each cell less the origin, cell after cell.
    means: Vec<f64>,
    /// Those of all reference rows less the origin.
    overall: Vec<f64>,
    /// The regression on S that takes the place of the means.
    pub(crate) smooth: Option<SmoothFeatures>,
    pub(crate) warnings: Vec<Warning>,
}

/// Rows of a block, whose features are this wide.
pub(crate) fn block_rows(width: usize) -> usize {
    (BLOCK / width).clamp(256, 8192)
}

impl Batch<'_> {
    /// Refuses parts of unequal length and values that are no numbers.
    pub(crate) fn check(&self) -> Result<()> {
        let rows = self.points.len();
        let length = |what, found: usize| {
            if found == rows {
                Ok(())
            } else {
                Err(Error::Length {
                    what,
                    found,
                    needed: rows,
                })
            }
        };
        match self.sensitive {
            SensitiveRows::Columns(sensitive) => length("the sensitive part", sensitive.len())?,
            SensitiveRows::Features(values) => {
                if let Some(at) = values.iter().position(|v| !v.is_finite()) {
                    return Err(Error::NotFinite {
                        name: "a sensitive feature".into(),
                        row: at * rows / values.len(),
                        value: values[at],
                    });
                }
            }
        }
        if let Some(targets) = self.targets {
            length("the target", targets.len())?;
            if let Some(row) = targets.iter().position(|y| !y.is_finite()) {
                return Err(Error::NotFinite {
                    name: "the target".into(),
                    row,
                    value: targets[row],
                });
            }
        }
        match self.weights {
            Some(weights) if weights.iter().any(|w| *w > 0.0) => check_weights(weights, rows),
            Some(weights) => length("the weights", weights.len()),
            None => Ok(()),
        }
    }
}

impl Moments {
    /// The moments of no rows.
    pub fn new(plan: Arc<Plan>) -> Self {
        let mut origin = plan.origin.clone();
        if plan.whitened {
            plan.map.whiten(&mut origin, plan.map.len(), 0);
        }
        origin.push(0.0);
        let sensitive = match &plan.sensitive {
            SensitivePlan::Cells(cuts) => SensitiveSums::Cells {
                cuts: cuts.clone(),
                slots: Slots::new(cuts.names().count()),
                sums: Vec::new(),
            },
            SensitivePlan::Features { count, .. } => SensitiveSums::Dense {
                count: *count,
                gram: vec![0.0; count * count],
                sums: vec![0.0; count * (origin.len() + 1)],
                placed: (Vec::new(), Uses::default()),
            },
            SensitivePlan::Smooth(partition) => {
                let count = dense_width(partition);
                SensitiveSums::Dense {
                    count,
                    gram: vec![0.0; count * count],
                    sums: vec![0.0; count * (origin.len() + 1)],
                    placed: (vec![0; partition.len()], Uses::default()),
                }
            }
        };
        Self {
            sums: Sums::new(origin, plan.second, sensitive),
            plan,
            pending: Pending::default(),
            scratch: Scratch::default(),
        }
    }

    /// What the moments are sums of.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Rows added, those of weight zero left out.
    pub fn rows(&self) -> usize {
        self.sums.rows + self.pending.targets.len()
    }

    /// The sum of their weights.
    pub fn weight(&self) -> f64 {
        let last = self.sums.width - 1;
        self.sums.total()[last] + self.pending.weights.iter().sum::<f64>()
    }

    /// Adds rows. Those of weight zero are as good as not there, whatever their sensitive values are.
    pub fn update(&mut self, batch: Batch, watch: &Watch) -> Result<()> {
        batch.check()?;
        let (Some(weights), SensitiveRows::Columns(sensitive)) = (batch.weights, batch.sensitive)
        else {
            return self.add(batch, watch);
        };
        if !weights.contains(&0.0) {
            return self.add(batch, watch);
        }
        let rows: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        let pick = |values: &[f64]| rows.iter().map(|&i| values[i]).collect::<Vec<f64>>();
        let targets = batch.targets.map(pick);
        let counted = Batch {
            points: &batch.points.select(&rows),
            sensitive: SensitiveRows::Columns(&sensitive.select(&rows)),
            targets: targets.as_deref(),
            weights: Some(&pick(weights)),
        };
        self.add(counted, watch)
    }

    fn add(&mut self, batch: Batch, watch: &Watch) -> Result<()> {
        let Batch {
            points,
            sensitive,
            targets,
            weights,
        } = batch;
        let dim = self.plan.map.basis().dim();
        if points.dim() != dim {
            return Err(Error::Width {
                found: points.dim(),
                needed: dim,
            });
        }
        let mut left_out = vec![false; points.len()];
        // Features of S that the plan makes of columns.
        let made = match (&self.plan.sensitive, sensitive) {
            (SensitivePlan::Smooth(partition), SensitiveRows::Columns(columns)) => {
                left_out = self.plan.left_out(columns)?;
                let (rows, assignment) = dense_rows(partition, columns, &left_out)?;
                if let SensitiveSums::Dense { placed, .. } = &mut self.sums.sensitive {
                    placed.1 = placed.1.plus(assignment.uses);
                    let counts = |row: usize| weights.is_none_or(|weights| weights[row] > 0.0);
                    let mut of_rows = assignment.cells().enumerate();
                    for (row, left_out) in left_out.iter().enumerate() {
                        if *left_out {
                            placed.1.sensitive_free += usize::from(counts(row));
                        } else if let Some((place, cell)) = of_rows.next()
                            && let Some(rows) = cell.and_then(|cell| placed.0.get_mut(cell))
                            && counts(row)
                            && !assignment.is_unknown(place)
                        {
                            *rows += 1;
                        }
                    }
                }
                Some(rows)
            }
            _ => None,
        };
        let sensitive = made.as_deref().map_or(sensitive, SensitiveRows::Features);
        let slots: Vec<usize> = match (&mut self.sums.sensitive, sensitive) {
            (SensitiveSums::Cells { cuts, slots, .. }, SensitiveRows::Columns(sensitive)) => {
                left_out = cuts.left_out(sensitive)?;
                let counted = |row: &usize| weights.is_none_or(|weights| weights[*row] > 0.0);
                let (without, with): (Vec<usize>, Vec<usize>) =
                    (0..points.len()).partition(|&row| left_out[row]);
                // Cuts grow; rows that are refused must leave no trace in them.
                let mut grown = cuts.clone();
                let keys = if without.is_empty() {
                    grown.keys(sensitive)?
                } else {
                    grown.keys(&sensitive.select(&with))?
                };
                grown.count_left_out(without.into_iter().filter(counted).count());
                *cuts = grown;
                let mut of_rows = vec![0; points.len()];
                for (place, row) in with.into_iter().enumerate() {
                    of_rows[row] = slots.slot(&keys, place);
                }
                of_rows
            }
            (SensitiveSums::Dense { count, .. }, SensitiveRows::Features(values)) => {
                if values.len() != *count * points.len() {
                    return Err(Error::Ragged {
                        found: values.len(),
                        columns: *count,
                    });
                }
                Vec::new()
            }
            _ => {
                return Err(Error::UnlikeMoments {
                    problem: "the plan asks for the sensitive part in another form",
                });
            }
        };
        let block = block_rows(self.sums.width);
        for row in 0..points.len() {
            let weight = weights.map_or(1.0, |weights| weights[row]);
            if weight == 0.0 || left_out[row] {
                continue;
            }
            let pending = &mut self.pending;
            pending.points.extend_from_slice(points.row(row));
            match sensitive {
                SensitiveRows::Columns(_) => pending.slots.push(slots[row]),
                SensitiveRows::Features(values) => {
                    let count = values.len() / points.len();
                    let scaled = &values[row * count..(row + 1) * count];
                    pending.psi.extend(scaled.iter().map(|v| weight.sqrt() * v));
                }
            }
            pending.targets.push(targets.map_or(0.0, |y| y[row]));
            pending.weights.push(weight);
            if pending.targets.len() == block {
                self.flush(watch)?;
            }
        }
        Ok(())
    }

    /// Counts rows that were left out because they miss a sensitive value.
    pub(crate) fn count_left_out(&mut self, rows: usize) {
        match &mut self.sums.sensitive {
            SensitiveSums::Cells { cuts, .. } => cuts.count_left_out(rows),
            SensitiveSums::Dense { placed, .. } => placed.1.sensitive_free += rows,
        }
    }

    /// Sums what is pending.
    pub(crate) fn flush(&mut self, watch: &Watch) -> Result<()> {
        watch.check()?;
        let pending = std::mem::take(&mut self.pending);
        let rows = pending.targets.len();
        if rows == 0 {
            self.sums.complete();
            return Ok(());
        }
        let (width, features) = (self.sums.width, self.plan.map.len());
        if self.sums.rows == 0 {
            self.sums.origin[features] = pending.targets.iter().sum::<f64>() / rows as f64;
        }
        let centre = self.sums.origin[features];
        let roots: Vec<f64> = pending.weights.iter().map(|w| w.sqrt()).collect();
        let points = Points::new(pending.points, self.plan.map.basis().dim())?;
        let mut block = std::mem::take(&mut self.scratch.0);
        block.resize(rows * width, 0.0);
        self.plan.columns(&points, &roots, width, &mut block)?;
        for (row, values) in block.chunks_mut(width).enumerate() {
            values[features] = roots[row] * (pending.targets[row] - centre);
            values[features + 1] = roots[row];
        }
        self.sums.add(&Block {
            rows: &block,
            sensitive: match self.plan.sensitive {
                SensitivePlan::Cells(_) => Psi::Slots(&pending.slots),
                SensitivePlan::Features { .. } | SensitivePlan::Smooth(_) => {
                    Psi::Dense(&pending.psi)
                }
            },
        });
        self.scratch.0 = block;
        if !self.sums.is_finite() {
            return Err(Error::Overflow {
                what: "the kernel of a row and a landmark",
            });
        }
        watch.advance_by(rows);
        Ok(())
    }

    /// Adds the rows of other moments of the same plan.
    pub fn merge(&mut self, other: &Self, watch: &Watch) -> Result<()> {
        self.combine(other, 1.0, watch)
    }

    /// Takes rows out that were added before, as if they had never been.
    pub fn subtract(&mut self, other: &Self, watch: &Watch) -> Result<()> {
        self.combine(other, -1.0, watch)
    }

    fn combine(&mut self, other: &Self, sign: f64, watch: &Watch) -> Result<()> {
        if self.plan.map != other.plan.map {
            return Err(Error::UnlikeMoments {
                problem: "their landmarks differ",
            });
        }
        let smooth = |plan: &Plan| matches!(plan.sensitive, SensitivePlan::Smooth(_));
        if smooth(&self.plan) && self.plan.sensitive != other.plan.sensitive {
            return Err(Error::UnlikeMoments {
                problem: "their conditional means are regressions on other features",
            });
        }
        self.flush(watch)?;
        let mut other = other.clone();
        other.flush(watch)?;
        let mut sums = self.sums.clone();
        match (self.plan.whitened, other.plan.whitened) {
            (true, false) => sums.add_sums(&other.sums.mapped(self.plan.map.root()), sign)?,
            (false, true) => {
                sums = sums.mapped(self.plan.map.root());
                sums.add_sums(&other.sums, sign)?;
                self.plan = Arc::clone(&other.plan);
            }
            _ => sums.add_sums(&other.sums, sign)?,
        }
        self.sums = sums;
        Ok(())
    }

    /// The second moments of the features, t times their conditional mean (as these rows have it) taken off.
    pub fn design(&self, strength: f64, watch: &Watch) -> Result<NormalEquations> {
        check_strength(strength)?;
        let sums = self.clone().whitened(watch)?;
        if strength == 0.0 {
            return normal_equations(&sums, None);
        }
        let shift = sums.own_shift(&self.plan)?;
        normal_equations(&sums, Some((&shift, strength)))
    }

    /// The sums of whitened features, nothing pending.
    pub(crate) fn whitened(mut self, watch: &Watch) -> Result<Sums> {
        self.flush(watch)?;
        if self.sums.rows == 0 {
            return Err(Error::TooFewRows {
                what: "the table",
                found: 0,
                needed: 1,
            });
        }
        Ok(if self.plan.whitened {
            self.sums
        } else {
            self.sums.mapped(self.plan.map.root())
        })
    }
}

impl Plan {
    /// $\sqrt w(f - o)$ for every row, into rows of `stride` numbers; what lies behind the features is left alone.
    fn columns(
        &self,
        points: &Points,
        roots: &[f64],
        stride: usize,
        block: &mut [f64],
    ) -> Result<()> {
        self.map.basis().values_into(
            points,
            block,
            stride,
            &|row, functions, values| {
                let (root, origin) = (roots[row], &self.origin[functions]);
                values
                    .iter_mut()
                    .zip(origin)
                    .for_each(|(k, o)| *k = root * (*k - o));
            },
            &Watch::default(),
        )?;
        if self.whitened {
            block
                .par_chunks_mut(stride * 256)
                .for_each(|rows| self.map.whiten(rows, stride, 0));
        }
        Ok(())
    }
}

impl Sums {
    /// The mean features of the cells of these rows, and the regression on S if the plan has one.
    pub(crate) fn cells(&self, plan: &Plan) -> Result<CellFeatures> {
        let (width, features) = (self.width, self.width - 2);
        let not_cells = Error::UnlikeMoments {
            problem: "their sensitive features are not cells",
        };
        let (partition, places, warnings, sums, smooth) = match (&self.sensitive, &plan.sensitive) {
            (SensitiveSums::Cells { cuts, slots, sums }, _) => {
                let mass: Vec<f64> = sums.chunks(width).map(|sum| sum[width - 1]).collect();
                let (partition, places, warnings) =
                    cuts.clone().partition(&slots.keys, &mass, &slots.counts);
                (partition, places, warnings, &sums[..], None)
            }
            (
                SensitiveSums::Dense {
                    count,
                    gram,
                    sums,
                    placed: (counts, _),
                },
                SensitivePlan::Smooth(partition),
            ) => {
                let before = *count - partition.len();
                let own = &sums[before * width..];
                let mass = own.chunks(width).map(|sum| sum[width - 1]).collect();
                let smooth = SmoothFeatures::new(self, partition, gram, sums)?;
                let mut moved = partition.with_mass(mass, counts.clone());
                moved.smooth = Some(smooth.smooth.clone());
                let places = (0..partition.len()).map(Some).collect();
                (moved, places, Vec::new(), own, Some(smooth))
            }
            _ => return Err(not_cells),
        };
        let mut means = vec![0.0; partition.len() * features];
        let mut overall = vec![0.0; features];
        let total: f64 = partition.mass().iter().sum();
        for (slot, place) in places.into_iter().enumerate() {
            let Some(cell) = place else { continue };
            let sum = &sums[slot * width..(slot + 1) * width];
            let mean = &mut means[cell * features..][..features];
            for (k, value) in sum[..features].iter().enumerate() {
                mean[k] += value;
                overall[k] += value / total;
            }
        }
        // A cell may be made up of several slots.
        for (mean, mass) in means.chunks_mut(features).zip(partition.mass()) {
            // A cell that only mixtures of rows have a part in may have next to none.
            if *mass > 0.0 {
                for m in mean.iter_mut() {
                    *m /= mass;
                }
            }
        }
        Ok(CellFeatures {
            partition,
            means,
            overall,
            smooth,
            warnings,
        })
    }

    /// What the conditional mean of these rows takes off their own features at t = 1.
    ///
    /// Cells: the mean of the cell less that of all. Other features of S: $(\psi - \bar\psi)B$ with
    /// $B = (\Psi_c^\top\Psi_c + W\rho I)^{+}\Psi_c^\top F$, Ψ centred and all weighted by w.
    fn own_shift(&self, plan: &Plan) -> Result<Shift> {
        let features = self.width - 2;
        match (&self.sensitive, &plan.sensitive) {
            (
                SensitiveSums::Dense {
                    count, gram, sums, ..
                },
                SensitivePlan::Features { ridge, .. },
            ) => {
                let total = self.total();
                let (mean, gram, cross) = self.centred(*count, gram, sums, &total);
                let weight = total[self.width - 1];
                let coefficients = regression(gram.as_ref(), cross.as_ref(), weight * ridge)?;
                Ok(Shift::regression(coefficients.as_ref(), &mean, features))
            }
            _ => Ok(self.cells(plan)?.shifts(self)?.0),
        }
    }

    /// The means of the first `count` features of S, their centred second moments, and those with the features of the points and
    /// the target, over rows whose u add up to `total`; the features of S of other rows are zero.
    fn centred(
        &self,
        count: usize,
        gram: &[f64],
        sums: &[f64],
        total: &[f64],
    ) -> (Vec<f64>, Mat<f64>, Mat<f64>) {
        let width = self.width;
        let weight = total[width - 1];
        let all = sums.len() / width;
        let cross = MatRef::from_column_major_slice(sums, width, all);
        let gram = MatRef::from_column_major_slice(gram, all, all);
        let mean: Vec<f64> = (0..count).map(|a| cross[(width - 1, a)] / weight).collect();
        let second = Mat::from_fn(count, count, |a, b| {
            let value = gram[(a, b)] - weight * mean[a] * mean[b];
            // What is lost in the rounding of its own sum is constant.
            if a == b && value <= 1e-13 * gram[(a, a)] {
                0.0
            } else {
                value
            }
        });
        let with = Mat::from_fn(count, width - 1, |a, k| cross[(k, a)] - mean[a] * total[k]);
        (mean, second, with)
    }
}

impl Shift {
    /// What a regression on features of S with these means takes off.
    fn regression(coefficients: MatRef<'_, f64>, mean: &[f64], features: usize) -> Self {
        let constant = |k: usize| -> f64 {
            let terms = mean.iter().enumerate();
            terms.map(|(a, m)| -m * coefficients[(a, k)]).sum()
        };
        let entry = |at: usize| coefficients[(at / features, at % features)];
        Self {
            by_feature: (0..mean.len() * features).map(entry).collect(),
            constant: (0..features).map(constant).collect(),
        }
    }

    /// The same for rows that so many indicators after the features of S add up to one of; nothing is taken off others.
    fn of_placed(mut self, indicators: usize) -> Self {
        for _ in 0..indicators {
            self.by_feature.extend_from_slice(&self.constant);
        }
        self.constant.fill(0.0);
        self
    }
}

impl CellFeatures {
    /// What these means take off the features of rows at t = 1, and how often the rows needed a policy.
    pub(crate) fn shifts(&self, rows: &Sums) -> Result<(Shift, Uses)> {
        let features = self.overall.len();
        let (cuts, slots) = match (&rows.sensitive, &self.smooth) {
            (SensitiveSums::Cells { cuts, slots, .. }, _) => (cuts, slots),
            (SensitiveSums::Dense { placed, .. }, Some(smooth)) => {
                let count = smooth.mean.len();
                let coefficients = Mat::from_fn(count, features + 1, |a, k| {
                    if k < features {
                        smooth.directions[a * features + k]
                    } else {
                        smooth.target[a]
                    }
                });
                let shift = Shift::regression(coefficients.as_ref(), &smooth.mean, features + 1);
                return Ok((shift.of_placed(self.partition.len()), placed.1));
            }
            _ => {
                return Err(Error::UnlikeMoments {
                    problem: "their sensitive features are not cells",
                });
            }
        };
        let Some(places) = self.partition.places(cuts) else {
            return Err(Error::UnlikeMoments {
                problem: "their sensitive columns are cut differently",
            });
        };
        let mut uses = cuts.uses(&slots.keys, &slots.counts);
        let mut by_feature = Vec::new();
        for (key, count) in slots.keys.iter().zip(&slots.counts) {
            if *count == 0 {
                by_feature.extend(vec![0.0; self.overall.len()]);
                continue;
            }
            let place = places.of(key, &mut uses, *count)?;
            by_feature.extend(self.shift(&place, &rows.origin));
        }
        let shift = Shift {
            by_feature,
            constant: vec![0.0; self.overall.len()],
        };
        Ok((shift, uses))
    }

    /// What is taken off the score with these weights.
    pub(crate) fn offsets(&self, weights: &[f64], origin: &[f64], strength: f64) -> Offsets {
        let means = self.means_of(weights, origin);
        let smooth = self.smooth.as_ref();
        Offsets {
            smooth: smooth.map(|smooth| smooth.offsets(smooth.values_of(weights))),
            ..Offsets::new(self.partition.clone(), strength, &means)
        }
    }

    /// δ of a place: its mean features less those of all.
    fn shift(&self, place: &Place, origin: &[f64]) -> Vec<f64> {
        let features = self.overall.len();
        let less_overall = |mean: &[f64]| -> Vec<f64> {
            mean.iter().zip(&self.overall).map(|(m, o)| m - o).collect()
        };
        match place {
            Place::Cell(cell) => less_overall(&self.means[cell * features..][..features]),
            Place::Mixture(weights) => {
                let mut mean = vec![0.0; features];
                for (weight, cell) in weights.iter().zip(self.means.chunks(features)) {
                    mean.iter_mut()
                        .zip(cell)
                        .for_each(|(m, c)| *m += weight * c);
                }
                // Means are about the origin, so where the weights are none the mean of zero is its negative.
                let missing = 1.0 - weights.iter().sum::<f64>();
                mean.iter_mut()
                    .zip(origin)
                    .for_each(|(m, o)| *m -= missing * o);
                less_overall(&mean)
            }
        }
    }

    /// $\langle w, m_c\rangle$ for every cell, m the mean features.
    pub(crate) fn means_of(&self, weights: &[f64], origin: &[f64]) -> Vec<f64> {
        let features = self.overall.len();
        let dot = |v: &[f64]| -> f64 { v.iter().zip(weights).map(|(a, b)| a * b).sum() };
        let base = dot(&origin[..features]);
        self.means
            .chunks(features)
            .map(|mean| base + dot(mean))
            .collect()
    }

    /// The mean features of each cell, cell after cell.
    pub(crate) fn absolute(&self, origin: &[f64]) -> Vec<f64> {
        let features = self.overall.len();
        let cells = self.means.chunks(features);
        cells
            .flat_map(|mean| mean.iter().zip(origin).map(|(m, o)| m + o))
            .collect()
    }
}
