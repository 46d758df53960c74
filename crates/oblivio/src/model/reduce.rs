//! A model on fewer points, and what that costs.

use faer::linalg::solvers::{Llt, Solve};
use faer::{Col, Mat, MatRef, Side};
use oblivio_base::stats::Spread;
use oblivio_base::{Error, Result, Watch};
use oblivio_kernels::gram::dot;
use oblivio_kernels::{Basis, Components, FeatureMap};
use serde::{Deserialize, Serialize};

use super::Model;
use super::history::{Change, Step};
use crate::predictor::Predictor;

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

/// What h lost when it became h' + c on the span of the landmarks, its own intercept apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Loss {
    /// $\|h\|_{\mathcal H}$
    pub norm: f64,
    /// $\|h - h'\|_{\mathcal H}$, rounding counted in: $|h(x) - h'(x) - c| \le \sqrt{k(x, x)}\,\|h - h'\| + |c|$ at every x.
    pub lost: f64,
    /// c, which the intercept has taken over.
    #[serde(default)]
    pub constant: f64,
    /// That bound at the point of the expansion where k(x, x) is largest; the mean of any rows like these, so the mean of a cell, has
    /// moved by no more.
    pub bound: f64,
    /// The root mean square of h − h' − c at the points of the expansion.
    pub root_mean_square: f64,
    /// The largest |h − h' − c| there.
    pub largest: f64,
    /// The standard deviation of h there.
    pub spread: f64,
}

impl Model {
    /// The model on fewer points: each h becomes $h' + c$ with $h' = \sum_l g'_lk(l, \cdot)$ on landmarks L among its points X, chosen by
    /// randomly pivoted Cholesky and the same for all scores. Of all such functions it has the least
    /// $$\sum_{x\in X}(h(x) - h'(x) - c)^2 + \tau\,\|h' - \Pi h\|_{\mathcal H}^2,$$
    /// Πh being the nearest to h in the kernel's space and τ a tenth of the mean of k(x, x): near to the scores where rows are, and not
    /// far from h elsewhere. The mean of the scores at the points stays what it was.
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
        self.predictor()
            .kernel()
            .check_formula("a model to reduce")?;
        let basis = self.predictor().basis.clone();
        check(&basis, to.landmarks)?;
        let span = Span::choose(&basis, to, watch)?;
        let mut model = self.clone();
        let mut scores = Vec::new();
        let mut fallback = Vec::new();
        let mut spare: Option<Span> = None;
        for scorer in &mut model.scorers {
            if let Some(other) = scorer.fallback.as_deref_mut() {
                if other.basis == basis {
                    fallback.push(span.put(other, watch)?);
                } else if other.basis.len() > to.landmarks {
                    let span = match spare.take() {
                        Some(span) => span,
                        None => Span::choose(&other.basis, to, watch)?,
                    };
                    fallback.push(span.put(other, watch)?);
                    spare = Some(span);
                }
            }
            scores.push(span.put(scorer, watch)?);
        }
        let reduction = Reduction {
            points: basis.len(),
            landmarks: span.map.len(),
            seed: to.seed,
            scores,
            fallback,
        };
        model.card.components = Some(span.map.len());
        let change = Change::new(Step::Reduce(reduction.clone()), date);
        model.card.history.push(change);
        Ok((model, reduction))
    }
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

/// τ as a share of the mean of k(x, x). With less, scores of rows that are no points may be further off; with more, those of the points.
const PULL: f64 = 0.1;

/// The span of landmarks among the points of a basis, in the features f of its map: $\|w\cdot f\|_{\mathcal H} = \|w\|$.
struct Span {
    map: FeatureMap,
    /// F, the features of every point less their mean, point after point.
    features: Vec<f64>,
    /// That of $F^\top F + \tau I$.
    factor: Llt<f64>,
    /// The largest $\sqrt{k(x, x)}$ of a point.
    longest: f64,
}

