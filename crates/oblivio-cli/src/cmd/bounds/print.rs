//! Bounds on a terminal: a table for each kind.

use std::io::{self, Write};
use std::path::PathBuf;

use comfy_table::{CellAlignment, Table, presets};
use oblivio_release::{Bounds, ChangeBound, Estimate, Interval};
use oblivio_report::bounds_answer;

use crate::report::{counted, number};

/// No more cells than this are shown, the first ones.
const MOST_CELLS: usize = 40;

pub(super) fn print(bounds: &Bounds, written: &[PathBuf], out: &mut dyn Write) -> io::Result<()> {
    let answer = bounds_answer(bounds);
    writeln!(out, "{}", answer.headline)?;
    for sentence in &answer.sentences {
        writeln!(out, "{sentence}")?;
    }
    certificates(bounds, out)?;
    dependence(bounds, out)?;
    distance(bounds, out)?;
    for change in &bounds.changes {
        changes(bounds, change, out)?;
    }
    writeln!(
        out,
        "\n{} of the reference, {} held out, {} of them projected; vacuous bounds say nothing",
        counted(bounds.reference_rows, "row"),
        bounds.evaluation_rows,
        bounds.projected_rows
    )?;
    for note in &bounds.notes {
        writeln!(out, "note: {note}")?;
    }
    for path in written {
        writeln!(out, "written to {}", path.display())?;
    }
    Ok(())
}

fn word(vacuous: bool) -> String {
    if vacuous { "vacuous" } else { "" }.into()
}

/// A title and a table whose columns but the first and the last are numbers.
fn table(
    out: &mut dyn Write,
    title: &str,
    header: &[&str],
    rows: Vec<Vec<String>>,
) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    let numbers = header.len() - 1;
    for column in table.column_iter_mut().take(numbers).skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "\n{title}")?;
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}

fn certificates(bounds: &Bounds, out: &mut dyn Write) -> io::Result<()> {
    let rows = bounds.certificates.iter().map(|certificate| {
        vec![
            certificate.event.clone(),
            certificate.measure.name().into(),
            certificate.rows.to_string(),
            number(certificate.found),
            number(certificate.value),
            word(certificate.vacuous),
        ]
    });
    let header = ["of", "measure", "rows", "on these", "at most", ""];
    let title = format!(
        "dependence on the cells in the population, with confidence {}",
        number(bounds.confidence)
    );
    table(out, &title, &header, rows.collect())
}

fn dependence(bounds: &Bounds, out: &mut dyn Write) -> io::Result<()> {
    let rows = bounds.dependence.iter().map(|bound| {
        let population = bound.population.map_or_else(
            || "-".into(),
            |of| {
                let mark = if of.vacuous { " (vacuous)" } else { "" };
                format!("{}{mark}", number(of.value))
            },
        );
        vec![
            bound.event.clone(),
            number(bound.actual),
            number(bound.value),
            number(bound.approximation),
            number(bound.norm),
            number(bound.distance),
            number(bound.left),
            number(bound.paper_statement),
            number(bound.paper_proof),
            population,
            word(bound.vacuous),
        ]
    });
    let header = [
        "event",
        "on these",
        "at most",
        "|A-f-c|",
        "|f|",
        "d",
        "r",
        "paper",
        "proof",
        "population",
        "",
    ];
    let title = "dependence of events of W on the cells by (|A-f-c| + |f|(d + r))/2";
    table(out, title, &header, rows.collect())
}

fn distance(bounds: &Bounds, out: &mut dyn Write) -> io::Result<()> {
    let distance = &bounds.distance;
    let mut rows = Vec::new();
    let mut add = |name: &str, estimate: &Estimate| {
        let known = |end: Option<f64>| end.map_or_else(|| "?".into(), number);
        let mut line = |inequality: &str, interval: Option<Interval>| {
            rows.push(vec![
                format!("{name}, {inequality}"),
                number(estimate.value),
                known(interval.and_then(|interval| interval.lower)),
                known(interval.map(|interval| interval.upper)),
                word(interval.is_some_and(|interval| interval.vacuous)),
            ]);
        };
        line("Bernstein", estimate.bernstein);
        line("Hoeffding", estimate.hoeffding);
        if estimate.paper.is_some() {
            line("paper", estimate.paper);
        }
    };
    add("mean", &distance.mean);
    add("root mean square", &distance.root_mean_square);
    let header = ["", "on these", "at least", "at most", ""];
    let title = format!(
        "distance of Z to the manifold, {} at most; certified for {} of {} rows",
        number(distance.range),
        distance.certified_rows,
        bounds.projected_rows
    );
    table(out, &title, &header, rows)
}

fn changes(bounds: &Bounds, change: &ChangeBound, out: &mut dyn Write) -> io::Result<()> {
    let cells = change.by_cell.iter().zip(&bounds.cells).take(MOST_CELLS);
    let rows = cells.map(|(cell, of)| {
        vec![
            of.label.clone(),
            of.rows.to_string(),
            number(cell.shift),
            number(cell.realised),
            number(cell.value),
            number(cell.offset),
            word(cell.vacuous),
        ]
    });
    let header = [
        "cell",
        "rows",
        "|shift|",
        "on these",
        "at most",
        "taken off",
        "",
    ];
    let title = format!(
        "change of predictions of {}, by {} times the shift",
        change.score,
        number(change.norm * bounds.strength)
    );
    table(out, &title, &header, rows.collect())?;
    if bounds.cells.len() > MOST_CELLS {
        writeln!(out, "  {} more cells", bounds.cells.len() - MOST_CELLS)?;
    }
    Ok(())
}
