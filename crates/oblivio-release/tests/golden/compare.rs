//! Compares two records and prints a line for each case that differs.

use std::collections::{BTreeMap, BTreeSet};
use std::env;

use super::record::{Outcome, Record, Values, doubles};

/// Differences that pass.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The largest relative difference of numbers; 0 demands equal bits.
    pub numbers: f64,
    /// Whether files must have equal bytes.
    pub bytes: bool,
}

impl Bound {
    pub fn from_environment() -> Self {
        let numbers = env::var("OBLIVIO_GOLDEN_BOUND");
        Self {
            numbers: numbers.map_or(0.0, |text| text.parse().unwrap()),
            bytes: env::var("OBLIVIO_GOLDEN_BYTES").as_deref() != Ok("0"),
        }
    }
}

/// Prints the differences; returns the number of cases outside the bound.
pub fn report(expected: &Record, found: &Record, bound: Bound) -> usize {
    assert_eq!(
        expected.threads, found.threads,
        "the record was made with another RAYON_NUM_THREADS"
    );
    let names: BTreeSet<&String> = expected.cases.keys().chain(found.cases.keys()).collect();
    let now_skipped = |name: &String| found.skipped.contains(name);
    let (mut failures, mut equal, mut largest) = (0, 0, 0.0f64);
    for name in names {
        let result = match (expected.cases.get(name), found.cases.get(name)) {
            (Some(_), None) if now_skipped(name) => {
                Difference::broken("`Settings::check` refuses it now")
            }
            (Some(_), None) => Difference::broken("vanished"),
            (None, Some(_)) if expected.skipped.contains(name) => {
                Difference::broken("`Settings::check` no longer refuses it")
            }
            // A case that the harness of the record does not have.
            (None, Some(_)) => Difference::remark("appeared"),
            (Some(expected), Some(found)) => difference(expected, found),
            (None, None) => unreachable!("the names are theirs"),
        };
        if result.text.is_empty() {
            equal += 1;
            continue;
        }
        largest = largest.max(result.numbers);
        let fails = result.broken
            || (bound.bytes && result.bytes)
            || (result.bits && (bound.numbers == 0.0 || result.numbers > bound.numbers));
        failures += usize::from(fails);
        let verdict = if fails { "FAILS" } else { "passes" };
        println!("{verdict} {name}: {}", result.text);
    }
    println!("{equal} cases are equal, {failures} fail; largest relative difference {largest:.1e}");
    failures
}

/// How the two results of a case differ.
#[derive(Default)]
struct Difference {
    /// In words; empty if they are equal.
    text: String,
    /// They cannot be compared number by number.
    broken: bool,
    /// A number has other bits.
    bits: bool,
    /// A file has other bytes.
    bytes: bool,
    /// The largest relative difference of numbers.
    numbers: f64,
}

impl Difference {
    fn remark(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    fn broken(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            broken: true,
            numbers: f64::INFINITY,
            ..Self::default()
        }
    }
}

fn difference(expected: &Outcome, found: &Outcome) -> Difference {
    match (expected, found) {
        (Outcome::Values(expected), Outcome::Values(found)) => between_values(expected, found),
        (Outcome::Refused(expected), Outcome::Refused(found)) if expected == found => {
            Difference::default()
        }
        // A sentence may change: a remark, no failure.
        (Outcome::Refused(expected), Outcome::Refused(found)) => Difference::remark(format!(
            "refused by other words: {found} (in the record: {expected})"
        )),
        (Outcome::Values(_), Outcome::Refused(found)) => {
            Difference::broken(format!("refused now: {found}"))
        }
        (Outcome::Refused(expected), Outcome::Values(_)) => {
            Difference::broken(format!("no longer refused; in the record: {expected}"))
        }
    }
}

fn between_values(expected: &Values, found: &Values) -> Difference {
    let names = |values: &Values| -> Vec<String> {
        let keys = values.files.keys().chain(values.numbers.keys());
        keys.cloned().collect()
    };
    if names(expected) != names(found) {
        return Difference::broken(format!(
            "has {:?}, in the record {:?}",
            names(found),
            names(expected)
        ));
    }
    let mut all = Difference::default();
    let mut texts = Vec::new();
    for (name, digits) in differing(&expected.numbers, &found.numbers) {
        let (a, b) = (doubles(&expected.numbers[name]), doubles(digits));
        if a.len() != b.len() {
            let text = format!("{name} has {} numbers, in the record {}", b.len(), a.len());
            return Difference::broken(text);
        }
        let relative = relative_difference(&a, &b);
        all.bits = true;
        all.numbers = all.numbers.max(relative);
        texts.push(format!("{name} by {relative:.1e}"));
    }
    for (name, _) in differing(&expected.files, &found.files) {
        all.bytes = true;
        texts.push(format!("bytes of {name}"));
    }
    all.text = texts.join(", ");
    all
}

fn differing<'m>(
    expected: &'m BTreeMap<String, String>,
    found: &'m BTreeMap<String, String>,
) -> impl Iterator<Item = (&'m String, &'m String)> {
    let values = found.iter();
    values.filter(|(name, value)| expected[*name] != **value)
}

/// The largest difference of two entries, relative to the largest finite magnitude among all entries. Infinite where one entry is
/// not finite and the other differs.
fn relative_difference(a: &[f64], b: &[f64]) -> f64 {
    let finite = a.iter().chain(b).filter(|v| v.is_finite());
    let size = finite.fold(f64::MIN_POSITIVE, |size, v| size.max(v.abs()));
    let difference = |(a, b): (&f64, &f64)| {
        if a == b || (a.is_nan() && b.is_nan()) {
            0.0
        } else if a.is_finite() && b.is_finite() {
            (a - b).abs() / size
        } else {
            f64::INFINITY
        }
    };
    a.iter().zip(b).map(difference).fold(0.0, f64::max)
}
