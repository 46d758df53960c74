//! One outlying row of the fit moves no aligned score far.

use faer::Mat;
use oblivio::align::{AlignMethod, AlignRule, Alignment, Given};
use oblivio::partition::SensitiveDesign;
use oblivio_testing::generator;
use rand::RngExt;
use rand_distr::StandardNormal;

const QUANTILES: AlignRule = AlignRule {
    method: AlignMethod::Quantile,
    strength: 1.0,
};

/// Scores of rows with a cell each and one number s, from which their mean and spread follow.
struct Rows {
    scores: Vec<f64>,
    cells: Vec<u32>,
    s: Vec<f64>,
}

impl Rows {
    fn draw(count: usize, seed: u64) -> Self {
        let mut random = generator(seed);
        let s: Vec<f64> = (0..count).map(|_| random.random_range(-1.0..1.0)).collect();
        let noise = s
            .iter()
            .map(|s| (s, random.sample::<f64, _>(StandardNormal)));
        Self {
            scores: noise.map(|(s, e)| 2.0 * s + (1.0 + 0.5 * s) * e).collect(),
            cells: s.iter().map(|s| u32::from(*s > -0.6)).collect(),
            s,
        }
    }

    /// The same rows, and one with this score in the middle of S.
    fn with(&self, score: f64) -> Self {
        let mut rows = Self {
            scores: self.scores.clone(),
            cells: self.cells.clone(),
            s: self.s.clone(),
        };
        rows.scores.push(score);
        rows.cells.push(1);
        rows.s.push(0.0);
        rows
    }

    fn assignment(&self) -> SensitiveDesign {
        SensitiveDesign::from_codes(2, self.cells.clone(), Vec::new())
    }

    /// Powers of s, less their means over the rows of a fit.
    fn features(&self, fit: &Self) -> Mat<f64> {
        let mean = |j: usize| {
            let powers = fit.s.iter().map(|s| s.powi(j as i32 + 1));
            powers.sum::<f64>() / fit.s.len() as f64
        };
        let means: Vec<f64> = (0..3).map(mean).collect();
        Mat::from_fn(3, self.s.len(), |j, i| {
            self.s[i].powi(j as i32 + 1) - means[j]
        })
    }

    /// The scores of other rows, aligned by these: by cells, and smoothly in s.
    fn align(&self, fresh: &Self) -> [Vec<f64>; 2] {
        let ones = vec![1.0; self.scores.len()];
        let (own, other) = (self.assignment(), fresh.assignment());
        let by_cells =
            Alignment::fit(QUANTILES, &self.scores, Given::Cells(&own), &ones, 0.0).unwrap();
        let (own, features) = (self.features(self), fresh.features(self));
        let given = Given::Features(own.as_ref());
        let smooth = Alignment::fit(QUANTILES, &self.scores, given, &ones, 1e-3).unwrap();
        [
            by_cells.apply(&fresh.scores, Given::Cells(&other)).unwrap(),
            smooth
                .apply(&fresh.scores, Given::Features(features.as_ref()))
                .unwrap(),
        ]
    }
}

/// The largest difference between the aligned scores.
fn largest(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// How far the outlier lies out has no influence, and its row moves others by less than the spread of the scores.
#[test]
fn one_outlying_row_moves_no_aligned_score_by_more_than_a_standard_deviation() {
    let mut random = generator(0);
    for count in [60, 300, 2500] {
        let (rows, fresh) = (
            Rows::draw(count, random.random()),
            Rows::draw(2500, random.random()),
        );
        // Var(2s) + E(1 + s/2)² with s uniform on [-1, 1].
        let deviation = (4.0f64 / 3.0 + 1.0 + 1.0 / 12.0).sqrt();
        let plain = rows.align(&fresh);
        for [near, far] in [[-50.0, -1e9], [50.0, 1e6]] {
            let near = rows.with(near).align(&fresh);
            let far = rows.with(far).align(&fresh);
            for kind in 0..2 {
                let moved = largest(&plain[kind], &near[kind]);
                assert!(moved > 0.0 && moved < deviation, "{count} {kind}: {moved}");
                assert!(largest(&near[kind], &far[kind]) < 1e-9 * deviation);
            }
        }
    }
}
