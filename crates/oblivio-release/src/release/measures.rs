//! How far values moved, and what can still be learned from them.

use oblivio::sensitive::Kind;
use oblivio_audit::sibling::prepared;
use oblivio_audit::{AdversarySettings, Resampling, adversary};
use oblivio_base::stats::Spread;
use oblivio_base::{Column, Error, Result, Values, Watch};

use super::apply::{Maps, Release};
use super::report::{ColumnReport, Utility};
use super::study::ReleaseRows;

/// The most columns that are told from the others where no target is named.
const MOST_TOLD: usize = 8;
/// The most rows that a learner sees.
const MOST_ROWS: usize = 20_000;

/// What became of each column.
pub(super) fn column_reports(
    release: &Release,
    held: &ReleaseRows,
    released: &[Column],
) -> Vec<ColumnReport> {
    let ones = vec![1.0; held.sensitive.len()];
    let weights = held.weights.as_deref().unwrap_or(&ones);
    let columns = release.forms.iter().enumerate().zip(released);
    columns
        .filter_map(|((k, form), after)| {
            let treatment = match &release.maps {
                Maps::Columns(maps) => maps[k].words().into(),
                Maps::Together(map) => map.words(form).into(),
                Maps::Joint(map) => map.words(k, &release.forms),
            };
            let before = held.features.iter().find(|c| c.name == form.name)?;
            let moved = Moved::between(before, after, weights);
            Some(ColumnReport {
                name: form.name.clone(),
                kind: form.kind().into(),
                treatment,
                low: form.range().map(|(low, _)| low),
                high: form.range().map(|(_, high)| high),
                changed: moved.changed,
                distance: moved.distance,
                correlation: moved.correlation,
            })
        })
        .collect()
}

/// How far the values of a column moved.
struct Moved {
    changed: f64,
    distance: Option<f64>,
    correlation: Option<f64>,
}

impl Moved {
    fn between(before: &Column, after: &Column, weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let share = |differs: &dyn Fn(usize) -> bool| -> f64 {
            let changed = (0..weights.len()).filter(|&i| differs(i));
            // An empty sum is −0.
            changed.map(|i| weights[i]).sum::<f64>() / total + 0.0
        };
        if let (Ok(x), Values::Numbers(w)) = (before.to_numbers(), &after.values) {
            let rows: Vec<usize> = (0..x.len()).filter(|&i| !x[i].is_nan()).collect();
            let (distance, correlation) = distance(&x, w, &rows, weights);
            return Self {
                changed: share(&|i| !x[i].is_nan() && x[i] != w[i]),
                distance,
                correlation,
            };
        }
        let texts = |column: &Column| -> Vec<Option<String>> {
            let (levels, codes) = column.to_categories();
            let level = |code: &u32| levels.get(*code as usize).cloned();
            codes.iter().map(level).collect()
        };
        let (x, w) = (texts(before), texts(after));
        Self {
            changed: share(&|i| x[i] != w[i]),
            distance: None,
            correlation: None,
        }
    }
}

/// $\sqrt{E(w - x)^2/\mathrm{Var}\,x}$ and the correlation of w and x; none of what is constant.
fn distance(x: &[f64], w: &[f64], rows: &[usize], weights: &[f64]) -> (Option<f64>, Option<f64>) {
    let (mut before, mut after) = (Spread::default(), Spread::default());
    for &i in rows {
        before.add(x[i], weights[i]);
        after.add(w[i], weights[i]);
    }
    let mean = |of: &dyn Fn(usize) -> f64| -> f64 {
        rows.iter()
            .map(|&i| weights[i] / before.weight * of(i))
            .sum()
    };
    let spread = before.variance();
    if rows.is_empty() || spread <= 0.0 {
        return (None, None);
    }
    let moved = mean(&|i| (w[i] - x[i]).powi(2));
    let covariance = mean(&|i| (w[i] - after.mean) * (x[i] - before.mean));
    let both = (spread * after.variance()).sqrt();
    let correlation = (both > 0.0).then(|| (covariance / both).clamp(-1.0, 1.0));
    (Some((moved / spread).sqrt()), correlation)
}

