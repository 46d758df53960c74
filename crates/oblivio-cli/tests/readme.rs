//! Every console block of the README runs and prints what it says.

#[test]
fn the_readme_is_true() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("README.md");
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    std::fs::copy(readme, &page).unwrap();
    // A folder of that name makes the commands run in a sandbox.
    std::fs::create_dir(folder.path().join("README.in")).unwrap();
    trycmd::TestCases::new().case(page.to_str().unwrap()).run();
}
