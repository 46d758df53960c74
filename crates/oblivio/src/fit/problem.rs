//! A fit in progress: rows sorted into training and reference, and the three ways to learn from them.

use faer::Mat;

use super::{CellSummary, Fit, Mode, Settings, StreamFit, Summary, Training};
use crate::conditional_mean::ConditionalMean;
use crate::error::{Result, Warning};
use crate::gather::Rows;
use crate::kernel::{Kernel, KernelMatrix, Lower};
use crate::landmarks::Components;
use crate::learn::{Ridge, Solution};
use crate::oblivious::{ObliviousMap, check_strength};
use crate::partition::{Assignment, Partition};
use crate::points::Points;
use crate::predictor::{Offsets, Predictor};
use crate::watch::Watch;

/// The data of a fit, checked and copied: what is left is the long part.
#[derive(Debug)]
pub struct Problem(Path);

#[derive(Debug)]
enum Path {
    Exact(Box<Exact>),
    Explicit(Box<(Settings, Components, Rows)>),
}

impl Problem {
    pub(super) fn new(settings: &Settings, data: &Training) -> Result<Self> {
        Ok(Self(match settings.components {
            None => {
                let ones = vec![1.0; data.targets.len()];
                Path::Exact(Box::new(Exact::new(
                    settings,
                    data,
                    data.weights.unwrap_or(&ones),
                )?))
            }
            Some(components) => {
                components.check()?;
                let settings = Settings {
                    partition: settings.partition.settled(data.sensitive),
                    ..settings.clone()
                };
                let all: Vec<usize> = (0..data.targets.len()).collect();
                Path::Explicit(Box::new((settings, components, data.rows(&all))))
            }
        }))
    }

    /// Learns.
    pub fn fit(self, watch: &Watch) -> Result<Fit> {
        match self.0 {
            Path::Exact(exact) => exact.fit(watch),
            Path::Explicit(parts) => {
                let (settings, components, rows) = *parts;
                StreamFit::fit(&settings, components, &rows, watch)
            }
        }
    }
}

/// A fit on the exact path.
#[derive(Debug)]
struct Exact {
    ridge: Ridge,
    mode: Mode,
    strength: f64,
    has_sensitive: bool,
    kernel: Kernel,
    partition: Partition,
    training: Part,
    reference: Part,
    warnings: Vec<Warning>,
}

/// What learning gives: coefficients on training rows and (perhaps) reference rows, and the means of h over the cells.
struct Learned {
    solution: Solution,
    reference: Vec<f64>,
    cell_means: Vec<f64>,
    /// The strength of the offsets.
    strength: f64,
}

impl Exact {
    fn new(settings: &Settings, data: &Training, weights: &[f64]) -> Result<Self> {
        check_strength(settings.strength)?;
        let split = settings
            .reference
            .split(data.targets.len(), settings.seed)?;
        let has_sensitive = !data.sensitive.columns().is_empty();
        let mode = settings.effective_mode(has_sensitive);
        let mut rule = settings.partition.settled(data.sensitive);
        if mode == Mode::Plain {
            // The cells are for the report only: no value is a reason to refuse.
            rule.policies = rule.policies.for_report();
        }
        let (partition, mut warnings) = Partition::fit(
            &rule,
            &data.sensitive.select(&split.reference),
            &pick(weights, &split.reference),
        )?;
        warnings.extend(data.warnings());
        let everywhere = partition.assign(data.sensitive)?;
        Ok(Self {
            ridge: settings.ridge()?,
            mode,
            has_sensitive,
            strength: settings.strength,
            kernel: settings
                .kernel
                .resolve(data.points, weights, settings.seed)?,
            training: Part::new(data, weights, &everywhere, split.training),
            reference: Part::new(data, weights, &everywhere, split.reference),
            partition,
            warnings,
        })
    }

    fn fit(self, watch: &Watch) -> Result<Fit> {
        let learned = self.learn(watch)?;
        let Solution {
            coefficients,
            intercept,
            fitted,
            convergence,
            ..
        } = learned.solution;
        let Self {
            training,
            reference,
            ..
        } = self;
        let predictor = Predictor::assemble(
            self.kernel,
            intercept,
            &[
                (&training.rows, &training.points, &coefficients),
                (&reference.rows, &reference.points, &learned.reference),
            ],
            self.has_sensitive
                .then(|| Offsets::new(self.partition, learned.strength, &learned.cell_means)),
        );
        let centre = training.mean(|i| training.targets[i]);
        let summary = Summary {
            training_rows: training.rows.len(),
            reference_rows: reference.rows.len(),
            cells: CellSummary::of(&predictor),
            error: training.root_mean_square(|i| training.targets[i] - fitted[i]),
            spread: training.root_mean_square(|i| training.targets[i] - centre),
            convergence,
            uses: training.assignment.uses,
            warnings: self.warnings,
        };
        Ok(Fit { predictor, summary })
    }

    fn learn(&self, watch: &Watch) -> Result<Learned> {
        match self.mode {
            Mode::Plain => self.learn_plain(watch),
            Mode::Oblivious => self.learn_oblivious(watch),
            Mode::MOblivious => self.learn_m_oblivious(watch),
        }
    }

