//! The order of the modules inside the engine: an import names an earlier module.

use super::names::leaves;
use super::source::{Source, item_length, line_number, words, workspace};

/// Crates whose modules are in the order.
const CRATES: [&str; 3] = [
    "crates/oblivio-base",
    "crates/oblivio-kernels",
    "crates/oblivio",
];

/// From below to above. A module that moves to a crate of its own leaves the list.
const ORDER: &[&str] = &[
    // Values that every crate needs.
    "error",
    "named",
    "watch",
    "random",
    "spread",
    "column",
    "points",
    "encoder",
    // Kernels and learners, which have never heard of S.
    "kernel",
    "basis",
    "landmarks",
    "gram",
    "learn",
    // The method.
    "sensitive",
    "partition",
    "reference",
    "conditioning",
    "sensitive_free",
    "conditional_mean",
    "oblivious",
    "classes",
    "align",
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
    "share",
    // What is built on models.
    "onnx",
    "audit",
    "frontier",
    "manifold",
    "release",
    "bound",
    "simulate",
];

fn rank(module: &str) -> Option<usize> {
    ORDER.iter().position(|name| *name == module)
}

/// The module of a file at the first level below `src`.
fn module(source: &Source) -> &str {
    let inside = source.inside();
    let first = inside.split('/').next().unwrap_or(inside);
    first.trim_end_matches(".rs")
}

fn ordered() -> impl Iterator<Item = &'static Source> {
    let sources = workspace().iter();
    sources.filter(|source| CRATES.contains(&source.folder.as_str()) && module(source) != "lib")
}

/// Every `crate::x` in code outside tests that names a later module.
pub fn upward(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        if !CRATES.contains(&source.folder.as_str()) {
            continue;
        }
        let Some(own) = rank(module(source)) else {
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
                if rank(&other).is_some_and(|rank| rank > own) {
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
        .filter(|source| source.folder == "crates/oblivio" && rank(module(source)).is_none())
        .map(|source| source.path.as_str())
        .collect();
    assert!(
        strange.is_empty(),
        "give them a place in ORDER: {strange:?}"
    );
}
