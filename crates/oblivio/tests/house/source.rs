//! Rust sources as text: comments, strings and tests told apart from code.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A source file.
#[derive(Debug)]
pub struct Source {
    /// Path from the root of the workspace, with slashes.
    pub path: String,
    /// The folder of its crate, such as `crates/oblivio`.
    pub folder: String,
    /// The code without tests; comments and the contents of strings are blanks. Lines are those of the file.
    pub code: String,
    /// Comments, consecutive lines joined to one.
    pub comments: String,
    /// The contents of string literals.
    pub strings: String,
    /// Lines outside tests.
    pub lines: usize,
}

impl Source {
    /// The path below `src`.
    pub fn inside(&self) -> &str {
        let start = self.folder.len() + "/src/".len();
        &self.path[start..]
    }

    /// The places of lines of code that `test` holds for.
    pub fn lines_where(&self, test: impl Fn(&str) -> bool) -> Vec<String> {
        let lines = self.code.lines().enumerate();
        let found = lines.filter(|(_, line)| test(line));
        found
            .map(|(number, line)| format!("{}:{}: {}", self.path, number + 1, line.trim()))
            .collect()
    }
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// The folders of crates whose sources are read.
pub fn folders() -> Vec<String> {
    let mut folders = vec!["experiments".to_owned()];
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if root().join("crates").join(&name).join("src").is_dir() {
            folders.push(format!("crates/{name}"));
        }
    }
    folders.sort();
    folders
}

/// The files below a folder that end so, in order.
pub fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return found;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path, ending));
        } else if path.to_str().unwrap().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The path from the root, with slashes.
pub fn relative(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap();
    path.to_str().unwrap().replace('\\', "/")
}

/// All sources of all crates, files of tests left out. Read once.
pub fn workspace() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let mut sources = Vec::new();
        for folder in folders() {
            let source_folder = root().join(&folder).join("src");
            for path in files_below(&source_folder, ".rs") {
                let path_text = relative(&path);
                if path_text.ends_with("/tests.rs") || path_text.contains("/tests/") {
                    continue;
                }
                sources.push(read(&path, folder.clone()));
            }
        }
        sources
    })
}

/// Reads a source file.
pub fn read(path: &Path, folder: String) -> Source {
    let text = fs::read_to_string(path).unwrap();
    let parts = Parts::new(&text);
    let code = without_tests(&parts.code);
    let lines = code.0.lines().count() - code.1;
    Source {
        path: relative(path),
        folder,
        code: code.0,
        comments: parts.comments,
        strings: parts.strings,
        lines,
    }
}

/// Between texts that do not go on in each other.
const APART: &str = "\n|\n";

/// The parts of a text.
#[derive(Default)]
struct Parts {
    code: String,
    comments: String,
    strings: String,
}

impl Parts {
    fn new(text: &str) -> Self {
        let mut parts = Self::default();
        let mut rest = text;
        let mut joins = false;
        while let Some(first) = rest.chars().next() {
            let length = if rest.starts_with("//") {
                let length = rest.find('\n').unwrap_or(rest.len());
                let comment = rest[..length].trim_start_matches(['/', '!']).trim();
                parts.comments.push_str(if joins { " " } else { APART });
                parts.comments.push_str(comment);
                joins = !comment.is_empty();
                parts.blank(&rest[..length]);
                length
            } else if rest.starts_with("/*") {
                let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
                parts.comments.push_str(&rest[..length]);
                parts.blank(&rest[..length]);
                length
            } else if let Some(length) = string_length(rest) {
                let string = rest[..length].replace("\\n", " ").replace("\\\n", " ");
                parts.strings.push_str(&string);
                parts.strings.push_str(APART);
                parts.code.push('"');
                parts.blank(&rest[1..length - 1]);
                parts.code.push('"');
                joins = false;
                length
            } else if let Some(length) = character_length(rest) {
                parts.blank(&rest[..length]);
                length
            } else {
                parts.code.push(first);
                joins &= first.is_whitespace();
                // A name that ends in r is no raw string.
                let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                let length = word.unwrap_or(rest.len()).max(first.len_utf8());
                parts.code.push_str(&rest[first.len_utf8()..length]);
                length
            };
            rest = &rest[length..];
        }
        parts
    }

    /// Blanks for a text, its line ends kept.
    fn blank(&mut self, text: &str) {
        let blanks = text.chars().map(|c| if c == '\n' { '\n' } else { ' ' });
        self.code.extend(blanks);
    }
}

/// The length of the string literal that the text begins with.
fn string_length(text: &str) -> Option<usize> {
    let prefix = text.trim_start_matches('b');
    let skipped = text.len() - prefix.len();
    if let Some(raw) = prefix.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let quoted = raw[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = quoted.find(&end)? + end.len();
        return Some(skipped + 1 + hashes + 1 + length);
    }
    let quoted = prefix.strip_prefix('"').filter(|_| skipped < 2)?;
    let mut escaped = false;
    for (place, c) in quoted.char_indices() {
        match c {
            '"' if !escaped => return Some(skipped + place + 2),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

/// The length of the character literal that the text begins with; a lifetime is none.
fn character_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let mut characters = inside.char_indices();
    let (_, first) = characters.next()?;
    if first == '\\' {
        return inside[2..].find('\'').map(|end| end + 4);
    }
    let (place, second) = characters.next()?;
    (second == '\'').then_some(place + 2)
}

/// The code with the items of tests as blanks, and the number of lines that they took.
fn without_tests(code: &str) -> (String, usize) {
    let mut kept = String::new();
    let mut lines = 0;
    let mut rest = code;
    while let Some(start) = rest.find("#[cfg(test)]") {
        kept.push_str(&rest[..start]);
        let end = start + item_length(&rest[start..]);
        let blanks = rest[start..end].chars().filter(|c| *c == '\n');
        let count = blanks.count();
        kept.push_str(&"\n".repeat(count));
        lines += count + 1;
        rest = &rest[end..];
    }
    kept.push_str(rest);
    (kept, lines)
}

/// The length of the item that the code begins with: up to its semicolon, or the end of its braces.
pub fn item_length(code: &str) -> usize {
    let (mut depth, mut brackets) = (0, 0);
    for (place, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            '}' => depth -= 1,
            _ => {}
        }
        let ends = (c == ';' && depth == 0 && brackets == 0) || (c == '}' && depth == 0);
        if ends {
            return place + 1;
        }
    }
    code.len()
}

/// The number of the line of a place in a text.
pub fn line_number(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}

/// The places where a word begins in a text, with no letter, digit or underscore next to it.
pub fn words<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let matches = text.match_indices(word);
    matches.map(|(place, _)| place).filter(move |&place| {
        let before = text[..place].chars().next_back();
        let after = text[place + word.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}
