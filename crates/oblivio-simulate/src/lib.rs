//! Simulated tables: the data of the paper's experiments, and one realistic table.
//!
//! Rows are drawn one after the other from one generator, so a table is the beginning of every longer table with the
//! same seed, and batches are its pieces. The stream is part of the contract: the same seed gives the same table in every version.
//!
//! It imports `oblivio-base` alone: tables do not depend on the use that is made of them.
//!
//! ```
//! use oblivio_simulate::Simulation;
//!
//! let table = Simulation::from_name("grades")?.table(100, 7)?;
//! assert_eq!(table.rows(), 100);
//! # Ok::<(), oblivio_base::Error>(())
//! ```

pub mod admissions;
mod examples;
mod grades;
mod ridge;

use std::iter;

use oblivio_base::{Column, Error, Result, random};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

pub use self::examples::GaussianParameters;
pub use self::grades::GradesParameters;
pub use self::ridge::RidgeParameters;

/// Rows of a batch.
const BATCH: usize = 8192;

/// Which data, with its parameters. By default they are those of the paper's text.
///
/// ```
/// use oblivio_simulate::{RidgeParameters, Simulation};
/// let table = Simulation::from_name("admissions")?.table(500, 7)?;
/// let names: Vec<&str> = table.sensitive.iter().map(|column| column.name.as_str()).collect();
/// assert_eq!(names, ["sex", "region", "age"]);
///
/// let weaker = RidgeParameters { mix: 0.9, ..RidgeParameters::authors_code() };
/// let table = Simulation::Ridge1(weaker).table(500, 7)?;
/// assert_eq!(table.rows(), 500);
/// # Ok::<(), oblivio_base::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Simulation {
    /// Experiment 1 of ridge regression: S acts on Y through X only.
    Ridge1(RidgeParameters),
    /// Experiment 2 of ridge regression: S acts on Y directly, too.
    Ridge2(RidgeParameters),
    /// The grades of the classification experiment.
    Grades(GradesParameters),
    /// $X = S + U$ with S uniform on \[0, 1\], U on \[−½, ½\], and $h(x) = x^2$ (figure on uncorrelated features).
    UncorrelatedSquare,
    /// $X = S + U$ with S uniform on \[0, 2π\], U on \[0, π/2\], and $h(x) = \sin x$ (same figure).
    UncorrelatedSine,
    /// A standard normal pair: the example in which the linear kernel makes Z and S independent.
    Gaussian(GaussianParameters),
    /// University applicants with text columns and mixed S, made as [`admissions`] says. Not in the paper.
    Admissions,
}

/// A table whose columns are known by what they are for.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedTable {
    /// S
    pub sensitive: Vec<Column>,
    /// X
    pub features: Vec<Column>,
    /// Y, one column for each task the table is made for.
    pub targets: Vec<Column>,
    /// What no observer would have, such as labels without error. A learner must not see it.
    pub hidden: Vec<Column>,
}

impl Simulation {
    /// Every name that [`from_name`](Self::from_name) reads.
    pub const NAMES: [&'static str; 7] = [
        "ridge-1",
        "ridge-2",
        "grades",
        "uncorrelated-square",
        "uncorrelated-sine",
        "gaussian",
        "admissions",
    ];

