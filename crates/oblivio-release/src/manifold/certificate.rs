//! Branch and bound: how far a point can be from the least value over a box.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use oblivio_base::{Named, Watch};

use super::local::descend;
use super::objective::{Objective, Scratch};
use super::reach::{Reach, moved};
use super::region::Span;

/// How a projection is certified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certify {
    /// The gap that is good enough, in squared distance, as a share of $\sup k(x, x)$, or of the squared distance that φ goes from the middle
    /// of the region if that is less. Infinity sets no such limit.
    pub tolerance: f64,
    /// The gap that is good enough, as a share of the squared distance found. Infinity sets no such limit.
    pub share: f64,
    /// The most boxes looked at for a row; a search that ends here has a larger gap, which holds all the same.
    pub most_boxes: usize,
    /// What is known of the objective within a box.
    pub bound: LowerBound,
}

impl Default for Certify {
    fn default() -> Self {
        Self {
            tolerance: 1e-3,
            share: f64::INFINITY,
            most_boxes: 20_000,
            bound: LowerBound::default(),
        }
    }
}

impl Certify {
    /// The gap that is good enough, where φ goes so far from the middle of the region.
    pub(super) fn gap(&self, reach: &Reach, far: f64) -> f64 {
        self.tolerance * reach.size().min(far).powi(2)
    }

    /// The smaller of this tolerance and the share of a squared distance.
    fn limit(&self, tolerance: f64, square: f64) -> f64 {
        if self.share.is_finite() {
            tolerance.min(self.share * square.max(0.0))
        } else {
            tolerance
        }
    }
}

/// The middle and the half-widths of a box; features that are not free stay.
pub(super) fn middle(free: &[Span], x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut centre, mut half) = (x.to_vec(), vec![0.0; x.len()]);
    for span in free {
        centre[span.feature] = span.at(0.5);
        half[span.feature] = span.width() / 2.0;
    }
    (centre, half)
}

/// A lower bound of $f(x) = k(x, x) - 2\langle z, \phi(x)\rangle$ over a box of half-widths h around c.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LowerBound {
    /// $f(c) - \sum_j|\partial_jf(c)|h_j - \tfrac12M\|h\|^2$, with M the most that f can bend down, or that of
    /// [`Metric`](Self::Metric), whichever is higher.
    #[default]
    SecondOrder,
    /// $(\|z - \phi(c)\| - r)_+^2 - \|z\|^2$, with r the farthest that φ goes within the box.
    Metric,
    /// The paper's: $f(c) - 8L'\|h\|$, where every $k(x, \cdot)$ is Lipschitz with constant L′; more than 8 where the weights of the shift
    /// add up to more than those of two means.
    Holder,
}

impl Named for LowerBound {
    const WHAT: &'static str = "lower bound";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("second-order", Self::SecondOrder),
        ("metric", Self::Metric),
        ("holder", Self::Holder),
    ];
}

/// A box, the one with the least bound first.
struct Part {
    bound: f64,
    centre: Vec<f64>,
    half: Vec<f64>,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_bound = other.bound.total_cmp(&self.bound);
        by_bound.then_with(|| {
            let places = self.centre.iter().zip(&other.centre);
            let mut orders = places.map(|(a, b)| a.total_cmp(b));
            orders.find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        })
    }
}

/// What is known of the objective of one row.
pub(super) struct Known<'a> {
    pub(super) objective: &'a Objective<'a>,
    /// Of the region.
    pub(super) reach: Reach,
    pub(super) radius: f64,
    /// $\|z\|^2$
    pub(super) square: f64,
    /// $1 + \sum_j|w_j|$
    pub(super) mass: f64,
    pub(super) watch: &'a Watch,
}

/// The least value found, and a value that f is nowhere below.
pub(super) struct Certified {
    pub(super) value: f64,
    pub(super) least: f64,
    pub(super) boxes: usize,
}