    /// $\alpha = (\mathcal O + \lambda\Omega^{-1})^{-1}y$ and the means
    /// $\langle h, \mu_c\rangle = \sum_i \alpha_i(\langle\phi(x_i), \mu_c\rangle - t\langle\delta_i, \mu_c\rangle)$.
    fn learn_oblivious(&self, watch: &Watch) -> Result<Learned> {
        let Part {
            points,
            targets,
            weights,
            assignment,
            ..
        } = &self.training;
        let mean = self.conditional_mean(watch)?;
        let at = if self.overlap() {
            mean.at_reference().to_owned()
        } else {
            mean.at(points, watch)?
        };
        let map = ObliviousMap::new(mean, self.strength)?;
        let mut gram = Lower::new(points.len())?;
        let shifts = map.shifts(at.as_ref(), assignment);
        map.gram_into(points, assignment, &shifts, &mut gram, watch)?;
        let solution = self.ridge.solve(gram, targets, weights, watch)?;
        let between = map.mean().shifts_at_means(&assignment.mixtures);
        Ok(Learned {
            cell_means: (0..self.partition.len())
                .map(|c| {
                    sum(&solution.coefficients, |i| {
                        at[(i, c)] - self.strength * between[(c, assignment.cells[i] as usize)]
                    })
                })
                .collect(),
            reference: map
                .mean()
                .expand(&solution.coefficients, assignment, self.strength),
            strength: self.strength,
            solution,
        })
    }

    /// h as for plain ridge; its means over the cells from rows it has not seen: the reference if that is apart, else by
    /// leaving out each row.
    fn learn_m_oblivious(&self, watch: &Watch) -> Result<Learned> {
        let training = &self.training;
        let gram = self.plain_gram(watch)?;
        let (solution, cell_means) = if self.overlap() {
            let solution =
                self.ridge
                    .solve_leaving_out(gram, &training.targets, &training.weights, watch)?;
            let left_out = solution.left_out.as_deref().unwrap_or(&solution.fitted);
            let means = training.cell_means(left_out, solution.intercept, &self.partition);
            (solution, means)
        } else {
            let solution = self
                .ridge
                .solve(gram, &training.targets, &training.weights, watch)?;
            let means = self.reference_means(&solution, watch)?;
            (solution, means)
        };
        Ok(Learned {
            solution,
            reference: Vec::new(),
            cell_means,
            strength: self.strength,
        })
    }

    /// Ordinary kernel ridge regression; the means over the cells are for the report.
    fn learn_plain(&self, watch: &Watch) -> Result<Learned> {
        let training = &self.training;
        let solution = self.ridge.solve(
            self.plain_gram(watch)?,
            &training.targets,
            &training.weights,
            watch,
        )?;
        let cell_means = if self.overlap() {
            training.cell_means(&solution.fitted, solution.intercept, &self.partition)
        } else {
            self.reference_means(&solution, watch)?
        };
        Ok(Learned {
            solution,
            reference: Vec::new(),
            cell_means,
            strength: 0.0,
        })
    }

    fn plain_gram(&self, watch: &Watch) -> Result<Lower> {
        let mut gram = Lower::new(self.training.points.len())?;
        KernelMatrix::of(&self.kernel, &self.training.points).lower_into(&mut gram, watch)?;
        Ok(gram)
    }

    fn conditional_mean(&self, watch: &Watch) -> Result<ConditionalMean> {
        let reference = &self.reference;
        ConditionalMean::estimate(
            self.kernel.clone(),
            reference.points.clone(),
            reference.assignment.cells.clone(),
            &reference.weights,
            self.partition.mass(),
            watch,
        )
    }

    /// The means over the cells of a plain expansion over the training rows, at reference rows apart from them.
    fn reference_means(&self, solution: &Solution, watch: &Watch) -> Result<Vec<f64>> {
        let groups = vec![0; self.training.rows.len()];
        let scores: Mat<f64> =
            KernelMatrix::between(&self.kernel, &self.reference.points, &self.training.points)?
                .grouped_sums(&solution.coefficients, &groups, 1, watch)?;
        Ok(self
            .reference
            .cell_means(scores.col_as_slice(0), 0.0, &self.partition))
    }

    /// Whether the same rows train and estimate.
    fn overlap(&self) -> bool {
        self.training.rows == self.reference.rows
    }
}

/// Training or reference rows, those of a cell together: the correction of a column of the oblivious matrix is then the
/// same number many times over.
#[derive(Debug)]
struct Part {
    /// Their numbers in the table.
    rows: Vec<usize>,
    points: Points<'static>,
    targets: Vec<f64>,
    weights: Vec<f64>,
    assignment: Assignment,
}

impl Part {
    fn new(
        data: &Training,
        weights: &[f64],
        everywhere: &Assignment,
        mut rows: Vec<usize>,
    ) -> Self {
        rows.sort_by_key(|&row| everywhere.cells[row]);
        Self {
            points: data.points.select(&rows),
            targets: pick(data.targets, &rows),
            weights: pick(weights, &rows),
            assignment: everywhere.select(&rows),
            rows,
        }
    }

    /// The mean over each cell of the scores less the intercept; every cell has rows here.
    fn cell_means(&self, scores: &[f64], intercept: f64, partition: &Partition) -> Vec<f64> {
        let mut means = vec![0.0; partition.len()];
        for (i, cell) in self.assignment.cells.iter().enumerate() {
            means[*cell as usize] += self.weights[i] * (scores[i] - intercept);
        }
        for (mean, mass) in means.iter_mut().zip(partition.mass()) {
            *mean /= mass;
        }
        means
    }

    /// The weighted mean of a value over the rows.
    fn mean(&self, value: impl Fn(usize) -> f64) -> f64 {
        sum(&self.weights, value) / self.weights.iter().sum::<f64>()
    }

    fn root_mean_square(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.mean(|i| value(i) * value(i)).sqrt()
    }
}

fn pick(values: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|&i| values[i]).collect()
}

fn sum(weights: &[f64], value: impl Fn(usize) -> f64) -> f64 {
    weights.iter().enumerate().map(|(i, w)| w * value(i)).sum()
}
