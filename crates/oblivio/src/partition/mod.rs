//! The partition of the sensitive values into cells, and what becomes of values it has no cell for.

mod axis;
mod boxes;
mod check;
mod cuts;
mod derived;
mod design;
mod grid;
pub(crate) mod regression;
mod row;
mod rule;
mod slots;
mod uses;

use std::collections::HashMap;
use std::ops::Range;

use oblivio_base::error::listed;
use oblivio_base::stats::effective_rows;
use oblivio_base::{Error, Result, UnseenCategory, Values, Warning};
use serde::{Deserialize, Serialize};

use self::axis::{Axis, Cut, UNSEEN};
use self::boxes::Tree;
pub(crate) use self::cuts::Cuts;
use self::cuts::Renaming;
use self::derived::Derived;
pub use self::design::{CellWeights, DesignSums, Groups, RowStatus, SensitiveDesign, Shifts};
pub(crate) use self::design::{Correction, Side};
pub use self::grid::Cutting;
pub(crate) use self::grid::Grid;
pub(crate) use self::regression::{
    Block, Coordinates, KernelFeatures, Smooth, Source, check_features, regression,
};
pub(crate) use self::row::PartitionRow;
pub use self::rule::{
    Binning, CellCount, EmptyCell, Estimator, Missing, OutOfRange, PartitionRule, Policies,
};
pub(crate) use self::slots::Slots;
pub use self::uses::Uses;
use crate::sensitive::{Kind, Sensitive};

/// Cells of the sensitive values: the combinations of categories and bins that reference rows have. Where one has too few
/// rows, it is joined with its neighbours to a cell that spans several bins.
///
/// Fitted on the reference rows and frozen. [`assign`](Partition::assign) finds the cell of any row, or what stands in
/// for it by the [`Policies`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Partition {
    axes: Vec<Axis>,
    pub(crate) policies: Policies,
    /// The position on every axis of each cell, the lowest where it spans several, in lexical order.
    keys: Vec<Vec<u32>>,
    /// The highest position on every axis of each cell; empty where no cell spans several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ends: Vec<Vec<u32>>,
    /// The weight of the reference rows in each cell.
    mass: Vec<f64>,
    /// The number of reference rows in each cell.
    counts: Vec<usize>,
    /// The regression that gives the shifts, where that is not the mean of the cell: the cells are then for the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) smooth: Option<Smooth>,
    /// How the conditional mean was chosen, where that took a look at the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) choice: Option<Choice>,
    #[serde(skip)]
    lookup: Derived<Tree>,
}

/// How the conditional mean was chosen.
///
/// A score is the mean squared error $\|\phi(x_i) - E_n^{-i}(\phi \mid s_i)\|^2$ of the features of a row that the estimate has not
/// seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Choice {
    /// The score of every kind of conditional mean that was tried, and of none at all.
    pub scores: Vec<(String, f64)>,
    /// γ of the kernel on standardised continuous columns, if the conditional mean is smooth.
    pub gamma: Option<f64>,
    /// κ, if it is a regression.
    pub ridge: Option<f64>,
}

/// Where rows with one key belong.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    Cell(usize),
    /// Weights over the cells.
    Mixture(Vec<f64>),
}

impl Partition {
    /// Cuts the sensitive values of the reference rows, `weights` saying how often each row counts.
    pub fn fit(
        rule: &PartitionRule,
        reference: &Sensitive,
        weights: &[f64],
    ) -> Result<(Self, Vec<Warning>)> {
        let rows = effective_rows(weights.len(), weights.iter().sum());
        Self::fit_for(rule, reference, weights, rows)
    }

    /// As [`fit`](Self::fit), for a table of which so many rows are the reference: their number decides the cells.
    pub(crate) fn fit_for(
        rule: &PartitionRule,
        reference: &Sensitive,
        weights: &[f64],
        rows: usize,
    ) -> Result<(Self, Vec<Warning>)> {
        if reference.is_empty() {
            return Err(Error::TooFewRows {
                what: "the reference",
                found: 0,
                needed: 1,
            });
        }
        let (mut cuts, mut warnings) = Cuts::fit(rule, reference, weights, rows)?;
        let keys = cuts.keys(reference)?;
        let mut slots = Slots::new(reference.columns().len());
        for (row, weight) in weights.iter().enumerate() {
            let slot = slots.slot(&keys, row);
            slots.mass[slot] += weight;
            slots.counts[slot] += 1;
        }
        let (partition, _, remarks) = cuts.partition(&slots.keys, &slots.mass, &slots.counts);
        warnings.extend(remarks);
        Ok((partition, warnings))
    }

