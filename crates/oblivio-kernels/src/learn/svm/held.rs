//! A whole symmetric matrix in memory.

use oblivio_base::{Result, Watch};

use crate::gram::Gram;
use crate::kernel::Lower;
use crate::learn::dot;

/// Both triangles, so that rows are contiguous.
pub(super) struct Held {
    pub(super) values: Vec<f64>,
    pub(super) len: usize,
}

impl Held {
    pub(super) fn new(lower: Lower, watch: &Watch) -> Result<Self> {
        Ok(Self {
            len: lower.len(),
            values: lower.mirrored(watch)?,
        })
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.len..][..self.len]
    }
}

impl Gram for Held {
    fn len(&self) -> usize {
        self.len
    }

    fn diagonal(&self) -> Vec<f64> {
        (0..self.len).map(|i| self.row(i)[i]).collect()
    }

    fn row_into(&self, i: usize, out: &mut [f64]) {
        out.copy_from_slice(self.row(i));
    }

    fn lower(&self, watch: &Watch) -> Result<Lower> {
        let mut lower = Lower::new(self.len)?;
        for (j, column) in lower.as_mat_mut().col_iter_mut().enumerate() {
            watch.check()?;
            let entries = column.iter_mut().zip(self.row(j));
            entries.for_each(|(to, from)| *to = *from);
        }
        Ok(lower)
    }

    fn multiply(&self, vector: &[f64], watch: &Watch) -> Result<Vec<f64>> {
        watch.check()?;
        Ok((0..self.len).map(|i| dot(self.row(i), vector)).collect())
    }
}
