//! The settings of a partition.

use std::str::FromStr;

use oblivio_base::{Column, Error, Named, Result, UnseenCategory};
use serde::{Deserialize, Serialize};

use crate::sensitive::{Kind, Sensitive};

/// How sensitive columns are to be cut into cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartitionRule {
    /// How the conditional mean is estimated.
    pub estimator: Estimator,
    /// Whether the means of cells are drawn towards the mean of all, by as much as their scatter suggests (empirical Bayes). That
    /// leaves some of the dependence where cells are small.
    pub shrink: bool,
    /// Columns among the sensitive ones that are legitimate factors A: only the part of the others beyond A is removed.
    pub control: Vec<String>,
    /// The number of bins of each continuous column.
    pub cells: CellCount,
    /// Where the bins of a continuous column begin and end.
    pub binning: Binning,
    /// Given bounds of continuous columns, by name; an empty name means all others. Without them: smallest and largest value.
    pub bounds: Vec<(String, f64, f64)>,
    /// Columns to read as categorical whatever they hold.
    pub categorical: Vec<String>,
    /// Columns to read as continuous whatever they hold.
    pub continuous: Vec<String>,
    /// A cell of bins with fewer reference rows than this is joined with its neighbours; at 1 none is. If absent: where the
    /// number of bins is left to the rule `auto`, 5 or half of what equal bins would hold if that is less; else 1, for cells that
    /// were asked for are not to be changed.
    pub min_rows: Option<usize>,
    /// What to do with rows that have no cell.
    pub policies: Policies,
}

/// How the conditional mean of the features is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// By the smaller leave-one-out error: cells where all sensitive columns are categorical or the cells were asked for, else
    /// cells or smooth.
    #[default]
    Auto,
    /// The mean of the cell.
    Cells,
    /// Ridge regression on kernel features of S.
    Smooth,
    /// Least squares on the columns of S themselves.
    Linear,
}

impl Named for Estimator {
    const WHAT: &'static str = "the conditional mean";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("cells", Self::Cells),
        ("smooth", Self::Smooth),
        ("linear", Self::Linear),
    ];
}

/// The fewest reference rows of a cell where nothing else is said. Fewer make a mean that is mostly the rows' own noise: with m
/// rows a share of 1/m of what they tell beyond S is taken for what S tells.
const LEAST_ROWS: usize = 5;
/// More bins than this are a mistake.
pub(super) const MOST_CELLS: usize = 65_536;

/// The number of bins of each continuous column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CellCount {
    /// $\lceil n^{1/(d+2)}\rceil$ for n reference rows and d continuous columns: the rate that balances bias and variance.
    #[default]
    Auto,
    /// $\lfloor n^{1/(2(d+1))}\rfloor$, as in the paper.
    Paper,
    /// The number with the least leave-one-out error of the features; as [`Auto`](Self::Auto) where there are no features to look at.
    Loo,
    /// This many.
    Given(usize),
}

/// Where bins begin and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binning {
    /// Equal mass of reference rows.
    #[default]
    Quantile,
    /// Equal width.
    Uniform,
    /// Equal width, their number a power of two (the paper's).
    Dyadic,
}

/// What to do with rows that have no cell of their own. Every use is counted in [`Uses`](super::Uses).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Policies {
    /// A cell without reference rows.
    pub empty: EmptyCell,
    /// A category without reference rows.
    pub category: UnseenCategory,
    /// A continuous value outside given bounds.
    pub range: OutOfRange,
    /// A missing value.
    pub missing: Missing,
}

/// A cell without reference rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyCell {
    /// The smallest enclosing cell that has rows.
    #[default]
    Enclosing,
    /// The mean of all reference rows: nothing is taken out.
    Population,
    /// A mean of zero: the paper's rule, for reproduction only.
    Zero,
    /// Refuse.
    Error,
}

/// A continuous value outside the bounds given for dyadic bins. Other bins reach to ±∞.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfRange {
    /// Refuse.
    #[default]
    Error,
    /// Take the nearest bin.
    Clamp,
}

/// A missing sensitive value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// Refuse.
    #[default]
    Error,
    /// A level of its own, if it occurred among the reference rows.
    Category,
    /// Rows that miss a value are left out of the fit, and scored by a second model: one fitted to the same rows in the mode
    /// `sensitive-free`, which needs no sensitive value.
    SensitiveFree,
}

impl Named for Binning {
    const WHAT: &'static str = "binning";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("quantile", Self::Quantile),
        ("uniform", Self::Uniform),
        ("dyadic", Self::Dyadic),
    ];
}

