//! How much scores depend on S, on rows that had no part in the offsets.

use anyhow::Result;
use oblivio::adjust::Offsets;
use oblivio::partition::{Binning, CellCount, PartitionRule};
use oblivio_audit::correlation_ratio;

use super::sensitive;
use super::statistics::Sample;

/// A function's values at rows, with the rows' S.
pub(super) struct Scored<'a> {
    pub(super) scores: Vec<f64>,
    pub(super) s: &'a [f64],
}

/// What the cells explain of scores.
#[derive(Clone, Copy)]
pub(super) struct Dependence {
    /// The share of the variance of the scores that the cells explain: differences of means.
    pub(super) mean: f64,
    /// What that share is on average if the cells' true means are equal: see [`measure`].
    pub(super) expected: f64,
    /// The share of the variance of the scores' squared distance from their mean: differences of spread.
    pub(super) spread: f64,
    /// What that share is on average if the cells' true spreads are equal.
    pub(super) spread_expected: f64,
}

/// Scores of new rows less their offsets, and the dependence before and after.
pub(super) struct Corrected {
    pub(super) scores: Vec<f64>,
    pub(super) before: Dependence,
    pub(super) after: Dependence,
}

/// Equal bins of S between bounds, the outer ones without end.
pub(super) fn bins(count: usize, low: f64, high: f64) -> PartitionRule {
    PartitionRule {
        cells: CellCount::Given(count),
        binning: Binning::Uniform,
        bounds: vec![(String::new(), low, high)],
        ..PartitionRule::default()
    }
}

/// Takes off the offsets that the reference rows give.
pub(super) fn correct(reference: &Scored, new: &Scored, rule: &PartitionRule) -> Result<Corrected> {
    let rows = reference.scores.len();
    let (offsets, _) = Offsets::of_scores(
        &reference.scores,
        &sensitive(reference.s)?,
        &vec![1.0; rows],
        rule,
        1.0,
    )?;
    let held_out = sensitive(new.s)?;
    let cells = offsets.partition.assign(&held_out)?.codes().to_vec();
    let (scores, _) = offsets.apply(&new.scores, &held_out)?;
    Ok(Corrected {
        before: measure(&new.scores, &cells, f64::INFINITY),
        after: measure(&scores, &cells, rows as f64),
        scores,
    })
}

/// With true means equal, the observed means of n new rows differ by $\sum_c \mathrm{Var}_c/n$ in all, and those of m reference rows,
/// which were taken off, by $\sum_c \mathrm{Var}_c/m$: both count as explained variance.
fn measure(scores: &[f64], cells: &[u32], reference_rows: f64) -> Dependence {
    let overall = Sample::of(scores.iter().copied());
    let squares: Vec<f64> = scores
        .iter()
        .map(|score| (score - overall.mean) * (score - overall.mean))
        .collect();
    let rows = scores.len() as f64;
    Dependence {
        mean: correlation_ratio(scores, cells).value,
        expected: (1.0 / rows + 1.0 / reference_rows) * within(scores, cells),
        spread: correlation_ratio(&squares, cells).value,
        spread_expected: within(&squares, cells) / rows,
    }
}

/// The sum of the values' variances within the cells, each as a share of the variance of all.
fn within(values: &[f64], cells: &[u32]) -> f64 {
    let count = cells.iter().max().map_or(0, |cell| *cell as usize + 1);
    let mut groups = vec![Vec::new(); count];
    for (value, cell) in values.iter().zip(cells) {
        groups[*cell as usize].push(*value);
    }
    let variance = |values: Vec<f64>| Sample::of(values).deviation.powi(2);
    let all = variance(values.to_vec()).max(f64::MIN_POSITIVE);
    let some = groups.into_iter().filter(|group| group.len() > 1);
    some.map(variance).sum::<f64>() / all
}
