//! The true labels, as a subject is to predict them.

use oblivio::sensitive::Kind;
use oblivio_base::encoder::complete;
use oblivio_base::{Column, Error, Result, Values};

use super::errors::Losses;
use super::formulas::deviation;
use super::odds::ClassOdds;
use super::strata::Strata;
use super::subject::{MOST_CLASSES, SubjectRows, check_size, positives};

/// True labels: numbers, two labels, or several classes.
pub(super) struct Truth {
    pub(super) column: Column,
    kind: Kind,
    levels: Vec<String>,
    codes: Vec<u32>,
    /// Whether each label is the positive one of two, or the named one.
    pub(super) positive: Option<Vec<bool>>,
    /// Groups of equal labels, or bins of numbers.
    pub(super) strata: Strata,
}

impl Truth {
    pub(super) fn new(
        column: &Column,
        positive: Option<&str>,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        complete(column)?;
        if let Values::Numbers(numbers) = &column.values {
            check_size(&column.name, numbers)?;
        }
        let positive = positives(column, positive);
        let kind = match positive {
            Some(_) => Kind::Categorical,
            None => Kind::of(column),
        };
        let (levels, codes) = match kind {
            Kind::Categorical => column.sorted_categories(),
            Kind::Continuous => Default::default(),
        };
        if levels.len() > MOST_CLASSES && positive.is_none() {
            return Err(Error::TooManyClasses {
                column: column.name.clone(),
                found: levels.len(),
                most: MOST_CLASSES,
            });
        }
        Ok(Self {
            strata: match kind {
                Kind::Categorical => Strata::new(&codes),
                Kind::Continuous => Strata::of_numbers(column, weights),
            },
            column: column.clone(),
            kind,
            levels,
            codes,
            positive,
        })
    }

    /// What the reader should know of the labels.
    pub(super) fn note(&self) -> Option<String> {
        let name = &self.column.name;
        if self.kind == Kind::Continuous {
            return Some(format!(
                "the labels `{name}` are not of two kinds, so there are no equalised odds; name the label that counts as positive"
            ));
        }
        let positive = self.positive.as_ref()?.iter().position(|is| *is)?;
        let level = self.levels.get(self.codes[positive] as usize)?;
        Some(format!("`{name}`: `{level}` is the positive label"))
    }

    /// The labels as a regression reads them: classes as categories, whatever they are written as.
    pub(super) fn as_feature(&self) -> Column {
        match self.kind {
            Kind::Continuous => self.column.clone(),
            Kind::Categorical => Column {
                name: self.column.name.clone(),
                values: Values::Categories {
                    levels: self.levels.clone(),
                    codes: self.codes.clone(),
                },
            },
        }
    }

    /// The decisions of a subject for each class, with the rows of the class; none without decisions, or where labels are
    /// numbers.
    ///
    /// Two labels are one class. Of several, a label is decided for or against each of them, and a score is for the class
    /// that its name ends with.
    pub(super) fn odds(&self, name: &str, subject: &SubjectRows) -> Vec<ClassOdds> {
        if let (Some(decided), Some(truth)) = (&subject.positive, &self.positive) {
            return vec![ClassOdds {
                name: None,
                decided: decided.clone(),
                truth: truth.clone(),
            }];
        }
        let of_class = |level: usize| self.codes.iter().map(|&c| c as usize == level).collect();
        if let (Some(decided), Some(level)) = (&subject.positive, self.class_of(name)) {
            return vec![ClassOdds {
                name: None,
                decided: decided.clone(),
                truth: of_class(level),
            }];
        }
        let classes = subject.classes().filter(|(levels, _)| levels.len() > 2);
        let Some((levels, codes)) = classes else {
            return Vec::new();
        };
        let decided = |class: &str| {
            let code = levels.iter().position(|level| level == class);
            codes.iter().map(|&c| Some(c as usize) == code).collect()
        };
        let all = self.levels.iter().enumerate();
        all.map(|(level, class)| ClassOdds {
            name: Some(class.clone()),
            decided: decided(class),
            truth: of_class(level),
        })
        .collect()
    }

    /// The outcome that a subject speaks of, and whether it is the share of a class: the positive label, the class that a score
    /// is for, or a number.
    pub(super) fn outcome(&self, name: &str) -> Option<(Vec<f64>, bool)> {
        let share = |is: bool| f64::from(u8::from(is));
        if let Some(positive) = &self.positive {
            return Some((positive.iter().map(|&is| share(is)).collect(), true));
        }
        if let Values::Numbers(numbers) = &self.column.values
            && self.kind == Kind::Continuous
        {
            return Some((numbers.clone(), false));
        }
        let level = self.class_of(name)?;
        let of_class = self.codes.iter().map(|&code| share(code as usize == level));
        Some((of_class.collect(), true))
    }

    /// How wrong a subject is: squared distances between numbers, else wrong decisions.
    pub(super) fn losses(
        &self,
        subject: &SubjectRows,
        classes: &[ClassOdds],
        weights: Option<&[f64]>,
    ) -> Option<Losses> {
        if let (Some(scores), Values::Numbers(truth)) = (subject.scores(), &self.column.values)
            && self.kind == Kind::Continuous
        {
            let squares = scores.iter().zip(truth).map(|(f, y)| (y - f).powi(2));
            return Some(Losses::Squares(
                squares.collect(),
                deviation(truth, weights),
            ));
        }
        let wrong = |row: usize| match classes {
            [one] => one.decided[row] != one.truth[row],
            _ => classes
                .iter()
                .any(|class| class.truth[row] && !class.decided[row]),
        };
        let rows = 0..self.column.len();
        let wrong = rows.map(|row| f64::from(u8::from(wrong(row)))).collect();
        (!classes.is_empty()).then_some(Losses::Wrong(wrong))
    }

    /// The class of several that a score is for: the longest one that the name is, or ends with after `_`.
    fn class_of(&self, name: &str) -> Option<usize> {
        let is_for = |level: &&String| {
            let prefix = name.strip_suffix(level.as_str());
            prefix.is_some_and(|prefix| prefix.is_empty() || prefix.ends_with('_'))
        };
        let class = self
            .levels
            .iter()
            .filter(is_for)
            .max_by_key(|level| level.len())?;
        self.levels.iter().position(|level| level == class)
    }
}
