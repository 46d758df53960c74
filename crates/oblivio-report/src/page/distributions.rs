//! The distribution in every cell.

use maud::{Markup, html};
use oblivio_audit::Profile;

use super::name::name;
use super::view::{View, cell, figure, fitting, largest};
use crate::number::{percent, short};

/// So many numbers in all tables together.
const ROOM: usize = 15_000;

pub(super) fn section(views: &[View]) -> Markup {
    let most = fitting(views, ROOM, |view| {
        view.times().len() * bins(view.now).len()
    });
    let tables = html! { @for view in views { (view.panel("Distribution", &table(view, most))) } };
    html! {
        section #distributions aria-labelledby="distributions-title" {
            h2 #distributions-title { "Distribution in every cell" }
            p.lead { "If nothing depended on the sensitive columns, all cells would have the same distribution, but for chance." }
            div.controls hidden {}
            (figure("distributions", &tables))
        }
    }
}

/// One row for each cell and time, one column for each bin or class.
fn table(view: &View, most: usize) -> Markup {
    html! {
        table.shares {
            caption { (view.caption("Percent of rows by value", most)) }
            thead { tr {
                th scope="col" { "Cell" }
                @if view.before.is_some() { th scope="col" { "When" } }
                @for bin in bins(view.now) { th.number scope="col" { (bin) } }
            } }
            tbody {
                @for (when, profile) in view.times() { (row(view, &html! { "all rows" }, when, &profile.all.shares)) }
                @for at in largest(view.against, most) {
                    @for (when, profile) in view.times() {
                        (row(view, &name(&view.against.cells[at].label), when, &cell(profile, at).shares))
                    }
                }
            }
        }
    }
}

fn row(view: &View, label: &Markup, when: &str, shares: &[f64]) -> Markup {
    let width = bins(view.now).len();
    html! {
        tr {
            th scope="row" { (label) }
            @if view.before.is_some() { td.when { (when) } }
            @if shares.is_empty() { td.none colspan=(width) { "too few rows to show" } }
            @for share in shares { td { (percent(*share).trim_end_matches(" %")) } }
        }
    }
}

/// The heads of the columns, in percent of a cell's rows.
fn bins(profile: &Profile) -> Vec<Markup> {
    if profile.levels.is_empty() {
        let pairs = profile.edges.windows(2);
        pairs
            .map(|ends| html! { (short(ends[0])) " to " (short(ends[1])) })
            .collect()
    } else {
        profile
            .levels
            .iter()
            .map(|level| html! { (name(level)) })
            .collect()
    }
}
