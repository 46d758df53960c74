//! From a table to a predictor: the settings, and the one way through the engine.

mod classify;
mod decision;
mod exact;
mod explicit;
mod feature_rows;
mod folds;
mod grid;
mod landmarked;
mod left_out;
mod part;
mod path;
mod problem;
mod unseen;

use oblivio_base::points::check_weights;
use oblivio_base::{Error, Named, Points, Result, Warning, Watch};
use oblivio_kernels::learn::{Effort, Intercept, Learner, Ridge, Solver, Task};
use oblivio_kernels::{Components, Gamma, Kernel};

pub use self::classify::ClassProblem;
use self::decision::Decision;
pub use self::explicit::{Solved, StreamFit};
pub use self::grid::GridPoint;
pub use self::landmarked::{Labelled, Turned};
pub use self::path::{Bandwidths, Path, PathGrid};
pub use self::problem::Problem;
use crate::align::AlignRule;
use crate::classes::{ClassWeights, Threshold};
use crate::dependence::Dependence;
use crate::gather::{Gather, Rows};
use crate::intervals::IntervalSource;
use crate::moments::{Batch, Moments, Plan, Sample, SensitiveRows};
use crate::partition::{Estimator, Missing, PartitionRule, Uses};
use crate::predictor::Predictor;
use crate::reference::Reference;
use crate::sensitive::Sensitive;
use crate::sensitive_free::{Parity, Restraint};

/// Everything a fit depends on, apart from the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The kernel, its γ perhaps by rule.
    pub kernel: Kernel<Gamma>,
    /// The loss that is minimised.
    pub learner: Learner,
    /// λ; the C of a classifier is 1/λ.
    pub penalty: f64,
    /// t
    pub strength: f64,
    /// What is learned and what is taken off.
    pub mode: Mode,
    /// Of the sensitive-free mode: which rows have equal mean scores.
    pub parity: Parity,
    /// Of the sensitive-free mode: how equal.
    pub restraint: Restraint,
    /// How sensitive values become cells.
    pub partition: PartitionRule,
    /// Which rows estimate the means.
    pub reference: Reference,
    /// Whether a constant is learned beside h.
    pub intercept: Intercept,
    /// How the system is solved.
    pub solver: Solver,
    /// The relative duality gap that a classifier is to reach: 1e-5 for a support vector machine and 1e-12 for logistic regression
    /// if absent.
    pub gap: Option<f64>,
    /// The most steps its solver may take; the solver's own limit if absent.
    pub steps: Option<usize>,
    /// Bytes that a classifier may take for rows of its matrix, or for features on landmarks; a gigabyte if absent. With less than
    /// all rows need, they are computed again and again.
    pub memory: Option<usize>,
    /// How much each class counts.
    pub class_weights: ClassWeights,
    /// Where the line between classes is drawn.
    pub threshold: Threshold,
    /// A second stage that makes the distributions of the scores equal; none if absent. It needs sensitive values to predict, in
    /// any mode. It is fitted to the predictions at the reference rows, on landmarks at those among the 65 536 rows of the sample; for
    /// a classifier whose rows are not in memory, at training rows. The path of penalties is that of the scores before it.
    pub align: Option<AlignRule>,
    /// Where the residuals come from of which intervals are made, for a regression whose rows are in memory; no intervals if absent.
    pub intervals: Option<IntervalSource>,
    /// Landmarks of the explicit path; `None` is the exact path, whose cost grows with the square of the rows.
    pub components: Option<Components>,
    /// For everything random.
    pub seed: u64,
}

/// What is learned, and what is taken off the score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Learn on plain features, take nothing off: ordinary kernel learning.
    Plain,
    /// Learn on oblivious features.
    #[default]
    Oblivious,
    /// Learn on plain features, take the offsets off: for chains S → X → Y.
    MOblivious,
    /// Learn a function whose mean is the same in every cell, so that nothing needs to be taken off and no sensitive value is
    /// needed to predict.
    SensitiveFree,
}

impl Mode {
    /// Whether offsets are taken off the score, for which sensitive values are needed.
    pub fn takes_off(self) -> bool {
        matches!(self, Self::Oblivious | Self::MOblivious)
    }
}

