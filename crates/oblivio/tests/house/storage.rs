//! Questions that one room should answer: which mode is it, and how is S represented?

use super::source::{Source, words};

const MODES: [&str; 4] = ["Plain", "Oblivious", "MOblivious", "SensitiveFree"];

/// Lines that name a mode outside the settings.
pub fn modes(sources: &[Source]) -> Vec<String> {
    let names_mode = |line: &str| {
        words(line, "Mode").any(|place| {
            let rest = line[place..].strip_prefix("Mode::");
            rest.is_some_and(|rest| MODES.iter().any(|mode| words(rest, mode).any(|p| p == 0)))
        })
    };
    let settings = |path: &str| path.contains("/settings/") || path.ends_with("/settings.rs");
    let others = sources.iter().filter(|source| !settings(&source.path));
    others
        .flat_map(|source| source.lines_where(names_mode))
        .collect()
}

/// The room of the conditional mean: its files may ask.
const ROOM: [&str; 3] = [
    "/conditional_mean/",
    "/partition/regression/",
    "/partition/design/",
];

/// Variants and fields that tell cells from a regression on S.
const PATHS: [&str; 6] = [
    "SensitivePlan::",
    "SensitiveSums::",
    "ReferenceWeights::",
    "Given::Cells",
    "Given::Features",
    "Storage::",
];

/// Lines that ask whether the conditional mean is by cells or by a regression, outside its room.
pub fn conditional_mean(sources: &[Source]) -> Vec<String> {
    let asks = |line: &str| {
        let field = words(line, "smooth").any(|place| {
            let before = line[..place].chars().next_back();
            let after = line[place + "smooth".len()..].trim_start();
            let assigned = after.starts_with(':') && !after.starts_with("::");
            let called = after.starts_with('(');
            (before == Some('.') && !called) || assigned
        });
        let path = |path: &str| {
            let name = path.trim_end_matches(':');
            words(line, name).any(|place| line[place..].starts_with(path))
        };
        field || words(line, "is_smooth").next().is_some() || PATHS.iter().any(|p| path(p))
    };
    let outside = |source: &&Source| !ROOM.iter().any(|room| source.path.contains(room));
    let others = sources.iter().filter(outside);
    others.flat_map(|source| source.lines_where(asks)).collect()
}
