//! The state of a fit from a stream.

use std::sync::Arc;

use oblivio_base::{Encoder, Result, Warning};

use super::file::container::invalid;
use crate::features::{FeatureFit, FeatureSettings};
use crate::fit::{Settings, StreamFit};
use crate::gather::Gather;
use crate::moments::{Moments, Plan};

/// A fit from a stream that was left off: it goes on as if nothing had happened, to the last bit.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    pub(super) encoder: Encoder,
    pub(super) plan: Arc<Plan>,
    pub(super) gather: Option<Gather>,
    pub(super) warnings: Vec<Warning>,
    pub(super) note: String,
}

impl Checkpoint {
    /// The state of a regression; `note` is what the caller wants to find again: which files, how far.
    pub fn of_fit(encoder: &Encoder, fit: &StreamFit, note: String) -> Self {
        Self {
            encoder: encoder.clone(),
            plan: Arc::clone(&fit.plan),
            gather: Some(fit.gather.clone()),
            warnings: fit.warnings.clone(),
            note,
        }
    }

    /// The state of features.
    pub fn of_features(encoder: &Encoder, fit: &FeatureFit, note: String) -> Self {
        Self {
            encoder: encoder.clone(),
            plan: Arc::clone(&fit.plan),
            gather: fit.gather.clone(),
            warnings: fit.warnings.clone(),
            note,
        }
    }

    /// Moments with the encoding of their columns.
    pub fn of_moments(encoder: &Encoder, moments: &Moments, note: String) -> Self {
        Self {
            encoder: encoder.clone(),
            plan: Arc::clone(&moments.plan),
            gather: Some(Gather::of(moments.clone())),
            warnings: Vec::new(),
            note,
        }
    }

    /// What the caller wanted to find again.
    pub fn note(&self) -> &str {
        &self.note
    }

    /// The regression, with the settings it was begun with.
    pub fn into_fit(self, settings: &Settings) -> Result<(Encoder, StreamFit)> {
        let Some(mut gather) = self.gather else {
            return Err(invalid("it is the checkpoint of another kind of fit"));
        };
        gather.members = settings
            .reference
            .members(gather.table_rows, settings.seed)?;
        let fit = StreamFit::of(settings, gather, self.warnings)?;
        Ok((self.encoder, fit))
    }

    /// The moments, with the encoding of their columns.
    pub fn into_moments(self) -> Result<(Encoder, Moments)> {
        match self.gather {
            Some(gather) if gather.training.is_none() && self.plan.second => {
                Ok((self.encoder, gather.reference))
            }
            _ => Err(invalid("it is the checkpoint of another kind of fit")),
        }
    }

    /// The encoding of the columns and moments of no rows, by the plan of a fit that has none yet.
    pub(crate) fn into_plan(self) -> Result<(Encoder, Option<Moments>)> {
        match self.gather {
            None => Ok((self.encoder, None)),
            Some(gather) if gather.training.is_none() && gather.reference.rows() == 0 => {
                Ok((self.encoder, Some(gather.reference)))
            }
            Some(_) => Err(invalid(
                "it is not the plan of a fit whose rows are yet to come",
            )),
        }
    }

    /// The features, with the settings they were begun with.
    pub fn into_features(mut self, settings: &FeatureSettings) -> Result<(Encoder, FeatureFit)> {
        if self.gather.is_none() && self.plan.has_sensitive() && settings.strength > 0.0 {
            return Err(invalid(
                "it was begun at strength 0, without means of the cells",
            ));
        }
        if let Some(gather) = &mut self.gather {
            gather.members = settings
                .reference
                .members(gather.table_rows, settings.seed)?;
        }
        let fit = FeatureFit {
            plan: self.plan,
            gather: self.gather,
            strength: settings.strength,
            warnings: self.warnings,
        };
        Ok((self.encoder, fit))
    }
}
