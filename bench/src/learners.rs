//! Support vector machines, the path of ridge regressions, and conjugate gradients.

use std::path::Path;

use oblivio::fit::PathGrid;
use oblivio::gram::FeatureGram;
use oblivio::oblivious::Shifts;
use oblivio::partition::SensitiveDesign;
use oblivio::{
    Column, ConditionalMean, Mode, ObliviousMap, Points, Result, Sensitive, Settings, Training,
    Watch,
};
use oblivio_kernels::learn::{Intercept, Learner, Margins, Ridge, Solver, Svm};
use oblivio_kernels::{Gram, Lower};

use crate::{groups, least, matrix, numbers, rbf, say};

/// Census data: one-hot features, income above 50 000 and sex.
struct Census {
    points: Points<'static>,
    labels: Vec<f64>,
    group: Vec<f64>,
}

/// One over the number of features, as nearly all have unit variance.
const GAMMA: f64 = 0.01;

impl Census {
    fn read(folder: &Path, rows: usize) -> Result<Option<Self>> {
        let labels = numbers(&folder.join("census_y.f64"));
        if labels.is_empty() {
            return Ok(None);
        }
        let values = numbers(&folder.join("census_x.f64"));
        let dim = values.len() / labels.len();
        let points = Points::new(values, dim)?;
        Ok(Some(Self {
            points: points.select(&(0..rows).collect::<Vec<_>>()),
            labels: labels[..rows].to_vec(),
            group: numbers(&folder.join("census_s.f64"))[..rows].to_vec(),
        }))
    }

    /// The oblivious matrix.
    fn gram(&self) -> Result<Lower> {
        let cells: Vec<u32> = self.group.iter().map(|s| u32::from(*s > 0.0)).collect();
        let ones = vec![1.0; cells.len()];
        let second = cells.iter().filter(|c| **c == 1).count() as f64;
        let mass = [cells.len() as f64 - second, second];
        let (points, watch) = (self.points.clone(), Watch::default());
        let mean =
            ConditionalMean::estimate(rbf(GAMMA), points, cells.clone(), &ones, &mass, &watch)?;
        let assignment = SensitiveDesign::from_cells(cells);
        let map = ObliviousMap::new(mean, 1.0)?;
        let shifts: Shifts = map.shifts(map.mean().at_reference(&watch)?.as_ref(), &assignment);
        FeatureGram::oblivious(&map, &self.points, &assignment, &shifts).lower(&watch)
    }
}

/// Writes the oblivious matrix for the peer.
pub fn svm_matrix(folder: &Path) -> Result<()> {
    let Some(census) = Census::read(folder, 10_000)? else {
        return Ok(());
    };
    let whole = census.gram()?.mirrored(&Watch::default())?;
    let bytes: Vec<u8> = whole.iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(folder.join("census_gram.f64"), bytes).unwrap_or_default();
    Ok(())
}

pub fn svm(folder: &Path) -> Result<()> {
    let Some(census) = Census::read(folder, 10_000)? else {
        return Ok(());
    };
    let gram = census.gram()?;
    let labels: Vec<f64> = census.labels.iter().map(|y| 2.0 * y - 1.0).collect();
    for cost in [1.0, 100.0] {
        let caps = vec![cost; labels.len()];
        let margins = Margins {
            labels: &labels,
            caps: &caps,
            intercept: Intercept::Fitted,
        };
        let (mut best, mut dual, mut gap) = (f64::INFINITY, 0.0, 0.0);
        for _ in 0..3 {
            let copy = gram.clone();
            let start = std::time::Instant::now();
            let found = Svm::default().solve_matrix(copy, &margins, &Watch::default())?;
            best = best.min(start.elapsed().as_secs_f64());
            (dual, gap) = (found.certificate.dual, found.certificate.gap);
        }
        say(&format!("svm n=10000 C={cost}"), best);
        say(&format!("svm n=10000 C={cost} objective"), dual);
        say(&format!("svm n=10000 C={cost} gap"), gap);
    }
    drop(gram);
    let Some(census) = Census::read(folder, 20_000)? else {
        return Ok(());
    };
    let sensitive = Sensitive::new(vec![Column::numbers("sex", census.group.clone())], 20_000)?;
    let settings = Settings {
        kernel: rbf(GAMMA).to_spec(),
        learner: Learner::Svm,
        intercept: Intercept::Fitted,
        // As the command line gives it on this machine.
        memory: Some(4 << 30),
        ..Settings::default()
    };
    let training = Training {
        points: &census.points,
        sensitive: &sensitive,
        targets: &census.labels,
        weights: None,
    };
    let seconds = least(2, || settings.fit(training, &Watch::default()))?;
    say("svm n=20000 end to end", seconds);
    Ok(())
}

/// 11 strengths and 11 penalties on 2000 rows in 16 cells, and the same by single solves.
pub fn path(folder: &Path) -> Result<()> {
    let rows = 2000;
    let all = matrix(&folder.join("x10.f64"), 10)?;
    let points = all.select(&(0..rows).collect::<Vec<_>>());
    let targets = &numbers(&folder.join("y.f64"))[..rows];
    let codes = (0..rows).map(|i| (i * 16 / rows) as f64).collect();
    let sensitive = Sensitive::new(vec![Column::numbers("s", codes)], rows)?;
    let settings = Settings {
        kernel: rbf(0.1).to_spec(),
        ..Settings::default()
    };
    let grid = PathGrid {
        strengths: (0..=10).map(|k| f64::from(k) / 10.0).collect(),
        penalties: (-5..=5).map(|k| 2f64.powi(k)).collect(),
        ..PathGrid::usual(1.0)
    };
    let training = Training {
        points: &points,
        sensitive: &sensitive,
        targets,
        weights: None,
    };
    let watch = Watch::default();
    let seconds = least(3, || settings.path(training, &grid, &watch))?;
    say("path 11x11 n=2000", seconds);
    let kernel = rbf(0.1);
    let gram = FeatureGram::plain(&kernel, &points).lower(&watch)?;
    let ridge = Ridge::new(1.0, Solver::Cholesky)?;
    let ones = vec![1.0; rows];
    let once = least(3, || {
        ridge.solve_leaving_out(gram.clone(), targets, &ones, &watch)
    })?;
    say("path: 121 own solves with leave-one-out", 121.0 * once);
    Ok(())
}

/// Every solver at every penalty, n = 10 000.
pub fn solvers(folder: &Path) -> Result<()> {
    let points = matrix(&folder.join("x10.f64"), 10)?;
    let targets = numbers(&folder.join("y.f64"));
    let sensitive = groups(points.len())?;
    let training = Training {
        points: &points,
        sensitive: &sensitive,
        targets: &targets,
        weights: None,
    };
    for (penalty, name) in [(1.0, "1"), (1e-3, "0.001"), (1e-6, "0.000001")] {
        for (solver, what) in [(Solver::Auto, "auto"), (Solver::Cholesky, "cholesky")] {
            let settings = Settings {
                kernel: rbf(0.1).to_spec(),
                mode: Mode::Oblivious,
                penalty,
                solver,
                ..Settings::default()
            };
            let fit = settings.fit(training, &Watch::default())?;
            eprintln!("penalty {name}, {what}: {:?}", fit.summary.effort);
            let seconds = least(2, || settings.fit(training, &Watch::default()))?;
            say(&format!("solver {what} penalty {name}"), seconds);
        }
    }
    Ok(())
}
