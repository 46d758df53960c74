//! Some rows of a table, copied and put in the order that suits the oblivious matrix.

use oblivio_base::Points;
use oblivio_kernels::learn::Outcomes;

use super::Training;
use crate::partition::SensitiveDesign;

/// Training or reference rows, those of a cell together: the correction of a column of the oblivious matrix is then the
/// same number many times over.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Their numbers in the table.
    pub(super) rows: Vec<usize>,
    pub(super) points: Points<'static>,
    pub(super) targets: Vec<f64>,
    pub(super) weights: Vec<f64>,
    /// How much the class of each row counts.
    pub(super) emphasis: Vec<f64>,
    pub(super) assignment: SensitiveDesign,
}

impl Part {
    pub(super) fn new(
        data: &Training,
        (weights, emphasis): (&[f64], &[f64]),
        everywhere: &SensitiveDesign,
        mut rows: Vec<usize>,
    ) -> Self {
        rows.sort_by_key(|&row| everywhere.codes()[row]);
        Self {
            points: data.points.select(&rows),
            targets: pick(data.targets, &rows),
            weights: pick(weights, &rows),
            emphasis: pick(emphasis, &rows),
            assignment: everywhere.select(&rows),
            rows,
        }
    }

    /// What is to be learned from the rows.
    pub(super) fn outcomes(&self) -> Outcomes<'_> {
        Outcomes {
            targets: &self.targets,
            weights: &self.weights,
            emphasis: &self.emphasis,
        }
    }

    /// The rows at these places.
    pub(super) fn select(&self, places: &[usize]) -> Self {
        Self {
            rows: places.iter().map(|&i| self.rows[i]).collect(),
            points: self.points.select(places),
            targets: pick(&self.targets, places),
            weights: pick(&self.weights, places),
            emphasis: pick(&self.emphasis, places),
            assignment: self.assignment.select(places),
        }
    }

    /// The weighted mean of a value over the rows.
    pub(super) fn mean(&self, value: impl Fn(usize) -> f64) -> f64 {
        sum(&self.weights, value) / self.weights.iter().sum::<f64>()
    }

    pub(super) fn root_mean_square(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.mean(|i| value(i) * value(i)).sqrt()
    }
}

pub(super) fn pick(values: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|&i| values[i]).collect()
}

pub(super) fn sum(weights: &[f64], value: impl Fn(usize) -> f64) -> f64 {
    weights.iter().enumerate().map(|(i, w)| w * value(i)).sum()
}