impl Named for EmptyCell {
    const WHAT: &'static str = "the policy for empty cells";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("enclosing", Self::Enclosing),
        ("population", Self::Population),
        ("zero", Self::Zero),
        ("error", Self::Error),
    ];
}

impl Named for OutOfRange {
    const WHAT: &'static str = "the policy for values out of range";
    const NAMES: &'static [(&'static str, Self)] =
        &[("error", Self::Error), ("clamp", Self::Clamp)];
}

impl Named for Missing {
    const WHAT: &'static str = "the policy for missing values";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("error", Self::Error),
        ("category", Self::Category),
        ("sensitive-free", Self::SensitiveFree),
    ];
}

impl FromStr for CellCount {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "paper" => Ok(Self::Paper),
            "loo" => Ok(Self::Loo),
            _ => match text.parse() {
                Ok(cells) if cells > 0 => Ok(Self::Given(cells)),
                _ => Err(Error::InvalidParameter {
                    name: "cells",
                    expected: "a positive whole number, `auto`, `loo` or `paper`",
                    value: text.to_owned(),
                }),
            },
        }
    }
}

impl Policies {
    /// One answer for unseen categories and, unless it is to refuse, for empty cells too.
    pub fn for_unknown(answer: UnseenCategory) -> Self {
        Self {
            category: answer,
            empty: match answer {
                UnseenCategory::Error => EmptyCell::Enclosing,
                UnseenCategory::Population => EmptyCell::Population,
                UnseenCategory::Zero => EmptyCell::Zero,
            },
            ..Self::default()
        }
    }

    /// For cells that only a report uses: nothing is refused that can be placed.
    pub(crate) fn for_report(self) -> Self {
        Self {
            category: UnseenCategory::Population,
            range: OutOfRange::Clamp,
            ..self
        }
    }
}

impl EmptyCell {
    /// The same, but nothing is refused.
    pub(crate) fn lenient(self) -> Self {
        match self {
            Self::Error => Self::Enclosing,
            other => other,
        }
    }
}

impl CellCount {
    /// The number of bins for n reference rows and d continuous columns; at most 65 536.
    pub fn resolve(self, rows: usize, continuous: usize) -> usize {
        // Whole numbers around the root: that of a perfect power must not round to the wrong side.
        let power = |base: usize, exponent: usize| (base as f64).powf(exponent as f64);
        let around = |exponent: usize| {
            let root = (rows as f64).powf(1.0 / exponent as f64) as usize;
            (root.saturating_sub(2).max(1)..=root + 2).filter(|cells| *cells <= rows)
        };
        let cells = match self {
            Self::Given(cells) => return cells,
            Self::Auto | Self::Loo => {
                around(continuous + 2).find(|&cells| power(cells, continuous + 2) >= rows as f64)
            }
            Self::Paper => around(2 * (continuous + 1))
                .take_while(|&cells| power(cells, 2 * (continuous + 1)) <= rows as f64)
                .last(),
        };
        cells.unwrap_or(1).min(MOST_CELLS)
    }
}

impl PartitionRule {
    /// For cells that only a report uses.
    #[must_use]
    pub(crate) fn for_report(&self) -> Self {
        Self {
            estimator: Estimator::Cells,
            shrink: false,
            cells: match self.cells {
                CellCount::Loo => CellCount::Auto,
                other => other,
            },
            policies: self.policies.for_report(),
            ..self.clone()
        }
    }

    /// The same rule for cells, where nothing else can be; `why` says why not.
    pub(crate) fn cells_only(&self, why: &'static str) -> Result<Self> {
        match self.estimator {
            Estimator::Auto | Estimator::Cells if !self.shrink && self.control.is_empty() => {
                Ok(Self {
                    estimator: Estimator::Cells,
                    ..self.clone()
                })
            }
            _ => Err(Error::InvalidParameter {
                name: "the conditional mean",
                expected: why,
                value: self.estimator.name().into(),
            }),
        }
    }

    /// The rule with the kind of every column settled by these rows, so that a part of them is read like the whole.
    #[must_use]
    pub fn settled(&self, table: &Sensitive) -> Self {
        let kinds = table
            .columns()
            .iter()
            .map(|c| (c.name.as_str(), Kind::of(c)));
        self.settled_as(kinds)
    }

