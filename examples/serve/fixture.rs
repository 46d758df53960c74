//! A small table and a model of it, for the tests.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use oblivio::{Column, Model, Roles, Settings, Watch};
use oblivio_base::Scaling;
use oblivio_kernels::learn::Learner;

pub(crate) const ROWS: usize = 40;

pub(crate) fn table() -> Vec<Column> {
    let wave = |pace: f64| -> Vec<f64> { (0..ROWS).map(|i| (i as f64 * pace).sin()).collect() };
    let text = |name: &str, levels: [&'static str; 2], period: usize| {
        Column::texts(name, (0..ROWS).map(|i| Some(levels[i / period % 2])))
    };
    vec![
        Column::numbers("hours", wave(1.7)),
        text("school", ["home", "public"], 3),
        text("sex", ["F", "M"], 1),
        Column::numbers("y", wave(0.9)),
        text("passed", ["no", "yes"], 2),
    ]
}

pub(crate) fn model(learner: Learner) -> Model {
    let table = table();
    let target = if learner.classifies() { 4 } else { 3 };
    let roles = Roles {
        features: &table[..2],
        sensitive: &table[2..3],
        target: &table[target],
        labels: None,
        weights: None,
    };
    let settings = Settings {
        learner,
        ..Settings::default()
    };
    let fit = Model::fit(roles, Scaling::Standard, &settings, &Watch::default());
    fit.unwrap().0
}
