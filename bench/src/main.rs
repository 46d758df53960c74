//! Times the engine for the comparisons with peers. Prints one JSON object per measurement: what, threads, seconds.
//!
//! Usage: `oblivio-bench THREADS [NAME ...]`. Data come from files that the Python side wrote, so that both sides
//! compute the same thing; see `compare.py`.

mod audit;
mod learners;
mod projection;
mod row;

use std::path::Path;
use std::time::Instant;

use oblivio::features::FeatureSettings;
use oblivio::partition::SensitiveDesign;
use oblivio::reference::Reference;
use oblivio::{
    Column, ConditionalMean, Kernel, Mode, ObliviousMap, Points, Result, Sensitive, Settings,
    Training, Watch,
};
use oblivio_base::Named;
use oblivio_kernels::learn::{Intercept, Solver};
use oblivio_kernels::{Components, KernelMatrix, Lower, Selection};

/// A row-major matrix of little-endian doubles with its number of columns.
fn matrix(path: &Path, columns: usize) -> Result<Points<'static>> {
    Points::new(numbers(path), columns)
}

fn numbers(path: &Path) -> Vec<f64> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let (chunks, _) = bytes.as_chunks::<8>();
    chunks
        .iter()
        .map(|chunk| f64::from_le_bytes(*chunk))
        .collect()
}

/// The least of several runs, in seconds.
fn least<T>(runs: usize, mut work: impl FnMut() -> Result<T>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        let result = work()?;
        best = best.min(start.elapsed().as_secs_f64());
        drop(result);
    }
    Ok(best)
}

fn say(name: &str, seconds: f64) {
    println!(
        "{}",
        serde_json::json!({ "name": name, "seconds": seconds })
    );
}

fn rbf(gamma: f64) -> Kernel {
    Kernel::Gaussian { gamma }
}

/// Ten groups of equal size.
fn groups(rows: usize) -> Result<Sensitive> {
    let codes = (0..rows).map(|i| (i * 10 / rows) as f64).collect();
    Sensitive::new(vec![Column::numbers("s", codes)], rows)
}

fn kernel_matrix(folder: &Path, dim: usize) -> Result<()> {
    let points = matrix(&folder.join(format!("x{dim}.f64")), dim)?;
    let (kernel, watch) = (rbf(1.0 / dim as f64), Watch::default());
    let mut buffer = Lower::new(points.len())?;
    say(
        &format!("kernel d={dim} lower, reused"),
        least(5, || {
            KernelMatrix::of(&kernel, &points).lower_into(&mut buffer, &watch)
        })?,
    );
    drop(buffer);
    let mut full = vec![0.0; points.len() * points.len()];
    say(
        &format!("kernel d={dim} full, reused"),
        least(5, || {
            KernelMatrix::between(&kernel, &points, &points)?.entries_into(&mut full, &watch)
        })?,
    );
    drop(full);
    say(
        &format!("kernel d={dim} full, fresh"),
        least(3, || KernelMatrix::of(&kernel, &points).entries(&watch))?,
    );
    Ok(())
}

fn oblivious_matrix(folder: &Path) -> Result<()> {
    let points = matrix(&folder.join("x10.f64"), 10)?;
    let (kernel, watch, rows) = (rbf(0.1), Watch::default(), points.len());
    let cells: Vec<u32> = (0..rows).map(|i| (i * 10 / rows) as u32).collect();
    let mass = vec![rows as f64 / 10.0; 10];
    let assignment = SensitiveDesign::from_cells(cells.clone());
    let estimate = || {
        ConditionalMean::estimate(
            kernel.clone(),
            points.clone(),
            cells.clone(),
            &vec![1.0; rows],
            &mass,
            &watch,
        )
    };
    let mut buffer = Lower::new(rows)?;
    let plain = least(7, || {
        KernelMatrix::of(&kernel, &points).lower_into(&mut buffer, &watch)
    })?;
    say("oblivious: plain matrix", plain);
    let map = ObliviousMap::new(estimate()?, 1.0)?;
    let shifts = map.shifts(map.mean().at_reference(&watch)?.as_ref(), &assignment);
    say(
        "oblivious: cells known",
        least(7, || {
            map.gram_into(&points, &assignment, &shifts, &mut buffer, &watch)
        })?,
    );
    say(
        "oblivious: cell sums included",
        least(5, || {
            let map = ObliviousMap::new(estimate()?, 1.0)?;
            let shifts = map.shifts(map.mean().at_reference(&watch)?.as_ref(), &assignment);
            map.gram_into(&points, &assignment, &shifts, &mut buffer, &watch)
        })?,
    );
    Ok(())
}

