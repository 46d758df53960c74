//! What the adversary is to find out, and how its answer is judged.

use std::cmp::Reverse;

use oblivio_base::encoder::complete;
use oblivio_base::stats::Spread;
use oblivio_base::{Column, Result};

use super::auc::Ranking;
use super::folds::Folds;
use super::ridges::Held;

/// A sensitive column as numbers to regress on.
pub(super) trait Target: Sized + Sync {
    /// What was predicted beside what is so.
    type Verdict<'t>: Verdict
    where
        Self: 't;

    /// How many numbers each row has.
    fn count(&self) -> usize;
    /// The numbers: all rows' first ones, all rows' second ones, and so on.
    fn numbers(&self) -> Vec<f64>;
    /// The target whose row i has what row `order[i]` had.
    fn shuffled(&self, order: &[u32]) -> Self;
    /// How good predictions are.
    fn verdict<'t>(&'t self, held: &Held, first: usize, folds: &Folds) -> Self::Verdict<'t>;
}

/// Predictions that have been compared.
pub(super) trait Verdict: Sync {
    /// The AUC or R² with these weights of the rows.
    fn value(&self, weights: &[f64]) -> f64;
}

/// A categorical target.
pub(super) struct Levels {
    /// Categories that are to be told from the rest, most rows first.
    pub(super) names: Vec<String>,
    /// The category of each row; `names.len()` if it is none of them.
    pub(super) codes: Vec<u32>,
}

/// The most categories that are looked at one by one.
const MOST_LEVELS: usize = 20;

impl Levels {
    /// A missing value is a category. Categories of fewer rows than `fewest`, and those after the twenty largest, count as
    /// one, `other`; if even that has too few rows, no one looks for it.
    pub(super) fn new(s: &Column, fewest: usize) -> Self {
        let (mut names, codes) = s.to_categories();
        let place = |code: &u32| (*code as usize).min(names.len());
        let mut rows = vec![0usize; names.len() + 1];
        for code in &codes {
            rows[place(code)] += 1;
        }
        let places: Vec<usize> = codes.iter().map(place).collect();
        names.push("missing".into());
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by(|&a, &b| (Reverse(rows[a]), &names[a]).cmp(&(Reverse(rows[b]), &names[b])));
        let kept = order
            .iter()
            .take(MOST_LEVELS)
            .filter(|&&level| rows[level] >= fewest.max(1));
        let kept = kept.count();
        let mut new_codes = vec![kept as u32; rows.len()];
        for (new, &level) in order[..kept].iter().enumerate() {
            new_codes[level] = new as u32;
        }
        let pooled: usize = order[kept..].iter().map(|&level| rows[level]).sum();
        let mut kept: Vec<String> = order[..kept].iter().map(|&l| names[l].clone()).collect();
        if pooled >= fewest.max(1) {
            kept.push("other".into());
        }
        Self {
            names: kept,
            codes: places.into_iter().map(|level| new_codes[level]).collect(),
        }
    }

    /// Two categories and nothing else: what is found of one is found of the other.
    fn is_binary(&self) -> bool {
        self.names.len() == 2 && self.codes.iter().all(|&code| code < 2)
    }
}

impl Target for Levels {
    type Verdict<'t> = Ranked<'t>;

    fn count(&self) -> usize {
        if self.is_binary() {
            1
        } else {
            self.names.len()
        }
    }

    fn numbers(&self) -> Vec<f64> {
        let indicator = |level| move |&code: &u32| f64::from(u8::from(code == level));
        (0..self.count() as u32)
            .flat_map(|level| self.codes.iter().map(indicator(level)))
            .collect()
    }

    fn shuffled(&self, order: &[u32]) -> Self {
        Self {
            names: self.names.clone(),
            codes: order
                .iter()
                .map(|&from| self.codes[from as usize])
                .collect(),
        }
    }

    /// Predictions are ranked without the mean that was learned: it differs between folds by chance alone.
    fn verdict<'t>(&'t self, held: &Held, first: usize, _: &Folds) -> Ranked<'t> {
        let rows = self.codes.len();
        let scores = held.scores.chunks(rows).skip(first).take(self.count());
        Ranked {
            levels: self,
            rankings: scores.map(Ranking::new).collect(),
        }
    }
}

/// Rows ranked by how much they look like each category.
pub(super) struct Ranked<'t> {
    levels: &'t Levels,
    rankings: Vec<Ranking>,
}

