//! The explicit path: rows come in batches, and only their moments stay.

use std::sync::Arc;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use oblivio_base::choice::check_strength;
use oblivio_base::{Error, Named, Points, Result, Warning, Watch};
use oblivio_kernels::gram::dot;
use oblivio_kernels::learn::{Learner, Linear, Ridge};
use oblivio_kernels::{Components, FeatureMap};
use rayon::prelude::*;

use super::{CellSummary, Fit, GridPoint, Mode, Settings, Summary};
use crate::adjust::Offsets;
use crate::align::{AlignRule, SampledScores};
use crate::dependence::Dependence;
use crate::features::CellShifts;
use crate::gather::{Gather, Rows};
use crate::moments::{
    Batch, CellFeatures, Plan, PlanSettings, SAMPLE, Sample, SensitiveRows, SmoothFeatures,
    normal_equations,
};
use crate::predictor::Predictor;
use crate::reference::Members;
use crate::sensitive_free::Restraint;

/// A fit of ridge regression on landmarks, whose rows come in batches.
///
/// All rows are given to [`update`](Self::update); then [`solve`](Self::solve) has the regression, which may ask for them
/// a second time.
#[derive(Clone, Debug)]
pub struct StreamFit {
    pub(crate) plan: Arc<Plan>,
    pub(crate) gather: Gather,
    ridge: Ridge,
    mode: Mode,
    strength: f64,
    restraint: Restraint,
    has_sensitive: bool,
    align: Option<AlignRule>,
    seed: u64,
    /// The reference rows of the sample, kept for an alignment. A fit that was taken up again has none, and asks for its rows once
    /// more.
    sample: Option<Arc<Rows>>,
    pub(crate) warnings: Vec<Warning>,
}

/// A regression whose offsets may still need a second look at the rows.
pub struct Solved {
    predictor: Predictor,
    summary: Summary,
    /// The means of h over the cells less that of all, and its variance within them.
    scatter: Option<(Vec<f64>, f64)>,
    /// For offsets from leave-one-out scores.
    left_out: Option<LeftOut>,
    align: Option<ToAlign>,
}

/// What an alignment will be fitted to.
enum ToAlign {
    /// h of the reference rows of the sample.
    Sample(AlignRule, Vec<f64>, Arc<Rows>),
    /// The same, collected as the rows come by again.
    Coming(AlignRule, Box<SampledScores>, Members),
}

/// Leave-one-out scores, added up per cell as the rows come by again.
struct LeftOut {
    map: FeatureMap,
    /// $L^{-1}R$, $L^{-1}\bar z$ and 1/W, from which leverages follow.
    influence: (Mat<f64>, Vec<f64>, f64),
    /// The weighted sum of the scores in each cell.
    sums: Vec<f64>,
    /// The regression on S, and $\sum wDh$.
    smooth: Option<(SmoothFeatures, Vec<f64>)>,
}

impl StreamFit {
    /// Begins a fit by a sample of its rows. Kinds of sensitive columns in `settings` are settled.
    pub(crate) fn new(
        settings: &Settings,
        components: Components,
        sample: &Sample,
        watch: &Watch,
    ) -> Result<Self> {
        let has_sensitive = !sample.sensitive.columns().is_empty();
        let mode = settings.effective_mode(has_sensitive);
        let partition = settings.cell_rule(settings.partition.clone(), mode)?;
        let plan_settings = PlanSettings {
            kernel: &settings.kernel,
            components,
            partition,
            reference: &settings.reference,
            penalty: Some(settings.penalty),
            seed: settings.seed,
        };
        // Before the long part, not after it.
        settings.check()?;
        let (plan, members, warnings) = Plan::new(sample, &plan_settings, watch)?;
        let gather = Gather::new(&Arc::new(plan), members, sample.table_rows, true);
        let mut fit = Self::of(settings, gather, warnings)?;
        if fit.align.is_some() {
            let estimates = |k: &usize| fit.gather.members.is_reference(sample.rows[*k]);
            let mut places: Vec<usize> = (0..sample.rows.len()).filter(estimates).collect();
            // As they would come by a second time.
            places.sort_unstable_by_key(|&k| sample.rows[k]);
            fit.sample = Some(Arc::new(Rows {
                points: sample.points.select(&places),
                sensitive: sample.sensitive.select(&places),
                targets: None,
                weights: super::part::pick(&sample.weights, &places),
            }));
        }
        Ok(fit)
    }