impl Named for Mode {
    const WHAT: &'static str = "mode";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("oblivious", Self::Oblivious),
        ("m-oblivious", Self::MOblivious),
        ("plain", Self::Plain),
        ("sensitive-free", Self::SensitiveFree),
    ];
}

/// The rows a fit learns from.
#[derive(Clone, Copy, Debug)]
pub struct Training<'a> {
    /// X
    pub points: &'a Points<'a>,
    /// S
    pub sensitive: &'a Sensitive,
    /// Y
    pub targets: &'a [f64],
    /// How often each row counts; once if absent. Rows of weight zero are as good as not there.
    pub weights: Option<&'a [f64]>,
}

/// A predictor and what there is to say about it.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The model.
    pub predictor: Predictor,
    /// What was taken off a classifier's score so that the line is at zero.
    pub threshold: f64,
    /// What was found on the way.
    pub summary: Summary,
}

/// What was found on the way to a predictor.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Rows whose targets were used.
    pub training_rows: usize,
    /// Rows that estimated the means.
    pub reference_rows: usize,
    /// The cells; none without sensitive columns.
    pub cells: Vec<CellSummary>,
    /// Root mean squared error on the training rows, of m-oblivious fits before their offsets, and before any alignment; the share on
    /// the wrong side for classes, after them.
    pub error: f64,
    /// The same for the best constant.
    pub spread: f64,
    /// How the learner came to its answer.
    pub effort: Effort,
    /// How often rows of the table needed a policy.
    pub uses: Uses,
    /// What the user should know.
    pub warnings: Vec<Warning>,
    /// How much the scores of the reference rows say of their cells, those of training rows for a classifier on landmarks; absent
    /// without sensitive columns, and where it would take another look at the rows.
    pub dependence: Option<Dependence>,
}

/// One cell of the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct CellSummary {
    /// The cell in words.
    pub label: String,
    /// Its reference rows.
    pub rows: usize,
    /// The mean of h over them. For m-oblivious models with reference `all`, of the leave-one-out scores.
    pub before: f64,
    /// The same less the offset.
    pub after: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            kernel: Kernel::Gaussian {
                gamma: Gamma::Scale,
            },
            learner: Learner::default(),
            penalty: 1.0,
            strength: 1.0,
            mode: Mode::default(),
            parity: Parity::default(),
            restraint: Restraint::default(),
            partition: PartitionRule::default(),
            reference: Reference::default(),
            intercept: Intercept::default(),
            solver: Solver::default(),
            gap: None,
            steps: None,
            memory: None,
            class_weights: ClassWeights::default(),
            threshold: Threshold::default(),
            align: None,
            intervals: None,
            components: None,
            seed: 0,
        }
    }
}

impl Settings {
    /// Fits one score: ridge regression, or the decision between two classes whose targets are 0 and 1.
    ///
    /// ```
    /// use oblivio::{Column, Points, Sensitive, Settings, Training, Watch};
    /// // The target is x, and x is 10 higher in group b.
    /// let x = vec![0.0, 1.0, 2.0, 10.0, 11.0, 12.0];
    /// let points = Points::new(x.clone(), 1)?;
    /// let group = Column::texts("group", ["a", "a", "a", "b", "b", "b"].map(Some));
    /// let sensitive = Sensitive::new(vec![group], 6)?;
    /// let settings = Settings { kernel: "linear".parse()?, penalty: 1e-6, ..Settings::default() };
    /// let training = Training { points: &points, sensitive: &sensitive, targets: &x, weights: None };
    /// let fit = settings.fit(training, &Watch::default())?;
    /// let scores = fit.predictor.predict(&points, Some(&sensitive), &Watch::default())?.scores;
    /// // What is left is the place within the group.
    /// for (score, expected) in scores.iter().zip([5.0, 6.0, 7.0, 5.0, 6.0, 7.0]) {
    ///     assert!((score - expected).abs() < 1e-3);
    /// }
    /// # Ok::<(), oblivio::Error>(())
    /// ```
    pub fn fit(&self, data: Training, watch: &Watch) -> Result<Fit> {
        self.prepare(data)?.fit(watch)
    }

