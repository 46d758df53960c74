//! Features of the sensitive values on which a conditional mean is regressed: smooth ones, the columns themselves, or cells.

use std::cmp::Ordering;
use std::collections::HashMap;

use faer::{Mat, MatRef, Side};
use oblivio_base::column::LevelMap;
use oblivio_base::error::listed;
use oblivio_base::{Column, Error, Result, UnseenCategory, Value};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::derived::Derived;
use super::{Estimator, Missing, Partition, PartitionRule, Policies, Uses};
use crate::sensitive::{Kind, Sensitive};

/// The most landmarks among the sensitive values.
pub(super) const MOST_LANDMARKS: usize = 128;
/// The most features of a regression on S: it solves as many equations.
const MOST_FEATURES: usize = 1 << 12;
/// Landmarks stop where they explain this share of every row.
const TOLERANCE: f64 = 1e-6;
/// Rows whose features are computed at a time; fixed, so that the result does not depend on the threads.
const CHUNK: usize = 512;

/// The regression that gives the shift of a row: $\delta(s) = \sum_a D_a(s)\beta_a$.
///
/// It has one *block* of features ψ, or two where a legitimate factor A is controlled for: then the second is taken off, and
/// $\delta = E(\phi \mid s, a) - E(\phi \mid a)$. With the block's sign σ, $D = \sigma(\psi - \bar\psi)$, centred over the reference
/// rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Smooth {
    /// One, or two where a legitimate factor is controlled for.
    pub blocks: Vec<Block>,
    /// The rules for values without a place.
    pub policies: Policies,
}

/// Features of some columns, and how firmly their coefficients are held back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Block {
    /// The features.
    pub source: Source,
    /// 1, or −1 for what is taken off again.
    pub sign: f64,
    /// κ: the coefficients are $(\Psi^\top\Omega\Psi + \kappa I)^{-1}\Psi^\top\Omega\phi$ with Ψ centred.
    pub ridge: f64,
    /// $\bar\psi$
    pub centre: Vec<f64>,
}

/// Where features come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// $\psi = L^{-1}(k_S(l_1, s), \dots)^\top$ on landmarks: inner products are those of the kernel $k_S$.
    Kernel(KernelFeatures),
    /// The columns themselves, categories as indicators.
    Columns(Coordinates),
    /// An indicator for each cell.
    Cells(Box<Partition>),
}

/// Features of a Gaussian kernel on coordinates: $k_S(s, s') = e^{-\gamma\|z - z'\|^2}\cdot 4^{-d}$, z being the standardised
/// continuous columns and d the number of categorical ones that differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Landmarks", into = "Landmarks")]
pub struct KernelFeatures {
    /// The landmarks.
    pub on: Landmarks,
    factor: Derived<Vec<f64>>,
}

/// Landmarks among sensitive values, as a file has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Landmarks {
    /// The columns.
    pub coordinates: Coordinates,
    /// γ
    pub gamma: f64,
    /// Their coordinates, one landmark after the other.
    pub values: Vec<f64>,
}

/// Sensitive columns as numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coordinates(pub Vec<Coordinate>);

/// A sensitive column as numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Coordinate {
    /// The name of the column.
    pub name: String,
    /// Whether missing is a level of its own, the last one.
    pub missing: bool,
    #[serde(flatten)]
    /// Which numbers.
    pub form: Form,
}

/// The numbers of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// An indicator for each category.
    Categories {
        /// The categories.
        levels: Vec<String>,
    },
    /// (value − mean)/scale
    Number {
        /// The mean over the reference rows.
        mean: f64,
        /// The standard deviation, or 1.
        scale: f64,
        /// The range over the reference rows.
        bounds: (f64, f64),
    },
}

/// The features of rows.
pub struct SmoothRows {
    /// ψ of all blocks, one row in each column.
    pub(crate) psi: Mat<f64>,
    /// Rows with a value that has no place: nothing is taken off them.
    pub(crate) unplaced: Vec<bool>,
    pub(crate) uses: Uses,
}

