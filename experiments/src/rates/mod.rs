//! How fast the estimated conditional mean finds the true one.
//!
//! The error $E_S\|\hat\mu_{c(S)} - \mu_S\|^2$ of a sample is known exactly (`theory`), and so is its expectation. The paper's
//! exponent −1/(2(d+1)) is an upper bound, reached by the bias alone: the error of its rule is steeper over any finite
//! range, as its variance falls faster. So two things are judged: the fitted slopes against those of the exact expectation over the
//! same n, and, where the exponent is sharp, against the exponent.

mod theory;
mod view;

use anyhow::Result;
use oblivio::{ConditionalMean, Kernel, Points, Watch};
use oblivio_simulate::{RidgeParameters, Simulation};

use self::theory::{BOUND, Cells, mean_at, means_inner, middle, nodes};
use super::statistics::{Sample, seed, slope};
use super::{Findings, Run, Verdict, values};

/// How the number of cells follows the number of rows.
struct Rule {
    name: &'static str,
    said: &'static str,
    /// The exponent of theory.
    exponent: f64,
    /// How far a finite range may be from it: nothing for a pure power, much for an upper bound.
    allowed: f64,
    /// Rows, such that the bins are a whole number, and the cells.
    sizes: Vec<(usize, Cells)>,
}

fn rules() -> Vec<Rule> {
    let bins = |d: usize, power: u32, bins: std::ops::RangeInclusive<usize>| -> Vec<_> {
        bins.map(|bins| (bins.pow(power), Cells::Bins { d, bins }))
            .collect()
    };
    vec![
        Rule {
            name: "finite",
            said: "finite S, 4 values",
            exponent: -0.5,
            allowed: 0.02,
            sizes: [64, 128, 256, 512, 1024, 2048, 4096, 8192]
                .map(|rows| (rows, Cells::Values(4)))
                .to_vec(),
        },
        Rule {
            name: "paper-1",
            said: "d = 1, ℓ = n^(1/4), the paper's",
            exponent: -0.25,
            allowed: f64::INFINITY,
            sizes: bins(1, 4, 3..=10),
        },
        Rule {
            name: "balanced-1",
            said: "d = 1, ℓ = n^(1/3)",
            exponent: -1.0 / 3.0,
            allowed: 0.03,
            sizes: bins(1, 3, 4..=20),
        },
        Rule {
            name: "paper-2",
            said: "d = 2, ℓ = n^(1/6), the paper's",
            exponent: -1.0 / 6.0,
            allowed: f64::INFINITY,
            sizes: bins(2, 6, 2..=5),
        },
        Rule {
            name: "balanced-2",
            said: "d = 2, ℓ = n^(1/4)",
            exponent: -0.25,
            allowed: 0.03,
            sizes: bins(2, 4, 3..=9),
        },
    ]
}

/// One rule over all sizes: squared errors by repetition, then by size.
struct Course {
    rule: Rule,
    errors: Vec<Vec<f64>>,
}

pub(super) fn reproduce(run: &Run) -> Result<Findings> {
    let mut courses = Vec::new();
    for (number, rule) in rules().into_iter().enumerate() {
        let mut jobs = Vec::new();
        for size in 0..rule.sizes.len() {
            jobs.extend((0..run.repetitions).map(|repetition| (size, repetition)));
        }
        let errors = run.each("rates", &jobs, |&(size, repetition)| {
            let (rows, cells) = rule.sizes[size];
            let parts = [run.seed, 2 + number as u64, size as u64, repetition as u64];
            squared_error(rows, cells, seed(&parts))
        })?;
        let errors = errors
            .chunks(run.repetitions)
            .map(<[f64]>::to_vec)
            .collect();
        courses.push(Course { rule, errors });
    }
    Ok(Findings {
        numbers: view::table(&courses),
        verdict: judge(&courses),
        figure: view::figure(run, &courses),
    })
}

