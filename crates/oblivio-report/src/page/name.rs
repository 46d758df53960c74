//! Names from data in HTML.

use maud::{Markup, html};

use crate::text;

/// The name isolated from its surroundings; a long one is cut, with more of it on hover.
pub(super) fn name(name: &str) -> Markup {
    let shown = text::name(name);
    let more = text::is_cut(name).then(|| text::cut(name, 400));
    html! { bdi.name title=[more] { (shown) } }
}

/// Text in which numbers stay with their units.
pub(super) fn prose(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}
