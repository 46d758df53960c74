//! What the tests share: tables with dependence, and the definitions taken literally.
//!
//! For tests in `tests/` alone: it imports the engine, so that no unit test can use it.
#![allow(
    missing_docs,
    clippy::len_without_is_empty,
    clippy::missing_panics_doc,
    clippy::return_self_not_must_use,
    clippy::unwrap_used,
    reason = "for tests: names say enough, and what cannot be unwrapped is a failed test"
)]

use faer::{Mat, Side};
use oblivio::partition::{Binning, CellCount, PartitionRule};
use oblivio::{
    Column, ConditionalMean, Kernel, ObliviousMap, Partition, Points, Sensitive, Settings,
    Training, Watch,
};
use oblivio_kernels::{Gamma, Lower};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Every kind of kernel, and every way to combine them.
pub const KERNELS: [&str; 11] = [
    "linear",
    "poly(degree=2, gamma=0.5, coef0=1)",
    "poly(degree=5, gamma=0.3, coef0=0)",
    "rbf(gamma=0.7)",
    "laplacian(gamma=0.4)",
    "matern12(gamma=0.8)",
    "matern32(gamma=0.8)",
    "matern52(gamma=0.8)",
    "rbf(gamma=0.2) + 0.1 * linear",
    "matern32(gamma=0.3) * poly(degree=2, gamma=0.2, coef0=1)",
    "2 * (laplacian(gamma=0.2) + rbf(gamma=3) * linear) + 0.5 * matern12(gamma=0.5)",
];

pub fn kernel(text: &str) -> Kernel {
    text.parse().unwrap()
}

pub fn kernels() -> impl Strategy<Value = Kernel> {
    prop::sample::select(&KERNELS[..]).prop_map(kernel)
}

pub fn watch() -> Watch {
    Watch::default()
}

pub fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// A bound on the rounding of a few operations, each a sum of `terms` numbers of at most `size`.
pub fn rounding(terms: usize, size: f64) -> f64 {
    16.0 * (terms + 1) as f64 * f64::EPSILON * size
}

/// The same for entries of a kernel matrix. Squared distances are rounded like sums, and the Matérn kernel of smoothness
/// 1/2 feels the root of that where points coincide.
pub fn rounding_of(kernel: &Kernel, terms: usize, size: f64) -> f64 {
    let rounding = rounding(terms, size);
    if kernel.to_string().contains("matern12") {
        rounding.sqrt()
    } else {
        rounding
    }
}

/// Which sensitive columns there are, and how they are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// One cell per group.
    Group,
    /// Four cells of equal mass of a continuous column.
    Quantile,
    /// Four cells of equal width within given bounds.
    Dyadic,
    /// Groups times two cells of equal mass.
    Product,
}

pub const CUTS: [Cut; 4] = [Cut::Group, Cut::Quantile, Cut::Dyadic, Cut::Product];

impl Cut {
    pub fn rule(self) -> PartitionRule {
        PartitionRule {
            cells: CellCount::Given(if self == Self::Product { 2 } else { 4 }),
            binning: if self == Self::Dyadic {
                Binning::Dyadic
            } else {
                Binning::Quantile
            },
            bounds: if self == Self::Dyadic {
                vec![("age".into(), 0.0, 1.0)]
            } else {
                Vec::new()
            },
            continuous: if self == Self::Group {
                Vec::new()
            } else {
                vec!["age".into()]
            },
            ..PartitionRule::default()
        }
    }
}

/// Rows whose features rise with the group and with the age.
#[derive(Clone)]
pub struct Table {
    pub points: Points<'static>,
    pub group: Vec<usize>,
    pub age: Vec<f64>,
    pub targets: Vec<f64>,
    pub weights: Vec<f64>,
    pub recipe: String,
}

/// A counterexample that can be typed in again, not a page of numbers.
impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.recipe)
    }
}

