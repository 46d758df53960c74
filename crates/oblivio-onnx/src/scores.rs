//! A model: its scores, labels and probabilities.

use oblivio::adjust::Offsets;
use oblivio::{Model, Predictor};
use oblivio_base::Result;
use oblivio_kernels::Basis;
use serde_json::json;

use super::align;
use super::columns::{Inputs, columns_of};
use super::graph::Value;
use super::proto::Element;
use super::writer::{Placement, Writer, entries};
use super::{OnnxSettings, Precision, classes, kernel, single};

/// The bytes of an ONNX file that computes what [`Model::predict`] does; the same model gives the same bytes.
///
/// Missing numbers are NaN and missing texts are empty. Rows that the model refuses get NaN. Sensitive columns are inputs only if
/// scores depend on them. On the exact path the file holds the rows of the fit, but for the linear kernel, of which it holds a
/// weight for each feature. A single-precision graph is refused if its scores could be off by more than 1e-5 of their spread.
pub fn export(model: &Model, settings: OnnxSettings) -> Result<Vec<u8>> {
    let kernel = model.predictor().kernel();
    kernel.check_formula("a model to export")?;
    if settings.precision == Precision::Single {
        single::check(&model.scorers)?;
    }
    let read = model
        .scorers
        .iter()
        .filter(|scorer| scorer.reads_sensitive());
    let partitions = read.filter_map(Predictor::partition);
    let columns = columns_of(&model.encoder, partitions)?;
    let names = OutputNames::beside(&Inputs::names(&columns, settings.form));
    let outputs = [&*names.score, &*names.label, &*names.probabilities];
    let mut scores = Scores {
        writer: Writer::new(&model.encoder, &columns, &outputs, settings)?,
        precision: settings.precision,
        bases: Vec::new(),
    };
    scores.write(model, &names)?;
    let predictor = model.predictor();
    let partition = predictor.partition();
    let held = (predictor.basis(), model.holdings());
    let mut said = entries(&columns, partition, held, settings);
    said.extend([
        ("learner", model.card.learner.clone()),
        ("mode", model.card.mode.clone()),
        ("strength", predictor.strength().to_string()),
        ("target", model.card.target.clone()),
        ("outputs", names.to_json()),
        (
            "refused-rows",
            "NaN in score and probabilities, an empty label (NaN where labels are numbers)"
                .to_owned(),
        ),
    ]);
    scores.writer.finish(said)
}

/// What outputs are called: a column may have their name.
struct OutputNames {
    score: String,
    label: String,
    probabilities: String,
}

impl OutputNames {
    fn beside(inputs: &[&str]) -> Self {
        Self {
            score: free("score", inputs),
            label: free("label", inputs),
            probabilities: free("probabilities", inputs),
        }
    }

    fn to_json(&self) -> String {
        json!({
            "score": self.score,
            "label": self.label,
            "probabilities": self.probabilities,
        })
        .to_string()
    }
}

/// A name for an output that no input has.
pub(super) fn free(name: &str, inputs: &[&str]) -> String {
    let mut name = name.to_owned();
    while inputs.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// A graph of scores; those on the same points share the kernel.
struct Scores<'m> {
    writer: Writer<'m>,
    precision: Precision,
    bases: Vec<(&'m Basis, Option<Value>)>,
}

impl<'m> Scores<'m> {
    fn write(&mut self, model: &'m Model, names: &OutputNames) -> Result<()> {
        let mut scores = Vec::new();
        for scorer in &model.scorers {
            scores.push(self.score(scorer)?);
        }
        let scores = self.writer.graph.concat(&scores.iter().collect::<Vec<_>>());
        let scores = self.writer.without_points(scores);
        let count = Some(model.scorers.len());
        let graph = &mut self.writer.graph;
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

    /// What [`Predictor::predict`] gives.
    fn score(&mut self, scorer: &'m Predictor) -> Result<Value> {
        let before = self.expansion(scorer);
        let Some(offsets) = scorer.offsets().filter(|_| scorer.reads_sensitive()) else {
            return Ok(before);
        };
        let placement = self.writer.placement(&offsets.partition)?;
        let offset = self.offset(offsets, &placement);
        let mut score = self.writer.graph.op("Sub", &[&before, &offset]);
        if let Some(alignment) = scorer.alignment() {
            score = align::align(&mut self.writer.graph, alignment, &score, &placement)?;
        }
        score = self.writer.without(placement.refused.as_ref(), score);
        if let (Some(misses), Some(fallback)) = (&placement.misses, scorer.fallback()) {
            let other = self.expansion(fallback);
            score = self.writer.graph.choose(misses, &other, &score);
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
            let values = kernel::functions(
                &mut self.writer.graph,
                &self.writer.encoded,
                basis,
                self.precision,
            );
            self.bases.push((basis, values.clone()));
            values
        };
        kernel::expansion(
            &mut self.writer.graph,
            &self.writer.encoded,
            basis,
            values.as_ref(),
            (scorer.coefficients(), scorer.intercept()),
        )
    }

    /// t b(s)
    fn offset(&mut self, offsets: &Offsets, placement: &Placement) -> Value {
        let graph = &mut self.writer.graph;
        if let (Some(smooth), Some(features)) = (&offsets.smooth, &placement.features) {
            let values = smooth.values.iter().map(|value| offsets.strength * value);
            let values: Vec<f64> = values.collect();
            return graph.product(features, values.len(), &values);
        }
        let table = placement.placed.stand_ins.offsets(offsets);
        let table = graph.numbers(&[table.len()], &table);
        graph.look_up(&table, &placement.placed.place)
    }
}
