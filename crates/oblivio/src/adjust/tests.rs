use oblivio_base::{Column, Watch};

use super::*;
use crate::align::AlignMethod;
use crate::partition::Estimator;

const ROWS: usize = 240;

/// Scores of two groups that differ in mean and in spread, and S.
fn scored() -> (Vec<f64>, Sensitive) {
    let second = |i: usize| i.is_multiple_of(3);
    let score = |i: usize| {
        let noise = (12.9898 * i as f64).sin();
        if second(i) { 4.0 + 3.0 * noise } else { noise }
    };
    let names = (0..ROWS).map(|i| Some(if second(i) { "b" } else { "a" }));
    let group = Column::texts("group", names);
    let age = (0..ROWS).map(|i| 30.0 + (i % 17) as f64).collect();
    let columns = vec![group, Column::numbers("age", age)];
    let sensitive = Sensitive::new(columns, ROWS).unwrap();
    ((0..ROWS).map(score).collect(), sensitive)
}

fn rule(estimator: Estimator, align: Option<AlignMethod>) -> AdjustmentRule {
    AdjustmentRule {
        partition: PartitionRule {
            estimator,
            ..PartitionRule::default()
        },
        align: align.map(|method| AlignRule {
            method,
            strength: 1.0,
        }),
        ..AdjustmentRule::default()
    }
}

fn of_group(scores: &[f64], second: bool) -> Vec<f64> {
    let own = (0..ROWS).filter(|i| i.is_multiple_of(3) == second);
    own.map(|i| scores[i]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: Vec<f64> = values.iter().map(|v| (v - centre).powi(2)).collect();
    mean(&squares).sqrt()
}

/// The difference of the means of the two groups, and the ratio of their deviations.
fn gap(scores: &[f64]) -> (f64, f64) {
    let [a, b] = [false, true].map(|second| of_group(scores, second));
    (mean(&b) - mean(&a), deviation(&b) / deviation(&a))
}

#[test]
fn scores_of_any_model_lose_the_difference_of_the_groups() {
    let (scores, sensitive) = scored();
    let ones = [1.0; ROWS];
    let (difference, ratio) = gap(&scores);
    assert!(difference > 3.5 && ratio > 2.5);
    for estimator in [Estimator::Cells, Estimator::Linear] {
        let adjusted = |align| {
            let rule = rule(estimator, align);
            let (fitted, _) = Adjustment::fit(&scores, &sensitive, &ones, &rule).unwrap();
            gap(&fitted.apply(&scores, &sensitive).unwrap().scores)
        };
        // Means follow from the group up to the ridge of a regression; deviations do not, without an alignment.
        let (difference, ratio) = adjusted(None);
        assert!(
            difference.abs() < 0.1 && ratio > 2.0,
            "{difference} {ratio}"
        );
        // Location and scale of cells are equal on the rows of the fit, to rounding.
        if estimator == Estimator::Cells {
            let (difference, ratio) = adjusted(Some(AlignMethod::LocationScale));
            assert!(difference.abs() < 1e-9, "{difference}");
            assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
        }
    }
}

#[test]
fn without_an_alignment_an_adjustment_is_its_offsets() {
    let (scores, sensitive) = scored();
    let weights: Vec<f64> = (0..ROWS).map(|i| (i % 4) as f64).collect();
    for estimator in [Estimator::Cells, Estimator::Smooth, Estimator::Linear] {
        let rule = AdjustmentRule {
            strength: 0.7,
            ..rule(estimator, None)
        };
        let (fitted, _) = Adjustment::fit(&scores, &sensitive, &weights, &rule).unwrap();
        let of = &rule.partition;
        let (offsets, _) = Offsets::of_scores(&scores, &sensitive, &weights, of, 0.7).unwrap();
        assert_eq!(fitted.offsets(), &offsets);
        assert!(fitted.alignment().is_none() && fitted.reads_sensitive());
        let (expected, uses) = offsets.apply(&scores, &sensitive).unwrap();
        let found = fitted.apply(&scores, &sensitive).unwrap();
        assert_eq!((found.scores, found.design.uses), (expected, uses));
    }
}

#[test]
fn wrong_scores_and_rules_are_refused() {
    let (scores, sensitive) = scored();
    let fit = |scores: &[f64], rule: &AdjustmentRule| {
        Adjustment::fit(scores, &sensitive, &[1.0; ROWS], rule).map(|(fitted, _)| fitted)
    };
    let default = AdjustmentRule::default();
    assert!(fit(&scores[1..], &default).is_err());
    assert!(fit(&[f64::NAN; ROWS], &default).is_err());
    let strong = AdjustmentRule {
        strength: 1.5,
        ..AdjustmentRule::default()
    };
    assert!(fit(&scores, &strong).is_err());
    let mut aligned = rule(Estimator::Cells, Some(AlignMethod::Quantile));
    if let Some(align) = &mut aligned.align {
        align.strength = -0.5;
    }
    assert!(fit(&scores, &aligned).is_err());
    let fitted = fit(&scores, &default).unwrap();
    assert!(fitted.apply(&scores[1..], &sensitive).is_err());
}

/// A model's prediction is its expansion, adjusted.
#[test]
fn a_predictor_adjusts_its_expansion() {
    let (targets, sensitive) = scored();
    let x = (0..ROWS).map(|i| (7.1 * i as f64).sin() + targets[i] / 3.0);
    let points = oblivio_base::Points::new(x.collect::<Vec<f64>>(), 1).unwrap();
    let settings = crate::Settings {
        kernel: "rbf(gamma=1)".parse().unwrap(),
        align: rule(Estimator::Cells, Some(AlignMethod::Quantile)).align,
        ..crate::Settings::default()
    };
    let training = crate::Training {
        points: &points,
        sensitive: &sensitive,
        targets: &targets,
        weights: None,
    };
    let watch = Watch::default();
    let fitted = settings.fit(training, &watch).unwrap().predictor;
    let expansion = fitted.expansion_at(&points, &watch).unwrap();
    let prediction = fitted.predict(&points, Some(&sensitive), &watch).unwrap();
    let adjustment = fitted.adjustment().unwrap();
    assert!(adjustment.alignment().is_some());
    let adjusted = adjustment.apply(&expansion, &sensitive).unwrap();
    assert_eq!(adjusted.scores, prediction.scores);
    assert_ne!(adjusted.scores, expansion);
}
