//! A fit on the exact path: rows sorted into training and reference, and the four ways to learn from them.

use faer::{Mat, MatRef};

use super::decision::Decision;
use super::folds::{FOLDS, folds};
use super::part::{Part, sum};
use super::{CellSummary, Emphasised, Fit, Mode, Settings, Summary};
use crate::conditional_mean::ConditionalMean;
use crate::error::{Error, Result, Warning};
use crate::gram::{Change, Extended, FeatureGram, Gram};
use crate::kernel::{Kernel, KernelMatrix};
use crate::learn::{Answer, Learner, Spanning, Task};
use crate::oblivious::{ObliviousMap, check_strength};
use crate::partition::Partition;
use crate::predictor::{Offsets, Predictor};
use crate::sensitive_free::{Parity, Removal, Restraint};
use crate::watch::Watch;

/// A fit on the exact path.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    pub(super) task: Task,
    decision: Option<Decision>,
    pub(super) mode: Mode,
    strength: f64,
    restraint: Restraint,
    seed: u64,
    has_sensitive: bool,
    pub(super) kernel: Kernel,
    pub(super) partition: Partition,
    pub(super) training: Part,
    reference: Part,
    warnings: Vec<Warning>,
}

/// What learning gives: coefficients on training rows and (perhaps) reference rows, and the means of h over the cells.
struct Learned {
    answer: Answer,
    reference: Vec<f64>,
    cell_means: Vec<f64>,
    /// The strength of the offsets.
    strength: f64,
}

impl Exact {
    pub(super) fn new(settings: &Settings, data: &Emphasised) -> Result<Self> {
        check_strength(settings.strength)?;
        let Emphasised {
            training: data,
            weights,
            emphasis,
        } = data;
        let mut split = settings
            .reference
            .split(data.targets.len(), settings.seed)?;
        let has_sensitive = !data.sensitive.columns().is_empty();
        let mode = settings.effective_mode(has_sensitive);
        if mode == Mode::SensitiveFree && settings.parity == Parity::Opportunity {
            split.reference.retain(|&row| data.targets[row] > 0.0);
            if split.reference.is_empty() {
                return Err(Error::TooFewRows {
                    what: "the positive class of the reference",
                    found: 0,
                    needed: 1,
                });
            }
        }
        let mut rule = settings.partition.settled(data.sensitive);
        if !mode.takes_off() {
            // The cells of new rows are for the report only: no value is a reason to refuse.
            rule.policies = rule.policies.for_report();
        }
        let (partition, mut warnings) = Partition::fit(
            &rule,
            &data.sensitive.select(&split.reference),
            &super::part::pick(weights, &split.reference),
        )?;
        warnings.extend(data.warnings());
        let everywhere = partition.assign(data.sensitive)?;
        let counts = (&weights[..], &emphasis[..]);
        Ok(Self {
            task: settings.task(),
            decision: settings.decision(),
            mode,
            has_sensitive,
            strength: settings.strength,
            restraint: settings.restraint,
            seed: settings.seed,
            kernel: settings
                .kernel
                .resolve(data.points, weights, settings.seed)?,
            training: Part::new(data, counts, &everywhere, split.training),
            reference: Part::new(data, counts, &everywhere, split.reference),
            partition,
            warnings,
        })
    }

    /// The same rows in the mode sensitive-free.
    pub(super) fn sensitive_free(&self) -> Self {
        Self {
            mode: Mode::SensitiveFree,
            ..self.clone()
        }
    }

    /// The same rows with another kernel.
    pub(super) fn with_kernel(&self, kernel: Kernel) -> Self {
        Self {
            kernel,
            ..self.clone()
        }
    }

    pub(super) fn fit(self, watch: &Watch) -> Result<Fit> {
        let Learned {
            answer,
            reference: on_reference,
            cell_means,
            strength,
        } = self.learn(watch)?;
        let Self {
            training,
            reference,
            ..
        } = self;
        let offsets = self
            .has_sensitive
            .then(|| Offsets::new(self.partition, strength, &cell_means));
        let mut scores = answer.fitted.clone();
        if let (Mode::MOblivious, Some(offsets)) = (self.mode, &offsets) {
            for (row, score) in scores.iter_mut().enumerate() {
                *score -= strength * offsets.of(&training.assignment, row);
            }
        }
        let mut intercept = answer.intercept;
        let (threshold, (error, spread)) = if let Some(decision) = self.decision {
            decision.settle(&scores, &training.targets, &training.weights)
        } else {
            let centre = training.mean(|i| training.targets[i]);
            let error = training.root_mean_square(|i| training.targets[i] - answer.fitted[i]);
            let spread = training.root_mean_square(|i| training.targets[i] - centre);
            (0.0, (error, spread))
        };
        intercept -= threshold;
        let predictor = Predictor::assemble(
            self.kernel,
            intercept,
            &[
                (&training.rows, &training.points, &answer.coefficients),
                (&reference.rows, &reference.points, &on_reference),
            ],
            offsets,
        );
        let mut warnings = self.warnings;
        warnings.extend(super::not_converged(&answer.effort));
        let summary = Summary {
            training_rows: training.rows.len(),
            reference_rows: reference.rows.len(),
            cells: CellSummary::of(&predictor),
            error,
            spread,
            effort: answer.effort,
            uses: training.assignment.uses,
            warnings,
        };
        Ok(Fit {
            predictor,
            threshold,
            summary,
        })
    }

