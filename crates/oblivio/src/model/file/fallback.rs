//! Models for rows without sensitive values, in the file of a model.

use std::sync::Arc;

use oblivio_base::Result;
use oblivio_kernels::Basis;
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};

use super::container::{Tensor, require};
use crate::model::Model;
use crate::predictor::Predictor;

/// The models for rows without sensitive values, apart from their tensors.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Fallback {
    intercepts: Vec<f64>,
    /// Whether they have points of their own, or the points of the scores.
    own_points: bool,
}

/// The numbers of the models for rows without sensitive values.
pub(super) struct FallbackTensors<'m> {
    coefficients: Tensor<'m>,
    /// Absent if they have the points of the scores.
    points: Option<Tensor<'m>>,
}

impl Fallback {
    pub(super) fn new(model: &Model, tensors: &FallbackTensors) -> Self {
        Self {
            intercepts: fallbacks(model).map(|f| f.intercept).collect(),
            own_points: tensors.points.is_some(),
        }
    }
}

fn fallbacks(model: &Model) -> impl Iterator<Item = &Predictor> {
    model.scorers.iter().filter_map(Predictor::fallback)
}

impl<'m> FallbackTensors<'m> {
    pub(super) fn new(model: &'m Model) -> Option<Self> {
        let first = fallbacks(model).next()?;
        let coefficients = fallbacks(model).flat_map(|f| &f.coefficients).copied();
        let own_points = first.basis != model.predictor().basis;
        let points = || Tensor::points("fallback-points", first.basis.points());
        Some(Self {
            coefficients: Tensor::vector(
                "fallback-coefficients",
                coefficients.collect::<Vec<f64>>(),
            ),
            points: own_points.then(points),
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Tensor<'m>> {
        std::iter::once(&self.coefficients).chain(&self.points)
    }

    pub(super) fn read(tensors: &SafeTensors, header: &Fallback) -> Result<Self> {
        let points = header
            .own_points
            .then(|| Tensor::read_matrix(tensors, "fallback-points"));
        Ok(Self {
            coefficients: Tensor::read_vector(tensors, "fallback-coefficients")?,
            points: points.transpose()?,
        })
    }

    /// Attaches to every score its model for rows without sensitive values.
    pub(super) fn attach(self, header: &Fallback, scorers: &mut [Predictor]) -> Result<()> {
        let mut basis = Arc::clone(&scorers[0].basis);
        if let Some(points) = self.points {
            require(points.shape[1] == basis.dim(), "the points of its fallback")?;
            let kernel = basis.kernel().clone();
            basis = Basis::new(kernel, points.into_points()?, basis.shape()).into();
        }
        let (count, coefficients) = (basis.len(), self.coefficients.values);
        require(
            count > 0
                && header.intercepts.len() == scorers.len()
                && header.intercepts.iter().all(|c| c.is_finite())
                && count.checked_mul(scorers.len()) == Some(coefficients.len()),
            "its fallback",
        )?;
        let own = header.intercepts.iter().zip(coefficients.chunks(count));
        for (scorer, (intercept, coefficients)) in scorers.iter_mut().zip(own) {
            scorer.fallback = Some(Box::new(Predictor {
                basis: Arc::clone(&basis),
                coefficients: coefficients.to_vec(),
                intercept: *intercept,
                adjustment: None,
                fallback: None,
                intervals: None,
            }));
        }
        Ok(())
    }
}
