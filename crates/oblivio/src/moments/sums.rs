//! The sums themselves.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use oblivio_base::{Error, Result};
use oblivio_kernels::Lower;
use rayon::prelude::*;

use crate::partition::{Cuts, Slots, Uses};

/// Columns of the second moments handled at a time; fixed, so that the sums do not depend on the threads.
const PANEL: usize = 128;

/// With $u_i = (f_i - o,\ y_i - o_y,\ 1)$ and ψ(s) the features of S: $\sum_i w_i u_iu_i^\top$, $\sum_i w_i\psi_iu_i^\top$ and
/// $\sum_i w_i\psi_i\psi_i^\top$.
///
/// They add up: the sums of two sets of rows are the sums of both. The origin o is near the mean, so that nothing
/// cancels however far from zero the features are. Whitening and a change of origin are linear maps of u.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sums {
    /// Entries of u: those of f, and two.
    pub(crate) width: usize,
    /// o and o_y.
    pub(crate) origin: Vec<f64>,
    pub(crate) rows: usize,
    /// The lower triangle of $\sum w uu^\top$, column after column; absent where only means are asked for.
    pub(crate) second: Option<Vec<f64>>,
    pub(crate) sensitive: SensitiveSums,
}

/// The sums that ψ takes part in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SensitiveSums {
    /// ψ is one-hot: a slot for every key that rows have. $\sum w\psi\psi^\top$ is diagonal and holds the slots' mass.
    Cells {
        cuts: Cuts,
        slots: Slots,
        /// $\sum w\psi u^\top$, slot after slot.
        sums: Vec<f64>,
    },
    /// ψ is any vector of `count` numbers.
    Dense {
        count: usize,
        /// $\sum w\psi\psi^\top$, symmetric.
        gram: Vec<f64>,
        /// $\sum w\psi u^\top$, feature after feature.
        sums: Vec<f64>,
        /// Rows of each cell of a plan with smooth features, and the policies they needed.
        placed: (Vec<usize>, Uses),
    },
}

/// Rows to add: $\sqrt{w_i}\,u_i$, row after row, and ψ.
pub(super) struct Block<'a> {
    pub(super) rows: &'a [f64],
    pub(super) sensitive: Psi<'a>,
}

