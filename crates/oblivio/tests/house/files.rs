//! Lengths of files and functions.

use super::source::{Source, item_length, line_number, words, workspace};

/// The most lines of a file without its tests.
const ENGINE_LINES: usize = 450;
const OTHER_LINES: usize = 550;
const ENGINE: [&str; 3] = [
    "crates/oblivio-base",
    "crates/oblivio-kernels",
    "crates/oblivio",
];

/// Files that are longer, with their lines without tests: each line of this table is to go.
const LONG_FILES: &[(&str, usize)] = &[
    ("crates/oblivio/src/align/smooth.rs", 464),
    ("crates/oblivio/src/conditioning.rs", 582),
    ("crates/oblivio/src/fit/exact.rs", 611),
    ("crates/oblivio/src/fit/explicit.rs", 538),
    ("crates/oblivio/src/fit/mod.rs", 623),
    ("crates/oblivio-kernels/src/learn/logistic.rs", 503),
    ("crates/oblivio/src/moments/mod.rs", 722),
    ("crates/oblivio/src/partition/mod.rs", 626),
];

/// The most lines of a function.
const FUNCTION_LINES: usize = 60;

#[test]
fn files_fit_in_one_sitting() {
    let mut wrong = Vec::new();
    for source in workspace() {
        let most = if ENGINE.contains(&source.folder.as_str()) {
            ENGINE_LINES
        } else {
            OTHER_LINES
        };
        let path = source.path.as_str();
        let allowed = LONG_FILES.iter().find(|(file, _)| *file == path);
        match allowed {
            None if source.lines > most => wrong.push(format!(
                "{path} has {} lines without tests, and {most} are the most: split it",
                source.lines
            )),
            Some((_, lines)) if source.lines > *lines => wrong.push(format!(
                "{path} grew from {lines} to {} lines, and {most} are the most: split it",
                source.lines
            )),
            Some(_) if source.lines <= most => {
                wrong.push(format!("{path} is short enough: remove it from LONG_FILES"));
            }
            Some((_, lines)) if source.lines < *lines => wrong.push(format!(
                "{path}: lower its number in LONG_FILES to {}",
                source.lines
            )),
            _ => {}
        }
    }
    let paths: Vec<&str> = workspace().iter().map(|s| s.path.as_str()).collect();
    let gone = LONG_FILES.iter().filter(|(file, _)| !paths.contains(file));
    wrong.extend(gone.map(|(file, _)| format!("{file} is gone: remove it from LONG_FILES")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Functions of more lines, from `fn` to the closing brace.
pub fn long_functions(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        for place in words(&source.code, "fn") {
            let item = &source.code[place..];
            let lines = item[..item_length(item)].lines().count();
            let name: String = item[2..]
                .trim_start()
                .chars()
                .take_while(|c| *c != '(')
                .collect();
            // A type such as `fn(usize) -> f64` has no name.
            if lines > FUNCTION_LINES && !name.is_empty() {
                let line = line_number(&source.code, place);
                found.push(format!("{}:{line}: {name}, {lines} lines", source.path));
            }
        }
    }
    found
}
