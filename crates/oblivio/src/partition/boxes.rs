//! Cells of several bins: which bins are joined so that no cell has too few rows, and the cell of a key.

use std::collections::{BTreeMap, BTreeSet};

use super::axis::Axis;

/// The positions of a cell: on every axis the lowest and the highest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Extent {
    pub(super) low: Vec<u32>,
    pub(super) high: Vec<u32>,
}

/// Joins bins until every cell has `least` rows, or is all there is of its categories.
///
/// `keys` are the positions that rows have and `rows` how many; the answer is in lexical order and names the keys of each
/// cell. Categories and missing values are never joined. Among the rows that share them, the columns are taken from the
/// coarsest to the finest (of equals the later is finer): its bins are joined to ranges of at least `least` rows, and within
/// each range the next column is taken. So bins of the finest column are joined first, and others only where all of the
/// finer columns together have too few rows.
pub(super) fn merge(
    axes: &[Axis],
    keys: &[Vec<u32>],
    rows: &[usize],
    least: usize,
) -> Vec<(Extent, Vec<usize>)> {
    let mut combinations: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
    for (k, key) in keys.iter().enumerate() {
        let fixed = key.iter().zip(axes).map(|(&p, axis)| fixed(axis, p));
        combinations.entry(fixed.collect()).or_default().push(k);
    }
    let mut merged = Vec::new();
    for members in combinations.into_values() {
        let key = &keys[members[0]];
        let whole = Extent {
            low: key.clone(),
            high: key.clone(),
        };
        divide(
            &Seen { keys, rows, least },
            &open(axes, key),
            members,
            whole,
            &mut merged,
        );
    }
    merged.sort_unstable();
    merged
}

/// What [`merge`] is about.
struct Seen<'a> {
    keys: &'a [Vec<u32>],
    rows: &'a [usize],
    least: usize,
}

/// Divides these members of a cell by the columns left.
fn divide(
    seen: &Seen,
    columns: &[usize],
    members: Vec<usize>,
    extent: Extent,
    merged: &mut Vec<(Extent, Vec<usize>)>,
) {
    let Some((&axis, rest)) = columns.split_first() else {
        merged.push((extent, members));
        return;
    };
    let mut at: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for k in members {
        at.entry(seen.keys[k][axis]).or_default().push(k);
    }
    let total = |members: &Vec<usize>| {
        // Of weights that say any number of rows.
        let rows = members.iter().map(|&k| seen.rows[k]);
        rows.fold(0, usize::saturating_add)
    };
    let bins = at.iter().map(|(&bin, members)| (bin, total(members)));
    for (low, high) in ranges(bins, seen.least) {
        let inside = at.range(low..=high).flat_map(|(_, members)| members);
        let mut extent = extent.clone();
        (extent.low[axis], extent.high[axis]) = (low, high);
        divide(seen, rest, inside.copied().collect(), extent, merged);
    }
}

/// Neighbouring bins joined to ranges of at least `least` rows each, or to one range.
///
/// The range with the fewest rows (the lowest of equals) joins its smaller neighbour (the lower of equals) while it has too
/// few.
fn ranges(bins: impl Iterator<Item = (u32, usize)>, least: usize) -> Vec<(u32, u32)> {
    // By their lowest bin: the highest bin and the rows.
    let mut ranges: BTreeMap<u32, (u32, usize)> =
        bins.map(|(bin, rows)| (bin, (bin, rows))).collect();
    let few = |(&low, &(_, rows)): (&u32, &(u32, usize))| (rows < least).then_some((rows, low));
    let mut small: BTreeSet<(usize, u32)> = ranges.iter().filter_map(few).collect();
    while let Some((rows, low)) = small.pop_first() {
        let count = |(&low, &(_, rows)): (&u32, &(u32, usize))| (rows, low);
        let below = ranges.range(..low).next_back().map(count);
        let above = ranges.range(low + 1..).next().map(count);
        let Some(other) = [below, above].into_iter().flatten().min() else {
            break;
        };
        small.remove(&other);
        let (start, end, rows) = (
            low.min(other.1),
            low.max(other.1),
            rows.saturating_add(other.0),
        );
        let high = ranges.remove(&end).map_or(end, |(high, _)| high);
        ranges.insert(start, (high, rows));
        if rows < least {
            small.insert((rows, start));
        }
    }
    ranges
        .into_iter()
        .map(|(low, (high, _))| (low, high))
        .collect()
}

/// The columns along which a key has neighbours, from the coarsest to the finest: continuous ones that are not missing.
fn open(axes: &[Axis], key: &[u32]) -> Vec<usize> {
    let is_open = |a: &usize| fixed(&axes[*a], key[*a]) == OPEN;
    by_bins(axes).into_iter().filter(is_open).collect()
}

