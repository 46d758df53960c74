//! Projection onto the manifold: the data row whose feature is nearest to an oblivious one.

mod certificate;
mod discrete;
mod local;
mod objective;
mod pattern;
mod reach;
mod region;
#[cfg(test)]
mod tests;

use faer::{Mat, MatRef};
use oblivio::ConditionalMean;
use oblivio::features::ObliviousFeatures;
use oblivio::partition::SensitiveDesign;
use oblivio_base::choice::check_strength;
use oblivio_base::{Error, Points, Result, Watch};
use oblivio_kernels::{FeatureMap, Kernel, KernelMatrix, Shape};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::certificate::{Certified, Known, middle};
pub use self::certificate::{Certify, LowerBound};
use self::local::descend;
use self::objective::{Objective, Scratch, Space};
use self::pattern::{Pattern, Patterns};
use self::reach::{Reach, moved};
pub use self::region::{Region, Span, Stepped};

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
    /// k(b, b) for every base point.
    diagonal: Vec<f64>,
}

/// The numbers of a manifold without translation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ManifoldParts {
    pub(crate) kernel: String,
    pub(crate) base: Vec<f64>,
    pub(crate) directions: Vec<f64>,
    pub(crate) shares: Vec<f64>,
    pub(crate) gram: Vec<f64>,
    pub(crate) at_base: Vec<f64>,
}

impl ManifoldParts {
    /// Refuses numbers that no manifold of points with `dim` features has.
    pub(crate) fn check_read(&self, dim: usize) -> Result<()> {
        let count = self.shares.len();
        let rows = self.base.len() / dim.max(1);
        let all = [&self.base, &self.directions, &self.shares, &self.gram];
        let mut numbers = all.into_iter().chain([&self.at_base]).flatten();
        let sound = dim > 0
            && rows > 0
            && self.base.len() == rows * dim
            && self.directions.len() == rows * count
            && self.at_base.len() == rows * count
            && self.gram.len() == count * count
            && self.kernel.parse::<Kernel>().is_ok()
            && numbers.all(|v| v.is_finite());
        if sound {
            return Ok(());
        }
        Err(Error::InvalidModel {
            problem: "the numbers of its projection do not fit together".into(),
        })
    }
}

