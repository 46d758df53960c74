//! A first look at the rows of a stream: how its columns are encoded, and a sample that stands for all.

use std::collections::HashMap;

use oblivio_base::encoder::{EncoderLearner, Encoding};
use oblivio_base::points::check_weights;
use oblivio_base::random::{Draw, Drawn};
use oblivio_base::{Column, Encoder, Error, MISSING, Result, UnseenCategory, Values, Watch};
use oblivio_kernels::Components;

use crate::features::{FeatureFit, FeatureSettings};
use crate::fit::{Settings, StreamFit};
use crate::moments::{SAMPLE, Sample};
use crate::partition::{Missing, PartitionRule, Policies};
use crate::sensitive::{KindGuess, Sensitive};

/// What one pass over batches of rows finds out before a fit: levels, means and scales of the features, kinds of the
/// sensitive columns, and a seeded sample of 65 536 rows that places landmarks and edges.
///
/// Memory does not grow with the rows. If there are no more rows than the sample holds, nothing is estimated. Surveys of parts
/// of a table, one after the other, join to that of the table.
#[derive(Clone, Debug)]
pub struct Survey {
    pub(crate) learner: EncoderLearner,
    pub(crate) kinds: Vec<(String, KindGuess)>,
    pub(crate) draw: Draw,
    pub(crate) features: Vec<Kept>,
    pub(crate) sensitive: Vec<Kept>,
    pub(crate) weights: Vec<f64>,
    /// Where each row of the sample is kept.
    pub(crate) places: HashMap<usize, usize>,
    pub(crate) rows: usize,
    pub(crate) weight: f64,
    /// Of each row that is kept, its number among those that miss no sensitive value.
    pub(crate) numbers: Vec<Option<usize>>,
    /// The rows that miss none, and their weight.
    pub(crate) complete: (usize, f64),
}

/// The rows of a column that are in the sample, in no particular order.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) name: String,
    pub(crate) values: Values,
    /// The codes of known levels.
    known: HashMap<String, u32>,
}

impl Survey {
    /// A survey of no rows.
    pub fn new(seed: u64) -> Self {
        Self::part(seed, 0, None)
    }

    /// A survey of no rows yet, for a part of a table that begins at row `start`, those of weight zero not counted. If the
    /// table is known to have `total` rows, the part keeps little more of them than will be needed.
    pub fn part(seed: u64, start: usize, total: Option<usize>) -> Self {
        Self {
            learner: EncoderLearner::default(),
            kinds: Vec::new(),
            draw: Draw::part(SAMPLE, seed, start, total),
            features: Vec::new(),
            sensitive: Vec::new(),
            weights: Vec::new(),
            places: HashMap::new(),
            rows: 0,
            weight: 0.0,
            numbers: Vec::new(),
            complete: (0, 0.0),
        }
    }

    /// Rows seen, those of weight zero left out.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Looks at more rows; all batches have the same columns.
    pub fn update(
        &mut self,
        features: &[Column],
        sensitive: &[Column],
        weights: Option<&[f64]>,
    ) -> Result<()> {
        let rows = features.first().map_or(0, Column::len);
        let ones = vec![1.0; rows];
        let weights = weights.unwrap_or(&ones);
        if weights.iter().any(|w| *w != 0.0) {
            check_weights(weights, rows)?;
        }
        self.learner.update(features, weights)?;
        if self.features.is_empty() {
            self.features = features.iter().map(Kept::new).collect();
            self.sensitive = sensitive.iter().map(Kept::new).collect();
            let kinds = sensitive
                .iter()
                .map(|c| (c.name.clone(), KindGuess::default()));
            self.kinds = kinds.collect();
        }
        let table = Sensitive::new(sensitive.to_vec(), rows)?;
        let misses = table.misses(sensitive.iter().map(|c| c.name.as_str()))?;
        let counted: Vec<usize> = (0..rows).filter(|&row| weights[row] != 0.0).collect();
        for ((_, guess), column) in self.kinds.iter_mut().zip(sensitive) {
            guess.update(&column.select(&counted));
        }
        for (row, weight) in weights.iter().enumerate() {
            if *weight == 0.0 {
                continue;
            }
            let number = self.rows;
            self.rows += 1;
            self.weight += weight;
            let complete = (!misses[row]).then_some(self.complete.0);
            if complete.is_some() {
                self.complete = (self.complete.0 + 1, self.complete.1 + weight);
            }
            let drawn = self.draw.next_row();
            let columns = features.iter().chain(sensitive);
            self.keep((number, drawn), (*weight, complete), columns, row)?;
        }
        Ok(())
    }