impl Known<'_> {
    /// Looks for a lower value than that at x, which moves there, over the free features; the others stay as in x.
    ///
    /// Best first: the box with the least bound is halved along its longest side until the bound is within the tolerance of the
    /// least value found: an absolute one, and a share of the squared distance. Every better centre starts a local search.
    pub(super) fn search(
        &self,
        free: &[Span],
        x: &mut [f64],
        certify: &Certify,
        scratch: &mut Scratch,
    ) -> Certified {
        let mut best = self.objective.value(x, scratch);
        let mut boxes = 1;
        let (centre, half) = middle(free, x);
        let mut whole = Part {
            bound: 0.0,
            centre,
            half,
        };
        let far = moved(
            &self.objective.space.kernel,
            &whole.centre,
            &whole.half,
            self.radius,
        );
        let tolerance = certify.gap(&self.reach, far);
        let (value, bound) = self.look(&whole, certify.bound, scratch);
        whole.bound = bound;
        best = self.improve(free, &whole.centre, value, (x, best), scratch);
        let mut open = BinaryHeap::from([whole]);
        let mut least = f64::NEG_INFINITY;
        while let Some(part) = open.pop() {
            least = part.bound;
            if best - least <= certify.limit(tolerance, best + self.square)
                || boxes >= certify.most_boxes
                || self.watch.is_interrupted()
            {
                break;
            }
            let longest = free
                .iter()
                .map(|span| span.feature)
                .max_by(|a, b| part.half[*a].total_cmp(&part.half[*b]));
            let Some(longest) = longest else {
                break;
            };
            for side in [-0.5, 0.5] {
                let mut child = Part {
                    bound: part.bound,
                    centre: part.centre.clone(),
                    half: part.half.clone(),
                };
                child.centre[longest] += side * part.half[longest];
                child.half[longest] *= 0.5;
                let (value, bound) = self.look(&child, certify.bound, scratch);
                boxes += 1;
                // What holds for a box holds for its halves.
                child.bound = bound.max(part.bound);
                best = self.improve(free, &child.centre, value, (x, best), scratch);
                open.push(child);
            }
        }
        Certified {
            value: best,
            least: least.min(best) - self.rounding(),
            boxes,
        }
    }

    /// Goes downhill from a centre that is better than the best, and keeps the end of it.
    fn improve(
        &self,
        free: &[Span],
        centre: &[f64],
        value: f64,
        (x, best): (&mut [f64], f64),
        scratch: &mut Scratch,
    ) -> f64 {
        if value >= best {
            return best;
        }
        let mut from = centre.to_vec();
        let end = descend(self.objective, free, &mut from, scratch);
        if end < best {
            x.copy_from_slice(&from);
        }
        end.min(best)
    }

    /// f at the centre of a box, and what it is at least over the box.
    fn look(&self, part: &Part, kind: LowerBound, scratch: &mut Scratch) -> (f64, f64) {
        let length = part.half.iter().map(|h| h * h).sum::<f64>().sqrt();
        match kind {
            LowerBound::Holder => {
                let value = self.objective.value(&part.centre, scratch);
                let steepness = (2.0 * (self.mass + 1.0)).max(8.0) * self.reach.lipschitz();
                (value, value - steepness * length)
            }
            LowerBound::Metric => {
                let value = self.objective.value(&part.centre, scratch);
                (value, self.metric(part, value))
            }
            LowerBound::SecondOrder => {
                let Some(curvature) = self.reach.curvature(self.square.sqrt()) else {
                    return self.look(part, LowerBound::Metric, scratch);
                };
                let mut slope = vec![0.0; part.centre.len()];
                let value = self.objective.slope(&part.centre, &mut slope, scratch);
                let along: f64 = slope.iter().zip(&part.half).map(|(s, h)| s.abs() * h).sum();
                let bound = value - along - 0.5 * curvature * length * length;
                (value, bound.max(self.metric(part, value)))
            }
        }
    }

    fn metric(&self, part: &Part, value: f64) -> f64 {
        let kernel = &self.objective.space.kernel;
        let far = moved(kernel, &part.centre, &part.half, self.radius);
        let distance = (value + self.square).max(0.0).sqrt();
        (distance - far).max(0.0).powi(2) - self.square
    }

    /// What rounding can do to a value of f.
    fn rounding(&self) -> f64 {
        1e-13 * self.mass * self.reach.size().powi(2)
    }
}
