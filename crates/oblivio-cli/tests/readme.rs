//! Every console block of the README runs and prints what it says.

#[test]
fn the_readme_is_true() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("README.md");
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    std::fs::write(&page, with_notes(&readme)).unwrap();
    // A folder of that name makes the commands run in a sandbox.
    std::fs::create_dir(folder.path().join("README.in")).unwrap();
    trycmd::TestCases::new().case(page.to_str().unwrap()).run();
}

/// The README with the note that a program built without Node.js prints above each report.
fn with_notes(readme: &str) -> String {
    let mut lines = String::new();
    for line in readme.lines() {
        lines.push_str(line);
        lines.push('\n');
        let page = line.strip_prefix("$ oblivio ").and_then(|command| {
            command.split(' ').find(|word| {
                std::path::Path::new(word)
                    .extension()
                    .is_some_and(|e| e == "html")
            })
        });
        if let (Some(page), false) = (page, oblivio_report::HAS_CHARTS) {
            lines.push_str("note: this program was built without the chart bundle: ");
            lines.push_str(page);
            lines.push_str(" has tables in place of charts\n");
        }
    }
    lines
}
