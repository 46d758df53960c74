//! Measures in words.

use oblivio_audit::{Convention, ErrorMeasure, Measure, Unit};

use crate::number::{percent, short};

/// The name of a measure in words, and one sentence of what it says.
pub fn words(measure: Measure) -> (&'static str, &'static str) {
    match measure {
        Measure::CorrelationRatio => (
            "share of variance explained",
            "How much of the variance the means of the cells explain: 0 if all cells have the same mean, 1 if the cell \
             settles the value.",
        ),
        Measure::MeanGap => (
            "largest gap between means",
            "The largest difference between two cells' means, in standard deviations of all rows.",
        ),
        Measure::Beta => (
            "β-dependence",
            "How far value and cell are from occurring together as if independent, over all cells and bins: 0 if they \
             do, towards 1 the more one settles the other.",
        ),
        Measure::BetaBound => (
            "upper bound on β",
            "β-dependence is at most this, with the confidence asked for; it counts what so few rows cannot rule out, \
             so it is far above 0 even under independence.",
        ),
        Measure::ParityDifference => (
            "gap in positive decisions",
            "The largest difference between two cells' shares of positive decisions.",
        ),
        Measure::ParityRatio => (
            "ratio of positive decisions",
            "The smallest of the cells' shares of positive decisions over the largest: 1 if all are equal; smaller \
             means more dependence.",
        ),
        Measure::EqualizedOdds => (
            "gap in error rates",
            "The larger of the differences between cells in true-positive and in false-positive rates.",
        ),
        Measure::TruePositiveGap => (
            "gap in true-positive rates",
            "The largest difference between two cells' shares of positive decisions among rows whose true label is positive.",
        ),
        Measure::FalsePositiveGap => (
            "gap in false-positive rates",
            "The largest difference between two cells' shares of positive decisions among rows whose true label is not \
             positive.",
        ),
        Measure::Separation => (
            "share of variance explained beyond the labels",
            "How much of the score's variance the sensitive columns explain beyond the true labels, on rows that were held \
             out: 0 if scores depend on them through the labels alone, and a little less by chance.",
        ),
        Measure::ConditionalParity => (
            "share of variance explained beyond the control columns",
            "How much of the score's variance the sensitive columns explain beyond the control columns, on rows that were \
             held out: 0 if scores depend on them through the control columns alone, and a little less by chance.",
        ),
        Measure::Calibration => (
            "miscalibration in groups",
            "How far the outcomes of like scores in a cell are from the outcomes of all like scores, on average, in standard \
             deviations of the outcome: 0 if a score means the same in every cell.",
        ),
        Measure::ErrorGap => (
            "largest gap between errors",
            "The largest difference between two cells' rates of wrong decisions, or between their root mean squared errors in \
             standard deviations of the target.",
        ),
        Measure::Hsic => (
            "kernel dependence (HSIC)",
            "Dependence of any kind that a kernel can see, not only of means: 0 for none, 1 at most.",
        ),
        Measure::Adversary => (
            "adversary",
            "How well a kernel method guesses the sensitive columns on rows it did not learn from: AUC (0.5 is a coin) \
             or R² (0 is the mean).",
        ),
        Measure::AdversaryLinear => (
            "linear adversary",
            "How well a linear method guesses the sensitive columns on rows it did not learn from: AUC (0.5 is a coin) \
             or R² (0 is the mean).",
        ),
        Measure::Wasserstein => (
            "distance between distributions (Wasserstein)",
            "How far the values of one cell would have to move, on average, to be distributed like those of another: \
             the largest such distance, in standard deviations of all rows.",
        ),
        Measure::KolmogorovSmirnov => (
            "distance between distributions (Kolmogorov–Smirnov)",
            "The largest difference between two cells in the share of rows below any one value.",
        ),
        Measure::DistanceCorrelation => (
            "distance correlation",
            "Dependence of any kind between two columns of numbers: 0 for none, 1 if one settles the other.",
        ),
    }
}

/// The name of an error, and what it is in a sentence.
pub fn error_words(measure: ErrorMeasure) -> (&'static str, &'static str) {
    match measure {
        ErrorMeasure::Rmse => (
            "root mean squared error",
            "How far scores are from the target, in its units.",
        ),
        ErrorMeasure::OneMinusAuc => (
            "pairs in the wrong order (1 − AUC)",
            "The share of pairs of a positive and another row in which the other one has the larger score: 0.5 is a coin.",
        ),
        ErrorMeasure::BalancedError => (
            "balanced error",
            "The mean of both classes' shares of rows on the wrong side: 0.5 is a coin.",
        ),
    }
}

/// A value of a measure in a sentence, with its unit.
pub(crate) fn value_in_words(measure: Measure, value: f64) -> String {
    match measure.unit() {
        Unit::Percent => percent(value),
        Unit::Deviations => format!("{} standard deviations", short(value)),
        Unit::Number => short(value),
    }
}

/// The origin of a convention by which values are called large.
pub(crate) fn origin(convention: Convention) -> &'static str {
    match convention {
        Convention::MediumShare => "a medium share of variance after Cohen",
        Convention::MediumDifference => {
            "a medium difference after Cohen, half a standard deviation"
        }
        Convention::Twentieth => "a twentieth of the rows in another place than under independence",
        Convention::FourFifths => "the rule of four fifths",
        Convention::Tenth => "a tenth of the rows",
        Convention::TenthOfDeviation => "a tenth of a standard deviation",
        Convention::Skill => "an AUC of 0.6 where a coin gives 0.5, or an R² of 0.1",
        Convention::Fifth => "a fifth of the range",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oblivio_base::Named;

    #[test]
    fn every_measure_has_words_and_one_convention() {
        for &(_, measure) in Measure::NAMES {
            let (name, sentence) = words(measure);
            assert!(!name.is_empty() && sentence.ends_with('.'));
            let convention = measure.convention();
            assert!(Convention::ALL.contains(&convention) && !origin(convention).is_empty());
            assert_eq!(convention.distance(), measure.large());
        }
    }
}
