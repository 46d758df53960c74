//! Projection onto the manifold: the data row whose feature is nearest to an oblivious one.

mod certificate;
mod discrete;
mod local;
mod objective;
mod reach;
mod region;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use faer::{Mat, MatRef};
use rayon::prelude::*;

use self::certificate::{Certified, Known};
pub use self::certificate::{Certify, LowerBound};
use self::local::descend;
use self::objective::{Objective, Scratch, Space};
use self::reach::Reach;
pub use self::region::{Region, Span, Stepped};
use crate::basis::Shape;
use crate::conditional_mean::ConditionalMean;
use crate::error::{Error, Result};
use crate::features::ObliviousFeatures;
use crate::kernel::KernelMatrix;
use crate::oblivious::check_strength;
use crate::partition::Assignment;
use crate::points::Points;
use crate::watch::Watch;

/// Certificates are for at most this many free features: the number of boxes grows with a power of it.
const MOST_CERTIFIED: usize = 3;

/// The manifold $\phi[\mathbb X]$ of a region, and the shifts of the features to be projected onto it.
///
/// An oblivious feature $Z = \phi(x) - t\,\delta$ is the feature of no point in general. Its projection is
/// $$W = \arg\min_{w}\|Z + h^* - \phi(w)\|^2 = \arg\min_{w} k(w, w) - 2\langle Z + h^*, \phi(w)\rangle,$$
/// w in the region: a row of the table's own space again.
#[derive(Clone, Debug)]
pub struct Manifold {
    space: Space,
    region: Region,
    /// The conditional means, or what they are a regression on, as coefficients of the base points: one in each column; h* last.
    directions: Mat<f64>,
    /// What is taken off all weights: the shares of the cells.
    shares: Vec<f64>,
    /// Inner products of the directions.
    gram: Mat<f64>,
    /// The directions as functions, at the base points.
    at_base: Mat<f64>,
}

/// How projections are looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// The row itself, and as many further starts: the points of the reference, or landmarks, with the least value.
    pub further_starts: usize,
    /// Whether a gap is certified.
    pub certify: Option<Certify>,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            further_starts: 1,
            certify: None,
        }
    }
}

/// Projections of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Projected {
    /// W
    pub points: Points<'static>,
    /// $\|Z + h^* - \phi(W)\|$
    pub distances: Vec<f64>,
    /// By how much $\|Z + h^* - \phi(W)\|^2$ can be above the least over the region; `None` where that is not certified.
    pub gaps: Vec<Option<f64>>,
    /// The boxes that certificates took, all together.
    pub boxes: usize,
}

/// One projection.
struct Found {
    point: Vec<f64>,
    distance: f64,
    gap: Option<f64>,
    boxes: usize,
}

impl Manifold {
    /// The manifold over a region, with the shifts of a conditional mean: the exact path.
    pub fn of(mean: &ConditionalMean, region: Region) -> Result<Self> {
        Self::new(
            Space::new(mean.kernel().clone(), mean.reference().clone()),
            region,
            mean.directions(),
            mean.shares().to_vec(),
            mean.gram().to_owned(),
            mean.at_reference().to_owned(),
        )
    }

    /// The manifold over a region, with the shifts of features on landmarks: the explicit path. The row itself is not replaced by its
    /// projection onto the landmarks' span.
    pub fn on_landmarks(
        features: &ObliviousFeatures,
        region: Region,
        watch: &Watch,
    ) -> Result<Self> {
        let basis = features.map().basis();
        if basis.shape() != Shape::Points {
            return Err(Error::InvalidParameter {
                name: "the features of a projection",
                expected: "on landmarks, whose kernel is known everywhere",
                value: "Fourier features".into(),
            });
        }
        let (directions, shares) = features.directions();
        let matrix = KernelMatrix::of(basis.kernel(), basis.points());
        let at_base = matrix.times_matrix(directions.as_ref(), watch)?;
        let gram = directions.transpose() * &at_base;
        Self::new(
            Space::new(basis.kernel().clone(), basis.points().clone()),
            region,
            directions,
            shares,
            gram,
            at_base,
        )
    }

    fn new(
        space: Space,
        region: Region,
        directions: Mat<f64>,
        shares: Vec<f64>,
        gram: Mat<f64>,
        at_base: Mat<f64>,
    ) -> Result<Self> {
        region.check(space.dim())?;
        Ok(Self {
            space,
            region,
            directions,
            shares,
            gram,
            at_base,
        })
    }

    /// The same with $h^* = \sum_jc_j\phi(b_j)$ on the reference rows, or the landmarks.
    ///
    /// With our Z, which has the overall mean in it, h* = 0 is what the theory asks for.
    pub fn translated(mut self, coefficients: &[f64], watch: &Watch) -> Result<Self> {
        let rows = self.space.base.len();
        if coefficients.len() != rows {
            return Err(Error::Length {
                what: "the coefficients of h*",
                found: coefficients.len(),
                needed: rows,
            });
        }
        let star = MatRef::from_column_major_slice(coefficients, rows, 1);
        let matrix = KernelMatrix::of(&self.space.kernel, &self.space.base);
        let at = matrix.times_matrix(star, watch)?;
        let count = self.shares.len();
        let widen = |mat: &Mat<f64>, last: &Mat<f64>| {
            Mat::from_fn(rows, count + 1, |i, a| {
                if a < count { mat[(i, a)] } else { last[(i, 0)] }
            })
        };
        self.directions = widen(&self.directions, &star.to_owned());
        self.at_base = widen(&self.at_base, &at);
        self.gram = self.directions.transpose() * &self.at_base;
        Ok(self)
    }

