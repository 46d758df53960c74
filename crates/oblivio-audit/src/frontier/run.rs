//! A frontier from start to end: split, fit, score, measure, mark.

use oblivio::model::Labels;
use oblivio::partition::{Missing, PartitionRule, Policies};
use oblivio::{Mode, Model, Roles, Sensitive, Settings};
use oblivio_base::encoder::complete;
use oblivio_base::points::check_weights;
use oblivio_base::{Column, Encoding, Error, Named, Result, Watch};

use super::candidate::{Candidate, takes_out};
use super::errors::{ErrorMeasure, Judge};
use super::marks::mark;
use super::penalty::{PenaltyChoice, penalties};
use super::report::{DependenceFound, Frontier, FrontierError, Tried};
use super::split::{Parts, split};
use crate::{Audit, AuditRows, AuditSettings, Measure, Role, quantile};

/// How a frontier is made.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontierSettings {
    /// The share of rows that are held out: drawn by the seed of the resampling, from each class for classifiers.
    pub held_out: f64,
    /// Where penalties come from.
    pub penalty: PenaltyChoice,
    /// What is measured on the held-out rows, and how.
    ///
    /// Without a threshold, decisions are positive from 0 on for classifiers; from 0.5 on for targets between 0 and 1; else from
    /// the median of the training rows' targets on. It is one line for all candidates.
    pub audit: AuditSettings,
}

impl Default for FrontierSettings {
    fn default() -> Self {
        Self {
            held_out: 0.3,
            penalty: PenaltyChoice::default(),
            audit: AuditSettings {
                measures: vec![
                    Measure::CorrelationRatio,
                    Measure::ParityDifference,
                    Measure::Hsic,
                    Measure::DistanceCorrelation,
                ],
                ..AuditSettings::default()
            },
        }
    }
}

/// The columns of some of the rows, by role.
struct Part {
    features: Vec<Column>,
    sensitive: Vec<Column>,
    target: Column,
    weights: Option<Vec<f64>>,
}

impl Part {
    fn of(roles: &Roles, rows: &[usize]) -> Self {
        let pick = |columns: &[Column]| columns.iter().map(|c| c.select(rows)).collect();
        Self {
            features: pick(roles.features),
            sensitive: pick(roles.sensitive),
            target: roles.target.select(rows),
            weights: roles
                .weights
                .map(|weights| rows.iter().map(|&row| weights[row]).collect()),
        }
    }

    fn roles<'a>(&'a self, labels: Option<&'a Labels>) -> Roles<'a> {
        Roles {
            features: &self.features,
            sensitive: &self.sensitive,
            target: &self.target,
            labels,
            weights: self.weights.as_deref(),
        }
    }

    /// Numbers, or 0 and 1 for two classes.
    fn truth(&self, labels: Option<&Labels>) -> Result<Vec<f64>> {
        match labels {
            Some(labels) => labels.encode(&self.target),
            None => self.target.to_numbers(),
        }
    }
}

