//! The data of a fit, checked and copied, and the ways to learn from them.

use oblivio_base::{Result, Watch};
use oblivio_kernels::Components;
use oblivio_kernels::learn::Learner;

use super::exact::Exact;
use super::landmarked::Landmarked;
use super::unseen::Unseen;
use super::{Emphasised, Fit, Settings, StreamFit, Training};
use crate::gather::Rows;

/// The data of a fit, checked and copied: what is left is the long part.
#[derive(Debug)]
pub struct Problem {
    path: Path,
    learner: Learner,
    /// Whether rows that miss a sensitive value need a second model.
    second: bool,
    /// Rows that do not count because they miss one.
    left_out: usize,
    /// Where intervals are asked for.
    unseen: Option<Unseen>,
}

#[derive(Debug)]
pub(super) enum Path {
    Exact(Box<Exact>),
    Moments(Box<(Settings, Components, Rows)>),
    Landmarked(Box<Landmarked>),
}

impl Problem {
    pub(super) fn new(settings: &Settings, data: &Emphasised) -> Result<Self> {
        let has_sensitive = !data.training.sensitive.columns().is_empty();
        let path = Path::new(settings, data)?;
        Ok(Self {
            unseen: Unseen::new(settings, &path, data)?,
            path,
            learner: settings.learner,
            second: has_sensitive && settings.fallback().is_some(),
            left_out: 0,
        })
    }

    /// The same with the number of rows that were left out.
    pub(super) fn leaving_out(self, left_out: usize) -> Self {
        Self { left_out, ..self }
    }

    /// Learns.
    pub fn fit(self, watch: &Watch) -> Result<Fit> {
        let second = self.second.then(|| self.path.sensitive_free()).flatten();
        let left_out = match &self.unseen {
            Some(unseen) => unseen.left_out(&self.path, second.as_ref(), watch)?,
            None => None,
        };
        let mut fit = self.path.fit(watch)?;
        if let Some(second) = second {
            fit = fit.with_fallback(second.fit(watch)?, self.learner);
        }
        if let Some(unseen) = self.unseen {
            fit = unseen.finish(left_out, fit, watch)?;
        }
        fit.summary.uses.sensitive_free += self.left_out;
        let remark = super::left_out(fit.summary.uses);
        fit.summary.warnings.extend(remark);
        Ok(fit)
    }
}

impl Path {
    fn new(settings: &Settings, data: &Emphasised) -> Result<Self> {
        let Some(components) = settings.components else {
            return Ok(Self::Exact(Box::new(Exact::new(settings, data)?)));
        };
        components.check()?;
        let Training {
            sensitive, targets, ..
        } = data.training;
        let settings = Settings {
            partition: settings.partition.settled(sensitive),
            intervals: None,
            ..settings.clone()
        };
        let all: Vec<usize> = (0..targets.len()).collect();
        let rows = data.training.rows(&all);
        Ok(if settings.learner.classifies() {
            let emphasis = data.emphasis.clone();
            Self::Landmarked(Box::new(Landmarked::new(settings, rows, emphasis)))
        } else {
            Self::Moments(Box::new((settings, components, rows)))
        })
    }

    /// The same in the mode sensitive-free; moments are solved for both modes at once.
    fn sensitive_free(&self) -> Option<Self> {
        match self {
            Self::Exact(exact) => Some(Self::Exact(Box::new(exact.sensitive_free()))),
            Self::Moments(_) => None,
            Self::Landmarked(fit) => Some(Self::Landmarked(Box::new(fit.sensitive_free()))),
        }
    }

    /// Whether rows can be left out in closed form.
    pub(super) fn leaves_out(&self) -> bool {
        match self {
            Self::Exact(exact) => exact.leaves_out(),
            Self::Moments(_) | Self::Landmarked(_) => false,
        }
    }

    fn fit(self, watch: &Watch) -> Result<Fit> {
        match self {
            Self::Exact(exact) => exact.fit(watch),
            Self::Moments(parts) => {
                let (settings, components, rows) = *parts;
                StreamFit::fit(&settings, components, &rows, watch)
            }
            Self::Landmarked(landmarked) => landmarked.fit(watch),
        }
    }
}
