//! Error against dependence.

use maud::{Markup, html};

use super::FrontierPoint;
use super::name::name;
use super::view::figure;
use crate::number::short;

pub(super) fn section(points: &[FrontierPoint]) -> Markup {
    let table = html! {
        div.scroll tabindex="0" role="region" aria-label="Models that were tried" {
            table {
                caption { "Models that were tried" }
                thead { tr { th scope="col" { "Model" } th.number scope="col" { "Dependence" } th.number scope="col" { "Error" } th scope="col" { "Chosen?" } } }
                tbody { @for point in points {
                    tr {
                        th scope="row" { (name(&point.name)) }
                        td.number { (short(point.dependence)) }
                        td.number { (short(point.error)) }
                        td { @if point.chosen { span.yes { span aria-hidden="true" { "● " } "chosen" } } }
                    }
                } }
            }
        }
    };
    html! {
        @if !points.is_empty() {
            section #frontier aria-labelledby="frontier-title" {
                h2 #frontier-title { "Error against dependence" }
                p.lead { "The models that were tried: their error, and how much their scores depend on the sensitive columns. An error that is low only where dependence is high is partly owed to it." }
                (figure("frontier", &table))
            }
        }
    }
}
