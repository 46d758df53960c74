//! Offsets from new rows without labels, and how far the cells have drifted.

use std::sync::Arc;

use faer::Mat;
use oblivio_base::points::check_each_weight;
use oblivio_base::stats::Spread;
use oblivio_base::{Error, Named, Points, Result, Watch};
use oblivio_kernels::gram::dot;

use crate::align::{Alignment, SampledScores, given};
use crate::moments::{CellFeatures, Moments, SAMPLE, SensitivePlan, SensitiveSums, Sums};
use crate::partition::{Partition, Place, Smooth, Uses};
use crate::predictor::{Offsets, Predictor, SmoothOffsets};
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

/// How the score before the offset has moved in one cell since its means were estimated: at the fit, or by the last refresh; and since
/// the fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// The cell in words.
    pub label: String,
    /// Its new rows.
    pub rows: usize,
    /// The mean of h until now.
    pub before: f64,
    /// The mean of h over the new rows; that until now where there are none.
    pub after: f64,
    /// $z_c = (\bar h_c^{new} - \bar h_c^{old})/(s_c\sqrt{1/n_c^{new} + 1/n_c^{old}})$ with $s_c$ the standard deviation of h over the
    /// new rows of the cell; `None` where they have none.
    pub z: Option<f64>,
    /// The offset until now, and the one from now on.
    pub offsets: (f64, f64),
    /// Whether there were too few new rows, so that the cell keeps its mean and its share of the population; see [`SmallCells::Keep`].
    pub kept: bool,
    /// The same since the fit, however often the means were estimated anew since; `None` where those of the fit are not known.
    pub since_fit: Option<SinceFit>,
}

/// How the score before the offset has moved in one cell since the fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SinceFit {
    /// The mean of h at the fit.
    pub mean: f64,
    /// As [`Drift::z`], with the rows of the fit for the old ones.
    pub z: Option<f64>,
}

/// The mean of h over every cell at the fit, and the rows it was taken over.
#[derive(Clone, Copy)]
pub(crate) struct FitMeans<'a> {
    pub(crate) means: &'a [f64],
    pub(crate) rows: &'a [usize],
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

/// Sums over rows of features D of S and the score h: of wh and wDh.
#[derive(Clone, Debug)]
struct SmoothScores {
    score: f64,
    cross: Vec<f64>,
    /// None where those of another score of the same rows serve.
    sums: Option<SmoothSums>,
}

/// Sums over rows of features D of S alone: of w, wD and wDDᵀ.
#[derive(Clone, Debug)]
pub(crate) struct SmoothSums {
    weight: f64,
    features: Vec<f64>,
    gram: Mat<f64>,
    /// Sums of wD and of w in each cell; none of a cell without rows.
    cells: Vec<(Vec<f64>, f64)>,
}

