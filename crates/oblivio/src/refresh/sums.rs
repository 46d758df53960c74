//! What new offsets are computed from: scores added up in each cell, and over features of S.

use faer::Mat;
use oblivio_base::stats::Spread;
use oblivio_base::{Error, Result, Watch};
use oblivio_kernels::gram::dot;

use crate::adjust::{Offsets, SmoothOffsets};
use crate::moments::{Moments, SensitivePlan, SensitiveSums, Sums};
use crate::partition::{Partition, Place, Smooth, Uses};
use crate::predictor::Predictor;

/// Scores of new rows, from the rows or from their moments.
pub(super) struct OffsetSums {
    pub(super) cells: Vec<CellScores>,
    /// The regression of the scores on features of S, where the offsets are one.
    pub(super) regression: Option<(Smooth, SmoothOffsets)>,
}

/// The scores of one cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CellScores {
    pub(super) rows: usize,
    pub(super) spread: Spread,
}

/// Sums over rows of features D of S and the score h: of wh and wDh.
#[derive(Clone, Debug)]
pub(super) struct SmoothScores {
    pub(super) score: f64,
    pub(super) cross: Vec<f64>,
    /// None where those of another score of the same rows serve.
    pub(super) sums: Option<SmoothSums>,
}

/// Sums over rows of features D of S alone: of w, wD and wDDᵀ.
#[derive(Clone, Debug)]
pub(crate) struct SmoothSums {
    weight: f64,
    features: Vec<f64>,
    gram: Mat<f64>,
    /// Sums of wD and of w in each cell; none of a cell without rows.
    cells: Vec<(Vec<f64>, f64)>,
}

impl OffsetSums {
    /// What the moments of new rows amount to. The standard deviations are those within all cells together.
    pub(super) fn from_moments(
        predictor: &Predictor,
        moments: &Moments,
        watch: &Watch,
    ) -> Result<Self> {
        let plan = moments.plan();
        if *plan.map.basis() != *predictor.basis {
            return Err(Error::UnlikeMoments {
                problem: "the predictor has other landmarks",
            });
        }
        let offsets = predictor.refreshable()?;
        let weights = plan.map.weights_of(&predictor.coefficients, watch)?;
        let sums = moments.clone().whitened(watch)?;
        if let SensitivePlan::Smooth(partition) = &plan.sensitive {
            let size = |of: &Partition| (of.smooth.as_ref().map(Smooth::len), of.len());
            if size(partition) != size(&offsets.partition) {
                return Err(Error::UnlikeMoments {
                    problem: "the predictor's offsets are a regression on other features",
                });
            }
            let renewed = sums.cells(plan)?;
            let renewed = renewed.offsets(&weights, &sums.origin, offsets.strength);
            let variance = sums.variance(&weights).unwrap_or(0.0);
            return Ok(Self::from_regression(renewed, variance));
        }
        let cells = cells_of(&sums, &offsets.partition, &weights)?;
        Ok(Self {
            cells,
            regression: None,
        })
    }

    /// Scores with these offsets, and with this variance within every cell.
    fn from_regression(renewed: Offsets, variance: f64) -> Self {
        let Offsets {
            partition,
            by_cell,
            mean,
            smooth,
            ..
        } = renewed;
        let cell = |c: usize| CellScores {
            rows: partition.counts()[c],
            spread: Spread {
                weight: partition.mass()[c],
                mean: mean + by_cell[c],
                squares: variance * partition.mass()[c],
            },
        };
        Self {
            cells: (0..partition.len()).map(cell).collect(),
            regression: partition.smooth.clone().zip(smooth),
        }
    }
}

