//! Which rows estimate the means, and which train.

use oblivio_base::{Error, Result, random};
use rand::seq::SliceRandom;

/// The rows that estimate the conditional mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reference {
    /// All rows estimate and all train: least dependence left, and no leak when the learner overfits.
    #[default]
    All,
    /// A shuffled half estimates and the other half trains, as in the paper.
    Half,
    /// These rows estimate and the others train.
    Rows(Vec<usize>),
}

/// Which rows estimate, one by one; all rows if there is no list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Members(Option<Vec<bool>>);

impl Members {
    pub(crate) fn all() -> Self {
        Self(None)
    }

    pub(crate) fn is_reference(&self, row: usize) -> bool {
        self.0.as_ref().is_none_or(|chosen| chosen[row])
    }

    pub(crate) fn is_training(&self, row: usize) -> bool {
        self.0.as_ref().is_none_or(|chosen| !chosen[row])
    }

    /// Whether the same rows train and estimate.
    pub(crate) fn overlap(&self) -> bool {
        self.0.is_none()
    }

    /// How many of the rows estimate.
    pub(crate) fn reference_rows(&self, rows: usize) -> usize {
        let count = |chosen: &Vec<bool>| chosen.iter().filter(|c| **c).count();
        self.0.as_ref().map_or(rows, count)
    }
}

/// Rows by number, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The rows whose targets are used.
    pub training: Vec<usize>,
    /// The rows that estimate the means.
    pub reference: Vec<usize>,
}

impl Reference {
    /// The choice of that name; given rows have none.
    pub fn named(text: &str) -> Result<Self> {
        match text {
            "all" => Ok(Self::All),
            "half" => Ok(Self::Half),
            _ => Err(Error::UnknownName {
                what: "reference",
                text: text.to_owned(),
                known: "all, half".into(),
            }),
        }
    }

    /// What the choice is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Half => "half",
            Self::Rows(_) => "given rows",
        }
    }

    /// Refuses rows that are not among `rows` rows.
    pub(crate) fn check(&self, rows: usize) -> Result<()> {
        match self {
            Self::Rows(given) => match given.iter().find(|&&row| row >= rows) {
                Some(&row) => Err(Error::NoSuchRow { row, rows }),
                None => Ok(()),
            },
            Self::All | Self::Half => Ok(()),
        }
    }

    /// The same rows after all but `kept` were removed from the table.
    pub(crate) fn renumbered(&self, kept: &[usize]) -> Self {
        match self {
            Self::Rows(given) => Self::Rows(
                given
                    .iter()
                    .filter_map(|row| kept.binary_search(row).ok())
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    /// Which of `rows` rows estimate. An odd one out trains.
    pub(crate) fn members(&self, rows: usize, seed: u64) -> Result<Members> {
        self.check(rows)?;
        let chosen = match self {
            Self::All => return Ok(Members::all()),
            Self::Half => {
                // Narrow numbers: there may be many rows.
                let most = u32::try_from(rows).map_err(|_| Error::TooLarge {
                    rows,
                    gigabytes: rows as f64 * 4e-9,
                })?;
                let mut order: Vec<u32> = (0..most).collect();
                order.shuffle(&mut random::generator(seed, random::Stream::Reference));
                let reference = &order[rows - rows / 2..];
                let mut chosen = vec![false; rows];
                for &row in reference {
                    chosen[row as usize] = true;
                }
                chosen
            }
            Self::Rows(given) => {
                let mut chosen = vec![false; rows];
                for &row in given {
                    chosen[row] = true;
                }
                chosen
            }
        };
        Ok(Members(Some(chosen)))
    }

    /// Splits `rows` rows.
    pub fn split(&self, rows: usize, seed: u64) -> Result<Split> {
        let members = self.members(rows, seed)?;
        let split = Split {
            training: (0..rows).filter(|&row| members.is_training(row)).collect(),
            reference: (0..rows).filter(|&row| members.is_reference(row)).collect(),
        };
        let enough = |what, found: usize, needed| {
            if found < needed {
                Err(Error::TooFewRows {
                    what,
                    found,
                    needed,
                })
            } else {
                Ok(())
            }
        };
        enough("the training part", split.training.len(), 1)?;
        enough("the reference", split.reference.len(), 1)?;
        Ok(split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_disjoint_complete_shuffled_and_seeded() {
        let split = Reference::Half.split(101, 7).unwrap();
        assert_eq!((split.training.len(), split.reference.len()), (51, 50));
        let mut all: Vec<usize> = split
            .training
            .iter()
            .chain(&split.reference)
            .copied()
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..101).collect::<Vec<_>>());
        assert_eq!(split, Reference::Half.split(101, 7).unwrap());
        assert_ne!(split, Reference::Half.split(101, 8).unwrap());
        assert!(split.reference.iter().any(|&row| row < 50));
    }

    /// The stream is part of the contract: a seed keeps its meaning.
    #[test]
    fn a_seed_gives_this_split_for_ever() {
        let split = Reference::Half.split(10, 0).unwrap();
        assert_eq!(split.reference, vec![1, 2, 5, 7, 9]);
    }

    #[test]
    fn given_rows_estimate_and_the_others_train() {
        let split = Reference::Rows(vec![3, 1, 3]).split(4, 0).unwrap();
        assert_eq!(split.reference, vec![1, 3]);
        assert_eq!(split.training, vec![0, 2]);
        assert_eq!(
            Reference::Rows(vec![4]).split(4, 0),
            Err(Error::NoSuchRow { row: 4, rows: 4 })
        );
        assert!(matches!(
            Reference::Rows(vec![0, 1]).split(2, 0),
            Err(Error::TooFewRows {
                what: "the training part",
                ..
            })
        ));
    }
}
