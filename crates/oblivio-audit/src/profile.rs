//! How a subject is distributed in every cell: what the charts show.

use oblivio_base::stats::Spread;

use super::comparison::{Comparison, Outcome};
use super::report::{Against, CellProfile, CellRows, Profile, ReliabilityBin};
use super::resampling::quantile;

/// Bins of a score's distribution.
const BINS: usize = 30;

/// Of the rows, so many on each side lie in the outermost bins: one far value must not flatten all others.
const OUTER: f64 = 0.003;

/// The edges of bins that all of these scores share; the outermost bins are open.
pub(super) fn edges(scores: &[&[f64]]) -> Vec<f64> {
    let mut all: Vec<f64> = scores.iter().flat_map(|s| s.iter().copied()).collect();
    if all.is_empty() {
        return Vec::new();
    }
    all.sort_unstable_by(f64::total_cmp);
    let (least, most) = (quantile(&all, OUTER), quantile(&all, 1.0 - OUTER));
    let (least, most) = if least < most {
        (least, most)
    } else {
        (least - 0.5, most + 0.5)
    };
    let step = (most - least) / BINS as f64;
    (0..=BINS).map(|k| least + step * k as f64).collect()
}

/// The numbers of fewer rows than this could tell a row's.
const FEWEST_TOLD: usize = 5;

/// Adds the errors of cells, and of all rows last, to the profile.
pub(super) fn add_errors(profile: &mut Profile, errors: &[(f64, (f64, f64))], rows: &[CellRows]) {
    let told = rows
        .iter()
        .map(|cell| cell.rows >= FEWEST_TOLD)
        .chain([true]);
    let cells = profile.cells.iter_mut().chain([&mut profile.all]);
    for ((cell, (error, (lower, upper))), told) in cells.zip(errors).zip(told) {
        if told && error.is_finite() {
            (cell.error, cell.error_lower, cell.error_upper) =
                (Some(*error), Some(*lower), Some(*upper));
        }
    }
}

/// Adds the outcomes of like scores in cells, and in all rows last, to the profile.
pub(super) fn add_curves(profile: &mut Profile, curves: Vec<Vec<ReliabilityBin>>) {
    let cells = profile.cells.iter_mut().chain([&mut profile.all]);
    for (cell, curve) in cells.zip(curves) {
        cell.reliability = curve;
    }
}

/// What a profile is made of.
pub(super) struct ProfileRows<'a> {
    pub(super) rows: &'a Comparison<'a>,
    /// The interval of each cell's mean.
    pub(super) intervals: &'a [(f64, f64)],
    pub(super) edges: &'a [f64],
    pub(super) levels: &'a [String],
}

impl ProfileRows<'_> {
    pub(super) fn profile(&self, subject: &str, against: &Against) -> Profile {
        let cells = self.gather(against.cells.len(), |row| {
            self.rows.cells.codes[row] as usize
        });
        let all = self.gather(1, |_| 0);
        let told = cells.iter().zip(&against.cells).zip(self.intervals);
        let cells = told.map(|((sums, cell), interval)| {
            if cell.rows < FEWEST_TOLD {
                CellProfile::default()
            } else {
                self.cell(sums, Some(*interval), !cell.small)
            }
        });
        Profile {
            subject: subject.to_owned(),
            against: against.name.clone(),
            edges: self.edges.to_vec(),
            levels: self.levels.to_vec(),
            cells: cells.collect(),
            all: self.cell(&all[0], None, true),
        }
    }

    fn gather(&self, count: usize, cell: impl Fn(usize) -> usize) -> Vec<Sums> {
        let bins = self.levels.len().max(self.edges.len().saturating_sub(1));
        let mut sums = vec![Sums::new(bins); count];
        for row in 0..self.rows.cells.rows() {
            let sums = &mut sums[cell(row)];
            let weight = self.rows.cells.weight(row);
            let bin = match self.rows.outcome {
                Outcome::Classes(codes) => codes[row] as usize,
                Outcome::Scores(scores) => {
                    sums.spread.add(scores[row], weight);
                    self.bin(scores[row])
                }
            };
            sums.bins[bin] += weight;
            if self.rows.positive.is_some_and(|positive| positive[row]) {
                sums.positive += weight;
            }
        }
        sums
    }

    fn bin(&self, score: f64) -> usize {
        let last = self.edges.len() - 1;
        let at = self.edges.partition_point(|edge| *edge <= score);
        at.clamp(1, last) - 1
    }

    fn cell(&self, sums: &Sums, interval: Option<(f64, f64)>, shown: bool) -> CellProfile {
        let total: f64 = sums.bins.iter().sum();
        if total <= 0.0 {
            return CellProfile::default();
        }
        let scores = matches!(self.rows.outcome, Outcome::Scores(_));
        let interval = interval.filter(|_| scores);
        CellProfile {
            mean: scores.then_some(sums.spread.mean),
            lower: interval.map(|(lower, _)| lower),
            upper: interval.map(|(_, upper)| upper),
            deviation: scores.then(|| sums.spread.variance().sqrt()),
            rate: self.rows.positive.map(|_| sums.positive / total),
            shares: if shown {
                sums.bins.iter().map(|weight| weight / total).collect()
            } else {
                Vec::new()
            },
            ..CellProfile::default()
        }
    }
}

/// Sums over the rows of a cell.
#[derive(Clone)]
struct Sums {
    spread: Spread,
    bins: Vec<f64>,
    positive: f64,
}

impl Sums {
    fn new(bins: usize) -> Self {
        Self {
            spread: Spread::default(),
            bins: vec![0.0; bins],
            positive: 0.0,
        }
    }
}
