//! Takes the chart bundle into the crate if it has been built; a page without it shows tables in place of charts.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist/charts.js");
    watch(&bundle);
    let out = env::var_os("OUT_DIR").map_or_else(PathBuf::new, PathBuf::from);
    let script = fs::read_to_string(&bundle).unwrap_or_default();
    // Neither may end or change the script element that the bundle will stand in.
    let script = script
        .replace("</script", "<\\/script")
        .replace("<!--", "<\\!--");
    fs::write(out.join("charts.js"), script)
}

/// A path that does not exist counts as changed at every build, so the nearest folder of `web` that does is watched
/// instead; where there is none (outside the repository), nothing is.
fn watch(bundle: &Path) {
    let existing = bundle.ancestors().take(3).find(|path| path.exists());
    if let Some(path) = existing {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    println!("cargo:rerun-if-changed=build.rs");
}
