//! Broken lines in operators: where a number lies among knots, and the line there.

use super::graph::{Graph, Value};
use super::proto::Element;

/// Up to so many knots all are compared; more are halved again and again, which takes a number for each row and no table.
const COMPARED: usize = 64;

/// Broken lines one after the other.
pub(super) struct Lines {
    pub(super) xs: Vec<f64>,
    pub(super) ys: Vec<f64>,
    /// Where each line begins, and its number of knots.
    pub(super) spans: Vec<(usize, usize)>,
}

impl Lines {
    pub(super) fn one(xs: &[f64], ys: &[f64]) -> Self {
        let mut lines = Self {
            xs: Vec::new(),
            ys: Vec::new(),
            spans: Vec::new(),
        };
        lines.push(xs, ys);
        lines
    }

    pub(super) fn push(&mut self, xs: &[f64], ys: &[f64]) {
        self.spans.push((self.xs.len(), xs.len()));
        self.xs.extend_from_slice(xs);
        self.ys.extend_from_slice(ys);
    }

    /// The line of each row at its place, constant beyond the ends; `which` names the line, the first if absent.
    pub(super) fn at(&self, graph: &mut Graph, at: &Value, which: Option<&Value>) -> Value {
        let spans = |of: fn(&(usize, usize)) -> usize| -> Vec<i64> {
            self.spans.iter().map(|span| of(span) as i64).collect()
        };
        let (starts, lengths) = (spans(|span| span.0), spans(|span| span.1));
        let number = |graph: &mut Graph, values: &[i64]| match which {
            None => graph.whole(values[0]),
            Some(which) => {
                let table = graph.wholes(&[values.len()], values);
                graph.look_up(&table, which)
            }
        };
        let start = number(graph, &starts);
        let length = number(graph, &lengths);
        let xs = graph.numbers(&[self.xs.len()], &self.xs);
        let ys = graph.numbers(&[self.ys.len()], &self.ys);
        let longest = self.spans.iter().map(|span| span.1).max().unwrap_or(0);
        let next = halved(graph, (&xs, &start, &length), longest, at);
        let ends = around(graph, &next, &length);
        let [low, high] = ends.map(|place| graph.op("Add", &[&place, &start]));
        let mut of = |table: &Value, place: &Value| graph.look_up(table, place);
        let pairs = [
            (of(&xs, &low), of(&ys, &low)),
            (of(&xs, &high), of(&ys, &high)),
        ];
        between(graph, &pairs, at)
    }
}

/// The number of knots, ascending, that are not above each row's number.
pub(super) fn count_below(graph: &mut Graph, knots: &[f64], at: &Value) -> Value {
    if knots.len() <= COMPARED {
        let knots = graph.numbers(&[1, knots.len()], knots);
        let reached = graph.op("GreaterOrEqual", &[at, &knots]);
        let reached = graph.cast(&reached, Element::Whole);
        return graph.row_sum(&reached);
    }
    let length = graph.whole(knots.len() as i64);
    let start = graph.whole(0);
    let table = graph.numbers(&[knots.len()], knots);
    halved(graph, (&table, &start, &length), knots.len(), at)
}

/// The same among the entries of a table from `start` on, `length` of them, by halving.
fn halved(
    graph: &mut Graph,
    (table, start, length): (&Value, &Value, &Value),
    longest: usize,
    at: &Value,
) -> Value {
    let one = graph.whole(1);
    let last = graph.op("Sub", &[start, &one]);
    let mut below = graph.whole(0);
    let mut step = longest.next_power_of_two();
    while step > 0 {
        let width = graph.whole(step as i64);
        let more = graph.op("Add", &[&below, &width]);
        let there = graph.op("LessOrEqual", &[&more, length]);
        let place = graph.op("Min", &[&more, length]);
        let place = graph.op("Add", &[&place, &last]);
        let knot = graph.look_up(table, &place);
        let reached = graph.op("GreaterOrEqual", &[at, &knot]);
        let reached = graph.op("And", &[&reached, &there]);
        below = graph.choose(&reached, &more, &below);
        step /= 2;
    }
    below
}

/// The knots on both sides of a place; beyond the ends both are the last.
pub(super) fn around(graph: &mut Graph, next: &Value, length: &Value) -> [Value; 2] {
    let (zero, one) = (graph.whole(0), graph.whole(1));
    let before = graph.op("Sub", &[next, &one]);
    let last = graph.op("Sub", &[length, &one]);
    [
        graph.op("Max", &[&before, &zero]),
        graph.op("Min", &[next, &last]),
    ]
}

/// $y + (at - x)/(x' - x)\cdot(y' - y)$, no more than y'; y where both knots are one.
pub(super) fn between(graph: &mut Graph, ends: &[(Value, Value); 2], at: &Value) -> Value {
    let [(x, y), (x_next, y_next)] = ends;
    let width = graph.op("Sub", &[x_next, x]);
    let zero = graph.number(0.0);
    let one = graph.number(1.0);
    let level = graph.op("Equal", &[&width, &zero]);
    let width = graph.choose(&level, &one, &width);
    let ahead = graph.op("Sub", &[at, x]);
    let share = graph.op("Div", &[&ahead, &width]);
    let share = graph.choose(&level, &zero, &share);
    let rise = graph.op("Sub", &[y_next, y]);
    let rise = graph.op("Mul", &[&share, &rise]);
    let reached = graph.op("Add", &[y, &rise]);
    graph.op("Min", &[&reached, y_next])
}
