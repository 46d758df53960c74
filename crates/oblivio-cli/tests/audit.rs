//! `oblivio audit`: what its numbers mean, what it writes, and when it says no.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::Place;
use serde_json::Value;

/// Draws that are few: these tests are about what is said, not about how precisely.
const QUICK: &str = "--permutations 39 --resamples 39";

fn findings<'j>(json: &'j Value, measure: &str) -> Vec<&'j Value> {
    let all = json["findings"].as_array().unwrap().iter();
    all.filter(|finding| finding["measure"] == measure)
        .collect()
}

fn of<'j>(json: &'j Value, subject: &str, against: &str, measure: &str) -> &'j Value {
    let mut found = findings(json, measure).into_iter();
    found
        .find(|finding| finding["subject"] == subject && finding["against"] == against)
        .unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn a_model_on_new_rows_before_and_after() {
    let place = Place::with_applicants(600);
    place.run("fit train.csv --sensitive sex,age --cells 3 --target success --drop admitted,region -o m.oblivio");
    let json = place.json(&format!(
        "audit new.csv --model m.oblivio --cells 3 --json {QUICK}"
    ));
    assert_eq!(json["rows"], 600);
    let roles: Vec<&Value> = json["subjects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| &s["role"])
        .collect();
    assert_eq!(roles, ["before", "after"]);
    let before = of(&json, "score_before", "sex × age", "correlation-ratio");
    let after = of(&json, "score", "sex × age", "correlation-ratio");
    assert!(number(&before["value"]) > 0.1 && before["detectable"] == true);
    assert!(number(&after["value"]) < 0.04 && after["large"] == false);
    // The scores are those of `predict`, and so is the share of their variance, as far as the cells agree.
    let predicted = place.json("predict m.oblivio new.csv -o scores.csv --json");
    let ratio = number(&predicted["correlation-ratio"]["before"]);
    assert!((ratio - number(&before["value"])).abs() < 0.02);
    // Which features carry it: those of the model.
    let features = json["features"].as_array().unwrap();
    assert!(features.iter().any(|f| f["feature"] == "essay"));
    assert!(
        features
            .iter()
            .all(|f| f["feature"] != "region" && f["feature"] != "sex")
    );
}

#[test]
fn the_scores_of_a_file_are_audited_like_those_of_its_model() {
    let place = Place::with_applicants(400);
    place.run(
        "fit train.csv --sensitive sex --target success --drop admitted,region,age -o m.oblivio",
    );
    place.run("predict m.oblivio new.csv --keep sex --before -o scores.csv");
    let model = place.json(&format!("audit new.csv --model m.oblivio --json {QUICK}"));
    let file = place.json(&format!(
        "audit scores.csv --sensitive sex --score score --before score_before --json {QUICK}"
    ));
    assert_eq!(model["findings"], file["findings"]);
    assert_eq!(model["profiles"], file["profiles"]);
}

#[test]
fn a_baseline_is_another_model() {
    let place = Place::with_applicants(400);
    for mode in ["plain", "oblivious"] {
        place.run(&format!(
            "fit train.csv --sensitive sex,age --cells 2 --target success --drop admitted,region --mode {mode} -o {mode}.oblivio"
        ));
    }
    let json = place.json(&format!(
        "audit new.csv --model oblivious.oblivio --baseline plain.oblivio --measures correlation-ratio --json {QUICK}"
    ));
    let value = |subject| number(&of(&json, subject, "sex × age", "correlation-ratio")["value"]);
    assert!(value("score_baseline") > 3.0 * value("score"));
    let facts = &json["facts"];
    assert!(
        facts["baseline"]
            .as_str()
            .unwrap()
            .starts_with("plain.oblivio: plain ridge")
    );
}

#[test]
fn a_table_without_scores_is_audited_by_its_features_and_labels() {
    let place = Place::with_applicants(400);
    let json = place.json(&format!(
        "audit train.csv --sensitive sex,age --target admitted --drop success --json {QUICK}"
    ));
    let names: Vec<&Value> = json["subjects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| &s["name"])
        .collect();
    assert_eq!(names, ["admitted", "features"]);
    assert!(findings(&json, "adversary").len() >= 6);
    assert!(findings(&json, "equalized-odds").is_empty());
    assert!(findings(&json, "parity-ratio").len() == 3);
}

#[test]
fn limits_are_a_gate() {
    let place = Place::with_applicants(300);
    let audit = |rest: &str| {
        place.output(&format!(
            "audit new.csv --sensitive sex,age --score success --drop admitted --measures beta {QUICK} {rest}"
        ))
    };
    assert_eq!(audit("--at-most beta=0.5").status.code(), Some(0));
    let stopped = audit("--at-most beta=0.01 -o report.json");
    assert_eq!(stopped.status.code(), Some(3));
    let said = String::from_utf8(stopped.stderr).unwrap();
    assert!(
        said.contains("limit: beta of `success` against sex × age is 0."),
        "{said}"
    );
    let report: Value = serde_json::from_slice(&place.read("report.json")).unwrap();
    let limits = report["limits"].as_array().unwrap();
    assert_eq!(limits.len(), 3);
    assert!(
        limits
            .iter()
            .any(|limit| limit["kept"] == false && limit["at-most"] == 0.01)
    );
    // A ratio is limited from below, and only so.
    assert_eq!(audit("--at-least parity-ratio=0.99").status.code(), Some(3));
    assert_eq!(audit("--at-most parity-ratio=0.8").status.code(), Some(1));
    // What is not measured cannot be kept.
    assert_eq!(audit("--at-most equalized-odds=0.1").status.code(), Some(1));
    assert_eq!(audit("--at-most beta").status.code(), Some(2));
    assert_eq!(audit("--at-most bata=1").status.code(), Some(2));
    assert_eq!(audit("--at-least beta=0.1").status.code(), Some(1));
    // An adversary against numbers is scored by R², and a limit for AUC is not for it.
    let of_age = "audit new.csv --sensitive age --score success --measures adversary";
    let limited = |limit: &str| place.output(&format!("{of_age} {QUICK} --at-most {limit}"));
    assert_eq!(limited("adversary=0.6").status.code(), Some(1));
    assert_eq!(limited("adversary-r2=0.9").status.code(), Some(0));
    assert_eq!(limited("adversary-r2=0.001").status.code(), Some(3));
    // Too few rows for the limit: independent scores would not keep it either.
    let hopeless = audit("--at-most beta=0.0001").stderr;
    assert!(
        String::from_utf8(hopeless)
            .unwrap()
            .contains("needs more rows or fewer cells")
    );
}

#[test]
fn reports_in_three_forms_and_nothing_by_halves() {
    let place = Place::with_applicants(200);
    place.run(&format!(
        "audit new.csv --sensitive sex --score success -o r.html -o r.csv -o r.json {QUICK}"
    ));
    let page = String::from_utf8(place.read("r.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("new.csv"));
    assert!(page.len() < 1_500_000);
    let json: Value = serde_json::from_slice(&place.read("r.json")).unwrap();
    let lines = String::from_utf8(place.read("r.csv")).unwrap();
    assert_eq!(
        lines.lines().count(),
        1 + json["findings"].as_array().unwrap().len()
    );
    let refused = place.output("audit new.csv --sensitive sex --score success -o r.pdf");
    assert_eq!(refused.status.code(), Some(1));
    let failed = place.output("audit new.csv --sensitive sex --score nothing -o other.html");
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(
        place.names(),
        ["new.csv", "r.csv", "r.html", "r.json", "train.csv"]
    );
}

/// Aggregates only: scores that nobody could meet by chance are not in the page, not even those of a cell of one row.
#[test]
fn no_row_is_in_the_page() {
    let place = Place::new();
    let score = |i: i32| (f64::from(i) * 0.7 + 0.3).sin() * 123.456 + f64::from(i % 3);
    let group = |i: i32| ["a", "b", "alone"][if i == 0 { 2 } else { (i % 2) as usize }];
    let lines = (0..200).map(|i| format!("{},{}\n", group(i), score(i)));
    place.write(
        "t.csv",
        &format!("group,score\n{}", lines.collect::<String>()),
    );
    place.run(&format!(
        "audit t.csv --sensitive group --score score -o r.html -o r.json {QUICK}"
    ));
    for name in ["r.html", "r.json"] {
        let text = String::from_utf8(place.read(name)).unwrap();
        assert!((0..200).all(|i| !text.contains(&score(i).to_string()[..10])));
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let place = Place::with_applicants(300);
    let run = |threads, seed| {
        place.run(&format!(
            "audit new.csv --sensitive sex,age --target admitted --json {QUICK} --threads {threads} --seed {seed}"
        ))
    };
    // Not assert_eq: the difference of two reports would fill the screen.
    assert!(run(2, 7) == run(2, 7));
    assert!(run(2, 7) != run(2, 8));
}

#[test]
fn a_frontier_is_shown_and_checked() {
    let place = Place::with_applicants(200);
    place.write(
        "frontier.csv",
        "name,error,dependence,chosen\nhalf,5.5,0.04,no\nfull,5.9,0.001,yes\n",
    );
    let audit = "audit new.csv --sensitive sex --score success --measures beta";
    place.run(&format!(
        "{audit} --frontier frontier.csv -o r.html {QUICK}"
    ));
    let page = String::from_utf8(place.read("r.html")).unwrap();
    assert!(page.contains("5.9") && page.to_lowercase().contains("frontier"));
    place.write("bad.csv", "error\n1\n");
    let refused = place.output(&format!("{audit} --frontier bad.csv {QUICK}"));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("dependence") && said.contains("bad.csv"),
        "{said}"
    );
}
