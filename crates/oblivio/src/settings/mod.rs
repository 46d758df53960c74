//! Settings, each declared once: its names, range, default and help in one table.
//!
//! The flags of the program, the parameters of the Python estimators, their documentation and `docs/settings.md` follow from
//! [`settings`]. [`Settings::from_values`](crate::Settings::from_values) turns chosen values into the settings of a fit. Columns and
//! their roles are no settings: they belong to a table.

mod convert;
mod table;
mod values;

#[cfg(test)]
mod tests;

use oblivio_base::Result;
use serde_json::{Value, json};

pub use self::values::{SettingValue, SettingValues};

/// One setting of an estimator or a command.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name in Rust, JSON and messages.
    pub name: &'static str,
    /// The name of the parameter in Python; `None` if Python has none.
    pub python: Option<&'static str>,
    /// The Python values in words, where they are others than the program's.
    pub form: Option<&'static str>,
    /// Further Python values of some estimators.
    pub extra: Option<Extra>,
    /// The flag without its dashes; `None` if the program has none. A flag of a switch gives the opposite of the default.
    pub flag: Option<&'static str>,
    /// The value of the flag where it stands alone; `None` if it needs one.
    pub bare: Option<&'static str>,
    /// The values it can have.
    pub kind: SettingKind,
    /// The value where none is given.
    pub default: Literal,
    /// Estimators with another default, each with its reason in the table.
    pub exceptions: &'static [(Fitter, Literal)],
    /// The heading in help and documentation.
    pub group: Group,
    /// Whether the short help shows it.
    pub level: Level,
    /// A flag without which this one has no meaning.
    pub requires: Option<&'static str>,
    /// A flag that excludes this one.
    pub excludes: Option<&'static str>,
    /// One line for the short help, then the rest.
    pub help: &'static [&'static str],
    /// Who has it.
    pub used_by: &'static [Fitter],
}

/// Python values that some estimators alone take.
#[derive(Clone, Copy, Debug)]
pub struct Extra {
    /// All Python values of these estimators in words.
    pub form: &'static str,
    /// One sentence about them.
    pub help: &'static str,
    /// Who takes them.
    pub used_by: &'static [Fitter],
}

/// A value in the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// No value: a rule decides, or nothing is done.
    Absent,
    /// Yes or no.
    Switch(bool),
    /// A whole number.
    Count(usize),
    /// A number.
    Number(f64),
    /// Several numbers.
    Numbers(&'static [f64]),
    /// A word or an expression.
    Text(&'static str),
}

/// The values that a setting can have.
#[derive(Clone, Copy, Debug)]
pub enum SettingKind {
    /// Yes or no.
    Switch,
    /// A number in a range.
    Number(Range),
    /// A whole number that is at least this.
    Count(usize),
    /// One of some words.
    Word(fn() -> Vec<&'static str>),
    /// A text of some form: the form in words, and the check of a text.
    Text(&'static str, fn(&str) -> Result<()>),
    /// A Python object, described in words: Python alone has it.
    Object(&'static str),
}

/// The numbers that a setting can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// From 0 to 1.
    Share,
    /// From 0 to 1, without the ends.
    Inside,
    /// Above 0.
    Positive,
    /// From 0 on.
    NotNegative,
    /// From 0 to 1, without 1.
    BelowOne,
}

/// What a setting is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Columns of the table.
    Columns,
    /// The learner, and the removal of the influence of S.
    Model,
    /// The kernel.
    Kernel,
    /// Classifiers.
    Classes,
    /// The mode sensitive-free.
    SensitiveFree,
    /// Fits on landmarks.
    Landmarks,
    /// The conditional mean, and how S is read.
    ConditionalMean,
    /// The seed, and reports of progress.
    Other,
}

/// Who needs to know a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Everyone: `-h` shows it.
    Common,
    /// Experts: `--help` shows it.
    Expert,
}

/// An estimator or a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fitter {
    /// `ObliviousRidge`, `fit`
    Ridge,
    /// `ObliviousRidgeCV`
    RidgeCv,
    /// `ObliviousSVC`, `fit --learner svm`
    Svc,
    /// `ObliviousLogistic`, `fit --learner logistic`
    Logistic,
    /// `ObliviousTransformer`, `fit` without a target
    Transformer,
    /// `ObliviousKernel`
    Kernel,
    /// `Moments`
    Moments,
    /// `Offset`
    Offset,
    /// `ObliviousRelease`, `release`
    Release,
    /// `frontier`
    Frontier,
}

