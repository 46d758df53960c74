//! Classes on landmarks: the rows pass by once to be looked at, once for the means of the cells, and then as often as the
//! learner asks for them, unless their features fit into memory.

use std::sync::Mutex;

use anyhow::{Result, ensure};
use faer::MatRef;
use oblivio::fit::{Labelled, Turned};
use oblivio::model::Labels;
use oblivio::partition::SensitiveDesign;
use oblivio::{Column, Encoder, Error, Model, Sensitive, Settings, Watch};
use oblivio_base::Named;
use oblivio_kernels::FeatureRows;
use oblivio_kernels::gram::ROWS;

use super::Fitted;
use super::columns::Rows;
use super::stream::{Pass, Sums, check_memory};
use crate::progress::{RowBar, watched};

/// What stays in memory of every row that counts.
struct Outcomes {
    /// The number of its class.
    codes: Vec<f64>,
    weights: Vec<f64>,
}

impl Pass<'_> {
    /// The decisions between the classes of the target.
    pub(super) fn classify(mut self, settings: &Settings) -> Result<Fitted> {
        check_memory(self.components)?;
        settings.check()?;
        ensure!(
            self.args.checkpoint.is_none(),
            "--checkpoint is for ridge regression and features; svm and logistic go through the rows many times: leave it out"
        );
        ensure!(
            settings.fallback().is_none(),
            "--handle-missing sensitive-free is not for {} with --components; leave out --components, or take missing as a category",
            settings.learner.name()
        );
        let (labels, outcomes) = self.outcomes()?;
        ensure!(
            labels.len() == 2 || settings.parity == oblivio::sensitive_free::Parity::Demographic,
            "equal-opportunity needs a positive class; name it with --positive"
        );
        let positive = || -> Vec<usize> {
            let codes = outcomes.codes.iter().enumerate();
            codes.filter(|(_, c)| **c > 0.0).map(|(i, _)| i).collect()
        };
        let features = settings.classifier_features(&positive)?;
        let survey = self.survey(settings.seed)?;
        let (encoder, fit) = watched(self.pool, |watch| {
            survey.begin_features(self.encoding, &features, watch)
        })?;
        let sums = self.gather(&encoder, Sums::Features(Box::new(fit)))?;
        let Sums::Features(fit) = sums else {
            anyhow::bail!("the features were lost on the way");
        };
        let (features, warnings) = watched(self.pool, |watch| fit.finish(watch))?;
        let turned = Turned::new(settings, features, warnings)?;
        let fits = self.decisions(settings, &turned, &encoder, (&labels, &outcomes))?;
        let target = self.args.target.as_deref().unwrap_or("");
        let (model, summaries) = Model::classifier(encoder, fits, target, &labels, settings);
        Ok(Fitted {
            model,
            summaries,
            path: Vec::new(),
        })
    }

    fn decisions(
        &self,
        settings: &Settings,
        turned: &Turned,
        encoder: &Encoder,
        (labels, outcomes): (&Labels, &Outcomes),
    ) -> Result<Vec<oblivio::Fit>> {
        let split = settings
            .reference
            .split(outcomes.codes.len(), settings.seed)?;
        let mut trains = vec![false; outcomes.codes.len()];
        split.training.iter().for_each(|&row| trains[row] = true);
        let passing = Passing {
            pass: self,
            turned,
            encoder,
            trains: &trains,
            rows: split.training.len(),
            problem: Mutex::new(None),
        };
        let assignment = passing.assignment()?;
        let mut kept = Vec::new();
        let fits_memory = turned.fits(passing.rows);
        if fits_memory {
            let read = watched(self.pool, |watch| {
                passing.blocks(
                    &mut |_, rows| {
                        kept.extend_from_slice(rows);
                        Ok(())
                    },
                    watch,
                )
            });
            passing.or_problem(read)?;
        }
        let pick = |values: &[f64]| -> Vec<f64> {
            split.training.iter().map(|&row| values[row]).collect()
        };
        let (codes, weights) = (pick(&outcomes.codes), pick(&outcomes.weights));
        let decisions = settings.decisions(&codes, &weights, labels.len());
        let decisions = decisions.map_err(|error| labels.named(error))?;
        let estimated = split.training == split.reference;
        let mut fits = Vec::new();
        for (targets, emphasis) in decisions {
            let labelled = Labelled {
                targets: &targets,
                weights: &weights,
                emphasis: &emphasis,
                assignment: &assignment,
                estimated,
            };
            let fit = watched(self.pool, |watch| {
                if fits_memory {
                    let (width, rows) = (turned.width(), passing.rows);
                    let rows = MatRef::from_column_major_slice(&kept, width, rows);
                    turned.fit(&rows, labelled, watch)
                } else {
                    turned.fit(&passing, labelled, watch)
                }
            });
            fits.push(passing.or_problem(fit)?);
        }
        Ok(fits)
    }

    /// The classes, and what stays of every row.
    fn outcomes(&self) -> Result<(Labels, Outcomes)> {
        let mut labels = Labels::new(Vec::new(), true);
        let bar = RowBar::new("classes", self.source.rows());
        let mut targets: Vec<Column> = Vec::new();
        let mut weights = Vec::new();
        self.each(0, &bar, &mut |rows, _| {
            let Some(target) = &rows.target else {
                return Ok(());
            };
            let counts = |i: &usize| rows.weights.as_ref().is_none_or(|w| w[*i] > 0.0);
            let counted: Vec<usize> = (0..target.len()).filter(counts).collect();
            let target = target.select(&counted);
            let missing = target.missing();
            if let Some(&row) = missing.first() {
                return Err(Error::MissingValues {
                    column: target.name.clone(),
                    count: missing.len(),
                    row,
                });
            }
            labels = std::mem::replace(&mut labels, Labels::new(Vec::new(), true))
                .with(Labels::of(&target));
            let weight = |i: &usize| rows.weights.as_ref().map_or(1.0, |w| w[*i]);
            weights.extend(counted.iter().map(weight));
            targets.push(target);
            Ok(())
        })?;
        let labels = self.columns.labels(labels);
        let mut codes = Vec::with_capacity(weights.len());
        for target in &targets {
            codes.extend(labels.encode(target)?);
        }
        Ok((labels, Outcomes { codes, weights }))
    }
}