impl FrontierSettings {
    /// Fits every candidate on the training rows, and measures its error and its dependence on the held-out ones.
    ///
    /// ```
    /// use oblivio::{Roles, Settings, Watch};
    /// use oblivio_audit::{FrontierGrid, FrontierSettings};
    /// use oblivio_base::Scaling;
    /// use oblivio_simulate::Simulation;
    /// let table = Simulation::from_name("ridge-1")?.table(120, 1)?;
    /// let roles = Roles {
    ///     features: &table.features, sensitive: &table.sensitive, target: &table.targets[0], labels: None, weights: None,
    /// };
    /// let candidates = FrontierGrid::default().candidates(&Settings::default())?;
    /// let settings = FrontierSettings::default();
    /// let frontier = settings.run(roles, Scaling::Standard, &candidates, &Watch::default())?;
    /// assert_eq!((frontier.training_rows, frontier.held_out_rows), (84, 36));
    /// assert!(frontier.candidates[0].start);
    /// # Ok::<(), oblivio::Error>(())
    /// ```
    pub fn run(
        &self,
        roles: Roles,
        encoding: impl Into<Encoding>,
        candidates: &[Candidate],
        watch: &Watch,
    ) -> Result<Frontier> {
        let encoding = encoding.into();
        self.audit.resampling.check()?;
        let rows = checked(&roles, candidates)?;
        let known = Part::of(&roles, &rows);
        let own = roles.labels.cloned();
        let classifies = candidates[0].settings.learner.classifies();
        let labels = classifies.then(|| own.unwrap_or_else(|| Labels::of(&known.target)));
        let labels = labels.as_ref();
        let truth = known.truth(labels)?;
        if let Some(labels) = labels {
            check_classes(labels)?;
        }
        let seed = self.audit.resampling.seed;
        let parts = split(rows.len(), labels.map(|_| &truth[..]), self.held_out, seed)?;
        let all = known.roles(labels);
        let (training, held_out) = (
            Part::of(&all, &parts.training),
            Part::of(&all, &parts.held_out),
        );
        let candidates = self.penalised(candidates, (training.roles(labels), encoding), watch)?;
        let mut scores = Vec::new();
        let mut remarks: Vec<(String, Vec<String>)> = Vec::new();
        for candidate in &candidates {
            let given = (training.roles(labels), encoding);
            let (scored, said) = scored(&candidate.settings, given, &held_out, watch)?;
            scores.push(scored);
            for remark in said {
                match remarks.iter_mut().find(|(known, _)| *known == remark) {
                    Some((_, names)) => names.push(candidate.name.clone()),
                    None => remarks.push((remark, vec![candidate.name.clone()])),
                }
            }
        }
        let found = Found {
            settings: self,
            candidates: &candidates,
            scores,
            training: (&training, training.truth(labels)?),
            held_out: (&held_out, held_out.truth(labels)?),
            labels,
        };
        let mut frontier = found.measure(&parts, watch)?;
        frontier.notes.extend(spoken(remarks, candidates.len()));
        Ok(frontier)
    }

    /// The candidates with their penalties.
    fn penalised(
        &self,
        candidates: &[Candidate],
        training: (Roles, Encoding),
        watch: &Watch,
    ) -> Result<Vec<Candidate>> {
        let mut candidates = candidates.to_vec();
        if self.penalty == PenaltyChoice::Auto {
            let found = penalties(&candidates, training, watch)?;
            for (candidate, penalty) in candidates.iter_mut().zip(found) {
                candidate.settings.penalty = penalty;
            }
        }
        Ok(candidates)
    }
}

/// The rows that count, of columns that go together.
fn checked(roles: &Roles, candidates: &[Candidate]) -> Result<Vec<usize>> {
    let rows = roles.target.len();
    for column in roles.features.iter().chain(roles.sensitive) {
        if column.len() != rows {
            return Err(Error::Length {
                what: "a column of the frontier",
                found: column.len(),
                needed: rows,
            });
        }
    }
    complete(roles.target)?;
    let needs = |name, expected| Error::InvalidParameter {
        name,
        expected,
        value: "none".into(),
    };
    if roles.sensitive.is_empty() {
        return Err(needs("the number of sensitive columns", "at least one"));
    }
    let Some(first) = candidates.first() else {
        return Err(needs("the number of candidates", "at least one"));
    };
    let classifies = first.settings.learner.classifies();
    if let Some(other) = candidates
        .iter()
        .find(|c| c.settings.learner.classifies() != classifies)
    {
        return Err(Error::InvalidParameter {
            name: "the learners of the candidates",
            expected: "all for numbers or all for classes, so that errors can be compared",
            value: other.settings.learner.name().into(),
        });
    }
    let Some(weights) = roles.weights else {
        return Ok((0..rows).collect());
    };
    check_weights(weights, rows)?;
    Ok((0..rows).filter(|&row| weights[row] > 0.0).collect())
}

fn check_classes(labels: &Labels) -> Result<()> {
    if labels.len() > 2 {
        return Err(Error::InvalidParameter {
            name: "the number of classes of a frontier",
            expected: "two; name the class that is held against all others, or predict a number",
            value: labels.len().to_string(),
        });
    }
    Ok(())
}

