//! The choice of a conditional mean: cells, smooth or linear, its bandwidth and its ridge, by leaving out each row.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par, Side};
use oblivio_base::stats::effective_rows;
use oblivio_base::{Column, Error, Named, Points, Result, UnseenCategory, Warning, Watch, random};
use oblivio_kernels::{Kernel, KernelMatrix};

use crate::partition::{
    Binning, Block, CellCount, Choice, Coordinates, Estimator, KernelFeatures, Partition,
    PartitionRule, Smooth, Source, Uses, check_features,
};
use crate::sensitive::{Kind, Sensitive};

/// Rows that a choice is made on; their kernel matrix is held in memory.
const ROWS: usize = 2048;
/// γ of the kernel on standardised sensitive columns, times twice their number.
const BANDWIDTHS: [f64; 7] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0];
/// κ. In rows: what a feature of S must be worth before half of what it says is believed.
const RIDGES: [f64; 10] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3];
/// Bins of each continuous column.
const BINS: [usize; 12] = [1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48];
/// A smooth mean of categories must be better than their own means by this share.
const MARGIN: f64 = 0.01;

/// Reference rows, and what is to have a conditional mean.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    pub(crate) sensitive: &'a Sensitive,
    pub(crate) weights: &'a [f64],
    pub(crate) of: Of<'a>,
    /// Reference rows of the table that these stand for.
    pub(crate) rows: usize,
    pub(crate) seed: u64,
}

/// What has a conditional mean.
#[derive(Clone, Copy, Debug)]
pub enum Of<'a> {
    /// The kernel's features of points.
    Features(&'a Kernel, &'a Points<'a>),
    /// Numbers.
    Scores(&'a [f64]),
}

impl<'a> Observed<'a> {
    /// Reference rows that are the whole reference.
    pub fn new(sensitive: &'a Sensitive, weights: &'a [f64], of: Of<'a>, seed: u64) -> Self {
        Self {
            rows: effective_rows(weights.len(), weights.iter().sum()),
            sensitive,
            weights,
            of,
            seed,
        }
    }
}

impl Partition {
    /// The cells of the reference rows, and the regression on S that takes the place of their means if the rule says so.
    ///
    /// All numbers are chosen by the leave-one-out error of the features (see [`Choice`]), on at most 2048 rows drawn by seed.
    /// κ is the noise of a row over the variance of what is estimated, which does not depend on the number of rows. A number of
    /// bins grows as $n^{1/(d+2)}$ from the rows it was chosen on.
    #[doc(hidden)]
    pub fn conditioned(
        rule: &PartitionRule,
        table: Observed,
        watch: &Watch,
    ) -> Result<(Self, Vec<Warning>)> {
        rule.check(table.sensitive)?;
        let mut rule = rule.settled(table.sensitive);
        let (own, control) = table.sensitive.split(&rule.control)?;
        if own.columns().is_empty() {
            if control.is_empty() {
                return Self::fit_for(&rule, &own, table.weights, table.rows);
            }
            return Err(Error::InvalidParameter {
                name: "control features",
                expected: "used beside sensitive ones, whose part beyond them is removed",
                value: rule.control.join(", "),
            });
        }
        let cells = |rule: &PartitionRule| {
            Self::fit_for(&rule.of_columns(&own), &own, table.weights, table.rows)
        };
        let (mut partition, mut warnings) = cells(&rule)?;
        let plain = control.is_empty() && !rule.shrink && rule.cells != CellCount::Loo;
        if plain && rule.asks_for_cells(&partition) {
            return Ok((partition, warnings));
        }
        if rule.shrink && !matches!(rule.estimator, Estimator::Auto | Estimator::Cells) {
            return Err(Error::InvalidParameter {
                name: "shrinkage",
                expected: "left out unless the conditional mean is that of cells",
                value: rule.estimator.name().into(),
            });
        }
        if rule.shrink {
            rule.estimator = Estimator::Cells;
        }
        let study = Study::new(table, watch)?;
        if rule.cells == CellCount::Loo {
            rule.cells = study.bins(&rule)?;
            (partition, warnings) = cells(&rule)?;
        }
        let control: Vec<&Column> = control.iter().collect();
        let joint: Vec<&Column> = table.sensitive.columns().iter().collect();
        let estimator = if rule.asks_for_cells(&partition) {
            Estimator::Cells
        } else {
            rule.estimator
        };
        let chosen = study.block(&rule, &joint, estimator)?;
        if chosen.estimator == Estimator::Cells && control.is_empty() && !rule.shrink {
            partition.choice = Some(chosen.choice);
            return Ok((partition, warnings));
        }
        if rule.shrink && chosen.estimator == Estimator::Cells {
            warnings.push(Warning::ShrunkCells {
                ridge: chosen.ridge,
            });
        }
        let estimator = chosen.estimator;
        if estimator != Estimator::Cells {
            // The cells are for the report.
            let about_cells = |w: &Warning| {
                matches!(
                    w,
                    Warning::SingletonCells { .. } | Warning::MergedCells { .. }
                )
            };
            warnings.retain(|warning| !about_cells(warning));
        }
        let mut blocks = vec![study.source(&rule, &joint, &chosen, 1.0)?];
        if !control.is_empty() {
            let legitimate = study.block(&rule, &control, estimator)?;
            // Cut as beside S, so that what differs is S alone.
            let rule = PartitionRule {
                cells: match &blocks[0].source {
                    Source::Cells(joint) => joint.cell_count(CellCount::Loo),
                    _ => rule.cells,
                },
                ..rule.clone()
            };
            blocks.push(study.source(&rule, &control, &legitimate, -1.0)?);
        }
        let smooth = Smooth::new(blocks, rule.policies)?;
        let rows = smooth.rows(table.sensitive)?;
        partition.regress(smooth.centred_over(&rows, table.weights));
        partition.choice = Some(chosen.choice);
        Ok((partition, warnings))
    }
}

/// What was chosen for some columns.
struct Chosen {
    estimator: Estimator,
    gamma: f64,
    ridge: f64,
    choice: Choice,
}

/// Rows that a choice is made on.
struct Study<'a> {
    table: Observed<'a>,
    sensitive: Sensitive,
    weights: Vec<f64>,
    left_out: LeftOut,
}

