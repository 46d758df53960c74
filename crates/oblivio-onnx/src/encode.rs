//! From columns to points: standardised numbers and indicators, and the rows that are refused on the way.

use oblivio_base::encoder::Feature;
use oblivio_base::{Encoder, UnseenCategory};

use super::columns::Inputs;
use super::graph::{Graph, Value};
use super::proto::Element;

/// Points of rows.
pub(super) struct Encoded {
    /// One row of features each.
    pub(super) points: Value,
    /// For each feature whether it is an indicator.
    pub(super) indicators: Vec<bool>,
    /// Conditions under which a row has no point.
    pub(super) refused: Vec<Value>,
}

pub(super) fn encode(graph: &mut Graph, inputs: &mut Inputs, encoder: &Encoder) -> Encoded {
    let mut parts = Vec::new();
    let mut refused = Vec::new();
    let mut indicators = Vec::new();
    let is_number = |feature: &Feature| matches!(feature, Feature::Number { .. });
    for run in encoder
        .features()
        .chunk_by(|a, b| is_number(a) && is_number(b))
    {
        let (part, bad) = match &run[0] {
            Feature::Number { .. } => {
                indicators.extend(run.iter().map(|_| false));
                numbers(graph, inputs, run)
            }
            Feature::Categories { name, levels } => {
                indicators.extend(levels.iter().map(|_| true));
                let codes = inputs.codes(graph, name, levels);
                let last = match encoder.unseen() {
                    UnseenCategory::Error => levels.len() + 1,
                    UnseenCategory::Population | UnseenCategory::Zero => levels.len(),
                };
                let missing = graph.whole(levels.len() as i64);
                let last = graph.whole(last as i64);
                let after = graph.op("GreaterOrEqual", &[&codes, &missing]);
                let before = graph.op("LessOrEqual", &[&codes, &last]);
                let mut bad = graph.op("And", &[&after, &before]);
                if !inputs.is_text(name) {
                    let column = inputs.column(name);
                    let infinite = infinite(graph, &column);
                    bad = graph.op("Or", &[&bad, &infinite]);
                }
                (one_hot(graph, &codes, levels.len()), bad)
            }
        };
        parts.push(part);
        refused.push(bad);
    }
    Encoded {
        points: graph.concat(&parts.iter().collect::<Vec<_>>()),
        indicators,
        refused,
    }
}

/// An indicator for each of the first codes.
pub(super) fn one_hot(graph: &mut Graph, codes: &Value, count: usize) -> Value {
    let all: Vec<i64> = (0..count as i64).collect();
    let all = graph.wholes(&[1, count], &all);
    let same = graph.op("Equal", &[codes, &all]);
    graph.cast(&same, Element::Double)
}

/// Whether a number is infinite.
pub(super) fn infinite(graph: &mut Graph, column: &Value) -> Value {
    let size = graph.op("Abs", &[column]);
    let infinity = graph.number(f64::INFINITY);
    graph.op("Equal", &[&size, &infinity])
}

/// (v − mean)/scale for a run of columns, and whether one of them is not finite.
fn numbers(graph: &mut Graph, inputs: &Inputs, run: &[Feature]) -> (Value, Value) {
    let (mut names, mut means, mut scales) = (Vec::new(), Vec::new(), Vec::new());
    for feature in run {
        if let Feature::Number { name, mean, scale } = feature {
            names.push(name.as_str());
            means.push(*mean);
            scales.push(*scale);
        }
    }
    let mut values = inputs.beside(graph, &names);
    if means.iter().any(|mean| *mean != 0.0) {
        let means = graph.numbers(&[1, means.len()], &means);
        values = graph.op("Sub", &[&values, &means]);
    }
    if scales.iter().any(|scale| *scale != 1.0) {
        let scales = graph.numbers(&[1, scales.len()], &scales);
        values = graph.op("Div", &[&values, &scales]);
    }
    let size = graph.op("Abs", &[&values]);
    let largest = graph.number(f64::MAX);
    let finite = graph.op("LessOrEqual", &[&size, &largest]);
    let bad = graph.op("Not", &[&finite]);
    let bad = graph.row_any(&bad);
    (values, bad)
}
