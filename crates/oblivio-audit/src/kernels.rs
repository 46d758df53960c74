//! The measures that see any kind of dependence: HSIC, the adversaries, distance correlation.

use oblivio::sensitive::Kind;
use oblivio_base::{Column, Error, Result, Values, Watch, random};

use super::adversary::{Adversary, AdversaryKind, AdversaryScore, AdversarySettings, adversary};
use super::distance_correlation::distance_correlation;
use super::formulas::share_explained;
use super::found::Found;
use super::hsic::{Hsic, HsicSettings, HsicSide, hsic};
use super::measure::Measure;
use super::report::FeatureFinding;
use super::resampling::Resampling;
use super::subject::check_size;
use super::view::View;

/// Features are ranked on so many rows, at most, drawn by seed.
const RANKED_ROWS: usize = 10_000;

/// Adversaries learn from so many rows, at most, drawn by seed.
const GUESSED_ROWS: usize = 20_000;

/// Columns with more categories than this, such as names and numbers of people, are not looked at.
const MOST_LEVELS: usize = 100;

/// The rows that kernels are applied to, and how.
#[derive(Clone, Copy)]
pub(super) struct Kernels<'a> {
    pub(super) weights: Option<&'a [f64]>,
    pub(super) resampling: &'a Resampling,
    pub(super) watch: &'a Watch,
}

/// A view of the sensitive columns as kernels and adversaries take it.
pub(super) struct Target<'a> {
    /// Missing numbers have no distance: a column that has them is read by its cells.
    columns: Vec<Column>,
    kinds: Vec<Kind>,
    /// What an adversary predicts: the column, or the cell of several.
    guessed: (Column, Kind),
    view: &'a View,
}