    /// A fit to rows whose moments are these: they train, and they estimate.
    pub fn from_moments(settings: &Settings, moments: crate::moments::Moments) -> Result<Self> {
        Self::of(settings, Gather::of(moments), Vec::new())
    }

    /// A fit with these moments.
    pub(crate) fn of(settings: &Settings, gather: Gather, warnings: Vec<Warning>) -> Result<Self> {
        settings.check()?;
        check_strength(settings.strength)?;
        if settings.learner != Learner::Ridge {
            return Err(Error::InvalidParameter {
                name: "the learner of a fit from moments",
                expected: "ridge, for other losses need the rows again and again",
                value: settings.learner.name().into(),
            });
        }
        if settings.intervals.is_some() {
            return Err(Error::InvalidParameter {
                name: "intervals",
                expected: "left out where rows come in batches, since they need fits to parts of the table: give all rows at once, on landmarks too",
                value: "given".into(),
            });
        }
        let plan = Arc::clone(&gather.reference.plan);
        let has_sensitive = plan.has_sensitive();
        Ok(Self {
            plan,
            gather,
            ridge: settings.ridge()?,
            mode: settings.effective_mode(has_sensitive),
            strength: settings.strength,
            restraint: settings.restraint,
            has_sensitive,
            align: settings
                .align
                .filter(|_| has_sensitive && settings.aligns()),
            seed: settings.seed,
            sample: None,
            warnings,
        })
    }

    /// All rows of a table that is in memory.
    pub(super) fn fit(
        settings: &Settings,
        components: Components,
        rows: &Rows,
        watch: &Watch,
    ) -> Result<Fit> {
        let sample = Sample::of(&rows.points, &rows.sensitive, &rows.weights, settings.seed);
        let mut fit = Self::new(settings, components, &sample, watch)?;
        drop(sample);
        fit.warnings.extend(super::constant_features(&rows.points));
        watch.begin("moments", rows.points.len())?;
        fit.update(rows.batch(), watch)?;
        let mut solved = fit.solve(watch)?;
        if solved.needs_rows() {
            solved.update(rows.batch(), watch)?;
        }
        solved.finish()
    }

    /// Adds rows.
    pub fn update(&mut self, batch: Batch, watch: &Watch) -> Result<()> {
        self.gather.update(batch, watch)
    }

    /// The penalty of the least generalised cross-validation among these, and what all of them gave.
    ///
    /// Needs training rows that also estimate.
    pub fn choose(
        &mut self,
        settings: &Settings,
        penalties: &[f64],
        watch: &Watch,
    ) -> Result<(f64, Vec<GridPoint>)> {
        if !self.gather.overlap() {
            return Err(Error::InvalidParameter {
                name: "the reference of a fit that chooses its penalty",
                expected: "all rows",
                value: settings.reference.name().into(),
            });
        }
        let strengths = [settings.strength];
        let points = settings.grid(&self.gather.reference, &strengths, penalties, watch)?;
        // As on the exact path: where features come from a regression on S, by the plain ones.
        let judged = if self.mode == Mode::Oblivious && self.plan.is_smooth() {
            settings.grid(&self.gather.reference, &[0.0], penalties, watch)?
        } else {
            points.clone()
        };
        let best = judged.iter().min_by(|a, b| a.gcv.total_cmp(&b.gcv));
        let penalty = best.map_or(settings.penalty, |point| point.penalty);
        let settings = Settings {
            penalty,
            ..settings.clone()
        };
        self.ridge = settings.ridge()?;
        Ok((penalty, points))
    }

