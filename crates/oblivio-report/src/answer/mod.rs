//! The answer in words and three numbers.
//!
//! *Detectable* (chance alone would hardly give it) and *large* (far from independence, by convention) are two words
//! for two things: many rows make a small dependence detectable, few rows leave a large one undetectable.

mod figures;
mod sentences;

use oblivio_audit::{Against, Audit, Measure, Role};

use crate::pair::{Change, Pair, headline};
use crate::text::{inline, list};
pub(crate) use figures::figures;
pub(crate) use sentences::unnoticed;

/// What an audit comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// One sentence.
    pub headline: String,
    /// What is to say beside it, the most important first.
    pub sentences: Vec<String>,
    /// At most three numbers.
    pub numbers: Vec<Figure>,
}

/// One number of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is, in words.
    pub label: &'static str,
    /// What was measured.
    pub measure: Measure,
    /// Its value before the correction.
    pub before: Option<f64>,
    /// Its value.
    pub value: f64,
    /// Its mean if nothing depended on S.
    pub expected: f64,
    /// Whether chance alone would hardly give such a value.
    pub detectable: bool,
    /// Whether the value is far from its level under independence.
    pub large: bool,
    /// What else is to say: the unit, the two cells that differ most.
    pub note: Option<String>,
}

/// The answer in words and three numbers: about the last score (else label, else features) and all sensitive columns
/// together.
pub fn answer(audit: &Audit) -> Answer {
    let asked = headline(audit).zip(audit.against.last());
    let found = asked.map(|(pair, against)| (pair, against, counted(&pair, audit, against)));
    let Some((pair, against, changes)) = found.filter(|(_, _, changes)| !changes.is_empty()) else {
        return Answer {
            headline: "Nothing was measured.".into(),
            sentences: audit.notes.iter().map(|note| inline(note)).collect(),
            numbers: Vec::new(),
        };
    };
    let lead = changes[0].now.measure;
    let mut said = vec![sentences::numbers_in_words(&changes[0], &pair)];
    said.extend(sentences::worse(&changes));
    said.extend(sentences::single_columns(audit, &pair, against, lead));
    said.extend(sentences::outcomes(audit, &pair, against));
    said.extend(unnoticed(&changes));
    said.extend(sentences::others(audit, &pair, against));
    said.extend(sentences::small_cells(against));
    Answer {
        headline: verdict(
            &pair,
            (against, &audit.control),
            &changes,
            audit.resampling.permutations,
        ),
        sentences: said,
        numbers: figures(&changes),
    }
}

/// The findings that the answer counts, the leading one first.
fn counted<'a>(pair: &Pair<'a>, audit: &'a Audit, against: &Against) -> Vec<Change<'a>> {
    let mut changes = pair.changes(audit, against);
    changes.retain(|change| {
        change.now.measure.is_dependence() && change.now.measured.value.is_finite()
    });
    let lead = LEADING.iter().find_map(|measure| {
        changes
            .iter()
            .position(|change| change.now.measure == *measure)
    });
    if let Some(lead) = lead {
        let lead = changes.remove(lead);
        changes.insert(0, lead);
    }
    changes
}

/// The measure that leads, the first that there is.
const LEADING: &[Measure] = &[
    Measure::CorrelationRatio,
    Measure::ParityDifference,
    Measure::Beta,
    Measure::Hsic,
    Measure::Adversary,
];

/// The sensitive columns, and the columns that are held fixed.
fn columns(against: &Against, control: &[String]) -> String {
    let columns = list(&against.columns);
    if control.is_empty() {
        columns
    } else {
        format!("{columns} given {}", list(control))
    }
}

fn verdict(
    pair: &Pair,
    (against, control): (&Against, &[String]),
    changes: &[Change],
    shuffles: usize,
) -> String {
    let (subject, plural) = noun(pair);
    let columns = columns(against, control);
    let depend = if plural { "depend" } else { "depends" };
    let was = |change: &Change| change.before.is_some_and(|before| before.detectable);
    let lead = &changes[0];
    if !changes.iter().any(|change| change.now.detectable) {
        let lower = lower(&subject);
        return format!("No dependence of {lower} on {columns} was detected.");
    }
    let size = extent(changes);
    if hardly(changes, shuffles) {
        return format!(
            "Hardly more dependence of {} on {columns} than chance gives: {size}.",
            lower(&subject)
        );
    }
    if lead.now.detectable && lead.is_worse() {
        format!("{subject} {depend} more on {columns} than before: {size}.")
    } else if changes.iter().any(was) {
        format!("{subject} still {depend} on {columns}: {size}.")
    } else {
        format!("{subject} {depend} on {columns}: {size}.")
    }
}

/// Whether what is detectable may well be chance, as many measures were taken: none of them is as rare as one case of twenty
/// shared among all, nor beyond all shuffles.
pub(crate) fn hardly(changes: &[Change], shuffles: usize) -> bool {
    let rarest = changes.iter().map(|change| change.now.measured.p_value);
    let rarest = rarest.fold(1.0, f64::min);
    let beyond_all = (1.0 + 1e-9) / (shuffles as f64 + 1.0);
    rarest > f64::max(0.05 / changes.len() as f64, beyond_all)
}

/// By how many measures the dependence is detectable, and by how many it is large.
pub(crate) fn extent(changes: &[Change]) -> String {
    let of = changes.len();
    let detectable = changes.iter().filter(|change| change.now.detectable);
    let large = changes.iter().filter(|change| change.now.large);
    match (of, detectable.count(), large.count()) {
        (_, 0, large) => format!("not detectable, large by {}", number(large)),
        (1, _, large) => judgement(true, large == 1).into(),
        (_, all, large) if all == of && large == of => {
            format!("detectable and large by all {of} measures")
        }
        (_, all, large) if all == of => format!(
            "detectable by all {of} measures, large by {}",
            number(large)
        ),
        (_, some, large) => format!(
            "detectable by {some} of {of} measures, large by {}",
            number(large)
        ),
    }
}

fn number(number: usize) -> String {
    if number == 0 {
        "none".into()
    } else {
        number.to_string()
    }
}

/// What the headline calls a subject, and whether it is many.
fn noun(pair: &Pair) -> (String, bool) {
    match pair.subject.role {
        Role::Before | Role::After | Role::Score => ("Scores".into(), true),
        Role::Label => (format!("The label “{}”", inline(&pair.subject.name)), false),
        Role::Features => ("The features".into(), true),
    }
}

fn lower(subject: &str) -> String {
    let mut characters = subject.chars();
    let first = characters.next().map(|c| c.to_lowercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}

/// Both words at once.
pub(crate) fn judgement(detectable: bool, large: bool) -> &'static str {
    match (detectable, large) {
        (true, true) => "detectable and large",
        (true, false) => "detectable, but not large",
        (false, true) => "large, but not detectable",
        (false, false) => "neither detectable nor large",
    }
}

/// `detectable` or `not detectable`.
pub(crate) fn detectable(is: bool) -> &'static str {
    if is { "detectable" } else { "not detectable" }
}

/// `large` or `not large`.
pub(crate) fn large(is: bool) -> &'static str {
    if is { "large" } else { "not large" }
}
