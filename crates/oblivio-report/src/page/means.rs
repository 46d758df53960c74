//! The mean score and the share of positive decisions in every cell.

use maud::{Markup, html};
use oblivio_audit::CellProfile;

use super::measures::interval;
use super::name::name;
use super::view::{View, cell, figure, fitting, largest};
use crate::number::{self, count, percent, short};

/// So many means, and so many shares, in all tables together.
const ROOM: usize = 1500;

pub(super) fn section(views: &[View], confidence: f64) -> Markup {
    let means: Vec<View> = having(views, |cell| cell.mean.is_some());
    let most = fitting(views, ROOM, |view| view.times().len());
    let tables = html! { @for view in &means { (view.panel("Means", &table(view, most))) } };
    let interval = number::confidence(confidence).replace(' ', "\u{a0}");
    html! {
        @if !means.is_empty() {
            section #means aria-labelledby="means-title" {
                h2 #means-title { "Mean in every cell" }
                p.lead { "Each mean with its " (interval) " interval. Equal means are not equal distributions." }
                (figure("means", &tables))
            }
        }
        (rates(views))
    }
}

fn rates(views: &[View]) -> Markup {
    let rates: Vec<View> = having(views, |cell| cell.rate.is_some());
    let most = fitting(views, ROOM, |view| view.times().len());
    let tables =
        html! { @for view in &rates { (view.panel("Decisions", &rate_table(view, most))) } };
    html! {
        @if !rates.is_empty() {
            section #rates aria-labelledby="rates-title" {
                h2 #rates-title { "Positive decisions in every cell" }
                p.lead { "The share of rows with a positive decision. A cell below four fifths of the largest share is often questioned: a convention, not a law." }
                (figure("rates", &tables))
            }
        }
    }
}

/// The views with a cell of this kind.
pub(super) fn having<'a>(views: &[View<'a>], has: impl Fn(&CellProfile) -> bool) -> Vec<View<'a>> {
    let known = |view: &&View| view.now.cells.iter().any(&has);
    views.iter().filter(known).copied().collect()
}

fn table(view: &View, most: usize) -> Markup {
    let number = |number: Option<f64>| number.map_or_else(|| "–".into(), short);
    let columns = |profile: &CellProfile| {
        html! {
            td.number { strong { (number(profile.mean)) } }
            td.number { (interval(profile.lower.unwrap_or(f64::NAN), profile.upper.unwrap_or(f64::NAN))) }
            td.number { (number(profile.deviation)) }
        }
    };
    html! {
        table {
            caption { (view.caption("Means", most)) }
            thead { tr {
                th scope="col" { "Cell" }
                th.number scope="col" { "Rows" }
                @for (when, _) in view.times() {
                    th.number scope="col" { "Mean " (when) }
                    th.number scope="col" { "Interval " (when) }
                    th.number scope="col" { "Standard deviation " (when) }
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

fn rate_table(view: &View, most: usize) -> Markup {
    let share = |profile: &CellProfile| profile.rate.map_or_else(|| "–".into(), percent);
    html! {
        table {
            caption { (view.caption("Shares of positive decisions", most)) }
            thead { tr {
                th scope="col" { "Cell" }
                th.number scope="col" { "Rows" }
                @for (when, _) in view.times() { th.number scope="col" { "Share " (when) } }
            } }
            tbody {
                tr { th scope="row" { "all rows" } td {} @for (_, profile) in view.times() { td.number { (share(&profile.all)) } } }
                @for at in largest(view.against, most) {
                    tr {
                        th scope="row" { (name(&view.against.cells[at].label)) }
                        td.number { (count(view.against.cells[at].rows)) }
                        @for (_, profile) in view.times() { td.number { (share(&cell(profile, at))) } }
                    }
                }
            }
        }
    }
}
