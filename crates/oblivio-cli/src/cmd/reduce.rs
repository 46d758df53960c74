//! `oblivio inspect --reduce`

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table as Grid, presets};
use oblivio::model::{Loss, Reduce, Reduction};
use oblivio::{Model, Watch};
use rayon::ThreadPool;
use serde_json::json;

use super::inspect;
use crate::report::{self, counted, number};
use crate::table;

#[derive(clap::Args)]
// Flattened into the arguments of `inspect`, whose group has the name of their type.
#[group(id = "reduction")]
pub(crate) struct Args {
    /// Write the model on so many landmarks among its points, and say what that costs
    #[arg(long, value_name = "K", requires = "output")]
    reduce: Option<usize>,
    /// Where to write the reduced model
    #[arg(short, long, value_name = "FILE", requires = "reduce")]
    output: Option<PathBuf>,
    /// Seed of the choice of landmarks
    #[arg(long, default_value_t = 0, requires = "reduce")]
    seed: u64,
    /// What the model's history will say of the time, such as 2026-01-31
    #[arg(long, value_name = "TEXT", requires = "reduce")]
    date: Option<String>,
}

impl Args {
    pub(crate) fn is_asked(&self) -> bool {
        self.reduce.is_some()
    }
}

/// A reduced model's place and its size in bytes, before and now.
struct Written<'a> {
    place: &'a Path,
    bytes: (usize, usize),
}

pub(crate) fn run(args: &inspect::Args, model: &Model, pool: &ThreadPool) -> Result<()> {
    let asked = &args.reduce;
    let (Some(landmarks), Some(place)) = (asked.reduce, &asked.output) else {
        return Ok(());
    };
    table::keep_apart(place, &[&args.model])?;
    table::check_place(place)?;
    let to = Reduce {
        landmarks,
        seed: asked.seed,
    };
    let (small, reduction) = pool
        .install(|| model.reduce(to, asked.date.clone(), &Watch::default()))
        .with_context(|| args.model.display().to_string())?;
    let bytes = small.to_bytes()?;
    let written = Written {
        place,
        bytes: (model.to_bytes()?.len(), bytes.len()),
    };
    table::write_bytes(place, &bytes)?;
    if model.predictor().intervals().is_some() {
        report::remark(format_args!(
            "note: the reduced model has no intervals, for those of {} are of its own scores",
            args.model.display()
        ));
    }
    let says = |out: &mut dyn Write| -> std::io::Result<()> {
        if args.json {
            writeln!(out, "{:#}", as_json(&reduction, &written))
        } else {
            print(&small, &reduction, &written, out)
        }
    };
    // Where the model goes to standard output, the report must not mix with it.
    if place.as_os_str() == "-" {
        Ok(says(&mut std::io::stderr())?)
    } else {
        report::to_stdout(says)
    }
}

fn as_json(reduction: &Reduction, written: &Written) -> serde_json::Value {
    json!({
        "reduction": reduction,
        "bytes-before": written.bytes.0,
        "bytes-now": written.bytes.1,
    })
}

fn print(
    model: &Model,
    reduction: &Reduction,
    written: &Written,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    writeln!(
        out,
        "reduced from {} to {}, model written to {}",
        counted(reduction.points, "point"),
        counted(reduction.landmarks, "landmark"),
        written.place.display()
    )?;
    let (before, now) = written.bytes;
    writeln!(out, "  {now} bytes in place of {before}\n")?;
    let mut grid = Grid::new();
    grid.load_style(presets::NOTHING);
    grid.set_header(["score", "spread", "rms", "largest", "bound"]);
    for (k, loss) in reduction.scores.iter().enumerate() {
        grid.add_row(line(report::decision(model, k), loss));
    }
    for loss in &reduction.fallback {
        grid.add_row(line("fallback".into(), loss));
    }
    for column in grid.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in grid.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    writeln!(
        out,
        "  rms and largest: how far scores at the points have moved, beside their spread; bound: how far any like them can have"
    )?;
    if model.predictor().offsets().is_some() {
        writeln!(
            out,
            "  offsets stay as they were, so that the mean of a cell may be off by as much as the bound: `oblivio refresh` renews them"
        )?;
    }
    Ok(())
}

fn line(name: String, loss: &Loss) -> [String; 5] {
    [
        name,
        number(loss.spread),
        number(loss.root_mean_square),
        number(loss.largest),
        number(loss.bound),
    ]
}
