//! Oblivious data: rows W on the manifold nearest to Z, by bandwidth; and W where X has nothing to do with S.
//!
//! S, U uniform on [−5, 5] and X = ½U + ½S: with a narrow kernel W is X, with a wide one it is the residual X − E\[X|S\] + E X, and
//! the dependence on S goes in between. With X = U the shift is an error of estimation alone, of order $1/\sqrt n$, and W recovers X at
//! that rate.

use anyhow::Result;
use oblivio::adjust::Offsets;
use oblivio::sensitive::Kind;
use oblivio::{Column, ConditionalMean, Kernel, Partition, Watch};
use oblivio_audit::{HsicSettings, HsicSide, Resampling, hsic};
use oblivio_release::{Certify, LowerBound, Manifold, Region, Search};
use oblivio_simulate::{RidgeParameters, Simulation};

use super::dependence::bins;
use super::figure::{Axis, Bar, Colour, Figure, Legend, Mark, Panel, Series, Shape};
use super::statistics::{Sample, seed, slope};
use super::{Findings, Run, Verdict, numbers, on_a_line, sensitive, values, words};

const CELLS: usize = 16;
const ROWS: usize = 500;
/// The kernels of the first part.
const GAMMAS: [f64; 7] = [10.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.001];
/// The rows of the second part, and its kernel.
const SIZES: [usize; 4] = [250, 500, 1000, 2000];
const GAMMA: f64 = 0.1;

/// W of one table, held against X and against the residuals.
struct Trial {
    hsic: f64,
    expected: f64,
    /// Of X itself.
    before: f64,
    distance: f64,
    to_residual: f64,
    /// Boxes that a certificate takes for a row, by the bound it uses.
    boxes: [f64; 3],
}

/// What the certificates go by, and the rows that they are of.
const BOUNDS: [LowerBound; 3] = [
    LowerBound::SecondOrder,
    LowerBound::Metric,
    LowerBound::Holder,
];
const CERTIFIED: usize = 10;

/// One kernel, or one number of rows, over all repetitions.
struct Line {
    part: &'static str,
    rows: usize,
    gamma: f64,
    hsic: Sample,
    expected: f64,
    before: f64,
    distance: Sample,
    to_residual: Sample,
    boxes: [f64; 3],
}

pub(super) fn reproduce(run: &Run) -> Result<Findings> {
    let kernels = GAMMAS.map(|gamma| ("dependent", ROWS, gamma));
    let sizes = SIZES.map(|rows| ("independent", rows, GAMMA));
    let mut lines = Vec::new();
    for (part, rows, gamma) in kernels.into_iter().chain(sizes) {
        let mix = if part == "dependent" { 0.5 } else { 1.0 };
        let jobs: Vec<u64> = (0..run.repetitions as u64).collect();
        let trials = run.each("oblivious-data", &jobs, |&repetition| {
            // The same tables for all kernels.
            trial(
                mix,
                rows,
                gamma,
                seed(&[run.seed, 60, rows as u64, repetition]),
            )
        })?;
        let of = |value: fn(&Trial) -> f64| Sample::of(trials.iter().map(value));
        lines.push(Line {
            part,
            rows,
            gamma,
            hsic: of(|t| t.hsic),
            expected: of(|t| t.expected).mean,
            before: of(|t| t.before).mean,
            distance: of(|t| t.distance),
            to_residual: of(|t| t.to_residual),
            boxes: [
                of(|t| t.boxes[0]).mean,
                of(|t| t.boxes[1]).mean,
                of(|t| t.boxes[2]).mean,
            ],
        });
    }
    Ok(Findings {
        numbers: table(&lines),
        verdict: judge(&lines),
        figure: figure(&lines),
    })
}

