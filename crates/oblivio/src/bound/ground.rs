//! Projected rows, and what is left of the means: what bounds on dependence are made of.

use faer::Mat;

use super::change::{RowShifts, shift_norms};
use super::range::{largest_distance, largest_square};
use super::rows::Table;
use crate::conditional_mean::ConditionalMean;
use crate::error::Result;
use crate::manifold::{Certify, Manifold, Region, Search, Span};
use crate::oblivious::ObliviousMap;
use crate::partition::Assignment;
use crate::points::Points;
use crate::watch::Watch;

/// No more boxes than this certify the projection of a row; a larger gap holds all the same.
const MOST_BOXES: usize = 500;

/// Projected rows, and all that bounds are made of.
pub(super) struct Ground {
    pub(super) rows: Vec<usize>,
    pub(super) cells: Vec<u32>,
    /// W
    pub(super) points: Points<'static>,
    pub(super) distances: Vec<f64>,
    /// What the least distances are at least, where that is certified.
    pub(super) least: Option<Vec<f64>>,
    pub(super) certified: usize,
    pub(super) range: f64,
    pub(super) norm: f64,
    pub(super) left: f64,
    /// $\max_c\|\delta_c\|$
    pub(super) longest: f64,
}

impl Ground {
    /// Projects these rows, and finds what is left of the means.
    pub(super) fn new(
        rows: &Table,
        drawn: Vec<usize>,
        shifts: &RowShifts,
        watch: &Watch,
    ) -> Result<Self> {
        let points = rows.points.select(&drawn);
        let assignment = rows.assigned(&drawn)?;
        let kernel = rows.model.predictor().kernel();
        let strength = rows.offsets.strength;
        let own = shift_norms(shifts.mean, &assignment);
        let smooth = assignment.smooth.is_some();
        // Shifts of cells are known before a row is looked at; those of a regression are not.
        let known = shifts.norms.iter().chain(own.iter().filter(|_| smooth));
        let longest = known.fold(0.0f64, |a, b| a.max(*b));
        let region = region(rows);
        let norm = largest_square(kernel, radius_square(&region)).sqrt();
        let range = strength * longest;
        let mut ground = Self {
            cells: assignment.cells.clone(),
            distances: own.iter().map(|norm| strength * norm).collect(),
            least: (range == 0.0).then(|| vec![0.0; drawn.len()]),
            certified: if range == 0.0 { drawn.len() } else { 0 },
            range: if smooth {
                range
            } else {
                range.min(largest_distance(kernel, strength, norm))
            },
            norm,
            left: left(shifts.mean, strength, &points, &assignment, watch)?,
            longest,
            rows: drawn,
            points,
        };
        if range > 0.0 {
            ground.project(
                &Manifold::of(shifts.mean, region)?,
                &assignment,
                strength,
                watch,
            )?;
        }
        Ok(ground)
    }

    /// W and its distances in place of X and those of X, wherever W is nearer.
    fn project(
        &mut self,
        manifold: &Manifold,
        assignment: &Assignment,
        strength: f64,
        watch: &Watch,
    ) -> Result<()> {
        let search = Search {
            certify: Some(Certify {
                most_boxes: MOST_BOXES,
                ..Certify::default()
            }),
            ..Search::default()
        };
        let found = manifold.project(&self.points, assignment, strength, &search, watch)?;
        let mut values = Vec::with_capacity(self.points.values().len());
        let mut least = Vec::with_capacity(found.distances.len());
        for (i, distance) in found.distances.iter().enumerate() {
            // What lies outside the region by its categories may be nearer to itself.
            let nearer = *distance < self.distances[i];
            let nearest = if nearer { &found.points } else { &self.points };
            values.extend_from_slice(nearest.row(i));
            self.distances[i] = self.distances[i].min(*distance);
            let lower = found.gaps[i].map(|gap| (distance * distance - gap).max(0.0).sqrt());
            least.extend(lower.map(|lower| lower.min(self.distances[i])));
        }
        self.certified = least.len();
        self.least = (least.len() == found.distances.len()).then_some(least);
        self.points = Points::new(values, self.points.dim())?;
        Ok(())
    }
}

/// The box that holds the rows; of the indicators of a category one is 1.
fn region(rows: &Table) -> Region {
    let used: Vec<usize> = rows
        .reference
        .iter()
        .chain(&rows.evaluation)
        .copied()
        .collect();
    let spans = Region::of(&rows.points.select(&used)).free;
    let mut region = Region::default();
    let mut at = 0;
    for name in rows.model.encoder.columns() {
        match rows.model.encoder.levels(name) {
            None => {
                region.free.push(spans[at]);
                at += 1;
            }
            Some(levels) => {
                region.one_of.push(at..at + levels.len());
                at += levels.len();
            }
        }
    }
    region
}

/// The largest $\|x\|^2$ in the region.
fn radius_square(region: &Region) -> f64 {
    let end = |span: &Span| (span.low * span.low).max(span.high * span.high);
    region.free.iter().map(end).sum::<f64>() + region.one_of.len() as f64
}

/// $r = \bigl(\sum_c p_c\|\bar Z_c - \bar Z\|^2\bigr)^{1/2}$ with the means of Z over the rows of each cell, and over all.
fn left(
    mean: &ConditionalMean,
    strength: f64,
    points: &Points,
    assignment: &Assignment,
    watch: &Watch,
) -> Result<f64> {
    let rows = points.len();
    let gram = ObliviousMap::new(mean.clone(), strength)?.gram(points, assignment, watch)?;
    let cells = &assignment.cells;
    let count = cells.iter().max().map_or(0, |cell| *cell as usize + 1);
    let mut sums = Mat::<f64>::zeros(count, count);
    let mut sizes = vec![0.0; count];
    for (j, b) in cells.iter().enumerate() {
        sizes[*b as usize] += 1.0;
        for (i, a) in cells.iter().enumerate() {
            sums[(*a as usize, *b as usize)] += gram[j * rows + i];
        }
    }
    let within: f64 = (0..count)
        .filter(|&c| sizes[c] > 0.0)
        .map(|c| sums[(c, c)] / sizes[c])
        .sum();
    let n = rows as f64;
    let all: f64 = sums
        .col_iter()
        .flat_map(|c| c.iter().copied().collect::<Vec<_>>())
        .sum();
    Ok((within / n - all / (n * n)).max(0.0).sqrt())
}
