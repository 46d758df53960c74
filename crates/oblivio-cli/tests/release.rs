//! `oblivio release`: what is in the table, what is found next to it, and what is refused.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::Place;
use serde_json::Value;

const QUICK: &str = "--permutations 39 --resamples 39";
const DATA: &str = "train.csv --sensitive sex,age --cells 4 --target success --keep admitted";

/// The header and the columns of a CSV file without quotes.
fn columns(bytes: &[u8]) -> Vec<(String, Vec<String>)> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let mut lines = text.lines().map(|line| line.split(','));
    let header = lines.next().unwrap();
    let rows: Vec<Vec<&str>> = lines.map(Iterator::collect).collect();
    let column = |k: usize| rows.iter().map(|row| row[k].to_owned()).collect();
    header
        .enumerate()
        .map(|(k, name)| (name.to_owned(), column(k)))
        .collect()
}

fn adversary(audit: &Value, against: &str) -> f64 {
    let mut findings = audit["findings"].as_array().unwrap().iter();
    let found = findings
        .find(|found| found["against"] == against && found["measure"] == "adversary")
        .unwrap();
    found["value"].as_f64().unwrap() - found["expected"].as_f64().unwrap()
}

#[test]
fn a_released_table_has_the_same_columns_and_tells_less_of_s() {
    let place = Place::with_applicants(1500);
    let text = place.run(&format!("release {DATA} -o out.csv {QUICK}"));
    assert_eq!(
        place.names(),
        [
            "new.csv",
            "out.csv",
            "out.release.html",
            "out.release.json",
            "train.csv"
        ]
    );
    let (before, after) = (
        columns(&place.read("train.csv")),
        columns(&place.read("out.csv")),
    );
    assert_eq!(before.len(), after.len());
    for ((name, original), (same, released)) in before.iter().zip(&after) {
        assert_eq!(name, same);
        assert_eq!(original.len(), released.len());
        let is_left = ["sex", "age", "success", "admitted"].contains(&name.as_str());
        assert_eq!(original == released, is_left, "{name}");
        // Whole numbers stay whole, numbers stay numbers and categories stay the categories that there are.
        let whole = |values: &[String]| values.iter().all(|value| value.parse::<i64>().is_ok());
        assert_eq!(whole(original), whole(released), "{name}");
        if original[0].parse::<f64>().is_err() {
            assert!(
                released.iter().all(|value| original.contains(value)),
                "{name}"
            );
        }
    }
    let json: Value = serde_json::from_slice(&place.read("out.release.json")).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["held-out-rows"], 450);
    assert_eq!(json["table"]["anonymised"], false);
    assert_eq!(json["table"]["sensitive-in-table"], true);
    assert_eq!(
        json["table"]["left-as-they-were"],
        serde_json::json!(["sex", "age", "success", "admitted"])
    );
    let (was, is) = (
        adversary(&json["before"], "age"),
        adversary(&json["after"], "age"),
    );
    assert!(was > 0.1 && is < 0.5 * was, "{was} {is}");
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("The released table is not anonymised"),
        "{last}"
    );
    assert!(text.contains("The sensitive columns (sex, age) are in the table as they were"));
    let page = String::from_utf8(place.read("out.release.html")).unwrap();
    assert!(page.contains("not anonymised") && !page.contains("<script"));
}

#[test]
fn later_rows_are_released_by_the_saved_map() {
    let place = Place::with_applicants(300);
    place.run(&format!(
        "release {DATA} -o out.csv --model r.oblivio {QUICK}"
    ));
    place.run("transform r.oblivio train.csv -o again.csv");
    assert!(place.read("out.csv") == place.read("again.csv"));
    let said = place.run("transform r.oblivio new.csv -o later.csv");
    assert!(said.contains("300 released rows") && said.contains("not anonymised"));
    let names = |name: &str| -> Vec<String> {
        let columns = columns(&place.read(name)).into_iter();
        columns.map(|(name, _)| name).collect()
    };
    assert_eq!(names("new.csv"), names("later.csv"));
    let json = place.json("inspect r.oblivio --json");
    assert_eq!(json["method"], "quantile");
    assert_eq!(json["holds-training-rows"], true);
    assert!(
        place
            .run("inspect r.oblivio")
            .contains("keep it as safe as the data")
    );
    let output = place.output("predict r.oblivio new.csv");
    assert!(String::from_utf8_lossy(&output.stderr).contains("holds a release"));
}

#[test]
fn the_sensitive_columns_can_be_left_out_and_reports_can_go_elsewhere() {
    let place = Place::with_applicants(300);
    let line = format!("release {DATA} --drop region --drop-sensitive {QUICK}");
    let text = place.run(&format!(
        "{line} -o out.csv --report found.csv --report found.json"
    ));
    assert!(text.contains("The sensitive columns (sex, age) were left out."));
    assert_eq!(
        place.names(),
        ["found.csv", "found.json", "new.csv", "out.csv", "train.csv"]
    );
    let names: Vec<String> = columns(&place.read("out.csv"))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert!(
        !["sex", "age", "region"]
            .iter()
            .any(|name| names.contains(&name.to_string()))
    );
    assert!(place.read("found.csv").starts_with(b"subject,"));
    // The table on standard output is the table alone, and the same one.
    let piped = place.output(&format!("{line} -o -"));
    assert!(piped.status.success());
    assert!(piped.stdout == place.read("out.csv"));
    assert!(String::from_utf8_lossy(&piped.stderr).contains("not anonymised"));
}

