//! From paths and patterns to files.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};

/// The files that these paths and patterns stand for: a pattern's in the order of their names.
///
/// A path that exists is no pattern, whatever it is called.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
        match pattern {
            Some(pattern) if fs::symlink_metadata(path).is_err() => files.extend(matches(pattern)?),
            _ => files.push(path.clone()),
        }
    }
    Ok(files)
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>> {
    let options = glob::MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    let found = glob::glob_with(pattern, options)
        .map_err(|error| anyhow!("{pattern}: this is no pattern ({error}); correct it"))?;
    let found = found.collect::<Result<Vec<PathBuf>, _>>();
    let mut files = found.map_err(|error| anyhow!("{pattern}: {error}; change the pattern"))?;
    files.retain(|file| !file.is_dir());
    files.sort();
    if files.is_empty() {
        bail!("{pattern}: no file matches; check the pattern");
    }
    Ok(files)
}
