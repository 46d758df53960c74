//! The ridge experiments: plain, oblivious and m-oblivious regression as S and X come apart.
//!
//! With the heavy tails of ORR, a mean of few repetitions says little: the medians are compared, with standard errors from
//! the quartiles. What is expected of them is the error in the population with 16 cells, the noise, and the first-order
//! cost of estimating the cells' means on m reference rows, $\sum_c p_c \mathrm{Var}(h|c)/(p_c m) = (L/m)\,E\,\mathrm{Var}(h|\text{cell})$.
//! Not in it: the cost of learning h, and of choosing λ by 100 rows.

use anyhow::Result;
use oblivio::simulate::{RidgeParameters, Simulation};
use oblivio::{
    Binning, CellCount, Gamma, Kernel, Mode, PartitionRule, Reference, Settings, Training, Watch,
};

use super::figure::{Axis, Bar, Colour, Figure, Legend, Mark, Panel, Series, Shape};
use super::population::{self, CELLS, Each};
use super::statistics::{Sample, seed};
use super::{Findings, Run, Variant, Verdict, numbers, on_a_line, sensitive, values, words};

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
        .map(|(tenths, errors)| Paired {
            tenths,
            differences: errors.iter().map(|each| each[2] - each[1]).collect(),
        })
        .collect();
    Ok(Findings {
        numbers: table(&lines),
        figure: figure(which, run, &lines, &paired),
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

impl Line {
    fn mix(&self) -> f64 {
        self.tenths as f64 / 10.0
    }

    /// How far the median is from what is expected, in standard errors.
    fn distance(&self) -> f64 {
        (self.errors.median - self.expected) / self.errors.median_error()
    }
}

fn table(lines: &[Line]) -> Vec<oblivio::Column> {
    vec![
        numbers("gamma", lines, Line::mix),
        words("method", lines, |line| METHODS[line.method]),
        numbers("repetitions", lines, |line| line.errors.count as f64),
        numbers("mean", lines, |line| line.errors.mean),
        numbers("standard_deviation", lines, |line| line.errors.deviation),
        numbers("median", lines, |line| line.errors.median),
        numbers("median_standard_error", lines, |line| {
            line.errors.median_error()
        }),
        numbers("population", lines, |line| line.exact),
        numbers("population_16_cells", lines, |line| line.in_cells),
        numbers("expected", lines, |line| line.expected),
        numbers("distance_in_standard_errors", lines, Line::distance),
    ]
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
        Which::One => (
            beyond.abs() <= 3.0,
            format!(
                "M-ORR is worse than ORR in {:.0} % of the runs with gamma 0.1 to 0.8 (expected: no difference, {beyond:.1} standard errors)",
                100.0 * share
            ),
        ),
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

fn figure(which: Which, run: &Run, lines: &[Line], paired: &[Paired]) -> Figure {
    const LOOK: [(Colour, Shape); 3] = [
        (Colour::Black, Shape::Circle),
        (Colour::Vermilion, Shape::Square),
        (Colour::Blue, Shape::Triangle),
    ];
    let (number, model) = match which {
        Which::One => (1, "Y = X² + ε"),
        Which::Two => (2, "Y = X² + S² + ε"),
    };
    let mut series = Vec::new();
    for (method, (colour, shape)) in LOOK.into_iter().enumerate() {
        let of = || lines.iter().filter(move |line| line.method == method);
        // Side by side, so that no bar hides another.
        let aside = 0.02 * (method as f64 - 1.0);
        let bar = |line: &Line| {
            let Sample {
                mean, deviation, ..
            } = line.errors;
            Bar {
                low: (mean - deviation).max(0.05 * mean),
                ..Bar::around(line.mix() + aside, mean, deviation)
            }
        };
        series.push(Series::new(
            METHODS[method],
            colour,
            Mark::Bars(shape, of().map(bar).collect()),
        ));
        let expected = of().map(|line| (line.mix(), line.expected)).collect();
        series.push(Series::new("", colour, Mark::Line(expected)));
    }
    series.push(Series::new(
        "expected",
        Colour::Grey,
        Mark::Line(Vec::new()),
    ));
    let error = "test mean squared error";
    let difference = |paired: &Paired| {
        let sample = Sample::of(paired.differences.iter().copied());
        Bar::around(
            paired.tenths as f64 / 10.0,
            sample.median,
            sample.median_error(),
        )
    };
    let population = TENTHS.map(|tenths| {
        let expected = |method| {
            let found = lines
                .iter()
                .find(|l| (l.tenths, l.method) == (tenths, method));
            found.map_or(f64::NAN, |line| line.expected)
        };
        (tenths as f64 / 10.0, expected(2) - expected(1))
    });
    Figure {
        title: format!("Ridge regression, experiment {number}: {model}"),
        caption: format!(
            "X = γU + (1−γ)S; {} repetitions; lines: population with 16 cells, noise, and the cost of estimating the cells' means",
            run.repetitions
        ),
        panels: vec![
            Panel {
                title: "mean ± standard deviation".into(),
                x: Axis::linear("γ, the share of U in X").between(-0.04, 1.04),
                y: match which {
                    Which::One => Axis::log(error),
                    Which::Two => Axis::linear(error),
                },
                series,
                legend: match which {
                    Which::One => Legend::LowerLeft,
                    Which::Two => Legend::UpperRight,
                },
            },
            Panel {
                title: "the same data: M-ORR less ORR".into(),
                x: Axis::linear("γ, the share of U in X").between(-0.04, 1.04),
                y: Axis::linear("difference of test errors"),
                series: vec![
                    Series::new(
                        "no difference",
                        Colour::Grey,
                        Mark::Dashed(vec![(-0.04, 0.0), (1.04, 0.0)]),
                    ),
                    Series::new("expected", Colour::Green, Mark::Line(population.collect())),
                    Series::new(
                        "median ± standard error",
                        Colour::Black,
                        Mark::Bars(Shape::Diamond, paired.iter().map(difference).collect()),
                    ),
                ],
                legend: Legend::UpperRight,
            },
        ],
    }
}
