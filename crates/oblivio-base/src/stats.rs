//! Mean and spread of numbers that come one by one.

use serde::{Deserialize, Serialize};

/// The weighted mean of numbers and $\sum w(v - \bar v)^2$, without cancellation: the same numbers in the same order give the
/// same bits.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// $\sum w$
    #[serde(with = "bits")]
    pub weight: f64,
    /// $\bar v$
    #[serde(with = "bits")]
    pub mean: f64,
    /// $\sum w(v - \bar v)^2$
    #[serde(with = "bits")]
    pub squares: f64,
}

/// Numbers as their bits: a sum may be infinite, which JSON has no word for.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(value.to_bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
}

impl Spread {
    /// Adds a number; a weight of zero adds nothing.
    #[inline]
    pub fn add(&mut self, value: f64, weight: f64) {
        if weight > 0.0 {
            self.weight += weight;
            let before = value - self.mean;
            self.mean += before * (weight / self.weight);
            self.squares += weight * before * (value - self.mean);
        }
    }

    /// Adds the numbers of another: $\sum w(v - \bar v)^2$ of both is that of each and $\frac{W_1W_2}{W_1 + W_2}(\bar v_1 - \bar v_2)^2$.
    #[inline]
    pub fn merge(&mut self, other: Self) {
        if other.weight > 0.0 {
            let apart = other.mean - self.mean;
            let share = other.weight / (self.weight + other.weight);
            self.squares += other.squares + self.weight * share * apart * apart;
            self.mean += share * apart;
            self.weight += other.weight;
        }
    }

    /// The mean squared distance from the mean.
    #[inline]
    pub fn variance(&self) -> f64 {
        self.squares / self.weight
    }
}

/// Rows, or the sum of their weights where weights count repetitions: what the number of cells grows with.
pub fn effective_rows(rows: usize, weight: f64) -> usize {
    rows.max(weight.round() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_merge_to_the_whole() {
        let of = |values: &[f64]| {
            let mut spread = Spread::default();
            for v in values {
                spread.add(*v, 1.0 + v.abs());
            }
            spread
        };
        let values: Vec<f64> = (0..50).map(|k| 1e3 + f64::from(k * k % 17)).collect();
        let whole = of(&values);
        for cut in [0, 1, 20, 50] {
            let mut merged = of(&values[..cut]);
            merged.merge(of(&values[cut..]));
            assert!((merged.weight - whole.weight).abs() < 1e-10 * whole.weight);
            assert!((merged.mean - whole.mean).abs() < 1e-12 * whole.mean);
            assert!((merged.squares - whole.squares).abs() < 1e-10 * whole.squares);
        }
    }
}
