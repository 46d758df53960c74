//! Errors in the words of an interface: how rows are counted, and which flag or argument is the cure.

use super::{Error, few};

/// Where a sentence is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// The command line.
    Program,
    /// The Python package.
    Python,
}

/// A cure in the words of the command line, and in the words of Python.
type Cure = (&'static str, &'static str);

const MISSING: Cure = (
    "fill them in, or leave those rows out: `oblivio fit` does with --drop-missing",
    "fill them in or drop those rows",
);
const MISSING_SENSITIVE: Cure = (
    "fill them in, leave those rows out with --drop-missing, or fit with --handle-missing category, which takes them as a category of their own",
    "fill them in, drop those rows, or set handle_missing=\"category\", which takes them as a category of their own",
);
const UNKNOWN_CATEGORY: Cure = (
    "fit with --handle-unknown population, or with rows of this category",
    "set handle_unknown=\"population\" at the fit, or fit with rows of this category",
);
const EMPTY_CELL: Cure = (
    "fit with --handle-unknown population, with fewer --cells, or with more rows",
    "set handle_unknown=\"population\" at the fit, or fit with fewer cells or more rows",
);
const OUT_OF_BOUNDS: Cure = (
    "fit with wider --sensitive-bounds, or with --handle-range clamp",
    "fit with wider sensitive_bounds",
);
const SENSITIVE_NEEDED: Cure = (
    "give a table that has them, or fit with --mode sensitive-free, which needs none to predict",
    "pass sensitive_features=, or fit with mode=\"sensitive-free\", which needs none to predict",
);
const NOT_NUMERIC: Cure = (
    "convert it, or name it in --categorical",
    "convert it, or name it in categorical_features",
);
const TOO_LARGE: Cure = (
    "fit on landmarks with --components 1000, or on fewer rows with --sample",
    "fit on landmarks with n_components=1000, or on fewer rows",
);
const SMALL_CELLS: Cure = (
    "give more rows, ask for fewer with --min-rows, or keep such cells as they were with --keep-small",
    "give more rows, ask for fewer with min_rows, or keep such cells as they were with small=\"keep\"",
);

impl Interface {
    /// The cure in the words of this interface.
    fn cure(self, (program, python): Cure) -> &'static str {
        match self {
            Self::Program => program,
            Self::Python => python,
        }
    }
}

impl Error {
    /// The sentence for the users of an interface. `place` names a row, which is numbered from 0.
    pub fn told(&self, interface: Interface, place: &dyn Fn(usize) -> String) -> String {
        let (problem, cure) = match self {
            Self::MissingValues { column, count, row } => (
                format!(
                    "column `{column}` has {count} missing values, the first in {}",
                    place(*row)
                ),
                MISSING,
            ),
            Self::MissingSensitive { column, count, row } => (
                format!(
                    "sensitive column `{column}` has {count} missing values, the first in {}",
                    place(*row)
                ),
                MISSING_SENSITIVE,
            ),
            Self::NotFinite { name, row, value } => {
                let row = place(*row);
                return format!(
                    "{name} is {value} in {row}; every value must be finite: remove or replace it"
                );
            }
            other => match other.cured() {
                Some(told) => told,
                None => return other.to_string(),
            },
        };
        format!("{problem}; {}", interface.cure(cure))
    }

    /// The problem and its cure, where the interfaces have words of their own for it.
    fn cured(&self) -> Option<(String, Cure)> {
        Some(match self {
            Self::UnknownCategory {
                column,
                value,
                known,
            } => (
                format!(
                    "sensitive column `{column}` has the value `{value}`, which is not in the training data (known: {known})"
                ),
                UNKNOWN_CATEGORY,
            ),
            Self::EmptyCell { cell } => (
                format!(
                    "the cell {cell} holds no reference row, so its conditional mean is undefined"
                ),
                EMPTY_CELL,
            ),
            Self::OutOfBounds {
                column,
                value,
                low,
                high,
            } => (
                format!(
                    "sensitive column `{column}` has the value {value}, outside its bounds [{low}, {high}]"
                ),
                OUT_OF_BOUNDS,
            ),
            Self::SensitiveNeeded { columns } => (
                format!(
                    "the model was fitted with sensitive columns {columns} and needs them to predict"
                ),
                SENSITIVE_NEEDED,
            ),
            Self::NotNumeric { column, value } => (
                format!("column `{column}` holds text such as `{value}` but numbers are needed"),
                NOT_NUMERIC,
            ),
            Self::TooLarge { rows, gigabytes } => (
                format!(
                    "a kernel matrix of {rows} rows needs {gigabytes:.1} GB, more than can be had"
                ),
                TOO_LARGE,
            ),
            Self::SmallCells {
                small,
                cells,
                needed,
            } => (
                format!(
                    "{} of {cells} cells have fewer than {needed} new rows: {}",
                    small.len(),
                    few(small)
                ),
                SMALL_CELLS,
            ),
            _ => return None,
        })
    }
}

/// A demand on a value with the value found; a cure stands at its end, after a semicolon.
pub(super) fn demanded(expected: &str, value: &str) -> String {
    match expected.split_once("; ") {
        Some((demand, cure)) => format!("{demand}, got {value}; {cure}"),
        None => format!("{expected}, got {value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_cures_are_those_of_the_interface() {
        let error = Error::MissingSensitive {
            column: "sex".into(),
            count: 2,
            row: 5,
        };
        let program = error.told(Interface::Program, &|row| format!("line {}", row + 2));
        assert!(program.contains("the first in line 7; "), "{program}");
        assert!(program.contains("--drop-missing"), "{program}");
        assert!(!program.contains("handle_missing="), "{program}");
        let python = error.told(Interface::Python, &|row| format!("row {row}"));
        assert!(python.contains("the first in row 5; "), "{python}");
        assert!(python.contains("handle_missing="), "{python}");
        assert!(!python.contains("--"), "{python}");
    }

    #[test]
    fn a_cure_comes_last() {
        let error = Error::InvalidParameter {
            name: "number of classes",
            expected: "at most 100; use ridge regression for a continuous target",
            value: "233".into(),
        };
        assert_eq!(
            error.to_string(),
            "number of classes must be at most 100, got 233; use ridge regression for a continuous target"
        );
    }
}
