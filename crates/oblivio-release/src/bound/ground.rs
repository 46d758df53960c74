//! Projected rows, and what is left of the means: what bounds on dependence are made of.

use std::ops::Range;

use faer::Mat;
use oblivio::partition::SensitiveDesign;
use oblivio::{ConditionalMean, ObliviousMap};
use oblivio_base::{Points, Result, Watch, random};
use oblivio_kernels::Kernel;

use super::change::{RowShifts, shift_norms};
use super::interval::mean;
use super::range::{largest_distance, largest_square};
use super::report::MoveBound;
use super::rows::Table;
use super::run::BoundSettings;
use super::translation::Translation;
use crate::manifold::{Certify, Manifold, Region, Search, Span};

/// No more rows than this are certified, drawn by seed, unless a single feature moves.
const MOST_CERTIFIED: usize = 200;

/// Projected rows, and all that bounds are made of.
pub(super) struct Ground {
    pub(super) rows: Vec<usize>,
    pub(super) cells: Vec<u32>,
    pub(super) assignment: SensitiveDesign,
    /// W
    pub(super) points: Points<'static>,
    pub(super) distances: Vec<f64>,
    /// $\|Z + h^* - \phi(X)\|$
    own: Vec<f64>,
    /// What the least distances of the rows to certify are at least, if all of them are certified.
    pub(super) least: Option<Vec<f64>>,
    pub(super) certified: usize,
    /// By how much the distances of certified rows exceed their certified lower bounds.
    pub(super) gaps: Vec<f64>,
    /// Rows outside the region.
    pub(super) outside: usize,
    /// What a distance is at most; for a regression on S, on these rows.
    pub(super) range: f64,
    /// ρ of the region.
    pub(super) norm: f64,
    /// Whether no feature of any row is longer than that.
    pub(super) limited: bool,
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
        settings: &BoundSettings,
        watch: &Watch,
    ) -> Result<Self> {
        let points = rows.points.select(&drawn);
        let assignment = rows.assigned(&drawn)?;
        let translation = Translation::new(settings.translation, shifts.mean, watch)?;
        let kernel = rows.model.predictor().kernel();
        let strength = rows.offsets.strength;
        let norms = shift_norms(shifts.mean, &assignment);
        let smooth = !assignment.is_projection();
        let longest = largest(&shifts.norms, &norms, smooth);
        let away = |norms: &[f64], assignment: &SensitiveDesign| -> Vec<f64> {
            match &translation {
                None => norms.iter().map(|norm| strength * norm).collect(),
                Some(star) => star.distances(strength, norms, shifts.mean, assignment),
            }
        };
        let own = away(&norms, &assignment);
        let range = largest(&away(&shifts.norms, shifts.assignment), &own, smooth);
        let region = region(rows);
        let norm = largest_square(kernel, radius_square(&region)).sqrt();
        let most = largest_distance(kernel, strength, norm)
            + translation.as_ref().map_or(0.0, Translation::norm);
        let mut ground = Self {
            cells: assignment.codes().to_vec(),
            distances: own.clone(),
            own,
            least: (range == 0.0).then(|| vec![0.0; drawn.len()]),
            certified: if range == 0.0 { drawn.len() } else { 0 },
            gaps: if range == 0.0 {
                vec![0.0; drawn.len()]
            } else {
                Vec::new()
            },
            outside: (0..points.len())
                .filter(|&i| !holds(&region, points.row(i)))
                .count(),
            range: if smooth { range } else { range.min(most) },
            norm,
            limited: limited(kernel, &region),
            left: left(shifts.mean, strength, &points, &assignment, watch)?,
            longest,
            rows: drawn,
            assignment,
            points,
        };
        if range > 0.0 {
            let mut manifold = Manifold::of(shifts.mean, region)?;
            if let Some(star) = &translation {
                manifold = manifold.translated(&star.coefficients, watch)?;
            }
            ground.project(rows, &manifold, settings, watch)?;
        }
        Ok(ground)
    }

    /// d, the root mean square distance.
    pub(super) fn root_mean_square(&self) -> f64 {
        let squares = self.distances.iter().map(|v| v * v);
        mean(&squares.collect::<Vec<_>>()).sqrt()
    }

    /// How far rows moved from `original`, next to twice their own distance.
    pub(super) fn moved(&self, kernel: &Kernel, original: &Points) -> MoveBound {
        let moved: Vec<f64> = (0..original.len())
            .map(|i| {
                let (x, w) = (original.row(i), self.points.row(i));
                let square = kernel.at(x, x) + kernel.at(w, w) - 2.0 * kernel.at(x, w);
                square.max(0.0).sqrt()
            })
            .collect();
        let pairs = moved.iter().zip(&self.own);
        // A row that stays where it is moves by nothing, whatever its bound.
        let shares = pairs.map(|(moved, own)| {
            if *moved > 0.0 {
                moved / (2.0 * own)
            } else {
                0.0
            }
        });
        let value = 2.0 * mean(&self.own);
        MoveBound {
            mean: mean(&moved),
            value,
            largest_share: shares.fold(0.0, f64::max),
            vacuous: value > 0.0 && value >= largest_distance(kernel, 1.0, self.norm),
        }
    }

    /// W and its distances in place of X and those of X, wherever W is nearer.
    ///
    /// All rows are projected in the same way, so that W is one map of X and S. Where too many are to be certified, those drawn say only
    /// what distances are at least.
    fn project(
        &mut self,
        rows: &Table,
        manifold: &Manifold,
        settings: &BoundSettings,
        watch: &Watch,
    ) -> Result<()> {
        let strength = rows.offsets.strength;
        let plain = Search::default();
        let certified = Search {
            certify: Some(Certify {
                tolerance: f64::INFINITY,
                share: settings.gap,
                most_boxes: settings.most_boxes,
                ..Certify::default()
            }),
            ..plain
        };
        let all: Vec<usize> = (0..self.rows.len()).collect();
        let region = manifold.region();
        let chosen = if region.free.len() == 1 && region.one_of.is_empty() {
            all.clone()
        } else {
            random::sample(&all, MOST_CERTIFIED, settings.seed)
        };
        let every = chosen.len() == all.len();
        let project = |part: &[usize], search: &Search| {
            let named: Vec<usize> = part.iter().map(|&i| self.rows[i]).collect();
            let points = self.points.select(part);
            manifold.project(&points, &rows.assigned(&named)?, strength, search, watch)
        };
        let judged = project(&chosen, &certified)?;
        let others = if every {
            None
        } else {
            Some(project(&all, &plain)?)
        };
        let mut least = Vec::with_capacity(chosen.len());
        for (k, &i) in chosen.iter().enumerate() {
            // A row may stay where it is, and one outside the region may be nearest there.
            let square = judged.distances[k].powi(2);
            let lower = judged.gaps[k].map(|gap| (square - gap).max(0.0).sqrt());
            let found = judged.distances[k].min(self.distances[i]);
            least.extend(lower.map(|lower| lower.min(found)));
            self.gaps
                .extend(lower.map(|lower| found - lower.min(found)));
        }
        self.certified = least.len();
        self.least = (least.len() == chosen.len()).then_some(least);
        let found = others.unwrap_or(judged);
        let mut values = Vec::with_capacity(self.points.values().len());
        for (i, distance) in found.distances.iter().enumerate() {
            let nearer = *distance < self.distances[i];
            let nearest = if nearer { &found.points } else { &self.points };
            values.extend_from_slice(nearest.row(i));
            self.distances[i] = self.distances[i].min(*distance);
        }
        self.points = Points::new(values, self.points.dim())?;
        Ok(())
    }
}