/// The scores of a fit on rows that it has not seen, and what there is to say about it.
fn scored(
    settings: &Settings,
    (training, encoding): (Roles, Encoding),
    held_out: &Part,
    watch: &Watch,
) -> Result<(Vec<f64>, Vec<String>)> {
    let (model, summaries) = Model::fit(training, encoding, settings, watch)?;
    let (points, _) = model.encoder.encode(&held_out.features)?;
    let sensitive = Sensitive::new(held_out.sensitive.clone(), points.len())?;
    let prediction = model
        .predictor()
        .predict(&points, Some(&sensitive), watch)?;
    let warnings = summaries.iter().flat_map(|summary| &summary.warnings);
    Ok((
        prediction.scores,
        warnings.map(ToString::to_string).collect(),
    ))
}

/// Remarks once each, with the candidates they are about unless that is all of them.
fn spoken(remarks: Vec<(String, Vec<String>)>, candidates: usize) -> Vec<String> {
    let one = |(remark, names): (String, Vec<String>)| {
        if names.len() == candidates {
            remark
        } else {
            format!("{}: {remark}", names.join(", "))
        }
    };
    remarks.into_iter().map(one).collect()
}

/// Everything there is before the measures are taken.
struct Found<'a> {
    settings: &'a FrontierSettings,
    candidates: &'a [Candidate],
    /// On the held-out rows, one vector for each candidate.
    scores: Vec<Vec<f64>>,
    training: (&'a Part, Vec<f64>),
    held_out: (&'a Part, Vec<f64>),
    labels: Option<&'a Labels>,
}

impl Found<'_> {
    fn measure(&self, parts: &Parts, watch: &Watch) -> Result<Frontier> {
        let (held_out, truth) = (self.held_out.0, &self.held_out.1[..]);
        let mut notes = Vec::new();
        let threshold = self.threshold(&mut notes);
        let audit = self.audit(threshold, watch)?;
        let ones = vec![1.0; truth.len()];
        let judge = Judge {
            truth,
            weights: held_out.weights.as_deref().unwrap_or(&ones),
            resampling: &self.settings.audit.resampling,
        };
        let measures = ErrorMeasure::of(self.labels.is_some());
        let start = self.candidates.iter().position(Candidate::is_start);
        let errors = judge.errors(measures, &self.scores, start, watch)?;
        let mut tried: Vec<Tried> = Vec::new();
        for (k, (candidate, errors)) in self.candidates.iter().zip(errors).enumerate() {
            tried.push(Tried {
                errors,
                dependence: dependence(&audit, k),
                start: start == Some(k),
                ..described(candidate)
            });
        }
        let taken: Vec<Measure> = Measure::NAMES.iter().map(|(_, measure)| *measure).collect();
        let mut frontier = Frontier {
            target: held_out.target.name.clone(),
            learner: self.candidates[0].settings.learner.name().into(),
            training_rows: parts.training.len(),
            held_out_rows: parts.held_out.len(),
            weighted: held_out.weights.is_some(),
            threshold,
            resampling: self.settings.audit.resampling,
            errors: measures
                .iter()
                .map(|&measure| FrontierError {
                    measure,
                    constant: judge.of_constant(measure, self.mean()),
                })
                .collect(),
            against: audit.against,
            measures: taken,
            candidates: tried,
            notes,
        };
        let used = frontier.candidates.iter().flat_map(|c| &c.dependence);
        let used: Vec<Measure> = used.map(|found| found.measure).collect();
        frontier.measures.retain(|measure| used.contains(measure));
        let axes = frontier.axes();
        let axes: Vec<_> = axes.iter().map(|(a, m)| (a.name.clone(), *m)).collect();
        for error in measures {
            mark(&mut frontier.candidates, *error, &axes);
        }
        Ok(frontier)
    }

    /// One subject for each candidate, so that what is known of S is found once.
    fn audit(&self, threshold: f64, watch: &Watch) -> Result<Audit> {
        let held_out = self.held_out.0;
        let all = Sensitive::new(held_out.sensitive.clone(), held_out.target.len())?;
        let rule = &self.settings.audit.rule;
        // A legitimate factor is nothing to depend on; what S tells through it counts all the same.
        let (sensitive, _) = all.split(&rule.control)?;
        let subjects = self.scores.iter().enumerate();
        let rows = AuditRows {
            subjects: subjects
                .map(|(k, scores)| (Role::Score, Column::numbers(k.to_string(), scores.clone())))
                .collect(),
            features: Vec::new(),
            whole_table: false,
            sensitive,
            truth: Some(self.truth()),
            control: Vec::new(),
            weights: held_out.weights.clone(),
        };
        let settings = AuditSettings {
            threshold: Some(threshold),
            positive: None,
            rule: PartitionRule {
                policies: Policies {
                    // Rows that miss S are scored by a second model, and are a group of their own.
                    missing: match rule.policies.missing {
                        Missing::SensitiveFree => Missing::Category,
                        other => other,
                    },
                    ..rule.policies
                },
                ..rule.of_columns(&rows.sensitive)
            },
            ..self.settings.audit.clone()
        };
        settings.run(&rows, watch)
    }

    /// The targets: classes as 0 and 1.
    fn truth(&self) -> Column {
        Column::numbers(&self.held_out.0.target.name, self.held_out.1.clone())
    }

    /// The line of positive decisions.
    fn threshold(&self, notes: &mut Vec<String>) -> f64 {
        if let Some(line) = self.settings.audit.threshold {
            return line;
        }
        if self.labels.is_some() {
            return 0.0;
        }
        let targets = &self.training.1;
        let (line, why) = if targets.iter().all(|target| (0.0..=1.0).contains(target)) {
            (0.5, "the targets lie between 0 and 1")
        } else {
            let mut sorted = targets.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            (quantile(&sorted, 0.5), "the median of the training targets")
        };
        let decides = |measure: &Measure| {
            let decisions = [Measure::ParityDifference, Measure::ParityRatio];
            decisions.contains(measure)
        };
        let measures = &self.settings.audit.measures;
        if measures.is_empty() || measures.iter().any(decides) {
            notes.push(format!(
                "a score of at least {line:.4} counts as a positive decision ({why}); give the threshold you use"
            ));
        }
        line
    }

    /// The mean of the training targets.
    fn mean(&self) -> f64 {
        let (part, targets) = &self.training;
        let weight = |row: usize| part.weights.as_ref().map_or(1.0, |weights| weights[row]);
        let (mut sum, mut total) = (0.0, 0.0);
        for (row, target) in targets.iter().enumerate() {
            sum += weight(row) * target;
            total += weight(row);
        }
        sum / total
    }
}

/// What a candidate is, without what was found of it.
fn described(candidate: &Candidate) -> Tried {
    let settings = &candidate.settings;
    let (mode, strength) = if takes_out(settings) {
        (settings.mode, settings.strength)
    } else {
        (Mode::Plain, 0.0)
    };
    let align = candidate.align.as_ref();
    Tried {
        name: candidate.name.clone(),
        mode: mode.name().into(),
        strength,
        align: align.map(|(method, _)| method.clone()),
        align_strength: align.map(|(_, strength)| *strength),
        penalty: settings.penalty,
        start: false,
        errors: Vec::new(),
        dependence: Vec::new(),
    }
}

/// What the audit found of the candidate with this number.
fn dependence(audit: &Audit, number: usize) -> Vec<DependenceFound> {
    let Some(subject) = audit.subjects.get(number) else {
        return Vec::new();
    };
    let own = audit.findings.iter();
    let own = own.filter(|finding| finding.subject == subject.name);
    own.map(|finding| DependenceFound {
        against: finding.against.clone(),
        measure: finding.measure,
        measured: finding.measured,
        detectable: finding.detectable,
        large: finding.large,
        on_frontier: Vec::new(),
    })
    .collect()
}