fn trial(mix: f64, rows: usize, gamma: f64, seed: u64) -> Result<Trial> {
    let parameters = RidgeParameters {
        mix,
        ..RidgeParameters::default()
    };
    let table = Simulation::Ridge1(parameters).table(rows, seed)?;
    let (x, s) = (values(&table.features[0])?, values(&table.sensitive[0])?);
    let (points, sensitive) = (on_a_line(x)?, sensitive(s)?);
    let watch = Watch::default();
    let ones = vec![1.0; rows];
    let rule = bins(CELLS, -5.0, 5.0);
    let (partition, _) = Partition::fit(&rule, &sensitive, &ones)?;
    let assignment = partition.assign(&sensitive)?;
    let (kernel, cells) = (Kernel::Gaussian { gamma }, assignment.codes().to_vec());
    let mass = partition.mass();
    let mean = ConditionalMean::estimate(kernel, points.clone(), cells, &ones, mass, &watch)?;
    let mut region = Region::of(&points);
    // Wide enough for every residual.
    (region.free[0].low, region.free[0].high) = (-10.0, 10.0);
    let manifold = Manifold::of(&mean, region)?;
    let search = Search::default();
    let w = manifold
        .project(&points, &assignment, 1.0, &search, &watch)?
        .points;
    let some: Vec<usize> = (0..CERTIFIED).collect();
    let few = assignment.select(&some);
    let mut boxes = [0.0; 3];
    for (boxes, bound) in boxes.iter_mut().zip(BOUNDS) {
        let certify = Certify {
            bound,
            ..Certify::default()
        };
        let search = Search {
            certify: Some(certify),
            ..Search::default()
        };
        let found = manifold.project(&points.select(&some), &few, 1.0, &search, &watch)?;
        *boxes = found.boxes as f64 / CERTIFIED as f64;
    }
    let (offsets, _) = Offsets::of_scores(x, &sensitive, &ones, &rule, 1.0)?;
    let (residual, _) = offsets.apply(x, &sensitive)?;
    let apart = |a: &[f64], b: &[f64]| {
        let squares: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        (squares / rows as f64).sqrt()
    };
    let (before, _) = dependence(x, s, &watch)?;
    let (after, expected) = dependence(w.values(), s, &watch)?;
    Ok(Trial {
        hsic: after,
        expected,
        before,
        distance: apart(w.values(), x),
        to_residual: apart(w.values(), &residual),
        boxes,
    })
}

/// Normalised HSIC with S, and its mean under independence.
fn dependence(x: &[f64], s: &[f64], watch: &Watch) -> Result<(f64, f64)> {
    let settings = HsicSettings::default();
    let side = |name: &str, values: &[f64]| {
        let column = [Column::numbers(name, values.to_vec())];
        HsicSide::new(&column, &[Kind::Continuous], None, &settings, watch)
    };
    let formula = Resampling {
        permutations: 0,
        resamples: 0,
        ..Resampling::default()
    };
    let found = hsic(&side("x", x)?, &side("s", s)?, &formula, watch)?;
    Ok((found.measured.value, found.measured.expected))
}

fn parts(lines: &[Line]) -> (&[Line], &[Line]) {
    lines.split_at(GAMMAS.len())
}

fn rate(independent: &[Line]) -> f64 {
    let points = independent
        .iter()
        .map(|line| ((line.rows as f64).ln(), line.distance.mean.ln()));
    slope(&points.collect::<Vec<_>>())
}

fn judge(lines: &[Line]) -> Verdict {
    let (dependent, independent) = parts(lines);
    let (narrow, wide) = (&dependent[0], &dependent[GAMMAS.len() - 1]);
    let excess = |line: &Line| (line.hsic.mean - line.expected) / (line.before - line.expected);
    let rate = rate(independent);
    let orders = dependent.windows(2).all(|pair| {
        let error = pair[0].hsic.standard_error() + pair[1].hsic.standard_error();
        pair[1].hsic.mean <= pair[0].hsic.mean + 3.0 * error
    });
    // A narrow kernel hides nothing and a wide one gives the residuals, a tenth of their size apart at most.
    let size = wide.distance.mean;
    let holds = excess(narrow) > 0.9
        && excess(wide) < 0.1
        && orders
        && wide.to_residual.mean < 0.1 * size
        && (rate + 0.5).abs() < 0.1;
    Verdict {
        holds,
        sentence: format!(
            "of the dependence of X on S, W has {:.0} % with the narrowest kernel and {:.0} % with the widest, which is {:.2} from the residuals; if X and S are independent, W comes near X as n^{rate:.2} (expected n^-0.50)",
            100.0 * excess(narrow),
            100.0 * excess(wide).max(0.0),
            wide.to_residual.mean,
        ),
    }
}

