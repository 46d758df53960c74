//! Each kind of bound as a table, with what it says. Bounds that say nothing are one line.

use maud::{Markup, html};
use oblivio_release::{Bounds, ChangeBound};

use super::super::name::{name, prose};
use crate::bounds::{BoundLine, best_interval, bound_lines, bound_words, vacuous_bounds};
use crate::number::{confidence, count, percent, short};

/// Everything that says something, under headings of the third level.
pub(super) fn all(bounds: &Bounds) -> Markup {
    html! {
        (certificates(bounds))
        (dependence(bounds))
        (distance(bounds))
        @for change in &bounds.changes { (changes(change, bounds)) }
        @if let Some(line) = vacuous_bounds(bounds) {
            h3 { "Bounds that say nothing" }
            p { (prose(&line)) " They are in the CSV and JSON." }
        }
    }
}

/// The bounds of some kinds that say something of all cells together.
fn said(bounds: &Bounds, kind: &str) -> Vec<BoundLine> {
    let lines = bound_lines(bounds).into_iter();
    lines
        .filter(|line| line.bound.starts_with(kind) && !line.vacuous && line.cell.is_none())
        .collect()
}

/// A table of bounds: what of, by which bound, rows, on these rows, at most.
fn lines(caption: &str, lines: &[BoundLine]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead { tr {
                    th scope="col" { "Of" }
                    th scope="col" { "Bound" }
                    th.number scope="col" { "Rows" }
                    th.number scope="col" { "On these rows" }
                    th.number scope="col" { "At most" }
                } }
                tbody { @for line in lines {
                    tr {
                        th scope="row" { (name(&line.of)) }
                        td { (bound_words(line.bound)) }
                        td.number { (count(line.rows)) }
                        td.number { (short(line.found)) }
                        td.number { strong { (short(line.value)) } }
                    }
                } }
            }
        }
    }
}

pub(super) fn certificates(bounds: &Bounds) -> Markup {
    let found = said(bounds, "certificate");
    html! {
        @if !found.is_empty() {
            h3 { "What held-out rows say directly" }
            p.lead { "What the dependence is at most in the population these rows come from, with " (confidence(bounds.confidence)) " confidence each. "
                "It holds for the cells named here and rows that the model was not fitted on, whatever the model." }
            (lines("Certificates", &found))
        }
    }
}

fn dependence(bounds: &Bounds) -> Markup {
    let found = said(bounds, "dependence");
    html! {
        @if !found.is_empty() {
            h3 { "What the distance to real rows says" }
            p.lead { "How much an event of oblivious features, or of projected rows, can depend on any union of cells: by how well a function of the kernel's space approximates it, and how far features are from the features of real rows." }
            (lines("Dependence by the distance to real rows", &found))
            (parts(bounds))
        }
    }
}

/// What the bound of each event consists of.
fn parts(bounds: &Bounds) -> Markup {
    html! {
        details {
            summary { "The parts of these bounds" }
            p { "The bound is half of: the approximation error of the event, and the norm of the function times both the distance and the means that are left." }
            div.scroll tabindex="0" role="region" aria-label="Parts of the bound by the distance" {
                table {
                    caption { "Parts of the bound by the distance" }
                    thead { tr {
                        th scope="col" { "Event" }
                        th.number scope="col" { "Share of rows" }
                        th.number scope="col" { "Approximation error" }
                        th.number scope="col" { "Norm of the function" }
                        th.number scope="col" { "Distance" }
                        th.number scope="col" { "Means that are left" }
                    } }
                    tbody { @for bound in &bounds.dependence {
                        tr {
                            th scope="row" { (name(&bound.event)) }
                            td.number { (percent(bound.share)) }
                            td.number { (short(bound.approximation)) }
                            td.number { (short(bound.norm)) }
                            td.number { (short(bound.distance)) }
                            td.number { (short(bound.left)) }
                        }
                    } }
                }
            }
        }
    }
}

fn distance(bounds: &Bounds) -> Markup {
    let distance = &bounds.distance;
    let end = |value: Option<f64>| value.map_or_else(|| "?".into(), short);
    html! {
        h3 { "Distance to real rows" }
        p.lead { "How far oblivious features are from the features of real rows, " (short(distance.range)) " at most. The mean and the root mean square are two things; "
            "an end that is not known is a question mark. " (certified(bounds)) " Features move by " (short(bounds.moved.mean)) " in the mean when rows are projected, by "
            (short(bounds.moved.value)) " at most." }
        div.scroll tabindex="0" role="region" aria-label="Distance to real rows" {
            table {
                caption { "Distance, with " (confidence(bounds.confidence)) " intervals" }
                thead { tr {
                    th scope="col" { "Distance" }
                    th scope="col" { "Interval" }
                    th.number scope="col" { "On these rows" }
                    th.number scope="col" { "At least" }
                    th.number scope="col" { "At most" }
                } }
                tbody { @for (label, estimate) in [("mean", &distance.mean), ("root mean square", &distance.root_mean_square)] {
                    @let best = best_interval(estimate);
                    tr {
                        th scope="row" { (label) }
                        td { (best.map_or("none", |(inequality, _)| inequality)) }
                        td.number { (short(estimate.value)) }
                        td.number { (end(best.and_then(|(_, interval)| interval.lower))) }
                        td.number { (end(best.map(|(_, interval)| interval.upper))) }
                    }
                } }
            }
        }
    }
}

/// How many nearest rows are certified, and to within what.
fn certified(bounds: &Bounds) -> Markup {
    let distance = &bounds.distance;
    html! {
        "The nearest row is certified for " (count(distance.certified_rows)) " of " (count(bounds.projected_rows)) " rows, which lower ends are from"
        @if let (Some(mean), Some(largest)) = (distance.mean_gap, distance.largest_gap) {
            ", to within " (short(mean)) " in the mean and " (short(largest)) " at most"
        }
        "."
    }
}

fn changes(change: &ChangeBound, bounds: &Bounds) -> Markup {
    let cells = change.by_cell.iter().zip(&bounds.cells);
    let said: Vec<_> = cells.filter(|(cell, _)| !cell.vacuous).collect();
    html! {
        @if !said.is_empty() {
            h3 { "How far predictions of " (name(&change.score)) " were moved" }
            p.lead { "At most the norm of the score, " (short(change.norm)) ", times the length of the cell's shift." }
            div.scroll tabindex="0" role="region" aria-label="Change of predictions" {
                table {
                    caption { "Change of predictions by cell" }
                    thead { tr {
                        th scope="col" { "Cell" }
                        th.number scope="col" { "Reference rows" }
                        th.number scope="col" { "Length of the shift" }
                        th.number scope="col" { "On these rows" }
                        th.number scope="col" { "At most" }
                        th.number scope="col" { "The model takes off" }
                    } }
                    tbody { @for (cell, of) in said {
                        tr {
                            th scope="row" { (name(&of.label)) }
                            td.number { (count(of.rows)) }
                            td.number { (short(cell.shift)) }
                            td.number { (short(cell.realised)) }
                            td.number { strong { (short(cell.value)) } }
                            td.number { (short(cell.offset)) }
                        }
                    } }
                }
            }
        }
    }
}