    fn learn(&self, watch: &Watch) -> Result<Learned> {
        match self.mode {
            Mode::Plain => self.learn_plain(watch),
            Mode::Oblivious => self.learn_oblivious(watch),
            Mode::MOblivious => self.learn_m_oblivious(watch),
            Mode::SensitiveFree => self.learn_sensitive_free(watch),
        }
    }

    /// $h = \sum_i\alpha_iZ_i$ and the means
    /// $\langle h, \mu_c\rangle = \sum_i \alpha_i(\langle\phi(x_i), \mu_c\rangle - t\langle\delta_i, \mu_c\rangle)$.
    fn learn_oblivious(&self, watch: &Watch) -> Result<Learned> {
        let Part {
            points, assignment, ..
        } = &self.training;
        let mean = self.conditional_mean(watch)?;
        let at = self.at_training(&mean, watch)?;
        let map = ObliviousMap::new(mean, self.strength)?;
        let shifts = map.shifts(at.as_ref(), assignment);
        let gram = FeatureGram::oblivious(&map, points, assignment, &shifts);
        let answer = self.task.solve(&gram, self.training.outcomes(), watch)?;
        let between = map.mean().shifts_at_means(&assignment.mixtures);
        Ok(Learned {
            cell_means: (0..self.partition.len())
                .map(|c| {
                    sum(&answer.coefficients, |i| {
                        at[(i, c)] - self.strength * between[(c, assignment.cells[i] as usize)]
                    })
                })
                .collect(),
            reference: map
                .mean()
                .expand(&answer.coefficients, assignment, self.strength),
            strength: self.strength,
            answer,
        })
    }

    /// h as on plain features; its means over the cells from rows it has not seen: the reference if that is apart, else by
    /// leaving out each row (ridge regression) or one fold after the other.
    fn learn_m_oblivious(&self, watch: &Watch) -> Result<Learned> {
        let training = &self.training;
        let gram = FeatureGram::plain(&self.kernel, &training.points);
        if self.overlap() && self.task.learner == Learner::Ridge {
            let ridge = self.task.ridge()?;
            let (targets, weights) = (&training.targets, &training.weights);
            let lower = gram.lower(watch)?;
            let solution = ridge.solve_leaving_out(lower, targets, weights, watch)?;
            let left_out = solution.left_out.as_deref().unwrap_or(&solution.fitted);
            return Ok(Learned {
                cell_means: training.cell_means(left_out, solution.intercept, &self.partition),
                reference: Vec::new(),
                strength: self.strength,
                answer: Answer {
                    coefficients: solution.coefficients,
                    intercept: solution.intercept,
                    fitted: solution.fitted,
                    effort: solution.convergence.into(),
                },
            });
        }
        let answer = self.task.solve(&gram, training.outcomes(), watch)?;
        let cell_means = if self.overlap() {
            let unseen = self.out_of_fold(watch)?;
            training.cell_means(&unseen, answer.intercept, &self.partition)
        } else {
            self.reference_means(&answer.coefficients, watch)?
        };
        Ok(Learned {
            answer,
            reference: Vec::new(),
            cell_means,
            strength: self.strength,
        })
    }

    /// Ordinary kernel learning; the means over the cells are for the report.
    fn learn_plain(&self, watch: &Watch) -> Result<Learned> {
        let training = &self.training;
        let gram = FeatureGram::plain(&self.kernel, &training.points);
        let answer = self.task.solve(&gram, training.outcomes(), watch)?;
        let cell_means = if self.overlap() {
            training.cell_means(&answer.fitted, answer.intercept, &self.partition)
        } else {
            self.reference_means(&answer.coefficients, watch)?
        };
        Ok(Learned {
            answer,
            reference: Vec::new(),
            cell_means,
            strength: 0.0,
        })
    }

    /// $h = \sum_i\alpha_i\phi(x_i) - \sum_c q_c\delta_c$, kept away from the shifts; its means over the cells are
    /// $\sum_i\alpha_i\langle\phi(x_i), \mu_c\rangle - \sum_{c'} q_{c'}\langle\delta_{c'}, \mu_c\rangle$.
    fn learn_sensitive_free(&self, watch: &Watch) -> Result<Learned> {
        let mean = self.conditional_mean(watch)?;
        let at = self.at_training(&mean, watch)?;
        let shifts = mean.shifts(at.as_ref(), &[]);
        let gram = mean.shift_gram(&[], &[]);
        let (answer, taken) = if let Restraint::Slack(epsilon) = self.restraint {
            self.solve_bounded(shifts.as_ref(), gram.as_ref(), epsilon, watch)?
        } else {
            let removal = Removal::new(
                gram.as_ref(),
                mean.shares(),
                self.restraint,
                (self.strength, self.task.penalty),
            )?;
            let less = Change::Less(removal.less(shifts.as_ref()));
            let gram = FeatureGram::new(&self.kernel, &self.training.points, Some(less));
            let answer = self.task.solve(&gram, self.training.outcomes(), watch)?;
            let taken = removal.taken(shifts.as_ref(), &answer.coefficients);
            (answer, taken)
        };
        let between = mean.shifts_at_means(&[]);
        let cell_mean = |c: usize| {
            let plain = sum(&answer.coefficients, |i| at[(i, c)]);
            plain - sum(&taken, |p| between[(c, p)])
        };
        Ok(Learned {
            cell_means: (0..self.partition.len()).map(cell_mean).collect(),
            reference: mean.expand_cells(&taken, taken.iter().sum()),
            strength: 0.0,
            answer,
        })
    }

