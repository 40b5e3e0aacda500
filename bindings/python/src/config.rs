// SPDX-License-Identifier: MIT OR Apache-2.0

//! Configurations, roles, log.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyType;
use zonda::Config as Inner;
use zonda::config::{Roles, WhatAmI as Role};

use crate::enums::{WhatAmI, role};
use crate::error::OrRaise;

/// Configuration of a session: the keys of the reference's `DEFAULT_CONFIG.json5`.
#[pyclass(module = "zonda")]
#[derive(Clone, Default)]
pub struct Config(pub Inner);

#[pymethods]
impl Config {
    #[classattr]
    const DEFAULT_CONFIG_PATH_ENV: &'static str = "ZENOH_CONFIG";

    #[new]
    fn new() -> Self {
        Config::default()
    }

    /// Reads the file that the variable ZENOH_CONFIG names. Raises ZError.
    #[classmethod]
    fn from_env(_cls: &Bound<'_, PyType>) -> PyResult<Self> {
        Inner::from_env().or_raise().map(Config)
    }

    /// Reads a file. Raises ZError.
    #[classmethod]
    fn from_file(_cls: &Bound<'_, PyType>, path: PathBuf) -> PyResult<Self> {
        Inner::from_file(path).or_raise().map(Config)
    }

    /// Reads a text. Raises ZError.
    #[classmethod]
    fn from_json5(_cls: &Bound<'_, PyType>, json: &str) -> PyResult<Self> {
        Inner::from_json5(json).or_raise().map(Config)
    }

    /// Returns the value of a key, such as `connect/endpoints`, as JSON. Raises ZError.
    fn get_json(&self, key: &str) -> PyResult<String> {
        self.0.get_json(key).or_raise()
    }

    /// Sets the value of a key to a JSON5 text. Raises ZError.
    fn insert_json5(&mut self, key: &str, value: &str) -> PyResult<()> {
        self.0.insert_json5(key, value).or_raise()
    }

    fn __str__(&self) -> PyResult<String> {
        self.0.get_json("").or_raise()
    }
}

/// A set of roles.
#[pyclass(module = "zonda", eq, frozen)]
#[derive(Clone, Copy, PartialEq)]
pub struct WhatAmIMatcher(pub Roles);

/// Reads an argument: a set of roles, or a text such as `router|peer`.
pub fn roles(value: &Bound<'_, PyAny>) -> PyResult<Roles> {
    if let Ok(matcher) = value.cast::<WhatAmIMatcher>() {
        return Ok(matcher.get().0);
    }
    if let Ok(role) = value.cast::<WhatAmI>() {
        return Ok(Role::from(*role.get()).into());
    }
    parse(&value.extract::<String>()?)
}

fn parse(text: &str) -> PyResult<Roles> {
    let mut roles = Roles::empty();
    for name in text.split('|').filter(|name| !name.is_empty()) {
        roles = roles.with(role(name)?);
    }
    Ok(roles)
}

#[pymethods]
impl WhatAmIMatcher {
    #[new]
    #[pyo3(signature = (matcher=None))]
    fn new(matcher: Option<&str>) -> PyResult<Self> {
        match matcher {
            None => Ok(WhatAmIMatcher(Roles::empty().router().peer().client())),
            Some(text) => parse(text).map(WhatAmIMatcher),
        }
    }

    /// Returns the set without a role.
    #[classmethod]
    fn empty(_cls: &Bound<'_, PyType>) -> Self {
        WhatAmIMatcher(Roles::empty())
    }

    /// Returns this set with routers.
    fn router(&self) -> Self {
        WhatAmIMatcher(self.0.router())
    }

    /// Returns this set with peers.
    fn peer(&self) -> Self {
        WhatAmIMatcher(self.0.peer())
    }

    /// Returns this set with clients.
    fn client(&self) -> Self {
        WhatAmIMatcher(self.0.client())
    }

    /// Returns whether there is no role.
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a role is in the set.
    fn matches(&self, whatami: WhatAmI) -> bool {
        self.0.contains(whatami.into())
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(WhatAmIMatcher(self.0 | roles(other)?))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("WhatAmIMatcher({:?})", self.0.to_string())
    }
}

/// Writes the log to standard error, as the variable RUST_LOG says; without it there is none.
#[pyfunction]
pub fn try_init_log_from_env() {
    zonda::try_init_log_from_env();
}

/// Writes the log to standard error, as the variable RUST_LOG or else `level` says.
#[pyfunction]
pub fn init_log_from_env_or(level: &str) {
    zonda::init_log_from_env_or(level);
}