    /// The same cells with the counts of other reference rows, each of weight one; a regression on S is centred over these.
    #[doc(hidden)]
    pub fn re_estimated(&self, reference: &Sensitive) -> Result<Self> {
        let mut counts = vec![0; self.len()];
        for cell in self.assign(reference)?.cells().flatten() {
            counts[cell] += 1;
        }
        let mass = counts.iter().map(|count| *count as f64).collect();
        let mut partition = self.with_mass(mass, counts);
        if let Some(smooth) = &partition.smooth {
            let ones = vec![1.0; reference.len()];
            partition.smooth = Some(smooth.centred_over(&smooth.rows(reference)?, &ones));
        }
        Ok(partition)
    }

    /// Takes the shifts from a regression on S. The cells are for the report: a row needs none.
    pub(crate) fn regress(&mut self, smooth: Smooth) {
        self.smooth = Some(smooth);
        self.policies.empty = self.policies.empty.lenient();
    }

    /// The regression on S that gives the shifts, where that is not the mean of the cell.
    pub fn smooth(&self) -> Option<&Smooth> {
        self.smooth.as_ref()
    }

    /// The rules for rows without a cell.
    pub fn policies(&self) -> Policies {
        self.policies
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no cell; no fitted partition is empty.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The sensitive columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.axes.iter().map(|axis| {
            let kind = match axis.cut {
                Cut::Categories { .. } => Kind::Categorical,
                Cut::Bins { .. } => Kind::Continuous,
            };
            (axis.name.as_str(), kind)
        })
    }

    /// The names of all columns that the place of a row depends on.
    pub fn needs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.columns().map(|(name, _)| name).collect();
        for name in self.smooth.iter().flat_map(Smooth::columns) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// What the shift of a row is: that of its `cells`, or a regression on features of S that is `smooth` or `linear`.
    pub fn estimator(&self) -> Estimator {
        match &self.smooth {
            None => Estimator::Cells,
            Some(smooth) => smooth.estimator(),
        }
    }

    /// The number of bins, where the rule left it to the leave-one-out error.
    pub(crate) fn cell_count(&self, rule: CellCount) -> CellCount {
        let bins = self.axes.iter().filter_map(Axis::bins).max();
        match (rule, bins) {
            (CellCount::Loo, Some(bins)) => CellCount::Given(bins as usize),
            (CellCount::Loo, None) => CellCount::Auto,
            (rule, _) => rule,
        }
    }

    /// κ of the regression on S.
    #[doc(hidden)]
    pub fn ridge(&self) -> f64 {
        let blocks = self.smooth.iter().flat_map(|smooth| &smooth.blocks);
        blocks.map(|block| block.ridge).fold(0.0, f64::max)
    }

    /// Whether rows that miss a sensitive value are left to a second model.
    pub fn leaves_out(&self) -> bool {
        self.policies.missing == Missing::SensitiveFree
    }

    /// How the conditional mean was chosen, where that took a look at the rows.
    pub fn choice(&self) -> Option<&Choice> {
        self.choice.as_ref()
    }

    /// The inner edges of a continuous column's bins.
    pub fn edges(&self, column: &str) -> Option<&[f64]> {
        self.axes.iter().find_map(|axis| match &axis.cut {
            Cut::Bins { edges, .. } if axis.name == column => Some(&edges[..]),
            _ => None,
        })
    }

    /// The weight N_c of the reference rows in each cell.
    pub fn mass(&self) -> &[f64] {
        &self.mass
    }

    /// The number of reference rows in each cell.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// The same cells with other rows in them.
    pub(crate) fn with_mass(&self, mass: Vec<f64>, counts: Vec<usize>) -> Self {
        Self {
            mass,
            counts,
            ..self.clone()
        }
    }

    /// The cell in words.
    pub fn label(&self, cell: usize) -> String {
        self.describe(&self.ranges(cell))
    }

    /// The positions of a cell on every axis.
    fn ranges(&self, cell: usize) -> Vec<Range<u32>> {
        let low = &self.keys[cell];
        let high = self.ends.get(cell).unwrap_or(low);
        low.iter().zip(high).map(|(l, h)| *l..h + 1).collect()
    }

    /// The cell that holds a key, be it at a place where no reference row was.
    fn find(&self, key: &[u32]) -> Option<usize> {
        let make = || Tree::new(&self.axes, &self.keys, &self.ends).unwrap_or_default();
        self.lookup.get(make).find(&self.axes, key)
    }

