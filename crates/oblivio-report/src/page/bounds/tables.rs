//! Each kind of bound as a table, with what it says.

use maud::{Markup, html};
use oblivio_release::{Bounds, CertificateMeasure, ChangeBound, Interval};

use super::super::name::name;
use crate::bounds::inequalities;
use crate::number::{confidence, count, percent, short};

/// Everything, under headings of the third level.
pub(super) fn all(bounds: &Bounds) -> Markup {
    html! {
        (certificates(bounds))
        (dependence(bounds))
        (distance(bounds))
        @for change in &bounds.changes { (changes(bounds, change)) }
    }
}

/// A bound that says nothing is called so.
fn says(vacuous: bool) -> Markup {
    html! {
        @if vacuous { span.no { span aria-hidden="true" { "○ " } "vacuous" } }
        @else { span.yes { span aria-hidden="true" { "● " } "says something" } }
    }
}

fn ends(interval: Option<Interval>) -> String {
    let Some(interval) = interval else {
        return "?".into();
    };
    let lower = interval.lower.map_or_else(|| "?".into(), short);
    format!("{lower} to {}", short(interval.upper)).replace(' ', "\u{a0}")
}

pub(super) fn certificates(bounds: &Bounds) -> Markup {
    html! {
        h3 { "What held-out rows say directly" }
        p.lead { "What the dependence is at most in the population these rows come from, with " (confidence(bounds.confidence)) " confidence each. "
            "It holds for the cells named here and rows that the model was not fitted on, whatever the model." }
        div.scroll tabindex="0" role="region" aria-label="Certificates" {
            table {
                caption { "Certificates" }
                thead { tr {
                    th scope="col" { "Of" }
                    th scope="col" { "Measure" }
                    th.number scope="col" { "Rows" }
                    th.number scope="col" { "On these rows" }
                    th.number scope="col" { "At most" }
                    th scope="col" { "Vacuous?" }
                } }
                tbody { @for certificate in &bounds.certificates {
                    tr {
                        th scope="row" { (name(&certificate.event)) }
                        td { @match certificate.measure {
                            CertificateMeasure::Alpha => { "|P(A∩B) − P(A)P(B)|" }
                            CertificateMeasure::Beta => { "beta" }
                        } }
                        td.number { (count(certificate.rows)) }
                        td.number { (short(certificate.found)) }
                        td.number { strong { (short(certificate.value)) } }
                        td { (says(certificate.vacuous)) }
                    }
                } }
            }
        }
    }
}

fn dependence(bounds: &Bounds) -> Markup {
    html! {
        h3 { "What the distance to the manifold says" }
        p.lead { "How much an event of the projected rows W can depend on any union of cells, by how well a function of the kernel's space approximates it and how far features are from the manifold. "
            "No event depends by more than its share times one less its share; a bound above that is vacuous and says nothing." }
        div.scroll tabindex="0" role="region" aria-label="Dependence of events" {
            table {
                caption { "Dependence of events of W on the cells" }
                thead { tr {
                    th scope="col" { "Event" }
                    th.number scope="col" { "Share" }
                    th.number scope="col" { "On these rows" }
                    th.number scope="col" { "At most" }
                    th scope="col" { "Vacuous?" }
                    th.number scope="col" { "Approximation" }
                    th.number scope="col" { "‖f‖" }
                    th.number scope="col" { "Distance d" }
                    th.number scope="col" { "Left of means r" }
                    th.number scope="col" { "With r = 0" }
                    th.number scope="col" { "Paper, stated" }
                    th.number scope="col" { "Paper, proved" }
                    th.number scope="col" { "Population" }
                } }
                tbody { @for bound in &bounds.dependence {
                    tr {
                        th scope="row" { (name(&bound.event)) }
                        td.number { (percent(bound.share)) }
                        td.number { (short(bound.actual)) }
                        td.number { strong { (short(bound.value)) } }
                        td { (says(bound.vacuous)) }
                        td.number { (short(bound.approximation)) }
                        td.number { (short(bound.norm)) }
                        td.number { (short(bound.distance)) }
                        td.number { (short(bound.left)) }
                        td.number { (short(bound.without_left)) }
                        td.number { (short(bound.paper_statement)) }
                        td.number { (short(bound.paper_proof)) }
                        td.number { @match bound.population {
                            None => { "–" }
                            Some(population) => { (short(population.value)) @if population.vacuous { " vacuous" } }
                        } }
                    }
                } }
            }
        }
    }
}

fn distance(bounds: &Bounds) -> Markup {
    let distance = &bounds.distance;
    html! {
        h3 { "Distance to the manifold" }
        p.lead { "How far oblivious features are from the features of points, " (short(distance.range)) " at most. The mean and the root mean square are two things; "
            "what is not known is a question mark. The nearest point is certified for " (count(distance.certified_rows)) " of " (count(bounds.projected_rows)) " rows, which lower ends are from." }
        div.scroll tabindex="0" role="region" aria-label="Distance to the manifold" {
            table {
                caption { "Distance, with " (confidence(bounds.confidence)) " intervals" }
                thead { tr {
                    th scope="col" { "Distance" }
                    th scope="col" { "Inequality" }
                    th.number scope="col" { "On these rows" }
                    th.number scope="col" { "Interval" }
                    th scope="col" { "Vacuous?" }
                } }
                tbody { @for (label, estimate) in [("mean", &distance.mean), ("root mean square", &distance.root_mean_square)] {
                    @for (inequality, interval) in inequalities(estimate) {
                        tr {
                            th scope="row" { (label) }
                            td { (inequality) }
                            td.number { (short(estimate.value)) }
                            td.number { (ends(interval)) }
                            td { @match interval {
                                None => { "no interval" }
                                Some(interval) => { (says(interval.vacuous)) }
                            } }
                        }
                    }
                } }
            }
        }
    }
}

fn changes(bounds: &Bounds, change: &ChangeBound) -> Markup {
    html! {
        h3 { "How far predictions of " (name(&change.score)) " were moved" }
        p.lead { "At most the norm of the score, " (short(change.norm)) ", times the length of the cell's shift. A bound that is no less than the spread of the score is vacuous." }
        div.scroll tabindex="0" role="region" aria-label="Change of predictions" {
            table {
                caption { "Change of predictions by cell" }
                thead { tr {
                    th scope="col" { "Cell" }
                    th.number scope="col" { "Reference rows" }
                    th.number scope="col" { "Length of the shift" }
                    th.number scope="col" { "On these rows" }
                    th.number scope="col" { "At most" }
                    th scope="col" { "Vacuous?" }
                    th.number scope="col" { "The model takes off" }
                } }
                tbody { @for (cell, of) in change.by_cell.iter().zip(&bounds.cells) {
                    tr {
                        th scope="row" { (name(&of.label)) }
                        td.number { (count(of.rows)) }
                        td.number { (short(cell.shift)) }
                        td.number { (short(cell.realised)) }
                        td.number { strong { (short(cell.value)) } }
                        td { (says(cell.vacuous)) }
                        td.number { (short(cell.offset)) }
                    }
                } }
            }
        }
    }
}
