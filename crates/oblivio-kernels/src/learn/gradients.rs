//! Conjugate gradients with a preconditioner, to the accuracy of Cholesky.

use oblivio_base::{Result, Watch};

/// The backward error $\|y - A\alpha\|/(\|A\|\|\alpha\| + \|y\|)$ of a solution; that of Cholesky is of the same size.
pub(super) const GOAL: f64 = 4.0 * f64::EPSILON;

/// A symmetric positive-definite matrix and something near its inverse.
pub(super) trait Operator {
    /// The products with these vectors.
    fn multiply(&self, vectors: &[&[f64]]) -> Result<Vec<Vec<f64>>>;

    /// About $A^{-1}v$.
    fn precondition(&self, vector: &[f64]) -> Vec<f64>;

    /// At most the norm of A, and not much less: an error relative to it is never understated.
    fn largest(&self) -> f64;
}

/// How long to go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// The most steps.
    pub(super) steps: usize,
    /// Whether to give up as soon as the pace so far will not do.
    pub(super) foresight: bool,
    /// The backward error aimed at, at most [`GOAL`].
    pub(super) aim: f64,
    /// The residual of the recurrence drifts from the true one; once it has shrunk by this, the true one takes its place.
    pub(super) trust: f64,
}

/// What was found.
pub(super) struct Found {
    pub(super) solutions: Vec<Vec<f64>>,
    /// The steps for the slowest of the right sides.
    pub(super) iterations: usize,
    /// The largest backward error.
    pub(super) error: f64,
}

impl Found {
    /// Whether all solutions are as good as those of Cholesky.
    pub(super) fn is_exact(&self) -> bool {
        self.error <= GOAL
    }
}

/// Steps before the pace is judged.
const WARM_UP: usize = 6;

