//! Classes on landmarks: the features of the rows are gone through again and again, and only numbers per row stay.

use std::sync::Arc;

use faer::{Mat, MatRef};
use oblivio_base::random::Draw;
use oblivio_base::{Error, Points, Result, Warning, Watch};
use oblivio_kernels::FeatureRows;
use oblivio_kernels::gram::dot;
use oblivio_kernels::learn::{Outcomes, Task};

use super::decision::Decision;
use super::exact::at_training;
use super::feature_rows::{InMemory, Without};
use super::folds::{FOLDS, folds};
use super::{CellSummary, Fit, Mode, Settings, Summary};
use crate::adjust::{Adjustment, Offsets};
use crate::align::AlignRule;
use crate::dependence::Dependence;
use crate::features::{FeatureSettings, ObliviousFeatures};
use crate::gather::Rows;
use crate::moments::SAMPLE;
use crate::partition::SensitiveDesign;
use crate::predictor::Predictor;
use crate::reference::Reference;
use crate::sensitive::Sensitive;
use crate::sensitive_free::{Parity, Restraint};

/// A fit of classes on landmarks whose rows are in memory.
#[derive(Clone, Debug)]
pub(super) struct Landmarked {
    settings: Settings,
    rows: Rows,
    emphasis: Vec<f64>,
}

/// Features as a learner of classes is to see them, from the means over the cells: for rows that need not be in memory.
#[derive(Clone, Debug)]
pub struct Turned {
    task: Task,
    decision: Decision,
    seed: u64,
    mode: Mode,
    strength: f64,
    features: ObliviousFeatures,
    /// What is done to the features before they are learned on; nothing if absent.
    turn: Option<Mat<f64>>,
    /// Directions that h must keep away from, and how far it may be from that.
    bounded: Option<(Mat<f64>, f64)>,
    align: Option<AlignRule>,
    /// Whether rows of the positive class alone are aligned.
    positives: bool,
    /// The rows that an alignment is fitted to; some of those that train if absent.
    to_align: Option<Arc<Rows>>,
    warnings: Vec<Warning>,
}

/// The rows that train: one entry for each.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// 0 or 1
    pub targets: &'a [f64],
    /// How often each row counts.
    pub weights: &'a [f64],
    /// How much its class counts.
    pub emphasis: &'a [f64],
    /// The cell of each row, and the mixtures that cells beyond the partition stand for.
    pub assignment: &'a SensitiveDesign,
    /// Whether these rows are also those that estimated the means.
    pub estimated: bool,
}

/// Bytes of features kept in memory rather than computed anew in each pass, unless the settings say otherwise.
const KEPT: usize = 1 << 30;

impl Settings {
    /// The settings of the features that a classifier on landmarks needs: the means over the cells are gathered in any mode.
    /// `positive` are the numbers of the rows of the positive class.
    pub fn classifier_features(
        &self,
        positive: &dyn Fn() -> Vec<usize>,
    ) -> Result<FeatureSettings> {
        let components = self.components.ok_or(Error::InvalidParameter {
            name: "the number of components",
            expected: "given, for these are features on landmarks",
            value: "none".into(),
        })?;
        let mode = self.effective_mode(true);
        let positives = self.mode == Mode::SensitiveFree && self.parity == Parity::Opportunity;
        Ok(FeatureSettings {
            kernel: self.kernel.clone(),
            components,
            strength: 1.0,
            partition: self.cell_rule(self.partition.clone(), mode)?,
            reference: if positives {
                Reference::Rows(positive())
            } else {
                self.reference.clone()
            },
            seed: self.seed,
        })
    }
}

impl Landmarked {
    pub(super) fn new(settings: Settings, rows: Rows, emphasis: Vec<f64>) -> Self {
        Self {
            settings,
            rows,
            emphasis,
        }
    }