impl<'a> Study<'a> {
    fn new(table: Observed<'a>, watch: &Watch) -> Result<Self> {
        watch.begin("the conditional mean", 0)?;
        let all: Vec<usize> = (0..table.sensitive.len()).collect();
        let rows = random::sample(&all, ROWS, table.seed);
        let weights: Vec<f64> = rows.iter().map(|&i| table.weights[i]).collect();
        let gram = match table.of {
            Of::Features(kernel, points) => {
                let entries = KernelMatrix::of(kernel, &points.select(&rows)).entries(watch)?;
                MatRef::from_column_major_slice(&entries, rows.len(), rows.len()).to_owned()
            }
            Of::Scores(scores) => Mat::from_fn(rows.len(), rows.len(), |i, j| {
                scores[rows[i]] * scores[rows[j]]
            }),
        };
        Ok(Self {
            sensitive: table.sensitive.select(&rows),
            left_out: LeftOut::new(gram, &weights),
            weights,
            table,
        })
    }

    /// The estimator, bandwidth and ridge of the regression on these columns.
    fn block(
        &self,
        rule: &PartitionRule,
        columns: &[&Column],
        estimator: Estimator,
    ) -> Result<Chosen> {
        let none = self.left_out.overall();
        let mut chosen = Chosen {
            estimator,
            gamma: 0.0,
            ridge: 0.0,
            choice: Choice::default(),
        };
        chosen.choice.scores.push(("none".into(), none));
        let continuous = columns.iter().filter(|c| rule.kind(c) == Kind::Continuous);
        let continuous = continuous.count();
        let mut least = f64::INFINITY;
        if matches!(estimator, Estimator::Auto | Estimator::Cells) {
            let (score, ridge) = self.cells(rule, columns)?;
            chosen.choice.scores.push(("cells".into(), score));
            (chosen.estimator, chosen.ridge) = (Estimator::Cells, ridge);
            least = score;
        }
        if estimator == Estimator::Linear {
            let coordinates = self.coordinates(rule, columns)?;
            check_features(coordinates.len())?;
            let points = self.places(&coordinates, rule)?;
            let score = self.left_out.scores(&points, coordinates.len(), &[0.0])?[0];
            chosen.choice.scores.push(("linear".into(), score));
        }
        if matches!(estimator, Estimator::Auto | Estimator::Smooth) {
            let (score, gamma, ridge) = self.smooth(rule, columns, continuous)?;
            chosen.choice.scores.push(("smooth".into(), score));
            let margin = if continuous == 0 { 1.0 - MARGIN } else { 1.0 };
            if score < margin * least {
                (chosen.estimator, chosen.gamma, chosen.ridge) = (Estimator::Smooth, gamma, ridge);
            }
        }
        if chosen.estimator == Estimator::Smooth && continuous > 0 {
            chosen.choice.gamma = Some(chosen.gamma);
        }
        if chosen.ridge > 0.0 {
            chosen.choice.ridge = Some(chosen.ridge);
        }
        Ok(chosen)
    }

