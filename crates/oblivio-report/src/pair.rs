//! Subjects as they are read: one of before and after together, the others alone.

use oblivio_audit::{Against, Audit, Finding, Measure, Profile, Role, Subject};
use oblivio_base::Named;

/// A subject, with what it was before the correction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    /// The subject before.
    pub before: Option<&'a Subject>,
    /// The subject.
    pub subject: &'a Subject,
}

/// All pairs, in the audit's order.
pub(crate) fn pairs(audit: &Audit) -> Vec<Pair<'_>> {
    let subjects = &audit.subjects;
    let is_before = |at: usize| {
        let next = subjects.get(at + 1).map(|next| next.role);
        subjects[at].role == Role::Before && next == Some(Role::After)
    };
    (0..subjects.len())
        .filter(|&at| !is_before(at))
        .map(|at| Pair {
            before: at
                .checked_sub(1)
                .filter(|&before| is_before(before))
                .map(|before| &subjects[before]),
            subject: &subjects[at],
        })
        .collect()
}

/// The pair that the headline is about: the last score, else the last label, else the last of the rest.
pub(crate) fn headline(audit: &Audit) -> Option<Pair<'_>> {
    let rank = |role| match role {
        Role::After | Role::Score | Role::Before => 2,
        Role::Label => 1,
        Role::Features => 0,
    };
    pairs(audit)
        .into_iter()
        .max_by_key(|pair| rank(pair.subject.role))
}

/// A finding with the same measure before the correction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    /// The finding before.
    pub before: Option<&'a Finding>,
    /// The finding.
    pub now: &'a Finding,
}

impl Change<'_> {
    /// Whether there is a before and the value is further on the side of dependence, by more than its interval is wide there.
    pub fn is_worse(&self) -> bool {
        let now = &self.now.measured;
        self.before.is_some_and(|before| {
            let before = before.measured.value;
            if self.now.measure.grows() {
                now.value > before && now.lower > before
            } else {
                now.value < before && now.upper < before
            }
        })
    }

    /// How far beyond its level under independence the value is.
    pub fn excess(&self) -> f64 {
        let measured = &self.now.measured;
        if self.now.measure.grows() {
            measured.value - measured.expected
        } else {
            measured.expected - measured.value
        }
    }
}

impl<'a> Pair<'a> {
    /// The finding of a measure.
    pub fn change(
        &self,
        audit: &'a Audit,
        against: &Against,
        measure: Measure,
    ) -> Option<Change<'a>> {
        let find = |subject: &Subject| audit.finding(&subject.name, &against.name, measure);
        Some(Change {
            now: find(self.subject)?,
            before: self.before.and_then(find),
        })
    }

    /// All findings against these columns, in the order of the measures.
    pub fn changes(&self, audit: &'a Audit, against: &Against) -> Vec<Change<'a>> {
        Measure::NAMES
            .iter()
            .filter_map(|&(_, measure)| self.change(audit, against, measure))
            .collect()
    }

    /// The distributions of before and now in the cells.
    pub fn profiles(
        &self,
        audit: &'a Audit,
        against: &Against,
    ) -> (Option<&'a Profile>, Option<&'a Profile>) {
        let find = |subject: &Subject| {
            audit
                .profiles
                .iter()
                .find(|profile| profile.subject == subject.name && profile.against == against.name)
        };
        (self.before.and_then(find), find(self.subject))
    }
}
