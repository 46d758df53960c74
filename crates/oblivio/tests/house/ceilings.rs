//! The ceilings of today. They only fall.

use std::collections::BTreeMap;

use super::source::workspace;
use super::{arrows, english, files, names, storage};

/// Makes one test of each line: its name, the ceiling, what is counted, and the reason for the wall.
macro_rules! ceilings {
    ($($name:ident, $ceiling:literal, $count:expr, $why:literal;)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name), $ceiling, &$count, $why);
            }
        )*
    };
}

ceilings! {
    root_names, 44, names::root(workspace()), "a newcomer can read the names of one page: 27 are planned, 60 at most";
    globs, 0, names::globs(workspace()), "a glob hides the names that a module exports";
    hidden_items, 14, names::hidden(workspace()), "a hidden item is an interface that nobody may rely on";
    sibling_names, 11, names::sibling(workspace()), "internals that sibling crates need are a list with reasons";
    upward_imports, 3, arrows::upward(workspace()), "imports point one way, in the order of modules in arrows.rs";
    long_functions, 46, files::long_functions(workspace()), "a function of more than 60 lines has several levels of abstraction";
    mode_lines, 67, storage::modes(workspace()), "a mode is applied, not asked for: one room knows the modes";
    storage_lines, 161, storage::conditional_mean(workspace()), "one room knows how S is represented: cells or a regression";
    functions_named_of, 59, names::functions(workspace(), "of"), "a constructor is `from_x` or `new`, a getter is the noun";
    functions_named_at, 14, names::functions(workspace(), "at"), "`values_at`, `inner_products_at`: name the noun";
    functions_named_each, 13, names::functions(workspace(), "each"), "`for_each_block`, `scan`: name the noun";
    those_of, 184, english::phrase("those of"), "name the noun";
    that_of, 112, english::phrase("that of"), "name the noun";
    so_many, 52, english::phrase("so many"), "`n` rows, this number of rows";
    anew, 20, english::phrase("anew"), "again";
    beside, 90, english::phrase("beside"), "next to, together with";
    what_is, 266, english::phrase("what is"), "name the noun";
    of_which, 36, english::phrase("of which"), "two sentences";
}

/// Compares the places where something was found with the ceiling of their number.
fn check(name: &str, ceiling: usize, found: &[String], why: &str) {
    let count = found.len();
    if count == ceiling {
        return;
    }
    assert!(
        count > ceiling,
        "{name}: {count} are left. Lower the ceiling to {count} (it is {ceiling})."
    );
    let mut by_file: BTreeMap<&str, usize> = BTreeMap::new();
    for place in found {
        let (file, _) = place.split_once(':').unwrap_or((place, ""));
        *by_file.entry(file).or_default() += 1;
    }
    for (file, count) in by_file {
        println!("{count:4} {file}");
    }
    for place in found {
        println!("{place}");
    }
    panic!("{name}: {count}, and the ceiling is {ceiling}: {why}");
}
