//! The findings as CSV, quoted as RFC 4180 has it.

use oblivio_audit::{Audit, Finding, Role};
use oblivio_base::Named;

const HEADER: [&str; 14] = [
    "subject",
    "role",
    "against",
    "measure",
    "value",
    "expected",
    "critical",
    "p_value",
    "lower",
    "upper",
    "rows",
    "detectable",
    "large",
    "detail",
];

/// The findings as CSV: one line for each, after a header.
///
/// Numbers have all their digits. Text stands as it is: a spreadsheet may take a name that starts with `=` for a formula.
pub fn csv(audit: &Audit) -> String {
    let mut text = line(HEADER.map(str::to_owned));
    for finding in &audit.findings {
        text.push_str(&line(fields(audit, finding)));
    }
    text
}

fn fields(audit: &Audit, finding: &Finding) -> [String; 14] {
    let role = audit
        .subjects
        .iter()
        .find(|subject| subject.name == finding.subject)
        .map(|subject| role(subject.role));
    let measured = &finding.measured;
    [
        finding.subject.clone(),
        role.unwrap_or_default().into(),
        finding.against.clone(),
        finding.measure.name().into(),
        number(measured.value),
        number(measured.expected),
        number(measured.critical),
        number(measured.p_value),
        number(measured.lower),
        number(measured.upper),
        measured.rows.to_string(),
        finding.detectable.to_string(),
        finding.large.to_string(),
        finding.detail.clone().unwrap_or_default(),
    ]
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Before => "before",
        Role::After => "after",
        Role::Score => "score",
        Role::Label => "label",
        Role::Features => "features",
    }
}

/// The shortest text that reads back as the same number; nothing for what is not a number.
pub(crate) fn number(value: f64) -> String {
    if value.is_nan() {
        String::new()
    } else {
        value.to_string()
    }
}

pub(crate) fn line<const N: usize>(fields: [String; N]) -> String {
    fields.map(|field| quoted(&field)).join(",") + "\r\n"
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
