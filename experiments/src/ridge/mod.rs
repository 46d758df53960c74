//! The ridge experiments: plain, oblivious and m-oblivious regression as S and X come apart.
//!
//! With the heavy tails of ORR, a mean of few repetitions says little: the medians are compared, with standard errors from
//! the quartiles. What is expected of them is the error in the population with 16 cells, the noise, and the first-order
//! cost of estimating the cells' means on m reference rows, $\sum_c p_c \mathrm{Var}(h|c)/(p_c m) = (L/m)\,E\,\mathrm{Var}(h|\text{cell})$.
//! Not in it: the cost of learning h, and of choosing λ by 100 rows.

mod population;
mod view;

use anyhow::Result;
use oblivio::partition::{Binning, CellCount, PartitionRule};
use oblivio::reference::Reference;
use oblivio::{Kernel, Mode, Settings, Training, Watch};
use oblivio_kernels::Gamma;
use oblivio_simulate::{RidgeParameters, Simulation};

use self::population::{CELLS, Each};
use super::statistics::{Sample, seed};
use super::{Findings, Run, Variant, Verdict, on_a_line, sensitive, values};

const REFERENCE: usize = 500;
const TRAINING: usize = 500;
const VALIDATION: usize = 100;
const TEST: usize = 100;
/// γ = 0, 0.1, …, 1.
const TENTHS: std::ops::RangeInclusive<usize> = 0..=10;
const METHODS: [&str; 3] = ["KRR", "ORR", "M-ORR"];

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    One,
    Two,
}

/// One method at one γ, over all repetitions.
struct Line {
    tenths: usize,
    method: usize,
    errors: Sample,
    exact: f64,
    in_cells: f64,
    expected: f64,
}

/// M-ORR less ORR on the same data.
struct Paired {
    tenths: usize,
    differences: Vec<f64>,
    /// The same as shares of the errors of ORR.
    relative: Vec<f64>,
}

pub(super) fn reproduce(run: &Run, which: Which) -> Result<Findings> {
    let mut jobs = Vec::new();
    for tenths in TENTHS {
        jobs.extend((0..run.repetitions).map(|repetition| (tenths, repetition)));
    }
    let stage = match which {
        Which::One => "ridge 1",
        Which::Two => "ridge 2",
    };
    let errors = run.each(stage, &jobs, |&(tenths, repetition)| {
        let parts = [run.seed, which as u64, tenths as u64, repetition as u64];
        trial(which, run.variant, tenths as f64 / 10.0, seed(&parts))
    })?;
    let by_mix: Vec<&[Each]> = errors.chunks(run.repetitions).collect();
    let noise = parameters(run.variant, 0.0).noise_variance;
    let lines: Vec<Line> = TENTHS
        .zip(&by_mix)
        .flat_map(|(tenths, errors)| lines(which, tenths, errors, noise))
        .collect();
    let paired: Vec<Paired> = TENTHS
        .zip(&by_mix)
        .map(|(tenths, errors)| Paired::of(tenths, errors))
        .collect();
    Ok(Findings {
        numbers: view::table(&lines),
        figure: view::figure(which, run, &lines, &paired),
        verdict: judge(which, noise, &lines, &paired),
    })
}

fn parameters(variant: Variant, mix: f64) -> RidgeParameters {
    let constants = match variant {
        Variant::Paper => RidgeParameters::default(),
        Variant::Authors => RidgeParameters::authors_code(),
    };
    RidgeParameters { mix, ..constants }
}

