//! The audit on a terminal: the answer in words, then every measure.

use std::io::{self, Write};
use std::path::PathBuf;

use comfy_table::{CellAlignment, Table, presets};
use oblivio_audit::{Audit, Finding, Role};
use oblivio_base::Named;
use oblivio_report::answer;

use crate::report::{counted, number};

/// More features than this are left to the page and `--json`.
const MOST_FEATURES: usize = 8;

pub(super) fn print(audit: &Audit, written: &[PathBuf], out: &mut dyn Write) -> io::Result<()> {
    let answer = answer(audit);
    writeln!(out, "{}", answer.headline)?;
    for sentence in &answer.sentences {
        writeln!(out, "{sentence}")?;
    }
    for (k, subject) in audit.subjects.iter().enumerate() {
        // A score before a correction stands beside the same score after it.
        let before = match subject.role {
            Role::Before => continue,
            Role::After => k.checked_sub(1).map(|k| audit.subjects[k].name.as_str()),
            _ => None,
        };
        writeln!(out, "\n{}", subject.name)?;
        measures(audit, &subject.name, before, out)?;
    }
    features(audit, out)?;
    small(audit, out)?;
    for note in &audit.notes {
        writeln!(out, "note: {note}")?;
    }
    for path in written {
        writeln!(out, "written to {}", path.display())?;
    }
    Ok(())
}

pub(in crate::cmd) fn measures(
    audit: &Audit,
    subject: &str,
    before: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut header = vec!["against", "measure"];
    header.extend(before.map(|_| "before"));
    header.extend(["value", "if independent", "interval", "p", ""]);
    table.set_header(header);
    let mut last = "";
    for finding in audit.findings.iter().filter(|f| f.subject == subject) {
        let Finding {
            against,
            measure,
            measured,
            ..
        } = finding;
        let mut row = vec![
            if against == last {
                String::new()
            } else {
                against.clone()
            },
            measure.name().to_owned(),
        ];
        last = against;
        row.extend(before.map(|name| {
            let other = audit.finding(name, against, *measure);
            other.map_or(String::new(), |other| number(other.measured.value))
        }));
        row.extend([
            number(measured.value),
            number(measured.expected),
            format!("{} to {}", number(measured.lower), number(measured.upper)),
            format!("{:.3}", measured.p_value),
            verdict(finding).to_owned(),
        ]);
        table.add_row(row);
    }
    let numbers = 2..header_width(before) - 1;
    for (k, column) in table.column_iter_mut().enumerate() {
        if numbers.contains(&k) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}

fn header_width(before: Option<&str>) -> usize {
    7 + usize::from(before.is_some())
}

fn verdict(finding: &Finding) -> &'static str {
    match (finding.detectable, finding.large) {
        (true, true) => "detectable, large",
        (true, false) => "detectable",
        (false, true) => "large, not detectable",
        (false, false) => "",
    }
}

/// The features that depend most on all sensitive columns together.
fn features(audit: &Audit, out: &mut dyn Write) -> io::Result<()> {
    let Some(all) = audit.against.last() else {
        return Ok(());
    };
    let of_all = || audit.features.iter().filter(|f| f.against == all.name);
    if of_all().next().is_none() {
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["feature", "hsic", "if independent"]);
    for feature in of_all().take(MOST_FEATURES) {
        table.add_row([
            feature.feature.clone(),
            number(feature.hsic.value),
            number(feature.hsic.expected),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "\nfeatures that depend most on {}", all.name)?;
    for line in table.lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    let rest = of_all().count().saturating_sub(MOST_FEATURES);
    if rest > 0 {
        writeln!(out, "  … and {} more", counted(rest, "feature"))?;
    }
    Ok(())
}

fn small(audit: &Audit, out: &mut dyn Write) -> io::Result<()> {
    for against in &audit.against {
        let small = against.cells.iter().filter(|cell| cell.small).count();
        let compared = if against.cells.len() - small < 2 {
            "so few have rows that all are compared"
        } else {
            "in the report, and not in largest differences"
        };
        if small > 0 {
            writeln!(
                out,
                "note: small cells of {}: {small} of {}; {compared}",
                against.name,
                against.cells.len()
            )?;
        }
    }
    Ok(())
}