fn fit(folder: &Path, rows: usize, solver: Solver, name: &str) -> Result<()> {
    let all = matrix(&folder.join("x10.f64"), 10)?;
    let points = all.select(&(0..rows).collect::<Vec<_>>());
    let targets = &numbers(&folder.join("y.f64"))[..rows];
    let sensitive = groups(rows)?;
    let training = Training {
        points: &points,
        sensitive: &sensitive,
        targets,
        weights: None,
    };
    let settings = Settings {
        kernel: rbf(0.1).to_spec(),
        solver,
        ..Settings::default()
    };
    say(
        name,
        least(3, || settings.fit(training, &Watch::default()))?,
    );
    Ok(())
}

fn prediction(folder: &Path) -> Result<()> {
    let points = matrix(&folder.join("x10.f64"), 10)?;
    let fitted = points.select(&(0..2000).collect::<Vec<_>>());
    let targets = &numbers(&folder.join("y.f64"))[..2000];
    let sensitive = Sensitive::none(2000);
    let settings = Settings {
        kernel: rbf(0.1).to_spec(),
        mode: Mode::Plain,
        ..Settings::default()
    };
    let training = Training {
        points: &fitted,
        sensitive: &sensitive,
        targets,
        weights: None,
    };
    let model = settings.fit(training, &Watch::default())?.predictor;
    let new = matrix(&folder.join("new.f64"), 10)?;
    say(
        "predict 100000 x 2000",
        least(3, || model.predict(&new, None, &Watch::default()))?,
    );
    Ok(())
}

/// The explicit path: seconds of a fit, the least of several.
fn landmarks(data: &Data, count: usize, mode: Mode, runs: usize) -> Result<f64> {
    let settings = Settings {
        components: Some(Components::new(count)),
        // As the peer has one.
        intercept: Intercept::Fitted,
        mode,
        ..data.settings()
    };
    least(runs, || settings.fit(data.training(), &Watch::default()))
}

struct Data {
    points: Points<'static>,
    sensitive: Sensitive,
    targets: Vec<f64>,
}

impl Data {
    /// The rows that the peer gets.
    fn read(folder: &Path, name: &str, dim: usize) -> Result<Self> {
        let points = matrix(&folder.join(format!("{name}_x.f64")), dim)?;
        let groups = numbers(&folder.join(format!("{name}_s.f64")));
        Ok(Self {
            sensitive: Sensitive::new(vec![Column::numbers("s", groups)], points.len())?,
            targets: numbers(&folder.join(format!("{name}_y.f64"))),
            points,
        })
    }

    /// More rows of the same kind as a file's: its rows over and over, each a little moved.
    fn stretched(&self, rows: usize) -> Result<Self> {
        let own = self.points.len();
        let numbers: Vec<usize> = (0..rows).map(|i| i % own).collect();
        let mut values = self.points.select(&numbers).values().to_vec();
        let dim = self.points.dim();
        for (row, value) in values.chunks_mut(dim).enumerate() {
            value[row % dim] += 1e-3 * (row / own) as f64;
        }
        Ok(Self {
            points: Points::new(values, dim)?,
            sensitive: self.sensitive.select(&numbers),
            targets: numbers.iter().map(|&i| self.targets[i]).collect(),
        })
    }

    fn training(&self) -> Training<'_> {
        Training {
            points: &self.points,
            sensitive: &self.sensitive,
            targets: &self.targets,
            weights: None,
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            kernel: rbf(1.0 / self.points.dim() as f64).to_spec(),
            ..Settings::default()
        }
    }
}

/// Half a million rows against the peer, and what the fit had in memory.
fn explicit(folder: &Path) -> Result<()> {
    let data = Data::read(folder, "big", 10)?;
    say(
        "explicit n=500000 p=1000",
        landmarks(&data, 1000, Mode::Oblivious, 2)?,
    );
    say(
        "explicit n=500000 p=1000 plain",
        landmarks(&data, 1000, Mode::Plain, 2)?,
    );
    let settings = Settings {
        components: Some(Components::new(1000)),
        ..data.settings()
    };
    let predictor = settings.fit(data.training(), &Watch::default())?.predictor;
    // Not a time: megabytes.
    say("explicit peak", peak());
    let (points, sensitive) = (&data.points, Some(&data.sensitive));
    say(
        "explicit predict 500000 rows",
        least(2, || {
            predictor.predict(points, sensitive, &Watch::default())
        })?,
    );
    let features = FeatureSettings {
        kernel: settings.kernel,
        components: Components::new(1000),
        strength: 1.0,
        partition: settings.partition,
        reference: Reference::All,
        seed: 0,
    };
    let (features, _) = features.fit(data.training(), &Watch::default())?;
    let some: Vec<usize> = (0..100_000).collect();
    let (points, sensitive) = (points.select(&some), data.sensitive.select(&some));
    say(
        "explicit transform 100000 rows",
        least(2, || {
            features.transform(&points, Some(&sensitive), &Watch::default())
        })?,
    );
    Ok(())
}

