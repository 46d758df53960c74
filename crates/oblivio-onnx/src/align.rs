//! Alignment in operators: the score goes to the place in a common distribution that it has in the one given S.

use oblivio::align::Alignment;
use oblivio::model::tables::{
    AlignmentTables, Knots, PlaceMoments, Regressed, RegressedMoments, RegressedQuantiles,
};
use oblivio_base::Result;

use super::columns::refused;
use super::graph::{Graph, Value};
use super::lines::{Lines, around, between, count_below};
use super::writer::Placement;

/// The most knots of all broken lines.
const MOST_KNOTS: usize = 1 << 22;

/// $(1-\tau)\,\text{score} + \tau\,\text{full}$
pub(super) fn align(
    graph: &mut Graph,
    alignment: &Alignment,
    score: &Value,
    placement: &Placement,
) -> Result<Value> {
    let place = &placement.placed.place;
    let Some(tables) = AlignmentTables::new(alignment, &placement.placed.stand_ins, MOST_KNOTS)
    else {
        return Err(refused(format!(
            "its alignment has more than {MOST_KNOTS} knots, mixtures of cells included, which is the most that a graph holds; use fewer cells"
        )));
    };
    let full = match (&tables, &placement.features) {
        (AlignmentTables::Moments(of_places), None) => moments(graph, of_places, score, place),
        (AlignmentTables::Quantiles { places, common }, None) => {
            quantiles(graph, (places, common), score, place)?
        }
        (AlignmentTables::RegressedMoments(regressed), Some(features)) => {
            regressed_moments(graph, regressed, score, features)
        }
        (AlignmentTables::RegressedQuantiles(regressed), Some(features)) => {
            regressed_quantiles(graph, regressed, score, features)?
        }
        _ => return Err(refused("its alignment goes by another S than its offsets")),
    };
    let strength = alignment.strength();
    let rest = graph.number(1.0 - strength);
    let strength = graph.number(strength);
    let before = graph.op("Mul", &[score, &rest]);
    let after = graph.op("Mul", &[&full, &strength]);
    Ok(graph.op("Add", &[&before, &after]))
}

/// $\bar m + \bar\sigma\,(x - m)/\sigma$ with m and σ looked up by place.
fn moments(graph: &mut Graph, of_places: &PlaceMoments, score: &Value, place: &Value) -> Value {
    let mut looked_up = |table: &[f64]| {
        let table = graph.numbers(&[table.len()], table);
        graph.look_up(&table, place)
    };
    let mean = looked_up(&of_places.mean);
    let deviation = looked_up(&of_places.deviation);
    let scale = looked_up(&of_places.scale);
    let centre = graph.number(of_places.centre);
    standardised(graph, score, (&mean, &deviation), (&centre, &scale))
}

/// $\bar m + \bar\sigma\,((x - m)/\sigma)$
fn standardised(
    graph: &mut Graph,
    score: &Value,
    (mean, deviation): (&Value, &Value),
    (centre, scale): (&Value, &Value),
) -> Value {
    let centred = graph.op("Sub", &[score, mean]);
    let standard = graph.op("Div", &[&centred, deviation]);
    let scaled = graph.op("Mul", &[&standard, scale]);
    graph.op("Add", &[&scaled, centre])
}

/// $\bar Q(F(x))$ with F the line of the place.
fn quantiles(
    graph: &mut Graph,
    (own, common): (&[Knots], &Knots),
    score: &Value,
    place: &Value,
) -> Result<Value> {
    let mut lines = Lines {
        xs: Vec::new(),
        ys: Vec::new(),
        spans: Vec::new(),
    };
    for line in own {
        strictly_ascending(&line.values)?;
        lines.push(&line.values, &line.ranks);
    }
    strictly_ascending(&common.ranks)?;
    let ends = |of: fn(&[f64]) -> Option<&f64>| -> Vec<f64> {
        let each = own.iter().map(|line| of(&line.values));
        each.map(|end| end.copied().unwrap_or(0.0)).collect()
    };
    let [low, high] = [ends(<[f64]>::first), ends(<[f64]>::last)].map(|table| {
        let table = graph.numbers(&[table.len()], &table);
        graph.look_up(&table, place)
    });
    let inside = inside(graph, score, &low, &high);
    let rank = lines.at(graph, &inside, Some(place));
    let aligned = Lines::one(&common.ranks, &common.values).at(graph, &rank, None);
    Ok(beyond(graph, &aligned, score, &inside))
}