impl Ranked<'_> {
    /// The weight and the AUC of every ranked category.
    fn each<'r>(&'r self, weights: &'r [f64]) -> impl Iterator<Item = (f64, f64)> + 'r {
        let codes = &self.levels.codes;
        self.rankings
            .iter()
            .enumerate()
            .map(move |(level, ranking)| ranking.auc(weights, |row| codes[row] as usize == level))
    }

    /// The AUC of every category, largest first.
    pub(super) fn levels(&self, weights: &[f64]) -> Vec<(String, f64)> {
        let aucs: Vec<f64> = self.each(weights).map(|(_, auc)| auc).collect();
        // The second of two categories is the mirror image of the first.
        let auc = |level: usize| aucs[level.min(aucs.len() - 1)];
        let names = self.levels.names.iter().enumerate();
        let mut levels: Vec<(String, f64)> = names
            .map(|(level, name)| (name.clone(), auc(level)))
            .collect();
        levels.sort_by(|a, b| b.1.total_cmp(&a.1));
        levels
    }
}

impl Verdict for Ranked<'_> {
    /// The mean AUC of the categories, by their weight.
    fn value(&self, weights: &[f64]) -> f64 {
        let sums = self
            .each(weights)
            .fold((0.0, 0.0), |(all, sum), (weight, auc)| {
                (all + weight, sum + weight * auc)
            });
        if sums.0 > 0.0 { sums.1 / sums.0 } else { 0.5 }
    }
}

/// A target of numbers, with mean 0 and standard deviation 1.
pub(super) struct Numbers(Vec<f64>);

/// A variance below this is rounding, for numbers of the size of one.
const ROUNDING: f64 = 1e-12;

impl Numbers {
    /// The standardised column; none if it is constant.
    pub(super) fn new(s: &Column, weights: &[f64]) -> Result<Option<Self>> {
        complete(s)?;
        let values = s.to_numbers()?;
        if values.iter().all(|value| *value == values[0]) {
            return Ok(None);
        }
        let spread = spread(&values, weights);
        let deviation = spread.variance().sqrt();
        Ok((deviation > 0.0).then(|| {
            let standard = values.iter().map(|value| (value - spread.mean) / deviation);
            Self(standard.collect())
        }))
    }

    /// The squares: large in both tails.
    pub(super) fn squared(&self) -> Self {
        Self(self.0.iter().map(|value| value * value).collect())
    }
}

impl Target for Numbers {
    type Verdict<'t> = Missed<'t>;

    fn count(&self) -> usize {
        1
    }

    fn numbers(&self) -> Vec<f64> {
        self.0.clone()
    }

    fn shuffled(&self, order: &[u32]) -> Self {
        Self(order.iter().map(|&from| self.0[from as usize]).collect())
    }

    fn verdict<'t>(&'t self, held: &Held, first: usize, folds: &Folds) -> Missed<'t> {
        let rows = self.0.len();
        let scores = &held.scores[first * rows..(first + 1) * rows];
        let mut squares = vec![0.0; rows];
        for (span, mean) in folds.spans.iter().zip(&held.means[first]) {
            for row in span.clone() {
                squares[row] = (self.0[row] - mean - scores[row]).powi(2);
            }
        }
        Missed {
            values: &self.0,
            squares,
        }
    }
}

/// Numbers and by how much they were missed.
pub(super) struct Missed<'t> {
    values: &'t [f64],
    squares: Vec<f64>,
}

impl Verdict for Missed<'_> {
    /// $1 - \sum we^2/\sum w(y - \bar y)^2$: below zero if the mean would have been nearer; 0 for a constant.
    fn value(&self, weights: &[f64]) -> f64 {
        let spread = spread(self.values, weights);
        if spread.variance() <= ROUNDING {
            return 0.0;
        }
        let missed = self.squares.iter().zip(weights).map(|(e, w)| w * e);
        1.0 - missed.sum::<f64>() / spread.squares
    }
}

fn spread(values: &[f64], weights: &[f64]) -> Spread {
    let mut spread = Spread::default();
    for (value, weight) in values.iter().zip(weights) {
        spread.add(*value, *weight);
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_categories_are_one_and_missing_is_one() {
        let names = ["a", "a", "a", "b", "b", "c", "d", "e"];
        let texts = names.iter().map(|name| Some(*name)).chain([None, None]);
        let levels = Levels::new(&Column::texts("s", texts), 2);
        assert_eq!(levels.names, ["a", "b", "missing", "other"]);
        assert_eq!(levels.codes, [0, 0, 0, 1, 1, 3, 3, 3, 2, 2]);
        assert_eq!(levels.count(), 4);
        let few = Levels::new(&Column::texts("s", names.map(Some)), 4);
        assert_eq!((few.names, few.codes), (vec!["other".into()], vec![0; 8]));
        let two = Levels::new(&Column::numbers("s", vec![1.0, 0.0, 1.0]), 1);
        assert_eq!(
            (two.count(), &two.names[..]),
            (1, &["1".into(), "0".into()][..])
        );
        let rest = Levels::new(&Column::numbers("s", vec![1.0, 1.0, 1.0, 0.0, 0.0, 2.0]), 2);
        assert_eq!((rest.count(), rest.codes[5]), (2, 2));
    }
}
