//! Outcomes in every cell: errors, and what scores mean.

use maud::{Markup, html};
use oblivio_audit::{CellProfile, ReliabilityBin};

use super::means::having;
use super::measures::interval;
use super::name::name;
use super::view::{View, cell, figure, fitting, largest};
use crate::number::{self, count, short};

/// The most errors in all tables together.
const ERRORS: usize = 100;

/// The most bins of scores in all tables together.
const BINS: usize = 150;

pub(super) fn section(views: &[View], confidence: f64) -> Markup {
    let confidence = number::confidence(confidence).replace(' ', "\u{a0}");
    html! { (errors(views, &confidence)) (reliability(views, &confidence)) }
}

fn errors(views: &[View], confidence: &str) -> Markup {
    let errors: Vec<View> = having(views, |cell| cell.error.is_some());
    let most = fitting(&errors, ERRORS, |view| view.times().len());
    let tables =
        html! { @for view in &errors { (view.panel("Errors", &error_table(view, most))) } };
    html! {
        @if !errors.is_empty() {
            section #errors aria-labelledby="errors-title" {
                h2 #errors-title { "Error in every cell" }
                p.lead { "The share of wrong decisions, or the root mean squared error of scores, with its " (confidence)
                    " interval. Fewer rows to learn from often mean larger errors." }
                (figure("errors", &tables))
            }
        }
    }
}

fn reliability(views: &[View], confidence: &str) -> Markup {
    let curves: Vec<View> = having(views, |cell| !cell.reliability.is_empty());
    let bins = curves.iter().map(|view| view.now.all.reliability.len());
    let most = (BINS / bins.sum::<usize>().max(1)).max(1);
    let tables =
        html! { @for view in &curves { (view.panel("Outcomes", &curve_table(view, most))) } };
    html! {
        @if !curves.is_empty() {
            section #reliability aria-labelledby="reliability-title" {
                h2 #reliability-title { "Outcomes of like scores" }
                p.lead { "The mean outcome of rows with like scores, cell by cell, with its " (confidence)
                    " interval. If a score means the same in every cell, all cells have the same curve, but for chance." }
                (figure("reliability", &tables))
            }
        }
    }
}

fn error_table(view: &View, most: usize) -> Markup {
    let columns = |profile: &CellProfile| {
        html! {
            td.number { strong { (profile.error.map_or_else(|| "–".into(), short)) } }
            td.number { (interval(profile.error_lower.unwrap_or(f64::NAN), profile.error_upper.unwrap_or(f64::NAN))) }
        }
    };
    html! {
        table {
            caption { (view.caption("Errors", most)) }
            thead { tr {
                th scope="col" { "Cell" }
                th.number scope="col" { "Rows" }
                @for (when, _) in view.times() {
                    th.number scope="col" { "Error " (when) }
                    th.number scope="col" { "Interval " (when) }
                }
            } }
            tbody {
                tr { th scope="row" { "all rows" } td {} @for (_, profile) in view.times() { (columns(&profile.all)) } }
                @for at in largest(view.against, most) {
                    tr {
                        th scope="row" { (name(&view.against.cells[at].label)) }
                        td.number { (count(view.against.cells[at].rows)) }
                        @for (_, profile) in view.times() { (columns(&cell(profile, at))) }
                    }
                }
            }
        }
    }
}

/// One row for each cell: the mean outcome of each bin at its mean score.
fn curve_table(view: &View, most: usize) -> Markup {
    let width = view.now.all.reliability.len();
    let row = |label: &Markup, bins: &[ReliabilityBin]| {
        html! {
            tr {
                th scope="row" { (label) }
                @if bins.is_empty() { td.none colspan=(width) { "too few rows to show" } }
                @for bin in bins {
                    td { (short(bin.score)) ": " (short(bin.outcome)) " (" (short(bin.lower)) "–" (short(bin.upper)) ")" }
                }
            }
        }
    };
    html! {
        table.shares {
            caption { (view.caption("Mean score, mean outcome and its interval in bins", most)) }
            thead { tr {
                th scope="col" { "Cell" }
                th scope="colgroup" colspan=(width) { "Bins that have rows, by score" }
            } }
            tbody {
                (row(&html! { "all rows" }, &view.now.all.reliability))
                @for at in largest(view.against, most) {
                    (row(&name(&view.against.cells[at].label), &cell(view.now, at).reliability))
                }
            }
        }
    }
}