fn inside(graph: &mut Graph, score: &Value, low: &Value, high: &Value) -> Value {
    let above = graph.op("Max", &[score, low]);
    graph.op("Min", &[&above, high])
}

/// Beyond the ends the map goes on with slope 1.
fn beyond(graph: &mut Graph, aligned: &Value, score: &Value, inside: &Value) -> Value {
    let rest = graph.op("Sub", &[score, inside]);
    graph.op("Add", &[aligned, &rest])
}

fn strictly_ascending(knots: &[f64]) -> Result<()> {
    if knots.is_sorted_by(|a, b| a < b) {
        Ok(())
    } else {
        Err(refused("its alignment has a jump"))
    }
}

/// A regression: its mean and what each feature adds.
fn regressed(graph: &mut Graph, regressed: &Regressed, features: &Value) -> Value {
    let sum = graph.product(features, regressed.on.len(), &regressed.on);
    let mean = graph.number(regressed.mean);
    graph.op("Add", &[&sum, &mean])
}

fn regressed_moments(
    graph: &mut Graph,
    normal: &RegressedMoments,
    score: &Value,
    features: &Value,
) -> Value {
    let mean = regressed(graph, &normal.mean, features);
    let centre = graph.number(normal.centre);
    if normal.variance.mean == 0.0 {
        let (one, none) = (graph.number(1.0), graph.number(0.0));
        return standardised(graph, score, (&mean, &one), (&centre, &none));
    }
    let variance = regressed(graph, &normal.variance, features);
    let least = graph.number(normal.least);
    let variance = graph.op("Max", &[&variance, &least]);
    let deviation = graph.op("Sqrt", &[&variance]);
    let scale = graph.number(normal.scale);
    standardised(graph, score, (&mean, &deviation), (&centre, &scale))
}

fn regressed_quantiles(
    graph: &mut Graph,
    table: &RegressedQuantiles,
    score: &Value,
    features: &Value,
) -> Result<Value> {
    let thresholds = &table.all.values;
    let count = thresholds.len();
    strictly_ascending(thresholds)?;
    strictly_ascending(&table.all.ranks)?;
    let [low, high] = [thresholds[0], thresholds[count - 1]].map(|end| graph.number(end));
    let inside = inside(graph, score, &low, &high);
    let given = distribution(graph, table, features);
    let next = count_below(graph, thresholds, &inside);
    let length = graph.whole(count as i64);
    let xs = graph.numbers(&[count], thresholds);
    let ends = around(graph, &next, &length);
    let ends = ends.map(|end| (graph.look_up(&xs, &end), graph.entries(&given, &end)));
    let given = between(graph, &ends, &inside);
    let all = Lines::one(thresholds, &table.all.ranks).at(graph, &inside, None);
    let own_share = graph.number(1.0 - table.marginal);
    let all_share = graph.number(table.marginal);
    let own = graph.op("Mul", &[&given, &own_share]);
    let all = graph.op("Mul", &[&all, &all_share]);
    let rank = graph.op("Add", &[&own, &all]);
    let aligned = Lines::one(&table.all.ranks, &table.common).at(graph, &rank, None);
    Ok(beyond(graph, &aligned, score, &inside))
}

/// F(z | s) at the thresholds, half-way between the least monotone function above the regression and the largest below.
fn distribution(graph: &mut Graph, table: &RegressedQuantiles, features: &Value) -> Value {
    let ranks = &table.all.ranks;
    let count = ranks.len();
    let sum = graph.product(features, table.on.len() / count, &table.on);
    let all = graph.numbers(&[1, count], ranks);
    let given = graph.op("Add", &[&sum, &all]);
    let [low, high] = [ranks[0], ranks[count - 1]].map(|end| graph.number(end));
    let given = inside(graph, &given, &low, &high);
    // The largest of all before and the least of all after, twice as far with every step.
    let (mut most, mut least) = (given.clone(), given);
    let mut step = 1;
    while step < count {
        let (head, rest) = (graph.range(&most, 0, step), graph.range(&most, step, count));
        let before = graph.range(&most, 0, count - step);
        let rest = graph.op("Max", &[&rest, &before]);
        most = graph.concat(&[&head, &rest]);
        let tail = graph.range(&least, count - step, count);
        let rest = graph.range(&least, 0, count - step);
        let after = graph.range(&least, step, count);
        let rest = graph.op("Min", &[&rest, &after]);
        least = graph.concat(&[&rest, &tail]);
        step *= 2;
    }
    let both = graph.op("Add", &[&most, &least]);
    let half = graph.number(0.5);
    graph.op("Mul", &[&both, &half])
}