    /// The simulation of this name, with its default parameters; `ridge` is `ridge-1`.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "ridge" | "ridge-1" => Ok(Self::Ridge1(RidgeParameters::default())),
            "ridge-2" => Ok(Self::Ridge2(RidgeParameters::default())),
            "grades" => Ok(Self::Grades(GradesParameters::default())),
            "uncorrelated-square" => Ok(Self::UncorrelatedSquare),
            "uncorrelated-sine" => Ok(Self::UncorrelatedSine),
            "gaussian" => Ok(Self::Gaussian(GaussianParameters::default())),
            "admissions" => Ok(Self::Admissions),
            _ => Err(Error::InvalidParameter {
                name: "simulation",
                expected: "ridge-1, ridge-2, grades, uncorrelated-square, uncorrelated-sine, gaussian or admissions",
                value: name.to_owned(),
            }),
        }
    }

    /// The name that [`from_name`](Self::from_name) reads.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ridge1(_) => "ridge-1",
            Self::Ridge2(_) => "ridge-2",
            Self::Grades(_) => "grades",
            Self::UncorrelatedSquare => "uncorrelated-square",
            Self::UncorrelatedSine => "uncorrelated-sine",
            Self::Gaussian(_) => "gaussian",
            Self::Admissions => "admissions",
        }
    }

    /// Draws a table. With fewer rows and the same seed it is the beginning of this one.
    pub fn table(&self, rows: usize, seed: u64) -> Result<SimulatedTable> {
        self.next(&mut Sampler::new(seed), rows)
    }

    /// The rows of [`table`](Self::table) in pieces, for tables larger than memory. Nothing follows an error.
    ///
    /// A column of text has its levels numbered anew in every batch.
    ///
    /// ```
    /// use oblivio_simulate::Simulation;
    /// let batches = Simulation::Admissions.batches(20_000, 7);
    /// let rows: usize = batches.map(|batch| Ok(batch?.rows())).sum::<oblivio_base::Result<usize>>()?;
    /// assert_eq!(rows, 20_000);
    /// # Ok::<(), oblivio_base::Error>(())
    /// ```
    pub fn batches(
        &self,
        rows: usize,
        seed: u64,
    ) -> impl Iterator<Item = Result<SimulatedTable>> + use<> {
        self.batches_of(BATCH, rows, seed)
    }

    fn batches_of(
        self,
        size: usize,
        rows: usize,
        seed: u64,
    ) -> impl Iterator<Item = Result<SimulatedTable>> {
        let mut sampler = Sampler::new(seed);
        // A table without rows is refused, so it has one batch: the error.
        let mut left = Some(rows);
        iter::from_fn(move || {
            let rows = left?.min(size);
            let batch = self.next(&mut sampler, rows);
            left = left.filter(|all| batch.is_ok() && *all > rows);
            left = left.map(|all| all - rows);
            Some(batch)
        })
    }

    /// The next rows.
    fn next(self, sampler: &mut Sampler, rows: usize) -> Result<SimulatedTable> {
        check(rows > 0, "rows", "at least 1", &rows)?;
        sampler.rows = rows;
        match self {
            Self::Ridge1(parameters) => ridge::table(parameters, |_| 0.0, sampler),
            Self::Ridge2(parameters) => ridge::table(parameters, |s| s * s, sampler),
            Self::Grades(parameters) => grades::table(parameters, sampler),
            Self::UncorrelatedSquare => examples::uncorrelated_square(sampler),
            Self::UncorrelatedSine => examples::uncorrelated_sine(sampler),
            Self::Gaussian(parameters) => examples::gaussian(parameters, sampler),
            Self::Admissions => admissions::table(sampler),
        }
    }
}

impl SimulatedTable {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns().next().map_or(0, Column::len)
    }

    /// All columns: sensitive, features, targets, hidden.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        let parts = [&self.sensitive, &self.features, &self.targets, &self.hidden];
        parts.into_iter().flatten()
    }
}

/// Draws the rows of one table, so many at a time.
struct Sampler {
    rows: usize,
    generator: Generator,
}

impl Sampler {
    fn new(seed: u64) -> Self {
        Self {
            rows: 0,
            generator: Generator::new(seed),
        }
    }

    fn draw<T>(&mut self, mut row: impl FnMut(&mut Generator) -> T) -> Result<Vec<T>> {
        let mut drawn = Vec::new();
        let fits = drawn.try_reserve_exact(self.rows).is_ok();
        check(
            fits,
            "rows",
            "few enough for the memory there is",
            &self.rows,
        )?;
        drawn.extend((0..self.rows).map(|_| row(&mut self.generator)));
        Ok(drawn)
    }
}

/// The few distributions everything is made of. How many numbers each takes is part of the contract.
struct Generator {
    random: ChaCha8Rng,
    /// What the next [`paired`](Self::paired) coin shows, if its pair has begun.
    partner: Option<bool>,
}

impl Generator {
    fn new(seed: u64) -> Self {
        Self {
            random: random::generator(seed, random::Stream::Simulation),
            partner: None,
        }
    }

    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random.random::<f64>()
    }

    fn normal(&mut self) -> f64 {
        self.random.sample(StandardNormal)
    }

    /// True with this probability.
    fn chance(&mut self, probability: f64) -> bool {
        self.random.random::<f64>() < probability
    }

    /// A fair coin, but of tosses 1 and 2, 3 and 4, … one is true and one is false.
    fn paired(&mut self) -> bool {
        self.partner.take().unwrap_or_else(|| {
            let shown = self.chance(0.5);
            self.partner = Some(!shown);
            shown
        })
    }

    /// A position in `shares`, which add up to 1.
    fn position(&mut self, shares: &[f64]) -> usize {
        let mut left = self.random.random::<f64>();
        let below = |share: &&f64| {
            left -= **share;
            left >= 0.0
        };
        // Rounding may leave a remainder after the last share.
        shares
            .iter()
            .take_while(below)
            .count()
            .min(shares.len() - 1)
    }
}

fn check(
    holds: bool,
    name: &'static str,
    expected: &'static str,
    value: &impl ToString,
) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::InvalidParameter {
        name,
        expected,
        value: value.to_string(),
    })
}

fn numbers<T>(name: &str, rows: &[T], value: impl Fn(&T) -> f64) -> Column {
    Column::numbers(name, rows.iter().map(value).collect())
}

/// χ: 1 where the condition holds, else 0.
fn indicator(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

#[cfg(test)]
mod tests;