    /// Checks the data and copies what the fit needs of them, so that the long part can go on without them.
    pub fn prepare(&self, data: Training) -> Result<Problem> {
        self.check()?;
        data.check()?;
        if self.learner.classifies() {
            return self.prepare_classes(data, 2)?.decision(0);
        }
        let emphasis = vec![1.0; data.targets.len()];
        let (weights, left_out) = self.partition.counting(data.sensitive, data.weights)?;
        let problem = self.prepare_rows(data.weighted(&weights), &emphasis)?;
        Ok(problem.leaving_out(left_out))
    }

    /// The settings of the second model, for rows that miss a sensitive value: the same in the mode sensitive-free. `None`
    /// where the policy asks for none, or the mode needs no sensitive value anyway.
    pub fn fallback(&self) -> Option<Self> {
        let asked = self.partition.policies.missing == Missing::SensitiveFree;
        let needed = self.effective_mode(true).takes_off() || self.aligns();
        (asked && needed).then(|| Self {
            mode: Mode::SensitiveFree,
            align: None,
            strength: whole(self.strength),
            ..self.clone()
        })
    }

    /// The exact fit of the rows that count.
    fn exact(&self, data: Training) -> Result<exact::Exact> {
        data.check()?;
        let emphasis = vec![1.0; data.targets.len()];
        let (weights, _) = self.partition.counting(data.sensitive, data.weights)?;
        self.counted(data.weighted(&weights), &emphasis, &exact::Exact::new)
    }

    /// The problem of the rows that count.
    fn prepare_rows(&self, data: Training, emphasis: &[f64]) -> Result<Problem> {
        self.counted(data, emphasis, &Problem::new)
    }

    /// Does `begin` with the rows that count.
    fn counted<T>(
        &self,
        data: Training,
        emphasis: &[f64],
        begin: &dyn Fn(&Self, &Emphasised) -> Result<T>,
    ) -> Result<T> {
        self.reference.check(data.points.len())?;
        let ones = vec![1.0; data.targets.len()];
        let weights = data.weights.unwrap_or(&ones);
        if !weights.contains(&0.0) {
            let emphasised = Emphasised {
                training: data,
                weights: weights.to_vec(),
                emphasis: emphasis.to_vec(),
            };
            return begin(self, &emphasised);
        }
        let rows: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        let kept = data.rows(&rows);
        let training = kept.training();
        training.check()?;
        let settings = Self {
            reference: self.reference.renumbered(&rows),
            ..self.clone()
        };
        let emphasised = Emphasised {
            training,
            weights: kept.weights.clone(),
            emphasis: part::pick(emphasis, &rows),
        };
        begin(&settings, &emphasised)
    }

    /// Refuses settings that do not go together.
    pub fn check(&self) -> Result<()> {
        self.task().check()?;
        self.restraint.check()?;
        self.threshold.check()?;
        if let Some(align) = self.align {
            align.check()?;
        }
        let classifies = self.learner.classifies();
        let free = self.mode == Mode::SensitiveFree;
        let slack = matches!(self.restraint, Restraint::Slack(_));
        let wrong = [
            (
                self.parity == Parity::Opportunity && !(free && classifies),
                "parity",
                "demographic-parity, unless a classifier is to be sensitive-free",
                self.parity.name(),
            ),
            (
                self.restraint != Restraint::Hard && !free,
                "restraint (eta or epsilon)",
                "left out, unless the mode is sensitive-free",
                self.mode.name(),
            ),
            (
                slack && self.learner != Learner::Svm,
                "epsilon",
                "0, unless the learner is a support vector machine",
                self.learner.name(),
            ),
            (
                self.restraint != Restraint::Hard && self.strength != 1.0,
                "strength",
                "1 where eta or epsilon says how much is taken out",
                "another",
            ),
            (
                self.aligns() && !self.partition.control.is_empty(),
                "alignment",
                "left out where legitimate factors are controlled for, since it would take out their part too",
                "given",
            ),
            (
                classifies && self.intervals.is_some(),
                "intervals",
                "left out for a classifier, since they are for regressions",
                self.learner.name(),
            ),
            (
                !classifies && self.threshold != Threshold::Zero,
                "threshold",
                "zero for a regression",
                "another",
            ),
            (
                !classifies && self.class_weights != ClassWeights::Equal,
                "class weights",
                "equal for a regression",
                "others",
            ),
        ];
        match wrong.into_iter().find(|(holds, ..)| *holds) {
            None => Ok(()),
            Some((_, name, expected, value)) => Err(Error::InvalidParameter {
                name,
                expected,
                value: value.into(),
            }),
        }
    }

