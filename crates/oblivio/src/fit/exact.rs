//! A fit on the exact path: rows sorted into training and reference, and the four ways to learn from them.

use faer::{Mat, MatRef};
use oblivio_base::choice::check_strength;
use oblivio_base::{Error, Result, Warning, Watch};
use oblivio_kernels::gram::Extended;
use oblivio_kernels::learn::{Answer, Learner, Outcomes, Spanning, Task};
use oblivio_kernels::{Gram, Kernel, KernelMatrix};

use super::decision::Decision;
use super::folds::{FOLDS, folds};
use super::part::{Part, sum};
use super::{CellSummary, Emphasised, Fit, Mode, Settings, Summary, whole};
use crate::adjust::{Offsets, cell_means};
use crate::align::AlignRule;
use crate::conditional_mean::ConditionalMean;
use crate::conditioning::{Observed, Of};
use crate::dependence::Dependence;
use crate::gram::{Change, FeatureGram};
use crate::oblivious::ObliviousMap;
use crate::partition::{Partition, SensitiveDesign};
use crate::predictor::Predictor;
use crate::sensitive_free::{Parity, Removal, Restraint, Root};

/// A fit on the exact path.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    pub(super) task: Task,
    decision: Option<Decision>,
    pub(super) mode: Mode,
    pub(super) strength: f64,
    pub(super) align: Option<AlignRule>,
    pub(super) restraint: Restraint,
    seed: u64,
    pub(super) has_sensitive: bool,
    pub(super) kernel: Kernel,
    pub(super) partition: Partition,
    pub(super) training: Part,
    reference: Part,
    warnings: Vec<Warning>,
}

/// What learning gives: coefficients on training rows and (perhaps) reference rows, and what is known of h given S.
struct Learned {
    answer: Answer,
    reference: Vec<f64>,
    given: Given,
    /// The strength of the offsets.
    strength: f64,
}

/// What is known of h given S, the intercept apart.
enum Given {
    /// Its means over the cells, or $\langle h, \beta_a\rangle$ for the features of S.
    Means(Vec<f64>),
    /// Its values at the reference rows.
    Values(Vec<f64>),
}

