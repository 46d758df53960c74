//! The explicit path: with every row a landmark it is the exact path, and its moments add up.
#![allow(
    clippy::unwrap_used,
    reason = "what cannot be unwrapped is a failed test"
)]

mod common;

use std::sync::Arc;

use common::{CUTS, Cut, Table, apart, settings, size, watch};
use oblivio::learn::{Intercept, Ridge, Solver};
use oblivio::{
    Batch, Column, Components, Error, Mode, Moments, Named, Plan, Points, Reference, Selection,
    Sensitive, SensitiveRows, Settings, Training, correlation_ratio,
};
use proptest::prelude::*;

const MODES: [Mode; 3] = [Mode::Plain, Mode::Oblivious, Mode::MOblivious];

fn explicit(settings: &Settings, count: usize) -> Settings {
    Settings {
        components: Some(Components::new(count)),
        ..settings.clone()
    }
}

/// Relative to the size of the scores.
fn differ(table: &Table, a: &Settings, b: &Settings, cut: Cut) -> f64 {
    let a = table.scores(&table.fit(a, cut), cut);
    let b = table.scores(&table.fit(b, cut), cut);
    apart(&a, &b) / size(&a)
}

#[test]
fn with_every_row_a_landmark_it_is_the_exact_path() {
    for (seed, kernel) in [
        "rbf(gamma=0.3)",
        "laplacian(gamma=0.3)",
        "matern52(gamma=0.5)",
        "linear",
        "poly(degree=2, gamma=0.3, coef0=1)",
        "0.5 * rbf(gamma=1) + linear",
    ]
    .iter()
    .enumerate()
    {
        for weigh in [false, true] {
            let table = Table::new(60, 2, seed as u64);
            let table = if weigh { table.weighted(7) } else { table };
            for mode in MODES {
                for reference in [Reference::All, Reference::Half] {
                    for intercept in [Intercept::None, Intercept::Fitted] {
                        let exact = Settings {
                            mode,
                            reference: reference.clone(),
                            intercept,
                            strength: 0.8,
                            ..settings(kernel)
                        };
                        for cut in CUTS {
                            let apart = differ(&table, &exact, &explicit(&exact, 60), cut);
                            assert!(
                                apart < 1e-8,
                                "{kernel} {mode:?} {reference:?} {intercept:?} {cut:?}: {apart}"
                            );
                        }
                    }
                }
            }
        }
    }
}
