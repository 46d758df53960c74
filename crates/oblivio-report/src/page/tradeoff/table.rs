//! The candidates by one measure of dependence.

use maud::{Markup, html};
use oblivio_audit::{Against, Frontier, Measure, Tried};

use crate::number::{p_value, short};
use crate::page::measures::{flag, interval};
use crate::page::name::name;
use crate::words::{error_words, words};

pub(super) fn table(frontier: &Frontier, (against, measure): (&Against, Measure)) -> Markup {
    html! {
        table {
            caption { (words(measure).0) " against " (name(&against.name)) }
            thead { tr {
                th scope="col" { "Candidate" }
                th.number scope="col" { "Penalty" }
                th.number scope="col" { "Depen\u{ad}dence" }
                th.number scope="col" { "If inde\u{ad}pen\u{ad}dent" }
                th.number scope="col" { "Interval" }
                th.number scope="col" { "p" }
                @for error in &frontier.errors {
                    th.number scope="col" { (error_words(error.measure).0) }
                    th.number scope="col" { "Interval" }
                    th.number scope="col" { "Cost" }
                    th.number scope="col" { "Interval" }
                    th scope="col" { "On the frontier?" }
                }
            } }
            tbody { @for tried in &frontier.candidates { (row(frontier, tried, &against.name, measure)) } }
        }
    }
}

fn row(frontier: &Frontier, tried: &Tried, against: &str, measure: Measure) -> Markup {
    let found = tried.of(against, measure);
    let of =
        |value: fn(&oblivio_audit::Measured) -> f64| found.map_or(f64::NAN, |f| value(&f.measured));
    html! {
        tr {
            th scope="row" { (name(&tried.name)) @if tried.start { span.detail { "the start: nothing is taken out" } } }
            td.number { (short(tried.penalty)) }
            td.number { strong { (short(of(|m| m.value))) } }
            td.number { (short(of(|m| m.expected))) }
            td.number { (interval(of(|m| m.lower), of(|m| m.upper))) }
            td.number { (p_value(of(|m| m.p_value))) }
            @for error in frontier.errors.iter().filter_map(|error| tried.error(error.measure)) {
                td.number { strong { (short(error.value)) } }
                td.number { (interval(error.lower, error.upper)) }
                td.number { (short(error.cost.filter(|_| !tried.start).unwrap_or(f64::NAN))) }
                td.number { (cost_interval(tried, error)) }
                td { (flag(found.is_some_and(|f| f.on_frontier.contains(&error.measure)))) }
            }
        }
    }
}

fn cost_interval(tried: &Tried, error: &oblivio_audit::ErrorFound) -> String {
    match (error.cost_lower, error.cost_upper) {
        (Some(lower), Some(upper)) if !tried.start => interval(lower, upper),
        _ => "–".into(),
    }
}
