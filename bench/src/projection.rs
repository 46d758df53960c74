//! Projection onto the manifold.

use std::path::Path;

use oblivio::partition::SensitiveDesign;
use oblivio::{ConditionalMean, Kernel, Result, Watch};
use oblivio_release::{Manifold, Region, Search};

use crate::{least, matrix, numbers, say};

const DIM: usize = 5;

fn cells(path: &Path) -> Vec<u32> {
    numbers(path).iter().map(|cell| *cell as u32).collect()
}

/// 10 000 rows, 2000 reference rows; the least value reached is that of the squared distance, on average over the first rows.
pub(crate) fn run(folder: &Path) -> Result<()> {
    let watch = Watch::default();
    let reference = matrix(&folder.join("projection_reference.f64"), DIM)?;
    let reference_cells = cells(&folder.join("projection_reference_cells.f64"));
    let points = matrix(&folder.join("projection_x.f64"), DIM)?;
    let rows = SensitiveDesign::from_cells(cells(&folder.join("projection_cells.f64")));
    let mut mass = vec![0.0; 4];
    for cell in &reference_cells {
        mass[*cell as usize] += 1.0;
    }
    let kernel = Kernel::Gaussian {
        gamma: 1.0 / DIM as f64,
    };
    let weights = vec![1.0; reference.len()];
    let region = Region::of(&reference);
    let mean =
        ConditionalMean::estimate(kernel, reference, reference_cells, &weights, &mass, &watch)?;
    let manifold = Manifold::of(&mean, region)?;
    for (name, further_starts) in [("one start", 0), ("two starts", 1)] {
        let search = Search {
            further_starts,
            ..Search::default()
        };
        let project = || manifold.project(&points, &rows, 1.0, &search, &watch);
        say(&format!("projection {name}"), least(3, project)?);
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        if let Ok(one) = one {
            let seconds = one.install(|| least(2, project))?;
            say(&format!("projection {name}, one thread"), seconds);
        }
        let found = project()?;
        let squares = found.distances[..500].iter().map(|d| d * d);
        say(
            &format!("projection {name} objective"),
            squares.sum::<f64>() / 500.0,
        );
    }
    Ok(())
}