impl Span {
    fn choose(basis: &Basis, to: Reduce, watch: &Watch) -> Result<Self> {
        let components = Components::new(to.landmarks);
        let points = basis.points();
        let (map, _) =
            FeatureMap::choose(basis.kernel().clone(), points, components, to.seed, watch)?;
        let mut features = map.features(points, watch)?;
        let mut mean = vec![0.0; map.len()];
        for row in features.chunks(map.len()) {
            for (sum, value) in mean.iter_mut().zip(row) {
                *sum += value / points.len() as f64;
            }
        }
        for row in features.chunks_mut(map.len()) {
            for (value, mean) in row.iter_mut().zip(&mean) {
                *value -= mean;
            }
        }
        let own = |i| basis.kernel().at(points.row(i), points.row(i));
        let lengths: Vec<f64> = (0..points.len()).map(own).collect();
        let pull = PULL * lengths.iter().sum::<f64>() / lengths.len() as f64;
        let columns = MatRef::from_column_major_slice(&features, map.len(), points.len());
        let mut gram: Mat<f64> = columns * columns.transpose();
        for k in 0..map.len() {
            // Where all points are zero to the kernel, so are all features.
            gram[(k, k)] += if pull > 0.0 { pull } else { 1.0 };
        }
        let factor = gram.llt(Side::Lower).map_err(|_| OVERFLOW)?;
        Ok(Self {
            longest: lengths.into_iter().fold(0.0, f64::max).sqrt(),
            map,
            features,
            factor,
        })
    }

    /// Puts h, whose points are those of the span, on the landmarks.
    ///
    /// With $\Pi h = w_0\cdot f$ and r = h − Πh at the points, h' has the weights $w_0 + d$ for $d = (F^\top F + \tau I)^{-1}F^\top r$, and c is
    /// the mean of r − d·f. As h − Πh is orthogonal to the span, $\|h - h'\|^2 = \sum_jg_jr_j + \|d\|^2$.
    fn put(&self, scorer: &mut Predictor, watch: &Watch) -> Result<Loss> {
        let old = std::mem::replace(&mut scorer.basis, self.map.basis().clone().into());
        let coefficients = std::mem::take(&mut scorer.coefficients);
        let root = self.map.root();
        let at_landmarks = old.expansion(self.map.basis().points(), &coefficients, watch)?;
        let projected = root * as_column(&at_landmarks);

        let before = old.expansion(old.points(), &coefficients, watch)?;
        let on_span = |weights: &Col<f64>| -> Result<(Vec<f64>, Vec<f64>)> {
            let coefficients: Vec<f64> = (root * weights).iter().copied().collect();
            let values = self
                .map
                .basis()
                .expansion(old.points(), &coefficients, watch)?;
            let apart = before.iter().zip(values).map(|(h, value)| h - value);
            Ok((coefficients, apart.collect()))
        };
        let (_, apart) = on_span(&projected)?;
        let columns = MatRef::from_column_major_slice(&self.features, self.map.len(), before.len());
        // The columns' sum is zero: the mean of r adds nothing.
        let correction = self.factor.solve(columns * as_column(&apart));
        let squared = dot(&coefficients, &apart).max(0.0) + correction.squared_norm_l2();
        let (reduced, mut apart) = on_span(&(projected + correction))?;
        let constant = apart.iter().sum::<f64>() / apart.len() as f64;
        for difference in &mut apart {
            *difference -= constant;
        }

        let sizes = coefficients.iter().zip(&before).map(|(g, h)| (g * h).abs());
        let rounding = before.len() as f64 * f64::EPSILON * sizes.sum::<f64>();
        let lost = (squared + rounding).sqrt();
        let mut spread = Spread::default();
        for h in &before {
            spread.add(*h, 1.0);
        }
        let loss = Loss {
            norm: dot(&coefficients, &before).max(0.0).sqrt(),
            lost,
            constant,
            bound: lost * self.longest + constant.abs(),
            root_mean_square: (dot(&apart, &apart) / apart.len() as f64).sqrt(),
            largest: apart.iter().fold(0.0, |a: f64, d| a.max(d.abs())),
            spread: spread.variance().sqrt(),
        };
        if ![loss.norm, loss.bound, loss.spread, loss.root_mean_square]
            .iter()
            .chain(&reduced)
            .all(|value| value.is_finite())
        {
            return Err(OVERFLOW);
        }
        scorer.coefficients = reduced;
        scorer.intercept += constant;
        if let Some(adjustment) = &mut scorer.adjustment {
            adjustment.offsets.mean -= constant;
        }
        scorer.intervals = None;
        Ok(loss)
    }
}

const OVERFLOW: Error = Error::Overflow {
    what: "a coefficient of the reduced model",
};

fn as_column(values: &[f64]) -> Col<f64> {
    Col::from_fn(values.len(), |i| values[i])
}
