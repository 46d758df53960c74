//! The built program: its files, its verdicts, its refusals.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder of its own for every test.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn output(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reproduce"));
        command.args(line.split_whitespace());
        command.current_dir(self.path()).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// Standard output of a run that must succeed.
    fn run(&self, line: &str) -> String {
        let output = self.output(line);
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {messages}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap()
    }
}

#[test]
fn every_experiment_writes_numbers_figures_and_verdicts() {
    let place = Place::new();
    let said: Value =
        serde_json::from_str(&place.run("all -o out --repetitions 2 --seed 1 --json")).unwrap();
    let experiments = [
        "ridge-1",
        "ridge-2",
        "classification",
        "uncorrelated",
        "gaussian",
        "rates",
        "oblivious-data",
        "bounds",
    ];
    assert_eq!(said["repetitions"], 2);
    let verdicts = said["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), experiments.len());
    for (name, verdict) in experiments.iter().zip(verdicts) {
        assert_eq!(verdict["experiment"], *name);
        assert!(verdict["agrees"].is_boolean());
        let table = String::from_utf8(place.read(&format!("out/{name}.csv"))).unwrap();
        assert!(table.lines().count() > 2, "{name}: {table}");
        assert!(
            place
                .read(&format!("out/{name}.png"))
                .starts_with(b"\x89PNG")
        );
        let figure = String::from_utf8(place.read(&format!("out/{name}.svg"))).unwrap();
        // The letters are outlines: no reader needs the font.
        assert!(
            figure.starts_with("<svg") && !figure.contains("<text"),
            "{name}"
        );
    }
    let listed = String::from_utf8(place.read("out/verdicts.csv")).unwrap();
    assert_eq!(listed.lines().count(), 1 + experiments.len());
    // Nothing is left of what was being written.
    let left = fs::read_dir(place.path().join("out")).unwrap().count();
    assert_eq!(left, 3 * experiments.len() + 1);
}

#[test]
fn numbers_and_figures_are_the_same_for_the_same_seed_whatever_the_threads() {
    let place = Place::new();
    place.run("gaussian -o one --repetitions 2 --threads 1");
    place.run("gaussian -o two --repetitions 2 --threads 2");
    place.run("gaussian -o other --repetitions 2 --seed 5");
    assert_eq!(
        place.read("one/gaussian.csv"),
        place.read("two/gaussian.csv")
    );
    assert_eq!(
        place.read("one/gaussian.svg"),
        place.read("two/gaussian.svg")
    );
    assert_ne!(
        place.read("one/gaussian.csv"),
        place.read("other/gaussian.csv")
    );
}

#[test]
fn the_program_refuses_what_it_cannot_do() {
    let place = Place::new();
    fs::write(place.path().join("file"), "").unwrap();
    for (line, code) in [
        ("ridge-3 -o out", 2),
        ("ridge-1", 2),
        ("gaussian -o out --repetitions 1", 2),
        ("gaussian -o out --variant code", 2),
        ("classification -o out --epsilon much", 2),
        ("gaussian -o file", 1),
    ] {
        let output = place.output(line);
        assert_eq!(output.status.code(), Some(code), "{line}");
        assert!(output.stderr.starts_with(b"error: "), "{line}");
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}
