//! The table, group by group.

mod cells;
mod columns;
mod learning;
mod points;

use oblivio_base::{Error, Named, Result};

use super::{Fitter, Group, Level, Literal, Setting, SettingKind};

/// All groups, in the order of help and documentation.
pub(super) static GROUPS: [&[Setting]; 4] = [
    learning::SETTINGS,
    points::SETTINGS,
    cells::SETTINGS,
    columns::SETTINGS,
];

/// A setting without names, default or users.
const PLAIN: Setting = Setting {
    name: "",
    python: None,
    form: None,
    extra: None,
    flag: None,
    bare: None,
    kind: SettingKind::Switch,
    default: Literal::Absent,
    exceptions: &[],
    group: Group::Other,
    level: Level::Expert,
    requires: None,
    excludes: None,
    help: &[],
    used_by: &[],
};

/// Everyone.
const ALL: &[Fitter] = &[
    Fitter::Ridge,
    Fitter::RidgeCv,
    Fitter::Svc,
    Fitter::Logistic,
    Fitter::Transformer,
    Fitter::Kernel,
    Fitter::Moments,
    Fitter::Offset,
    Fitter::Release,
    Fitter::Frontier,
];

/// Who has a kernel.
const WITH_KERNEL: &[Fitter] = &[
    Fitter::Ridge,
    Fitter::RidgeCv,
    Fitter::Svc,
    Fitter::Logistic,
    Fitter::Transformer,
    Fitter::Kernel,
    Fitter::Moments,
    Fitter::Release,
    Fitter::Frontier,
];

/// Who takes rows that are known by the values of a kernel alone.
const WITH_OBJECTS: &[Fitter] = &[
    Fitter::Ridge,
    Fitter::RidgeCv,
    Fitter::Svc,
    Fitter::Logistic,
    Fitter::Kernel,
];

/// Who learns a score.
const LEARNERS: &[Fitter] = &[
    Fitter::Ridge,
    Fitter::RidgeCv,
    Fitter::Svc,
    Fitter::Logistic,
    Fitter::Frontier,
];

/// Who learns a score, in one mode and with one alignment.
const SCORES: &[Fitter] = &[
    Fitter::Ridge,
    Fitter::RidgeCv,
    Fitter::Svc,
    Fitter::Logistic,
];

/// Who learns classes.
const CLASSIFIERS: &[Fitter] = &[Fitter::Svc, Fitter::Logistic, Fitter::Frontier];

/// The words of a choice.
fn words<T: Named>() -> Vec<&'static str> {
    T::NAMES.iter().map(|(name, _)| *name).collect()
}

/// Refuses a text that a type does not read.
fn reads<T: std::str::FromStr<Err = Error>>(text: &str) -> Result<()> {
    text.parse::<T>().map(|_| ())
}
