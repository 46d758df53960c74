//! An interior-point method for the dual of a support vector machine (Mehrotra's predictor and corrector).
//!
//! The problem is to minimise $\tfrac12\beta^\top Q\beta + q^\top\beta$ with $0 \le \beta \le u$ and $k^\top Y\beta = 0$, where
//! $Q = Y Z Z^\top Y$ for signs Y. It is kept apart as $w = Z^\top Y\beta$ and
//! $$Y(Zw + kc) + q - z + v = 0,\quad \beta z = \mu,\quad (u - \beta)v = \mu.$$
//! The multipliers z and v are distances from the margin and β lies in a box of its own, so one start serves every C. A Newton step
//! leaves $Y(Z\,dw + k\,dc) + D\,d\beta = r$ with $D = z/\beta + v/(u - \beta)$, which a [`Curvature`] solves.

use std::ops::Range;

use oblivio_base::{Result, Watch};

use super::Margins;
use super::certificate;
use crate::learn::{Intercept, dot};

/// The linear algebra of a step.
pub(super) trait Curvature {
    /// Takes in D, the signed right side $YD^{-1}r$ and the signed coefficients Yβ, and finds the step. `None` if
    /// the system cannot be solved in these numbers.
    fn begin(&mut self, step: &Step<'_>, watch: &Watch) -> Result<Option<Norms>>;

    /// Shows $Z\,dw$ for all rows, range after range; before the correction it takes two further signed right sides for the same rows.
    fn images(&mut self, work: &mut Images<'_>, watch: &Watch) -> Result<()>;

    /// The step for the first right side plus `centring` times the second plus the third.
    fn correct(&mut self, centring: f64);

    /// Y dβ, where it is known better than from what it leaves of r: dividing by a small D magnifies rounding.
    fn moves(&self) -> Option<Vec<f64>>;

    /// Goes this part of the step.
    fn advance(&mut self, part: f64);

    /// w, or what stands for it.
    fn weights(&self) -> &[f64];

    /// The largest $\|z\|^2$.
    fn largest(&self) -> f64;

    /// dc
    fn constant(&self) -> f64;
}

/// Squared norms of w, of $Z^\top Y\beta$ and of their difference.
pub(super) struct Norms {
    pub(super) primal: f64,
    pub(super) dual: f64,
    pub(super) apart: f64,
}

/// What a step starts from.
pub(super) struct Step<'a> {
    pub(super) inverse: &'a [f64],
    pub(super) right: &'a [f64],
    pub(super) signed: &'a [f64],
}

/// Sees the images of a range of rows, and fills right sides for them.
pub(super) type Images<'a> = dyn FnMut(Range<usize>, &[f64], Option<[&mut [f64]; 2]>) + 'a;

/// A quadratic program of this kind. Rows past those of the margins have no upper bound and no part in the intercept.
pub(super) struct Program<'a> {
    pub(super) margins: &'a Margins<'a>,
    /// ε for every further row: $\langle w, z\rangle \ge -ε$.
    pub(super) slack: f64,
    pub(super) further: usize,
    /// $\|z\|$ of the further rows at most.
    pub(super) size: f64,
    /// What is handed out.
    pub(super) answer: Answer,
}

/// Which of the two, w or β, is the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Weights,
    /// Then $Z^\top Y\beta$ must be as good as w, which takes more: at large C a small error of β is a large one of the losses.
    Coefficients,
}

/// What was found: w and β (not yet feasible to the last bit), and the steps.
pub(super) struct Found {
    pub(super) weights: Vec<f64>,
    pub(super) beta: Vec<f64>,
    pub(super) steps: usize,
}

/// How far towards the boundary.
const REACH: f64 = 0.995;
/// The least D relative to the matrix: below, rounding in the system would outweigh it. It only holds a step back.
const FIRM: f64 = 1e-13;
/// A step so short leads nowhere.
const SHORT: f64 = 1e-9;
/// Where the right side of the gap lies for the method: its last steps are cheap.
const AIM: f64 = 0.01;

