//! One sensitive column, cut into categories or bins.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use oblivio_base::column::LevelMap;
use oblivio_base::error::require;
use oblivio_base::{Column, Error, Result, Value, Warning};
use serde::{Deserialize, Serialize};

use super::rule::MOST_CELLS;
use super::{Binning, PartitionRule, Policies, Uses};
use crate::sensitive::{Kind, MOST_COLUMNS};

/// The position of a category that no reference row has.
pub(super) const UNSEEN: u32 = u32::MAX;

/// Letters of a name or a category in words; a cell has many, and there are many cells.
const LETTERS: usize = 64;

/// How one sensitive column is cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) cut: Cut,
    /// Whether missing is a level of its own, the last one.
    pub(super) missing: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Cut {
    Categories {
        levels: Vec<String>,
    },
    /// Bin k holds s with edges[k−1] ≤ s < edges[k]; the first and the last reach to ∓∞.
    Bins {
        edges: Vec<f64>,
        binning: Binning,
        /// The smallest and largest value of the reference, or the bounds given.
        bounds: (f64, f64),
        /// Bounds that were given and must hold.
        strict: bool,
    },
}

/// What a column's rows come to on an axis.
pub(super) struct Positions {
    pub(super) rows: Vec<u32>,
    pub(super) out_of_range: usize,
    pub(super) missing: usize,
}