/// What is held against the sensitive columns.
pub(super) enum Source<'a> {
    /// One column of scores or labels.
    One(&'a Column, Kind),
    /// All features together.
    Table(&'a [Column]),
}

impl<'a> Target<'a> {
    pub(super) fn new(view: &'a View) -> Self {
        let cells = || Column {
            name: view.name(),
            values: Values::Categories {
                levels: view.briefs.clone(),
                codes: view.cells.clone(),
            },
        };
        let incomplete = |(column, kind): (&Column, &Kind)| {
            *kind == Kind::Continuous && !column.missing().is_empty()
        };
        let by_cells = view.columns.iter().zip(&view.kinds).any(incomplete);
        let (columns, kinds) = if by_cells {
            (vec![cells()], vec![Kind::Categorical])
        } else {
            (view.columns.clone(), view.kinds.clone())
        };
        let guessed = match (&columns[..], &kinds[..]) {
            ([one], [kind]) => (one.clone(), *kind),
            _ => (cells(), Kind::Categorical),
        };
        Self {
            columns,
            kinds,
            guessed,
            view,
        }
    }

    /// The columns as a regression reads them: categories as such, whatever they are written as.
    pub(super) fn features(&self) -> Vec<Column> {
        let columns = self.columns.iter().zip(&self.kinds);
        let feature = |(column, kind): (&Column, &Kind)| match kind {
            Kind::Continuous => column.clone(),
            Kind::Categorical => {
                let (levels, codes) = column.to_categories();
                Column {
                    name: column.name.clone(),
                    values: Values::Categories { levels, codes },
                }
            }
        };
        columns.map(feature).collect()
    }

    /// The only column, if it is one of numbers with distances.
    fn numbers(&self) -> Option<&[f64]> {
        match (&self.columns[..], &self.kinds[..]) {
            ([column], [Kind::Continuous]) => match &column.values {
                Values::Numbers(numbers) => Some(numbers),
                Values::Categories { .. } => None,
            },
            _ => None,
        }
    }
}

impl Kernels<'_> {
    fn settings(&self) -> HsicSettings {
        HsicSettings {
            seed: self.resampling.seed,
            ..HsicSettings::default()
        }
    }

    /// The sensitive side of HSIC.
    pub(super) fn side(&self, target: &Target) -> Result<HsicSide> {
        let settings = self.settings();
        let (columns, kinds) = (&target.columns, &target.kinds);
        HsicSide::new(columns, kinds, self.weights, &settings, self.watch)
    }

    /// The other side of HSIC.
    pub(super) fn source(&self, source: &Source) -> Result<HsicSide> {
        let settings = self.settings();
        match source {
            Source::One(column, kind) => {
                let column = std::slice::from_ref(*column);
                HsicSide::new(column, &[*kind], self.weights, &settings, self.watch)
            }
            Source::Table(columns) => HsicSide::table(columns, self.weights, &settings, self.watch),
        }
    }

    pub(super) fn hsic(&self, x: &HsicSide, s: &HsicSide) -> Result<Found> {
        let found = hsic(x, s, self.resampling, self.watch)?;
        Ok(of_hsic(&found))
    }

    pub(super) fn adversary(
        &self,
        source: &Source,
        target: &Target,
        kind: AdversaryKind,
    ) -> Result<Found> {
        let columns = match source {
            Source::One(column, _) => std::slice::from_ref(*column),
            Source::Table(columns) => columns,
        };
        let settings = AdversarySettings {
            kind,
            most_rows: GUESSED_ROWS,
            seed: self.resampling.seed,
            ..AdversarySettings::default()
        };
        let (guessed, kind_of_s) = &target.guessed;
        let found = adversary(
            columns,
            guessed,
            *kind_of_s,
            self.weights,
            &settings,
            self.resampling,
            self.watch,
        )?;
        Ok(of_adversary(kind.measure(), &found))
    }

    /// Defined for scores and one column of numbers.
    pub(super) fn distance_correlation(
        &self,
        source: &Source,
        target: &Target,
    ) -> Result<Option<Found>> {
        let (Source::One(column, Kind::Continuous), Some(numbers)) = (source, target.numbers())
        else {
            return Ok(None);
        };
        let Values::Numbers(scores) = &column.values else {
            return Ok(None);
        };
        let found =
            distance_correlation(scores, numbers, self.weights, self.resampling, self.watch)?;
        Ok(Some(
            Found::new(Measure::DistanceCorrelation, found.measured)
                .with("unbiased-squared", found.unbiased),
        ))
    }

    /// How much each feature depends on each target, the most dependent first.
    pub(super) fn ranked(
        &self,
        features: &[Column],
        targets: &[Target],
    ) -> Result<Vec<FeatureFinding>> {
        let all: Vec<usize> = (0..features.first().map_or(0, Column::len)).collect();
        let rows = random::sample(&all, RANKED_ROWS, self.resampling.seed);
        let weights: Option<Vec<f64>> = self
            .weights
            .map(|weights| rows.iter().map(|&row| weights[row]).collect());
        let weights = weights.as_deref();
        // Hundreds of pairs: landmarks and formulas are good enough to rank them.
        let settings = HsicSettings {
            exact_rows: 0,
            permute_rows: 0,
            ..self.settings()
        };
        let select = |columns: &[Column]| -> Vec<Column> {
            columns.iter().map(|column| column.select(&rows)).collect()
        };
        let mut sides = Vec::new();
        for target in targets {
            let columns = select(&target.columns);
            let cells: Vec<u32> = rows.iter().map(|&row| target.view.cells[row]).collect();
            let side = HsicSide::new(&columns, &target.kinds, weights, &settings, self.watch)?;
            sides.push((target.view.name(), side, cells));
        }
        self.watch.begin("ranking features", features.len())?;
        let mut found = Vec::new();
        for feature in select(features) {
            let kind = match feature.values {
                Values::Numbers(_) => Kind::Continuous,
                Values::Categories { .. } => Kind::Categorical,
            };
            let one = std::slice::from_ref(&feature);
            let side = HsicSide::new(one, &[kind], weights, &settings, self.watch)?;
            for (against, sensitive, cells) in &sides {
                found.push(FeatureFinding {
                    feature: feature.name.clone(),
                    against: against.clone(),
                    hsic: hsic(&side, sensitive, self.resampling, self.watch)?.measured,
                    correlation_ratio: match &feature.values {
                        Values::Numbers(numbers) => Some(share_explained(numbers, cells, weights)),
                        Values::Categories { .. } => None,
                    },
                });
            }
        }
        found.sort_by(|a, b| b.hsic.value.total_cmp(&a.hsic.value));
        Ok(found)
    }
}

