//! Phrases that the house style bans, in comments, help, messages and documentation.

use std::fs;
use std::sync::OnceLock;

use super::source::{files_below, read, relative, root, words};

/// Folders with Rust files, tests among them.
const RUST: [&str; 4] = ["crates", "experiments", "examples", "bench"];
/// This test names the phrases. The changelog is history.
const LEFT_OUT: &str = "crates/oblivio/tests/house/";

/// The prose of each file: comments and strings of Rust files, all of other files.
fn prose() -> &'static [(String, String)] {
    static PROSE: OnceLock<Vec<(String, String)>> = OnceLock::new();
    PROSE.get_or_init(|| {
        let mut prose = Vec::new();
        for path in RUST
            .iter()
            .flat_map(|f| files_below(&root().join(f), ".rs"))
        {
            let source = read(&path, String::new());
            prose.push((source.path, source.comments + "\n" + &source.strings));
        }
        let mut others = vec![
            root().join("README.md"),
            root().join("ARCHITECTURE.md"),
            root().join("CONTRIBUTING.md"),
        ];
        others.extend(files_below(&root().join("docs"), ".md"));
        others.extend(files_below(&root().join("python"), ".py"));
        others.extend(files_below(&root().join("python"), ".pyi"));
        for path in others {
            prose.push((relative(&path), fs::read_to_string(&path).unwrap()));
        }
        for (_, text) in &mut prose {
            *text = text.to_lowercase();
        }
        prose.retain(|(path, _)| !path.starts_with(LEFT_OUT));
        prose
    })
}

/// The places of a phrase, whether or not a line ends within it.
pub fn phrase(phrase: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in prose() {
        let text: Vec<&str> = text.split_whitespace().collect();
        let text = text.join(" ");
        for place in words(&text, phrase) {
            let start = text[..place]
                .char_indices()
                .rev()
                .nth(30)
                .map_or(0, |(i, _)| i);
            let context: String = text[start..].chars().take(70).collect();
            found.push(format!("{path}: {context}"));
        }
    }
    found
}
