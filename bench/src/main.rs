//! Times the engine for the comparisons with peers. Prints one JSON object per measurement: what, threads, seconds.
//!
//! Usage: `oblivio-bench THREADS [NAME ...]`. Data come from files that the Python side wrote, so that both sides
//! compute the same thing; see `compare.py`.

use std::path::Path;
use std::time::Instant;

use oblivio::learn::Solver;
use oblivio::{
    Assignment, Column, Components, ConditionalMean, Kernel, KernelMatrix, Lower, Mode,
    ObliviousMap, Points, Reference, Result, Sensitive, Settings, Training, Watch,
};

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
    let assignment = Assignment {
        cells: cells.clone(),
        ..Assignment::default()
    };
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
    let shifts = map.shifts(map.mean().at_reference(), &assignment);
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
            let shifts = map.shifts(map.mean().at_reference(), &assignment);
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

/// The explicit path on rows drawn here: time against rows, against landmarks, and against the plain model.
fn landmarks(rows: usize, count: usize, mode: Mode, name: &str) -> Result<()> {
    let (points, sensitive, targets) = normal(rows)?;
    let settings = Settings {
        kernel: rbf(0.1).to_spec(),
        components: Some(Components::new(count)),
        mode,
        ..Settings::default()
    };
    let training = Training {
        points: &points,
        sensitive: &sensitive,
        targets: &targets,
        weights: None,
    };
    let runs = if rows > 1_000_000 { 1 } else { 2 };
    let mut seconds = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        settings.fit(training, &Watch::default())?;
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    say(name, seconds);
    Ok(())
}

/// Ten standard normal features and a group that moves the first.
fn normal(rows: usize) -> Result<(Points<'static>, Sensitive, Vec<f64>)> {
    // Any numbers will do, if they are quickly made: sums of uniform ones from a linear congruence.
    let mut state = 1u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut values = Vec::with_capacity(rows * 10);
    let mut targets = Vec::with_capacity(rows);
    let mut groups = Vec::with_capacity(rows);
    for _ in 0..rows {
        let group = (uniform() * 10.0).floor();
        let start = values.len();
        for _ in 0..10 {
            values.push((0..12).map(|_| uniform()).sum::<f64>() - 6.0);
        }
        values[start] += group / 10.0;
        let sum: f64 = values[start..].iter().sum();
        targets.push(sum.sin() + 0.1 * (uniform() - 0.5));
        groups.push(group);
    }
    let sensitive = Sensitive::new(vec![Column::numbers("s", groups)], rows)?;
    Ok((Points::new(values, 10)?, sensitive, targets))
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
        "rows" => {
            for rows in [100_000, 200_000, 500_000, 1_000_000, 5_000_000] {
                landmarks(
                    rows,
                    1000,
                    Mode::Oblivious,
                    &format!("explicit n={rows} p=1000"),
                )?;
            }
            Ok(())
        }
        "landmarks" => {
            for count in [250, 500, 1000, 2000] {
                landmarks(
                    200_000,
                    count,
                    Mode::Oblivious,
                    &format!("explicit n=200000 p={count}"),
                )?;
            }
            landmarks(200_000, 1000, Mode::Plain, "explicit n=200000 p=1000 plain")
        }
        _ => authors(folder),
    })?;
    Ok(())
}
