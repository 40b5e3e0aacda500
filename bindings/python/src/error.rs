// SPDX-License-Identifier: MIT OR Apache-2.0

//! The exception of the package.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    zonda,
    ZError,
    PyException,
    "Error of an operation; its text names the cause."
);

/// Makes the exception of an error of the library.
pub fn zerror<E: Display>(error: E) -> PyErr {
    ZError::new_err(error.to_string())
}

/// Conversion of the library's results.
pub trait OrRaise<T> {
    /// Turns an error into [`ZError`].
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: Display> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(zerror)
    }
}