    /// Solves for what the rows so far amount to.
    pub fn solve(&self, watch: &Watch) -> Result<Solved> {
        let training_rows = self.gather.training().rows();
        let reference_rows = self.gather.reference.rows();
        if training_rows.max(reference_rows) < 2 {
            return Err(Error::TooFewRows {
                what: "the table",
                found: training_rows.max(reference_rows),
                needed: 2,
            });
        }
        watch.begin("normal equations", 0)?;
        let reference = self.gather.reference.clone().whitened(watch)?;
        let apart = match &self.gather.training {
            Some(training) => Some(training.clone().whitened(watch)?),
            None => None,
        };
        let training = apart.as_ref().unwrap_or(&reference);
        let cells = reference.cells(&self.plan)?;
        let (shift, uses) = cells.shifts(training)?;
        let mut warnings = [&self.warnings[..], &cells.warnings].concat();
        warnings.extend(super::left_out(uses));
        let taken = (self.mode == Mode::Oblivious).then_some((&shift, self.strength));
        let mut design = normal_equations(training, taken)?;
        let turn = match self.mode {
            Mode::SensitiveFree => {
                let knobs = (self.strength, self.ridge.penalty());
                Some(turn(&cells, &reference.origin, self.restraint, knobs)?)
            }
            _ => None,
        };
        if let Some(turn) = &turn {
            design = design.turned(turn.as_ref());
        }
        let (mut linear, influence) = self.ridge.solve_with_influence(&design, watch)?;
        let left_out = (self.mode == Mode::MOblivious && self.gather.overlap()).then(|| LeftOut {
            influence: influence.of_map(self.plan.map.root()),
            map: self.plan.map.clone(),
            sums: vec![0.0; cells.partition.len()],
            smooth: cells.smooth.clone().map(|smooth| {
                let sums = vec![0.0; smooth.smooth.len()];
                (smooth, sums)
            }),
        });
        if let Some(turn) = &turn {
            let turned =
                (0..linear.weights.len()).map(|k| dot(turn.col_as_slice(k), &linear.weights));
            linear.weights = turned.collect();
        }
        // Of the target as it is, whatever is taken off it.
        let spread = normal_equations(training, None)?.centred().2.max(0.0) / design.weight();
        let summary = Summary {
            training_rows,
            reference_rows,
            cells: Vec::new(),
            error: linear.error,
            spread: spread.sqrt(),
            effort: linear.convergence.clone().into(),
            uses,
            warnings,
            dependence: None,
        };
        let mut predictor = self.predictor(&linear, &cells, &reference.origin);
        predictor.fallback = self.fallback(watch)?;
        let scatter = predictor.offsets().and_then(|offsets| {
            let squares = reference.quadratic(&linear.weights)?;
            let mass: f64 = offsets.partition.mass().iter().sum();
            let centre = offsets.mean - dot(&linear.weights, &reference.origin);
            let shares = offsets.partition.shares();
            let cells = shares.iter().zip(&offsets.by_cell);
            let between: f64 = cells.map(|(share, b)| share * b * b).sum();
            let within = squares / mass - centre * centre - between;
            Some((offsets.by_cell.clone(), within))
        });
        Ok(Solved {
            scatter,
            align: self.to_align(&predictor, watch)?,
            predictor,
            summary,
            left_out,
        })
    }

    /// The regression, where no row has to come by a second time.
    pub fn finish(&self, watch: &Watch) -> Result<Fit> {
        let solved = self.solve(watch)?;
        if solved.needs_rows() {
            let aligned = if self.align.is_some() {
                " with alignment"
            } else {
                ""
            };
            return Err(Error::InvalidParameter {
                name: "the mode of a fit from moments",
                expected: "plain or oblivious without alignment, for m-oblivious offsets and alignments need the rows once more",
                value: format!("{}{aligned}", self.mode.name()),
            });
        }
        solved.finish()
    }

    fn to_align(&self, predictor: &Predictor, watch: &Watch) -> Result<Option<ToAlign>> {
        let Some(rule) = self.align else {
            return Ok(None);
        };
        Ok(Some(if let Some(sample) = &self.sample {
            let before = predictor.expansion_at(&sample.points, watch)?;
            ToAlign::Sample(rule, before, Arc::clone(sample))
        } else {
            let coming = Box::new(SampledScores::new(SAMPLE, self.seed));
            ToAlign::Coming(rule, coming, self.gather.members.clone())
        }))
    }