    /// A support vector machine with $|\langle h, \delta_c\rangle| \le \varepsilon$, on features whose inner products are those of points
    /// and shifts.
    fn solve_bounded(
        &self,
        shifts: MatRef<'_, f64>,
        inner: MatRef<'_, f64>,
        epsilon: f64,
        watch: &Watch,
    ) -> Result<(Answer, Vec<f64>)> {
        let plain = FeatureGram::plain(&self.kernel, &self.training.points);
        let (rows, cells) = (shifts.nrows(), shifts.ncols());
        let all = Extended {
            gram: &plain,
            others: shifts,
            inner,
        };
        let spanning = Spanning::of(&all, watch)?;
        let features = spanning.features.as_ref();
        let bounded = Some((features.subcols(rows, cells), epsilon));
        let found = self.task.solve_features(
            &features.subcols(0, rows),
            self.training.outcomes(),
            bounded,
            watch,
        )?;
        // Of the machine that the certificate is about, not of its dual.
        let mut coefficients = spanning.coefficients(&found.weights);
        let taken = coefficients.split_off(rows);
        let answer = Answer {
            coefficients,
            intercept: found.intercept,
            fitted: found.fitted,
            effort: found.effort,
        };
        Ok((answer, taken.iter().map(|a| -a).collect()))
    }

    /// The score, without the intercept, of every training row by a machine that has not seen its fold.
    fn out_of_fold(&self, watch: &Watch) -> Result<Vec<f64>> {
        let training = &self.training;
        // Rows are sorted by cell here, and folds are dealt out in the order of the table.
        let mut order: Vec<usize> = (0..training.rows.len()).collect();
        order.sort_by_key(|&place| training.rows[place]);
        let dealt = folds(&super::part::pick(&training.targets, &order), self.seed)?;
        let mut fold_of = vec![0; order.len()];
        for (place, fold) in order.into_iter().zip(dealt) {
            fold_of[place] = fold;
        }
        let mut scores = vec![0.0; fold_of.len()];
        for fold in 0..FOLDS {
            let places = |held: bool| -> Vec<usize> {
                let all = 0..fold_of.len();
                all.filter(|&i| (fold_of[i] == fold) == held).collect()
            };
            let held = places(true);
            if held.is_empty() {
                continue;
            }
            let rest = training.select(&places(false));
            let gram = FeatureGram::plain(&self.kernel, &rest.points);
            let answer = self.task.solve(&gram, rest.outcomes(), watch)?;
            let groups = vec![0; rest.rows.len()];
            let points = training.points.select(&held);
            let values = KernelMatrix::between(&self.kernel, &points, &rest.points)?.grouped_sums(
                &answer.coefficients,
                &groups,
                1,
                watch,
            )?;
            for (place, value) in held.iter().zip(values.col_as_slice(0)) {
                scores[*place] = value + answer.intercept;
            }
        }
        Ok(scores)
    }

    pub(super) fn conditional_mean(&self, watch: &Watch) -> Result<ConditionalMean> {
        let reference = &self.reference;
        ConditionalMean::estimate(
            self.kernel.clone(),
            reference.points.clone(),
            reference.assignment.cells.clone(),
            &reference.weights,
            self.partition.mass(),
            watch,
        )
    }

    /// $\langle\phi(x_i), \mu_c\rangle$ for the training rows.
    pub(super) fn at_training(&self, mean: &ConditionalMean, watch: &Watch) -> Result<Mat<f64>> {
        if self.overlap() {
            Ok(mean.at_reference().to_owned())
        } else {
            mean.at(&self.training.points, watch)
        }
    }

    /// The means over the cells of a plain expansion over the training rows, at reference rows apart from them.
    pub(super) fn reference_means(&self, coefficients: &[f64], watch: &Watch) -> Result<Vec<f64>> {
        let groups = vec![0; self.training.rows.len()];
        let scores: Mat<f64> =
            KernelMatrix::between(&self.kernel, &self.reference.points, &self.training.points)?
                .grouped_sums(coefficients, &groups, 1, watch)?;
        Ok(self
            .reference
            .cell_means(scores.col_as_slice(0), 0.0, &self.partition))
    }

    /// Whether the same rows train and estimate.
    pub(super) fn overlap(&self) -> bool {
        self.training.rows == self.reference.rows
    }
}