fn of_hsic(found: &Hsic) -> Found {
    let found_ = Found::new(Measure::Hsic, found.measured)
        .with("biased", found.biased)
        .with("unbiased", found.unbiased)
        .with("normalized-unbiased", found.normalized_unbiased)
        .with("gamma-p-value", found.gamma_p_value)
        .with("exact", f64::from(u8::from(found.exact)));
    match found.permutation_p_value {
        Some(p) => found_.with("permutation-p-value", p),
        None => found_,
    }
}

fn of_adversary(measure: Measure, found: &Adversary) -> Found {
    let mut made = Found::new(measure, found.measured);
    if let Some(squared) = found.squared {
        made = made.with("of-the-squared-deviation", squared);
    }
    made.detail = Some(match (found.score, found.levels.first()) {
        (AdversaryScore::Auc, Some((level, auc))) if found.levels.len() > 2 => {
            format!("AUC (0.5 is chance); {level} is found most easily ({auc:.3})")
        }
        (AdversaryScore::Auc, _) => "AUC (0.5 is chance)".into(),
        (AdversaryScore::RSquared, _) => "R² (0 is chance)".into(),
    });
    made
}

/// Features as kernels take them, and what was done to them: columns of too many categories are left out, missing numbers
/// are taken as the mean.
pub fn prepared(features: &[Column]) -> Result<(Vec<Column>, Vec<String>)> {
    let (mut columns, mut notes) = (Vec::new(), Vec::new());
    let (mut filled, mut dropped) = (Vec::new(), Vec::new());
    for column in features {
        match &column.values {
            Values::Categories { levels, .. } if levels.len() > MOST_LEVELS => {
                dropped.push(column.name.clone());
            }
            Values::Categories { .. } => columns.push(column.clone()),
            Values::Numbers(numbers) => {
                if let Some(row) = numbers.iter().position(|v| v.is_infinite()) {
                    return Err(Error::NotFinite {
                        name: format!("column `{}`", column.name),
                        row,
                        value: numbers[row],
                    });
                }
                check_size(&column.name, numbers)?;
                let known: Vec<f64> = numbers.iter().copied().filter(|v| !v.is_nan()).collect();
                if known.is_empty() {
                    dropped.push(column.name.clone());
                    continue;
                }
                let mean = known.iter().sum::<f64>() / known.len() as f64;
                if known.len() < numbers.len() {
                    filled.push(column.name.clone());
                }
                let value = |v: &f64| if v.is_nan() { mean } else { *v };
                columns.push(Column::numbers(
                    &column.name,
                    numbers.iter().map(value).collect(),
                ));
            }
        }
    }
    if !filled.is_empty() {
        notes.push(format!(
            "missing numbers are taken as the column's mean in {}",
            counted(&filled)
        ));
    }
    if !dropped.is_empty() {
        notes.push(format!(
            "not looked at, for more than {MOST_LEVELS} categories or no value at all: {}",
            counted(&dropped)
        ));
    }
    Ok((columns, notes))
}

/// The names, or the first of many.
fn counted(names: &[String]) -> String {
    const SHOWN: usize = 5;
    if names.len() <= SHOWN {
        return names.join(", ");
    }
    let more = names.len() - SHOWN;
    format!("{} and {more} more", names[..SHOWN].join(", "))
}
