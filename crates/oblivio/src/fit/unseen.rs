//! Residuals of rows at models that have not seen them: what intervals are made of.

use oblivio_base::{Error, Named, Result, UnseenCategory, Watch, random};
use rand::seq::SliceRandom;

use super::exact::Exact;
use super::folds::FOLDS;
use super::part::pick;
use super::problem::Path;
use super::{Emphasised, Fit, Mode, Settings};
use crate::gather::Rows;
use crate::intervals::{IntervalSource, Intervals, USUAL_COVERAGE};
use crate::partition::{Missing, PartitionRule, Policies, SensitiveDesign};
use crate::predictor::Predictor;
use crate::reference::Reference;

/// How rows come to be scored by models that have not seen them.
#[derive(Debug)]
pub(super) enum Unseen {
    /// In closed form.
    LeftOut,
    /// By fits to the other folds of these rows.
    Folds(Box<(Settings, Rows)>),
}

/// Rows that train, scored by models without them.
pub(super) struct Scored {
    source: IntervalSource,
    /// Whether the offsets are still to be taken off the scores.
    before: bool,
    scores: Vec<f64>,
    /// By the model for rows without sensitive values, if there is one.
    fallback: Option<Vec<f64>>,
    targets: Vec<f64>,
    weights: Vec<f64>,
    assignment: SensitiveDesign,
}

impl Unseen {
    /// As the settings ask; leave-one-out is refused where it has no closed form.
    pub(super) fn new(settings: &Settings, path: &Path, data: &Emphasised) -> Result<Option<Self>> {
        let Some(source) = settings.intervals else {
            return Ok(None);
        };
        match (source, path.leaves_out()) {
            (IntervalSource::Auto | IntervalSource::Loo, true) => Ok(Some(Self::LeftOut)),
            (IntervalSource::Loo, false) => Err(Error::InvalidParameter {
                name: "intervals",
                expected: "auto or folds where leaving out a row has no closed form: on landmarks, with an alignment, with the solver pcg, or where oblivious features are a regression on the sensitive values",
                value: source.name().into(),
            }),
            _ => {
                let all: Vec<usize> = (0..data.training.targets.len()).collect();
                let rows = data.training.weighted(&data.weights).rows(&all);
                let settings = settings.of_fold(data.training.sensitive);
                Ok(Some(Self::Folds(Box::new((settings, rows)))))
            }
        }
    }

    /// What has to be done before the fit, which takes the matrix for itself.
    pub(super) fn left_out(
        &self,
        path: &Path,
        second: Option<&Path>,
        watch: &Watch,
    ) -> Result<Option<Scored>> {
        let (Self::LeftOut, Path::Exact(exact)) = (self, path) else {
            return Ok(None);
        };
        let fallback = match second {
            Some(Path::Exact(second)) => Some(second.left_out(watch)?),
            _ => None,
        };
        Ok(Some(Scored::of(exact, fallback, watch)?))
    }

    /// Gives a fit its intervals.
    pub(super) fn finish(
        self,
        left_out: Option<Scored>,
        mut fit: Fit,
        watch: &Watch,
    ) -> Result<Fit> {
        let scored = match (self, left_out) {
            (Self::Folds(parts), _) => {
                let (settings, rows) = *parts;
                out_of_fold(&settings, &rows, &fit.predictor, watch)?
            }
            (Self::LeftOut, Some(scored)) => scored.less_offsets(&fit.predictor),
            (Self::LeftOut, None) => return Ok(fit),
        };
        let cells = fit.predictor.offsets().map_or(1, |of| of.partition.len());
        let intervals = scored.intervals(&scored.scores, cells);
        fit.summary
            .warnings
            .extend(intervals.remark(USUAL_COVERAGE)?);
        fit.predictor.intervals = Some(intervals);
        if let (Some(fallback), Some(scores)) = (&mut fit.predictor.fallback, &scored.fallback) {
            fallback.intervals = Some(scored.intervals(scores, cells));
        }
        Ok(fit)
    }
}

impl Scored {
    fn of(exact: &Exact, fallback: Option<Vec<f64>>, watch: &Watch) -> Result<Self> {
        let training = &exact.training;
        Ok(Self {
            source: IntervalSource::Loo,
            before: exact.mode == Mode::MOblivious,
            scores: exact.left_out(watch)?,
            fallback,
            targets: training.targets.clone(),
            weights: training.weights.clone(),
            assignment: training.assignment.clone(),
        })
    }

    /// These rows alone.
    fn select(self, rows: &[usize]) -> Self {
        Self {
            scores: pick(&self.scores, rows),
            fallback: self.fallback.map(|scores| pick(&scores, rows)),
            targets: pick(&self.targets, rows),
            weights: pick(&self.weights, rows),
            assignment: self.assignment.select(rows),
            ..self
        }
    }

    fn less_offsets(mut self, predictor: &Predictor) -> Self {
        if self.before {
            self.scores = predictor.less_offsets(&self.scores, &self.assignment);
        }
        self
    }