impl Smooth {
    pub(crate) fn new(blocks: Vec<Block>, policies: Policies) -> Result<Self> {
        if policies.category == UnseenCategory::Zero {
            return Err(Error::InvalidParameter {
                name: "the policy for unknown categories",
                expected: "error or population unless the conditional mean is that of cells",
                value: "zero".into(),
            });
        }
        let smooth = Self { blocks, policies };
        check_features(smooth.len())?;
        Ok(smooth)
    }

    /// The number of features.
    #[allow(clippy::len_without_is_empty, reason = "a regression has a feature")]
    pub fn len(&self) -> usize {
        self.blocks.iter().map(Block::len).sum()
    }

    /// The landmarks among sensitive values.
    pub(crate) fn held(&self) -> usize {
        let kernels = self
            .blocks
            .iter()
            .filter(|b| matches!(b.source, Source::Kernel(_)));
        kernels.map(Block::len).sum()
    }

    /// What the first block is a regression on.
    pub(crate) fn estimator(&self) -> Estimator {
        match self.blocks.first().map(|block| &block.source) {
            Some(Source::Kernel(_)) => Estimator::Smooth,
            Some(Source::Columns(_)) => Estimator::Linear,
            Some(Source::Cells(_)) | None => Estimator::Cells,
        }
    }

    /// Whether there are many features, most of which say nothing.
    pub(crate) fn is_kernel(&self) -> bool {
        let kernel = |block: &Block| matches!(block.source, Source::Kernel(_));
        self.blocks.iter().any(kernel)
    }