impl Table {
    pub fn new(rows: usize, dim: usize, seed: u64) -> Self {
        let mut random = generator(seed);
        let mut normal = || random.sample::<f64, _>(StandardNormal);
        let group: Vec<usize> = (0..rows).map(|i| i % 3).collect();
        // Steps of the golden ratio fill every bin.
        let age: Vec<f64> = (0..rows)
            .map(|i| (0.5 + i as f64 * 0.618_033_988_749_895).fract())
            .collect();
        let mut points = Vec::new();
        for (group, age) in group.iter().zip(&age) {
            points.extend((0..dim).map(|_| 0.8 * *group as f64 + 1.5 * age + 0.5 * normal()));
        }
        let points = Points::new(points, dim).unwrap();
        let targets = (0..rows)
            .map(|i| points.row(i).iter().sum::<f64>() + age[i] + 0.3 * normal())
            .collect();
        Self {
            points,
            group,
            age,
            targets,
            weights: vec![1.0; rows],
            recipe: format!("Table::new({rows}, {dim}, {seed})"),
        }
    }

    /// The same rows, unequally weighted.
    pub fn weighted(mut self, seed: u64) -> Self {
        let mut random = generator(seed);
        self.weights = (0..self.len())
            .map(|_| random.random_range(0.2..3.0))
            .collect();
        self.recipe = format!("{}.weighted({seed})", self.recipe);
        self
    }

    /// The same rows with few distinct values: equal rows, and ties among the ages.
    pub fn coarse(mut self) -> Self {
        let round = |v: &f64| (v * 4.0).round() / 4.0;
        let values: Vec<f64> = self.points.values().iter().map(round).collect();
        self.points = Points::new(values, self.points.dim()).unwrap();
        self.age
            .iter_mut()
            .for_each(|age| *age = (*age * 16.0).floor() / 16.0);
        self.recipe += ".coarse()";
        self
    }

    pub fn len(&self) -> usize {
        self.group.len()
    }

    pub fn select(&self, rows: &[usize]) -> Self {
        let pick = |values: &[f64]| rows.iter().map(|&i| values[i]).collect();
        Self {
            points: self.points.select(rows),
            group: rows.iter().map(|&i| self.group[i]).collect(),
            age: pick(&self.age),
            targets: pick(&self.targets),
            weights: pick(&self.weights),
            recipe: format!("{}.select(&{rows:?})", self.recipe),
        }
    }

    pub fn sensitive(&self, cut: Cut) -> Sensitive {
        let group = || {
            Column::texts(
                "group",
                self.group.iter().map(|g| Some(["a", "b", "c"][*g])),
            )
        };
        let age = || Column::numbers("age", self.age.clone());
        let columns = match cut {
            Cut::Group => vec![group()],
            Cut::Quantile | Cut::Dyadic => vec![age()],
            Cut::Product => vec![age(), group()],
        };
        Sensitive::new(columns, self.len()).unwrap()
    }

    /// The cell of each row by the definitions: the group, and the bin of the age given the ages of `reference`.
    pub fn cells(&self, cut: Cut, reference: &Self) -> Vec<(usize, usize)> {
        (0..self.len())
            .map(|i| match cut {
                Cut::Group => (self.group[i], 0),
                Cut::Quantile => (0, quantile_bin(self.age[i], 4, reference)),
                Cut::Dyadic => (0, ((self.age[i] * 4.0) as usize).min(3)),
                Cut::Product => (self.group[i], quantile_bin(self.age[i], 2, reference)),
            })
            .collect()
    }

    /// The partition and the map that this table as the reference gives.
    pub fn map(&self, kernel: &Kernel, cut: Cut, strength: f64) -> (Partition, ObliviousMap) {
        self.map_by(kernel, &cut.rule(), &self.sensitive(cut), strength)
    }

    pub fn map_by(
        &self,
        kernel: &Kernel,
        rule: &PartitionRule,
        sensitive: &Sensitive,
        strength: f64,
    ) -> (Partition, ObliviousMap) {
        let (partition, _) = Partition::fit(rule, sensitive, &self.weights).unwrap();
        let mean = ConditionalMean::estimate(
            kernel.clone(),
            self.points.clone(),
            partition.assign(sensitive).unwrap().codes().to_vec(),
            &self.weights,
            partition.mass(),
            &watch(),
        )
        .unwrap();
        (partition, ObliviousMap::new(mean, strength).unwrap())
    }

    pub fn fit(&self, settings: &Settings, cut: Cut) -> oblivio::Fit {
        self.fit_to(settings, cut, &self.targets)
    }

