//! Oblivious features $Z = \phi(X) - t\,(E_n^S\phi(X) - E_n\phi(X))$ (paper, section 6.3; the strength t is ours).
//!
//! A feature is never formed. Within one cell the correction is a constant of $\mathcal H$, the shift $\delta_c$, so
//! $$\langle Z, Z'\rangle = k(x, x') - t\,\Delta_{c'}(x) - t\,\Delta_c(x') + t^2 G_{cc'},
//! \quad \Delta_c(x) = \langle\phi(x), \delta_c\rangle,\ G_{cc'} = \langle\delta_c, \delta_{c'}\rangle.$$
//! These four terms are the nine of Algorithm 1, collected (with its sign mended).

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use oblivio_base::choice::check_strength;
use oblivio_base::{Points, Result, Watch};
use oblivio_kernels::kernel::{Span, Tile};
use oblivio_kernels::{KernelMatrix, Lower};

use crate::conditional_mean::ConditionalMean;
use crate::partition::Assignment;

/// Maps points and their cells to oblivious features, as far as inner products go.
///
/// At t = 1 and on the reference rows, the mean of ⟨h, Z⟩ over a cell is the same for all cells, for every fixed h in
/// $\mathcal H$. That is not independence: other properties of ⟨h, Z⟩, such as its spread, can still depend on the cell.
#[derive(Clone, Debug)]
pub struct ObliviousMap {
    mean: ConditionalMean,
    strength: f64,
}

/// Elements of $\mathcal H$ that [`ObliviousMap::inner`] understands.
#[derive(Clone, Copy, Debug)]
pub enum Features<'a> {
    /// $\phi(x_i)$
    Plain(&'a Points<'a>),
    /// $Z_i = \phi(x_i) - t\,\delta_{c_i}$
    Oblivious(&'a Points<'a>, &'a Assignment),
}

impl<'a> Features<'a> {
    fn points(self) -> &'a Points<'a> {
        match self {
            Self::Plain(points) | Self::Oblivious(points, _) => points,
        }
    }

    fn assignment(self) -> Option<&'a Assignment> {
        match self {
            Self::Plain(_) => None,
            Self::Oblivious(_, assignment) => Some(assignment),
        }
    }

    /// The features of S of every row, if the conditional mean is a regression on them.
    fn smooth(self) -> Option<&'a Mat<f64>> {
        self.assignment().and_then(|of| of.smooth.as_ref())
    }
}

impl ObliviousMap {
    /// A map of strength t in [0, 1]: 0 is the plain feature map, 1 the paper's.
    pub fn new(mean: ConditionalMean, strength: f64) -> Result<Self> {
        check_strength(strength)?;
        Ok(Self { mean, strength })
    }

    /// The conditional mean.
    pub fn mean(&self) -> &ConditionalMean {
        &self.mean
    }

    /// t
    pub fn strength(&self) -> f64 {
        self.strength
    }

    /// The inner products $\langle a_i, b_j\rangle$, column after column.
    ///
    /// Plain with plain is the kernel matrix, oblivious with oblivious the paper's $\mathcal O$, and the mixed case is
    /// what M-Oblivious prediction amounts to.
    pub fn inner(&self, a: Features, b: Features, watch: &Watch) -> Result<Vec<f64>> {
        let matrix = KernelMatrix::between(self.mean.kernel(), a.points(), b.points())?;
        let correction = self.correction(a, b, watch)?;
        matrix.corrected(&|span, tile| correction.apply(span, tile), watch)
    }

    /// The inner products of points and shifts, from those of points and means.
    pub fn shifts(&self, at: MatRef<'_, f64>, assignment: &Assignment) -> Shifts {
        let mixtures = assignment.shifted();
        Shifts {
            at: self.mean.shifts(at, mixtures),
            gram: self.mean.shift_gram(mixtures, mixtures),
        }
    }

    /// The lower triangle of $\langle Z_i, Z_j\rangle$, in one pass over `out`.
    ///
    /// Rows sorted by cell make it fastest; the order does not change the result.
    pub fn gram_into(
        &self,
        points: &Points,
        assignment: &Assignment,
        shifts: &Shifts,
        out: &mut Lower,
        watch: &Watch,
    ) -> Result<()> {
        let correction = self.symmetric_correction(assignment, shifts);
        KernelMatrix::of(self.mean.kernel(), points).lower(
            out,
            &|span, tile| correction.apply(span, tile),
            watch,
        )
    }

    /// The whole matrix $\langle Z_i, Z_j\rangle$.
    pub fn gram(
        &self,
        points: &Points,
        assignment: &Assignment,
        watch: &Watch,
    ) -> Result<Vec<f64>> {
        let shifts = self.shifts(self.mean.at(points, watch)?.as_ref(), assignment);
        let mut lower = Lower::new(points.len())?;
        self.gram_into(points, assignment, &shifts, &mut lower, watch)?;
        lower.mirrored(watch)
    }

