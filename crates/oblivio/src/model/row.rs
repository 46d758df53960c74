//! Scores of rows that come one by one: nothing is looked up by name, and no memory is taken, after the first.

use std::sync::Arc;

use oblivio_base::encoder::EncoderRow;
use oblivio_base::{Column, Encoder, Error, Result, Value, Watch};
use oblivio_kernels::basis::BasisRow;
use oblivio_kernels::kernel::dot;

use super::{Model, Transformer};
use crate::align::AlignmentRow;
use crate::partition::{Partition, PartitionRow, Uses};
use crate::predictor::Predictor;
use crate::sensitive::Kind;

/// A model that scores one row at a time.
///
/// It gives what [`Model::predict`] gives for a table of that row, to the last bit, and refuses what that refuses, with the same
/// error. A row that is not refused takes no memory: what the work needs is made once, here. Rows of a larger table are scored
/// in other blocks there, so their scores agree to rounding.
///
/// A clone shares the model and has memory of its own: one for each thread.
///
/// ```
/// use oblivio::{Column, Model, Roles, RowModel, Settings, Watch};
/// use oblivio_base::{Scaling, Value};
/// let table = [
///     Column::numbers("x", vec![0.1, 0.4, 0.5, 0.9]),
///     Column::texts("sex", [Some("F"), Some("M"), Some("F"), Some("M")]),
///     Column::numbers("y", vec![1.0, 2.0, 2.0, 3.0]),
/// ];
/// let [x, sex, y] = &table;
/// let roles = Roles {
///     features: std::slice::from_ref(x),
///     sensitive: std::slice::from_ref(sex),
///     target: y,
///     labels: None,
///     weights: None,
/// };
/// let settings = Settings::default();
/// let (model, _) = Model::fit(roles, Scaling::Standard, &settings, &Watch::default())?;
/// let whole = model.predict(&table[..2], &Watch::default())?;
///
/// let mut rows = RowModel::new(model);
/// let names: Vec<&str> = rows.schema().iter().map(|column| column.name.as_str()).collect();
/// assert_eq!(names, ["x", "sex"]);
/// let score = rows.predict(&[Value::Number(0.4), Value::Text("M")])?.scores[0];
/// assert!((score - whole[0].scores[1]).abs() < 1e-12);
/// # Ok::<(), oblivio::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowModel {
    model: Arc<Model>,
    schema: Arc<[RowColumn]>,
    features: usize,
    /// The values of the sensitive columns among those of a row.
    sensitive: Vec<usize>,
    encoder: EncoderRow,
    bases: Vec<BasisRow>,
    places: Vec<PartitionRow>,
    scorers: Vec<ScorerRow>,
    found: Found,
}

/// A column of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RowColumn {
    /// Its name in the table of the fit.
    pub name: String,
    /// How its values are read.
    pub kind: Kind,
    /// The categories known of it; none for numbers.
    pub levels: Vec<String>,
    /// Whether it is one of the features X.
    pub is_feature: bool,
    /// Whether it is one of the sensitive columns S.
    pub is_sensitive: bool,
}

/// What a row comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowPrediction<'r> {
    /// h(x) of every score, before the offset.
    pub before: &'r [f64],
    /// Every score: one, or one for each class against the rest.
    pub scores: &'r [f64],
    /// The number of the class, if the model is a classifier.
    pub label: Option<usize>,
    /// The probability of each class, where scores are logits.
    pub probabilities: Option<&'r [f64]>,
    /// The policies that were needed.
    pub uses: Uses,
}

/// How one score comes about: by the numbers of a basis and of a place that scores share.
#[derive(Clone, Debug)]
struct ScorerRow {
    basis: usize,
    /// The basis of the fallback.
    fallback: Option<usize>,
    place: Option<usize>,
    alignment: Option<AlignmentRow>,
}

#[derive(Clone, Debug)]
struct Found {
    before: Vec<f64>,
    scores: Vec<f64>,
    probabilities: Vec<f64>,
    uses: Uses,
}

