//! `oblivio simulate`

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::builder::PossibleValue;
use oblivio_simulate::{GaussianParameters, GradesParameters, RidgeParameters, Simulation};

use crate::progress::RowBar;
use crate::table::Sink;

/// Write a simulated table
///
/// The data of the paper's experiments, or a realistic one. It may be larger than memory.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which data; ridge is ridge-1
    #[arg(value_parser = names())]
    name: String,
    /// Rows to write
    #[arg(long, value_name = "N", default_value_t = 1000)]
    rows: usize,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Where to write the table: .parquet, or else CSV; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// ridge: the share of X that is not S, from 0 to 1 (the paper's gamma)
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    mix: Option<f64>,
    /// ridge: variance of the noise
    #[arg(long, value_name = "VARIANCE", allow_negative_numbers = true)]
    noise_variance: Option<f64>,
    /// grades: the threshold theta
    #[arg(long, value_name = "THETA", allow_negative_numbers = true)]
    threshold: Option<f64>,
    /// gaussian: the covariance of X and S
    #[arg(long, value_name = "C", allow_hyphen_values = true)]
    covariance: Option<f64>,
    /// Take the constants of the authors' code where they differ from the paper's text
    #[arg(long)]
    authors_code: bool,
    /// Write the columns no observer would have, too, such as labels without error
    #[arg(long)]
    hidden: bool,
}

/// The names of the simulations; `ridge` is one more for the first.
fn names() -> Vec<PossibleValue> {
    let alias = |name| match name {
        "ridge-1" => PossibleValue::new(name).alias("ridge"),
        _ => PossibleValue::new(name),
    };
    Simulation::NAMES.map(alias).to_vec()
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let simulation = args.simulation()?;
    let mut sink = Sink::create(&args.output)?;
    let bar = if sink.is_terminal() {
        RowBar::hidden()
    } else {
        RowBar::new("simulating", args.rows)
    };
    for batch in simulation.batches(args.rows, args.seed) {
        let mut table = batch?;
        let rows = table.rows();
        if !args.hidden {
            table.hidden.clear();
        }
        let parts = [table.sensitive, table.features, table.targets, table.hidden];
        sink.write(&parts.concat())?;
        bar.advance(rows);
        if !sink.is_heard() {
            return Ok(());
        }
    }
    sink.finish()?;
    bar.finish();
    Ok(())
}

impl Args {
    fn simulation(&self) -> Result<Simulation> {
        let mut simulation = Simulation::from_name(&self.name)?;
        if self.authors_code {
            match &mut simulation {
                Simulation::Ridge1(p) | Simulation::Ridge2(p) => {
                    *p = RidgeParameters::authors_code();
                }
                Simulation::Grades(p) => *p = GradesParameters::authors_code(),
                _ => bail!(
                    "{} is the same in the authors' code; leave --authors-code out",
                    self.name
                ),
            }
        }
        let given = [
            ("--mix", self.mix),
            ("--noise-variance", self.noise_variance),
            ("--threshold", self.threshold),
            ("--covariance", self.covariance),
        ];
        for (flag, value) in given.into_iter().filter_map(|(flag, v)| Some((flag, v?))) {
            match (&mut simulation, flag) {
                (Simulation::Ridge1(p) | Simulation::Ridge2(p), "--mix") => p.mix = value,
                (Simulation::Ridge1(p) | Simulation::Ridge2(p), "--noise-variance") => {
                    p.noise_variance = value;
                }
                (Simulation::Grades(p), "--threshold") => p.threshold = value,
                (Simulation::Gaussian(GaussianParameters { covariance }), "--covariance") => {
                    *covariance = value;
                }
                _ => bail!("{} has no {flag}; leave it out", self.name),
            }
        }
        Ok(simulation)
    }
}
