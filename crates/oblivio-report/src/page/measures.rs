//! All measures as a table.

use maud::{Markup, html};
use oblivio_audit::{Against, Audit, Measure};
use oblivio_base::Named;

use super::name::name;
use super::spark::{Scale, key, spark};
use crate::number::{confidence, p_value, short};
use crate::pair::{Change, Pair, pairs};
use crate::words::words;

/// A gap in the units of a column, next to the one in standard deviations.
const RAW: [(&str, &str); 2] = [
    ("in-units-of-the-score", "in units of the score"),
    ("in-units-of-the-target", "in units of the target"),
];

pub(super) fn section(audit: &Audit) -> Markup {
    let confidence = confidence(audit.resampling.confidence);
    html! {
        section #measures aria-labelledby="measures-title" {
            h2 #measures-title { "Every measure" }
            p.lead {
                "A value is " strong { "detectable" } " if chance alone would give one as extreme in at most one case of twenty. It is "
                strong { "large" } " if it is far from its level under independence, by the conventions listed "
                a href="#promises" { "below" } ". The two are separate: many rows make a small dependence detectable."
            }
            (key(audit))
            @for pair in pairs(audit) {
                (table(audit, &pair, &confidence))
            }
            h3 { "What the measures say" }
            dl.meanings {
                @for measure in used(audit) {
                    div { dt { (words(measure).0) } dd { (words(measure).1) } }
                }
            }
        }
    }
}

/// The measures that were taken, in order.
pub(super) fn used(audit: &Audit) -> Vec<Measure> {
    let known = Measure::NAMES.iter().map(|&(_, measure)| measure);
    known
        .filter(|&measure| audit.findings.iter().any(|f| f.measure == measure))
        .collect()
}

fn table(audit: &Audit, pair: &Pair, confidence: &str) -> Markup {
    let groups: Vec<(&Against, Vec<Change>)> = audit
        .against
        .iter()
        .rev()
        .map(|against| (against, pair.changes(audit, against)))
        .filter(|(_, changes)| !changes.is_empty())
        .collect();
    html! {
        @if !groups.is_empty() {
            div.scroll tabindex="0" role="region" aria-label={ "Measures of " (crate::text::name(&pair.subject.name)) } {
                table.measures {
                    caption { "Measures of " (name(&pair.subject.name))
                        @if let Some(before) = pair.before { ", before: " (name(&before.name)) } }
                    thead { tr {
                        th scope="col" { "Measure" }
                        th scope="col" { span.hidden { "As a line" } }
                        @if pair.before.is_some() { th.number scope="col" { "Before" } }
                        th.number scope="col" { (if pair.before.is_some() { "After" } else { "Value" }) }
                        th.number scope="col" { "If inde\u{ad}pen\u{ad}dent" }
                        th.number scope="col" { (confidence.replace(' ', "\u{a0}")) " interval" }
                        th.number scope="col" { "p" }
                        th scope="col" { "Detectable?" }
                        th scope="col" { "Large?" }
                    } }
                    @for (against, changes) in &groups { (group(audit, against, changes, pair.before.is_some())) }
                }
            }
        }
    }
}

fn group(audit: &Audit, against: &Against, changes: &[Change], before: bool) -> Markup {
    html! {
        tbody {
            tr.group { th colspan=(if before { "9" } else { "8" }) scope="rowgroup" { "Against " (name(&against.name)) } }
            @for change in changes { (row(audit, change, before)) }
        }
    }
}

fn row(audit: &Audit, change: &Change, before: bool) -> Markup {
    let (finding, measured) = (change.now, &change.now.measured);
    let (label, meaning) = words(finding.measure);
    html! {
        tr {
            th scope="row" title=(meaning) {
                (label)
                @if let Some(detail) = &finding.detail { span.detail { (name(detail)) } }
                @for (key, unit) in RAW {
                    @if let Some(raw) = finding.further.get(key) { span.detail { (short(*raw)) " " (unit) } }
                }
            }
            td { (spark(change, Scale::new(audit, change))) }
            @if before {
                td.number data-label="Before" { (change.before.map_or_else(|| "–".into(), |before| short(before.measured.value))) }
            }
            td.number data-label=(if before { "After" } else { "Value" }) { strong { (short(measured.value)) } }
            td.number.wide data-label="If independent" { (short(measured.expected)) }
            td.number.wide data-label="Interval" { (interval(measured.lower, measured.upper)) }
            td.number.wide data-label="p" { (p_value(measured.p_value)) }
            td data-label="Detectable?" { (flag(finding.detectable)) }
            td data-label="Large?" { (flag(finding.large)) }
        }
    }
}

/// `0.12 to 0.34`
pub(super) fn interval(lower: f64, upper: f64) -> String {
    if lower.is_finite() || upper.is_finite() {
        format!("{} to {}", short(lower), short(upper)).replace(' ', "\u{a0}")
    } else {
        "–".into()
    }
}

/// Yes or no as a sign and a word.
pub(super) fn flag(is: bool) -> Markup {
    html! {
        @if is { span.yes { span aria-hidden="true" { "● " } "yes" } }
        @else { span.no { span aria-hidden="true" { "○ " } "no" } }
    }
}