/// Solves $A\alpha = y$ for several y, in step, so that a product serves all of them.
pub(super) fn conjugate_gradients(
    operator: &dyn Operator,
    right_sides: &[Vec<f64>],
    patience: Patience,
    watch: &Watch,
) -> Result<Found> {
    let largest = operator.largest();
    let mut runs: Vec<Run> = right_sides
        .iter()
        .map(|targets| Run::new(operator, targets, largest))
        .collect();
    loop {
        watch.check()?;
        let vectors: Vec<&[f64]> = runs.iter().filter_map(Run::asks).collect();
        if vectors.is_empty() {
            break;
        }
        let images = operator.multiply(&vectors)?;
        let open = runs.iter_mut().filter(|run| run.state != State::Done);
        for (run, image) in open.zip(&images) {
            run.hear(image, operator, patience);
        }
        let steps = runs.iter().map(|run| run.iterations).max().unwrap_or(0);
        let ends = steps >= patience.steps
            || patience.foresight
                && steps >= WARM_UP
                && runs
                    .iter()
                    .any(|run| run.remaining(patience.aim) > (patience.steps - steps) as f64);
        if ends {
            runs.iter_mut().for_each(Run::give_up);
        }
    }
    Ok(Found {
        iterations: runs.iter().map(|run| run.iterations).max().unwrap_or(0),
        error: runs.iter().map(|run| run.error).fold(0.0, f64::max),
        solutions: runs.into_iter().map(|run| run.solution).collect(),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Needs the product with its direction.
    Steps,
    /// Needs the product with its solution, for the true residual.
    Checks,
    Done,
}

/// One right side.
struct Run<'a> {
    targets: &'a [f64],
    solution: Vec<f64>,
    residual: Vec<f64>,
    direction: Vec<f64>,
    /// $\langle r, P^{-1}r\rangle$
    energy: f64,
    largest: f64,
    size: f64,
    /// ‖r‖ when the recurrence began.
    start: f64,
    /// The true backward error.
    error: f64,
    iterations: usize,
    state: State,
    /// No step will follow.
    last: bool,
}

impl<'a> Run<'a> {
    fn new(operator: &dyn Operator, targets: &'a [f64], largest: f64) -> Self {
        let mut run = Self {
            targets,
            solution: vec![0.0; targets.len()],
            residual: targets.to_vec(),
            direction: Vec::new(),
            energy: 0.0,
            largest,
            size: norm(targets),
            start: 0.0,
            error: f64::INFINITY,
            iterations: 0,
            state: State::Steps,
            last: false,
        };
        if run.size == 0.0 {
            (run.error, run.state) = (0.0, State::Done);
        } else {
            run.begin(operator);
        }
        run
    }

    /// Begins the recurrence at the present residual.
    fn begin(&mut self, operator: &dyn Operator) {
        self.direction = operator.precondition(&self.residual);
        self.energy = dot(&self.residual, &self.direction);
        self.start = norm(&self.residual);
        self.state = State::Steps;
    }

    fn asks(&self) -> Option<&[f64]> {
        match self.state {
            State::Steps => Some(&self.direction),
            State::Checks => Some(&self.solution),
            State::Done => None,
        }
    }

    fn hear(&mut self, image: &[f64], operator: &dyn Operator, patience: Patience) {
        match self.state {
            State::Steps => self.step(image, operator, patience),
            State::Checks => self.check(image, operator, patience),
            State::Done => (),
        }
    }

    fn step(&mut self, image: &[f64], operator: &dyn Operator, patience: Patience) {
        let curvature = dot(&self.direction, image);
        if !(curvature > 0.0 && self.energy > 0.0) {
            self.state = State::Checks;
            return;
        }
        self.iterations += 1;
        let length = self.energy / curvature;
        add(&mut self.solution, length, &self.direction);
        add(&mut self.residual, -length, image);
        let left = norm(&self.residual);
        if left <= patience.aim * self.scale() || left < patience.trust * self.start {
            self.state = State::Checks;
            return;
        }
        let step = operator.precondition(&self.residual);
        let energy = dot(&self.residual, &step);
        let keep = energy / self.energy;
        for (d, s) in self.direction.iter_mut().zip(&step) {
            *d = s + keep * *d;
        }
        self.energy = energy;
    }

    fn check(&mut self, image: &[f64], operator: &dyn Operator, patience: Patience) {
        for ((r, y), a) in self.residual.iter_mut().zip(self.targets).zip(image) {
            *r = y - a;
        }
        let before = self.error;
        self.error = norm(&self.residual) / self.scale().max(f64::MIN_POSITIVE);
        let stalled = self.last || self.error > 0.5 * before || !self.error.is_finite();
        if stalled || self.error <= patience.aim {
            self.state = State::Done;
        } else {
            self.begin(operator);
        }
    }

    fn give_up(&mut self) {
        self.last = true;
        if self.state == State::Steps {
            self.state = State::Checks;
        }
    }

    /// The steps still needed if they go on as the steps so far did on average. They rather speed up: conjugate gradients
    /// learn the outlying eigenvalues.
    fn remaining(&self, aim: f64) -> f64 {
        let left = norm(&self.residual);
        if self.state == State::Done || left <= aim * self.scale() {
            return 0.0;
        }
        let pace = (self.size / left).ln() / self.iterations as f64;
        if pace > 0.0 {
            (left / (aim * self.scale())).ln() / pace
        } else {
            f64::INFINITY
        }
    }

    /// ‖A‖‖α‖ + ‖y‖
    fn scale(&self) -> f64 {
        self.largest * norm(&self.solution) + self.size
    }
}

/// A Rayleigh quotient after two power steps from the constant vector, which is near the first eigenvector of most kernel
/// matrices. It never exceeds the norm.
pub(super) fn norm_estimate(size: usize, multiply: impl Fn(&[f64]) -> Vec<f64>) -> f64 {
    let mut vector = vec![1.0; size];
    let mut largest = 0.0f64;
    for _ in 0..3 {
        let image = multiply(&vector);
        let size = norm(&image);
        largest = largest.max(dot(&vector, &image) / dot(&vector, &vector));
        if !(size > 0.0 && size.is_finite()) {
            break;
        }
        vector = image.iter().map(|v| v / size).collect();
    }
    largest
}

fn add(to: &mut [f64], factor: f64, vector: &[f64]) {
    to.iter_mut()
        .zip(vector)
        .for_each(|(t, v)| *t += factor * v);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}
