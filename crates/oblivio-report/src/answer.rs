//! The answer in words and three numbers.
//!
//! *Detectable* (chance alone would hardly give it) and *large* (far from independence, by convention) are two words
//! for two things: many rows make a small dependence detectable, few rows leave a large one undetectable.

use oblivio::{Against, Audit, Measure, Role};

use crate::number::count;
use crate::pair::{Change, Pair, headline, pairs};
use crate::text::{inline, list};
use crate::words::{value_in_words, words};

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
    let mut sentences = vec![numbers_in_words(&changes[0], &pair)];
    sentences.extend(worse(&changes));
    sentences.extend(single_columns(
        audit,
        &pair,
        against,
        changes[0].now.measure,
    ));
    sentences.extend(unnoticed(&changes));
    sentences.extend(others(audit, &pair, against));
    sentences.extend(small_cells(against));
    Answer {
        headline: verdict(&pair, against, &changes),
        sentences,
        numbers: figures(&changes),
    }
}

/// The findings that the answer counts, the leading one first. A bound is none: it is high by construction.
fn counted<'a>(pair: &Pair<'a>, audit: &'a Audit, against: &Against) -> Vec<Change<'a>> {
    let mut changes = pair.changes(audit, against);
    changes.retain(|change| {
        change.now.measure != Measure::BetaBound && change.now.measured.value.is_finite()
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

fn verdict(pair: &Pair, against: &Against, changes: &[Change]) -> String {
    let (subject, plural) = noun(pair);
    let columns = list(&against.columns);
    let depend = if plural { "depend" } else { "depends" };
    let was = |change: &Change| change.before.is_some_and(|before| before.detectable);
    let lead = &changes[0];
    if !changes.iter().any(|change| change.now.detectable) {
        let lower = lower(&subject);
        return format!("No dependence of {lower} on {columns} was detected.");
    }
    let size = extent(changes);
    if lead.now.detectable && lead.is_worse() {
        format!("{subject} {depend} more on {columns} than before: {size}.")
    } else if changes.iter().any(was) {
        format!("{subject} still {depend} on {columns}: {size}.")
    } else {
        format!("{subject} {depend} on {columns}: {size}.")
    }
}

/// By how many measures the dependence is detectable, and by how many it is large.
fn extent(changes: &[Change]) -> String {
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

fn numbers_in_words(change: &Change, pair: &Pair) -> String {
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

/// The measures by which there is more dependence than before.
fn worse(changes: &[Change]) -> Option<String> {
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
fn single_columns(audit: &Audit, pair: &Pair, all: &Against, measure: Measure) -> Vec<String> {
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
            let further = alone.now.detectable && alone.excess() > together.excess();
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
fn unnoticed(changes: &[Change]) -> Option<String> {
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
    (!lead.detectable).then(|| {
        format!(
            "Not detected is not independent: on {} rows, a {} {side} {critical} cannot be told from chance.{large}",
            count(lead.measured.rows),
            words(lead.measure).0,
        )
    })
}

/// What the other subjects come to, in short.
fn others(audit: &Audit, asked: &Pair, against: &Against) -> Option<String> {
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

fn small_cells(against: &Against) -> Option<String> {
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

/// One number about means or decisions, one about distributions, one about what an adversary finds; if there are
/// none of a kind, the next measures there are.
fn figures(changes: &[Change]) -> Vec<Figure> {
    const KINDS: &[&[Measure]] = &[
        LEADING,
        &[
            Measure::Beta,
            Measure::KolmogorovSmirnov,
            Measure::Wasserstein,
            Measure::ParityRatio,
            Measure::MeanGap,
        ],
        &[
            Measure::Adversary,
            Measure::AdversaryLinear,
            Measure::Hsic,
            Measure::DistanceCorrelation,
        ],
    ];
    let mut left: Vec<&Change> = changes.iter().collect();
    let mut chosen = Vec::new();
    for kind in KINDS {
        let at = kind.iter().find_map(|measure| {
            left.iter()
                .position(|change| change.now.measure == *measure)
        });
        if let Some(at) = at {
            chosen.push(left.remove(at));
        }
    }
    chosen.extend(left);
    chosen.into_iter().take(3).map(figure).collect()
}

fn figure(change: &Change) -> Figure {
    Figure {
        label: words(change.now.measure).0,
        measure: change.now.measure,
        before: change.before.map(|before| before.measured.value),
        value: change.now.measured.value,
        expected: change.now.measured.expected,
        detectable: change.now.detectable,
        large: change.now.large,
        note: change.now.detail.as_deref().map(inline),
    }
}

impl Figure {
    /// A value of this measure with its unit.
    pub fn text(&self, value: f64) -> String {
        value_in_words(self.measure, value)
    }
}

/// Both words at once.
fn judgement(detectable: bool, large: bool) -> &'static str {
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