    /// The same rows in the mode sensitive-free.
    pub(super) fn sensitive_free(&self) -> Self {
        let mut free = self.clone();
        free.settings.mode = Mode::SensitiveFree;
        free.settings.align = None;
        free.settings.strength = super::whole(free.settings.strength);
        free
    }

    pub(super) fn fit(self, watch: &Watch) -> Result<Fit> {
        let Self {
            settings,
            rows,
            emphasis,
        } = self;
        let targets = rows.targets.as_deref().unwrap_or(&[]);
        let split = settings.reference.split(targets.len(), settings.seed)?;
        let positive = || -> Vec<usize> {
            let reference = split.reference.iter().copied();
            reference.filter(|&row| targets[row] > 0.0).collect()
        };
        let (features, mut warnings) = settings
            .classifier_features(&positive)?
            .fit(rows.training(), watch)?;
        warnings.extend(super::constant_features(&rows.points));
        let mut turned = Turned::new(&settings, features, warnings)?;
        if split.training != split.reference {
            let reference = if turned.positives {
                positive()
            } else {
                split.reference.clone()
            };
            turned = turned.aligned_on(&rows, &reference);
        }
        let pick = |values: &[f64]| super::part::pick(values, &split.training);
        let seen = InMemory::new(
            &turned,
            rows.points.select(&split.training),
            rows.sensitive.select(&split.training),
            watch,
        )?;
        let labelled = Labelled {
            targets: &pick(targets),
            weights: &pick(&rows.weights),
            emphasis: &pick(&emphasis),
            assignment: &turned.assign(&seen.sensitive)?,
            estimated: split.training == split.reference,
        };
        turned.fit(&seen, labelled, watch)
    }
}

impl Turned {
    /// Settles what is done to these features.
    pub fn new(
        settings: &Settings,
        mut features: ObliviousFeatures,
        warnings: Vec<Warning>,
    ) -> Result<Self> {
        settings.check()?;
        let mode = settings.effective_mode(features.cells.is_some());
        let width = features.map.len();
        let (mut turn, mut bounded) = (None, None);
        if let (Mode::SensitiveFree, Some(cells)) = (mode, &features.cells) {
            let knobs = (settings.strength, settings.penalty);
            let (matrix, shifts) = cells.turn(width, settings.restraint, knobs)?;
            match settings.restraint {
                Restraint::Slack(epsilon) => bounded = Some((shifts, epsilon)),
                Restraint::Hard | Restraint::Soft(_) => turn = Some(matrix),
            }
        }
        if let Some(cells) = &mut features.cells {
            cells.strength = if mode == Mode::Oblivious {
                settings.strength
            } else {
                0.0
            };
        }
        Ok(Self {
            task: settings.task(),
            decision: Decision(settings.threshold),
            seed: settings.seed,
            mode,
            strength: settings.strength,
            features,
            turn,
            bounded,
            align: settings.align.filter(|_| settings.aligns()),
            positives: mode == Mode::SensitiveFree && settings.parity == Parity::Opportunity,
            to_align: None,
            warnings,
        })
    }

    /// The same, its alignment fitted to these reference rows of a table: as many of them as a sample has.
    fn aligned_on(mut self, table: &Rows, reference: &[usize]) -> Self {
        if self.align.is_some() {
            let chosen = sampled(reference, self.seed);
            let rows = Rows::select(&table.batch(), &table.sensitive, &chosen);
            self.to_align = Some(Arc::new(rows));
        }
        self
    }

    /// Whether the features of so many rows are best kept in memory.
    pub fn fits(&self, rows: usize) -> bool {
        rows.saturating_mul(8 * self.width()) <= self.task.memory.unwrap_or(KEPT)
    }

    /// The number of features.
    pub fn width(&self) -> usize {
        self.features.map.len()
    }