fn table(lines: &[Line]) -> Vec<Column> {
    vec![
        words("data", lines, |line| line.part),
        numbers("rows", lines, |line| line.rows as f64),
        numbers("gamma", lines, |line| line.gamma),
        numbers("repetitions", lines, |line| line.hsic.count as f64),
        numbers("hsic_x", lines, |line| line.before),
        numbers("hsic_w", lines, |line| line.hsic.mean),
        numbers("hsic_w_standard_error", lines, |line| {
            line.hsic.standard_error()
        }),
        numbers("hsic_expected", lines, |line| line.expected),
        numbers("distance", lines, |line| line.distance.mean),
        numbers("distance_standard_error", lines, |line| {
            line.distance.standard_error()
        }),
        numbers("distance_to_residual", lines, |line| line.to_residual.mean),
        numbers("boxes_second_order", lines, |line| line.boxes[0]),
        numbers("boxes_metric", lines, |line| line.boxes[1]),
        numbers("boxes_holder", lines, |line| line.boxes[2]),
    ]
}

fn figure(lines: &[Line]) -> Figure {
    let (dependent, independent) = parts(lines);
    let bar = |x: f64, sample: &Sample| Bar::around(x, sample.mean, sample.standard_error());
    let against = |value: fn(&Line) -> f64| {
        let points = dependent
            .iter()
            .map(|line| (line.distance.mean, value(line)));
        Mark::Dashed(points.collect())
    };
    let first = independent[0].distance.mean * (independent[0].rows as f64).sqrt();
    let ideal = independent
        .iter()
        .map(|line| (line.rows as f64, first / (line.rows as f64).sqrt()));
    let paths = dependent
        .iter()
        .map(|line| bar(line.distance.mean, &line.hsic));
    let errors = independent
        .iter()
        .map(|line| bar(line.rows as f64, &line.distance));
    Figure {
        title: "Oblivious data: W on the manifold".into(),
        caption: format!(
            "Gaussian kernels, {CELLS} cells; left: γ = {} to {} on {ROWS} rows, X = (U + S)/2; right: X = U, γ = {GAMMA}",
            GAMMAS[0],
            GAMMAS[GAMMAS.len() - 1]
        ),
        panels: vec![
            Panel {
                title: "dependence against distance".into(),
                x: Axis::linear("root mean square of W − X"),
                y: Axis::linear("HSIC with S, normalised"),
                series: vec![
                    Series::new(
                        "W",
                        Colour::Blue,
                        Mark::Bars(Shape::Circle, paths.collect()),
                    ),
                    Series::new("X", Colour::Vermilion, against(|line| line.before)),
                    Series::new(
                        "if independent",
                        Colour::Black,
                        against(|line| line.expected),
                    ),
                ],
                legend: Legend::MiddleRight,
            },
            Panel {
                title: "X independent of S".into(),
                x: Axis::log("rows"),
                y: Axis::log("root mean square of W − X"),
                series: vec![
                    Series::new(
                        "W",
                        Colour::Blue,
                        Mark::Bars(Shape::Circle, errors.collect()),
                    ),
                    Series::new("n^-½", Colour::Black, Mark::Dashed(ideal.collect())),
                ],
                legend: Legend::UpperRight,
            },
        ],
    }
}
