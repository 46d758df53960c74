//! `make reproduce`: repeats the experiments of the paper and says whether the results agree with what is expected.

mod bounds;
mod classification;
mod dependence;
mod drawing;
mod figure;
mod gaussian;
mod oblivious_data;
mod progress;
mod rates;
mod ridge;
mod ruler;
mod statistics;
mod uncorrelated;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use oblivio::{Column, Points, Sensitive, Values};
use oblivio_cli::program::{self, Sink};
use rayon::ThreadPool;
use rayon::prelude::*;
use serde_json::json;

use self::figure::Figure;
use self::progress::StepBar;

/// Repeat the paper's experiments and judge the results
///
/// Writes the numbers of each as CSV and a figure as SVG and PNG, and says how they compare with what is expected: closed forms where there are any.
/// A verdict that does not hold is a result, not an error: the exit code stays 0.
#[derive(Parser)]
#[command(name = "reproduce", max_term_width = 100)]
struct Args {
    /// Which experiment
    #[arg(default_value = "all")]
    experiment: Choice,
    /// Folder for the results; it is made if need be
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Whose constants: those of the paper's text, or of the authors' code
    #[arg(long, default_value = "paper")]
    variant: Variant,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How often each experiment is repeated, with new data: at least twice, for there is no error of one
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..))]
    repetitions: u32,
    /// Let FERM leave this gap between the groups' means of the score, as the paper's constraint does, in place of none: the
    /// classification experiment alone has it
    #[arg(long, value_name = "GAP")]
    epsilon: Option<f64>,
    /// Print the verdicts as JSON
    #[arg(long)]
    json: bool,
    /// Threads to use (default: one per core)
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Choice {
    #[value(name = "ridge-1")]
    Ridge1,
    #[value(name = "ridge-2")]
    Ridge2,
    Classification,
    Uncorrelated,
    Gaussian,
    Rates,
    ObliviousData,
    Bounds,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Variant {
    Paper,
    Authors,
}

/// What every experiment is given.
struct Run<'r> {
    variant: Variant,
    seed: u64,
    repetitions: usize,
    /// The gap that FERM may leave; none for 0.
    epsilon: Option<f64>,
    pool: &'r ThreadPool,
}

/// What an experiment found.
struct Findings {
    numbers: Vec<Column>,
    figure: Figure,
    verdict: Verdict,
}

/// Whether a run agrees with what is expected, in one sentence with the numbers that decide.
struct Verdict {
    holds: bool,
    sentence: String,
}

fn main() {
    let args = Args::parse();
    std::process::exit(program::run(|| reproduce(&args)));
}

fn reproduce(args: &Args) -> Result<()> {
    let pool = &program::thread_pool(args.threads)?;
    let folder = args.output.as_path();
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{}: the folder cannot be made", folder.display()))?;
    program::check_place(&folder.join("verdicts.csv"))?;
    let run = Run {
        variant: args.variant,
        seed: args.seed,
        repetitions: args.repetitions as usize,
        epsilon: args.epsilon,
        pool,
    };
    let mut verdicts = Vec::new();
    for (name, experiment) in args.experiment.list() {
        let Findings {
            numbers,
            figure,
            verdict,
        } = experiment(&run)?;
        save(&folder.join(format!("{name}.csv")), &numbers)?;
        drawing::write(&figure, folder, name)?;
        if !args.json {
            program::print(&format!("{name}: {verdict}"))?;
        }
        verdicts.push((name, verdict));
    }
    save(&folder.join("verdicts.csv"), &as_columns(&verdicts))?;
    if args.json {
        program::print_json(&as_json(&run, &verdicts))?;
    }
    Ok(())
}

type Experiment = fn(&Run) -> Result<Findings>;

impl Choice {
    fn list(self) -> Vec<(&'static str, Experiment)> {
        let every: [(Self, &'static str, Experiment); 8] = [
            (Self::Ridge1, "ridge-1", |run| {
                ridge::reproduce(run, ridge::Which::One)
            }),
            (Self::Ridge2, "ridge-2", |run| {
                ridge::reproduce(run, ridge::Which::Two)
            }),
            (
                Self::Classification,
                "classification",
                classification::reproduce,
            ),
            (Self::Uncorrelated, "uncorrelated", uncorrelated::reproduce),
            (Self::Gaussian, "gaussian", gaussian::reproduce),
            (Self::Rates, "rates", rates::reproduce),
            (
                Self::ObliviousData,
                "oblivious-data",
                oblivious_data::reproduce,
            ),
            (Self::Bounds, "bounds", bounds::reproduce),
        ];
        every
            .into_iter()
            .filter(|(choice, ..)| self == Self::All || *choice == self)
            .map(|(_, name, experiment)| (name, experiment))
            .collect()
    }
}

impl Run<'_> {
    /// Does every job in the pool, with a bar on a terminal; the results keep the jobs' order.
    fn each<J: Sync, T: Send>(
        &self,
        stage: &'static str,
        jobs: &[J],
        work: impl Fn(&J) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let bar = StepBar::new(stage, jobs.len());
        self.pool.install(|| {
            let done = jobs.par_iter().map(|job| {
                let result = work(job);
                bar.advance();
                result
            });
            done.collect()
        })
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        let word = if self.holds { "agrees" } else { "differs" };
        write!(out, "{word}: {}", self.sentence)
    }
}

fn save(path: &Path, columns: &[Column]) -> Result<()> {
    let mut sink = Sink::create(path)?;
    sink.write(columns)?;
    sink.finish()
}

fn as_columns(verdicts: &[(&str, Verdict)]) -> Vec<Column> {
    let word = |holds| Some(if holds { "yes" } else { "no" });
    vec![
        Column::texts("experiment", verdicts.iter().map(|(name, _)| Some(*name))),
        Column::texts("agrees", verdicts.iter().map(|(_, v)| word(v.holds))),
        Column::texts(
            "verdict",
            verdicts.iter().map(|(_, v)| Some(v.sentence.as_str())),
        ),
    ]
}

fn as_json(run: &Run, verdicts: &[(&str, Verdict)]) -> serde_json::Value {
    let each = |(name, verdict): &(&str, Verdict)| json!({"experiment": name, "agrees": verdict.holds, "verdict": verdict.sentence});
    json!({
        "variant": format!("{:?}", run.variant).to_lowercase(),
        "seed": run.seed,
        "repetitions": run.repetitions,
        "verdicts": verdicts.iter().map(each).collect::<Vec<_>>(),
    })
}

/// A column of numbers, for a table of results.
fn numbers<T>(name: &str, rows: &[T], value: impl Fn(&T) -> f64) -> Column {
    Column::numbers(name, rows.iter().map(value).collect())
}

/// A column of words.
fn words<T>(name: &str, rows: &[T], value: impl Fn(&T) -> &'static str) -> Column {
    Column::texts(name, rows.iter().map(|row| Some(value(row))))
}

/// The numbers of a simulated column.
fn values(column: &Column) -> Result<&[f64]> {
    match &column.values {
        Values::Numbers(values) => Ok(values),
        Values::Categories { .. } => anyhow::bail!("column `{}` holds no numbers", column.name),
    }
}

/// Points of one feature.
fn on_a_line(values: &[f64]) -> Result<Points<'static>> {
    Ok(Points::new(values.to_vec(), 1)?)
}

/// One sensitive column.
fn sensitive(values: &[f64]) -> Result<Sensitive> {
    let column = Column::numbers("s", values.to_vec());
    Ok(Sensitive::new(vec![column], values.len())?)
}
