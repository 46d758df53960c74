//! What is to say beside the headline.

use oblivio_audit::{Against, Audit, Measure};

use super::{counted, extent, judgement};
use crate::number::count;
use crate::pair::{Change, Pair, pairs};
use crate::text::inline;
use crate::words::{value_in_words, words};

pub(super) fn numbers_in_words(change: &Change, pair: &Pair) -> String {
    let (measure, measured) = (change.now.measure, &change.now.measured);
    let value = |value| value_in_words(measure, value);
    let name = inline(&pair.subject.name);
    let statement = match measure {
        Measure::CorrelationRatio => {
            format!(
                "The cells explain {} of the variance of {name}",
                value(measured.value)
            )
        }
        _ => format!(
            "The {} of {name} is {}",
            words(measure).0,
            value(measured.value)
        ),
    };
    let before = change
        .before
        .map(|before| format!("{} before; ", value(before.measured.value)));
    format!(
        "{statement} ({}{} expected if independent): {}.",
        before.unwrap_or_default(),
        value(measured.expected),
        judgement(change.now.detectable, change.now.large),
    )
}

/// Errors, and outcomes of like scores, that differ between cells.
pub(super) fn outcomes(audit: &Audit, pair: &Pair, against: &Against) -> Vec<String> {
    let changes = [Measure::Calibration, Measure::ErrorGap];
    let changes = changes.map(|measure| pair.change(audit, against, measure));
    let detectable = changes.iter().flatten().filter(|c| c.now.detectable);
    detectable.map(|c| numbers_in_words(c, pair)).collect()
}

/// The measures by which there is more dependence than before.
pub(super) fn worse(changes: &[Change]) -> Option<String> {
    let worse: Vec<String> = changes
        .iter()
        .filter(|change| change.is_worse() && change.now.detectable)
        .map(|change| {
            let value = |value| value_in_words(change.now.measure, value);
            let before = change
                .before
                .map_or(f64::NAN, |before| before.measured.value);
            let name = words(change.now.measure).0;
            format!(
                "{name} ({} before, {} now)",
                value(before),
                value(change.now.measured.value)
            )
        })
        .collect();
    (!worse.is_empty()).then(|| {
        format!(
            "There is more dependence than before by: {}.",
            worse.join("; ")
        )
    })
}

/// The sensitive columns that are worse by themselves than all together.
pub(super) fn single_columns(
    audit: &Audit,
    pair: &Pair,
    all: &Against,
    measure: Measure,
) -> Vec<String> {
    let Some(together) = pair.change(audit, all, measure) else {
        return Vec::new();
    };
    let others = audit
        .against
        .iter()
        .filter(|against| against.name != all.name);
    others
        .filter_map(|against| Some((against, pair.change(audit, against, measure)?)))
        .filter(|(_, alone)| {
            let newly_large = alone.now.large && !together.now.large;
            let newly_detectable = alone.now.detectable && !together.now.detectable;
            let further = alone.now.detectable && alone.excess() > 1.5 * together.excess();
            newly_large || newly_detectable || further
        })
        .map(|(against, alone)| {
            format!(
                "{} by itself stands out: {} {}, {} expected if independent ({}).",
                inline(&against.name),
                words(measure).0,
                value_in_words(measure, alone.now.measured.value),
                value_in_words(measure, alone.now.measured.expected),
                judgement(alone.now.detectable, alone.now.large),
            )
        })
        .collect()
}

/// How much dependence the rows are too few to show.
pub(crate) fn unnoticed(changes: &[Change]) -> Option<String> {
    let lead = changes[0].now;
    let critical = value_in_words(lead.measure, lead.measured.critical);
    let side = if lead.measure.grows() {
        "below"
    } else {
        "above"
    };
    let large = changes
        .iter()
        .filter(|change| change.now.large && !change.now.detectable);
    let large = match large.count() {
        0 => "",
        _ => {
            " What is large but not detectable may be chance or not: there are too few rows to tell."
        }
    };
    // Constant scores or a single cell: there is nothing to tell.
    let tells = lead.measured.critical > 5e-5 && lead.measured.critical < 0.5;
    (!lead.detectable && tells).then(|| {
        format!(
            "Not detected is not independent: on {} rows, a {} {side} {critical} cannot be told from chance.{large}",
            count(lead.measured.rows),
            words(lead.measure).0,
        )
    })
}

/// What the other subjects come to, in short.
pub(super) fn others(audit: &Audit, asked: &Pair, against: &Against) -> Option<String> {
    const MOST: usize = 5;
    let others: Vec<String> = pairs(audit)
        .iter()
        .filter(|pair| pair.subject.name != asked.subject.name)
        .filter_map(|pair| {
            let changes = counted(pair, audit, against);
            (!changes.is_empty())
                .then(|| format!("{} ({})", inline(&pair.subject.name), extent(&changes)))
        })
        .collect();
    let more = if others.len() > MOST {
        "; and more"
    } else {
        ""
    };
    let shown = others.len().min(MOST);
    (shown > 0).then(|| format!("Also audited: {}{more}.", others[..shown].join("; ")))
}

pub(super) fn small_cells(against: &Against) -> Option<String> {
    let small = against.cells.iter().filter(|cell| cell.small).count();
    let of = against.cells.len();
    let (has, their) = if small == 1 {
        ("has", "its")
    } else {
        ("have", "their")
    };
    (small > 0).then(|| {
        format!("{small} of {of} cells {has} too few rows for {their} numbers to say much.")
    })
}
