//! Oblivious features: those of landmarks, with the shifts of the cells taken off.

use std::sync::Arc;

use faer::{Mat, MatRef};
use oblivio_base::choice::check_strength;
use oblivio_base::{Error, Points, Result, Warning, Watch};
use oblivio_kernels::gram::dot;
use oblivio_kernels::{Components, FeatureMap, Gamma, Kernel};
use serde::{Deserialize, Serialize};

use crate::adjust::Offsets;
use crate::fit::Training;
use crate::gather::{Gather, Rows};
use crate::moments::{
    Batch, CellFeatures, Plan, PlanSettings, Sample, SensitiveRows, SmoothFeatures,
};
use crate::partition::{Partition, PartitionRule, SensitiveDesign};
use crate::reference::Reference;
use crate::sensitive::Sensitive;
use crate::sensitive_free::{Removal, Restraint, Root};

/// Oblivious features for a linear learner: $z(x, s) = f(x) - t\,(\bar f_{c(s)} - \bar f)$.
///
/// At t = 1 every linear function of z has the same mean in every cell, on the reference rows. A nonlinear learner can do
/// better than that at telling the cells apart: give these features to linear models only.
#[derive(Clone, Debug, PartialEq)]
pub struct ObliviousFeatures {
    pub(crate) map: FeatureMap,
    pub(crate) cells: Option<CellShifts>,
}

/// What is taken off the features of each cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CellShifts {
    pub(crate) partition: Partition,
    pub(crate) strength: f64,
    /// The mean features of each cell, cell after cell.
    #[serde(skip)]
    pub(crate) means: Vec<f64>,
    /// Where the conditional mean is a regression on features D of S: β of each, one after the other. The shift is then
    /// $\sum_a D_a(s)\beta_a$.
    #[serde(skip)]
    pub(crate) directions: Vec<f64>,
    /// What is known of D besides, until the features are saved.
    #[serde(skip)]
    pub(crate) smooth: Option<SmoothFeatures>,
}

/// The settings of oblivious features.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureSettings {
    /// The kernel, its γ perhaps by rule.
    pub kernel: Kernel<Gamma>,
    /// How many landmarks there are to be, and how they are found.
    pub components: Components,
    /// t
    pub strength: f64,
    /// How sensitive values become cells.
    pub partition: PartitionRule,
    /// Which rows estimate the means. All rows can be landmarks.
    pub reference: Reference,
    /// For everything random.
    pub seed: u64,
}

impl FeatureSettings {
    /// Fits the features. The targets of `data` are not used.
    pub fn fit(&self, data: Training, watch: &Watch) -> Result<(ObliviousFeatures, Vec<Warning>)> {
        self.begin_with(data, watch)?.finish(watch)
    }

    /// Begins a fit whose rows come in batches, of which these are the first: they place landmarks and edges.
    pub fn begin_with(&self, data: Training, watch: &Watch) -> Result<FeatureFit> {
        self.reference.check(data.points.len())?;
        let (weights, _) = self.partition.counting(data.sensitive, data.weights)?;
        let numbers: Vec<usize> = (0..data.points.len())
            .filter(|&i| weights.get(i).is_some_and(|w| *w > 0.0))
            .collect();
        let settings = Self {
            reference: self.reference.renumbered(&numbers),
            partition: self.partition.settled(data.sensitive),
            ..self.clone()
        };
        let batch = Batch {
            points: data.points,
            sensitive: SensitiveRows::Columns(data.sensitive),
            targets: None,
            weights: data.weights,
        };
        let rows = Rows::select(&batch, data.sensitive, &numbers);
        let sample = Sample::of(&rows.points, &rows.sensitive, &rows.weights, self.seed);
        let mut fit = settings.begin(&sample, watch)?;
        fit.update(rows.batch(), watch)?;
        Ok(fit)
    }

    /// Begins a fit whose rows come in batches, by a sample of them.
    pub(crate) fn begin(&self, sample: &Sample, watch: &Watch) -> Result<FeatureFit> {
        check_strength(self.strength)?;
        let partition = if self.strength > 0.0 {
            self.partition.clone()
        } else {
            self.partition.for_report()
        };
        let settings = PlanSettings {
            kernel: &self.kernel,
            components: self.components,
            partition,
            reference: &self.reference,
            penalty: None,
            seed: self.seed,
        };
        let (plan, members, warnings) = Plan::new(sample, &settings, watch)?;
        let plan = Arc::new(plan);
        let needs_means = !sample.sensitive.columns().is_empty() && self.strength > 0.0;
        Ok(FeatureFit {
            gather: needs_means.then(|| Gather::new(&plan, members, sample.table_rows, false)),
            plan,
            strength: self.strength,
            warnings,
        })
    }
}

