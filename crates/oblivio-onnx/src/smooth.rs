//! The features D of S on which a conditional mean is a regression.

use oblivio::Partition;
use oblivio::model::file::{Coordinate, Coordinates, Form, KernelFeatures, Smooth, Source};
use oblivio::model::tables::landmark_factor;
use oblivio::partition::{Missing, Policies};
use oblivio_base::{Result, UnseenCategory};

use super::cells::place;
use super::columns::Inputs;
use super::encode::{infinite, one_hot};
use super::graph::{Graph, Value};
use super::kernel::apart_by;
use super::proto::Element;

/// The features of S of rows, and the conditions of their refusal.
pub(super) struct Features {
    /// D, a row of features each.
    pub(super) values: Value,
    /// Conditions under which a row is refused.
    pub(super) refused: Vec<Value>,
}

/// Rows that are refused, or whose S is unknown.
#[derive(Default)]
struct Apart {
    refused: Vec<Value>,
    /// Nothing is taken off these.
    unplaced: Vec<Value>,
}

/// Coordinates of rows.
struct Located {
    points: Value,
    numbers: Vec<usize>,
    indicators: Vec<usize>,
}

pub(super) fn features(
    graph: &mut Graph,
    inputs: &mut Inputs,
    smooth: &Smooth,
) -> Result<Features> {
    let mut apart = Apart::default();
    let mut blocks = Vec::new();
    for block in &smooth.blocks {
        let values = match &block.source {
            Source::Cells(partition) => {
                let several = smooth.blocks.len() > 1;
                indicators(graph, inputs, partition, several, &mut apart)?
            }
            Source::Columns(coordinates) => {
                locate(graph, inputs, coordinates, smooth.policies, &mut apart).points
            }
            Source::Kernel(features) => {
                let coordinates = &features.on.coordinates;
                let located = locate(graph, inputs, coordinates, smooth.policies, &mut apart);
                kernel_features(graph, &located, features)
            }
        };
        let centre = graph.numbers(&[1, block.centre.len()], &block.centre);
        let centred = graph.op("Sub", &[&values, &centre]);
        blocks.push(if block.sign < 0.0 {
            graph.op("Neg", &[&centred])
        } else {
            centred
        });
    }
    let mut values = graph.concat(&blocks.iter().collect::<Vec<_>>());
    if let Some(unplaced) = graph.any(&apart.unplaced) {
        let zero = graph.number(0.0);
        values = graph.choose(&unplaced, &zero, &values);
    }
    Ok(Features {
        values,
        refused: apart.refused,
    })
}

/// An indicator for each cell, or the weights over them that stand in.
fn indicators(
    graph: &mut Graph,
    inputs: &mut Inputs,
    partition: &Partition,
    several: bool,
    apart: &mut Apart,
) -> Result<Value> {
    let placed = place(graph, inputs, partition)?;
    apart.refused.extend(placed.refused);
    let cells = partition.len();
    if several {
        let count = graph.whole(cells as i64);
        let stands_in = graph.op("GreaterOrEqual", &[&placed.place, &count]);
        apart.unplaced.push(stands_in);
    }
    let weights = placed.stand_ins.weights();
    let table = graph.numbers(&[placed.stand_ins.len(), cells], &weights);
    let rows = graph.flat(&placed.place);
    Ok(graph.look_up(&table, &rows))
}

fn locate(
    graph: &mut Graph,
    inputs: &mut Inputs,
    coordinates: &Coordinates,
    policies: Policies,
    apart: &mut Apart,
) -> Located {
    let (mut parts, mut numbers, mut indicators) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0;
    for coordinate in &coordinates.0 {
        let (values, missing) = match &coordinate.form {
            Form::Categories { levels } => {
                let codes = inputs.codes(graph, &coordinate.name, levels);
                let unknown = graph.whole(levels.len() as i64 + 1);
                let unknown = graph.op("Equal", &[&codes, &unknown]);
                match policies.category {
                    UnseenCategory::Error => apart.refused.push(unknown),
                    UnseenCategory::Population | UnseenCategory::Zero => {
                        apart.unplaced.push(unknown);
                    }
                }
                let absent = graph.whole(levels.len() as i64);
                let missing = graph.op("Equal", &[&codes, &absent]);
                (one_hot(graph, &codes, coordinate.len()), missing)
            }
            Form::Number { mean, scale, .. } => {
                numbers.push(at);
                number(graph, inputs, coordinate, *mean, *scale, apart)
            }
        };
        if !(policies.missing == Missing::Category && coordinate.missing) {
            apart.refused.push(missing);
        }
        let all = at..at + coordinate.len();
        indicators.extend(all.clone().filter(|k| !numbers.contains(k)));
        at = all.end;
        parts.push(values);
    }
    Located {
        points: graph.concat(&parts.iter().collect::<Vec<_>>()),
        numbers,
        indicators,
    }
}

/// (v − mean)/scale, and whether v is missing; that is an indicator of its own where it occurred.
fn number(
    graph: &mut Graph,
    inputs: &Inputs,
    coordinate: &Coordinate,
    mean: f64,
    scale: f64,
    apart: &mut Apart,
) -> (Value, Value) {
    let column = inputs.column(&coordinate.name);
    apart.refused.push(infinite(graph, &column));
    let missing = graph.op("IsNaN", &[&column]);
    let (mean, scale, zero) = (graph.number(mean), graph.number(scale), graph.number(0.0));
    let centred = graph.op("Sub", &[&column, &mean]);
    let scaled = graph.op("Div", &[&centred, &scale]);
    let scaled = graph.choose(&missing, &zero, &scaled);
    let values = if coordinate.missing {
        let indicator = graph.cast(&missing, Element::Double);
        graph.concat(&[&scaled, &indicator])
    } else {
        scaled
    };
    (values, missing)
}

/// $\psi = L^{-1}(k_S(l_1, s), \dots)^\top$
fn kernel_features(graph: &mut Graph, located: &Located, features: &KernelFeatures) -> Value {
    let (dim, values) = (features.on.coordinates.len(), &features.on.values);
    let count = values.len() / dim;
    let column = |k: usize| -> Vec<f64> { (0..count).map(|j| values[j * dim + k]).collect() };
    let mut exponent = graph.number(0.0);
    for &k in &located.numbers {
        let of_landmarks = graph.numbers(&[1, count], &column(k));
        let own = graph.columns(&located.points, &[k]);
        let difference = graph.op("Sub", &[&own, &of_landmarks]);
        let squared = graph.op("Mul", &[&difference, &difference]);
        let gamma = graph.number(features.on.gamma);
        let term = graph.op("Mul", &[&squared, &gamma]);
        exponent = graph.op("Sub", &[&exponent, &term]);
    }
    if !located.indicators.is_empty() {
        let ones: Vec<f64> = located.indicators.iter().flat_map(|&k| column(k)).collect();
        let differ = apart_by(graph, &located.points, &located.indicators, &ones);
        let each = graph.number(0.5 * 4.0f64.ln());
        let term = graph.op("Mul", &[&differ, &each]);
        exponent = graph.op("Sub", &[&exponent, &term]);
    }
    let kernel = graph.op("Exp", &[&exponent]);
    graph.product(&kernel, count, &landmark_factor(features))
}