    /// Takes in the survey of the rows that follow.
    pub fn join(&mut self, later: &Self) -> Result<()> {
        let unlike = |problem| Error::UnlikeMoments { problem };
        let mut joined = self.clone();
        let drawn = joined.draw.join(&later.draw).ok_or_else(|| {
            let (_, start, rows) = self.draw.extent();
            Error::OutOfTurn {
                found: later.draw.extent().1,
                needed: start + rows,
            }
        })?;
        let columns = "their columns differ, or are text in one part and numbers in another";
        let learner = joined.learner.merge(later.learner.clone());
        learner.ok_or_else(|| unlike(columns))?;
        if joined.features.is_empty() {
            joined.features = later.features.iter().map(Kept::emptied).collect();
            joined.sensitive = later.sensitive.iter().map(Kept::emptied).collect();
            joined.kinds.clone_from(&later.kinds);
        } else if !later.features.is_empty() {
            let names = |survey: &Self| -> Vec<String> {
                survey.kinds.iter().map(|(name, _)| name.clone()).collect()
            };
            if names(&joined) != names(later) {
                return Err(unlike(columns));
            }
            let kinds = joined.kinds.iter_mut().zip(&later.kinds);
            kinds.for_each(|((_, mine), (_, theirs))| mine.merge(theirs.clone()));
        }
        let kept = later.features.iter().chain(&later.sensitive);
        let kept: Vec<Column> = kept.map(Kept::column).collect();
        for (row, number, drawn) in drawn {
            let place = later.places.get(&row).copied().unwrap_or(0);
            let complete = later.numbers[place].map(|number| self.complete.0 + number);
            let counts = (later.weights[place], complete);
            joined.keep((number, drawn), counts, kept.iter(), place)?;
        }
        joined.rows += later.rows;
        joined.weight += later.weight;
        joined.complete.0 += later.complete.0;
        joined.complete.1 += later.complete.1;
        *self = joined;
        Ok(())
    }

