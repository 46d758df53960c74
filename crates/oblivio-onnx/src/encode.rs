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
    let is_number =
        |feature: &Feature| matches!(feature, Feature::Number { .. }) && !feature.is_indicated();
    for run in encoder
        .features()
        .chunk_by(|a, b| is_number(a) && is_number(b))
    {
        let indicated = run[0].is_indicated();
        match &run[0] {
            Feature::Number { name, .. } => {
                indicators.extend(run.iter().map(|_| false));
                let (part, bad) = numbers(graph, inputs, run);
                parts.push(part);
                refused.push(bad);
                if indicated {
                    let column = inputs.column(name);
                    let missing = graph.op("IsNaN", &[&column]);
                    parts.push(graph.cast(&missing, Element::Double));
                    indicators.push(true);
                }
            }
            Feature::Categories { name, levels, .. } => {
                let codes = inputs.codes(graph, name, levels);
                let count = levels.len() + usize::from(indicated);
                indicators.extend((0..count).map(|_| true));
                parts.push(one_hot(graph, &codes, count));
                refused.extend(refused_codes(graph, &codes, &run[0], encoder.unseen()));
                if !inputs.is_text(name) {
                    let column = inputs.column(name);
                    refused.push(infinite(graph, &column));
                }
            }
        }
    }
    Encoded {
        points: graph.concat(&parts.iter().collect::<Vec<_>>()),
        indicators,
        refused,
    }
}

/// Whether a category is refused, if any is: the code after the levels is a missing value, and the next an unknown category.
fn refused_codes(
    graph: &mut Graph,
    codes: &Value,
    feature: &Feature,
    unseen: UnseenCategory,
) -> Option<Value> {
    let Feature::Categories { levels, .. } = feature else {
        return None;
    };
    let first = levels.len() + usize::from(!feature.refuses_missing());
    let last = levels.len() + usize::from(unseen == UnseenCategory::Error);
    (first <= last).then(|| {
        let first = graph.whole(first as i64);
        let last = graph.whole(last as i64);
        let after = graph.op("GreaterOrEqual", &[codes, &first]);
        let before = graph.op("LessOrEqual", &[codes, &last]);
        graph.op("And", &[&after, &before])
    })
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

/// (v − mean)/scale for a run of columns, missing values filled in, and whether one of them is not finite.
fn numbers(graph: &mut Graph, inputs: &Inputs, run: &[Feature]) -> (Value, Value) {
    let (mut names, mut means, mut scales) = (Vec::new(), Vec::new(), Vec::new());
    let mut fills = Vec::new();
    for feature in run {
        if let Feature::Number {
            name,
            mean,
            scale,
            missing,
        } = feature
        {
            names.push(name.as_str());
            means.push(*mean);
            scales.push(*scale);
            fills.push(missing.map_or(f64::NAN, |fill| fill.value));
        }
    }
    let mut values = inputs.beside(graph, &names);
    if fills.iter().any(|fill| !fill.is_nan()) {
        let missing = graph.op("IsNaN", &[&values]);
        let fills = graph.numbers(&[1, fills.len()], &fills);
        values = graph.choose(&missing, &fills, &values);
    }
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
