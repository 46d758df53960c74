//! From reference rows to a joint release.

use oblivio_audit::sibling::{Parts, split};
use oblivio_base::{Column, Result, Watch, random};

use super::adversary::{Finding, Judge};
use super::axis::{Orthonormal, Taught};
use super::follow::Follow;
use super::order::order;
use super::round::Places;
use super::step::Step;
use super::{JointColumn, JointMap, given, moved, place, places_of};
use crate::release::columns::ColumnMap;
use crate::release::conditional::{Conditional, Reference};
use crate::release::draw::Draws;
use crate::release::projection::ProjectionRows as Rows;
use crate::release::steps::Steps;

/// Alignments are learned from this many rows at most, a sample by seed.
const MOST_ROWS: usize = 50_000;
/// Rounds of alignments.
const ROUNDS: usize = 3;
/// A round that lessens what the adversary finds by a smaller share is not kept.
const LEAST_GAIN: f64 = 0.1;
/// With fewer rows no part is held out, and there is one round.
const LEAST_JUDGED: usize = 1000;
/// The share of the rows that is held out for the adversary, and the most of them.
const HELD_OUT: f64 = 0.2;
const MOST_JUDGES: usize = 5000;

/// A column whose values are places.
struct Line<'a> {
    column: usize,
    map: &'a ColumnMap,
    order: Vec<usize>,
}

impl JointMap {
    /// Learns the alignments, with the maps of the columns by themselves.
    ///
    /// After each round an adversary looks for S in rows that were held out. There is another round while it finds something beyond chance
    /// and the last one has lessened it; those rounds are kept after which it found least.
    pub(in crate::release) fn fit(
        rows: &Rows,
        maps: Vec<ColumnMap>,
        (draws, seed): (&Draws, u64),
        watch: &Watch,
    ) -> Result<Self> {
        let values: Vec<&[f64]> = rows.read.iter().map(|read| &read.values[..]).collect();
        let mut follows = Follow::detect(rows.forms, &values);
        for (follow, map) in follows.iter_mut().zip(&maps) {
            // A column that stays has nothing to follow.
            if matches!(map, ColumnMap::Kept(_)) {
                *follow = None;
            }
        }
        let (lines, places) = lines(rows, &maps, &follows, draws)?;
        let (steps, rounds) = if lines.len() < 2 {
            (Vec::new(), (0, 0))
        } else {
            rounds(rows, &lines, &places, seed, watch)?
        };
        let known = (rows.partition, rows.assignment);
        let mut last = last(rows, &lines, moved(&steps, &places, known)?)?.into_iter();
        let mut orders = lines
            .into_iter()
            .map(|line| line.order)
            .collect::<Vec<_>>()
            .into_iter();
        let mut columns = Vec::new();
        for (map, follow) in maps.into_iter().zip(follows) {
            columns.push(match (map, follow) {
                (_, Some(follow)) => JointColumn::Follow(follow),
                (map @ (ColumnMap::Quantile(_) | ColumnMap::Coupling(_)), None) => {
                    match (orders.next(), last.next()) {
                        (Some(order), Some(last)) => JointColumn::Moved { map, order, last },
                        _ => JointColumn::Alone(map),
                    }
                }
                (map, None) => JointColumn::Alone(map),
            });
        }
        Ok(Self {
            columns,
            steps,
            rounds,
        })
    }
}

/// The columns whose values are places, and their places. Places of numbers come first, because they order the categories.
fn lines<'a>(
    rows: &Rows,
    maps: &'a [ColumnMap],
    follows: &[Option<Follow>],
    draws: &Draws,
) -> Result<(Vec<Line<'a>>, Vec<Vec<f64>>)> {
    let free = |(k, map): (usize, &'a ColumnMap)| {
        let moved = matches!(map, ColumnMap::Quantile(_) | ColumnMap::Coupling(_));
        (moved && follows[k].is_none()).then_some((k, map))
    };
    let free: Vec<(usize, &ColumnMap)> = maps.iter().enumerate().filter_map(free).collect();
    let placed = |column: usize, map, order: &[usize]| {
        let own = (rows.forms[column].name.as_str(), draws);
        let values = &rows.read[column].values;
        places_of(map, (values, order), rows.assignment, own)
    };
    let mut numbers = Vec::new();
    for &(column, map) in &free {
        if matches!(map, ColumnMap::Quantile(_)) {
            numbers.extend(placed(column, map, &[])?);
        }
    }
    let (mut lines, mut places) = (Vec::new(), Vec::new());
    for (column, map) in free {
        let order = match map {
            ColumnMap::Coupling(map) => {
                order(&rows.read[column].values, map.len(), &numbers, rows.weights)
            }
            _ => Vec::new(),
        };
        places.extend(placed(column, map, &order)?);
        lines.push(Line { column, map, order });
    }
    Ok((lines, places))
}

/// The distribution of the last places of each column given S, over the rows that have a value.
fn last(rows: &Rows, lines: &[Line], places: Vec<Vec<f64>>) -> Result<Vec<Conditional>> {
    let own = lines.iter().zip(places).map(|(line, places)| {
        let values = &rows.read[line.column].values;
        let taught: Vec<usize> = (0..values.len()).filter(|&i| !values[i].is_nan()).collect();
        let weight = |(value, weight): (&f64, &f64)| if value.is_nan() { 0.0 } else { *weight };
        let weights: Vec<f64> = values.iter().zip(rows.weights).map(weight).collect();
        let reference = Reference {
            partition: rows.partition,
            assignment: rows.assignment,
            weights: &weights,
            rows: &taught,
        };
        Conditional::fit(&places, reference, 0)
    });
    own.collect()
}