/// The rows of the files that train, as features, again and again.
struct Passing<'a> {
    pass: &'a Pass<'a>,
    turned: &'a Turned,
    encoder: &'a Encoder,
    /// For every row that counts.
    trains: &'a [bool],
    rows: usize,
    /// What went wrong with the files, which is none of the engine's business.
    problem: Mutex<Option<anyhow::Error>>,
}

impl Passing<'_> {
    /// The rows of a batch that train.
    fn training(&self, rows: &Rows, counted: &mut usize) -> Rows {
        let counts = |i: &usize| rows.weights.as_ref().is_none_or(|w| w[*i] > 0.0);
        let mut chosen = Vec::new();
        for i in (0..rows.len()).filter(counts) {
            if self.trains[*counted] {
                chosen.push(i);
            }
            *counted += 1;
        }
        rows.select(&chosen)
    }

    /// The cells of the rows that train.
    fn assignment(&self) -> Result<SensitiveDesign> {
        let mut all = SensitiveDesign::default();
        let mut counted = 0;
        let bar = RowBar::new("cells", self.pass.source.rows());
        self.pass.each(0, &bar, &mut |rows, _| {
            let rows = self.training(rows, &mut counted);
            let sensitive = Sensitive::new(rows.sensitive.clone(), rows.len())?;
            all.append(self.turned.assign(&sensitive)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Does `work` on the features of blocks of rows, row after row, each block with the number of its first row. Blocks are as
    /// large as those of features in memory, so that sums over them have the same bits.
    fn blocks(
        &self,
        work: &mut dyn FnMut(usize, &[f64]) -> oblivio::Result<()>,
        watch: &Watch,
    ) -> oblivio::Result<()> {
        let size = ROWS * self.turned.width();
        let (mut counted, mut done) = (0, 0);
        let mut waiting: Vec<f64> = Vec::new();
        let names = self.pass.columns.names();
        let batches = self.pass.source.batches(&names, 0);
        for batch in batches.map_err(|problem| self.keep(problem))? {
            watch.check()?;
            let rows = batch.and_then(|batch| self.pass.columns.rows(&batch));
            let rows = self.training(&rows.map_err(|problem| self.keep(problem))?, &mut counted);
            let (points, _) = self.encoder.encode(&rows.features)?;
            let sensitive = Sensitive::new(rows.sensitive.clone(), rows.len())?;
            waiting.extend(self.turned.rows(&points, &sensitive, watch)?);
            while waiting.len() >= size {
                let rest = waiting.split_off(size);
                work(done, &waiting)?;
                done += ROWS;
                waiting = rest;
            }
        }
        if waiting.is_empty() {
            Ok(())
        } else {
            work(done, &waiting)
        }
    }

    /// Keeps a problem with the files until the engine has come back.
    fn keep(&self, problem: anyhow::Error) -> Error {
        if let Ok(mut kept) = self.problem.lock() {
            *kept = Some(problem);
        }
        Error::Interrupted
    }

    /// The problem with the files, if there was one.
    fn or_problem<T>(&self, result: Result<T>) -> Result<T> {
        let problem = self.problem.lock().ok().and_then(|mut kept| kept.take());
        problem.map_or(result, Err)
    }
}

impl FeatureRows for Passing<'_> {
    fn len(&self) -> usize {
        self.rows
    }

    fn width(&self) -> usize {
        self.turned.width()
    }

    fn each(
        &self,
        work: &mut dyn FnMut(usize, MatRef<'_, f64>) -> oblivio::Result<()>,
        watch: &Watch,
    ) -> oblivio::Result<()> {
        let width = self.width();
        self.blocks(
            &mut |first, rows| {
                let number = rows.len() / width;
                work(first, MatRef::from_column_major_slice(rows, width, number))
            },
            watch,
        )
    }
}
