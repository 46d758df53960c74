//! A release on a terminal: the answer in words, then its tables.

use std::io::{self, Write};
use std::path::PathBuf;

use comfy_table::{CellAlignment, Table, presets};
use oblivio_audit::AdversaryScore;
use oblivio_release::ReleaseReport;
use oblivio_report::{release_answer, release_audit, release_certificate};

use super::Report;
use crate::cmd::audit::measures;
use crate::report::{counted, number};

pub(super) fn print(report: &Report, written: &[PathBuf], out: &mut dyn Write) -> io::Result<()> {
    let found = report.found;
    let answer = release_answer(found);
    writeln!(out, "{}", answer.headline)?;
    for sentence in &answer.sentences {
        writeln!(out, "{sentence}")?;
    }
    let audit = release_audit(found);
    if let [before, after] = &audit.subjects[..] {
        writeln!(out, "\n{}", after.name)?;
        measures(&audit, &after.name, Some(&before.name), out)?;
    }
    writeln!(out, "\nwhat became of the columns")?;
    columns(found, out)?;
    utility(found, out)?;
    path(found, out)?;
    writeln!(
        out,
        "\n{} fitted the release that is judged here, {} judged it; the table's own is fitted on all rows",
        counted(found.training_rows, "row"),
        counted(found.held_out_rows, "row"),
    )?;
    for note in &found.notes {
        writeln!(out, "note: {note}")?;
    }
    let output = &report.args.output;
    let shown = [output].into_iter().filter(|path| path.as_os_str() != "-");
    for path in shown.chain(written).chain(&report.args.model) {
        writeln!(out, "written to {}", path.display())?;
    }
    if let Some(model) = &report.args.model {
        writeln!(
            out,
            "{} holds values of the table: keep it as safe as the data",
            model.display()
        )?;
    }
    let sensitive = report.args.sensitive.join(", ");
    if report.args.drop_sensitive {
        writeln!(out, "The sensitive columns ({sensitive}) were left out.")
    } else {
        writeln!(
            out,
            "The sensitive columns ({sensitive}) are in the table as they were; --drop-sensitive leaves them out."
        )
    }
}

fn columns(found: &ReleaseReport, out: &mut dyn Write) -> io::Result<()> {
    let optional = |value: Option<f64>| value.map_or(String::new(), number);
    let mut table = plain(&[
        "column",
        "kind",
        "treatment",
        "changed",
        "moved",
        "correlation",
    ]);
    for column in &found.columns {
        table.add_row([
            column.name.clone(),
            column.kind.clone(),
            column.treatment.clone(),
            format!("{:.1}%", 100.0 * column.changed),
            optional(column.distance),
            optional(column.correlation),
        ]);
    }
    lines(table, 3, out)
}

fn utility(found: &ReleaseReport, out: &mut dyn Write) -> io::Result<()> {
    if found.utility.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nhow well a learner tells each column from the features"
    )?;
    let mut table = plain(&[
        "told",
        "score",
        "original",
        "released",
        "interval",
        "by chance",
    ]);
    for told in &found.utility {
        let released = &told.released;
        table.add_row([
            format!(
                "{}{}",
                told.target,
                if told.given { " (target)" } else { "" }
            ),
            match told.score {
                AdversaryScore::Auc => "AUC".into(),
                AdversaryScore::RSquared => "R²".into(),
            },
            number(told.original.value),
            number(released.value),
            format!("{} to {}", number(released.lower), number(released.upper)),
            number(released.expected),
        ]);
    }
    lines(table, 2, out)
}

fn path(found: &ReleaseReport, out: &mut dyn Write) -> io::Result<()> {
    if found.path.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nthe bandwidths that were tried")?;
    let mut table = plain(&["kernel", "factor", "hsic", "if independent", "distance", ""]);
    for point in &found.path {
        table.add_row([
            point.kernel.clone(),
            number(point.factor),
            number(point.hsic),
            number(point.expected),
            number(point.distance),
            if point.chosen { "chosen" } else { "" }.into(),
        ]);
    }
    lines(table, 1, out)?;
    match &found.certified {
        Some(certified) => writeln!(out, "  {}", release_certificate(certified)),
        None => Ok(()),
    }
}

fn plain(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    table
}

/// Writes a table with numbers from this column on.
fn lines(mut table: Table, numbers: usize, out: &mut dyn Write) -> io::Result<()> {
    for column in table.column_iter_mut().skip(numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}