struct State {
    beta: Vec<f64>,
    /// u − β, kept on its own so that it is exact near zero.
    room: Vec<f64>,
    z: Vec<f64>,
    v: Vec<f64>,
    /// Zw
    image: Vec<f64>,
    c: f64,
}

/// The directions of a step.
struct Direction {
    image: Vec<f64>,
    beta: Vec<f64>,
    z: Vec<f64>,
    v: Vec<f64>,
}

impl Program<'_> {
    fn len(&self) -> usize {
        self.margins.labels.len() + self.further
    }

    fn sign(&self, i: usize) -> f64 {
        self.margins.labels.get(i).copied().unwrap_or(1.0)
    }

    /// $r = -(Y(Zw + kc) + q)$, how far a row is on the wrong side of its margin.
    fn lag(&self, i: usize, state: &State) -> f64 {
        match self.margins.labels.get(i) {
            Some(y) => 1.0 - y * (state.image[i] + state.c),
            None => -(state.image[i] + self.slack),
        }
    }

    fn is_bounded(&self, i: usize) -> bool {
        i < self.margins.labels.len()
    }

    /// w = 0: every row half-way in its box, weights of the classes balanced, and multipliers that fit exactly.
    fn start(&self) -> State {
        let Margins { labels, caps, .. } = *self.margins;
        let side = |sign: f64| -> f64 {
            let members = labels.iter().zip(caps).filter(|(y, _)| **y == sign);
            members.map(|(_, cap)| cap).sum()
        };
        let (plus, minus) = (side(1.0), side(-1.0));
        let balance = |y: f64| {
            let (own, other) = if y > 0.0 {
                (plus, minus)
            } else {
                (minus, plus)
            };
            if other > 0.0 {
                (other / own).min(1.0)
            } else {
                1.0
            }
        };
        let mut beta: Vec<f64> = (labels.iter().zip(caps))
            .map(|(y, cap)| 0.5 * cap * balance(*y))
            .collect();
        let mut room: Vec<f64> = caps.iter().zip(&beta).map(|(cap, b)| cap - b).collect();
        let (mut z, mut v) = (vec![1.0; beta.len()], vec![2.0; beta.len()]);
        let typical = caps.iter().sum::<f64>() / caps.len().max(1) as f64;
        let distance = self.slack + self.size;
        beta.resize(self.len(), typical / distance.max(f64::MIN_POSITIVE));
        z.resize(self.len(), distance);
        room.resize(self.len(), f64::INFINITY);
        v.resize(self.len(), 0.0);
        State {
            image: vec![0.0; self.len()],
            c: 0.0,
            beta,
            room,
            z,
            v,
        }
    }

    /// The relative gap between the primal at the present w and c (∞ outside the bounds of further rows) and the dual at β, with
    /// what it would take to mend β.
    fn gap(&self, state: &State, norms: &Norms, largest: f64) -> f64 {
        let Margins { labels, caps, .. } = *self.margins;
        let rows = labels.len();
        let outside = |image: &f64| *image < -self.slack - 1e-9 * self.size;
        if state.image[rows..].iter().any(outside) {
            return f64::INFINITY;
        }
        let primal =
            0.5 * norms.primal + certificate::hinge(self.margins, &state.image[..rows], state.c);
        let gain: f64 = state.beta[..rows].iter().sum();
        let cost: f64 = state.beta[rows..].iter().sum();
        let dual = gain - self.slack * cost - 0.5 * norms.dual;
        let mut mend = match self.margins.intercept {
            Intercept::Fitted => dot(&state.beta[..rows], labels).abs(),
            Intercept::None => 0.0,
        };
        if self.answer == Answer::Coefficients {
            // Bounds the change of the losses if w gives way to what β stands for; most rows see far less of it.
            let apart = (norms.apart * largest).sqrt() * caps.iter().sum::<f64>();
            mend += AIM * apart;
        }
        certificate::relative(self.margins, primal, dual).abs()
            + certificate::relative(self.margins, primal, primal - mend)
    }

    /// Solves until the relative gap is well within the tolerance.
    pub(super) fn solve(
        &self,
        curvature: &mut dyn Curvature,
        (tolerance, most_steps): (f64, usize),
        watch: &Watch,
    ) -> Result<Found> {
        watch.begin("interior point", most_steps)?;
        let mut state = self.start();
        let pairs = (2 * self.margins.labels.len() + self.further) as f64;
        let mut best = (
            f64::INFINITY,
            state.beta.clone(),
            curvature.weights().to_vec(),
        );
        let mut steps = 0;
        let mut worse = 0;
        let firm = FIRM * curvature.largest();
        loop {
            let signed: Vec<f64> = (0..self.len())
                .map(|i| self.sign(i) * state.beta[i])
                .collect();
            let inverse: Vec<f64> = (0..self.len())
                .map(|i| 1.0 / (state.z[i] / state.beta[i] + state.v[i] / state.room[i]).max(firm))
                .collect();
            let lags: Vec<f64> = (0..self.len()).map(|i| self.lag(i, &state)).collect();
            let right: Vec<f64> = (0..self.len())
                .map(|i| self.sign(i) * inverse[i] * lags[i])
                .collect();
            let step = Step {
                inverse: &inverse,
                right: &right,
                signed: &signed,
            };
            let Some(norms) = curvature.begin(&step, watch)? else {
                break;
            };
            let gap = self.gap(&state, &norms, curvature.largest());
            if gap < best.0 {
                best = (gap, state.beta.clone(), curvature.weights().to_vec());
                worse = 0;
            } else {
                worse += 1;
            }
            if gap <= AIM * tolerance || steps >= most_steps || worse > 15 {
                break;
            }
            steps += 1;
            watch.advance();
            let mu = (dot(&state.beta, &state.z) + complement(&state)) / pairs;
            let mut aim = self.predict(&state, curvature, (&inverse, &lags), watch)?;
            let part = reach(&state, &aim, 1.0);
            let ahead = self.ahead(&state, &aim, part) / pairs;
            let centring = mu * (ahead / mu).powi(3);
            curvature.correct(centring);
            self.settle(
                &state,
                curvature,
                (&inverse, &lags, centring),
                &mut aim,
                watch,
            )?;
            let part = reach(&state, &aim, REACH);
            if part.is_nan() || part < SHORT {
                break;
            }
            curvature.advance(part);
            state.c += part * curvature.constant();
            state.go(&aim, part);
        }
        Ok(Found {
            beta: best.1,
            weights: best.2,
            steps,
        })
    }

    /// The step without centring, and what it leaves out: its right sides.
    fn predict(
        &self,
        state: &State,
        curvature: &mut dyn Curvature,
        (inverse, lags): (&[f64], &[f64]),
        watch: &Watch,
    ) -> Result<Direction> {
        let n = self.len();
        let mut aim = Direction {
            image: vec![0.0; n],
            beta: vec![0.0; n],
            z: vec![0.0; n],
            v: vec![0.0; n],
        };
        let (dc, moves) = (curvature.constant(), curvature.moves());
        let mut work = |rows: Range<usize>, images: &[f64], sides: Option<[&mut [f64]; 2]>| {
            let Some([centre, second]) = sides else {
                return;
            };
            for (k, i) in rows.enumerate() {
                let sign = self.sign(i);
                let bounded = self.is_bounded(i);
                let moved = sign * (images[k] + if bounded { dc } else { 0.0 });
                let d = match &moves {
                    Some(moves) => sign * moves[i],
                    None => inverse[i] * (lags[i] - moved),
                };
                aim.beta[i] = d;
                aim.z[i] = -state.z[i] - state.z[i] * d / state.beta[i];
                if bounded {
                    aim.v[i] = -state.v[i] + state.v[i] * d / state.room[i];
                }
                centre[k] = sign * inverse[i] * state.push(i);
                second[k] = sign * inverse[i] * aim.bend(i, state);
            }
        };
        curvature.images(&mut work, watch)?;
        Ok(aim)
    }

    /// The step with centring and the second-order term of the one without.
    fn settle(
        &self,
        state: &State,
        curvature: &mut dyn Curvature,
        (inverse, lags, centring): (&[f64], &[f64], f64),
        aim: &mut Direction,
        watch: &Watch,
    ) -> Result<()> {
        let (dc, moves) = (curvature.constant(), curvature.moves());
        let mut work = |rows: Range<usize>, images: &[f64], _: Option<[&mut [f64]; 2]>| {
            for (k, i) in rows.enumerate() {
                let bounded = self.is_bounded(i);
                let moved = self.sign(i) * (images[k] + if bounded { dc } else { 0.0 });
                let lag = lags[i] + centring * state.push(i) + aim.bend(i, state);
                let d = match &moves {
                    Some(moves) => self.sign(i) * moves[i],
                    None => inverse[i] * (lag - moved),
                };
                let (beta, z) = (state.beta[i], state.z[i]);
                let goal = centring - beta * z - aim.beta[i] * aim.z[i];
                aim.z[i] = (goal - z * d) / beta;
                if bounded {
                    let (room, v) = (state.room[i], state.v[i]);
                    let goal = centring - room * v + aim.beta[i] * aim.v[i];
                    aim.v[i] = (goal + v * d) / room;
                }
                aim.beta[i] = d;
                aim.image[i] = images[k];
            }
        };
        curvature.images(&mut work, watch)
    }

    /// The sum of products of multipliers after this part of the step.
    fn ahead(&self, state: &State, aim: &Direction, part: f64) -> f64 {
        let lower =
            |i: usize| (state.beta[i] + part * aim.beta[i]) * (state.z[i] + part * aim.z[i]);
        let upper =
            |i: usize| (state.room[i] - part * aim.beta[i]) * (state.v[i] + part * aim.v[i]);
        let bounded = 0..self.margins.labels.len();
        (0..self.len()).map(lower).sum::<f64>() + bounded.map(upper).sum::<f64>()
    }
}