    /// The region.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The projections of rows with these sensitive values, each by itself.
    pub fn project(
        &self,
        points: &Points,
        assignment: &Assignment,
        strength: f64,
        search: &Search,
        watch: &Watch,
    ) -> Result<Projected> {
        check_strength(strength)?;
        self.check(points, assignment)?;
        watch.begin("projection", points.len())?;
        let patterns = Patterns::new(self, assignment, strength);
        let found: Vec<Found> = (0..points.len())
            .into_par_iter()
            .map_init(Scratch::default, |scratch, row| {
                watch.check()?;
                let pattern = patterns.of(row);
                let found = self.project_row(points.row(row), &pattern, search, scratch);
                watch.advance();
                Ok(found)
            })
            .collect::<Result<_>>()?;
        if found.iter().any(|found| !found.distance.is_finite()) {
            return Err(Error::Overflow {
                what: "the distance to the manifold",
            });
        }
        Ok(Projected {
            points: Points::new(
                found
                    .iter()
                    .flat_map(|f| f.point.iter().copied())
                    .collect::<Vec<_>>(),
                points.dim(),
            )?,
            distances: found.iter().map(|f| f.distance).collect(),
            gaps: found.iter().map(|f| f.gap).collect(),
            boxes: found.iter().map(|f| f.boxes).sum(),
        })
    }

    fn check(&self, points: &Points, assignment: &Assignment) -> Result<()> {
        let length = |what, found, needed| {
            Err(Error::Length {
                what,
                found,
                needed,
            })
        };
        if points.dim() != self.space.dim() {
            return length("the features of a point", points.dim(), self.space.dim());
        }
        let rows = match &assignment.smooth {
            Some(features) => {
                let needed = self.shares.len();
                if features.nrows() != needed {
                    return length("the features of S", features.nrows(), needed);
                }
                features.ncols()
            }
            None => assignment.cells.len(),
        };
        if rows == points.len() {
            Ok(())
        } else {
            length("the sensitive part", rows, points.len())
        }
    }

    fn project_row(
        &self,
        own: &[f64],
        pattern: &Pattern,
        search: &Search,
        scratch: &mut Scratch,
    ) -> Found {
        let objective = Objective {
            space: &self.space,
            own,
            weights: &pattern.weights,
        };
        let inside = objective.shifted(own, scratch);
        let square = self.space.kernel.at(own, own) + 2.0 * inside + pattern.square;
        let free = self.region.moving();
        let mut best = own.to_vec();
        self.region.enter(&mut best);
        let mut value = objective.value(&best, scratch);
        for mut x in self.starts(&objective, pattern, &best, search) {
            let end = discrete::descend_all(&objective, &self.region, &free, &mut x, scratch);
            if end < value {
                (best, value) = (x, end);
            }
        }
        let certified = search.certify.and_then(|certify| {
            let radius = self.region.radius(own);
            let known = Known {
                objective: &objective,
                reach: Reach::of(&self.space.kernel, self.farthest(radius, own), own.len()),
                radius,
                square: square.max(0.0),
                mass: 1.0 + pattern.weights.iter().map(|w| w.abs()).sum::<f64>(),
            };
            self.certify(&known, &free, &mut best, &certify, scratch)
        });
        if let Some(certified) = &certified {
            value = certified.value;
        }
        Found {
            point: best,
            distance: (value + square).max(0.0).sqrt(),
            gap: certified.as_ref().map(|c| (c.value - c.least).max(0.0)),
            boxes: certified.as_ref().map_or(0, |c| c.boxes),
        }
    }

    /// Where local searches start: at the row, and at the base points with the least value that can be reached from it.
    fn starts(
        &self,
        objective: &Objective,
        pattern: &Pattern,
        entered: &[f64],
        search: &Search,
    ) -> Vec<Vec<f64>> {
        let mut starts = vec![entered.to_vec()];
        if search.further_starts == 0 || self.space.base.is_empty() {
            return starts;
        }
        let base = &self.space.base;
        let kernel = &self.space.kernel;
        let mut values: Vec<(f64, usize)> = (0..base.len())
            .map(|j| {
                let point = base.row(j);
                let inner = kernel.at(point, objective.own) + pattern.at_base(self, j);
                (kernel.at(point, point) - 2.0 * inner, j)
            })
            .collect();
        let count = search.further_starts.min(values.len());
        if count < values.len() {
            values.select_nth_unstable_by(count, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            values.truncate(count);
        }
        values.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, j) in values {
            // What stays as it is stays as in the row.
            let mut start = entered.to_vec();
            let moved = self.region.free.iter().map(|span| span.feature);
            let moved = moved.chain(self.region.stepped.iter().map(|s| s.feature));
            for k in moved.chain(self.region.one_of.iter().cloned().flatten()) {
                start[k] = base.row(j)[k];
            }
            self.region.enter(&mut start);
            starts.push(start);
        }
        starts
    }