/// Draws a sample, has the engine estimate the means of its cells, and measures them against the true ones.
fn squared_error(rows: usize, cells: Cells, seed_of_sample: u64) -> Result<f64> {
    // At mix 1 the simulation's X is U.
    let apart = RidgeParameters {
        mix: 1.0,
        noise_variance: 0.0,
    };
    let draw = |part: u64| Simulation::Ridge1(apart).table(rows, seed(&[seed_of_sample, part]));
    let (first, second) = (draw(0)?, draw(1)?);
    let u = values(&first.features[0])?;
    let s = [values(&first.sensitive[0])?, values(&second.sensitive[0])?];
    let (d, bins) = match cells {
        Cells::Values(count) => (1, count),
        Cells::Bins { d, bins } => (d, bins),
    };
    let bin = |s: f64| {
        ((s + BOUND) / (2.0 * BOUND) * bins as f64)
            .floor()
            .min(bins as f64 - 1.0) as usize
    };
    let centre = |bin: usize| BOUND * (2.0 * (bin as f64 + 0.5) / bins as f64 - 1.0);
    let mut x = Vec::with_capacity(rows);
    let mut places = Vec::with_capacity(rows);
    for row in 0..rows {
        let own: Vec<f64> = s[..d].iter().map(|column| column[row]).collect();
        let place = own.iter().fold(0, |place, s| place * bins + bin(*s));
        x.push(
            0.5 * u[row]
                + match cells {
                    Cells::Values(_) => middle(&[centre(place)]),
                    Cells::Bins { .. } => middle(&own),
                },
        );
        places.push(place as u32);
    }
    let mut mass = vec![0.0; cells.count()];
    for place in &places {
        mass[*place as usize] += 1.0;
    }
    let mean = ConditionalMean::estimate(
        Kernel::Gaussian { gamma: 1.0 },
        Points::new(x.clone(), 1)?.into_owned(),
        places.clone(),
        &vec![1.0; rows],
        &mass,
        &Watch::default(),
    )?;
    let at = mean.at_reference(&Watch::default())?;
    // ‖μ̂_c‖² − 2⟨μ̂_c, μ_S⟩ + ‖μ_S‖², averaged over the cells, which have equal shares; empty ones are zero.
    let share = 1.0 / cells.count() as f64;
    let mut error = means_inner(0.0);
    for row in 0..rows {
        let place = places[row] as usize;
        let truth = mean_over(cells, x[row], place, bins, &centre);
        error += share / mass[place] * (at[(row, place)] - 2.0 * truth);
    }
    Ok(error)
}

/// The mean over S in a cell of $\langle\phi(x), \mu_S\rangle$.
fn mean_over(
    cells: Cells,
    x: f64,
    place: usize,
    bins: usize,
    centre: &dyn Fn(usize) -> f64,
) -> f64 {
    let within = nodes(BOUND / bins as f64);
    match cells {
        Cells::Values(_) => mean_at(x, middle(&[centre(place)])),
        Cells::Bins { d: 1, .. } => within
            .iter()
            .map(|(s, weight)| weight * mean_at(x, middle(&[centre(place) + s])))
            .sum(),
        Cells::Bins { .. } => {
            let (one, two) = (centre(place / bins), centre(place % bins));
            within
                .iter()
                .flat_map(|(s, v)| {
                    within.map(|(t, w)| v * w * mean_at(x, middle(&[one + s, two + t])))
                })
                .sum()
        }
    }
}

impl Course {
    /// Points of a root mean square error against n, both as logarithms.
    fn logs(&self, squared: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
        let sizes = self.rule.sizes.iter().enumerate();
        sizes
            .map(|(i, (rows, _))| ((*rows as f64).ln(), 0.5 * squared(i).ln()))
            .collect()
    }

    /// The slope of the mean error and its standard error, by leaving out each repetition.
    fn slope(&self) -> (f64, f64) {
        let repetitions = self.errors[0].len();
        let mean_without = |i: usize, left_out: Option<usize>| {
            let kept = self.errors[i].iter().enumerate();
            let kept = kept
                .filter(|(k, _)| Some(*k) != left_out)
                .map(|(_, error)| *error);
            Sample::of(kept).mean
        };
        let all = slope(&self.logs(|i| mean_without(i, None)));
        let without = (0..repetitions).map(|k| slope(&self.logs(|i| mean_without(i, Some(k)))));
        let spread = Sample::of(without);
        (all, (repetitions as f64 - 1.0).sqrt() * spread.deviation)
    }

    /// The slope of the exact expectation over the same sizes.
    fn expected_slope(&self) -> f64 {
        slope(&self.logs(|i| self.expectation(i)))
    }

    fn expectation(&self, i: usize) -> f64 {
        let (rows, cells) = self.rule.sizes[i];
        cells.squared_error(rows)
    }
}

fn judge(courses: &[Course]) -> Verdict {
    let mut holds = true;
    let mut said = Vec::new();
    for course in courses {
        let ((found, error), expected) = (course.slope(), course.expected_slope());
        let Rule {
            exponent, allowed, ..
        } = course.rule;
        // Five slopes, each within three standard errors or a hundredth, of which one may be due to chance.
        let near = (found - expected).abs() <= (3.0 * error).max(0.01);
        let right = found <= exponent + (3.0 * error).max(0.01)
            && found >= exponent - allowed - 3.0 * error;
        holds &= near && right;
        said.push(format!(
            "{} {found:.3} ± {error:.3} (exact {expected:.3}, theory {exponent:.3})",
            course.rule.said
        ));
    }
    Verdict {
        holds,
        sentence: format!("slopes of the error against n: {}", said.join("; ")),
    }
}