/// Features being fitted to rows that come in batches.
#[derive(Clone, Debug)]
pub struct FeatureFit {
    pub(crate) plan: Arc<Plan>,
    /// Absent where no mean is needed.
    pub(crate) gather: Option<Gather>,
    pub(crate) strength: f64,
    pub(crate) warnings: Vec<Warning>,
}

impl FeatureFit {
    /// Adds rows.
    pub fn update(&mut self, batch: Batch, watch: &Watch) -> Result<()> {
        match &mut self.gather {
            Some(gather) => gather.update(batch, watch),
            None => batch.check(),
        }
    }

    /// The features.
    pub fn finish(self, watch: &Watch) -> Result<(ObliviousFeatures, Vec<Warning>)> {
        let mut warnings = self.warnings;
        let cells = match self.gather {
            None => None,
            Some(gather) => {
                let sums = gather.reference.whitened(watch)?;
                let cells = sums.cells(&self.plan)?;
                warnings.extend(cells.warnings.iter().cloned());
                Some(CellShifts::of(&cells, &sums.origin, self.strength))
            }
        };
        let map = self.plan.map.clone();
        Ok((ObliviousFeatures { map, cells }, warnings))
    }
}

impl ObliviousFeatures {
    /// The plain map.
    pub fn map(&self) -> &FeatureMap {
        &self.map
    }

    /// The partition, if there are sensitive columns.
    pub fn partition(&self) -> Option<&Partition> {
        self.cells.as_ref().map(|cells| &cells.partition)
    }

    /// The means of the cells, or what they are a regression on, one in each column; and the shares that are taken off the weights of
    /// the cells.
    #[doc(hidden)]
    pub fn means(&self) -> (Mat<f64>, Vec<f64>) {
        let width = self.map.len();
        let (values, shares) = match &self.cells {
            None => (&[][..], Vec::new()),
            Some(cells) if cells.directions.is_empty() => {
                (&cells.means[..], cells.partition.shares())
            }
            Some(cells) => {
                let count = cells.directions.len() / width;
                (&cells.directions[..], vec![0.0; count])
            }
        };
        let means = MatRef::from_column_major_slice(values, width, values.len() / width);
        (means.to_owned(), shares)
    }

    /// The oblivious features of every row, row after row, and the cells.
    pub fn transform(
        &self,
        points: &Points,
        sensitive: Option<&Sensitive>,
        watch: &Watch,
    ) -> Result<(Vec<f64>, Option<SensitiveDesign>)> {
        let Some(cells) = &self.cells else {
            return Ok((self.map.features(points, watch)?, None));
        };
        let Some(sensitive) = sensitive else {
            let names = cells.partition.needs();
            return Err(Error::SensitiveNeeded {
                columns: names.join(", "),
            });
        };
        let assignment = cells.partition.assign(sensitive)?;
        if assignment.len() != points.len() {
            return Err(Error::Length {
                what: "the sensitive part",
                found: assignment.len(),
                needed: points.len(),
            });
        }
        let mut features = self.map.features(points, watch)?;
        let shifts = cells.shifts(assignment.mixtures(), self.map.len());
        assignment.subtract(cells.strength, shifts.as_ref(), &mut features);
        Ok((features, Some(assignment)))
    }
}

impl CellShifts {
    /// t times what these means take off.
    pub(crate) fn of(cells: &CellFeatures, origin: &[f64], strength: f64) -> Self {
        let smooth = cells.smooth.clone();
        Self {
            means: cells.absolute(origin),
            partition: cells.partition.clone(),
            strength,
            directions: smooth
                .as_ref()
                .map_or(Vec::new(), |smooth| smooth.directions.clone()),
            smooth,
        }
    }

    /// What is taken off the score with these weights, at this strength.
    pub(crate) fn offsets(&self, weights: &[f64], strength: f64) -> Offsets {
        let means: Vec<f64> = self
            .means
            .chunks(weights.len())
            .map(|mean| dot(weights, mean))
            .collect();
        let smooth = self.smooth.as_ref();
        Offsets {
            smooth: smooth.map(|smooth| smooth.offsets(smooth.values_of(weights))),
            ..Offsets::new(self.partition.clone(), strength, &means)
        }
    }

