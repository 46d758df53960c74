//! A first look at the rows of a stream: how its columns are encoded, and a sample that stands for all.

use std::collections::HashMap;

use crate::column::{Column, MISSING, Values};
use crate::encoder::{Encoder, EncoderLearner, Scaling};
use crate::error::{Error, Result};
use crate::features::{FeatureFit, FeatureSettings};
use crate::fit::{Settings, StreamFit};
use crate::landmarks::Components;
use crate::moments::{SAMPLE, Sample};
use crate::partition::{Missing, PartitionRule, Policies};
use crate::points::check_weights;
use crate::random::{Draw, Drawn};
use crate::sensitive::{KindGuess, Sensitive};
use crate::watch::Watch;

/// What one pass over batches of rows finds out before a fit: levels, means and scales of the features, kinds of the
/// sensitive columns, and a seeded sample of 65 536 rows that places landmarks and edges.
///
/// Memory does not grow with the rows. If there are no more rows than the sample holds, nothing is estimated.
#[derive(Debug)]
pub struct Survey {
    learner: EncoderLearner,
    kinds: Vec<(String, KindGuess)>,
    draw: Draw,
    features: Vec<Kept>,
    sensitive: Vec<Kept>,
    weights: Vec<f64>,
    /// Where each row of the sample is kept.
    places: HashMap<usize, usize>,
    rows: usize,
    weight: f64,
    /// Of each row that is kept, its number among those that miss no sensitive value.
    numbers: Vec<Option<usize>>,
    /// The rows that miss none, and their weight.
    complete: (usize, f64),
}

/// The rows of a column that are in the sample, in no particular order.
#[derive(Debug)]
struct Kept {
    name: String,
    values: Values,
    /// The codes of known levels.
    known: HashMap<String, u32>,
}

impl Survey {
    /// A survey of no rows.
    pub fn new(seed: u64) -> Self {
        Self {
            learner: EncoderLearner::default(),
            kinds: Vec::new(),
            draw: Draw::new(SAMPLE, seed),
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
        for ((_, guess), column) in self.kinds.iter_mut().zip(sensitive) {
            guess.update(column);
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
            let place = match self.draw.next() {
                Drawn::No => continue,
                Drawn::Yes => self.weights.len(),
                Drawn::Instead(out) => self.places.remove(&out).unwrap_or(0),
            };
            self.places.insert(number, place);
            put(&mut self.weights, place, *weight);
            put(&mut self.numbers, place, complete);
            let columns = features.iter().chain(sensitive);
            for (kept, column) in self
                .features
                .iter_mut()
                .chain(&mut self.sensitive)
                .zip(columns)
            {
                kept.put(column, row, place)?;
            }
        }
        Ok(())
    }

    /// Begins a fit of ridge regression on landmarks.
    pub fn begin(
        self,
        scaling: Scaling,
        settings: &Settings,
        components: Components,
        watch: &Watch,
    ) -> Result<(Encoder, StreamFit)> {
        let rule = self.rule(&settings.partition);
        let constant = self.learner.constant();
        let (encoder, sample) = self.finish(scaling, rule.policies)?;
        let settings = Settings {
            partition: rule,
            ..settings.clone()
        };
        let mut fit = StreamFit::new(&settings, components, &sample, watch)?;
        fit.warnings.extend(constant);
        Ok((encoder, fit))
    }

    /// Begins a fit of oblivious features.
    pub fn begin_features(
        self,
        scaling: Scaling,
        settings: &FeatureSettings,
        watch: &Watch,
    ) -> Result<(Encoder, FeatureFit)> {
        let rule = self.rule(&settings.partition);
        let (encoder, sample) = self.finish(scaling, rule.policies)?;
        let settings = FeatureSettings {
            partition: rule,
            ..settings.clone()
        };
        let fit = settings.begin(&sample, watch)?;
        Ok((encoder, fit))
    }

    fn rule(&self, rule: &PartitionRule) -> PartitionRule {
        rule.settled_as(
            self.kinds
                .iter()
                .map(|(name, guess)| (name.as_str(), guess.finish())),
        )
    }

    fn finish(self, scaling: Scaling, policies: Policies) -> Result<(Encoder, Sample<'static>)> {
        let leaves_out = policies.missing == Missing::SensitiveFree;
        if self.rows == 0 || (leaves_out && self.complete.0 == 0) {
            return Err(Error::TooFewRows {
                what: "the table",
                found: 0,
                needed: 1,
            });
        }
        let encoder = self.learner.finish(scaling, policies.category);
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
        Ok((encoder, sample))
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
        let column = Column {
            name: self.name.clone(),
            values: self.values.clone(),
        };
        column.select(order)
    }
}

fn put<T: Copy>(values: &mut Vec<T>, place: usize, value: T) {
    if place == values.len() {
        values.push(value);
    } else {
        values[place] = value;
    }
}
