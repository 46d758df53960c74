//! What a reader must not conclude.

use maud::{Markup, html};
use oblivio_audit::{Audit, Convention};

use super::measures::used;
use super::name::prose;
use crate::number::confidence;
use crate::text::list;
use crate::words::{origin, words};

pub(super) fn section(audit: &Audit) -> Markup {
    let columns = audit.against.last().map(|against| list(&against.columns));
    let confidence = confidence(audit.resampling.confidence);
    html! {
        section #promises aria-labelledby="promises-title" {
            h2 #promises-title { "What is not promised" }
            ul.promises {
                li { strong { "Not independence. " } "Equal means are not equal distributions, and what was not detected may still be there." }
                li { strong { "Not other rows. " } "Every number is about the rows audited. Other rows, or the same people later, can differ." }
                li { strong { "Not other columns. " } "Only dependence on " (columns.unwrap_or_default()) " was looked at, in the cells listed above. "
                    "Other sensitive columns, other combinations and differences within a cell were not." }
                li { strong { "Not a settled line. " } "Whether a value is detectable depends on the number of rows; whether it is large, on conventions (below)." }
                li { strong { "Not all uncertainty. " } "Intervals (" (prose(&confidence)) ") come from drawing these rows again. They cover chance, not drift, errors in the data, or how the rows were chosen." }
                li { strong { "Not one test. " } "There are many measures here. Of those that are really nil, about one in twenty will be called detectable by chance." }
                li { strong { "Not anonymity. " } "Nothing here hides who is in the data; labels of cells and small counts are shown as they are." }
                li { strong { "Not a legal finding. " } "Whether a decision may depend on something, and how much, is not a question for a program." }
            }
            (conventions(audit))
        }
    }
}

/// From where on a value is called large.
pub(super) fn conventions(audit: &Audit) -> Markup {
    let used = used(audit);
    let known = Convention::ALL.into_iter().filter_map(|convention| {
        let measures = used.iter().filter(|m| m.convention() == convention);
        let names: Vec<String> = measures.clone().map(|m| words(*m).0.to_owned()).collect();
        let first = measures.clone().next()?;
        let side = if first.grows() { "above" } else { "below" };
        let origin = origin(convention);
        Some((list(&names), convention.distance(), side, origin))
    });
    html! {
        h3 { "From where on a value is called large" }
        div.scroll tabindex="0" role="region" aria-label="From where on a value is called large" {
            table {
                caption.hidden { "From where on a value is called large" }
                thead { tr { th scope="col" { "Measure" } th scope="col" { "Large from" } th scope="col" { "After" } } }
                tbody { @for (names, from, side, origin) in known {
                    tr { th scope="row" { (names) } td { (from) " " (side) " its level under independence" } td { (origin) } }
                } }
            }
        }
    }
}
