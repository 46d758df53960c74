//! Labels and probabilities from scores.

use oblivio::classes::Classes;

use super::graph::{Graph, Value};
use super::proto::Element;

/// The class of each row: its label, or an empty one (NaN where labels are numbers) if the row is refused.
pub(super) fn labels(
    graph: &mut Graph,
    classes: &Classes,
    scores: &Value,
    refused: &Value,
) -> Value {
    let place = if classes.decisions() == 1 {
        let zero = graph.number(0.0);
        let positive = graph.op("Greater", &[scores, &zero]);
        let place = graph.cast(&positive, Element::Whole);
        graph.flat(&place)
    } else {
        graph.row_largest(scores)
    };
    let none = graph.wholes(&[1], &[classes.labels.len() as i64]);
    let refused = graph.flat(refused);
    let place = graph.choose(&refused, &none, &place);
    let table = if let Some(mut numbers) = numbers(classes) {
        numbers.push(f64::NAN);
        graph.numbers(&[numbers.len()], &numbers)
    } else {
        let texts = classes.labels.iter().map(String::as_str).chain([""]);
        graph.texts(&texts.collect::<Vec<_>>())
    };
    graph.look_up(&table, &place)
}

/// What labels are.
pub(super) fn label_element(classes: &Classes) -> Element {
    if numbers(classes).is_some() {
        Element::Double
    } else {
        Element::Text
    }
}

/// The labels as numbers, if they are: `True` counts as one in Python but is written as a word.
fn numbers(classes: &Classes) -> Option<Vec<f64>> {
    let parsed = classes.labels.iter().map(|label| label.parse().ok());
    parsed.collect::<Option<_>>().filter(|_| classes.numeric)
}

/// The probability of each class: $1/(1 + e^{-(f + \tau)})$, of several decisions divided by their sum.
pub(super) fn probabilities(
    graph: &mut Graph,
    classes: &Classes,
    scores: &Value,
    refused: &Value,
) -> Value {
    let decisions = classes.decisions();
    let thresholds = graph.numbers(&[1, decisions], &classes.thresholds);
    let logits = graph.op("Add", &[scores, &thresholds]);
    let negative = graph.op("Neg", &[&logits]);
    let odds = graph.op("Exp", &[&negative]);
    let one = graph.number(1.0);
    let whole = graph.op("Add", &[&odds, &one]);
    let chances = graph.op("Div", &[&one, &whole]);
    if decisions == 1 {
        let other = graph.op("Sub", &[&one, &chances]);
        return graph.concat(&[&other, &chances]);
    }
    let total = graph.row_sum(&chances);
    let zero = graph.number(0.0);
    let some = graph.op("Greater", &[&total, &zero]);
    let shares = graph.op("Div", &[&chances, &total]);
    let even = graph.number(1.0 / decisions as f64);
    let shares = graph.choose(&some, &shares, &even);
    let none = graph.number(f64::NAN);
    graph.choose(refused, &none, &shares)
}
