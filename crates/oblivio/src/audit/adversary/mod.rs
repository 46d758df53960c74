//! An adversary: how well can S be predicted from a score, a feature or a whole table?

mod auc;
mod design;
mod folds;
mod ridges;
mod target;
#[cfg(test)]
mod tests;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::design::Design;
use self::folds::Folds;
use self::ridges::Ridges;
use self::target::{Levels, Numbers, Target, Verdict};
use super::measure::{Measure, Measured, Null};
use super::resampling::Resampling;
use crate::column::{Column, Values};
use crate::encoder::complete;
use crate::error::{Error, Result};
use crate::named::Named;
use crate::points::check_weights;
use crate::random;
use crate::sensitive::Kind;
use crate::watch::Watch;

/// What an adversary can see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdversaryKind {
    /// Smooth functions of all columns together, and all that [`Linear`](Self::Linear) sees.
    #[default]
    Kernel,
    /// Weighted sums of the columns and of their categories' indicators.
    Linear,
}

impl Named for AdversaryKind {
    const WHAT: &'static str = "adversary";
    const NAMES: &'static [(&'static str, Self)] =
        &[("kernel", Self::Kernel), ("linear", Self::Linear)];
}

/// How an adversary learns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AdversarySettings {
    /// What it can see.
    pub kind: AdversaryKind,
    /// Parts of the rows, each predicted from all others.
    pub folds: usize,
    /// The most landmarks of the kernel adversary.
    pub components: usize,
    /// Folds, landmarks and the sample of many rows follow from it.
    pub seed: u64,
}

impl Default for AdversarySettings {
    fn default() -> Self {
        Self {
            kind: AdversaryKind::default(),
            folds: 5,
            components: 100,
            seed: 0,
        }
    }
}

/// How an adversary is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdversaryScore {
    /// For categories: the chance that of two rows, one of the category and one not, the first looks more like it.
    Auc,
    /// For numbers: one less the mean squared error over the variance; below zero if worse than the mean.
    RSquared,
}

/// What an adversary found out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Adversary {
    /// Its score with the level under independence and an interval.
    pub measured: Measured,
    /// What the score is.
    pub score: AdversaryScore,
    /// The AUC of every category against all others, the largest first; empty for numbers.
    pub levels: Vec<(String, f64)>,
    /// R² for $(S - \bar S)^2$, where S is a number: how far S is from its mean may be known when its sign is not.
    pub squared: Option<f64>,
}

/// The most rows an adversary learns from and is judged on; of more, a seeded sample.
const MOST_ROWS: usize = 50_000;
/// Targets regressed at a time: enough for fast products of matrices.
const TARGETS: usize = 32;

/// How well `s` is predicted from the columns `x`, on rows that were not learned from.
///
/// Ridge regression of S, or of the indicator of each of its categories, on the standardised columns, with indicators for
/// categories (of a column's many, the 100 most frequent), and for [`AdversaryKind::Kernel`] also on Nyström features of a
/// Gaussian kernel by the median rule; with the penalty chosen on the other folds by generalised cross-validation. Of more
/// than 50 000 rows, a seeded sample is used: [`Measured::rows`] says how many.
///
/// Folds have equal shares of every category. The AUC is the mean over the categories by their shares, each against all
/// others. Categories of fewer rows than there are folds, and those after the twenty largest, count as one, `other`; if even
/// that has too few rows, it is left out of the mean. A missing category is one of its own, in `x` and in `s`; missing
/// numbers are refused.
///
/// The level under independence comes from shuffles of S against X within each fold, with everything done again that
/// depends on S, so that the test is exact. The interval draws rows again with their predictions: it holds for these
/// predictions, and leaves out that other rows would have taught others. A constant gives 0.5, or R² = 0, and a p-value of 1.
///
/// ```
/// use oblivio::{AdversarySettings, Column, Kind, Resampling, Watch, adversary};
/// let score: Vec<f64> = (0..200).map(|i| f64::from(i % 40)).collect();
/// let far = score.iter().map(|x| Some(if (x - 20.0).abs() > 10.0 { "far" } else { "near" }));
/// let s = Column::texts("s", far);
/// let x = [Column::numbers("score", score.clone())];
/// let settings = AdversarySettings::default();
/// let found = adversary(
///     &x, &s, Kind::Categorical, None, &settings, &Resampling::default(), &Watch::default(),
/// )?;
/// assert!(found.measured.value > 0.9);
/// # Ok::<(), oblivio::Error>(())
/// ```
pub fn adversary(
    x: &[Column],
    s: &Column,
    kind_of_s: Kind,
    weights: Option<&[f64]>,
    settings: &AdversarySettings,
    resampling: &Resampling,
    watch: &Watch,
) -> Result<Adversary> {
    settings.check()?;
    resampling.check()?;
    let (rows, weights) = settings.rows(x, s, weights)?;
    let s = s.select(&rows);
    let study = Study {
        x,
        rows: &rows,
        weights: &weights,
        settings,
        resampling,
        watch,
    };
    match kind_of_s {
        Kind::Categorical => study.of_levels(&Levels::new(&s, settings.folds)),
        Kind::Continuous => match Numbers::new(&s, &weights)? {
            Some(numbers) => study.of_numbers(&numbers),
            None => Ok(study.nothing(AdversaryScore::RSquared, Vec::new())),
        },
    }
}

