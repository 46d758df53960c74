//! The numbers of every case, as hexadecimal doubles in a JSON file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// All cases by name.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// `RAYON_NUM_THREADS` while the cases ran.
    pub threads: String,
    /// The names of combinations that `Settings::check` refuses: they are not fitted.
    pub skipped: BTreeSet<String>,
    /// The result of each case.
    pub cases: BTreeMap<String, Outcome>,
}

/// The result of one case.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Files and numbers by name.
    Values(Values),
    /// The engine's error.
    Refused(String),
}

/// Files and numbers of a case.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Values {
    /// A 64-bit hash of each file.
    pub files: BTreeMap<String, String>,
    /// Doubles, 16 hexadecimal digits each.
    pub numbers: BTreeMap<String, String>,
}

impl Values {
    /// Adds the hash of a file.
    pub fn file(&mut self, name: &str, bytes: &[u8]) {
        let hash = format!("{:016x}", hash(bytes));
        assert!(self.files.insert(name.to_owned(), hash).is_none(), "{name}");
    }

    /// Adds numbers.
    pub fn numbers(&mut self, name: &str, values: &[f64]) {
        let digits: Vec<String> = values
            .iter()
            .map(|v| format!("{:016x}", v.to_bits()))
            .collect();
        let earlier = self.numbers.insert(name.to_owned(), digits.join(" "));
        assert!(earlier.is_none(), "{name}");
    }

    /// Adds the numbers of a report in the order of its fields, and its texts as a file.
    pub fn report(&mut self, name: &str, report: &impl Serialize) {
        let value = serde_json::to_value(report).unwrap();
        let mut numbers = Vec::new();
        collect(&value, &mut numbers);
        self.numbers(name, &numbers);
        self.file(name, value.to_string().as_bytes());
    }
}

/// The numbers of a JSON value; NaN for null.
fn collect(value: &serde_json::Value, numbers: &mut Vec<f64>) {
    match value {
        serde_json::Value::Null => numbers.push(f64::NAN),
        serde_json::Value::Number(number) => numbers.push(number.as_f64().unwrap()),
        serde_json::Value::Array(values) => values.iter().for_each(|v| collect(v, numbers)),
        serde_json::Value::Object(fields) => fields.values().for_each(|v| collect(v, numbers)),
        serde_json::Value::Bool(_) | serde_json::Value::String(_) => {}
    }
}

/// FNV-1a with 64 bits: the same in every version of the standard library.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The doubles of a part of a case.
pub fn doubles(digits: &str) -> Vec<f64> {
    let bits = digits.split_whitespace();
    bits.map(|d| f64::from_bits(u64::from_str_radix(d, 16).unwrap()))
        .collect()
}

impl Record {
    /// One line about the number of cases.
    pub fn counts(&self) -> String {
        let refused = |outcome: &&Outcome| matches!(outcome, Outcome::Refused(_));
        format!(
            "{} cases, {} of them refused; {} combinations of settings skipped",
            self.cases.len(),
            self.cases.values().filter(refused).count(),
            self.skipped.len()
        )
    }

    pub fn write(&self, file: &Path) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = serde_json::to_string_pretty(self).unwrap();
        fs::write(file, text + "\n").unwrap();
    }

    pub fn read(file: &Path) -> Self {
        let text = fs::read(file);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        serde_json::from_slice(&text).unwrap()
    }
}
