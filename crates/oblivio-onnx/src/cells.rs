//! The place of each row among the cells, policies included: positions on every column, then one look-up.

use oblivio::Partition;
use oblivio::model::tables::{Cutting, StandIns};
use oblivio_base::Result;

use super::columns::{Inputs, refused};
use super::encode::infinite;
use super::graph::{Graph, Value};
use super::lines::count_below;

/// The most combinations of positions that are written out as a table.
const MOST_KEYS: usize = 1 << 18;
/// The most weights of all mixtures of cells that stand in for others.
const MOST_WEIGHTS: usize = 1 << 23;

/// Where rows belong.
pub(super) struct Placed {
    /// One of the places each; the first where the row is refused.
    pub(super) place: Value,
    /// The places.
    pub(super) stand_ins: StandIns,
    /// Conditions under which a row has no place.
    pub(super) refused: Vec<Value>,
}

pub(super) fn place(
    graph: &mut Graph,
    inputs: &mut Inputs,
    partition: &Partition,
) -> Result<Placed> {
    let cuttings = partition.cuttings();
    let sizes = cuttings.iter().map(|(_, cutting)| cutting.len());
    let keys = sizes.fold(1usize, usize::saturating_mul);
    if keys > MOST_KEYS {
        return Err(refused(format!(
            "its sensitive columns have {keys} combinations of values and a table holds at most {MOST_KEYS}; use fewer cells or columns"
        )));
    }
    let mut refusals = Vec::new();
    let mut key = graph.whole(0);
    for (name, cutting) in cuttings {
        let position = position(graph, inputs, name, cutting, &mut refusals);
        let size = graph.whole(cutting.len() as i64);
        let before = graph.op("Mul", &[&key, &size]);
        key = graph.op("Add", &[&before, &position]);
    }
    let Some(stand_ins) = StandIns::new(partition, MOST_WEIGHTS) else {
        return Err(refused(format!(
            "mixtures of its {} cells stand in for too many combinations of sensitive values; use fewer cells",
            partition.len()
        )));
    };
    let (places, none) = (stand_ins.places(), stand_ins.len());
    let is_refused: Vec<i64> = places.iter().map(|&p| i64::from(p == none)).collect();
    if is_refused.contains(&1) {
        let table = graph.wholes(&[keys], &is_refused);
        let found = graph.look_up(&table, &key);
        let one = graph.whole(1);
        refusals.push(graph.op("Equal", &[&found, &one]));
    }
    let entry = |&place: &usize| if place == none { 0 } else { place as i64 };
    let places: Vec<i64> = places.iter().map(entry).collect();
    let places = graph.wholes(&[keys], &places);
    Ok(Placed {
        place: graph.look_up(&places, &key),
        stand_ins,
        refused: refusals,
    })
}

/// The position of each row on a column.
fn position(
    graph: &mut Graph,
    inputs: &mut Inputs,
    name: &str,
    cutting: Cutting,
    refusals: &mut Vec<Value>,
) -> Value {
    let column = inputs.column(name);
    if !inputs.is_text(name) {
        refusals.push(infinite(graph, &column));
    }
    let (edges, bounds) = match cutting {
        Cutting::Categories(levels) => return inputs.codes(graph, name, levels),
        Cutting::Bins { edges, bounds } => (edges, bounds),
    };
    if let Some((low, high)) = bounds {
        let (low, high) = (graph.number(low), graph.number(high));
        refusals.push(graph.op("Less", &[&column, &low]));
        refusals.push(graph.op("Greater", &[&column, &high]));
    }
    // A number that is missing is in no bin, and no comparison says so.
    let missing = graph.op("IsNaN", &[&column]);
    let last = graph.whole(edges.len() as i64 + 1);
    let bin = if edges.is_empty() {
        graph.whole(0)
    } else {
        count_below(graph, edges, &column)
    };
    graph.choose(&missing, &last, &bin)
}
