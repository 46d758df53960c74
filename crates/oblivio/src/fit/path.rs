//! Error and dependence for every bandwidth, strength and penalty, by leaving out each row.

use faer::Mat;
use oblivio_base::choice::check_strength;
use oblivio_base::{Error, Result, Watch};
use oblivio_kernels::learn::{Learner, PathFit, RidgePath};
use oblivio_kernels::{Gamma, Gram};

use super::exact::Exact;
use super::grid::GridPoint;
use super::{Mode, Settings, Training};
use crate::adjust::Offsets;
use crate::gram::FeatureGram;
use crate::sensitive_free::{Removal, Restraint};

/// What is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct PathGrid {
    /// The kernel's γ.
    pub bandwidths: Bandwidths,
    /// t
    pub strengths: Vec<f64>,
    /// λ
    pub penalties: Vec<f64>,
}

/// The γ that are tried.
#[derive(Clone, Debug, PartialEq)]
pub enum Bandwidths {
    /// That of the kernel.
    Given,
    /// These, for a single kernel.
    Gammas(Vec<f64>),
    /// That of the kernel times these; of a sum or product, every one.
    Multiples(Vec<f64>),
}

/// What was found, and what was chosen.
#[derive(Clone, Debug)]
pub struct Path {
    /// Every γ, strength and penalty, in this order.
    pub points: Vec<GridPoint>,
    /// The number of the point with the least leave-one-out error among those of the largest strength. Where oblivious features
    /// come from a regression on S, that of the plain features: a row left out still has its part in the features of others, and
    /// the error of features that leak so would be too small.
    ///
    /// A strength is never chosen by error: leaking S lowers it.
    pub best: usize,
    /// The settings of that point.
    pub settings: Settings,
}

impl PathGrid {
    /// Penalties from a millionth to a thousand, at one strength and with the kernel as it is.
    pub fn usual(strength: f64) -> Self {
        Self {
            bandwidths: Bandwidths::Given,
            strengths: vec![strength],
            penalties: (-10..=5).map(|k| 4f64.powi(k)).collect(),
        }
    }
}

impl Settings {
    /// Leave-one-out errors of ridge regression on the exact path, for a whole grid at the price of one eigendecomposition for
    /// every γ.
    ///
    /// The leave-one-out scores are exact with the conditional means held fixed. Each point has its dependence beside its error:
    /// that of the leave-one-out scores on the cells.
    pub fn path(&self, data: Training, grid: &PathGrid, watch: &Watch) -> Result<Path> {
        self.check()?;
        self.check_path(grid)?;
        let exact = self.exact(data)?;
        let kernels = match &grid.bandwidths {
            Bandwidths::Given => vec![exact.kernel.clone()],
            Bandwidths::Multiples(factors) => {
                let times = |factor: &f64| exact.kernel.narrowed(*factor);
                factors.iter().map(times).collect::<Result<_>>()?
            }
            Bandwidths::Gammas(gammas) => {
                let with = |gamma: &f64| {
                    let mut kernel = exact.kernel.to_spec();
                    kernel.set(Some(Gamma::Value(*gamma)), None, None)?;
                    kernel.resolve(data.points, &[], self.seed)
                };
                gammas.iter().map(with).collect::<Result<Vec<_>>>()?
            }
        };
        let mut points = Vec::new();
        for kernel in &kernels {
            let exact = exact.with_kernel(kernel.clone());
            points.extend(exact.path(grid, watch)?);
        }
        let largest = grid.strengths.iter().copied().fold(0.0, f64::max);
        let error = |point: &GridPoint| point.left_out.unwrap_or(f64::INFINITY);
        let least = |points: &[GridPoint]| {
            (0..points.len())
                .filter(|&k| points[k].strength == largest)
                .min_by(|&a, &b| error(&points[a]).total_cmp(&error(&points[b])))
                .unwrap_or(0)
        };
        let best = if exact.leaks() {
            let plain = exact.plain();
            let mut points = Vec::new();
            for kernel in &kernels {
                let all = plain.with_kernel(kernel.clone()).path(grid, watch)?;
                points.extend(all);
            }
            least(&points)
        } else {
            least(&points)
        };
        let kernel = &kernels[best / (points.len() / kernels.len())];
        let settings = Self {
            kernel: kernel.to_spec(),
            penalty: points[best].penalty,
            strength: largest,
            ..self.clone()
        };
        Ok(Path {
            points,
            best,
            settings,
        })
    }