/// The scores with these weights in every cell of a partition, from sums over the keys of rows.
fn cells_of(sums: &Sums, partition: &Partition, weights: &[f64]) -> Result<Vec<CellScores>> {
    let SensitiveSums::Cells {
        cuts,
        slots,
        sums: by_slot,
    } = &sums.sensitive
    else {
        return Err(Error::UnlikeMoments {
            problem: "their sensitive features are not cells",
        });
    };
    let Some(places) = partition.places(cuts) else {
        return Err(Error::UnlikeMoments {
            problem: "their sensitive columns are cut differently from the predictor's",
        });
    };
    let width = sums.width;
    let base = dot(weights, &sums.origin);
    let mut cells = vec![CellScores::default(); partition.len()];
    let (mut mass, mut between) = (0.0, 0.0);
    for (slot, row) in by_slot.chunks(width).enumerate() {
        if slots.counts[slot] == 0 {
            continue;
        }
        let weight = row[width - 1];
        let mean = dot(weights, row) / weight;
        mass += weight;
        let mut uses = Uses::default();
        let place = places.of(&slots.keys[slot], &mut uses, 0)?;
        // A cell may be made up of several slots.
        if let Place::Cell(cell) = place {
            cells[cell].rows += slots.counts[slot];
            cells[cell].spread.add(mean, weight);
        } else {
            between += weight * mean * mean;
        }
    }
    for cell in &mut cells {
        between += cell.spread.weight * cell.spread.mean * cell.spread.mean;
        cell.spread.mean += base;
        cell.spread.squares = 0.0;
    }
    if let Some(within) = sums.quadratic(weights) {
        // Of the squares about the origin, those of the means are between the cells.
        let variance = (within - between).max(0.0) / mass;
        for cell in &mut cells {
            cell.spread.squares = variance * cell.spread.weight;
        }
    }
    Ok(cells)
}

impl SmoothScores {
    pub(super) fn add(&mut self, features: &[f64], score: f64, weight: f64, cell: Option<usize>) {
        self.score += weight * score;
        for (cross, v) in self.cross.iter_mut().zip(features) {
            *cross += weight * v * score;
        }
        if let Some(sums) = &mut self.sums {
            sums.add(features, weight, cell);
        }
    }
}

impl SmoothSums {
    pub(super) fn new(features: usize, cells: usize) -> Self {
        Self {
            weight: 0.0,
            features: vec![0.0; features],
            gram: Mat::zeros(features, features),
            cells: vec![(Vec::new(), 0.0); cells],
        }
    }

    pub(super) fn add(&mut self, features: &[f64], weight: f64, cell: Option<usize>) {
        self.weight += weight;
        for (b, v) in features.iter().enumerate() {
            self.features[b] += weight * v;
            let column = self.gram.col_as_slice_mut(b);
            let pairs = column.iter_mut().zip(features);
            pairs.for_each(|(g, d)| *g += weight * v * d);
        }
        if let Some((sums, mass)) = cell.and_then(|cell| self.cells.get_mut(cell)) {
            *mass += weight;
            sums.resize(features.len(), 0.0);
            let pairs = sums.iter_mut().zip(features);
            pairs.for_each(|(s, d)| *s += weight * d);
        }
    }

    /// The mean of D.
    pub(super) fn mean(&self) -> Vec<f64> {
        self.features.iter().map(|v| v / self.weight).collect()
    }

    /// The regression of a score on D, centred over these rows.
    pub(super) fn regression(
        &self,
        of: &Smooth,
        scores: &SmoothScores,
    ) -> Result<(Smooth, SmoothOffsets)> {
        let count = self.features.len();
        let mean = self.mean();
        let gram = Mat::from_fn(count, count, |a, b| {
            self.gram[(a, b)] - self.weight * mean[a] * mean[b]
        });
        let cross = Mat::from_fn(count, 1, |a, _| scores.cross[a] - mean[a] * scores.score);
        let moved = of.moved(&mean);
        let values = moved
            .solve(gram.as_ref(), cross.as_ref())?
            .col_as_slice(0)
            .to_vec();
        let inside = |(sums, mass): &(Vec<f64>, f64)| {
            let centred = sums.iter().zip(&mean).map(|(s, m)| s / mass - m);
            if *mass > 0.0 {
                centred.zip(&values).map(|(d, v)| d * v).sum()
            } else {
                0.0
            }
        };
        let by_cell = self.cells.iter().map(inside).collect();
        Ok((moved, SmoothOffsets { values, by_cell }))
    }
}