/// The largest value of reference rows, known before a row is looked at. Shifts of a regression are not, so the rows count too.
fn largest(reference: &[f64], rows: &[f64], smooth: bool) -> f64 {
    let known = reference.iter().chain(rows.iter().filter(|_| smooth));
    known.fold(0.0f64, |a, b| a.max(*b))
}

/// The box that holds the reference rows; of the indicators of a category one is 1.
///
/// No row that bounds are of has a say in it: given the reference rows, W and the distance of each depend on that row alone.
fn region(rows: &Table) -> Region {
    let spans = Region::of(&rows.points.select(&rows.reference)).free;
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

/// Whether a row lies in the region.
fn holds(region: &Region, x: &[f64]) -> bool {
    let within = |span: &Span| (span.low..=span.high).contains(&x[span.feature]);
    // Indicators are 0 or 1; a category that the model does not know has none.
    let one = |indicators: &Range<usize>| x[indicators.clone()].iter().sum::<f64>() == 1.0;
    region.free.iter().all(within) && region.one_of.iter().all(one)
}

/// Whether no feature of any row is longer than the longest of the region, whatever its numbers are.
fn limited(kernel: &Kernel, region: &Region) -> bool {
    region.free.is_empty() || largest_square(kernel, f64::INFINITY).is_finite()
}

/// $r = \bigl(\sum_c p_c\|\bar Z_c - \bar Z\|^2\bigr)^{1/2}$ with the means of Z over the rows of each cell, and over all.
fn left(
    mean: &ConditionalMean,
    strength: f64,
    points: &Points,
    assignment: &SensitiveDesign,
    watch: &Watch,
) -> Result<f64> {
    let rows = points.len();
    let gram = ObliviousMap::new(mean.clone(), strength)?.gram(points, assignment, watch)?;
    let cells = assignment.codes();
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
