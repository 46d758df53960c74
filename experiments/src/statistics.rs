//! Means, medians and slopes of a run's repetitions.

/// What repetitions of one number say together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) count: usize,
    pub(super) mean: f64,
    /// With n in the denominator, as in the authors' script.
    pub(super) deviation: f64,
    pub(super) median: f64,
    /// The distance of the quartiles.
    pub(super) quartiles: f64,
}

impl Sample {
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let square = |v: &f64| (v - mean) * (v - mean);
        Self {
            count,
            mean,
            deviation: (sorted.iter().map(square).sum::<f64>() / count as f64).sqrt(),
            median: quantile(&sorted, 0.5),
            quartiles: quantile(&sorted, 0.75) - quantile(&sorted, 0.25),
        }
    }

    /// Of the mean; infinite where one value says nothing about its spread.
    pub(super) fn standard_error(&self) -> f64 {
        if self.count < 2 {
            return f64::INFINITY;
        }
        self.deviation / (self.count as f64 - 1.0).sqrt()
    }

    /// Of the median, if the middle of the distribution is about normal: the tails have no say.
    ///
    /// $\sqrt{\pi/2}\,\sigma/\sqrt n$ with σ from the quartiles, which are 1.349 σ apart.
    pub(super) fn median_error(&self) -> f64 {
        if self.count < 2 {
            return f64::INFINITY;
        }
        let sigma = self.quartiles / 1.349;
        std::f64::consts::FRAC_PI_2.sqrt() * sigma / (self.count as f64).sqrt()
    }
}

/// Linear between the sorted values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = share * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

/// The slope of the least-squares line through points.
pub(super) fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points
        .iter()
        .fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let along: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    along / points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum::<f64>()
}

/// A seed of its own for every data set: the finaliser of `SplitMix64` over the parts.
pub(super) fn seed(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |state: u64, part| {
        let mut z = (state ^ part).wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_in_numbers() {
        let sample = Sample::of([4.0, 1.0, 3.0, 2.0, 10.0]);
        assert_eq!(
            (sample.mean, sample.median, sample.quartiles),
            (4.0, 3.0, 2.0)
        );
        assert!((sample.deviation - 10f64.sqrt()).abs() < 1e-12);
        assert!((sample.standard_error() - 2.5f64.sqrt()).abs() < 1e-12);
        assert_eq!(Sample::of([1.0]).standard_error(), f64::INFINITY);
        assert!((slope(&[(0.0, 1.0), (1.0, -1.0), (2.0, -3.0)]) + 2.0).abs() < 1e-12);
        assert_ne!(seed(&[0, 1]), seed(&[1, 0]));
    }
}
