//! How a candidate's scores are aligned: the one place where the settings learn of it.

use oblivio::Settings;
use oblivio::align::AlignRule;
use oblivio_base::{Named, Result};

/// The alignments of the usual grid, by name; `none` leaves scores as they are.
pub const ALIGNS: &[&str] = &["none", "location-scale", "quantile"];

/// Sets the alignment with this name at this strength; `none` sets nothing.
pub(super) fn set(settings: &mut Settings, align: &str, strength: f64) -> Result<()> {
    settings.align = match align {
        "none" => None,
        method => Some(AlignRule {
            method: Named::named(method)?,
            strength,
        }),
    };
    Ok(())
}

/// The same settings without an alignment: what the choice of a penalty sees, which comes before it.
pub(super) fn unaligned(settings: &Settings) -> Settings {
    Settings {
        align: None,
        ..settings.clone()
    }
}
