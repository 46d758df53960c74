//! Features of the sensitive values on which a conditional mean is regressed: smooth ones, the columns themselves, or cells.

mod coordinates;
mod features;
mod solve;

use faer::{Mat, MatRef};
use oblivio_base::{Error, Result, UnseenCategory};
use serde::{Deserialize, Serialize};

pub use self::coordinates::{Coordinate, Coordinates, Form};
pub(super) use self::features::MOST_LANDMARKS;
pub use self::features::{KernelFeatures, Landmarks};
pub(crate) use self::solve::regression;
use super::{Estimator, Partition, Policies, Uses};
use crate::sensitive::{Kind, Sensitive};

/// The most features of a regression on S: it solves as many equations.
const MOST_FEATURES: usize = 1 << 12;

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
    /// 1, or −1 for the part that is taken off again.
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

    /// Whether the features are weights over cells, centred: no kernel, no columns, and nothing is taken off again.
    pub(crate) fn has_weights(&self) -> bool {
        matches!(&self.blocks[..], [block] if matches!(block.source, Source::Cells(_)))
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
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Kernel(features) => features.len(),
            Self::Columns(coordinates) => coordinates.len(),
            Self::Cells(partition) => partition.len(),
        }
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
