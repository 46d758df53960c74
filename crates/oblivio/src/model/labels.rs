//! The classes of a target column.

use oblivio_base::{Column, Error, MISSING, Result, Values};
use oblivio_kernels::learn::Learner;

use crate::classes::{Classes, MOST_CLASSES};

/// The values of a target, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    names: Vec<String>,
    numeric: bool,
    /// Whether all values but the second name are of the first class.
    rest: bool,
}

impl Labels {
    /// These classes, in this order.
    pub fn new(names: Vec<String>, numeric: bool) -> Self {
        Self {
            names,
            numeric,
            rest: false,
        }
    }

    /// The values of a column: numbers by size, text by its letters.
    pub fn of(target: &Column) -> Self {
        let (levels, codes) = target.to_categories();
        let mut seen = vec![false; levels.len()];
        for code in codes.iter().filter(|code| **code != MISSING) {
            seen[*code as usize] = true;
        }
        let pairs = levels.into_iter().zip(seen);
        let names: Vec<String> = pairs
            .filter(|(_, seen)| *seen)
            .map(|(name, _)| name)
            .collect();
        let numeric = matches!(target.values, Values::Numbers(_));
        Self::new(names, numeric).sorted()
    }

    /// Those of two columns together.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.numeric &= other.numeric;
        self.names.extend(other.names);
        self.sorted()
    }

    /// One class against all others, whose name is kept if there is but one.
    #[must_use]
    pub fn against_rest(self, positive: &str) -> Self {
        let others: Vec<String> = self.names.into_iter().filter(|n| n != positive).collect();
        let (rest, numeric) = match &others[..] {
            [only] => (only.clone(), self.numeric),
            _ => ("other".to_owned(), false),
        };
        Self {
            names: vec![rest, positive.to_owned()],
            numeric,
            rest: true,
        }
    }

    /// The same classes in order.
    #[must_use]
    fn sorted(mut self) -> Self {
        let size = |name: &String| name.parse::<f64>().unwrap_or(f64::NAN);
        if self.numeric {
            self.names.sort_by(|a, b| size(a).total_cmp(&size(b)));
        } else {
            self.names.sort();
        }
        self.names.dedup();
        self
    }

    /// The number of classes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no class.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The number of the class of each row; NaN where it is missing.
    pub fn encode(&self, target: &Column) -> Result<Vec<f64>> {
        self.check()?;
        let (levels, codes) = target.to_categories();
        let number = |level: &String| {
            let place = self.names.iter().position(|name| name == level);
            let missing = if self.rest { 0.0 } else { f64::NAN };
            place.map_or(missing, |place| place as f64)
        };
        let numbers: Vec<f64> = levels.iter().map(number).collect();
        let of = |code: &u32| numbers.get(*code as usize).copied().unwrap_or(f64::NAN);
        Ok(codes.iter().map(of).collect())
    }

    /// Refuses what are no classes.
    fn check(&self) -> Result<()> {
        if let [only] = &self.names[..] {
            return Err(Error::OneClass {
                class: only.clone(),
            });
        }
        // Ids and measurements are no classes; learning each against the rest would take for ever.
        if self.len() > MOST_CLASSES {
            return Err(Error::InvalidParameter {
                name: "number of classes",
                expected: "at most 100; use ridge regression for a continuous target",
                value: self.len().to_string(),
            });
        }
        Ok(())
    }

    /// An error with the class by its name.
    pub fn named(&self, error: Error) -> Error {
        let name = |class: String| {
            let place = class.parse::<usize>().ok();
            place
                .and_then(|place| self.names.get(place).cloned())
                .unwrap_or(class)
        };
        match error {
            Error::OneClass { class } => Error::OneClass { class: name(class) },
            Error::EmptyClass { class } => Error::EmptyClass { class: name(class) },
            other => other,
        }
    }

    pub(super) fn classes(&self, thresholds: Vec<f64>, learner: Learner) -> Classes {
        Classes {
            labels: self.names.clone(),
            numeric: self.numeric,
            probabilities: learner == Learner::Logistic,
            thresholds,
        }
    }
}