    /// The cell in few words, without the names of the columns: `F, 25 to 40`.
    pub fn brief(&self, cell: usize) -> String {
        let axes = self.axes.iter().zip(self.ranges(cell));
        let words: Vec<String> = axes
            .map(|(axis, at)| axis.brief(at.start, at.end))
            .collect();
        words.join(", ")
    }

    fn describe(&self, ranges: &[Range<u32>]) -> String {
        if self.axes.is_empty() {
            return "all rows".into();
        }
        self.axes
            .iter()
            .zip(ranges)
            .map(|(axis, range)| axis.describe(range.start, range.end))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The cell of every row, or what the policies put in its place.
    ///
    /// Columns are found by name.
    pub fn assign(&self, sensitive: &Sensitive) -> Result<SensitiveDesign> {
        let (keys, mut uses) = locate(&self.axes, sensitive, self.policies)?;
        let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut mixtures = Vec::new();
        let mut cells = Vec::with_capacity(sensitive.len());
        for (row, key) in keys.enumerate() {
            let cell = if let Some(&cell) = known.get(&key) {
                cell
            } else {
                let cell = if let Some(cell) = self.find(&key) {
                    cell
                } else {
                    let value = |axis: usize| value_of(&self.axes[axis], sensitive, row);
                    mixtures.push(self.stand_in(&key, &value)?);
                    self.len() + mixtures.len() - 1
                } as u32;
                known.insert(key.clone(), cell);
                cell
            };
            if cell as usize >= self.len() {
                if key.contains(&UNSEEN) {
                    uses.unseen_category += 1;
                } else {
                    uses.empty_cell += 1;
                }
            }
            cells.push(cell);
        }
        let mut assignment = SensitiveDesign::from_codes(self.len(), cells, mixtures);
        assignment.uses = uses;
        if let Some(smooth) = &self.smooth {
            let rows = smooth.rows(sensitive)?;
            assignment.uses = rows.uses;
            let (features, unknown) = (smooth.centred(&rows), &rows.unplaced);
            assignment = assignment.with_features(features, unknown, smooth.has_weights());
        }
        Ok(assignment)
    }

    /// As [`assign`](Self::assign). Where rows that miss a sensitive value are left to a second model, they are marked as missing.
    pub(crate) fn assign_all(&self, sensitive: &Sensitive) -> Result<SensitiveDesign> {
        let complete = self.complete(sensitive)?;
        if complete.len() == sensitive.len() {
            return self.assign(sensitive);
        }
        let known = self.assign(&sensitive.select(&complete))?;
        Ok(known.with_missing(sensitive.len(), &complete, self.shares()))
    }

    /// The rows that have a cell or what stands in for it: not those that miss a value where another model is to score them.
    pub fn complete(&self, sensitive: &Sensitive) -> Result<Vec<usize>> {
        let rows = 0..sensitive.len();
        if self.policies.missing != Missing::SensitiveFree {
            return Ok(rows.collect());
        }
        let misses = sensitive.misses(self.needs().into_iter())?;
        Ok(rows.filter(|&row| !misses[row]).collect())
    }

    /// The combinations of sensitive values that the features of S are made of, which are those of rows.
    pub(crate) fn held(&self) -> usize {
        self.smooth.as_ref().map_or(0, Smooth::held)
    }

    /// The share of the reference in each cell.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let mut shares = vec![0.0; self.len()];
        self.write_shares(&mut shares);
        shares
    }

    fn write_shares(&self, shares: &mut [f64]) {
        let total: f64 = self.mass.iter().sum();
        let pairs = shares.iter_mut().zip(&self.mass);
        pairs.for_each(|(share, mass)| *share = mass / total);
    }

    /// Finds the places of keys of these cuts; `None` if they are of other columns, or cut elsewhere.
    pub(crate) fn places<'p>(&'p self, cuts: &'p Cuts) -> Option<Places<'p>> {
        Some(Places {
            partition: self,
            renamings: cuts.renamed_in(&self.axes)?,
            cuts,
        })
    }

    /// The weights over the cells that stand in for a key without reference rows.
    ///
    /// `value` is the row's value on an axis, for the sentence that refuses it.
    fn stand_in(&self, key: &[u32], value: &dyn Fn(usize) -> String) -> Result<Vec<f64>> {
        let mut weights = vec![0.0; self.len()];
        if self.stands_in(key, &mut Surroundings::default(), &mut weights) {
            return Ok(weights);
        }
        Err(match key.iter().position(|&p| p == UNSEEN) {
            Some(axis) => Self::unseen(&self.axes[axis], value(axis)),
            None => Error::EmptyCell {
                cell: self.describe(&key.iter().map(|&p| p..p + 1).collect::<Vec<_>>()),
            },
        })
    }

