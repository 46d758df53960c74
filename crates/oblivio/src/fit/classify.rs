//! Several classes: one decision for two, else each class against the rest.

use oblivio_base::{Error, Named, Result, Watch};

use super::{Fit, Problem, Settings, Training};
use crate::classes::decisions;
use crate::gather::Rows;
use crate::sensitive_free::Parity;

/// The data of a classification, checked and copied: what is left is the long part.
#[derive(Debug)]
pub struct ClassProblem {
    settings: Settings,
    rows: Rows,
    decisions: Vec<Decided>,
    /// Rows that do not count because they miss a sensitive value.
    left_out: usize,
}

/// The targets 0 and 1 of a decision, and how much the class of each row counts.
type Decided = (Vec<f64>, Vec<f64>);

impl Settings {
    /// Fits a decision between two classes, or one for each of several against the rest. The targets are the numbers of the
    /// classes, from 0.
    pub fn fit_classes(&self, data: Training, classes: usize, watch: &Watch) -> Result<Vec<Fit>> {
        self.prepare_classes(data, classes)?.fit(watch)
    }

    /// Checks the data of a classification and copies them.
    pub fn prepare_classes(&self, data: Training, classes: usize) -> Result<ClassProblem> {
        self.check()?;
        data.check()?;
        if !self.learner.classifies() {
            return Err(Error::InvalidParameter {
                name: "learner",
                expected: "svm or logistic for classes",
                value: "ridge".into(),
            });
        }
        self.reference.check(data.points.len())?;
        let all: Vec<usize> = (0..data.targets.len()).collect();
        let (weights, left_out) = self.partition.counting(data.sensitive, data.weights)?;
        let rows = data.weighted(&weights).rows(&all);
        // Rows that only estimate have no say in what a class counts, or whether there is one.
        let counted: Vec<usize> = all.into_iter().filter(|&i| rows.weights[i] > 0.0).collect();
        let reference = self.reference.renumbered(&counted);
        let mut training = vec![0.0; rows.weights.len()];
        for place in reference.split(counted.len(), self.seed)?.training {
            training[counted[place]] = rows.weights[counted[place]];
        }
        Ok(ClassProblem {
            decisions: self.decisions(data.targets, &training, classes)?,
            settings: self.clone(),
            rows,
            left_out,
        })
    }

    /// The decisions between classes whose numbers are given: for each, the targets 0 and 1 of the rows, and how much the class
    /// of each row counts.
    pub fn decisions(
        &self,
        codes: &[f64],
        weights: &[f64],
        classes: usize,
    ) -> Result<Vec<Decided>> {
        self.class_weights.check(classes)?;
        if self.parity == Parity::Opportunity && classes > 2 {
            return Err(Error::InvalidParameter {
                name: "parity",
                expected: "demographic-parity for more than two classes, none of which is the positive one",
                value: self.parity.name().into(),
            });
        }
        let mut numbers = Vec::with_capacity(codes.len());
        let mut mass = vec![0.0; classes];
        for (row, (&value, weight)) in codes.iter().zip(weights).enumerate() {
            if !(value >= 0.0 && value < classes as f64 && value.fract() == 0.0) {
                return Err(Error::NotAClass {
                    row,
                    value,
                    last: classes.saturating_sub(1),
                });
            }
            numbers.push(value as usize);
            mass[value as usize] += weight;
        }
        let present: Vec<usize> = (0..classes).filter(|&class| mass[class] > 0.0).collect();
        if let [only] = present[..] {
            return Err(Error::OneClass {
                class: only.to_string(),
            });
        }
        if let Some(absent) = (0..classes).find(|class| !present.contains(class)) {
            return Err(Error::EmptyClass {
                class: absent.to_string(),
            });
        }
        let decision = |class: usize| {
            let positive: Vec<bool> = numbers.iter().map(|&code| code == class).collect();
            let targets = positive.iter().map(|p| f64::from(u8::from(*p))).collect();
            let emphasis = self.class_weights.of_rows(&numbers, &positive, weights);
            (targets, emphasis)
        };
        let first = usize::from(classes == 2);
        Ok((first..first + decisions(classes)).map(decision).collect())
    }
}

impl ClassProblem {
    /// Learns every decision.
    pub fn fit(self, watch: &Watch) -> Result<Vec<Fit>> {
        (0..self.decisions.len())
            .map(|k| self.decision(k)?.fit(watch))
            .collect()
    }

    /// The decision with this number.
    pub(super) fn decision(&self, k: usize) -> Result<Problem> {
        let (targets, emphasis) = &self.decisions[k];
        let training = Training {
            targets,
            ..self.rows.training()
        };
        let problem = self.settings.prepare_rows(training, emphasis)?;
        Ok(problem.leaving_out(self.left_out))
    }
}
