//! A frontier on a terminal: one line for each candidate.

use std::io::{self, Write};
use std::path::PathBuf;

use comfy_table::{CellAlignment, Table, presets};
use oblivio_audit::{Against, Frontier, Measure, Tried};
use oblivio_base::Named;
use oblivio_report::frontier_answer;

use crate::report::{counted, number};

pub(super) fn print(
    frontier: &Frontier,
    written: &[PathBuf],
    out: &mut dyn Write,
) -> io::Result<()> {
    let answer = frontier_answer(frontier);
    writeln!(out, "{}", answer.headline)?;
    for sentence in &answer.sentences {
        writeln!(out, "{sentence}")?;
    }
    let axes = axes(frontier);
    for error in &frontier.errors {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        let mut header = vec!["candidate".to_owned(), "penalty".into()];
        header.extend([error.measure.name().to_owned(), "interval".into()]);
        header.extend(axes.iter().map(|axis| heading(frontier, *axis)));
        let width = header.len();
        table.set_header(header);
        for tried in &frontier.candidates {
            let Some(found) = tried.error(error.measure) else {
                continue;
            };
            let mut row = vec![
                tried.name.clone(),
                number(tried.penalty),
                number(found.value),
                format!("{} to {}", number(found.lower), number(found.upper)),
            ];
            row.extend(axes.iter().map(|(against, measure)| {
                let found = tried.of(&against.name, *measure);
                found.map_or(String::new(), |found| {
                    let on = found.on_frontier.contains(&error.measure);
                    format!(
                        "{}{}",
                        number(found.measured.value),
                        if on { " *" } else { "  " }
                    )
                })
            }));
            table.add_row(row);
        }
        let mut levels = vec!["if independent".to_owned()];
        levels.resize(4, String::new());
        levels.extend(axes.iter().map(|axis| level(frontier, *axis)));
        table.add_row(levels);
        for column in table.column_iter_mut().take(width).skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(out)?;
        for line in table.lines() {
            writeln!(out, " {}", line.trim_end())?;
        }
    }
    writeln!(
        out,
        "  * on the frontier: no other candidate is at least as good in both error and dependence, and better in one"
    )?;
    writeln!(
        out,
        "\n{} trained, {} held out; the one you choose is to be measured again on new rows",
        counted(frontier.training_rows, "row"),
        frontier.held_out_rows
    )?;
    for note in &frontier.notes {
        writeln!(out, "note: {note}")?;
    }
    for path in written {
        writeln!(out, "written to {}", path.display())?;
    }
    Ok(())
}

/// The measures against all columns together, and those that there are for single columns only.
fn axes(frontier: &Frontier) -> Vec<(&Against, Measure)> {
    let all = frontier.against.last().map(|against| &against.name);
    let axes = frontier.axes();
    let together = |measure: Measure| {
        let mut axes = axes.iter();
        axes.any(|(against, other)| Some(&against.name) == all && *other == measure)
    };
    axes.iter()
        .filter(|(against, measure)| Some(&against.name) == all || !together(*measure))
        .copied()
        .collect()
}

fn heading(frontier: &Frontier, (against, measure): (&Against, Measure)) -> String {
    let is_all = frontier.against.last().map(|all| &all.name) == Some(&against.name);
    if is_all {
        measure.name().to_owned()
    } else {
        format!("{} of {}", measure.name(), against.name)
    }
}

/// The level under independence of the start, or of the first candidate.
fn level(frontier: &Frontier, (against, measure): (&Against, Measure)) -> String {
    let of = |tried: &Tried| Some(tried.of(&against.name, measure)?.measured.expected);
    let start = frontier.candidates.iter().find(|tried| tried.start);
    let level = start.or(frontier.candidates.first()).and_then(of);
    level.map_or(String::new(), |level| format!("{}  ", number(level)))
}
