//! The one place where engine errors become exceptions.

use oblivio_base::error::Interface;
use pyo3::create_exception;
use pyo3::exceptions::{PyArithmeticError, PyKeyboardInterrupt, PyMemoryError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    oblivio,
    InvalidInputError,
    PyValueError,
    "An input that oblivio refuses."
);
create_exception!(
    oblivio,
    UnknownCategoryError,
    InvalidInputError,
    "A category that the fit has not seen."
);
create_exception!(
    oblivio,
    EmptyCellError,
    InvalidInputError,
    "A cell of the partition without reference rows."
);
create_exception!(
    oblivio,
    TableChangedError,
    InvalidInputError,
    "A table that is not the same in two passes over it."
);
create_exception!(
    oblivio,
    NumericalError,
    PyArithmeticError,
    "A computation that could not be finished."
);

/// The exception for an engine error.
pub(crate) fn raise(error: oblivio::Error) -> PyErr {
    use oblivio::Error as E;
    let message = error.told(Interface::Python, &|row| format!("row {row}"));
    match error {
        E::UnknownCategory { .. } | E::UnknownLevel { .. } => {
            UnknownCategoryError::new_err(message)
        }
        E::OutOfTurn { .. } => TableChangedError::new_err(message),
        E::EmptyCell { .. } => EmptyCellError::new_err(message),
        E::NotPositiveDefinite { .. } | E::Overflow { .. } => NumericalError::new_err(message),
        E::TooLarge { .. } => PyMemoryError::new_err(message),
        E::Interrupted => PyKeyboardInterrupt::new_err(message),
        _ => InvalidInputError::new_err(message),
    }
}
