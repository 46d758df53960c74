//! Runs cases one after the other and keeps their results.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::engine::{
    Model, Prediction, PredictionInterval, Result, Settings, Summary, Uses, Watch,
};
use super::record::{Outcome, Record, Values};
use super::table::new_rows;

/// The cases so far.
pub struct Cases {
    pub record: Record,
}

impl Default for Cases {
    fn default() -> Self {
        let threads = env::var("RAYON_NUM_THREADS");
        Self {
            record: Record {
                threads: threads.unwrap_or_else(|_| "not set".into()),
                ..Record::default()
            },
        }
    }
}

impl Cases {
    /// Runs a case. A panic is a result, so that the other cases are not lost.
    pub fn run(&mut self, name: impl Into<String>, case: impl FnOnce(&mut Values) -> Result<()>) {
        let name = name.into();
        let mut values = Values::default();
        let outcome = match catch_unwind(AssertUnwindSafe(|| case(&mut values))) {
            Ok(Ok(())) => Outcome::Values(values),
            Ok(Err(error)) => Outcome::Refused(error.to_string()),
            Err(_) => Outcome::Refused("panicked".into()),
        };
        let earlier = self.record.cases.insert(name.clone(), outcome);
        assert!(earlier.is_none(), "two cases are called {name}");
    }

    /// Whether the settings of a case pass; keeps its name if they do not.
    pub fn passes(&mut self, name: &str, settings: &Settings) -> bool {
        let passes = settings.check().is_ok();
        if !passes {
            self.record.skipped.insert(name.to_owned());
        }
        passes
    }
}

pub fn watch() -> Watch {
    Watch::default()
}

/// The file of a model, and its predictions for new rows before and after a round trip.
pub fn model(values: &mut Values, model: &Model) -> Result<()> {
    let bytes = model.to_bytes()?;
    values.file("model", &bytes);
    let table = new_rows(model_missing(model));
    let predictions = model.predict(&table, &watch())?;
    let again = Model::from_bytes(&bytes)?.predict(&table, &watch())?;
    for (k, (prediction, again)) in predictions.iter().zip(&again).enumerate() {
        add_prediction(values, &k.to_string(), prediction);
        let bits = |p: &Prediction| p.scores.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(prediction), bits(again), "after a round trip");
    }
    if let Some(classes) = &model.classes {
        values.numbers("thresholds", &classes.thresholds);
    }
    Ok(())
}

/// Whether a model takes rows that miss a sensitive value.
fn model_missing(model: &Model) -> bool {
    let trial = new_rows(true);
    model.predict(&trial, &watch()).is_ok()
}

/// Scores before and after the second stage, and uses of policies.
pub fn add_prediction(values: &mut Values, name: &str, prediction: &Prediction) {
    values.numbers(&format!("before {name}"), &prediction.before);
    values.numbers(&format!("scores {name}"), &prediction.scores);
    values.numbers(&format!("uses {name}"), &counts(prediction.uses));
}

pub fn counts(uses: Uses) -> Vec<f64> {
    let counts = [
        uses.empty_cell,
        uses.unseen_category,
        uses.out_of_range,
        uses.missing,
        uses.sensitive_free,
        uses.unseen_level,
    ];
    counts.map(|count| count as f64).to_vec()
}

/// Error, baseline, means of cells and dependence of a fit.
pub fn add_summary(values: &mut Values, name: &str, summary: &Summary) {
    let mut numbers = vec![summary.error, summary.spread];
    for cell in &summary.cells {
        numbers.extend([cell.rows as f64, cell.before, cell.after]);
    }
    if let Some(dependence) = summary.dependence {
        numbers.extend([dependence.before, dependence.after, dependence.expected]);
    }
    values.numbers(&format!("summary {name}"), &numbers);
}

pub fn add_interval(values: &mut Values, interval: &PredictionInterval) {
    values.numbers("lower ends", &interval.lower);
    values.numbers("upper ends", &interval.upper);
}
