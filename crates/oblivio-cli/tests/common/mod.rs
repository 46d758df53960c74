//! A place for the program to run in.
#![allow(dead_code, reason = "every test file uses its part")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A directory of its own for every test.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oblivio"));
        command.args(line.split_whitespace());
        command.current_dir(self.path()).stdin(Stdio::null());
        command
    }

    pub fn output(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Standard output of a run that must succeed.
    pub fn run(&self, line: &str) -> String {
        let output = self.output(line);
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {messages}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.run(line)).unwrap()
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap()
    }

    pub fn write(&self, name: &str, content: &str) {
        fs::write(self.path().join(name), content).unwrap();
    }

    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Two tables of applicants, drawn apart.
    pub fn with_applicants(rows: usize) -> Self {
        let place = Self::new();
        for (seed, name) in [(1, "train.csv"), (2, "new.csv")] {
            place.run(&format!(
                "simulate admissions --rows {rows} --seed {seed} -o {name}"
            ));
        }
        place
    }
}
