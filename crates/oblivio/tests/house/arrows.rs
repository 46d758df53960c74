//! The order of the modules inside the engine: an import names an earlier module.

use super::names::leaves;
use super::source::{Source, item_length, line_number, words, workspace};

/// Modules of each crate, from below to above. A module that moves to another crate moves to its list.
const ORDER: &[(&str, &[&str])] = &[
    (
        "crates/oblivio-base",
        &[
            "error", "choice", "watch", "random", "stats", "column", "points", "encoder",
        ],
    ),
    (
        "crates/oblivio-kernels",
        &["kernel", "basis", "landmarks", "gram", "learn"],
    ),
    (
        "crates/oblivio",
        &[
            "sensitive",
            "partition",
            "reference",
            "conditioning",
            "sensitive_free",
            "conditional_mean",
            "oblivious",
            "gram",
            "classes",
            "align",
            "adjust",
            "predictor",
            "dependence",
            "intervals",
            "moments",
            "gather",
            "features",
            "fit",
            "survey",
            "refresh",
            "model",
            "settings",
            "share",
            "sibling",
        ],
    ),
];

/// The order of the modules of a crate.
fn order(folder: &str) -> Option<&'static [&'static str]> {
    let mut all = ORDER.iter();
    all.find(|(of, _)| *of == folder).map(|(_, order)| *order)
}

fn rank(folder: &str, module: &str) -> Option<usize> {
    order(folder)?.iter().position(|name| *name == module)
}

/// The module of a file at the first level below `src`.
fn module(source: &Source) -> &str {
    let inside = source.inside();
    let first = inside.split('/').next().unwrap_or(inside);
    first.trim_end_matches(".rs")
}

fn ordered() -> impl Iterator<Item = &'static Source> {
    let sources = workspace().iter();
    sources.filter(|source| order(&source.folder).is_some() && module(source) != "lib")
}

/// Every `crate::x` in code outside tests that names a later module.
pub fn upward(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        let folder = source.folder.as_str();
        let Some(own) = rank(folder, module(source)) else {
            continue;
        };
        for place in words(&source.code, "crate") {
            let Some(rest) = source.code[place..].strip_prefix("crate::") else {
                continue;
            };
            let path = if rest.starts_with('{') {
                &rest[..item_length(rest)]
            } else {
                let name = |c: char| c.is_alphanumeric() || c == '_';
                rest.split(|c| !name(c)).next().unwrap_or("")
            };
            for leaf in leaves(path) {
                let other = leaf.split(':').next().unwrap_or("").trim().to_owned();
                if rank(folder, &other).is_some_and(|rank| rank > own) {
                    let line = line_number(&source.code, place);
                    found.push(format!("{}:{line}: crate::{other}", source.path));
                }
            }
        }
    }
    found
}

#[test]
fn every_module_of_the_engine_has_a_place_in_the_order() {
    let strange: Vec<&str> = ordered()
        .filter(|source| rank(&source.folder, module(source)).is_none())
        .map(|source| source.path.as_str())
        .collect();
    assert!(
        strange.is_empty(),
        "give them a place in ORDER: {strange:?}"
    );
}
