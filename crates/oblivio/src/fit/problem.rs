//! A fit in progress: rows sorted into training and reference, and the three ways to learn from them.

use faer::Mat;

use super::{Mode, Settings, Training};
use crate::conditional_mean::ConditionalMean;
use crate::error::{Result, Warning};
use crate::kernel::{Kernel, KernelMatrix, Lower};
use crate::learn::{Ridge, Solution};
use crate::oblivious::{ObliviousMap, check_strength};
use crate::partition::{Assignment, Partition};
use crate::points::Points;
use crate::watch::Watch;

/// The data of a fit, made ready.
pub(super) struct Problem {
    ridge: Ridge,
    mode: Mode,
    strength: f64,
    pub(super) kernel: Kernel,
    pub(super) partition: Partition,
    pub(super) training: Part,
    pub(super) reference: Part,
    pub(super) warnings: Vec<Warning>,
}

/// What learning gives: coefficients on training rows and (perhaps) reference rows, and the means of h over the cells.
pub(super) struct Learned {
    pub(super) solution: Solution,
    pub(super) reference: Vec<f64>,
    pub(super) cell_means: Vec<f64>,
    /// The strength of the offsets.
    pub(super) strength: f64,
}

impl Problem {
    pub(super) fn new(settings: &Settings, data: &Training, weights: &[f64]) -> Result<Self> {
        check_strength(settings.strength)?;
        let split = settings
            .reference
            .split(data.targets.len(), settings.seed)?;
        let (partition, warnings) = Partition::fit(
            &settings.partition,
            &data.sensitive.select(&split.reference),
            &pick(weights, &split.reference),
        )?;
        let everywhere = partition.assign(data.sensitive)?;
        Ok(Self {
            ridge: Ridge::new(settings.penalty, settings.solver)?,
            // Without sensitive columns, and at strength 0, there is nothing to take out.
            mode: if data.sensitive.columns().is_empty() || settings.strength == 0.0 {
                Mode::Plain
            } else {
                settings.mode
            },
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

    pub(super) fn learn(&self, watch: &Watch) -> Result<Learned> {
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
            let means = training.cell_means(left_out, &self.partition);
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
            training.cell_means(&solution.fitted, &self.partition)
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
            KernelMatrix::between(&self.kernel, &self.reference.points, &self.training.points)
                .grouped_sums(&solution.coefficients, &groups, 1, watch)?;
        Ok(self
            .reference
            .cell_means(scores.col_as_slice(0), &self.partition))
    }

    /// Whether the same rows train and estimate.
    fn overlap(&self) -> bool {
        self.training.rows == self.reference.rows
    }
}

/// Training or reference rows, those of a cell together: the correction of a column of the oblivious matrix is then the
/// same number many times over.
pub(super) struct Part {
    /// Their numbers in the table.
    pub(super) rows: Vec<usize>,
    points: Points<'static>,
    pub(super) targets: Vec<f64>,
    weights: Vec<f64>,
    pub(super) assignment: Assignment,
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

    /// The mean of the scores of each cell; every cell has rows here.
    fn cell_means(&self, scores: &[f64], partition: &Partition) -> Vec<f64> {
        let mut means = vec![0.0; partition.len()];
        for (i, cell) in self.assignment.cells.iter().enumerate() {
            means[*cell as usize] += self.weights[i] * scores[i];
        }
        for (mean, mass) in means.iter_mut().zip(partition.mass()) {
            *mean /= mass;
        }
        means
    }

    /// The weighted mean of a value over the rows.
    pub(super) fn mean(&self, value: impl Fn(usize) -> f64) -> f64 {
        sum(&self.weights, value) / self.weights.iter().sum::<f64>()
    }

    pub(super) fn root_mean_square(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.mean(|i| value(i) * value(i)).sqrt()
    }
}

fn pick(values: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|&i| values[i]).collect()
}

fn sum(weights: &[f64], value: impl Fn(usize) -> f64) -> f64 {
    weights.iter().enumerate().map(|(i, w)| w * value(i)).sum()
}