impl RowModel {
    /// Looks up by name what can be, and takes the memory that a row needs.
    pub fn new(model: impl Into<Arc<Model>>) -> Self {
        let model = model.into();
        let schema = model.schema();
        let names: Vec<&str> = schema.iter().map(|column| column.name.as_str()).collect();
        let position = |name| names.iter().position(|own| *own == name);
        let sensitive = model.sensitive_columns().into_iter().filter_map(position);
        let mut shared = Shared::default();
        let scorers = model.scorers.iter().map(|s| shared.scorer(s, &names));
        let scorers = scorers.collect();
        let classes = model.classes.as_ref();
        let found = Found {
            before: vec![0.0; model.scorers.len()],
            scores: vec![0.0; model.scorers.len()],
            probabilities: vec![0.0; classes.map_or(0, |classes| classes.labels.len())],
            uses: Uses::default(),
        };
        Self {
            features: model.encoder.columns().count(),
            sensitive: sensitive.collect(),
            encoder: EncoderRow::new(&model.encoder),
            bases: shared
                .bases
                .iter()
                .map(|s| BasisRow::new(&s.basis))
                .collect(),
            places: shared.places.into_iter().map(|(_, place)| place).collect(),
            scorers,
            found,
            schema: schema.into(),
            model,
        }
    }

    /// The columns of a row, in order: those of the features, then sensitive ones that are no features.
    pub fn schema(&self) -> &[RowColumn] {
        &self.schema
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Scores a row, its values in the order of the [`schema`](Self::schema).
    ///
    /// Values after those of the features may be left out together if the model does not need them, or has a fallback.
    pub fn predict(&mut self, row: &[Value]) -> Result<RowPrediction<'_>> {
        if row.len() != self.schema.len() && row.len() != self.features {
            return Err(Error::Width {
                found: row.len(),
                needed: self.schema.len(),
            });
        }
        if self.score(row).is_none() {
            self.score_as_table(row)?;
        }
        let found = &mut self.found;
        let classes = self.model.classes.as_ref();
        let logits = classes.filter(|classes| classes.probabilities);
        if let Some(classes) = logits {
            classes.write_probabilities(&found.scores, &mut found.probabilities);
        }
        Ok(RowPrediction {
            before: &found.before,
            scores: &found.scores,
            label: classes.map(|classes| classes.decide(&found.scores)),
            probabilities: logits.map(|_| &found.probabilities[..]),
            uses: found.uses,
        })
    }

    /// `None` where something is not as it should be: [`Model::predict`] then says what.
    fn score(&mut self, row: &[Value]) -> Option<()> {
        self.encoder.encode(&self.model.encoder, row)?;
        let given = self.sensitive.iter().all(|&at| at < row.len());
        let values = || self.sensitive.iter().filter_map(|&at| row.get(at));
        if values().any(|value| matches!(value, Value::Number(v) if v.is_infinite())) {
            return None;
        }
        let misses = values().any(|value| value.is_missing());
        // Scores that share a basis come one after the other.
        let mut at = None;
        for (number, scorer) in self.model.scorers.iter().enumerate() {
            let own = &mut self.scorers[number];
            let offsets = scorer.offsets();
            let alone = offsets.is_some_and(|offsets| {
                if given {
                    offsets.partition.leaves_out() && misses
                } else {
                    scorer.reads_sensitive()
                }
            });
            if alone && scorer.needs_sensitive() {
                return None;
            }
            let (by, basis) = match (alone, &scorer.fallback, own.fallback) {
                (true, Some(fallback), Some(basis)) => (&**fallback, basis),
                _ => (scorer, own.basis),
            };
            if at != Some(basis) {
                self.bases[basis].at(&self.encoder.point);
                at = Some(basis);
            }
            let h = by.intercept_added(dot(self.bases[basis].last(), &by.coefficients));
            if !h.is_finite() {
                return None;
            }
            let mut score = h;
            let mut uses = Uses::default();
            if alone {
                uses.sensitive_free = 1;
            } else if let (Some(offsets), Some(place), true) = (offsets, own.place, given) {
                let place = &mut self.places[place];
                place.assign(&offsets.partition, row)?;
                score = offsets.less(h, &place.assignment, 0);
                if let (Some(alignment), Some(own)) = (scorer.alignment(), &mut own.alignment) {
                    score = own.apply(alignment, score, &place.assignment)?;
                }
                uses = place.assignment.uses;
            }
            self.found.before[number] = h;
            self.found.scores[number] = score;
            self.found.uses = uses.with_features(self.encoder.uses);
        }
        Some(())
    }