    /// The block that was chosen, its cells those of all rows.
    fn source(
        &self,
        rule: &PartitionRule,
        columns: &[&Column],
        chosen: &Chosen,
        sign: f64,
    ) -> Result<Block> {
        let source = match chosen.estimator {
            Estimator::Linear => Source::Columns(self.coordinates(rule, columns)?),
            Estimator::Smooth => {
                let coordinates = self.coordinates(rule, columns)?;
                let points = self.places(&coordinates, rule)?;
                Source::Kernel(KernelFeatures::choose(&coordinates, &points, chosen.gamma))
            }
            Estimator::Cells | Estimator::Auto => {
                let table = self.table;
                let columns = columns.iter().map(|c| (*c).clone()).collect();
                let all = Sensitive::new(columns, table.sensitive.len())?;
                let rule = rule.of_columns(&all);
                let (partition, _) = Partition::fit_for(&rule, &all, table.weights, table.rows)?;
                Source::Cells(Box::new(partition))
            }
        };
        Ok(Block::new(source, sign, chosen.ridge))
    }

    /// The score of the cells of these columns, and their κ if they are to be shrunk.
    fn cells(&self, rule: &PartitionRule, columns: &[&Column]) -> Result<(f64, f64)> {
        let sample = self.sample_of(columns)?;
        let rule = rule.of_columns(&sample);
        let (partition, _) = Partition::fit(&rule, &sample, &self.weights)?;
        let cells = partition.assign(&sample)?.codes().to_vec();
        let count = partition.len();
        let ridge = if rule.shrink {
            self.left_out.noise_ratio(&cells, count)
        } else {
            0.0
        };
        let mut indicators = vec![0.0; cells.len() * count];
        for (row, cell) in cells.iter().enumerate() {
            if let Some(entry) = indicators.get_mut(row * count + *cell as usize) {
                *entry = 1.0;
            }
        }
        let score = self.left_out.scores(&indicators, count, &[ridge])?[0];
        Ok((score, ridge))
    }

    /// The least score of a smooth mean, with its γ and κ.
    fn smooth(
        &self,
        rule: &PartitionRule,
        columns: &[&Column],
        continuous: usize,
    ) -> Result<(f64, f64, f64)> {
        let coordinates = self.coordinates(rule, columns)?;
        let points = self.places(&coordinates, rule)?;
        let unit = 0.5 / continuous.max(1) as f64;
        let tried = if continuous == 0 {
            &BANDWIDTHS[..1]
        } else {
            &BANDWIDTHS[..]
        };
        let mut best = (f64::INFINITY, unit, 1.0);
        for factor in tried {
            let gamma = factor * unit;
            let features = KernelFeatures::choose(&coordinates, &points, gamma);
            let values = features.values(&points);
            let count = values.len() / self.weights.len();
            let scores = self.left_out.scores(&values, count, &RIDGES)?;
            for (score, ridge) in scores.into_iter().zip(RIDGES) {
                if score < best.0 {
                    best = (score, gamma, ridge);
                }
            }
        }
        Ok(best)
    }

    /// The number of bins with the least score.
    fn bins(&self, rule: &PartitionRule) -> Result<CellCount> {
        let (own, _) = self.sensitive.split(&rule.control)?;
        let columns: Vec<&Column> = own.columns().iter().collect();
        let continuous = columns.iter().filter(|c| rule.kind(c) == Kind::Continuous);
        let dim = continuous.count();
        if dim == 0 {
            return Ok(CellCount::Auto);
        }
        let mut best = (f64::INFINITY, 1);
        for bins in BINS {
            let given = PartitionRule {
                cells: CellCount::Given(bins),
                shrink: false,
                ..rule.clone()
            };
            let (score, _) = self.cells(&given, &columns)?;
            if score < best.0 {
                best = (score, bins);
            }
        }
        let more = self.table.rows as f64
            / effective_rows(self.weights.len(), self.weights.iter().sum()) as f64;
        let grown = best.1 as f64 * more.max(1.0).powf(1.0 / (dim as f64 + 2.0));
        Ok(CellCount::Given(if best.1 == 1 {
            1
        } else {
            grown.round() as usize
        }))
    }

