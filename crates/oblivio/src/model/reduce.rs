//! A model on fewer points, and what that costs.

use serde::{Deserialize, Serialize};

use super::Model;
use super::history::{Change, Step};
use crate::basis::Basis;
use crate::error::{Error, Result};
use crate::landmarks::{Components, FeatureMap};
use crate::points::Points;
use crate::predictor::Predictor;
use crate::spread::Spread;
use crate::watch::Watch;

/// How many landmarks a model is to have, and the seed by which they are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduce {
    /// The most landmarks.
    pub landmarks: usize,
    /// For their choice among the points.
    pub seed: u64,
}

/// What a reduction did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reduction {
    /// The points of the expansion before.
    pub points: usize,
    /// Its landmarks now.
    pub landmarks: usize,
    /// The seed of their choice.
    pub seed: u64,
    /// What each score lost.
    pub scores: Vec<Loss>,
    /// What the models for rows without sensitive values lost, where they were reduced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<Loss>,
}

/// What h lost when it was projected to h' on the span of the landmarks, its intercept apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Loss {
    /// $\|h\|_{\mathcal H}$
    pub norm: f64,
    /// $\|h - h'\|_{\mathcal H}$, rounding counted in: $|h(x) - h'(x)| \le \sqrt{k(x, x)}\,\|h - h'\|$ at every x.
    pub lost: f64,
    /// That bound at the point of the expansion where k(x, x) is largest; the mean of any rows like these, so the mean of a cell, has
    /// moved by no more.
    pub bound: f64,
    /// The root mean square of h − h' at the points of the expansion.
    pub root_mean_square: f64,
    /// The largest |h − h'| there.
    pub largest: f64,
    /// The standard deviation of h there.
    pub spread: f64,
}

impl Model {
    /// The model on fewer points: each h becomes $h' = \sum_l g'_lk(l, \cdot)$ with $g' = K_{LL}^+K_{LX}\,g$, the nearest to it in the
    /// kernel's space on landmarks L among its points X, chosen by randomly pivoted Cholesky and the same for all scores.
    ///
    /// The linear kernel with as many landmarks as features has the axes for landmarks, loses nothing and holds no row any more.
    /// Offsets, alignment and threshold stay as they are, for the cells of the points are not known: the means of the cells may
    /// differ by as much as [`Loss::bound`], until a [`refresh`](Self::refresh). Intervals are left out: their residuals are those of the
    /// scores before.
    pub fn reduce(
        &self,
        to: Reduce,
        date: Option<String>,
        watch: &Watch,
    ) -> Result<(Self, Reduction)> {
        let basis = self.predictor().basis.clone();
        check(&basis, to.landmarks)?;
        let map = choose(&basis, to, watch)?;
        let mut model = self.clone();
        let mut scores = Vec::new();
        let mut fallback = Vec::new();
        let mut spare: Option<FeatureMap> = None;
        for scorer in &mut model.scorers {
            if let Some(other) = scorer.fallback.as_deref_mut() {
                if other.basis == basis {
                    fallback.push(project(other, &map, watch)?);
                } else if other.basis.len() > to.landmarks {
                    let map = match spare.take() {
                        Some(map) => map,
                        None => choose(&other.basis, to, watch)?,
                    };
                    fallback.push(project(other, &map, watch)?);
                    spare = Some(map);
                }
            }
            scores.push(project(scorer, &map, watch)?);
        }
        let reduction = Reduction {
            points: basis.len(),
            landmarks: map.len(),
            seed: to.seed,
            scores,
            fallback,
        };
        model.card.components = Some(map.len());
        let change = Change::new(Step::Reduce(reduction.clone()), date);
        model.card.history.push(change);
        Ok((model, reduction))
    }
}

fn choose(basis: &Basis, to: Reduce, watch: &Watch) -> Result<FeatureMap> {
    let components = Components::new(to.landmarks);
    let (map, _) = FeatureMap::choose(
        basis.kernel.clone(),
        &basis.points,
        components,
        to.seed,
        watch,
    )?;
    Ok(map)
}

fn check(basis: &Basis, landmarks: usize) -> Result<()> {
    let refuse = |name, expected, value| {
        Err(Error::InvalidParameter {
            name,
            expected,
            value,
        })
    };
    if !basis.holds_rows() {
        return refuse(
            "a model to reduce",
            "one whose expansion is over rows of a table",
            "one that holds no row".into(),
        );
    }
    if landmarks == 0 || landmarks >= basis.len() {
        return refuse(
            "the number of landmarks of a reduced model",
            "at least 1 and below the number of points it has",
            format!("{landmarks} for {} points", basis.len()),
        );
    }
    Ok(())
}

/// Puts h on the landmarks of the map. As h − h' is orthogonal to h', $\|h - h'\|^2 = \langle h, h - h'\rangle = \sum_jg_j(h - h')(x_j)$.
fn project(scorer: &mut Predictor, map: &FeatureMap, watch: &Watch) -> Result<Loss> {
    scorer.intervals = None;
    let old = std::mem::replace(&mut scorer.basis, map.basis.clone());
    let coefficients = std::mem::take(&mut scorer.coefficients);
    let at_landmarks = old.expansion(&map.basis.points, &coefficients, watch)?;
    let column = faer::Col::from_fn(map.len(), |l| at_landmarks[l]);
    let projected = map.root() * (map.root() * column);
    scorer.coefficients = projected.iter().copied().collect();
    let before = old.expansion(&old.points, &coefficients, watch)?;
    let after = scorer
        .basis
        .expansion(&old.points, &scorer.coefficients, watch)?;
    let loss = Loss::of(&old, &coefficients, &before, &after);
    let Loss {
        norm,
        bound,
        spread,
        ..
    } = loss;
    let finite = [norm, bound, spread, loss.root_mean_square]
        .iter()
        .all(|v| v.is_finite());
    if finite && scorer.coefficients.iter().all(|g| g.is_finite()) {
        Ok(loss)
    } else {
        Err(Error::Overflow {
            what: "a coefficient of the reduced model",
        })
    }
}

impl Loss {
    fn of(basis: &Basis, coefficients: &[f64], before: &[f64], after: &[f64]) -> Self {
        let differences = before.iter().zip(after).map(|(h, less)| h - less);
        let inner =
            |values: &[f64]| -> f64 { coefficients.iter().zip(values).map(|(g, v)| g * v).sum() };
        let apart: Vec<f64> = differences.collect();
        let sizes = coefficients.iter().zip(before).map(|(g, h)| (g * h).abs());
        let rounding = before.len() as f64 * f64::EPSILON * sizes.sum::<f64>();
        let lost = (inner(&apart).max(0.0) + rounding).sqrt();
        let mut spread = Spread::default();
        for h in before {
            spread.add(*h, 1.0);
        }
        let squares: f64 = apart.iter().map(|d| d * d).sum();
        Self {
            norm: inner(before).max(0.0).sqrt(),
            lost,
            bound: lost * longest(basis, &basis.points),
            root_mean_square: (squares / apart.len() as f64).sqrt(),
            largest: apart.iter().fold(0.0, |a: f64, d| a.max(d.abs())),
            spread: spread.variance().sqrt(),
        }
    }
}

/// The largest $\sqrt{k(x, x)}$.
fn longest(basis: &Basis, points: &Points) -> f64 {
    let own = |i| basis.kernel.at(points.row(i), points.row(i));
    let most = (0..points.len()).map(own).fold(0.0, f64::max);
    most.sqrt()
}