impl State {
    /// $1/\beta - 1/(u - \beta)$
    fn push(&self, i: usize) -> f64 {
        1.0 / self.beta[i] - 1.0 / self.room[i]
    }

    fn go(&mut self, aim: &Direction, part: f64) {
        let add = |to: &mut [f64], by: &[f64], part: f64| {
            to.iter_mut().zip(by).for_each(|(t, d)| *t += part * d);
        };
        add(&mut self.beta, &aim.beta, part);
        add(&mut self.room, &aim.beta, -part);
        add(&mut self.z, &aim.z, part);
        add(&mut self.v, &aim.v, part);
        add(&mut self.image, &aim.image, part);
    }
}

impl Direction {
    /// The second-order term $-d\beta\,dz/\beta - d\beta\,dv/(u - \beta)$ of the right side.
    fn bend(&self, i: usize, state: &State) -> f64 {
        -self.beta[i] * (self.z[i] / state.beta[i] + self.v[i] / state.room[i])
    }
}

fn complement(state: &State) -> f64 {
    let pairs = state
        .room
        .iter()
        .zip(&state.v)
        .filter(|(room, _)| room.is_finite());
    pairs.map(|(room, v)| room * v).sum()
}

/// The part of a step, at most one, that goes this share of the way to the boundary.
fn reach(state: &State, aim: &Direction, share: f64) -> f64 {
    let mut most = 1.0 / share;
    let mut limit = |value: f64, change: f64| {
        if change < 0.0 {
            most = f64::min(most, -value / change);
        }
    };
    for i in 0..state.beta.len() {
        limit(state.beta[i], aim.beta[i]);
        limit(state.room[i], -aim.beta[i]);
        limit(state.z[i], aim.z[i]);
        limit(state.v[i], aim.v[i]);
    }
    share * most
}
