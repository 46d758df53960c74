//! Sequential minimal optimisation: two coefficients at a time (Platt 1998), the second chosen by its gain (Fan, Chen and Lin 2005).
//!
//! In the signed coefficients $a_i = \alpha_i y_i$ the dual is to maximise $y^\top a - \tfrac12 a^\top\mathcal O a$ over boxes with
//! $\sum_i a_i = 0$. Its gradient is the residual $s = y - \mathcal O a$. The solution is reached where, for some c, no coefficient
//! with $s_i > c$ can grow and none with $s_i < c$ can fall; c is the intercept.

use oblivio_base::{Result, Watch};

use super::certificate;
use super::passes::{Alone, Extremes, Gain, Partner, Update, View, curvature};
use super::rows::Rows;
use super::{Margins, SMALL};
use crate::learn::Intercept;

/// The violation at which all rows are looked at first, and by how much it falls each time the gap is still too wide.
const FIRST_GOAL: f64 = 1e-2;
const NARROWER: f64 = 0.3;
/// Residuals are not exact to more than this.
const LEAST_GOAL: f64 = 1e-14;
/// Steps between two looks at what can be shrunk.
const SHRINK_EVERY: usize = 1000;

/// What SMO found: feasible coefficients, $\mathcal O a$ and the steps it took; and the rows, which are not needed any more.
pub(super) struct Found<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) coefficients: Vec<f64>,
    pub(super) values: Vec<f64>,
    pub(super) steps: usize,
}

/// All vectors are in the order of the rows' columns, active ones first.
struct Smo<'a> {
    problem: &'a Margins<'a>,
    rows: Rows<'a>,
    active: usize,
    labels: Vec<f64>,
    /// a, and its box
    coefficients: Vec<f64>,
    least: Vec<f64>,
    most: Vec<f64>,
    /// s
    residuals: Vec<f64>,
    up: Vec<f64>,
    down: Vec<f64>,
    diagonal: Vec<f64>,
    /// The coefficients and residuals when those of all rows were last right.
    known: Vec<f64>,
    origin: Vec<f64>,
}

/// The best step to take next, or that no step is worth taking.
struct Next {
    violation: f64,
    extremes: Extremes,
    alone: Gain,
}

/// Goes on until the relative duality gap is within the tolerance, or for so many steps.
pub(super) fn solve<'a>(
    rows: Rows<'a>,
    diagonal: &[f64],
    problem: &'a Margins<'a>,
    (tolerance, most_steps): (f64, usize),
    watch: &Watch,
) -> Result<Found<'a>> {
    watch.begin("support vectors", 0)?;
    let n = problem.labels.len();
    let (least, most) = (problem.labels.iter().zip(problem.caps))
        .map(|(y, cap)| if *y > 0.0 { (0.0, *cap) } else { (-cap, 0.0) })
        .unzip();
    let mut smo = Smo {
        problem,
        rows,
        active: n,
        labels: problem.labels.to_vec(),
        coefficients: vec![0.0; n],
        least,
        most,
        residuals: problem.labels.to_vec(),
        up: vec![0.0; n],
        down: vec![0.0; n],
        diagonal: diagonal.to_vec(),
        known: vec![0.0; n],
        origin: problem.labels.to_vec(),
    };
    (0..n).for_each(|t| smo.set_directions(t));
    let mut steps = 0;
    let mut goal = FIRST_GOAL;
    let mut polish: Option<usize> = None;
    let mut next = smo.look();
    let mut until_shrink = SHRINK_EVERY.min(n);
    loop {
        if next.violation <= goal || steps >= polish.unwrap_or(most_steps).min(most_steps) {
            smo.restore(watch)?;
            let over = steps >= most_steps || goal < LEAST_GOAL;
            let near = smo.gap() <= 0.9 * tolerance;
            if near && n <= SMALL {
                // A little further, while that takes no time.
                let last = *polish.get_or_insert(steps + 2000 + 20 * n);
                if steps >= last.min(most_steps) {
                    return smo.finish(steps, watch);
                }
            } else if near {
                return smo.finish(steps, watch);
            }
            if over {
                return smo.finish(steps, watch);
            }
            next = smo.look();
            // Rows that were out of sight may violate more than the goal: then it has not been tried yet.
            if next.violation <= goal {
                goal = (next.violation * NARROWER).min(goal * NARROWER);
            }
            until_shrink = SHRINK_EVERY.min(n);
            continue;
        }
        if until_shrink == 0 {
            until_shrink = SHRINK_EVERY.min(n);
            watch.check()?;
            if smo.shrink(&next) {
                next = smo.look();
            }
        }
        until_shrink -= 1;
        steps += 1;
        next = match problem.intercept {
            Intercept::Fitted => smo.step_pair(&next),
            Intercept::None => smo.step_alone(&next),
        };
    }
}

