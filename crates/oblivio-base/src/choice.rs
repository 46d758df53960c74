//! Settings that are one of a few words, spelled the same everywhere.

use crate::error::{Error, Result};

/// A choice with a name: the spelling that the command line, Python and the model file share.
pub trait Named: Copy + PartialEq + 'static {
    /// What is chosen, for messages.
    const WHAT: &'static str;
    /// Every choice, the default first.
    const NAMES: &'static [(&'static str, Self)];

    /// The name of this choice.
    fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, choice)| *choice == self);
        found.map_or("", |(name, _)| name)
    }

    /// The choice of that name.
    fn named(text: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let known: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
            Error::UnknownName {
                what: Self::WHAT,
                text: text.to_owned(),
                known: known.join(", "),
            }
        })
    }
}

/// The known name that is most likely meant, if any is similar.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<String> {
    const SIMILAR: f64 = 0.5;
    let name = name.trim().to_lowercase();
    let letters = name.chars().count();
    // As many letters as the longer name has more than the other have to change.
    let may_be = |other: &&str| {
        let others = other.chars().count();
        letters <= 2 * others && others <= 2 * letters
    };
    known
        .into_iter()
        .filter(may_be)
        .map(|other| {
            let likeness = strsim::normalized_damerau_levenshtein(&name, &other.to_lowercase());
            (likeness, other)
        })
        .filter(|(likeness, _)| *likeness >= SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, other)| other.to_owned())
}

/// Refuses a strength that is no share.
pub fn check_strength(strength: f64) -> Result<()> {
    if (0.0..=1.0).contains(&strength) {
        Ok(())
    } else {
        Err(Error::InvalidParameter {
            name: "strength",
            expected: "between 0 and 1",
            value: strength.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scaling;

    #[test]
    fn names_are_read_back_and_mistakes_list_the_choices() {
        for (name, scaling) in Scaling::NAMES {
            assert_eq!(Scaling::named(name).unwrap(), *scaling);
            assert_eq!(scaling.name(), *name);
        }
        assert_eq!(
            Scaling::named("fair").unwrap_err().to_string(),
            "scaling `fair` is not known; choose one of: standard, raw"
        );
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("agee", ["sex", "age"]), Some("age".into()));
        assert_eq!(nearest("Income", ["income", "age"]), Some("income".into()));
        assert_eq!(nearest("zzz", ["income", "age"]), None);
        // Compared letter by letter, a text of megabytes would take minutes.
        assert_eq!(nearest(&"age".repeat(1 << 20), ["income", "age"]), None);
    }
}