    /// The gap over all combinations of stepped features and indicators, where they can all be tried.
    fn certify(
        &self,
        known: &Known,
        free: &[Span],
        best: &mut Vec<f64>,
        certify: &Certify,
        scratch: &mut Scratch,
    ) -> Option<Certified> {
        let combinations = self.region.combinations()?;
        if free.len() > MOST_CERTIFIED || combinations > discrete::MOST_COMBINATIONS {
            return None;
        }
        let mut whole = Certified {
            value: known.objective.value(best, scratch),
            least: f64::INFINITY,
            boxes: 0,
        };
        let reference = best.clone();
        for number in 0..combinations {
            let mut x = reference.clone();
            self.region.combine(number, &mut x);
            if combinations > 1 {
                descend(known.objective, free, &mut x, scratch);
            }
            let found = known.search(free, &mut x, certify, scratch);
            if found.value < whole.value {
                whole.value = found.value;
                *best = x;
            }
            whole.least = whole.least.min(found.least);
            whole.boxes += found.boxes;
        }
        Some(whole)
    }

    /// The largest norm of a point of the region, of the base or of the row.
    fn farthest(&self, radius: f64, own: &[f64]) -> f64 {
        // Only kernels of the inner product grow with the norm.
        let norm = |x: &[f64]| x.iter().map(|v| v * v).sum::<f64>().sqrt();
        let base = (0..self.space.base.len()).map(|j| norm(self.space.base.row(j)));
        base.fold(radius.max(norm(own)), f64::max)
    }
}

/// What the rows of a cell, or one row, have in common: the part of Z + h* on the base points.
#[derive(Clone, Debug)]
struct Pattern {
    /// The coefficients of the directions.
    by_direction: Vec<f64>,
    /// The coefficients of the base points.
    weights: Vec<f64>,
    /// The squared norm of that part.
    square: f64,
}

impl Pattern {
    fn new(manifold: &Manifold, by_direction: Vec<f64>) -> Self {
        let mut weights = vec![0.0; manifold.space.base.len()];
        for (a, coefficient) in by_direction.iter().enumerate() {
            if *coefficient != 0.0 {
                let direction = manifold.directions.col_as_slice(a);
                for (w, d) in weights.iter_mut().zip(direction) {
                    *w += coefficient * d;
                }
            }
        }
        let gram = &manifold.gram;
        let mut square = 0.0;
        for (a, ca) in by_direction.iter().enumerate() {
            for (b, cb) in by_direction.iter().enumerate() {
                square += ca * cb * gram[(a, b)];
            }
        }
        Self {
            by_direction,
            weights,
            square,
        }
    }

    /// The part as a function, at a base point.
    fn at_base(&self, manifold: &Manifold, row: usize) -> f64 {
        let coefficients = self.by_direction.iter().enumerate();
        coefficients
            .map(|(a, c)| c * manifold.at_base[(row, a)])
            .sum()
    }
}

/// The patterns of rows: one for each cell and mixture, or one for each row.
struct Patterns<'a> {
    manifold: &'a Manifold,
    assignment: &'a Assignment,
    strength: f64,
    shared: Vec<Pattern>,
}

impl<'a> Patterns<'a> {
    fn new(manifold: &'a Manifold, assignment: &'a Assignment, strength: f64) -> Self {
        let mut patterns = Self {
            manifold,
            assignment,
            strength,
            shared: Vec::new(),
        };
        if assignment.smooth.is_none() {
            let cells = manifold.shares.len();
            let unit = |c: usize| (0..cells).map(|k| f64::from(u8::from(k == c))).collect();
            let all: Vec<Vec<f64>> = (0..cells)
                .map(unit)
                .chain(assignment.mixtures.iter().cloned())
                .collect();
            patterns.shared = all
                .par_iter()
                .map(|weights| patterns.pattern(weights))
                .collect();
        }
        patterns
    }

    /// −t times the shift with these weights, and h*.
    fn pattern(&self, weights: &[f64]) -> Pattern {
        let shares = &self.manifold.shares;
        let pairs = weights.iter().zip(shares);
        let mut by_direction: Vec<f64> = pairs.map(|(w, p)| -self.strength * (w - p)).collect();
        by_direction.resize(self.manifold.directions.ncols(), 1.0);
        Pattern::new(self.manifold, by_direction)
    }

    fn of(&self, row: usize) -> Cow<'_, Pattern> {
        if let Some(features) = &self.assignment.smooth {
            return Cow::Owned(self.pattern(features.col_as_slice(row)));
        }
        match self.shared.get(self.assignment.cells[row] as usize) {
            Some(pattern) => Cow::Borrowed(pattern),
            // Without cells there is nothing to take off.
            None => Cow::Owned(self.pattern(&[])),
        }
    }
}