    pub(crate) fn symmetric_correction(
        &self,
        assignment: &Assignment,
        shifts: &Shifts,
    ) -> Correction {
        let t = self.strength;
        let Shifts { at, gram } = shifts;
        if let Some(features) = &assignment.smooth {
            let sides = Sides {
                at: Some(at.as_ref()),
                features: Some(features.as_ref()),
            };
            return Correction::dense(sides, sides, gram.as_ref(), t);
        }
        let cells = &assignment.cells;
        Correction::Cells {
            by_column: Some((
                Mat::from_fn(at.nrows(), at.ncols(), |i, p| -t * at[(i, p)]),
                cells.clone(),
            )),
            by_row: Some((
                Mat::from_fn(at.ncols(), at.nrows(), |p, j| {
                    -t * at[(j, p)] + t * t * gram[(p, cells[j] as usize)]
                }),
                cells.clone(),
            )),
        }
    }

    fn correction(&self, a: Features, b: Features, watch: &Watch) -> Result<Correction> {
        let t = self.strength;
        if a.smooth().or(b.smooth()).is_some() {
            // Inner products of the points of one side are needed if the other is oblivious.
            let at = |of: Features, other: Features| match other.assignment() {
                None => Ok(None),
                Some(_) => self.mean.at(of.points(), watch).map(Some),
            };
            let (at_a, at_b) = (at(a, b)?, at(b, a)?);
            let left = Sides {
                at: at_a.as_ref().map(Mat::as_ref),
                features: a.smooth().map(Mat::as_ref),
            };
            let right = Sides {
                at: at_b.as_ref().map(Mat::as_ref),
                features: b.smooth().map(Mat::as_ref),
            };
            let gram = self.mean.shift_gram(&[], &[]);
            return Ok(Correction::dense(left, right, gram.as_ref(), t));
        }
        let shifts = |points: &Points, assignment: &Assignment| -> Result<Mat<f64>> {
            let at = self.mean.at(points, watch)?;
            Ok(self.mean.shifts(at.as_ref(), &assignment.mixtures))
        };
        let by_column = match b.assignment() {
            None => None,
            Some(of) => {
                let delta = shifts(a.points(), of)?;
                let minus = Mat::from_fn(delta.nrows(), delta.ncols(), |i, p| -t * delta[(i, p)]);
                Some((minus, of.cells.clone()))
            }
        };
        let by_row = match a.assignment() {
            None => None,
            Some(of) => {
                let delta = shifts(b.points(), of)?;
                let gram = b
                    .assignment()
                    .map(|other| self.mean.shift_gram(&of.mixtures, &other.mixtures));
                let term = Mat::from_fn(delta.ncols(), delta.nrows(), |p, j| {
                    let both = match (&gram, b.assignment()) {
                        (Some(gram), Some(other)) => gram[(p, other.cells[j] as usize)],
                        _ => 0.0,
                    };
                    -t * delta[(j, p)] + t * t * both
                });
                Some((term, of.cells.clone()))
            }
        };
        Ok(Correction::Cells { by_column, by_row })
    }
}

/// Inner products of points and shifts: what turns a kernel matrix into an oblivious one.
#[derive(Clone, Debug)]
pub struct Shifts {
    /// $\Delta_p(x_i)$
    pub at: Mat<f64>,
    /// $G_{pq}$
    pub gram: Mat<f64>,
}

/// What is added to $k(x_i, x'_j)$.
#[derive(Debug)]
pub(crate) enum Correction {
    /// An entry that depends on i and the cell of j, and one that depends on j and the cell of i.
    Cells {
        by_column: Option<(Mat<f64>, Vec<u32>)>,
        by_row: Option<(Mat<f64>, Vec<u32>)>,
    },
    /// $\langle l_i, r_j\rangle$, each a column.
    Dense { left: Mat<f64>, right: Mat<f64> },
}

/// One side of a correction by a regression on features of S.
#[derive(Clone, Copy)]
struct Sides<'a> {
    /// $\langle\phi(x_i), \beta_a\rangle$, a row for every point.
    at: Option<MatRef<'a, f64>>,
    /// D, a column for every point; none for plain features.
    features: Option<MatRef<'a, f64>>,
}

impl Correction {
    /// $-t\langle D'_j, b_i\rangle - t\langle D_i, b'_j\rangle + t^2\langle D_i, GD'_j\rangle$ with b the inner products of points and β, G those
    /// of the β.
    fn dense(a: Sides, b: Sides, gram: MatRef<'_, f64>, t: f64) -> Self {
        let count = gram.nrows();
        let rows =
            a.at.map_or(a.features.map_or(0, |f| f.ncols()), |at| at.nrows());
        let columns =
            b.at.map_or(b.features.map_or(0, |f| f.ncols()), |at| at.nrows());
        let both = b.features.map(|features| gram * features);
        let left = Mat::from_fn(2 * count, rows, |k, i| match k.checked_sub(count) {
            None => a.at.map_or(0.0, |at| at[(i, k)]),
            Some(k) => a.features.map_or(0.0, |features| features[(k, i)]),
        });
        let right = Mat::from_fn(2 * count, columns, |k, j| match k.checked_sub(count) {
            None => b.features.map_or(0.0, |features| -t * features[(k, j)]),
            Some(k) => {
                let both = both.as_ref().map_or(0.0, |both| both[(k, j)]);
                t * t * both - b.at.map_or(0.0, |at| t * at[(j, k)])
            }
        });
        Self::Dense { left, right }
    }

