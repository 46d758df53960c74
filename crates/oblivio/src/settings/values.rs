//! Chosen values of settings.

use std::collections::BTreeMap;
use std::str::FromStr;

use oblivio_base::{Encoding, Error, Named, Result, Scaling};

use super::{Literal, setting};

/// A chosen value.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// Yes or no.
    Switch(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A word or an expression.
    Text(String),
}

/// Chosen values by the names of their settings. The others have their default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingValues(BTreeMap<&'static str, SettingValue>);

impl SettingValues {
    /// Chooses a value. A setting that the table does not have is refused.
    pub fn set(&mut self, name: &str, value: SettingValue) -> Result<()> {
        let setting = setting(name).ok_or_else(|| Error::UnknownName {
            what: "setting",
            text: name.to_owned(),
            known: super::settings()
                .map(|setting| setting.name)
                .collect::<Vec<_>>()
                .join(", "),
        })?;
        self.0.insert(setting.name, value);
        Ok(())
    }

    /// Chooses a value of a setting of the table.
    pub(super) fn insert(&mut self, name: &'static str, value: SettingValue) {
        self.0.insert(name, value);
    }

    /// The chosen value, or the default of the table; `None` if there is none.
    pub fn get(&self, name: &str) -> Option<SettingValue> {
        if let Some(value) = self.0.get(name) {
            return Some(value.clone());
        }
        match setting(name)?.default {
            Literal::Absent | Literal::Numbers(_) => None,
            Literal::Switch(value) => Some(SettingValue::Switch(value)),
            Literal::Count(value) => Some(SettingValue::Count(value as u64)),
            Literal::Number(value) => Some(SettingValue::Number(value)),
            Literal::Text(value) => Some(SettingValue::Text(value.to_owned())),
        }
    }

    /// Whether a value was chosen.
    pub fn is_set(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The chosen values by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &SettingValue)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// Whether the penalty is to be found by leave-one-out.
    pub fn finds_penalty(&self) -> bool {
        self.text("alpha").as_deref() == Some("auto")
    }

    /// How feature columns are encoded.
    pub fn encoding(&self) -> Result<Encoding> {
        Ok(Encoding {
            scaling: if self.switch("standardize") {
                Scaling::Standard
            } else {
                Scaling::Raw
            },
            missing: self.word("missing_features")?.unwrap_or_default(),
        })
    }

    /// Bytes for the matrix or the features of a classifier, if a number was chosen.
    pub fn memory(&self) -> Result<Option<usize>> {
        let megabytes = self.count("memory")?;
        Ok(megabytes.map(|megabytes| megabytes.saturating_mul(1_000_000)))
    }

    /// The text of a value, as the program spells it.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|value| value.to_string())
    }

    pub(super) fn switch(&self, name: &str) -> bool {
        self.get(name) == Some(SettingValue::Switch(true))
    }

    /// A number; `None` if there is neither a value nor a default.
    pub fn number(&self, name: &'static str) -> Result<Option<f64>> {
        match self.get(name) {
            None => Ok(None),
            Some(SettingValue::Number(value)) => Ok(Some(value)),
            Some(SettingValue::Count(value)) => Ok(Some(value as f64)),
            Some(other) => Err(wrong(name, "a number", &other)),
        }
    }

    pub(super) fn count(&self, name: &'static str) -> Result<Option<usize>> {
        match self.get(name) {
            None => Ok(None),
            Some(SettingValue::Count(value)) => {
                Ok(Some(usize::try_from(value).unwrap_or(usize::MAX)))
            }
            Some(other) => Err(wrong(name, "a whole number", &other)),
        }
    }

    pub(super) fn word<T: Named>(&self, name: &str) -> Result<Option<T>> {
        self.text(name).as_deref().map(T::named).transpose()
    }

    pub(super) fn parsed<T: FromStr<Err = Error>>(&self, name: &str) -> Result<Option<T>> {
        self.text(name).map(|text| text.parse()).transpose()
    }

    pub(super) fn seed(&self) -> u64 {
        match self.get("seed") {
            Some(SettingValue::Count(seed)) => seed,
            _ => 0,
        }
    }
}

impl std::fmt::Display for SettingValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Switch(value) => value.fmt(f),
            Self::Count(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

/// A value of the wrong kind.
pub(super) fn wrong(name: &'static str, expected: &'static str, value: &SettingValue) -> Error {
    Error::InvalidParameter {
        name,
        expected,
        value: format!("`{value}`"),
    }
}
