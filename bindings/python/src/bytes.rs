// SPDX-License-Identifier: MIT OR Apache-2.0

//! Payloads.

use std::collections::hash_map::DefaultHasher;
use std::ffi::c_int;
use std::hash::{Hash, Hasher};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyByteArray, PyBytes, PyString};
use zonda::bytes::ZBytes as Inner;

/// Size from which a `bytes` object is held instead of copied.
const HELD_MIN: usize = 4096;

/// A `bytes` object that the library reads.
struct Held(PyBackedBytes);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Reads an argument: ZBytes, bytes, str, bytearray, or any object with a buffer.
pub fn payload(value: &Bound<'_, PyAny>) -> PyResult<Inner> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return held(bytes);
    }
    if let Ok(bytes) = value.cast::<ZBytes>() {
        return Ok(bytes.get().0.clone());
    }
    if value.cast::<PyString>().is_ok() {
        return Ok(Inner::from(&*value.extract::<PyBackedStr>()?));
    }
    if let Ok(array) = value.cast::<PyByteArray>() {
        return Ok(Inner::from(array.to_vec()));
    }
    let view = value
        .py()
        .import("builtins")?
        .getattr("memoryview")?
        .call1((value,));
    let view = view.map_err(|_| {
        let class = value.get_type();
        let name = class.name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        PyTypeError::new_err(format!(
            "{name} is no payload: use bytes, str, ZBytes or an object with a buffer, or zonda.ext.z_serialize"
        ))
    })?;
    held(view.call_method0("tobytes")?.cast::<PyBytes>()?)
}

fn held(bytes: &Bound<'_, PyBytes>) -> PyResult<Inner> {
    let content = bytes.as_bytes();
    if content.len() < HELD_MIN {
        return Ok(Inner::from(content));
    }
    let held = Held(PyBackedBytes::from(bytes.clone()));
    Ok(Inner::from(bytes::Bytes::from_owner(held)))
}

/// Reads an optional argument.
pub fn optional_payload(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Inner>> {
    value
        .filter(|value| !value.is_none())
        .map(payload)
        .transpose()
}

/// A payload or an attachment. It has the buffer protocol, read-only: `memoryview(z)` and `numpy.frombuffer(z, dtype)` copy nothing.
#[pyclass(module = "zonda", frozen)]
#[derive(Clone)]
pub struct ZBytes(pub Inner);

#[pymethods]
impl ZBytes {
    #[new]
    #[pyo3(signature = (bytes=None))]
    fn new(bytes: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(ZBytes(optional_payload(bytes)?.unwrap_or_default()))
    }

    /// Returns a copy of the content.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.as_slice())
    }

    /// Returns the content as text. Raises ValueError if it is no UTF-8.
    fn to_string(&self) -> PyResult<String> {
        let text = self.0.try_to_string();
        text.map(|text| text.into_owned())
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Returns None: the payload is not in shared memory.
    fn as_shm(&self) -> Option<Py<PyAny>> {
        None
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.to_bytes(py)
    }

    fn __str__(&self) -> PyResult<String> {
        self.to_string()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __bool__(&self) -> bool {
        !self.0.is_empty()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        payload(other).is_ok_and(|other| other == self.0)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.to_bytes(py).hash()
    }

    fn __repr__(&self) -> String {
        format!("ZBytes({:?})", self.0)
    }

    // SAFETY: Python passes a view that it owns; the view gets a reference to the object, whose content never changes or moves.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let content = slf.get().0.as_slice();
        let start = content.as_ptr().cast_mut().cast();
        let length = isize::try_from(content.len()).unwrap_or(isize::MAX);
        // SAFETY: `start` is valid for `length` bytes as long as the object, which the view holds, and is said to be read-only.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, length, 1, flags) };
        match filled {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}

/// Returns the hash of a value of the library.
pub fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
