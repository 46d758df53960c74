//! The share of a score's variance that S explains beyond other columns, on rows that were held out.

use std::ops::Range;

use oblivio_base::{Column, Error, Result, Watch, random};
use rayon::prelude::*;

use super::adversary::design::Design;
use super::adversary::folds::Folds;
use super::adversary::ridges::Ridges;
use super::adversary::{AdversaryKind, AdversarySettings};
use super::found::Found;
use super::kernels::Kernels;
use super::measure::Measure;
use super::resampling::Resampling;
use super::strata::Strata;

/// Regressions learn from this number of rows at most, drawn by seed.
const MOST_ROWS: usize = 20_000;

/// Parts of the rows, each predicted from all others.
const FOLDS: usize = 5;

/// Shuffled targets regressed at a time: enough for fast products of matrices.
const TARGETS: usize = 16;

/// A score, and the columns that may explain it.
pub(super) struct ShareRows<'a> {
    /// The score, or the indicator of each class, with the name of the class.
    pub(super) targets: &'a [(Option<String>, Vec<f64>)],
    /// Columns that may explain the score: true labels, or legitimate factors.
    pub(super) given: &'a [Column],
    /// Bins of the given columns: residuals are shuffled within them.
    pub(super) bins: &'a Strata,
    pub(super) weights: Option<&'a [f64]>,
}

impl ShareRows<'_> {
    /// $\sum w\,(r^2 - (r - \hat g)^2) / \sum w\,(f - \bar f)^2$, the share of the variance of f that S explains beyond Y.
    ///
    /// In five folds, f is regressed on Y, and its residual r on Y and S together; each row is predicted by the other
    /// folds' rows. Both are ridge regressions on the columns and on Nyström features of a Gaussian kernel, with the penalty
    /// chosen by generalised cross-validation. The second one has the columns of S less their means given Y too, of larger
    /// size, so that few rows show a linear effect. Of several classes, numerators and denominators are added up.
    ///
    /// The level under independence given Y comes from scores $m(y) + r'$, with residuals r' shuffled within bins of Y, and
    /// all regressions done again. If Y has categories, each is a bin and m is constant there: S is shuffled within Y. The
    /// interval draws rows again with their predictions.
    pub(super) fn measure(
        &self,
        measure: Measure,
        sensitive: &[Column],
        kernels: &Kernels,
    ) -> Result<Found> {
        let (resampling, watch) = (kernels.resampling, kernels.watch);
        let all: Vec<usize> = (0..self.bins.codes().len()).collect();
        let rows = random::sample(&all, MOST_ROWS, resampling.seed);
        let constant = |(_, values): &(_, Vec<f64>)| values.iter().all(|v| *v == values[0]);
        if self.targets.iter().all(constant) || sensitive.iter().all(is_constant) {
            let nothing = resampling.measured(measure, 0.0, vec![0.0], vec![0.0], rows.len());
            return Ok(Found::new(measure, nothing));
        }
        if rows.len() < 2 * FOLDS {
            return Err(Error::TooFewRows {
                what: "a regression of scores",
                found: rows.len(),
                needed: 2 * FOLDS,
            });
        }
        let bins = self.bins.select(&rows);
        let folds = Folds::draw(bins.codes(), FOLDS, resampling.seed);
        let rows: Vec<usize> = folds.rows.iter().map(|&k| rows[k]).collect();
        let study = Study::new((self, sensitive), &folds, &rows, kernels)?;
        watch.begin(
            "share of variance beyond other columns",
            resampling.permutations + resampling.resamples,
        )?;
        let count = self.targets.len();
        let here = study.gain(&study.targets);
        let ones = vec![1.0; rows.len()];
        let permuted = study.permuted(count, resampling, watch)?;
        let resampled = (0..resampling.resamples).into_par_iter().map(|number| {
            watch.advance();
            watch.check()?;
            let counts = resampling.counts(number, rows.len());
            Ok(study.share(&here, 0..count, &counts))
        });
        let resampled = resampled.collect::<Result<_>>()?;
        let value = study.share(&here, 0..count, &ones);
        let measured = resampling.measured(measure, value, permuted, resampled, rows.len());
        let mut found = Found::new(measure, measured);
        for (k, (name, _)) in self.targets.iter().enumerate() {
            if let Some(name) = name {
                let share = study.share(&here, k..k + 1, &ones);
                found = found.with(&format!("class-{name}"), share);
            }
        }
        Ok(found)
    }
}

/// Regressions on the given columns alone, and on the sensitive columns too. Rows are in the order of the folds.
struct Study<'a> {
    base: Ridges<'a>,
    joint: Ridges<'a>,
    folds: &'a Folds,
    bins: Strata,
    weights: Vec<f64>,
    /// Target after target, as all values of rows below.
    targets: Vec<f64>,
    /// The predictions from the given columns.
    smooth: Vec<f64>,
}

/// Scores with the part of their squared residuals that S explains.
struct Gain {
    targets: Vec<f64>,
    /// $r^2 - (r - \hat g)^2$
    squares: Vec<f64>,
}

