//! What is measured, and what a measured value comes with.

use oblivio_base::Named;
use serde::{Deserialize, Serialize};

/// A measure of dependence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The share of the variance that the cells explain.
    CorrelationRatio,
    /// The largest difference between two cells' means, in standard deviations of all rows.
    MeanGap,
    /// $\frac12\sum|p_{ij} - p_i p_j|$ over the cells and the bins of the score.
    Beta,
    /// What β is at most, with the confidence asked for, by the finite-sample certificate.
    BetaBound,
    /// The largest difference between two cells' shares of positive decisions.
    ParityDifference,
    /// The smallest of the cells' shares of positive decisions over the largest.
    ParityRatio,
    /// The larger of the differences in true-positive and false-positive rates.
    EqualizedOdds,
    /// The normalised Hilbert–Schmidt independence criterion.
    Hsic,
    /// How well a kernel method predicts S: AUC or R².
    Adversary,
    /// How well a linear method predicts S: AUC or R².
    AdversaryLinear,
    /// The largest Wasserstein-1 distance between two cells' distributions, in standard deviations of all rows.
    Wasserstein,
    /// The largest Kolmogorov–Smirnov distance between two cells' distributions.
    KolmogorovSmirnov,
    /// The distance correlation of two columns of numbers.
    DistanceCorrelation,
}

impl Named for Measure {
    const WHAT: &'static str = "measure";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("correlation-ratio", Self::CorrelationRatio),
        ("mean-gap", Self::MeanGap),
        ("beta", Self::Beta),
        ("beta-bound", Self::BetaBound),
        ("parity-difference", Self::ParityDifference),
        ("parity-ratio", Self::ParityRatio),
        ("equalized-odds", Self::EqualizedOdds),
        ("hsic", Self::Hsic),
        ("adversary", Self::Adversary),
        ("adversary-linear", Self::AdversaryLinear),
        ("wasserstein", Self::Wasserstein),
        ("kolmogorov-smirnov", Self::KolmogorovSmirnov),
        ("distance-correlation", Self::DistanceCorrelation),
    ];
}

impl Measure {
    /// Whether dependence makes it larger. Only the parity ratio shrinks.
    pub fn grows(self) -> bool {
        self != Self::ParityRatio
    }

    /// How far beyond its level under independence a value is called large.
    ///
    /// Conventions, not laws: Cohen's medium share of variance (0.06) and medium difference (half a standard deviation),
    /// four fifths for ratios of decisions, a tenth for differences of shares, 0.6 for an AUC.
    pub fn large(self) -> f64 {
        match self {
            Self::CorrelationRatio | Self::Hsic => 0.06,
            Self::MeanGap | Self::Wasserstein => 0.5,
            Self::Beta | Self::BetaBound => 0.05,
            Self::ParityDifference
            | Self::EqualizedOdds
            | Self::Adversary
            | Self::AdversaryLinear => 0.1,
            Self::ParityRatio | Self::KolmogorovSmirnov | Self::DistanceCorrelation => 0.2,
        }
    }

    /// Whether it is a distance, which is above zero on any sample, and not a square of one.
    pub(crate) fn is_distance(self) -> bool {
        !matches!(
            self,
            Self::CorrelationRatio | Self::Hsic | Self::Adversary | Self::AdversaryLinear
        )
    }

    /// The values it can take.
    pub(crate) fn range(self) -> (f64, f64) {
        match self {
            Self::MeanGap | Self::Wasserstein => (0.0, f64::INFINITY),
            Self::Adversary | Self::AdversaryLinear => (f64::NEG_INFINITY, 1.0),
            _ => (0.0, 1.0),
        }
    }
}

/// A measure on given rows, with what it takes to read it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Measured {
    /// The value on these rows.
    pub value: f64,
    /// Its mean if nothing depended on S.
    pub expected: f64,
    /// What it would exceed (or, for a ratio, fall below) in one case of twenty if nothing depended on S.
    pub critical: f64,
    /// The share of cases at least as extreme if nothing depended on S.
    pub p_value: f64,
    /// The lower end of the interval.
    pub lower: f64,
    /// The upper end of the interval.
    pub upper: f64,
    /// The rows it was measured on.
    pub rows: usize,
    /// Where the level under independence comes from.
    pub null: Null,
}

/// Where a level under independence comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Null {
    /// The same measure after the sensitive values were shuffled among the rows, many times.
    Permutation,
    /// A formula.
    Formula,
}

/// A value is called detectable if this share of independent cases, at most, is as extreme.
const DETECTABLE: f64 = 0.05;

impl Measured {
    /// Whether chance alone would hardly give such a value.
    pub fn is_detectable(&self) -> bool {
        self.p_value <= DETECTABLE
    }

    /// Whether the value is far from its level under independence, whatever chance says.
    pub fn is_large(&self, measure: Measure) -> bool {
        let beyond = if measure.grows() {
            self.value - self.expected
        } else {
            self.expected - self.value
        };
        beyond >= measure.large()
    }
}
