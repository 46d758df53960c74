//! The command line's grammar. Parsing does no work.

use std::num::NonZeroUsize;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use oblivio_base::Named;

use crate::cmd;

/// Removes the influence of sensitive features from predictions, with kernels, in closed form.
///
/// Results go to standard output, messages to standard error. Exit codes: 0 done, 1 the input or the computation,
/// 2 usage, 3 a limit of `audit` is passed.
#[derive(Parser)]
#[command(name = "oblivio", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Threads to use (default: one per core)
    #[arg(long, global = true, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Fit(Box<cmd::fit::Args>),
    Predict(cmd::predict::Args),
    Transform(cmd::transform::Args),
    Audit(Box<cmd::audit::Args>),
    Frontier(Box<cmd::frontier::Args>),
    Bounds(cmd::bounds::Args),
    Release(Box<cmd::release::Args>),
    Inspect(cmd::inspect::Args),
    Export(cmd::export::Args),
    Refresh(cmd::refresh::Args),
    Simulate(cmd::simulate::Args),
    Completions(cmd::completions::Args),
    /// For packages: `make dist` calls it.
    #[command(hide = true)]
    Man(cmd::man::Args),
    /// For tools: `make settings` calls it.
    #[command(hide = true)]
    Settings(cmd::settings::Args),
}

/// Reads one of the engine's named choices.
pub(crate) fn named<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let names: Vec<&'static str> = T::NAMES.iter().map(|(name, _)| *name).collect();
    PossibleValuesParser::new(names).try_map(|name| T::named(&name))
}

/// Reads a field delimiter; `\t` is a tab.
pub(crate) fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err("must be a single character, or \\t for a tab".into()),
    }
}

/// Reads `column=low:high`, or `low:high` for every continuous column.
pub(crate) fn bounds(text: &str) -> Result<(String, f64, f64), String> {
    let (name, range) = text.rsplit_once('=').unwrap_or(("", text));
    let parsed = range
        .split_once(':')
        .and_then(|(low, high)| Some((low.parse::<f64>().ok()?, high.parse::<f64>().ok()?)));
    match parsed {
        Some((low, high)) if low < high && (high - low).is_finite() => {
            Ok((name.to_owned(), low, high))
        }
        _ => Err("must be COLUMN=LOW:HIGH or LOW:HIGH with LOW < HIGH, both finite".into()),
    }
}

#[cfg(test)]
mod fuzz {
    use oblivio::settings::{SettingKind, settings};
    use oblivio_fuzz::{Random, Target, fuzz};

    use super::{bounds, delimiter};
    use crate::cmd::audit;

    /// Settings with numbers in them: read or refused, and what was read are numbers.
    #[test]
    fn damaged_settings() {
        let whole = [
            "age=17:99",
            "-1.5:2e3",
            "beta=0.05",
            "adversary-r2=0.1",
            "auto",
            "1e-3",
            "\\t",
            ";",
        ];
        let words = [
            "age", "=", ":", "-", "1e308", "-1e308", "inf", "NaN", "0", "beta", ",", "é",
        ];
        let target = Target {
            name: "settings",
            usual: 20_000,
            memory: 1 << 20,
            memory_per_byte: 4096,
            share: 1,
        };
        let make = |random: &mut Random| {
            let mut bytes = random.pick(&whole).as_bytes().to_vec();
            match random.below(3) {
                0 => {
                    let count = 1 + random.below(6);
                    bytes = (0..count)
                        .flat_map(|_| random.pick(&words).bytes())
                        .collect();
                }
                1 => random.damage(&mut bytes),
                _ => {}
            }
            bytes
        };
        let read = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let range = bounds(&text);
            if let Ok((_, low, high)) = &range {
                assert!(low < high && low.is_finite() && high.is_finite());
            }
            range.is_ok()
                | delimiter(&text).is_ok()
                | text.parse::<audit::Limit>().is_ok()
                | settings().any(|setting| matches!(setting.kind, SettingKind::Text(_, check) if check(&text).is_ok()))
        };
        let seeds = whole.map(|text| text.as_bytes().to_vec());
        fuzz(target, &seeds, make, read);
    }
}
