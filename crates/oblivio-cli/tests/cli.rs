//! Transcripts: what a user types and sees. They judge layout and wording; `program.rs` judges what the results mean.
//!
//! After a change that is meant, `TRYCMD=overwrite cargo test -p oblivio-cli --test cli` writes them anew; read the difference.
#![cfg(unix)]

use std::env;
use std::path::Path;

#[test]
fn transcripts() {
    let program = Path::new(env!("CARGO_BIN_EXE_oblivio"));
    let folders = program.parent().map(Path::to_owned).into_iter();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(folders.chain(env::split_paths(&path))).unwrap();
    let cases = trycmd::TestCases::new();
    cases
        // A shell for pipes, with the program on its path.
        .register_bin("sh", Path::new("/bin/sh"))
        .env("PATH", path.into_string().unwrap())
        // The width of the help.
        .env("COLUMNS", "100")
        .case("tests/cmd/*.trycmd");
}
