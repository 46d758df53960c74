//! Writes sample pages into a folder, to work on their looks: `cargo run --example sample -- FOLDER`

#[path = "../tests/sample/mod.rs"]
mod sample;

use std::path::Path;
use std::{env, fs, io};

use oblivio_audit::Audit;
use oblivio_report::{FrontierPoint, Page, ReleasePage};

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).unwrap_or_else(|| "out/pages".into());
    fs::create_dir_all(&folder)?;
    let hostile =
        "<script>window.__pwned = 1</script><img src=x onerror='window.__pwned = 2'> [a].b\"גיל";
    let pages = [
        ("full", sample::full()),
        ("score", sample::score()),
        ("label", sample::label()),
        ("features", sample::features()),
        ("many", sample::many_cells(300)),
        ("hostile", sample::named(hostile)),
        ("long", sample::named(&"long".repeat(2500))),
        ("empty", sample::named("")),
        ("odd", sample::odd()),
    ];
    for (name, audit) in &pages {
        write(Path::new(&folder), name, audit)?;
    }
    let release = ReleasePage {
        report: &sample::release(),
        title: "people.csv",
        facts: &[],
    };
    let folder = Path::new(&folder);
    fs::write(folder.join("release.html"), release.html())?;
    fs::write(folder.join("release-compact.html"), release.compact())
}

fn write(folder: &Path, name: &str, audit: &Audit) -> io::Result<()> {
    let facts = [
        (
            "Command",
            "oblivio audit scores.csv --score score --sensitive sex,age",
        ),
        ("Model", "ridge, m-oblivious, strength 1, penalty 0.01"),
        ("Kernel", "gaussian, γ 0.12"),
    ];
    let facts = facts.map(|(label, value)| (label.into(), value.into()));
    let frontier: Vec<FrontierPoint> = (0..9)
        .map(|at| {
            let strength = f64::from(at) / 8.0;
            FrontierPoint {
                name: format!("strength {strength}"),
                error: 0.31 + 0.05 * strength * strength,
                dependence: 0.134 * (1.0 - strength).powi(2) + 0.005,
                chosen: at == 6,
            }
        })
        .collect();
    let frontier = if name == "score" { &[] } else { &frontier[..] };
    let page = Page {
        audit,
        title: "scores.csv",
        facts: &facts,
        frontier,
        bounds: None,
    };
    fs::write(folder.join(format!("{name}.html")), page.html())?;
    fs::write(folder.join(format!("{name}-compact.html")), page.compact())
}