    /// The rule with columns nobody spoke about taken as these kinds.
    #[must_use]
    pub(crate) fn settled_as<'n>(&self, kinds: impl Iterator<Item = (&'n str, Kind)>) -> Self {
        let mut rule = self.clone();
        for (name, kind) in kinds {
            let known = |names: &[String]| names.iter().any(|n| n == name);
            if !known(&self.categorical) && !known(&self.continuous) {
                match kind {
                    Kind::Categorical => rule.categorical.push(name.to_owned()),
                    Kind::Continuous => rule.continuous.push(name.to_owned()),
                }
            }
        }
        rule
    }

    /// What the rule says of one column.
    #[must_use]
    pub fn about(&self, column: &str) -> Self {
        let its = |names: &[String]| names.iter().filter(|n| *n == column).cloned().collect();
        let bounds = self.bounds.iter();
        Self {
            categorical: its(&self.categorical),
            continuous: its(&self.continuous),
            bounds: bounds
                .filter(|(name, ..)| name.is_empty() || name == column)
                .cloned()
                .collect(),
            ..self.clone()
        }
    }

    /// How often each row counts in a fit: not at all if it misses a sensitive value and the policy leaves such rows to a second
    /// model. Also how many rows do not count for that reason alone.
    pub(crate) fn counting(
        &self,
        table: &Sensitive,
        weights: Option<&[f64]>,
    ) -> Result<(Vec<f64>, usize)> {
        table.check_identifiers(&self.continuous)?;
        let mut counting = weights.map_or(vec![1.0; table.len()], <[f64]>::to_vec);
        if self.policies.missing != Missing::SensitiveFree {
            return Ok((counting, 0));
        }
        let misses = table.misses(table.columns().iter().map(|c| c.name.as_str()))?;
        let mut left_out = 0;
        for (weight, misses) in counting.iter_mut().zip(misses) {
            if misses && *weight > 0.0 {
                *weight = 0.0;
                left_out += 1;
            }
        }
        if left_out > 0 && counting.iter().all(|weight| *weight == 0.0) {
            return Err(Error::TooFewRows {
                what: "the table without rows that miss a sensitive value",
                found: 0,
                needed: 1,
            });
        }
        Ok((counting, left_out))
    }

    /// The fewest reference rows of a cell that bins make up, for n reference rows and d continuous columns: of ℓ bins each by
    /// the rule `auto`, $\min(5, \lfloor n/(2\ell^d)\rfloor)$ and at least 1.
    pub(super) fn least_rows(&self, rows: usize, continuous: usize) -> usize {
        let by_rule = match self.cells {
            CellCount::Auto | CellCount::Loo => {
                let bins = self.cells.resolve(rows, continuous) as f64;
                // A small table has cells of a few rows, which are what the rule is about and not too few.
                let equal = rows as f64 / bins.powf(continuous as f64);
                LEAST_ROWS.clamp(1, ((equal / 2.0) as usize).max(1))
            }
            CellCount::Paper | CellCount::Given(_) => 1,
        };
        self.min_rows.unwrap_or(by_rule)
    }

    /// How a column is to be read.
    pub(crate) fn kind(&self, column: &Column) -> Kind {
        if self.categorical.contains(&column.name) {
            Kind::Categorical
        } else if self.continuous.contains(&column.name) {
            Kind::Continuous
        } else {
            Kind::of(column)
        }
    }

    /// The bounds given for a column.
    pub(super) fn bounds_of(&self, column: &str) -> Result<Option<(f64, f64)>> {
        let found = self
            .bounds
            .iter()
            .find(|(name, ..)| name == column)
            .or_else(|| self.bounds.iter().find(|(name, ..)| name.is_empty()));
        match found {
            None => Ok(None),
            Some(&(_, low, high)) if low < high && low.is_finite() && high.is_finite() => {
                Ok(Some((low, high)))
            }
            Some((_, low, high)) => Err(Error::InvalidParameter {
                name: "the bounds of a sensitive column",
                expected: "two finite numbers, the smaller first",
                value: format!("{low}:{high}"),
            }),
        }
    }

    pub(crate) fn check(&self, sensitive: &Sensitive) -> Result<()> {
        if let CellCount::Given(cells) = self.cells
            && !(1..=MOST_CELLS).contains(&cells)
        {
            return Err(Error::InvalidParameter {
                name: "cells",
                expected: "between 1 and 65536",
                value: cells.to_string(),
            });
        }
        if self.min_rows == Some(0) {
            return Err(Error::InvalidParameter {
                name: "the fewest rows of a cell",
                expected: "at least 1",
                value: "0".into(),
            });
        }
        let named = self.categorical.iter().chain(&self.continuous);
        let bounded = self.bounds.iter().map(|(name, ..)| name);
        for name in named.chain(bounded.filter(|name| !name.is_empty())) {
            sensitive.column(name)?;
        }
        self.bounds
            .iter()
            .try_for_each(|(name, ..)| self.bounds_of(name).map(|_| ()))
    }
}
