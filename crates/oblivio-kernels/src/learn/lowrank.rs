//! Gram matrices of low rank as features.

use faer::Mat;
use oblivio_base::{Result, Watch};

use crate::gram::Gram;

/// A matrix counts as of low rank if this part of its trace is all that is left.
const REST: f64 = 1e-14;
/// Whether a rank is low is first asked of so many rows.
const SAMPLE: usize = 512;
/// More features than this part of the rows are no gain.
const SHARE: usize = 4;

/// Features, those of one row in each column, whose inner products are the matrix but for rounding; `None` if its rank is not low.
///
/// Pivoted Cholesky: each step takes the row with the largest rest $d_i = \mathcal O_{ii} - \|f_i\|^2$. A sample of the rows, whose
/// rank is no higher, tells first whether it is worth going on. `row` writes a row of the matrix.
fn features(
    diagonal: &[f64],
    row: &dyn Fn(usize, &mut [f64]),
    watch: &Watch,
) -> Result<Option<Mat<f64>>> {
    let n = diagonal.len();
    let most = n / SHARE;
    if n > SAMPLE {
        let sample: Vec<usize> = (0..SAMPLE).map(|k| k * n / SAMPLE).collect();
        let part: Vec<f64> = sample.iter().map(|&i| diagonal[i]).collect();
        let mut whole = vec![0.0; n];
        let mut entries = |k: usize, out: &mut [f64]| {
            row(sample[k], &mut whole);
            for (to, &i) in out.iter_mut().zip(&sample) {
                *to = whole[i];
            }
        };
        // A rank near the size of the sample says nothing of the rest.
        let most = most.min(SAMPLE - SAMPLE / 16);
        if pivoted(&part, &mut entries, most, watch)?.is_none() {
            return Ok(None);
        }
    }
    let columns = pivoted(diagonal, &mut |i, out| row(i, out), most, watch)?;
    Ok(columns.map(|columns| Mat::from_fn(columns.len(), n, |k, i| columns[k][i])))
}

/// As [`features`], with the rows from the matrix itself.
pub(super) fn features_of(gram: &dyn Gram, watch: &Watch) -> Result<Option<Mat<f64>>> {
    features(&gram.diagonal(), &|i, out| gram.row_into(i, out), watch)
}

/// Features whose inner products are those of a matrix but for rounding, as many as that takes.
pub struct Spanning {
    /// Those of one row in each column.
    pub features: Mat<f64>,
    /// The rows that span them, in the order in which they were chosen.
    pivots: Vec<usize>,
}

impl Spanning {
    /// From a Gram matrix, perhaps of low rank.
    pub fn of(gram: &dyn Gram, watch: &Watch) -> Result<Self> {
        let diagonal = gram.diagonal();
        let n = diagonal.len();
        let mut pivots = Vec::new();
        let row = &mut |i: usize, out: &mut [f64]| {
            pivots.push(i);
            gram.row_into(i, out);
        };
        let columns = pivoted(&diagonal, row, n, watch)?.unwrap_or_default();
        Ok(Self {
            features: Mat::from_fn(columns.len(), n, |k, i| columns[k][i]),
            pivots,
        })
    }

    /// The coefficients a of $w = \sum_ia_iz_i$, zero but for the pivots: their features are triangular.
    pub fn coefficients(&self, weights: &[f64]) -> Vec<f64> {
        let mut rest = weights.to_vec();
        let mut coefficients = vec![0.0; self.features.ncols()];
        for (k, &pivot) in self.pivots.iter().enumerate().rev() {
            let column = self.features.col_as_slice(pivot);
            let a = rest[k] / column[k];
            coefficients[pivot] = a;
            rest[..k]
                .iter_mut()
                .zip(column)
                .for_each(|(r, z)| *r -= a * z);
        }
        coefficients
    }
}

fn pivoted(
    diagonal: &[f64],
    row: &mut dyn FnMut(usize, &mut [f64]),
    most: usize,
    watch: &Watch,
) -> Result<Option<Vec<Vec<f64>>>> {
    let mut rest = diagonal.to_vec();
    let enough = REST * rest.iter().sum::<f64>();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    while rest.iter().sum::<f64>() > enough {
        if columns.len() >= most {
            // As many as rows leave nothing but rounding.
            return Ok((most == rest.len()).then_some(columns));
        }
        watch.check()?;
        let largest = |best: usize, i: usize| if rest[i] > rest[best] { i } else { best };
        let pivot = (0..rest.len()).fold(0, largest);
        let root = rest[pivot].sqrt();
        let mut next = vec![0.0; rest.len()];
        row(pivot, &mut next);
        for column in &columns {
            let factor = column[pivot];
            next.iter_mut()
                .zip(column)
                .for_each(|(v, c)| *v -= factor * c);
        }
        for (value, rest) in next.iter_mut().zip(&mut rest) {
            *value /= root;
            *rest = (*rest - *value * *value).max(0.0);
        }
        rest[pivot] = 0.0;
        columns.push(next);
    }
    Ok(Some(columns))
}
