//! Leave-one-out scores of an exact ridge regression, in closed form.

use oblivio_base::{Result, Watch};
use oblivio_kernels::Gram;
use oblivio_kernels::learn::Solver;

use super::Mode;
use super::exact::Exact;
use crate::gram::{Change, FeatureGram};
use crate::oblivious::ObliviousMap;
use crate::sensitive_free::Removal;

impl Exact {
    /// Whether leaving out a row is a matter of one matrix, the conditional means held fixed. An alignment is fitted to the scores of
    /// all rows; of features that come from a regression on S, a row left out keeps too large a part; and conjugate gradients have
    /// no matrix.
    pub(super) fn leaves_out(&self) -> bool {
        let aligned = self.has_sensitive && self.align.is_some_and(|rule| rule.strength > 0.0);
        !aligned && !self.leaks() && self.task.solver != Solver::Pcg
    }

    /// The score of every training row by the regression without it: that of an m-oblivious model before its offsets.
    pub(super) fn left_out(&self, watch: &Watch) -> Result<Vec<f64>> {
        let (kernel, training) = (&self.kernel, &self.training);
        let points = &training.points;
        match self.mode {
            Mode::Plain | Mode::MOblivious => {
                self.left_out_of(&FeatureGram::plain(kernel, points), watch)
            }
            Mode::Oblivious => {
                let mean = self.conditional_mean(watch)?;
                let at = self.at_training(&mean, watch)?;
                let map = ObliviousMap::new(mean, self.strength)?;
                let shifts = map.shifts(at.as_ref(), &training.assignment);
                let gram = FeatureGram::oblivious(&map, points, &training.assignment, &shifts);
                self.left_out_of(&gram, watch)
            }
            Mode::SensitiveFree => {
                let mean = self.conditional_mean(watch)?;
                let at = self.at_training(&mean, watch)?;
                let shifts = mean.shifts(at.as_ref(), &[]);
                let knobs = (self.strength, self.task.penalty);
                let gram = mean.shift_gram(&[], &[]);
                let root = self.root(&mean)?;
                let removal = Removal::new(gram.as_ref(), &root, self.restraint, knobs)?;
                let less = Change::Less(removal.less(shifts.as_ref()));
                self.left_out_of(&FeatureGram::new(kernel, points, Some(less)), watch)
            }
        }
    }

    fn left_out_of(&self, gram: &FeatureGram, watch: &Watch) -> Result<Vec<f64>> {
        let (targets, weights) = (&self.training.targets, &self.training.weights);
        let ridge = self.task.ridge()?;
        let solution = ridge.solve_leaving_out(gram.lower(watch)?, targets, weights, watch)?;
        Ok(solution.left_out.unwrap_or_default())
    }
}