    pub fn fit_to(&self, settings: &Settings, cut: Cut, targets: &[f64]) -> oblivio::Fit {
        let settings = Settings {
            partition: cut.rule(),
            ..settings.clone()
        };
        settings
            .fit(
                Training {
                    points: &self.points,
                    sensitive: &self.sensitive(cut),
                    targets,
                    weights: Some(&self.weights),
                },
                &watch(),
            )
            .unwrap()
    }

    /// The scores of this table's rows.
    pub fn scores(&self, fit: &oblivio::Fit, cut: Cut) -> Vec<f64> {
        let sensitive = self.sensitive(cut);
        let prediction = fit
            .predictor
            .predict(&self.points, Some(&sensitive), &watch());
        prediction.unwrap().scores
    }
}

/// The number of edges up to `value`; edge k is the smallest reference value with k/`bins` of the mass below it.
fn quantile_bin(value: f64, bins: usize, reference: &Table) -> usize {
    let mass = |test: &dyn Fn(f64) -> bool| -> f64 {
        let rows = reference.age.iter().zip(&reference.weights);
        rows.filter(|(age, _)| test(**age)).map(|(_, w)| w).sum()
    };
    let total = mass(&|_| true);
    let mut edges: Vec<f64> = (1..bins)
        .filter_map(|k| {
            let enough = |edge: &f64| mass(&|age| age < *edge) >= total * k as f64 / bins as f64;
            let candidates = reference.age.iter().copied().filter(enough);
            candidates.min_by(f64::total_cmp)
        })
        .collect();
    edges.dedup();
    edges.iter().filter(|edge| **edge <= value).count()
}

pub fn tables() -> impl Strategy<Value = Table> {
    let flags = (any::<bool>(), any::<bool>());
    (24usize..60, 1usize..4, any::<u64>(), flags).prop_map(|(rows, dim, seed, (weigh, coarse))| {
        let table = Table::new(rows, dim, seed);
        let table = if coarse { table.coarse() } else { table };
        if weigh { table.weighted(seed) } else { table }
    })
}

pub fn cuts() -> impl Strategy<Value = Cut> {
    prop::sample::select(&CUTS[..])
}

pub fn settings(kernel: &str) -> Settings {
    Settings {
        kernel: kernel.parse::<Kernel<Gamma>>().unwrap(),
        penalty: 0.5,
        ..Settings::default()
    }
}

/// $K_{ij} = k(a_i, b_j)$, pair by pair.
pub fn kernel_matrix(kernel: &Kernel, a: &Points, b: &Points) -> Mat<f64> {
    Mat::from_fn(a.len(), b.len(), |i, j| kernel.at(a.row(i), b.row(j)))
}

/// Entries column after column, as a matrix.
pub fn matrix(entries: &[f64], rows: usize) -> Mat<f64> {
    Mat::from_fn(rows, entries.len() / rows, |i, j| entries[i + j * rows])
}

/// The symmetric matrix whose lower triangle this is.
pub fn mirrored(lower: &Lower) -> Mat<f64> {
    let lower = lower.as_mat();
    Mat::from_fn(lower.nrows(), lower.ncols(), |i, j| {
        lower[(i.max(j), i.min(j))]
    })
}

/// Row i holds the weights $D_{iu}$ of the shift $\delta_{c_i} = \sum_u D_{iu}\phi(x_u)$ over the reference rows:
/// those of the mean over the rows `inside`, less those of the mean over all.
pub fn shift_weights(
    rows: usize,
    weights: &[f64],
    inside: impl Fn(usize, usize) -> bool,
) -> Mat<f64> {
    let total: f64 = weights.iter().sum();
    let shares = Mat::from_fn(rows, weights.len(), |i, u| {
        if inside(i, u) { weights[u] } else { 0.0 }
    });
    Mat::from_fn(rows, weights.len(), |i, u| {
        let mass: f64 = (0..weights.len()).map(|v| shares[(i, v)]).sum();
        let mean = if mass > 0.0 {
            shares[(i, u)] / mass
        } else {
            0.0
        };
        mean - weights[u] / total
    })
}

/// T = [I | −tD], so that Z = T Φ over the points followed by the reference.
pub fn transform(shifts: &Mat<f64>, strength: f64) -> Mat<f64> {
    let rows = shifts.nrows();
    Mat::from_fn(rows, rows + shifts.ncols(), |i, j| {
        match j.checked_sub(rows) {
            None => f64::from(u8::from(i == j)),
            Some(u) => -strength * shifts[(i, u)],
        }
    })
}