    /// The columns needed.
    pub(crate) fn columns(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for block in &self.blocks {
            let own: Vec<&str> = match &block.source {
                Source::Kernel(features) => features.on.coordinates.names().collect(),
                Source::Columns(coordinates) => coordinates.names().collect(),
                Source::Cells(partition) => partition.needs(),
            };
            for name in own {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// The kind of a column, and its categories.
    pub(super) fn column(&self, name: &str) -> Option<(Kind, &[String])> {
        self.blocks.iter().find_map(|block| match &block.source {
            Source::Kernel(features) => features.on.coordinates.column(name),
            Source::Columns(coordinates) => coordinates.column(name),
            Source::Cells(partition) => partition.column(name),
        })
    }

    pub(super) fn policies(&self) -> Policies {
        self.policies
    }

    /// The ridge and the sign of every feature's block, and the features it has.
    pub(crate) fn spans(&self) -> Vec<(std::ops::Range<usize>, f64, f64)> {
        let mut at = 0;
        let span = |block: &Block| {
            let start = at;
            at += block.len();
            (start..at, block.ridge, block.sign)
        };
        self.blocks.iter().map(span).collect()
    }

    /// The same with other means of the features.
    pub(crate) fn centred_at(&self, centre: &[f64]) -> Self {
        let mut centred = self.clone();
        for (block, (span, ..)) in centred.blocks.iter_mut().zip(self.spans()) {
            block.centre = centre[span].to_vec();
        }
        centred
    }

    /// The same, centred over these rows.
    #[must_use]
    pub fn centred_over(&self, rows: &SmoothRows, weights: &[f64]) -> Self {
        let placed: Vec<f64> = weights
            .iter()
            .zip(&rows.unplaced)
            .map(|(w, unplaced)| if *unplaced { 0.0 } else { *w })
            .collect();
        let total: f64 = placed.iter().sum();
        let mut centre = vec![0.0; rows.psi.nrows()];
        for (i, weight) in placed.iter().enumerate() {
            for (c, v) in centre.iter_mut().zip(rows.psi.col_as_slice(i)) {
                *c += weight * v / total;
            }
        }
        self.centred_at(&centre)
    }

    /// ψ for every row.
    pub fn rows(&self, sensitive: &Sensitive) -> Result<SmoothRows> {
        let mut psi = Mat::zeros(self.len(), sensitive.len());
        let mut unplaced = vec![false; sensitive.len()];
        let mut uses = Uses::default();
        for (block, (span, ..)) in self.blocks.iter().zip(self.spans()) {
            let values = match &block.source {
                Source::Cells(partition) => {
                    let several = self.blocks.len() > 1;
                    indicators(
                        partition,
                        sensitive,
                        &mut uses,
                        several.then_some(&mut unplaced),
                    )?
                }
                Source::Columns(coordinates) => {
                    coordinates.of(sensitive, self.policies, &mut unplaced, &mut uses)?
                }
                Source::Kernel(features) => {
                    let points = features.on.coordinates.of(
                        sensitive,
                        self.policies,
                        &mut unplaced,
                        &mut uses,
                    )?;
                    features.values(&points)
                }
            };
            let count = span.len();
            for (row, values) in values.chunks(count.max(1)).enumerate() {
                psi.col_as_slice_mut(row)[span.clone()].copy_from_slice(values);
            }
        }
        uses.unseen_category += unplaced.iter().filter(|u| **u).count();
        Ok(SmoothRows {
            psi,
            unplaced,
            uses,
        })
    }

    /// D for rows: the features centred and signed.
    pub(crate) fn centred(&self, rows: &SmoothRows) -> Mat<f64> {
        let mut centred = rows.psi.clone();
        for (block, (span, ..)) in self.blocks.iter().zip(self.spans()) {
            for (i, unplaced) in rows.unplaced.iter().enumerate() {
                block.centred(&mut centred.col_as_slice_mut(i)[span.clone()], *unplaced);
            }
        }
        centred
    }

    /// The same with the means moved by those of D over other rows.
    pub(crate) fn moved(&self, by: &[f64]) -> Self {
        let mut moved = self.clone();
        for (block, (span, _, sign)) in moved.blocks.iter_mut().zip(self.spans()) {
            for (c, d) in block.centre.iter_mut().zip(&by[span]) {
                *c += sign * d;
            }
        }
        moved
    }

    /// The coefficients β from sums over centred rows: $\sigma(G + \kappa I)^{+}C$ of every block, G being $\sum\omega DD^\top$ and C
    /// $\sum\omega D\phi^\top$.
    pub fn solve(&self, gram: MatRef<'_, f64>, cross: MatRef<'_, f64>) -> Result<Mat<f64>> {
        let mut all = Mat::zeros(cross.nrows(), cross.ncols());
        for (span, ridge, sign) in self.spans() {
            let (start, count) = (span.start, span.len());
            let gram = gram.submatrix(start, start, count, count);
            let solved = regression(gram, cross.subrows(start, count), ridge)?;
            for k in 0..cross.ncols() {
                for a in 0..count {
                    all[(start + a, k)] = sign * solved[(a, k)];
                }
            }
        }
        Ok(all)
    }

    /// A with $\beta = A\phi$: $\sigma(D^\top\Omega D + \kappa I)^{+}D^\top\Omega$ of every block, one reference row in each column.
    pub(crate) fn weights(&self, centred: MatRef<'_, f64>, weights: &[f64]) -> Result<Mat<f64>> {
        let weighted = Mat::from_fn(centred.nrows(), centred.ncols(), |a, i| {
            centred[(a, i)] * weights[i]
        });
        let gram = &weighted * centred.transpose();
        self.solve(gram.as_ref(), weighted.as_ref())
    }
}

impl Block {
    pub(crate) fn new(source: Source, sign: f64, ridge: f64) -> Self {
        let centre = vec![0.0; source.len()];
        Self {
            source,
            sign,
            ridge,
            centre,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.source.len()
    }

    /// From ψ of a row to D; nothing is taken off a row that has no place.
    pub(super) fn centred(&self, values: &mut [f64], unplaced: bool) {
        for (v, c) in values.iter_mut().zip(&self.centre) {
            *v = if unplaced { 0.0 } else { self.sign * (*v - c) };
        }
    }
}

impl Source {
    fn len(&self) -> usize {
        match self {
            Self::Kernel(features) => features.len(),
            Self::Columns(coordinates) => coordinates.len(),
            Self::Cells(partition) => partition.len(),
        }
    }
}

impl KernelFeatures {
    /// Landmarks among these rows: each the one that those before leave the most of (the smallest of several), until little is left
    /// of any. Rows that come twice, and the order they come in, change nothing.
    pub(crate) fn choose(coordinates: &Coordinates, points: &[f64], gamma: f64) -> Self {
        let mut on = Landmarks {
            coordinates: coordinates.clone(),
            gamma,
            values: Vec::new(),
        };
        let dim = coordinates.len().max(1);
        let rows = points.len() / dim;
        let row = |i: usize| &points[i * dim..(i + 1) * dim];
        let mut left = vec![1.0f64; rows];
        let mut by_value: Vec<usize> = (0..rows).collect();
        by_value.sort_by(|&i, &j| {
            let mut pairs = row(i).iter().zip(row(j)).map(|(a, b)| a.total_cmp(b));
            pairs.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        });
        let mut columns: Vec<Vec<f64>> = Vec::new();
        while columns.len() < MOST_LANDMARKS.min(rows) {
            let most = left.iter().copied().fold(0.0, f64::max);
            let Some(&pivot) = by_value.iter().find(|&&i| left[i] == most) else {
                break;
            };
            if most <= TOLERANCE {
                break;
            }
            let root = most.sqrt();
            let column: Vec<f64> = (0..rows)
                .into_par_iter()
                .map(|i| {
                    let explained: f64 = columns.iter().map(|c| c[pivot] * c[i]).sum();
                    (on.kernel(row(pivot), row(i)) - explained) / root
                })
                .collect();
            for (l, v) in left.iter_mut().zip(&column) {
                *l = (*l - v * v).max(0.0);
            }
            left[pivot] = 0.0;
            columns.push(column);
            on.values.extend_from_slice(row(pivot));
        }
        Self::from(on)
    }

    fn len(&self) -> usize {
        self.on.len()
    }

    /// The factor L of the landmarks' kernel matrix, row after row.
    pub(crate) fn factor(&self) -> &[f64] {
        self.factor.get(|| self.on.factor())
    }

    /// ψ for rows of coordinates, row after row.
    pub(crate) fn values(&self, points: &[f64]) -> Vec<f64> {
        let (dim, count) = (self.on.coordinates.len(), self.len());
        let mut values = vec![0.0; points.len() / dim * count];
        values
            .par_chunks_mut(count * CHUNK)
            .zip(points.par_chunks(dim * CHUNK))
            .for_each(|(values, points)| {
                for (psi, point) in values.chunks_mut(count).zip(points.chunks(dim)) {
                    self.write(point, psi);
                }
            });
        values
    }

    /// ψ for one row of coordinates.
    pub(super) fn write(&self, point: &[f64], psi: &mut [f64]) {
        let (count, factor) = (self.len(), self.factor());
        for k in 0..count {
            let row = &factor[k * count..=k * count + k];
            let before: f64 = row[..k].iter().zip(&*psi).map(|(l, v)| l * v).sum();
            psi[k] = (self.on.kernel(self.on.at(k), point) - before) / row[k];
        }
    }

    pub(super) fn coordinates(&self) -> &Coordinates {
        &self.on.coordinates
    }
}

impl From<KernelFeatures> for Landmarks {
    fn from(features: KernelFeatures) -> Self {
        features.on
    }
}

impl From<Landmarks> for KernelFeatures {
    fn from(on: Landmarks) -> Self {
        Self {
            on,
            factor: Derived::default(),
        }
    }
}

impl Landmarks {
    /// The factor L of their kernel matrix, row after row.
    fn factor(&self) -> Vec<f64> {
        let count = self.len();
        let mut factor = vec![0.0; count * count];
        for i in 0..count {
            for j in 0..=i {
                let before: f64 = (0..j)
                    .map(|k| factor[i * count + k] * factor[j * count + k])
                    .sum();
                let rest = self.kernel(self.at(i), self.at(j)) - before;
                factor[i * count + j] = if i == j {
                    // Rounding alone could make it less; landmarks of a damaged file may be twins.
                    rest.max(1e-3 * TOLERANCE).sqrt()
                } else {
                    rest / factor[j * count + j]
                };
            }
        }
        factor
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() / self.coordinates.len().max(1)
    }

    fn at(&self, k: usize) -> &[f64] {
        let dim = self.coordinates.len();
        &self.values[k * dim..(k + 1) * dim]
    }

    fn kernel(&self, a: &[f64], b: &[f64]) -> f64 {
        let (mut continuous, mut categories) = (0.0, 0.0);
        let mut at = 0;
        for coordinate in &self.coordinates.0 {
            let numbers = usize::from(matches!(coordinate.form, Form::Number { .. }));
            for k in 0..coordinate.len() {
                let squared = (a[at + k] - b[at + k]).powi(2);
                if k < numbers {
                    continuous += squared;
                } else {
                    categories += squared;
                }
            }
            at += coordinate.len();
        }
        // Two categories are two indicators apart.
        (-self.gamma * continuous - 0.5 * categories * 4.0f64.ln()).exp()
    }
}

impl Coordinates {
    /// The coordinates of these columns, standardised over these rows.
    pub(crate) fn fit(columns: &[&Column], weights: &[f64], rule: &PartitionRule) -> Result<Self> {
        let coordinate = |column: &&Column| -> Result<Coordinate> {
            let form = match rule.kind(column) {
                Kind::Categorical => Form::Categories {
                    levels: column.sorted_levels(),
                },
                Kind::Continuous => number(&column.to_numbers()?, weights),
            };
            Ok(Coordinate {
                name: column.name.clone(),
                missing: !column.missing().is_empty(),
                form,
            })
        };
        Ok(Self(columns.iter().map(coordinate).collect::<Result<_>>()?))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|coordinate| coordinate.name.as_str())
    }

    fn column(&self, name: &str) -> Option<(Kind, &[String])> {
        let coordinate = self.0.iter().find(|coordinate| coordinate.name == name)?;
        Some(match &coordinate.form {
            Form::Categories { levels } => (Kind::Categorical, &levels[..]),
            Form::Number { .. } => (Kind::Continuous, &[]),
        })
    }

    /// Where the categories of every column are.
    pub(super) fn level_maps(&self) -> Vec<LevelMap> {
        let map = |coordinate: &Coordinate| match &coordinate.form {
            Form::Categories { levels } => LevelMap::new(levels),
            Form::Number { .. } => LevelMap::default(),
        };
        self.0.iter().map(map).collect()
    }

    /// The coordinates of one row, its values being in the order of the columns; `None` where [`of`](Self::of) refuses it.
    pub(super) fn write<'v>(
        &self,
        row: impl Iterator<Item = (Value<'v>, &'v LevelMap)>,
        policies: Policies,
        out: &mut [f64],
        (unplaced, uses): (&mut bool, &mut Uses),
    ) -> Option<()> {
        out.fill(0.0);
        let mut rest = out;
        for (coordinate, (value, levels)) in self.0.iter().zip(row) {
            let (own, others) = rest.split_at_mut(coordinate.len());
            rest = others;
            if value.is_missing() {
                if !coordinate.takes_missing(policies) {
                    return None;
                }
                uses.missing += 1;
                own[coordinate.len() - 1] = 1.0;
                continue;
            }
            match &coordinate.form {
                Form::Categories { .. } => match levels.find(value) {
                    Some(place) => own[place as usize] = 1.0,
                    None if policies.category == UnseenCategory::Error => return None,
                    None => *unplaced = true,
                },
                Form::Number {
                    mean,
                    scale,
                    bounds,
                } => {
                    let value = value.finite()?;
                    uses.out_of_range += usize::from(value < bounds.0 || value > bounds.1);
                    own[0] = standard(value, *mean, *scale);
                }
            }
        }
        Some(())
    }

    /// The number of coordinates.
    #[allow(clippy::len_without_is_empty, reason = "a table of none is refused")]
    pub fn len(&self) -> usize {
        self.0.iter().map(Coordinate::len).sum()
    }

    /// The coordinates of rows, row after row.
    pub(crate) fn of(
        &self,
        sensitive: &Sensitive,
        policies: Policies,
        unplaced: &mut [bool],
        uses: &mut Uses,
    ) -> Result<Vec<f64>> {
        let width = self.len();
        let mut points = vec![0.0; width * sensitive.len()];
        let mut at = 0;
        for coordinate in &self.0 {
            let column = sensitive.column(&coordinate.name)?;
            let mut entry = |row: usize, k: usize, value: f64| points[row * width + at + k] = value;
            coordinate.place(column, policies, &mut entry, unplaced, uses)?;
            at += coordinate.len();
        }
        Ok(points)
    }
}

impl Coordinate {
    /// How many numbers: a missing value has one of its own.
    #[allow(clippy::len_without_is_empty, reason = "a column has a number")]
    pub fn len(&self) -> usize {
        let present = match &self.form {
            Form::Categories { levels } => levels.len(),
            Form::Number { .. } => 1,
        };
        present + usize::from(self.missing)
    }

    /// Whether a missing value is a level of its own.
    fn takes_missing(&self, policies: Policies) -> bool {
        policies.missing == Missing::Category && self.missing
    }

    fn place(
        &self,
        column: &Column,
        policies: Policies,
        entry: &mut dyn FnMut(usize, usize, f64),
        unplaced: &mut [bool],
        uses: &mut Uses,
    ) -> Result<()> {
        let absent = column.missing();
        if let Some(&row) = absent.first()
            && !self.takes_missing(policies)
        {
            return Err(Error::MissingSensitive {
                column: self.name.clone(),
                count: absent.len(),
                row,
            });
        }
        uses.missing += absent.len();
        for &row in &absent {
            entry(row, self.len() - 1, 1.0);
        }
        match &self.form {
            Form::Categories { levels } => {
                let (names, codes) = column.to_categories();
                let known: HashMap<&String, usize> = levels.iter().zip(0..).collect();
                let places: Vec<Option<usize>> =
                    names.iter().map(|name| known.get(name).copied()).collect();
                for (row, &code) in codes.iter().enumerate() {
                    match places.get(code as usize) {
                        Some(Some(place)) => entry(row, *place, 1.0),
                        Some(None) if policies.category == UnseenCategory::Error => {
                            return Err(Error::UnknownCategory {
                                column: self.name.clone(),
                                value: names[code as usize].clone(),
                                known: listed(levels),
                            });
                        }
                        Some(None) => unplaced[row] = true,
                        // Missing, and seen to above.
                        None => {}
                    }
                }
            }
            Form::Number {
                mean,
                scale,
                bounds,
            } => {
                for (row, value) in column.to_numbers()?.into_iter().enumerate() {
                    if value.is_nan() {
                        continue;
                    }
                    uses.out_of_range += usize::from(value < bounds.0 || value > bounds.1);
                    entry(row, 0, standard(value, *mean, *scale));
                }
            }
        }
        Ok(())
    }
}

/// Refuses a regression on S that would take hours.
pub(crate) fn check_features(count: usize) -> Result<()> {
    if count <= MOST_FEATURES {
        return Ok(());
    }
    Err(Error::InvalidParameter {
        name: "the number of features of a regression on sensitive values",
        expected: "at most 4096; join categories, use fewer columns, or the conditional mean `cells`",
        value: count.to_string(),
    })
}

/// (v − mean)/scale
fn standard(value: f64, mean: f64, scale: f64) -> f64 {
    (value - mean) / scale
}

/// The mean, standard deviation and range of the values that are there.
fn number(values: &[f64], weights: &[f64]) -> Form {
    let present = || values.iter().zip(weights).filter(|(v, _)| !v.is_nan());
    let total: f64 = present().map(|(_, w)| w).sum();
    let mean = present().map(|(v, w)| w * v).sum::<f64>() / total;
    let variance = present().map(|(v, w)| w * (v - mean).powi(2)).sum::<f64>() / total;
    let scale = variance.sqrt();
    let least = present().map(|(v, _)| *v).fold(f64::INFINITY, f64::min);
    let most = present().map(|(v, _)| *v).fold(f64::NEG_INFINITY, f64::max);
    Form::Number {
        mean: if mean.is_finite() { mean } else { 0.0 },
        scale: if scale > 0.0 { scale } else { 1.0 },
        bounds: if least <= most {
            (least, most)
        } else {
            (0.0, 0.0)
        },
    }
}

/// An indicator for each cell, row after row; weights over the cells where a policy stands in.
///
/// Of a difference of two blocks such a row would have one side only: it is unplaced instead.
fn indicators(
    partition: &Partition,
    sensitive: &Sensitive,
    uses: &mut Uses,
    unplaced: Option<&mut Vec<bool>>,
) -> Result<Vec<f64>> {
    let assignment = partition.assign(sensitive)?;
    match unplaced {
        None => *uses = uses.plus(assignment.uses),
        Some(unplaced) => {
            let rows = unplaced.iter_mut().zip(assignment.cells());
            rows.for_each(|(unplaced, cell)| *unplaced |= cell.is_none());
        }
    }
    let count = partition.len();
    let mut values = vec![0.0; count * sensitive.len()];
    let rows = values.chunks_mut(count).enumerate();
    rows.for_each(|(row, weights)| assignment.indicate(row, weights));
    Ok(values)
}

/// X with $(G + \kappa I)X = C$, G symmetric positive semidefinite; the pseudo-inverse at κ = 0, after scaling every feature to unit
/// variance.
pub(crate) fn regression(
    gram: MatRef<'_, f64>,
    cross: MatRef<'_, f64>,
    ridge: f64,
) -> Result<Mat<f64>> {
    let count = gram.nrows();
    let largest = (0..count).map(|i| gram[(i, i)]).fold(0.0, f64::max);
    let scale: Vec<f64> = (0..count)
        .map(|i| {
            let variance = gram[(i, i)] + ridge;
            if variance > 1e-13 * largest {
                variance.sqrt().recip()
            } else {
                0.0
            }
        })
        .collect();
    let scaled = Mat::from_fn(count, count, |i, j| {
        let diagonal = if i == j { ridge } else { 0.0 };
        scale[i] * scale[j] * (0.5 * (gram[(i, j)] + gram[(j, i)]) + diagonal)
    });
    let eigen = scaled
        .as_ref()
        .self_adjoint_eigen(Side::Lower)
        .map_err(|_| Error::Overflow {
            what: "the second moments of the sensitive features",
        })?;
    let values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
    let floor = values.iter().fold(0.0f64, |a, b| a.max(*b)) * 1e-11;
    let right = Mat::from_fn(count, cross.ncols(), |i, k| scale[i] * cross[(i, k)]);
    let mut turned = eigen.U().transpose() * &right;
    for (i, value) in values.into_iter().enumerate() {
        let inverse = if value > floor { value.recip() } else { 0.0 };
        turned.row_mut(i).iter_mut().for_each(|v| *v *= inverse);
    }
    let mut solved = eigen.U() * &turned;
    for (i, factor) in scale.iter().enumerate() {
        solved.row_mut(i).iter_mut().for_each(|v| *v *= factor);
    }
    Ok(solved)
}
