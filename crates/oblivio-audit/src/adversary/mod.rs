//! An adversary: how well can S be predicted from a score, a feature or a whole table?

pub(crate) mod auc;
pub(crate) mod design;
pub(crate) mod folds;
pub(crate) mod ridges;
mod study;
mod target;
#[cfg(test)]
mod tests;

use oblivio::sensitive::Kind;
use oblivio_base::encoder::complete;
use oblivio_base::points::check_weights;
use oblivio_base::{Column, Error, Named, Result, Values, Watch, random};
use serde::{Deserialize, Serialize};

use self::study::Study;
use self::target::{Levels, Numbers};
use super::measure::{Measure, Measured};
use super::resampling::Resampling;

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

impl AdversaryKind {
    /// The measure that it gives.
    pub fn measure(self) -> Measure {
        match self {
            Self::Kernel => Measure::Adversary,
            Self::Linear => Measure::AdversaryLinear,
        }
    }
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
    /// The most rows it learns from and is judged on; of more, a seeded sample.
    pub most_rows: usize,
    /// Folds, landmarks and the sample of many rows follow from it.
    pub seed: u64,
}

impl Default for AdversarySettings {
    fn default() -> Self {
        Self {
            kind: AdversaryKind::default(),
            folds: 5,
            components: 100,
            most_rows: 50_000,
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

/// How well `s` is predicted from the columns `x`, on rows that were not learned from.
///
/// Ridge regression of S, or of the indicator of each of its categories, on the standardised columns, with indicators for
/// categories (of a column's many, the 100 most frequent), and for [`AdversaryKind::Kernel`] also on Nyström features of a
/// Gaussian kernel by the median rule; with the penalty chosen on the other folds by generalised cross-validation. Of more
/// rows than the settings allow, a seeded sample is used: [`Measured::rows`] says how many.
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
/// use oblivio::sensitive::Kind;
/// use oblivio::{Column, Watch};
/// use oblivio_audit::{AdversarySettings, Resampling, adversary};
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
        let rows = random::sample(&rows, self.most_rows, self.seed);
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