    /// What a fit on landmarks settles by a look at some rows, of a table of so many `rows` (or of these): the kernel, the
    /// landmarks, the cuts. [`Moments`] of the plan can then be gathered anywhere, and
    /// [`fit_moments`](Self::fit_moments) makes them a predictor.
    pub fn plan(
        &self,
        sample: Training,
        rows: usize,
        watch: &Watch,
    ) -> Result<(Plan, Vec<Warning>)> {
        sample.check()?;
        let components = self.components.ok_or(Error::InvalidParameter {
            name: "the number of components",
            expected: "given, for moments are sums over features",
            value: "none".into(),
        })?;
        let (weights, _) = self.partition.counting(sample.sensitive, sample.weights)?;
        let counted: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        let settings = Self {
            partition: self.partition.settled(sample.sensitive),
            reference: Reference::All,
            ..self.clone()
        };
        let kept = sample.rows(&counted);
        let mut sample = Sample::of(&kept.points, &kept.sensitive, &kept.weights, self.seed);
        if rows > sample.table_rows {
            sample.table_weight *= rows as f64 / sample.table_rows as f64;
            sample.table_rows = rows;
        }
        let fit = StreamFit::new(&settings, components, &sample, watch)?;
        Ok((fit.plan.as_ref().clone(), fit.warnings))
    }

    /// The predictor that moments amount to, all their rows training and estimating.
    ///
    /// Not m-oblivious and not aligned: that needs the scores of single rows.
    pub fn fit_moments(&self, moments: &Moments, watch: &Watch) -> Result<Fit> {
        StreamFit::of(self, Gather::of(moments.clone()), Vec::new())?.finish(watch)
    }

    fn ridge(&self) -> Result<Ridge> {
        self.task().ridge()
    }

    fn task(&self) -> Task {
        Task {
            learner: self.learner,
            penalty: self.penalty,
            intercept: self.intercept,
            solver: self.solver,
            gap: self.gap,
            steps: self.steps,
            memory: self.memory,
        }
    }

    fn decision(&self) -> Option<Decision> {
        self.learner
            .classifies()
            .then_some(Decision(self.threshold))
    }

    /// Whether scores are aligned.
    fn aligns(&self) -> bool {
        self.align.is_some_and(|align| align.strength > 0.0)
    }

    /// The rule by which the conditional mean is made. Where no score depends on the S of new rows, cells are for the report only,
    /// and no value is a reason to refuse.
    fn cell_rule(&self, rule: PartitionRule, mode: Mode) -> Result<PartitionRule> {
        if mode == Mode::SensitiveFree && matches!(self.restraint, Restraint::Slack(_)) {
            let cells = rule.cells_only("cells, for epsilon bounds their means")?;
            return Ok(self.seen(cells, mode));
        }
        if mode == Mode::Plain && !self.aligns() {
            return Ok(rule.for_report());
        }
        let by_itself = rule.estimator == Estimator::Auto;
        if by_itself && mode == Mode::Oblivious && self.learner.classifies() {
            // A regression on S leaves a little of S in the features, and of labels nothing can be taken off that it explains.
            let estimator = Estimator::Cells;
            return Ok(self.seen(PartitionRule { estimator, ..rule }, mode));
        }
        Ok(self.seen(rule, mode))
    }

    /// The rule for a mode in which the S of new rows may or may not matter.
    fn seen(&self, rule: PartitionRule, mode: Mode) -> PartitionRule {
        if mode.takes_off() || self.aligns() {
            return rule;
        }
        PartitionRule {
            policies: rule.policies.for_report(),
            ..rule
        }
    }

    /// Without sensitive columns, and at strength 0, there is nothing to take out.
    fn effective_mode(&self, has_sensitive: bool) -> Mode {
        if has_sensitive && self.strength > 0.0 {
            self.mode
        } else {
            Mode::Plain
        }
    }
}

/// Rows and how much each counts.
struct Emphasised<'a> {
    training: Training<'a>,
    /// How often each row counts.
    weights: Vec<f64>,
    /// How much its class counts in the loss.
    emphasis: Vec<f64>,
}

