//! A measure as a line: the level under independence, the value, its interval, and the value before.

use maud::{Markup, html};
use oblivio_audit::{Audit, Measure, Measured, Role};

use crate::number::rounded;
use crate::pair::Change;

const WIDTH: f64 = 150.0;
const MARGIN: f64 = 6.0;

/// The values from the left end of a line to its right end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Room for all that the audit found by the measure of this change. Adversaries have a line each: one may be an AUC,
    /// the next an R².
    pub fn new(audit: &Audit, change: &Change) -> Self {
        let measure = change.now.measure;
        let alone = matches!(measure, Measure::Adversary | Measure::AdversaryLinear);
        let all = audit
            .findings
            .iter()
            .filter(|f| f.measure == measure && !alone);
        let found = all.chain([change.now]).chain(change.before);
        let numbers = found.flat_map(|finding| ends(&finding.measured));
        let (low, high) = numbers
            .filter(|number| number.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| {
                (low.min(number), high.max(number))
            });
        let low = if alone || !measure.grows() {
            low
        } else {
            low.min(0.0)
        };
        let high = if measure.grows() { high } else { high.max(1.0) };
        Self { low, high }
    }

    fn at(self, value: f64) -> f64 {
        let width = self.high - self.low;
        let share = if width > 0.0 {
            (value - self.low) / width
        } else {
            0.0
        };
        let x = MARGIN + share.clamp(0.0, 1.0) * (WIDTH - 2.0 * MARGIN);
        (10.0 * x).round() / 10.0
    }
}

fn ends(measured: &Measured) -> [f64; 5] {
    let Measured {
        value,
        expected,
        critical,
        lower,
        upper,
        ..
    } = *measured;
    [value, expected, critical, lower, upper]
}

/// The line of a finding. It says nothing that the numbers beside it do not, so it is hidden from screen readers.
pub(super) fn spark(change: &Change, scale: Scale) -> Markup {
    let measured = &change.now.measured;
    let (from, to) = if change.now.measure.grows() {
        (0.0, scale.at(measured.critical))
    } else {
        (scale.at(measured.critical), WIDTH)
    };
    let (lower, upper) = (scale.at(measured.lower), scale.at(measured.upper));
    let before = change.before.map(|before| before.measured.value);
    html! {
        svg.spark viewBox="0 0 150 20" width="150" height="20" aria-hidden="true" {
            rect.null x=(from) y="2" width=(rounded((to - from).max(0.0))) height="16" {}
            line.axis x1="0" x2="150" y1="10" y2="10" {}
            @if measured.expected.is_finite() {
                line.expected x1=(scale.at(measured.expected)) x2=(scale.at(measured.expected)) y1="2" y2="18" {}
            }
            @if measured.lower.is_finite() && measured.upper.is_finite() {
                line.interval x1=(lower) x2=(upper) y1="10" y2="10" {}
            }
            @if let Some(before) = before.filter(|before| before.is_finite()) {
                circle.before cx=(scale.at(before)) cy="10" r="4" {}
            }
            @if measured.value.is_finite() {
                circle.now cx=(scale.at(measured.value)) cy="10" r="4" {}
            }
        }
    }
}

/// What the signs on a line mean.
pub(super) fn key(audit: &Audit) -> Markup {
    let before = audit
        .subjects
        .iter()
        .any(|subject| subject.role == Role::Before);
    html! {
        p.key {
            span { (sign(&html! { circle.now cx="10" cy="10" r="4" {} })) " value" }
            @if before { span { (sign(&html! { circle.before cx="10" cy="10" r="4" {} })) " before" } }
            span { (sign(&html! { line.interval x1="1" x2="19" y1="10" y2="10" {} })) " its interval" }
            span {
                (sign(&html! { rect.null x="0" y="2" width="20" height="16" {} line.expected x1="10" x2="10" y1="2" y2="18" {} }))
                " range and mean if independent"
            }
        }
    }
}

fn sign(shape: &Markup) -> Markup {
    html! { svg.spark viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" { (shape) } }
}
