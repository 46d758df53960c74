//! The command line's grammar. Parsing does no work.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use oblivio::settings::{Level, setting};
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

/// Flags of commands that the short help shows, together with the common settings. The short help of other commands has all flags.
const SHOWN: [(&str, &[&str]); 4] = [
    (
        "fit",
        &[
            "target",
            "output",
            "sensitive",
            "control",
            "features",
            "drop",
            "weights",
            "positive",
            "drop_missing",
            "json",
        ],
    ),
    (
        "frontier",
        &[
            "target",
            "output",
            "sensitive",
            "modes",
            "strengths",
            "aligns",
            "control",
            "features",
            "drop",
            "weights",
            "positive",
            "drop_missing",
            "json",
        ],
    ),
    (
        "release",
        &[
            "sensitive",
            "target",
            "output",
            "report",
            "model",
            "keep",
            "drop",
            "drop_sensitive",
            "weights",
            "method",
            "json",
        ],
    ),
    (
        "audit",
        &[
            "sensitive",
            "score",
            "before",
            "model",
            "target",
            "output",
            "at_most",
            "at_least",
            "features",
            "drop",
            "weights",
            "positive",
            "measures",
            "json",
        ],
    ),
];

/// The command line, its short help cut to the flags that a first user needs.
pub(crate) fn command() -> clap::Command {
    SHOWN.iter().fold(Cli::command(), |command, (name, shown)| {
        command.mut_subcommand(name, |command| {
            command.mut_args(|arg| {
                let id = arg.get_id().as_str();
                let is_known = arg.is_positional() || shown.contains(&id) || id == "seed";
                if is_known || arg.is_hide_short_help_set() || is_setting(&arg) {
                    arg
                } else {
                    arg.hide_short_help(true)
                }
            })
        })
    })
}

/// Whether a flag comes from the table of settings, which says itself where it is shown.
fn is_setting(arg: &clap::Arg) -> bool {
    let id = arg.get_id().as_str();
    setting(id)
        .is_some_and(|setting| setting.level == Level::Common && setting.flag == arg.get_long())
}

/// Parses the command line.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(arguments)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    let wrong = match &cli.command {
        Command::Fit(args) => args.usage_error(),
        _ => None,
    };
    match (wrong, command.find_subcommand_mut("fit")) {
        (Some(wrong), Some(fit)) => Err(fit.error(ErrorKind::MissingRequiredArgument, wrong)),
        _ => Ok(cli),
    }
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

#[cfg(test)]
mod short_help {
    /// A terminal of usual size shows 45 lines of 100 letters.
    #[test]
    fn fits_on_a_screen() {
        for command in super::command().get_subcommands() {
            let help = command.clone().term_width(100).render_help().to_string();
            let name = command.get_name();
            assert!(help.lines().count() <= 45, "{name}:\n{help}");
        }
    }

    #[test]
    fn of_fit_has_one_line_for_each_flag() {
        let command = super::command();
        let fit = command.find_subcommand("fit").unwrap().clone();
        let help = fit.term_width(100).render_help().to_string();
        let flags = help.lines().filter(|line| line.starts_with("  "));
        for line in flags {
            assert!(line.trim_start().starts_with(['-', '<']), "{line}");
        }
        for flag in ["--sensitive", "--target", "--mode", "--align", "--strength"] {
            assert!(help.contains(flag), "{flag}");
        }
        assert!(!help.contains("--tolerance"));
    }
}
