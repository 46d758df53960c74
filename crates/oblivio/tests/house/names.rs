//! Public names and names of functions.

use super::source::{Source, item_length, words};

/// The names at the root of `oblivio`.
pub fn root(sources: &[Source]) -> Vec<String> {
    exported(sources, "crates/oblivio/src/lib.rs")
}

/// The names that a module file exports, those of its globs included.
fn exported(sources: &[Source], path: &str) -> Vec<String> {
    let Some(source) = sources.iter().find(|source| source.path == path) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    let mut depth = 0;
    let mut rest = source.code.as_str();
    // Items at the first level only.
    while let Some(c) = rest.chars().next() {
        let begins = depth == 0 && rest.starts_with("pub ");
        if begins {
            let length = item_length(rest);
            names.extend(item_names(sources, path, &rest[..length]));
            rest = &rest[length..];
            continue;
        }
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        rest = &rest[c.len_utf8()..];
    }
    names
}

/// The names of a public item.
fn item_names(sources: &[Source], path: &str, item: &str) -> Vec<String> {
    let mut parts = item["pub ".len()..].splitn(2, char::is_whitespace);
    let (kind, rest) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    if kind != "use" {
        let known = [
            "mod", "fn", "struct", "enum", "trait", "const", "static", "type",
        ];
        let rest = if known.contains(&kind) { rest } else { "" };
        let name: String = rest
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        return vec![name];
    }
    let mut names = Vec::new();
    for used in leaves(rest.trim_end_matches(';')) {
        match used.strip_suffix("::*") {
            None => names.push(used.rsplit([':', ' ']).next().unwrap_or("").to_owned()),
            Some(module) => {
                let module = module.trim_start_matches("self::").replace("::", "/");
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                let files = [
                    format!("{folder}/{module}/mod.rs"),
                    format!("{folder}/{module}.rs"),
                ];
                names.extend(files.iter().flat_map(|file| exported(sources, file)));
            }
        }
    }
    names
}

/// The paths of an import, braces written out: `a::{b, c::*}` is `a::b` and `a::c::*`.
pub fn leaves(import: &str) -> Vec<String> {
    let import = import.trim();
    let Some(open) = import.find('{') else {
        return vec![import.to_owned()];
    };
    let inside = &import[open + 1..import.rfind('}').unwrap_or(import.len())];
    let mut depth = 0;
    let parts = inside.split(|c| {
        depth += match c {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        c == ',' && depth == 0
    });
    let parts: Vec<&str> = parts
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    let whole = parts.iter().flat_map(|part| leaves(part));
    whole
        .map(|leaf| format!("{}{leaf}", &import[..open]))
        .collect()
}

/// Imports such as `pub use module::*`.
pub fn globs(sources: &[Source]) -> Vec<String> {
    let glob = |line: &str| {
        let line = line.trim();
        line.starts_with("pub use ") && line.contains("::*")
    };
    sources
        .iter()
        .flat_map(|source| source.lines_where(glob))
        .collect()
}

/// Public items that documentation hides.
pub fn hidden(sources: &[Source]) -> Vec<String> {
    let hidden = |line: &str| line.contains("#[doc(hidden)]");
    sources
        .iter()
        .flat_map(|source| source.lines_where(hidden))
        .collect()
}

/// The names that sibling crates alone may use.
pub fn sibling(sources: &[Source]) -> Vec<String> {
    let files = [
        "crates/oblivio/src/sibling.rs",
        "crates/oblivio-audit/src/sibling.rs",
    ];
    let named = |file| {
        let names = exported(sources, file);
        names.into_iter().map(move |name| format!("{file}: {name}"))
    };
    files.into_iter().flat_map(named).collect()
}

/// Functions with this name.
pub fn functions(sources: &[Source], name: &str) -> Vec<String> {
    let declared = |line: &str| {
        words(line, "fn").any(|place| {
            let rest = line[place + 2..].trim_start();
            rest.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['(', '<']))
        })
    };
    sources
        .iter()
        .flat_map(|source| source.lines_where(declared))
        .collect()
}
