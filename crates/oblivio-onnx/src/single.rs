//! Whether single precision will do: a bound of the error of every score, whatever the row.

use std::f64::consts::E;

use oblivio::Predictor;
use oblivio::align::Alignment;
use oblivio::model::tables::amplification;
use oblivio_base::stats::Spread;
use oblivio_base::{Points, Result, Watch};
use oblivio_kernels::{Basis, Kernel, Shape, Side, Smoothness};

use super::columns::refused;
use super::kernel::linear_factor;

/// The largest error allowed, as a share of the spread of the scores.
const MOST: f64 = 1e-5;
/// The rounding error of a number in single precision, as a share of it.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;
/// Points at which the spread of a score is looked at.
const LOOKED_AT: usize = 1000;

/// Refuses a model whose scores could be off by more than 1e-5 of their spread.
///
/// The kernel is computed in single precision from centred points, its sum with the coefficients g in double precision. So the error of
/// h(x) is at most $\sum_j|g_j|\cdot\sup_x|\hat k(x_j, x) - k(x_j, x)|$, and that of an aligned score as many times more as the alignment
/// is steep. With u = 2⁻²⁴, d features and R the largest norm of a centred point, to first order in u, the supremum is at most
///
/// - $u\,[(d + 6)/e + 4R\sqrt{\gamma/(2e)} + 2]$ for `rbf`,
/// - $u\,[(d + 3)/e + 2\gamma R_1 + 2]$ for `laplacian`, with the norm $\|\cdot\|_1$,
/// - $u\,[((d + 5)/2 + 2)\sup v|k'(v)| + 2\sqrt{2\nu}\,\gamma R\sup|k'(v)| + 8]$ for Matérn kernels, functions of
///   $v = \sqrt{2\nu}\,\gamma\|x - x'\|$.
///
/// For points x, x' rounded to single precision the coordinates' differences are off by $u(2\|x - x'\| + 2R)$, a sum of d squares by d
/// more roundings, and the profile flattens far differences: $ve^{-v} \le 1/e$. Sums and products of kernels add up the errors of
/// their parts. Kernels without a bound, and waves, whose phases have none, are refused. The spread is the standard deviation of h at
/// the expansion's own points.
pub(super) fn check(scorers: &[Predictor]) -> Result<()> {
    let fallbacks = scorers.iter().filter_map(Predictor::fallback);
    for scorer in scorers.iter().chain(fallbacks) {
        let error = relative_error(scorer)?;
        // A number that is none is refused, too.
        if error <= MOST {
            continue;
        }
        return Err(refused(format!(
            "in single precision a score could be off by {error:.1e} of the spread of the scores, and at most {MOST:.0e} is allowed; export it in double precision, or fit it with a larger penalty or fewer landmarks"
        )));
    }
    Ok(())
}

fn relative_error(scorer: &Predictor) -> Result<f64> {
    let basis = scorer.basis();
    if linear_factor(basis).is_some() {
        return Ok(0.0);
    }
    let unbounded = || {
        refused(format!(
            "in single precision the error of {} has no bound; export it in double precision",
            match basis.shape() {
                Shape::Points => format!("the kernel `{}`", basis.kernel()),
                Shape::Frequencies => "random waves".to_owned(),
            }
        ))
    };
    if basis.shape() == Shape::Frequencies {
        return Err(unbounded());
    }
    let size = Size::of(basis);
    let (_, error) = kernel_error(basis.kernel(), &size).ok_or_else(unbounded)?;
    let slope = scorer.alignment().map_or(Ok(1.0), slope)?;
    let total: f64 = scorer.coefficients().iter().map(|g| g.abs()).sum();
    let step = basis.points().len().div_ceil(LOOKED_AT).max(1);
    let rows: Vec<usize> = (0..basis.points().len()).step_by(step).collect();
    let some: Points = basis.points().select(&rows);
    let mut spread = Spread::default();
    for score in scorer.expansion_at(&some, &Watch::default())? {
        spread.add(score, 1.0);
    }
    let deviation = spread.variance().max(0.0).sqrt();
    Ok(slope * total * error / deviation)
}

/// How large the points of a basis are, their centre taken off.
struct Size {
    dim: f64,
    /// The largest Euclidean norm, and the largest sum of sizes.
    norms: (f64, f64),
}

impl Size {
    fn of(basis: &Basis) -> Self {
        let centre = Side::centre(basis.points());
        let mut norms = (0.0f64, 0.0f64);
        for row in (0..basis.points().len()).map(|j| basis.points().row(j)) {
            let entries = || row.iter().zip(&centre).map(|(v, c)| v - c);
            let squared: f64 = entries().map(|z| z * z).sum();
            let sum: f64 = entries().map(f64::abs).sum();
            norms = (norms.0.max(squared.sqrt()), norms.1.max(sum));
        }
        Self {
            dim: basis.dim() as f64,
            norms,
        }
    }
}

/// The largest value of a kernel and of its error; `None` where there is none.
fn kernel_error(kernel: &Kernel, size: &Size) -> Option<(f64, f64)> {
    let Size { dim, norms } = size;
    let single = match kernel {
        Kernel::Linear | Kernel::Polynomial { .. } | Kernel::Table(_) => return None,
        Kernel::Gaussian { gamma } => {
            (dim + 6.0) / E + 4.0 * norms.0 * (gamma / (2.0 * E)).sqrt() + 2.0
        }
        Kernel::Laplacian { gamma } => (dim + 3.0) / E + 2.0 * gamma * norms.1 + 2.0,
        Kernel::Matern { smoothness, gamma } => {
            // The suprema of v|k'(v)| and of |k'(v)|, rounded up.
            let (far, near) = match smoothness {
                Smoothness::Half => (1.0 / E, 1.0),
                Smoothness::ThreeHalves => (4.0 / (E * E), 1.0 / E),
                Smoothness::FiveHalves => (0.605, 0.281),
            };
            let steep = 2.0 * smoothness.factor() * gamma * norms.0 * near;
            ((dim + 5.0) / 2.0 + 2.0) * far + steep + 8.0
        }
        Kernel::Sum(kernels) => {
            let parts: Option<Vec<_>> = kernels.iter().map(|k| kernel_error(k, size)).collect();
            let sum = |(a, b): (f64, f64), (c, d): &(f64, f64)| (a + c, b + d + UNIT * (a + c));
            return Some(parts?.iter().fold((0.0, 0.0), sum));
        }
        Kernel::Product(kernels) => {
            let parts: Option<Vec<_>> = kernels.iter().map(|k| kernel_error(k, size)).collect();
            let product =
                |(a, b): (f64, f64), (c, d): &(f64, f64)| (a * c, a * d + b * c + UNIT * a * c);
            return Some(parts?.iter().fold((1.0, 0.0), product));
        }
        Kernel::Scaled(factor, kernel) => {
            let (most, error) = kernel_error(kernel, size)?;
            return Some((factor * most, factor * (error + 2.0 * UNIT * most)));
        }
    };
    Some((1.0, UNIT * single))
}

/// The factor by which an alignment can enlarge a difference of scores.
fn slope(alignment: &Alignment) -> Result<f64> {
    amplification(alignment).ok_or_else(|| {
        refused(
            "an alignment of quantiles can be as steep as scores are near each other, which single precision does not bear; export it in double precision",
        )
    })
}
