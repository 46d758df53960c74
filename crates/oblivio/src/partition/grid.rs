//! A partition as tables: the place of every combination of positions, policies included, for those who have no loops.

use std::collections::HashMap;

use super::axis::{Axis, Cut, UNSEEN};
use super::{Missing, OutOfRange, Partition, Place, SensitiveDesign};

/// How a sensitive column is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cutting<'p> {
    /// Into these levels; a missing value has the position after them, an unknown one that after it.
    Categories(&'p [String]),
    /// At these edges; a missing value has the position after the bins.
    Bins {
        /// Ascending; a value on an edge lies above it.
        edges: &'p [f64],
        /// Values outside are refused.
        bounds: Option<(f64, f64)>,
    },
}

impl Cutting<'_> {
    /// The number of positions.
    #[allow(clippy::len_without_is_empty, reason = "missing has a position")]
    pub fn len(self) -> usize {
        match self {
            Self::Categories(levels) => levels.len() + 2,
            Self::Bins { edges, .. } => edges.len() + 2,
        }
    }
}

/// The place of every combination of positions, the last column's changing fastest.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// A row of the assignment, or the number of its rows where the combination is refused.
    pub(crate) places: Vec<usize>,
    /// Every cell, then every mixture that stands in for one.
    pub(crate) assignment: SensitiveDesign,
}

impl Partition {
    /// How each sensitive column is cut.
    pub fn cuttings(&self) -> Vec<(&str, Cutting<'_>)> {
        let axes = self.axes.iter();
        axes.map(|axis| (axis.name.as_str(), self.cutting(axis)))
            .collect()
    }

    fn cutting<'p>(&self, axis: &'p Axis) -> Cutting<'p> {
        match &axis.cut {
            Cut::Categories { levels } => Cutting::Categories(levels),
            Cut::Bins {
                edges,
                bounds,
                strict,
                ..
            } => {
                let must_hold = *strict && self.policies.range == OutOfRange::Error;
                Cutting::Bins {
                    edges,
                    bounds: must_hold.then_some(*bounds),
                }
            }
        }
    }

    /// The place of every combination of positions; `None` if the mixtures that stand in have more weights than `most` together.
    pub(crate) fn grid(&self, most: usize) -> Option<Grid> {
        let sizes: Vec<usize> = self.cuttings().iter().map(|(_, cut)| cut.len()).collect();
        let count: usize = sizes.iter().product();
        let mut mixtures: Vec<Vec<f64>> = Vec::new();
        let mut known: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut places = Vec::with_capacity(count);
        let mut positions = vec![0; sizes.len()];
        for _ in 0..count {
            places.push(self.placed(&positions).map(|place| match place {
                Place::Cell(cell) => cell,
                Place::Mixture(weights) => {
                    let bits = weights.iter().map(|w| w.to_bits()).collect();
                    *known.entry(bits).or_insert_with(|| {
                        mixtures.push(weights);
                        self.len() + mixtures.len() - 1
                    })
                }
            }));
            if mixtures.len() * self.len() > most {
                return None;
            }
            for (position, size) in positions.iter_mut().zip(&sizes).rev() {
                *position += 1;
                if *position < *size {
                    break;
                }
                *position = 0;
            }
        }
        let all = self.len() + mixtures.len();
        Some(Grid {
            places: places.into_iter().map(|p| p.unwrap_or(all)).collect(),
            assignment: SensitiveDesign::from_codes(
                self.len(),
                (0..all as u32).collect(),
                mixtures,
            ),
        })
    }

    /// Where rows at these positions belong; `None` if they are refused.
    fn placed(&self, positions: &[usize]) -> Option<Place> {
        let mut key = Vec::with_capacity(positions.len());
        for (axis, &position) in self.axes.iter().zip(positions) {
            let present = axis.len() as usize - usize::from(axis.missing);
            key.push(if position < present {
                position as u32
            } else if position > present {
                UNSEEN
            } else if axis.missing && self.policies.missing == Missing::Category {
                present as u32
            } else {
                return None;
            });
        }
        if let Some(cell) = self.find(&key) {
            return Some(Place::Cell(cell));
        }
        let weights = self.stand_in(&key, &|_| String::new()).ok()?;
        Some(Place::Mixture(weights))
    }
}