/// The features of S of every row.
pub(super) enum Psi<'a> {
    /// The slot of each row.
    Slots(&'a [usize]),
    /// $\sqrt{w_i}\,\psi_i$, row after row.
    Dense(&'a [f64]),
}

impl Sums {
    pub(super) fn new(origin: Vec<f64>, second: bool, sensitive: SensitiveSums) -> Self {
        let width = origin.len() + 1;
        Self {
            width,
            origin,
            rows: 0,
            second: second.then(|| vec![0.0; width * width]),
            sensitive,
        }
    }

    /// Gives slots that no row is in their sums, which are zero.
    pub(super) fn complete(&mut self) {
        if let SensitiveSums::Cells { slots, sums, .. } = &mut self.sensitive {
            sums.resize(slots.keys.len() * self.width, 0.0);
        }
    }

    /// Adds rows. The result is the same whatever the number of threads: each part of the sums is one thread's work.
    pub(super) fn add(&mut self, block: &Block) {
        let width = self.width;
        let number = block.rows.len() / width;
        let rows = MatRef::from_column_major_slice(block.rows, width, number);
        self.rows += number;
        if let Some(second) = &mut self.second {
            balanced(second.chunks_mut(width * PANEL).enumerate().collect())
                .into_par_iter()
                .with_max_len(1)
                .for_each(|(panel, values)| {
                    let (start, columns) = (panel * PANEL, values.len() / width);
                    let mut part = MatMut::from_column_major_slice_mut(values, width, columns);
                    matmul(
                        part.as_mut().subrows_mut(start, width - start),
                        Accum::Add,
                        rows.subrows(start, width - start),
                        rows.subrows(start, columns).transpose(),
                        1.0,
                        Par::Seq,
                    );
                });
        }
        match (&mut self.sensitive, &block.sensitive) {
            (SensitiveSums::Cells { slots, sums, .. }, Psi::Slots(of_rows)) => {
                sums.resize(slots.keys.len() * width, 0.0);
                let mut members = vec![Vec::new(); slots.keys.len()];
                for (row, &slot) in of_rows.iter().enumerate() {
                    members[slot].push(row);
                    slots.counts[slot] += 1;
                }
                sums.par_chunks_mut(width)
                    .zip(&members)
                    .for_each(|(sum, members)| {
                        for &row in members {
                            let row = &block.rows[row * width..(row + 1) * width];
                            // The last entry of a row is the root of its weight.
                            let root = row[width - 1];
                            sum.iter_mut().zip(row).for_each(|(s, u)| *s += root * u);
                        }
                    });
            }
            (
                SensitiveSums::Dense {
                    count, gram, sums, ..
                },
                Psi::Dense(psi),
            ) => {
                let psi = MatRef::from_column_major_slice(psi, *count, number);
                let add = |to: MatMut<f64>, left: MatRef<f64>| {
                    matmul(to, Accum::Add, left, psi.transpose(), 1.0, Par::Seq);
                };
                add(
                    MatMut::from_column_major_slice_mut(gram, *count, *count),
                    psi,
                );
                add(
                    MatMut::from_column_major_slice_mut(sums, width, *count),
                    rows,
                );
            }
            // A plan makes both of one kind.
            _ => {}
        }
    }

    /// Adds `sign` times the sums of other rows.
    pub(super) fn add_sums(&mut self, other: &Self, sign: f64) -> Result<()> {
        if self.width != other.width || self.second.is_some() != other.second.is_some() {
            return Err(unlike("their features differ"));
        }
        let moved;
        let other = if other.origin == self.origin {
            other
        } else {
            moved = other.about(&self.origin);
            &moved
        };
        match (&mut self.sensitive, &other.sensitive) {
            (
                SensitiveSums::Cells { cuts, slots, sums },
                SensitiveSums::Cells {
                    cuts: other_cuts,
                    slots: other_slots,
                    sums: other_sums,
                },
            ) => {
                let mut joined = cuts.clone();
                let renamings = joined
                    .join(other_cuts)
                    .ok_or_else(|| unlike("their sensitive columns are cut differently"))?;
                for (slot, key) in other_slots.keys.iter().enumerate() {
                    let renamed: Vec<u32> = key
                        .iter()
                        .zip(&renamings)
                        .map(|(place, renaming)| renaming.of(*place))
                        .collect();
                    let mine = slots.slot_of(&renamed);
                    let count = other_slots.counts[slot];
                    slots.counts[mine] = if sign > 0.0 {
                        slots.counts[mine] + count
                    } else {
                        slots.counts[mine]
                            .checked_sub(count)
                            .ok_or_else(|| unlike("these rows were never added"))?
                    };
                    sums.resize(slots.keys.len() * self.width, 0.0);
                    let from = &other_sums[slot * self.width..(slot + 1) * self.width];
                    add(
                        &mut sums[mine * self.width..(mine + 1) * self.width],
                        from,
                        sign,
                    );
                }
                *cuts = joined;
            }
            (
                SensitiveSums::Dense {
                    count,
                    gram,
                    sums,
                    placed,
                },
                SensitiveSums::Dense {
                    count: other_count,
                    gram: other_gram,
                    sums: other_sums,
                    placed: (other_rows, other_uses),
                },
            ) if count == other_count && placed.0.len() == other_rows.len() => {
                add(gram, other_gram, sign);
                add(sums, other_sums, sign);
                for (mine, theirs) in placed.0.iter_mut().zip(other_rows) {
                    *mine = if sign > 0.0 {
                        *mine + theirs
                    } else {
                        mine.checked_sub(*theirs)
                            .ok_or_else(|| unlike("these rows were never added"))?
                    };
                }
                if sign > 0.0 {
                    placed.1 = placed.1.plus(*other_uses);
                }
            }
            _ => return Err(unlike("their sensitive features differ")),
        }
        if let (Some(mine), Some(theirs)) = (&mut self.second, &other.second) {
            add(mine, theirs, sign);
        }
        self.rows = if sign > 0.0 {
            self.rows + other.rows
        } else {
            self.rows
                .checked_sub(other.rows)
                .ok_or_else(|| unlike("these rows were never added"))?
        };
        Ok(())
    }

    /// The sums about another origin: $u' = u + (o - o')\,e$ where e is the last entry, which is 1.
    pub(super) fn about(&self, origin: &[f64]) -> Self {
        let shift: Vec<f64> = self.origin.iter().zip(origin).map(|(a, b)| a - b).collect();
        let last = self.width - 1;
        let sensitive = self.sensitive.each_sum(self.width, |sum| {
            let mass = sum[last];
            add(sum, &shift, mass);
        });
        let second = self.second.as_ref().map(|second| {
            let mut moved = second.clone();
            let total = self.total();
            let weight = total[last];
            for j in 0..last {
                for i in j..last {
                    moved[j * self.width + i] +=
                        shift[i] * total[j] + shift[j] * total[i] + weight * shift[i] * shift[j];
                }
                moved[j * self.width + last] += weight * shift[j];
            }
            moved
        });
        Self {
            origin: origin.to_vec(),
            second,
            sensitive,
            ..self.clone()
        }
    }

    /// The sums of $(R(f - o), y - o_y, 1)$.
    pub(super) fn mapped(&self, map: MatRef<'_, f64>) -> Self {
        let (width, features) = (self.width, map.nrows());
        let threads = Par::rayon(rayon::current_num_threads());
        let apply = |rows: MatRef<'_, f64>| -> Mat<f64> {
            let mut mapped = rows.to_owned();
            matmul(
                mapped.as_mut().subrows_mut(0, features),
                Accum::Replace,
                map,
                rows.subrows(0, features),
                1.0,
                threads,
            );
            mapped
        };
        let second = self.second.as_ref().map(|second| {
            let lower = MatRef::from_column_major_slice(second, width, width);
            let full = Mat::from_fn(width, width, |i, j| lower[(i.max(j), i.min(j))]);
            let half = apply(full.as_ref());
            values(apply(half.transpose()).as_ref())
        });
        let sensitive = match &self.sensitive {
            SensitiveSums::Cells { cuts, slots, sums } => SensitiveSums::Cells {
                cuts: cuts.clone(),
                slots: slots.clone(),
                sums: values(apply(columns(sums, width)).as_ref()),
            },
            SensitiveSums::Dense {
                count,
                gram,
                sums,
                placed,
            } => SensitiveSums::Dense {
                count: *count,
                gram: gram.clone(),
                sums: values(apply(columns(sums, width)).as_ref()),
                placed: placed.clone(),
            },
        };
        let mut origin = apply(columns(&self.origin, width - 1));
        let origin = origin.col_as_slice_mut(0).to_vec();
        Self {
            width,
            origin,
            rows: self.rows,
            second,
            sensitive,
        }
    }

    /// Whether all that was added was: a sum of squares is finite only if all its terms are.
    pub(super) fn is_finite(&self) -> bool {
        let second = self.second.as_deref().unwrap_or(&[]);
        let mut squares = second.iter().step_by(self.width + 1);
        let (SensitiveSums::Cells { sums, .. } | SensitiveSums::Dense { sums, .. }) =
            &self.sensitive;
        squares.all(|v| v.is_finite()) && sums.iter().all(|v| v.is_finite())
    }

    /// $\sum_i w_i\langle v, f_i - o\rangle^2$, where second moments were summed.
    pub(crate) fn quadratic(&self, v: &[f64]) -> Option<f64> {
        let second = self.second.as_ref()?;
        let lower = |i: usize, j: usize| second[j * self.width + i];
        Some(Lower::from_fn(v.len(), lower).quadratic(v))
    }

    /// The variance of $\langle v, f\rangle$ over all rows, where second moments were summed.
    pub(crate) fn variance(&self, v: &[f64]) -> Option<f64> {
        let total = self.total();
        let weight = total[self.width - 1];
        let mean = total.iter().zip(v).map(|(sum, v)| sum * v).sum::<f64>() / weight;
        let squares = self.quadratic(v)?;
        Some((squares / weight - mean * mean).max(0.0))
    }

    /// $\sum_i w_i u_i$; of rows with a place, where only means were asked for.
    pub(super) fn total(&self) -> Vec<f64> {
        let last = self.width - 1;
        match (&self.second, &self.sensitive) {
            (Some(second), _) => (0..self.width)
                .map(|j| second[j * self.width + last])
                .collect(),
            // One-hot features add up to one; those of cells come last.
            (None, SensitiveSums::Cells { sums, .. }) => self.added(sums),
            (None, SensitiveSums::Dense { sums, placed, .. }) => {
                let smooth = sums.len() - placed.0.len() * self.width;
                self.added(if placed.0.is_empty() {
                    sums
                } else {
                    &sums[smooth..]
                })
            }
        }
    }
}

