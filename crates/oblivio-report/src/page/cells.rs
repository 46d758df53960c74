//! The cells and their rows.

use maud::{Markup, html};
use oblivio_audit::{Against, Audit};

use super::name::name;
use super::view::{CELLS_IN_CHARTS, largest};
use crate::number::{count, percent};
use crate::text;

/// More cells than this are not listed.
const MOST: usize = 500;

pub(super) fn section(audit: &Audit) -> Markup {
    html! {
        section #cells aria-labelledby="cells-title" {
            h2 #cells-title { "Cells" }
            p.lead { "A cell holds the rows with the same sensitive values; numbers are cut into ranges." }
            @for (at, against) in audit.against.iter().enumerate() { (list(against, at + 1 == audit.against.len())) }
        }
    }
}

fn list(against: &Against, open: bool) -> Markup {
    let small = against.cells.iter().filter(|cell| cell.small).count();
    html! {
        details.cells open[open] {
            summary { (name(&against.name)) ": " (cells(against.cells.len()))
                @if small > 0 { ", " span.small-cell { span aria-hidden="true" { "▲ " } (count(small)) " small" } } }
            @if against.cells.len() > CELLS_IN_CHARTS { p { (note(against.cells.len())) } }
            div.scroll tabindex="0" role="region" aria-label={ "Cells of " (text::name(&against.name)) } { (table(against)) }
        }
    }
}

/// Which cells are shown where.
fn note(cells: usize) -> String {
    if cells > MOST {
        format!("Charts show the {CELLS_IN_CHARTS} largest cells, this table the {MOST} largest.")
    } else {
        format!("Charts show the {CELLS_IN_CHARTS} largest cells; this table shows all.")
    }
}

fn cells(number: usize) -> String {
    if number == 1 {
        "1 cell".into()
    } else {
        format!("{} cells", count(number))
    }
}

fn table(against: &Against) -> Markup {
    html! {
        table {
            caption.hidden { "Cells of " (name(&against.name)) }
            thead { tr { th scope="col" { "Cell" } th.number scope="col" { "Rows" } th.number scope="col" { "Share of the weight" } th scope="col" { "Remark" } } }
            tbody { @for at in largest(against, MOST) {
                @let cell = &against.cells[at];
                tr {
                    th scope="row" { (name(&cell.label)) }
                    td.number { (count(cell.rows)) }
                    td.number { (percent(cell.share)) }
                    td { @if cell.small { span.small-cell { span aria-hidden="true" { "▲ " } "small: its numbers say little" } } }
                }
            } }
        }
    }
}
