//! A model as a graph of standard operators, for runtimes that know nothing of oblivio.
//!
//! Inputs are the model's columns, features and sensitive ones alike; outputs are `score` and, for a classifier, `label` and
//! `probabilities`. One file for each stage: columns become points ([`encode`]), points an expansion ([`kernel`]), sensitive values a
//! place among the cells ([`cells`]) or features ([`smooth`]), scores are aligned ([`align`]) and become classes ([`classes`]).
//!
//! A graph cannot refuse a row. Where the model would, the row's score is NaN, its label empty (NaN where labels are numbers) and its
//! probabilities NaN; other rows are as they would be without it.

mod align;
mod cells;
mod classes;
mod columns;
mod encode;
mod graph;
mod kernel;
mod lines;
mod proto;
mod single;
mod smooth;
#[cfg(test)]
mod tests;

use prost::Message;
use serde_json::json;

use self::align::Known;
use self::cells::Placed;
use self::columns::{InputColumn, Inputs, columns_of, refused};
use self::encode::Encoded;
pub use self::graph::Precision;
use self::graph::{Graph, Value};
use self::proto::{Element, ModelProto, OperatorSetIdProto, StringStringEntryProto};
use crate::basis::Basis;
use crate::error::Result;
use crate::model::Model;
use crate::named::Named;
use crate::partition::{Missing, Partition};
use crate::predictor::{Offsets, Predictor};

/// Versions of the format and of its two sets of operators.
const IR_VERSION: i64 = 9;
const OPERATORS: [(&str, i64); 2] = [("", 18), ("ai.onnx.ml", 3)];
/// A file of the format is no larger.
const MOST_BYTES: usize = i32::MAX as usize;

/// How a model is written as ONNX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnnxSettings {
    /// What the inputs are.
    pub form: OnnxForm,
    /// In what the kernel is computed. Inputs, outputs and all that has to do with S are doubles either way.
    pub precision: Precision,
}

/// What the inputs of a graph are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnnxForm {
    /// One input for each column, by its name: doubles, or text where a column has categories that are no numbers.
    #[default]
    Columns,
    /// One matrix of doubles; which column is which is in the metadata.
    Matrix,
}

impl Named for OnnxForm {
    const WHAT: &'static str = "the form of the inputs";
    const NAMES: &'static [(&'static str, Self)] =
        &[("columns", Self::Columns), ("matrix", Self::Matrix)];
}

impl Named for Precision {
    const WHAT: &'static str = "the precision";
    const NAMES: &'static [(&'static str, Self)] =
        &[("float64", Self::Double), ("float32", Self::Single)];
}

impl Model {
    /// The bytes of an ONNX file that computes what [`predict`](Model::predict) does; the same model gives the same bytes.
    ///
    /// Missing numbers are NaN and missing texts are empty. Rows that the model refuses get NaN. Sensitive columns are inputs only if
    /// scores depend on them. On the exact path the file holds the rows of the fit, but for the linear kernel, of which it holds a
    /// weight for each feature. A single-precision graph is refused if its scores could be off by more than 1e-5 of their spread.
    pub fn to_onnx(&self, settings: OnnxSettings) -> Result<Vec<u8>> {
        if settings.precision == Precision::Single {
            single::check(&self.scorers)?;
        }
        let columns = columns_of(&self.encoder, &self.scorers)?;
        let names = Inputs::names(&columns, settings.form);
        let outputs = OutputNames::beside(&names);
        let mut taken = names.clone();
        taken.extend([&*outputs.score, &*outputs.label, &*outputs.probabilities]);
        let mut writer = Writer::new(self, &columns, &taken, settings)?;
        writer.write(&outputs)?;
        let model = ModelProto {
            ir_version: IR_VERSION,
            producer_name: "oblivio".into(),
            producer_version: env!("CARGO_PKG_VERSION").into(),
            doc_string: "Rows that the model refuses have the score NaN.".into(),
            graph: Some(writer.graph.finish()),
            opset_import: OPERATORS
                .iter()
                .map(|&(domain, version)| OperatorSetIdProto {
                    domain: domain.into(),
                    version,
                })
                .collect(),
            metadata_props: self.metadata(&columns, &outputs, settings),
        };
        let size = model.encoded_len();
        if size > MOST_BYTES {
            return Err(refused(format!(
                "it would take {size} bytes and a file of the format has at most {MOST_BYTES}; fit it on landmarks"
            )));
        }
        Ok(model.encode_to_vec())
    }

