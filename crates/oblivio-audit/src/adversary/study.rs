//! The course of an adversary's work: features, folds, predictions, level, interval.

use oblivio_base::{Column, Result, Watch};
use rayon::prelude::*;

use super::design::Design;
use super::folds::Folds;
use super::ridges::Ridges;
use super::target::{Levels, Numbers, Target, Verdict};
use super::{Adversary, AdversaryScore, AdversarySettings};
use crate::measure::{Measured, Null};
use crate::resampling::Resampling;

/// Targets regressed at a time: enough for fast products of matrices.
const TARGETS: usize = 32;

/// One adversary at work.
#[derive(Clone, Copy)]
pub(super) struct Study<'a> {
    pub(super) x: &'a [Column],
    /// The rows of `x` that are used, and their weights.
    pub(super) rows: &'a [usize],
    pub(super) weights: &'a [f64],
    pub(super) settings: &'a AdversarySettings,
    pub(super) resampling: &'a Resampling,
    pub(super) watch: &'a Watch,
}

impl Study<'_> {
    pub(super) fn of_levels(&self, levels: &Levels) -> Result<Adversary> {
        let nothing = || self.nothing(AdversaryScore::Auc, levels.names.clone());
        if levels.names.len() < 2 {
            return Ok(nothing());
        }
        let folds = Folds::draw(&levels.codes, self.settings.folds, self.settings.seed);
        let Some((ridges, weights)) = self.ridges(&folds)? else {
            return Ok(nothing());
        };
        let levels = levels.shuffled(&places(&folds));
        let held = ridges.hold_out(&levels.numbers());
        let verdict = levels.verdict(&held, 0, &folds);
        Ok(Adversary {
            measured: self.measured(&levels, &verdict, &ridges, &weights, &folds)?,
            score: AdversaryScore::Auc,
            levels: verdict.levels(&weights),
            squared: None,
        })
    }

    pub(super) fn of_numbers(&self, numbers: &Numbers) -> Result<Adversary> {
        let groups = vec![0; self.rows.len()];
        let folds = Folds::draw(&groups, self.settings.folds, self.settings.seed);
        let Some((ridges, weights)) = self.ridges(&folds)? else {
            return Ok(self.nothing(AdversaryScore::RSquared, Vec::new()));
        };
        let numbers = numbers.shuffled(&places(&folds));
        let squared = numbers.squared();
        let held = ridges.hold_out(&[numbers.numbers(), squared.numbers()].concat());
        let verdict = numbers.verdict(&held, 0, &folds);
        Ok(Adversary {
            measured: self.measured(&numbers, &verdict, &ridges, &weights, &folds)?,
            score: AdversaryScore::RSquared,
            levels: Vec::new(),
            squared: Some(squared.verdict(&held, 1, &folds).value(&weights)),
        })
    }

    /// The features of these rows of the table; none if nothing varies.
    fn design(&self, rows: &[usize]) -> Result<Option<Design>> {
        let columns: Vec<Column> = self.x.iter().map(|column| column.select(rows)).collect();
        Design::new(&columns, self.weights, self.settings, self.watch)
    }

    /// Regressions on X in the order of the folds, and the weights in that order; none if nothing varies.
    fn ridges<'f>(&self, folds: &'f Folds) -> Result<Option<(Ridges<'f>, Vec<f64>)>> {
        let rows: Vec<usize> = folds.rows.iter().map(|&row| self.rows[row]).collect();
        let weights: Vec<f64> = folds.rows.iter().map(|&row| self.weights[row]).collect();
        let ordered = Study {
            weights: &weights,
            ..*self
        };
        let Some(design) = ordered.design(&rows)? else {
            return Ok(None);
        };
        let ridges = Ridges::new(folds, design.values, design.width, weights.clone())?;
        Ok(Some((ridges, weights)))
    }

    fn measured<T: Target + Send>(
        &self,
        target: &T,
        verdict: &impl Verdict,
        ridges: &Ridges,
        weights: &[f64],
        folds: &Folds,
    ) -> Result<Measured> {
        let numbers: Vec<usize> = (0..self.resampling.permutations).collect();
        let draws = self.resampling.permutations + self.resampling.resamples;
        self.watch.begin("adversary", draws)?;
        let batches = numbers.par_chunks((TARGETS / target.count()).max(1));
        let permuted = batches.map(|batch| {
            self.watch.check()?;
            let shuffle = |&number: &usize| {
                let order = self.resampling.permutation(number, weights.len());
                target.shuffled(&folds.shuffle(&order))
            };
            let shuffled: Vec<T> = batch.iter().map(shuffle).collect();
            let held = ridges.hold_out(&shuffled.iter().flat_map(T::numbers).collect::<Vec<_>>());
            let value = |(k, target): (usize, &T)| {
                let verdict = target.verdict(&held, k * target.count(), folds);
                self.watch.advance();
                verdict.value(weights)
            };
            Ok(shuffled.iter().enumerate().map(value).collect::<Vec<f64>>())
        });
        let permuted = permuted.collect::<Result<Vec<_>>>()?.concat();
        let value = verdict.value(weights);
        let resampled = self.resampled(verdict, weights)?;
        let rows = weights.len();
        let measure = self.settings.kind.measure();
        Ok(self
            .resampling
            .measured(measure, value, permuted, resampled, rows))
    }

    /// The score of the same predictions on rows drawn again.
    fn resampled(&self, verdict: &impl Verdict, weights: &[f64]) -> Result<Vec<f64>> {
        let draws = (0..self.resampling.resamples).into_par_iter();
        draws
            .map(|number| {
                self.watch.advance();
                self.watch.check()?;
                let mut counts = self.resampling.counts(number, weights.len());
                for (count, weight) in counts.iter_mut().zip(weights) {
                    *count *= weight;
                }
                Ok(verdict.value(&counts))
            })
            .collect()
    }

    /// What there is to say if either side is constant.
    pub(super) fn nothing(&self, score: AdversaryScore, levels: Vec<String>) -> Adversary {
        let value = match score {
            AdversaryScore::Auc => 0.5,
            AdversaryScore::RSquared => 0.0,
        };
        Adversary {
            measured: Measured {
                value,
                expected: value,
                critical: value,
                p_value: 1.0,
                lower: value,
                upper: value,
                rows: self.rows.len(),
                null: Null::Permutation,
            },
            score,
            levels: levels.into_iter().map(|level| (level, value)).collect(),
            squared: (score == AdversaryScore::RSquared).then_some(0.0),
        }
    }
}

fn places(folds: &Folds) -> Vec<u32> {
    folds.rows.iter().map(|&row| row as u32).collect()
}
