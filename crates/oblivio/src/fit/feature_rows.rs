//! Rows of features that a learner goes through again and again: some of others, or those of points in memory.

use faer::{Mat, MatRef};
use oblivio_base::{Points, Result, Watch};
use oblivio_kernels::FeatureRows;
use oblivio_kernels::gram::ROWS;

use super::landmarked::Turned;
use crate::sensitive::Sensitive;

/// Rows of features without some.
pub(super) struct Without<'a> {
    pub(super) rows: &'a dyn FeatureRows,
    pub(super) keep: &'a dyn Fn(usize) -> bool,
    pub(super) len: usize,
}

impl FeatureRows for Without<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn width(&self) -> usize {
        self.rows.width()
    }

    fn each(
        &self,
        work: &mut dyn FnMut(usize, MatRef<'_, f64>) -> Result<()>,
        watch: &Watch,
    ) -> Result<()> {
        let mut done = 0;
        self.rows.each(
            &mut |first, block| {
                let kept: Vec<usize> = (0..block.ncols())
                    .filter(|j| (self.keep)(first + j))
                    .collect();
                let some = Mat::from_fn(block.nrows(), kept.len(), |k, j| block[(k, kept[j])]);
                work(done, some.as_ref())?;
                done += kept.len();
                Ok(())
            },
            watch,
        )
    }
}

/// Rows that are in memory, and their features too if these are not too many.
pub(super) struct InMemory<'a> {
    turned: &'a Turned,
    points: Points<'static>,
    pub(super) sensitive: Sensitive,
    kept: Option<Vec<f64>>,
}

impl<'a> InMemory<'a> {
    pub(super) fn new(
        turned: &'a Turned,
        points: Points<'static>,
        sensitive: Sensitive,
        watch: &Watch,
    ) -> Result<Self> {
        let kept = turned
            .fits(points.len())
            .then(|| turned.rows(&points, &sensitive, watch));
        Ok(Self {
            kept: kept.transpose()?,
            turned,
            points,
            sensitive,
        })
    }
}

impl FeatureRows for InMemory<'_> {
    fn len(&self) -> usize {
        self.points.len()
    }

    fn width(&self) -> usize {
        self.turned.width()
    }

    fn each(
        &self,
        work: &mut dyn FnMut(usize, MatRef<'_, f64>) -> Result<()>,
        watch: &Watch,
    ) -> Result<()> {
        let width = self.width();
        if let Some(kept) = &self.kept {
            let all = MatRef::from_column_major_slice(kept, width, self.len());
            return all.each(work, watch);
        }
        let numbers: Vec<usize> = (0..self.len()).collect();
        for block in numbers.chunks(ROWS) {
            let points = self.points.select(block);
            let sensitive = self.sensitive.select(block);
            let rows = self.turned.rows(&points, &sensitive, watch)?;
            work(
                block[0],
                MatRef::from_column_major_slice(&rows, width, block.len()),
            )?;
        }
        Ok(())
    }
}