    /// Adds the product with a vector.
    pub(crate) fn multiply(&self, vector: &[f64], out: &mut [f64]) {
        let (by_column, by_row) = match self {
            Self::Cells { by_column, by_row } => (by_column, by_row),
            Self::Dense { left, right } => {
                let mut sums = vec![0.0; right.nrows()];
                for (j, v) in vector.iter().enumerate() {
                    let term = right.col_as_slice(j);
                    sums.iter_mut().zip(term).for_each(|(s, t)| *s += v * t);
                }
                for (i, o) in out.iter_mut().enumerate() {
                    *o += product(left.col_as_slice(i), &sums);
                }
                return;
            }
        };
        if let Some((terms, cells)) = by_column {
            let mut sums = vec![0.0; terms.ncols()];
            for (v, cell) in vector.iter().zip(cells) {
                sums[*cell as usize] += v;
            }
            for (cell, sum) in sums.iter().enumerate().filter(|(_, sum)| **sum != 0.0) {
                let term = terms.col_as_slice(cell);
                out.iter_mut().zip(term).for_each(|(o, t)| *o += sum * t);
            }
        }
        if let Some((terms, cells)) = by_row {
            let mut sums = vec![0.0; terms.nrows()];
            for (j, v) in vector.iter().enumerate() {
                let term = terms.col_as_slice(j);
                sums.iter_mut().zip(term).for_each(|(s, t)| *s += v * t);
            }
            for (o, cell) in out.iter_mut().zip(cells) {
                *o += sums[*cell as usize];
            }
        }
    }

    /// Adds row i of a symmetric matrix.
    pub(crate) fn row(&self, i: usize, out: &mut [f64]) {
        match self {
            Self::Dense { left, right } => {
                let own = left.col_as_slice(i);
                for (j, o) in out.iter_mut().enumerate() {
                    *o += product(own, right.col_as_slice(j));
                }
            }
            Self::Cells { by_column, by_row } => {
                if let Some((terms, cells)) = by_column {
                    for (o, cell) in out.iter_mut().zip(cells) {
                        *o += terms[(i, *cell as usize)];
                    }
                }
                if let Some((terms, cells)) = by_row {
                    let cell = cells[i] as usize;
                    for (j, o) in out.iter_mut().enumerate() {
                        *o += terms[(cell, j)];
                    }
                }
            }
        }
    }

    /// The entry at (i, i).
    pub(crate) fn diagonal(&self, i: usize) -> f64 {
        match self {
            Self::Dense { left, right } => product(left.col_as_slice(i), right.col_as_slice(i)),
            Self::Cells { by_column, by_row } => {
                let column = by_column.as_ref();
                let row = by_row.as_ref();
                column.map_or(0.0, |(terms, cells)| terms[(i, cells[i] as usize)])
                    + row.map_or(0.0, |(terms, cells)| terms[(cells[i] as usize, i)])
            }
        }
    }

    pub(crate) fn apply(&self, span: &Span, tile: &mut Tile) {
        let (by_column, by_row) = match self {
            Self::Cells { by_column, by_row } => (by_column, by_row),
            Self::Dense { left, right } => {
                matmul(
                    tile.as_mat(),
                    Accum::Add,
                    left.subcols(span.rows.start, span.rows.len()).transpose(),
                    right.subcols(span.columns.start, span.columns.len()),
                    1.0,
                    Par::Seq,
                );
                return;
            }
        };
        if let Some((terms, cells)) = by_column {
            for (j, cell) in cells[span.columns.clone()].iter().enumerate() {
                let term = &terms.col_as_slice(*cell as usize)[span.rows.clone()];
                for (v, term) in tile.column(j).iter_mut().zip(term) {
                    *v += term;
                }
            }
        }
        if let Some((terms, cells)) = by_row {
            let runs: Vec<&[u32]> = cells[span.rows.clone()].chunk_by(|a, b| a == b).collect();
            for j in 0..tile.columns() {
                let term = terms.col_as_slice(span.columns.start + j);
                let mut rest = tile.column(j);
                for run in &runs {
                    let (these, others) = rest.split_at_mut(run.len());
                    let term = term[run[0] as usize];
                    for v in these {
                        *v += term;
                    }
                    rest = others;
                }
            }
        }
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