impl<'a> Study<'a> {
    fn new(
        (from, sensitive): (&ShareRows, &[Column]),
        folds: &'a Folds,
        rows: &[usize],
        kernels: &Kernels,
    ) -> Result<Self> {
        let settings = AdversarySettings {
            folds: FOLDS,
            seed: kernels.resampling.seed,
            ..AdversarySettings::default()
        };
        let weights: Vec<f64> = rows
            .iter()
            .map(|&row| from.weights.map_or(1.0, |weights| weights[row]))
            .collect();
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let weights: Vec<f64> = weights.iter().map(|weight| weight / mean).collect();
        let design = |columns: &mut dyn Iterator<Item = &Column>, kind| {
            let columns: Vec<Column> = columns.map(|column| column.select(rows)).collect();
            let settings = AdversarySettings { kind, ..settings };
            let design = Design::new(&columns, &weights, &settings, kernels.watch)?;
            // A feature without variance leaves the mean.
            let constant = || Design {
                values: vec![0.0; rows.len()],
                width: 1,
            };
            Ok::<_, Error>(design.unwrap_or_else(constant))
        };
        let ridges =
            |design: Design| Ridges::new(folds, design.values, design.width, weights.clone());
        let base = ridges(design(&mut from.given.iter(), AdversaryKind::Kernel)?)?;
        let all = &mut from.given.iter().chain(sensitive);
        let smooth = design(all, AdversaryKind::Kernel)?;
        let linear = design(&mut sensitive.iter(), AdversaryKind::Linear)?;
        let joint = ridges(smooth.beside(&beyond(&base, &linear)))?;
        let pick = |(_, values): &(_, Vec<f64>)| -> Vec<f64> {
            rows.iter().map(|&row| values[row]).collect()
        };
        let targets: Vec<f64> = from.targets.iter().flat_map(pick).collect();
        Ok(Self {
            smooth: base.mean_predictions(&targets),
            base,
            joint,
            folds,
            bins: from.bins.select(rows),
            weights,
            targets,
        })
    }

    /// Held-out predictions of the targets by regressions.
    fn predictions(&self, ridges: &Ridges, targets: &[f64]) -> Vec<f64> {
        let mut held = ridges.hold_out(targets);
        let rows = held.scores.chunks_mut(self.weights.len());
        for (scores, means) in rows.zip(&held.means) {
            for (span, mean) in self.folds.spans.iter().zip(means) {
                scores[span.clone()]
                    .iter_mut()
                    .for_each(|score| *score += mean);
            }
        }
        held.scores
    }

    fn gain(&self, targets: &[f64]) -> Gain {
        let base = self.predictions(&self.base, targets);
        let residuals: Vec<f64> = targets.iter().zip(&base).map(|(f, m)| f - m).collect();
        let explained = self.predictions(&self.joint, &residuals);
        let pairs = residuals.iter().zip(&explained);
        Gain {
            targets: targets.to_vec(),
            // As r² less (r − g)², without their cancellation.
            squares: pairs.map(|(r, g)| g * (2.0 * r - g)).collect(),
        }
    }

    /// The share of the variance of some of the targets, with rows counted this often.
    fn share(&self, gain: &Gain, targets: Range<usize>, counts: &[f64]) -> f64 {
        let rows = counts.len();
        let weights: Vec<f64> = counts
            .iter()
            .zip(&self.weights)
            .map(|(c, w)| c * w)
            .collect();
        let total: f64 = weights.iter().sum();
        let (mut explained, mut spread) = (0.0, 0.0);
        for target in targets {
            let own = target * rows..(target + 1) * rows;
            let values = &gain.targets[own.clone()];
            let mean = weights.iter().zip(values).map(|(w, f)| w * f).sum::<f64>() / total;
            for ((w, f), gain) in weights.iter().zip(values).zip(&gain.squares[own]) {
                explained += w * gain;
                spread += w * (f - mean).powi(2);
            }
        }
        if spread > 0.0 {
            explained / spread
        } else {
            0.0
        }
    }

    /// The shares for scores whose residuals are shuffled within the bins.
    fn permuted(&self, count: usize, resampling: &Resampling, watch: &Watch) -> Result<Vec<f64>> {
        let rows = self.weights.len();
        let ones = vec![1.0; rows];
        let shuffled = |number: usize| -> Vec<f64> {
            let order = self.bins.shuffle(&resampling.permutation(number, rows));
            let targets = self.targets.chunks(rows).zip(self.smooth.chunks(rows));
            targets
                .flat_map(|(f, m)| {
                    let moved = |(row, &from): (usize, &u32)| {
                        m[row] + (f[from as usize] - m[from as usize])
                    };
                    order.iter().enumerate().map(moved).collect::<Vec<f64>>()
                })
                .collect()
        };
        let numbers: Vec<usize> = (0..resampling.permutations).collect();
        let batches = numbers.par_chunks((TARGETS / count).max(1)).map(|batch| {
            watch.check()?;
            let targets: Vec<f64> = batch.iter().flat_map(|&k| shuffled(k)).collect();
            let gain = self.gain(&targets);
            let shares = (0..batch.len()).map(|k| {
                watch.advance();
                self.share(&gain, k * count..(k + 1) * count, &ones)
            });
            Ok(shares.collect::<Vec<f64>>())
        });
        Ok(batches.collect::<Result<Vec<_>>>()?.concat())
    }
}

/// How much larger the linear part of S is than smooth features of all columns: a penalty that silences these leaves it.
const LINEAR: f64 = 10.0;

/// The columns of S less their means given the other columns.
fn beyond(base: &Ridges, linear: &Design) -> Design {
    let rows = linear.values.len() / linear.width;
    let columns: Vec<f64> = (0..linear.width)
        .flat_map(|k| linear.values.iter().skip(k).step_by(linear.width))
        .copied()
        .collect();
    let means = base.mean_predictions(&columns);
    let value = |at: usize| {
        let (row, column) = (at / linear.width, at % linear.width);
        LINEAR * (linear.values[at] - means[column * rows + row])
    };
    Design {
        values: (0..linear.values.len()).map(value).collect(),
        width: linear.width,
    }
}

fn is_constant(column: &Column) -> bool {
    let (levels, codes) = column.to_categories();
    levels.len() < 2 && codes.iter().all(|code| *code == codes[0])
}