impl Axis {
    /// Cuts a reference column; `cells` is the number of bins for a continuous one.
    pub(super) fn fit(
        column: &Column,
        weights: &[f64],
        kind: Kind,
        cells: usize,
        rule: &PartitionRule,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self> {
        let missing = !column.missing().is_empty();
        let cut = match kind {
            Kind::Categorical => Cut::Categories {
                levels: column.sorted_levels(),
            },
            Kind::Continuous => bins(column, weights, cells, rule, warnings)?,
        };
        Ok(Self {
            name: column.name.clone(),
            cut,
            missing,
        })
    }

    /// The number of positions, that of missing values included.
    pub(super) fn len(&self) -> u32 {
        self.present() + u32::from(self.missing)
    }

    fn present(&self) -> u32 {
        match &self.cut {
            Cut::Categories { levels } => levels.len() as u32,
            Cut::Bins { edges, .. } => edges.len() as u32 + 1,
        }
    }

    /// The bins of a continuous column, `None` for a categorical one.
    pub(super) fn bins(&self) -> Option<u32> {
        match self.cut {
            Cut::Categories { .. } => None,
            Cut::Bins { .. } => Some(self.present()),
        }
    }

    /// Whether its bins are halves of halves.
    pub(super) fn is_dyadic(&self) -> bool {
        let binning = match &self.cut {
            Cut::Categories { .. } => None,
            Cut::Bins { binning, .. } => Some(*binning),
        };
        binning == Some(Binning::Dyadic)
    }

    pub(super) fn locate(&self, column: &Column, policies: Policies) -> Result<Positions> {
        let absent = column.missing();
        if let Some(&row) = absent.first()
            && !(policies.missing == super::Missing::Category && self.missing)
        {
            return Err(Error::MissingSensitive {
                column: self.name.clone(),
                count: absent.len(),
                row,
            });
        }
        let mut out_of_range = 0;
        let mut positions: Vec<u32> = match &self.cut {
            Cut::Categories { levels } => {
                let known: HashMap<&str, u32> = levels
                    .iter()
                    .enumerate()
                    .map(|(i, level)| (level.as_str(), i as u32))
                    .collect();
                let (levels, codes) = column.to_categories();
                let table: Vec<u32> = levels
                    .iter()
                    .map(|level| known.get(level.as_str()).copied().unwrap_or(UNSEEN))
                    .collect();
                codes
                    .iter()
                    .map(|&c| table.get(c as usize).copied().unwrap_or(UNSEEN))
                    .collect()
            }
            Cut::Bins {
                edges,
                bounds: (low, high),
                strict,
                ..
            } => {
                let values = column.to_numbers()?;
                if let Some(row) = values.iter().position(|v| v.is_infinite()) {
                    return Err(Error::NotFinite {
                        name: format!("sensitive column `{}`", self.name),
                        row,
                        value: values[row],
                    });
                }
                let outside = |v: &&f64| **v < *low || **v > *high;
                out_of_range = values.iter().filter(outside).count();
                if let Some(value) = values.iter().find(outside)
                    && *strict
                    && policies.range == super::OutOfRange::Error
                {
                    return Err(Error::OutOfBounds {
                        column: self.name.clone(),
                        value: *value,
                        low: *low,
                        high: *high,
                    });
                }
                values.iter().map(|v| bin(edges, *v)).collect()
            }
        };
        for &row in &absent {
            positions[row] = self.present();
        }
        Ok(Positions {
            rows: positions,
            out_of_range,
            missing: absent.len(),
        })
    }

    /// The position of one value; `None` where [`locate`](Self::locate) refuses it.
    pub(super) fn position(
        &self,
        value: Value,
        levels: &LevelMap,
        policies: Policies,
        uses: &mut Uses,
    ) -> Option<u32> {
        if value.is_missing() {
            uses.missing += 1;
            let level = policies.missing == super::Missing::Category && self.missing;
            return level.then(|| self.present());
        }
        match &self.cut {
            Cut::Categories { .. } => Some(levels.find(value).unwrap_or(UNSEEN)),
            Cut::Bins {
                edges,
                bounds: (low, high),
                strict,
                ..
            } => {
                let value = value.finite()?;
                if value < *low || value > *high {
                    uses.out_of_range += 1;
                    if *strict && policies.range == super::OutOfRange::Error {
                        return None;
                    }
                }
                Some(bin(edges, value))
            }
        }
    }

    /// The categories of the column; none if it is continuous.
    pub(super) fn levels(&self) -> &[String] {
        match &self.cut {
            Cut::Categories { levels } => levels,
            Cut::Bins { .. } => &[],
        }
    }

    /// The positions in words: `sex=F`, `30 <= age < 45`.
    pub(super) fn describe(&self, from: u32, to: u32) -> String {
        let name = shown(&self.name);
        if to - from > 1 && from == 0 && to >= self.present() {
            return format!("{name} any");
        }
        if from == self.present() {
            return format!("{name} missing");
        }
        match &self.cut {
            Cut::Categories { levels } => {
                format!("{name}={}", shown(&levels[from as usize]))
            }
            Cut::Bins { edges, .. } => {
                let low = from.checked_sub(1).and_then(|k| edges.get(k as usize));
                let high = edges.get(to as usize - 1);
                match (low, high) {
                    (None, None) => format!("{name} any"),
                    (None, Some(high)) => format!("{name} < {}", short(*high)),
                    (Some(low), None) => format!("{name} >= {}", short(*low)),
                    (Some(low), Some(high)) => {
                        format!("{} <= {name} < {}", short(*low), short(*high))
                    }
                }
            }
        }
    }

    /// A category or range of bins in as few words as will do beside others, without the column's name.
    pub(super) fn brief(&self, from: u32, to: u32) -> String {
        if from == self.present() {
            return "missing".into();
        }
        match &self.cut {
            Cut::Categories { levels } => shown(&levels[from as usize]).into_owned(),
            Cut::Bins { edges, .. } => {
                let low = from.checked_sub(1).and_then(|k| edges.get(k as usize));
                match (low, edges.get(to as usize - 1)) {
                    (None, None) => "any".into(),
                    (None, Some(high)) => format!("< {}", short(*high)),
                    (Some(low), None) => format!("≥ {}", short(*low)),
                    (Some(low), Some(high)) => format!("{} to {}", short(*low), short(*high)),
                }
            }
        }
    }

    /// Refuses an axis that no fit gives (of a damaged or hostile file).
    fn check_read(&self) -> Result<()> {
        let sound = match &self.cut {
            Cut::Categories { levels } => !levels.is_empty() || self.missing,
            Cut::Bins { edges, bounds, .. } => {
                edges.len() < MOST_CELLS
                    && edges.iter().all(|e| e.is_finite())
                    && edges.is_sorted_by(|a, b| a < b)
                    && bounds.0 <= bounds.1
            }
        };
        require(sound, "its partition")
    }
}

/// Refuses axes that no fit gives together.
pub(super) fn check_read(axes: &[Axis]) -> Result<()> {
    let names: HashSet<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    let sound = axes.len() <= MOST_COLUMNS && names.len() == axes.len();
    require(sound, "its partition")?;
    axes.iter().try_for_each(Axis::check_read)
}

/// A text, or its beginning; on one line, whatever is in it.
fn shown(text: &str) -> Cow<'_, str> {
    let (beginning, more) = match text.char_indices().nth(LETTERS) {
        None => (text, ""),
        Some((end, _)) => (&text[..end], "…"),
    };
    if more.is_empty() && !text.contains(char::is_control) {
        return text.into();
    }
    let plain = beginning.replace(char::is_control, "\u{fffd}");
    format!("{plain}{more}").into()
}

