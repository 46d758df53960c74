//! What a release keeps and takes out, in words and as CSV.

use oblivio_audit::{AdversaryScore, Against, Audit, Finding, Measure, Role, Subject};
use oblivio_release::{ReleaseCertificate, ReleaseReport, Utility};

use crate::answer::{Answer, extent, hardly, judgement, unnoticed};
use crate::number::{count, short};
use crate::pair::{Change, Pair, pairs};
use crate::text::{self, list};
use crate::words::{value_in_words, words};

/// What every release is to say of itself.
pub const NOT_ANONYMISED: &str = "The released table is not anonymised: its rows are still the rows of people, and who knows much of a person can find \
     that person's row.";

/// What the columns are called before and after.
const ORIGINAL: &str = "original columns";
const RELEASED: &str = "released columns";

/// Both audits of a release as one, in which every measure has a before.
pub fn release_audit(report: &ReleaseReport) -> Audit {
    let all = |audit: &Audit, name: &str| -> Vec<Finding> {
        let of_features = |subject: &&Subject| subject.role == Role::Features;
        let own = audit.subjects.iter().find(of_features);
        let own = own.map(|subject| subject.name.clone());
        let findings = audit.findings.iter();
        findings
            .filter(|finding| Some(&finding.subject) == own.as_ref())
            .map(|finding| Finding {
                subject: name.to_owned(),
                ..finding.clone()
            })
            .collect()
    };
    let subject = |name: &str, role| Subject {
        name: name.to_owned(),
        role,
    };
    let mut findings = all(&report.before, ORIGINAL);
    findings.extend(all(&report.after, RELEASED));
    Audit {
        subjects: vec![
            subject(ORIGINAL, Role::Before),
            subject(RELEASED, Role::After),
        ],
        findings,
        profiles: Vec::new(),
        ..report.after.clone()
    }
}

/// The measures of a release as CSV: those of the original columns, then those of the released ones.
pub fn release_csv(report: &ReleaseReport) -> String {
    crate::csv(&release_audit(report))
}

/// What a release says first: the score of an adversary with the level under independence; then what it has cost.
pub fn release_answer(report: &ReleaseReport) -> Answer {
    let audit = release_audit(report);
    let columns = list(&report.sensitive);
    let rows = format!("on {} held-out rows", count(report.held_out_rows));
    let pair = pairs(&audit).pop();
    let Some((pair, against)) = pair.zip(audit.against.last()) else {
        return nothing(&rows);
    };
    let changes: Vec<Change> = pair
        .changes(&audit, against)
        .into_iter()
        .filter(|change| change.now.measured.value.is_finite())
        .collect();
    let lead = LEADING.iter().find_map(|measure| {
        let mut changes = changes.iter();
        changes.find(|change| change.now.measure == *measure)
    });
    let Some(lead) = lead.or(changes.first()) else {
        return nothing(&rows);
    };
    let everything: Vec<Change> = audit
        .against
        .iter()
        .flat_map(|against| pair.changes(&audit, against))
        .collect();
    let was = |change: &Change| change.before.is_some_and(|before| before.detectable);
    let overall = if everything.iter().any(|change| change.now.detectable) {
        let size = extent(&everything);
        if hardly(&everything, audit.resampling.permutations) {
            format!(
                "The released columns depend on {columns} hardly more than chance gives, {rows}: {size}."
            )
        } else if lead.is_worse() {
            format!(
                "The released columns depend more on {columns} than the original ones, {rows}: {size}."
            )
        } else {
            format!("The released columns still depend on {columns}, {rows}: {size}.")
        }
    } else if everything.iter().any(was) {
        format!(
            "The original columns depend on {columns}; in the released ones no dependence was detected, {rows}."
        )
    } else {
        format!("No dependence on {columns} was detected, before the release or after it, {rows}.")
    };
    let mut sentences = vec![overall];
    sentences.extend(single(&audit, &pair, against, lead.now.measure));
    sentences.extend(unnoticed(std::slice::from_ref(lead)));
    sentences.extend(moved(report));
    sentences.extend(report.utility.iter().filter(|told| told.given).map(kept));
    Answer {
        headline: said(lead, &list(&against.columns)),
        sentences,
        numbers: crate::answer::figures(&changes),
    }
}