    fn metadata(
        &self,
        columns: &[InputColumn],
        outputs: &OutputNames,
        settings: OnnxSettings,
    ) -> Vec<StringStringEntryProto> {
        let predictor = self.predictor();
        let policies = predictor.offsets().map(|offsets| {
            let policies = offsets.partition.policies;
            json!({
                "empty-cell": policies.empty.name(),
                "unknown-category": policies.category.name(),
                "out-of-range": policies.range.name(),
                "missing": policies.missing.name(),
            })
        });
        let roles = |column: &InputColumn| {
            json!({
                "name": column.name,
                "feature": column.feature,
                "sensitive": column.sensitive,
                "type": if column.text { "string" } else { "float64" },
            })
        };
        let columns: Vec<_> = columns.iter().map(roles).collect();
        let outputs = json!({
            "score": outputs.score,
            "label": outputs.label,
            "probabilities": outputs.probabilities,
        });
        let holds_rows = predictor.basis().holds_rows()
            && kernel::linear(predictor.kernel()).is_none()
            && self.card.components.is_none();
        let entries = [
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("learner", self.card.learner.clone()),
            ("mode", self.card.mode.clone()),
            ("kernel", predictor.kernel().to_string()),
            ("strength", predictor.strength().to_string()),
            ("target", self.card.target.clone()),
            ("inputs", settings.form.name().to_owned()),
            ("precision", settings.precision.name().to_owned()),
            ("columns", json!(columns).to_string()),
            ("outputs", outputs.to_string()),
            ("policies", json!(policies).to_string()),
            ("holds-training-rows", holds_rows.to_string()),
            (
                "refused-rows",
                "NaN in score and probabilities, an empty label (NaN where labels are numbers)"
                    .to_owned(),
            ),
            (
                "missing-values",
                "NaN in numbers, an empty string in text".to_owned(),
            ),
        ];
        let entry = |(key, value)| StringStringEntryProto {
            key: format!("oblivio.{key}"),
            value,
        };
        entries.into_iter().map(entry).collect()
    }
}

/// What outputs are called: a column may have their name.
struct OutputNames {
    score: String,
    label: String,
    probabilities: String,
}

impl OutputNames {
    fn beside(inputs: &[&str]) -> Self {
        let free = |name: &str| {
            let mut name = name.to_owned();
            while inputs.contains(&name.as_str()) {
                name.push('_');
            }
            name
        };
        Self {
            score: free("score"),
            label: free("label"),
            probabilities: free("probabilities"),
        }
    }
}

