//! `oblivio frontier`: what its numbers are, what it writes, and what it refuses.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::Place;
use serde_json::Value;

const QUICK: &str = "--permutations 39 --resamples 39";
const DATA: &str =
    "train.csv --sensitive sex,age --cells 3 --drop admitted,region --target success";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn dependence<'j>(candidate: &'j Value, against: &str, measure: &str) -> &'j Value {
    let mut all = candidate["dependence"].as_array().unwrap().iter();
    all.find(|found| found["against"] == against && found["measure"] == measure)
        .unwrap()
}

#[test]
fn less_is_left_at_the_end_and_the_start_is_plain() {
    let place = Place::with_applicants(1200);
    let json = place.json(&format!(
        "frontier {DATA} --modes oblivious --strengths 0,1 --aligns none --json {QUICK}"
    ));
    let candidates = json["candidates"].as_array().unwrap();
    let names: Vec<&Value> = candidates.iter().map(|c| &c["name"]).collect();
    assert_eq!(names, ["plain", "oblivious 1"]);
    assert_eq!(json["held-out-rows"], 360);
    // What is beyond the level under independence, which samples do not go below by much.
    let beyond = |k: usize| {
        let found = dependence(&candidates[k], "sex × age", "correlation-ratio");
        number(&found["value"]) - number(&found["expected"])
    };
    assert!(beyond(0) > 0.05 && beyond(1) < 0.5 * beyond(0));
    assert_eq!(candidates[0]["start"], true);
    assert_eq!(candidates[0]["errors"][0]["measure"], "rmse");
    // Distance correlation is of single columns of numbers.
    dependence(&candidates[0], "age", "distance-correlation");
}

#[test]
fn it_writes_a_page_and_tables_that_an_audit_reads() {
    let place = Place::with_applicants(300);
    let text = place.run(&format!(
        "frontier {DATA} --strengths 0.5,1 --aligns none {QUICK} -o f.html -o f.csv -o f.json"
    ));
    assert!(text.contains("m-oblivious 0.5") && text.contains("if independent"));
    let json: Value = serde_json::from_slice(&place.read("f.json")).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["candidates"].as_array().unwrap().len(), 7);
    let csv = String::from_utf8(place.read("f.csv")).unwrap();
    // Seven candidates; three measures for each of sex, age and both, and one for age alone.
    assert_eq!(csv.lines().count(), 1 + 7 * (3 * 3 + 1));
    assert!(csv.starts_with("name,mode,strength,"));
    let page = String::from_utf8(place.read("f.html")).unwrap();
    assert!(page.contains("On the frontier?") && page.contains("sensitive-free 0.5"));
    place.run(&format!(
        "audit new.csv --sensitive sex --score success --drop region --measures beta --frontier f.csv -o a.html {QUICK}"
    ));
    let audit = String::from_utf8(place.read("a.html")).unwrap();
    // One line for each candidate: the first error and measure.
    assert_eq!(audit.matches("<bdi class=\"name\">plain</bdi>").count(), 1);
    assert!(audit.contains("sensitive-free 1") && audit.contains("Error against dependence"));
}

#[test]
fn the_same_seed_is_the_same_file_and_penalties_are_found() {
    let place = Place::with_applicants(150);
    let line = format!("frontier {DATA} --strengths 1 --alpha auto --seed 3 --json {QUICK}");
    let first = place.run(&line);
    assert_eq!(first, place.run(&line));
    let json: Value = serde_json::from_str(&first).unwrap();
    let penalties: Vec<f64> = json["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| number(&c["penalty"]))
        .collect();
    assert!(penalties.iter().any(|penalty| *penalty != 1.0));
    let other = place.json(&line.replace("--seed 3", "--seed 4"));
    assert_ne!(json["candidates"], other["candidates"]);
}

#[test]
fn classes_have_two_errors() {
    let place = Place::with_applicants(300);
    let json = place.json(&format!(
        "frontier train.csv --sensitive sex --drop success,region,age --target admitted --learner logistic --modes m-oblivious --strengths 1 --json {QUICK}"
    ));
    let errors = json["candidates"][1]["errors"].as_array().unwrap();
    let names: Vec<&Value> = errors.iter().map(|error| &error["measure"]).collect();
    assert_eq!(names, ["one-minus-auc", "balanced-error"]);
}

#[test]
fn what_is_refused_leaves_no_file() {
    let place = Place::with_applicants(60);
    let before = place.names();
    for (line, sentence) in [
        (
            format!("frontier {DATA} --held-out 1 -o f.html"),
            "between 0 and 1",
        ),
        (
            format!("frontier {DATA} --strengths 2 -o f.html"),
            "strength",
        ),
        (
            format!("frontier {DATA} --aligns twice -o f.html"),
            "alignment `twice`",
        ),
        (format!("frontier {DATA} -o f.pdf"), ".html, .csv or .json"),
        (
            format!("frontier {DATA} --learner svm --alpha auto"),
            "--cost",
        ),
        (
            "frontier train.csv --target success -o f.html".into(),
            "--sensitive",
        ),
        (
            "frontier train.csv --target region --sensitive sex --drop age --learner svm -o f.html"
                .into(),
            "two",
        ),
    ] {
        let output = place.output(&line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains(sentence), "{line}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert_eq!(place.names(), before);
}