/// The scores of one cell.
#[derive(Clone, Copy, Debug, Default)]
struct CellScores {
    rows: usize,
    spread: Spread,
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
                .alignment
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
        let offsets = self.refreshable()?;
        if self.alignment.is_some() {
            return Err(Error::InvalidParameter {
                name: "a model to refresh from moments",
                expected: "one without alignment, which needs the rows: refresh it from them",
                value: "one with alignment".into(),
            });
        }
        let plan = moments.plan();
        if *plan.map.basis() != *self.basis {
            return Err(Error::UnlikeMoments {
                problem: "the predictor has other landmarks",
            });
        }
        let weights = plan.map.weights_of(&self.coefficients, watch)?;
        let sums = moments.clone().whitened(watch)?;
        if let SensitivePlan::Smooth(partition) = &plan.sensitive {
            let size = |of: &Partition| (of.smooth.as_ref().map(Smooth::len), of.len());
            if size(partition) != size(&offsets.partition) {
                return Err(Error::UnlikeMoments {
                    problem: "the predictor's offsets are a regression on other features",
                });
            }
            return self.refresh_smooth(&sums.cells(plan)?, &sums, &weights, renewal);
        }
        let SensitiveSums::Cells {
            cuts,
            slots,
            sums: by_slot,
        } = &sums.sensitive
        else {
            return Err(Error::UnlikeMoments {
                problem: "their sensitive features are not cells",
            });
        };
        let Some(places) = offsets.partition.places(cuts) else {
            return Err(Error::UnlikeMoments {
                problem: "their sensitive columns are cut differently from the predictor's",
            });
        };
        let width = sums.width;
        let base = dot(&weights, &sums.origin);
        let mut cells = vec![CellScores::default(); offsets.partition.len()];
        let (mut mass, mut between) = (0.0, 0.0);
        for (slot, row) in by_slot.chunks(width).enumerate() {
            if slots.counts[slot] == 0 {
                continue;
            }
            let weight = row[width - 1];
            let mean = dot(&weights, row) / weight;
            mass += weight;
            let mut uses = Uses::default();
            let place = places.of(&slots.keys[slot], &mut uses, 0)?;
            // A cell may be made up of several slots.
            if let Place::Cell(cell) = place {
                cells[cell].rows += slots.counts[slot];
                cells[cell].spread.add(mean, weight);
            } else {
                between += weight * mean * mean;
            }
        }
        for cell in &mut cells {
            between += cell.spread.weight * cell.spread.mean * cell.spread.mean;
            cell.spread.mean += base;
            cell.spread.squares = 0.0;
        }
        if let Some(within) = sums.quadratic(&weights) {
            // Of the squares about the origin, those of the means are between the cells.
            let variance = (within - between).max(0.0) / mass;
            for cell in &mut cells {
                cell.spread.squares = variance * cell.spread.weight;
            }
        }
        renew(self, &cells, renewal, None)
    }

    /// The offsets of new rows whose moments are those of features of S.
    fn refresh_smooth(
        &self,
        cells: &CellFeatures,
        sums: &Sums,
        weights: &[f64],
        renewal: Renewal,
    ) -> Result<(Self, Vec<Drift>)> {
        let renewed = cells.offsets(weights, &sums.origin, self.strength());
        let mass = renewed.partition.mass();
        let variance = sums.variance(weights).unwrap_or(0.0);
        let scores: Vec<CellScores> = (0..mass.len())
            .map(|c| CellScores {
                rows: renewed.partition.counts()[c],
                spread: Spread {
                    weight: mass[c],
                    mean: renewed.mean + renewed.by_cell[c],
                    squares: variance * mass[c],
                },
            })
            .collect();
        let (predictor, drift) = renew(self, &scores, renewal, None)?;
        Ok(predictor.with_smooth(renewed.smooth, renewed.partition.smooth.clone(), drift))
    }

    /// The same with another regression on S.
    fn with_smooth(
        mut self,
        smooth: Option<SmoothOffsets>,
        of: Option<Smooth>,
        mut drift: Vec<Drift>,
    ) -> (Self, Vec<Drift>) {
        if let Some(offsets) = &mut self.offsets {
            offsets.smooth = smooth;
            Arc::make_mut(&mut offsets.partition).smooth = of;
            for (c, cell) in drift.iter_mut().enumerate() {
                cell.offsets.1 = offsets.taken(c);
            }
        }
        (self, drift)
    }

    fn refreshable(&self) -> Result<&Offsets> {
        self.offsets.as_ref().ok_or(Error::InvalidParameter {
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
        let (mut predictor, mut drift) = renew(&self.predictor, &self.cells, renewal, fit)?;
        let mut sampled = self.sampled.map(|sampled| sampled.finish(&|_| true));
        let of = predictor.refreshable()?.partition.smooth.clone();
        if let (Some(scores), Some(sums), Some(of)) = (self.smooth, sums, of) {
            let (of, offsets) = sums.regression(&of, &scores)?;
            (predictor, drift) = predictor.with_smooth(Some(offsets), Some(of), drift);
            if let Some(sampled) = &mut sampled {
                sampled.assignment.recentre(&sums.mean());
            }
        }
        if let (Some(old), Some(sampled)) = (&self.predictor.alignment, sampled) {
            predictor.alignment = Some(realign(
                &self.predictor,
                old,
                &predictor,
                &sampled,
                renewal,
            )?);
        }
        Ok((predictor, drift, self.uses))
    }
}

impl SmoothScores {
    fn add(&mut self, features: &[f64], score: f64, weight: f64, cell: Option<usize>) {
        self.score += weight * score;
        for (cross, v) in self.cross.iter_mut().zip(features) {
            *cross += weight * v * score;
        }
        if let Some(sums) = &mut self.sums {
            sums.add(features, weight, cell);
        }
    }
}

impl SmoothSums {
    fn new(features: usize, cells: usize) -> Self {
        Self {
            weight: 0.0,
            features: vec![0.0; features],
            gram: Mat::zeros(features, features),
            cells: vec![(Vec::new(), 0.0); cells],
        }
    }

    fn add(&mut self, features: &[f64], weight: f64, cell: Option<usize>) {
        self.weight += weight;
        for (b, v) in features.iter().enumerate() {
            self.features[b] += weight * v;
            let column = self.gram.col_as_slice_mut(b);
            let pairs = column.iter_mut().zip(features);
            pairs.for_each(|(g, d)| *g += weight * v * d);
        }
        if let Some((sums, mass)) = cell.and_then(|cell| self.cells.get_mut(cell)) {
            *mass += weight;
            sums.resize(features.len(), 0.0);
            let pairs = sums.iter_mut().zip(features);
            pairs.for_each(|(s, d)| *s += weight * d);
        }
    }

    /// The mean of D.
    fn mean(&self) -> Vec<f64> {
        self.features.iter().map(|v| v / self.weight).collect()
    }

    /// The regression of a score on D, centred over these rows.
    fn regression(&self, of: &Smooth, scores: &SmoothScores) -> Result<(Smooth, SmoothOffsets)> {
        let count = self.features.len();
        let mean = self.mean();
        let gram = Mat::from_fn(count, count, |a, b| {
            self.gram[(a, b)] - self.weight * mean[a] * mean[b]
        });
        let cross = Mat::from_fn(count, 1, |a, _| scores.cross[a] - mean[a] * scores.score);
        let moved = of.moved(&mean);
        let values = moved
            .solve(gram.as_ref(), cross.as_ref())?
            .col_as_slice(0)
            .to_vec();
        let inside = |(sums, mass): &(Vec<f64>, f64)| {
            let centred = sums.iter().zip(&mean).map(|(s, m)| s / mass - m);
            if *mass > 0.0 {
                centred.zip(&values).map(|(d, v)| d * v).sum()
            } else {
                0.0
            }
        };
        let by_cell = self.cells.iter().map(inside).collect();
        Ok((moved, SmoothOffsets { values, by_cell }))
    }
}

/// The alignment of a predictor with new offsets. In cells with too few sampled rows the distribution stays: h has the one
/// it had, and the score differs by the change of the offset.
fn realign(
    before: &Predictor,
    old: &Alignment,
    after: &Predictor,
    sampled: &SampledScores,
    renewal: Renewal,
) -> Result<Alignment> {
    let (was, is) = (before.refreshable()?, after.refreshable()?);
    let scores = after.less_offsets(&sampled.before, &sampled.assignment);
    let (given, ridge) = given(&sampled.assignment, Some(&is.partition));
    let new = Alignment::fit(old.rule(), &scores, given, &sampled.weights, ridge)?;
    let mut rows = vec![0; is.partition.len()];
    for cell in sampled.assignment.cells().flatten() {
        rows[cell] += 1;
    }
    let kept = |cell: usize| rows.get(cell).is_none_or(|rows| renewal.is_small(*rows));
    let shift = |cell: usize| is.strength * (was.taken(cell) - is.taken(cell));
    Ok(new.keeping(old, &kept, &shift, is.partition.mass()))
}

fn renew(
    predictor: &Predictor,
    cells: &[CellScores],
    renewal: Renewal,
    fit: Option<FitMeans>,
) -> Result<(Predictor, Vec<Drift>)> {
    let offsets = predictor.refreshable()?;
    let old = &offsets.partition;
    let kept = |c: usize| renewal.is_small(cells[c].rows);
    let small: Vec<usize> = (0..cells.len()).filter(|&c| kept(c)).collect();
    if renewal.small == SmallCells::Refuse && !small.is_empty() {
        let named = |c: &usize| (old.label(*c), cells[*c].rows);
        return Err(Error::SmallCells {
            small: small.iter().map(named).collect(),
            cells: cells.len(),
            needed: renewal.least.max(1),
        });
    }
    if small.len() == cells.len() {
        return Err(Error::TooFewRows {
            what: "the largest cell of the new table",
            found: cells.iter().map(|cell| cell.rows).max().unwrap_or(0),
            needed: renewal.least.max(1),
        });
    }
    let old_mass: f64 = old.mass().iter().sum();
    let new_mass: f64 = cells.iter().map(|cell| cell.spread.weight).sum();
    let mean = |c: usize| {
        if kept(c) {
            offsets.mean + offsets.by_cell[c]
        } else {
            cells[c].spread.mean
        }
    };
    let share = |c: usize| {
        if kept(c) {
            (old.mass()[c] / old_mass * new_mass, old.counts()[c])
        } else {
            (cells[c].spread.weight, cells[c].rows)
        }
    };
    let (mass, counts) = (0..cells.len()).map(share).unzip();
    let means: Vec<f64> = (0..cells.len()).map(mean).collect();
    let partition = old.with_mass(mass, counts);
    let renewed = Offsets::new(partition, offsets.strength, &means);
    let drift = (0..cells.len())
        .map(|c| {
            let before = predictor.intercept + offsets.mean + offsets.by_cell[c];
            let cell = &cells[c];
            let seen = cell.rows > 0;
            let after = if seen {
                predictor.intercept + cell.spread.mean
            } else {
                before
            };
            let z = |mean: f64, rows: usize| {
                let variance = cell.spread.variance();
                let error = (variance / cell.rows as f64 + variance / rows as f64).sqrt();
                (seen && error > 0.0).then(|| (after - mean) / error)
            };
            Drift {
                label: old.label(c),
                rows: cell.rows,
                before,
                after,
                z: z(before, old.counts()[c]),
                offsets: (offsets.taken(c), renewed.by_cell[c]),
                kept: kept(c),
                since_fit: fit.map(|fit| SinceFit {
                    mean: fit.means[c],
                    z: z(fit.means[c], fit.rows[c]),
                }),
            }
        })
        .collect();
    let predictor = Predictor {
        offsets: Some(renewed),
        ..predictor.clone()
    };
    Ok((predictor, drift))
}