impl Training<'_> {
    fn check(&self) -> Result<()> {
        self.batch().check()?;
        let rows = self.points.len();
        if let Some(weights) = self.weights {
            check_weights(weights, rows)?;
        }
        if rows < 2 {
            return Err(Error::TooFewRows {
                what: "the table",
                found: rows,
                needed: 2,
            });
        }
        Ok(())
    }

    /// The same rows, each counting so often.
    fn weighted<'w>(&'w self, weights: &'w [f64]) -> Training<'w> {
        Training {
            weights: Some(weights),
            ..*self
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch {
            points: self.points,
            sensitive: SensitiveRows::Columns(self.sensitive),
            targets: Some(self.targets),
            weights: self.weights,
        }
    }

    /// The rows with these numbers.
    fn rows(&self, rows: &[usize]) -> Rows {
        Rows::select(&self.batch(), self.sensitive, rows)
    }

    fn warnings(&self) -> Vec<Warning> {
        let mut warnings: Vec<Warning> = constant_features(self.points).into_iter().collect();
        let count = self.points.duplicates();
        if count > 0 {
            warnings.push(Warning::DuplicateRows { count });
        }
        warnings
    }
}

impl Rows {
    /// The rows as a fit takes them.
    fn training(&self) -> Training<'_> {
        Training {
            points: &self.points,
            sensitive: &self.sensitive,
            targets: self.targets.as_deref().unwrap_or(&[]),
            weights: Some(&self.weights),
        }
    }
}

impl Fit {
    /// The fit with another of the same rows, in the mode sensitive-free, for rows that miss a sensitive value.
    ///
    /// Each draws its own line between classes, but where scores are logits: there the line is the same probability.
    #[must_use]
    pub fn with_fallback(mut self, other: Self, learner: Learner) -> Self {
        let mut fallback = other.predictor.without_cells();
        if learner == Learner::Logistic {
            fallback.intercept += other.threshold - self.threshold;
        }
        self.predictor.fallback = Some(Box::new(fallback));
        let not_converged = |w: &Warning| matches!(w, Warning::NotConverged { .. });
        let remarks = other.summary.warnings.into_iter().filter(not_converged);
        self.summary.warnings.extend(remarks);
        self
    }
}

/// A remark if rows were left out.
fn left_out(uses: Uses) -> Option<Warning> {
    let count = uses.sensitive_free;
    (count > 0).then_some(Warning::LeftOutRows { count })
}

/// The strength of a second model: a plain score that is only aligned has none of its own, and the second takes out all.
fn whole(strength: f64) -> f64 {
    if strength > 0.0 { strength } else { 1.0 }
}

/// A remark if a learner did not come as near as it was asked.
fn not_converged(effort: &Effort) -> Option<Warning> {
    (!effort.converged).then(|| Warning::NotConverged {
        solver: effort.solver.to_owned(),
        iterations: effort.iterations,
        gap: effort.gap.unwrap_or(f64::NAN),
    })
}

fn constant_features(points: &Points) -> Option<Warning> {
    let constant = points.constant_features();
    (!constant.is_empty()).then(|| Warning::ConstantFeatures {
        features: constant
            .into_iter()
            .map(|k| (k, format!("feature {k}")))
            .collect(),
    })
}

impl CellSummary {
    fn of(predictor: &Predictor) -> Vec<Self> {
        let Some(offsets) = predictor.offsets() else {
            return Vec::new();
        };
        (0..offsets.partition.len())
            .map(|c| {
                let before = predictor.intercept() + offsets.mean + offsets.by_cell[c];
                Self {
                    label: offsets.partition.label(c),
                    rows: offsets.partition.counts()[c],
                    before,
                    after: before - offsets.strength * offsets.taken(c),
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_mistakes_list_the_choices() {
        for (name, mode) in Mode::NAMES {
            assert_eq!(Mode::named(name).unwrap(), *mode);
            assert_eq!(mode.name(), *name);
        }
        assert_eq!(
            Mode::named("fair").unwrap_err().to_string(),
            "mode `fair` is not known; choose one of: oblivious, m-oblivious, plain, sensitive-free"
        );
    }
}
