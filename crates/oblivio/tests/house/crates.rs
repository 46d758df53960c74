//! The arrows between crates: which crates of the workspace each may import.

use std::fs;

use super::source::{folders, root};

const BASE: &str = "oblivio-base";
const KERNELS: &str = "oblivio-kernels";
const METHOD: &str = "oblivio";
const AUDIT: &str = "oblivio-audit";
const RELEASE: &str = "oblivio-release";
const ONNX: &str = "oblivio-onnx";
const SIMULATE: &str = "oblivio-simulate";
const REPORT: &str = "oblivio-report";
const CLI: &str = "oblivio-cli";
const FUZZ: &str = "oblivio-fuzz";

/// Each crate with the crates that its `[dependencies]` may name. Those for tests alone, `[dev-dependencies]`, are free.
const ALLOWED: &[(&str, &[&str])] = &[
    (BASE, &[]),
    (SIMULATE, &[BASE]),
    (KERNELS, &[BASE]),
    (METHOD, &[BASE, KERNELS]),
    (ONNX, &[BASE, KERNELS, METHOD]),
    (AUDIT, &[BASE, KERNELS, METHOD]),
    (RELEASE, &[BASE, KERNELS, METHOD, AUDIT]),
    (REPORT, &[BASE, KERNELS, METHOD, AUDIT, RELEASE]),
    (
        CLI,
        &[
            BASE, KERNELS, METHOD, AUDIT, RELEASE, ONNX, SIMULATE, REPORT,
        ],
    ),
    (
        "oblivio-py",
        &[
            BASE, KERNELS, METHOD, AUDIT, RELEASE, ONNX, SIMULATE, REPORT, CLI,
        ],
    ),
];

/// Programs and tools that may import anything, and that no crate above may import.
const FREE: &[&str] = &[
    FUZZ,
    "oblivio-testing",
    "oblivio-experiments",
    "oblivio-bench",
    "oblivio-examples",
];

/// A `Cargo.toml` as far as it matters here.
struct Manifest {
    name: String,
    /// What it depends on outside of tests.
    dependencies: Vec<String>,
}

fn manifests() -> Vec<Manifest> {
    let mut found = folders();
    found.extend(["bench".to_owned(), "examples".to_owned()]);
    let read = |folder: &String| {
        let text = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        Manifest::new(&text)
    };
    found.iter().map(read).collect()
}

impl Manifest {
    fn new(text: &str) -> Self {
        let mut manifest = Self {
            name: String::new(),
            dependencies: Vec::new(),
        };
        let mut section = "";
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.starts_with('[') {
                section = line.trim_matches(['[', ']']);
                // [dependencies.oblivio-base]
                let single = section.rsplit_once("dependencies.");
                if let Some((before, name)) = single.filter(|(before, _)| !before.ends_with("dev-"))
                    && !before.ends_with("workspace.")
                {
                    manifest.dependencies.push(name.to_owned());
                }
                continue;
            }
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            let key = key.trim().trim_end_matches(".workspace");
            if section == "package" && key == "name" {
                let quoted = value.trim().trim_matches('"');
                quoted.clone_into(&mut manifest.name);
            }
            let counts =
                section.ends_with("dependencies") && !section.ends_with("dev-dependencies");
            if counts {
                manifest.dependencies.push(key.trim_matches('"').to_owned());
            }
        }
        manifest
    }
}

#[test]
fn crates_import_only_crates_below() {
    let manifests = manifests();
    let ours: Vec<&str> = manifests.iter().map(|m| m.name.as_str()).collect();
    let mut wrong = Vec::new();
    for Manifest { name, dependencies } in &manifests {
        if FREE.contains(&name.as_str()) {
            continue;
        }
        let Some((_, allowed)) = ALLOWED.iter().find(|(of, _)| of == name) else {
            wrong.push(format!("{name} has no line in ALLOWED"));
            continue;
        };
        let own = dependencies.iter().filter(|d| ours.contains(&d.as_str()));
        let forbidden = own.filter(|d| !allowed.contains(&d.as_str()));
        wrong.extend(forbidden.map(|d| format!("{name} must not import {d}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_benches_and_examples_import_the_experiments() {
    let may = ["oblivio-bench", "oblivio-examples"];
    for Manifest { name, dependencies } in manifests() {
        let imports = dependencies.iter().any(|d| d == "oblivio-experiments");
        assert!(!imports || may.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn manifests_are_read() {
    let text = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true # why\nc = \"1\"\n\
                [dev-dependencies]\nd.workspace = true\n[dependencies.e]\nversion = \"1\"\n\
                [target.'cfg(unix)'.dependencies]\nf = \"1\"\n[dev-dependencies.g]\n";
    let manifest = Manifest::new(text);
    assert_eq!(manifest.name, "a");
    assert_eq!(manifest.dependencies, ["b", "c", "e", "f"]);
}
