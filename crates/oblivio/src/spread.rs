//! Mean and spread of numbers that come one by one.

/// The weighted mean of numbers and $\sum w(v - \bar v)^2$, without cancellation: the same numbers in the same order give the
/// same bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread {
    pub(crate) weight: f64,
    pub(crate) mean: f64,
    pub(crate) squares: f64,
}

impl Spread {
    /// Adds a number; a weight of zero adds nothing.
    pub(crate) fn add(&mut self, value: f64, weight: f64) {
        if weight > 0.0 {
            self.weight += weight;
            let before = value - self.mean;
            self.mean += before * (weight / self.weight);
            self.squares += weight * before * (value - self.mean);
        }
    }

    /// The mean squared distance from the mean.
    pub(crate) fn variance(&self) -> f64 {
        self.squares / self.weight
    }
}