    /// What keeps a linear function of the features away from the shifts, and the shifts, one in each column.
    pub(crate) fn turn(
        &self,
        width: usize,
        restraint: Restraint,
        knobs: (f64, f64),
    ) -> Result<(Mat<f64>, Mat<f64>)> {
        if let Some(smooth) = &self.smooth {
            let count = self.directions.len() / width;
            let shifts = MatRef::from_column_major_slice(&self.directions, width, count);
            let moments = Mat::from_fn(count, count, |a, b| smooth.gram[(a, b)] / smooth.weight);
            let root = Root::of_moments(moments.as_ref(), smooth.smooth.is_kernel())?;
            let gram = shifts.transpose() * shifts;
            let removal = Removal::new(gram.as_ref(), &root, restraint, knobs)?;
            return Ok((removal.matrix(shifts), shifts.to_owned()));
        }
        let shifts = self.shifts(&[], width);
        let gram = shifts.transpose() * &shifts;
        let mass = self.partition.mass();
        let total: f64 = mass.iter().sum();
        let shares: Vec<f64> = mass.iter().map(|m| m / total).collect();
        let root = Root::of_shares(&shares);
        let removal = Removal::new(gram.as_ref(), &root, restraint, knobs)?;
        Ok((removal.matrix(shifts.as_ref()), shifts))
    }

    /// The directions of a design, one in each column: the shifts of every cell, then of every mixture; or β.
    pub(crate) fn shifts(&self, mixtures: &[Vec<f64>], width: usize) -> Mat<f64> {
        if !self.directions.is_empty() {
            let count = self.directions.len() / width;
            return MatRef::from_column_major_slice(&self.directions, width, count).to_owned();
        }
        let shares = self.partition.shares();
        let combine = |weights: &[f64]| {
            let mut sum = vec![0.0; width];
            for (weight, mean) in weights.iter().zip(self.means.chunks(width)) {
                sum.iter_mut().zip(mean).for_each(|(s, m)| *s += weight * m);
            }
            sum
        };
        let overall = combine(&shares);
        let mixed: Vec<Vec<f64>> = mixtures.iter().map(|weights| combine(weights)).collect();
        let means: Vec<&[f64]> = self
            .means
            .chunks(width)
            .chain(mixed.iter().map(|m| &m[..]))
            .collect();
        Mat::from_fn(width, means.len(), |k, c| means[c][k] - overall[k])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oblivio_base::Column;
    use oblivio_base::random;
    use rand::RngExt;

    #[test]
    fn the_cells_have_equal_mean_features_after_and_not_before() {
        let mut random = random::generator(3, random::Stream::Simulation);
        let values: Vec<f64> = (0..120).map(|_| random.random()).collect();
        let points = Points::new(values, 2).unwrap();
        let groups = (0..60)
            .map(|i| f64::from(u8::from(points.row(i)[0] > 0.5)))
            .collect();
        let sensitive = Sensitive::new(vec![Column::numbers("s", groups)], 60).unwrap();
        let settings = FeatureSettings {
            kernel: "rbf(gamma=2)".parse().unwrap(),
            components: Components::new(10),
            strength: 1.0,
            partition: PartitionRule::default(),
            reference: Reference::All,
            seed: 0,
        };
        let training = Training {
            points: &points,
            sensitive: &sensitive,
            targets: &[],
            weights: None,
        };
        let watch = Watch::default();
        let (fitted, _) = settings.fit(training, &watch).unwrap();
        let plain = fitted.map().features(&points, &watch).unwrap();
        let (after, cells) = fitted.transform(&points, Some(&sensitive), &watch).unwrap();
        let cells = cells.unwrap();
        let gap = |features: &[f64], k: usize| {
            let mean = |cell: u32| {
                let rows: Vec<usize> = (0..60).filter(|&i| cells.codes()[i] == cell).collect();
                rows.iter().map(|i| features[i * 10 + k]).sum::<f64>() / rows.len() as f64
            };
            (mean(0) - mean(1)).abs()
        };
        assert!((0..10).any(|k| gap(&plain, k) > 0.1));
        assert!((0..10).all(|k| gap(&after, k) < 1e-12));
    }
}
