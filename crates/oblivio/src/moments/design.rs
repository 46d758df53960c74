//! The normal equations of features that are oblivious, or not, from the sums over rows.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use oblivio_base::{Error, Result};
use oblivio_kernels::learn::{NormalEquations, translate};

use super::sums::{SensitiveSums, Sums};

/// What is taken off the features and the target: $\psi\Delta + \delta_0$.
#[derive(Clone, Debug)]
pub(crate) struct Shift {
    /// Δ, a row for each feature of S, row after row: an entry for every feature, and one for the target if there is anything to
    /// take off it.
    pub(super) by_feature: Vec<f64>,
    /// δ₀
    pub(super) constant: Vec<f64>,
}

/// The normal equations of $z = f - t(\psi\Delta + \delta_0)$: with P = $\sum w\psi u^\top$ and G = $\sum w\psi\psi^\top$,
/// $\sum w uu^\top - t(\Delta^\top P + P^\top\Delta) + t^2\Delta^\top G\Delta$, then moved by $-t\delta_0$.
pub(crate) fn normal_equations(
    sums: &Sums,
    shift: Option<(&Shift, f64)>,
) -> Result<NormalEquations> {
    let (width, last) = (sums.width, sums.width - 1);
    let Some(lower) = &sums.second else {
        return Err(Error::UnlikeMoments {
            problem: "only means were gathered",
        });
    };
    let lower = MatRef::from_column_major_slice(lower, width, width);
    let mut second = Mat::from_fn(width, width, |i, j| lower[(i.max(j), i.min(j))]);
    if let Some((shift, strength)) = shift {
        let (count, gram, cross) = match &sums.sensitive {
            SensitiveSums::Cells { sums, .. } => (sums.len() / width, None, sums),
            SensitiveSums::Dense {
                count, gram, sums, ..
            } => (*count, Some(gram), sums),
        };
        let taken_off = shift.constant.len();
        let delta = MatRef::from_column_major_slice(&shift.by_feature, taken_off, count);
        let cross = MatRef::from_column_major_slice(cross, width, count);
        let threads = Par::rayon(rayon::current_num_threads());
        let mut taken = Mat::zeros(taken_off, width);
        matmul(
            taken.as_mut(),
            Accum::Replace,
            delta,
            cross.transpose(),
            strength,
            threads,
        );
        let weighted = match gram {
            None => Mat::from_fn(taken_off, count, |k, j| delta[(k, j)] * cross[(last, j)]),
            Some(gram) => delta * MatRef::from_column_major_slice(gram, count, count),
        };
        for j in 0..width {
            for i in 0..taken_off {
                second[(i, j)] -= taken[(i, j)];
                second[(j, i)] -= taken[(i, j)];
            }
        }
        matmul(
            second.as_mut().submatrix_mut(0, 0, taken_off, taken_off),
            Accum::Add,
            weighted.as_ref(),
            delta.transpose(),
            strength * strength,
            threads,
        );
        let constant: Vec<f64> = shift.constant.iter().map(|v| -strength * v).collect();
        translate(&mut second, &constant);
    }
    Ok(NormalEquations::new(second, sums.origin.clone(), sums.rows))
}