/// The most memory this program had so far, in megabytes.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = mark.and_then(|mark| mark.trim().trim_end_matches(" kB").parse::<f64>().ok());
    number.unwrap_or(f64::NAN) / 1024.0
}

/// How far the predictions on landmarks are from the exact ones, relative to these; not a time.
fn accuracy(folder: &Path) -> Result<()> {
    let data = Data::read(folder, "near", 5)?;
    let scores = |settings: &Settings| -> Result<Vec<f64>> {
        let fit = settings.fit(data.training(), &Watch::default())?;
        let sensitive = Some(&data.sensitive);
        Ok(fit
            .predictor
            .predict(&data.points, sensitive, &Watch::default())?
            .scores)
    };
    let exact = scores(&data.settings())?;
    let size: f64 = exact.iter().map(|y| y * y).sum();
    for (name, selection) in Selection::NAMES {
        for count in [100, 200, 400, 800] {
            let mut total = 0.0;
            for seed in 0..3 {
                let components = Components {
                    selection: *selection,
                    ..Components::new(count)
                };
                let near = scores(&Settings {
                    components: Some(components),
                    seed,
                    ..data.settings()
                })?;
                let off: f64 = exact
                    .iter()
                    .zip(&near)
                    .map(|(a, b)| (a - b) * (a - b))
                    .sum();
                total += (off / size).sqrt();
            }
            say(&format!("error {name} {count}"), total / 3.0);
        }
    }
    Ok(())
}

/// The paper's experiment: 500 training and 500 reference rows, matrix and fit.
fn authors(folder: &Path) -> Result<()> {
    let points = matrix(&folder.join("authors_x.f64"), 1)?;
    let rows = points.len();
    let sensitive = Sensitive::new(
        vec![Column::numbers("s", numbers(&folder.join("authors_s.f64")))],
        rows,
    )?;
    let settings = Settings {
        kernel: rbf(1.0).to_spec(),
        reference: Reference::Rows((rows / 2..rows).collect()),
        ..Settings::default()
    };
    let targets = numbers(&folder.join("authors_y.f64"));
    let training = Training {
        points: &points,
        sensitive: &sensitive,
        targets: &targets,
        weights: None,
    };
    say(
        "authors 2n=1000",
        least(20, || settings.fit(training, &Watch::default()))?,
    );
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, threads, folder, wanted] = &arguments[..] else {
        return Err("usage: oblivio-bench THREADS FOLDER NAME".into());
    };
    let folder = Path::new(folder);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.parse()?)
        .build()?;
    pool.install(|| match wanted.as_str() {
        "kernel10" => kernel_matrix(folder, 10),
        "kernel100" => kernel_matrix(folder, 100),
        "oblivious" => oblivious_matrix(folder),
        "fit5000" => {
            fit(folder, 5000, Solver::Cholesky, "fit n=5000 cholesky")?;
            fit(folder, 5000, Solver::Mixed, "fit n=5000 mixed")
        }
        "fit10000" => {
            fit(folder, 10_000, Solver::Cholesky, "fit n=10000 cholesky")?;
            fit(folder, 10_000, Solver::Mixed, "fit n=10000 mixed")
        }
        "predict" => prediction(folder),
        "svm-matrix" => learners::svm_matrix(folder),
        "svm" => learners::svm(folder),
        "path" => learners::path(folder),
        "solvers" => learners::solvers(folder),
        "audit" => audit::run(folder),
        "projection" => projection::run(folder),
        "explicit" => explicit(folder),
        "accuracy" => accuracy(folder),
        "row" => row::run(),
        "rows" => {
            let data = Data::read(folder, "big", 10)?;
            for rows in [100_000, 200_000, 500_000, 1_000_000, 5_000_000] {
                let name = format!("explicit n={rows}");
                say(
                    &name,
                    landmarks(&data.stretched(rows)?, 1000, Mode::Oblivious, 1)?,
                );
            }
            Ok(())
        }
        "landmarks" => {
            let data = Data::read(folder, "big", 10)?.stretched(200_000)?;
            for count in [250, 500, 1000, 2000] {
                let seconds = landmarks(&data, count, Mode::Oblivious, 1)?;
                say(&format!("explicit p={count}"), seconds);
            }
            Ok(())
        }
        _ => authors(folder),
    })?;
    Ok(())
}
