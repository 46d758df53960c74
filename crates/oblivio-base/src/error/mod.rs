//! Refusals of the engine, and remarks on what it accepts.

mod warning;
mod words;

pub use self::warning::Warning;
pub use self::words::Interface;

/// The engine's result.
pub type Result<T> = std::result::Result<T, Error>;

/// An input the engine refuses, or a computation it could not finish.
///
/// Every variant carries the numbers and names a caller needs to find the offending value.
/// A solver that stops early is not an error: it reports its `Effort`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named in its variant's sentence")]
pub enum Error {
    /// A feature or target that is not a finite number.
    #[error("{name} is {value} in row {row}; every value must be finite: remove or replace it")]
    NotFinite {
        name: String,
        row: usize,
        value: f64,
    },

    /// Texts that are no labels.
    #[error(
        "column `{column}` has {found} different texts; labels have at most {most}: leave it out, or join them"
    )]
    TooManyClasses {
        column: String,
        found: usize,
        most: usize,
    },

    /// Measures that what is audited does not have.
    #[error(
        "{measures} is not defined for this input: means and distances need scores that are numbers, distance correlation one sensitive column of numbers, decisions two labels or a threshold, equalised odds, separation, calibration and errors true labels, conditional parity control columns"
    )]
    NotDefined { measures: String },

    /// A number too large to be squared.
    #[error("column `{name}` holds {value:e}; its square overflows: give it in a larger unit")]
    OutOfSize { name: String, value: f64 },

    /// Two inputs that should describe the same rows do not.
    #[error("{what} has {found} rows but {needed} are needed; give one value per row")]
    Length {
        what: &'static str,
        found: usize,
        needed: usize,
    },

    /// A buffer whose length is no multiple of its width.
    #[error("{found} numbers cannot fill rows of {columns} columns; the matrix must be complete")]
    Ragged { found: usize, columns: usize },

    /// Rows with the wrong number of features.
    #[error(
        "the rows have {found} features but the model was fitted on {needed}; give the same columns in the same order"
    )]
    Width { found: usize, needed: usize },

    /// Too few rows for anything to be estimated.
    #[error("{what} has {found} rows; at least {needed} are needed")]
    TooFewRows {
        what: &'static str,
        found: usize,
        needed: usize,
    },

    /// A setting outside its range.
    #[error("{name} must be {}", words::demanded(expected, value))]
    InvalidParameter {
        name: &'static str,
        expected: &'static str,
        value: String,
    },

    /// A setting that is none of its choices.
    #[error("{what} `{text}` is not known; choose one of: {known}")]
    UnknownName {
        what: &'static str,
        text: String,
        known: String,
    },

    /// A kernel, rule or other setting that cannot be read.
    #[error("cannot read `{text}` as {what}: expected {expected} at character {position}")]
    Syntax {
        what: &'static str,
        text: String,
        position: usize,
        expected: &'static str,
    },

    /// A column that the model needs and the table lacks.
    #[error("column `{name}` is not in the table{}", nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?")))]
    UnknownColumn {
        name: String,
        nearest: Option<String>,
    },

    /// The same column name twice.
    #[error("column `{name}` occurs {count} times; names must be unique")]
    DuplicateColumn { name: String, count: usize },

    /// A column of text where numbers are needed.
    #[error(
        "column `{column}` holds text such as `{value}` but numbers are needed; convert it or declare it categorical"
    )]
    NotNumeric { column: String, value: String },

    /// Missing values where none are allowed.
    #[error(
        "column `{column}` has {count} missing values, the first in row {row}; fill them in or drop those rows"
    )]
    MissingValues {
        column: String,
        count: usize,
        row: usize,
    },

    /// A sensitive value is missing and no policy says what to do.
    #[error(
        "sensitive column `{column}` has {count} missing values, the first in row {row}; fill them in, drop those rows, or treat missing as a category of its own (missing policy `category`)"
    )]
    MissingSensitive {
        column: String,
        count: usize,
        row: usize,
    },

    /// A sensitive column that identifies rows.
    #[error(
        "sensitive column `{column}` has another value in each of {rows} rows, so it identifies rows and names no group; leave it out, group its values, or declare it continuous if it is a quantity"
    )]
    Identifier { column: String, rows: usize },

    /// The model needs sensitive values and got none.
    #[error(
        "the model was fitted with sensitive columns {columns} and needs them to predict; it reads them to take their influence out"
    )]
    SensitiveNeeded { columns: String },

    /// A category that no reference row has.
    #[error(
        "sensitive column `{column}` has the value `{value}`, which no reference row has (known: {known}); add such rows or set the unknown policy to `population`"
    )]
    UnknownCategory {
        column: String,
        value: String,
        known: String,
    },

    /// A feature's category that was not there when the model was fitted.
    #[error(
        "column `{column}` has the category `{value}`, which was not there at the fit (known: {known}); replace it or fit again with it"
    )]
    UnknownLevel {
        column: String,
        value: String,
        known: String,
    },

    /// A cell without reference rows and without an enclosing cell that has some.
    #[error(
        "the cell {cell} holds no reference row, so its conditional mean is undefined; use a coarser partition, more rows, or the unknown policy `population`"
    )]
    EmptyCell { cell: String },

    /// A continuous sensitive value outside given bounds.
    #[error(
        "sensitive column `{column}` has the value {value}, outside its bounds [{low}, {high}]; widen the bounds or set the range policy to `clamp`"
    )]
    OutOfBounds {
        column: String,
        value: f64,
        low: f64,
        high: f64,
    },

    /// A target of one class.
    #[error("the target has one class, `{class}`; a classifier needs rows of at least two")]
    OneClass { class: String },

    /// A class without rows.
    #[error(
        "class `{class}` has no row of positive weight among those that train; give it more rows, or leave it out of the classes"
    )]
    EmptyClass { class: String },

    /// A target that is no class.
    #[error(
        "row {row} of the target is {value}, which is no class; classes are numbered 0 to {last}"
    )]
    NotAClass { row: usize, value: f64, last: usize },

    /// Reference rows that are not rows of the table.
    #[error("reference row {row} is not in the table of {rows} rows; rows are numbered from 0")]
    NoSuchRow { row: usize, rows: usize },

    /// The system of ridge regression could not be factorised.
    #[error(
        "the kernel matrix plus penalty {penalty} is not positive definite (pivot {pivot}); raise the penalty"
    )]
    NotPositiveDefinite { pivot: usize, penalty: f64 },

    /// The computation left the range of floating-point numbers.
    #[error("{what} is not finite; rescale the features or the target, or choose another kernel")]
    Overflow { what: &'static str },

    /// More memory than there is.
    #[error(
        "a kernel matrix of {rows} rows needs {gigabytes:.1} GB, more than can be had; use fewer rows"
    )]
    TooLarge { rows: usize, gigabytes: f64 },

    /// Cells with too few new rows for new offsets.
    #[error(
        "{} of {cells} cells have fewer than {needed} new rows: {}; give more rows, ask for fewer, or keep such cells as they were",
        small.len(),
        few(small)
    )]
    SmallCells {
        small: Vec<(String, usize)>,
        cells: usize,
        needed: usize,
    },

    /// Moments that cannot be added or taken apart.
    #[error("these moments do not go together: {problem}; gather both by one plan")]
    UnlikeMoments { problem: &'static str },

    /// A part of a table that is not the one that follows.
    #[error(
        "a part of the table begins at row {found} where one that begins at row {needed} is expected; join the parts in their order, each once, and let no row change between two passes"
    )]
    OutOfTurn { found: usize, needed: usize },

    /// Bytes that are not a model this version can read.
    #[error("this is not a readable model: {problem}")]
    InvalidModel { problem: String },

    /// A model written by a later version.
    #[error("the model has format {found} but this version reads up to {known}; update oblivio")]
    ModelTooNew { found: u64, known: u64 },

    /// A model that has no graph of standard operators, or none that is near enough.
    #[error("the model cannot be written as ONNX: {problem}")]
    NotExported { problem: String },

    /// The caller asked to stop.
    #[error("the computation was interrupted")]
    Interrupted,
}

/// Cells and their rows, the first few of many.
fn few(cells: &[(String, usize)]) -> String {
    const NAMED: usize = 5;
    let named = cells.iter().take(NAMED);
    let mut words: Vec<String> = named
        .map(|(cell, rows)| format!("{cell} ({rows})"))
        .collect();
    if cells.len() > NAMED {
        words.push(format!("and {} more", cells.len() - NAMED));
    }
    words.join(", ")
}

/// Refuses a file in which `what` is damaged, unless it `holds`.
pub fn require(holds: bool, what: &str) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::InvalidModel {
        problem: format!("{what} makes no sense"),
    })
}

/// The first few of many names.
pub fn listed(names: &[String]) -> String {
    const MOST: usize = 8;
    let first = names[..names.len().min(MOST)].join(", ");
    if names.len() > MOST {
        format!("{first}, … {} in all", names.len())
    } else {
        first
    }
}