    fn sample_of(&self, columns: &[&Column]) -> Result<Sensitive> {
        let own = |column: &&Column| self.sensitive.column(&column.name).cloned();
        let columns = columns.iter().map(own).collect::<Result<_>>()?;
        Sensitive::new(columns, self.sensitive.len())
    }

    /// The coordinates of these columns, as all rows have them.
    fn coordinates(&self, rule: &PartitionRule, columns: &[&Column]) -> Result<Coordinates> {
        Coordinates::fit(columns, self.table.weights, rule)
    }

    /// The coordinates of the rows of the study.
    fn places(&self, coordinates: &Coordinates, rule: &PartitionRule) -> Result<Vec<f64>> {
        let (mut unplaced, mut uses) = (vec![false; self.weights.len()], Uses::default());
        coordinates.of(&self.sensitive, rule.policies, &mut unplaced, &mut uses)
    }
}

impl PartitionRule {
    /// Whether it is settled that the conditional mean is that of cells: they were asked for, or how they are cut was, or all
    /// columns are categorical with few cells or rows enough.
    fn asks_for_cells(&self, cells: &Partition) -> bool {
        const FEW: usize = 20;
        const ROWS: usize = 5;
        let continuous = cells.columns().any(|(_, kind)| kind == Kind::Continuous);
        let given = self.cells != CellCount::Auto || self.binning != Binning::Quantile;
        let rows: usize = cells.counts().iter().sum();
        match self.estimator {
            Estimator::Cells => true,
            // A mean of zero is a rule for cells.
            Estimator::Auto if self.policies.category == UnseenCategory::Zero => true,
            Estimator::Auto if continuous => given,
            Estimator::Auto => cells.len() <= FEW || rows >= ROWS * cells.len(),
            Estimator::Smooth | Estimator::Linear => false,
        }
    }

    /// What the rule says of the columns that are there.
    #[must_use]
    #[doc(hidden)]
    pub fn of_columns(&self, sensitive: &Sensitive) -> Self {
        let known = |name: &String| sensitive.columns().iter().any(|c| c.name == *name);
        let mut rule = self.clone();
        rule.categorical.retain(known);
        rule.continuous.retain(known);
        rule.bounds
            .retain(|(name, ..)| name.is_empty() || known(name));
        rule.control.clear();
        rule
    }
}

/// The features of rows, for the errors of conditional means at rows they have not seen.
struct LeftOut {
    /// $\sqrt{\omega_i\omega_j}\,k(x_i, x_j)$
    gram: Mat<f64>,
    weights: Vec<f64>,
    total: f64,
}

impl LeftOut {
    fn new(mut gram: Mat<f64>, weights: &[f64]) -> Self {
        for j in 0..weights.len() {
            for i in 0..weights.len() {
                gram[(i, j)] *= (weights[i] * weights[j]).sqrt();
            }
        }
        Self {
            gram,
            total: weights.iter().sum(),
            weights: weights.to_vec(),
        }
    }

    /// The error of the mean of all.
    fn overall(&self) -> f64 {
        self.errors(&self.constant(), &[1.0]).iter().sum::<f64>() / self.total
    }

    /// $\sqrt{\omega_i/W}$, one column.
    fn constant(&self) -> Mat<f64> {
        Mat::from_fn(self.weights.len(), 1, |i, _| {
            (self.weights[i] / self.total).sqrt()
        })
    }

