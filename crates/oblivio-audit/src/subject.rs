//! A subject as the measures take it: numbers or classes, and decisions.

use oblivio::sensitive::Kind;
use oblivio_base::encoder::complete;
use oblivio_base::{Column, Error, Result, Values};

use super::comparison::Outcome;
use super::report::{Role, more_than_two};

/// Texts of more kinds than this are no labels.
pub(super) const MOST_CLASSES: usize = 100;

/// A column of scores or labels.
pub(super) struct SubjectRows {
    pub(super) role: Role,
    pub(super) column: Column,
    /// The classes of a label, in order.
    pub(super) levels: Vec<String>,
    codes: Vec<u32>,
    /// Whether each row's decision is positive, if there are decisions.
    pub(super) positive: Option<Vec<bool>>,
}

impl SubjectRows {
    pub(super) fn new(role: Role, column: &Column, positive: Option<&str>) -> Result<Self> {
        complete(column)?;
        if let Values::Numbers(numbers) = &column.values {
            check_size(&column.name, numbers)?;
        }
        let (levels, codes) = match column.values {
            Values::Numbers(_) => Default::default(),
            Values::Categories { .. } => column.sorted_categories(),
        };
        if levels.len() > MOST_CLASSES {
            return Err(Error::TooManyClasses {
                column: column.name.clone(),
                found: levels.len(),
                most: MOST_CLASSES,
            });
        }
        Ok(Self {
            role,
            positive: positives(column, positive),
            column: column.clone(),
            levels,
            codes,
        })
    }

    pub(super) fn outcome(&self) -> Outcome<'_> {
        match &self.column.values {
            Values::Numbers(numbers) => Outcome::Scores(numbers),
            Values::Categories { .. } => Outcome::Classes(&self.codes),
        }
    }

    /// The numbers of a score, which has an order and distances.
    pub(super) fn scores(&self) -> Option<&[f64]> {
        match &self.column.values {
            Values::Numbers(numbers) => Some(numbers),
            Values::Categories { .. } => None,
        }
    }

    /// The classes of a label and the class of each row; none for numbers that are not of two or a few kinds.
    pub(super) fn classes(&self) -> Option<(Vec<String>, Vec<u32>)> {
        match &self.column.values {
            Values::Categories { .. } => Some((self.levels.clone(), self.codes.clone())),
            Values::Numbers(_) if Kind::of(&self.column) == Kind::Categorical => {
                Some(self.column.sorted_categories())
            }
            Values::Numbers(_) => None,
        }
    }

    /// The score, or the indicator of a label, or one indicator for each of several with its class.
    pub(super) fn targets(&self) -> Vec<(Option<String>, Vec<f64>)> {
        let indicator = |is: &bool| f64::from(u8::from(*is));
        match (self.scores(), &self.positive) {
            (Some(scores), _) => vec![(None, scores.to_vec())],
            (None, Some(positive)) => vec![(None, positive.iter().map(indicator).collect())],
            (None, None) => {
                let classes = self.levels.iter().enumerate();
                let rows = |level: usize| {
                    let rows = self.codes.iter();
                    rows.map(move |&code| indicator(&(code as usize == level)))
                };
                classes
                    .map(|(level, class)| (Some(class.clone()), rows(level).collect()))
                    .collect()
            }
        }
    }

    pub(super) fn kind(&self) -> Kind {
        if self.scores().is_some() {
            Kind::Continuous
        } else {
            Kind::Categorical
        }
    }

    /// Draws the line of a score that has none yet, and says in words which decisions are positive if nobody did.
    pub(super) fn decide(
        &mut self,
        positive: Option<&str>,
        threshold: Option<f64>,
        weights: Option<&[f64]>,
    ) -> Option<String> {
        let name = &self.column.name;
        let is_score = self.scores().is_some() && threshold.is_some();
        if self.positive.is_some() && !is_score {
            let last = self.column.sorted_levels().pop()?;
            let note = format!("`{name}`: `{last}` counts as a positive decision");
            let named =
                positive.is_some_and(|p| self.column.sorted_levels().iter().any(|l| l == p));
            return (!named).then_some(note);
        }
        let Values::Numbers(scores) = &self.column.values else {
            return None;
        };
        let (line, why) = match threshold {
            Some(line) => (line, None),
            None if scores.iter().all(|score| (0.0..=1.0).contains(score)) => {
                (0.5, Some("the scores lie between 0 and 1"))
            }
            None => (median(scores, weights), Some("the median")),
        };
        let decided = scores.iter().map(|score| *score >= line).collect();
        self.positive = Some(decided);
        why.map(|why| {
            format!(
                "`{name}`: a score of at least {line:.4} counts as a positive decision ({why}); give the threshold you use"
            )
        })
    }
}

/// Refuses numbers whose squares would overflow.
pub(super) fn check_size(name: &str, numbers: &[f64]) -> Result<()> {
    const LARGEST: f64 = 1e150;
    match numbers.iter().find(|number| number.abs() > LARGEST) {
        None => Ok(()),
        Some(number) => Err(Error::OutOfSize {
            name: name.to_owned(),
            value: *number,
        }),
    }
}

/// Whether each row has the positive one of two labels: the named one against all others, or the last of two.
pub(super) fn positives(column: &Column, positive: Option<&str>) -> Option<Vec<bool>> {
    // Scores have thousands of values: they need not be made categories to see that they are not two.
    if let Values::Numbers(values) = &column.values
        && more_than_two(values)
        && (positive.is_none() || Kind::of_target(column) == Kind::Continuous)
    {
        return None;
    }
    let (levels, codes) = column.sorted_categories();
    let named = levels
        .iter()
        .position(|level| Some(level.as_str()) == positive);
    let code = match (named, levels.len()) {
        (Some(code), _) => code,
        (None, 2) => 1,
        _ => return None,
    };
    Some(codes.iter().map(|&c| c as usize == code).collect())
}

/// Refuses a positive label that none of the columns has.
pub(super) fn check_positive<'c>(
    positive: Option<&str>,
    columns: impl Iterator<Item = &'c Column>,
) -> Result<()> {
    let Some(positive) = positive else {
        return Ok(());
    };
    let mut known = Vec::new();
    for column in columns.filter(|column| Kind::of_target(column) == Kind::Categorical) {
        known.extend(column.sorted_levels());
        if known.iter().any(|level| level == positive) {
            return Ok(());
        }
        known.truncate(MOST_CLASSES);
    }
    Err(Error::UnknownName {
        what: "the positive label",
        text: positive.to_owned(),
        known: known.join(", "),
    })
}

/// The smallest score with at least half of the weight at or below it.
fn median(scores: &[f64], weights: Option<&[f64]>) -> f64 {
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_unstable_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let total: f64 = order.iter().map(|&row| weight(row)).sum();
    // A little less than half: sums of weights round, and equal weights must give the median of equal rows.
    let half = total / 2.0 * (1.0 - 1e-12);
    let mut below = 0.0;
    for &row in &order {
        below += weight(row);
        if below >= half {
            return scores[row];
        }
    }
    f64::NAN
}