impl Sums {
    /// The sum over these of the features of S.
    pub(super) fn added(&self, sums: &[f64]) -> Vec<f64> {
        let mut total = vec![0.0; self.width];
        sums.chunks(self.width)
            .for_each(|sum| add(&mut total, sum, 1.0));
        total
    }
}

impl SensitiveSums {
    /// These sums with every row of $\sum w\psi u^\top$ changed.
    fn each_sum(&self, width: usize, change: impl Fn(&mut [f64])) -> Self {
        let mut changed = self.clone();
        let (Self::Cells { sums, .. } | Self::Dense { sums, .. }) = &mut changed;
        sums.chunks_mut(width).for_each(change);
        changed
    }
}

/// Long and short columns of a triangle in turn, so that halves of the list are halves of the work.
fn balanced<T>(mut panels: Vec<T>) -> Vec<T> {
    let short = panels.split_off(panels.len().div_ceil(2));
    let mut short = short.into_iter().rev();
    let mut order = Vec::new();
    for long in panels {
        order.push(long);
        order.extend(short.next());
    }
    order
}

/// Vectors of `width` numbers, each a column.
fn columns(values: &[f64], width: usize) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(values, width, values.len() / width)
}

/// The entries, column after column.
fn values(matrix: MatRef<'_, f64>) -> Vec<f64> {
    matrix
        .col_iter()
        .flat_map(|c| c.iter().copied().collect::<Vec<_>>())
        .collect()
}

fn add(to: &mut [f64], from: &[f64], factor: f64) {
    to.iter_mut().zip(from).for_each(|(t, f)| *t += factor * f);
}

fn unlike(problem: &'static str) -> Error {
    Error::UnlikeMoments { problem }
}