#[test]
fn a_release_is_the_same_for_the_same_seed() {
    let place = Place::with_applicants(300);
    for (name, seed) in [("a.csv", 1), ("b.csv", 1), ("c.csv", 2)] {
        place.run(&format!("release {DATA} -o {name} --seed {seed} {QUICK}"));
    }
    assert!(place.read("a.csv") == place.read("b.csv"));
    assert!(place.read("a.csv") != place.read("c.csv"));
    assert!(place.read("a.release.json") == place.read("b.release.json"));
}

#[test]
fn nothing_is_taken_out_at_strength_zero() {
    let place = Place::with_applicants(300);
    place.run(&format!("release {DATA} -o out.csv --strength 0 {QUICK}"));
    assert!(place.read("out.csv") == place.read("train.csv"));
}

#[test]
fn parquet_in_parquet_out() {
    let place = Place::with_applicants(300);
    place.run(&format!(
        "release {DATA} -o out.parquet --model r.oblivio {QUICK}"
    ));
    place.run(&format!("release {DATA} -o out.csv {QUICK}"));
    place.run("transform r.oblivio train.csv -o again.parquet");
    assert!(place.read("out.parquet") == place.read("again.parquet"));
    // The same release of the same values, whatever the format.
    place.run("release out.parquet --sensitive sex,age --strength 0 -o back.csv --permutations 39 --resamples 39");
    let values = |name: &str| -> Vec<(String, Vec<String>)> {
        let columns = columns(&place.read(name)).into_iter();
        let plain = |value: String| value.parse::<f64>().map_or(value, |n| n.to_string());
        let columns = columns.map(|(name, own)| (name, own.into_iter().map(plain).collect()));
        columns.collect()
    };
    assert_eq!(values("back.csv"), values("out.csv"));
}

#[test]
fn what_is_refused_leaves_nothing_behind() {
    let place = Place::with_applicants(100);
    place.write("gaps.csv", "s,x,y\na,1,2\nb,,3\na,3,4\nb,4,5\n");
    place.write("unknown.csv", "s,x\na,1\n,2\nb,3\na,4\n");
    let before = place.names();
    for (line, expected) in [
        (
            "train.csv --sensitive gendr -o out.csv",
            "column `gendr` is not in the table",
        ),
        (
            "train.csv --sensitive sec -o out.csv",
            "did you mean `sex`?",
        ),
        (
            "train.csv --sensitive sex --target sex -o out.csv",
            "column `sex` has two roles; give it one of --sensitive, --target, --weights, --keep and --drop",
        ),
        (
            "train.csv --sensitive sex --drop sex -o out.csv",
            "give --drop-sensitive",
        ),
        (
            "train.csv --sensitive sex -o train.csv",
            "the output would replace the input",
        ),
        (
            "train.csv --sensitive sex -o nowhere/out.csv",
            "nowhere/out.csv: the directory nowhere does not exist",
        ),
        (
            "train.csv --sensitive sex -o out.csv --report train.csv",
            "the output would replace the input",
        ),
        (
            "train.csv --sensitive sex -o out.csv --model out.csv",
            "out.csv: given twice",
        ),
        (
            "train.csv --sensitive sex -o out.csv --range gpa=4:2",
            "must be COLUMN=LOW:HIGH with LOW < HIGH",
        ),
        (
            "train.csv --sensitive sex -o out.csv --range sex=0:1",
            "--range names `sex`, which is not released",
        ),
        (
            "train.csv --sensitive sex -o out.csv --range school=0:1",
            "got the categories `school`",
        ),
        (
            "train.csv --sensitive sex -o out.csv --strength 1.5",
            "strength must be between 0 and 1, got 1.5",
        ),
        ("gaps.csv --sensitive s -o out.csv", "column `x`"),
        (
            "unknown.csv --sensitive s -o out.csv",
            "sensitive column `s`",
        ),
    ] {
        let output = place.output(&format!("release {line}"));
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{line}");
        assert!(messages.contains(expected), "{line}: {messages}");
        assert_eq!(place.names(), before, "{line}");
    }
}

#[test]
fn missing_values_can_stay_missing() {
    let place = Place::new();
    let rows = (0..120).map(|i| {
        let (s, x) = (if i % 2 == 0 { "a" } else { "b" }, i / 2 + 5 * (i % 2));
        let x = if i % 10 == 3 {
            String::new()
        } else {
            x.to_string()
        };
        format!("{s},{x},{}\n", i % 7)
    });
    let text: String = std::iter::once("s,x,y\n".to_owned()).chain(rows).collect();
    place.write("gaps.csv", &text);
    place.run(&format!(
        "release gaps.csv --sensitive s -o out.csv --missing-values keep {QUICK}"
    ));
    let (before, after) = (
        columns(&place.read("gaps.csv")),
        columns(&place.read("out.csv")),
    );
    let missing = |values: &[String]| -> Vec<usize> {
        let places = values.iter().enumerate();
        places
            .filter(|(_, value)| value.is_empty())
            .map(|(k, _)| k)
            .collect()
    };
    assert_eq!(missing(&before[1].1), missing(&after[1].1));
    assert_eq!(missing(&after[1].1).len(), 12);
}

/// Ctrl-C while the release is judged. Whoever is interrupted has written nothing, under any name.
#[cfg(unix)]
#[test]
fn an_interrupted_release_leaves_no_file() {
    use std::process::{Command, Stdio};

    let place = Place::new();
    place.run("simulate admissions --rows 6000 --seed 1 -o train.csv");
    let line = format!("release {DATA} -o out.csv --model r.oblivio --permutations 9999");
    let mut command = place.command(&line);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(400));
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    assert_eq!(place.names(), ["train.csv"]);
}
