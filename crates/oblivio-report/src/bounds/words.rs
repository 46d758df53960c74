//! Bounds in words: the one that says something first, and those that say nothing in one line.

use oblivio_release::Bounds;

use super::{BoundLine, bound_lines};
use crate::answer::Answer;
use crate::number::{confidence, short};
use crate::text;

/// A kind of bound in words, and why one of them can say nothing.
struct Kind {
    name: &'static str,
    words: &'static str,
    reason: &'static str,
}

const KINDS: [Kind; 13] = [
    Kind {
        name: "certificate",
        words: "held-out rows",
        reason: "too few rows",
    },
    Kind {
        name: "certificate-beta",
        words: "held-out rows, all scores",
        reason: "too few rows for ten bins of scores",
    },
    Kind {
        name: "dependence",
        words: "distance to real rows",
        reason: "oblivious features lie too far from the features of real rows",
    },
    Kind {
        name: "dependence-without-left",
        words: "the same with exact means",
        reason: "oblivious features lie too far from the features of real rows",
    },
    Kind {
        name: "dependence-paper-statement",
        words: "the paper's form, as stated",
        reason: "its constants are at least twice as large",
    },
    Kind {
        name: "dependence-paper-proof",
        words: "the paper's form, as proved",
        reason: "its constants are four times as large",
    },
    Kind {
        name: "dependence-population",
        words: "distance, for new rows",
        reason: "too few projected rows",
    },
    Kind {
        name: "dependence-of-features",
        words: "distance to real rows",
        reason: "no event of projected rows is near enough",
    },
    Kind {
        name: "dependence-of-features-paper-statement",
        words: "the paper's form, as stated",
        reason: "its constants are at least twice as large",
    },
    Kind {
        name: "dependence-of-features-paper-proof",
        words: "the paper's form, as proved",
        reason: "its constants are twice to four times as large",
    },
    Kind {
        name: "moved",
        words: "how far projected rows move",
        reason: "no two features are farther apart",
    },
    Kind {
        name: "distance",
        words: "interval of the distance",
        reason: "too few rows for the range of distances, or no range is known beforehand",
    },
    Kind {
        name: "change",
        words: "change of predictions",
        reason: "the bound is no less than the spread of the score",
    },
];

/// The kind of a bound in words.
pub fn bound_words(bound: &str) -> &'static str {
    let kind = KINDS.iter().find(|kind| kind.name == bound);
    kind.map_or("bound", |kind| kind.words)
}

/// The bounds that say nothing, in one line: how many of each kind, and why. `None` if all say something.
pub fn vacuous_bounds(bounds: &Bounds) -> Option<String> {
    let lines = bound_lines(bounds);
    let mut parts = Vec::new();
    // Kinds of the same words have one entry.
    for (place, kind) in KINDS.iter().enumerate() {
        let same = |other: &&Kind| other.words == kind.words && other.reason == kind.reason;
        if KINDS[..place].iter().any(|other| same(&other)) {
            continue;
        }
        let names: Vec<&str> = KINDS.iter().filter(same).map(|kind| kind.name).collect();
        let all = lines.iter().filter(|line| names.contains(&line.bound));
        let (found, vacuous) = all.fold((0, 0), |(found, vacuous), line| {
            (found + 1, vacuous + usize::from(line.vacuous))
        });
        if vacuous > 0 {
            parts.push(format!(
                "{vacuous} of {found} by {} ({})",
                kind.words, kind.reason
            ));
        }
    }
    let vacuous = lines.iter().filter(|line| line.vacuous).count();
    (vacuous > 0).then(|| {
        format!(
            "{vacuous} of {} bounds are vacuous, no less than holds of anything: {}.",
            lines.len(),
            parts.join("; ")
        )
    })
}

/// The bound to begin with: what held-out rows say of a decision, else of anything, else what the distance says.
fn best(lines: &[BoundLine]) -> Option<&BoundLine> {
    let of = |name: &str| {
        let said = lines.iter().filter(|line| line.bound == name);
        let said = said.filter(|line| !line.vacuous && line.cell.is_none());
        // The first certificates are of decisions.
        said.min_by(|a, b| match name {
            "certificate" => std::cmp::Ordering::Equal,
            _ => a.value.total_cmp(&b.value),
        })
    };
    let kinds = [
        "certificate",
        "certificate-beta",
        "dependence-of-features",
        "dependence",
    ];
    kinds.iter().find_map(|name| of(name))
}

/// What bounds say: first the one that says something about dependence, last how many say nothing and why.
pub fn bounds_answer(bounds: &Bounds) -> Answer {
    let lines = bound_lines(bounds);
    let headline = match best(&lines) {
        Some(line) if line.bound.starts_with("certificate") => format!(
            "With {} confidence {} depends on the cells by at most {}",
            confidence(bounds.confidence),
            text::inline(&line.of),
            short(line.value)
        ),
        Some(line) => format!(
            "On these rows {} depends on the cells by at most {}",
            text::inline(&line.of),
            short(line.value)
        ),
        None => "No bound on dependence says anything: give more held-out rows".into(),
    };
    let mut sentences = vec![
        "0 is independence; an event of half of the rows can depend by 0.25 at most.".to_owned(),
    ];
    sentences.extend(by_distance(&lines));
    let distance = &bounds.distance;
    sentences.push(format!(
        "Oblivious features are {} from the features of real rows in the mean and {} in the root mean square, of at most {}.",
        short(distance.mean.value),
        short(distance.root_mean_square.value),
        short(distance.range)
    ));
    let changes = lines
        .iter()
        .filter(|line| line.bound == "change" && !line.vacuous);
    if let Some(line) = changes.max_by(|a, b| a.found.total_cmp(&b.found)) {
        sentences.push(format!(
            "Predictions were moved by {} in one cell, where the bound is {}.",
            short(line.found),
            short(line.value)
        ));
    }
    sentences.extend(vacuous_bounds(bounds));
    Answer {
        headline,
        sentences,
        numbers: Vec::new(),
    }
}

/// What the distance to real rows says of the score, or of an event of projected rows.
fn by_distance(lines: &[BoundLine]) -> Option<String> {
    let said = |name: &str| {
        let said = lines.iter().filter(|line| line.bound == name);
        said.filter(|line| !line.vacuous && line.cell.is_none())
            .min_by(|a, b| a.value.total_cmp(&b.value))
    };
    let line = said("dependence-of-features").or_else(|| said("dependence"))?;
    Some(format!(
        "By the distance to the features of real rows, {} depends on the cells by at most {} on these rows; it does by {}.",
        text::inline(&line.of),
        short(line.value),
        short(line.found)
    ))
}