impl<'a> Smo<'a> {
    fn view(&self) -> View<'_> {
        View {
            up: &self.up[..self.active],
            down: &self.down[..self.active],
            diagonal: &self.diagonal[..self.active],
        }
    }

    /// Where coefficient t can go.
    fn set_directions(&mut self, t: usize) {
        let a = self.coefficients[t];
        self.up[t] = if a < self.most[t] {
            0.0
        } else {
            f64::NEG_INFINITY
        };
        self.down[t] = if a > self.least[t] {
            0.0
        } else {
            f64::INFINITY
        };
    }

    /// Adds to a coefficient; a step to the bound ends on it exactly.
    fn add(&mut self, t: usize, step: f64) {
        let a = self.coefficients[t] + step;
        let margin = 1e-15 * (self.most[t] - self.least[t]);
        self.coefficients[t] = if a >= self.most[t] - margin {
            self.most[t]
        } else if a <= self.least[t] + margin {
            self.least[t]
        } else {
            a
        };
        self.set_directions(t);
    }

    /// The next step from the residuals as they are.
    fn look(&mut self) -> Next {
        match self.problem.intercept {
            Intercept::Fitted => {
                let residuals = &self.residuals[..self.active];
                Next::pair(Extremes::of(self.view(), residuals))
            }
            Intercept::None => {
                let zeros = vec![0.0; self.active];
                let view = View {
                    up: &self.up[..self.active],
                    down: &self.down[..self.active],
                    diagonal: &self.diagonal[..self.active],
                };
                let still = Alone {
                    view,
                    residuals: &mut self.residuals[..self.active],
                    row: &zeros,
                    step: 0.0,
                };
                Next::alone(still.apply())
            }
        }
    }

    /// One coefficient grows by what another falls.
    fn step_pair(&mut self, next: &Next) -> Next {
        let Extremes { highest, lowest } = next.extremes;
        let (i, active) = (highest.1, self.active);
        let slot_i = self.rows.fetch(self.rows.order()[i] as usize);
        let row = &self.rows.at(slot_i)[..active];
        let (norm, view) = (self.diagonal[i], self.view());
        // The lowest is a good first guess of the partner.
        let difference = highest.0 - lowest.0;
        let start = Gain {
            square: difference * difference,
            curvature: curvature(norm, self.diagonal[lowest.1], row[lowest.1]),
            row: lowest.1,
        };
        let partner = Partner {
            view,
            residuals: &self.residuals[..active],
            row,
            highest: highest.0,
            norm,
            best: start,
        };
        let gain = partner.find();
        let j = gain.row;
        let wanted = (highest.0 - self.residuals[j]) / gain.curvature;
        let (room_i, room_j) = (
            self.most[i] - self.coefficients[i],
            self.coefficients[j] - self.least[j],
        );
        let step = wanted.min(room_i).min(room_j);
        self.add(i, step);
        self.add(j, -step);
        let slot_j = self.rows.fetch(self.rows.order()[j] as usize);
        let view = View {
            up: &self.up[..active],
            down: &self.down[..active],
            diagonal: &self.diagonal[..active],
        };
        let update = Update {
            view,
            residuals: &mut self.residuals[..active],
            grown: &self.rows.at(slot_i)[..active],
            fallen: &self.rows.at(slot_j)[..active],
            step,
        };
        Next::pair(update.apply())
    }

    /// Without an intercept coefficients move one at a time.
    fn step_alone(&mut self, next: &Next) -> Next {
        let (i, active) = (next.alone.row, self.active);
        let wanted = self.residuals[i] / next.alone.curvature;
        let before = self.coefficients[i];
        let step = wanted.clamp(self.least[i] - before, self.most[i] - before);
        self.add(i, step);
        let slot = self.rows.fetch(self.rows.order()[i] as usize);
        let view = View {
            up: &self.up[..active],
            down: &self.down[..active],
            diagonal: &self.diagonal[..active],
        };
        let update = Alone {
            view,
            residuals: &mut self.residuals[..active],
            row: &self.rows.at(slot)[..active],
            step,
        };
        Next::alone(update.apply())
    }

    /// Leaves out coefficients at a bound that they want to stay at: those that could only be one of a pair with a row that
    /// violates more than any does. Whether it did.
    fn shrink(&mut self, next: &Next) -> bool {
        let (low, high) = match self.problem.intercept {
            Intercept::Fitted => (next.extremes.lowest.0, next.extremes.highest.0),
            Intercept::None => (-next.violation, next.violation),
        };
        let stays = |t: usize| {
            let s = self.residuals[t];
            !(self.down[t] != 0.0 && s < low || self.up[t] != 0.0 && s > high)
        };
        let (mut places, rest): (Vec<usize>, Vec<usize>) =
            (0..self.active).partition(|&t| stays(t));
        let active = places.len();
        // A sort is paid for by every row that is used after it.
        if rest.len() * 10 < self.active || active < 2 {
            return false;
        }
        places.extend(rest);
        let mut columns = self.rows.order().to_vec();
        for (to, &from) in places.iter().enumerate() {
            columns[to] = self.rows.order()[from];
        }
        if !self.rows.reorder(columns, self.active) {
            return false;
        }
        let mut spare = vec![0.0; places.len()];
        for vector in [
            &mut self.labels,
            &mut self.coefficients,
            &mut self.least,
            &mut self.most,
            &mut self.residuals,
            &mut self.up,
            &mut self.down,
            &mut self.diagonal,
            &mut self.known,
            &mut self.origin,
        ] {
            for (to, &from) in spare.iter_mut().zip(&places) {
                *to = vector[from];
            }
            vector[..spare.len()].copy_from_slice(&spare);
        }
        self.active = active;
        true
    }

    /// Makes the residuals of all rows right, and all rows active.
    fn restore(&mut self, watch: &Watch) -> Result<()> {
        if self.active < self.labels.len() {
            let order = self.rows.order();
            let changed: Vec<(usize, f64)> = (0..order.len())
                .map(|t| (order[t] as usize, self.coefficients[t] - self.known[t]))
                .filter(|(_, change)| *change != 0.0)
                .collect();
            let product = self.rows.product(&changed, watch)?;
            for t in self.active..self.labels.len() {
                self.residuals[t] = self.origin[t] - product[self.rows.order()[t] as usize];
            }
            self.active = self.labels.len();
        }
        self.known.copy_from_slice(&self.coefficients);
        self.origin.copy_from_slice(&self.residuals);
        Ok(())
    }

    /// The relative gap at residuals of all rows.
    fn gap(&self) -> f64 {
        let (coefficients, values) = self.in_first_order();
        let (primal, dual, _) = certificate::values(self.problem, &coefficients, &values);
        certificate::relative(self.problem, primal, dual)
    }

    /// a and $\mathcal O a = y - s$, by rows.
    fn in_first_order(&self) -> (Vec<f64>, Vec<f64>) {
        let n = self.labels.len();
        let (mut coefficients, mut values) = (vec![0.0; n], vec![0.0; n]);
        for (t, &row) in self.rows.order().iter().enumerate() {
            coefficients[row as usize] = self.coefficients[t];
            values[row as usize] = self.labels[t] - self.residuals[t];
        }
        (coefficients, values)
    }

    /// What is handed out rests on values computed anew, not on thousands of updates.
    fn finish(self, steps: usize, watch: &Watch) -> Result<Found<'a>> {
        let (mut coefficients, _) = self.in_first_order();
        certificate::make_feasible(self.problem, &mut coefficients);
        let entries: Vec<(usize, f64)> = (coefficients.iter().copied().enumerate())
            .filter(|(_, a)| *a != 0.0)
            .collect();
        let values = self.rows.product(&entries, watch)?;
        Ok(Found {
            rows: self.rows,
            coefficients,
            values,
            steps,
        })
    }
}

impl Next {
    fn pair(extremes: Extremes) -> Self {
        Self {
            violation: extremes.highest.0 - extremes.lowest.0,
            extremes,
            alone: Gain::NONE,
        }
    }

    fn alone((gain, largest): (Gain, f64)) -> Self {
        Self {
            violation: largest,
            extremes: Extremes::NONE,
            alone: gain,
        }
    }
}
