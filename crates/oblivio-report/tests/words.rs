//! The answer in words, and the CSV.
#![allow(clippy::unwrap_used)]

mod sample;

use oblivio_audit::{Audit, Finding, Measure};
use oblivio_report::{answer, csv};

/// The findings of the score after the correction.
fn after(finding: &Finding) -> bool {
    finding.subject == "score"
}

fn judged(judge: impl Fn(&Finding) -> (bool, bool)) -> Audit {
    sample::judged(sample::full(), judge)
}

#[test]
fn nothing_detectable() {
    let answer = answer(&judged(|finding| (!after(finding), !after(finding))));
    assert_eq!(
        answer.headline,
        "No dependence of scores on sex and age was detected."
    );
    assert!(
        answer
            .sentences
            .iter()
            .any(|s| s.starts_with("Not detected is not independent: on 3000 rows"))
    );
}

#[test]
fn detectable_but_not_large() {
    let answer = answer(&judged(|_| (true, false)));
    assert_eq!(
        answer.headline,
        "Scores still depend on sex and age: detectable by all 11 measures, large by none."
    );
    assert_eq!(
        answer.sentences[0],
        "The cells explain 0.56 % of the variance of score (13.4 % before; 0.37 % expected if independent): \
         detectable, but not large."
    );
}

#[test]
fn detectable_and_large() {
    let both = answer(&judged(|_| (true, true)));
    assert_eq!(
        both.headline,
        "Scores still depend on sex and age: detectable and large by all 11 measures."
    );
    let one = answer(&judged(|finding| {
        (true, finding.measure == Measure::Adversary)
    }));
    assert!(
        one.headline
            .ends_with("detectable by all 11 measures, large by 1.")
    );
}

#[test]
fn large_but_not_detectable() {
    let answer = answer(&judged(|finding| (!after(finding), true)));
    assert_eq!(
        answer.headline,
        "No dependence of scores on sex and age was detected."
    );
    assert!(
        answer
            .sentences
            .iter()
            .any(|s| s.contains("large but not detectable"))
    );
}

#[test]
fn more_than_before() {
    let mut audit = sample::judged(sample::full(), |_| (true, false));
    for finding in &mut audit.findings {
        if finding.measure == Measure::CorrelationRatio && after(finding) {
            finding.measured.value = 0.2;
            finding.measured.lower = 0.18;
        }
    }
    let answer = answer(&audit);
    assert!(
        answer
            .headline
            .starts_with("Scores depend more on sex and age than before: ")
    );
    let worse = "There is more dependence than before by: share of variance explained (13.4 % before, 20.0 % now)";
    assert!(answer.sentences.iter().any(|s| s.starts_with(worse)));
}

#[test]
fn a_single_column_that_is_worse_is_named() {
    let audit = judged(|finding| {
        let age = finding.against == "age" && finding.measure == Measure::CorrelationRatio;
        (true, age)
    });
    let answer = answer(&audit);
    let about: Vec<_> = answer
        .sentences
        .iter()
        .filter(|s| s.contains("by itself stands out"))
        .collect();
    assert_eq!(about.len(), 1);
    assert!(about[0].starts_with("age by itself stands out: share of variance explained 0.34 %"));
    assert!(about[0].ends_with("(detectable and large)."));
}

#[test]
fn three_numbers_beside_their_levels() {
    let answer = answer(&sample::full());
    let measures: Vec<_> = answer.numbers.iter().map(|figure| figure.measure).collect();
    assert_eq!(
        measures,
        [Measure::CorrelationRatio, Measure::Beta, Measure::Adversary]
    );
    let first = &answer.numbers[0];
    assert_eq!(
        (first.before, first.value, first.expected),
        (Some(0.1337), 0.0056, 0.0037)
    );
    assert_eq!(first.text(first.value), "0.56 %");
    assert_eq!(answer.numbers[2].note.as_deref(), Some("AUC, 5 folds"));
}

#[test]
fn scores_alone_labels_and_features() {
    let score = answer(&sample::score());
    assert!(
        score
            .headline
            .starts_with("Scores depend on sex: detectable")
    );
    assert!(!score.sentences[0].contains("before"));
    let label = answer(&sample::label());
    assert!(
        label
            .headline
            .starts_with("The label “admitted” depends on sex and age: ")
    );
    let features = answer(&sample::features());
    assert!(
        features
            .headline
            .starts_with("The features depend on sex: ")
    );
    assert_eq!(features.numbers.len(), 3);
}

#[test]
fn other_subjects_are_named() {
    let answer = answer(&sample::full());
    let also = "Also audited: admitted (detectable and large by all 4 measures); features (detectable and large by all 3 measures).";
    assert!(
        answer.sentences.iter().any(|sentence| sentence == also),
        "{:?}",
        answer.sentences
    );
}

#[test]
fn an_audit_of_nothing() {
    let mut audit = sample::score();
    audit.findings.clear();
    assert_eq!(answer(&audit).headline, "Nothing was measured.");
    audit.subjects.clear();
    audit.against.clear();
    assert_eq!(answer(&audit).numbers.len(), 0);
}

#[test]
fn csv_has_a_line_for_every_finding() {
    let audit = sample::full();
    let csv = csv(&audit);
    let lines: Vec<&str> = csv.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 1 + audit.findings.len());
    assert_eq!(
        lines[0],
        "subject,role,against,measure,value,expected,critical,p_value,lower,upper,rows,detectable,large,detail"
    );
    assert!(lines[1].starts_with("score before,before,sex,correlation-ratio,"));
}

#[test]
fn csv_reads_back_as_it_was() {
    let name = "a \"quoted\", name\r\nof two lines ";
    let audit = sample::named(name);
    let records = read(&csv(&audit));
    assert_eq!(records.len(), 1 + audit.findings.len());
    for (record, finding) in records[1..].iter().zip(&audit.findings) {
        assert_eq!(record.len(), 14);
        assert_eq!(record[0], finding.subject);
        assert_eq!(record[2], finding.against);
        assert_eq!(record[4].parse::<f64>().unwrap(), finding.measured.value);
        assert_eq!(record[13], finding.detail.clone().unwrap_or_default());
    }
}

/// A reader of RFC 4180.
fn read(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                field.push('"');
                characters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            _ => field.push(c),
        }
    }
    records
}