    fn check_path(&self, grid: &PathGrid) -> Result<()> {
        let wrong = |name, expected, value: &str| {
            Err(Error::InvalidParameter {
                name,
                expected,
                value: value.into(),
            })
        };
        if self.learner != Learner::Ridge {
            return wrong("the learner of a path", "ridge", "another");
        }
        if matches!(self.restraint, Restraint::Soft(_)) {
            return wrong("eta", "left out of a path, which has strengths", "given");
        }
        let empty = match &grid.bandwidths {
            Bandwidths::Given => false,
            Bandwidths::Gammas(values) | Bandwidths::Multiples(values) => values.is_empty(),
        };
        if empty || grid.penalties.is_empty() || grid.strengths.is_empty() {
            let expected = "at least one gamma, strength and penalty";
            return wrong("the grid of a path", expected, "empty");
        }
        for strength in &grid.strengths {
            check_strength(*strength)?;
        }
        Ok(())
    }
}

impl Exact {
    fn path(&self, grid: &PathGrid, watch: &Watch) -> Result<Vec<GridPoint>> {
        let training = &self.training;
        let kernel = FeatureGram::plain(&self.kernel, &training.points).lower(watch)?;
        let (basis, corrections) = self.corrections(&grid.strengths, watch)?;
        if self.mode == Mode::Oblivious
            && !training.assignment.is_projection()
            && grid.strengths.len() > 1
        {
            // The targets differ, too.
            let one = |strength: &f64| {
                let grid = PathGrid {
                    strengths: vec![*strength],
                    ..grid.clone()
                };
                self.path(&grid, watch)
            };
            let each: Result<Vec<_>> = grid.strengths.iter().map(one).collect();
            return Ok(each?.concat());
        }
        let targets = match self.mode {
            Mode::Oblivious => &self.targets(grid.strengths[0])?,
            _ => &training.targets,
        };
        let path = RidgePath::new(&kernel, basis.as_ref(), targets, &training.weights)
            .with_intercept(self.task.intercept);
        let penalties = grid.penalties.len();
        let mut points = vec![None; grid.strengths.len() * penalties];
        path.each(
            &corrections,
            &grid.penalties,
            &mut |(of, number), fit| {
                // The plain features of an m-oblivious model are the same for every strength.
                let strengths = if corrections.len() == grid.strengths.len() {
                    of..of + 1
                } else {
                    0..grid.strengths.len()
                };
                for k in strengths {
                    let strength = grid.strengths[k];
                    let (mut scores, mut fitted) = (fit.left_out.clone(), fit.fitted.clone());
                    if self.mode == Mode::MOblivious {
                        let offsets = self.offsets(&fit, strength, watch)?;
                        self.take_off(&offsets, &mut scores);
                        self.take_off(&offsets, &mut fitted);
                    }
                    let point = self.point(strength, &fit, &fitted, &scores);
                    points[k * penalties + number] = Some(point);
                }
                Ok(())
            },
            watch,
        )?;
        Ok(points.into_iter().flatten().collect())
    }