/// The bin of a number.
fn bin(edges: &[f64], value: f64) -> u32 {
    edges.partition_point(|edge| *edge <= value) as u32
}

/// A number short enough to read; edges keep all their digits, their names need not.
fn short(value: f64) -> String {
    let rounded = format!("{value:.4e}").parse::<f64>().unwrap_or(value);
    rounded.to_string()
}

fn bins(
    column: &Column,
    weights: &[f64],
    cells: usize,
    rule: &PartitionRule,
    warnings: &mut Vec<Warning>,
) -> Result<Cut> {
    let mut pairs: Vec<(f64, f64)> = column
        .to_numbers()?
        .into_iter()
        .zip(weights.iter().copied())
        .filter(|(value, _)| !value.is_nan())
        .collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else {
        return Err(Error::MissingSensitive {
            column: column.name.clone(),
            count: column.len(),
            row: 0,
        });
    };
    let given = rule.bounds_of(&column.name)?;
    let (low, high) = given.unwrap_or((first.0, last.0));
    let cells = match rule.binning {
        Binning::Dyadic => cells.next_power_of_two(),
        Binning::Uniform | Binning::Quantile => cells,
    };
    let constant = first.0 == last.0;
    let edges = if constant && given.is_none() {
        Vec::new()
    } else if rule.binning == Binning::Quantile {
        quantile_edges(&pairs, cells)
    } else {
        (1..cells)
            .map(|k| low + (high - low) * (k as f64 / cells as f64))
            .collect()
    };
    if constant {
        warnings.push(Warning::ConstantSensitive {
            column: column.name.clone(),
        });
    } else if edges.len() + 1 < cells {
        warnings.push(Warning::FewerCells {
            column: column.name.clone(),
            asked: cells,
            made: edges.len() + 1,
        });
    }
    Ok(Cut::Bins {
        edges,
        binning: rule.binning,
        bounds: (low, high),
        strict: given.is_some() && rule.binning == Binning::Dyadic,
    })
}

/// Edge k is the smallest value with at least the share k/ℓ of the mass strictly below it.
///
/// Equal values are never parted, and a weight counts as that many rows.
fn quantile_edges(sorted: &[(f64, f64)], cells: usize) -> Vec<f64> {
    let total: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    let mut edges = Vec::new();
    let (mut below, mut previous, mut k) = (0.0, f64::NEG_INFINITY, 1);
    for &(value, weight) in sorted {
        if value > previous {
            let reached = k;
            // Sums of weights carry rounding errors; a share that is reached but for them counts as reached.
            while k < cells && below >= total * k as f64 / cells as f64 * (1.0 - 1e-12) {
                k += 1;
            }
            if k > reached {
                edges.push(value);
            }
            previous = value;
        }
        below += weight;
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_bins_hold_equal_mass_and_weights_count_as_rows() {
        let values: Vec<(f64, f64)> = (1..=8).map(|v| (f64::from(v), 1.0)).collect();
        assert_eq!(quantile_edges(&values, 2), vec![5.0]);
        assert_eq!(quantile_edges(&values, 4), vec![3.0, 5.0, 7.0]);
        let tied = [(1.0, 5.0), (2.0, 1.0), (3.0, 2.0)];
        assert_eq!(quantile_edges(&tied, 4), vec![2.0, 3.0]);
        let rows: Vec<(f64, f64)> = [1.0; 5]
            .into_iter()
            .chain([2.0, 3.0, 3.0])
            .map(|v| (v, 1.0))
            .collect();
        assert_eq!(quantile_edges(&rows, 4), quantile_edges(&tied, 4));
    }
}
