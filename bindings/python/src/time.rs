// SPDX-License-Identifier: MIT OR Apache-2.0

//! Times and ids.

#![allow(clippy::wrong_self_convention)]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use zonda::sample::{EntityGlobalId as InnerEntity, SourceInfo as InnerSource};
use zonda::session::ZenohId as InnerId;
use zonda::time::{Ntp64, Timestamp as InnerTimestamp};

use crate::bytes::hash_of;
use crate::error::OrRaise;

/// Id of a node.
#[pyclass(module = "zonda", frozen, eq, hash)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ZenohId(pub InnerId);

#[pymethods]
impl ZenohId {
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.as_le_bytes())
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

/// Id of an entity: that of its node, and a number.
#[pyclass(module = "zonda", frozen, eq, hash)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntityGlobalId(pub InnerEntity);

#[pymethods]
impl EntityGlobalId {
    #[getter]
    fn zid(&self) -> ZenohId {
        ZenohId(self.0.zid())
    }

    #[getter]
    fn eid(&self) -> u32 {
        self.0.eid()
    }

    fn __repr__(&self) -> String {
        format!("EntityGlobalId({}, {})", self.0.zid(), self.0.eid())
    }
}

/// Source of a message: the entity, and the message's number there.
#[pyclass(module = "zonda", frozen, eq)]
#[derive(Clone, Copy, PartialEq)]
pub struct SourceInfo(pub InnerSource);

#[pymethods]
impl SourceInfo {
    #[new]
    fn new(source_id: EntityGlobalId, source_sn: u32) -> Self {
        SourceInfo(InnerSource::new(source_id.0, source_sn))
    }

    #[getter]
    fn source_id(&self) -> EntityGlobalId {
        EntityGlobalId(*self.0.source_id())
    }

    #[getter]
    fn source_sn(&self) -> u32 {
        self.0.source_sn()
    }
}

/// Time since 1970 in units of 2^-32 s.
#[pyclass(module = "zonda", frozen)]
#[derive(Clone, Copy)]
pub struct NTP64(pub Ntp64);

#[pymethods]
impl NTP64 {
    #[new]
    fn new(seconds: u32, nanos: u32) -> Self {
        NTP64(Ntp64::from(Duration::new(u64::from(seconds), nanos)))
    }

    /// Returns the seconds.
    fn as_secs_f64(&self) -> f64 {
        self.0.as_secs_f64()
    }

    /// Returns the whole seconds.
    fn as_secs(&self) -> u32 {
        self.0.as_secs()
    }

    /// Returns the nanoseconds.
    fn as_nanos(&self) -> u64 {
        self.0.as_nanos()
    }

    /// Returns the nanoseconds beyond the whole seconds.
    fn subsec_nanos(&self) -> u32 {
        self.0.subsec_nanos()
    }

    /// Returns the time in UTC, in whole microseconds.
    fn to_datetime(&self) -> SystemTime {
        self.0.to_system_time()
    }

    /// Returns a text such as `2026-11-28T10:00:00.000000000Z`.
    fn to_string_rfc3339_lossy(&self) -> String {
        self.0.to_string_rfc3339_lossy()
    }

    /// Reads such a text. Raises ZError.
    #[classmethod]
    fn parse_rfc3339(_cls: &Bound<'_, PyType>, s: &str) -> PyResult<Self> {
        let whole = format!("{s}/{}", InnerId::default());
        let stamp = whole.parse::<InnerTimestamp>().or_raise()?;
        Ok(NTP64(stamp.time()))
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        compared(
            other.py(),
            other
                .cast::<NTP64>()
                .ok()
                .map(|other| self.0.0.cmp(&other.get().0.0)),
            op,
        )
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.0.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("NTP64({})", self.0)
    }
}

fn compared(
    py: Python<'_>,
    order: Option<std::cmp::Ordering>,
    op: CompareOp,
) -> PyResult<Py<PyAny>> {
    Ok(match order {
        None => py.NotImplemented(),
        Some(order) => op
            .matches(order)
            .into_pyobject(py)?
            .to_owned()
            .into_any()
            .unbind(),
    })
}

/// Id of a clock, of at most 16 bytes.
#[pyclass(module = "zonda", frozen)]
#[derive(Clone, Copy)]
pub struct TimestampId(pub InnerId);

#[pymethods]
impl TimestampId {
    #[new]
    fn new(bytes: &[u8]) -> PyResult<Self> {
        InnerId::from_le_bytes(bytes).or_raise().map(TimestampId)
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.as_le_bytes())
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let other_id = other.cast::<TimestampId>().ok();
        compared(
            other.py(),
            other_id.map(|id| self.0.to_string().cmp(&id.get().0.to_string())),
            op,
        )
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

/// A time with the id of the clock that gave it.
#[pyclass(module = "zonda", frozen)]
#[derive(Clone, Copy)]
pub struct Timestamp(pub InnerTimestamp);

fn time_of(value: &Bound<'_, PyAny>) -> PyResult<Ntp64> {
    if let Ok(time) = value.cast::<NTP64>() {
        return Ok(time.get().0);
    }
    let time: SystemTime = value
        .extract()
        .map_err(|_| PyTypeError::new_err("time: an NTP64, or a datetime with a time zone"))?;
    let since = time.duration_since(UNIX_EPOCH).or_raise()?;
    Ok(Ntp64::from_unix(since))
}

#[pymethods]
impl Timestamp {
    #[new]
    fn new(time: &Bound<'_, PyAny>, id: &Bound<'_, PyAny>) -> PyResult<Self> {
        let id = match id.cast::<TimestampId>() {
            Ok(id) => id.get().0,
            Err(_) => InnerId::from_le_bytes(&id.extract::<Vec<u8>>()?).or_raise()?,
        };
        Ok(Timestamp(InnerTimestamp::new(time_of(time)?, id)))
    }

    /// Returns the time in UTC, in whole microseconds.
    fn get_time(&self) -> SystemTime {
        self.0.time().to_system_time()
    }

    /// Returns the time as it was sent.
    fn get_time_as_ntp64(&self) -> NTP64 {
        NTP64(self.0.time())
    }

    /// Returns the id of the clock.
    fn get_id(&self) -> TimestampId {
        TimestampId(self.0.id())
    }

    /// Returns the time since an earlier one.
    fn get_diff_duration(&self, other: &Timestamp) -> Duration {
        self.0.get_diff_duration(&other.0)
    }

    /// Returns a text such as `2026-11-28T10:00:00.000000000Z/33`.
    fn to_string_rfc3339_lossy(&self) -> String {
        self.0.to_string_rfc3339_lossy()
    }

    /// Reads such a text. Raises ZError.
    #[classmethod]
    fn parse_rfc3339(_cls: &Bound<'_, PyType>, s: &str) -> PyResult<Self> {
        s.parse::<InnerTimestamp>().or_raise().map(Timestamp)
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Py<PyAny>> {
        let order = other
            .cast::<Timestamp>()
            .ok()
            .map(|other| self.0.cmp(&other.get().0));
        compared(other.py(), order, op)
    }

    fn __hash__(&self) -> u64 {
        hash_of(&self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Timestamp({})", self.0)
    }
}