    /// The same by way of a table.
    fn score_as_table(&mut self, row: &[Value]) -> Result<()> {
        let columns = self.schema.iter().zip(row);
        let table: Vec<Column> = columns
            .map(|(column, value)| Column::of_value(column.name.clone(), *value))
            .collect();
        let predictions = self.model.predict(&table, &Watch::default())?;
        for (number, prediction) in predictions.iter().enumerate() {
            self.found.before[number] = prediction.before[0];
            self.found.scores[number] = prediction.scores[0];
            self.found.uses = prediction.uses;
        }
        Ok(())
    }
}

/// What several scores have in common is made once.
#[derive(Default)]
struct Shared<'m> {
    bases: Vec<&'m Predictor>,
    places: Vec<(&'m Predictor, PartitionRow)>,
}

impl<'m> Shared<'m> {
    fn scorer(&mut self, scorer: &'m Predictor, names: &[&str]) -> ScorerRow {
        ScorerRow {
            basis: self.basis(scorer),
            fallback: scorer.fallback().map(|fallback| self.basis(fallback)),
            place: self.place(scorer, names),
            alignment: scorer.alignment().map(AlignmentRow::new),
        }
    }

    fn basis(&mut self, of: &'m Predictor) -> usize {
        let known = self.bases.iter().position(|other| other.basis == of.basis);
        known.unwrap_or_else(|| {
            self.bases.push(of);
            self.bases.len() - 1
        })
    }

    fn place(&mut self, of: &'m Predictor, names: &[&str]) -> Option<usize> {
        let partition = &of.offsets()?.partition;
        let same = |(other, _): &(&Predictor, PartitionRow)| {
            let other = other.offsets();
            other.is_some_and(|other| other.partition == *partition)
        };
        if let Some(known) = self.places.iter().position(same) {
            return Some(known);
        }
        self.places.push((of, PartitionRow::new(partition, names)?));
        Some(self.places.len() - 1)
    }
}

impl Model {
    /// The columns of a row: those of the features, then the sensitive ones that are not among them.
    pub fn schema(&self) -> Vec<RowColumn> {
        schema(&self.encoder, self.predictor().partition())
    }
}

impl Transformer {
    /// The columns of a row: those of the features, then the sensitive ones that are not among them.
    pub fn schema(&self) -> Vec<RowColumn> {
        schema(&self.encoder, self.features.partition())
    }
}

fn schema(encoder: &Encoder, partition: Option<&Partition>) -> Vec<RowColumn> {
    let sensitive = partition.map_or(Vec::new(), Partition::needs);
    let feature = |name: &str| {
        let levels = encoder.levels(name);
        RowColumn {
            name: name.to_owned(),
            kind: levels.map_or(Kind::Continuous, |_| Kind::Categorical),
            levels: levels.unwrap_or_default().to_vec(),
            is_feature: true,
            is_sensitive: sensitive.contains(&name),
        }
    };
    let mut schema: Vec<RowColumn> = encoder.columns().map(feature).collect();
    for name in &sensitive {
        if schema.iter().any(|column| column.name == *name) {
            continue;
        }
        let known = partition.and_then(|partition| partition.column(name));
        let (kind, levels) = known.unwrap_or((Kind::Categorical, &[]));
        schema.push(RowColumn {
            name: (*name).to_owned(),
            kind,
            levels: levels.to_vec(),
            is_feature: false,
            is_sensitive: true,
        });
    }
    schema
}