/// The continuous columns, from the coarsest to the finest; of equals the later is finer.
fn by_bins(axes: &[Axis]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..axes.len())
        .filter(|&a| axes[a].bins().is_some())
        .collect();
    order.sort_by_key(|&a| axes[a].bins());
    order
}

/// Where a bin is, as far as its categories are concerned.
const OPEN: u32 = u32::MAX - 2;

/// The position of a category or of a missing value, which is never joined with another; [`OPEN`] for a bin.
fn fixed(axis: &Axis, position: u32) -> u32 {
    match axis.bins() {
        Some(bins) if position < bins => OPEN,
        _ => position,
    }
}

/// The cells as steps from axis to axis: categories first, then bins from the coarsest column to the finest.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// By node and lowest position: the highest position, and the node (at last: the cell) that is next.
    steps: BTreeMap<(u32, u32), (u32, u32)>,
    /// The continuous columns, from the coarsest to the finest.
    order: Vec<usize>,
}

impl Tree {
    /// `None` if cells overlap, or cannot have come from [`merge`].
    pub(super) fn new(axes: &[Axis], keys: &[Vec<u32>], ends: &[Vec<u32>]) -> Option<Self> {
        let mut tree = Self {
            order: by_bins(axes),
            ..Self::default()
        };
        let mut nodes = 0;
        for (cell, low) in keys.iter().enumerate() {
            let high = ends.get(cell).unwrap_or(low);
            let path: Vec<(u32, u32)> = path(axes, &tree.order, low, high).collect();
            let mut node = 0;
            for (step, &(low, high)) in path.iter().enumerate() {
                if let Some((end, next)) = tree.steps.get(&(node, low)) {
                    // The same range leads further, unless it is where another cell is.
                    if *end != high || step + 1 == path.len() {
                        return None;
                    }
                    node = *next;
                    continue;
                }
                if high < low || tree.overlaps(node, low, high) {
                    return None;
                }
                nodes += 1;
                let last = step + 1 == path.len();
                let next = if last { cell as u32 } else { nodes };
                tree.steps.insert((node, low), (high, next));
                node = next;
            }
        }
        Some(tree)
    }

    /// Whether a range that begins where none does meets another of this node.
    fn overlaps(&self, node: u32, low: u32, high: u32) -> bool {
        let before = self.steps.range((node, 0)..(node, low)).next_back();
        let meets = before.is_some_and(|(_, (end, _))| *end >= low);
        meets
            || self
                .steps
                .range((node, low)..=(node, high))
                .next()
                .is_some()
    }

    /// The cell that holds a key.
    pub(super) fn find(&self, axes: &[Axis], key: &[u32]) -> Option<usize> {
        let mut node = 0;
        for (position, _) in path(axes, &self.order, key, key) {
            let mut steps = self.steps.range((node, 0)..=(node, position));
            let (_, &(high, next)) = steps.next_back()?;
            if position > high {
                return None;
            }
            node = next;
        }
        Some(node as usize)
    }
}

/// The ranges to go through on the way to a cell.
fn path(
    axes: &[Axis],
    order: &[usize],
    low: &[u32],
    high: &[u32],
) -> impl Iterator<Item = (u32, u32)> {
    let categories = axes.iter().zip(low).map(|(axis, &p)| fixed(axis, p));
    let bins = order.iter().copied();
    let bins = bins.filter(|&a| fixed(&axes[a], low[a]) == OPEN);
    categories
        .map(|p| (p, p))
        .chain(bins.map(|a| (low[a], high[a])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(rows: &[usize], least: usize) -> Vec<(u32, u32)> {
        ranges((0..).zip(rows.iter().copied()), least)
    }

    #[test]
    fn the_smallest_bin_joins_its_smaller_neighbour() {
        assert_eq!(joined(&[5, 4, 100], 5), [(0, 1), (2, 2)]);
        assert_eq!(joined(&[100, 4, 10, 10], 5), [(0, 0), (1, 2), (3, 3)]);
        assert_eq!(joined(&[4, 4, 4, 4, 100], 5), [(0, 1), (2, 3), (4, 4)]);
        assert_eq!(joined(&[3, 100, 3], 5), [(0, 2)]);
        assert_eq!(joined(&[6, 4, 6], 5), [(0, 1), (2, 2)]);
        assert_eq!(joined(&[1, 1, 1], 5), [(0, 2)]);
        assert_eq!(joined(&[1, 2], 1), [(0, 0), (1, 1)]);
        assert_eq!(joined(&[], 5), []);
    }

    #[test]
    fn bins_without_rows_lie_within_a_range_or_in_none() {
        let bins = [(0, 1), (3, 1), (7, 9), (9, 9)];
        let expected = [(0, 3), (7, 7), (9, 9)];
        assert_eq!(ranges(bins.into_iter(), 2), expected);
    }
}
