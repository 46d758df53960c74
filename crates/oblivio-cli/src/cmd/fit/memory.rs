//! Fits with all rows in memory: the exact path with its matrix of their pairs, and landmarks where intervals need fits to parts of the
//! table.

use anyhow::{Result, bail, ensure};
use oblivio::fit::PathGrid;
use oblivio::intervals::IntervalSource;
use oblivio::model::Labels;
use oblivio::{Mode, Model, Settings};
use oblivio_base::Encoding;
use oblivio_kernels::learn::{Learner, Solver};
use rayon::ThreadPool;

use super::columns::Columns;
use super::{Args, Fitted, stream};
use crate::cmd::stream::placed;
use crate::progress::watched;
use crate::report;
use crate::table::Source;

pub(super) fn fit(
    args: &Args,
    settings: &Settings,
    encoding: Encoding,
    source: &Source,
    columns: &Columns,
    pool: &ThreadPool,
) -> Result<Fitted> {
    let finds_penalty = args.settings.values.finds_penalty();
    let mut rows = columns.rows(&source.table_of(&columns.names())?)?;
    columns.check_positive(rows.has_positive, source)?;
    say_dropped(rows.dropped, source.rows())?;
    if let Some(size) = args.sample {
        let all: Vec<usize> = (0..rows.len()).collect();
        rows = rows.select(&oblivio_base::random::sample(&all, size, settings.seed));
    }
    let mut settings = settings.clone();
    match settings.components {
        Some(components) => stream::check_memory(components)?,
        None => check_memory(rows.len(), &mut settings, finds_penalty)?,
    }
    let settings = &settings;
    let Some(target) = &rows.target else {
        // Without a target the fit is of features, on landmarks.
        anyhow::bail!("there is no target to predict; give --target");
    };
    let (settings, path) = if finds_penalty && settings.components.is_none() {
        let grid = PathGrid::usual(settings.strength);
        let path = watched(pool, |watch| {
            Model::path(rows.roles(target, None), encoding, settings, &grid, watch)
        })
        .map_err(|error| placed(error, source))?;
        (path.settings, path.points)
    } else {
        (settings.clone(), Vec::new())
    };
    let labels = settings
        .learner
        .classifies()
        .then(|| columns.labels(Labels::of(target)));
    let (model, summaries) = watched(pool, |watch| {
        Model::fit(
            rows.roles(target, labels.as_ref()),
            encoding,
            &settings,
            watch,
        )
    })
    .map_err(|error| placed(error, source))?;
    Ok(Fitted {
        model,
        summaries,
        path,
    })
}

/// Rows that were left out, and that some are left.
pub(in crate::cmd) fn say_dropped(dropped: usize, rows: usize) -> Result<()> {
    ensure!(
        dropped < rows,
        "no row is left after leaving out those with missing values"
    );
    if dropped > 0 {
        report::remark(format_args!(
            "note: {dropped} of {rows} rows have missing values and are left out"
        ));
    }
    Ok(())
}

/// Compares what the fit needs with what is free, before anything is allocated. Ridge regression can do without its matrix, and a
/// support vector machine holds only some of its rows.
pub(in crate::cmd) fn check_memory(
    rows: usize,
    settings: &mut Settings,
    finds_penalty: bool,
) -> Result<()> {
    let number = rows as f64;
    let Some(free) = super::free_memory() else {
        return Ok(());
    };
    // The matrix in double precision and its factor in single.
    let needed = 12.0 * number * number;
    let matrix_free = match settings.learner {
        Learner::Svm => true,
        Learner::Logistic => false,
        Learner::Ridge => {
            let possible = settings.mode != Mode::MOblivious
                && !finds_penalty
                && settings.intervals != Some(IntervalSource::Loo);
            possible && matches!(settings.solver, Solver::Auto | Solver::Pcg)
        }
    };
    if needed < 0.9 * free {
        return Ok(());
    }
    if matrix_free {
        if settings.learner == Learner::Ridge && settings.solver == Solver::Auto {
            settings.solver = Solver::Pcg;
            report::remark(format_args!(
                "note: the kernel matrix of {rows} rows would need {:.1} GB and {:.1} GB are free: solving without it (--solver pcg)",
                needed / 1e9,
                free / 1e9
            ));
        }
        return Ok(());
    }
    let affordable = (0.8 * free / 12.0).sqrt() / 100.0;
    bail!(
        "an exact fit on {rows} rows needs {:.1} GB of memory and {:.1} GB are free; fit on landmarks with --components 1000, or on fewer rows with --sample {:.0}00",
        needed / 1e9,
        free / 1e9,
        affordable.floor(),
    );
}