    /// V and, for every strength, the C of $K + VCV^\top$.
    fn corrections(&self, strengths: &[f64], watch: &Watch) -> Result<(Mat<f64>, Vec<Mat<f64>>)> {
        let assignment = &self.training.assignment;
        let rows = self.training.rows.len();
        if matches!(self.mode, Mode::Plain | Mode::MOblivious) {
            return Ok((Mat::zeros(rows, 0), vec![Mat::zeros(0, 0)]));
        }
        let mean = self.conditional_mean(watch)?;
        let at = self.at_training(&mean, watch)?;
        let shifts = mean.shifts(at.as_ref(), assignment.mixtures());
        let gram = mean.shift_gram(assignment.mixtures(), assignment.mixtures());
        let cells = shifts.ncols();
        if self.mode == Mode::SensitiveFree {
            let shifts = mean.shifts(at.as_ref(), &[]);
            let gram = mean.shift_gram(&[], &[]);
            let root = self.root(&mean)?;
            let removed = |strength: &f64| {
                let knobs = (*strength, 1.0);
                let removal = Removal::new(gram.as_ref(), &root, Restraint::Hard, knobs)?;
                Ok(removal.correction())
            };
            let corrections: Result<Vec<_>> = strengths.iter().map(removed).collect();
            return Ok((shifts, corrections?));
        }
        let basis = Mat::from_fn(rows, 2 * cells, |i, j| {
            if j < cells {
                assignment.entry(i, j)
            } else {
                -shifts[(i, j - cells)]
            }
        });
        let correction = |t: &f64| {
            Mat::from_fn(2 * cells, 2 * cells, |i, j| match (i < cells, j < cells) {
                (true, true) => t * t * gram[(i, j)],
                (false, false) => 0.0,
                _ => t * f64::from(u8::from(i % cells == j % cells)),
            })
        };
        Ok((basis, strengths.iter().map(correction).collect()))
    }

    /// The offsets of an m-oblivious fit: from its leave-one-out scores, or from reference rows that are apart.
    fn offsets(&self, fit: &PathFit, strength: f64, watch: &Watch) -> Result<Offsets> {
        if self.overlap() {
            self.regressed(&fit.left_out, strength)
        } else {
            self.regressed(&self.at_reference(&fit.coefficients, watch)?, strength)
        }
    }

    fn take_off(&self, offsets: &Offsets, scores: &mut [f64]) {
        for (row, score) in scores.iter_mut().enumerate() {
            *score -= offsets.strength * offsets.of(&self.training.assignment, row);
        }
    }

    /// Error and dependence of a fit with these fitted values and leave-one-out scores.
    fn point(&self, strength: f64, fit: &PathFit, fitted: &[f64], scores: &[f64]) -> GridPoint {
        let training = &self.training;
        let weight: f64 = training.weights.iter().sum();
        let mean = training.mean(|i| scores[i]);
        let variance = training.mean(|i| (scores[i] - mean).powi(2));
        // Sums over the cells; rows that a policy has placed among several belong to none.
        let mut cells = vec![(0.0, 0.0); self.partition.len()];
        for (i, cell) in training.assignment.cells().enumerate() {
            if let Some((sum, mass)) = cell.and_then(|cell| cells.get_mut(cell)) {
                *sum += training.weights[i] * (scores[i] - mean);
                *mass += training.weights[i];
            }
        }
        cells.retain(|(_, mass)| *mass > 0.0);
        let between: f64 = cells.iter().map(|(sum, mass)| sum * sum / mass).sum();
        let means = || cells.iter().map(|(sum, mass)| sum / mass);
        let most = means().fold(f64::NEG_INFINITY, f64::max);
        let least = means().fold(f64::INFINITY, f64::min);
        GridPoint {
            gamma: self.kernel.gamma(),
            strength,
            penalty: fit.penalty,
            error: training.root_mean_square(|i| training.targets[i] - fitted[i]),
            left_out: Some(training.root_mean_square(|i| training.targets[i] - scores[i])),
            gcv: fit.gcv,
            correlation_ratio: if variance > 0.0 {
                between / weight / variance
            } else {
                0.0
            },
            expected: (cells.len() as f64 - 1.0) / (weight - 1.0).max(1.0),
            gap: most - least,
        }
    }
}
