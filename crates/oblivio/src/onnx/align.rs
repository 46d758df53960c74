//! Alignment in operators: the score goes to the place in a common distribution that it has in the one given S.

use oblivio_base::Result;

use super::graph::{Graph, Value};
use super::lines::{Lines, around, between, count_below};
use crate::align::{
    Alignment, By, ByCell, LEAST_VARIANCE, MARGINAL, Normal, SmoothNormal, SmoothTable, Table,
};
use crate::onnx::columns::refused;
use crate::partition::Assignment;

/// The most knots of all broken lines.
const MOST_KNOTS: usize = 1 << 22;

/// What alignment knows of rows: their places among those of an assignment, or features of S.
pub(super) enum Known<'a> {
    Places(&'a Value, &'a Assignment),
    Features(&'a Value),
}

/// $(1-\tau)\,\text{score} + \tau\,\text{full}$
pub(super) fn align(
    graph: &mut Graph,
    alignment: &Alignment,
    score: &Value,
    known: &Known,
) -> Result<Value> {
    let full = match (&alignment.by, known) {
        (By::CellMoments(cells), Known::Places(place, assignment)) => {
            moments(graph, cells, score, place, assignment)
        }
        (By::CellQuantiles(cells), Known::Places(place, assignment)) => {
            quantiles(graph, cells, score, place, assignment)?
        }
        (By::SmoothMoments(normal), Known::Features(features)) => {
            smooth_moments(graph, normal, score, features)
        }
        (By::SmoothQuantiles(table), Known::Features(features)) => {
            smooth_quantiles(graph, table, score, features)?
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
fn moments(
    graph: &mut Graph,
    cells: &ByCell<Normal>,
    score: &Value,
    place: &Value,
    assignment: &Assignment,
) -> Value {
    let population = cells.shares();
    let common = Normal::common(population.iter().copied());
    let rows = assignment.cells.len();
    let own: Vec<Normal> = (0..rows)
        .map(|row| Normal::mixed(cells.parts(&population, assignment, row).into_iter()))
        .collect();
    let spread = |normal: &Normal| normal.deviation > cells.negligible;
    let mut looked_up = |of: &dyn Fn(&Normal) -> f64| {
        let table: Vec<f64> = own.iter().map(of).collect();
        let table = graph.numbers(&[rows], &table);
        graph.look_up(&table, place)
    };
    let mean = looked_up(&|normal| normal.mean);
    let deviation = looked_up(&|normal| {
        if spread(normal) {
            normal.deviation
        } else {
            1.0
        }
    });
    let scale = looked_up(&|normal| {
        if spread(normal) {
            common.deviation
        } else {
            0.0
        }
    });
    let centre = graph.number(common.mean);
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
    cells: &ByCell<Table>,
    score: &Value,
    place: &Value,
    assignment: &Assignment,
) -> Result<Value> {
    let Some(own) = cells.distributions(assignment, MOST_KNOTS) else {
        return Err(refused(format!(
            "its alignment has more than {MOST_KNOTS} knots, mixtures of cells included, which is the most that a graph holds; use fewer cells"
        )));
    };
    let common = cells.barycentre();
    let mut lines = Lines {
        xs: Vec::new(),
        ys: Vec::new(),
        spans: Vec::new(),
    };
    for line in &own {
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
fn regressed(graph: &mut Graph, mean: f64, on: &[f64], features: &Value) -> Value {
    let sum = graph.product(features, on.len(), on);
    let mean = graph.number(mean);
    graph.op("Add", &[&sum, &mean])
}

fn smooth_moments(
    graph: &mut Graph,
    normal: &SmoothNormal,
    score: &Value,
    features: &Value,
) -> Value {
    let mean = regressed(graph, normal.mean, &normal.mean_on, features);
    let centre = graph.number(normal.centre);
    if normal.variance == 0.0 {
        let (one, none) = (graph.number(1.0), graph.number(0.0));
        return standardised(graph, score, (&mean, &one), (&centre, &none));
    }
    let variance = regressed(graph, normal.variance, &normal.variance_on, features);
    let least = graph.number(LEAST_VARIANCE * normal.variance);
    let variance = graph.op("Max", &[&variance, &least]);
    let deviation = graph.op("Sqrt", &[&variance]);
    let scale = graph.number(normal.scale);
    standardised(graph, score, (&mean, &deviation), (&centre, &scale))
}

fn smooth_quantiles(
    graph: &mut Graph,
    table: &SmoothTable,
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
    let own_share = graph.number(1.0 - MARGINAL);
    let all_share = graph.number(MARGINAL);
    let own = graph.op("Mul", &[&given, &own_share]);
    let all = graph.op("Mul", &[&all, &all_share]);
    let rank = graph.op("Add", &[&own, &all]);
    let aligned = Lines::one(&table.all.ranks, &table.common).at(graph, &rank, None);
    Ok(beyond(graph, &aligned, score, &inside))
}

/// F(z | s) at the thresholds, half-way between the least monotone function above the regression and the largest below.
fn distribution(graph: &mut Graph, table: &SmoothTable, features: &Value) -> Value {
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