/// The points of one set, then those of another.
pub fn stacked(a: &Points, b: &Points) -> Points<'static> {
    Points::new([a.values(), b.values()].concat(), a.dim()).unwrap()
}

/// The largest magnitude, infinite if there is a NaN: that must not pass for a small error.
pub fn size<'v>(values: impl IntoIterator<Item = &'v f64>) -> f64 {
    values.into_iter().fold(0.0, |most, v| {
        f64::max(most, if v.is_nan() { f64::INFINITY } else { v.abs() })
    })
}

pub fn largest(matrix: &Mat<f64>) -> f64 {
    size((0..matrix.ncols()).flat_map(|j| matrix.col(j).iter()))
}

/// The largest difference of two matrices.
pub fn difference(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    assert_eq!((a.nrows(), a.ncols()), (b.nrows(), b.ncols()));
    largest(&(a - b))
}

/// The largest difference of two vectors.
pub fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    size(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

pub fn smallest_eigenvalue(matrix: &Mat<f64>) -> f64 {
    matrix.self_adjoint_eigenvalues(Side::Lower).unwrap()[0]
}

pub fn trace(matrix: &Mat<f64>) -> f64 {
    (0..matrix.nrows()).map(|i| matrix[(i, i)]).sum()
}

/// The weighted means of the values over the cells, in the order of the cells.
pub fn cell_means<C: Ord + Copy>(values: &[f64], cells: &[C], weights: &[f64]) -> Vec<f64> {
    let mut sums = std::collections::BTreeMap::new();
    for ((value, cell), weight) in values.iter().zip(cells).zip(weights) {
        let (sum, mass) = sums.entry(*cell).or_insert((0.0, 0.0));
        *sum += weight * value;
        *mass += weight;
    }
    sums.into_values().map(|(sum, mass)| sum / mass).collect()
}

/// How far the values lie apart.
pub fn range(values: &[f64]) -> f64 {
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    high - low
}

/// Algorithm 1 to the letter, `sign` that of ρ: −1 as printed, +1 as derived.
///
/// $\mathcal O_{ij} = k_{ij} - \xi_{i,c_j} - \xi_{j,c_i} + o_{c_ic_j} + \rho_i + \rho_j - \tau_{c_i} - \tau_{c_j} + M$
pub fn nine_terms(
    kernel: &Kernel,
    (table, reference): (&Table, &Table),
    cut: Cut,
    sign: f64,
) -> Mat<f64> {
    let k = kernel_matrix(kernel, &table.points, &table.points);
    let to = kernel_matrix(kernel, &table.points, &reference.points);
    let within = kernel_matrix(kernel, &reference.points, &reference.points);
    let cells = table.cells(cut, reference);
    let reference_cells = reference.cells(cut, reference);
    let all: Vec<usize> = (0..reference.len()).collect();
    let members: Vec<Vec<usize>> = cells
        .iter()
        .map(|cell| {
            all.iter()
                .copied()
                .filter(|&u| reference_cells[u] == *cell)
                .collect()
        })
        .collect();
    let mean = |rows: &[usize], value: &dyn Fn(usize) -> f64| -> f64 {
        let mass: f64 = rows.iter().map(|&u| reference.weights[u]).sum();
        rows.iter()
            .map(|&u| reference.weights[u] * value(u))
            .sum::<f64>()
            / mass
    };
    let means = |a: &[usize], b: &[usize]| mean(a, &|u| mean(b, &|v| within[(u, v)]));
    let overall = means(&all, &all);
    let rho: Vec<f64> = (0..table.len())
        .map(|i| mean(&all, &|u| to[(i, u)]))
        .collect();
    let tau: Vec<f64> = members.iter().map(|rows| means(rows, &all)).collect();
    let xi = |i: usize, j: usize| mean(&members[j], &|u| to[(i, u)]);
    Mat::from_fn(table.len(), table.len(), |i, j| {
        k[(i, j)] - xi(i, j) - xi(j, i) + means(&members[i], &members[j]) + sign * (rho[i] + rho[j])
            - tau[i]
            - tau[j]
            + overall
    })
}