/// The alignments of the rounds that are kept, how many rounds were tried, and how many are kept.
type Rounds = (Vec<Step>, (usize, usize));

/// The alignments of the rounds after which the adversary found least.
fn rounds(
    rows: &Rows,
    lines: &[Line],
    places: &[Vec<f64>],
    seed: u64,
    watch: &Watch,
) -> Result<Rounds> {
    let all: Vec<usize> = (0..rows.weights.len()).collect();
    let sample = random::sample(&all, MOST_ROWS, seed);
    let weights: Vec<f64> = sample.iter().map(|&i| rows.weights[i]).collect();
    let parts = parts(sample.len(), seed)?;
    let features = given::features(rows.partition, &rows.assignment.select(&sample))?;
    let taught = Taught {
        rows: &parts.training,
        weights: &weights,
    };
    let given = Orthonormal::new(&features, taught)?;
    let edges: Vec<Option<Vec<f64>>> = lines.iter().map(Line::edges).collect();
    let row = |&i: &usize| places.iter().map(move |place| place[i]);
    let mut own = Places {
        columns: lines.len(),
        values: sample.iter().flat_map(row).collect(),
        steps: Vec::new(),
        features: &features,
        given: &given,
        taught,
        edges: &edges,
    };
    if parts.held_out.is_empty() {
        own.round(seed, 0, watch)?;
        return Ok((own.steps, (1, 1)));
    }
    let held: Vec<usize> = parts.held_out.iter().map(|&i| sample[i]).collect();
    let weights: Vec<f64> = held.iter().map(|&i| rows.weights[i]).collect();
    let judge = Judge {
        sensitive: &rows.sensitive.select(&held),
        kinds: rows.partition.columns().collect(),
        weights: &weights,
        seed,
    };
    let judged = |own: &Places| {
        let columns = released(rows, lines, own, (&parts.held_out, &held));
        judge.find(&columns, watch)
    };
    let rounds = choose(&mut own, judged, seed, watch)?;
    Ok((own.steps, rounds))
}

/// The rows that teach, and those that are held out for the adversary: none of few.
fn parts(rows: usize, seed: u64) -> Result<Parts> {
    if rows < LEAST_JUDGED {
        return Ok(Parts {
            training: (0..rows).collect(),
            held_out: Vec::new(),
        });
    }
    split(
        rows,
        None,
        HELD_OUT.min(MOST_JUDGES as f64 / rows as f64),
        seed,
    )
}

/// Goes from round to round while the adversary finds less. Keeps the alignments of the best rounds; how many were tried, and kept.
fn choose(
    own: &mut Places,
    judged: impl Fn(&Places) -> Result<Finding>,
    seed: u64,
    watch: &Watch,
) -> Result<(usize, usize)> {
    let mut found = judged(own)?;
    let (mut best, mut steps) = (found.excess, 0);
    let (mut tried, mut kept) = (0, 0);
    while found.beyond_chance && tried < ROUNDS {
        own.round(seed, tried, watch)?;
        tried += 1;
        found = judged(own)?;
        if found.excess > (1.0 - LEAST_GAIN) * best {
            break;
        }
        (best, steps, kept) = (found.excess, own.steps.len(), tried);
    }
    own.steps.truncate(steps);
    Ok((tried, kept))
}

/// The values that the places of held-out rows stand for, by their ranks among the places of all rows.
fn released(
    rows: &Rows,
    lines: &[Line],
    own: &Places,
    (places, held): (&[usize], &[usize]),
) -> Vec<Column> {
    let column = |(k, line): (usize, &Line)| {
        let all = own.values.iter().skip(k).step_by(own.columns);
        let mut all: Vec<(f64, f64)> = all
            .copied()
            .zip(own.taught.weights.iter().copied())
            .collect();
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let steps = Steps::of(&all, all.len());
        let ranks: Vec<f64> = places
            .iter()
            .map(|&i| steps.view().ranks(own.values[i * own.columns + k]))
            .map(|(low, high)| f64::midpoint(low, high))
            .collect();
        let read = rows.read[line.column].select(held);
        let old = super::Old {
            values: &read.values,
            strength: 1.0,
            share: &|_| 0.0,
        };
        let values = super::values_at(line.map, &line.order, &ranks, &old);
        rows.forms[line.column].written(&read, &values)
    };
    lines.iter().enumerate().map(column).collect()
}

impl Line<'_> {
    /// The places at which the value changes, of a column of few values.
    fn edges(&self) -> Option<Vec<f64>> {
        let mut ranks = match self.map {
            ColumnMap::Quantile(map) => map.edges()?,
            ColumnMap::Coupling(map) => map.edges(&self.order),
            ColumnMap::Kept(_) | ColumnMap::Residual(_) => return None,
        };
        // Beyond the last value there is none.
        ranks.pop();
        let mut edges: Vec<f64> = ranks.into_iter().map(place).collect();
        edges.dedup();
        Some(edges)
    }
}
