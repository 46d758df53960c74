//! Names from data as plain text: one line, of bounded length, that cannot reorder its surroundings.

/// Longer names lose their middle: names that go on alike often differ at the end.
const LONGEST: usize = 80;
const TAIL: usize = 28;

/// A name to be set apart by markup, such as `<bdi>`.
pub(crate) fn name(name: &str) -> String {
    let shown = if is_cut(name) {
        let length = name.chars().count();
        let tail: String = name.chars().skip(length - TAIL).map(clean).collect();
        cut(name, LONGEST - TAIL) + &tail
    } else {
        cut(name, LONGEST)
    };
    if shown.trim().is_empty() {
        "(no name)".into()
    } else {
        shown
    }
}

/// Whether the name is too long to be shown whole.
pub(crate) fn is_cut(name: &str) -> bool {
    name.chars().nth(LONGEST).is_some()
}

/// A name for the middle of a sentence: isolated if it may read from right to left.
pub(crate) fn inline(text: &str) -> String {
    let name = name(text);
    if name.chars().any(from_right) {
        format!("\u{2068}{name}\u{2069}")
    } else {
        name
    }
}

/// `sex`, `sex and age`, `sex, age and origin`.
pub(crate) fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| inline(name)).collect();
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
    }
}

/// The text on one line without characters that steer the terminal or the direction of writing, and no longer than
/// that many characters.
pub(crate) fn cut(text: &str, longest: usize) -> String {
    let mut shown: String = text.chars().take(longest).map(clean).collect();
    if text.chars().nth(longest).is_some() {
        shown.push('…');
    }
    shown
}

fn clean(c: char) -> char {
    if steers(c) { ' ' } else { c }
}

fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Hebrew, Arabic and their neighbours.
fn from_right(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{08ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_steer_nothing() {
        assert_eq!(name("a\nb\u{1b}[31m"), "a b [31m");
        assert_eq!(name("x\u{202e}y"), "x y");
        assert_eq!(name(&"a".repeat(10_000)).chars().count(), 81);
        assert!(name(&format!("{}end", "a".repeat(10_000))).ends_with("aend"));
        assert_eq!(name(" \n"), "(no name)");
        assert_eq!(inline("גיל"), "\u{2068}גיל\u{2069}");
    }

    #[test]
    fn lists_read_as_words() {
        let names = |n: usize| ["sex", "age", "origin"][..n].iter().map(|&n| n.to_owned());
        let list = |n| list(&names(n).collect::<Vec<_>>());
        assert_eq!(list(0), "");
        assert_eq!(list(1), "sex");
        assert_eq!(list(2), "sex and age");
        assert_eq!(list(3), "sex, age and origin");
    }
}
