//! What was done.

use maud::{Markup, html};
use oblivio_audit::{Audit, Null};

use super::name::{name, prose};
use crate::number::{confidence, count, short};
use crate::text;

/// Longer facts and notes are cut.
const LONGEST: usize = 2000;

pub(super) fn section(audit: &Audit, facts: &[(String, String)]) -> Markup {
    shown(facts, &known(audit), &audit.notes)
}

/// What the caller did, what the result itself knows, and its notes.
pub(super) fn shown(
    facts: &[(String, String)],
    known: &[(&'static str, String)],
    notes: &[String],
) -> Markup {
    html! {
        section #facts aria-labelledby="facts-title" {
            h2 #facts-title { "What was done" }
            dl.facts {
                @for (label, value) in facts {
                    div { dt { (name(label)) } dd { bdi { (text::cut(value, LONGEST)) } } }
                }
                @for (label, value) in known { div { dt { (label) } dd { bdi { (prose(value)) } } } }
            }
            @if !notes.is_empty() {
                h3 { "Notes" }
                ul { @for note in notes { li { bdi { (text::cut(note, LONGEST)) } } } }
            }
        }
    }
}

/// What the audit itself knows.
pub(super) fn known(audit: &Audit) -> Vec<(&'static str, String)> {
    let resampling = &audit.resampling;
    let weights = if audit.weighted {
        format!(
            "yes: as informative as {} rows of equal weight",
            short(audit.effective_rows)
        )
    } else {
        "none".into()
    };
    let formula = audit
        .findings
        .iter()
        .any(|f| f.measured.null == Null::Formula);
    let mut known = vec![
        ("Rows", count(audit.rows)),
        ("Weights", weights),
        (
            "Level under independence",
            format!(
                "sensitive values shuffled among the rows {} times{}",
                count(resampling.permutations),
                if formula {
                    "; by formula for some measures"
                } else {
                    ""
                }
            ),
        ),
        (
            "Intervals",
            format!(
                "{}, rows drawn again {} times",
                confidence(resampling.confidence),
                count(resampling.resamples)
            ),
        ),
        ("Seed", resampling.seed.to_string()),
    ];
    if let Some(threshold) = audit.threshold {
        known.push((
            "Positive decision",
            format!("a score of {} or more", short(threshold)),
        ));
    }
    known.push((
        "Program",
        concat!("oblivio ", env!("CARGO_PKG_VERSION")).into(),
    ));
    known
}