impl Exact {
    pub(super) fn new(settings: &Settings, data: &Emphasised) -> Result<Self> {
        let watch = &Watch::default();
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
        let kernel = settings
            .kernel
            .resolve(data.points, weights, settings.seed)?;
        let rule = settings.cell_rule(settings.partition.settled(data.sensitive), mode)?;
        let reference = data.sensitive.select(&split.reference);
        let points = data.points.select(&split.reference);
        let reference_weights = super::part::pick(weights, &split.reference);
        let table = Observed::new(
            &reference,
            &reference_weights,
            Of::Features(&kernel, &points),
            settings.seed,
        );
        let (partition, mut warnings) = Partition::conditioned(&rule, table, watch)?;
        warnings.extend(data.warnings());
        let everywhere = partition.assign(data.sensitive)?;
        let counts = (&weights[..], &emphasis[..]);
        Ok(Self {
            task: settings.task(),
            decision: settings.decision(),
            mode,
            has_sensitive,
            strength: settings.strength,
            align: settings.align,
            restraint: settings.restraint,
            seed: settings.seed,
            kernel,
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
            align: None,
            strength: whole(self.strength),
            ..self.clone()
        }
    }

    /// Whether leave-one-out errors of these features say little: rows have a part in the features of others.
    pub(super) fn leaks(&self) -> bool {
        self.mode == Mode::Oblivious && !self.training.assignment.is_projection()
    }

    /// The same rows with nothing taken out.
    pub(super) fn plain(&self) -> Self {
        Self {
            mode: Mode::Plain,
            align: None,
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
            given,
            strength,
        } = self.learn(watch)?;
        let unseen = match &given {
            Given::Values(values) if self.unseen() => Some(
                values
                    .iter()
                    .map(|v| v + answer.intercept)
                    .collect::<Vec<_>>(),
            ),
            _ => None,
        };
        let offsets = if self.has_sensitive {
            Some(self.offsets_of(given, strength, &answer, &on_reference, watch)?)
        } else {
            None
        };
        let overlap = self.overlap();
        let Self {
            training,
            reference,
            ..
        } = self;
        let mut predictor = Predictor::assemble(
            self.kernel,
            answer.intercept,
            &[
                (&training.rows, &training.points, &answer.coefficients),
                (&reference.rows, &reference.points, &on_reference),
            ],
            offsets,
        );
        if self.align.is_some() {
            let before = match unseen {
                Some(unseen) => unseen,
                None => predictor.expansion_at(&reference.points, watch)?,
            };
            predictor.align(
                self.align,
                &before,
                &reference.assignment,
                &reference.weights,
            )?;
        }
        let dependence = if predictor.offsets().is_some() {
            let before = if overlap {
                at_training(&predictor, self.mode, &answer.fitted, &training.assignment)
            } else {
                predictor.expansion_at(&reference.points, watch)?
            };
            let (assignment, weights) = (&reference.assignment, &reference.weights);
            Dependence::of_rows(&predictor, &before, assignment, weights)?
        } else {
            None
        };
        let (threshold, (error, spread)) = if let Some(decision) = self.decision {
            // What the oblivious features give has its offsets taken off.
            let scores = if self.mode == Mode::MOblivious {
                &predictor.less_offsets(&answer.fitted, &training.assignment)
            } else {
                &answer.fitted
            };
            let scores = predictor.aligned(scores, &training.assignment)?;
            decision.settle(&scores, &training.targets, &training.weights)
        } else {
            let centre = training.mean(|i| training.targets[i]);
            let error = training.root_mean_square(|i| training.targets[i] - answer.fitted[i]);
            let spread = training.root_mean_square(|i| training.targets[i] - centre);
            (0.0, (error, spread))
        };
        predictor.move_line(threshold);
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
            dependence,
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
        let targets = self.targets(self.strength)?;
        let outcomes = Outcomes {
            targets: &targets,
            ..self.training.outcomes()
        };
        let answer = self.task.solve(&gram, outcomes, watch)?;
        let between = map.mean().shifts_at_means(assignment.mixtures());
        let shifted = |i: usize, c: usize| assignment.product(i, |p| between[(c, p)]);
        let mean = |c: usize| {
            sum(&answer.coefficients, |i| {
                at[(i, c)] - self.strength * shifted(i, c)
            })
        };
        Ok(Learned {
            given: Given::Means((0..map.mean().len()).map(mean).collect()),
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
            let (answer, given) = self.solve_leaving_out(&gram, watch)?;
            return Ok(Learned {
                given,
                reference: Vec::new(),
                strength: self.strength,
                answer,
            });
        }
        let answer = self.task.solve(&gram, training.outcomes(), watch)?;
        let given = if self.overlap() {
            Given::less(&self.out_of_fold(watch)?, answer.intercept)
        } else {
            Given::Values(self.at_reference(&answer.coefficients, watch)?)
        };
        Ok(Learned {
            answer,
            reference: Vec::new(),
            given,
            strength: self.strength,
        })
    }

    /// Plain ridge regression, and its scores of rows that it has not seen.
    fn solve_leaving_out(&self, gram: &FeatureGram, watch: &Watch) -> Result<(Answer, Given)> {
        let (targets, weights) = (&self.training.targets, &self.training.weights);
        let lower = gram.lower(watch)?;
        let ridge = self.task.ridge()?;
        let solution = ridge.solve_leaving_out(lower, targets, weights, watch)?;
        let left_out = solution.left_out.as_deref().unwrap_or(&solution.fitted);
        let given = Given::less(left_out, solution.intercept);
        let answer = Answer {
            coefficients: solution.coefficients,
            intercept: solution.intercept,
            fitted: solution.fitted,
            effort: solution.convergence.into(),
        };
        Ok((answer, given))
    }

    /// Whether what is known of h given S comes from scores of rows that h has not seen, though all rows train: h is plain, and
    /// something is to be taken off it or aligned. Of oblivious features a row left out is not quite left out, for it has its part
    /// in the features of the others.
    fn unseen(&self) -> bool {
        let read = match self.mode {
            Mode::MOblivious => true,
            Mode::Plain => self.align.is_some_and(|rule| rule.strength > 0.0),
            Mode::Oblivious | Mode::SensitiveFree => false,
        };
        read && self.overlap()
    }

    /// Ordinary kernel learning; the means over the cells are for the report.
    fn learn_plain(&self, watch: &Watch) -> Result<Learned> {
        let training = &self.training;
        let gram = FeatureGram::plain(&self.kernel, &training.points);
        if self.unseen() && self.task.learner == Learner::Ridge {
            let (answer, given) = self.solve_leaving_out(&gram, watch)?;
            return Ok(Learned {
                given,
                reference: Vec::new(),
                strength: 0.0,
                answer,
            });
        }
        let answer = self.task.solve(&gram, training.outcomes(), watch)?;
        let given = if self.unseen() {
            Given::less(&self.out_of_fold(watch)?, answer.intercept)
        } else if self.overlap() {
            Given::less(&answer.fitted, answer.intercept)
        } else {
            Given::Values(self.at_reference(&answer.coefficients, watch)?)
        };
        Ok(Learned {
            answer,
            reference: Vec::new(),
            given,
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
            let root = self.root(&mean)?;
            let removal = Removal::new(
                gram.as_ref(),
                &root,
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
        let of_h = |c: usize| {
            let plain = sum(&answer.coefficients, |i| at[(i, c)]);
            plain - sum(&taken, |p| between[(c, p)])
        };
        Ok(Learned {
            given: Given::Means((0..mean.len()).map(of_h).collect()),
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
        ConditionalMean::of(
            self.kernel.clone(),
            reference.points.clone(),
            &reference.assignment,
            &reference.weights,
            &self.partition,
            watch,
        )
    }

    /// What is taken off, from what is known of h given S.
    fn offsets_of(
        &self,
        given: Given,
        strength: f64,
        answer: &Answer,
        on_reference: &[f64],
        watch: &Watch,
    ) -> Result<Offsets> {
        let Part {
            assignment,
            weights,
            ..
        } = &self.reference;
        let partition = self.partition.clone();
        match given {
            Given::Values(values) => self.regressed(&values, strength),
            Given::Means(means) if partition.smooth.is_none() => {
                Ok(Offsets::new(partition, strength, &means))
            }
            Given::Means(values) => {
                let mut h = self.at_reference(&answer.coefficients, watch)?;
                if !on_reference.is_empty() {
                    let points = &self.reference.points;
                    let more = KernelMatrix::of(&self.kernel, points).times(on_reference, watch)?;
                    h.iter_mut().zip(more).for_each(|(h, v)| *h += v);
                }
                let means = cell_means(&partition, &h, assignment, weights);
                let offsets = Offsets::new(partition, strength, &means);
                Ok(offsets.with_regression(values, assignment, weights))
            }
        }
    }

    /// The targets that oblivious features at this strength are to explain: $y - t\,(E_n(y \mid s) - E_ny)$ where the conditional mean
    /// is a regression on S.
    ///
    /// The means of cells take exactly what the cells explain out of the features, and no function of them can explain that part of
    /// y. A regression leaves a little of it, and a weak penalty would let h blow it up. Labels of classes have no such part that
    /// could be taken off.
    pub(super) fn targets(&self, strength: f64) -> Result<Vec<f64>> {
        let mut targets = self.training.targets.clone();
        let assignment = &self.training.assignment;
        if self.task.learner == Learner::Ridge && !assignment.is_projection() {
            let given = self.regressed(&self.reference.targets, strength)?;
            for (i, y) in targets.iter_mut().enumerate() {
                *y -= strength * given.of(assignment, i);
            }
        }
        Ok(targets)
    }

    /// The root of the weights of the shifts.
    pub(super) fn root(&self, mean: &ConditionalMean) -> Result<Root> {
        mean.root(&self.reference.assignment, &self.reference.weights)
    }

    /// $\langle\phi(x_i), \mu_c\rangle$ for the training rows.
    pub(super) fn at_training(&self, mean: &ConditionalMean, watch: &Watch) -> Result<Mat<f64>> {
        if self.overlap() {
            mean.at_reference(watch)
        } else {
            mean.at(&self.training.points, watch)
        }
    }

    /// The values at the reference rows of a plain expansion over the training rows.
    pub(super) fn at_reference(&self, coefficients: &[f64], watch: &Watch) -> Result<Vec<f64>> {
        let groups = vec![0; self.training.rows.len()];
        let scores: Mat<f64> =
            KernelMatrix::between(&self.kernel, &self.reference.points, &self.training.points)?
                .grouped_sums(coefficients, &groups, 1, watch)?;
        Ok(scores.col_as_slice(0).to_vec())
    }

    /// The offsets of an h with these values at the reference rows.
    pub(super) fn regressed(&self, values: &[f64], strength: f64) -> Result<Offsets> {
        let Part {
            assignment,
            weights,
            ..
        } = &self.reference;
        Offsets::regressed(&self.partition, strength, values, assignment, weights)
    }

    /// Whether the same rows train and estimate.
    pub(super) fn overlap(&self) -> bool {
        self.training.rows == self.reference.rows
    }
}

/// h at training rows, from what the learner found there: of oblivious features the offsets are taken off already.
pub(super) fn at_training(
    predictor: &Predictor,
    mode: Mode,
    fitted: &[f64],
    assignment: &SensitiveDesign,
) -> Vec<f64> {
    match predictor.offsets() {
        Some(offsets) if mode == Mode::Oblivious => {
            let taken = |row: usize| offsets.strength * offsets.of(assignment, row);
            let all = fitted.iter().enumerate();
            all.map(|(row, score)| score + taken(row)).collect()
        }
        _ => fitted.to_vec(),
    }
}

impl Given {
    /// Scores less the intercept.
    fn less(scores: &[f64], intercept: f64) -> Self {
        Self::Values(scores.iter().map(|score| score - intercept).collect())
    }
}