    /// Keeps a row of these columns, with its weight and its number among the complete ones, if it was drawn.
    fn keep<'c>(
        &mut self,
        (number, drawn): (usize, Drawn),
        (weight, complete): (f64, Option<usize>),
        columns: impl Iterator<Item = &'c Column>,
        row: usize,
    ) -> Result<()> {
        let place = match drawn {
            Drawn::No => return Ok(()),
            Drawn::Yes => self.weights.len(),
            Drawn::Instead(out) => self.places.remove(&out).unwrap_or(0),
        };
        self.places.insert(number, place);
        put(&mut self.weights, place, weight);
        put(&mut self.numbers, place, complete);
        let kept = self.features.iter_mut().chain(&mut self.sensitive);
        for (kept, column) in kept.zip(columns) {
            kept.put(column, row, place)?;
        }
        Ok(())
    }

    /// Begins a fit of ridge regression on landmarks.
    pub fn begin(
        self,
        encoding: impl Into<Encoding>,
        settings: &Settings,
        components: Components,
        watch: &Watch,
    ) -> Result<(Encoder, StreamFit)> {
        let rule = self.rule(&settings.partition);
        let remarks = [self.learner.constant(), self.learner.filled()];
        let (encoder, sample) = self.finish(encoding.into(), rule.policies)?;
        let settings = Settings {
            partition: rule,
            ..settings.clone()
        };
        let mut fit = StreamFit::new(&settings, components, &sample, watch)?;
        fit.warnings.extend(remarks.into_iter().flatten());
        Ok((encoder, fit))
    }

    /// Begins a fit of oblivious features.
    pub fn begin_features(
        self,
        encoding: impl Into<Encoding>,
        settings: &FeatureSettings,
        watch: &Watch,
    ) -> Result<(Encoder, FeatureFit)> {
        let rule = self.rule(&settings.partition);
        let filled = self.learner.filled();
        let (encoder, sample) = self.finish(encoding.into(), rule.policies)?;
        let settings = FeatureSettings {
            partition: rule,
            ..settings.clone()
        };
        let mut fit = settings.begin(&sample, watch)?;
        fit.warnings.extend(filled);
        Ok((encoder, fit))
    }

    fn rule(&self, rule: &PartitionRule) -> PartitionRule {
        rule.settled_as(
            self.kinds
                .iter()
                .map(|(name, guess)| (name.as_str(), guess.finish())),
        )
    }

    fn finish(self, encoding: Encoding, policies: Policies) -> Result<(Encoder, Sample<'static>)> {
        let leaves_out = policies.missing == Missing::SensitiveFree;
        if self.rows == 0 || (leaves_out && self.complete.0 == 0) {
            return Err(Error::TooFewRows {
                what: if self.rows == 0 {
                    "the table"
                } else {
                    "the table without rows that miss a sensitive value"
                },
                found: 0,
                needed: 1,
            });
        }
        let encoder = self.learner.finish(encoding, UnseenCategory::Population)?;
        let (seed, ..) = self.draw.extent();
        let mut rows = self.draw.finish();
        if leaves_out {
            rows.retain(|row| self.numbers[self.places[row]].is_some());
        }
        let order: Vec<usize> = rows.iter().map(|row| self.places[row]).collect();
        let columns = |kept: &[Kept]| -> Vec<Column> {
            kept.iter().map(|column| column.select(&order)).collect()
        };
        let (points, _) = encoder.encode(&columns(&self.features))?;
        let sample = Sample {
            points,
            sensitive: Sensitive::new(columns(&self.sensitive), rows.len())?,
            weights: order.iter().map(|&place| self.weights[place]).collect(),
            rows: if leaves_out {
                let numbers = order.iter().filter_map(|&place| self.numbers[place]);
                numbers.collect()
            } else {
                rows
            },
            table_rows: if leaves_out {
                self.complete.0
            } else {
                self.rows
            },
            table_weight: if leaves_out {
                self.complete.1
            } else {
                self.weight
            },
        };
        Ok((encoder, sample.shuffled(seed)))
    }
}

impl Kept {
    fn new(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            values: match column.values {
                Values::Numbers(_) => Values::Numbers(Vec::new()),
                Values::Categories { .. } => Values::Categories {
                    levels: Vec::new(),
                    codes: Vec::new(),
                },
            },
            known: HashMap::new(),
        }
    }

    /// The same column without a row.
    fn emptied(&self) -> Self {
        Self::new(&self.column())
    }

    /// What is kept, in no particular order.
    pub(crate) fn column(&self) -> Column {
        Column {
            name: self.name.clone(),
            values: self.values.clone(),
        }
    }

    /// What a file kept of a column.
    pub(crate) fn of(column: Column) -> Self {
        let known = match &column.values {
            Values::Numbers(_) => HashMap::new(),
            Values::Categories { levels, .. } => levels.iter().cloned().zip(0..).collect(),
        };
        Self {
            name: column.name,
            values: column.values,
            known,
        }
    }

    /// Keeps a row's value at this place.
    fn put(&mut self, column: &Column, row: usize, place: usize) -> Result<()> {
        match (&mut self.values, &column.values) {
            (Values::Numbers(kept), Values::Numbers(values)) => put(kept, place, values[row]),
            (
                Values::Categories { levels, codes },
                Values::Categories {
                    levels: names,
                    codes: given,
                },
            ) => {
                let code = match given[row] {
                    MISSING => MISSING,
                    code => *self
                        .known
                        .entry(names[code as usize].clone())
                        .or_insert_with_key(|name| {
                            levels.push(name.clone());
                            levels.len() as u32 - 1
                        }),
                };
                put(codes, place, code);
            }
            _ => {
                return Err(Error::NotNumeric {
                    column: self.name.clone(),
                    value: "text in one batch and numbers in another".into(),
                });
            }
        }
        Ok(())
    }

    fn select(&self, order: &[usize]) -> Column {
        self.column().select(order)
    }
}

fn put<T: Copy>(values: &mut Vec<T>, place: usize, value: T) {
    if place == values.len() {
        values.push(value);
    } else {
        values[place] = value;
    }
}
