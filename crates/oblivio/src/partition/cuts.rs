//! Sensitive columns being cut: the edges are settled, categories join as rows bring them.

use std::collections::HashMap;

use oblivio_base::column::{MOST_ROWS, sort_levels};
use oblivio_base::error::require;
use oblivio_base::{Error, MISSING, Result, Warning};
use serde::{Deserialize, Serialize};

use super::axis::{self, Axis, Cut, UNSEEN};
use super::boxes::{Extent, merge};
use super::derived::Derived;
use super::{Choice, Missing, OutOfRange, Partition, PartitionRule, Policies, Uses};
use crate::sensitive::{Kind, Sensitive};

/// Where a missing value lies until the number of categories is known.
const ABSENT: u32 = u32::MAX - 1;

/// How the sensitive columns are cut before all rows were seen.
///
/// A row's *key* is its position on every axis. Edges of bins do not move; a category gets the next position when it
/// first occurs, and the range of a continuous column grows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cuts {
    axes: Vec<Axis>,
    policies: Policies,
    /// Axes whose bounds were not given, so that they follow the rows.
    open: Vec<bool>,
    /// Rows outside bounds that were given.
    outside: usize,
    /// How it was chosen that there are cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    choice: Option<Choice>,
    /// Cells of fewer rows are joined with their neighbours; files of older versions join none.
    #[serde(default = "one")]
    least_rows: usize,
    /// Rows left out because they miss a value.
    #[serde(default)]
    left_out: usize,
}

fn one() -> usize {
    1
}

impl Cuts {
    /// Settles the edges on reference rows, of which `rows` in all are to come: their number decides the cells.
    pub(crate) fn fit(
        rule: &PartitionRule,
        reference: &Sensitive,
        weights: &[f64],
        rows: usize,
    ) -> Result<(Self, Vec<Warning>)> {
        rule.check(reference)?;
        let kinds: Vec<Kind> = reference.columns().iter().map(|c| rule.kind(c)).collect();
        let continuous = kinds.iter().filter(|k| **k == Kind::Continuous).count();
        let cells = rule.cells.resolve(rows, continuous);
        let mut warnings = Vec::new();
        let mut axes = Vec::new();
        let mut open = Vec::new();
        for (column, kind) in reference.columns().iter().zip(kinds) {
            axes.push(Axis::fit(
                column,
                weights,
                kind,
                cells,
                rule,
                &mut warnings,
            )?);
            open.push(rule.bounds_of(&column.name)?.is_none());
        }
        let cuts = Self {
            axes,
            policies: rule.policies,
            open,
            outside: 0,
            choice: None,
            least_rows: rule.least_rows(rows, continuous),
            left_out: 0,
        };
        Ok((cuts, warnings))
    }