/// The test errors of the three methods, each with the λ that does best on the validation rows.
fn trial(which: Which, variant: Variant, mix: f64, seed: u64) -> Result<Each> {
    let parameters = parameters(variant, mix);
    let simulation = match which {
        Which::One => Simulation::Ridge1(parameters),
        Which::Two => Simulation::Ridge2(parameters),
    };
    let table = simulation.table(REFERENCE + TRAINING + VALIDATION + TEST, seed)?;
    let (known, new) = ([0, REFERENCE + TRAINING], REFERENCE + TRAINING);
    let s = values(&table.sensitive[0])?;
    let x = values(&table.features[0])?;
    let y = values(&table.targets[0])?;
    let (points, cells) = (on_a_line(&x[..known[1]])?, sensitive(&s[..known[1]])?);
    let (new_points, new_cells) = (on_a_line(&x[new..])?, sensitive(&s[new..])?);
    let training = Training {
        points: &points,
        sensitive: &cells,
        targets: &y[..known[1]],
        weights: None,
    };
    let mut best = [(f64::INFINITY, f64::NAN); 3];
    let watch = Watch::default();
    let most = match variant {
        Variant::Paper => 5,
        Variant::Authors => 4,
    };
    for (mode, exponent) in [Mode::Oblivious, Mode::MOblivious]
        .into_iter()
        .flat_map(|mode| (-5..=most).map(move |exponent| (mode, exponent)))
    {
        let fit = settings(mode, exponent).fit(training, &watch)?;
        let prediction = fit
            .predictor
            .predict(&new_points, Some(&new_cells), &watch)?;
        let mut compare = |method: usize, scores: &[f64]| {
            let validation = error(&scores[..VALIDATION], &y[new..new + VALIDATION]);
            if validation < best[method].0 {
                let test = error(&scores[VALIDATION..], &y[new + VALIDATION..]);
                best[method] = (validation, test);
            }
        };
        if mode == Mode::Oblivious {
            compare(1, &prediction.scores);
        } else {
            // Plain regression is the m-oblivious one before its offsets.
            compare(0, &prediction.before);
            compare(2, &prediction.scores);
        }
    }
    Ok(best.map(|(_, test)| test))
}

fn settings(mode: Mode, exponent: i32) -> Settings {
    Settings {
        kernel: Kernel::Gaussian {
            gamma: Gamma::Value(1.0),
        },
        penalty: 2f64.powi(exponent),
        mode,
        partition: PartitionRule {
            cells: CellCount::Given(CELLS),
            binning: Binning::Dyadic,
            bounds: vec![(String::new(), -5.0, 5.0)],
            ..PartitionRule::default()
        },
        reference: Reference::Rows((0..REFERENCE).collect()),
        ..Settings::default()
    }
}

/// The mean squared error.
fn error(scores: &[f64], targets: &[f64]) -> f64 {
    let squares = scores.iter().zip(targets).map(|(s, y)| (s - y) * (s - y));
    squares.sum::<f64>() / targets.len() as f64
}

fn lines(which: Which, tenths: usize, errors: &[Each], noise: f64) -> Vec<Line> {
    let exact = population::exact(which, tenths as f64 / 10.0);
    let (in_cells, spread) = population::in_cells(which, tenths);
    let estimation = CELLS as f64 / REFERENCE as f64;
    (0..METHODS.len())
        .map(|method| Line {
            tenths,
            method,
            errors: Sample::of(errors.iter().map(|each| each[method])),
            exact: exact[method] + noise,
            in_cells: in_cells[method] + noise,
            expected: in_cells[method] + noise + estimation * spread[method],
        })
        .collect()
}

impl Paired {
    fn of(tenths: usize, errors: &[Each]) -> Self {
        Self {
            tenths,
            differences: errors.iter().map(|each| each[2] - each[1]).collect(),
            relative: errors.iter().map(|each| each[2] / each[1] - 1.0).collect(),
        }
    }
}

impl Line {
    fn mix(&self) -> f64 {
        self.tenths as f64 / 10.0
    }

    /// How far the median is from what is expected, in standard errors.
    fn distance(&self) -> f64 {
        (self.errors.median - self.expected) / self.errors.median_error()
    }
}