    /// The model for rows that miss a sensitive value: a second solution of the same moments.
    fn fallback(&self, watch: &Watch) -> Result<Option<Box<Predictor>>> {
        let reads = self.mode.takes_off() || self.align.is_some();
        if !(reads && self.plan.leaves_out()) {
            return Ok(None);
        }
        let free = Self {
            mode: Mode::SensitiveFree,
            align: None,
            strength: super::whole(self.strength),
            ..self.clone()
        };
        Ok(Some(Box::new(free.solve(watch)?.predictor.without_cells())))
    }

    /// $\langle w, R k_L(x)\rangle$ is an expansion over the basis with coefficients $Rw$.
    fn predictor(&self, linear: &Linear, cells: &CellFeatures, origin: &[f64]) -> Predictor {
        let weights = faer::Col::from_fn(linear.weights.len(), |k| linear.weights[k]);
        let coefficients = self.plan.map.root() * &weights;
        let strength = if self.mode.takes_off() {
            self.strength
        } else {
            0.0
        };
        Predictor {
            basis: self.plan.map.basis().clone().into(),
            coefficients: coefficients.iter().copied().collect(),
            intercept: linear.intercept,
            adjustment: self
                .has_sensitive
                .then(|| cells.offsets(&linear.weights, origin, strength).into()),
            fallback: None,
            intervals: None,
        }
    }
}

impl Solved {
    /// Whether all rows must come by again before the fit is [`finish`](Self::finish)ed.
    ///
    /// The offsets of an m-oblivious model whose training rows estimate its means come from the scores of each row by the
    /// model without that row. An alignment of a fit that was taken up again needs the scores of some rows.
    pub fn needs_rows(&self) -> bool {
        self.left_out.is_some() || matches!(self.align, Some(ToAlign::Coming(..)))
    }

    /// Adds rows, the same as before.
    pub fn update(&mut self, batch: Batch, watch: &Watch) -> Result<()> {
        const BLOCK: usize = 4096;
        let (Some(offsets), true) = (self.predictor.offsets(), self.needs_rows()) else {
            return Ok(());
        };
        batch.check()?;
        let SensitiveRows::Columns(sensitive) = batch.sensitive else {
            return Ok(());
        };
        let complete = offsets.partition.complete(sensitive)?;
        if let Some(ToAlign::Coming(_, coming, _)) = &mut self.align {
            let mut weights = vec![0.0; batch.points.len()];
            for &row in &complete {
                weights[row] = batch.weights.map_or(1.0, |weights| weights[row]);
            }
            let drawn = coming.draw(&weights);
            let rows = Rows::select(&batch, sensitive, &drawn);
            let before = self.predictor.expansion_at(&rows.points, watch)?;
            let assignment = offsets.partition.assign(&rows.sensitive)?;
            coming.add(&before, &rows.weights, assignment);
        }
        let Some(left_out) = &mut self.left_out else {
            return Ok(());
        };
        let assignment = offsets.partition.assign(&sensitive.select(&complete))?;
        for (number, block) in complete.chunks(BLOCK).enumerate() {
            let points = batch.points.select(block);
            let (leverages, values) = left_out.leverages(&points, &self.predictor.coefficients)?;
            for (k, &row) in block.iter().enumerate() {
                let weight = batch.weights.map_or(1.0, |weights| weights[row]);
                if weight == 0.0 {
                    continue;
                }
                let target = batch.targets.map_or(0.0, |targets| targets[row]);
                let residual = target - self.predictor.intercept - values[k];
                // As in the exact path: one share of the row is taken away.
                let score = target - residual / (1.0 - weight.min(1.0) * leverages[k]);
                let value = weight * (score - self.predictor.intercept);
                let place = number * BLOCK + k;
                if let Some(cell) = assignment.cell(place) {
                    left_out.sums[cell] += value;
                }
                if let (Some((_, sums)), Some(features)) =
                    (&mut left_out.smooth, assignment.matrix())
                {
                    let own = features.col_as_slice(place);
                    sums.iter_mut().zip(own).for_each(|(s, d)| *s += value * d);
                }
            }
            watch.check()?;
        }
        Ok(())
    }

