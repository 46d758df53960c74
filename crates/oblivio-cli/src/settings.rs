//! Flags of settings, built from the engine's table.

use std::marker::PhantomData;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, Error, value_parser};
use oblivio::settings::{
    Fitter, Group, Level, Literal, Setting, SettingKind, SettingValue, SettingValues, settings,
};

/// A command with flags from the table.
pub(crate) trait SettingsOf {
    /// The estimators that the command fits: it has the flags of all of them.
    const FITTERS: &'static [Fitter];
}

/// `oblivio fit`
pub(crate) enum OfFit {}
/// `oblivio frontier`
pub(crate) enum OfFrontier {}
/// `oblivio release`
pub(crate) enum OfRelease {}

impl SettingsOf for OfFit {
    const FITTERS: &'static [Fitter] = &[
        Fitter::Ridge,
        Fitter::Svc,
        Fitter::Logistic,
        Fitter::Transformer,
    ];
}

impl SettingsOf for OfFrontier {
    const FITTERS: &'static [Fitter] = &[Fitter::Frontier];
}

impl SettingsOf for OfRelease {
    const FITTERS: &'static [Fitter] = &[Fitter::Release];
}

/// The values of a command's flags.
pub(crate) struct SettingArgs<C> {
    /// Those that were given.
    pub(crate) values: SettingValues,
    of: PhantomData<C>,
}

/// The settings of a command and their flags.
fn flags<C: SettingsOf>() -> impl Iterator<Item = (&'static Setting, &'static str)> {
    settings().filter_map(|setting| {
        let used = C::FITTERS
            .iter()
            .any(|fitter| setting.used_by.contains(fitter));
        let flag = setting.flag.filter(|_| used)?;
        Some((setting, flag))
    })
}

/// The flag of a setting.
fn arg(setting: &'static Setting, flag: &'static str) -> Arg {
    let (short, long) = help(setting);
    let arg = Arg::new(setting.name)
        .long(flag)
        .help(short)
        .long_help(long)
        .hide_short_help(setting.level == Level::Expert);
    let arg = match setting.group {
        Group::Other => arg,
        group => arg.help_heading(group.title()),
    };
    let arg = match setting.kind {
        SettingKind::Switch | SettingKind::Object(_) => arg.action(ArgAction::SetTrue),
        SettingKind::Number(_) => arg
            .value_name("NUMBER")
            .allow_negative_numbers(true)
            .value_parser(value_parser!(f64)),
        SettingKind::Count(_) => arg.value_name("N").value_parser(value_parser!(u64)),
        SettingKind::Word(words) => arg
            .value_name("WORD")
            .value_parser(PossibleValuesParser::new(words()))
            .hide_possible_values(true),
        SettingKind::Text(_, check) => arg
            .value_name("VALUE")
            .allow_negative_numbers(true)
            .value_parser(move |text: &str| check(text).map(|()| text.to_owned())),
    };
    let arg = match setting.bare {
        None => arg,
        Some(bare) => arg.num_args(0..=1).default_missing_value(bare),
    };
    let arg = setting.requires.into_iter().fold(arg, Arg::requires);
    setting.excludes.into_iter().fold(arg, Arg::conflicts_with)
}

/// The line of the short help, and the long help with default and choices.
fn help(setting: &Setting) -> (String, String) {
    let sentence = |text: &str| text.trim_end_matches('.').to_owned();
    let switches_off = setting.default == Literal::Switch(true);
    let lead = if switches_off { "Switch off: " } else { "" };
    let short = format!("{lead}{}", sentence(setting.help.first().unwrap_or(&"")));
    let mut long = format!("{lead}{}", sentence(&setting.text()));
    let default = setting.default.text();
    let mut notes = Vec::new();
    if let Some(default) = default.filter(|_| !matches!(setting.kind, SettingKind::Switch)) {
        notes.push(format!("[default: {default}]"));
    }
    if let SettingKind::Word(words) = setting.kind {
        notes.push(format!("[possible values: {}]", words().join(", ")));
    }
    if !notes.is_empty() {
        long = format!("{long}\n\n{}", notes.join("\n"));
    }
    (short, long)
}

/// The value that was given, if one was.
fn value(setting: &Setting, matches: &ArgMatches) -> Option<SettingValue> {
    let name = setting.name;
    let given = matches.value_source(name) == Some(ValueSource::CommandLine);
    if !given {
        return None;
    }
    match setting.kind {
        SettingKind::Switch => Some(SettingValue::Switch(
            setting.default != Literal::Switch(true),
        )),
        SettingKind::Number(_) => matches.get_one(name).copied().map(SettingValue::Number),
        SettingKind::Count(_) => matches.get_one(name).copied().map(SettingValue::Count),
        SettingKind::Word(_) | SettingKind::Text(..) => {
            matches.get_one(name).cloned().map(SettingValue::Text)
        }
        SettingKind::Object(_) => None,
    }
}

impl<C: SettingsOf> clap::Args for SettingArgs<C> {
    fn augment_args(command: Command) -> Command {
        flags::<C>().fold(command, |command, (setting, flag)| {
            command.arg(arg(setting, flag))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: SettingsOf> clap::FromArgMatches for SettingArgs<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut read = Self {
            values: SettingValues::default(),
            of: PhantomData,
        };
        read.update_from_arg_matches(matches)?;
        Ok(read)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for (setting, _) in flags::<C>() {
            if let Some(value) = value(setting, matches) {
                let set = self.values.set(setting.name, value);
                set.map_err(|error| Error::raw(ErrorKind::InvalidValue, error))?;
            }
        }
        Ok(())
    }
}