    /// The cells of rows.
    pub fn assign(&self, sensitive: &Sensitive) -> Result<SensitiveDesign> {
        match &self.features.cells {
            Some(cells) => {
                let assignment = cells.partition.assign(sensitive)?;
                // Of many rows the features of S are large, and only some fits look at them again.
                let needed = self.mode == Mode::MOblivious || self.align.is_some();
                Ok(if needed {
                    assignment
                } else {
                    assignment.for_reports()
                })
            }
            None => Ok(SensitiveDesign::from_cells(vec![0; sensitive.len()])),
        }
    }

    /// The features of every row, row after row.
    pub fn rows(&self, points: &Points, sensitive: &Sensitive, watch: &Watch) -> Result<Vec<f64>> {
        let width = self.width();
        let mut rows = if self.mode == Mode::Oblivious {
            self.features.transform(points, Some(sensitive), watch)?.0
        } else {
            self.features.map.features(points, watch)?
        };
        if let Some(turn) = &self.turn {
            let columns = MatRef::from_column_major_slice(&rows, width, points.len());
            let turned = turn * columns;
            let each = (0..points.len()).flat_map(|i| turned.col_as_slice(i));
            rows = each.copied().collect();
        }
        Ok(rows)
    }

    /// Learns from rows that come by again and again.
    pub fn fit(&self, rows: &dyn FeatureRows, labelled: Labelled, watch: &Watch) -> Result<Fit> {
        let outcomes = labelled.outcomes();
        let bounded = self.bounded.as_ref();
        let bounded = bounded.map(|(directions, epsilon)| (directions.as_ref(), *epsilon));
        let answer = self.task.solve_features(rows, outcomes, bounded, watch)?;
        let strength = if self.mode.takes_off() {
            self.strength
        } else {
            0.0
        };
        let offsets = match &self.features.cells {
            None => None,
            Some(cells) if self.mode == Mode::MOblivious && labelled.estimated => {
                let unseen = self.out_of_fold(rows, labelled, answer.intercept, watch)?;
                let (of, weights) = (labelled.assignment, labelled.weights);
                let partition = &cells.partition;
                Some(Offsets::regressed(
                    partition, strength, &unseen, of, weights,
                )?)
            }
            Some(cells) => Some(cells.offsets(&self.unturned(&answer.weights), strength)),
        };
        let reference_rows = offsets.as_ref().map_or(labelled.targets.len(), |offsets| {
            offsets.partition.counts().iter().sum()
        });
        let mut predictor = Predictor {
            basis: self.features.map.basis().clone().into(),
            coefficients: self.coefficients(&answer.weights),
            intercept: answer.intercept,
            adjustment: offsets.map(Adjustment::from),
            fallback: None,
            intervals: None,
        };
        self.align(&mut predictor, &answer.fitted, labelled, watch)?;
        // What the oblivious features give has its offsets taken off.
        let scores = if self.mode == Mode::MOblivious {
            &predictor.less_offsets(&answer.fitted, labelled.assignment)
        } else {
            &answer.fitted
        };
        let scores = predictor.aligned(scores, labelled.assignment)?;
        let lost = labelled.assignment.is_for_reports();
        let dependence = if predictor.offsets().is_none() || (lost && strength > 0.0) {
            None
        } else {
            let (assignment, weights) = (labelled.assignment, labelled.weights);
            let before = at_training(&predictor, self.mode, &answer.fitted, assignment);
            Dependence::of_rows(&predictor, &before, assignment, weights)?
        };
        let (threshold, (error, spread)) =
            self.decision
                .settle(&scores, labelled.targets, labelled.weights);
        predictor.move_line(threshold);
        let mut warnings = self.warnings.clone();
        warnings.extend(super::not_converged(&answer.effort));
        let summary = Summary {
            training_rows: labelled.targets.len(),
            reference_rows,
            cells: CellSummary::of(&predictor),
            error,
            spread,
            effort: answer.effort,
            uses: labelled.assignment.uses,
            warnings,
            dependence,
        };
        Ok(Fit {
            predictor,
            threshold,
            summary,
        })
    }