/// How well the target is told from the features before and after, on the same rows with the same draws. Without a target: each of the
/// first eight features, as it was, from the others.
///
/// Also remarks on what was not looked at.
pub(super) fn utility(
    held: &ReleaseRows,
    released: &[Column],
    resampling: &Resampling,
    watch: &Watch,
) -> Result<(Vec<Utility>, Vec<String>)> {
    let learner = Learner {
        weights: held.weights.as_deref(),
        resampling,
        watch,
    };
    let others = |columns: &[Column], name: &str| -> Vec<Column> {
        let others = columns.iter().filter(|column| column.name != name);
        others.cloned().collect()
    };
    let mut told: Vec<(Told, Vec<Column>, Vec<Column>)> = Vec::new();
    match &held.target {
        Some(target) => {
            let kind = Kind::of_target(target);
            let told_ = Told {
                column: target,
                kind,
                given: true,
            };
            told.push((told_, held.features.clone(), released.to_vec()));
        }
        None => {
            for column in released.iter().take(MOST_TOLD) {
                let Some(original) = held.features.iter().find(|c| c.name == column.name) else {
                    continue;
                };
                let told_ = Told {
                    column: original,
                    kind: match original.values {
                        Values::Numbers(_) => Kind::Continuous,
                        Values::Categories { .. } => Kind::Categorical,
                    },
                    given: false,
                };
                let name = &original.name;
                told.push((told_, others(&held.features, name), others(released, name)));
            }
        }
    }
    let (mut found, mut remarks) = (Vec::new(), Vec::new());
    for (told, before, after) in told {
        match learner.utility(&told, &before, &after) {
            Ok(utility) => found.extend(utility),
            Err(Error::TooFewRows { .. }) => remarks.push(format!(
                "too few held-out rows to tell how well `{}` can be learned",
                told.column.name
            )),
            Err(error) => return Err(error),
        }
    }
    Ok((found, remarks))
}

/// A column that is to be told from others.
struct Told<'a> {
    column: &'a Column,
    kind: Kind,
    given: bool,
}

struct Learner<'a> {
    weights: Option<&'a [f64]>,
    resampling: &'a Resampling,
    watch: &'a Watch,
}

impl Learner<'_> {
    /// None where there is nothing to tell it from.
    fn utility(&self, told: &Told, before: &[Column], after: &[Column]) -> Result<Option<Utility>> {
        let absent = told.column.missing();
        let rows: Vec<usize> = (0..told.column.len())
            .filter(|row| absent.binary_search(row).is_err())
            .collect();
        let weights = self
            .weights
            .map(|weights| rows.iter().map(|&i| weights[i]).collect());
        let weights: Option<Vec<f64>> = weights;
        let settings = AdversarySettings {
            most_rows: MOST_ROWS,
            seed: self.resampling.seed,
            ..AdversarySettings::default()
        };
        let score = |columns: &[Column]| {
            let own: Vec<Column> = columns.iter().map(|c| c.select(&rows)).collect();
            let (own, _) = prepared(&own)?;
            if own.is_empty() {
                return Ok(None);
            }
            let target = told.column.select(&rows);
            let weights = weights.as_deref();
            let (resampling, watch) = (self.resampling, self.watch);
            adversary(
                &own, &target, told.kind, weights, &settings, resampling, watch,
            )
            .map(Some)
        };
        let (Some(original), Some(released)) = (score(before)?, score(after)?) else {
            return Ok(None);
        };
        Ok(Some(Utility {
            target: told.column.name.clone(),
            given: told.given,
            score: original.score,
            original: original.measured,
            released: released.measured,
        }))
    }
}
