//! The audit as a piece of a notebook.

use maud::{Markup, PreEscaped, html};

use super::Page;
use super::answer::brief;
use super::measures::{flag, interval};
use super::name::{name, prose};
use super::spark::{Scale, key, spark};
use crate::answer::{Answer, answer, detectable, large};
use crate::number::{p_value, short};
use crate::pair::{Change, headline};
use crate::words::words;

const STYLE: &str = include_str!("compact.css");

pub(super) fn compact(page: &Page) -> Markup {
    let answer = answer(page.audit);
    html! {
        div.oblivio-audit {
            style { (PreEscaped(STYLE)) }
            p.headline { strong { (prose(&answer.headline)) } }
            @for sentence in &answer.sentences { p { (prose(sentence)) } }
            (figures(&answer))
            (table(page))
        }
    }
}

fn figures(answer: &Answer) -> Markup {
    html! {
        div.figures {
            @for figure in &answer.numbers {
                div.card {
                    div { (figure.label) }
                    div.value {
                        @if let Some(before) = figure.before { span.was { (brief(figure, before)) " → " } }
                        strong { (brief(figure, figure.value)) }
                    }
                    div.level { (brief(figure, figure.expected)) " expected if independent" }
                    div.level { (detectable(figure.detectable)) " · " (large(figure.large)) }
                }
            }
        }
    }
}

/// The measures of what the answer is about.
fn table(page: &Page) -> Markup {
    let asked = headline(page.audit).zip(page.audit.against.last());
    html! {
        @if let Some((pair, against)) = asked {
            (key(page.audit))
            div.scroll {
                table {
                    caption { "Measures of " (name(&pair.subject.name)) " against " (name(&against.name)) }
                    thead { tr { @for head in ["Measure", "", "Before", "Value", "If independent", "Interval", "p", "Detectable?", "Large?"] { th scope="col" { (head) } } } }
                    tbody { @for change in pair.changes(page.audit, against) { (row(page, &change)) } }
                }
            }
        }
    }
}

fn row(page: &Page, change: &Change) -> Markup {
    let (measure, measured) = (change.now.measure, &change.now.measured);
    html! {
        tr {
            th scope="row" title=(words(measure).1) { (words(measure).0) }
            td { (spark(change, Scale::new(page.audit, change))) }
            td { (change.before.map_or_else(|| "–".into(), |before| short(before.measured.value))) }
            td { (short(measured.value)) }
            td { (short(measured.expected)) }
            td { (interval(measured.lower, measured.upper)) }
            td { (p_value(measured.p_value)) }
            td { (flag(change.now.detectable)) }
            td { (flag(change.now.large)) }
        }
    }
}