/// A graph in the making, and what of it several scores share.
struct Writer<'m> {
    model: &'m Model,
    graph: Graph,
    inputs: Inputs,
    encoded: Encoded,
    precision: Precision,
    bases: Vec<(&'m Basis, Option<Value>)>,
    placements: Vec<(&'m Partition, Placement)>,
}

/// What is known of the S of rows.
#[derive(Clone)]
struct Placement {
    placed: std::rc::Rc<Placed>,
    /// Features of S, where the conditional mean is a regression.
    features: Option<Value>,
    /// Whether the model refuses a row.
    refused: Option<Value>,
    /// Whether a row misses a sensitive value, where a second model scores it.
    misses: Option<Value>,
}

impl<'m> Writer<'m> {
    fn new(
        model: &'m Model,
        columns: &[InputColumn],
        taken: &[&str],
        settings: OnnxSettings,
    ) -> Result<Self> {
        let mut graph = Graph::new(taken);
        let mut inputs = Inputs::new(&mut graph, columns, settings.form)?;
        let encoded = encode::encode(&mut graph, &mut inputs, &model.encoder);
        Ok(Self {
            model,
            graph,
            inputs,
            encoded,
            precision: settings.precision,
            bases: Vec::new(),
            placements: Vec::new(),
        })
    }

    fn write(&mut self, names: &OutputNames) -> Result<()> {
        let model = self.model;
        let mut scores = Vec::new();
        for scorer in &model.scorers {
            scores.push(self.score(scorer)?);
        }
        let mut scores = self.graph.concat(&scores.iter().collect::<Vec<_>>());
        if let Some(refused) = self.graph.any(&self.encoded.refused) {
            scores = self.without(&refused, &scores);
        }
        let count = Some(model.scorers.len());
        let graph = &mut self.graph;
        graph.output(&scores, &names.score, Element::Double, count);
        if let Some(classes) = &model.classes {
            let sum = graph.row_sum(&scores);
            let refused = graph.op("IsNaN", &[&sum]);
            let labels = classes::labels(graph, classes, &scores, &refused);
            graph.output(&labels, &names.label, classes::label_element(classes), None);
            if classes.probabilities {
                let chances = classes::probabilities(graph, classes, &scores, &refused);
                let count = Some(classes.labels.len());
                graph.output(&chances, &names.probabilities, Element::Double, count);
            }
        }
        Ok(())
    }

    /// NaN where rows are refused.
    fn without(&mut self, refused: &Value, scores: &Value) -> Value {
        let none = self.graph.number(f64::NAN);
        self.graph.choose(refused, &none, scores)
    }

    /// What [`Predictor::predict`] gives.
    fn score(&mut self, scorer: &'m Predictor) -> Result<Value> {
        let before = self.expansion(scorer);
        let Some(offsets) = scorer.offsets().filter(|_| scorer.reads_sensitive()) else {
            return Ok(before);
        };
        let placement = self.placement(&offsets.partition)?;
        let offset = self.offset(offsets, &placement);
        let mut score = self.graph.op("Sub", &[&before, &offset]);
        if let Some(alignment) = scorer.alignment() {
            let known = match &placement.features {
                Some(features) => Known::Features(features),
                None => Known::Places(&placement.placed.place, &placement.placed.assignment),
            };
            score = align::align(&mut self.graph, alignment, &score, &known)?;
        }
        if let Some(refused) = &placement.refused {
            score = self.without(refused, &score);
        }
        if let (Some(misses), Some(fallback)) = (&placement.misses, scorer.fallback()) {
            let other = self.expansion(fallback);
            score = self.graph.choose(misses, &other, &score);
        }
        Ok(score)
    }

    /// h(x)
    fn expansion(&mut self, scorer: &'m Predictor) -> Value {
        let basis = scorer.basis();
        let known = self.bases.iter().find(|(other, _)| *other == basis);
        let values = if let Some((_, values)) = known {
            values.clone()
        } else {
            let values = kernel::functions(&mut self.graph, &self.encoded, basis, self.precision);
            self.bases.push((basis, values.clone()));
            values
        };
        kernel::expansion(
            &mut self.graph,
            &self.encoded,
            basis,
            values.as_ref(),
            (scorer.coefficients(), scorer.intercept()),
        )
    }

    fn placement(&mut self, partition: &'m Partition) -> Result<Placement> {
        let known = self
            .placements
            .iter()
            .find(|(other, _)| *other == partition);
        if let Some((_, placement)) = known {
            return Ok(placement.clone());
        }
        let (graph, inputs) = (&mut self.graph, &mut self.inputs);
        let placed = cells::place(graph, inputs, partition)?;
        let mut refused = placed.refused.clone();
        let mut features = None;
        if let Some(smooth) = &partition.smooth {
            let found = smooth::features(graph, inputs, smooth)?;
            refused.extend(found.refused);
            features = Some(found.values);
        }
        let leaves_out = partition.policies.missing == Missing::SensitiveFree;
        let misses = leaves_out.then(|| columns::misses(graph, inputs, partition));
        let placement = Placement {
            placed: placed.into(),
            features,
            refused: graph.any(&refused),
            misses: misses.flatten(),
        };
        self.placements.push((partition, placement.clone()));
        Ok(placement)
    }

    /// t b(s)
    fn offset(&mut self, offsets: &Offsets, placement: &Placement) -> Value {
        let graph = &mut self.graph;
        let strength = graph.number(offsets.strength);
        let offset = if let (Some(smooth), Some(features)) = (&offsets.smooth, &placement.features)
        {
            let values = graph.numbers(&[smooth.values.len(), 1], &smooth.values);
            graph.op("MatMul", &[features, &values])
        } else {
            let assignment = &placement.placed.assignment;
            let rows = assignment.cells.len();
            let table: Vec<f64> = (0..rows).map(|row| offsets.of(assignment, row)).collect();
            let table = graph.numbers(&[rows], &table);
            graph.look_up(&table, &placement.placed.place)
        };
        graph.op("Mul", &[&offset, &strength])
    }
}
