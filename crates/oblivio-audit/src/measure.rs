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
    /// The largest difference between two cells' true-positive rates.
    TruePositiveGap,
    /// The largest difference between two cells' false-positive rates.
    FalsePositiveGap,
    /// The share of the score's variance that S explains beyond the true labels, on rows that were held out.
    Separation,
    /// The share of the score's variance that S explains beyond legitimate factors, on rows that were held out.
    ConditionalParity,
    /// The mean distance between outcomes of like scores in a cell and in all rows, in standard deviations.
    Calibration,
    /// The largest difference between two cells' errors: rates, or root mean squares in standard deviations.
    ErrorGap,
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
        ("true-positive-gap", Self::TruePositiveGap),
        ("false-positive-gap", Self::FalsePositiveGap),
        ("separation", Self::Separation),
        ("conditional-parity", Self::ConditionalParity),
        ("calibration", Self::Calibration),
        ("error-gap", Self::ErrorGap),
        ("hsic", Self::Hsic),
        ("adversary", Self::Adversary),
        ("adversary-linear", Self::AdversaryLinear),
        ("wasserstein", Self::Wasserstein),
        ("kolmogorov-smirnov", Self::KolmogorovSmirnov),
        ("distance-correlation", Self::DistanceCorrelation),
    ];
}

/// From where on a value is called large: conventions, not laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// Cohen's medium share of variance.
    MediumShare,
    /// Cohen's medium difference, in standard deviations.
    MediumDifference,
    /// A twentieth of the rows in another place than under independence.
    Twentieth,
    /// The rule of four fifths.
    FourFifths,
    /// A tenth of the rows.
    Tenth,
    /// A tenth of a standard deviation.
    TenthOfDeviation,
    /// An AUC of 0.6, or an R² of 0.1.
    Skill,
    /// A fifth of the range.
    Fifth,
}

impl Convention {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::MediumShare,
        Self::MediumDifference,
        Self::Twentieth,
        Self::FourFifths,
        Self::Tenth,
        Self::TenthOfDeviation,
        Self::Skill,
        Self::Fifth,
    ];

    /// The distance from the level under independence.
    pub fn distance(self) -> f64 {
        match self {
            Self::MediumShare => 0.06,
            Self::MediumDifference => 0.5,
            Self::Twentieth => 0.05,
            Self::Tenth | Self::TenthOfDeviation | Self::Skill => 0.1,
            Self::FourFifths | Self::Fifth => 0.2,
        }
    }
}

/// How people read the values of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share, shown in percent.
    Percent,
    /// Standard deviations.
    Deviations,
    /// A number without a unit.
    Number,
}

/// The computation that gives a measure, and so the data that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Sums over the cells.
    Cells,
    /// Sums over the cells of positive decisions.
    Decisions,
    /// Decisions and true labels.
    Odds,
    /// Kernels, distances and learners that see any dependence.
    Any,
    /// A regression on the true labels and one on S too.
    BeyondLabels,
    /// A regression on legitimate factors and one on S too.
    BeyondControl,
    /// Scores and true labels.
    Outcomes,
}

/// Properties of a measure: one line for each.
struct Traits {
    family: Family,
    unit: Unit,
    convention: Convention,
    range: (f64, f64),
    /// Whether it is above zero on any sample, and not a square of such a number.
    is_distance: bool,
    /// Whether it adds something for a label: the distance between two labels is their difference, and every function
    /// of them is linear.
    tells_of_labels: bool,
}

const SHARE: (f64, f64) = (0.0, 1.0);
const POSITIVE: (f64, f64) = (0.0, f64::INFINITY);
const SKILL: (f64, f64) = (f64::NEG_INFINITY, 1.0);

impl Measure {
    #[rustfmt::skip]
    fn traits(self) -> Traits {
        use Convention::{
            Fifth, FourFifths, MediumDifference, MediumShare, Skill, Tenth, TenthOfDeviation, Twentieth,
        };
        use Family::{Any, BeyondControl, BeyondLabels, Cells, Decisions, Odds, Outcomes};
        use Unit::{Deviations, Number, Percent};
        let (family, unit, convention, range, is_distance, tells_of_labels) = match self {
            Self::CorrelationRatio => (Cells, Percent, MediumShare, SHARE, false, true),
            Self::MeanGap | Self::Wasserstein => (Cells, Deviations, MediumDifference, POSITIVE, true, false),
            Self::Beta | Self::BetaBound => (Cells, Number, Twentieth, SHARE, true, true),
            Self::ParityDifference => (Decisions, Percent, Tenth, SHARE, true, true),
            Self::ParityRatio => (Decisions, Number, FourFifths, SHARE, true, true),
            Self::EqualizedOdds | Self::TruePositiveGap | Self::FalsePositiveGap => (Odds, Percent, Tenth, SHARE, true, true),
            Self::Separation => (BeyondLabels, Percent, MediumShare, SKILL, false, true),
            Self::ConditionalParity => (BeyondControl, Percent, MediumShare, SKILL, false, true),
            Self::Calibration => (Outcomes, Deviations, TenthOfDeviation, POSITIVE, true, true),
            Self::ErrorGap => (Outcomes, Number, Tenth, POSITIVE, true, true),
            Self::Hsic => (Any, Number, MediumShare, SHARE, false, true),
            Self::Adversary => (Any, Number, Skill, SKILL, false, true),
            Self::AdversaryLinear => (Any, Number, Skill, SKILL, false, false),
            Self::KolmogorovSmirnov => (Cells, Number, Fifth, SHARE, true, false),
            Self::DistanceCorrelation => (Any, Number, Fifth, SHARE, true, false),
        };
        Traits { family, unit, convention, range, is_distance, tells_of_labels }
    }

    /// Whether dependence makes it larger. Only the parity ratio shrinks.
    pub fn grows(self) -> bool {
        self != Self::ParityRatio
    }

    /// Whether it says how much something depends on S. A bound does not, and neither do outcomes: equal errors and scores that
    /// mean the same everywhere may come with any dependence.
    pub fn is_dependence(self) -> bool {
        self != Self::BetaBound && self.family() != Family::Outcomes
    }

    /// The unit of its values.
    pub fn unit(self) -> Unit {
        self.traits().unit
    }

    /// The convention by which its values are called large.
    pub fn convention(self) -> Convention {
        self.traits().convention
    }

    /// The distance from its level under independence at which a value is called large.
    pub fn large(self) -> f64 {
        self.convention().distance()
    }

    pub(crate) fn family(self) -> Family {
        self.traits().family
    }

    pub(crate) fn is_distance(self) -> bool {
        self.traits().is_distance
    }

    pub(crate) fn tells_of_labels(self) -> bool {
        self.traits().tells_of_labels
    }

    /// The values it can take.
    pub(crate) fn range(self) -> (f64, f64) {
        self.traits().range
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
