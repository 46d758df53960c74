//! How far predictions were moved, and how far they could have been: $|h(x) - \langle h, Z\rangle| = t|\langle h, \delta\rangle| \le t\|h\|\|\delta\|$.

use faer::Mat;
use oblivio::partition::SensitiveDesign;
use oblivio::{ConditionalMean, Predictor};
use oblivio_base::{Error, Result, Watch};
use oblivio_kernels::Shape;

use super::report::{CellChange, ChangeBound};

/// The shifts of reference rows.
pub(super) struct RowShifts<'a> {
    pub(super) mean: &'a ConditionalMean,
    pub(super) assignment: &'a SensitiveDesign,
    /// $\|\delta\|$ of every row.
    pub(super) norms: Vec<f64>,
}

impl<'a> RowShifts<'a> {
    pub(super) fn new(mean: &'a ConditionalMean, assignment: &'a SensitiveDesign) -> Self {
        let norms = shift_norms(mean, assignment);
        Self {
            mean,
            assignment,
            norms,
        }
    }
}

/// $\langle h, \delta\rangle$ of every row, from $\langle h, \mu_c\rangle$ or $\langle h, \beta_a\rangle$; all must have cells of their own.
pub(super) fn along(
    mean: &ConditionalMean,
    assignment: &SensitiveDesign,
    products: &[f64],
) -> Vec<f64> {
    let row = Mat::from_fn(1, products.len(), |_, c| products[c]);
    let shifts = mean.shifts(row.as_ref(), &[]);
    let along = |row| assignment.product(row, |p| shifts[(0, p)]);
    (0..assignment.len()).map(along).collect()
}

/// $\langle h, \mu_c\rangle$ of every cell, or $\langle h, \beta_a\rangle$.
pub(super) fn products(
    predictor: &Predictor,
    mean: &ConditionalMean,
    watch: &Watch,
) -> Result<Vec<f64>> {
    let at = mean.at(predictor.points(), watch)?;
    let product = |column: faer::ColRef<'_, f64>| {
        let pairs = column.iter().zip(predictor.coefficients());
        pairs.map(|(k, g)| k * g).sum()
    };
    Ok(at.col_iter().map(product).collect())
}

/// $\|\delta\|$ of every row; all must have cells of their own.
pub(super) fn shift_norms(mean: &ConditionalMean, assignment: &SensitiveDesign) -> Vec<f64> {
    let squares = assignment.quadratic(mean.shift_gram(&[], &[]).as_ref());
    squares
        .iter()
        .map(|square| square.max(0.0).sqrt())
        .collect()
}

/// $\|h\| = \sqrt{g^\top Kg}$, the intercept apart, for an expansion of the kernel.
pub(super) fn norm(predictor: &Predictor, watch: &Watch) -> Result<f64> {
    let basis = predictor.basis();
    if basis.shape() != Shape::Points {
        return Err(Error::InvalidParameter {
            name: "a model to bound",
            expected: "one whose scores lie in the kernel's space: fit it with landmarks in place of Fourier features",
            value: "one of Fourier features".into(),
        });
    }
    let coefficients = predictor.coefficients();
    let values = basis.expansion(basis.points(), coefficients, watch)?;
    let square: f64 = values.iter().zip(coefficients).map(|(v, g)| v * g).sum();
    if !square.is_finite() {
        return Err(Error::Overflow {
            what: "the norm of the score",
        });
    }
    Ok(square.max(0.0).sqrt())
}

/// The bound for every cell that is used, beside what happens on the reference rows.
pub(super) fn bound(
    predictor: &Predictor,
    score: String,
    shifts: &RowShifts,
    (products, used): (&[f64], &[usize]),
    watch: &Watch,
) -> Result<ChangeBound> {
    let norm = norm(predictor, watch)?;
    let strength = predictor.strength();
    let along = along(shifts.mean, shifts.assignment, products);
    let h = predictor.expansion_at(shifts.mean.reference(), watch)?;
    let most = h.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let least = h.iter().fold(f64::INFINITY, |a, b| a.min(*b));
    let offsets = predictor.offsets();
    let cell = |&cell: &usize| {
        let rows = || {
            let cells = shifts.assignment.cells().enumerate();
            cells.filter(move |(_, c)| *c == Some(cell)).map(|(i, _)| i)
        };
        let shift = rows().map(|i| shifts.norms[i]).fold(0.0, f64::max);
        let count = rows().count() as f64;
        let value = strength * norm * shift;
        CellChange {
            shift,
            mean_shift: rows().map(|i| shifts.norms[i]).sum::<f64>() / count,
            value,
            realised: strength * rows().map(|i| along[i].abs()).fold(0.0, f64::max),
            vacuous: value > 0.0 && value >= strength * (most - least),
            offset: strength * offsets.map_or(0.0, |offsets| offsets.taken(cell)),
        }
    };
    Ok(ChangeBound {
        score,
        norm,
        by_cell: used.iter().map(cell).collect(),
    })
}
