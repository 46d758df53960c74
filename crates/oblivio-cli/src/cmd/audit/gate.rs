//! Limits that make an audit a gate for pipelines.

use std::str::FromStr;

use anyhow::{Result, bail};
use oblivio_audit::{Audit, Finding, Measure, Role};
use oblivio_base::Named;
use serde_json::json;

use crate::report::number;

/// A measure and the value it may not pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limit {
    pub(super) measure: Measure,
    /// Whether an adversary's R² is meant, and not its AUC.
    r2: bool,
    pub(super) value: f64,
}

impl Limit {
    fn name(&self) -> String {
        let scale = if self.r2 { "-r2" } else { "" };
        format!("{}{scale}", self.measure.name())
    }

    /// Adversaries are scored by AUC for categories and by R² for numbers, and a limit is for one of them.
    fn is_for(&self, finding: &Finding) -> bool {
        let adversary = matches!(self.measure, Measure::Adversary | Measure::AdversaryLinear);
        let r2 = finding.further.contains_key("of-the-squared-deviation");
        finding.measure == self.measure && (!adversary || r2 == self.r2)
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let Some((name, value)) = text.split_once('=') else {
            return Err("expected MEASURE=VALUE, as in beta=0.05".into());
        };
        let (name, r2) = match name.trim().strip_suffix("-r2") {
            Some(adversary) if adversary.starts_with("adversary") => (adversary, true),
            _ => (name.trim(), false),
        };
        let measure = Measure::named(name).map_err(|error| error.to_string())?;
        match value.trim().parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Self { measure, r2, value }),
            _ => Err(format!("`{value}` is no number")),
        }
    }
}

/// What a limit asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    AtMost,
    AtLeast,
}

/// A finding held against its limit.
pub(super) struct Verdict<'a> {
    finding: &'a Finding,
    limit: Limit,
    side: Side,
    pub(super) kept: bool,
}

/// Every finding that has a limit. Scores before a correction have none; a limit for what was not measured is refused.
pub(super) fn verdicts<'a>(audit: &'a Audit, limits: &[(Side, Limit)]) -> Result<Vec<Verdict<'a>>> {
    let before = |name: &str| {
        let subject = audit.subjects.iter().find(|subject| subject.name == name);
        subject.is_some_and(|subject| subject.role == Role::Before)
    };
    let mut verdicts = Vec::new();
    for &(side, limit) in limits {
        let held = audit.findings.iter();
        let held = held.filter(|f| limit.is_for(f) && !before(&f.subject));
        let found: Vec<Verdict> = held
            .map(|finding| Verdict {
                finding,
                limit,
                side,
                kept: match side {
                    Side::AtMost => finding.measured.value <= limit.value,
                    Side::AtLeast => finding.measured.value >= limit.value,
                },
            })
            .collect();
        if found.is_empty() {
            bail!(
                "there is no {} here to limit: it is not defined for what was audited; see `oblivio audit` without limits",
                limit.name()
            );
        }
        verdicts.extend(found);
    }
    Ok(verdicts)
}

impl Verdict<'_> {
    pub(super) fn sentence(&self) -> String {
        let beyond = match self.side {
            Side::AtMost => "more than",
            Side::AtLeast => "less than",
        };
        let Finding {
            subject,
            against,
            measured,
            ..
        } = self.finding;
        format!(
            "{} of `{subject}` against {against} is {}, {beyond} {}",
            self.limit.name(),
            number(measured.value),
            self.limit.value
        )
    }

    /// A limit that independent scores would pass too: so few rows cannot keep it.
    pub(super) fn hopeless(&self) -> Option<String> {
        let expected = self.finding.measured.expected;
        let beyond = match self.side {
            Side::AtMost => expected > self.limit.value,
            Side::AtLeast => expected < self.limit.value,
        };
        beyond.then(|| {
            format!(
                "{} against {} would be about {} on these rows if nothing depended on it: the limit {} needs more rows or fewer cells",
                self.limit.name(),
                self.finding.against,
                number(expected),
                self.limit.value
            )
        })
    }

    pub(super) fn json(&self) -> serde_json::Value {
        let side = match self.side {
            Side::AtMost => "at-most",
            Side::AtLeast => "at-least",
        };
        json!({
            "measure": self.limit.name(),
            "subject": self.finding.subject,
            "against": self.finding.against,
            "value": self.finding.measured.value,
            (side): self.limit.value,
            "kept": self.kept,
        })
    }
}