/// The measure that leads, the first that there is.
const LEADING: [Measure; 3] = [Measure::Adversary, Measure::Hsic, Measure::AdversaryLinear];

fn nothing(rows: &str) -> Answer {
    Answer {
        headline: format!("Nothing was measured {rows}."),
        sentences: Vec::new(),
        numbers: Vec::new(),
    }
}

/// `An adversary guesses age from the released columns with AUC 0.52 (0.79 before; 0.5 expected if independent): …`
fn said(change: &Change, columns: &str) -> String {
    let (finding, measured) = (change.now, &change.now.measured);
    let value = |value| value_in_words(finding.measure, value);
    let before = change.before.map(|before| value(before.measured.value));
    let before = before.map_or(String::new(), |before| {
        format!("{before} before the release; ")
    });
    let statement = match finding.measure {
        Measure::Adversary | Measure::AdversaryLinear => format!(
            "An adversary guesses {columns} from the released columns with {} {}",
            unit(finding),
            value(measured.value)
        ),
        measure => format!(
            "The {} of the released columns and {columns} is {}",
            words(measure).0,
            value(measured.value)
        ),
    };
    format!(
        "{statement} ({before}{} expected if independent): {}.",
        value(measured.expected),
        judgement(finding.detectable, finding.large)
    )
}

/// What an adversary's value is.
pub(crate) fn unit(finding: &Finding) -> &'static str {
    let detail = finding.detail.as_deref().unwrap_or_default();
    if detail.starts_with("R²") {
        "R²"
    } else {
        "AUC"
    }
}

/// The same for every sensitive column alone, where there are several.
fn single(audit: &Audit, pair: &Pair, all: &Against, measure: Measure) -> Vec<String> {
    let others = audit.against.iter().filter(|own| own.name != all.name);
    others
        .filter_map(|own| {
            Some(said(
                &pair.change(audit, own, measure)?,
                &list(&own.columns),
            ))
        })
        .collect()
}

/// How far values moved.
fn moved(report: &ReleaseReport) -> Option<String> {
    let distances = report.columns.iter().filter_map(|column| {
        let distance = column.distance.filter(|distance| distance.is_finite())?;
        Some((column, distance))
    });
    let furthest = distances.max_by(|(_, a), (_, b)| a.total_cmp(b));
    furthest.map(|(column, distance)| {
        format!(
            "Of the columns of numbers, {} moved most: by {} of its standard deviation.",
            text::inline(&column.name),
            short(distance)
        )
    })
}

/// `A learner tells bar from the released columns with AUC 0.7 (0.8 from the original ones; 0.5 for a guess).`
fn kept(told: &Utility) -> String {
    let score = score(told.score);
    format!(
        "A learner tells {} from the released columns with {score} {} ({} from the original ones; {} is chance).",
        text::inline(&told.target),
        short(told.released.value),
        short(told.original.value),
        chance(told.score),
    )
}

/// The name of a score.
/// What is certain of projected rows, in a sentence.
pub fn release_certificate(certified: &ReleaseCertificate) -> String {
    format!(
        "Of {} of {} held-out rows it is certified that the squared distance to the feature that is wanted is within a thousandth of the least; of any of them it \
         is at most {} above it.",
        count(certified.certified),
        count(certified.rows),
        short(certified.largest_gap)
    )
}

pub(crate) fn score(score: AdversaryScore) -> &'static str {
    match score {
        AdversaryScore::Auc => "AUC",
        AdversaryScore::RSquared => "R²",
    }
}

fn chance(score: AdversaryScore) -> &'static str {
    match score {
        AdversaryScore::Auc => "0.5",
        AdversaryScore::RSquared => "0",
    }
}
