//! The place of one row after the other, in memory that is taken once.

use oblivio_base::Value;
use oblivio_base::column::LevelMap;

use super::axis::UNSEEN;
use super::regression::{Block, Smooth, Source};
use super::{Partition, RowStatus, SensitiveDesign, Surroundings, Uses};

/// What [`assign`](Partition::assign) does, for one row at a time. The partition is that which it was made for.
#[derive(Clone, Debug)]
pub(crate) struct PartitionRow {
    axes: Columns,
    key: Vec<u32>,
    around: Surroundings,
    blocks: Vec<BlockRow>,
    /// The place of the last row: its first mixture is there for rows that need one.
    pub(crate) assignment: SensitiveDesign,
}

/// Where columns are among the values of a row, and their categories.
#[derive(Clone, Debug)]
struct Columns {
    positions: Vec<usize>,
    levels: Vec<LevelMap>,
}

/// Where the features of a block come from.
#[derive(Clone, Debug)]
enum BlockRow {
    Cells(Box<PartitionRow>),
    Coordinates { columns: Columns, point: Vec<f64> },
}

impl Columns {
    /// Every name is among those of the row.
    fn new<'n>(
        names: impl Iterator<Item = &'n str>,
        levels: Vec<LevelMap>,
        row: &[&str],
    ) -> Option<Self> {
        let position = |name| row.iter().position(|own| *own == name);
        let positions = names.map(position).collect::<Option<_>>()?;
        Some(Self { positions, levels })
    }

    fn values<'r>(&'r self, row: &'r [Value]) -> impl Iterator<Item = (Value<'r>, &'r LevelMap)> {
        let positions = self.positions.iter().zip(&self.levels);
        positions.map(|(at, levels)| (row[*at], levels))
    }
}

impl PartitionRow {
    /// For rows with these columns; `None` if one is not among them.
    pub(crate) fn new(partition: &Partition, row: &[&str]) -> Option<Self> {
        let levels = partition
            .axes
            .iter()
            .map(|axis| LevelMap::new(axis.levels()));
        let names = partition.axes.iter().map(|axis| axis.name.as_str());
        let smooth = partition.smooth.as_ref();
        let blocks = smooth.map_or(&[][..], |smooth| &smooth.blocks);
        let blocks = blocks.iter().map(|block| BlockRow::new(block, row));
        let width = partition.axes.len();
        let mut place = Self {
            axes: Columns::new(names, levels.collect(), row)?,
            key: vec![0; width],
            around: Surroundings {
                ranges: Vec::with_capacity(width),
                open: Vec::with_capacity(width),
            },
            blocks: blocks.collect::<Option<_>>()?,
            assignment: SensitiveDesign::one_row(partition.len(), smooth.map(Smooth::len)),
        };
        // The cells are looked up in a tree that is made when it is first needed: now.
        partition.find(&place.key);
        place.key.fill(UNSEEN);
        Some(place)
    }

    /// Finds the place of a row; `None` where [`assign`](Partition::assign) refuses it.
    pub(crate) fn assign(&mut self, partition: &Partition, row: &[Value]) -> Option<()> {
        let mut uses = Uses::default();
        let axes = partition.axes.iter().zip(self.axes.values(row));
        for (position, (axis, (value, levels))) in self.key.iter_mut().zip(axes) {
            *position = axis.position(value, levels, partition.policies, &mut uses)?;
        }
        let slot = self.assignment.slot();
        let (code, status) = if let Some(cell) = partition.find(&self.key) {
            (cell, RowStatus::Known)
        } else {
            if !partition.stands_in(&self.key, &mut self.around, slot.mixture) {
                return None;
            }
            if self.key.contains(&UNSEEN) {
                uses.unseen_category += 1;
            } else {
                uses.empty_cell += 1;
            }
            (partition.len(), RowStatus::StandIn)
        };
        (*slot.code, *slot.status, *slot.uses) = (code as u32, status, uses);
        self.features(partition, row)
    }

    /// The features of S, where the shift of a row is a regression on them.
    fn features(&mut self, partition: &Partition, row: &[Value]) -> Option<()> {
        let Some(smooth) = &partition.smooth else {
            return Some(());
        };
        let slot = self.assignment.slot();
        let (mut unplaced, mut uses) = (false, Uses::default());
        let several = smooth.blocks.len() > 1;
        let mut rest = &mut *slot.features;
        for (block, own) in smooth.blocks.iter().zip(&mut self.blocks) {
            let (psi, others) = rest.split_at_mut(block.len());
            rest = others;
            match (&block.source, own) {
                (Source::Cells(partition), BlockRow::Cells(place)) => {
                    place.assign(partition, row)?;
                    place.assignment.indicate(0, psi);
                    if several {
                        unplaced |= place.assignment.cell(0).is_none();
                    } else {
                        uses = uses.plus(place.assignment.uses);
                    }
                }
                (Source::Columns(coordinates), BlockRow::Coordinates { columns, .. }) => {
                    let place = (&mut unplaced, &mut uses);
                    coordinates.write(columns.values(row), smooth.policies(), psi, place)?;
                }
                (Source::Kernel(kernel), BlockRow::Coordinates { columns, point }) => {
                    let place = (&mut unplaced, &mut uses);
                    let coordinates = kernel.coordinates();
                    coordinates.write(columns.values(row), smooth.policies(), point, place)?;
                    kernel.write(point, psi);
                }
                _ => return None,
            }
        }
        let mut rest = &mut *slot.features;
        for block in &smooth.blocks {
            let (psi, others) = rest.split_at_mut(block.len());
            rest = others;
            block.centred(psi, unplaced);
        }
        uses.unseen_category += usize::from(unplaced);
        *slot.uses = uses;
        if unplaced {
            *slot.status = RowStatus::Unknown;
        } else if !smooth.has_weights() {
            *slot.status = RowStatus::Known;
        }
        let mut features = slot.features.iter();
        features.all(|d| d.is_finite()).then_some(())
    }
}

impl BlockRow {
    fn new(block: &Block, row: &[&str]) -> Option<Self> {
        let coordinates = match &block.source {
            Source::Cells(partition) => {
                return Some(Self::Cells(Box::new(PartitionRow::new(partition, row)?)));
            }
            Source::Columns(coordinates) => coordinates,
            Source::Kernel(kernel) => {
                // Now, since rows must take no memory.
                kernel.factor();
                kernel.coordinates()
            }
        };
        Some(Self::Coordinates {
            columns: Columns::new(coordinates.names(), coordinates.level_maps(), row)?,
            point: vec![0.0; coordinates.len()],
        })
    }
}
