//! Events whose dependence on S is bounded. Their thresholds come from the reference rows, so that other rows can judge them.

use oblivio::{Model, Prediction};
use oblivio_base::encoder::find;
use oblivio_base::{Column, Points, Result, Values, Watch};

/// No more features than this have an event of their own: the first ones that are numbers.
pub(super) const MOST_FEATURES: usize = 8;

/// An event, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    pub(super) name: String,
    /// Where it begins, if that is a number.
    pub(super) threshold: Option<f64>,
    pub(super) inside: Vec<bool>,
}

/// Events that hold above a threshold.
pub(super) struct Line {
    name: String,
    threshold: f64,
    of: Of,
}

enum Of {
    /// The expansion of a score, before any offset.
    Expansion(usize),
    /// A feature of the points.
    Feature(usize),
}

impl Line {
    /// The lines of every score and of features that are numbers, at the medians of the reference rows.
    ///
    /// What is constant there has none.
    pub(super) fn all(
        model: &Model,
        table: &[Column],
        reference: &[usize],
        points: &Points,
        watch: &Watch,
    ) -> Result<Vec<Self>> {
        let mut lines = Vec::new();
        for (k, scorer) in model.scorers.iter().enumerate() {
            let h = scorer.expansion_at(points, watch)?;
            if let Some(threshold) = median(&h) {
                lines.push(Self {
                    name: format!(
                        "score of the projected row{} >= {}",
                        suffix(model, k),
                        brief(threshold)
                    ),
                    threshold,
                    of: Of::Expansion(k),
                });
            }
        }
        let mut at = 0;
        let mut features = Vec::new();
        for name in model.encoder.columns() {
            match model.encoder.levels(name) {
                None => {
                    features.push((name, at));
                    at += 1;
                }
                Some(levels) => at += levels.len(),
            }
        }
        for (name, at) in features.into_iter().take(MOST_FEATURES) {
            let values: Vec<f64> = (0..points.len()).map(|i| points.row(i)[at]).collect();
            let Some(threshold) = median(&values) else {
                continue;
            };
            // In the unit of the table: the encoding keeps the order.
            let shown = match &find(table, name)?.values {
                Values::Numbers(raw) => {
                    median(&reference.iter().map(|&row| raw[row]).collect::<Vec<_>>())
                }
                Values::Categories { .. } => None,
            };
            lines.push(Self {
                name: format!(
                    "{name} of the projected row >= {}",
                    brief(shown.unwrap_or(threshold))
                ),
                threshold,
                of: Of::Feature(at),
            });
        }
        Ok(lines)
    }

    /// The event at these points.
    pub(super) fn at(&self, model: &Model, points: &Points, watch: &Watch) -> Result<Event> {
        let inside = match self.of {
            Of::Expansion(k) => {
                let h = model.scorers[k].expansion_at(points, watch)?;
                h.iter().map(|h| *h >= self.threshold).collect()
            }
            Of::Feature(at) => {
                let rows = 0..points.len();
                rows.map(|i| points.row(i)[at] >= self.threshold).collect()
            }
        };
        Ok(Event {
            name: self.name.clone(),
            threshold: Some(self.threshold),
            inside,
        })
    }
}

/// The decisions of a model: a class, or a score above the median of the reference rows.
pub(super) fn decisions(
    model: &Model,
    reference: &[Prediction],
    evaluation: &[Prediction],
) -> Vec<Event> {
    let Some(classes) = &model.classes else {
        let scores = reference.iter().zip(evaluation).filter_map(|(known, new)| {
            let threshold = median(&known.scores)?;
            Some(Event {
                name: format!("score >= {}", brief(threshold)),
                threshold: Some(threshold),
                inside: new.scores.iter().map(|score| *score >= threshold).collect(),
            })
        });
        return scores.collect();
    };
    let rows = evaluation.first().map_or(0, |one| one.scores.len());
    let decided: Vec<usize> = (0..rows)
        .map(|row| {
            let scores: Vec<f64> = evaluation.iter().map(|one| one.scores[row]).collect();
            classes.decide(&scores)
        })
        .collect();
    let asked = if classes.labels.len() == 2 {
        1..2
    } else {
        0..classes.labels.len()
    };
    asked
        .map(|class| Event {
            name: format!("decided `{}`", classes.labels[class]),
            threshold: None,
            inside: decided.iter().map(|found| *found == class).collect(),
        })
        .collect()
}

/// What a score is for, where there are several.
fn suffix(model: &Model, k: usize) -> String {
    match &model.classes {
        Some(classes) if model.scorers.len() > 1 => format!(" for `{}`", classes.labels[k]),
        _ => String::new(),
    }
}

/// The name of a score: the target, or its class.
pub(super) fn score_name(model: &Model, k: usize) -> String {
    format!("{}{}", model.card.target, suffix(model, k))
}

/// The name of an event of Z: a score of oblivious features, from a threshold on.
pub(super) fn oblivious_score(model: &Model, k: usize, threshold: f64) -> String {
    format!(
        "score of the oblivious feature{} >= {}",
        suffix(model, k),
        brief(threshold)
    )
}

/// The median; the next larger value if that is the least, and none of equal values.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (middle, least) = (sorted.get(sorted.len() / 2)?, sorted.first()?);
    sorted.iter().find(|v| *v >= middle && *v > least).copied()
}

/// Edges of ten bins with as many of these values each, as far as they differ.
pub(super) fn deciles(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut edges: Vec<f64> = (1..10).map(|k| sorted[k * sorted.len() / 10]).collect();
    edges.dedup();
    edges
}

/// Four significant digits.
fn brief(value: f64) -> String {
    format!("{value:.3e}").parse().unwrap_or(value).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_leave_rows_on_both_sides() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[0.0, 0.0, 0.0, 1.0]), Some(1.0));
        assert_eq!(median(&[4.0, 4.0]), None);
        assert_eq!(median(&[]), None);
        assert_eq!(deciles(&[1.0; 20]), [1.0]);
        assert_eq!(brief(1234.567), "1235");
    }
}