impl AdversarySettings {
    fn check(&self) -> Result<()> {
        for (name, value, least, expected) in [
            ("the number of folds", self.folds, 2, "at least 2"),
            ("the number of components", self.components, 1, "at least 1"),
        ] {
            if value < least {
                return Err(Error::InvalidParameter {
                    name,
                    expected,
                    value: value.to_string(),
                });
            }
        }
        Ok(())
    }

    /// The rows to work on, and their weights with mean one.
    fn rows(
        &self,
        x: &[Column],
        s: &Column,
        weights: Option<&[f64]>,
    ) -> Result<(Vec<usize>, Vec<f64>)> {
        for column in x {
            if column.len() != s.len() {
                return Err(Error::Length {
                    what: "a column that the adversary sees",
                    found: column.len(),
                    needed: s.len(),
                });
            }
            // A missing category is a category, a missing number is none.
            if let Values::Numbers(_) = column.values {
                complete(column)?;
            }
        }
        let ones = vec![1.0; s.len()];
        let weights = weights.unwrap_or(&ones);
        check_weights(weights, s.len())?;
        let rows: Vec<usize> = (0..s.len()).filter(|&i| weights[i] > 0.0).collect();
        let rows = random::sample(&rows, MOST_ROWS, self.seed);
        if rows.len() < 2 * self.folds {
            return Err(Error::TooFewRows {
                what: "an adversary's table",
                found: rows.len(),
                needed: 2 * self.folds,
            });
        }
        let mean = rows.iter().map(|&i| weights[i]).sum::<f64>() / rows.len() as f64;
        let weights = rows.iter().map(|&i| weights[i] / mean).collect();
        Ok((rows, weights))
    }
}

/// One adversary at work.
#[derive(Clone, Copy)]
struct Study<'a> {
    x: &'a [Column],
    /// The rows of `x` that are used, and their weights.
    rows: &'a [usize],
    weights: &'a [f64],
    settings: &'a AdversarySettings,
    resampling: &'a Resampling,
    watch: &'a Watch,
}

impl Study<'_> {
    fn of_levels(&self, levels: &Levels) -> Result<Adversary> {
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

    fn of_numbers(&self, numbers: &Numbers) -> Result<Adversary> {
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
    fn nothing(&self, score: AdversaryScore, levels: Vec<String>) -> Adversary {
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

impl AdversaryKind {
    /// The measure that it gives.
    pub fn measure(self) -> Measure {
        match self {
            Self::Kernel => Measure::Adversary,
            Self::Linear => Measure::AdversaryLinear,
        }
    }
}

fn places(folds: &Folds) -> Vec<u32> {
    folds.rows.iter().map(|&row| row as u32).collect()
}