    /// The leave-one-out error of ridge regression on these features (row after row), for every κ.
    ///
    /// With $H = Q\,\mathrm{diag}(f)\,Q^\top$ the map to fitted values, Q orthonormal and f = 1 for the constant, s/(s + κ) for the
    /// other directions: $\frac1W\sum_i [(I - H)K(I - H)]_{ii}/(1 - H_{ii})^2$, where a row of weight ω ≥ 1 leaves out one of its ω
    /// copies.
    fn scores(&self, features: &[f64], count: usize, ridges: &[f64]) -> Result<Vec<f64>> {
        let rows = self.weights.len();
        let raw = MatRef::from_row_major_slice(features, rows, count);
        let mean = |a: usize| {
            (0..rows)
                .map(|i| self.weights[i] * raw[(i, a)])
                .sum::<f64>()
                / self.total
        };
        let means: Vec<f64> = (0..count).map(mean).collect();
        let centred = Mat::from_fn(rows, count, |i, a| {
            self.weights[i].sqrt() * (raw[(i, a)] - means[a])
        });
        let second = centred.transpose() * &centred;
        let eigen = second
            .as_ref()
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| Error::Overflow {
                what: "the second moments of the sensitive features",
            })?;
        let values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
        let floor = values.iter().fold(0.0f64, |a, b| a.max(*b)) * 1e-11;
        let used: Vec<usize> = (0..count)
            .filter(|&a| values[a] > floor.max(f64::MIN_POSITIVE))
            .collect();
        let turn = Mat::from_fn(count, used.len(), |a, k| {
            eigen.U()[(a, used[k])] / values[used[k]].sqrt()
        });
        let turned = &centred * &turn;
        let constant = self.constant();
        let basis = Mat::from_fn(rows, used.len() + 1, |i, a| match a {
            0 => constant[(i, 0)],
            a => turned[(i, a - 1)],
        });
        let score = |ridge: &f64| {
            let kept = used.iter().map(|&a| values[a] / (values[a] + ridge));
            let kept: Vec<f64> = std::iter::once(1.0).chain(kept).collect();
            kept
        };
        let kept: Vec<Vec<f64>> = ridges.iter().map(score).collect();
        Ok(self
            .errors_each(&basis, &kept)
            .into_iter()
            .map(|errors| errors.iter().sum::<f64>() / self.total)
            .collect())
    }

    fn errors(&self, basis: &Mat<f64>, kept: &[f64]) -> Vec<f64> {
        self.errors_each(basis, &[kept.to_vec()]).swap_remove(0)
    }

    /// The weighted squared error of every row left out, for each list of f.
    fn errors_each(&self, basis: &Mat<f64>, kept: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let (rows, count) = (basis.nrows(), basis.ncols());
        let threads = Par::rayon(rayon::current_num_threads());
        let product = |left: MatRef<'_, f64>, right: MatRef<'_, f64>| {
            let mut out = Mat::zeros(left.nrows(), right.ncols());
            matmul(out.as_mut(), Accum::Replace, left, right, 1.0, threads);
            out
        };
        let at = product(self.gram.as_ref(), basis.as_ref());
        let inner = product(basis.transpose(), at.as_ref());
        // Against the mean of the others: for rows that are alone in their cell.
        let alone = |i: usize| {
            let share = self.weights[i] / self.total;
            let root = basis[(i, 0)];
            let error = self.gram[(i, i)] - 2.0 * root * at[(i, 0)] + share * inner[(0, 0)];
            error
                / (1.0 - share / self.weights[i].max(1.0))
                    .max(f64::EPSILON)
                    .powi(2)
        };
        let errors = |kept: &Vec<f64>| -> Vec<f64> {
            let scaled = Mat::from_fn(rows, count, |i, a| basis[(i, a)] * kept[a]);
            let fitted = product(scaled.as_ref(), inner.as_ref());
            (0..rows)
                .map(|i| {
                    let mut error = self.gram[(i, i)];
                    let mut leverage = 0.0;
                    for a in 0..count {
                        let q = scaled[(i, a)];
                        error += q * (fitted[(i, a)] - 2.0 * at[(i, a)]);
                        leverage += q * basis[(i, a)];
                    }
                    let rest = 1.0 - leverage / self.weights[i].max(1.0);
                    if rest < 1e-9 {
                        alone(i)
                    } else {
                        error.max(0.0) / (rest * rest)
                    }
                })
                .collect()
        };
        kept.iter().map(errors).collect()
    }

    /// κ = σ²/τ² of the one-way random-effects model: with N rows in L cells, B the squares between and
    /// $\sigma^2 = (\operatorname{tr}K - \sum_c 1^\top K_{cc}1/N_c)/(N - L)$ those within,
    /// $\tau^2 = (B/(L - 1) - \sigma^2)_+/n_0$ and $n_0 = (N - \sum_c N_c^2/N)/(L - 1)$.
    fn noise_ratio(&self, cells: &[u32], count: usize) -> f64 {
        const MOST: f64 = 1e12;
        let rows = self.weights.len();
        let mut mass = vec![0.0; count];
        for (cell, weight) in cells.iter().zip(&self.weights) {
            mass[*cell as usize] += weight;
        }
        let root = |i: usize| self.weights[i].sqrt();
        let mut inside = vec![0.0; count];
        let (mut all, mut trace) = (0.0, 0.0);
        for j in 0..rows {
            trace += self.gram[(j, j)];
            for i in 0..rows {
                let value = root(i) * root(j) * self.gram[(i, j)];
                all += value;
                if cells[i] == cells[j] {
                    inside[cells[j] as usize] += value;
                }
            }
        }
        let used: Vec<usize> = (0..count).filter(|&c| mass[c] > 0.0).collect();
        let cells = used.len() as f64;
        if cells < 2.0 || self.total <= cells {
            return 0.0;
        }
        let means: f64 = used.iter().map(|&c| inside[c] / mass[c]).sum();
        let within = (trace - means).max(0.0) / (self.total - cells);
        let between = (means - all / self.total) / (cells - 1.0);
        let squares: f64 = used.iter().map(|&c| mass[c] * mass[c]).sum();
        let size = (self.total - squares / self.total) / (cells - 1.0);
        let variance = ((between - within) / size).max(0.0);
        if variance > within / MOST {
            within / variance
        } else {
            MOST
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oblivio_base::random::{Stream, generator};
    use rand::RngExt;

    fn numbers(count: usize, seed: u64) -> Vec<f64> {
        let mut random = generator(seed, Stream::Simulation);
        (0..count).map(|_| random.random::<f64>() - 0.5).collect()
    }

    /// The error of each row by a regression without it, by its definition.
    fn brute(scores: &[f64], features: &[f64], count: usize, weights: &[f64], ridge: f64) -> f64 {
        let rows = scores.len();
        let psi = |i: usize, a: usize| features[i * count + a];
        let mut sum = 0.0;
        for left in 0..rows {
            let weight = |i: usize| {
                if i == left {
                    weights[i] - weights[i].min(1.0)
                } else {
                    weights[i]
                }
            };
            let total: f64 = (0..rows).map(weight).sum();
            let mean =
                |f: &dyn Fn(usize) -> f64| (0..rows).map(|i| weight(i) * f(i)).sum::<f64>() / total;
            let centre: Vec<f64> = (0..count).map(|a| mean(&|i| psi(i, a))).collect();
            let middle = mean(&|i| scores[i]);
            let gram = Mat::from_fn(count, count, |a, b| {
                let ridge = if a == b { ridge } else { 0.0 };
                ridge
                    + (0..rows)
                        .map(|i| weight(i) * (psi(i, a) - centre[a]) * (psi(i, b) - centre[b]))
                        .sum::<f64>()
            });
            let cross = Mat::from_fn(count, 1, |a, _| {
                (0..rows)
                    .map(|i| weight(i) * (psi(i, a) - centre[a]) * (scores[i] - middle))
                    .sum::<f64>()
            });
            let solved = crate::partition::regression(gram.as_ref(), cross.as_ref(), 0.0).unwrap();
            let fitted = middle
                + (0..count)
                    .map(|a| (psi(left, a) - centre[a]) * solved[(a, 0)])
                    .sum::<f64>();
            sum += weights[left] * (scores[left] - fitted).powi(2);
        }
        sum / weights.iter().sum::<f64>()
    }

    #[test]
    fn leave_one_out_is_what_it_says() {
        let (rows, count) = (14, 3);
        let features = numbers(rows * count, 1);
        let scores = numbers(rows, 2);
        let gram = Mat::from_fn(rows, rows, |i, j| scores[i] * scores[j]);
        for weights in [
            vec![1.0; rows],
            (0..rows).map(|i| 1.0 + (i % 3) as f64).collect(),
        ] {
            let study = LeftOut::new(gram.clone(), &weights);
            let ridges = [0.0, 0.1, 5.0];
            let found = study.scores(&features, count, &ridges).unwrap();
            for (found, ridge) in found.into_iter().zip(ridges) {
                let expected = brute(&scores, &features, count, &weights, ridge);
                assert!(
                    (found - expected).abs() < 1e-10,
                    "{found} {expected} at {ridge}"
                );
            }
        }
    }

    #[test]
    fn the_noise_ratio_is_that_of_the_simulation() {
        // 200 cells of 10 rows: means of variance 0.25/12, noise of variance 1/12.
        let (cells, size) = (200, 10);
        let means = numbers(cells, 3);
        let noise = numbers(cells * size, 4);
        let scores: Vec<f64> = (0..cells * size)
            .map(|i| 0.5 * means[i / size] + noise[i])
            .collect();
        let gram = Mat::from_fn(cells * size, cells * size, |i, j| scores[i] * scores[j]);
        let of: Vec<u32> = (0..cells * size).map(|i| (i / size) as u32).collect();
        let ratio = LeftOut::new(gram, &vec![1.0; cells * size]).noise_ratio(&of, cells);
        // 1/12 over 0.25/12, to the error of a variance of 200 means.
        assert!((ratio / 4.0 - 1.0).abs() < 0.35, "{ratio}");
    }
}