    /// The same, with how it was chosen that there are cells.
    pub(crate) fn chosen_by(mut self, choice: Option<Choice>) -> Self {
        self.choice = choice;
        self
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|axis| axis.name.as_str())
    }

    /// Which rows are left out because they miss a value, where that is the policy.
    pub(crate) fn left_out(&self, sensitive: &Sensitive) -> Result<Vec<bool>> {
        if self.leaves_out() {
            sensitive.misses(self.names())
        } else {
            Ok(vec![false; sensitive.len()])
        }
    }

    /// Whether rows that miss a value are left out, and left to a second model.
    pub(crate) fn leaves_out(&self) -> bool {
        self.policies.missing == Missing::SensitiveFree
    }

    /// Counts rows that were left out.
    pub(crate) fn count_left_out(&mut self, rows: usize) {
        self.left_out += rows;
    }

    /// The key of every row, one after the other.
    pub(crate) fn keys(&mut self, sensitive: &Sensitive) -> Result<Vec<u32>> {
        let width = self.axes.len();
        let mut keys = vec![0; sensitive.len() * width];
        for (k, axis) in self.axes.iter_mut().enumerate() {
            let column = sensitive.column(&axis.name)?;
            let absent = column.missing();
            if let Some(&row) = absent.first() {
                if self.policies.missing != Missing::Category {
                    return Err(Error::MissingSensitive {
                        column: axis.name.clone(),
                        count: absent.len(),
                        row,
                    });
                }
                axis.missing = true;
            }
            match &mut axis.cut {
                Cut::Categories { levels } => {
                    let mut known: HashMap<String, u32> = levels.iter().cloned().zip(0..).collect();
                    let (names, codes) = column.to_categories();
                    let mut places = vec![None; names.len()];
                    for (row, &code) in codes.iter().enumerate() {
                        keys[row * width + k] = if code == MISSING {
                            ABSENT
                        } else {
                            // A level that no row has gets no place.
                            *places[code as usize].get_or_insert_with(|| {
                                let name = &names[code as usize];
                                *known.entry(name.clone()).or_insert_with(|| {
                                    levels.push(name.clone());
                                    levels.len() as u32 - 1
                                })
                            })
                        };
                    }
                }
                Cut::Bins {
                    edges,
                    bounds: (low, high),
                    strict,
                    ..
                } => {
                    for (row, value) in column.to_numbers()?.into_iter().enumerate() {
                        if value.is_nan() {
                            keys[row * width + k] = ABSENT;
                            continue;
                        }
                        if self.open[k] {
                            (*low, *high) = (low.min(value), high.max(value));
                        } else if value < *low || value > *high {
                            if *strict && self.policies.range == OutOfRange::Error {
                                return Err(Error::OutOfBounds {
                                    column: axis.name.clone(),
                                    value,
                                    low: *low,
                                    high: *high,
                                });
                            }
                            self.outside += 1;
                        }
                        keys[row * width + k] = edges.partition_point(|edge| *edge <= value) as u32;
                    }
                }
            }
        }
        Ok(keys)
    }

    /// How many of the rows with these keys are missing a value or lie outside given bounds.
    pub(crate) fn uses(&self, keys: &[Vec<u32>], counts: &[usize]) -> Uses {
        let absent = keys.iter().zip(counts).map(|(key, count)| {
            let places = key.iter().filter(|place| **place == ABSENT).count();
            places.saturating_mul(*count)
        });
        Uses {
            missing: absent.fold(0, usize::saturating_add),
            out_of_range: self.outside,
            sensitive_free: self.left_out,
            ..Uses::default()
        }
    }

    /// Takes in what another set of cuts of the same columns has seen, and says how its positions are called here: for
    /// every axis, the new position of each old one. `None` if the cuts are not of one making.
    pub(crate) fn join(&mut self, other: &Self) -> Option<Vec<Renaming>> {
        let alike = self.axes.len() == other.axes.len()
            && self.policies == other.policies
            && self.least_rows == other.least_rows;
        if !alike {
            return None;
        }
        self.outside += other.outside;
        self.left_out += other.left_out;
        let axes = self.axes.iter_mut().zip(&other.axes);
        axes.map(|(mine, theirs)| {
            if mine.name != theirs.name {
                return None;
            }
            mine.missing |= theirs.missing;
            match (&mut mine.cut, &theirs.cut) {
                (Cut::Categories { levels }, Cut::Categories { levels: new }) => {
                    let mut known: HashMap<String, u32> = levels.iter().cloned().zip(0..).collect();
                    let place = |level: &String| {
                        *known.entry(level.clone()).or_insert_with(|| {
                            levels.push(level.clone());
                            levels.len() as u32 - 1
                        })
                    };
                    Some(Renaming::Places(new.iter().map(place).collect()))
                }
                (
                    Cut::Bins { edges, bounds, .. },
                    Cut::Bins {
                        edges: same,
                        bounds: (low, high),
                        ..
                    },
                ) if edges == same => {
                    *bounds = (bounds.0.min(*low), bounds.1.max(*high));
                    Some(Renaming::Same)
                }
                _ => None,
            }
        })
        .collect()
    }

    /// How keys are called by the axes of a partition; `None` if these are of other columns, or cut elsewhere.
    pub(super) fn renamed_in(&self, axes: &[Axis]) -> Option<Vec<Renaming>> {
        let alike = |(mine, theirs): (&Axis, &Axis)| match (&mine.cut, &theirs.cut) {
            _ if mine.name != theirs.name => None,
            (Cut::Categories { levels }, Cut::Categories { levels: known }) => {
                let places: HashMap<&String, u32> = known.iter().zip(0..).collect();
                let place = |level| places.get(level).copied().unwrap_or(UNSEEN);
                Some(Renaming::Places(levels.iter().map(place).collect()))
            }
            (Cut::Bins { edges, .. }, Cut::Bins { edges: same, .. }) => {
                (edges == same).then_some(Renaming::Same)
            }
            _ => None,
        };
        let pairs = self.axes.iter().zip(axes);
        let renamings: Option<Vec<Renaming>> = pairs.map(alike).collect();
        renamings.filter(|_| self.axes.len() == axes.len())
    }

    /// The category at a place on an axis, in words.
    pub(super) fn value(&self, axis: usize, place: u32) -> String {
        match &self.axes[axis].cut {
            _ if place == ABSENT => "missing".into(),
            Cut::Categories { levels } => levels[place as usize].clone(),
            Cut::Bins { .. } => String::new(),
        }
    }

    /// The partition of these keys, and the cell of each.
    ///
    /// Keys without a row are left out, and those of cells with too few rows share one with others. Categories come in the
    /// order a person would put them, cells in lexical order.
    pub(crate) fn partition(
        mut self,
        keys: &[Vec<u32>],
        mass: &[f64],
        counts: &[usize],
    ) -> (Partition, Vec<Option<usize>>, Vec<Warning>) {
        let renamings: Vec<Renaming> = self.axes.iter_mut().map(sort).collect();
        let mut seen: Vec<(Vec<u32>, usize)> = (0..keys.len())
            .filter(|&slot| counts[slot] > 0)
            .map(|slot| {
                let axes = keys[slot].iter().zip(&renamings).zip(&self.axes);
                let key = axes.map(|((place, renaming), axis)| {
                    if *place == ABSENT {
                        axis.len() - 1
                    } else {
                        renaming.of(*place)
                    }
                });
                (key.collect(), slot)
            })
            .collect();
        seen.sort_unstable();
        let (keys_seen, slots): (Vec<Vec<u32>>, Vec<usize>) = seen.into_iter().unzip();
        let rows = slots.iter().map(|&slot| rows_of(counts[slot], mass[slot]));
        let cells = merge(
            &self.axes,
            &keys_seen,
            &rows.collect::<Vec<_>>(),
            self.least_rows,
        );
        let mut places = vec![None; keys.len()];
        for (cell, (_, members)) in cells.iter().enumerate() {
            for &k in members {
                places[slots[k]] = Some(cell);
            }
        }
        let of_cell = |members: &[usize]| -> (f64, usize) {
            let slots = || members.iter().map(|&k| slots[k]);
            let mass = slots().map(|slot| mass[slot]).sum();
            (mass, slots().map(|slot| counts[slot]).sum())
        };
        let each = cells.iter().map(|(_, members)| of_cell(members));
        let (mass, counts): (Vec<f64>, Vec<usize>) = each.unzip();
        let warnings = self.remarks(&cells, &counts);
        let extents = cells
            .into_iter()
            .map(|(extent, _)| (extent.low, extent.high));
        let (keys, mut ends): (Vec<Vec<u32>>, Vec<Vec<u32>>) = extents.unzip();
        if keys == ends {
            ends.clear();
        }
        let partition = Partition {
            mass,
            counts,
            keys,
            ends,
            axes: self.axes,
            smooth: None,
            choice: self.choice.clone(),
            policies: self.policies,
            lookup: Derived::default(),
        };
        (partition, places, warnings)
    }

    /// What there is to say about cells of so many rows.
    fn remarks(&self, cells: &[(Extent, Vec<usize>)], counts: &[usize]) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let joined = cells.iter().filter(|(_, members)| members.len() > 1);
        let made = joined.clone().count();
        if made > 0 {
            warnings.push(Warning::MergedCells {
                count: joined.map(|(_, members)| members.len()).sum(),
                made,
                least: self.least_rows,
            });
        }
        if cells.len() == 1 && !self.axes.is_empty() {
            warnings.push(Warning::SingleCell);
        }
        let singletons = counts.iter().filter(|count| **count == 1).count();
        if singletons > 0 {
            warnings.push(Warning::SingletonCells { count: singletons });
        }
        warnings
    }

    /// Refuses cuts and keys that no fit gives (of a damaged or hostile file).
    pub(crate) fn check_read(&self, keys: &[Vec<u32>]) -> Result<()> {
        axis::check_read(&self.axes)?;
        let sound = self.open.len() == self.axes.len()
            && self.outside <= MOST_ROWS
            && self.left_out <= MOST_ROWS
            && keys.iter().all(|key| {
                let mut places = key.iter().zip(&self.axes);
                key.len() == self.axes.len()
                    && places.all(|(place, axis)| {
                        (*place == ABSENT && axis.missing)
                            || *place < axis.len() - u32::from(axis.missing)
                    })
            });
        require(sound, "its cells")
    }
}

