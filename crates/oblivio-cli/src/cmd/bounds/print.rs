//! Bounds on a terminal: a table for each kind that says something, and the others in one line.

use std::io::{self, Write};
use std::path::PathBuf;

use comfy_table::{CellAlignment, Table, presets};
use oblivio_release::{Bounds, ChangeBound};
use oblivio_report::{BoundLine, best_interval, bound_lines, bound_words, bounds_answer};

use crate::report::{counted, number};

/// No more cells than this are shown, the first ones.
const MOST_CELLS: usize = 40;

pub(super) fn print(bounds: &Bounds, written: &[PathBuf], out: &mut dyn Write) -> io::Result<()> {
    let answer = bounds_answer(bounds);
    writeln!(out, "{}", answer.headline)?;
    for sentence in &answer.sentences {
        writeln!(out, "{sentence}")?;
    }
    let lines: Vec<BoundLine> = bound_lines(bounds)
        .into_iter()
        .filter(|line| !line.vacuous && line.cell.is_none())
        .collect();
    certificates(bounds, &lines, out)?;
    dependence(&lines, out)?;
    distance(bounds, out)?;
    for change in &bounds.changes {
        changes(bounds, change, out)?;
    }
    writeln!(
        out,
        "\n{} of the reference, {} held out, {} of them projected",
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

/// A title and a table whose columns but the first `words` are numbers. A table without rows is left out.
fn table(
    out: &mut dyn Write,
    title: &str,
    (words, header): (usize, &[&str]),
    rows: Vec<Vec<String>>,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(words) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "\n{title}")?;
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}

fn certificates(bounds: &Bounds, lines: &[BoundLine], out: &mut dyn Write) -> io::Result<()> {
    let said = lines
        .iter()
        .filter(|line| line.bound.starts_with("certificate"));
    let rows = said.map(|line| {
        vec![
            line.of.clone(),
            line.rows.to_string(),
            number(line.found),
            number(line.value),
        ]
    });
    let title = format!(
        "dependence on the cells in the population, with confidence {}",
        number(bounds.confidence)
    );
    let header = ["of", "rows", "on these rows", "at most"];
    table(out, &title, (1, &header), rows.collect())
}

fn dependence(lines: &[BoundLine], out: &mut dyn Write) -> io::Result<()> {
    let said = lines
        .iter()
        .filter(|line| line.bound.starts_with("dependence"));
    let rows = said.map(|line| {
        vec![
            line.of.clone(),
            bound_words(line.bound).into(),
            number(line.found),
            number(line.value),
        ]
    });
    let title = "dependence on the cells by the distance to the features of real rows";
    let header = ["of", "bound", "on these rows", "at most"];
    table(out, title, (2, &header), rows.collect())
}

fn distance(bounds: &Bounds, out: &mut dyn Write) -> io::Result<()> {
    let distance = &bounds.distance;
    let known = |end: Option<f64>| end.map_or_else(|| "?".into(), number);
    let both = [
        ("mean", &distance.mean),
        ("root mean square", &distance.root_mean_square),
    ];
    let rows = both.map(|(name, estimate)| {
        let best = best_interval(estimate);
        vec![
            name.to_owned(),
            best.map_or("", |(inequality, _)| inequality).into(),
            number(estimate.value),
            known(best.and_then(|(_, interval)| interval.lower)),
            known(best.map(|(_, interval)| interval.upper)),
        ]
    });
    let title = format!(
        "distance of oblivious features to the features of real rows, {} at most",
        number(distance.range)
    );
    let header = ["", "interval", "on these rows", "at least", "at most"];
    table(out, &title, (2, &header), rows.to_vec())?;
    if let (Some(mean), Some(largest)) = (distance.mean_gap, distance.largest_gap) {
        writeln!(
            out,
            "  nearest rows are certified for {} of {}: to within {} in the mean, {} at most",
            distance.certified_rows,
            counted(bounds.projected_rows, "row"),
            number(mean),
            number(largest)
        )?;
    }
    writeln!(
        out,
        "  features move by {} in the mean when rows are projected, by {} at most",
        number(bounds.moved.mean),
        number(bounds.moved.value)
    )
}

fn changes(bounds: &Bounds, change: &ChangeBound, out: &mut dyn Write) -> io::Result<()> {
    let cells = change.by_cell.iter().zip(&bounds.cells);
    let said: Vec<_> = cells.filter(|(cell, _)| !cell.vacuous).collect();
    let rows = said.iter().take(MOST_CELLS).map(|(cell, of)| {
        vec![
            of.label.clone(),
            of.rows.to_string(),
            number(cell.realised),
            number(cell.value),
            number(cell.offset),
        ]
    });
    let header = ["cell", "rows", "on these rows", "at most", "taken off"];
    let title = format!("change of predictions of {}", change.score);
    table(out, &title, (1, &header), rows.collect())?;
    if said.len() > MOST_CELLS {
        writeln!(out, "  {} more cells", said.len() - MOST_CELLS)?;
    }
    Ok(())
}