    /// The fit.
    pub fn finish(self) -> Result<Fit> {
        let Self {
            mut predictor,
            mut summary,
            scatter,
            left_out,
            align,
        } = self;
        if let (Some(left_out), Some(adjustment)) = (left_out, &mut predictor.adjustment) {
            let offsets = &mut adjustment.offsets;
            let mass = offsets.partition.mass().iter();
            let means: Vec<f64> = left_out.sums.iter().zip(mass).map(|(s, m)| s / m).collect();
            if means.iter().any(|mean| !mean.is_finite()) {
                return Err(Error::Overflow {
                    what: "a leave-one-out score",
                });
            }
            let smooth = match left_out.smooth {
                None => None,
                Some((smooth, sums)) => {
                    let cross = MatRef::from_column_major_slice(&sums, sums.len(), 1);
                    let values = smooth.smooth.solve(smooth.gram.as_ref(), cross)?;
                    Some(smooth.offsets(values.col_as_slice(0).to_vec()))
                }
            };
            *offsets = Offsets {
                smooth,
                ..Offsets::new(offsets.partition.clone(), offsets.strength, &means)
            };
        }
        match (align, predictor.offsets().cloned()) {
            (Some(ToAlign::Sample(rule, before, rows)), Some(offsets)) => {
                let assignment = offsets.partition.assign(&rows.sensitive)?;
                predictor.align(Some(rule), &before, &assignment, &rows.weights)?;
                summary.dependence =
                    Dependence::of_rows(&predictor, &before, &assignment, &rows.weights)?;
            }
            (Some(ToAlign::Coming(rule, coming, members)), Some(_)) => {
                let rows = coming.finish(&|number| members.is_reference(number));
                predictor.align(Some(rule), &rows.before, &rows.assignment, &rows.weights)?;
                summary.dependence =
                    Dependence::of_rows(&predictor, &rows.before, &rows.assignment, &rows.weights)?;
            }
            (None, Some(offsets)) => {
                summary.dependence = scatter
                    .and_then(|(means, within)| Dependence::of_means(&offsets, &means, within));
            }
            _ => (),
        }
        summary.cells = CellSummary::of(&predictor);
        Ok(Fit {
            predictor,
            threshold: 0.0,
            summary,
        })
    }
}

/// What keeps h away from the shifts of these cells, in the sensitive-free mode.
pub(super) fn turn(
    cells: &CellFeatures,
    origin: &[f64],
    restraint: Restraint,
    knobs: (f64, f64),
) -> Result<Mat<f64>> {
    let shifts = CellShifts::of(cells, origin, 1.0);
    // Of the origin, an entry belongs to the target.
    let (turn, _) = shifts.turn(origin.len() - 1, restraint, knobs)?;
    Ok(turn)
}

impl LeftOut {
    /// The leverage of every point, and the value of the expansion there.
    fn leverages(&self, points: &Points, coefficients: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        const CHUNK: usize = 256;
        let (map, centre, share) = &self.influence;
        let count = self.map.len();
        let kernel = self.map.basis().values(points, &Watch::default())?;
        let pairs: Vec<(f64, f64)> = kernel
            .par_chunks(count * CHUNK)
            .flat_map_iter(|chunk| {
                let rows = chunk.len() / count;
                let columns = MatRef::from_column_major_slice(chunk, count, rows);
                let mut turned = vec![0.0; chunk.len()];
                matmul(
                    MatMut::from_column_major_slice_mut(&mut turned, count, rows),
                    Accum::Replace,
                    map.as_ref(),
                    columns,
                    1.0,
                    Par::Seq,
                );
                let pair = |row: usize| {
                    let vector = &turned[row * count..(row + 1) * count];
                    let squares = vector.iter().zip(centre).map(|(v, c)| (v - c) * (v - c));
                    let column = &chunk[row * count..(row + 1) * count];
                    (share + squares.sum::<f64>(), dot(coefficients, column))
                };
                (0..rows).map(pair).collect::<Vec<_>>()
            })
            .collect();
        Ok(pairs.into_iter().unzip())
    }
}