/// How positions on an axis are called elsewhere.
pub(crate) enum Renaming {
    Same,
    Places(Vec<u32>),
}

impl Renaming {
    pub(crate) fn of(&self, place: u32) -> u32 {
        match self {
            Self::Places(places) if place != ABSENT => places[place as usize],
            _ => place,
        }
    }

    /// The position on an axis of a partition.
    pub(super) fn on(&self, axis: &Axis, place: u32) -> u32 {
        match place {
            ABSENT if axis.missing => axis.len() - 1,
            ABSENT => UNSEEN,
            place => self.of(place),
        }
    }
}

/// Rows of a key, or the sum of their weights where weights count repetitions.
///
/// Weights are added in the order of the rows, so a whole number is reached if it is but for rounding.
fn rows_of(count: usize, mass: f64) -> usize {
    count.max((mass * (1.0 + 1e-9)).floor() as usize)
}

/// Puts the categories of an axis in order.
fn sort(axis: &mut Axis) -> Renaming {
    let Cut::Categories { levels } = &mut axis.cut else {
        return Renaming::Same;
    };
    let before = levels.clone();
    sort_levels(levels);
    let places: HashMap<&String, u32> = levels.iter().zip(0..).collect();
    Renaming::Places(before.iter().map(|level| places[level]).collect())
}