    /// Writes these weights, if the policies have some.
    fn stands_in(&self, key: &[u32], around: &mut Surroundings, weights: &mut [f64]) -> bool {
        let unseen = key.contains(&UNSEEN);
        if !unseen {
            match self.policies.empty {
                EmptyCell::Error => return false,
                EmptyCell::Population => {
                    self.write_shares(weights);
                    return true;
                }
                EmptyCell::Zero => {
                    weights.fill(0.0);
                    return true;
                }
                EmptyCell::Enclosing => {
                    self.enclose(key, around, weights);
                    return true;
                }
            }
        }
        match self.policies.category {
            UnseenCategory::Error => return false,
            UnseenCategory::Population => self.write_shares(weights),
            UnseenCategory::Zero => weights.fill(0.0),
        }
        true
    }

    /// Writes the smallest enclosing cell with reference rows, as weights over the cells that it meets.
    ///
    /// A single continuous column is widened step by step. Among several columns the finest continuous one (the last of
    /// these) is dropped first, and so on while more than one is left. Then the categorical columns are dropped one by one, first the
    /// one with the most levels (the last of these). The population is left in the end.
    fn enclose(&self, key: &[u32], around: &mut Surroundings, weights: &mut [f64]) {
        if !self.enclose_by_bins(key, around, weights) {
            self.enclose_by_categories(key, around, weights);
        }
    }

    /// Drops or widens continuous columns until a cell is met; `false` if none is.
    fn enclose_by_bins(&self, key: &[u32], around: &mut Surroundings, weights: &mut [f64]) -> bool {
        let Surroundings { ranges, open } = around;
        ranges.clear();
        ranges.extend(key.iter().map(|&p| p..p + 1));
        // A missing value is a level of its own, which has no neighbours.
        open.clear();
        open.extend(
            (0..key.len()).filter(|&a| self.axes[a].bins().is_some_and(|bins| key[a] < bins)),
        );
        let bins = |axis: usize| self.axes[axis].bins().unwrap_or(0);
        let mut drop_first = key.len() > 1;
        while let Some(finest) = (0..open.len()).max_by_key(|&i| bins(open[i])) {
            if open.len() > 1 || drop_first {
                let axis = open.remove(finest);
                ranges[axis] = 0..bins(axis);
                drop_first = false;
                if self.write_weights(ranges, weights) {
                    return true;
                }
            } else {
                let axis = open.remove(0);
                let steps = (0..self.len()).filter_map(|cell| self.steps_to(cell, ranges, axis));
                if let Some(steps) = steps.min() {
                    ranges[axis] = widened(&self.axes[axis], key[axis], steps);
                    return self.write_weights(ranges, weights);
                }
                ranges[axis] = 0..bins(axis);
            }
        }
        false
    }

    /// Drops columns whose continuous ones are dropped, until a cell is met. A missing value is a category here.
    fn enclose_by_categories(&self, key: &[u32], around: &mut Surroundings, weights: &mut [f64]) {
        let Surroundings { ranges, open } = around;
        open.clear();
        open.extend((0..key.len()).filter(|&a| ranges[a] == (key[a]..key[a] + 1)));
        while let Some(most) = (0..open.len()).max_by_key(|&i| self.axes[open[i]].len()) {
            let axis = open.remove(most);
            ranges[axis] = 0..self.axes[axis].len();
            if self.write_weights(ranges, weights) {
                return;
            }
        }
        self.write_shares(weights);
    }

    /// How often the range on one axis must be [`widened`] before it meets a cell; `None` where other axes keep it from that.
    fn steps_to(&self, cell: usize, ranges: &[Range<u32>], axis: usize) -> Option<u32> {
        let low = &self.keys[cell];
        let high = self.ends.get(cell).unwrap_or(low);
        let meets = |a: usize| low[a] < ranges[a].end && ranges[a].start <= high[a];
        let bins = self.axes[axis].bins().unwrap_or(0);
        // Missing values are no neighbours of a bin.
        if low[axis] >= bins || !(0..ranges.len()).all(|a| a == axis || meets(a)) {
            return None;
        }
        let position = ranges[axis].start;
        let nearest = position.clamp(low[axis], high[axis]);
        Some(if self.axes[axis].is_dyadic() {
            u32::BITS - (position ^ nearest).leading_zeros()
        } else {
            position.abs_diff(nearest)
        })
    }

