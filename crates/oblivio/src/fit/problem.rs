//! The data of a fit, checked and copied, and the ways to learn from them.

use super::exact::Exact;
use super::landmarked::Landmarked;
use super::{Emphasised, Fit, Settings, StreamFit, Training};
use crate::error::Result;
use crate::gather::Rows;
use crate::landmarks::Components;
use crate::watch::Watch;

/// The data of a fit, checked and copied: what is left is the long part.
#[derive(Debug)]
pub struct Problem(Path);

#[derive(Debug)]
enum Path {
    Exact(Box<Exact>),
    Moments(Box<(Settings, Components, Rows)>),
    Landmarked(Box<Landmarked>),
}

impl Problem {
    pub(super) fn new(settings: &Settings, data: &Emphasised) -> Result<Self> {
        let Some(components) = settings.components else {
            return Ok(Self(Path::Exact(Box::new(Exact::new(settings, data)?))));
        };
        components.check()?;
        let Training {
            sensitive, targets, ..
        } = data.training;
        let settings = Settings {
            partition: settings.partition.settled(sensitive),
            ..settings.clone()
        };
        let all: Vec<usize> = (0..targets.len()).collect();
        let rows = data.training.rows(&all);
        Ok(Self(if settings.learner.classifies() {
            let emphasis = data.emphasis.clone();
            Path::Landmarked(Box::new(Landmarked::new(settings, rows, emphasis)))
        } else {
            Path::Moments(Box::new((settings, components, rows)))
        }))
    }

    /// Learns.
    pub fn fit(self, watch: &Watch) -> Result<Fit> {
        match self.0 {
            Path::Exact(exact) => exact.fit(watch),
            Path::Moments(parts) => {
                let (settings, components, rows) = *parts;
                StreamFit::fit(&settings, components, &rows, watch)
            }
            Path::Landmarked(landmarked) => landmarked.fit(watch),
        }
    }
}
