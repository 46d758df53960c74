//! How a candidate's scores are aligned: the one place where the settings learn of it.

use crate::error::{Error, Result};
use crate::fit::Settings;

/// The alignments of the usual grid, by name; `none` leaves scores as they are.
pub const ALIGNS: &[&str] = &["none"];

/// Sets the alignment with this name at this strength; `none` sets nothing.
pub(super) fn set(settings: &mut Settings, align: &str, strength: f64) -> Result<()> {
    if align == "none" {
        return Ok(());
    }
    let _ = (settings, strength);
    Err(Error::UnknownName {
        what: "alignment",
        text: align.to_owned(),
        known: ALIGNS.join(", "),
    })
}

/// The same settings without an alignment: what the choice of a penalty sees, which comes before it.
pub(super) fn unaligned(settings: &Settings) -> Settings {
    settings.clone()
}
