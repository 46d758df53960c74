//! Everything that a subject is held against, and the measures that need true labels or legitimate factors.

use oblivio_base::Result;

use super::calibration::Calibration;
use super::cells::Cells;
use super::control::Control;
use super::errors::Errors;
use super::hsic::HsicSide;
use super::kernels::{Kernels, Target};
use super::measure::{Family, Measure};
use super::odds::Odds;
use super::profile;
use super::report::{Audit, Profile};
use super::run::AuditSettings;
use super::share::ShareRows;
use super::strata::Strata;
use super::subject::SubjectRows;
use super::truth::Truth;
use super::view::View;

/// Everything that a subject is held against.
pub(super) struct Scene<'a> {
    pub(super) views: &'a [View],
    pub(super) targets: &'a [Target<'a>],
    pub(super) sides: &'a [HsicSide],
    pub(super) strata: &'a Strata,
    pub(super) control: Option<&'a Control>,
    pub(super) truth: Option<&'a Truth>,
    pub(super) kernels: Kernels<'a>,
}

impl<'a> Scene<'a> {
    pub(super) fn cells(&self, view: &'a View, least_rows: usize) -> Cells<'a> {
        Cells {
            codes: &view.cells,
            count: view.labels.len(),
            weights: self.kernels.weights,
            least_rows,
            strata: self.strata,
        }
    }
}

impl AuditSettings {
    /// The measures that compare cells and need true labels.
    pub(super) fn compare_labels(
        &self,
        audit: &mut Audit,
        (name, subject): (&str, &SubjectRows),
        scene: &Scene,
    ) -> Result<()> {
        let Some(truth) = scene.truth else {
            return Ok(());
        };
        let (resampling, watch) = (&self.resampling, scene.kernels.watch);
        let classes = truth.odds(name, subject);
        let outcome = truth.outcome(name);
        let losses = truth.losses(subject, &classes, scene.kernels.weights);
        for (at, view) in scene.views.iter().enumerate() {
            let cells = scene.cells(view, self.least_rows);
            let mut found = Vec::new();
            if self.wants_any(&[Family::Odds]) && !classes.is_empty() {
                let odds = Odds::new(&cells, &classes, &truth.strata);
                found.extend(odds.measure(resampling, watch)?);
            }
            let mut profiles = audit.profiles.iter_mut();
            let place = &audit.against[at];
            let profile = profiles.find(|p| p.subject == name && p.against == place.name);
            let mut unused = Profile::default();
            let profile = profile.unwrap_or(&mut unused);
            if self.asks(subject.role, Measure::Calibration)
                && let Some((outcome, is_share)) = &outcome
            {
                let outcome = (&outcome[..], *is_share);
                let calibration = Calibration::new(&cells, subject.outcome(), outcome);
                let calibrated = calibration.measure(&view.briefs, resampling, watch)?;
                found.push(calibrated.found);
                profile::add_curves(profile, calibrated.curves);
            }
            if self.asks(subject.role, Measure::ErrorGap)
                && let Some(losses) = &losses
            {
                let errors = Errors::new(&cells, losses).measure(resampling, watch)?;
                found.push(errors.found);
                profile::add_errors(profile, &errors.errors, &place.cells);
            }
            self.add(audit, name, subject.role, at, found);
        }
        Ok(())
    }

    /// The shares of variance that S explains beyond true labels and beyond legitimate factors.
    pub(super) fn beyond_columns(
        &self,
        audit: &mut Audit,
        (name, subject): (&str, &SubjectRows),
        scene: &Scene,
    ) -> Result<()> {
        let targets = subject.targets();
        let control = scene.control.map_or(&[][..], |control| &control.columns);
        let beyond_labels = scene.truth.map(|truth| {
            let given = [&[truth.as_feature()], control].concat();
            (Measure::Separation, given, truth.strata.cross(scene.strata))
        });
        let beyond_control = scene.control.map(|control| {
            let given = control.columns.clone();
            (Measure::ConditionalParity, given, control.strata.clone())
        });
        for (measure, given, bins) in beyond_labels.into_iter().chain(beyond_control) {
            if !self.asks(subject.role, measure) {
                continue;
            }
            let rows = ShareRows {
                targets: &targets,
                given: &given,
                bins: &bins,
                weights: scene.kernels.weights,
            };
            for (at, target) in scene.targets.iter().enumerate() {
                let found = rows.measure(measure, &target.features(), &scene.kernels);
                if let Some(found) = self.possible(found, &mut audit.notes)? {
                    self.add(audit, name, subject.role, at, vec![found]);
                }
            }
        }
        Ok(())
    }
}