    fn intervals(&self, scores: &[f64], cells: usize) -> Intervals {
        let pairs = self.targets.iter().zip(scores);
        let residuals: Vec<f64> = pairs.map(|(y, score)| (y - score).abs()).collect();
        let rows = (self.assignment.codes(), &self.weights[..]);
        Intervals::new(self.source, cells, &residuals, rows)
    }
}

impl Settings {
    /// The settings of a fit to some of the rows: the same, but a sensitive value that only other rows have is no reason to refuse
    /// one of these.
    fn of_fold(&self, sensitive: &crate::sensitive::Sensitive) -> Self {
        let rule = self.partition.settled(sensitive);
        let policies = Policies {
            empty: rule.policies.empty.lenient(),
            category: match rule.policies.category {
                UnseenCategory::Error => UnseenCategory::Population,
                other => other,
            },
            ..rule.policies
        };
        Self {
            partition: PartitionRule { policies, ..rule },
            intervals: None,
            ..self.clone()
        }
    }
}

/// Scores of rows by fits to the other folds. Folds have rows of every cell alike.
fn out_of_fold(
    settings: &Settings,
    rows: &Rows,
    whole: &Predictor,
    watch: &Watch,
) -> Result<Scored> {
    let count = rows.points.len();
    let targets = rows.targets.as_deref().unwrap_or(&[]);
    let assignment = match whole.offsets() {
        Some(offsets) => offsets.partition.assign(&rows.sensitive)?,
        None => SensitiveDesign::from_cells(vec![0; count]),
    };
    // Given rows estimate whatever happens, and none of them trains.
    let dealt = match &settings.reference {
        Reference::Rows(_) => settings.reference.split(count, settings.seed)?.training,
        Reference::All | Reference::Half => (0..count).collect(),
    };
    let fold_of = deal(&dealt, assignment.codes(), settings.seed);
    let mut scored = Scored {
        source: IntervalSource::Folds,
        before: false,
        scores: vec![0.0; dealt.len()],
        fallback: whole.fallback().map(|_| vec![0.0; dealt.len()]),
        targets: pick(targets, &dealt),
        weights: pick(&rows.weights, &dealt),
        assignment: assignment.select(&dealt),
    };
    let mut kept: Vec<usize> = Vec::new();
    for fold in 0..FOLDS {
        let mut places: Vec<usize> = (0..dealt.len()).filter(|&k| fold_of[k] == fold).collect();
        let held: Vec<usize> = places.iter().map(|&k| dealt[k]).collect();
        let rest: Vec<usize> = (0..count)
            .filter(|row| held.binary_search(row).is_err())
            .collect();
        if settings.partition.policies.missing == Missing::Category {
            let alone = alone(rows, &rest)?;
            places.retain(|&k| !alone[dealt[k]]);
        }
        if places.is_empty() {
            continue;
        }
        let held: Vec<usize> = places.iter().map(|&k| dealt[k]).collect();
        kept.extend(&places);
        let known = rows.training().rows(&rest);
        let settings = Settings {
            reference: settings.reference.renumbered(&rest),
            ..settings.clone()
        };
        let fit = settings.prepare(known.training())?.fit(watch)?;
        let points = rows.points.select(&held);
        let sensitive = rows.sensitive.select(&held);
        let given = fit.predictor.offsets().map(|_| &sensitive);
        let found = fit.predictor.predict(&points, given, watch)?.scores;
        places
            .iter()
            .zip(found)
            .for_each(|(&k, score)| scored.scores[k] = score);
        if let (Some(scores), Some(fallback)) = (&mut scored.fallback, fit.predictor.fallback()) {
            let found = fallback.predict(&points, None, watch)?.scores;
            places
                .iter()
                .zip(found)
                .for_each(|(&k, score)| scores[k] = score);
        }
    }
    kept.sort_unstable();
    Ok(scored.select(&kept))
}

/// Rows that miss a value which none of the rest does. Where missing is a category, no fit to the rest can score them, and they have no
/// residual.
fn alone(rows: &Rows, rest: &[usize]) -> Result<Vec<bool>> {
    let mut alone = vec![false; rows.sensitive.len()];
    for column in rows.sensitive.columns() {
        let misses = rows.sensitive.misses([column.name.as_str()].into_iter())?;
        if !rest
            .iter()
            .any(|&row| misses[row] && rows.weights[row] > 0.0)
        {
            alone.iter_mut().zip(misses).for_each(|(a, m)| *a |= m);
        }
    }
    Ok(alone)
}

/// A fold for each of these rows: shuffled by seed, and those of a cell dealt out in turn.
fn deal(rows: &[usize], cells: &[u32], seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.shuffle(&mut random::generator(seed, random::Stream::Folds));
    order.sort_by_key(|&k| cells[rows[k]]);
    let mut fold_of = vec![0; rows.len()];
    for (turn, place) in order.into_iter().enumerate() {
        fold_of[place] = turn % FOLDS;
    }
    fold_of
}