/// All settings, in the order of help and documentation.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    table::GROUPS.iter().flat_map(|group| group.iter())
}

/// The setting of that name.
pub fn setting(name: &str) -> Option<&'static Setting> {
    settings().find(|setting| setting.name == name)
}

/// The table as JSON, for tools and other languages.
pub fn settings_json() -> Value {
    settings().map(Setting::json).collect()
}

impl Setting {
    /// The default of an estimator or a command.
    pub fn default_of(&self, fitter: Fitter) -> Literal {
        let own = self.exceptions.iter().find(|(of, _)| *of == fitter);
        own.map_or(self.default, |(_, default)| *default)
    }

    /// The whole help as one text.
    pub fn text(&self) -> String {
        self.help.join(" ")
    }

    fn json(&self) -> Value {
        let of = |(fitter, literal): &(Fitter, Literal)| (fitter.name().to_owned(), literal.json());
        json!({
            "name": self.name,
            "python": self.python,
            "form": self.form,
            "extra": self.extra.map(Extra::json),
            "flag": self.flag,
            "kind": self.kind.json(),
            "default": self.default.json(),
            "exceptions": self.exceptions.iter().map(of).collect::<serde_json::Map<_, _>>(),
            "group": self.group.title(),
            "level": match self.level {
                Level::Common => "common",
                Level::Expert => "expert",
            },
            "help": self.text(),
            "used_by": names(self.used_by),
        })
    }
}

impl Extra {
    fn json(self) -> Value {
        json!({
            "form": self.form,
            "help": self.help,
            "used_by": names(self.used_by),
        })
    }
}

/// The names of fitters in JSON.
fn names(fitters: &[Fitter]) -> Vec<&'static str> {
    fitters.iter().map(|fitter| fitter.name()).collect()
}

impl Literal {
    /// The value as the program prints and reads it; none if absent.
    pub fn text(self) -> Option<String> {
        match self {
            Self::Absent | Self::Numbers(_) => None,
            Self::Switch(value) => Some(value.to_string()),
            Self::Count(value) => Some(value.to_string()),
            Self::Number(value) => Some(value.to_string()),
            Self::Text(value) => Some(value.to_owned()),
        }
    }

    fn json(self) -> Value {
        match self {
            Self::Absent => Value::Null,
            Self::Switch(value) => json!(value),
            Self::Count(value) => json!(value),
            Self::Number(value) => json!(value),
            Self::Numbers(values) => json!(values),
            Self::Text(value) => json!(value),
        }
    }
}

impl SettingKind {
    fn json(&self) -> Value {
        match self {
            Self::Switch => json!({"type": "switch"}),
            Self::Number(range) => json!({"type": "number", "range": range.words()}),
            Self::Count(least) => json!({"type": "count", "least": least}),
            Self::Word(words) => json!({"type": "word", "words": words()}),
            Self::Text(form, _) => json!({"type": "text", "form": form}),
            Self::Object(form) => json!({"type": "object", "form": form}),
        }
    }
}

impl Range {
    /// The range in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Share => "0 to 1",
            Self::Inside => "between 0 and 1",
            Self::Positive => "above 0",
            Self::NotNegative => "0 or more",
            Self::BelowOne => "0 or more and below 1",
        }
    }

    /// Whether a number is in the range. Numbers that are not finite are in none.
    pub fn contains(self, number: f64) -> bool {
        number.is_finite()
            && match self {
                Self::Share => (0.0..=1.0).contains(&number),
                Self::Inside => number > 0.0 && number < 1.0,
                Self::Positive => number > 0.0,
                Self::NotNegative => number >= 0.0,
                Self::BelowOne => (0.0..1.0).contains(&number),
            }
    }
}

impl Group {
    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Columns => "Columns",
            Self::Model => "Model",
            Self::Kernel => "Kernel",
            Self::Classes => "Classes",
            Self::SensitiveFree => "Sensitive-free mode",
            Self::Landmarks => "Landmarks",
            Self::ConditionalMean => "Conditional mean",
            Self::Other => "Other",
        }
    }
}

impl Fitter {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ridge => "ridge",
            Self::RidgeCv => "ridge-cv",
            Self::Svc => "svc",
            Self::Logistic => "logistic",
            Self::Transformer => "transformer",
            Self::Kernel => "kernel",
            Self::Moments => "moments",
            Self::Offset => "offset",
            Self::Release => "release",
            Self::Frontier => "frontier",
        }
    }
}