    /// Writes the shares of the cells that meet these ranges, if there is one.
    fn write_weights(&self, ranges: &[Range<u32>], weights: &mut [f64]) -> bool {
        for (cell, weight) in weights.iter_mut().enumerate() {
            let low = &self.keys[cell];
            let high = self.ends.get(cell).unwrap_or(low);
            let mut extent = low.iter().zip(high).zip(ranges);
            let meets = extent.all(|((l, h), range)| *l < range.end && range.start <= *h);
            *weight = if meets { self.mass[cell] } else { 0.0 };
        }
        let total: f64 = weights.iter().sum();
        if total > 0.0 {
            for weight in weights {
                *weight /= total;
            }
        }
        total > 0.0
    }

    /// The kind of a column that the place of a row depends on, and its categories.
    pub(crate) fn column(&self, name: &str) -> Option<(Kind, &[String])> {
        let mut columns = self.columns().zip(&self.axes);
        let axis = columns.find(|((own, _), _)| *own == name);
        axis.map(|((_, kind), axis)| (kind, axis.levels()))
            .or_else(|| self.smooth.as_ref()?.column(name))
    }

    fn unseen(axis: &Axis, value: String) -> Error {
        let known = match &axis.cut {
            Cut::Categories { levels } => listed(levels),
            Cut::Bins { .. } => String::new(),
        };
        Error::UnknownCategory {
            column: axis.name.clone(),
            value,
            known,
        }
    }
}

/// Places of the keys of cuts among the cells of a partition.
pub(crate) struct Places<'p> {
    partition: &'p Partition,
    cuts: &'p Cuts,
    renamings: Vec<Renaming>,
}

impl Places<'_> {
    /// The cell of a key that so many rows have, or the weights over the cells that stand in for it.
    pub(crate) fn of(&self, key: &[u32], uses: &mut Uses, rows: usize) -> Result<Place> {
        let own = key;
        let axes = self.renamings.iter().zip(&self.partition.axes);
        let places = key.iter().zip(axes);
        let key: Vec<u32> = places
            .map(|(place, (r, axis))| r.on(axis, *place))
            .collect();
        if let Some(cell) = self.partition.find(&key) {
            return Ok(Place::Cell(cell));
        }
        if key.contains(&UNSEEN) {
            uses.unseen_category += rows;
        } else {
            uses.empty_cell += rows;
        }
        let value = |axis: usize| self.cuts.value(axis, own[axis]);
        Ok(Place::Mixture(self.partition.stand_in(&key, &value)?))
    }
}

/// A row's value on an axis, in words.
fn value_of(axis: &Axis, sensitive: &Sensitive, row: usize) -> String {
    sensitive
        .column(&axis.name)
        .map_or(String::new(), |column| {
            match &column.select(&[row]).values {
                Values::Numbers(values) => values[0].to_string(),
                Values::Categories { levels, codes } => {
                    levels.get(codes[0] as usize).cloned().unwrap_or_default()
                }
            }
        })
}

/// What the search for an enclosing cell works in.
#[derive(Clone, Debug, Default)]
struct Surroundings {
    ranges: Vec<Range<u32>>,
    open: Vec<usize>,
}

/// The range around a bin after so many steps: dyadic ones halve the resolution, others take in both neighbours.
fn widened(axis: &Axis, position: u32, steps: u32) -> Range<u32> {
    let bins = axis.bins().unwrap_or(0);
    if axis.is_dyadic() {
        let start = position >> steps << steps;
        start..start + (1 << steps)
    } else {
        position.saturating_sub(steps)..(position + steps + 1).min(bins)
    }
}

/// The key of every row, and how many rows lay out of range or were missing.
fn locate<'s>(
    axes: &[Axis],
    sensitive: &'s Sensitive,
    policies: Policies,
) -> Result<(impl Iterator<Item = Vec<u32>> + use<'s>, Uses)> {
    let mut uses = Uses::default();
    let mut columns = Vec::new();
    for axis in axes {
        let located = axis.locate(sensitive.column(&axis.name)?, policies)?;
        uses.out_of_range += located.out_of_range;
        uses.missing += located.missing;
        columns.push(located.rows);
    }
    let keys = (0..sensitive.len()).map(move |i| columns.iter().map(|c| c[i]).collect());
    Ok((keys, uses))
}

#[cfg(test)]
mod tests;