/// How projections are looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// A search starts at the row itself, and then at most at as many points of the reference, or landmarks: those with the least values, where
    /// these are below the least found so far.
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
            mean.at_reference(&Watch::default())?,
        )
    }

    /// The manifold over a region, with the shifts of features on landmarks: the explicit path. The row itself is not replaced by its
    /// projection onto the landmarks' span.
    pub fn on_landmarks(
        features: &ObliviousFeatures,
        region: Region,
        watch: &Watch,
    ) -> Result<Self> {
        let (means, shares) = features.means();
        Self::with_means(features.map(), &means, shares, region, watch)
    }

    /// The same with these mean features, one in each column. With $f = Rk$, a linear function v of features has the coefficients Rv.
    pub(crate) fn with_means(
        map: &FeatureMap,
        means: &Mat<f64>,
        shares: Vec<f64>,
        region: Region,
        watch: &Watch,
    ) -> Result<Self> {
        let basis = map.basis();
        if basis.shape() != Shape::Points {
            return Err(Error::InvalidParameter {
                name: "the features of a projection",
                expected: "on landmarks, whose kernel is known everywhere",
                value: "Fourier features".into(),
            });
        }
        let directions = map.root() * means;
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

    /// The numbers it consists of, for a file; h* has no place there.
    pub(crate) fn parts(&self) -> ManifoldParts {
        let column_major = |mat: &Mat<f64>| -> Vec<f64> {
            let columns = (0..mat.ncols()).flat_map(|a| mat.col_as_slice(a));
            columns.copied().collect()
        };
        ManifoldParts {
            kernel: self.space.kernel.to_string(),
            base: self.space.base.values().to_vec(),
            directions: column_major(&self.directions),
            shares: self.shares.clone(),
            gram: column_major(&self.gram),
            at_base: column_major(&self.at_base),
        }
    }

    /// The manifold of such numbers over a region of points of `dim` features.
    pub(crate) fn of_parts(parts: &ManifoldParts, dim: usize, region: Region) -> Result<Self> {
        parts.check_read(dim)?;
        let count = parts.shares.len();
        let rows = parts.base.len() / dim;
        let mat = |values: &[f64], rows: usize| {
            MatRef::from_column_major_slice(values, rows, count).to_owned()
        };
        let base = Points::new(parts.base.clone(), dim)?;
        Self::new(
            Space::new(parts.kernel.parse()?, base),
            region,
            mat(&parts.directions, rows),
            parts.shares.clone(),
            mat(&parts.gram, count),
            mat(&parts.at_base, rows),
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
        let base = (0..space.base.len()).map(|j| space.base.row(j));
        Ok(Self {
            diagonal: base.map(|b| space.kernel.at(b, b)).collect(),
            space,
            region,
            directions,
            shares,
            gram,
            at_base,
        })
    }

    /// The same with $h^* = \sum_jc_j\phi(b_j)$ on the reference rows, or the landmarks, more than before.
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
        let count = self.shares.len();
        let before = (self.directions.ncols() > count).then(|| self.directions.col_as_slice(count));
        let sum = |(i, c): (usize, &f64)| c + before.map_or(0.0, |before| before[i]);
        let coefficients: Vec<f64> = coefficients.iter().enumerate().map(sum).collect();
        let star = MatRef::from_column_major_slice(&coefficients, rows, 1);
        let matrix = KernelMatrix::of(&self.space.kernel, &self.space.base);
        let at = matrix.times_matrix(star, watch)?;
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

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.space.kernel
    }

    /// The points that shifts are made of: the reference rows, or the landmarks.
    pub fn base(&self) -> &Points<'static> {
        &self.space.base
    }

    /// The region.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The projections of rows with these sensitive values, each by itself.
    ///
    /// ```
    /// use oblivio::partition::SensitiveDesign;
    /// use oblivio::{ConditionalMean, Kernel, Points, Watch};
    /// use oblivio_release::{Manifold, Region, Search};
    /// // The second group is the first one, two higher.
    /// let x = Points::new(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0], 1)?;
    /// let cells = vec![0, 0, 0, 1, 1, 1];
    /// let (kernel, watch) = (Kernel::Gaussian { gamma: 0.01 }, Watch::default());
    /// let mean = ConditionalMean::estimate(kernel, x.clone(), cells.clone(), &[1.0; 6], &[3.0; 2], &watch)?;
    /// let manifold = Manifold::of(&mean, Region::of(&x))?;
    /// let cells = SensitiveDesign::from_cells(cells);
    /// let w = manifold.project(&x, &cells, 1.0, &Search::default(), &watch)?.points;
    /// // With a wide kernel the projections are nearly the rows less the means of their groups, plus the mean.
    /// assert!((w.row(1)[0] - 2.5).abs() < 0.1 && (w.row(4)[0] - 2.5).abs() < 0.1);
    /// # Ok::<(), oblivio::Error>(())
    /// ```
    pub fn project(
        &self,
        points: &Points,
        assignment: &SensitiveDesign,
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
                let own = points.row(row);
                let found = self.project_row(own, &pattern, (search, watch), scratch);
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

    fn check(&self, points: &Points, assignment: &SensitiveDesign) -> Result<()> {
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
        let count = self.shares.len();
        let rows = assignment.len();
        if let Some(groups) = assignment.groups() {
            let known = count + groups.mixtures.len();
            let most = groups.codes.iter().max().map_or(0, |c| *c as usize);
            if known > 0 && most >= known {
                return length("the cells of the assignment", most + 1, known);
            }
        } else if assignment.width() != count {
            return length("the features of S", assignment.width(), count);
        }
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
        (search, watch): (&Search, &Watch),
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
        let entered = best.clone();
        let mut value = discrete::descend_all(&objective, &self.region, &free, &mut best, scratch);
        let from = (&entered[..], value);
        for mut x in self.starts(&objective, pattern, from, search.further_starts, scratch) {
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
                watch,
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

    /// Where further searches start: the base points with the least values below one that was found, as far as they can be reached from
    /// the row.
    fn starts(
        &self,
        objective: &Objective,
        pattern: &Pattern,
        (entered, found): (&[f64], f64),
        count: usize,
        scratch: &mut Scratch,
    ) -> Vec<Vec<f64>> {
        if count == 0 {
            return Vec::new();
        }
        let near = self.space.at_base(objective.own, scratch);
        let mut least: Vec<(f64, usize)> = Vec::new();
        let both = near.iter().zip(&pattern.at_base);
        for (j, (diagonal, (own, shift))) in self.diagonal.iter().zip(both).enumerate() {
            let value = diagonal - 2.0 * (own + shift);
            let below = least.get(count - 1).map_or(found, |(value, _)| *value);
            if value < below {
                least.truncate(count - 1);
                let place = least.partition_point(|(other, _)| *other <= value);
                least.insert(place, (value, j));
            }
        }
        let start = |(_, j): (f64, usize)| {
            // What stays as it is stays as in the row.
            let mut start = entered.to_vec();
            let moved = self.region.free.iter().map(|span| span.feature);
            let moved = moved.chain(self.region.stepped.iter().map(|s| s.feature));
            for k in moved.chain(self.region.one_of.iter().cloned().flatten()) {
                start[k] = self.space.base.row(j)[k];
            }
            self.region.enter(&mut start);
            start
        };
        least.into_iter().map(start).collect()
    }

    /// The gap in squared distance at which certificates are content.
    pub(crate) fn tolerance(&self, certify: &Certify) -> f64 {
        let dim = self.space.dim();
        let origin = vec![0.0; dim];
        let radius = self.region.radius(&origin);
        let reach = Reach::of(&self.space.kernel, radius, dim);
        let (centre, half) = middle(&self.region.moving(), &origin);
        certify.gap(&reach, moved(&self.space.kernel, &centre, &half, radius))
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
        let certify = Certify {
            most_boxes: (certify.most_boxes / combinations).max(1),
            ..*certify
        };
        for number in 0..combinations {
            let mut x = reference.clone();
            self.region.combine(number, &mut x);
            if combinations > 1 {
                descend(known.objective, free, &mut x, scratch);
            }
            let found = known.search(free, &mut x, &certify, scratch);
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
