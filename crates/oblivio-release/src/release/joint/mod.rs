//! All columns together: after the repair of each, alignments along axes of all of them, and back to each column's own values.
//!
//! A column is a *place* on a line: the rank that the repair of the column by itself gives its value, drawn within the share of a
//! value that many rows have, on a logistic scale. Places do not depend on S one by one. Alignments of components of the rows take out
//! of the places what they say of S only together. The rank of the last place then gives the value, so that the distribution of a
//! column is the one that the repair of the column by itself gives.

mod adversary;
mod axis;
mod fit;
mod follow;
mod given;
mod order;
mod round;
mod step;

use oblivio::Partition;
use oblivio::partition::SensitiveDesign;
use oblivio_base::error::require;
use oblivio_base::{Result, Watch};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::follow::Follow;
use self::step::Step;
use super::bytes::DAMAGED;
use super::columns::ColumnMap;
use super::conditional::{Conditional, rank};
use super::draw::{Draws, Purpose};
use super::form::{ColumnForm, ReadColumn};

/// Ranks nearer to 0 or 1 are taken as this far.
const EDGE: f64 = 1e-6;

/// A joint release of the columns of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct JointMap {
    pub(super) columns: Vec<JointColumn>,
    /// One alignment after the other.
    steps: Vec<Step>,
    /// How many rounds of alignments were tried, and the number that is kept.
    pub(super) rounds: (usize, usize),
}

/// What becomes of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum JointColumn {
    /// What its own map makes of it, without the other columns.
    Alone(ColumnMap),
    /// The value that goes with the released value of another column.
    Follow(Follow),
    /// A place among the others.
    Moved {
        map: ColumnMap,
        /// Its categories from one end of the line to the other; empty for numbers.
        order: Vec<usize>,
        /// The distribution of its last places given S.
        last: Conditional,
    },
}

/// The partition, and the cells or features of S of rows.
pub(super) type Known<'a> = (&'a Partition, &'a SensitiveDesign);

impl JointMap {
    /// The released values of rows, not yet written as the columns' are.
    pub(super) fn apply(
        &self,
        (forms, read): (&[ColumnForm], &[ReadColumn]),
        known: Known,
        (draws, strength): (&Draws, f64),
        watch: &Watch,
    ) -> Result<Vec<Vec<f64>>> {
        let mut places = Vec::new();
        for ((column, form), read) in self.columns.iter().zip(forms).zip(read) {
            if let JointColumn::Moved { map, order, .. } = column {
                let own = (form.name.as_str(), draws);
                places.extend(places_of(map, (&read.values, order), known.1, own)?);
            }
        }
        watch.check()?;
        let mut moved = moved(&self.steps, &places, known)?.into_iter();
        watch.check()?;
        let mut values: Vec<Vec<f64>> = Vec::new();
        for ((column, form), read) in self.columns.iter().zip(forms).zip(read) {
            values.push(match column {
                JointColumn::Alone(map) => {
                    map.apply(&read.values, known.1, (form, draws), strength)?
                }
                JointColumn::Follow(_) => read.values.clone(),
                JointColumn::Moved { map, order, last } => {
                    let place = moved.next().unwrap_or_default();
                    let at = draws.of(&form.name, Purpose::Last);
                    let ranks =
                        last.each(known.1, |row, parts| rank(parts, place[row], at.at(row)))?;
                    let share = draws.of(&form.name, Purpose::Share);
                    let share = |row| share.at(row);
                    values_at(
                        map,
                        order,
                        &ranks,
                        &Old {
                            values: &read.values,
                            strength,
                            share: &share,
                        },
                    )
                }
            });
        }
        for (k, column) in self.columns.iter().enumerate() {
            if let JointColumn::Follow(follow) = column {
                let other = values[follow.column].iter().zip(&read[k].values);
                values[k] = other.map(|(v, own)| follow.value(*v, *own)).collect();
            }
        }
        Ok(values)
    }

    /// Refuses a map that no fit with these columns and this partition gives.
    pub(super) fn check_read(&self, forms: &[ColumnForm], partition: &Partition) -> Result<()> {
        require(self.columns.len() == forms.len(), DAMAGED)?;
        for (column, form) in self.columns.iter().zip(forms) {
            self.check_column(column, (form, forms), partition)?;
        }
        let moved = |column: &&JointColumn| matches!(column, JointColumn::Moved { .. });
        let count = self.columns.iter().filter(moved).count();
        let width = given::width(partition);
        require(
            self.steps.iter().all(|step| step.fits(count, width)),
            DAMAGED,
        )
    }

    fn check_column(
        &self,
        column: &JointColumn,
        (form, forms): (&ColumnForm, &[ColumnForm]),
        partition: &Partition,
    ) -> Result<()> {
        match column {
            JointColumn::Alone(map) => map.check_read(form, partition),
            JointColumn::Follow(follow) => {
                let leads = self.columns.get(follow.column);
                let leads = leads.is_some_and(|leads| !matches!(leads, JointColumn::Follow(_)));
                require(leads && follow.fits(forms, form), DAMAGED)
            }
            JointColumn::Moved { map, order, last } => {
                let mut levels = order.clone();
                levels.sort_unstable();
                let count = match map {
                    ColumnMap::Coupling(map) => Some(map.len()),
                    ColumnMap::Quantile(_) => Some(0),
                    _ => None,
                };
                let ordered = count.is_some_and(|count| levels.into_iter().eq(0..count));
                require(ordered, DAMAGED)?;
                map.check_read(form, partition)?;
                last.check_read(partition)
            }
        }
    }

