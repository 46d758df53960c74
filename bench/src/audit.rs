//! The measures of an audit: HSIC exact and on landmarks, and distance correlation.

use std::path::Path;

use oblivio::sensitive::Kind;
use oblivio::{Column, Result, Watch};
use oblivio_audit::{HsicSettings, HsicSide, Resampling, distance_correlation, hsic};

use crate::{least, numbers, say};

/// Two columns that depend on each other, of so many rows.
fn columns(folder: &Path, rows: usize) -> [Vec<f64>; 2] {
    ["audit_x", "audit_s"].map(|name| {
        let mut values = numbers(&folder.join(format!("{name}.f64")));
        values.truncate(rows);
        values
    })
}

fn seconds(folder: &Path, rows: usize, settings: &HsicSettings, draws: usize) -> Result<f64> {
    let [x, s] = columns(folder, rows);
    let columns = [Column::numbers("x", x), Column::numbers("s", s)];
    let watch = Watch::default();
    let resampling = Resampling {
        permutations: draws,
        ..Resampling::default()
    };
    least(2, || {
        let side = |column: &Column| {
            let column = std::slice::from_ref(column);
            HsicSide::new(column, &[Kind::Continuous], None, settings, &watch)
        };
        hsic(
            &side(&columns[0])?,
            &side(&columns[1])?,
            &resampling,
            &watch,
        )
    })
}

pub(crate) fn run(folder: &Path) -> Result<()> {
    let settings = HsicSettings::default();
    say("hsic n=5000", seconds(folder, 5000, &settings, 200)?);
    say(
        "hsic n=1000000",
        seconds(folder, 1_000_000, &settings, 200)?,
    );
    let [x, s] = columns(folder, 100_000);
    let few = Resampling {
        permutations: 19,
        resamples: 19,
        ..Resampling::default()
    };
    say(
        "distance correlation n=100000",
        least(2, || {
            distance_correlation(&x, &s, None, &few, &Watch::default())
        })?,
    );
    Ok(())
}
