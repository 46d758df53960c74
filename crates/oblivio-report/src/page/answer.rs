//! The answer at the top of the page.

use maud::{Markup, html};
use oblivio_audit::Unit;

use super::name::prose;
use crate::answer::{Answer, Figure, detectable, large};
use crate::number::{percent, short};
use crate::words::words;

pub(super) fn section(answer: &Answer) -> Markup {
    html! {
        section #answer aria-labelledby="answer-title" {
            h2 #answer-title.headline { (prose(&answer.headline)) }
            @for sentence in answer.sentences.iter().take(1) { p.lead { (prose(sentence)) } }
            @if !answer.numbers.is_empty() { div.figures { @for number in &answer.numbers { (card(number)) } } }
            @if !answer.numbers.is_empty() {
                p.words { em { "Detectable" } ": chance alone would hardly give such a value. " em { "Large" } ": far from what independence gives, by convention." }
            }
            @if answer.sentences.len() > 1 {
                ul.sentences { @for sentence in &answer.sentences[1..] { li { (prose(sentence)) } } }
            }
        }
    }
}

/// One number: before and after, beside its level under independence.
fn card(figure: &Figure) -> Markup {
    html! {
        div.card {
            h3 { (figure.label) }
            p.value {
                @if let Some(before) = figure.before {
                    span.was { span.hidden { "before " } (brief(figure, before)) }
                    span.arrow aria-hidden="true" { " → " }
                    span.hidden { "after " }
                }
                strong { (brief(figure, figure.value)) }
            }
            p.level { (prose(&brief(figure, figure.expected))) " expected if independent" }
            p.flags { span class=(if figure.detectable { "yes" } else { "no" }) { (detectable(figure.detectable)) }
                " · " span class=(if figure.large { "yes" } else { "no" }) { (large(figure.large)) } }
            p.meaning { (words(figure.measure).1) }
            @if let Some(note) = &figure.note { p.note { bdi { (note) } } }
        }
    }
}

/// The value with a short unit.
pub(super) fn brief(figure: &Figure, value: f64) -> String {
    match figure.measure.unit() {
        Unit::Percent => prose(&percent(value)),
        Unit::Deviations => format!("{}\u{a0}SD", short(value)),
        Unit::Number => short(value),
    }
}