    /// All long vectors.
    pub(super) fn numbers(&mut self) -> Vec<&mut Vec<f64>> {
        let mut numbers = Vec::new();
        for column in &mut self.columns {
            match column {
                JointColumn::Alone(map) => numbers.extend(map.numbers()),
                JointColumn::Follow(follow) => numbers.extend(follow.numbers()),
                JointColumn::Moved { map, last, .. } => {
                    numbers.extend(map.numbers());
                    numbers.extend(last.numbers());
                }
            }
        }
        numbers.extend(self.steps.iter_mut().flat_map(Step::numbers));
        numbers
    }

    /// The treatment of a column, in words.
    pub(super) fn words(&self, column: usize, forms: &[ColumnForm]) -> String {
        match &self.columns[column] {
            JointColumn::Alone(map) => map.words().into(),
            JointColumn::Follow(follow) => {
                format!(
                    "the value that goes with the released `{}`",
                    forms[follow.column].name
                )
            }
            JointColumn::Moved { map, .. } => {
                format!("{}; aligned with the other columns", map.words())
            }
        }
    }

    /// The map of each column that has one of its own.
    pub(super) fn map(&self, column: usize) -> Option<&ColumnMap> {
        match self.columns.get(column)? {
            JointColumn::Alone(map) | JointColumn::Moved { map, .. } => Some(map),
            JointColumn::Follow(_) => None,
        }
    }
}

/// Values as they were, the share of the way to the released ones, and the draw of each row for a column of few values.
struct Old<'a> {
    values: &'a [f64],
    strength: f64,
    share: &'a (dyn Fn(usize) -> f64 + Sync),
}

/// Where the values of a column are on its line; none for a column that is left as it is.
fn places_of(
    map: &ColumnMap,
    (values, order): (&[f64], &[usize]),
    assignment: &SensitiveDesign,
    own: (&str, &Draws),
) -> Result<Option<Vec<f64>>> {
    let ranks = match map {
        ColumnMap::Quantile(map) => map.ranks(values, assignment, own)?,
        ColumnMap::Coupling(map) => map.ranks(values, assignment, own, order)?,
        ColumnMap::Kept(_) | ColumnMap::Residual(_) => return Ok(None),
    };
    Ok(Some(ranks.into_iter().map(place).collect()))
}

/// A rank on the logistic scale.
fn place(rank: f64) -> f64 {
    let rank = rank.clamp(EDGE, 1.0 - EDGE);
    (rank / (1.0 - rank)).ln()
}

/// The places of rows after all alignments, column by column.
fn moved(
    steps: &[Step],
    places: &[Vec<f64>],
    (partition, assignment): Known,
) -> Result<Vec<Vec<f64>>> {
    /// Rows whose features of S are held at a time.
    const BLOCK: usize = 2048;
    let rows: Vec<usize> = (0..assignment.len()).collect();
    let block = |block: &[usize]| -> Result<Vec<Vec<f64>>> {
        let features = given::features(partition, &assignment.select(block))?;
        let own = block.iter().enumerate().map(|(k, &i)| {
            let mut row: Vec<f64> = places.iter().map(|place| place[i]).collect();
            for step in steps {
                step.apply(&mut row, features.col_as_slice(k));
            }
            row
        });
        Ok(own.collect())
    };
    let blocks: Vec<Vec<Vec<f64>>> = rows.par_chunks(BLOCK).map(block).collect::<Result<_>>()?;
    let column = |k: usize| blocks.iter().flatten().map(|row| row[k]).collect();
    Ok((0..places.len()).map(column).collect())
}

/// The values of ranks; a value that is missing or not known stays.
fn values_at(map: &ColumnMap, order: &[usize], ranks: &[f64], old: &Old) -> Vec<f64> {
    let rows = 0..ranks.len();
    match map {
        ColumnMap::Quantile(map) => {
            let common = map.common();
            let value = |row: usize| {
                let own = old.values[row];
                if own.is_nan() {
                    return own;
                }
                map.partial(own, common(ranks[row]), old.strength, (old.share)(row))
            };
            rows.into_par_iter().map(value).collect()
        }
        ColumnMap::Coupling(map) => {
            let edges = map.edges(order);
            let value = |row: usize| {
                let own = old.values[row];
                let known = own < map.len() as f64;
                if !known || (old.share)(row) >= old.strength {
                    return own;
                }
                let at = edges.partition_point(|edge| *edge <= ranks[row]);
                order
                    .get(at)
                    .or(order.last())
                    .map_or(own, |level| *level as f64)
            };
            rows.into_par_iter().map(value).collect()
        }
        ColumnMap::Kept(_) | ColumnMap::Residual(_) => old.values.to_vec(),
    }
}