/// Agreement with the population, and the order of ORR and M-ORR.
fn judge(which: Which, noise: f64, lines: &[Line], paired: &[Paired]) -> Verdict {
    let oblivious: Vec<&Line> = lines.iter().filter(|line| line.method > 0).collect();
    let near = |line: &&&Line| line.distance().abs() <= 3.0;
    let close = oblivious.iter().filter(near).count();
    let far = oblivious.iter().map(|line| line.distance().abs());
    let far = far.fold(0.0, f64::max);
    // Of 22 comparisons one may be out by chance, but not by much.
    let agrees = close * 10 >= oblivious.len() * 9 && far <= 6.0;

    let plain = lines.iter().filter(|line| line.method == 0);
    let (plain_holds, plain_said) = match which {
        Which::One => {
            let worst = plain.map(|line| line.errors.median).fold(0.0, f64::max);
            (
                worst <= 3.0 * noise,
                format!("KRR stays within {worst:.3} (noise {noise})"),
            )
        }
        Which::Two => {
            let near = plain.filter(|line| line.distance().abs() <= 3.0);
            // At γ = 0 the population error is noise alone, which no learner reaches.
            let near = near.count();
            (near >= 9, format!("KRR at {near} of 11"))
        }
    };

    let range = match which {
        Which::One => 1..=8,
        Which::Two => 2..=8,
    };
    let among: Vec<&Paired> = paired
        .iter()
        .filter(|paired| range.contains(&paired.tenths))
        .collect();
    let differences = || among.iter().flat_map(|paired| &paired.differences);
    let runs = differences().count() as f64;
    let share = differences().filter(|d| **d > 0.0).count() as f64 / runs;
    let beyond = (share - 0.5) / (0.25 / runs).sqrt();
    let median = |paired: &&&Paired| Sample::of(paired.differences.iter().copied()).median > 0.0;
    let medians = among.iter().filter(median).count();
    let (ordered, order) = match which {
        // Equality is never shown by the absence of significance: the typical difference has to be small.
        Which::One => {
            let relative = Sample::of(among.iter().flat_map(|paired| paired.relative.clone()));
            (
                relative.median.abs() <= 0.05,
                format!(
                    "M-ORR is {:+.1} % from ORR in the median of the runs with gamma 0.1 to 0.8 (expected: no difference; 5 % are allowed)",
                    100.0 * relative.median
                ),
            )
        }
        Which::Two => (
            beyond >= 3.0,
            format!(
                "ORR beats M-ORR in {:.0} % of the runs with gamma 0.2 to 0.8 ({beyond:.1} standard errors above one half) and in the median at {medians} of {} gammas",
                100.0 * share,
                among.len()
            ),
        ),
    };
    Verdict {
        holds: agrees && plain_holds && ordered,
        sentence: format!(
            "median errors of ORR and M-ORR are within three standard errors of the expected ones at {close} of {} points (largest distance {far:.1}), {plain_said}; {order}",
            oblivious.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict on runs whose errors are `factor` times the expected ones, give or take a tenth; M-ORR being `worse`.
    fn verdict(which: Which, factor: f64, worse: f64) -> Verdict {
        let found = |tenths: usize| {
            let (in_cells, spread) = population::in_cells(which, tenths);
            let estimation = CELLS as f64 / REFERENCE as f64;
            let expected = |m: usize| in_cells[m] + 0.1 + estimation * spread[m];
            let run = |k: i32| {
                let size = 1.0 + 0.01 * f64::from(k);
                let plain = size * expected(0);
                let scale = size * factor;
                [plain, scale * expected(1), worse * scale * expected(2)]
            };
            (-10..=10).map(run).collect::<Vec<Each>>()
        };
        let all: Vec<Vec<Each>> = TENTHS.map(found).collect();
        let lines: Vec<Line> = TENTHS
            .zip(&all)
            .flat_map(|(tenths, errors)| lines(which, tenths, errors, 0.1))
            .collect();
        let paired: Vec<Paired> = TENTHS.zip(&all).map(|(t, e)| Paired::of(t, e)).collect();
        judge(which, 0.1, &lines, &paired)
    }

    #[test]
    fn a_verdict_can_go_either_way() {
        assert!(verdict(Which::One, 1.0, 1.0).holds);
        assert!(verdict(Which::Two, 1.0, 1.0).holds);
        // Errors that are not the expected ones.
        assert!(!verdict(Which::One, 1.2, 1.0).holds);
        assert!(!verdict(Which::Two, 0.8, 1.0).holds);
        // The wrong order, or an order where there is none.
        assert!(!verdict(Which::Two, 1.0, 0.8).holds);
        assert!(!verdict(Which::One, 1.0, 1.1).holds);
    }
}
