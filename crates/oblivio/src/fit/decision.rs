//! From scores to decisions: where the line is, and how often it errs.

use crate::classes::Threshold;

/// How a classifier's score becomes a decision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision(pub(super) Threshold);

impl Decision {
    /// The threshold, and the shares of rows (targets 0 and 1) that it and the best constant put on the wrong side.
    pub(super) fn settle(
        self,
        scores: &[f64],
        targets: &[f64],
        weights: &[f64],
    ) -> (f64, (f64, f64)) {
        let positive: Vec<bool> = targets.iter().map(|y| *y > 0.0).collect();
        let threshold = self.0.of(scores, weights, &positive);
        let share = |wrong: &dyn Fn(usize) -> bool| {
            let rows = (0..scores.len()).filter(|&i| wrong(i));
            rows.map(|i| weights[i]).sum::<f64>() / weights.iter().sum::<f64>()
        };
        let error = share(&|i| (scores[i] > threshold) != positive[i]);
        let rate = share(&|i| positive[i]);
        (threshold, (error, rate.min(1.0 - rate)))
    }
}