    /// Fits the alignment to the reference rows, or to a sample of those that train.
    fn align(
        &self,
        predictor: &mut Predictor,
        fitted: &[f64],
        labelled: Labelled,
        watch: &Watch,
    ) -> Result<()> {
        let (Some(_), Some(offsets)) = (self.align, predictor.offsets().cloned()) else {
            return Ok(());
        };
        if let Some(rows) = &self.to_align {
            let before = predictor.expansion_at(&rows.points, watch)?;
            let assignment = offsets.partition.assign(&rows.sensitive)?;
            return predictor.align(self.align, &before, &assignment, &rows.weights);
        }
        let counts = |i: &usize| !self.positives || labelled.targets[*i] > 0.0;
        let counted: Vec<usize> = (0..fitted.len()).filter(counts).collect();
        let rows = sampled(&counted, self.seed);
        let assignment = labelled.assignment.select(&rows);
        // Of the oblivious features the offsets are taken off already.
        let taken = |row: usize| match self.mode {
            Mode::Oblivious => offsets.strength * offsets.of(labelled.assignment, row),
            _ => 0.0,
        };
        let before: Vec<f64> = rows.iter().map(|&i| fitted[i] + taken(i)).collect();
        let weights = super::part::pick(labelled.weights, &rows);
        predictor.align(self.align, &before, &assignment, &weights)
    }

    /// w on the features as they were before they were turned.
    fn unturned(&self, weights: &[f64]) -> Vec<f64> {
        let Some(turn) = &self.turn else {
            return weights.to_vec();
        };
        (0..weights.len())
            .map(|k| dot(turn.col_as_slice(k), weights))
            .collect()
    }

    /// $\langle w, Rk_L(x)\rangle$ is an expansion over the basis with coefficients $Rw$.
    fn coefficients(&self, weights: &[f64]) -> Vec<f64> {
        let weights = self.unturned(weights);
        let column = faer::Col::from_fn(weights.len(), |k| weights[k]);
        (self.features.map.root() * &column)
            .iter()
            .copied()
            .collect()
    }

    /// The score of every row by a machine that has not seen its fold, less the intercept.
    fn out_of_fold(
        &self,
        rows: &dyn FeatureRows,
        labelled: Labelled,
        intercept: f64,
        watch: &Watch,
    ) -> Result<Vec<f64>> {
        let fold_of = folds(labelled.targets, self.seed)?;
        let mut scores = vec![0.0; fold_of.len()];
        for fold in 0..FOLDS {
            let places: Vec<usize> = (0..fold_of.len()).filter(|&i| fold_of[i] != fold).collect();
            if places.len() == fold_of.len() {
                continue;
            }
            let pick = |values: &[f64]| super::part::pick(values, &places);
            let rest = Without {
                rows,
                keep: &|i| fold_of[i] != fold,
                len: places.len(),
            };
            let outcomes = Outcomes {
                targets: &pick(labelled.targets),
                weights: &pick(labelled.weights),
                emphasis: &pick(labelled.emphasis),
            };
            let answer = self.task.solve_features(&rest, outcomes, None, watch)?;
            rows.each(
                &mut |first, block| {
                    for j in (0..block.ncols()).filter(|j| fold_of[first + j] == fold) {
                        let values = block.col(j).iter().zip(&answer.weights);
                        let score: f64 = values.map(|(z, w)| z * w).sum();
                        scores[first + j] = score + answer.intercept - intercept;
                    }
                    Ok(())
                },
                watch,
            )?;
        }
        Ok(scores)
    }
}

/// As many of these rows as a sample has.
fn sampled(rows: &[usize], seed: u64) -> Vec<usize> {
    let mut draw = Draw::new(SAMPLE, seed);
    for _ in rows {
        draw.next_row();
    }
    let places = draw.finish();
    places.into_iter().map(|k| rows[k]).collect()
}

impl<'a> Labelled<'a> {
    fn outcomes(&self) -> Outcomes<'a> {
        Outcomes {
            targets: self.targets,
            weights: self.weights,
            emphasis: self.emphasis,
        }
    }
}
