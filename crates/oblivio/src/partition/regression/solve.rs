//! The regression itself: symmetric equations, perhaps singular.

use faer::{Mat, MatRef, Side};
use oblivio_base::{Error, Result};

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
